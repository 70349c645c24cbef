/* SPDX-License-Identifier: Apache-2.0
 * hazard_wave.c: rules W1, W2, W3, W5, W7 and __syncwarp: calls of warp operations and what is done
 * with their masks. */
#include "port/hazard_code.h"
#include "port/fix.h"

/* What a mask argument is. */
enum mask { MASK_OK, MASK_FULL, MASK_PART, MASK_UNKNOWN };

static const char *const bit_names[] = {"__popc", "__ffs", "__clz", "__brev", "__fns", NULL};

/* The expression's brackets that do not change its value: (x), (unsigned)x, static_cast<T>(x). */
static bool transparent(const struct hz *h, uint32_t open)
{
    if (!hz_punct(h, open, '(') || open == 0)
        return false;
    uint32_t p = open - 1;
    if (hz_punct(h, p, '>') || hz_punct(h, p, ']'))
        return hz_punct(h, p, '>');
    if (hz_punct(h, p, ')'))
        return true; /* behind a cast */
    return !hz_ident(h, p) || hz_is(h, p, "return") || hz_is(h, p, "unsigned") ||
           hz_is(h, p, "int");
}

bool hz_is_mask(const struct hz *h, uint32_t a, uint32_t b)
{
    bool found = false, sync;
    for (uint32_t i = a; i < b && i < h->n; i++) {
        enum hz_warp w = hz_warp_op(h, i, &sync);
        bool call = hz_punct(h, i + 1, '(') && h->match[i + 1] != HZ_NONE;
        if (w != HZW_NONE && call) {
            uint32_t close = h->match[i + 1];
            bool mask = w == HZW_BALLOT || w == HZW_ACTIVE || w == HZW_MATCH;
            found |= mask && !hz_shr(h, close + 1);
            i = close;
            continue;
        }
        if (hz_punct(h, i, LEX_P_EQ) || hz_punct(h, i, LEX_P_NE) || hz_punct(h, i, '?') ||
            hz_punct(h, i, '!') || hz_punct(h, i, LEX_P_AND) || hz_punct(h, i, LEX_P_OR) ||
            hz_punct(h, i, ';') || hz_punct(h, i, '{') || hz_punct(h, i, '['))
            return false;
        if (hz_ident(h, i) && !call && hz_free_name(h, i)) {
            const struct hz_decl *d = hz_decl_of(h, i);
            found |= d && d->mask && d->name != i;
        }
        if (hz_punct(h, i, '(') && !transparent(h, i) && h->match[i] != HZ_NONE)
            i = h->match[i];
    }
    return found;
}

/* Marks the variables that are given a lane mask, in order of the text. */
static void mark_masks(struct hz *h)
{
    for (size_t k = 0; k < h->n_decl; k++)
        if (h->decl[k].init0 < h->decl[k].init1)
            h->decl[k].mask = hz_is_mask(h, h->decl[k].init0, h->decl[k].init1);
    for (uint32_t i = 1; i < h->n; i++) {
        if (!hz_punct(h, i, '=') || !hz_ident(h, i - 1) || hz_pp(h, i))
            continue;
        struct hz_decl *d = hz_decl_of(h, i - 1);
        if (!d || d->name == i - 1 || d->mask)
            continue;
        uint32_t e = i + 1;
        while (e < h->n && e < i + 80 && !hz_punct(h, e, ';') && !hz_punct(h, e, '{'))
            e++;
        d->mask = hz_is_mask(h, i + 1, e);
    }
}

static enum mask classify(const struct hz *h, uint32_t a, uint32_t b, int depth);

static enum mask classify_name(const struct hz *h, uint32_t i, int depth)
{
    const struct hz_macro *m = hz_macro_of(h, i);
    if (hz_is(h, i, "UINT32_MAX") || hz_is(h, i, "UINT_MAX"))
        return MASK_FULL;
    if (m && !m->function)
        return classify(h, m->body0, m->body1, depth + 1);
    const struct hz_decl *d = hz_decl_of(h, i);
    uint64_t v;
    int bits;
    if (!d && hz_contains(h, i, "mask") && hz_outside(h, i, &v, &bits))
        return v == UINT32_MAX ? MASK_FULL : v > UINT32_MAX || bits == 64 ? MASK_OK : MASK_PART;
    if (!d || d->pointer)
        return MASK_UNKNOWN;
    bool narrow = d->type == HT_I32 || d->type == HT_U32;
    if (d->constant && d->init0 < d->init1) {
        enum mask c = classify(h, d->init0, d->init1, depth + 1);
        if (c == MASK_FULL || (narrow && c != MASK_OK))
            return c == MASK_UNKNOWN ? MASK_PART : c;
    }
    if (d->type == HT_AUTO)
        return d->mask ? MASK_OK : MASK_UNKNOWN;
    return narrow ? MASK_PART : d->type == HT_I64 || d->type == HT_U64 ? MASK_OK : MASK_UNKNOWN;
}

