/* SPDX-License-Identifier: Apache-2.0
 *
 * atomic.h: atomic functions on device memory and shared memory, with their _block and _system
 * forms (one machine: the same). Compare-and-swap and exchange are lock-step points: see
 * starport_converge.
 */
#ifndef STARPORT_ATOMIC_H
#define STARPORT_ATOMIC_H
#include "core.h"

namespace starport
{
template <class T, class F> inline T atomic_update(T *p, F f)
{
    T old, want;
    __atomic_load(p, &old, __ATOMIC_RELAXED);
    do
        want = f(old);
    while (!__atomic_compare_exchange(p, &old, &want, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}
template <class T> struct as_is {
    typedef T type;
};
template <class T> using same = typename as_is<T>::type; /* no deduction from this argument */
} // namespace starport

#define STARPORT_ATOMIC_FORM(S)                                                                    \
    template <class T> inline T atomicAdd##S(T *p, starport::same<T> v)                            \
    {                                                                                              \
        return starport::atomic_update(p, [=](T o) { return T(o + v); });                          \
    }                                                                                              \
    template <class T> inline T atomicSub##S(T *p, starport::same<T> v)                            \
    {                                                                                              \
        return starport::atomic_update(p, [=](T o) { return T(o - v); });                          \
    }                                                                                              \
    template <class T> inline T atomicMin##S(T *p, starport::same<T> v)                            \
    {                                                                                              \
        return starport::atomic_update(p, [=](T o) { return v < o ? v : o; });                     \
    }                                                                                              \
    template <class T> inline T atomicMax##S(T *p, starport::same<T> v)                            \
    {                                                                                              \
        return starport::atomic_update(p, [=](T o) { return o < v ? v : o; });                     \
    }                                                                                              \
    template <class T> inline T atomicAnd##S(T *p, starport::same<T> v)                            \
    {                                                                                              \
        return __atomic_fetch_and(p, v, __ATOMIC_RELAXED);                                         \
    }                                                                                              \
    template <class T> inline T atomicOr##S(T *p, starport::same<T> v)                             \
    {                                                                                              \
        return __atomic_fetch_or(p, v, __ATOMIC_RELAXED);                                          \
    }                                                                                              \
    template <class T> inline T atomicXor##S(T *p, starport::same<T> v)                            \
    {                                                                                              \
        return __atomic_fetch_xor(p, v, __ATOMIC_RELAXED);                                         \
    }                                                                                              \
    template <class T> STARPORT_INLINE T atomicExch##S(T *p, starport::same<T> v)                  \
    {                                                                                              \
        starport_converge();                                                                       \
        T old;                                                                                     \
        __atomic_exchange(p, &v, &old, __ATOMIC_SEQ_CST);                                          \
        return old;                                                                                \
    }                                                                                              \
    template <class T>                                                                             \
    STARPORT_INLINE T atomicCAS##S(T *p, starport::same<T> compare, starport::same<T> v)           \
    {                                                                                              \
        starport_converge();                                                                       \
        __atomic_compare_exchange(p, &compare, &v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);     \
        return compare;                                                                            \
    }
STARPORT_ATOMIC_FORM()
STARPORT_ATOMIC_FORM(_block)
STARPORT_ATOMIC_FORM(_system)
#undef STARPORT_ATOMIC_FORM
inline unsigned atomicInc(unsigned *p, unsigned v)
{
    return starport::atomic_update(p, [=](unsigned o) { return o >= v ? 0u : o + 1; });
}
inline unsigned atomicDec(unsigned *p, unsigned v)
{
    return starport::atomic_update(p, [=](unsigned o) { return o == 0 || o > v ? v : o - 1; });
}
template <class T> inline T unsafeAtomicAdd(T *p, starport::same<T> v)
{
    return atomicAdd(p, v);
}
template <class T> inline T atomicAddNoRet(T *p, starport::same<T> v)
{
    return atomicAdd(p, v);
}
#endif
