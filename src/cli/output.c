/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include <stdarg.h>
#include <stdio.h>

enum { COLUMNS_MAX = 16 };

/* How many terminal cells a UTF-8 text takes: East Asian wide characters take two. */
static int cells(const char *s)
{
    int n = 0;
    for (const unsigned char *p = (const unsigned char *)s; *p; p++) {
        if ((*p & 0xc0) == 0x80)
            continue;
        bool wide = (*p >= 0xe3 && *p <= 0xed) || (*p == 0xef && p[1] >= 0xbc) || *p >= 0xf0;
        n += wide ? 2 : 1;
    }
    return n;
}

static void pad(int n)
{
    while (n-- > 0)
        putchar(' ');
}

const struct jr_val *cli_at(const struct jr_val *v, const char *path)
{
    while (v && *path) {
        size_t n = strcspn(path, ".");
        char key[64];
        if (n >= sizeof key)
            return NULL;
        memcpy(key, path, n);
        key[n] = 0;
        v = jr_get(v, key);
        path += path[n] ? n + 1 : n;
    }
    return v;
}

const char *cli_duration(struct cli *c, int64_t s)
{
    static const struct {
        int64_t size;
        const char *unit;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    if (s < 0)
        s = 0;
    for (size_t i = 0; i + 1 < SL_COUNT(units); i++) {
        if (s < units[i].size)
            continue;
        int64_t big = s / units[i].size, rest = s % units[i].size / units[i + 1].size;
        if (rest == 0)
            return sl_arena_printf(&c->arena, "%lld %s", (long long)big, units[i].unit);
        return sl_arena_printf(&c->arena, "%lld %s %lld %s", (long long)big, units[i].unit,
                               (long long)rest, units[i + 1].unit);
    }
    return sl_arena_printf(&c->arena, "%lld s", (long long)s);
}

static const char *bytes_text(struct cli *c, int64_t n)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int64_t size = 1;
    size_t u = 0;
    while (u + 1 < SL_COUNT(unit) && n >= size * 1024) {
        size *= 1024;
        u++;
    }
    char number[SL_MONEY_TEXT];
    if (u == 0 || n % size == 0)
        return sl_arena_printf(&c->arena, "%lld %s", (long long)(n / size), unit[u]);
    money_format_rounded(money_muldiv(n, SL_MICRO, size), 1, number);
    return sl_arena_printf(&c->arena, "%s %s", number, unit[u]);
}

const char *cli_safe(struct cli *c, const char *s)
{
    char *out = sl_arena_strdup(&c->arena, s), *to = out;
    for (const unsigned char *p = (const unsigned char *)s; *p; p++) {
        bool c1 = *p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0;
        *to++ = *p < 0x20 || *p == 0x7f || c1 ? '?' : (char)*p;
        p += c1;
    }
    *to = 0;
    return out;
}

const char *cli_text(struct cli *c, const struct jr_val *v, enum column_kind kind)
{
    if (!v)
        return "-";
    if (kind == COL_COUNT)
        return sl_arena_printf(&c->arena, "%zu", jr_len(v));
    if (kind == COL_BYTES && jr_i64(v, -1) >= 0)
        return bytes_text(c, jr_i64(v, 0));
    if (kind == COL_DURATION && jr_i64(v, -1) >= 0)
        return cli_duration(c, jr_i64(v, 0));
    const char *t = jr_text(v, NULL);
    if (t && kind == COL_TIME) { /* without the fraction */
        size_t n = strcspn(t, ".");
        return t[n] ? cli_safe(c, sl_arena_printf(&c->arena, "%.*sZ", (int)n, t)) : cli_safe(c, t);
    }
    if (t)
        return *t ? cli_safe(c, t) : "-";
    SL_AUTO_BUF struct sl_buf b = SL_BUF(1 << 20);
    jr_write(v, &b);
    const char *s = sl_buf_str(&b);
    if (sl_streq(s, "null") || sl_streq(s, "[]"))
        return "-";
    if (sl_streq(s, "true") || sl_streq(s, "false"))
        return s[0] == 't' ? "yes" : "no";
    if (s[0] == '[') { /* ["a","b"] and [0,1] read better bare */
        SL_AUTO_BUF struct sl_buf list = SL_BUF(1 << 20);
        for (size_t i = 0; i < jr_len(v); i++)
            sl_buf_printf(&list, "%s%s", i ? "," : "", cli_text(c, jr_at(v, i), COL_TEXT));
        return sl_arena_strdup(&c->arena, sl_buf_str(&list));
    }
    return cli_safe(c, s);
}

void cli_print_json(const struct jr_val *v)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(CLI_ANSWER_MAX);
    jr_write(v, &b);
    puts(sl_buf_str(&b));
}

void cli_table(struct cli *c, const struct jr_val *v, const struct column *columns)
{
    if (c->json) {
        cli_print_json(v);
        return;
    }
    const struct jr_val *items = jr_get(v, "items");
    if (!items)
        items = v;
    size_t rows = jr_len(items);
    int n = 0, width[COLUMNS_MAX];
    while (columns[n].title)
        n++;
    SL_ASSERT(n <= COLUMNS_MAX);
    const char **cell = sl_alloc((rows * (size_t)n + 1) * sizeof *cell);
    for (int k = 0; k < n; k++) {
        width[k] = cells(columns[k].title);
        for (size_t i = 0; i < rows; i++) {
            const char *t = cli_text(c, cli_at(jr_at(items, i), columns[k].path), columns[k].kind);
            cell[i * (size_t)n + (size_t)k] = t;
            if (cells(t) > width[k])
                width[k] = cells(t);
        }
    }
    for (size_t i = 0; i <= rows; i++) {
        for (int k = 0; k < n; k++) {
            const char *t = i ? cell[(i - 1) * (size_t)n + (size_t)k] : columns[k].title;
            bool right = columns[k].kind == COL_RIGHT || columns[k].kind == COL_BYTES ||
                         columns[k].kind == COL_COUNT;
            if (right)
                pad(width[k] - cells(t));
            fputs(t, stdout);
            if (!right && k + 1 < n)
                pad(width[k] - cells(t));
            fputs(k + 1 < n ? "  " : "\n", stdout);
        }
    }
    free(cell);
}

void cli_show(struct cli *c, const struct jr_val *v, const struct column *fields)
{
    if (c->json) {
        cli_print_json(v);
        return;
    }
    int width = 0;
    for (const struct column *f = fields; f->title; f++)
        if (cli_at(v, f->path) && cells(f->title) > width)
            width = cells(f->title);
    for (const struct column *f = fields; f->title; f++) {
        const struct jr_val *m = cli_at(v, f->path);
        if (!m)
            continue;
        printf("%s:", f->title);
        pad(width - cells(f->title) + 1);
        puts(cli_text(c, m, f->kind));
    }
}

void cli_say(struct cli *c, const char *fmt, ...)
{
    if (!c->talk)
        return;
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}
