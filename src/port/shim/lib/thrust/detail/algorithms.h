/* SPDX-License-Identifier: Apache-2.0
 *
 * algorithms.h: Thrust's algorithms, each with and without a policy. Included by all.h.
 */
#ifndef STARPORT_THRUST_ALGORITHMS_H
#define STARPORT_THRUST_ALGORITHMS_H
#include "loops.h"

namespace thrust
{
template <class It, detail::not_policy<It> = 0> inline void sort(It a, It b)
{
    std::sort(a, b);
}
template <class It, class F, detail::not_policy<It> = 0> inline void sort(It a, It b, F f)
{
    std::sort(a, b, f);
}
template <class It, detail::not_policy<It> = 0> inline void stable_sort(It a, It b)
{
    std::stable_sort(a, b);
}
template <class It, class F, detail::not_policy<It> = 0> inline void stable_sort(It a, It b, F f)
{
    std::stable_sort(a, b, f);
}
template <class It, class T, detail::not_policy<It> = 0> inline void fill(It a, It b, const T &v)
{
    std::fill(a, b, v);
}
template <class It, detail::not_policy<It> = 0> inline void sequence(It a, It b)
{
    std::iota(a, b, std::decay_t<decltype(*a)>());
}
template <class It, class T, detail::not_policy<It> = 0> inline void sequence(It a, It b, T v)
{
    std::iota(a, b, v);
}
template <class It, class Out, detail::not_policy<It> = 0> inline Out copy(It a, It b, Out to)
{
    return std::copy(a, b, to);
}
template <class It, class Out, class F, detail::not_policy<It> = 0>
inline Out copy_if(It a, It b, Out to, F f)
{
    return std::copy_if(a, b, to, f);
}
template <class It, class N, class Out, detail::not_policy<It> = 0>
inline Out copy_n(It a, N n, Out to)
{
    return std::copy_n(a, n, to);
}
template <class It, class Out, class F, detail::not_policy<It> = 0>
inline Out transform(It a, It b, Out to, F f)
{
    return std::transform(a, b, to, f);
}
template <class It, class It2, class Out, class F, detail::not_policy<It> = 0>
inline Out transform(It a, It b, It2 c, Out to, F f)
{
    return std::transform(a, b, c, to, f);
}
template <class It, class F, detail::not_policy<It> = 0> inline It for_each(It a, It b, F f)
{
    return std::for_each(a, b, f), b;
}
template <class It, class F, detail::not_policy<It> = 0> inline void generate(It a, It b, F f)
{
    std::generate(a, b, f);
}
template <class It, detail::not_policy<It> = 0> inline It unique(It a, It b)
{
    return std::unique(a, b);
}
template <class It, class F, detail::not_policy<It> = 0> inline It remove_if(It a, It b, F f)
{
    return std::remove_if(a, b, f);
}
template <class It, class F, detail::not_policy<It> = 0> inline It partition(It a, It b, F f)
{
    return std::partition(a, b, f);
}
template <class It, detail::not_policy<It> = 0> inline void reverse(It a, It b)
{
    std::reverse(a, b);
}
template <class It, class T, detail::not_policy<It> = 0>
inline void replace(It a, It b, const T &v, const T &w)
{
    std::replace(a, b, v, w);
}
template <class It, class It2, detail::not_policy<It> = 0> inline It2 swap_ranges(It a, It b, It2 c)
{
    return std::swap_ranges(a, b, c);
}
template <class It, detail::not_policy<It> = 0> inline It max_element(It a, It b)
{
    return std::max_element(a, b);
}
template <class It, detail::not_policy<It> = 0> inline It min_element(It a, It b)
{
    return std::min_element(a, b);
}
template <class It, class T, detail::not_policy<It> = 0> inline It find(It a, It b, const T &v)
{
    return std::find(a, b, v);
}
template <class It, class T, detail::not_policy<It> = 0>
inline It lower_bound(It a, It b, const T &v)
{
    return std::lower_bound(a, b, v);
}
template <class It, class T, detail::not_policy<It> = 0>
inline It upper_bound(It a, It b, const T &v)
{
    return std::upper_bound(a, b, v);
}
template <class It, class T, detail::not_policy<It> = 0> inline long count(It a, It b, const T &v)
{
    return (long)std::count(a, b, v);
}
template <class It, class F, detail::not_policy<It> = 0> inline long count_if(It a, It b, F f)
{
    return (long)std::count_if(a, b, f);
}
template <class It, class F, detail::not_policy<It> = 0> inline bool all_of(It a, It b, F f)
{
    return std::all_of(a, b, f);
}
template <class It, class F, detail::not_policy<It> = 0> inline bool any_of(It a, It b, F f)
{
    return std::any_of(a, b, f);
}
template <class It, detail::not_policy<It> = 0> inline bool is_sorted(It a, It b)
{
    return std::is_sorted(a, b);
}
template <class It, class It2, detail::not_policy<It> = 0> inline bool equal(It a, It b, It2 c)
{
    return std::equal(a, b, c);
}
template <class It, detail::not_policy<It> = 0> inline auto reduce(It a, It b)
{
    return std::accumulate(a, b, std::decay_t<decltype(*a)>());
}
template <class It, class T, detail::not_policy<It> = 0> inline T reduce(It a, It b, T v)
{
    return std::accumulate(a, b, v);
}
template <class It, class T, class F, detail::not_policy<It> = 0>
inline T reduce(It a, It b, T v, F f)
{
    return std::accumulate(a, b, v, f);
}
template <class It, class It2, class T, detail::not_policy<It> = 0>
inline T inner_product(It a, It b, It2 c, T v)
{
    return std::inner_product(a, b, c, v);
}
template <class It, class Out, detail::not_policy<It> = 0>
inline Out inclusive_scan(It a, It b, Out to)
{
    return std::partial_sum(a, b, to);
}
template <class It, class Out, class F, detail::not_policy<It> = 0>
inline Out inclusive_scan(It a, It b, Out to, F f)
{
    return std::partial_sum(a, b, to, f);
}
template <class It, class Out, detail::not_policy<It> = 0>
inline Out exclusive_scan(It a, It b, Out to)
{
    return detail::exclusive(a, b, to, std::decay_t<decltype(*a)>());
}
template <class It, class Out, class T, detail::not_policy<It> = 0>
inline Out exclusive_scan(It a, It b, Out to, T v)
{
    return detail::exclusive(a, b, to, v);
}
template <class It, class F, class T, class G, detail::not_policy<It> = 0>
inline T transform_reduce(It a, It b, F f, T v, G g)
{
    return detail::transform_reduce(a, b, f, v, g);
}
template <class It, class It2, class Out, detail::not_policy<It> = 0>
inline Out gather(It a, It b, It2 c, Out to)
{
    return detail::gather(a, b, c, to);
}
template <class It, class It2, class Out, detail::not_policy<It> = 0>
inline void scatter(It a, It b, It2 c, Out to)
{
    detail::scatter(a, b, c, to);
}
template <class It, class It2, detail::not_policy<It> = 0>
inline void sort_by_key(It a, It b, It2 c)
{
    detail::sort_by_key(a, b, c, std::less<std::decay_t<decltype(*a)>>());
}
template <class It, class It2, class F, detail::not_policy<It> = 0>
inline void sort_by_key(It a, It b, It2 c, F f)
{
    detail::sort_by_key(a, b, c, f);
}
template <class It, class It2, detail::not_policy<It> = 0>
inline void stable_sort_by_key(It a, It b, It2 c)
{
    detail::sort_by_key(a, b, c, std::less<std::decay_t<decltype(*a)>>());
}
template <class It, class It2, class Out, class Out2, detail::not_policy<It> = 0>
inline std::pair<Out, Out2> reduce_by_key(It a, It b, It2 c, Out to, Out2 w)
{
    return detail::reduce_by_key(a, b, c, to, w);
}

/* The same with an execution policy before the other arguments. */
#define STARPORT_WITH_POLICY(name)                                                                 \
    template <class P, class... A, std::enable_if_t<detail::is_policy<P>::value, int> = 0>         \
    inline decltype(auto) name(const P &, A &&...a)                                                \
    {                                                                                              \
        return thrust::name(std::forward<A>(a)...);                                                \
    }
STARPORT_WITH_POLICY(sort)
STARPORT_WITH_POLICY(stable_sort)
STARPORT_WITH_POLICY(fill)
STARPORT_WITH_POLICY(sequence)
STARPORT_WITH_POLICY(copy)
STARPORT_WITH_POLICY(copy_if)
STARPORT_WITH_POLICY(copy_n)
STARPORT_WITH_POLICY(transform)
STARPORT_WITH_POLICY(for_each)
STARPORT_WITH_POLICY(generate)
STARPORT_WITH_POLICY(unique)
STARPORT_WITH_POLICY(remove_if)
STARPORT_WITH_POLICY(partition)
STARPORT_WITH_POLICY(reverse)
STARPORT_WITH_POLICY(replace)
STARPORT_WITH_POLICY(swap_ranges)
STARPORT_WITH_POLICY(max_element)
STARPORT_WITH_POLICY(min_element)
STARPORT_WITH_POLICY(find)
STARPORT_WITH_POLICY(lower_bound)
STARPORT_WITH_POLICY(upper_bound)
STARPORT_WITH_POLICY(count)
STARPORT_WITH_POLICY(count_if)
STARPORT_WITH_POLICY(all_of)
STARPORT_WITH_POLICY(any_of)
STARPORT_WITH_POLICY(is_sorted)
STARPORT_WITH_POLICY(equal)
STARPORT_WITH_POLICY(reduce)
STARPORT_WITH_POLICY(inner_product)
STARPORT_WITH_POLICY(inclusive_scan)
STARPORT_WITH_POLICY(exclusive_scan)
STARPORT_WITH_POLICY(transform_reduce)
STARPORT_WITH_POLICY(gather)
STARPORT_WITH_POLICY(scatter)
STARPORT_WITH_POLICY(sort_by_key)
STARPORT_WITH_POLICY(stable_sort_by_key)
STARPORT_WITH_POLICY(reduce_by_key)
#undef STARPORT_WITH_POLICY
} // namespace thrust
#endif
