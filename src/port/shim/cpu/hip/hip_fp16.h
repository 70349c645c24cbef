/* SPDX-License-Identifier: Apache-2.0
 *
 * hip_fp16.h: half and half2. Values are kept as IEEE binary16; each operation is made in float and
 * rounded to nearest even.
 */
#ifndef STARPORT_HIP_FP16_H
#define STARPORT_HIP_FP16_H
#include "hip_runtime.h"

namespace starport
{
inline uint16_t half_bits(float f)
{
    uint32_t x = pun<uint32_t>(f), sign = x >> 16 & 0x8000, a = x & 0x7fffffff;
    if (a > 0x7f800000)
        return (uint16_t)(sign | 0x7e00);
    if (a >= 0x477ff000) /* rounds to infinity */
        return (uint16_t)(sign | 0x7c00);
    if (a < 0x38800000) { /* a subnormal half: one unit is 2^-24 */
        float scaled = std::nearbyint(pun<float>(a) * 16777216.0f);
        return (uint16_t)(sign | (uint32_t)scaled);
    }
    uint32_t rounded = a + 0xfff + (a >> 13 & 1);
    return (uint16_t)(sign | (rounded - 0x38000000) >> 13);
}
inline float half_value(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff;
    if (e == 0)
        return pun<float>(sign | pun<uint32_t>((float)m / 16777216.0f));
    return pun<float>(sign | (e == 31 ? 0x7f800000 : (e + 112) << 23) | m << 13);
}
} // namespace starport

struct __half_raw {
    unsigned short x;
};
struct __half {
    uint16_t bits;
    __half() = default;
    __half(float f) : bits(starport::half_bits(f)) {}
    __half(double f) : bits(starport::half_bits((float)f)) {}
    __half(int i) : bits(starport::half_bits((float)i)) {}
    __half(unsigned i) : bits(starport::half_bits((float)i)) {}
    __half(const __half_raw &r) : bits(r.x) {}
    operator float() const { return starport::half_value(bits); }
    __half &operator+=(__half b) { return *this = __half(float(*this) + float(b)); }
    __half &operator-=(__half b) { return *this = __half(float(*this) - float(b)); }
    __half &operator*=(__half b) { return *this = __half(float(*this) * float(b)); }
    __half &operator/=(__half b) { return *this = __half(float(*this) / float(b)); }
};
typedef __half half;
struct __half2 {
    union {
        struct {
            __half x, y;
        };
        struct {
            __half data[2];
        };
    };
    __half2() {}
    __half2(__half a, __half b) : x(a), y(b) {}
};
typedef __half2 half2;
#define STARPORT_HALF_OP(op, name)                                                                 \
    inline __half operator op(__half a, __half b)                                                  \
    {                                                                                              \
        return __half(float(a) op float(b));                                                       \
    }                                                                                              \
    inline __half name(__half a, __half b)                                                         \
    {                                                                                              \
        return a op b;                                                                             \
    }                                                                                              \
    inline __half2 operator op(__half2 a, __half2 b)                                               \
    {                                                                                              \
        return __half2(a.x op b.x, a.y op b.y);                                                    \
    }                                                                                              \
    inline __half2 name##2(__half2 a, __half2 b)                                                   \
    {                                                                                              \
        return a op b;                                                                             \
    }
STARPORT_HALF_OP(+, __hadd)
STARPORT_HALF_OP(-, __hsub)
STARPORT_HALF_OP(*, __hmul)
STARPORT_HALF_OP(/, __hdiv)
#undef STARPORT_HALF_OP
#define STARPORT_HALF_COMPARE(op, name)                                                            \
    inline bool operator op(__half a, __half b)                                                    \
    {                                                                                              \
        return float(a) op float(b);                                                               \
    }                                                                                              \
    inline bool name(__half a, __half b)                                                           \
    {                                                                                              \
        return a op b;                                                                             \
    }
STARPORT_HALF_COMPARE(<, __hlt)
STARPORT_HALF_COMPARE(<=, __hle)
STARPORT_HALF_COMPARE(>, __hgt)
STARPORT_HALF_COMPARE(>=, __hge)
STARPORT_HALF_COMPARE(==, __heq)
STARPORT_HALF_COMPARE(!=, __hne)
#undef STARPORT_HALF_COMPARE
inline __half operator-(__half a)
{
    return __half(-float(a));
}
inline __half __hneg(__half a)
{
    return -a;
}
inline __half __habs(__half a)
{
    return __half(std::fabs(float(a)));
}
inline __half __hmax(__half a, __half b)
{
    return a < b ? b : a;
}
inline __half __hmin(__half a, __half b)
{
    return b < a ? b : a;
}
inline __half __hfma(__half a, __half b, __half c)
{
    return __half(std::fma(float(a), float(b), float(c)));
}
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c)
{
    return __half2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}
inline bool __hisnan(__half a)
{
    return std::isnan(float(a));
}
inline int __hisinf(__half a)
{
    return std::isinf(float(a));
}
inline __half __float2half(float f)
{
    return __half(f);
}
inline __half __float2half_rn(float f)
{
    return __half(f);
}
inline __half __double2half(double f)
{
    return __half(f);
}
inline float __half2float(__half h)
{
    return float(h);
}
inline __half2 __float2half2_rn(float f)
{
    return __half2(__half(f), __half(f));
}
inline __half2 __floats2half2_rn(float a, float b)
{
    return __half2(__half(a), __half(b));
}
inline __half2 __half2half2(__half a)
{
    return __half2(a, a);
}
inline __half2 __halves2half2(__half a, __half b)
{
    return __half2(a, b);
}
inline __half2 make_half2(__half a, __half b)
{
    return __half2(a, b);
}
inline float2 __half22float2(__half2 a)
{
    return {float(a.x), float(a.y)};
}
inline __half2 __float22half2_rn(float2 a)
{
    return __half2(__half(a.x), __half(a.y));
}
inline __half __low2half(__half2 a)
{
    return a.x;
}
inline __half __high2half(__half2 a)
{
    return a.y;
}
inline float __low2float(__half2 a)
{
    return float(a.x);
}
inline float __high2float(__half2 a)
{
    return float(a.y);
}
inline __half __int2half_rn(int i)
{
    return __half(i);
}
inline int __half2int_rn(__half h)
{
    return (int)std::nearbyint(float(h));
}
inline int __half2int_rz(__half h)
{
    return (int)float(h);
}
inline unsigned short __half_as_ushort(__half h)
{
    return h.bits;
}
inline short __half_as_short(__half h)
{
    return (short)h.bits;
}
inline __half __ushort_as_half(unsigned short x)
{
    return __half(__half_raw{x});
}
inline __half hsqrt(__half a)
{
    return __half(std::sqrt(float(a)));
}
inline __half hrsqrt(__half a)
{
    return __half(1.0f / std::sqrt(float(a)));
}
inline __half hrcp(__half a)
{
    return __half(1.0f / float(a));
}
inline __half hexp(__half a)
{
    return __half(std::exp(float(a)));
}
inline __half hlog(__half a)
{
    return __half(std::log(float(a)));
}
inline __half2 h2exp(__half2 a)
{
    return __half2(hexp(a.x), hexp(a.y));
}
#endif
