/* SPDX-License-Identifier: Apache-2.0
 * fix.c: see fix.h for why each is right. */
#include "port/fix.h"

bool fix_on(const struct hz *h, enum hazard_no no)
{
    return h->o->fix && !h->o->no_fix[no];
}

void fix_edit(struct hz *h, enum hazard_no no, struct finding *d, size_t at, size_t n,
              const char *text)
{
    source_edit_copy(h->s, at, n, text, strlen(text), EDIT_FIX, (unsigned)no + 1);
    if (d) {
        d->fixed = true;
        if (!d->fix)
            d->fix = sl_arena_strdup(&h->f->arena, text);
    }
}

static void edit_tokens(struct hz *h, enum hazard_no no, struct finding *d, uint32_t a, uint32_t b,
                        const char *text)
{
    fix_edit(h, no, d, hz_at(h, a), hz_end(h, b - 1) - hz_at(h, a), text);
}

/* Removes argument 0 and the comma (and space) behind it. */
static void drop_mask(struct hz *h, enum hazard_no no, struct finding *d, const struct hz_args *a)
{
    uint32_t from = hz_at(h, a->a[0]);
    uint32_t to = a->n > 1 ? hz_at(h, a->a[1]) : hz_at(h, a->close);
    fix_edit(h, no, d, from, to - from, "");
}

/* "__shfl_xor_sync" -> "__shfl_xor". */
static void drop_suffix(struct hz *h, enum hazard_no no, struct finding *d, uint32_t i)
{
    size_t n = hz_len(h, i), tail = strlen("_sync");
    SL_ASSERT(n > tail);
    SL_AUTO_FREE char *name = sl_strndup(hz_text(h, i), n - tail);
    if (d)
        d->fix = sl_arena_printf(&h->f->arena, "%s(...)", name);
    edit_tokens(h, no, d, i, i + 1, name);
}

void fix_shuffle_mask(struct hz *h, enum hazard_no no, struct finding *d, uint32_t i,
                      const struct hz_args *a)
{
    if (!fix_on(h, no))
        return;
    if (h->o->rocm < FIX_ROCM_SYNC) {
        drop_suffix(h, no, d, i);
        drop_mask(h, no, d, a);
    } else {
        edit_tokens(h, no, d, a->a[0], a->b[0], "__activemask()");
    }
}

void fix_shuffle_width(struct hz *h, struct finding *d, const struct hz_args *a)
{
    if (fix_on(h, HZ_W5))
        fix_edit(h, HZ_W5, d, hz_at(h, a->close), 0, ", 32");
}

static void held_ballot(struct hz *h, enum hazard_no no, struct finding *d, uint32_t i, bool negate,
                        bool sync, bool full, const char *tail, const struct hz_args *a)
{
    int k = sync ? 1 : 0;
    if (a->n <= k)
        return;
    SL_AUTO_BUF struct sl_buf open = SL_BUF(1024);
    sl_buf_printf(&open, "%s" FIX_HALF_OPEN "__ballot(%s", tail || !full ? "(" : "",
                  negate ? "!(" : "");
    fix_edit(h, no, d, hz_at(h, i), hz_at(h, a->a[k]) - hz_at(h, i), sl_buf_str(&open));
    SL_AUTO_BUF struct sl_buf close = SL_BUF(4096);
    sl_buf_printf(&close, "%s)" FIX_HALF_CLOSE, negate ? ")" : "");
    if (!full) {
        sl_buf_adds(&close, " & (");
        sl_buf_add(&close, hz_text(h, a->a[0]), hz_end(h, a->b[0] - 1) - hz_at(h, a->a[0]));
        sl_buf_adds(&close, ")");
    }
    sl_buf_printf(&close, "%s%s", tail ? tail : "", tail || !full ? ")" : "");
    fix_edit(h, no, NULL, hz_at(h, a->close), 1, sl_buf_str(&close));
    if (d)
        d->fix = sl_arena_strdup(&h->f->arena, "(unsigned)(__ballot(p) >> (__lane_id() & 32))");
}

void fix_held_vote(struct hz *h, enum hazard_no no, struct finding *d, uint32_t i, enum hz_warp op,
                   bool sync, bool full, const struct hz_args *a)
{
    if (!fix_on(h, no))
        return;
    h->settled[i] = op != HZW_ACTIVE && op != HZW_MATCH;
    if (op == HZW_BALLOT) {
        held_ballot(h, no, d, i, false, sync, full, NULL, a);
    } else if (op == HZW_ANY) {
        held_ballot(h, no, d, i, false, sync, full, " != 0", a);
    } else if (op == HZW_ALL) {
        /* false where a lane of the mask says no; `& mask` first, as for the others */
        held_ballot(h, no, d, i, true, sync, full, " == 0", a);
    } else if (op == HZW_ACTIVE || (op == HZW_MATCH && h->o->rocm >= FIX_ROCM_SYNC)) {
        fix_edit(h, no, d, hz_at(h, i), 0, FIX_HALF_OPEN);
        if (sync && a->n)
            edit_tokens(h, no, NULL, a->a[0], a->b[0], "__activemask()");
        fix_edit(h, no, NULL, hz_end(h, a->close), 0, FIX_HALF_CLOSE);
        if (d)
            d->fix = sl_arena_strdup(&h->f->arena, "(unsigned)(... >> (__lane_id() & 32))");
    }
}

