/* SPDX-License-Identifier: Apache-2.0
 *
 * block.hpp: reductions, scans, loads, stores and sorts of a block or a warp. Included by
 * hipcub.hpp.
 */
#ifndef STARPORT_HIPCUB_BLOCK_HPP
#define STARPORT_HIPCUB_BLOCK_HPP
namespace hipcub
{
struct Sum {
    template <class T> __host__ __device__ T operator()(const T &a, const T &b) const
    {
        return a + b;
    }
};
struct Max {
    template <class T> __host__ __device__ T operator()(const T &a, const T &b) const
    {
        return a < b ? b : a;
    }
};
struct Min {
    template <class T> __host__ __device__ T operator()(const T &a, const T &b) const
    {
        return b < a ? b : a;
    }
};
struct Equality {
    template <class T> __host__ __device__ bool operator()(const T &a, const T &b) const
    {
        return a == b;
    }
};
template <class K, class V> struct KeyValuePair {
    K key;
    V value;
};
struct ArgMax {
    template <class P> __host__ __device__ P operator()(const P &a, const P &b) const
    {
        return a.value < b.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};
struct ArgMin {
    template <class P> __host__ __device__ P operator()(const P &a, const P &b) const
    {
        return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};
enum BlockReduceAlgorithm {
    BLOCK_REDUCE_RAKING,
    BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
    BLOCK_REDUCE_WARP_REDUCTIONS
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT,
    BLOCK_LOAD_VECTORIZE,
    BLOCK_LOAD_TRANSPOSE,
    BLOCK_LOAD_STRIPED,
    BLOCK_LOAD_WARP_TRANSPOSE
};
enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT,
    BLOCK_STORE_VECTORIZE,
    BLOCK_STORE_TRANSPOSE,
    BLOCK_STORE_STRIPED,
    BLOCK_STORE_WARP_TRANSPOSE
};

namespace detail
{
__device__ inline unsigned thread_number()
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
template <class T, int N> struct Shared {
    T v[N];
};
} // namespace detail

template <class T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1,
          int = 0>
class BlockReduce
{
  public:
    typedef detail::Shared<T, X * Y * Z> TempStorage;
    __device__ explicit BlockReduce(TempStorage &s) : s_(s) {}
    /* The result is valid in thread 0. */
    template <class F> __device__ T Reduce(T x, F f, int valid)
    {
        int i = (int)detail::thread_number();
        s_.v[i] = x;
        __syncthreads();
        for (int d = 1; d < X * Y * Z; d *= 2) {
            if (i % (2 * d) == 0 && i + d < valid)
                s_.v[i] = f(s_.v[i], s_.v[i + d]);
            __syncthreads();
        }
        return s_.v[0];
    }
    template <class F> __device__ T Reduce(T x, F f) { return Reduce(x, f, X * Y * Z); }
    __device__ T Sum(T x) { return Reduce(x, hipcub::Sum()); }
    __device__ T Sum(T x, int valid) { return Reduce(x, hipcub::Sum(), valid); }
    template <int N> __device__ T Sum(T (&x)[N])
    {
        T sum = x[0];
        for (int i = 1; i < N; i++)
            sum = sum + x[i];
        return Sum(sum);
    }

  private:
    TempStorage &s_;
};

template <class T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
class BlockScan
{
  public:
    typedef detail::Shared<T, X * Y * Z> TempStorage;
    __device__ explicit BlockScan(TempStorage &s) : s_(s) {}
    template <class F> __device__ void InclusiveScan(T x, T &out, F f)
    {
        int i = (int)detail::thread_number();
        s_.v[i] = x;
        __syncthreads();
        for (int d = 1; d < X * Y * Z; d *= 2) {
            T u = i >= d ? f(s_.v[i - d], s_.v[i]) : s_.v[i];
            __syncthreads();
            s_.v[i] = u;
            __syncthreads();
        }
        out = s_.v[i];
    }
    template <class F> __device__ void ExclusiveScan(T x, T &out, T initial, F f)
    {
        T all;
        InclusiveScan(x, all, f);
        int i = (int)detail::thread_number();
        out = i == 0 ? initial : f(initial, s_.v[i - 1]);
    }
    __device__ void InclusiveSum(T x, T &out) { InclusiveScan(x, out, hipcub::Sum()); }
    __device__ void InclusiveSum(T x, T &out, T &total)
    {
        InclusiveSum(x, out);
        total = s_.v[X * Y * Z - 1];
    }
    __device__ void ExclusiveSum(T x, T &out) { ExclusiveScan(x, out, T(0), hipcub::Sum()); }
    __device__ void ExclusiveSum(T x, T &out, T &total)
    {
        ExclusiveSum(x, out);
        total = s_.v[X * Y * Z - 1];
    }

