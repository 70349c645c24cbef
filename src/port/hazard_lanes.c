/* SPDX-License-Identifier: Apache-2.0
 * hazard_lanes.c: rules W4, W6, W8 (locks), W9 and shifts by a lane number: code that was written
 * for warps of 32 without a call that shows it. */
#include "port/hazard_code.h"
#include "port/fix.h"

/* "WARP_SIZE", "warpSz", "kWarp", "LOG_WARP": a size, not a count of warps. */
static bool warp_size_name(const struct hz *h, uint32_t i)
{
    bool warp = hz_contains(h, i, "warp") || hz_contains(h, i, "wavefront");
    bool count =
        hz_contains(h, i, "num") || hz_contains(h, i, "warps") || hz_contains(h, i, "per") ||
        hz_contains(h, i, "max") || hz_contains(h, i, "count") || hz_contains(h, i, "n_warp") ||
        hz_contains(h, i, "rows") || hz_contains(h, i, "cols") || hz_contains(h, i, "tile") ||
        hz_contains(h, i, "items") || hz_contains(h, i, "warp_m") || hz_contains(h, i, "warp_n") ||
        hz_contains(h, i, "warp_k") || hz_contains(h, i, "warp_batch") ||
        hz_contains(h, i, "warpm");
    return (warp && !count) || hz_is(h, i, "WS") || hz_is(h, i, "LANES") || hz_is(h, i, "LOG_WS");
}

static bool warp_size_value(const struct hz *h, uint32_t i, int64_t v)
{
    bool log = hz_contains(h, i, "log") || hz_contains(h, i, "bits") || hz_contains(h, i, "shift");
    bool mask = hz_contains(h, i, "mask");
    bool half = hz_contains(h, i, "half");
    return log ? v == 5 : mask ? v == 31 : half ? v == 16 : v == 32;
}

bool hz_knows_64(const struct hz *h)
{
    int64_t v;
    for (size_t k = 0; k < h->n_macro; k++)
        if (!h->macro[k].function && warp_size_name(h, h->macro[k].name) &&
            hz_eval(h, h->macro[k].body0, h->macro[k].body1, &v) && v == 64)
            return true;
    for (size_t k = 0; k < h->n_decl; k++)
        if (h->decl[k].constant && h->decl[k].init0 < h->decl[k].init1 &&
            warp_size_name(h, h->decl[k].name) &&
            hz_eval(h, h->decl[k].init0, h->decl[k].init1, &v) && v == 64)
            return true;
    return false;
}

/* Without a warp operation beside it the constant may be a mere chunk size. */
static void constant(struct hz *h, uint32_t a, uint32_t b)
{
    struct finding *d = hz_report(h, HZ_W4, a, b);
    if (!d || h->warp_ops)
        return;
    d->severity = HAZARD_NOTE;
    d->note[HAZARD_EN] =
        "No warp operation in this file: right as a chunk size, half a wavefront wide.";
    d->note[HAZARD_ZH] = "本文件没有 warp 操作：作为分块大小是正确的，宽度为半个波前。";
}

static void constants(struct hz *h)
{
    int64_t v;
    for (size_t k = 0; k < h->n_macro; k++) {
        const struct hz_macro *m = &h->macro[k];
        if (!m->function && warp_size_name(h, m->name) && hz_eval(h, m->body0, m->body1, &v) &&
            warp_size_value(h, m->name, v))
            constant(h, m->name, m->body1);
    }
    for (size_t k = 0; k < h->n_decl; k++) {
        const struct hz_decl *d = &h->decl[k];
        if (d->init0 < d->init1 && !d->pointer && !d->array && warp_size_name(h, d->name) &&
            hz_eval(h, d->init0, d->init1, &v) && warp_size_value(h, d->name, v))
            constant(h, d->name, d->init1);
    }
}

/* The value left of position i (exclusive) comes from a thread's number. */
static bool thread_like(const struct hz *h, uint32_t i)
{
    uint32_t a = i;
    for (int steps = 0; a > 0 && steps < 24; steps++) {
        uint32_t p = a - 1;
        if ((hz_punct(h, p, ')') || hz_punct(h, p, ']')) && h->match[p] != HZ_NONE) {
            for (uint32_t k = h->match[p]; k < p; k++)
                if (hz_is(h, k, "threadIdx") || hz_is(h, k, "tid") || hz_is(h, k, "blockDim"))
                    return true;
            a = h->match[p];
        } else if (hz_ident(h, p) || hz_punct(h, p, '.') || hz_punct(h, p, LEX_P_SCOPE)) {
            a = p;
        } else {
            break;
        }
    }
    for (uint32_t k = a; k < i; k++) {
        if (hz_is(h, k, "threadIdx") || hz_is(h, k, "blockDim") || hz_contains(h, k, "tid") ||
            hz_contains(h, k, "lane") || hz_contains(h, k, "thread") || hz_contains(h, k, "warp") ||
            hz_is(h, k, "tx") || hz_is(h, k, "thread_rank"))
            return true;
    }
    return false;
}