void fix_generic_vote(struct hz *h, enum hazard_no no, struct finding *d, uint32_t i, bool full,
                      const struct hz_args *a)
{
    if (!fix_on(h, no) || !full)
        return;
    if (h->o->rocm < FIX_ROCM_SYNC) {
        h->settled[i] = true;
        drop_suffix(h, no, d, i);
        drop_mask(h, no, d, a);
    } else {
        edit_tokens(h, no, d, a->a[0], a->b[0], "__activemask()");
    }
}

static const struct {
    const char *narrow, *wide;
} bit_functions[] = {
    {"__popc", "__popcll"}, {"__ffs", "__ffsll"}, {"__clz", "__clzll"}, {"__brev", "__brevll"}};

void fix_bit_function(struct hz *h, struct finding *d, uint32_t i)
{
    /* __clz and __brev change value with the width: only the count and the first bit do not */
    for (size_t k = 0; k < 2; k++)
        if (fix_on(h, HZ_W3) && hz_is(h, i, bit_functions[k].narrow))
            edit_tokens(h, HZ_W3, d, i, i + 1, bit_functions[k].wide);
}

/* One use of a mask variable at i; records the tokens to change: a bit function's name or a
 * literal 1. */
static bool use_known(const struct hz *h, uint32_t i, uint32_t *ret_change)
{
    *ret_change = HZ_NONE;
    uint32_t p = i - 1, q = i + 1;
    if (hz_punct(h, p, '(') && hz_punct(h, q, ')') && p > 0) {
        if (hz_is(h, p - 1, "__popc") || hz_is(h, p - 1, "__ffs")) {
            *ret_change = p - 1;
            return true;
        }
        return hz_is(h, p - 1, "if") || hz_is(h, p - 1, "while") || hz_is(h, p - 1, "__popcll") ||
               hz_is(h, p - 1, "__syncwarp") || hz_is(h, p - 1, "__ffsll");
    }
    bool sync;
    if (hz_punct(h, p, '(') && hz_punct(h, q, ',') && p > 0 && hz_warp_op(h, p - 1, &sync) && sync)
        return true;
    if ((hz_punct(h, q, LEX_P_EQ) || hz_punct(h, q, LEX_P_NE)) && hz_is(h, q + 1, "0"))
        return true;
    if (hz_punct(h, p, '!') && (hz_punct(h, q, ')') || hz_punct(h, q, ';')))
        return true;
    bool x_eq_x1 = hz_is(h, q, "&=") && hz_ident(h, q + 1); /* m &= m - 1 */
    if (x_eq_x1 && hz_len(h, q + 1) == hz_len(h, i) && hz_punct(h, q + 2, '-') &&
        hz_is(h, q + 3, "1"))
        return true;
    if (hz_is(h, p, "&=") && hz_punct(h, q, '-') && hz_is(h, q + 1, "1"))
        return true;
    /* m & ((1u << lane) - 1)   m & (1u << lane) */
    uint32_t k = q + 1;
    if (hz_punct(h, q, '&')) {
        while (hz_punct(h, k, '('))
            k++;
        if ((hz_is(h, k, "1u") || hz_is(h, k, "1") || hz_is(h, k, "1U")) &&
            hz_punct(h, k + 1, LEX_P_SHL)) {
            *ret_change = k;
            /* what encloses it may be __popc(m & ...) */
            return true;
        }
    }
    return false;
}

/* The bit function whose only argument begins at i, or HZ_NONE. */
static uint32_t narrow_caller(const struct hz *h, uint32_t i)
{
    if (i < 2 || !hz_punct(h, i - 1, '('))
        return HZ_NONE;
    return hz_is(h, i - 2, "__popc") || hz_is(h, i - 2, "__ffs") ? i - 2 : HZ_NONE;
}