/* More than one token: 32 bits when there is a 32-bit number in it and nothing wider or unknown. */
static enum mask classify_mixed(const struct hz *h, uint32_t a, uint32_t b)
{
    bool narrow = false;
    for (uint32_t i = a; i < b; i++) {
        uint64_t v;
        int bits;
        if (hz_number_value(h, i, &v, &bits)) {
            if (bits == 64)
                return MASK_UNKNOWN;
            narrow = true;
        } else if (hz_ident(h, i)) {
            const struct hz_decl *d = hz_decl_of(h, i);
            const struct hz_macro *m = hz_macro_of(h, i);
            if (m && !m->function)
                continue;
            if (!d || (d->type != HT_I32 && d->type != HT_U32))
                return MASK_UNKNOWN;
        }
    }
    return narrow ? MASK_PART : MASK_UNKNOWN;
}

static enum mask classify(const struct hz *h, uint32_t a, uint32_t b, int depth)
{
    uint64_t v;
    int bits;
    if (depth > 8 || a >= b)
        return MASK_UNKNOWN;
    while (hz_punct(h, a, '(') && h->match[a] == b - 1) {
        a++;
        b--;
    }
    if (b == a + 1 && hz_number_value(h, a, &v, &bits))
        return v == UINT32_MAX ? MASK_FULL : v > UINT32_MAX ? MASK_OK : MASK_PART;
    if (b == a + 2 && hz_number_value(h, a + 1, &v, &bits)) {
        bool all = (hz_punct(h, a, '-') && v == 1) || (hz_punct(h, a, '~') && v == 0);
        if (all)
            return bits == 64 ? MASK_OK : MASK_FULL;
    }
    if (b == a + 1 && hz_ident(h, a))
        return classify_name(h, a, depth);
    if (hz_punct(h, a, '(') && h->match[a] < b - 1) { /* a cast */
        bool wide = false, narrow = false;
        for (uint32_t i = a + 1; i < h->match[a]; i++) {
            wide |= hz_is(h, i, "long") || hz_is(h, i, "uint64_t") || hz_is(h, i, "size_t");
            narrow |= hz_is(h, i, "unsigned") || hz_is(h, i, "int") || hz_is(h, i, "uint32_t");
        }
        if (wide || narrow)
            return wide                                                      ? MASK_OK
                   : classify(h, h->match[a] + 1, b, depth + 1) == MASK_FULL ? MASK_FULL
                                                                             : MASK_PART;
    }
    bool sync;
    if (hz_warp_op(h, a, &sync) != HZW_NONE)
        return MASK_OK;
    return classify_mixed(h, a, b);
}

/* A call, not a declaration or a macro definition of that name. */
static bool is_call(const struct hz *h, uint32_t i, struct hz_args *ret)
{
    if (!hz_args(h, i + 1, ret))
        return false;
    for (uint32_t k = i + 1; k < ret->close; k++)
        if (hz_tok(h, k)->kind == LEX_HASH)
            return false; /* a directive between the arguments */
    if (i == 0 || !hz_ident(h, i - 1))
        return !(i > 0 && (hz_punct(h, i - 1, '.') || hz_punct(h, i - 1, LEX_P_ARROW)));
    static const char *const before[] = {"return", "else", "do", "case", "throw", NULL};
    return hz_in_list(h, i - 1, before);
}

/* Who takes the value of a vote at i. */
enum taker { TAKER_UNKNOWN, TAKER_NARROW, TAKER_WIDE, TAKER_TRUTH, TAKER_BITS, TAKER_MASK };

