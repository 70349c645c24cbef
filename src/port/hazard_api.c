/* SPDX-License-Identifier: Apache-2.0
 * hazard_api.c: rules V and L: names of the API table against the target version, and libraries
 * whose ROCm counterpart differs. */
#include "port/hazard_code.h"
#include "port/api.h"
#include "port/build_files.h"
#include "port/fix.h"

/* Device names that came late, which the API table does not date; value: HIP version (changelogs).
 */
static const struct {
    const char *name;
    uint32_t added;
} late[] = {{"__shfl_sync", FIX_ROCM_SYNC},
            {"__shfl_up_sync", FIX_ROCM_SYNC},
            {"__shfl_down_sync", FIX_ROCM_SYNC},
            {"__shfl_xor_sync", FIX_ROCM_SYNC},
            {"__ballot_sync", FIX_ROCM_SYNC},
            {"__any_sync", FIX_ROCM_SYNC},
            {"__all_sync", FIX_ROCM_SYNC},
            {"__match_any_sync", FIX_ROCM_SYNC},
            {"__match_all_sync", FIX_ROCM_SYNC},
            {"__syncwarp", FIX_ROCM_SYNCWARP},
            {"__reduce_add_sync", FIX_ROCM_SYNCWARP},
            {"__reduce_min_sync", FIX_ROCM_SYNCWARP},
            {"__reduce_max_sync", FIX_ROCM_SYNCWARP},
            {"__reduce_and_sync", FIX_ROCM_SYNCWARP},
            {"__reduce_or_sync", FIX_ROCM_SYNCWARP},
            {"__reduce_xor_sync", FIX_ROCM_SYNCWARP}};

static uint32_t late_version(const struct hz *h, uint32_t i)
{
    for (size_t k = 0; hz_tok(h, i)->first == '_' && k < SL_COUNT(late); k++)
        if (hz_is(h, i, late[k].name))
            return late[k].added;
    return 0;
}

static void version_note(struct hz *h, struct finding *d, const char *name, uint32_t added)
{
    char v[16], target[16];
    if (!d)
        return;
    d->note[HAZARD_EN] =
        sl_arena_printf(&h->f->arena, "%s: ROCm %s and later; the target is %s.", name,
                        api_version(added, v), api_version(h->o->rocm, target));
    d->note[HAZARD_ZH] = sl_arena_printf(&h->f->arena, "%s：ROCm %s 起；目标版本为 %s。", name,
                                         api_version(added, v), api_version(h->o->rocm, target));
}

/* A *_sync name on a ROCm that has none: the older spelling takes no mask. W1's fix has already
 * dropped a 32-bit one; what is left is a 64-bit or unknown mask. */
static void late_name(struct hz *h, uint32_t i)
{
    uint32_t added = late_version(h, i);
    struct hz_args a;
    bool sync;
    if (added <= h->o->rocm || !hz_args(h, i + 1, &a) || a.n == 0)
        return;
    enum hz_warp op = hz_warp_op(h, i, &sync);
    struct finding *d = hz_report(h, HZ_V1, i, i + 1);
    version_note(h, d, hz_quote(h, i, i + 1), added);
    if (!d || op == HZW_SYNCWARP || op == HZW_REDUCE || op == HZW_MATCH)
        return;
    d->fix = sl_arena_printf(&h->f->arena, "%.*s", (int)hz_len(h, i) - 5, hz_text(h, i));
    d->fixed = h->settled[i];
    if (op <= HZW_SHFL_XOR && fix_on(h, HZ_V1))
        fix_shuffle_mask(h, HZ_V1, d, i,
                         &a); /* overlaps with W1's edit are dropped: the same text */
}

/* An API name used as one: not a member, not declared here, a function only where it is called. */
static bool api_use(const struct hz *h, uint32_t i, enum api_kind kind)
{
    if (!hz_free_name(h, i) || hz_decl_of(h, i) || hz_macro_of(h, i))
        return false;
    bool function = kind == API_FUNCTION || kind == API_DEVICE_FUNCTION;
    if (!function)
        return true;
    if (kind == API_DEVICE_FUNCTION) {
        const struct hz_func *f = hz_func_at(h, i);
        bool defined =
            i > 0 && hz_ident(h, i - 1) && !hz_is(h, i - 1, "return") && !hz_is(h, i - 1, "else");
        return f && f->device && hz_punct(h, i + 1, '(') && !defined;
    }
    return hz_punct(h, i + 1, '(') || hz_punct(h, i + 1, '<') || (i > 0 && hz_punct(h, i - 1, '&'));
}

