/* SPDX-License-Identifier: Apache-2.0
 *
 * minmax.h: min and max of mixed types, and type puns. Included by math.h.
 */
#ifndef STARPORT_MINMAX_H
#define STARPORT_MINMAX_H
#include <cstdint>
#include <cstring>

#define STARPORT_MINMAX(A, B, R)                                                                   \
    inline R min(A a, B b)                                                                         \
    {                                                                                              \
        return (R)a < (R)b ? (R)a : (R)b;                                                          \
    }                                                                                              \
    inline R max(A a, B b)                                                                         \
    {                                                                                              \
        return (R)a > (R)b ? (R)a : (R)b;                                                          \
    }
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
inline int __float_as_int(float x)
{
    return starport::pun<int>(x);
}
inline unsigned __float_as_uint(float x)
{
    return starport::pun<unsigned>(x);
}
inline float __int_as_float(int x)
{
    return starport::pun<float>(x);
}
inline float __uint_as_float(unsigned x)
{
    return starport::pun<float>(x);
}
inline long long __double_as_longlong(double x)
{
    return starport::pun<long long>(x);
}
inline double __longlong_as_double(long long x)
{
    return starport::pun<double>(x);
}
inline int __double2hiint(double x)
{
    return (int)(starport::pun<long long>(x) >> 32);
}
inline int __double2loint(double x)
{
    return (int)starport::pun<long long>(x);
}
inline double __hiloint2double(int hi, int lo)
{
    return starport::pun<double>((long long)hi << 32 | (unsigned)lo);
}
#endif
