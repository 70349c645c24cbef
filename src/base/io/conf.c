/* SPDX-License-Identifier: Apache-2.0 */
#include "conf.h"
#include "base/core/buf.h"
#include "base/core/clock.h"
#include "base/core/money.h"
#include "base/io/proc.h"
#include <ctype.h>

enum { CONF_FILE_MAX = 256 * 1024 };

static int store(const struct conf_key *k, const char *value, void *out, struct sl_arena *arena,
                 struct sl_err *err)
{
    char *at = (char *)out + k->offset, field[64];
    long long n;
    snprintf(field, sizeof field, "%s.%s", k->section, k->key);
    switch (k->kind) {
    case CONF_TEXT:
    case CONF_PATH:
        if (!sl_utf8_ok(value, strlen(value), false))
            return sl_fail_at(err, SL_INVALID, field, "%s: not printable UTF-8 text", field);
        *(const char **)at = sl_arena_strdup(arena, value);
        return 0;
    case CONF_BOOL:
        if (!sl_streq(value, "yes") && !sl_streq(value, "no"))
            return sl_fail_at(err, SL_INVALID, field, "%s: \"%.40s\" is neither yes nor no", field,
                              value);
        *(bool *)at = sl_streq(value, "yes");
        return 0;
    case CONF_INT:
        if (!sl_parse_i64(value, &n))
            return sl_fail_at(err, SL_INVALID, field, "%s: \"%.40s\" is not a whole number", field,
                              value);
        break;
    case CONF_DURATION: {
        int64_t s;
        if (duration_parse(value, field, &s, err) < 0)
            return -1;
        n = s;
        break;
    }
    case CONF_MONEY: {
        int64_t micro;
        if (money_parse(value, field, &micro, err) < 0)
            return -1;
        n = micro;
        break;
    }
    default:
        SL_ASSERT(!"unknown kind");
        return -1;
    }
    if (n < k->min || n > k->max)
        return sl_fail_at(err, SL_INVALID, field, "%s: %s is out of range; use %lld to %lld", field,
                          value, (long long)k->min, (long long)k->max);
    *(int64_t *)at = n;
    return 0;
}

static const struct conf_key *key_find(const struct conf_key *keys, const char *section,
                                       const char *name, bool *ret_section)
{
    *ret_section = false;
    for (const struct conf_key *k = keys; k->key; k++) {
        if (!sl_streq(k->section, section))
            continue;
        *ret_section = true;
        if (sl_streq(k->key, name))
            return k;
    }
    return NULL;
}

static char *trim(char *s)
{
    while (*s == ' ' || *s == '\t')
        s++;
    size_t n = strlen(s);
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\t' || s[n - 1] == '\r'))
        s[--n] = 0;
    return s;
}

static int at_line(const char *name, int line, struct sl_err *err)
{
    char msg[sizeof err->msg];
    memcpy(msg, err->msg, sizeof msg);
    return sl_fail_at(err, err->code, err->field, "%s:%d: %.300s", name, line, msg);
}

static int parse_line(char *s, char section[64], const struct conf_key *keys, void *out,
                      struct sl_arena *arena, struct sl_err *err)
{
    bool known;
    s = trim(s);
    if (!*s || *s == '#' || *s == ';')
        return 0;
    if (*s == '[') {
        size_t n = strlen(s);
        if (n < 3 || s[n - 1] != ']' || n > 60)
            return sl_fail(err, SL_INVALID, "\"%.60s\" is not a section; write [name]", s);
        s[n - 1] = 0;
        snprintf(section, 64, "%s", s + 1);
        key_find(keys, section, "", &known);
        return known ? 0 : sl_fail(err, SL_INVALID, "unknown section [%s]", section);
    }
    char *eq = strchr(s, '=');
    if (!eq)
        return sl_fail(err, SL_INVALID, "\"%.60s\" is not `key = value`", s);
    *eq = 0;
    const char *key = trim(s);
    const struct conf_key *k = key_find(keys, section, key, &known);
    if (!k)
        return sl_fail_at(err, SL_INVALID, key, "unknown key \"%.60s\" in section [%s]", key,
                          section);
    return store(k, trim(eq + 1), out, arena, err);
}

static int defaults(const struct conf_key *keys, void *out, struct sl_arena *arena,
                    struct sl_err *err)
{
    for (const struct conf_key *k = keys; k->key; k++)
        if (store(k, k->fallback, out, arena, err) < 0)
            return -1;
    return 0;
}

static int from_environment(const struct conf_key *keys, void *out, struct sl_arena *arena,
                            struct sl_err *err)
{
    for (const struct conf_key *k = keys; k->key; k++) {
        char name[128];
        snprintf(name, sizeof name, "STARLEASE_%s_%s", k->section, k->key);
        for (char *p = name; *p; p++)
            *p = (char)toupper((unsigned char)*p);
        const char *v = getenv(name);
        if (v && store(k, v, out, arena, err) < 0)
            return -1;
    }
    return 0;
}

static int parse_text(const char *name, const char *text, size_t n, const struct conf_key *keys,
                      void *out, struct sl_arena *arena, struct sl_err *err)
{
    char section[64] = "";
    int line = 0;
    struct sl_str rest = {text, n}, piece;
    while (sl_str_cut(&rest, '\n', &piece)) {
        line++;
        if (piece.n && memchr(piece.p, 0, piece.n)) {
            sl_fail(err, SL_INVALID, "contains a NUL byte");
            return at_line(name, line, err);
        }
        SL_AUTO_FREE char *s = sl_strndup(piece.p ? piece.p : "", piece.n);
        if (parse_line(s, section, keys, out, arena, err) < 0)
            return at_line(name, line, err);
    }
    return 0;
}

int conf_parse(const char *name, const char *text, size_t n, const struct conf_key *keys, void *out,
               struct sl_arena *arena, struct sl_err *err)
{
    if (defaults(keys, out, arena, err) < 0)
        return -1;
    return parse_text(name, text, n, keys, out, arena, err);
}

int conf_load(const char *path, const struct conf_key *keys, void *out, struct sl_arena *arena,
              struct sl_err *err)
{
    if (defaults(keys, out, arena, err) < 0)
        return -1;
    if (path) {
        SL_AUTO_BUF struct sl_buf b = SL_BUF(CONF_FILE_MAX);
        if (file_read(path, CONF_FILE_MAX, &b, err) < 0 ||
            parse_text(path, sl_buf_str(&b), b.n, keys, out, arena, err) < 0)
            return -1;
    }
    return from_environment(keys, out, arena, err);
}

void conf_help(const struct conf_key *keys, FILE *out)
{
    const char *section = "";
    for (const struct conf_key *k = keys; k->key; k++) {
        if (!sl_streq(section, k->section))
            fprintf(out, "%s[%s]\n", *section ? "\n" : "", k->section);
        section = k->section;
        fprintf(out, "# %s\n%s = %s\n", k->doc, k->key, k->fallback);
    }
}
