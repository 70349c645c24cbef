/* SPDX-License-Identifier: Apache-2.0 */
#include "port/diff.h"
#include "port/translate.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static char *translated(const char *text, const struct port_options *o)
{
    struct source s;
    struct port_result r = {0};
    struct sl_buf b = SL_BUF(1 << 20);
    source_from(&s, "case.cu", text, strlen(text));
    port_translate(&s, o, &r);
    source_render(&s, &b);
    source_free(&s);
    port_result_free(&r);
    return b.p ? b.p : sl_strdup("");
}

#define RT "#include <hip/hip_runtime.h>\n"
struct row {
    const char *in, *out;
};

/* Every row's result is what it says, and a second run changes nothing. */
static void check(const struct row *rows, size_t n, const struct port_options *o)
{
    for (size_t i = 0; i < n; i++) {
        SL_AUTO_FREE char *once = translated(rows[i].in, o);
        SL_AUTO_FREE char *twice = translated(once, o);
        assert_string_equal(once, rows[i].out);
        assert_string_equal(twice, once);
    }
}
#define CHECK(rows, ...) check((rows), SL_COUNT(rows), &(struct port_options){__VA_ARGS__})

static void names_change_and_nothing_else(void **state)
{
    static const struct row rows[] = {
        {"int cudaMallocX, xcudaMalloc, mycuda;", "int cudaMallocX, xcudaMalloc, mycuda;"},
        {"#include <cuda.h>\ncudaMalloc(&p, n); // cudaMalloc\n",
         RT "hipMalloc(&p, n); // cudaMalloc\n"},
        {"#include <cuda.h>\nputs(\"cudaMalloc\"); R\"(cudaFree)\"\n",
         RT "puts(\"cudaMalloc\"); R\"(cudaFree)\"\n"},
        {"#include <cuda.h>\r\ncudaError_t e;\r\n",
         "#include <hip/hip_runtime.h>\r\nhipError_t e;\r\n"},
        {"#include <cuda.h>\n/* \xe9\xff */ CUdeviceptr p;\n",
         RT "/* \xe9\xff */ hipDeviceptr_t p;\n"},
        {"#include <cuda.h>\n#define CHECK(x) if ((x) != cudaSuccess) \\\n  "
         "die(cudaGetErrorString(x))\n",
         RT "#define CHECK(x) if ((x) != hipSuccess) \\\n  die(hipGetErrorString(x))\n"},
        {"int cub; cub = 3; cub::f(); using namespace cub;\n",
         RT "int cub; cub = 3; hipcub::f(); using namespace hipcub;\n"},
        {"thrust::cuda::par; cuda::std::f(); int cuda;\n",
         RT "thrust::hip::par; cuda::std::f(); int cuda;\n"},
    };
    CHECK(rows);
}

static void strings_and_comments_change_when_asked_but_paths_never(void **state)
{
    static const struct row rows[] = {
        {"#include <cuda.h>\nputs(\"cudaMalloc failed: /opt/cudaMalloc/x cudaMalloc.log\"); // "
         "cudaFree\n",
         RT "puts(\"hipMalloc failed: /opt/cudaMalloc/x cudaMalloc.log\"); // hipFree\n"}};
    CHECK(rows, .strings = true, .comments = true);
}