static void versions(struct hz *h, uint32_t i)
{
    struct api a;
    int id = api_find(hz_text(h, i), hz_len(h, i));
    if (id < 0 || late_version(h, i))
        return;
    api_get(id, &a);
    if (a.kind == API_HEADER || a.kind == API_NAMESPACE || !api_use(h, i, a.kind))
        return;
    if (!(a.flags & (API_HIP | API_ROC | API_EXTRA))) {
        /* fp8 and bfloat16 names have rules of their own (F1, F3) that know their HIP spelling */
        bool number = hz_contains(h, i, "bfloat16") || hz_contains(h, i, "fp8") ||
                      hz_starts(h, i, "__NV_") || hz_contains(h, i, "bf16") ||
                      hz_starts(h, i, "make_half");
        if (number || hz_user_function(h, i))
            return;
        struct finding *d = hz_report(h, HZ_V3, i, i + 1);
        if (d && a.note && a.note[0])
            d->note[HAZARD_EN] = d->note[HAZARD_ZH] = a.note;
        if (d && (a.kind == API_MACRO || a.kind == API_CONSTANT))
            d->severity = HAZARD_WARNING;
    } else if (a.hip_added > h->o->rocm) {
        struct finding *d = hz_report(h, HZ_V1, i, i + 1);
        const char *older = api_variant(id, false, h->o->rocm);
        version_note(h, d, a.hip, a.hip_added);
        if (d && older) { /* the translator takes it */
            d->fix = older;
            d->fixed = true;
        }
    } else if (a.hip_removed && a.hip_removed <= h->o->rocm) {
        struct finding *d = hz_report(h, HZ_V1, i, i + 1);
        char v[16];
        if (d) {
            d->note[HAZARD_EN] = sl_arena_printf(&h->f->arena, "%s was removed in ROCm %s.", a.hip,
                                                 api_version(a.hip_removed, v));
            d->note[HAZARD_ZH] = sl_arena_printf(&h->f->arena, "%s 已在 ROCm %s 移除。", a.hip,
                                                 api_version(a.hip_removed, v));
        }
    } else if (a.flags & API_EXPERIMENTAL) {
        struct finding *d = hz_report(h, HZ_V1, i, i + 1);
        if (d) {
            d->severity = HAZARD_NOTE;
            d->note[HAZARD_EN] = "Experimental in HIP.";
            d->note[HAZARD_ZH] = "在 HIP 中仍属实验性。";
        }
    }
}

/* The statement before position i ends a kernel launch. */
static bool after_launch(const struct hz *h, uint32_t i)
{
    uint32_t k = i;
    int statements = 0;
    for (int steps = 0; k > 0 && steps < 200; steps++) {
        k--;
        if (hz_punct(h, k, LEX_P_LAUNCH))
            return true;
        if (hz_punct(h, k, ';') && ++statements > 1)
            return false;
        if (hz_is(h, k, "hipLaunchKernelGGL") || hz_is(h, k, "hipLaunchKernel") ||
            hz_is(h, k, "cudaLaunchKernel"))
            return true;
    }
    return false;
}

static void last_error(struct hz *h, uint32_t i)
{
    static const char *const names[] = {"cudaGetLastError", "hipGetLastError",
                                        "cudaPeekAtLastError", NULL};
    if (h->o->rocm >= 70000 || !hz_in_list(h, i, names) || !hz_punct(h, i + 1, '(') || hz_pp(h, i))
        return;
    if (!after_launch(h, i))
        hz_report(h, HZ_V2, i, i + 1);
}

/* One finding per library and file: the first place. */
static const struct {
    const char *prefix; /* of a name or an include's text */
    const char *key;
    const char *fix;
    bool header;
} libraries[] = {{"thrust::cuda", "thrust", "thrust::hip::par", false},
                 {"<thrust/system/cuda/", "thrust", "<thrust/system/hip/...>", true},
                 {"<nccl.h>", "nccl", "<rccl/rccl.h>", true},
                 {"\"nccl.h\"", "nccl", "<rccl/rccl.h>", true},
                 {"<nvToolsExt.h>", "nvtx", "<roctracer/roctx.h>", true},
                 {"\"nvToolsExt.h\"", "nvtx", "<roctracer/roctx.h>", true},
                 {"<nvtx3/", "nvtx", "<roctracer/roctx.h>", true},
                 {"<nvml.h>", "nvml", "<amd_smi/amdsmi.h> or <rocm_smi/rocm_smi.h>", true},
                 {"\"nvml.h\"", "nvml", "<amd_smi/amdsmi.h> or <rocm_smi/rocm_smi.h>", true},
                 {"<cudnn", "cudnn", "<miopen/miopen.h>", true},
                 {"\"cudnn", "cudnn", "<miopen/miopen.h>", true},
                 {"<cutlass/", "cutlass", "Composable Kernel or rocWMMA", true},
                 {"\"cutlass/", "cutlass", "Composable Kernel or rocWMMA", true},
                 {"<cute/", "cutlass", "Composable Kernel or rocWMMA", true},
                 {"<optix", "optix", "HIP RT", true},
                 {"<nvjpeg.h>", "nvjpeg", "rocJPEG", true}};