static enum taker taker_of_return(const struct hz *h, uint32_t i)
{
    const struct hz_func *f = hz_func_at(h, i);
    if (!f || f->name == HZ_NONE)
        return TAKER_UNKNOWN;
    enum taker t = TAKER_UNKNOWN;
    for (uint32_t k = f->start; k < f->name; k++) {
        if (hz_is(h, k, "long") || hz_is(h, k, "uint64_t") || hz_is(h, k, "auto"))
            return TAKER_WIDE;
        if (hz_is(h, k, "bool"))
            return TAKER_TRUTH;
        if (hz_is(h, k, "unsigned") || hz_is(h, k, "int") || hz_is(h, k, "uint32_t") ||
            hz_is(h, k, "uint"))
            t = TAKER_NARROW;
    }
    return t;
}

static enum taker taker_of_variable(const struct hz *h, uint32_t name)
{
    const struct hz_decl *d = hz_decl_of(h, name);
    if (!d)
        return TAKER_UNKNOWN;
    if (d->type == HT_I32 || d->type == HT_U32)
        return TAKER_NARROW;
    return d->type == HT_OTHER && d->type1 > d->type0 && hz_is(h, d->type0, "bool") ? TAKER_TRUTH
                                                                                    : TAKER_WIDE;
}

/* Looks left from the call for what it is part of; *ret_at: the variable or function name. */
static enum taker taker_of(const struct hz *h, uint32_t i, uint32_t *ret_at)
{
    *ret_at = HZ_NONE;
    for (uint32_t k = i, steps = 0; k > 0 && steps < 64; steps++) {
        k--;
        if (hz_punct(h, k, ')') || hz_punct(h, k, ']')) {
            if (h->match[k] == HZ_NONE)
                return TAKER_UNKNOWN;
            k = h->match[k];
        } else if (hz_punct(h, k, '(')) {
            if (k > 0 && hz_in_list(h, k - 1, bit_names)) {
                *ret_at = k - 1;
                return TAKER_BITS;
            }
            if (k > 0 && (hz_is(h, k - 1, "if") || hz_is(h, k - 1, "while")))
                return TAKER_TRUTH;
            if (k > 0 && hz_contains(h, k - 1, "_sync"))
                return TAKER_MASK;
            if (!transparent(h, k))
                return TAKER_UNKNOWN;
        } else if (hz_punct(h, k, '=') || hz_punct(h, k, LEX_P_ASSIGN_OP)) {
            uint32_t name = k - 1;
            if (hz_punct(h, name, ']') && h->match[name] != HZ_NONE)
                name = h->match[name] - 1;
            *ret_at = name;
            return taker_of_variable(h, name);
        } else if (hz_is(h, k, "return")) {
            return taker_of_return(h, i);
        } else if (hz_punct(h, k, '!') || hz_punct(h, k, LEX_P_AND) || hz_punct(h, k, LEX_P_OR)) {
            return TAKER_TRUTH;
        } else if (hz_punct(h, k, ';') || hz_punct(h, k, '{') || hz_punct(h, k, '}') ||
                   hz_punct(h, k, ',')) {
            return TAKER_UNKNOWN;
        }
    }
    return TAKER_UNKNOWN;
}

static void note(struct finding *d, const char *en, const char *zh)
{
    if (d) {
        d->note[HAZARD_EN] = en;
        d->note[HAZARD_ZH] = zh;
    }
}

/* W1 on the mask argument. Returns the finding's number plus one, or 0: later findings move the
 * list. */
static size_t report_mask(struct hz *h, uint32_t i, enum hz_warp op, enum mask m,
                          const struct hz_args *a)
{
    if (m != MASK_FULL && m != MASK_PART)
        return 0;
    struct finding *d = hz_report(h, HZ_W1, a->a[0], a->b[0]);
    if (!d)
        return 0;
    d->what =
        sl_arena_printf(&h->f->arena, "%.*s(%s, ...)", (int)hz_len(h, i), hz_text(h, i), d->what);
    if (op <= HZW_SHFL_XOR)
        fix_shuffle_mask(h, HZ_W1, d, i, a);
    else if (op == HZW_UNI || op == HZW_REDUCE)
        note(d, "HIP has this operation over all 64 lanes only.",
             "HIP 的此操作只作用于全部 64 个通道。");
    else if (h->warp_size)
        fix_generic_vote(h, HZ_W1, d, i, m == MASK_FULL, a);
    return h->f->n;
}

/* The shuffle at i is a step of a reduction: its offset is a loop's variable, or one of three and
 * more constants in the same function. */