static void headers_are_mapped_in_place_once(void **state)
{
    static const struct row rows[] = {
        {"#include <cuda.h>\n#include <cuda_runtime.h>\n#include \"cublas_v2.h\"\n",
         RT "#include \"hipblas/hipblas.h\"\n"},
        {"#include <device_launch_parameters.h> // keep\n#include <stdio.h>\n",
         " // keep\n#include <stdio.h>\n"},
        {"#include \"mylib/cuda_runtime.h\"\n", "#include \"mylib/cuda_runtime.h\"\n"},
        {"#include \"third_party/cub/cub.cuh\"\n", "#include \"third_party/cub/cub.cuh\"\n"},
        {"#ifdef A\n#include <cuda.h>\n#else\n#include <cuda_runtime.h>\n#endif\n",
         "#ifdef A\n" RT "#else\n" RT "#endif\n"},
        {"#include <cub/block/block_load.cuh>\n#include <cub/nothing.cuh>\n",
         "#include <hipcub/block/block_load.hpp>\n#include <hipcub/hipcub.hpp>\n"},
        {"#include <nccl.h>\n#include <nvtx3/nvToolsExt.h>\n#include <cuda_bf16.h>\n",
         "#include <rccl/rccl.h>\n#include <roctracer/roctx.h>\n#include <hip/hip_bf16.h>\n"},
        {"#pragma once\n#include <stdio.h>\n__global__ void k();\n",
         "#pragma once\n" RT "#include <stdio.h>\n__global__ void k();\n"},
        {"#ifndef G\n#define G\n__device__ int f();\n#endif\n",
         "#ifndef G\n" RT "#define G\n__device__ int f();\n#endif\n"},
        {"\xef\xbb\xbf__global__ void k();\n", "\xef\xbb\xbf" RT "__global__ void k();\n"},
        {"int main() {}\n", "int main() {}\n"},
        {"#ifdef __CUDACC__\n#define HD __device__\n#else\n#define HD\n#endif\nHD int f();\n",
         "#ifdef __HIPCC__\n#define HD __device__\n#else\n#define HD\n#endif\nHD int f();\n"},
    };
    CHECK(rows);
}

static void launches_become_calls(void **state)
{
    static const struct row rows[] = {
        {"k<<<1, 2>>>();", RT "hipLaunchKernelGGL(k, dim3(1), dim3(2), 0, 0);"},
        {"k<<<1, 2>>> ( );", RT "hipLaunchKernelGGL(k, dim3(1), dim3(2), 0, 0);"},
        {"k<<<dim3(1, 2), b, 3, s>>>(x, y);",
         RT "hipLaunchKernelGGL(k, dim3(1, 2), dim3(b), 3, s, x, y);"},
        {"k<<<b, t, min(x, y)>>>(a);",
         RT "hipLaunchKernelGGL(k, dim3(b), dim3(t), min(x, y), 0, a);"},
        {"sort<512, 8><<<1, 512>>>(a, b);",
         RT "hipLaunchKernelGGL(HIP_KERNEL_NAME(sort<512, 8>), dim3(1), dim3(512), 0, 0, a, b);"},
        {"first::test<<<1, 1>>>();", RT "hipLaunchKernelGGL(first::test, dim3(1), dim3(1), 0, 0);"},
        {"return ::k<<<1, 1>>>();", RT "return hipLaunchKernelGGL(::k, dim3(1), dim3(1), 0, 0);"},
        {"(*fp)<<<g, b>>>(d);", RT "hipLaunchKernelGGL((*fp), dim3(g), dim3(b), 0, 0, d);"},
        {"obj.get<float>()<<<g, b>>>();",
         RT "hipLaunchKernelGGL(obj.get<float>(), dim3(g), dim3(b), 0, 0);"},
        {"o->t[3]<<<g, b>>>(d);", RT "hipLaunchKernelGGL(o->t[3], dim3(g), dim3(b), 0, 0, d);"},
        {"k<<<g, dim3{1, 2, 3}>>>(d);",
         RT "hipLaunchKernelGGL(k, dim3(g), dim3(dim3{1, 2, 3}), 0, 0, d);"},
        {"k<<<g,\n    b>>>(d, // first\n    e);",
         RT "hipLaunchKernelGGL(k, dim3(g),\n    dim3(b), 0, 0, d, // first\n    e);"},
        {"k<<<g, /* why */ b>>>(d);",
         RT "hipLaunchKernelGGL(k, dim3(g), /* why */ dim3(b), 0, 0, d);"},
        {"k<<<g, b>>>\n  (d);", RT "hipLaunchKernelGGL(k, dim3(g), dim3(b), 0, 0,\n  d);"},
        {"template <class T> __global__ void t(T);\nt<<<1, 2>>>(3);",
         RT "template <class T> __global__ void t(T);\n"
            "hipLaunchKernelGGL(HIP_KERNEL_NAME(t), dim3(1), dim3(2), 0, 0, 3);"},
        {"#define K axpy<float>\nK<<<1, 2>>>(x);",
         RT "#define K axpy<float>\nhipLaunchKernelGGL(HIP_KERNEL_NAME(K), dim3(1), dim3(2), 0, 0, "
            "x);"},
        {"#define L(k, g, b, ...) k<<<g, b>>>(__VA_ARGS__)\nL(f, 1, 2);",
         RT "#define L(k, g, b, ...) hipLaunchKernelGGL(k, dim3(g), dim3(b), 0, 0, "
            "##__VA_ARGS__)\nL(f, 1, 2);"},
        {"k<<<cudaX(1), 2>>>(cudaSuccess);",
         RT "hipLaunchKernelGGL(k, dim3(cudaX(1)), dim3(2), 0, 0, hipSuccess);"},
    };
    CHECK(rows, .ggl = true);
}

