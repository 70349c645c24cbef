/* SPDX-License-Identifier: Apache-2.0
 *
 * source.h: one file being ported: its bytes, its tokens, and the list of edits that will turn it
 * into HIP. The bytes never change; the result is bytes + edits, so that "output minus edits =
 * input" holds by construction, and every place in the output maps back to a place in the input.
 *
 *     struct source s;
 *     if (source_read(&s, "axpy.cu", &err) < 0) return -1;
 *     source_edit(&s, tok->at, tok->n, "hipMalloc", 9, EDIT_NAME);
 *     source_settle(&s);                    sorts, drops overlaps
 *     source_render(&s, &buf);
 *     source_free(&s);
 *
 * Ownership: texts of edits are copied into the source's arena by source_edit_copy and borrowed by
 * source_edit (string literals, API table). Not shared between threads.
 */
#ifndef PORT_SOURCE_H
#define PORT_SOURCE_H
#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/mem.h"
#include "port/lex.h"

/* Why an edit was made; reports group by it. */
enum edit_why {
    EDIT_NAME,    /* an API name */
    EDIT_INCLUDE, /* an include line, or one added */
    EDIT_LAUNCH,  /* <<< >>> to hipLaunchKernelGGL */
    EDIT_ARGS,    /* an argument rule */
    EDIT_FIX      /* a hazard rule's automatic fix (rule names which) */
};

struct edit {
    uint32_t at, n;   /* bytes at..at+n of the input are replaced; n 0 inserts before `at` */
    uint32_t text_n;  /* length of text */
    uint16_t why;     /* enum edit_why */
    uint16_t rule;    /* hazard rule number for EDIT_FIX, else 0 */
    const char *text; /* may hold NULs; borrowed or in the arena */
};

struct source {
    char *path; /* as given; "-" for bytes that came from memory */
    const char *p;
    size_t n;
    struct lex lex;
    struct edit *edits; /* in the order given until source_settle sorts them by offset */
    size_t n_edits, cap_edits;
    bool settled;
    uint32_t *line_at; /* offset of each line's first byte; made on the first question */
    size_t n_lines;
    struct sl_arena arena;
    char *own; /* the bytes when read or copied by us */
};

/* Reads and lexes a regular file. SL_NOT_FOUND, SL_TOO_LARGE (over 1 GiB), SL_INVALID (a directory
 * or device, NUL bytes: "binary"), SL_CONFLICT (the file changed size while it was read). */
int source_read(struct source *s, const char *path, struct sl_err *err);
/* The same over bytes in memory, which are borrowed and must outlive s. Cannot fail for n <= 1 GiB.
 */
void source_from(struct source *s, const char *path, const char *p, size_t n);
void source_free(struct source *s);

/* Replaces n bytes at `at`. The text is borrowed. Where edits overlap, the one given first stays;
 * more than one insertion at the same place are kept in the order given. */
void source_edit(struct source *s, size_t at, size_t n, const char *text, size_t text_n,
                 enum edit_why why);
/* The same with a copied text and a rule number. */
void source_edit_copy(struct source *s, size_t at, size_t n, const char *text, size_t text_n,
                      enum edit_why why, unsigned rule);
/* Sorts the edits and drops those that overlap an earlier given one, or change nothing. Called
 * once, before rendering and mapping. Returns how many were dropped for overlapping. */
size_t source_settle(struct source *s);
/* Appends the result to b (whose maximum must allow it: b->over otherwise). */
void source_render(struct source *s, struct sl_buf *b);

/* Line and column (both from 1; a column counts bytes) of an input offset. */
void source_where(struct source *s, size_t at, unsigned *ret_line, unsigned *ret_col);
/* The text of line `line` (from 1) without its newline; empty past the end. Borrowed. */
struct sl_str source_line(struct source *s, unsigned line);
/* An output offset -> the input offset it came from (inside a replacement: the replaced text's
 * start). */
size_t source_back(const struct source *s, size_t out_at);
/* An output line (from 1) -> the input line. Linear in the number of edits; needs source_settle. */
unsigned source_back_line(struct source *s, unsigned out_line);
#endif
