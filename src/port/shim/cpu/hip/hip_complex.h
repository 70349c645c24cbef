/* SPDX-License-Identifier: Apache-2.0
 *
 * hip_complex.h: hipFloatComplex and hipDoubleComplex.
 */
#ifndef STARPORT_HIP_COMPLEX_H
#define STARPORT_HIP_COMPLEX_H
#include "hip_runtime.h"
typedef float2 hipFloatComplex;
typedef float2 hipComplex;
typedef double2 hipDoubleComplex;
#define STARPORT_COMPLEX(C, R, make, real, imag, conj, add, sub, mul, div, abs)                    \
    inline C make(R a, R b)                                                                        \
    {                                                                                              \
        return {a, b};                                                                             \
    }                                                                                              \
    inline R real(C z)                                                                             \
    {                                                                                              \
        return z.x;                                                                                \
    }                                                                                              \
    inline R imag(C z)                                                                             \
    {                                                                                              \
        return z.y;                                                                                \
    }                                                                                              \
    inline C conj(C z)                                                                             \
    {                                                                                              \
        return {z.x, -z.y};                                                                        \
    }                                                                                              \
    inline C add(C a, C b)                                                                         \
    {                                                                                              \
        return {a.x + b.x, a.y + b.y};                                                             \
    }                                                                                              \
    inline C sub(C a, C b)                                                                         \
    {                                                                                              \
        return {a.x - b.x, a.y - b.y};                                                             \
    }                                                                                              \
    inline C mul(C a, C b)                                                                         \
    {                                                                                              \
        return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};                                     \
    }                                                                                              \
    inline C div(C a, C b)                                                                         \
    {                                                                                              \
        R d = b.x * b.x + b.y * b.y;                                                               \
        return {(a.x * b.x + a.y * b.y) / d, (a.y * b.x - a.x * b.y) / d};                         \
    }                                                                                              \
    inline R abs(C z)                                                                              \
    {                                                                                              \
        return std::sqrt(z.x * z.x + z.y * z.y);                                                   \
    }
STARPORT_COMPLEX(hipFloatComplex, float, make_hipFloatComplex, hipCrealf, hipCimagf, hipConjf,
                 hipCaddf, hipCsubf, hipCmulf, hipCdivf, hipCabsf)
STARPORT_COMPLEX(hipDoubleComplex, double, make_hipDoubleComplex, hipCreal, hipCimag, hipConj,
                 hipCadd, hipCsub, hipCmul, hipCdiv, hipCabs)
#undef STARPORT_COMPLEX
inline hipComplex make_hipComplex(float a, float b)
{
    return {a, b};
}
#endif