static void launches_stay_by_default(void **state)
{
    static const struct row rows[] = {
        {"k<<<1, cudaSuccess>>>(x);", RT "k<<<1, hipSuccess>>>(x);"},
        {"<<<<<<< HEAD\nint a;\n", "<<<<<<< HEAD\nint a;\n"},
    };
    CHECK(rows);
}

static void arguments_follow_their_rules(void **state)
{
    static const struct row rows[] = {
        {"cudaMemcpyToSymbol(sym, p, n);", RT "hipMemcpyToSymbol(HIP_SYMBOL(sym), p, n);"},
        {"cudaMemcpyToSymbol(a[i], p, n);", RT "hipMemcpyToSymbol(HIP_SYMBOL(a[i]), p, n);"},
        {"CHECK(cudaMemcpyFromSymbol(&h, sym, sizeof(int)));",
         RT "CHECK(hipMemcpyFromSymbol(&h, HIP_SYMBOL(sym), sizeof(int)));"},
        {"cudaFuncSetAttribute(kern<float, 3>, cudaFuncAttributeMaxDynamicSharedMemorySize, n);",
         RT "hipFuncSetAttribute(reinterpret_cast<const void*>(kern<float, 3>), "
            "hipFuncAttributeMaxDynamicSharedMemorySize, n);"},
        {"cudaFuncSetAttribute((const void *)k, a, n);",
         RT "hipFuncSetAttribute((const void *)k, a, n);"},
        {"cudaEventCreate(&e); cudaEventCreate(&e, f);",
         RT "hipEventCreate(&e); hipEventCreateWithFlags(&e, f);"},
        {"cuOccupancyMaxPotentialBlockSize(&g, &b, f, NULL, 0, 0);",
         RT "hipModuleOccupancyMaxPotentialBlockSize(&g, &b, f, 0, 0);"},
        {"cudaError_t cudaMemcpyToSymbol(int a, int b);",
         RT "hipError_t hipMemcpyToSymbol(int a, int b);"},
        {"cudaMemcpyToSymbol(cudaMemcpyToSymbol(x, y), z);",
         RT "hipMemcpyToSymbol(HIP_SYMBOL(hipMemcpyToSymbol(HIP_SYMBOL(x), y)), z);"},
    };
    CHECK(rows);
}

static void roc_libraries_get_their_own_arguments(void **state)
{
    static const struct row rows[] = {
        {"cusparseScsrmv(h, t, m, n, z, a, d, v, r, c, x);",
         RT "rocsparse_scsrmv(h, t, m, n, z, a, d, v, r, c, nullptr, x);"},
        {"cusparseScsrilu02(a, b, c, d, e, f, g, i, policy, buffer);",
         RT "rocsparse_scsrilu0(a, b, c, d, e, f, g, i, rocsparse_solve_policy_auto, buffer);"},
    };
    CHECK(rows, .roc = true);
}

