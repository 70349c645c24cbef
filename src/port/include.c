/* SPDX-License-Identifier: Apache-2.0
 *
 * include.c: include lines. A header is mapped where it stands and keeps its quotes; a header whose
 * target is already included on the same conditional path goes; hip_runtime.h is added when
 * missing.
 */
#include "port/pass.h"
#include <sys/stat.h>

static bool is_file(const char *dir, size_t dir_n, const char *name, size_t n)
{
    SL_AUTO_FREE char *path =
        sl_asprintf("%.*s%s%.*s", (int)dir_n, dir, dir_n ? "/" : "", (int)n, name);
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* A file of this name is the user's own: beside the including file, or in one of his directories.
 */
static bool is_local(const struct pass *p, const char *name, size_t n)
{
    const char *slash = strrchr(p->s->path, '/');
    if (is_file(p->s->path, slash ? (size_t)(slash - p->s->path) : 0, name, n))
        return true;
    for (const char *const *d = p->o->include_dirs; d && *d; d++)
        if (is_file(*d, strlen(*d), name, n))
            return true;
    return false;
}

/* An earlier include of the target is always compiled when this place is. */
static bool already(struct pass *p, const char *target)
{
    const struct cond *c = &p->cond;
    for (const struct included *in = p->includes; in; in = in->next) {
        if (strcmp(in->target, target) != 0 || in->depth > c->n)
            continue;
        size_t k = 0;
        while (k < in->depth && in->path[k] == ((uint64_t)c->v[k].group << 32 | c->v[k].branch))
            k++;
        if (k == in->depth)
            return true;
    }
    return false;
}

static void remember(struct pass *p, const char *target)
{
    const struct cond *c = &p->cond;
    struct included *in = sl_arena_alloc(&p->s->arena, sizeof *in);
    if (c->n > SL_COUNT(in->path))
        return;
    in->target = target;
    in->depth = c->n;
    for (size_t k = 0; k < c->n; k++)
        in->path[k] = (uint64_t)c->v[k].group << 32 | c->v[k].branch;
    in->next = p->includes;
    p->includes = in;
}

/* Deletes the include line; a comment behind it stays. */
static void remove_line(struct pass *p, size_t hash, size_t i)
{
    const char *t = p->s->p;
    size_t from = p->l->v[hash].at, to = tok_end(p->l, i);
    bool alone = p->l->v[hash].flags & LEX_F_BOL && p->l->v[i + 1].kind == LEX_EOD;
    if (alone) {
        while (from > 0 && (t[from - 1] == ' ' || t[from - 1] == '\t'))
            from--;
        to = p->l->v[i + 1].at;
        to += to < p->s->n; /* the newline */
    }
    source_edit(p->s, from, to - from, "", 0, EDIT_INCLUDE);
}

static bool is_runtime(const char *target)
{
    return strcmp(target, "hip/hip_runtime.h") == 0;
}

/* A header of no table: it may be one that an earlier run wrote. */
static void note_other(struct pass *p, const char *name, size_t n)
{
    const char *copy = sl_arena_strndup(&p->s->arena, name, n);
    remember(p, copy);
    if (is_runtime(copy))
        p->has_runtime = true;
    /* The BLAS header of an earlier run: what is left of cuBLAS then is its first interface. */
    bool blas = memmem(name, n, "hipblas.h", 9) || memmem(name, n, "rocblas.h", 9);
    p->blas_v1 |= blas && !p->blas_v2;
}

/* Headers inside cub's tree: hipCUB has the same tree for these parts, one header for the rest. */
static const char *cub_target(struct pass *p, const char *name, size_t n)
{
    static const char *const same[] = {"block/",          "device/",   "grid/",
                                       "iterator/",       "thread/",   "warp/",
                                       "util_allocator.", "util_ptx.", "util_type."};
    if (n < 9 || memcmp(name, "cub/", 4) != 0 || memcmp(name + n - 4, ".cuh", 4) != 0)
        return NULL;
    for (size_t k = 0; k < SL_COUNT(same); k++)
        if (n > 4 + strlen(same[k]) && memcmp(name + 4, same[k], strlen(same[k])) == 0)
            return sl_arena_printf(&p->s->arena, "hip%.*s.hpp", (int)(n - 4), name);
    return "hipcub/hipcub.hpp";
}

void pass_include(struct pass *p, size_t hash, size_t i)
{
    const struct lex_tok *t = &p->l->v[i];
    const char *name = p->s->p + t->at + 1;
    size_t n = t->n - 2;
    if (p->first_include == SIZE_MAX)
        p->first_include = hash;
    int id = api_find(name, n);
    const char *cub = id < 0 && !p->o->hipify ? cub_target(p, name, n) : NULL;
    if (!cub && (id < 0 || api_kind(id) != API_HEADER)) {
        note_other(p, name, n);
        return;
    }
    id = cub ? api_find("cub/cub.cuh", 11) : id;
    if (t->first == '"' && !p->o->hipify && is_local(p, name, n))
        return;
    unsigned flags = api_flags(id);
    if (n == 8 && memcmp(name, "cublas.h", 8) == 0)
        p->blas_v1 = true;
    if (n == 11 && memcmp(name, "cublas_v2.h", 11) == 0)
        p->blas_v2 = true;
    enum port_what why;
    const char *target = flags & API_DROP ? "" : cub ? cub : pass_target(p, id, &why);
    if (!target) {
        pass_missed(p, t->at, id, why);
        return;
    }
    pass_converted(p, id);
    uint8_t next = p->l->v[i + 1].kind;
    bool clean = next == LEX_EOD || next == LEX_COMMENT;
    if (clean && (!*target || already(p, target))) {
        remove_line(p, hash, i);
        return;
    }
    if (!*target)
        return;
    remember(p, target);
    p->has_runtime |= is_runtime(target);
    source_edit(p->s, t->at + 1, n, target, strlen(target), EDIT_INCLUDE);
}

void pass_add_runtime(struct pass *p)
{
    static const char line[] = "#include <hip/hip_runtime.h>";
    if (p->has_runtime || (!p->needs_runtime && !p->o->hipify))
        return;
    struct source *s = p->s;
    size_t after = p->pragma_once < p->guard ? p->pragma_once : p->guard, at = 0;
    size_t from = after == SIZE_MAX ? s->n : s->lex.v[after].at;
    const char *below = memchr(s->p + from, '\n', s->n - from);
    if (below)
        at = (size_t)(below - s->p) + 1;
    else if (p->first_include != SIZE_MAX)
        at = s->lex.v[p->first_include].at;
    else if (s->n >= 3 && memcmp(s->p, "\xef\xbb\xbf", 3) == 0)
        at = 3; /* a byte order mark stays first */
    const char *nl = memchr(s->p, '\n', s->n);
    const char *eol = nl && nl > s->p && nl[-1] == '\r' ? "\r\n" : "\n";
    const char *text = sl_arena_printf(&s->arena, "%s%s", line, eol);
    source_edit(s, at, 0, text, strlen(text), EDIT_INCLUDE);
}
