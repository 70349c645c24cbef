/* SPDX-License-Identifier: Apache-2.0
 *
 * math.h: device functions that the C++ library does not have: fast and rounding variants of
 * float operations (computed in full precision here), conversions, read-only loads, timers.
 */
#ifndef STARPORT_MATH_H
#define STARPORT_MATH_H
#include <chrono>
#include <cmath>
#include <cstdlib>
#include "bits.h"
#include "minmax.h"

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
inline float rsqrtf(float x)
{
    return 1.0f / std::sqrt(x);
}
inline double rsqrt(double x)
{
    return 1.0 / std::sqrt(x);
}
inline float rcbrtf(float x)
{
    return 1.0f / std::cbrt(x);
}
inline double rcbrt(double x)
{
    return 1.0 / std::cbrt(x);
}
inline float __saturatef(float x)
{
    return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f;
}
inline float sinpif(float x)
{
    return (float)std::sin(x * M_PI);
}
inline float cospif(float x)
{
    return (float)std::cos(x * M_PI);
}
inline double sinpi(double x)
{
    return std::sin(x * M_PI);
}
inline double cospi(double x)
{
    return std::cos(x * M_PI);
}
inline float normcdff(float x)
{
    return 0.5f * erfcf(-x * (float)M_SQRT1_2);
}
inline double normcdf(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}
inline float fdividef(float a, float b)
{
    return a / b;
}
inline float __fdividef(float a, float b)
{
    return a / b;
}
#define STARPORT_ROUND(S)                                                                          \
    inline float __fadd_##S(float a, float b)                                                      \
    {                                                                                              \
        return a + b;                                                                              \
    }                                                                                              \
    inline float __fsub_##S(float a, float b)                                                      \
    {                                                                                              \
        return a - b;                                                                              \
    }                                                                                              \
    inline float __fmul_##S(float a, float b)                                                      \
    {                                                                                              \
        return a * b;                                                                              \
    }                                                                                              \
    inline float __fdiv_##S(float a, float b)                                                      \
    {                                                                                              \
        return a / b;                                                                              \
    }                                                                                              \
    inline float __frcp_##S(float a)                                                               \
    {                                                                                              \
        return 1 / a;                                                                              \
    }                                                                                              \
    inline float __fsqrt_##S(float a)                                                              \
    {                                                                                              \
        return std::sqrt(a);                                                                       \
    }                                                                                              \
    inline float __fmaf_##S(float a, float b, float c)                                             \
    {                                                                                              \
        return std::fma(a, b, c);                                                                  \
    }                                                                                              \
    inline double __dadd_##S(double a, double b)                                                   \
    {                                                                                              \
        return a + b;                                                                              \
    }                                                                                              \
    inline double __dsub_##S(double a, double b)                                                   \
    {                                                                                              \
        return a - b;                                                                              \
    }                                                                                              \
    inline double __dmul_##S(double a, double b)                                                   \
    {                                                                                              \
        return a * b;                                                                              \
    }                                                                                              \
    inline double __ddiv_##S(double a, double b)                                                   \
    {                                                                                              \
        return a / b;                                                                              \
    }                                                                                              \
    inline double __drcp_##S(double a)                                                             \
    {                                                                                              \
        return 1 / a;                                                                              \
    }                                                                                              \
    inline double __dsqrt_##S(double a)                                                            \
    {                                                                                              \
        return std::sqrt(a);                                                                       \
    }                                                                                              \
    inline double __fma_##S(double a, double b, double c)                                          \
    {                                                                                              \
        return std::fma(a, b, c);                                                                  \
    }                                                                                              \
    inline float __int2float_##S(int a)                                                            \
    {                                                                                              \
        return (float)a;                                                                           \
    }                                                                                              \
    inline float __uint2float_##S(unsigned a)                                                      \
    {                                                                                              \
        return (float)a;                                                                           \
    }                                                                                              \
    inline float __double2float_##S(double a)                                                      \
    {                                                                                              \
        return (float)a;                                                                           \
    }
STARPORT_ROUND(rn)
STARPORT_ROUND(rz)
STARPORT_ROUND(ru)
STARPORT_ROUND(rd)
#undef STARPORT_ROUND
inline float __frsqrt_rn(float a)
{
    return 1 / std::sqrt(a);
}
#define STARPORT_TO_INT(S, F)                                                                      \
    inline int __float2int_##S(float a)                                                            \
    {                                                                                              \
        return (int)F(a);                                                                          \
    }                                                                                              \
    inline unsigned __float2uint_##S(float a)                                                      \
    {                                                                                              \
        return (unsigned)F(a);                                                                     \
    }                                                                                              \
    inline long long __float2ll_##S(float a)                                                       \
    {                                                                                              \
        return (long long)F(a);                                                                    \
    }                                                                                              \
    inline int __double2int_##S(double a)                                                          \
    {                                                                                              \
        return (int)F(a);                                                                          \
    }                                                                                              \
    inline unsigned __double2uint_##S(double a)                                                    \
    {                                                                                              \
        return (unsigned)F(a);                                                                     \
    }                                                                                              \
    inline long long __double2ll_##S(double a)                                                     \
    {                                                                                              \
        return (long long)F(a);                                                                    \
    }
STARPORT_TO_INT(rn, std::nearbyint)
STARPORT_TO_INT(rz, std::trunc)
STARPORT_TO_INT(ru, std::ceil)
STARPORT_TO_INT(rd, std::floor)
#undef STARPORT_TO_INT

template <class T> inline T __ldg(const T *p)
{
    return *p;
}
template <class T> inline T __ldcg(const T *p)
{
    return *p;
}
template <class T> inline T __ldcs(const T *p)
{
    return *p;
}
template <class T> inline T __ldca(const T *p)
{
    return *p;
}
template <class T, class V> inline void __stcs(T *p, V v)
{
    *p = v;
}
template <class T, class V> inline void __stcg(T *p, V v)
{
    *p = v;
}
inline long long clock64()
{
    return std::chrono::steady_clock::now().time_since_epoch().count();
}
inline long long wall_clock64()
{
    return clock64();
}
inline void __nanosleep(unsigned) {}
[[noreturn]] inline void __trap()
{
    abort();
}
#endif