/* The variable that the statement around i assigns, or HZ_NONE. */
static uint32_t assigned(const struct hz *h, uint32_t i)
{
    for (uint32_t k = i, steps = 0; k > 0 && steps < 40; steps++) {
        k--;
        if (hz_punct(h, k, ';') || hz_punct(h, k, '{') || hz_punct(h, k, '}') ||
            hz_tok(h, k)->kind == LEX_EOD)
            return HZ_NONE;
        if (hz_punct(h, k, '=') && k > 0)
            return hz_ident(h, k - 1) ? k - 1 : HZ_NONE;
        if (hz_tok(h, k)->kind == LEX_HASH) /* #define NAME expression */
            return hz_tok(h, k)->sub == LEX_D_DEFINE ? k + 2 : HZ_NONE;
    }
    return HZ_NONE;
}

/* x & 31, x % 32, x >> 5, x / 32, x < 32: n is the number's position, op the operator's first
 * token. */
/* num_warps * 32, 32 * WARPS_PER_BLOCK: n is the number's position. */
static bool warps_times(const struct hz *h, uint32_t n)
{
    if (!hz_is(h, n, "32"))
        return false;
    bool after = hz_punct(h, n + 1, '*') && hz_ident(h, n + 2) && hz_contains(h, n + 2, "warp");
    bool before =
        n > 1 && hz_punct(h, n - 1, '*') && hz_ident(h, n - 2) && hz_contains(h, n - 2, "warp");
    return after || before;
}

/* x & 31, x % 32, x >> 5, x / 32, x < 32: n is the number's position, op the operator's first
 * token. */
static void written_32(struct hz *h, uint32_t op, uint32_t n)
{
    uint64_t v;
    int bits;
    if (!hz_number_value(h, n, &v, &bits) || op == 0)
        return;
    if (warps_times(h, n)) {
        hz_report(h, HZ_W4, hz_ident(h, n - 2) && hz_punct(h, n - 1, '*') ? n - 2 : n,
                  hz_punct(h, n + 1, '*') ? n + 3 : n + 1);
        return;
    }
    bool lane = (hz_punct(h, op, '&') && v == 31) || (hz_punct(h, op, '%') && v == 32);
    bool warp = (n == op + 2 && v == 5) || (hz_punct(h, op, '/') && v == 32);
    bool below = (hz_punct(h, op, '<') && v == 32) || (hz_punct(h, op, LEX_P_EQ) && v == 31);
    if (!lane && !warp && !below)
        return;
    uint32_t to = assigned(h, op);
    bool named = to != HZ_NONE && (hz_contains(h, to, "lane") || hz_contains(h, to, "warp"));
    const struct hz_func *f = hz_func_at(h, op);
    bool warp_code = f ? f->warp_op : hz_pp(h, op) && h->warp_ops;
    bool thread = thread_like(h, op);
    if (below) {
        bool lane_name = hz_ident(h, op - 1) && hz_contains(h, op - 1, "lane");
        if ((v == 31 && !lane_name) || !warp_code || !thread)
            return;
    } else if (!(named && (thread || warp)) && !(thread && warp_code)) {
        return;
    }
    uint32_t a = op - 1;
    if ((hz_punct(h, a, ')') || hz_punct(h, a, ']')) && h->match[a] != HZ_NONE)
        a = h->match[a];
    while (a > 1 && (hz_punct(h, a - 1, '.') || hz_punct(h, a - 1, LEX_P_ARROW)) &&
           hz_ident(h, a - 2))
        a -= 2;
    hz_report(h, HZ_W4, a, n + 1);
}

/* for (int o = 16; ...) with a shuffle in its body; and __shfl_down(v, 16). */
static void sixteen(struct hz *h, uint32_t i)
{
    bool sync;
    enum hz_warp op = hz_warp_op(h, i, &sync);
    struct hz_args a;
    if (op < HZW_SHFL_UP || op > HZW_SHFL_XOR || !hz_args(h, i + 1, &a) || a.n < (sync ? 3 : 2))
        return;
    int k = sync ? 2 : 1;
    uint32_t at = a.a[k], end = a.b[k];
    const struct hz_decl *d = end == at + 1 ? hz_decl_of(h, at) : NULL;
    if (d && d->init0 + 1 == d->init1) {
        at = d->init0;
        end = d->init1;
    }
    uint64_t v;
    int bits;
    if (end != at + 1 || !hz_number_value(h, at, &v, &bits) || v != 16)
        return;
    struct finding *f = hz_report(h, HZ_W4, at, at + 1);
    if (!f)
        return;
    f->severity = HAZARD_NOTE;
    f->what = "16";
    f->note[HAZARD_EN] =
        "A reduction over 32 lanes: right where every 32 lanes have their own leader.";
    f->note[HAZARD_ZH] = "对 32 个通道归约：若每 32 个通道各有首通道则正确。";
}

