/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"
#include "base/core/clock.h"
#include "base/core/money.h"
#include <jansson.h>
#include <stdlib.h>

enum { DEPTH_MAX = 32, PATH_MAX_BYTES = 96 };

struct jr_doc {
    json_t *root;
};
/* A jr_val is jansson's value under a name that keeps jansson.h out of the headers. */
static const json_t *as_json(const struct jr_val *v)
{
    return (const json_t *)v;
}
static const struct jr_val *as_val(const json_t *j)
{
    return (const struct jr_val *)j;
}

static bool too_deep(const json_t *j, int left)
{
    size_t i;
    const char *key;
    json_t *v;
    if (left == 0)
        return true;
    json_array_foreach((json_t *)j, i, v) if (too_deep(v, left - 1)) return true;
    if (json_is_object(j))
        json_object_foreach((json_t *)j, key, v) if (too_deep(v, left - 1)) return true;
    return false;
}

static json_t *load(const char *text, size_t n, struct sl_err *err)
{
    json_error_t je;
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &je);
    if (!root) {
        sl_fail(err, SL_INVALID,
                "body: not valid JSON at line %d column %d (%.120s); send one JSON "
                "object in UTF-8",
                je.line, je.column, je.text);
        return NULL;
    }
    if (too_deep(root, DEPTH_MAX)) {
        json_decref(root);
        sl_fail(err, SL_INVALID, "body: nested deeper than %d levels; flatten it", DEPTH_MAX);
        return NULL;
    }
    return root;
}

/* ---- field tables ---- */
struct ctx {
    struct sl_arena *arena;
    struct sl_err *err;
};

static const char *type_name(const json_t *j)
{
    switch (json_typeof(j)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "a whole number";
    case JSON_REAL:
        return "a number with a fraction";
    case JSON_NULL:
        return "null";
    default:
        return "true or false";
    }
}

static int wrong_type(struct ctx *c, const char *path, const json_t *j, const char *want)
{
    return sl_fail_at(c->err, SL_INVALID, path, "%s: is %s; send %s", path, type_name(j), want);
}

static bool text_ok(const char *s, size_t n, bool multiline)
{
    if (!multiline)
        return sl_utf8_ok(s, n, false);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < 0x20 && s[i] != '\n' && s[i] != '\t')
            return false;
    return sl_utf8_ok(s, n, true);
}

static int read_str(struct ctx *c, const char *path, const struct jr_field *f, const json_t *j,
                    const char **out)
{
    if (!json_is_string(j))
        return wrong_type(c, path, j, "a string");
    const char *s = json_string_value(j);
    size_t n = json_string_length(j);
    if (!text_ok(s, n, f->flags & JR_TEXT))
        return sl_fail_at(c->err, SL_INVALID, path,
                          "%s: contains a control character; send printable text", path);
    if ((int64_t)n < f->min || (int64_t)n > f->max)
        return sl_fail_at(c->err, SL_INVALID, path, "%s: is %zu bytes long; send %lld to %lld",
                          path, n, (long long)f->min, (long long)f->max);
    if (f->choices) {
        SL_AUTO_BUF struct sl_buf all = SL_BUF(200);
        for (const char *const *k = f->choices; *k; k++) {
            if (sl_streq(*k, s))
                goto known;
            sl_buf_printf(&all, "%s%s", all.n ? ", " : "", *k);
        }
        return sl_fail_at(c->err, SL_INVALID, path, "%s: \"%.60s\" is not known; send one of %s",
                          path, s, sl_buf_str(&all));
    }
known:
    *out = sl_arena_strndup(c->arena, s, n);
    return 0;
}

static int read_int(struct ctx *c, const char *path, const struct jr_field *f, const json_t *j,
                    int64_t *out)
{
    if (!json_is_integer(j))
        return wrong_type(c, path, j, "a whole number");
    *out = json_integer_value(j);
    if (*out < f->min || *out > f->max)
        return sl_fail_at(c->err, SL_INVALID, path, "%s: %lld is out of range; send %lld to %lld",
                          path, (long long)*out, (long long)f->min, (long long)f->max);
    return 0;
}

static int read_money(struct ctx *c, const char *path, const struct jr_field *f, const json_t *j,
                      int64_t *out)
{
    if (!json_is_string(j))
        return wrong_type(c, path, j, "the amount as a string, like \"12.50\"");
    if (money_parse(json_string_value(j), path, out, c->err) < 0)
        return -1;
    if (*out < f->min || *out > f->max) {
        char lo[SL_MONEY_TEXT], hi[SL_MONEY_TEXT];
        return sl_fail_at(c->err, SL_INVALID, path, "%s: %.30s is out of range; send %s to %s",
                          path, json_string_value(j), money_format(f->min, lo),
                          money_format(f->max, hi));
    }
    return 0;
}

