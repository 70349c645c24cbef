/* SPDX-License-Identifier: Apache-2.0
 *
 * loops.h: the algorithms that the C++ library has no function for. Included by algorithms.h.
 */
#ifndef STARPORT_THRUST_LOOPS_H
#define STARPORT_THRUST_LOOPS_H
namespace thrust
{
namespace detail
{
template <class It, class Out, class T> inline Out exclusive(It a, It b, Out to, T v)
{
    for (; a != b; ++a, ++to) {
        T x = *a;
        *to = v;
        v = v + x;
    }
    return to;
}
template <class It, class F, class T, class G> inline T transform_reduce(It a, It b, F f, T v, G g)
{
    for (; a != b; ++a)
        v = g(v, f(*a));
    return v;
}
template <class It, class It2, class Out> inline Out gather(It a, It b, It2 from, Out to)
{
    for (; a != b; ++a, ++to)
        *to = from[*a];
    return to;
}
template <class It, class It2, class Out> inline void scatter(It a, It b, It2 at, Out to)
{
    for (; a != b; ++a, ++at)
        to[*at] = *a;
}
template <class It, class It2, class F> inline void sort_by_key(It a, It b, It2 values, F f)
{
    typedef std::decay_t<decltype(*a)> K;
    typedef std::decay_t<decltype(*values)> V;
    std::vector<std::pair<K, V>> t;
    It2 v = values;
    for (It i = a; i != b; ++i, ++v)
        t.emplace_back(*i, *v);
    std::stable_sort(t.begin(), t.end(),
                     [&](const auto &x, const auto &y) { return f(x.first, y.first); });
    for (const auto &p : t) {
        *a++ = p.first;
        *values++ = p.second;
    }
}
template <class It, class It2, class Out, class Out2>
inline std::pair<Out, Out2> reduce_by_key(It a, It b, It2 values, Out keys, Out2 sums)
{
    while (a != b) {
        auto k = *a;
        auto sum = *values;
        for (++a, ++values; a != b && *a == k; ++a, ++values)
            sum = sum + *values;
        *keys++ = k;
        *sums++ = sum;
    }
    return {keys, sums};
}
} // namespace detail
} // namespace thrust
#endif
