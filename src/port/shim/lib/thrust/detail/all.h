/* SPDX-License-Identifier: Apache-2.0
 *
 * all.h: the common part of Thrust's interface over the C++ library, for `starport verify` (runs)
 * and `starport check` where rocThrust is not installed (compiles). Vectors live in host memory;
 * every algorithm runs on the host, with or without an execution policy as its first argument.
 */
#ifndef STARPORT_THRUST_ALL_H
#define STARPORT_THRUST_ALL_H
#include <hip/hip_runtime.h>
#include <algorithm>
#include <complex>
#include <functional>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

namespace thrust
{
namespace detail
{
struct policy {
    template <class S> policy on(S) const { return *this; }
    template <class A> policy operator()(A &&) const { return *this; }
};
template <class T> struct is_policy : std::is_base_of<policy, std::decay_t<T>> {
};
template <class T> using not_policy = std::enable_if_t<!is_policy<T>::value, int>;
} // namespace detail
struct device_policy : detail::policy {
};
static const device_policy device{};
static const detail::policy host{}, seq{};
namespace hip
{
static const detail::policy par{}, par_nosync{};
}

template <class T> using plus = std::plus<T>;
template <class T> using minus = std::minus<T>;
template <class T> using multiplies = std::multiplies<T>;
template <class T> using divides = std::divides<T>;
template <class T> using negate = std::negate<T>;
template <class T> using less = std::less<T>;
template <class T> using greater = std::greater<T>;
template <class T> using equal_to = std::equal_to<T>;
template <class T> struct maximum {
    __host__ __device__ T operator()(const T &a, const T &b) const { return a < b ? b : a; }
};
template <class T> struct minimum {
    __host__ __device__ T operator()(const T &a, const T &b) const { return b < a ? b : a; }
};
template <class T> struct identity {
    __host__ __device__ T operator()(const T &a) const { return a; }
};
template <class T> struct square {
    __host__ __device__ T operator()(const T &a) const { return a * a; }
};
template <class A, class R> struct unary_function {
    typedef A argument_type;
    typedef R result_type;
};
template <class A, class B, class R> struct binary_function {
    typedef A first_argument_type;
    typedef B second_argument_type;
    typedef R result_type;
};
template <class A, class B> using pair = std::pair<A, B>;
using std::make_pair;
template <class T> using complex = std::complex<T>;

template <class T> class device_ptr
{
  public:
    typedef std::remove_cv_t<T> value_type;
    typedef T &reference;
    typedef T *pointer;
    typedef std::ptrdiff_t difference_type;
    typedef std::random_access_iterator_tag iterator_category;
    __host__ __device__ device_ptr(T *p = nullptr) : p_(p) {}
    __host__ __device__ T *get() const { return p_; }
    __host__ __device__ explicit operator T *() const { return p_; }
    __host__ __device__ T &operator*() const { return *p_; }
    __host__ __device__ T &operator[](difference_type i) const { return p_[i]; }
    device_ptr &operator++() { return ++p_, *this; }
    device_ptr operator++(int) { return device_ptr(p_++); }
    device_ptr &operator--() { return --p_, *this; }
    device_ptr operator--(int) { return device_ptr(p_--); }
    device_ptr &operator+=(difference_type i) { return p_ += i, *this; }
    device_ptr &operator-=(difference_type i) { return p_ -= i, *this; }
    device_ptr operator+(difference_type i) const { return device_ptr(p_ + i); }
    device_ptr operator-(difference_type i) const { return device_ptr(p_ - i); }
    difference_type operator-(const device_ptr &o) const { return p_ - o.p_; }
    bool operator==(const device_ptr &o) const { return p_ == o.p_; }
    bool operator!=(const device_ptr &o) const { return p_ != o.p_; }
    bool operator<(const device_ptr &o) const { return p_ < o.p_; }

  private:
    T *p_;
};
template <class T> inline device_ptr<T> device_pointer_cast(T *p)
{
    return device_ptr<T>(p);
}
template <class T> inline T *raw_pointer_cast(T *p)
{
    return p;
}
template <class T> inline T *raw_pointer_cast(const device_ptr<T> &p)
{
    return p.get();
}
template <class T> inline T &raw_reference_cast(T &r)
{
    return r;
}
template <class T> inline device_ptr<T> device_malloc(size_t n)
{
    T *p = nullptr;
    (void)hipMalloc(&p, n * sizeof(T));
    return device_ptr<T>(p);
}
template <class T> inline void device_free(device_ptr<T> p)
{
    (void)hipFree(p.get());
}

template <class T> class host_vector : public std::vector<T>
{
  public:
    using std::vector<T>::vector;
    host_vector() {}
    host_vector(const std::vector<T> &v) : std::vector<T>(v) {}
};
template <class T> class device_vector : public std::vector<T>
{
  public:
    using std::vector<T>::vector;
    device_vector() {}
    device_vector(const std::vector<T> &v) : std::vector<T>(v) {}
    device_ptr<T> data() { return device_ptr<T>(std::vector<T>::data()); }
    const T *data() const { return std::vector<T>::data(); }
};

template <class T> class counting_iterator
{
  public:
    typedef T value_type;
    typedef T reference;
    typedef const T *pointer;
    typedef std::ptrdiff_t difference_type;
    typedef std::random_access_iterator_tag iterator_category;
    __host__ __device__ explicit counting_iterator(T at = T()) : at_(at) {}
    __host__ __device__ T operator*() const { return at_; }
    __host__ __device__ T operator[](difference_type i) const { return at_ + (T)i; }
    counting_iterator &operator++() { return ++at_, *this; }
    counting_iterator operator++(int) { return counting_iterator(at_++); }
    counting_iterator &operator--() { return --at_, *this; }
    counting_iterator &operator+=(difference_type i) { return at_ += (T)i, *this; }
    counting_iterator operator+(difference_type i) const { return counting_iterator(at_ + (T)i); }
    counting_iterator operator-(difference_type i) const { return counting_iterator(at_ - (T)i); }
    difference_type operator-(const counting_iterator &o) const
    {
        return (difference_type)at_ - (difference_type)o.at_;
    }
    bool operator==(const counting_iterator &o) const { return at_ == o.at_; }
    bool operator!=(const counting_iterator &o) const { return at_ != o.at_; }
    bool operator<(const counting_iterator &o) const { return at_ < o.at_; }

  private:
    T at_;
};
template <class T> inline counting_iterator<T> make_counting_iterator(T at)
{
    return counting_iterator<T>(at);
}
} // namespace thrust
#include "algorithms.h"
#endif
