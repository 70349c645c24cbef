/* SPDX-License-Identifier: Apache-2.0
 * hazard_device.c: rules A, C, T, F, P: assembly, architecture tests, textures, numbers, control
 * flow. */
#include "port/hazard_code.h"
#include "port/fix.h"

/* PTX in an assembly string -> what to write instead. First hit wins: long forms before short. */
static const struct {
    const char *ptx, *instead;
} ptx[] = {{"%%laneid", "__lane_id()"},
           {"%laneid", "__lane_id()"},
           {"lanemask_lt", "(1ull << __lane_id()) - 1"},
           {"lanemask_", "masks from 1ull << __lane_id()"},
           {"%%warpid", "linear thread number / warpSize"},
           {"%%smid", "__smid()"},
           {"%smid", "__smid()"},
           {"%%nsmid", "hipDeviceProp_t.multiProcessorCount"},
           {"globaltimer", "wall_clock64()"},
           {"%%clock", "clock64()"},
           {"%clock", "clock64()"},
           {"nanosleep", "__builtin_amdgcn_s_sleep(n)"},
           {"cp.async.bulk", "no TMA: load through registers"},
           {"cp.async", "a plain copy through registers, then __syncthreads()"},
           {"ldmatrix", "rocWMMA load_matrix_sync"},
           {"wgmma", "rocWMMA or __builtin_amdgcn_mfma_*"},
           {"mma.sync", "rocWMMA or __builtin_amdgcn_mfma_*"},
           {"mbarrier", "__syncthreads() or a counter in LDS"},
           {"ld.global.nc", "a plain load (__ldg)"},
           {"ld.global.cg", "__builtin_nontemporal_load"},
           {"ld.", "a plain or __hip_atomic_load"},
           {"st.", "a plain or __hip_atomic_store"},
           {"red.", "atomicAdd and its like"},
           {"atom.", "atomicAdd and its like"},
           {"prefetch", "nothing: drop it"},
           {"createpolicy", "nothing: drop it"},
           {"prmt", "__byte_perm(x, y, s)"},
           {"lop3", "the logic in C: the compiler picks v_bfi or v_or3"},
           {"bfe.", "(x >> pos) & mask"},
           {"bfi.", "shift and mask, or __builtin_amdgcn_ubfe"},
           {"bfind", "63 - __clzll(x)"},
           {"vote", "__ballot(p)"},
           {"activemask", "__activemask()"},
           {"shfl", "__shfl*(value, lane, 32)"},
           {"bar.sync", "__syncthreads()"},
           {"barrier.sync", "__syncthreads()"},
           {"bar.", "__syncthreads()"},
           {"membar", "__threadfence()"},
           {"fence.", "__threadfence()"},
           {"trap", "__builtin_trap()"},
           {"brkpt", "__builtin_trap()"},
           {"exit", "return"},
           {"mad.", "x * y + z"},
           {"fma.", "fma(x, y, z)"},
           {"mul.", "x * y, __mulhi or __umul64hi"},
           {"add.c", "unsigned __int128 or __builtin_addcll"},
           {"addc", "__builtin_addcll"},
           {"subc", "__builtin_subcll"},
           {"ex2.approx", "__builtin_amdgcn_exp2f(x)"},
           {"lg2.approx", "__builtin_amdgcn_logf(x)"},
           {"rcp.approx", "__builtin_amdgcn_rcpf(x)"},
           {"rsqrt.approx", "__builtin_amdgcn_rsqf(x)"},
           {"sqrt.approx", "__builtin_amdgcn_sqrtf(x)"},
           {"tanh.approx", "tanhf(x)"},
           {"sin.approx", "__sinf(x)"},
           {"cos.approx", "__cosf(x)"},
           {"cvta", "a plain pointer: the address space is known to the compiler"},
           {"cvt.", "a conversion in C"},
           {"dp4a", "__builtin_amdgcn_sdot4(a, b, c, false)"},
           {"shf.", "__funnelshift_l/r"},
           {"popc", "__popc or __popcll"},
           {"clz", "__clz or __clzll"},
           {"brev", "__brev or __brevll"},
           {"mov.b64", "a union or __hiloint2double"},
           {"mov.", "an assignment"},
           {"add.", "x + y"},
           {"sub.", "x - y"},
           {"selp", "c ? x : y"},
           {"setp", "a comparison"},
           {"min.", "min(x, y)"},
           {"max.", "max(x, y)"},
           {"and.b", "x & y"},
           {"xor.b", "x ^ y"},
           {"shl.b", "x << n"},
           {"shr.", "x >> n"},
           {"div.", "x / y"},
           {"elect.sync", "__lane_id() == 0"},
           {"griddepcontrol", "nothing: drop it"},
           {"mapa", "no clusters on AMD"}};

