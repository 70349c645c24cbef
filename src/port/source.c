/* SPDX-License-Identifier: Apache-2.0 */
#include "port/source.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

void source_from(struct source *s, const char *path, const char *p, size_t n)
{
    *s = (struct source){.path = sl_strdup(path), .p = p, .n = n};
    lex_run(&s->lex, p, n);
}

/* Reads `size` bytes, and asks for one more in the same call: the file must end there. */
static int read_all(int fd, const char *path, char *buf, size_t size, struct sl_err *err)
{
    for (size_t n = 0;;) {
        ssize_t k = read(fd, buf + n, size + 1 - n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return sl_fail_errno(err, errno, "%s: cannot be read", path);
        n += (size_t)k;
        if (n == size)
            return 0;
        if (k == 0 || n > size)
            return sl_fail(
                err, SL_CONFLICT,
                "%s: changed its size while it was read; run again when nothing writes it", path);
    }
}

static int open_regular(const char *path, size_t *ret_size, struct sl_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? sl_fail(err, SL_NOT_FOUND, "%s: no such file", path)
               : errno == ELOOP  ? sl_fail(err, SL_INVALID, "%s: a loop of symbolic links", path)
               : errno == EACCES ? sl_fail(err, SL_FORBIDDEN, "%s: no permission to read it", path)
                                 : sl_fail_errno(err, errno, "%s: cannot be opened", path);
    struct stat st;
    if (fstat(fd, &st) < 0)
        sl_fail_errno(err, errno, "%s: cannot be examined", path);
    else if (!S_ISREG(st.st_mode))
        sl_fail(err, SL_INVALID, "%s: not a regular file", path);
    else if (st.st_size > (off_t)LEX_MAX_BYTES)
        sl_fail(err, SL_TOO_LARGE, "%s: %lld bytes, over the limit of 1 GiB for one file", path,
                (long long)st.st_size);
    else {
        *ret_size = (size_t)st.st_size;
        return fd;
    }
    close(fd);
    return -1;
}

int source_read(struct source *s, const char *path, struct sl_err *err)
{
    *s = (struct source){0};
    size_t size = 0;
    SL_AUTO_CLOSE int fd = open_regular(path, &size, err);
    if (fd < 0)
        return -1;
    char *buf = sl_realloc(NULL, size + 1);
    if (read_all(fd, path, buf, size, err) < 0) {
        free(buf);
        return -1;
    }
    const char *nul = memchr(buf, 0, size);
    if (nul) {
        sl_fail(err, SL_INVALID, "%s: a NUL byte at offset %zu, so this is no source text", path,
                (size_t)(nul - buf));
        free(buf);
        return -1;
    }
    source_from(s, path, buf, size);
    s->own = buf;
    return 0;
}

void source_free(struct source *s)
{
    lex_free(&s->lex);
    free(s->edits);
    free(s->line_at);
    free(s->own);
    free(s->path);
    sl_arena_free(&s->arena);
    *s = (struct source){0};
}

static struct edit *edit_new(struct source *s, size_t at, size_t n)
{
    SL_ASSERT(at <= s->n && n <= s->n - at && !s->settled);
    if (s->n_edits == s->cap_edits) {
        s->cap_edits = s->cap_edits ? s->cap_edits * 2 : 64;
        s->edits = sl_realloc(s->edits, s->cap_edits * sizeof *s->edits);
    }
    struct edit *e = &s->edits[s->n_edits++];
    *e = (struct edit){.at = (uint32_t)at, .n = (uint32_t)n};
    return e;
}

void source_edit(struct source *s, size_t at, size_t n, const char *text, size_t text_n,
                 enum edit_why why)
{
    struct edit *e = edit_new(s, at, n);
    e->text = text;
    e->text_n = (uint32_t)text_n;
    e->why = (uint16_t)why;
}

void source_edit_copy(struct source *s, size_t at, size_t n, const char *text, size_t text_n,
                      enum edit_why why, unsigned rule)
{
    struct edit *e = edit_new(s, at, n);
    e->text = sl_arena_strndup(&s->arena, text, text_n);
    e->text_n = (uint32_t)text_n;
    e->why = (uint16_t)why;
    e->rule = (uint16_t)rule;
}

/* By offset, then by rank, then in the order given
 * (kept by the index, because qsort is not stable). */
struct sort_key {
    uint32_t at, index;
    uint8_t rank; /* 0: a whole line goes in, 1: text goes in, 2: text is replaced */
};

static uint8_t rank_of(const struct edit *e)
{
    return e->n ? 2 : e->why != EDIT_INCLUDE;
}

static int by_place(const void *a, const void *b)
{
    const struct sort_key *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static bool in_order(const struct source *s)
{
    for (size_t i = 1; i < s->n_edits; i++) {
        const struct edit *a = &s->edits[i - 1], *b = &s->edits[i];
        if (b->at < a->at || (b->at == a->at && rank_of(b) < rank_of(a)))
            return false;
    }
    return true;
}

static void sort_edits(struct source *s)
{
    if (in_order(s))
        return;
    struct sort_key *k = sl_realloc(NULL, s->n_edits * sizeof *k);
    struct edit *sorted = sl_realloc(NULL, s->n_edits * sizeof *sorted);
    for (size_t i = 0; i < s->n_edits; i++)
        k[i] = (struct sort_key){s->edits[i].at, (uint32_t)i, rank_of(&s->edits[i])};
    qsort(k, s->n_edits, sizeof *k, by_place);
    for (size_t i = 0; i < s->n_edits; i++)
        sorted[i] = s->edits[k[i].index];
    free(k);
    free(s->edits);
    s->edits = sorted;
    s->cap_edits = s->n_edits;
}

static bool changes_nothing(const struct source *s, const struct edit *e)
{
    return e->n == e->text_n && memcmp(s->p + e->at, e->text, e->n) == 0;
}

size_t source_settle(struct source *s)
{
    sort_edits(s);
    size_t kept = 0, dropped = 0;
    uint32_t end = 0; /* end of the last replacement kept */
    for (size_t i = 0; i < s->n_edits; i++) {
        const struct edit *e = &s->edits[i];
        if (changes_nothing(s, e))
            continue;
        if (e->at < end) {
            dropped++;
            continue;
        }
        if (e->n)
            end = e->at + e->n;
        s->edits[kept++] = *e;
    }
    s->n_edits = kept;
    s->settled = true;
    return dropped;
}

void source_render(struct source *s, struct sl_buf *b)
{
    SL_ASSERT(s->settled);
    size_t from = 0;
    for (size_t i = 0; i < s->n_edits; i++) {
        const struct edit *e = &s->edits[i];
        sl_buf_add(b, s->p + from, e->at - from);
        sl_buf_add(b, e->text, e->text_n);
        from = e->at + e->n;
    }
    sl_buf_add(b, s->p + from, s->n - from);
}

static void find_lines(struct source *s)
{
    size_t cap = 256, n = 0;
    s->line_at = sl_realloc(NULL, cap * sizeof *s->line_at);
    s->line_at[n++] = 0;
    for (const char *q = s->p, *end = s->p + s->n; q < end;) {
        const char *nl = memchr(q, '\n', (size_t)(end - q));
        if (!nl)
            break;
        if (n == cap)
            s->line_at = sl_realloc(s->line_at, (cap *= 2) * sizeof *s->line_at);
        q = nl + 1;
        s->line_at[n++] = (uint32_t)(q - s->p);
    }
    s->n_lines = n;
}

void source_where(struct source *s, size_t at, unsigned *ret_line, unsigned *ret_col)
{
    if (!s->line_at)
        find_lines(s);
    size_t lo = 0, hi = s->n_lines; /* the last line that starts at or before `at` */
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->line_at[mid] <= at)
            lo = mid;
        else
            hi = mid;
    }
    *ret_line = (unsigned)lo + 1;
    if (ret_col)
        *ret_col = (unsigned)(at - s->line_at[lo]) + 1;
}

