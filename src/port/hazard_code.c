/* SPDX-License-Identifier: Apache-2.0
 * hazard_code.c: code tokens, brackets, names, constants. */
#include "port/hazard_code.h"

#include <strings.h>

bool hz_in_list(const struct hz *h, uint32_t i, const char *const *list)
{
    /* the first byte decides nearly always: no strlen for the rest of the list */
    char first = i < h->n ? (char)hz_tok(h, i)->first : 0;
    for (; *list; list++)
        if ((*list)[0] == first && hz_is(h, i, *list))
            return true;
    return false;
}

bool hz_starts(const struct hz *h, uint32_t i, const char *prefix)
{
    if (i >= h->n || (char)hz_tok(h, i)->first != prefix[0])
        return false;
    size_t n = strlen(prefix);
    return i < h->n && hz_len(h, i) >= n && memcmp(hz_text(h, i), prefix, n) == 0;
}

bool hz_contains(const struct hz *h, uint32_t i, const char *part)
{
    size_t n = strlen(part), len = i < h->n ? hz_len(h, i) : 0;
    for (size_t k = 0; k + n <= len; k++)
        if (((hz_text(h, i)[k] ^ part[0]) & 0xdf) == 0 &&
            strncasecmp(hz_text(h, i) + k, part, n) == 0)
            return true;
    return false;
}

bool hz_shr(const struct hz *h, uint32_t i)
{
    return hz_punct(h, i, '>') && hz_punct(h, i + 1, '>') && hz_end(h, i) == hz_at(h, i + 1);
}

bool hz_free_name(const struct hz *h, uint32_t i)
{
    if (!hz_ident(h, i))
        return false;
    if (i == 0)
        return true;
    if (hz_punct(h, i - 1, '.') || hz_punct(h, i - 1, LEX_P_ARROW))
        return false;
    if (!hz_punct(h, i - 1, LEX_P_SCOPE))
        return true;
    return i < 2 || !hz_ident(h, i - 2) || hz_is(h, i - 2, "std") || hz_is(h, i - 2, "return");
}

/* Brackets of one file. Each directive line is matched by itself; after #else the stack is the one
 * that the #if saw, so that both branches may open the same brace. */
struct stacks {
    uint32_t v[4096];
    uint32_t n;
    struct {
        uint32_t *v, n;
    } saved[64];
    uint32_t n_saved;
};

static int closer_of(int open)
{
    return open == '(' ? ')' : open == '[' ? ']' : '}';
}

static void match_conditional(struct stacks *st, int directive)
{
    if (directive == LEX_D_IF || directive == LEX_D_IFDEF || directive == LEX_D_IFNDEF) {
        if (st->n_saved < SL_COUNT(st->saved)) {
            uint32_t *copy = sl_alloc((st->n + 1) * sizeof(*copy));
            memcpy(copy, st->v, st->n * sizeof(*copy));
            st->saved[st->n_saved].v = copy;
            st->saved[st->n_saved].n = st->n;
        }
        st->n_saved++;
    } else if ((directive == LEX_D_ELSE || directive == LEX_D_ELIF) && st->n_saved) {
        uint32_t k = st->n_saved - 1;
        if (k < SL_COUNT(st->saved)) {
            st->n = st->saved[k].n;
            memcpy(st->v, st->saved[k].v, st->n * sizeof(*st->v));
        }
    } else if (directive == LEX_D_ENDIF && st->n_saved) {
        st->n_saved--;
        if (st->n_saved < SL_COUNT(st->saved))
            free(st->saved[st->n_saved].v);
    }
}

/* Pops down to the bracket that this one closes, at most 8 levels of unclosed ones. */
static void match_close(struct hz *h, struct stacks *st, uint32_t base, uint32_t i, int c)
{
    for (uint32_t k = st->n; k > base && k + 8 > st->n; k--) {
        uint32_t o = st->v[k - 1];
        if (closer_of(hz_tok(h, o)->sub) == c) {
            h->match[o] = i;
            h->match[i] = o;
            st->n = k - 1;
            return;
        }
    }
}

