/* SPDX-License-Identifier: Apache-2.0 */
#include "buf.h"
#include "err.h"
#include "mem.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

char *sl_buf_reserve(struct sl_buf *b, size_t n)
{
    if (n > b->max || b->n > b->max - n) {
        b->over = true;
        return NULL;
    }
    if (b->n + n + 1 > b->cap) {
        size_t cap = b->cap ? b->cap * 2 : 128;
        if (cap < b->n + n + 1)
            cap = b->n + n + 1;
        if (cap > b->max + 1)
            cap = b->max + 1;
        b->p = sl_realloc(b->p, cap);
        b->cap = cap;
    }
    return b->p + b->n;
}

void sl_buf_add(struct sl_buf *b, const void *p, size_t n)
{
    char *w = sl_buf_reserve(b, n);
    if (!w)
        return;
    if (n)
        memcpy(w, p, n);
    b->n += n;
    b->p[b->n] = 0;
}

void sl_buf_adds(struct sl_buf *b, const char *s)
{
    sl_buf_add(b, s, strlen(s));
}

void sl_buf_addc(struct sl_buf *b, char c)
{
    sl_buf_add(b, &c, 1);
}

void sl_buf_printf(struct sl_buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    SL_ASSERT(n >= 0);
    char *w = sl_buf_reserve(b, (size_t)n);
    if (!w)
        return;
    va_start(ap, fmt);
    vsnprintf(w, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->n += (size_t)n;
}

void sl_buf_clear(struct sl_buf *b)
{
    b->n = 0;
    b->over = false;
    if (b->p)
        b->p[0] = 0;
}

void sl_buf_free(struct sl_buf *b)
{
    free(b->p);
    *b = SL_BUF(b->max);
}

bool sl_str_cut(struct sl_str *rest, char sep, struct sl_str *ret_piece)
{
    if (!rest->p)
        return false;
    const char *end = rest->n ? memchr(rest->p, sep, rest->n) : NULL;
    if (!end) {
        *ret_piece = *rest;
        *rest = (struct sl_str){0};
        return true;
    }
    size_t n = (size_t)(end - rest->p);
    *ret_piece = (struct sl_str){rest->p, n};
    *rest = (struct sl_str){end + 1, rest->n - n - 1};
    return true;
}

bool sl_utf8_ok(const char *s, size_t n, bool controls)
{
    const unsigned char *p = (const unsigned char *)s, *end = p + n;
    while (p < end) {
        unsigned c = *p, need = 0, min = 0;
        if (c < 0x80) {
            if (!controls && (c < 0x20 || c == 0x7f))
                return false;
            p++;
            continue;
        }
        if ((c & 0xe0) == 0xc0)
            need = 1, c &= 0x1f, min = 0x80;
        else if ((c & 0xf0) == 0xe0)
            need = 2, c &= 0x0f, min = 0x800;
        else if ((c & 0xf8) == 0xf0)
            need = 3, c &= 0x07, min = 0x10000;
        else
            return false;
        if ((size_t)(end - p) <= need)
            return false;
        for (unsigned i = 1; i <= need; i++) {
            if ((p[i] & 0xc0) != 0x80)
                return false;
            c = c << 6 | (p[i] & 0x3f);
        }
        if (c < min || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
            return false;
        if (!controls && c < 0xa0)
            return false;
        p += need + 1;
    }
    return true;
}

bool sl_parse_i64(const char *s, long long *ret)
{
    if (!s || !((*s >= '0' && *s <= '9') || *s == '-'))
        return false;
    char *end;
    errno = 0;
    *ret = strtoll(s, &end, 10);
    return errno == 0 && end != s && *end == 0;
}