static void excluded_blocks_stay_and_unknown_versions_count_as_compiled(void **state)
{
    static const struct row rows[] = {
        {"#ifdef NOBODY\ncudaFree(a);\n#else\ncudaFree(b);\n#endif\n",
         RT "#ifdef NOBODY\ncudaFree(a);\n#else\nhipFree(b);\n#endif\n"},
        {"#if CUDA_VERSION < 8000\ncudaFree(a);\n#elif 0\ncudaFree(b);\n#endif\n",
         RT "#if CUDA_VERSION < 8000\nhipFree(a);\n#elif 0\ncudaFree(b);\n#endif\n"},
        {"#if defined(YES) && (VALUE + 1) * 2 == 8\ncudaFree(a);\n#endif\n",
         RT "#if defined(YES) && (VALUE + 1) * 2 == 8\nhipFree(a);\n#endif\n"},
        {"#define T 1\n#if T\ncudaFree(a);\n#else\ncudaFree(b);\n#endif\n",
         RT "#define T 1\n#if T\nhipFree(a);\n#else\ncudaFree(b);\n#endif\n"},
    };
    static const char *const defines[] = {"YES", "VALUE=3", NULL};
    CHECK(rows, .skip_excluded = true, .defines = defines);
}

static void the_rocm_version_picks_the_spelling(void **state)
{
    static const struct row old[] = {{"#include <cublas_v2.h>\ncublasGemmEx(h, CUDA_R_32F);",
                                      RT "#include <hipblas.h>\nhipblasGemmEx(h, HIPBLAS_R_32F);"}};
    static const struct row new[] = {
        {"#include <cublas_v2.h>\ncublasGemmEx(h, CUDA_R_32F);",
         RT "#include <hipblas/hipblas.h>\nhipblasGemmEx(h, HIP_R_32F);"}};
    static const struct row six[] = {
        {"#include <cublas_v2.h>\ncublasGemmEx(h, CUDA_R_32F);",
         RT "#include <hipblas/hipblas.h>\nhipblasGemmEx_v2(h, HIP_R_32F);"}};
    static const char bf16[] = "#include <cuda_bf16.h>\n__nv_bfloat16 a; __nv_bfloat162 b; "
                               "nv_bfloat16 c; nv_bfloat162 d; __nv_bfloat16_raw e;\n";
    static const struct row bfloat[] = {
        {bf16, RT "#include <hip/hip_bf16.h>\n__hip_bfloat16 a; __hip_bfloat162 b; __hip_bfloat16 "
                  "c; __hip_bfloat162 d; __hip_bfloat16_raw e;\n"}};
    static const struct row bfloat_old[] = {
        {"#include <cuda_bf16.h>\n__nv_bfloat16 a; nv_bfloat16 c;\n",
         RT "#include <hip/hip_bfloat16.h>\nhip_bfloat16 a; hip_bfloat16 c;\n"}};
    CHECK(bfloat);
    CHECK(bfloat, .roc = true);
    CHECK(bfloat_old, .rocm = 50600);
    CHECK(six, .rocm = 60200);
    CHECK(old, .rocm = 50100);
    CHECK(new);
}

static size_t count(const char *text, enum port_what what, const struct port_options *o)
{
    struct source s;
    struct port_result r = {0};
    size_t n = 0;
    source_from(&s, "case.cu", text, strlen(text));
    port_translate(&s, o, &r);
    for (size_t i = 0; i < r.n_notes; i++)
        n += r.notes[i].what == what;
    source_free(&s);
    port_result_free(&r);
    return n;
}

static void own_names_follow_when_asked(void **state)
{
    static const struct row rows[] = {
        {"#define CHECK_CUDA(x) cudaCheck(x, \"CUDA error at /usr/cuda/x\")\n#ifdef "
         "__CUDA_ARCH__\n#endif\n",
         "#define CHECK_HIP(x) hipCheck(x, \"HIP error at /usr/cuda/x\")\n#ifdef "
         "__CUDA_ARCH__\n#endif\n"},
        {"#include \"cuda_utils.h\"\nCHECK_CUSPARSE(cusparseCreate(&h));\n",
         RT "#include \"cuda_utils.h\"\nCHECK_HIPSPARSE(hipsparseCreate(&h));\n"},
        {"namespace cuda_ds { CudaNode n; int mat_cuda(int); } // modules keep their names\n",
         "namespace cuda_ds { CudaNode n; int mat_cuda(int); } // modules keep their names\n"},
        {"cuda_error_check(e, \"cuBLAS failed\");", "hip_error_check(e, \"hipBLAS failed\");"},
    };
    CHECK(rows, .own_names = true);
}

