/* SPDX-License-Identifier: Apache-2.0
 *
 * launch.h: hipLaunchKernelGGL and its relatives. Arguments are evaluated once and converted to the
 * kernel's parameter types, as a launch does. A template kernel whose arguments are deduced goes
 * through starport_launch_deduced, which `starport verify` writes in place of the plain form.
 */
#ifndef STARPORT_LAUNCH_H
#define STARPORT_LAUNCH_H
#include "core.h"
#include "vector.h"
#include <tuple>
#include <type_traits>
#include <utility>

typedef struct ihipStream_t *hipStream_t;
extern "C" int starport_last_error;

namespace starport
{
inline int launch_run(dim3 g, dim3 b, size_t shared, void (*call)(const void *), const void *arg)
{
    starport_launch l = {{g.x, g.y, g.z}, {b.x, b.y, b.z}, shared, call, arg, nullptr};
    int e = starport_run(&l);
    if (e)
        starport_last_error = e;
    return e;
}
template <class F> inline int launch_lambda(dim3 g, dim3 b, size_t shared, const F &f)
{
    return launch_run(
        g, b, shared, [](const void *p) { (*static_cast<const F *>(p))(); }, &f);
}
/* 0 and NULL are integers by the time they arrive here. */
template <class P, class A> inline P convert(A &&a)
{
    if constexpr (std::is_pointer_v<P> && std::is_integral_v<std::decay_t<A>>)
        return reinterpret_cast<P>(static_cast<uintptr_t>(a));
    else
        return static_cast<P>(std::forward<A>(a));
}
template <class... P, class... A>
inline int launch(void (*kernel)(P...), dim3 g, dim3 b, size_t shared, hipStream_t, A &&...a)
{
    std::tuple<std::decay_t<P>...> args(convert<std::decay_t<P>>(std::forward<A>(a))...);
    return launch_lambda(g, b, shared, [&] {
        std::apply([&](const auto &...x) { kernel(const_cast<std::decay_t<P> &>(x)...); }, args);
    });
}
template <class Call, class... A>
inline int launch_deduced(const Call &call, dim3 g, dim3 b, size_t shared, hipStream_t, A... a)
{
    return launch_lambda(g, b, shared, [&] { call(a...); });
}
/* hipLaunchKernel and hipLaunchCooperativeKernel: an array of pointers to arguments. */
template <class... P, size_t... I>
inline int launch_array(void (*kernel)(P...), dim3 g, dim3 b, void **args, size_t shared,
                        std::index_sequence<I...>)
{
    return launch_lambda(g, b, shared,
                         [&] { kernel(*static_cast<std::decay_t<P> *>(args[I])...); });
}
} // namespace starport

#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...)                               \
    ((void)starport::launch((kernel), (grid), (block), (shared), (stream), ##__VA_ARGS__))
#define starport_launch_deduced(kernel, grid, block, shared, stream, ...)                          \
    ((void)starport::launch_deduced([](auto... starport_a) { kernel(starport_a...); }, (grid),     \
                                    (block), (shared), (stream), ##__VA_ARGS__))
#endif