  private:
    TempStorage &s_;
};

template <class T, int X, int N, BlockLoadAlgorithm = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1>
class BlockLoad
{
  public:
    struct TempStorage {
    };
    __device__ BlockLoad() {}
    __device__ explicit BlockLoad(TempStorage &) {}
    template <class It> __device__ void Load(It from, T (&x)[N])
    {
        for (int i = 0; i < N; i++)
            x[i] = from[detail::thread_number() * N + i];
    }
    template <class It> __device__ void Load(It from, T (&x)[N], int valid)
    {
        for (int i = 0; i < N; i++)
            if ((int)detail::thread_number() * N + i < valid)
                x[i] = from[detail::thread_number() * N + i];
    }
    template <class It> __device__ void Load(It from, T (&x)[N], int valid, T otherwise)
    {
        for (int i = 0; i < N; i++)
            x[i] = otherwise;
        Load(from, x, valid);
    }
};
template <class T, int X, int N, BlockStoreAlgorithm = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1>
class BlockStore
{
  public:
    struct TempStorage {
    };
    __device__ BlockStore() {}
    __device__ explicit BlockStore(TempStorage &) {}
    template <class It> __device__ void Store(It to, T (&x)[N], int valid = X * Y * Z * N)
    {
        for (int i = 0; i < N; i++)
            if ((int)detail::thread_number() * N + i < valid)
                to[detail::thread_number() * N + i] = x[i];
    }
};

template <class K, int X, int N> class BlockRadixSort
{
  public:
    typedef detail::Shared<K, X * N> TempStorage;
    __device__ explicit BlockRadixSort(TempStorage &s) : s_(s) {}
    __device__ void Sort(K (&x)[N], int = 0, int = 0) { rank_sort(x, false); }
    __device__ void SortDescending(K (&x)[N], int = 0, int = 0) { rank_sort(x, true); }

  private:
    __device__ void rank_sort(K (&x)[N], bool down)
    {
        int t = (int)detail::thread_number();
        for (int i = 0; i < N; i++)
            s_.v[t * N + i] = x[i];
        __syncthreads();
        int rank[N];
        for (int i = 0; i < N; i++) {
            rank[i] = 0;
            for (int j = 0; j < X * N; j++) {
                bool before = down ? x[i] < s_.v[j] : s_.v[j] < x[i];
                bool same = !(s_.v[j] < x[i]) && !(x[i] < s_.v[j]);
                rank[i] += before || (same && j < t * N + i);
            }
        }
        __syncthreads();
        for (int i = 0; i < N; i++)
            s_.v[rank[i]] = x[i];
        __syncthreads();
        for (int i = 0; i < N; i++)
            x[i] = s_.v[t * N + i];
    }
    TempStorage &s_;
};

template <class T, int W = 64> class WarpReduce
{
  public:
    struct TempStorage {
    };
    __device__ explicit WarpReduce(TempStorage &) {}
    template <class F> __device__ T Reduce(T x, F f)
    {
        int w = W < (int)warpSize ? W : (int)warpSize;
        for (int d = 1; d < w; d *= 2) {
            T u = __shfl_down(x, d, w);
            if ((int)(detail::thread_number() % w) + d < w)
                x = f(x, u);
        }
        return x;
    }
    __device__ T Sum(T x) { return Reduce(x, hipcub::Sum()); }

  private:
};
template <class T, int W = 64> class WarpScan
{
  public:
    struct TempStorage {
    };
    __device__ explicit WarpScan(TempStorage &) {}
    __device__ void InclusiveSum(T x, T &out)
    {
        int w = W < (int)warpSize ? W : (int)warpSize;
        for (int d = 1; d < w; d *= 2) {
            T u = __shfl_up(x, d, w);
            if ((int)(detail::thread_number() % w) >= d)
                x = x + u;
        }
        out = x;
    }
    __device__ void ExclusiveSum(T x, T &out)
    {
        T all;
        InclusiveSum(x, all);
        out = all - x;
    }
};
} // namespace hipcub
#endif
