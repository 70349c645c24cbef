/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/clock.h"
#include "base/core/money.h"
#include "json.h"

static void put_string(struct sl_buf *b, const char *s, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    sl_buf_addc(b, '"');
    size_t run = 0, i = 0;
    while (i < n) {
        unsigned char c = (unsigned char)s[i];
        size_t len = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        bool plain = c >= 0x20 && c != '"' && c != '\\' && c != 0x7f &&
                     (c < 0x80 || (i + len <= n && sl_utf8_ok(s + i, len, true)));
        if (plain) {
            i += len;
            continue;
        }
        sl_buf_add(b, s + run, i - run);
        if (c == '"' || c == '\\') {
            sl_buf_addc(b, '\\');
            sl_buf_addc(b, (char)c);
        } else if (c == '\n') {
            sl_buf_adds(b, "\\n");
        } else if (c < 0x20 || c == 0x7f) {
            char esc[] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15], 0};
            sl_buf_adds(b, esc);
        } else {
            sl_buf_adds(b, "\xef\xbf\xbd"); /* U+FFFD for a byte that is no UTF-8 */
        }
        run = ++i;
    }
    sl_buf_add(b, s + run, i - run);
    sl_buf_addc(b, '"');
}

static void lead(struct jw *w, const char *key)
{
    SL_ASSERT(w->depth < 63);
    if (w->depth) {
        if (w->has_item >> w->depth & 1)
            sl_buf_addc(w->b, ',');
        w->has_item |= (uint64_t)1 << w->depth;
        SL_ASSERT((key != NULL) == !(w->is_array >> w->depth & 1));
    }
    if (key) {
        put_string(w->b, key, strlen(key));
        sl_buf_addc(w->b, ':');
    }
}

static void open_level(struct jw *w, const char *key, bool array)
{
    lead(w, key);
    sl_buf_addc(w->b, array ? '[' : '{');
    w->depth++;
    uint64_t bit = (uint64_t)1 << w->depth;
    w->has_item &= ~bit;
    w->is_array = array ? w->is_array | bit : w->is_array & ~bit;
}

void jw_object(struct jw *w, const char *key)
{
    open_level(w, key, false);
}

void jw_array(struct jw *w, const char *key)
{
    open_level(w, key, true);
}

void jw_end(struct jw *w)
{
    SL_ASSERT(w->depth > 0);
    sl_buf_addc(w->b, w->is_array >> w->depth & 1 ? ']' : '}');
    w->depth--;
}

void jw_strn(struct jw *w, const char *key, const char *s, size_t n)
{
    lead(w, key);
    put_string(w->b, s, n);
}

void jw_str(struct jw *w, const char *key, const char *s)
{
    if (s)
        jw_strn(w, key, s, strlen(s));
    else
        jw_null(w, key);
}

void jw_int(struct jw *w, const char *key, int64_t v)
{
    lead(w, key);
    char digits[24], *p = digits + sizeof digits;
    uint64_t left = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do
        *--p = (char)('0' + left % 10);
    while (left /= 10);
    if (v < 0)
        *--p = '-';
    sl_buf_add(w->b, p, (size_t)(digits + sizeof digits - p));
}

void jw_bool(struct jw *w, const char *key, bool v)
{
    lead(w, key);
    sl_buf_adds(w->b, v ? "true" : "false");
}

void jw_null(struct jw *w, const char *key)
{
    lead(w, key);
    sl_buf_adds(w->b, "null");
}

void jw_time(struct jw *w, const char *key, int64_t t_us)
{
    char text[TS_TEXT];
    jw_str(w, key, t_us ? ts_format(t_us, text) : NULL);
}

void jw_money(struct jw *w, const char *key, int64_t micro)
{
    char text[SL_MONEY_TEXT];
    jw_str(w, key, money_format(micro, text));
}

void jw_raw(struct jw *w, const char *key, const char *json)
{
    lead(w, key);
    sl_buf_adds(w->b, json);
}
