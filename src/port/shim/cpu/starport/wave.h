/* SPDX-License-Identifier: Apache-2.0
 *
 * wave.h: shuffles, votes, matches and barriers, with and without _sync, as HIP defines them. Masks
 * and ballots are 64-bit. A shuffle from a lane that is not active gives zero bits, as the
 * hardware's ds_bpermute does.
 */
#ifndef STARPORT_WAVE_H
#define STARPORT_WAVE_H
#include "core.h"
#include <type_traits>

#ifdef STARPORT_WAVE_FIXED
static constexpr int warpSize = STARPORT_WAVE_FIXED;
#else
static const int &warpSize = starport_wave_size; /* no constant expression, as in ROCm 7 */
#endif
namespace starport
{
constexpr uint64_t all_lanes = ~0ull;
template <class T> STARPORT_INLINE T from_lane(const starport_view *v, int lane)
{
    T r;
    memset(static_cast<void *>(&r), 0, sizeof r);
    if (v->peer[lane & 63])
        memcpy(static_cast<void *>(&r), v->peer[lane & 63], sizeof r);
    return r;
}
template <class T> STARPORT_INLINE T shuffle(uint64_t mask, T value, int src, int width)
{
    static_assert(sizeof(T) <= STARPORT_SLOT_BYTES, "too large for one shuffle");
    const starport_view *v = starport_wave_op(&value, sizeof value, mask);
    return from_lane<T>(v, (int)(v->lane & ~(unsigned)(width - 1)) + (src & (width - 1)));
}
template <class T> STARPORT_INLINE T shuffle_up(uint64_t mask, T value, unsigned d, int width)
{
    const starport_view *v = starport_wave_op(&value, sizeof value, mask);
    int self = (int)v->lane, src = self - (int)d;
    return from_lane<T>(v, src < (self & ~(width - 1)) ? self : src);
}
template <class T> STARPORT_INLINE T shuffle_down(uint64_t mask, T value, unsigned d, int width)
{
    const starport_view *v = starport_wave_op(&value, sizeof value, mask);
    int self = (int)v->lane;
    return from_lane<T>(v, (self & (width - 1)) + (int)d >= width ? self : self + (int)d);
}
template <class T> STARPORT_INLINE T shuffle_xor(uint64_t mask, T value, int x, int width)
{
    const starport_view *v = starport_wave_op(&value, sizeof value, mask);
    int self = (int)v->lane, src = self ^ x;
    return from_lane<T>(v, src >= ((self + width) & ~(width - 1)) ? self : src);
}
STARPORT_INLINE uint64_t vote(uint64_t mask, bool p)
{
    unsigned char b = p;
    const starport_view *v = starport_wave_op(&b, 1, mask);
    uint64_t r = 0;
    for (uint64_t left = v->active; left; left &= left - 1)
        r |= (uint64_t)(*v->peer[__builtin_ctzll(left)] & 1) << __builtin_ctzll(left);
    return r;
}
STARPORT_INLINE uint64_t wave_mask()
{
    return starport_wave_size == 64 ? all_lanes : 0xffffffffull;
}
template <class T> STARPORT_INLINE uint64_t match_any(uint64_t mask, T value)
{
    const starport_view *v = starport_wave_op(&value, sizeof value, mask);
    uint64_t r = 0;
    for (uint64_t left = v->active & mask; left; left &= left - 1)
        if (memcmp(v->peer[__builtin_ctzll(left)], &value, sizeof value) == 0)
            r |= left & -left;
    return r;
}
template <class T> STARPORT_INLINE uint64_t match_all(uint64_t mask, T value, int *same)
{
    const starport_view *v = starport_wave_op(&value, sizeof value, mask);
    uint64_t all = v->active & mask;
    *same = 1;
    for (uint64_t left = all; left; left &= left - 1)
        if (memcmp(v->peer[__builtin_ctzll(left)], &value, sizeof value) != 0)
            *same = 0;
    return *same ? all : 0;
}
/* Sign extension of a 32-bit signed mask (-1) must not hide the missing upper half: HIP refuses
 * anything but 64 bits; here it counts as what it is, 32 bits. */
template <class M> STARPORT_INLINE uint64_t mask_bits(M m)
{
    return sizeof(M) < 8 ? (uint64_t)m & 0xffffffffull : (uint64_t)m;
}
} // namespace starport

