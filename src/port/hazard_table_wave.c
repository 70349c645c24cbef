/* SPDX-License-Identifier: Apache-2.0
 * hazard_table_wave.c: rules SP01xx: a wavefront has 64 lanes. */
#include "port/hazard_table.h"

const struct hazard_rule hazard_table_wave[] = {
    {HZ_W1,
     "SP0101",
     "W1",
     HAZARD_ERROR,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     true,
     {"32-bit lane mask given to a *_sync function", "向 *_sync 函数传入了 32 位通道掩码"},
     {"HIP takes a 64-bit mask and stops the build with a static_assert on any other. Where the "
      "mask "
      "means every lane, pass __activemask(): it is 64 bits wide and, unlike ~0ULL, also right "
      "when "
      "only part of the wavefront is there (HIP traps on a mask that is not the set of active "
      "lanes "
      "unless NDEBUG is defined). Make mask variables unsigned long long.",
      "HIP 的掩码是 64 位，其他宽度会被 static_assert 拒绝。若掩码表示“全部通道”，请传 "
      "__activemask()："
      "它是 64 位，并且在波前只有部分通道活跃时也正确（未定义 NDEBUG 时，HIP "
      "遇到与活跃通道不符的掩码"
      "会触发陷阱）。掩码变量改为 unsigned long long。"},
     "HIP kernel language, warp cross-lane functions: all mask values are 64-bit; ROCm/HIP #3667",
     "__global__ void k(int *p) { p[threadIdx.x] = __shfl_xor_sync(0xffffffff, p[0], 1); }\n",
     "__global__ void k(int *p) { p[threadIdx.x] = __shfl_xor_sync(~0ULL, p[0], 1, 32); }\n"},
    {HZ_W2,
     "SP0102",
     "W2",
     HAZARD_ERROR,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     true,
     {"64-lane ballot cut to 32 bits", "64 通道的 ballot 结果被截断为 32 位"},
     {"__ballot, __activemask and __match_* return 64 bits on a 64-lane wavefront; lanes 32-63 are "
      "lost in a 32-bit variable. Use unsigned long long, or take the half that belongs to this "
      "logical warp of 32: (unsigned)(__ballot(p) >> (__lane_id() & 32)).",
      "在 64 通道波前上，__ballot、__activemask、__match_* 返回 64 位；存入 32 位变量会丢失 32–63 "
      "号通道。"
      "请用 unsigned long long，或取本逻辑 warp（32 线程）所在的一半："
      "(unsigned)(__ballot(p) >> (__lane_id() & 32))。"},
     "HIP kernel language, warp vote and ballot functions",
     "__global__ void k(int *p) { unsigned b = __ballot_sync(~0ULL, p[threadIdx.x]); p[0] = b; }\n",
     "__global__ void k(int *p) {\n  unsigned long long b = __ballot_sync(~0ULL, p[threadIdx.x]);\n"
     "  p[0] = b != 0;\n}\n"},
    {HZ_W3,
     "SP0103",
     "W3",
     HAZARD_ERROR,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     true,
     {"32-bit bit operation on a lane mask", "对通道掩码使用了 32 位位运算"},
     {"Use __popcll, __ffsll, __clzll, __brevll and 1ull << lane; compare with the mask of the "
      "whole "
      "wavefront, not with 0xffffffff. With 64 lanes a 32-bit shift by the lane number is "
      "undefined.",
      "请用 __popcll、__ffsll、__clzll、__brevll 和 1ull << lane；应与整个波前的掩码比较，而不是 "
      "0xffffffff。"
      "64 通道时按通道号做 32 位移位是未定义行为。"},
     "HIP kernel language, warp vote and ballot functions; HeCBench #177",
     "__global__ void k(int *p) { p[0] = __popc(__ballot_sync(~0ULL, p[threadIdx.x])); }\n",
     "__global__ void k(int *p) {\n  p[0] = __popcll(__ballot_sync(~0ULL, p[threadIdx.x]));\n"
     "  p[1] = __popc(p[2]);\n}\n"},
    {HZ_W4,
     "SP0104",
     "W4",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     false,
     {"warp size 32 written into the code", "代码中写死了 warp 大小 32"},
     {"A wavefront on gfx9 has 64 lanes and there is no 32-lane mode. Use warpSize in device code "
      "and "
      "hipDeviceProp_t.warpSize on the host, or keep logical warps of 32 and give every shuffle "
      "the "
      "width 32 (and every ballot the right half).",
      "gfx9 的波前有 64 个通道，且没有 32 通道模式。设备端用 warpSize，主机端用 "
      "hipDeviceProp_t.warpSize；"
      "或保留 32 线程的逻辑 warp，并给每个 shuffle 传宽度 32（ballot 取对应的一半）。"},
     "HIP kernel language, warpSize: 64 on gfx9; ROCm GPU specifications, wavefront size",
     "#define WARP_SIZE 32\n__global__ void k(int *p) { p[threadIdx.x / WARP_SIZE] = 0; }\n",
     "#define TILE 32\n__global__ void k(int *p) { p[blockIdx.x * 32 + threadIdx.x] = p[0] & 31; "
     "}\n"},
    {HZ_W5,
     "SP0105",
     "W5",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     true,
     {"warp operation spans 64 lanes in code written for 32",
      "为 32 通道编写的代码中，warp 操作会跨越 64 个通道"},
     {"Without a width, __shfl and __shfl_up reach across all 64 lanes; __any and __all vote over "
      "64. "
      "Give the width 32, or rewrite for warpSize. __shfl_xor and __shfl_down with offsets up to "
      "16 "
      "whose result is used by lane (tid & 31) == 0 only are right either way.",
      "不带宽度时，__shfl 与 __shfl_up 会跨越全部 64 个通道；__any、__all 在 64 "
      "个通道上表决。请传入宽度 32，"
      "或按 warpSize 改写。偏移不超过 16、且只有 (tid & 31) == 0 的通道使用结果的 __shfl_xor 与 "
      "__shfl_down 两种情况下都正确。"},
     "HIP kernel language, warp shuffle functions: width defaults to warpSize",
     "__global__ void k(int *p) { int lane = threadIdx.x & 31;\n"
     "  p[threadIdx.x] = __shfl_sync(~0ULL, p[lane], 0); }\n",
     "__global__ void k(int *p) { int lane = threadIdx.x & 31;\n"
     "  p[threadIdx.x] = __shfl_sync(~0ULL, p[lane], 0, 32); }\n"},
    {HZ_W6,
     "SP0106",
     "W6",
     HAZARD_ERROR,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     false,
     {"warpSize in a constant expression", "在常量表达式中使用 warpSize"},
     {"warpSize is not a compile-time constant since ROCm 7.0: it cannot size an array, be a "
      "template "
      "argument, a constexpr value or a case label. Use a macro chosen per target "
      "(__GFX9__ -> 64) in device code and hipDeviceProp_t.warpSize on the host.",
      "自 ROCm 7.0 起 warpSize 不再是编译期常量：不能用作数组大小、模板参数、constexpr 值或 case "
      "标签。"
      "设备端请用按目标选择的宏（__GFX9__ -> 64），主机端用 hipDeviceProp_t.warpSize。"},
     "HIP 7 changes: warpSize; HIP kernel language, warpSize",
     "__global__ void k(int *p) { __shared__ int s[warpSize]; s[threadIdx.x] = 1; p[0] = s[0]; }\n",
     "__global__ void k(int *p) { __shared__ int s[64]; p[0] = s[threadIdx.x % warpSize]; }\n"},
    {HZ_W7,
     "SP0107",
     "W7",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     false,
     {"half-precision value passed to a shuffle", "向 shuffle 传入半精度值"},
     {"HIP's shuffles take int, unsigned, long, float and double; half and half2 are not supported "
      "on "
      "every version. Shuffle the bits as int (two halves at once) and convert back.",
      "HIP 的 shuffle 支持 int、unsigned、long、float、double；并非所有版本都支持 half 与 half2。"
      "请把位模式当作 int（一次两个 half）交换后再转换回来。"},
     "HIP kernel language: half-float shuffles are not supported",
     "__device__ __half f(__half h) { return __shfl_xor(h, 1); }\n",
     "__device__ float f(__half h) { float v = __half2float(h); return __shfl_xor(v, 1, 32); }\n"},
    {HZ_W8,
     "SP0108",
     "W8",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     true,
     {"code relies on independent thread scheduling", "代码依赖独立线程调度"},
     {"Lanes of a wavefront run in lockstep; a lane that spins on a lock held by another lane of "
      "the "
      "same wavefront never ends. Let one lane per wavefront take the lock, or do the protected "
      "work "
      "inside the loop that acquires. __syncwarp orders memory only; HIP has it from 7.0 on.",
      "同一波前的通道同步执行；某通道自旋等待同一波前另一通道持有的锁会永不结束。请让每个波前只有一"
      "个通道取锁，"
      "或把受保护的工作放进取锁循环内。__syncwarp 只保证访存顺序；HIP 从 7.0 起提供。"},
     "HIP kernel language: HIP does not support independent thread scheduling",
     "__device__ int lock;\n__global__ void k(int *p) {\n"
     "  while (atomicCAS(&lock, 0, 1) != 0);\n  p[0]++;\n  atomicExch(&lock, 0);\n}\n",
     "__device__ float f(int *a, float v) {\n  int old = *a, seen;\n  do {\n    seen = old;\n"
     "    old = atomicCAS(a, seen, __float_as_int(v + __int_as_float(seen)));\n"
     "  } while (seen != old);\n  return v;\n}\n"},
    {HZ_W9,
     "SP0109",
     "W9",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_SOURCE,
     false,
     {"cooperative groups feature that HIP lacks or sizes differently",
      "HIP 缺少或大小不同的协作组功能"},
     {"Tiles may have up to 64 threads. cg::reduce, inclusive_scan/exclusive_scan, memcpy_async, "
      "cluster_group and labeled/binary partitions are missing before ROCm 7.x: write a shuffle "
      "loop "
      "over the tile or use hipCUB.",
      "tile 最多 64 个线程。cg::reduce、inclusive_scan/exclusive_scan、memcpy_async、cluster_group "
      "以及 "
      "labeled/binary partition 在 ROCm 7.x 之前缺失：请在 tile 上写 shuffle 循环，或使用 "
      "hipCUB。"},
     "HIP cooperative groups: unsupported NVIDIA CUDA features; ROCm/HIP #3625",
     "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
     "__global__ void k(int *p) { auto b = cg::this_thread_block();\n"
     "  p[0] = cg::reduce(b, p[1], cg::plus<int>()); }\n",
     "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
     "__global__ void k(int *p) { auto b = cg::this_thread_block(); b.sync(); p[0] = "
     "std::reduce(p, p); }\n"},
};
const size_t hazard_table_wave_n = SL_COUNT(hazard_table_wave);
