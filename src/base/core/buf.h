/* SPDX-License-Identifier: Apache-2.0
 *
 * buf.h: a growing byte buffer that is born with its maximum, and borrowed slices.
 *
 *     struct sl_buf b = SL_BUF(1 << 20);
 *     sl_buf_printf(&b, "%s\n", name);
 *     if (b.over) ...            too long: contents are cut, the flag is sticky
 *     sl_buf_free(&b);
 *
 * The bytes are always followed by a NUL that is not counted. Appending past the maximum never
 * fails loudly: it sets `over`, which the one who uses the result checks once.
 */
#ifndef SL_BUF_H
#define SL_BUF_H
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct sl_buf {
    char *p; /* NULL until the first append; then NUL-terminated */
    size_t n, cap, max;
    bool over;
};
#define SL_BUF(max_bytes) ((struct sl_buf){.max = (max_bytes)})
#define SL_AUTO_BUF __attribute__((cleanup(sl_buf_free)))

void sl_buf_add(struct sl_buf *b, const void *p, size_t n);
void sl_buf_adds(struct sl_buf *b, const char *s);
void sl_buf_addc(struct sl_buf *b, char c);
void sl_buf_printf(struct sl_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Makes room for n more bytes and returns where to write them (then add to b->n), or NULL if over.
 */
char *sl_buf_reserve(struct sl_buf *b, size_t n);
void sl_buf_clear(struct sl_buf *b); /* keeps the memory */
void sl_buf_free(struct sl_buf *b);
/* The text, never NULL. Borrowed. */
static inline const char *sl_buf_str(const struct sl_buf *b)
{
    return b->p ? b->p : "";
}

/* A borrowed slice; not NUL-terminated. */
struct sl_str {
    const char *p;
    size_t n;
};
#define SL_STR(literal) ((struct sl_str){(literal), sizeof(literal) - 1})
static inline struct sl_str sl_str(const char *s)
{
    return (struct sl_str){s, strlen(s)};
}
static inline bool sl_str_eq(struct sl_str a, struct sl_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
static inline bool sl_streq(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}
static inline bool sl_starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}
/* Cuts the next piece up to `sep` off *rest; false when *rest is used up. */
bool sl_str_cut(struct sl_str *rest, char sep, struct sl_str *ret_piece);
/* Valid UTF-8 without overlong forms, surrogates or (when !controls) C0/C1 control characters. */
bool sl_utf8_ok(const char *p, size_t n, bool controls);
/* A signed decimal number that fills the whole slice; false on anything else or overflow. */
bool sl_parse_i64(const char *s, long long *ret);
#endif