static bool find_in(const char *p, size_t n, const char *needle)
{
    return memmem(p, n, needle, strlen(needle)) != NULL;
}

/* The strings of asm(...) at i: PTX by its mnemonics, never by the operands. */
static void assembly(struct hz *h, uint32_t i)
{
    static const char *const names[] = {"asm", "__asm", "__asm__", NULL};
    if (!hz_in_list(h, i, names))
        return;
    uint32_t k = i + 1;
    while (hz_is(h, k, "volatile") || hz_is(h, k, "__volatile__") || hz_is(h, k, "goto"))
        k++;
    if (!hz_punct(h, k, '(') || h->match[k] == HZ_NONE)
        return;
    const struct hz_func *f = hz_func_at(h, i);
    const char *instead = NULL;
    uint32_t close = h->match[k];
    for (size_t r = 0; r < SL_COUNT(ptx) && !instead; r++)
        for (uint32_t s = k + 1; s < close && !hz_punct(h, s, ':'); s++)
            if ((hz_tok(h, s)->kind == LEX_STRING || hz_tok(h, s)->kind == LEX_RAW) &&
                find_in(hz_text(h, s), hz_len(h, s), ptx[r].ptx))
                instead = ptx[r].instead;
    bool gcn = false;
    for (uint32_t s = k + 1; s < close; s++)
        gcn |= find_in(hz_text(h, s), hz_len(h, s), "s_waitcnt") ||
               find_in(hz_text(h, s), hz_len(h, s), "v_") ||
               find_in(hz_text(h, s), hz_len(h, s), "=a\"") ||
               find_in(hz_text(h, s), hz_len(h, s), "\"memory\"");
    bool device = f && f->device;
    if ((!device && (!instead || gcn)) || (gcn && !instead))
        return;
    struct finding *d = hz_report(h, HZ_A1, i, close + 1);
    if (d && instead)
        d->fix = instead;
    if (instead && (strncmp(instead, "__builtin_trap", 14) == 0))
        hz_report(h, HZ_P2, i, close + 1);
}

static void matrix(struct hz *h, uint32_t i)
{
    static const char *const heads[] = {"<mma.h>", "<cuda/pipeline>", "<cuda/barrier>", "\"mma.h\"",
                                        NULL};
    static const char *const names[] = {"nvcuda",
                                        "__pipeline_memcpy_async",
                                        "__pipeline_commit",
                                        "__pipeline_wait_prior",
                                        "CUtensorMap",
                                        "cuTensorMapEncodeTiled",
                                        "cuTensorMapEncodeIm2col",
                                        "__cluster_dims__",
                                        "cudaLaunchAttributeClusterDimension",
                                        "cudaFuncAttributeNonPortableClusterSizeAllowed",
                                        "__grid_constant__",
                                        "cudaGridDependencySynchronize",
                                        "cudaTriggerProgrammaticLaunchCompletion",
                                        NULL};
    bool head = hz_tok(h, i)->kind == LEX_HEADER && hz_in_list(h, i, heads);
    bool wmma = hz_is(h, i, "wmma") && hz_punct(h, i + 1, LEX_P_SCOPE) && hz_free_name(h, i);
    if (head || wmma || hz_in_list(h, i, names))
        hz_report(h, HZ_A2, i, i + 1);
}

/* A preprocessor condition at its '#'. */
static void condition(struct hz *h, uint32_t i)
{
    int dir = hz_tok(h, i)->sub;
    if (dir != LEX_D_IF && dir != LEX_D_IFDEF && dir != LEX_D_IFNDEF && dir != LEX_D_ELIF)
        return;
    static const char *const compilers[] = {"__CUDACC__", "__NVCC__", "__CUDACC_VER_MAJOR__",
                                            "__CUDACC_RTC__", NULL};
    uint32_t arch = 0, compiler = 0, e = i;
    bool amd = false, compared = false, undefined_ok = false, guarded = false;
    for (; e < h->n && hz_tok(h, e)->kind != LEX_EOD; e++) {
        amd |= hz_is(h, e, "__HIP_DEVICE_COMPILE__") || hz_is(h, e, "__HIPCC__") ||
               hz_is(h, e, "__HIP__") || hz_starts(h, e, "__HIP_PLATFORM") ||
               hz_is(h, e, "USE_ROCM") || hz_is(h, e, "__AMDGCN__");
        if (hz_is(h, e, "__CUDA_ARCH__")) {
            arch = e;
            guarded |= hz_is(h, e - 1, "defined") ||
                       (hz_punct(h, e - 1, '(') && hz_is(h, e - 2, "defined"));
            uint32_t q = e + 1;
            compared |= hz_punct(h, q, '>') || hz_punct(h, q, '<') || hz_punct(h, q, LEX_P_GE) ||
                        hz_punct(h, q, LEX_P_LE) || hz_punct(h, q, LEX_P_EQ) ||
                        hz_punct(h, q, LEX_P_NE);
            undefined_ok |=
                hz_punct(h, e - 1, '(') && hz_is(h, e - 2, "defined") && hz_punct(h, e - 3, '!');
            undefined_ok |= hz_is(h, e - 1, "defined") && hz_punct(h, e - 2, '!');
        }
        if (hz_in_list(h, e, compilers) && !compiler)
            compiler = e;
    }
    if (amd)
        return;
    if (arch && compared) {
        /* `defined(__CUDA_ARCH__) && __CUDA_ARCH__ < N` leaves AMD with the code for newer cards */
        bool old_only = guarded && (hz_punct(h, arch + 1, '<') || hz_punct(h, arch + 1, LEX_P_LE));
        if (!undefined_ok && !old_only)
            hz_report(h, HZ_C2, i, e);
    } else if (arch) {
        struct finding *d = hz_report(h, HZ_C1, i, e);
        if (d)
            fix_guard(h, HZ_C1, d, i, arch, "__HIP_DEVICE_COMPILE__");
    } else if (compiler) {
        struct finding *d = hz_report(h, HZ_C3, i, e);
        if (d && hz_is(h, compiler, "__CUDACC__")) { /* the translator renames it */
            d->fix = "__HIPCC__";
            d->fixed = h->o->fix;
        }
    }
}