static void problems_are_noted(void **state)
{
    const struct port_options o = {0}, old = {.rocm = 50700};
    static const char *const white[] = {"cudaGLMapBufferObject", NULL};
    const struct port_options quiet = {.whitelist = white};
    assert_int_equal(count("cudaGLMapBufferObject(a, b);", PORT_UNSUPPORTED, &o), 1);
    assert_int_equal(count("cudaGLMapBufferObject(a, b);", PORT_UNSUPPORTED, &quiet), 0);
    assert_int_equal(count("k<<<1, 2", PORT_OPEN_LAUNCH, &o), 1);
    assert_int_equal(count("k<<<1, 2>>>;", PORT_OPEN_LAUNCH, &o), 1);
    assert_int_equal(count("/* never", PORT_OPEN_COMMENT, &o), 1);
    assert_int_equal(count("R\"(never", PORT_OPEN_STRING, &o), 1);
    assert_int_equal(count("k<<<1, 2>>>(x); k<<<1, 2>>>(y);", PORT_LAUNCH, &o), 2);
    assert_int_equal(count("cudaThreadSynchronize();", PORT_CUDA_DEPRECATED, &o), 1);
    assert_int_equal(count("cudaGraphAddMemcpyNode1D(a, b);", PORT_TOO_NEW, &old), 0);
    assert_int_equal(count("__nv_fp8_e4m3 x;", PORT_TOO_NEW, &old), 1);
}

static void the_table_knows_its_facts(void **state)
{
    struct api a;
    int id = api_find("cudaMalloc", 10);
    assert_true(id >= 0);
    api_get(id, &a);
    assert_string_equal(a.hip, "hipMalloc");
    assert_int_equal(a.kind, API_FUNCTION);
    assert_true(api_find("cudaMallox", 10) < 0 && api_find("", 0) < 0);
    for (id = 0; id < api_count(); id++) {
        api_get(id, &a);
        assert_int_equal(api_find(a.cuda, strlen(a.cuda)), id);
        assert_true(!(a.flags & API_HIP) == !*a.hip);
    }
    assert_int_equal(api_version_parse("5.7"), 50700);
    assert_int_equal(api_version_parse("6.3.1"), 60301);
    assert_int_equal(api_version_parse("new"), 0);
    assert_int_equal(api_version_parse("6."), 0);
}

static void a_diff_says_what_changed(void **state)
{
    static const char text[] = "1\n2\n3\n4\ncudaFree(p);\n6\n7\n8\n9\n";
    struct source s;
    struct port_result r = {0};
    struct sl_buf b = SL_BUF(10000);
    const struct port_options o = {0};
    source_from(&s, "a.cu", text, strlen(text));
    port_translate(&s, &o, &r);
    diff_unified(&s, "a.hip", &b);
    assert_string_equal(sl_buf_str(&b),
                        "--- a/a.cu\n+++ b/a.hip\n@@ -1,8 +1,9 @@\n"
                        "+#include <hip/hip_runtime.h>\n 1\n 2\n 3\n 4\n-cudaFree(p);\n"
                        "+hipFree(p);\n 6\n 7\n 8\n");
    sl_buf_free(&b);
    source_free(&s);
    port_result_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_change_and_nothing_else),
        cmocka_unit_test(strings_and_comments_change_when_asked_but_paths_never),
        cmocka_unit_test(headers_are_mapped_in_place_once),
        cmocka_unit_test(launches_become_calls),
        cmocka_unit_test(launches_stay_by_default),
        cmocka_unit_test(arguments_follow_their_rules),
        cmocka_unit_test(roc_libraries_get_their_own_arguments),
        cmocka_unit_test(excluded_blocks_stay_and_unknown_versions_count_as_compiled),
        cmocka_unit_test(the_rocm_version_picks_the_spelling),
        cmocka_unit_test(own_names_follow_when_asked),
        cmocka_unit_test(problems_are_noted),
        cmocka_unit_test(the_table_knows_its_facts),
        cmocka_unit_test(a_diff_says_what_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