template <class T> STARPORT_INLINE T __shfl(T v, int src, int width = warpSize)
{
    return starport::shuffle(starport::all_lanes, v, src, width);
}
template <class T> STARPORT_INLINE T __shfl_up(T v, unsigned d, int width = warpSize)
{
    return starport::shuffle_up(starport::all_lanes, v, d, width);
}
template <class T> STARPORT_INLINE T __shfl_down(T v, unsigned d, int width = warpSize)
{
    return starport::shuffle_down(starport::all_lanes, v, d, width);
}
template <class T> STARPORT_INLINE T __shfl_xor(T v, int x, int width = warpSize)
{
    return starport::shuffle_xor(starport::all_lanes, v, x, width);
}
template <class M, class T> STARPORT_INLINE T __shfl_sync(M m, T v, int src, int width = warpSize)
{
    return starport::shuffle(starport::mask_bits(m), v, src, width);
}
template <class M, class T>
STARPORT_INLINE T __shfl_up_sync(M m, T v, unsigned d, int width = warpSize)
{
    return starport::shuffle_up(starport::mask_bits(m), v, d, width);
}
template <class M, class T>
STARPORT_INLINE T __shfl_down_sync(M m, T v, unsigned d, int width = warpSize)
{
    return starport::shuffle_down(starport::mask_bits(m), v, d, width);
}
template <class M, class T> STARPORT_INLINE T __shfl_xor_sync(M m, T v, int x, int width = warpSize)
{
    return starport::shuffle_xor(starport::mask_bits(m), v, x, width);
}

STARPORT_INLINE unsigned long long __ballot(int p)
{
    return starport::vote(starport::all_lanes, p != 0);
}
STARPORT_INLINE unsigned long long __activemask()
{
    return starport::vote(starport::all_lanes, true);
}
STARPORT_INLINE int __any(int p)
{
    return starport::vote(starport::all_lanes, p != 0) != 0;
}
STARPORT_INLINE int __all(int p)
{
    return starport::vote(starport::all_lanes, p == 0) == 0;
}
template <class M> STARPORT_INLINE unsigned long long __ballot_sync(M m, int p)
{
    return starport::vote(starport::mask_bits(m), p != 0) & starport::mask_bits(m);
}
template <class M> STARPORT_INLINE int __any_sync(M m, int p)
{
    return (starport::vote(starport::mask_bits(m), p != 0) & starport::mask_bits(m)) != 0;
}
template <class M> STARPORT_INLINE int __all_sync(M m, int p)
{
    return (starport::vote(starport::mask_bits(m), p == 0) & starport::mask_bits(m)) == 0;
}
template <class T> STARPORT_INLINE unsigned long long __match_any(T v)
{
    return starport::match_any(starport::all_lanes, v);
}
template <class M, class T> STARPORT_INLINE unsigned long long __match_any_sync(M m, T v)
{
    return starport::match_any(starport::mask_bits(m), v);
}
template <class T> STARPORT_INLINE unsigned long long __match_all(T v, int *same)
{
    return starport::match_all(starport::all_lanes, v, same);
}
template <class M, class T> STARPORT_INLINE unsigned long long __match_all_sync(M m, T v, int *same)
{
    return starport::match_all(starport::mask_bits(m), v, same);
}
template <class M> STARPORT_INLINE unsigned __reduce_add_sync(M m, unsigned v)
{
    const starport_view *w = starport_wave_op(&v, sizeof v, starport::mask_bits(m));
    unsigned r = 0;
    for (uint64_t left = w->active & starport::mask_bits(m); left; left &= left - 1)
        r += starport::from_lane<unsigned>(w, __builtin_ctzll(left));
    return r;
}
STARPORT_INLINE void __syncwarp()
{
    (void)starport_wave_op(nullptr, 0, starport::all_lanes);
}
template <class M> STARPORT_INLINE void __syncwarp(M m)
{
    (void)starport_wave_op(nullptr, 0, starport::mask_bits(m));
}
STARPORT_INLINE unsigned __lane_id()
{
    return starport_lane_id();
}
STARPORT_INLINE void __syncthreads()
{
    (void)starport_barrier(0);
}
STARPORT_INLINE int __syncthreads_count(int p)
{
    return starport_barrier(p != 0);
}
STARPORT_INLINE int __syncthreads_or(int p)
{
    return starport_barrier(p != 0) != 0;
}
STARPORT_INLINE int __syncthreads_and(int p)
{
    return starport_barrier(p == 0) == 0;
}
inline void __threadfence()
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void __threadfence_block()
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void __threadfence_system()
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
#define __builtin_amdgcn_wave_barrier() starport_converge()
#define __builtin_amdgcn_s_barrier() ((void)starport_barrier(0))
#endif
