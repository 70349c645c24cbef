/* SPDX-License-Identifier: Apache-2.0
 * hazard_decl.c: device functions and the declarations whose types matter. */
#include "port/hazard_code.h"

static const struct {
    const char *name;
    enum hz_warp op;
    bool sync;
} warp_names[] = {{"__shfl", HZW_SHFL, false},
                  {"__shfl_sync", HZW_SHFL, true},
                  {"__shfl_up", HZW_SHFL_UP, false},
                  {"__shfl_up_sync", HZW_SHFL_UP, true},
                  {"__shfl_down", HZW_SHFL_DOWN, false},
                  {"__shfl_down_sync", HZW_SHFL_DOWN, true},
                  {"__shfl_xor", HZW_SHFL_XOR, false},
                  {"__shfl_xor_sync", HZW_SHFL_XOR, true},
                  {"__ballot", HZW_BALLOT, false},
                  {"__ballot_sync", HZW_BALLOT, true},
                  {"__any", HZW_ANY, false},
                  {"__any_sync", HZW_ANY, true},
                  {"__all", HZW_ALL, false},
                  {"__all_sync", HZW_ALL, true},
                  {"__uni_sync", HZW_UNI, true},
                  {"__activemask", HZW_ACTIVE, false},
                  {"__match_any_sync", HZW_MATCH, true},
                  {"__match_all_sync", HZW_MATCH, true},
                  {"__match_any", HZW_MATCH, false},
                  {"__match_all", HZW_MATCH, false},
                  {"__reduce_add_sync", HZW_REDUCE, true},
                  {"__reduce_min_sync", HZW_REDUCE, true},
                  {"__reduce_max_sync", HZW_REDUCE, true},
                  {"__reduce_and_sync", HZW_REDUCE, true},
                  {"__reduce_or_sync", HZW_REDUCE, true},
                  {"__reduce_xor_sync", HZW_REDUCE, true},
                  {"__syncwarp", HZW_SYNCWARP, true}};

enum hz_warp hz_warp_op(const struct hz *h, uint32_t i, bool *ret_sync)
{
    if (!hz_ident(h, i) || hz_len(h, i) < 5 || hz_text(h, i)[0] != '_' || hz_text(h, i)[1] != '_')
        return HZW_NONE;
    char third = hz_text(h, i)[2];
    for (size_t k = 0; k < SL_COUNT(warp_names); k++)
        if (warp_names[k].name[2] == third && hz_is(h, i, warp_names[k].name)) {
            *ret_sync = warp_names[k].sync;
            return warp_names[k].op;
        }
    return HZW_NONE;
}

/* A qualifier, or an object-like macro of this file that stands for one. */
static bool is_qualifier(const struct hz *h, uint32_t i, const char *which)
{
    if (!hz_ident(h, i))
        return false;
    if (hz_is(h, i, which))
        return true;
    const struct hz_macro *m = hz_macro_of(h, i);
    if (!m || m->function || m->body1 - m->body0 > 8)
        return false;
    for (uint32_t k = m->body0; k < m->body1; k++)
        if (hz_is(h, k, which))
            return true;
    return false;
}

static bool starts_function(const struct hz *h, uint32_t i)
{
    return hz_ident(h, i) && !hz_pp(h, i) &&
           (is_qualifier(h, i, "__global__") || is_qualifier(h, i, "__device__"));
}

static bool not_a_name(const struct hz *h, uint32_t i)
{
    static const char *const words[] = {
        "__launch_bounds__", "__attribute__", "__align__", "decltype",
        "noexcept",          "__declspec",    "alignas",   "enable_if_t",
        "__cluster_dims__",  "__maxnreg__",   NULL};
    return hz_in_list(h, i, words);
}