struct sl_str source_line(struct source *s, unsigned line)
{
    if (!s->line_at)
        find_lines(s);
    if (line == 0 || line > s->n_lines)
        return SL_STR("");
    size_t at = s->line_at[line - 1], end = line < s->n_lines ? s->line_at[line] - 1 : s->n;
    if (end > at && s->p[end - 1] == '\r')
        end--;
    return (struct sl_str){s->p + at, end - at};
}

size_t source_back(const struct source *s, size_t out_at)
{
    SL_ASSERT(s->settled);
    size_t in = 0, out = 0; /* both right after the last edit passed */
    for (size_t i = 0; i < s->n_edits; i++) {
        const struct edit *e = &s->edits[i];
        size_t start = out + (e->at - in);
        if (out_at < start)
            break;
        if (out_at < start + e->text_n)
            return e->at;
        in = e->at + e->n;
        out = start + e->text_n;
    }
    size_t back = in + (out_at - out);
    return back < s->n ? back : s->n;
}

static unsigned newlines(const char *p, size_t n)
{
    unsigned k = 0;
    for (const char *end = p + n; (p = memchr(p, '\n', (size_t)(end - p))) != NULL; p++)
        k++;
    return k;
}

unsigned source_back_line(struct source *s, unsigned out_line)
{
    SL_ASSERT(s->settled);
    long shift = 0; /* output lines minus input lines, before the place looked for */
    for (size_t i = 0; i < s->n_edits; i++) {
        const struct edit *e = &s->edits[i];
        unsigned was = newlines(s->p + e->at, e->n), is = newlines(e->text, e->text_n);
        if (was == is)
            continue;
        unsigned line;
        source_where(s, e->at, &line, NULL);
        long out = (long)line + shift; /* output line on which this edit starts */
        if (out >= (long)out_line)
            break;
        if (out + (long)is > (long)out_line)
            return line;
        shift += (long)is - (long)was;
    }
    long in = (long)out_line - shift;
    return in < 1 ? 1 : (unsigned)in;
}
