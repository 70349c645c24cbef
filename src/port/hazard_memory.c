/* SPDX-License-Identifier: Apache-2.0
 * hazard_memory.c: rules M and D: memory, enumerator values, devices. */
#include "port/hazard_code.h"

/* atomicAdd(target, value) on float, double or half outside of shared memory. */
static void float_atomic(struct hz *h, uint32_t i)
{
    struct hz_args a;
    if (!hz_is(h, i, "atomicAdd") || !hz_free_name(h, i) || !hz_args(h, i + 1, &a) || a.n != 2)
        return;
    if (i > 0 && hz_ident(h, i - 1) && !hz_is(h, i - 1, "return") && !hz_is(h, i - 1, "else"))
        return; /* a definition */
    uint32_t base = a.a[0];
    while (hz_punct(h, base, '&') || hz_punct(h, base, '('))
        base++;
    if (!hz_ident(h, base) || hz_punct(h, base + 1, '.') || hz_punct(h, base + 1, LEX_P_ARROW))
        return;
    const struct hz_decl *d = hz_decl_of(h, base);
    if (!d || d->shared || (!d->pointer && !d->array))
        return;
    if (d->type == HT_FLOAT || d->type == HT_DOUBLE || d->type == HT_HALF || d->type == HT_HALF2 ||
        d->type == HT_BF16)
        hz_report(h, HZ_M1, i, a.close + 1);
}

static bool ends_with(const struct hz *h, uint32_t i, const char *tail)
{
    size_t n = strlen(tail);
    return hz_len(h, i) > n && memcmp(hz_text(h, i) + hz_len(h, i) - n, tail, n) == 0;
}

static void families(struct hz *h, uint32_t i)
{
    static const char *const managed[] = {"cudaMallocManaged",
                                          "cudaMemPrefetchAsync",
                                          "cudaMemAdvise",
                                          "__managed__",
                                          "cuMemAllocManaged",
                                          "cudaStreamAttachMemAsync",
                                          NULL};
    static const char *const ordered[] = {
        "cudaMallocAsync",   "cudaFreeAsync",           "cudaMallocFromPoolAsync",
        "cudaMemPoolCreate", "cudaMemPoolSetAttribute", "cudaStreamBeginCapture",
        "cuMemAllocAsync",   "cuStreamBeginCapture",    NULL};
    static const char *const mapped[] = {"cudaHostAllocMapped", "cudaHostRegisterMapped",
                                         "cudaDeviceMapHost", "__threadfence_system", NULL};
    if (hz_in_list(h, i, managed))
        hz_report(h, HZ_M3, i, i + 1);
    else if (hz_in_list(h, i, ordered))
        hz_report(h, HZ_M4, i, i + 1);
    else if (hz_starts(h, i, "atomic") && ends_with(h, i, "_system"))
        hz_report(h, HZ_M2, i, i + 1);
    else if (hz_in_list(h, i, mapped)) {
        struct finding *d = hz_report(h, HZ_M2, i, i + 1);
        if (d && !hz_is(h, i, "__threadfence_system"))
            d->severity = HAZARD_NOTE; /* hipHostMalloc's default is fine-grained */
    }
}

static bool compares(const struct hz *h, uint32_t i)
{
    return hz_punct(h, i, LEX_P_EQ) || hz_punct(h, i, LEX_P_NE);
}

/* attributes.type == 2, error == 11, (cudaMemoryType)1 */
static void enumerators(struct hz *h, uint32_t i)
{
    static const char *const casts[] = {
        "cudaMemoryType",    "cudaError_t", "cudaMemcpyKind", "cudaLimit", "cudaDeviceAttr",
        "cudaFuncAttribute", NULL};
    bool cast = hz_in_list(h, i, casts) && hz_punct(h, i + 1, ')') && hz_number(h, i + 2) &&
                (hz_punct(h, i - 1, '(') || hz_is(h, i - 1, "enum"));
    if (cast) {
        hz_report(h, HZ_M5, i, i + 3);
        return;
    }
    if (!compares(h, i + 1) || !hz_number(h, i + 2) || hz_is(h, i + 2, "0"))
        return;
    bool member = hz_punct(h, i - 1, '.') || hz_punct(h, i - 1, LEX_P_ARROW);
    const struct hz_decl *d = hz_decl_of(h, member ? i - 2 : i);
    if (!d)
        return;
    bool field =
        member && d->type == HT_PTR_ATTR && (hz_is(h, i, "type") || hz_is(h, i, "memoryType"));
    bool variable = !member && (d->type == HT_ERROR || d->type == HT_MEM_TYPE);
    if (field || variable)
        hz_report(h, HZ_M5, member ? i - 2 : i, i + 3);
}

/* A count from cudaGetDeviceCount compared with a number above 1; cudaSetDevice(3). */
static void devices(struct hz *h, uint32_t i)
{
    uint64_t v;
    int bits;
    struct hz_args a;
    if (hz_is(h, i, "cudaSetDevice") && hz_args(h, i + 1, &a) && a.n == 1 && a.b[0] == a.a[0] + 1 &&
        hz_number_value(h, a.a[0], &v, &bits) && v > 0) {
        hz_report(h, HZ_D1, i, a.close + 1);
        return;
    }
    bool memory = hz_is(h, i, "totalGlobalMem") && hz_punct(h, i - 1, '.') &&
                  (compares(h, i + 1) || hz_punct(h, i + 1, '<') || hz_punct(h, i + 1, '>') ||
                   hz_punct(h, i + 1, LEX_P_GE) || hz_punct(h, i + 1, LEX_P_LE));
    if (memory) {
        hz_report(h, HZ_D1, i - 2, i + 3);
        return;
    }
    if (!hz_is(h, i, "cudaGetDeviceCount") || !hz_args(h, i + 1, &a) || a.n != 1 ||
        !hz_punct(h, a.a[0], '&') || !hz_ident(h, a.a[0] + 1))
        return;
    const struct hz_decl *d = hz_decl_of(h, a.a[0] + 1);
    for (uint32_t k = a.close; d && k + 2 < h->n && k <= d->end && k < a.close + HZ_FAR; k++) {
        bool test = compares(h, k + 1) || hz_punct(h, k + 1, LEX_P_GE) || hz_punct(h, k + 1, '<');
        if (hz_ident(h, k) && test && hz_decl_of(h, k) == d &&
            hz_number_value(h, k + 2, &v, &bits) && v > 1)
            hz_report(h, HZ_D1, k, k + 3);
    }
}

void hz_rules_memory(struct hz *h)
{
    for (uint32_t i = 1; i < h->n; i++) {
        if (!hz_ident(h, i))
            continue;
        float_atomic(h, i);
        families(h, i);
        enumerators(h, i);
        devices(h, i);
    }
}