/* Reads one function from its first qualifier; returns the position to go on from. */
static uint32_t read_function(struct hz *h, uint32_t i)
{
    struct hz_func f = {.start = i, .name = HZ_NONE, .params = HZ_NONE};
    for (uint32_t k = i; k > 0 && k + 6 > i; k--)
        f.host |= is_qualifier(h, k - 1, "__host__") && k - 1 + 3 >= i;
    uint32_t j = i;
    for (; j < h->n && j < i + 600; j++) {
        if (hz_tok(h, j)->kind == LEX_HASH) { /* a directive in the head: jump over its line */
            while (j < h->n && hz_tok(h, j)->kind != LEX_EOD)
                j++;
            continue;
        }
        f.global |= is_qualifier(h, j, "__global__");
        f.device |= is_qualifier(h, j, "__device__");
        f.host |= is_qualifier(h, j, "__host__");
        if (hz_punct(h, j, '(')) {
            bool head = j > i && hz_ident(h, j - 1) && not_a_name(h, j - 1);
            bool op = j > i && hz_is(h, j - 1, "operator");
            if (f.params == HZ_NONE && !head && !op) {
                f.params = j;
                f.name =
                    j > i && hz_ident(h, j - 1) && !starts_function(h, j - 1) ? j - 1 : HZ_NONE;
            }
            if (h->match[j] == HZ_NONE)
                return i + 1;
            j = h->match[j];
        } else if (hz_punct(h, j, ';') || hz_punct(h, j, '}') ||
                   (hz_punct(h, j, '=') && !(j > i && hz_is(h, j - 1, "operator")))) {
            return j;
        } else if (hz_punct(h, j, '{')) {
            break;
        }
    }
    if (!hz_punct(h, j, '{') || f.params == HZ_NONE || h->match[j] == HZ_NONE)
        return j > i ? j : i + 1;
    f.open = j;
    f.close = h->match[j];
    f.device |= f.global;
    if (h->n_fn == h->cap_fn) {
        h->cap_fn = h->cap_fn ? h->cap_fn * 2 : 32;
        h->fn = sl_realloc(h->fn, h->cap_fn * sizeof(*h->fn));
    }
    h->fn[h->n_fn++] = f;
    if (f.name != HZ_NONE)
        *sl_map_put(&h->names, hz_text(h, f.name), hz_len(h, f.name)) = h;
    return j + 1;
}

void hz_read_functions(struct hz *h)
{
    for (uint32_t i = 0; i < h->n;)
        i = starts_function(h, i) ? read_function(h, i) : i + 1;
    for (uint32_t i = 0; i < h->n; i++) {
        bool sync;
        enum hz_warp w = hz_warp_op(h, i, &sync);
        if (w != HZW_NONE) {
            h->warp_ops = true;
            struct hz_func *f = (struct hz_func *)hz_func_at(h, i);
            if (f)
                f->warp_op = true;
        }
    }
}

static const struct {
    const char *name;
    enum hz_type type;
} type_names[] = {{"int", HT_I32},
                  {"unsigned", HT_U32},
                  {"uint", HT_U32},
                  {"uint32_t", HT_U32},
                  {"int32_t", HT_I32},
                  {"uint32", HT_U32},
                  {"u32", HT_U32},
                  {"short", HT_I32},
                  {"uint16_t", HT_U32},
                  {"int16_t", HT_I32},
                  {"ushort", HT_U32},
                  {"signed", HT_I32},
                  {"bool", HT_OTHER},
                  {"char", HT_I32},
                  {"uint8_t", HT_U32},
                  {"uchar", HT_U32},
                  {"long", HT_I64},
                  {"size_t", HT_U64},
                  {"uint64_t", HT_U64},
                  {"int64_t", HT_I64},
                  {"uint64", HT_U64},
                  {"ull", HT_U64},
                  {"float", HT_FLOAT},
                  {"double", HT_DOUBLE},
                  {"half", HT_HALF},
                  {"__half", HT_HALF},
                  {"half2", HT_HALF2},
                  {"__half2", HT_HALF2},
                  {"__nv_bfloat16", HT_BF16},
                  {"nv_bfloat16", HT_BF16},
                  {"__nv_bfloat162", HT_BF16},
                  {"auto", HT_AUTO},
                  {"cudaPointerAttributes", HT_PTR_ATTR},
                  {"cudaDeviceProp", HT_PROP},
                  {"hipDeviceProp_t", HT_PROP},
                  {"hipPointerAttribute_t", HT_PTR_ATTR},
                  {"cudaError_t", HT_ERROR},
                  {"cudaError", HT_ERROR},
                  {"hipError_t", HT_ERROR},
                  {"CUresult", HT_ERROR},
                  {"cudaMemoryType", HT_MEM_TYPE},
                  {"hipMemoryType", HT_MEM_TYPE}};