/* prop.major >= 7, (prop.major * 10 + prop.minor) ... on a cudaDeviceProp. */
static void capability(struct hz *h, uint32_t i)
{
    bool name = hz_is(h, i, "cudaDevAttrComputeCapabilityMajor") ||
                hz_is(h, i, "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR");
    bool member = (hz_is(h, i, "major") || hz_is(h, i, "minor")) && i > 1 &&
                  (hz_punct(h, i - 1, '.') || hz_punct(h, i - 1, LEX_P_ARROW));
    if (member) {
        uint32_t base = i - 2;
        if (hz_punct(h, base, ']') && h->match[base] != HZ_NONE)
            base = h->match[base] - 1;
        const struct hz_decl *d = hz_decl_of(h, base);
        uint32_t q = i + 1;
        bool test = hz_punct(h, q, '>') || hz_punct(h, q, '<') || hz_punct(h, q, LEX_P_GE) ||
                    hz_punct(h, q, LEX_P_LE) || hz_punct(h, q, LEX_P_EQ) ||
                    hz_punct(h, q, LEX_P_NE) || hz_punct(h, q, '*');
        member = d && d->type == HT_PROP && test;
    }
    if (name || member)
        hz_report(h, HZ_C2, member ? i - 2 : i, i + 1);
}

static void textures(struct hz *h, uint32_t i)
{
    static const char *const calls[] = {
        "tex1D",       "tex2D",      "tex3D",       "tex1Dfetch",        "tex2Dgather",
        "tex1DLod",    "tex2DLod",   "tex3DLod",    "tex1DLayered",      "tex2DLayered",
        "texCubemap",  "tex2DGrad",  "surf1Dread",  "surf1Dwrite",       "surf2Dread",
        "surf2Dwrite", "surf3Dread", "surf3Dwrite", "surf2DLayeredread", "surf2DLayeredwrite",
        NULL};
    static const char *const names[] = {"cudaTextureObject_t",
                                        "cudaSurfaceObject_t",
                                        "cudaBindTexture",
                                        "cudaBindTexture2D",
                                        "cudaBindTextureToArray",
                                        "cudaUnbindTexture",
                                        "cudaCreateTextureObject",
                                        "cudaCreateSurfaceObject",
                                        "cudaBindSurfaceToArray",
                                        "cuTexRefSetArray",
                                        "cuTexRefSetAddress",
                                        "cuTexObjectCreate",
                                        "CUtexref",
                                        "CUtexObject",
                                        NULL};
    static const char *const kinds[] = {"texture", "surface", NULL};
    bool call = hz_in_list(h, i, calls) && hz_free_name(h, i) &&
                (hz_punct(h, i + 1, '(') || hz_punct(h, i + 1, '<')) && !hz_decl_of(h, i);
    bool ref =
        hz_in_list(h, i, kinds) && hz_punct(h, i + 1, '<') && hz_free_name(h, i) &&
        (i == 0 || !hz_ident(h, i - 1) || hz_is(h, i - 1, "static") || hz_is(h, i - 1, "extern"));
    if (call || ref || hz_in_list(h, i, names))
        hz_report(h, HZ_T1, i, i + 1);
}