/* 1u << lane, 0xffffffff >> (31 - lane) in code that handles lane masks. */
static void lane_shift(struct hz *h, uint32_t i)
{
    uint64_t v;
    int bits;
    if (!hz_number_value(h, i, &v, &bits) || bits != 32 || (v != 1 && v != UINT32_MAX))
        return;
    uint32_t q = hz_punct(h, i + 1, LEX_P_SHL) ? i + 2 : hz_shr(h, i + 1) ? i + 3 : 0;
    const struct hz_func *f = hz_func_at(h, i);
    if (!q || !f || !f->warp_op)
        return;
    uint32_t e = hz_punct(h, q, '(') && h->match[q] != HZ_NONE ? h->match[q] : q;
    bool lane = false;
    for (uint32_t k = q; k <= e && k < h->n; k++)
        lane |= hz_ident(h, k) && hz_contains(h, k, "lane") && !hz_punct(h, k + 1, '(');
    if (!lane)
        return;
    struct finding *d = hz_report(h, HZ_W3, i, e + 1);
    if (!d)
        return;
    if (!h->warp_size && fix_on(h, HZ_W2)) {
        d->severity = HAZARD_NOTE;
        d->note[HAZARD_EN] =
            "Right while the lane number stays below 32 and ballots are cut to their half.";
        d->note[HAZARD_ZH] = "只要通道号小于 32 且 ballot 取对应的一半，此处就正确。";
    } else {
        d->fix = "1ull << ...";
    }
}

static bool builtin_warp_size(const struct hz *h, uint32_t i)
{
    return hz_is(h, i, "warpSize") && hz_free_name(h, i) && !hz_decl_of(h, i) && !hz_macro_of(h, i);
}

/* The [ around i belongs to a declaration: a type stands before the name. */
static bool array_bound(const struct hz *h, uint32_t i)
{
    uint32_t k = i;
    for (int steps = 0; k > 0 && steps < 12 && !hz_punct(h, k, '['); steps++)
        k--;
    if (!hz_punct(h, k, '[') || k < 2 || h->match[k] == HZ_NONE || h->match[k] < i)
        return false;
    while (k > 1 && hz_punct(h, k - 1, ']') && h->match[k - 1] != HZ_NONE)
        k = h->match[k - 1];
    static const char *const not_types[] = {"return", "new",   "delete", "else",
                                            "case",   "throw", NULL};
    return k >= 2 && hz_ident(h, k - 1) && hz_ident(h, k - 2) && !hz_in_list(h, k - 2, not_types) &&
           !hz_in_list(h, k - 1, not_types);
}

/* name<warpSize>(...)   name<T, warpSize / 2>::x */
static bool template_argument(const struct hz *h, uint32_t i)
{
    uint32_t e = i + 1;
    while (e < i + 4 &&
           (hz_punct(h, e, '/') || hz_punct(h, e, '*') || hz_punct(h, e, '-') || hz_number(h, e)))
        e++;
    if (!hz_punct(h, e, '>') || i < 2)
        return false;
    bool after = hz_punct(h, e + 1, '(') || hz_punct(h, e + 1, LEX_P_SCOPE) ||
                 hz_punct(h, e + 1, '>') || hz_punct(h, e + 1, '{') || hz_ident(h, e + 1) ||
                 hz_punct(h, e + 1, LEX_P_LAUNCH);
    return after && (hz_punct(h, i - 1, '<') || hz_punct(h, i - 1, ',')) && !hz_shr(h, e) &&
           hz_ident(h, i - 2);
}

static void constant_use(struct hz *h, uint32_t i)
{
    if (!builtin_warp_size(h, i))
        return;
    bool constant = array_bound(h, i) || template_argument(h, i) || hz_is(h, i - 1, "case");
    for (uint32_t k = i, steps = 0; !constant && k > 0 && steps < 40; steps++) {
        k--;
        if (hz_punct(h, k, ';') || hz_punct(h, k, '{') || hz_punct(h, k, '}'))
            break;
        constant = hz_is(h, k, "constexpr") || hz_is(h, k, "static_assert") ||
                   hz_is(h, k, "_Static_assert");
    }
    constant |= hz_pp(h, i) && i > 2 && (hz_is(h, i - 1, "if") || hz_is(h, i - 1, "elif"));
    if (constant)
        hz_report(h, HZ_W6, i, i + 1);
}