static bool type_word(const struct hz *h, uint32_t i, enum hz_type *ret)
{
    if (!hz_ident(h, i))
        return false;
    char first = hz_text(h, i)[0];
    for (size_t k = 0; k < SL_COUNT(type_names); k++)
        if (type_names[k].name[0] == first && hz_is(h, i, type_names[k].name)) {
            *ret = type_names[k].type;
            return true;
        }
    return false;
}

static bool decl_word(const struct hz *h, uint32_t i)
{
    static const char *const words[] = {
        "const",      "constexpr",    "static",       "volatile",   "register",
        "__shared__", "__constant__", "__restrict__", "__restrict", "restrict",
        "inline",     "extern",       "struct",       "__device__", NULL};
    return hz_ident(h, i) && hz_in_list(h, i, words);
}

/* unsigned int, unsigned long long, long double ... -> one class; i moves past the words. */
static enum hz_type read_type(const struct hz *h, uint32_t *i)
{
    enum hz_type t = HT_OTHER, w;
    bool is_unsigned = false, is_long = false;
    for (; hz_ident(h, *i); ++*i) {
        if (hz_is(h, *i, "const") || hz_is(h, *i, "volatile"))
            continue;
        if (!type_word(h, *i, &w))
            break;
        is_unsigned |= hz_is(h, *i, "unsigned");
        is_long |= hz_is(h, *i, "long");
        if (t == HT_OTHER || w == HT_DOUBLE || (w == HT_I64 && t != HT_DOUBLE))
            t = w;
        else if (t != HT_I32 && t != HT_U32 && t != HT_I64)
            break;
    }
    if (is_unsigned)
        t = is_long ? HT_U64 : HT_U32;
    return t;
}

static void add_decl(struct hz *h, struct hz_decl *d)
{
    if (h->n_decl == h->cap_decl) {
        h->cap_decl = h->cap_decl ? h->cap_decl * 2 : 128;
        h->decl = sl_realloc(h->decl, h->cap_decl * sizeof(*h->decl));
    }
    void **slot = sl_map_put(&h->decls, hz_text(h, d->name), hz_len(h, d->name));
    d->prev = (uint32_t)(uintptr_t)*slot;
    h->decl[h->n_decl++] = *d;
    *slot = (void *)(uintptr_t)h->n_decl;
}

/* The end of an initializer that starts at i: , ; or an unmatched closing bracket. */
static uint32_t init_end(const struct hz *h, uint32_t i)
{
    for (; i < h->n; i++) {
        if (hz_punct(h, i, ',') || hz_punct(h, i, ';') || hz_tok(h, i)->kind == LEX_EOD)
            return i;
        if (h->match[i] != HZ_NONE) {
            if (h->match[i] < i)
                return i;
            i = h->match[i];
        }
    }
    return i;
}

static uint32_t scope_end(const struct hz *h, uint32_t i, uint32_t outer)
{
    if (outer == HZ_NONE)
        return h->n;
    uint32_t close = h->match[outer];
    if (close == HZ_NONE)
        return h->n;
    if (!hz_punct(h, outer, '('))
        return close;
    /* a parameter or a for (...): what follows is its scope */
    for (uint32_t k = close + 1; k < h->n && k < close + 40; k++) {
        if (hz_punct(h, k, '{') && h->match[k] != HZ_NONE)
            return h->match[k];
        if (hz_punct(h, k, ';'))
            return k;
    }
    return close;
}

