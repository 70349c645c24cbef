/* SPDX-License-Identifier: Apache-2.0
 *
 * json.h: a streaming writer (jw_*, no tree) and a strict reader (jr_*) over jansson with field
 * tables.
 *
 *     struct sl_buf b = SL_BUF(1 << 20);
 *     struct jw w = {&b};
 *     jw_object(&w, NULL);                 {
 *     jw_str(&w, "id", lease->id);           "id":"lea_...",
 *     jw_int(&w, "gpus", 2);                 "gpus":2
 *     jw_end(&w);                          }
 *
 *     static const struct jr_field fields[] = {
 *         JR_STR(struct req, name, "name", JR_REQUIRED, 1, 63),
 *         JR_INT(struct req, gpus, "gpus", 0, 1, 64), {0}};
 *     if (jr_parse(body, n, fields, &req, &arena, err) < 0) return -1;
 *
 * The reader refuses: unknown field, wrong type, missing required field, number out of range,
 * fraction or exponent, NaN, duplicate key, bad UTF-8, control characters in strings (unless
 * JR_TEXT), nesting over 32, trailing bytes. The message names the field by its path
 * ("disks[1].size_gb").
 */
#ifndef SL_JSON_H
#define SL_JSON_H
#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/mem.h"
#include <stdint.h>

/* ---- writer: `key` is NULL inside arrays and at the top ---- */
struct jw {
    struct sl_buf *b;
    unsigned depth;
    uint64_t has_item; /* bit per depth */
    uint64_t is_array;
};
void jw_object(struct jw *w, const char *key);
void jw_array(struct jw *w, const char *key);
void jw_end(struct jw *w);
void jw_str(struct jw *w, const char *key,
            const char *s); /* NULL writes null; bad UTF-8 becomes U+FFFD */
void jw_strn(struct jw *w, const char *key, const char *s, size_t n);
void jw_int(struct jw *w, const char *key, int64_t v);
void jw_bool(struct jw *w, const char *key, bool v);
void jw_null(struct jw *w, const char *key);
void jw_time(struct jw *w, const char *key, int64_t t_us);    /* RFC 3339; 0 writes null */
void jw_money(struct jw *w, const char *key, int64_t micro);  /* a string: "2.20" */
void jw_raw(struct jw *w, const char *key, const char *json); /* already JSON */

/* ---- reader ---- */
enum jr_kind {
    JR_END,
    JR_K_STR,
    JR_K_INT,
    JR_K_BOOL,
    JR_K_MONEY,
    JR_K_TIME,
    JR_K_STRS,
    JR_K_OBJ,
    JR_K_LIST,
    JR_K_RAW
};
enum { JR_REQUIRED = 1, JR_TEXT = 2 /* newlines and tabs allowed */, JR_NULLABLE = 4 };
struct jr_strs {
    const char **v;
    int n;
};
struct jr_list {
    void *v; /* array of the element struct */
    int n;
};
struct jr_field {
    const char *name;
    enum jr_kind kind;
    unsigned flags;
    size_t offset;
    int64_t min, max;           /* STR: bytes; INT/MONEY(micro): value; STRS/LIST: count */
    const struct jr_field *sub; /* OBJ, LIST */
    size_t sub_size;            /* LIST: element size */
    const char *const *choices; /* STR: NULL-ended, or NULL */
    const char *doc;            /* one line for OpenAPI and docs */
    size_t has_offset; /* where a bool "was given" goes, or 0 = nowhere (put no bool first) */
};
#define JR_STR(T, m, name, flags, min, max)                                                        \
    {                                                                                              \
        name, JR_K_STR, flags, offsetof(T, m), min, max                                            \
    }
#define JR_INT(T, m, name, flags, min, max)                                                        \
    {                                                                                              \
        name, JR_K_INT, flags, offsetof(T, m), min, max                                            \
    }
#define JR_BOOL(T, m, name, flags)                                                                 \
    {                                                                                              \
        name, JR_K_BOOL, flags, offsetof(T, m), 0, 0                                               \
    }
/* A string "12.50" -> int64 micro. A JSON number is refused (fractions of binary floats are not
 * money). */
#define JR_MONEY(T, m, name, flags, min, max)                                                      \
    {                                                                                              \
        name, JR_K_MONEY, flags, offsetof(T, m), min, max                                          \
    }
#define JR_TIME(T, m, name, flags)                                                                 \
    {                                                                                              \
        name, JR_K_TIME, flags, offsetof(T, m), 0, 0                                               \
    }
#define JR_STRS(T, m, name, flags, min, max)                                                       \
    {                                                                                              \
        name, JR_K_STRS, flags, offsetof(T, m), min, max                                           \
    }
/* Members: const char *, int64_t, bool, int64_t, int64_t, struct jr_strs. Strings live in the
 * arena. */

int jr_parse(const char *text, size_t n, const struct jr_field *fields, void *out,
             struct sl_arena *arena, struct sl_err *err);

/* Free-form reading, for answers of other programs. A jr value is borrowed from its document. */
struct jr_doc;
struct jr_val;
int jr_open(const char *text, size_t n, struct jr_doc **ret_doc, struct sl_err *err);
void jr_close(struct jr_doc *d);
#define JR_AUTO_DOC __attribute__((cleanup(jr_auto_close)))
static inline void jr_auto_close(struct jr_doc **d)
{
    jr_close(*d);
}
const struct jr_val *jr_root(const struct jr_doc *d);
const struct jr_val *jr_get(const struct jr_val *v,
                            const char *key);                 /* NULL when absent; v may be NULL */
const struct jr_val *jr_at(const struct jr_val *v, size_t i); /* NULL past the end */
size_t jr_len(const struct jr_val *v);                        /* array length, else 0 */
const char *jr_text(const struct jr_val *v, const char *otherwise);
int64_t jr_i64(const struct jr_val *v, int64_t otherwise);
bool jr_true(const struct jr_val *v);
/* Walks an object's members in document order; returns NULL at the end. *it starts NULL. */
const char *jr_member(const struct jr_val *obj, void **it, const struct jr_val **ret_v);
/* Canonical bytes: keys sorted, no blanks, integers only, raw UTF-8. What signatures cover. */
int jr_canonical(const struct jr_val *v, struct sl_buf *out, struct sl_err *err);
/* Appends v as compact JSON, members in document order. */
void jr_write(const struct jr_val *v, struct sl_buf *out);
#endif
