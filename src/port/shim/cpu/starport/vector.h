/* SPDX-License-Identifier: Apache-2.0
 *
 * vector.h: dim3 and the short vectors (char1 .. double4) with their operators and make_ functions.
 */
#ifndef STARPORT_VECTOR_H
#define STARPORT_VECTOR_H
#include <cstdint>

#define STARPORT_VECTOR(T, N)                                                                      \
    struct N##1                                                                                    \
    {                                                                                              \
        T x;                                                                                       \
    };                                                                                             \
    struct alignas(2 * sizeof(T)) N##2                                                             \
    {                                                                                              \
        T x, y;                                                                                    \
    };                                                                                             \
    struct N##3                                                                                    \
    {                                                                                              \
        T x, y, z;                                                                                 \
    };                                                                                             \
    struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) N##4                                   \
    {                                                                                              \
        T x, y, z, w;                                                                              \
    };                                                                                             \
    inline N##1 make_##N##1(T x)                                                                   \
    {                                                                                              \
        return {x};                                                                                \
    }                                                                                              \
    inline N##2 make_##N##2(T x, T y)                                                              \
    {                                                                                              \
        return {x, y};                                                                             \
    }                                                                                              \
    inline N##3 make_##N##3(T x, T y, T z)                                                         \
    {                                                                                              \
        return {x, y, z};                                                                          \
    }                                                                                              \
    inline N##4 make_##N##4(T x, T y, T z, T w)                                                    \
    {                                                                                              \
        return {x, y, z, w};                                                                       \
    }

STARPORT_VECTOR(signed char, char)
STARPORT_VECTOR(unsigned char, uchar)
STARPORT_VECTOR(short, short)
STARPORT_VECTOR(unsigned short, ushort)
STARPORT_VECTOR(int, int)
STARPORT_VECTOR(unsigned int, uint)
STARPORT_VECTOR(long, long)
STARPORT_VECTOR(unsigned long, ulong)
STARPORT_VECTOR(long long, longlong)
STARPORT_VECTOR(unsigned long long, ulonglong)
STARPORT_VECTOR(float, float)
STARPORT_VECTOR(double, double)
#undef STARPORT_VECTOR

/* HIP's vectors have element-wise operators, unlike CUDA's. */
#define STARPORT_OP(V, T, op)                                                                      \
    inline V##2 operator op(const V##2 & a, const V##2 & b)                                        \
    {                                                                                              \
        return {T(a.x op b.x), T(a.y op b.y)};                                                     \
    }                                                                                              \
    inline V##3 operator op(const V##3 & a, const V##3 & b)                                        \
    {                                                                                              \
        return {T(a.x op b.x), T(a.y op b.y), T(a.z op b.z)};                                      \
    }                                                                                              \
    inline V##4 operator op(const V##4 & a, const V##4 & b)                                        \
    {                                                                                              \
        return {T(a.x op b.x), T(a.y op b.y), T(a.z op b.z), T(a.w op b.w)};                       \
    }                                                                                              \
    inline V##2 operator op(const V##2 & a, T s)                                                   \
    {                                                                                              \
        return {T(a.x op s), T(a.y op s)};                                                         \
    }                                                                                              \
    inline V##3 operator op(const V##3 & a, T s)                                                   \
    {                                                                                              \
        return {T(a.x op s), T(a.y op s), T(a.z op s)};                                            \
    }                                                                                              \
    inline V##4 operator op(const V##4 & a, T s)                                                   \
    {                                                                                              \
        return {T(a.x op s), T(a.y op s), T(a.z op s), T(a.w op s)};                               \
    }                                                                                              \
    inline V##2 operator op(T s, const V##2 & a)                                                   \
    {                                                                                              \
        return {T(s op a.x), T(s op a.y)};                                                         \
    }                                                                                              \
    inline V##3 operator op(T s, const V##3 & a)                                                   \
    {                                                                                              \
        return {T(s op a.x), T(s op a.y), T(s op a.z)};                                            \
    }                                                                                              \
    inline V##4 operator op(T s, const V##4 & a)                                                   \
    {                                                                                              \
        return {T(s op a.x), T(s op a.y), T(s op a.z), T(s op a.w)};                               \
    }                                                                                              \
    inline V##2 &operator op##=(V##2 & a, const V##2 & b)                                          \
    {                                                                                              \
        return a = a op b;                                                                         \
    }                                                                                              \
    inline V##3 &operator op##=(V##3 & a, const V##3 & b)                                          \
    {                                                                                              \
        return a = a op b;                                                                         \
    }                                                                                              \
    inline V##4 &operator op##=(V##4 & a, const V##4 & b)                                          \
    {                                                                                              \
        return a = a op b;                                                                         \
    }                                                                                              \
    inline V##2 &operator op##=(V##2 & a, T b)                                                     \
    {                                                                                              \
        return a = a op b;                                                                         \
    }                                                                                              \
    inline V##3 &operator op##=(V##3 & a, T b)                                                     \
    {                                                                                              \
        return a = a op b;                                                                         \
    }                                                                                              \
    inline V##4 &operator op##=(V##4 & a, T b)                                                     \
    {                                                                                              \
        return a = a op b;                                                                         \
    }
#define STARPORT_OPS(V, T)                                                                         \
    STARPORT_OP(V, T, +) STARPORT_OP(V, T, -) STARPORT_OP(V, T, *) STARPORT_OP(V, T, /)
/* A program that brings its own operators (a common habit in CUDA) turns these off. */
#ifndef STARPORT_NO_VECTOR_OPERATORS
STARPORT_OPS(float, float)
STARPORT_OPS(double, double)
STARPORT_OPS(int, int)
STARPORT_OPS(uint, unsigned)
#endif
#undef STARPORT_OPS
#undef STARPORT_OP

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

struct dim3 {
    uint32_t x, y, z;
    constexpr dim3(uint32_t x_ = 1, uint32_t y_ = 1, uint32_t z_ = 1) : x(x_), y(y_), z(z_) {}
    dim3(const uint3 &v) : x(v.x), y(v.y), z(v.z) {}
    operator uint3() const { return {x, y, z}; }
};

/* Where the running lane is. Set by the runtime at every switch. */
extern __thread uint3 threadIdx, blockIdx;
extern __thread uint3 starport_block_dim, starport_grid_dim;
#define blockDim starport_block_dim
#define gridDim starport_grid_dim
#endif