/* One declarator at i (after the type); returns where it ends, or 0 when it is none. */
static uint32_t read_declarator(struct hz *h, uint32_t i, struct hz_decl *d, uint32_t outer)
{
    while (hz_punct(h, i, '*') || hz_punct(h, i, '&') || decl_word(h, i)) {
        d->pointer |= hz_punct(h, i, '*');
        i++;
    }
    if (!hz_ident(h, i))
        return 0;
    d->name = i++;
    d->array = hz_punct(h, i, '[');
    while (hz_punct(h, i, '[') && h->match[i] != HZ_NONE)
        i = h->match[i] + 1;
    bool init =
        hz_punct(h, i, '=') || ((hz_punct(h, i, '(') || hz_punct(h, i, '{')) && outer != HZ_NONE);
    if (!init && !hz_punct(h, i, ';') && !hz_punct(h, i, ',') && !hz_punct(h, i, ')') &&
        !hz_punct(h, i, '>') && !hz_punct(h, i, ':'))
        return 0;
    d->init0 = d->init1 = i;
    if (init) {
        bool paren = !hz_punct(h, i, '=');
        d->init0 = i + 1;
        d->init1 = paren ? h->match[i] : init_end(h, i + 1);
        if (d->init1 == HZ_NONE)
            return 0;
        i = paren ? d->init1 + 1 : d->init1;
    }
    d->end = scope_end(h, i, outer);
    add_decl(h, d);
    return i;
}

static uint32_t read_decl(struct hz *h, uint32_t i, uint32_t outer)
{
    struct hz_decl d = {.type0 = i, .param = outer != HZ_NONE && hz_punct(h, outer, '(')};
    for (uint32_t k = i; k > 0 && decl_word(h, k - 1); k--) {
        d.shared |= hz_is(h, k - 1, "__shared__");
        d.constant |= hz_is(h, k - 1, "const") || hz_is(h, k - 1, "constexpr");
    }
    uint32_t j = i;
    d.type = read_type(h, &j);
    if (d.type == HT_OTHER && !hz_is(h, i, "bool"))
        return i + 1;
    for (uint32_t k = i; k < j; k++)
        d.constant |= hz_is(h, k, "const");
    d.type1 = j;
    struct hz_decl first = d;
    size_t index = h->n_decl;
    uint32_t e = read_declarator(h, j, &first, outer);
    if (!e)
        return i + 1;
    bool more = false;
    uint32_t at = e;
    while (!d.param && hz_punct(h, at, ',')) {
        struct hz_decl next = d;
        enum hz_type unused;
        if (type_word(h, at + 1, &unused) || decl_word(h, at + 1))
            break;
        uint32_t end = read_declarator(h, at + 1, &next, outer);
        if (!end)
            break;
        more = true;
        at = end;
    }
    h->decl[index].alone = !more;
    return j; /* initializers are read again: they may hold lambdas with declarations */
}

void hz_read_decls(struct hz *h)
{
    uint32_t *stack = sl_alloc(4096 * sizeof(*stack)), n = 0;
    for (uint32_t i = 0; i < h->n;) {
        if (hz_tok(h, i)->kind == LEX_PUNCT && h->match[i] != HZ_NONE) {
            if (h->match[i] > i && n < 4096)
                stack[n++] = i;
            else
                while (n && stack[n - 1] >= h->match[i])
                    n--;
        }
        enum hz_type t;
        bool member = i > 0 && (hz_punct(h, i - 1, '.') || hz_punct(h, i - 1, LEX_P_ARROW));
        if (!member && type_word(h, i, &t))
            i = read_decl(h, i, n ? stack[n - 1] : HZ_NONE);
        else
            i++;
    }
    free(stack);
    /* enum { A = 1, B = 2 }: constants too */
    for (uint32_t i = 0; i + 3 < h->n; i++) {
        if (!hz_is(h, i, "enum"))
            continue;
        uint32_t open = i;
        while (open < h->n && open < i + 6 && !hz_punct(h, open, '{'))
            open++;
        if (!hz_punct(h, open, '{') || h->match[open] == HZ_NONE)
            continue;
        for (uint32_t k = open + 1; k < h->match[open]; k++)
            if (hz_ident(h, k) && hz_punct(h, k + 1, '=')) {
                struct hz_decl d = {.name = k,
                                    .type0 = k,
                                    .type1 = k,
                                    .end = h->n,
                                    .type = HT_I32,
                                    .constant = true,
                                    .init0 = k + 2,
                                    .init1 = init_end(h, k + 2)};
                add_decl(h, &d);
            }
    }
    /* the builtin, not a variable or macro of that name */
    for (uint32_t i = 0; i < h->n && !h->warp_size; i++)
        h->warp_size = hz_is(h, i, "warpSize") && hz_free_name(h, i) && !hz_decl_of(h, i) &&
                       !hz_macro_of(h, i) && hz_func_at(h, i);
}