static void match_brackets(struct hz *h)
{
    struct stacks *st = sl_alloc(sizeof(*st));
    uint32_t base = 0, outer = 0;
    for (uint32_t i = 0; i < h->n; i++) {
        const struct lex_tok *t = hz_tok(h, i);
        h->match[i] = HZ_NONE;
        if (t->kind == LEX_HASH) {
            match_conditional(st, t->sub);
            outer = st->n;
            base = st->n;
        } else if (t->kind == LEX_EOD) {
            st->n = outer;
            base = 0;
        } else if (t->kind == LEX_PUNCT && (t->sub == '(' || t->sub == '[' || t->sub == '{')) {
            if (st->n < SL_COUNT(st->v))
                st->v[st->n++] = i;
        } else if (t->kind == LEX_PUNCT && (t->sub == ')' || t->sub == ']' || t->sub == '}')) {
            match_close(h, st, base, i, t->sub);
        }
    }
    for (uint32_t k = 0; k < st->n_saved && k < SL_COUNT(st->saved); k++)
        free(st->saved[k].v);
    free(st);
}

static void read_macros(struct hz *h)
{
    for (uint32_t i = 0; i < h->n; i++) {
        if (hz_tok(h, i)->kind != LEX_HASH || hz_tok(h, i)->sub != LEX_D_DEFINE)
            continue;
        uint32_t name = i + 2, b = name + 1;
        if (!hz_ident(h, name))
            continue;
        bool function = hz_punct(h, b, '(') && hz_end(h, name) == hz_at(h, b);
        if (function && h->match[b] != HZ_NONE)
            b = h->match[b] + 1;
        uint32_t e = b;
        while (e < h->n && hz_tok(h, e)->kind != LEX_EOD)
            e++;
        if (h->n_macro == h->cap_macro) {
            h->cap_macro = h->cap_macro ? h->cap_macro * 2 : 64;
            h->macro = sl_realloc(h->macro, h->cap_macro * sizeof(*h->macro));
        }
        h->macro[h->n_macro++] = (struct hz_macro){name, b, e, function};
        void **slot = sl_map_put(&h->macros, hz_text(h, name), hz_len(h, name));
        *slot = (void *)(uintptr_t)h->n_macro;
        i = e;
    }
}

/* By its name or what it includes. What hipify-perl made of CUDA code looks the same: it is
 * reported on, and a person decides. */
static bool is_hip(const struct source *s)
{
    size_t n = strlen(s->path);
    if (n > 4 && sl_streq(s->path + n - 4, ".hip"))
        return true;
    for (size_t i = 0; i < s->lex.n; i++)
        if (s->lex.v[i].kind == LEX_HEADER &&
            memmem(s->p + s->lex.v[i].at, s->lex.v[i].n, "hip/hip_runtime", 15))
            return true;
    return false;
}

void hz_open(struct hz *h, struct source *s, const struct hazard_opts *o, struct findings *f)
{
    *h = (struct hz){.own = *o, .s = s, .l = &s->lex, .f = f, .hip = is_hip(s)};
    h->own.fix &= !h->hip;
    h->o = &h->own;
    h->outside = sl_alloc(sizeof(*h->outside));
    h->t = sl_alloc((s->lex.n + 1) * sizeof(*h->t));
    for (size_t i = 0; i < s->lex.n; i++)
        if (s->lex.v[i].kind != LEX_COMMENT)
            h->t[h->n++] = (uint32_t)i;
    h->t[h->n] = (uint32_t)s->lex.n;
    h->settled = sl_alloc(h->n + 1);
    h->match = sl_alloc((h->n + 1) * sizeof(*h->match));
    h->match[h->n] = HZ_NONE;
    match_brackets(h);
    read_macros(h);
    hz_read_functions(h);
    hz_read_decls(h);
    h->warp_size |= h->warp_ops && hz_knows_64(h);
}

void hz_close(struct hz *h)
{
    free(h->t);
    free(h->match);
    free(h->settled);
    free(h->fn);
    free(h->decl);
    free(h->macro);
    sl_map_free(&h->decls);
    sl_map_free(&h->macros);
    sl_map_free(&h->names);
    sl_map_free(h->outside);
    free(h->outside);
}

