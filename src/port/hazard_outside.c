/* SPDX-License-Identifier: Apache-2.0
 * hazard_outside.c: the value of a name that a local header defines. Asked only where a rule meets
 * an unknown name in a place that decides (the mask of a *_sync call), so that few files are ever
 * opened. */
#include "port/hazard_code.h"

enum { OUTSIDE_FILES = 48, OUTSIDE_DEPTH = 4 };

struct search {
    const char *name;
    size_t n;
    int files;
    bool found;
    uint64_t value;
    int bits;
};

/* #define NAME number   const unsigned NAME = number */
static void look(struct search *q, const struct source *s)
{
    const struct lex *l = &s->lex;
    for (size_t i = 2; i + 3 < l->n && !q->found; i++) {
        if (!lex_is_n(l, i, q->name, q->n))
            continue;
        bool macro = l->v[i - 2].kind == LEX_HASH && l->v[i - 2].sub == LEX_D_DEFINE;
        size_t k = macro ? i + 1 : lex_punct(l, i + 1, '=') ? i + 2 : 0;
        while (k && lex_punct(l, k, '('))
            k++;
        if (!k || l->v[k].kind != LEX_NUMBER)
            continue;
        /* a number's value by the rules of hazard_code.c, over this file's tokens */
        uint32_t t[2] = {(uint32_t)k, (uint32_t)l->n};
        struct hz one = {.l = l, .t = t, .n = 1};
        q->found = hz_number_value(&one, 0, &q->value, &q->bits);
    }
}

static void search_includes(struct search *q, const struct source *s, int depth);

static void search_file(struct search *q, const char *path, int depth)
{
    struct source s;
    struct sl_err err = {0};
    if (q->found || depth > OUTSIDE_DEPTH || q->files++ > OUTSIDE_FILES)
        return;
    if (source_read(&s, path, &err) < 0)
        return;
    look(q, &s);
    if (!q->found)
        search_includes(q, &s, depth + 1);
    source_free(&s);
}

static void search_includes(struct search *q, const struct source *s, int depth)
{
    const char *slash = strrchr(s->path, '/');
    int dir = slash ? (int)(slash - s->path + 1) : 0;
    for (size_t i = 0; i < s->lex.n && !q->found; i++) {
        const struct lex_tok *t = &s->lex.v[i];
        if (t->kind != LEX_HEADER || t->n < 3 || t->first != '"' || t->n > 512)
            continue;
        const char *name = s->p + t->at + 1;
        if (memchr(name, 0, t->n - 2))
            continue;
        SL_AUTO_FREE char *path = sl_asprintf("%.*s%.*s", dir, s->path, (int)t->n - 2, name);
        if (access(path, R_OK) == 0)
            search_file(q, path, depth);
    }
}

bool hz_outside(const struct hz *h, uint32_t i, uint64_t *ret, int *ret_bits)
{
    if (h->s->path[0] == 0 || sl_streq(h->s->path, "-"))
        return false;
    void **slot = sl_map_put(h->outside, hz_text(h, i), hz_len(h, i));
    struct search *q = *slot;
    if (!q) {
        *slot = q = sl_arena_alloc(&h->f->arena, sizeof(*q));
        q->name = hz_text(h, i);
        q->n = hz_len(h, i);
        search_includes(q, h->s, 0);
    }
    *ret = q->value;
    *ret_bits = q->bits;
    return q->found;
}