static bool reduction_step(const struct hz *h, uint32_t i, uint32_t a, uint32_t b)
{
    int64_t v;
    const struct hz_func *f = hz_func_at(h, i);
    if (!hz_eval(h, a, b, &v)) {
        const struct hz_decl *d = b == a + 1 ? hz_decl_of(h, a) : NULL;
        return d && (d->param || (d->init0 < d->init1 && d->init0 > 2));
    }
    if (v > 16 || !f)
        return v <= 16 && hz_pp(h, i);
    int steps = 0;
    for (uint32_t k = f->open; k < f->close && k < f->open + HZ_FAR && steps < 3; k++) {
        bool sync;
        steps += hz_warp_op(h, k, &sync) == HZW_SHFL_DOWN;
    }
    return steps >= 3;
}

static void shuffle(struct hz *h, uint32_t i, enum hz_warp op, bool sync, enum mask m,
                    const struct hz_args *a)
{
    int base = sync ? 1 : 0;
    int64_t offset;
    if (a->n < base + 2)
        return;
    const struct hz_decl *v = a->b[base] == a->a[base] + 1 ? hz_decl_of(h, a->a[base]) : NULL;
    if (v && !v->pointer && (v->type == HT_HALF || v->type == HT_HALF2))
        hz_report(h, HZ_W7, i, a->close + 1);
    if (h->warp_size || a->n != base + 2)
        return;
    /* an xor with less than 32 stays inside its half by itself */
    if (op == HZW_SHFL_XOR &&
        !(hz_eval(h, a->a[base + 1], a->b[base + 1], &offset) && offset >= 32))
        return;
    if (op == HZW_SHFL_DOWN && reduction_step(h, i, a->a[base + 1], a->b[base + 1])) {
        /* right for the first lane of each 32; the width makes it right for all, where the call is
         * edited anyway */
        if (m == MASK_FULL || m == MASK_PART)
            fix_shuffle_width(h, NULL, a);
        return;
    }
    struct finding *d = hz_report(h, HZ_W5, i, a->close + 1);
    if (!d)
        return;
    fix_shuffle_width(h, d, a);
    if (d->fixed)
        d->fix = "..., 32)";
}

/* The held form of a vote, unless its value already goes to 64 bits. Its mask finding is settled
 * too. */
static void hold(struct hz *h, enum hazard_no no, struct finding *d, uint32_t i, enum hz_warp op,
                 bool sync, enum mask m, size_t w1, const struct hz_args *a)
{
    bool full = !sync || m == MASK_FULL || m == MASK_OK;
    fix_held_vote(h, no, d, i, op, sync, full, a);
    if (w1 && fix_on(h, no)) {
        h->f->v[w1 - 1].fixed = true;
        h->f->v[w1 - 1].fix = "(unsigned)(__ballot(p) >> (__lane_id() & 32))";
    }
}

/* Votes and ballots. W2 or W5 is reported at the call; W3 comes from its own pass. CUDA's ballot is
 * 32 bits wide, so that the half of a wavefront's ballot takes its place in any 32-bit expression.
 */
static void vote(struct hz *h, uint32_t i, enum hz_warp op, bool sync, enum mask m, size_t w1,
                 const struct hz_args *a)
{
    if (hz_shr(h, a->close + 1) || op == HZW_UNI)
        return;
    uint32_t at;
    enum taker t = taker_of(h, i, &at);
    if (op == HZW_ANY || op == HZW_ALL) {
        struct finding *d = h->warp_size ? NULL : hz_report(h, HZ_W5, i, a->close + 1);
        if (d) {
            d->severity = HAZARD_NOTE;
            hold(h, HZ_W5, d, i, op, sync, m, w1, a);
        }
        return;
    }
    if (t == TAKER_NARROW) {
        struct finding *d = hz_report(h, HZ_W2, i, a->close + 1);
        struct hz_decl *v = at != HZ_NONE ? hz_decl_of(h, at) : NULL;
        if (d && !h->warp_size)
            hold(h, HZ_W2, d, i, op, sync, m, w1, a);
        else if (d && v)
            fix_widen(h, d, v);
    } else if (h->warp_size || op == HZW_ACTIVE) {
        return; /* generic code widens; a bare __activemask() is a mask argument or 64 bits wide */
    } else if (t == TAKER_BITS) {
        hold(h, HZ_W3, NULL, i, op, sync, m, w1, a);
    } else if (t != TAKER_WIDE && (m == MASK_FULL || m == MASK_PART)) {
        hold(h, HZ_W1, NULL, i, op, sync, m, w1, a);
    }
}