static void numbers(struct hz *h, uint32_t i, bool fp8)
{
    static const char *const tf32[] = {"CUBLAS_TF32_TENSOR_OP_MATH",
                                       "CUBLAS_COMPUTE_32F_FAST_TF32",
                                       "CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION",
                                       "__float_to_tf32",
                                       "CUSOLVER_TF32_TENSOR_OP_MATH",
                                       "CUSPARSE_COMPUTE_TF32",
                                       "CUTENSOR_COMPUTE_DESC_TF32",
                                       NULL};
    static const char *const bf16[] = {"__int2bfloat16_rn",
                                       "__uint2bfloat16_rn",
                                       "__float2bfloat162_rn",
                                       "make_bfloat162",
                                       "__bfloat162int_rn",
                                       "__bfloat162int_rz",
                                       "__short2bfloat16_rn",
                                       "__ll2bfloat16_rn",
                                       "__halves2bfloat162",
                                       "__bfloat1622float2",
                                       "__ldca",
                                       "__hfma2_relu",
                                       NULL};
    if (hz_in_list(h, i, tf32) || (hz_is(h, i, "tf32") && hz_is(h, i - 2, "precision")))
        hz_report(h, HZ_F2, i, i + 1);
    if (hz_starts(h, i, "__nv_fp8") || hz_starts(h, i, "__NV_E4M3") ||
        hz_starts(h, i, "__NV_E5M2") || hz_starts(h, i, "CUDA_R_8F_E") ||
        hz_is(h, i, "<cuda_fp8.h>"))
        hz_report(h, HZ_F1, i, i + 1);
    if (fp8 && hz_number(h, i) && hz_starts(h, i, "448."))
        hz_report(h, HZ_F1, i, i + 1);
    bool call = hz_in_list(h, i, bf16) && hz_punct(h, i + 1, '(') && !hz_is(h, i, "__ldca");
    if (call || hz_starts(h, i, "__nv_bfloat16") || hz_is(h, i, "<cuda_bf16.h>")) {
        struct finding *d = hz_report(h, HZ_F3, i, i + 1);
        if (d && !call) {
            d->severity = HAZARD_NOTE; /* a spelling that the translator changes */
            d->fix = hz_tok(h, i)->kind == LEX_HEADER ? "<hip/hip_bf16.h>" : "__hip_bfloat16";
        }
    }
}

static void flow(struct hz *h, uint32_t i, const struct hz_func *f)
{
    if (!f)
        return;
    static const char *const clocks[] = {"clock64", "clock", "__nanosleep", "__globaltimer", NULL};
    bool only_device = f->device && !f->host;
    if (hz_punct(h, i, LEX_P_LAUNCH) && only_device)
        hz_report(h, HZ_P1, i > 0 ? i - 1 : i, i + 1);
    if (!hz_ident(h, i) || !hz_punct(h, i + 1, '(') || !hz_free_name(h, i))
        return;
    static const char *const cdp[] = {"cudaLaunchDevice", "cudaGetParameterBuffer",
                                      "cudaDeviceSynchronize", "cudaStreamCreateWithFlags", NULL};
    if (only_device && hz_in_list(h, i, cdp))
        hz_report(h, HZ_P1, i, i + 1);
    bool trap =
        hz_is(h, i, "__trap") || hz_is(h, i, "__brkpt") || (hz_is(h, i, "assert") && only_device);
    if (trap)
        hz_report(h, HZ_P2, i, i + 1);
    if (hz_in_list(h, i, clocks) && only_device && !hz_decl_of(h, i))
        hz_report(h, HZ_P3, i, i + 1);
}

void hz_fix_guards(struct hz *h)
{
    for (uint32_t i = 0; i < h->n; i++)
        if (hz_tok(h, i)->kind == LEX_HASH)
            condition(h, i);
}

void hz_rules_device(struct hz *h)
{
    bool fp8 = false;
    for (uint32_t i = 0; i < h->n && !fp8; i++)
        fp8 =
            hz_starts(h, i, "__nv_fp8") || hz_is(h, i, "<cuda_fp8.h>") || hz_contains(h, i, "e4m3");
    for (uint32_t i = 0; i < h->n; i++) {
        int kind = hz_tok(h, i)->kind;
        if (kind == LEX_HASH)
            condition(h, i);
        if (kind == LEX_IDENT || kind == LEX_HEADER || kind == LEX_NUMBER)
            numbers(h, i, fp8);
        if (kind == LEX_IDENT || kind == LEX_HEADER)
            matrix(h, i);
        if (kind == LEX_IDENT) {
            assembly(h, i);
            capability(h, i);
            textures(h, i);
            bool rate = hz_is(h, i, "clockRate") && i > 1 && hz_punct(h, i - 1, '.');
            if (rate && hz_decl_of(h, i - 2) && hz_decl_of(h, i - 2)->type == HT_PROP)
                hz_report(h, HZ_P3, i - 2, i + 1);
        }
        if (kind == LEX_IDENT || hz_punct(h, i, LEX_P_LAUNCH))
            flow(h, i, hz_func_at(h, i));
    }
}