static int read_strs(struct ctx *c, const char *path, const struct jr_field *f, const json_t *j,
                     struct jr_strs *out)
{
    if (!json_is_array(j))
        return wrong_type(c, path, j, "an array of strings");
    size_t n = json_array_size(j);
    if ((int64_t)n < f->min || (int64_t)n > f->max)
        return sl_fail_at(c->err, SL_INVALID, path, "%s: has %zu items; send %lld to %lld", path, n,
                          (long long)f->min, (long long)f->max);
    const struct jr_field item = {.flags = f->flags, .min = 0, .max = 65536};
    out->v = sl_arena_alloc(c->arena, sizeof *out->v * (n + 1));
    for (size_t i = 0; i < n; i++) {
        char sub[PATH_MAX_BYTES];
        snprintf(sub, sizeof sub, "%.50s[%zu]", path, i);
        if (read_str(c, sub, &item, json_array_get(j, i), &out->v[i]) < 0)
            return -1;
    }
    out->n = (int)n;
    return 0;
}

static int read_object(struct ctx *c, const char *path, const struct jr_field *fields,
                       const json_t *obj, void *out);

static int read_list(struct ctx *c, const char *path, const struct jr_field *f, const json_t *j,
                     struct jr_list *out)
{
    if (!json_is_array(j))
        return wrong_type(c, path, j, "an array of objects");
    size_t n = json_array_size(j);
    if ((int64_t)n < f->min || (int64_t)n > f->max)
        return sl_fail_at(c->err, SL_INVALID, path, "%s: has %zu items; send %lld to %lld", path, n,
                          (long long)f->min, (long long)f->max);
    out->v = sl_arena_alloc(c->arena, f->sub_size * n + 1);
    out->n = (int)n;
    for (size_t i = 0; i < n; i++) {
        char sub[PATH_MAX_BYTES];
        snprintf(sub, sizeof sub, "%.50s[%zu]", path, i);
        if (read_object(c, sub, f->sub, json_array_get(j, i), (char *)out->v + f->sub_size * i) < 0)
            return -1;
    }
    return 0;
}

static int read_value(struct ctx *c, const char *path, const struct jr_field *f, const json_t *j,
                      void *at)
{
    switch (f->kind) {
    case JR_K_STR:
        return read_str(c, path, f, j, at);
    case JR_K_INT:
        return read_int(c, path, f, j, at);
    case JR_K_BOOL:
        if (!json_is_boolean(j))
            return wrong_type(c, path, j, "true or false");
        *(bool *)at = json_is_true(j);
        return 0;
    case JR_K_MONEY:
        return read_money(c, path, f, j, at);
    case JR_K_TIME:
        if (!json_is_string(j))
            return wrong_type(c, path, j, "a time as a string, like \"2026-12-01T08:00:00Z\"");
        return ts_parse(json_string_value(j), path, at, c->err);
    case JR_K_STRS:
        return read_strs(c, path, f, j, at);
    case JR_K_OBJ:
        return read_object(c, path, f->sub, j, at);
    case JR_K_LIST:
        return read_list(c, path, f, j, at);
    case JR_K_RAW: {
        char *text = json_dumps(j, JSON_COMPACT | JSON_ENCODE_ANY);
        SL_ASSERT(text != NULL);
        *(const char **)at = sl_arena_strdup(c->arena, text);
        free(text);
        return 0;
    }
    case JR_END:
        break;
    }
    SL_ASSERT(!"unknown field kind");
    return -1;
}

static const struct jr_field *field_find(const struct jr_field *f, const char *name)
{
    for (; f->name; f++)
        if (sl_streq(f->name, name))
            return f;
    return NULL;
}

static int unknown_field(struct ctx *c, const char *path, const struct jr_field *fields,
                         const char *key)
{
    SL_AUTO_BUF struct sl_buf known = SL_BUF(220);
    for (const struct jr_field *f = fields; f->name; f++)
        sl_buf_printf(&known, "%s%s", known.n ? ", " : "", f->name);
    char shown[PATH_MAX_BYTES];
    snprintf(shown, sizeof shown, "%.30s%s%.30s", path, *path ? "." : "", key);
    return sl_fail_at(c->err, SL_INVALID, shown, "%s: unknown field; known here: %s", shown,
                      known.n ? sl_buf_str(&known) : "none");
}