/* From ROCm 7.0 on only its mask can be wrong. */
static void syncwarp(struct hz *h, uint32_t i, const struct hz_args *a)
{
    bool missing = h->o->rocm < FIX_ROCM_SYNCWARP;
    enum mask m = a->n ? classify(h, a->a[0], a->b[0], 0) : MASK_OK;
    if (!missing && m != MASK_FULL && m != MASK_PART)
        return;
    struct finding *d = hz_report(h, missing ? HZ_W8 : HZ_W1, i, a->close + 1);
    if (!d)
        return;
    if (missing) {
        d->severity = HAZARD_ERROR;
        note(d, "HIP has __syncwarp from ROCm 7.0 on.", "HIP 自 ROCm 7.0 起提供 __syncwarp。");
    }
    fix_syncwarp(h, missing ? HZ_W8 : HZ_W1, d, i, a);
}

/* The held fix applied to a vote makes the 32-bit operation on it right. */
static bool settled(const struct hz *h, const struct hz_decl *v)
{
    return !h->warp_size &&
           (v ? fix_on(h, HZ_W2) && v->type != HT_U64 && v->type != HT_I64 : fix_on(h, HZ_W3));
}

static void bits(struct hz *h, uint32_t i)
{
    struct hz_args a;
    if (!hz_args(h, i + 1, &a) || a.n == 0 || !hz_is_mask(h, a.a[0], a.b[0]))
        return;
    const struct hz_decl *v = NULL;
    for (uint32_t k = a.a[0]; k < a.b[0] && !v; k++) {
        const struct hz_decl *d = hz_decl_of(h, k);
        v = d && d->mask ? d : NULL;
    }
    struct finding *d = hz_report(h, HZ_W3, i, a.close + 1);
    if (!d)
        return;
    if (settled(h, v)) {
        d->fixed = true;
        d->fix = "the ballot is cut to this half: 32 bits are enough";
    } else if (!v || v->type == HT_U64 || v->type == HT_I64) {
        fix_bit_function(h, d, i);
    }
}

/* mask == 0xffffffff */
static void compare(struct hz *h, uint32_t i)
{
    uint64_t v;
    int n_bits;
    if (!hz_number_value(h, i + 1, &v, &n_bits) || v != UINT32_MAX || i == 0)
        return;
    uint32_t a = i - 1;
    if (hz_punct(h, a, ')') && h->match[a] != HZ_NONE)
        a = h->match[a] > 0 && hz_ident(h, h->match[a] - 1) ? h->match[a] - 1 : h->match[a];
    if (!hz_is_mask(h, a, i))
        return;
    const struct hz_decl *d = hz_decl_of(h, a);
    struct finding *f = hz_report(h, HZ_W3, a, i + 2);
    if (f && d && settled(h, d)) {
        f->fixed = true;
        f->fix = "the ballot is cut to this half: 32 bits are enough";
    }
}

void hz_rules_wave(struct hz *h)
{
    if (!h->warp_ops)
        return;
    mark_masks(h);
    for (uint32_t i = 0; i < h->n; i++) {
        bool sync;
        enum hz_warp op = hz_warp_op(h, i, &sync);
        if (hz_punct(h, i, LEX_P_EQ) || hz_punct(h, i, LEX_P_NE))
            compare(h, i);
        if (op == HZW_NONE) {
            if (hz_in_list(h, i, bit_names))
                bits(h, i);
            continue;
        }
        struct hz_args a;
        if (!is_call(h, i, &a) || hz_user_function(h, i))
            continue;
        if (op == HZW_SYNCWARP) {
            syncwarp(h, i, &a);
            continue;
        }
        enum mask m = sync && a.n ? classify(h, a.a[0], a.b[0], 0) : MASK_OK;
        size_t w1 = sync && a.n ? report_mask(h, i, op, m, &a) : 0;
        if (op <= HZW_SHFL_XOR)
            shuffle(h, i, op, sync, m, &a);
        else if (op != HZW_REDUCE)
            vote(h, i, op, sync, m, w1, &a);
    }
}
