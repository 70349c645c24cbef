/* SPDX-License-Identifier: Apache-2.0
 *
 * starport_bf16.h: __hip_bfloat16 for compilers whose installed HIP has no hip/hip_bf16.h
 * (before 5.7) and for the CPU shim. The upper half of a float, rounded to nearest even; operations
 * are made in float.
 */
#ifndef STARPORT_BF16_H
#define STARPORT_BF16_H
#include <hip/hip_runtime.h>
#include <cstdint>
#include <cstring>

#define STARPORT_BF16 __host__ __device__ inline
struct __hip_bfloat16 {
    uint16_t data;
    __hip_bfloat16() = default;
    __host__ __device__ __hip_bfloat16(float f)
    {
        uint32_t x;
        memcpy(&x, &f, 4);
        data = (x & 0x7fffffff) > 0x7f800000 ? (uint16_t)(x >> 16 | 0x40)
                                             : (uint16_t)((x + 0x7fff + (x >> 16 & 1)) >> 16);
    }
    __host__ __device__ operator float() const
    {
        uint32_t x = (uint32_t)data << 16;
        float f;
        memcpy(&f, &x, 4);
        return f;
    }
};
struct __hip_bfloat162 {
    __hip_bfloat16 x, y;
};
STARPORT_BF16 __hip_bfloat16 __float2bfloat16(float f)
{
    return __hip_bfloat16(f);
}
STARPORT_BF16 __hip_bfloat16 __float2bfloat16_rn(float f)
{
    return __hip_bfloat16(f);
}
STARPORT_BF16 float __bfloat162float(__hip_bfloat16 b)
{
    return float(b);
}
STARPORT_BF16 __hip_bfloat16 __double2bfloat16(double f)
{
    return __hip_bfloat16((float)f);
}
STARPORT_BF16 __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 a, __hip_bfloat16 b)
{
    return {a, b};
}
STARPORT_BF16 __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 a)
{
    return {a, a};
}
STARPORT_BF16 __hip_bfloat16 __low2bfloat16(__hip_bfloat162 a)
{
    return a.x;
}
STARPORT_BF16 __hip_bfloat16 __high2bfloat16(__hip_bfloat162 a)
{
    return a.y;
}
STARPORT_BF16 float2 __bfloat1622float2(__hip_bfloat162 a)
{
    float2 f;
    f.x = float(a.x);
    f.y = float(a.y);
    return f;
}
STARPORT_BF16 __hip_bfloat162 __float22bfloat162_rn(float2 f)
{
    return {__hip_bfloat16(f.x), __hip_bfloat16(f.y)};
}
#define STARPORT_BF16_OP(op, name)                                                                 \
    STARPORT_BF16 __hip_bfloat16 operator op(__hip_bfloat16 a, __hip_bfloat16 b)                   \
    {                                                                                              \
        return __hip_bfloat16(float(a) op float(b));                                               \
    }                                                                                              \
    STARPORT_BF16 __hip_bfloat16 name(__hip_bfloat16 a, __hip_bfloat16 b)                          \
    {                                                                                              \
        return a op b;                                                                             \
    }                                                                                              \
    STARPORT_BF16 __hip_bfloat162 name##2(__hip_bfloat162 a, __hip_bfloat162 b)                    \
    {                                                                                              \
        return {a.x op b.x, a.y op b.y};                                                           \
    }
STARPORT_BF16_OP(+, __hadd)
STARPORT_BF16_OP(-, __hsub)
STARPORT_BF16_OP(*, __hmul)
STARPORT_BF16_OP(/, __hdiv)
#undef STARPORT_BF16_OP
STARPORT_BF16 bool __hgt(__hip_bfloat16 a, __hip_bfloat16 b)
{
    return float(a) > float(b);
}
STARPORT_BF16 bool __hlt(__hip_bfloat16 a, __hip_bfloat16 b)
{
    return float(a) < float(b);
}
STARPORT_BF16 bool __heq(__hip_bfloat16 a, __hip_bfloat16 b)
{
    return float(a) == float(b);
}
STARPORT_BF16 __hip_bfloat16 __hfma(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c)
{
    return __hip_bfloat16(float(a) * float(b) + float(c));
}
#undef STARPORT_BF16
#endif