static int read_object(struct ctx *c, const char *path, const struct jr_field *fields,
                       const json_t *obj, void *out)
{
    const char *key;
    json_t *v;
    if (!json_is_object(obj))
        return wrong_type(c, *path ? path : "body", obj, "an object");
    json_object_foreach((json_t *)obj, key, v)
    {
        const struct jr_field *f = field_find(fields, key);
        char sub[PATH_MAX_BYTES];
        if (!f)
            return unknown_field(c, path, fields, key);
        snprintf(sub, sizeof sub, "%.30s%s%.30s", path, *path ? "." : "", key);
        if (json_is_null(v) && (f->flags & JR_NULLABLE))
            continue;
        if (read_value(c, sub, f, v, (char *)out + f->offset) < 0)
            return -1;
        if (f->has_offset)
            *(bool *)((char *)out + f->has_offset) = true;
    }
    for (const struct jr_field *f = fields; f->name; f++)
        if ((f->flags & JR_REQUIRED) && !json_object_get(obj, f->name)) {
            char sub[PATH_MAX_BYTES];
            snprintf(sub, sizeof sub, "%.30s%s%.30s", path, *path ? "." : "", f->name);
            return sl_fail_at(c->err, SL_INVALID, sub, "%s: missing; this field is required", sub);
        }
    return 0;
}

int jr_parse(const char *text, size_t n, const struct jr_field *fields, void *out,
             struct sl_arena *arena, struct sl_err *err)
{
    json_t *root = load(text, n, err);
    if (!root)
        return -1;
    struct ctx c = {arena, err};
    int rc = read_object(&c, "", fields, root, out);
    json_decref(root);
    return rc;
}

/* ---- free-form ---- */
int jr_open(const char *text, size_t n, struct jr_doc **ret_doc, struct sl_err *err)
{
    json_t *root = load(text, n, err);
    if (!root)
        return -1;
    *ret_doc = sl_alloc(sizeof **ret_doc);
    (*ret_doc)->root = root;
    return 0;
}

void jr_close(struct jr_doc *d)
{
    if (!d)
        return;
    json_decref(d->root);
    free(d);
}

const struct jr_val *jr_root(const struct jr_doc *d)
{
    return as_val(d->root);
}

const struct jr_val *jr_get(const struct jr_val *v, const char *key)
{
    return v ? as_val(json_object_get(as_json(v), key)) : NULL;
}

const struct jr_val *jr_at(const struct jr_val *v, size_t i)
{
    return v ? as_val(json_array_get(as_json(v), i)) : NULL;
}

size_t jr_len(const struct jr_val *v)
{
    return v && json_is_array(as_json(v)) ? json_array_size(as_json(v)) : 0;
}

const char *jr_text(const struct jr_val *v, const char *otherwise)
{
    return v && json_is_string(as_json(v)) ? json_string_value(as_json(v)) : otherwise;
}

int64_t jr_i64(const struct jr_val *v, int64_t otherwise)
{
    return v && json_is_integer(as_json(v)) ? json_integer_value(as_json(v)) : otherwise;
}

bool jr_true(const struct jr_val *v)
{
    return v && json_is_true(as_json(v));
}

const char *jr_member(const struct jr_val *obj, void **it, const struct jr_val **ret_v)
{
    json_t *o = (json_t *)as_json(obj);
    if (!json_is_object(o))
        return NULL;
    *it = *it ? json_object_iter_next(o, *it) : json_object_iter(o);
    if (!*it)
        return NULL;
    *ret_v = as_val(json_object_iter_value(*it));
    return json_object_iter_key(*it);
}

static bool has_real(const json_t *j)
{
    size_t i;
    const char *key;
    json_t *v;
    if (json_is_real(j))
        return true;
    json_array_foreach((json_t *)j, i, v) if (has_real(v)) return true;
    if (json_is_object(j))
        json_object_foreach((json_t *)j, key, v) if (has_real(v)) return true;
    return false;
}

int jr_canonical(const struct jr_val *v, struct sl_buf *out, struct sl_err *err)
{
    if (has_real(as_json(v)))
        return sl_fail(err, SL_INVALID,
                       "a number with a fraction has no canonical form; use whole "
                       "numbers or strings");
    char *text = json_dumps(as_json(v), JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    SL_ASSERT(text != NULL);
    sl_buf_adds(out, text);
    free(text);
    return out->over ? sl_fail(err, SL_TOO_LARGE, "document over %zu bytes", out->max) : 0;
}

void jr_write(const struct jr_val *v, struct sl_buf *out)
{
    char *text = json_dumps(as_json(v), JSON_COMPACT | JSON_ENCODE_ANY);
    SL_ASSERT(text != NULL);
    sl_buf_adds(out, text);
    free(text);
}
