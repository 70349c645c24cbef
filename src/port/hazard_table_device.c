/* SPDX-License-Identifier: Apache-2.0
 * hazard_table_device.c: rules SP02xx-SP06xx: assembly, architecture tests, limits, textures,
 * numbers. */
#include "port/hazard_table.h"

const struct hazard_rule hazard_table_device[] = {
    {HZ_A1,
     "SP0201",
     "A1",
     HAZARD_ERROR,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     false,
     {"inline PTX assembly", "内联 PTX 汇编"},
     {"PTX cannot be translated. Replace each statement by the builtin named in the finding, or by "
      "C++; hot paths may use GCN inline assembly or __builtin_amdgcn_*.",
      "PTX 无法自动翻译。请用提示中的内建函数或 C++ 替换每条语句；热点路径可用 GCN 内联汇编或 "
      "__builtin_amdgcn_*。"},
     "HIP FAQ: PTX is not supported, GCN inline assembly is; HIPIFY #731",
     "__device__ unsigned f() { unsigned r; asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(r)); return r; "
     "}\n",
     "unsigned f() { unsigned r; asm volatile(\"rdtsc\" : \"=a\"(r) : : \"edx\"); return r; }\n"},
    {HZ_A2,
     "SP0202",
     "A2",
     HAZARD_ERROR,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     false,
     {"tensor-core, asynchronous-copy or cluster feature of NVIDIA hardware",
      "NVIDIA 硬件专有的张量核、异步拷贝或线程块簇功能"},
     {"Use rocWMMA (rocwmma::fragment, same shape of API) or __builtin_amdgcn_mfma_*. There is no "
      "cp.async, TMA or thread-block cluster: load through registers.",
      "请用 rocWMMA（rocwmma::fragment，接口形态相同）或 __builtin_amdgcn_mfma_*。没有 "
      "cp.async、TMA 或线程块簇：请经寄存器加载。"},
     "HIP kernel language: warp matrix types are not supported; rocWMMA documentation",
     "#include <mma.h>\nusing namespace nvcuda;\n__global__ void k() {\n"
     "  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c; wmma::fill_fragment(c, 0.0f); }\n",
     "#include \"mma_table.h\"\nstruct fragment { int x; };\n__global__ void k(fragment *f) { f->x "
     "= 0; }\n"},
    {HZ_C1,
     "SP0301",
     "C1",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     true,
     {"__CUDA_ARCH__ tested for being defined", "检查 __CUDA_ARCH__ 是否已定义"},
     {"__CUDA_ARCH__ is not defined for AMD targets, so the device branch is silently left out. "
      "Test "
      "__HIP_DEVICE_COMPILE__ as well.",
      "AMD 目标不定义 __CUDA_ARCH__，设备分支会被静默跳过。请同时检查 __HIP_DEVICE_COMPILE__。"},
     "HIP porting guide, compiler defines",
     "#ifdef __CUDA_ARCH__\n#define ON_DEVICE 1\n#endif\n",
     "#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)\n#define ON_DEVICE "
     "1\n#endif\n"},
    {HZ_C2,
     "SP0302",
     "C2",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     false,
     {"compute capability compared with a number", "将计算能力与数字比较"},
     {"Compute capability has no meaning on AMD: __CUDA_ARCH__ counts as 0 and major.minor name "
      "the "
      "gfx version (9.x). Ask for the feature: __HIP_ARCH_HAS_* in device code, the arch field of "
      "hipDeviceProp_t or hipDeviceGetAttribute on the host.",
      "计算能力在 AMD 上没有意义：__CUDA_ARCH__ 视为 0，major.minor 是 gfx "
      "版本（9.x）。请按功能判断："
      "设备端用 __HIP_ARCH_HAS_*，主机端用 hipDeviceProp_t 的 arch 字段或 hipDeviceGetAttribute。"},
     "HIP porting guide, identifying architecture features",
     "#if __CUDA_ARCH__ >= 600\n#define HAS_DOUBLE_ATOMICS 1\n#endif\n",
     "#if defined(__HIP_DEVICE_COMPILE__) || (__CUDA_ARCH__ >= 600)\n#define X 1\n#endif\n"
     "int f(int major) { return major >= 6; }\n"},
    {HZ_C3,
     "SP0303",
     "C3",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     true,
     {"guard on the CUDA compiler", "针对 CUDA 编译器的条件编译"},
     {"__CUDACC__ and __NVCC__ are not defined when HIP compiles for AMD; test __HIPCC__ (or "
      "__HIP__) "
      "as well.",
      "HIP 为 AMD 编译时不定义 __CUDACC__ 与 __NVCC__；请同时检查 __HIPCC__（或 __HIP__）。"},
     "HIP porting guide, compiler defines",
     "#ifdef __CUDACC__\n#define HD __host__ __device__\n#endif\n",
     "#if defined(__CUDACC__) || defined(__HIPCC__)\n#define HD __host__ __device__\n#endif\n"},
    {HZ_S1,
     "SP0401",
     "S1",
     HAZARD_ERROR,
     HAZARD_GFX90A | HAZARD_GFX942,
     HAZARD_IN_SOURCE,
     false,
     {"more than 64 KiB of shared memory per block", "每个线程块的共享内存超过 64 KiB"},
     {"LDS is 64 KiB per workgroup on gfx90a and gfx942 (160 KiB on gfx950); there is no opt-in to "
      "more. Make the tile smaller or keep part of it in registers.",
      "gfx90a 与 gfx942 每个工作组的 LDS 为 64 KiB（gfx950 为 160 "
      "KiB），不能申请更多。请缩小分块或把一部分放进寄存器。"},
     "ROCm GPU specifications, LDS; ROCm/HIP #3122",
     "__global__ void k(float *p) { __shared__ float t[160][128]; t[0][threadIdx.x] = 1; p[0] = "
     "t[0][1]; }\n",
     "__global__ void k(float *p) { __shared__ float t[128][128]; t[0][threadIdx.x] = 1; p[0] = "
     "t[0][1]; }\n"},
    {HZ_S2,
     "SP0402",
     "S2",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     true,
     {"second argument of __launch_bounds__ means something else",
      "__launch_bounds__ 的第二个参数含义不同"},
     {"CUDA counts blocks per multiprocessor, HIP counts wavefronts per execution unit (four units "
      "per compute unit). Convert: blocks * ceil(threads / 64) / 4, at most 8. Without bounds the "
      "compiler assumes 1024 threads and saves registers for it.",
      "CUDA 的含义是每个 SM 的线程块数，HIP 的含义是每个执行单元的波前数（每个 CU "
      "有四个执行单元）。"
      "换算：块数 × ceil(线程数 / 64) / 4，最大 8。未给出时编译器按 1024 线程预留寄存器。"},
     "HIP kernel language, launch bounds; rocm-systems PR #646; ROCm/HIP #2521",
     "__global__ void __launch_bounds__(256, 4) k(int *p) { p[0] = 1; }\n",
     "__global__ void __launch_bounds__(256) k(int *p) { p[0] = 1; }\n"},
    {HZ_S3,
     "SP0403",
     "S3",
     HAZARD_ERROR,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     false,
     {"launch is larger than HIP allows", "启动规模超过 HIP 上限"},
     {"A block has at most 1024 threads, and blocks * threads must stay below 2^32 in every "
      "dimension. Loop inside the kernel (grid stride) instead.",
      "每个线程块最多 1024 个线程，且每个维度的 块数 × 线程数 必须小于 "
      "2^32。请改为核函数内循环（grid stride）。"},
     "HIP launch API notes: gridDim * blockDim below 2^32",
     "__global__ void k(int *p);\nvoid f(int *p) { k<<<1, 2048>>>(p); }\n",
     "__global__ void k(int *p);\nvoid f(int *p) { k<<<2048, 1024>>>(p); }\n"},
    {HZ_S4,
     "SP0404",
     "S4",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_MAKE,
     true,
     {"register limit of nvcc", "nvcc 的寄存器上限"},
     {"-maxrregcount and __maxnreg__ are not supported. Give the kernel __launch_bounds__ with the "
      "number of wavefronts you want per execution unit, or the attribute amdgpu_num_vgpr.",
      "不支持 -maxrregcount 与 __maxnreg__。请用 __launch_bounds__ "
      "给出每个执行单元希望的波前数，或用 amdgpu_num_vgpr 属性。"},
     "HIP kernel language, maxrregcount",
     "NVCCFLAGS = -O3 -maxrregcount=32\n",
     "CFLAGS = -O3 -DMAXRREGCOUNT=32\n"},
    {HZ_T1,
     "SP0501",
     "T1",
     HAZARD_ERROR,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     false,
     {"texture or surface access", "纹理或 surface 访问"},
     {"CDNA3 has no image instructions: texture and surface calls fail with \"not supported on the "
      "device\". CDNA2 lacks gather. Read global memory (const __restrict__ or __ldg, a plain load "
      "on AMD) and interpolate in code; query hipDeviceAttributeImageSupport.",
      "CDNA3 没有图像指令：纹理与 surface 调用会报 “not supported on the device”；CDNA2 缺少 "
      "gather。"
      "请直接读全局内存（const __restrict__ 或 __ldg，在 AMD 上即普通读取），并在代码中做插值；"
      "可查询 hipDeviceAttributeImageSupport。"},
     "HIP kernel language, texture functions; ROCm/ROCm #3420; HIPIFY #222",
     "__global__ void k(cudaTextureObject_t t, float *p) { p[0] = tex2D<float>(t, 0.5f, 0.5f); }\n",
     "struct texture_atlas { int w; };\n__global__ void k(texture_atlas a, float *p) { p[0] = "
     "__ldg(p + 1); }\n"},
    {HZ_F1,
     "SP0601",
     "F1",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     false,
     {"8-bit floating point", "8 位浮点"},
     {"gfx942 has the FNUZ encodings only: largest e4m3 value 240 (not 448), exponent bias one "
      "higher, NaN is the pattern of -0. gfx90a has none; gfx950 has OCP. Convert weights (double "
      "the scale) and take limits from the type.",
      "gfx942 只有 FNUZ 编码：e4m3 最大值 240（不是 448），指数偏置大 1，NaN 使用 -0 "
      "的编码。gfx90a 没有 FP8；"
      "gfx950 为 OCP。请转换权重（缩放因子加倍），上限从类型取得。"},
     "HIP documentation, FP8 numbers; vLLM PR #7210",
     "#include <cuda_fp8.h>\n__device__ float f(__nv_fp8_e4m3 x) { return float(x) / 448.0f; }\n",
     "__device__ float f(float x) { return x / 448.0f; }\n"},
    {HZ_F2,
     "SP0602",
     "F2",
     HAZARD_WARNING,
     HAZARD_GFX90A | HAZARD_GFX950,
     HAZARD_IN_SOURCE,
     false,
     {"TF32 arithmetic", "TF32 运算"},
     {"CDNA2 has no TF32; CDNA3 has it as xf32; CDNA4 dropped it. The library falls back to fp32: "
      "same exponent, more mantissa, slower. Compare results and speed, or choose bf16.",
      "CDNA2 没有 TF32；CDNA3 以 xf32 形式提供；CDNA4 已去除。库会退回 "
      "fp32：指数相同、尾数更多、速度更慢。"
      "请比较结果与速度，或改用 bf16。"},
     "rocprofiler-compute performance model; ROCm precision support",
     "void f(cublasHandle_t h) { cublasSetMathMode(h, CUBLAS_TF32_TENSOR_OP_MATH); }\n",
     "void f(cublasHandle_t h) { cublasSetMathMode(h, CUBLAS_DEFAULT_MATH); }\n"},
    {HZ_F3,
     "SP0603",
     "F3",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     false,
     {"bfloat16 name or conversion that HIP spells differently or lacks",
      "HIP 拼写不同或缺少的 bfloat16 名称或转换"},
     {"The type is __hip_bfloat16 (hip/hip_bf16.h, ROCm 5.7 and later). Integer conversions and "
      "some "
      "two-element forms are missing: go through float (__float2bfloat16, __bfloat162float).",
      "类型名为 __hip_bfloat16（hip/hip_bf16.h，ROCm 5.7 "
      "起）。整数转换与部分双元素形式缺失：请经由 float "
      "（__float2bfloat16、__bfloat162float）。"},
     "ROCm/HIP #3425; clr #175",
     "#include <cuda_bf16.h>\n__device__ __nv_bfloat16 f(int i) { return __int2bfloat16_rn(i); }\n",
     "__device__ float f(__hip_bfloat16 b) { return __bfloat162float(b); }\n"},
    {HZ_F4,
     "SP0604",
     "F4",
     HAZARD_NOTE,
     HAZARD_ALL,
     HAZARD_IN_MAKE,
     true,
     {"fast-math flag changes results differently", "快速数学选项对结果的影响不同"},
     {"--use_fast_math maps to -ffast-math, which also reorders sums and assumes no NaN; narrower "
      "choices are -fgpu-flush-denormals-to-zero and -ffp-contract=fast. Compare results with a "
      "tolerance.",
      "--use_fast_math 对应 -ffast-math，后者还会重排求和并假设没有 NaN；更小的选择是 "
      "-fgpu-flush-denormals-to-zero 与 -ffp-contract=fast。请带容差比较结果。"},
     "Clang user manual, floating-point options; nvcc documentation",
     "NVCCFLAGS = -O3 --use_fast_math\n",
     "CFLAGS = -O3 # no use_fast_math here\n"},
};
const size_t hazard_table_device_n = SL_COUNT(hazard_table_device);