bool fix_widen(struct hz *h, struct finding *d, const struct hz_decl *v)
{
    enum { USES = 64 };
    uint32_t change[USES * 2], n = 0;
    if (!fix_on(h, HZ_W2) || !v->alone || v->param || v->pointer || v->array || v->shared ||
        v->type1 <= v->type0 || v->end - v->name > HZ_FAR)
        return false;
    for (uint32_t i = v->name + 1; i <= v->end && i < h->n; i++) {
        if (!hz_ident(h, i) || hz_decl_of(h, i) != v)
            continue;
        uint32_t c;
        if (n + 2 > USES * 2)
            return false;
        if (hz_punct(h, i + 1, '=') && hz_is_mask(h, i + 2, i + 4))
            continue;
        if (!use_known(h, i, &c))
            return false;
        if (c != HZ_NONE)
            change[n++] = c;
        if ((c = narrow_caller(h, i)) != HZ_NONE && (!n || change[n - 1] != c))
            change[n++] = c;
    }
    edit_tokens(h, HZ_W2, d, v->type0, v->type1, "unsigned long long");
    for (uint32_t k = 0; k < n; k++) {
        const char *to = hz_is(h, change[k], "__popc")  ? "__popcll"
                         : hz_is(h, change[k], "__ffs") ? "__ffsll"
                                                        : "1ull";
        edit_tokens(h, HZ_W3, NULL, change[k], change[k] + 1, to);
    }
    return true;
}

void fix_syncwarp(struct hz *h, enum hazard_no no, struct finding *d, uint32_t i,
                  const struct hz_args *a)
{
    if (!fix_on(h, no))
        return;
    if (h->o->rocm >= FIX_ROCM_SYNCWARP)
        edit_tokens(h, no, d, i, a->close + 1, "__syncwarp()");
    else
        edit_tokens(h, no, d, i, a->close + 1,
                    "(__builtin_amdgcn_fence(__ATOMIC_RELEASE, \"wavefront\"), "
                    "__builtin_amdgcn_wave_barrier(), "
                    "__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, \"wavefront\"))");
}

void fix_launch_bounds(struct hz *h, struct finding *d, const struct hz_args *a)
{
    /* blocks per multiprocessor -> wavefronts per execution unit: a block of T threads has
     * ceil(T / 64) wavefronts, a compute unit has 4 execution units of at most 8 wavefronts each
     * (HIP kernel language, launch bounds; CDNA2/CDNA3 ISA). */
    int64_t threads, blocks;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(4096);
    if (hz_eval(h, a->a[0], a->b[0], &threads) && hz_eval(h, a->a[1], a->b[1], &blocks) &&
        threads > 0 && blocks > 0 && threads <= 1024 && blocks <= 64) {
        int64_t waves = (blocks * ((threads + 63) / 64) + 3) / 4;
        sl_buf_printf(&b, "%lld " FIX_BOUNDS_MARK,
                      (long long)(waves > 8   ? 8
                                  : waves < 1 ? 1
                                              : waves));
    } else {
        sl_buf_adds(&b, "((");
        sl_buf_add(&b, hz_text(h, a->a[1]), hz_end(h, a->b[1] - 1) - hz_at(h, a->a[1]));
        sl_buf_adds(&b, ") * (((");
        sl_buf_add(&b, hz_text(h, a->a[0]), hz_end(h, a->b[0] - 1) - hz_at(h, a->a[0]));
        sl_buf_adds(&b, ") + 63) / 64) + 3) / 4 " FIX_BOUNDS_MARK);
    }
    if (b.over || !d)
        return;
    d->fix = sl_arena_strdup(&h->f->arena, sl_buf_str(&b));
    if (fix_on(h, HZ_S2))
        edit_tokens(h, HZ_S2, d, a->a[1], a->b[1], sl_buf_str(&b));
}

bool fix_guard(struct hz *h, enum hazard_no no, struct finding *d, uint32_t i, uint32_t name,
               const char *amd)
{
    if (!fix_on(h, no))
        return false;
    const char *cuda = hz_quote(h, name, name + 1);
    int directive = hz_tok(h, i)->sub;
    bool whole = (directive == LEX_D_IFDEF || directive == LEX_D_IFNDEF) && name == i + 2 &&
                 hz_tok(h, name + 1)->kind == LEX_EOD;
    uint32_t a = i + 1, b = name + 1;
    bool neg = directive == LEX_D_IFNDEF;
    if (!whole) { /* defined(X)   !defined X   as a part of a condition */
        a = hz_punct(h, name - 1, '(') ? name - 2 : name - 1;
        b = hz_punct(h, name + 1, ')') && a == name - 2 ? name + 2 : name + 1;
        if (!hz_is(h, a, "defined"))
            return false;
        neg = hz_punct(h, a - 1, '!');
        a -= neg;
    }
    SL_AUTO_BUF struct sl_buf to = SL_BUF(1024);
    const char *bang = neg ? "!" : "";
    sl_buf_printf(&to, "%s%sdefined(%s) %s %sdefined(%s)%s", whole ? "if " : "(", bang, cuda,
                  neg ? "&&" : "||", bang, amd, whole ? "" : ")");
    edit_tokens(h, no, d, a, b, sl_buf_str(&to));
    return true;
}