const struct hz_func *hz_func_at(const struct hz *h, uint32_t i)
{
    size_t lo = 0, hi = h->n_fn; /* functions are in order of their opening brace */
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (h->fn[mid].start <= i)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (size_t k = lo, steps = 0; k > 0 && steps < 16; k--, steps++)
        if (h->fn[k - 1].close >= i)
            return &h->fn[k - 1];
    return NULL;
}

struct hz_decl *hz_decl_of(const struct hz *h, uint32_t i)
{
    if (!hz_ident(h, i))
        return NULL;
    uintptr_t k = (uintptr_t)sl_map_get(&h->decls, hz_text(h, i), hz_len(h, i));
    for (int steps = 0; k && steps < 256; steps++) {
        struct hz_decl *d = &h->decl[k - 1];
        if (d->name <= i && i <= d->end)
            return d;
        k = d->prev;
    }
    return NULL;
}

const struct hz_macro *hz_macro_of(const struct hz *h, uint32_t i)
{
    if (!hz_ident(h, i))
        return NULL;
    uintptr_t k = (uintptr_t)sl_map_get(&h->macros, hz_text(h, i), hz_len(h, i));
    return k ? &h->macro[k - 1] : NULL;
}

bool hz_user_function(const struct hz *h, uint32_t i)
{
    const struct hz_macro *m = hz_macro_of(h, i);
    if (m && m->function)
        return true;
    return hz_ident(h, i) && sl_map_get(&h->names, hz_text(h, i), hz_len(h, i));
}

bool hz_number_value(const struct hz *h, uint32_t i, uint64_t *ret, int *ret_bits)
{
    if (!hz_number(h, i))
        return false;
    char buf[64];
    size_t n = 0, len = hz_len(h, i);
    for (size_t k = 0; k < len && n < sizeof(buf) - 1; k++)
        if (hz_text(h, i)[k] != '\'')
            buf[n++] = hz_text(h, i)[k];
    buf[n] = 0;
    bool hex = buf[0] == '0' && (buf[1] == 'x' || buf[1] == 'X');
    bool bin = buf[0] == '0' && (buf[1] == 'b' || buf[1] == 'B');
    char *end = NULL;
    uint64_t v = strtoull(bin ? buf + 2 : buf, &end, bin ? 2 : 0);
    int longs = 0;
    for (; *end; end++) {
        if (*end == 'l' || *end == 'L')
            longs++;
        else if (*end != 'u' && *end != 'U' && *end != 'z' && *end != 'Z')
            return false;
    }
    *ret = v;
    *ret_bits =
        longs || v > UINT32_MAX || (!hex && !bin && v > INT32_MAX && !strpbrk(buf, "uU")) ? 64 : 32;
    return true;
}

/* Recursive descent over [i, b) with a budget: macros may name each other in circles. */
struct eval {
    const struct hz *h;
    uint32_t i, b;
    int depth;
    int *budget;
};
static bool eval_sum(struct eval *e, int level, int64_t *ret);

static bool eval_range(const struct hz *h, uint32_t a, uint32_t b, int depth, int *budget,
                       int64_t *ret)
{
    if (depth > 12 || a >= b)
        return false;
    struct eval e = {h, a, b, depth, budget};
    return eval_sum(&e, 0, ret) && e.i == e.b;
}

static bool eval_sizeof(struct eval *e, int64_t *ret)
{
    static const struct {
        const char *name;
        int size;
    } sizes[] = {{"char", 1},     {"short", 2},  {"half", 2},     {"__half", 2}, {"int", 4},
                 {"unsigned", 4}, {"float", 4},  {"uint32_t", 4}, {"double", 8}, {"size_t", 8},
                 {"uint64_t", 8}, {"float2", 8}, {"float4", 16},  {"int4", 16},  {"int2", 8},
                 {"double2", 16}, {"float3", 12}};
    const struct hz *h = e->h;
    uint32_t open = e->i + 1;
    if (!hz_punct(h, open, '(') || h->match[open] == HZ_NONE)
        return false;
    for (size_t k = 0; k < SL_COUNT(sizes); k++)
        if (h->match[open] == open + 2 && hz_is(h, open + 1, sizes[k].name)) {
            *ret = sizes[k].size;
            e->i = h->match[open] + 1;
            return true;
        }
    return false;
}

