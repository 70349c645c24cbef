/* SPDX-License-Identifier: Apache-2.0
 *
 * Device functions that HIP has and older installed headers (Debian 12: HIP 5.2) lack. Included
 * before every file by `starport check` when no --rocm-path is given. Semantics: HIP's
 * documentation, "HIP C++ language extensions": masks are 64-bit, a 32-bit one is an error, as in
 * ROCm 6.2 and later.
 */
#pragma once
#include <hip/hip_runtime.h>
#include <type_traits>

#if HIP_VERSION_MAJOR < 6 || (HIP_VERSION_MAJOR == 6 && HIP_VERSION_MINOR < 2)
#define STARPORT_MASK(M)                                                                           \
    static_assert(std::is_integral<M>::value && sizeof(M) == 8,                                    \
                  "the mask must be a 64-bit integer: a wavefront has 64 lanes")
template <class M, class T>
__device__ inline T __shfl_sync(M mask, T v, int src, int width = warpSize)
{
    STARPORT_MASK(M);
    return __shfl(v, src, width);
}
template <class M, class T>
__device__ inline T __shfl_up_sync(M mask, T v, unsigned d, int width = warpSize)
{
    STARPORT_MASK(M);
    return __shfl_up(v, d, width);
}
template <class M, class T>
__device__ inline T __shfl_down_sync(M mask, T v, unsigned d, int width = warpSize)
{
    STARPORT_MASK(M);
    return __shfl_down(v, d, width);
}
template <class M, class T>
__device__ inline T __shfl_xor_sync(M mask, T v, int x, int width = warpSize)
{
    STARPORT_MASK(M);
    return __shfl_xor(v, x, width);
}
template <class M> __device__ inline unsigned long long __ballot_sync(M mask, int p)
{
    STARPORT_MASK(M);
    return __ballot(p) & mask;
}
template <class M> __device__ inline int __any_sync(M mask, int p)
{
    STARPORT_MASK(M);
    return (__ballot(p) & mask) != 0;
}
template <class M> __device__ inline int __all_sync(M mask, int p)
{
    STARPORT_MASK(M);
    return (__ballot(!p) & mask) == 0;
}
__device__ inline unsigned long long __activemask()
{
    return __ballot(1);
}
/* Votes for one value after another; each pass settles the lanes that hold it. */
template <class T>
__device__ inline unsigned long long starport_match(T v, unsigned long long among)
{
    unsigned long long mine = 0, left = among;
    while (left) {
        int first = __ffsll(left) - 1;
        T candidate = __shfl(v, first);
        unsigned long long same = __ballot(candidate == v) & among;
        if (candidate == v)
            mine = same;
        left &= ~same;
    }
    return mine;
}
template <class T> __device__ inline unsigned long long __match_any(T v)
{
    return starport_match(v, __ballot(1));
}
template <class M, class T> __device__ inline unsigned long long __match_any_sync(M mask, T v)
{
    STARPORT_MASK(M);
    return starport_match(v, mask & __ballot(1));
}
template <class M, class T>
__device__ inline unsigned long long __match_all_sync(M mask, T v, int *same)
{
    STARPORT_MASK(M);
    unsigned long long m = starport_match(v, mask & __ballot(1));
    *same = m == (mask & __ballot(1));
    return *same ? m : 0;
}
#undef STARPORT_MASK
#endif
/* Data types that hip/library_types.h gained after 5.2; values: HIP API reference, hipDataType. */
#if HIP_VERSION_MAJOR < 5 || (HIP_VERSION_MAJOR == 5 && HIP_VERSION_MINOR < 7)
#include <hip/library_types.h>
#define HIP_R_8I ((hipDataType)3)
#define HIP_C_8I ((hipDataType)7)
#define HIP_R_8U ((hipDataType)8)
#define HIP_C_8U ((hipDataType)9)
#define HIP_R_32I ((hipDataType)10)
#define HIP_C_32I ((hipDataType)11)
#define HIP_R_32U ((hipDataType)12)
#define HIP_C_32U ((hipDataType)13)
#define HIP_R_16BF ((hipDataType)14)
#define HIP_C_16BF ((hipDataType)15)
#define HIP_R_4I ((hipDataType)16)
#define HIP_R_64I ((hipDataType)24)
#define HIP_R_8F_E4M3 ((hipDataType)28)
#define HIP_R_8F_E5M2 ((hipDataType)29)
#define HIP_R_8F_E4M3_FNUZ ((hipDataType)1000)
#define HIP_R_8F_E5M2_FNUZ ((hipDataType)1001)
#endif
#if HIP_VERSION_MAJOR < 7
__device__ inline void __syncwarp()
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
template <class M> __device__ inline void __syncwarp(M mask)
{
    static_assert(sizeof(M) == 8, "the mask must be a 64-bit integer: a wavefront has 64 lanes");
    __syncwarp();
}
#endif