static void library(struct hz *h, uint32_t i, bool *seen)
{
    bool header = hz_tok(h, i)->kind == LEX_HEADER;
    for (size_t k = 0; k < SL_COUNT(libraries); k++) {
        bool hit = libraries[k].header
                       ? header && hz_starts(h, i, libraries[k].prefix)
                       : hz_is(h, i, "cuda") && i > 1 && hz_is(h, i - 2, "thrust") &&
                             hz_punct(h, i - 1, LEX_P_SCOPE);
        if (!hit || seen[k])
            continue;
        seen[k] = true;
        struct finding *d = hz_report(h, HZ_L2, i, i + 1);
        if (d)
            d->fix = libraries[k].fix;
    }
    /* cub's detail namespaces and types that hipCUB does not have */
    static const char *const inner[] = {"PtxVersion",    "DeviceSpmv",     "AgentReduce",
                                        "detail",        "ThreadLoad",     "ShuffleIndex",
                                        "WarpMergeSort", "BlockRadixRank", NULL};
    if (hz_in_list(h, i, inner) && i > 1 && hz_punct(h, i - 1, LEX_P_SCOPE) &&
        hz_is(h, i - 2, "cub"))
        hz_report(h, HZ_L2, i - 2, i + 1);
}

static void libcu(struct hz *h, uint32_t i)
{
    static const char *const heads[] = {
        "<cuda/std/",        "<cuda/atomic>",        "<cuda/barrier>",
        "<cuda/pipeline>",   "<cuda/semaphore>",     "<cuda/latch>",
        "<cuda/functional>", "<cuda/annotated_ptr>", NULL};
    static const char *const names[] = {"std",
                                        "barrier",
                                        "pipeline",
                                        "atomic",
                                        "atomic_ref",
                                        "memcpy_async",
                                        "make_pipeline",
                                        "thread_scope_system",
                                        "thread_scope_device",
                                        "thread_scope_block",
                                        "atomic_thread_fence",
                                        "annotated_ptr",
                                        NULL};
    if (hz_tok(h, i)->kind == LEX_HEADER) {
        for (int k = 0; heads[k]; k++)
            if (hz_starts(h, i, heads[k])) {
                hz_report(h, HZ_L1, i, i + 1);
                return;
            }
        return;
    }
    if (hz_is(h, i, "cuda") && hz_punct(h, i + 1, LEX_P_SCOPE) && hz_in_list(h, i + 2, names) &&
        !(i > 0 && hz_punct(h, i - 1, LEX_P_SCOPE)))
        hz_report(h, HZ_L1, i, i + 3);
}

/* A flag of nvcc in a string of a program that compiles at run time. */
static void nvrtc_option(struct hz *h, uint32_t i)
{
    size_t n = hz_len(h, i), value;
    if (n < 4)
        return;
    const struct flag_rule *r = build_flag(hz_text(h, i) + 1, n - 2, &value);
    if (!r || r->shy)
        return;
    struct finding *d = hz_report(h, HZ_B1, i, i + 1);
    if (!d)
        return;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(256);
    if (sl_streq(r->to, "@"))
        build_offload(h->o->targets, " or ", "--offload-arch=", &b);
    else
        sl_buf_adds(&b, r->to[0] && r->to[0] != '%' ? r->to : "-");
    d->fix = sl_arena_strdup(&h->f->arena, sl_buf_str(&b));
    d->note[HAZARD_EN] = r->reason[HAZARD_EN];
    d->note[HAZARD_ZH] = r->reason[HAZARD_ZH];
}

void hz_fix_late(struct hz *h)
{
    for (uint32_t i = 0; i < h->n; i++)
        if (hz_ident(h, i))
            late_name(h, i);
}

void hz_rules_api(struct hz *h)
{
    bool nvrtc = false;
    for (uint32_t i = 0; i < h->n && !nvrtc; i++)
        nvrtc = hz_starts(h, i, "nvrtc") || hz_starts(h, i, "hiprtc") || hz_is(h, i, "<nvrtc.h>");
    bool seen[SL_COUNT(libraries)] = {0};
    for (uint32_t i = 0; i < h->n; i++) {
        int kind = hz_tok(h, i)->kind;
        if (kind == LEX_STRING && nvrtc)
            nvrtc_option(h, i);
        if (kind != LEX_IDENT && kind != LEX_HEADER)
            continue;
        library(h, i, seen);
        libcu(h, i);
        if (kind == LEX_IDENT) {
            late_name(h, i);
            versions(h, i);
            last_error(h, i);
        }
    }
}
