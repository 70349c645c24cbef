/* SPDX-License-Identifier: Apache-2.0 */
#include "port/diff.h"

enum { CONTEXT = 3 };

/* Whole lines [first, last] (from 1) of the input that edits [e, e_end) change. */
struct hunk {
    unsigned first, last;
    size_t e, e_end;
};

static size_t line_start(struct source *s, unsigned line)
{
    return line <= s->n_lines ? s->line_at[line - 1] : s->n;
}

/* The lines that edit number k touches; last is first - 1 when it only adds whole lines. */
static void lines_of(struct source *s, size_t k, unsigned *ret_first, unsigned *ret_last)
{
    const struct edit *e = &s->edits[k];
    source_where(s, e->at, ret_first, NULL);
    if (!e->n && e->text_n && e->text[e->text_n - 1] == '\n' &&
        line_start(s, *ret_first) == e->at) {
        *ret_last = *ret_first - 1;
        return;
    }
    size_t last = e->n ? e->at + e->n - 1 : e->at;
    source_where(s, last, ret_last, NULL);
}

static void add_lines(struct sl_buf *out, char mark, const char *p, size_t n)
{
    for (const char *end = p + n; p < end;) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        sl_buf_addc(out, mark);
        sl_buf_add(out, p, nl ? (size_t)(nl - p) + 1 : (size_t)(end - p));
        if (!nl)
            sl_buf_adds(out, "\n\\ No newline at end of file\n");
        p = nl ? nl + 1 : end;
    }
}

static unsigned count_lines(const char *p, size_t n)
{
    unsigned k = 0;
    for (size_t i = 0; i < n; i++)
        k += p[i] == '\n';
    return k + (n && p[n - 1] != '\n');
}

/* Input bytes [from, to) with edits [e, e_end) done. */
static void render(struct source *s, size_t from, size_t to, size_t e, size_t e_end,
                   struct sl_buf *b)
{
    for (; e < e_end; e++) {
        sl_buf_add(b, s->p + from, s->edits[e].at - from);
        sl_buf_add(b, s->edits[e].text, s->edits[e].text_n);
        from = s->edits[e].at + s->edits[e].n;
    }
    sl_buf_add(b, s->p + from, to - from);
}

/* One changed block inside a hunk: '-' lines, then '+' lines. */
static void block(struct source *s, const struct hunk *h, struct sl_buf *out)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(LEX_MAX_BYTES);
    size_t from = line_start(s, h->first), to = line_start(s, h->last + 1);
    render(s, from, to, h->e, h->e_end, &b);
    add_lines(out, '-', s->p + from, to - from);
    add_lines(out, '+', sl_buf_str(&b), b.n);
}

/* The run of edits from e whose lines touch or follow each other. */
static struct hunk next_block(struct source *s, size_t e)
{
    struct hunk h = {.e = e, .e_end = e + 1};
    lines_of(s, e, &h.first, &h.last);
    while (h.e_end < s->n_edits) {
        unsigned first, last;
        lines_of(s, h.e_end, &first, &last);
        if (first > h.last)
            break;
        h.last = last > h.last ? last : h.last;
        h.e_end++;
    }
    return h;
}

static unsigned context_after(struct source *s, unsigned last)
{
    unsigned lines = (unsigned)s->n_lines - (line_start(s, (unsigned)s->n_lines) == s->n);
    return last + CONTEXT < lines ? last + CONTEXT : lines;
}

/* Writes the hunk that starts with edit e; returns the first edit after it. */
static size_t hunk(struct source *s, size_t e, long *shift, struct sl_buf *out)
{
    SL_AUTO_BUF struct sl_buf body = SL_BUF(LEX_MAX_BYTES);
    struct hunk b = next_block(s, e);
    unsigned first = b.first > CONTEXT ? b.first - CONTEXT : 1, at = first, old_n = 0, new_n = 0;
    for (;;) {
        size_t from = line_start(s, at), to = line_start(s, b.first);
        add_lines(&body, ' ', s->p + from, to - from);
        size_t before = body.n;
        block(s, &b, &body);
        unsigned was = b.last - b.first + 1;
        was -= was > 0 && line_start(s, b.last) == s->n; /* an insertion at the very end */
        unsigned both = count_lines(body.p + before, body.n - before);
        for (const char *q = body.p + before; (q = strstr(q, "\n\\ No newline")) != NULL; q++)
            both--;
        old_n += b.first - at + was;
        new_n += b.first - at + both - was;
        at = b.last + 1;
        e = b.e_end;
        if (e == s->n_edits)
            break;
        b = next_block(s, e);
        if (b.first > at + 2 * CONTEXT)
            break;
    }
    unsigned end = context_after(s, at - 1);
    if (end >= at) {
        add_lines(&body, ' ', s->p + line_start(s, at), line_start(s, end + 1) - line_start(s, at));
        old_n += end - at + 1;
        new_n += end - at + 1;
    }
    sl_buf_printf(out, "@@ -%u,%u +%ld,%u @@\n", old_n ? first : first - 1, old_n,
                  (long)first + *shift, new_n);
    sl_buf_add(out, sl_buf_str(&body), body.n);
    *shift += (long)new_n - (long)old_n;
    return e;
}

void diff_unified(struct source *s, const char *new_path, struct sl_buf *out)
{
    unsigned line;
    long shift = 0;
    SL_ASSERT(s->settled);
    if (!s->n_edits)
        return;
    source_where(s, 0, &line, NULL);
    bool absolute = s->path[0] == '/';
    sl_buf_printf(out, "--- a%s%s\n+++ b%s%s\n", absolute ? "" : "/", s->path,
                  *new_path == '/' ? "" : "/", new_path);
    for (size_t e = 0; e < s->n_edits;)
        e = hunk(s, e, &shift, out);
}
