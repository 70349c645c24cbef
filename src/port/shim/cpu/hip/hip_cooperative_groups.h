/* SPDX-License-Identifier: Apache-2.0
 *
 * hip_cooperative_groups.h: thread blocks, tiles and coalesced groups. Grid groups are declared;
 * their sync is not emulated and says so.
 */
#ifndef STARPORT_HIP_COOPERATIVE_GROUPS_H
#define STARPORT_HIP_COOPERATIVE_GROUPS_H
#include "hip_runtime.h"

namespace cooperative_groups
{
class thread_block
{
  public:
    static unsigned thread_rank()
    {
        return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    }
    static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
    static unsigned num_threads() { return size(); }
    static dim3 group_index() { return blockIdx; }
    static dim3 thread_index() { return threadIdx; }
    STARPORT_INLINE static void sync() { __syncthreads(); }
};
inline thread_block this_thread_block()
{
    return thread_block();
}

template <unsigned N, class Parent = thread_block> class thread_block_tile
{
    static_assert(N && (N & (N - 1)) == 0 && N <= 64, "a tile has 1 to 64 threads, a power of two");

  public:
    static unsigned thread_rank() { return thread_block::thread_rank() % N; }
    static constexpr unsigned size() { return N; }
    static constexpr unsigned num_threads() { return N; }
    static unsigned meta_group_rank() { return thread_block::thread_rank() / N; }
    static unsigned meta_group_size() { return (thread_block::size() + N - 1) / N; }
    STARPORT_INLINE void sync() const { __syncwarp(); }
    template <class T> STARPORT_INLINE T shfl(T v, int src) const { return __shfl(v, src, N); }
    template <class T> STARPORT_INLINE T shfl_down(T v, unsigned d) const
    {
        return __shfl_down(v, d, N);
    }
    template <class T> STARPORT_INLINE T shfl_up(T v, unsigned d) const
    {
        return __shfl_up(v, d, N);
    }
    template <class T> STARPORT_INLINE T shfl_xor(T v, int x) const { return __shfl_xor(v, x, N); }
    STARPORT_INLINE unsigned long long ballot(int p) const { return own(__ballot(p)); }
    STARPORT_INLINE int any(int p) const { return own(__ballot(p)) != 0; }
    STARPORT_INLINE int all(int p) const { return own(__ballot(!p)) == 0; }
    template <class T> STARPORT_INLINE unsigned long long match_any(T v) const
    {
        return own(__match_any(v));
    }

  private:
    static unsigned long long own(unsigned long long lanes)
    {
        unsigned first = __lane_id() / N * N;
        return N == 64 ? lanes : lanes >> first & ((1ull << (N & 63)) - 1);
    }
};
template <unsigned N, class Parent>
inline thread_block_tile<N, Parent> tiled_partition(const Parent &)
{
    return thread_block_tile<N, Parent>();
}

class coalesced_group
{
  public:
    explicit coalesced_group(unsigned long long lanes) : lanes_(lanes) {}
    unsigned size() const { return (unsigned)__popcll(lanes_); }
    unsigned num_threads() const { return size(); }
    unsigned thread_rank() const
    {
        return (unsigned)__popcll(lanes_ & ((1ull << __lane_id()) - 1));
    }
    STARPORT_INLINE void sync() const { __syncwarp(); }
    template <class T> STARPORT_INLINE T shfl(T v, int rank) const
    {
        return __shfl(v, lane_of((unsigned)rank), warpSize);
    }
    template <class T> STARPORT_INLINE T shfl_down(T v, unsigned d) const
    {
        unsigned r = thread_rank() + d;
        return __shfl(v, r < size() ? lane_of(r) : (int)__lane_id(), warpSize);
    }
    STARPORT_INLINE unsigned long long ballot(int p) const { return __ballot(p) & lanes_; }
    STARPORT_INLINE int any(int p) const { return ballot(p) != 0; }
    STARPORT_INLINE int all(int p) const { return ballot(!p) == 0; }

  private:
    int lane_of(unsigned rank) const
    {
        unsigned long long left = lanes_;
        while (rank--)
            left &= left - 1;
        return __ffsll(left) - 1;
    }
    unsigned long long lanes_;
};
STARPORT_INLINE coalesced_group coalesced_threads()
{
    return coalesced_group(__ballot(1));
}

class grid_group
{
  public:
    static unsigned long long size()
    {
        return 1ull * gridDim.x * gridDim.y * gridDim.z * thread_block::size();
    }
    static unsigned long long thread_rank()
    {
        unsigned long long b =
            blockIdx.x + gridDim.x * (blockIdx.y + 1ull * gridDim.y * blockIdx.z);
        return b * thread_block::size() + thread_block::thread_rank();
    }
    static bool is_valid() { return false; }
    STARPORT_SITE void sync() const
    {
        starport_note("not-emulated", __builtin_return_address(0), "grid-wide sync");
        __syncthreads();
    }
};
inline grid_group this_grid()
{
    return grid_group();
}
template <class G> STARPORT_INLINE void sync(const G &g)
{
    g.sync();
}
} // namespace cooperative_groups
#endif