static bool eval_name(struct eval *e, int64_t *ret)
{
    const struct hz *h = e->h;
    const struct hz_macro *m = hz_macro_of(h, e->i);
    if (m && !m->function) {
        e->i++;
        return eval_range(h, m->body0, m->body1, e->depth + 1, e->budget, ret);
    }
    const struct hz_decl *d = hz_decl_of(h, e->i);
    if (d && d->constant && !d->pointer && !d->array && d->init0 < d->init1) {
        e->i++;
        return eval_range(h, d->init0, d->init1, e->depth + 1, e->budget, ret);
    }
    return false;
}

static bool eval_unary(struct eval *e, int64_t *ret)
{
    const struct hz *h = e->h;
    if (e->i >= e->b || --*e->budget < 0)
        return false;
    uint64_t v;
    int bits;
    if (hz_number_value(h, e->i, &v, &bits)) {
        *ret = (int64_t)v;
        e->i++;
        return true;
    }
    if (hz_punct(h, e->i, '(')) {
        uint32_t close = h->match[e->i];
        if (close == HZ_NONE || close >= e->b)
            return false;
        bool cast = hz_ident(h, e->i + 1) && close <= e->i + 3 && close + 1 < e->b &&
                    (hz_is(h, e->i + 1, "int") || hz_is(h, e->i + 1, "unsigned") ||
                     hz_is(h, e->i + 1, "size_t"));
        if (cast) {
            e->i = close + 1;
            return eval_unary(e, ret);
        }
        if (!eval_range(h, e->i + 1, close, e->depth + 1, e->budget, ret))
            return false;
        e->i = close + 1;
        return true;
    }
    if (hz_punct(h, e->i, '-') || hz_punct(h, e->i, '~')) {
        bool minus = hz_punct(h, e->i, '-');
        e->i++;
        if (!eval_unary(e, ret))
            return false;
        *ret = minus ? (int64_t)(0 - (uint64_t)*ret) : ~*ret;
        return true;
    }
    if (hz_is(h, e->i, "sizeof"))
        return eval_sizeof(e, ret);
    return hz_ident(h, e->i) && eval_name(e, ret);
}

/* The operator at e->i and its level (0 loosest), or 0 when it is none; '<' stands for <<, '>' for
 * >>. */
static int operator_at(const struct eval *e, int *ret_level)
{
    static const char ops[] = "|&<>+-*/%";
    static const int levels[] = {0, 1, 2, 2, 3, 3, 4, 4, 4};
    const struct hz *h = e->h;
    if (e->i >= e->b || hz_tok(h, e->i)->kind != LEX_PUNCT)
        return 0;
    int c = hz_tok(h, e->i)->sub;
    c = c == LEX_P_SHL ? '<' : c == '>' ? (hz_shr(h, e->i) ? '>' : 0) : c == '<' ? 0 : c;
    const char *at = c > 0 && c < 128 ? strchr(ops, c) : NULL;
    if (!at)
        return 0;
    *ret_level = levels[at - ops];
    return c;
}

static bool apply(int op, int64_t a, int64_t b, int64_t *ret)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (op) {
    case '|':
        *ret = a | b;
        return true;
    case '&':
        *ret = a & b;
        return true;
    case '<':
        *ret = y < 64 ? (int64_t)(x << y) : 0;
        return y < 64;
    case '>':
        *ret = y < 64 ? (int64_t)(x >> y) : 0;
        return y < 64;
    case '+':
        *ret = (int64_t)(x + y);
        return true;
    case '-':
        *ret = (int64_t)(x - y);
        return true;
    case '*':
        *ret = (int64_t)(x * y);
        return true;
    default:
        if (b == 0 || (a == INT64_MIN && b == -1))
            return false;
        *ret = op == '/' ? a / b : a % b;
        return true;
    }
}

static bool eval_sum(struct eval *e, int level, int64_t *ret)
{
    if (level > 4)
        return eval_unary(e, ret);
    if (!eval_sum(e, level + 1, ret))
        return false;
    int op, at = 0;
    while ((op = operator_at(e, &at)) != 0 && at == level) {
        int64_t right;
        e->i += op == '>' ? 2 : 1;
        if (!eval_sum(e, level + 1, &right) || !apply(op, *ret, right, ret))
            return false;
    }
    return true;
}

