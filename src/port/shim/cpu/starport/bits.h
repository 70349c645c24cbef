/* SPDX-License-Identifier: Apache-2.0
 *
 * bits.h: integer bit operations of device code. Included by math.h.
 */
#ifndef STARPORT_BITS_H
#define STARPORT_BITS_H
#include <cstdint>
#include <cstdlib>

inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
inline int __clz(int x)
{
    return x ? __builtin_clz((unsigned)x) : 32;
}
inline int __clzll(long long x)
{
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
/* HIP's __ffs takes 32 and 64 bits under one name, unlike CUDA's: a 64-bit value is cut only when
 * the program itself stores it in 32 bits. */
inline int __ffs(int x)
{
    return __builtin_ffs(x);
}
inline int __ffs(unsigned x)
{
    return __builtin_ffs((int)x);
}
inline int __ffs(long x)
{
    return __builtin_ffsl(x);
}
inline int __ffs(unsigned long x)
{
    return __builtin_ffsl((long)x);
}
inline int __ffs(long long x)
{
    return __builtin_ffsll(x);
}
inline int __ffs(unsigned long long x)
{
    return __builtin_ffsll((long long)x);
}
inline int __ffsll(unsigned long long x)
{
    return __builtin_ffsll((long long)x);
}
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
inline int __mul24(int a, int b)
{
    return (a << 8 >> 8) * (b << 8 >> 8);
}
inline unsigned __umul24(unsigned a, unsigned b)
{
    return (a & 0xffffffu) * (b & 0xffffffu);
}
inline int __mulhi(int a, int b)
{
    return (int)((int64_t)a * b >> 32);
}
inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((uint64_t)a * b >> 32);
}
inline long long __mul64hi(long long a, long long b)
{
    return (long long)((__int128)a * b >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline int __hadd(int a, int b)
{
    return (int)(((int64_t)a + b) >> 1);
}
inline unsigned __sad(int a, int b, unsigned c)
{
    return (unsigned)std::abs((long)a - b) + c;
}
inline unsigned __usad(unsigned a, unsigned b, unsigned c)
{
    return (a > b ? a - b : b - a) + c;
}
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
#endif
