/* SPDX-License-Identifier: Apache-2.0
 *
 * math.h: device functions that the C++ library does not have: integer bit operations, min/max of mixed
 * types, fast and rounding variants of float operations (computed in full precision here), type puns,
 * read-only loads, timers.
 */
#ifndef STARPORT_MATH_H
#define STARPORT_MATH_H
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
/* HIP's __ffs takes 32 and 64 bits under one name, unlike CUDA's: a 64-bit value is cut only when the
 * program itself stores it in 32 bits. */
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffs(unsigned x) { return __builtin_ffs((int)x); }
inline int __ffs(long x) { return __builtin_ffsl(x); }
inline int __ffs(unsigned long x) { return __builtin_ffsl((long)x); }
inline int __ffs(long long x) { return __builtin_ffsll(x); }
inline int __ffs(unsigned long long x) { return __builtin_ffsll((long long)x); }
inline int __ffsll(unsigned long long x) { return __builtin_ffsll((long long)x); }
inline unsigned __brev(unsigned x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
inline unsigned long long __brevll(unsigned long long x)
{
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned s)
{
    uint64_t v = (uint64_t)y << 32 | x;
    unsigned r = 0;
    for (int i = 0; i < 4; i++)
        r |= (unsigned)(v >> (s >> 4 * i & 7) * 8 & 0xff) << 8 * i;
    return r;
}
inline int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
inline int __mulhi(int a, int b) { return (int)((int64_t)a * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline int __hadd(int a, int b) { return (int)(((int64_t)a + b) >> 1); }
inline unsigned __sad(int a, int b, unsigned c) { return (unsigned)std::abs((long)a - b) + c; }
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a > b ? a - b : b - a) + c; }
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n)
{
    return (unsigned)(((uint64_t)hi << 32 | lo) << (n & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n)
{
    return (unsigned)(((uint64_t)hi << 32 | lo) >> (n & 31));
}
inline unsigned __bitextract_u32(unsigned x, unsigned at, unsigned n)
{
    return n == 0 ? 0 : x >> (at & 31) & (n >= 32 ? ~0u : (1u << n) - 1);
}

#define STARPORT_MINMAX(A, B, R)                                                                   \
    inline R min(A a, B b) { return (R)a < (R)b ? (R)a : (R)b; }                                   \
    inline R max(A a, B b) { return (R)a > (R)b ? (R)a : (R)b; }
#define STARPORT_MINMAX2(A, B, R) STARPORT_MINMAX(A, B, R) STARPORT_MINMAX(B, A, R)
STARPORT_MINMAX(int, int, int)
STARPORT_MINMAX(unsigned, unsigned, unsigned)
STARPORT_MINMAX2(int, unsigned, unsigned)
STARPORT_MINMAX(long, long, long)
STARPORT_MINMAX(unsigned long, unsigned long, unsigned long)
STARPORT_MINMAX2(long, unsigned long, unsigned long)
STARPORT_MINMAX2(int, long, long)
STARPORT_MINMAX2(int, unsigned long, unsigned long)
STARPORT_MINMAX2(unsigned, unsigned long, unsigned long)
STARPORT_MINMAX(long long, long long, long long)
STARPORT_MINMAX(unsigned long long, unsigned long long, unsigned long long)
STARPORT_MINMAX2(long long, unsigned long long, unsigned long long)
STARPORT_MINMAX2(int, long long, long long)
STARPORT_MINMAX(float, float, float)
STARPORT_MINMAX(double, double, double)
STARPORT_MINMAX2(float, double, double)
STARPORT_MINMAX2(int, float, float)
#undef STARPORT_MINMAX
#undef STARPORT_MINMAX2

namespace starport
{
template <class To, class From> inline To pun(From f)
{
    To t;
    static_assert(sizeof t == sizeof f, "same size");
    memcpy(&t, &f, sizeof t);
    return t;
}
} // namespace starport
inline int __float_as_int(float x) { return starport::pun<int>(x); }
inline unsigned __float_as_uint(float x) { return starport::pun<unsigned>(x); }
inline float __int_as_float(int x) { return starport::pun<float>(x); }
inline float __uint_as_float(unsigned x) { return starport::pun<float>(x); }
inline long long __double_as_longlong(double x) { return starport::pun<long long>(x); }
inline double __longlong_as_double(long long x) { return starport::pun<double>(x); }
inline int __double2hiint(double x) { return (int)(starport::pun<long long>(x) >> 32); }
inline int __double2loint(double x) { return (int)starport::pun<long long>(x); }
inline double __hiloint2double(int hi, int lo)
{
    return starport::pun<double>((long long)hi << 32 | (unsigned)lo);
}

/* The C library declares __sinf and friends for itself: macros, not functions. */
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)
#define __expf(x) expf(x)
#define __exp10f(x) exp10f(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __log10f(x) log10f(x)
#define __powf(x, y) powf(x, y)
#define __sincosf(x, s, c) sincosf(x, s, c)
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float rcbrtf(float x) { return 1.0f / std::cbrt(x); }
inline double rcbrt(double x) { return 1.0 / std::cbrt(x); }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
inline float sinpif(float x) { return (float)std::sin(x * M_PI); }
inline float cospif(float x) { return (float)std::cos(x * M_PI); }
inline double sinpi(double x) { return std::sin(x * M_PI); }
inline double cospi(double x) { return std::cos(x * M_PI); }
inline float normcdff(float x) { return 0.5f * erfcf(-x * (float)M_SQRT1_2); }
inline double normcdf(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }
inline float fdividef(float a, float b) { return a / b; }
inline float __fdividef(float a, float b) { return a / b; }
#define STARPORT_ROUND(S)                                                                          \
    inline float __fadd_##S(float a, float b) { return a + b; }                                    \
    inline float __fsub_##S(float a, float b) { return a - b; }                                    \
    inline float __fmul_##S(float a, float b) { return a * b; }                                    \
    inline float __fdiv_##S(float a, float b) { return a / b; }                                    \
    inline float __frcp_##S(float a) { return 1 / a; }                                             \
    inline float __fsqrt_##S(float a) { return std::sqrt(a); }                                     \
    inline float __fmaf_##S(float a, float b, float c) { return std::fma(a, b, c); }               \
    inline double __dadd_##S(double a, double b) { return a + b; }                                 \
    inline double __dsub_##S(double a, double b) { return a - b; }                                 \
    inline double __dmul_##S(double a, double b) { return a * b; }                                 \
    inline double __ddiv_##S(double a, double b) { return a / b; }                                 \
    inline double __drcp_##S(double a) { return 1 / a; }                                           \
    inline double __dsqrt_##S(double a) { return std::sqrt(a); }                                   \
    inline double __fma_##S(double a, double b, double c) { return std::fma(a, b, c); }            \
    inline float __int2float_##S(int a) { return (float)a; }                                       \
    inline float __uint2float_##S(unsigned a) { return (float)a; }                                 \
    inline float __double2float_##S(double a) { return (float)a; }
STARPORT_ROUND(rn)
STARPORT_ROUND(rz)
STARPORT_ROUND(ru)
STARPORT_ROUND(rd)
#undef STARPORT_ROUND
inline float __frsqrt_rn(float a) { return 1 / std::sqrt(a); }
#define STARPORT_TO_INT(S, F)                                                                      \
    inline int __float2int_##S(float a) { return (int)F(a); }                                      \
    inline unsigned __float2uint_##S(float a) { return (unsigned)F(a); }                           \
    inline long long __float2ll_##S(float a) { return (long long)F(a); }                           \
    inline int __double2int_##S(double a) { return (int)F(a); }                                    \
    inline unsigned __double2uint_##S(double a) { return (unsigned)F(a); }                         \
    inline long long __double2ll_##S(double a) { return (long long)F(a); }
STARPORT_TO_INT(rn, std::nearbyint)
STARPORT_TO_INT(rz, std::trunc)
STARPORT_TO_INT(ru, std::ceil)
STARPORT_TO_INT(rd, std::floor)
#undef STARPORT_TO_INT

template <class T> inline T __ldg(const T *p) { return *p; }
template <class T> inline T __ldcg(const T *p) { return *p; }
template <class T> inline T __ldcs(const T *p) { return *p; }
template <class T> inline T __ldca(const T *p) { return *p; }
template <class T, class V> inline void __stcs(T *p, V v) { *p = v; }
template <class T, class V> inline void __stcg(T *p, V v) { *p = v; }
inline long long clock64()
{
    return std::chrono::steady_clock::now().time_since_epoch().count();
}
inline long long wall_clock64() { return clock64(); }
inline void __nanosleep(unsigned) {}
[[noreturn]] inline void __trap() { abort(); }
#endif
