/* SPDX-License-Identifier: Apache-2.0
 * hazard_limits.c: rules S: shared memory, launch bounds, launch size, register limit. */
#include "port/hazard_code.h"
#include "port/fix.h"

enum {
    LDS_BYTES = 64 * 1024,    /* gfx90a, gfx942 (ROCm GPU specifications) */
    BLOCK_THREADS = 1024,     /* HIP launch API */
    SHARED_OPT_IN = 48 * 1024 /* CUDA's static limit: what asks for more names its size */
};

static int type_bytes(const struct hz *h, const struct hz_decl *d)
{
    static const struct {
        const char *name;
        int size;
    } vectors[] = {{"float2", 8}, {"float3", 12}, {"float4", 16}, {"double2", 16},
                   {"int2", 8},   {"int4", 16},   {"uint4", 16},  {"uint2", 8}};
    for (size_t k = 0; k < SL_COUNT(vectors); k++)
        if (hz_is(h, d->type0, vectors[k].name))
            return vectors[k].size;
    switch (d->type) {
    case HT_I32:
    case HT_U32:
        for (uint32_t k = d->type0; k < d->type1; k++) {
            if (hz_is(h, k, "char") || hz_is(h, k, "uint8_t") || hz_is(h, k, "uchar"))
                return 1;
            if (hz_is(h, k, "short") || hz_is(h, k, "uint16_t") || hz_is(h, k, "int16_t") ||
                hz_is(h, k, "ushort"))
                return 2;
        }
        return 4;
    case HT_FLOAT:
    case HT_HALF2:
        return 4;
    case HT_I64:
    case HT_U64:
    case HT_DOUBLE:
        return 8;
    case HT_HALF:
    case HT_BF16:
        return 2;
    default:
        return 0;
    }
}

/* Bytes of name[A][B]...; 0 when a bound is unknown. */
static int64_t array_bytes(const struct hz *h, const struct hz_decl *d)
{
    int64_t total = type_bytes(h, d), v;
    for (uint32_t k = d->name + 1; hz_punct(h, k, '[') && h->match[k] != HZ_NONE;
         k = h->match[k] + 1) {
        if (!hz_eval(h, k + 1, h->match[k], &v) || v <= 0 || v > (1 << 24) ||
            total > ((int64_t)1 << 32))
            return 0;
        total *= v;
    }
    return total;
}

/* Declarations come in the order of the text, so those of one function stand together. */
static void static_shared(struct hz *h)
{
    const struct hz_func *of = NULL;
    int64_t sum = 0;
    uint32_t last = HZ_NONE;
    for (size_t k = 0; k <= h->n_decl; k++) {
        const struct hz_decl *d = k < h->n_decl ? &h->decl[k] : NULL;
        if (d && (!d->shared || !d->array))
            continue;
        const struct hz_func *f = d ? hz_func_at(h, d->name) : NULL;
        if (f != of || !d) {
            struct finding *found =
                of && sum > LDS_BYTES ? hz_report(h, HZ_S1, last, last + 1) : NULL;
            if (found)
                found->what = sl_arena_printf(
                    &h->f->arena, "%lld bytes of shared memory in this kernel", (long long)sum);
            of = f;
            sum = 0;
        }
        int64_t n = d && f ? array_bytes(h, d) : 0;
        sum += n;
        last = n ? d->name : last;
    }
}

/* cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, n) */
static void dynamic_shared(struct hz *h, uint32_t i)
{
    static const char *const names[] = {"cudaFuncAttributeMaxDynamicSharedMemorySize",
                                        "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES", NULL};
    if (!hz_in_list(h, i, names) || !hz_punct(h, i + 1, ','))
        return;
    uint32_t e = i + 2;
    while (e < h->n && e < i + 60 && !hz_punct(h, e, ')') && !hz_punct(h, e, ','))
        e = hz_punct(h, e, '(') && h->match[e] != HZ_NONE ? h->match[e] + 1 : e + 1;
    int64_t v;
    bool known = hz_eval(h, i + 2, e, &v);
    if (known && v <= LDS_BYTES)
        return;
    struct finding *d = hz_report(h, HZ_S1, i, e);
    if (!d || known)
        return;
    d->severity = HAZARD_WARNING;
    d->note[HAZARD_EN] =
        "CUDA needs this call above 48 KiB only; check that the size stays within 64 KiB.";
    d->note[HAZARD_ZH] = "CUDA 仅在超过 48 KiB 时需要此调用；请确认大小不超过 64 KiB。";
}

static void bounds(struct hz *h, uint32_t i)
{
    struct hz_args a;
    if (hz_len(h, i) != 17 || !hz_is(h, i, "__launch_bounds__") || !hz_args(h, i + 1, &a) ||
        a.n < 2)
        return;
    if (i > 0 && hz_is(h, i - 1, "define"))
        return;
    uint32_t from = hz_at(h, a.a[1]), to = hz_at(h, a.close);
    if (memmem(h->l->p + from, to - from, FIX_BOUNDS_MARK, strlen(FIX_BOUNDS_MARK)))
        return;
    struct finding *d = hz_report(h, HZ_S2, i, a.close + 1);
    if (d)
        fix_launch_bounds(h, d, &a);
}

/* Threads of a block argument: a number, dim3(a, b, c) or a dim3 variable with constant values. */
static bool block_threads(const struct hz *h, uint32_t a, uint32_t b, int64_t *ret)
{
    struct hz_args d;
    if (hz_eval(h, a, b, ret))
        return true;
    if (!hz_is(h, a, "dim3") || !hz_args(h, a + 1, &d) || d.n == 0 || d.close + 1 != b)
        return false;
    int64_t v;
    *ret = 1;
    for (int k = 0; k < d.n; k++) {
        if (!hz_eval(h, d.a[k], d.b[k], &v) || v <= 0 || v > (1 << 20))
            return false;
        *ret *= v;
    }
    return true;
}

static void launch(struct hz *h, uint32_t i)
{
    uint32_t comma = HZ_NONE, end = HZ_NONE;
    for (uint32_t k = i + 1; k < h->n && k < i + 120; k++) {
        if (h->match[k] != HZ_NONE && h->match[k] > k) {
            k = h->match[k];
        } else if (hz_punct(h, k, ',') || (hz_shr(h, k) && hz_punct(h, k + 2, '>'))) {
            if (comma == HZ_NONE && hz_punct(h, k, ',')) {
                comma = k;
            } else {
                end = k;
                break;
            }
        } else if (hz_punct(h, k, ';') || hz_punct(h, k, '{')) {
            return;
        }
    }
    int64_t threads, blocks;
    if (comma == HZ_NONE || end == HZ_NONE || !block_threads(h, comma + 1, end, &threads))
        return;
    bool wide = block_threads(h, i + 1, comma, &blocks) && blocks > 0 && threads > 0 &&
                blocks > (int64_t)UINT32_MAX / threads;
    if (threads > BLOCK_THREADS || wide)
        hz_report(h, HZ_S3, i, end);
}

void hz_fix_bounds(struct hz *h)
{
    if (h->hip)
        return;
    for (uint32_t i = 0; i < h->n; i++)
        if (hz_ident(h, i))
            bounds(h, i);
}

void hz_rules_limits(struct hz *h)
{
    static_shared(h);
    for (uint32_t i = 0; i < h->n; i++) {
        if (hz_punct(h, i, LEX_P_LAUNCH))
            launch(h, i);
        if (!hz_ident(h, i))
            continue;
        dynamic_shared(h, i);
        if (!h->hip)
            bounds(h, i);
        if (hz_is(h, i, "__maxnreg__") && hz_punct(h, i + 1, '('))
            hz_report(h, HZ_S4, i, i + 1);
    }
}
