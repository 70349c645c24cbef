/* SPDX-License-Identifier: Apache-2.0
 *
 * device.hpp: device-wide functions, on the host, and iterators. Included by hipcub.hpp.
 */
#ifndef STARPORT_HIPCUB_DEVICE_HPP
#define STARPORT_HIPCUB_DEVICE_HPP
namespace hipcub
{
template <class T> class CountingInputIterator
{
  public:
    typedef T value_type;
    typedef T reference;
    typedef T *pointer;
    typedef long difference_type;
    typedef std::random_access_iterator_tag iterator_category;
    __host__ __device__ explicit CountingInputIterator(T at) : at_(at) {}
    __host__ __device__ T operator*() const { return at_; }
    __host__ __device__ T operator[](long i) const { return at_ + (T)i; }
    __host__ __device__ CountingInputIterator operator+(long i) const
    {
        return CountingInputIterator(at_ + (T)i);
    }

  private:
    T at_;
};
template <class T, class F, class It> class TransformInputIterator
{
  public:
    typedef T value_type;
    typedef T reference;
    typedef T *pointer;
    typedef long difference_type;
    typedef std::random_access_iterator_tag iterator_category;
    __host__ __device__ TransformInputIterator(It it, F f) : it_(it), f_(f) {}
    __host__ __device__ T operator*() const { return f_(*it_); }
    __host__ __device__ T operator[](long i) const { return f_(it_[i]); }
    __host__ __device__ TransformInputIterator operator+(long i) const
    {
        return TransformInputIterator(it_ + i, f_);
    }

  private:
    It it_;
    F f_;
};
template <class T> struct DoubleBuffer {
    T *d_buffers[2];
    int selector = 0;
    DoubleBuffer(T *a, T *b) : d_buffers{a, b} {}
    T *Current() { return d_buffers[selector]; }
    T *Alternate() { return d_buffers[1 - selector]; }
};

namespace detail
{
/* Every device-wide function is called twice: first with NULL, to ask how much it needs. */
inline bool asks_size(void *temp, size_t &bytes)
{
    if (!temp)
        bytes = 256;
    return !temp;
}
} // namespace detail

struct DeviceReduce {
    template <class In, class Out, class N, class F, class T>
    static hipError_t Reduce(void *temp, size_t &bytes, In in, Out out, N n, F f, T initial,
                             hipStream_t = nullptr, bool = false)
    {
        if (detail::asks_size(temp, bytes))
            return hipSuccess;
        for (N i = 0; i < n; i++)
            initial = f(initial, (T)in[i]);
        *out = initial;
        return hipSuccess;
    }
    template <class In, class Out, class N>
    static hipError_t Sum(void *temp, size_t &bytes, In in, Out out, N n, hipStream_t s = nullptr,
                          bool = false)
    {
        typedef typename std::iterator_traits<In>::value_type T;
        return Reduce(temp, bytes, in, out, n, hipcub::Sum(), T(0), s);
    }
    template <class In, class Out, class N>
    static hipError_t Max(void *temp, size_t &bytes, In in, Out out, N n, hipStream_t s = nullptr,
                          bool = false)
    {
        typedef typename std::iterator_traits<In>::value_type T;
        return Reduce(temp, bytes, in, out, n, hipcub::Max(), std::numeric_limits<T>::lowest(), s);
    }
    template <class In, class Out, class N>
    static hipError_t Min(void *temp, size_t &bytes, In in, Out out, N n, hipStream_t s = nullptr,
                          bool = false)
    {
        typedef typename std::iterator_traits<In>::value_type T;
        return Reduce(temp, bytes, in, out, n, hipcub::Min(), std::numeric_limits<T>::max(), s);
    }
};

struct DeviceScan {
    template <class In, class Out, class N>
    static hipError_t InclusiveSum(void *temp, size_t &bytes, In in, Out out, N n,
                                   hipStream_t = nullptr, bool = false)
    {
        typedef typename std::iterator_traits<In>::value_type T;
        if (detail::asks_size(temp, bytes))
            return hipSuccess;
        T sum = T(0);
        for (N i = 0; i < n; i++)
            out[i] = sum = sum + in[i];
        return hipSuccess;
    }
    template <class In, class Out, class F, class T, class N>
    static hipError_t ExclusiveScan(void *temp, size_t &bytes, In in, Out out, F f, T initial, N n,
                                    hipStream_t = nullptr, bool = false)
    {
        if (detail::asks_size(temp, bytes))
            return hipSuccess;
        for (N i = 0; i < n; i++) {
            T x = in[i];
            out[i] = initial;
            initial = f(initial, x);
        }
        return hipSuccess;
    }
    template <class In, class Out, class N>
    static hipError_t ExclusiveSum(void *temp, size_t &bytes, In in, Out out, N n,
                                   hipStream_t s = nullptr, bool = false)
    {
        typedef typename std::iterator_traits<In>::value_type T;
        return ExclusiveScan(temp, bytes, in, out, hipcub::Sum(), T(0), n, s);
    }
};

struct DeviceSelect {
    template <class In, class Out, class Count, class N, class F>
    static hipError_t If(void *temp, size_t &bytes, In in, Out out, Count count, N n, F f,
                         hipStream_t = nullptr, bool = false)
    {
        if (detail::asks_size(temp, bytes))
            return hipSuccess;
        *count = 0;
        for (N i = 0; i < n; i++)
            if (f(in[i]))
                out[(*count)++] = in[i];
        return hipSuccess;
    }
    template <class In, class Flags, class Out, class Count, class N>
    static hipError_t Flagged(void *temp, size_t &bytes, In in, Flags flags, Out out, Count count,
                              N n, hipStream_t = nullptr, bool = false)
    {
        if (detail::asks_size(temp, bytes))
            return hipSuccess;
        *count = 0;
        for (N i = 0; i < n; i++)
            if (flags[i])
                out[(*count)++] = in[i];
        return hipSuccess;
    }
};

struct DeviceRadixSort {
    template <class K, class N>
    static hipError_t SortKeys(void *temp, size_t &bytes, const K *in, K *out, N n, int = 0,
                               int = sizeof(K) * 8, hipStream_t = nullptr, bool = false)
    {
        if (detail::asks_size(temp, bytes))
            return hipSuccess;
        std::copy(in, in + n, out);
        std::sort(out, out + n);
        return hipSuccess;
    }
    template <class K, class V, class N>
    static hipError_t SortPairs(void *temp, size_t &bytes, const K *in, K *out, const V *values,
                                V *values_out, N n, int = 0, int = sizeof(K) * 8,
                                hipStream_t = nullptr, bool = false)
    {
        if (detail::asks_size(temp, bytes))
            return hipSuccess;
        std::vector<N> order((size_t)n);
        for (N i = 0; i < n; i++)
            order[(size_t)i] = i;
        std::stable_sort(order.begin(), order.end(), [=](N a, N b) { return in[a] < in[b]; });
        for (N i = 0; i < n; i++) {
            out[i] = in[order[(size_t)i]];
            values_out[i] = values[order[(size_t)i]];
        }
        return hipSuccess;
    }
};
} // namespace hipcub
#endif
