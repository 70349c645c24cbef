/* SPDX-License-Identifier: Apache-2.0
 * hazard_table_memory.c: rules SP07xx-SP10xx and SP12xx: memory, program flow, libraries, versions,
 * machine. */
#include "port/hazard_table.h"

const struct hazard_rule hazard_table_memory[] = {
    {HZ_M1,
     "SP0701",
     "M1",
     HAZARD_NOTE,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     false,
     {"floating-point atomicAdd on global memory is a compare-and-swap loop",
      "全局内存上的浮点 atomicAdd 是比较并交换循环"},
     {"Right but slow. -munsafe-fp-atomics makes it one instruction, and is only right for "
      "coarse-grained memory (plain hipMalloc): on fine-grained memory the hardware drops the "
      "update. "
      "Shared-memory float atomics are native.",
      "结果正确但很慢。-munsafe-fp-atomics 使其成为单条指令，但只对粗粒度内存（普通 "
      "hipMalloc）正确：在细粒度内存上硬件"
      "会丢弃更新。共享内存上的 float 原子操作是原生的。"},
     "ROCm GPU atomics operation; hipamd #19",
     "__global__ void k(float *sum, float v) { atomicAdd(sum, v); }\n",
     "__global__ void k(int *n, float *o) { __shared__ float s; atomicAdd(n, 1); atomicAdd(&s, "
     "1.0f); }\n"},
    {HZ_M2,
     "SP0702",
     "M2",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     false,
     {"system-scope atomic or fence", "系统范围的原子操作或内存栅栏"},
     {"The host or another device sees it only in fine-grained memory: allocate with "
      "hipHostMallocCoherent, hipExtMallocWithFlags(..., hipDeviceMallocFinegrained) or set "
      "HIP_HOST_COHERENT=1.",
      "只有在细粒度内存中主机或其他设备才能看到：请用 hipHostMallocCoherent、"
      "hipExtMallocWithFlags(..., hipDeviceMallocFinegrained) 分配，或设置 HIP_HOST_COHERENT=1。"},
     "HIP kernel language, memory fence instructions; HIP porting guide, threadfence_system",
     "__global__ void k(int *f) { f[0] = 1; __threadfence_system(); }\n",
     "__global__ void k(int *f) { f[0] = 1; __threadfence(); }\n"},
    {HZ_M3,
     "SP0703",
     "M3",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     false,
     {"managed memory", "托管内存"},
     {"Pages migrate on demand only with HMM in the kernel and XNACK on (HSA_XNACK=1, code built "
      "for "
      "xnack+); otherwise accesses cross the bus or fail. Query hipDeviceAttributeManagedMemory "
      "and "
      "hipDeviceAttributeConcurrentManagedAccess, or copy explicitly.",
      "只有内核支持 HMM 且开启 XNACK（HSA_XNACK=1，按 xnack+ "
      "编译）时才按需迁移；否则访问会走总线或失败。"
      "请查询 hipDeviceAttributeManagedMemory 与 "
      "hipDeviceAttributeConcurrentManagedAccess，或显式拷贝。"},
     "HIP programming manual, managed memory",
     "void f(float **p) { cudaMallocManaged(p, 1024); }\n",
     "void f(float **p) { cudaMalloc((void **)p, 1024); /* cudaMallocManaged is slower */ }\n"},
    {HZ_M4,
     "SP0704",
     "M4",
     HAZARD_NOTE,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     false,
     {"stream-ordered allocation or graph capture", "流序分配或图捕获"},
     {"Both had faults that depend on the ROCm version (unstable addresses in graphs, error 900 in "
      "relaxed capture, early out-of-memory). Test on the target version; hipMalloc or a caching "
      "allocator is the safe way.",
      "两者在不同 ROCm 版本有各自的故障（图中地址不稳定、relaxed 捕获报 "
      "900、过早显存不足）。请在目标版本上测试；"
      "hipMalloc 或缓存分配器是稳妥做法。"},
     "rocm-systems #10943; ROCm/HIP #3775; clr #280",
     "void f(void **p, cudaStream_t s) { cudaMallocAsync(p, 64, s); }\n",
     "void f(void *d, void *h, cudaStream_t s) { cudaMemcpyAsync(d, h, 64, cudaMemcpyHostToDevice, "
     "s); }\n"},
    {HZ_M5,
     "SP0705",
     "M5",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     false,
     {"enumerator of the CUDA API compared with a number", "将 CUDA API 枚举与数字比较"},
     {"The values differ (hipMemoryTypeHost is 0 or 1 by version, error codes too). Compare with "
      "the "
      "enumerator's name.",
      "两者取值不同（hipMemoryTypeHost 随版本为 0 或 1，错误码亦然）。请与枚举名比较。"},
     "HIP porting guide, hipMemoryType",
     "int f(cudaPointerAttributes a) { return a.type == 2; }\n",
     "int f(cudaPointerAttributes a) { return a.type == cudaMemoryTypeDevice; }\n"
     "struct shape { int type; };\nint g(shape s) { return s.type == 2; }\n"},
    {HZ_P1,
     "SP0801",
     "P1",
     HAZARD_ERROR,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     false,
     {"kernel launched from device code", "在设备代码中启动核函数"},
     {"Dynamic parallelism does not exist in HIP. Launch from the host, or let a persistent kernel "
      "take work from a queue.",
      "HIP 没有动态并行。请从主机启动，或用常驻核函数从队列取任务。"},
     "HIP FAQ; ROCm/HIP #3511 (closed, not planned)",
     "__global__ void c(int *p) { p[0] = 1; }\n__global__ void k(int *p) { c<<<1, 1>>>(p); }\n",
     "__global__ void c(int *p) { p[0] = 1; }\nvoid k(int *p) { c<<<1, 1>>>(p); }\n"},
    {HZ_P2,
     "SP0802",
     "P2",
     HAZARD_NOTE,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     false,
     {"device-side assert or trap ends the whole program", "设备端 assert 或 trap 会终止整个程序"},
     {"There is no sticky error to read back: the process aborts. Write a flag to memory and check "
      "it "
      "on the host where the program must survive.",
      "没有可读取的粘滞错误：进程会直接中止。若程序必须存活，请写标志到内存并由主机检查。"},
     "HIP kernel language, assert",
     "__global__ void k(int *p) { if (p[0] < 0) __trap(); }\n",
     "#include <cassert>\nint f(int *p) { assert(p); return p[0]; }\n"},
    {HZ_P3,
     "SP0803",
     "P3",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     false,
     {"device clock or sleep", "设备时钟或休眠"},
     {"clock64 counts core cycles of a frequency that moves; wall_clock64 counts at "
      "hipDeviceAttributeWallClockRate. __nanosleep does not exist: __builtin_amdgcn_s_sleep(n) "
      "waits "
      "about 64 n cycles. clockRate is in kHz of the boost clock.",
      "clock64 计数的是频率会变化的核心周期；wall_clock64 按 hipDeviceAttributeWallClockRate "
      "计数。没有 __nanosleep："
      "__builtin_amdgcn_s_sleep(n) 约等待 64 n 个周期。clockRate 是最高频率（kHz）。"},
     "HIP kernel language, timer functions",
     "__global__ void k(long long *p) { p[0] = clock64(); __nanosleep(100); }\n",
     "#include <time.h>\nlong f() { return clock() / CLOCKS_PER_SEC; }\n"},
    {HZ_L1,
     "SP0901",
     "L1",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     false,
     {"libcu++ (cuda::std, cuda::barrier, cuda::pipeline, cuda::atomic)",
      "libcu++（cuda::std、cuda::barrier、cuda::pipeline、cuda::atomic）"},
     {"libhipcxx carries the same names for ROCm 7; before it, use __hip_atomic_* with a scope, "
      "__syncthreads, and plain copies.",
      "ROCm 7 的 libhipcxx 提供同名接口；更早版本请用带作用域的 __hip_atomic_*、__syncthreads "
      "与普通拷贝。"},
     "libhipcxx documentation",
     "#include <cuda/std/atomic>\n__device__ cuda::atomic<int> n;\n",
     "#include <cuda/my_kernels.cuh>\nnamespace my { namespace cuda { int std; } }\nint f() { "
     "return my::cuda::std; }\n"},
    {HZ_L2,
     "SP0902",
     "L2",
     HAZARD_NOTE,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     false,
     {"library whose ROCm counterpart differs", "ROCm 对应库存在差异"},
     {"Thrust: thrust::hip::par; CUB internals: hipCUB has the public classes only; NCCL: RCCL, "
      "same "
      "names, include rccl/rccl.h; NVTX: roctx; NVML: rocm-smi or amd-smi; cuDNN: MIOpen has other "
      "signatures.",
      "Thrust：thrust::hip::par；CUB 内部：hipCUB 只有公开类；NCCL：RCCL，名称相同，包含 "
      "rccl/rccl.h；NVTX：roctx；"
      "NVML：rocm-smi 或 amd-smi；cuDNN：MIOpen 的函数签名不同。"},
     "HIPIFY #293, #584; HIP #1638",
     "#include <nccl.h>\nvoid f(ncclComm_t c) { ncclCommDestroy(c); }\n",
     "#include \"nccl_free_ring.h\"\nvoid f(struct ring *c) { ring_free(c); }\n"},
    {HZ_V1,
     "SP1001",
     "V1",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     true,
     {"API that the target ROCm version does not have", "目标 ROCm 版本没有的 API"},
     {"The HIP name came with a later version, has been removed, or is experimental. Raise --rocm, "
      "or "
      "use the older spelling that the finding names.",
      "对应的 HIP 名称在更高版本才加入、已被移除或仍属实验性。请提高 "
      "--rocm，或使用提示中的旧写法。"},
     "HIP API reference, version of each name (product table)",
     "void f(cudaGraphExec_t e) { cudaGraphExecUpdateResultInfo i; cudaGraphInstantiateParams p; "
     "(void)i; (void)p; }\n"
     "__global__ void k(int *p) { p[0] = __shfl_sync(~0ULL, p[1], 0, 32); __syncwarp(); }\n",
     "void f(void **p) { cudaMalloc(p, 4); }\n"},
    {HZ_V2,
     "SP1002",
     "V2",
     HAZARD_NOTE,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     false,
     {"hipGetLastError forgets earlier errors before ROCm 7.0",
      "ROCm 7.0 之前 hipGetLastError 会遗忘更早的错误"},
     {"It returns the status of the last call, not the last error: a successful call in between "
      "clears it. Check right after each launch, or check every call.",
      "它返回最后一次调用的状态，而不是最后一个错误：中间的成功调用会清除错误。请在每次启动后立即检"
      "查，或检查每次调用。"},
     "HIP 7 changes: hipGetLastError",
     "void f(int *p) { k<<<1, 1>>>(p); cudaDeviceSynchronize(); if (cudaGetLastError()) exit(1); "
     "}\n",
     "void f(int *p) { k<<<1, 1>>>(p); if (cudaGetLastError()) exit(1); }\n"},
    {HZ_V3,
     "SP1003",
     "V3",
     HAZARD_ERROR,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     false,
     {"CUDA API without a HIP counterpart", "没有 HIP 对应的 CUDA API"},
     {"The translator leaves the name as it is; the build will stop here. `starport api NAME` "
      "tells "
      "what is known of it.",
      "翻译器保留原名，编译会在此处失败。`starport api 名称` 可查看已知信息。"},
     "product API table",
     "void f() { "
     "cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTargetCurrentDevice, "
     "cudaFlushGPUDirectRDMAWritesToOwner); }\n",
     "void f() { cudaDeviceSynchronize(); }\n"},
    {HZ_D1,
     "SP1201",
     "D1",
     HAZARD_NOTE,
     HAZARD_GFX90A,
     HAZARD_IN_SOURCE,
     false,
     {"assumption about the number or size of devices", "对设备数量或显存大小的假设"},
     {"One MI250 card is two devices (GCDs) with half the memory each; peers on the same card are "
      "nearer than others. Take counts and sizes from the API.",
      "一块 MI250 卡是两个设备（GCD），各有一半显存；同卡设备之间更近。请从 API 获取数量与大小。"},
     "ROCm device glossary: GCD",
     "int f() { int n = 0; cudaGetDeviceCount(&n); return n == 4 ? 0 : 1; }\n",
     "int f() { int n = 0; cudaGetDeviceCount(&n); return n == 0 ? 1 : 0; }\n"},
};
const size_t hazard_table_memory_n = SL_COUNT(hazard_table_memory);