bool hz_eval(const struct hz *h, uint32_t a, uint32_t b, int64_t *ret)
{
    int budget = 200;
    return eval_range(h, a, b, 0, &budget, ret);
}

bool hz_args(const struct hz *h, uint32_t open, struct hz_args *ret)
{
    *ret = (struct hz_args){0};
    if (!hz_punct(h, open, '(') || h->match[open] == HZ_NONE)
        return false;
    ret->close = h->match[open];
    uint32_t from = open + 1;
    for (uint32_t i = open + 1; i <= ret->close; i++) {
        if (i < ret->close && h->match[i] != HZ_NONE && h->match[i] > i &&
            h->match[i] < ret->close) {
            i = h->match[i];
            continue;
        }
        if (i != ret->close && !hz_punct(h, i, ','))
            continue;
        if (i == ret->close && ret->n == 0 && from == i)
            break; /* f() */
        if (ret->n == HZ_ARGS)
            return false;
        ret->a[ret->n] = from;
        ret->b[ret->n++] = i;
        from = i + 1;
    }
    return true;
}

const char *hz_quote(struct hz *h, uint32_t a, uint32_t b)
{
    if (b <= a)
        return "";
    size_t at = hz_at(h, a), n = hz_end(h, b - 1) - at;
    bool cut = n > 80;
    char buf[84];
    size_t k = 0;
    for (size_t i = 0; i < n && k < 77; i++) {
        char c = h->l->p[at + i];
        bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\\';
        if (space && k && buf[k - 1] == ' ')
            continue;
        buf[k++] = space ? ' ' : c;
    }
    if (cut) /* not in the middle of a UTF-8 sequence */
        while (k && ((unsigned char)buf[k - 1] & 0x80))
            k--;
    buf[k] = 0;
    return sl_arena_printf(&h->f->arena, "%s%s", buf, cut ? "..." : "");
}

struct finding *hz_report(struct hz *h, enum hazard_no no, uint32_t a, uint32_t b)
{
    if (!(hazard_rule(no)->targets & h->o->targets))
        return NULL;
    size_t at = hz_at(h, a), n = b > a ? hz_end(h, b - 1) - at : 1;
    return findings_add(h->f, h->o, h->s, no, at, n, hz_quote(h, a, b));
}

void hazard_scan(struct source *s, const struct hazard_opts *o, struct findings *f)
{
    struct hz h;
    hz_open(&h, s, o, f);
    hz_rules_wave(&h);
    hz_rules_lanes(&h);
    hz_rules_device(&h);
    hz_rules_limits(&h);
    hz_rules_memory(&h);
    hz_rules_api(&h);
    hz_close(&h);
}

/* One pass over the tokens says whether any fix could apply: most files have none. */
static bool may_fix(const struct source *s)
{
    static const char *const starts[] = {
        "__shfl",     "__ballot",          "__any",         "__all", "__activemask", "__match",
        "__syncwarp", "__launch_bounds__", "__CUDA_ARCH__", NULL};
    for (size_t i = 0; i < s->lex.n; i++) {
        const struct lex_tok *t = &s->lex.v[i];
        if (t->kind != LEX_IDENT || t->first != '_' || t->n < 5)
            continue;
        char third = s->p[t->at + 2];
        for (int k = 0; starts[k]; k++) {
            if (starts[k][2] != third)
                continue;
            size_t n = strlen(starts[k]);
            if (t->n >= n && memcmp(s->p + t->at, starts[k], n) == 0)
                return true;
        }
    }
    return false;
}

void hazard_fix(struct source *s, const struct hazard_opts *o, struct findings *f)
{
    struct hz h;
    if (!o->fix || !may_fix(s))
        return;
    hz_open(&h, s, o, f);
    hz_rules_wave(&h);
    hz_fix_bounds(&h);
    hz_fix_guards(&h);
    if (o->rocm < HAZARD_ROCM_NEWEST)
        hz_fix_late(&h);
    hz_close(&h);
}