/* while (atomicCAS(&lock, 0, 1) != 0); unless one thread of the block does it. */
static void spin(struct hz *h, uint32_t i)
{
    bool cas = hz_is(h, i, "atomicCAS"), exch = hz_is(h, i, "atomicExch");
    struct hz_args a;
    uint64_t v;
    int bits;
    const struct hz_func *f = hz_func_at(h, i);
    if ((!cas && !exch) || !f || !hz_args(h, i + 1, &a) || a.n != (cas ? 3 : 2))
        return;
    for (int k = 1; k < a.n; k++)
        if (a.b[k] != a.a[k] + 1 || !hz_number_value(h, a.a[k], &v, &bits))
            return;
    bool loop = false;
    for (uint32_t k = i, steps = 0; k > f->open && steps < 8; steps++) {
        k--;
        if (hz_punct(h, k, ';') || hz_punct(h, k, '{') || hz_punct(h, k, '}'))
            break;
        loop |= hz_is(h, k, "while");
    }
    /* one thread of the block, said shortly before, may spin */
    uint32_t near = i > f->open + 90 ? i - 90 : f->open;
    for (uint32_t k = near; loop && k < i; k++)
        if (hz_is(h, k, "threadIdx") && hz_punct(h, k + 3, LEX_P_EQ))
            return;
    if (loop)
        hz_report(h, HZ_W8, i, a.close + 1);
}

static void groups(struct hz *h, uint32_t i)
{
    static const char *const missing[] = {"reduce",
                                          "inclusive_scan",
                                          "exclusive_scan",
                                          "memcpy_async",
                                          "reduce_update_async",
                                          "reduce_store_async",
                                          "invoke_one",
                                          "wait_prior",
                                          "this_cluster",
                                          "cluster_group",
                                          "labeled_partition",
                                          "binary_partition",
                                          NULL};
    static const char *const plain[] = {"this_cluster", "cluster_group", "labeled_partition",
                                        "binary_partition", NULL};
    static const char *const sized[] = {"tiled_partition", "coalesced_threads", "thread_block_tile",
                                        NULL};
    if (!hz_ident(h, i) || i == 0 || hz_punct(h, i - 1, '.') || hz_punct(h, i - 1, LEX_P_ARROW))
        return;
    bool scoped = hz_punct(h, i - 1, LEX_P_SCOPE) && i > 1 &&
                  (hz_is(h, i - 2, "cg") || hz_is(h, i - 2, "cooperative_groups"));
    bool lone = !hz_punct(h, i - 1, LEX_P_SCOPE) && hz_punct(h, i + 1, '(') && !hz_ident(h, i - 1);
    if ((scoped && hz_in_list(h, i, missing)) || (lone && hz_in_list(h, i, plain))) {
        hz_report(h, HZ_W9, i, i + 1);
        return;
    }
    if (!hz_in_list(h, i, sized) || (!scoped && hz_punct(h, i - 1, LEX_P_SCOPE)))
        return;
    int64_t v = 32;
    if (hz_punct(h, i + 1, '<') && !hz_eval(h, i + 2, i + 3, &v))
        return;
    bool call = hz_punct(h, i + 1, '(') || hz_punct(h, i + 1, '<');
    struct finding *d = call && v == 32 ? hz_report(h, HZ_W9, i, i + 1) : NULL;
    if (!d)
        return;
    d->severity = HAZARD_NOTE;
    d->note[HAZARD_EN] =
        "Works on AMD; a tile of 32 is half a wavefront, a coalesced group has up to 64 threads.";
    d->note[HAZARD_ZH] =
        "在 AMD 上可用；32 线程的 tile 是半个波前，coalesced group 最多 64 个线程。";
}

void hz_rules_lanes(struct hz *h)
{
    bool cg = false;
    for (uint32_t i = 0; i < h->n && !cg; i++)
        cg = hz_is(h, i, "cooperative_groups") || hz_is(h, i, "<cooperative_groups.h>");
    constants(h);
    for (uint32_t i = 1; i < h->n; i++) {
        if (hz_number(h, i)) {
            bool shr = i > 2 && hz_shr(h, i - 2);
            written_32(h, shr ? i - 2 : i - 1, i);
            lane_shift(h, i);
        } else if (hz_ident(h, i)) {
            sixteen(h, i);
            constant_use(h, i);
            spin(h, i);
            if (cg)
                groups(h, i);
        }
    }
}
