/* SPDX-License-Identifier: Apache-2.0
 *
 * api_stream.h: streams, events, occupancy, launches by pointer. Included by api.h.
 */
#ifndef STARPORT_API_STREAM_H
#define STARPORT_API_STREAM_H

inline hipError_t hipStreamCreate(hipStream_t *s)
{
    *s = nullptr;
    return hipSuccess;
}
inline hipError_t hipStreamCreateWithFlags(hipStream_t *s, unsigned)
{
    return hipStreamCreate(s);
}
inline hipError_t hipStreamCreateWithPriority(hipStream_t *s, unsigned, int)
{
    return hipStreamCreate(s);
}
inline hipError_t hipStreamDestroy(hipStream_t)
{
    return hipSuccess;
}
inline hipError_t hipStreamSynchronize(hipStream_t)
{
    return hipSuccess;
}
inline hipError_t hipStreamQuery(hipStream_t)
{
    return hipSuccess;
}
inline hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned = 0)
{
    return hipSuccess;
}
inline hipError_t hipStreamAddCallback(hipStream_t s, hipStreamCallback_t f, void *p, unsigned)
{
    f(s, hipSuccess, p);
    return hipSuccess;
}
inline hipError_t hipLaunchHostFunc(hipStream_t, hipHostFn_t f, void *p)
{
    f(p);
    return hipSuccess;
}
inline hipError_t hipEventCreate(hipEvent_t *e)
{
    *e = new starport_event();
    return hipSuccess;
}
inline hipError_t hipEventCreateWithFlags(hipEvent_t *e, unsigned)
{
    return hipEventCreate(e);
}
inline hipError_t hipEventDestroy(hipEvent_t e)
{
    delete e;
    return hipSuccess;
}
inline hipError_t hipEventRecord(hipEvent_t e, hipStream_t = nullptr)
{
    e->at = std::chrono::steady_clock::now();
    return hipSuccess;
}
inline hipError_t hipEventSynchronize(hipEvent_t)
{
    return hipSuccess;
}
inline hipError_t hipEventQuery(hipEvent_t)
{
    return hipSuccess;
}
inline hipError_t hipEventElapsedTime(float *ms, hipEvent_t a, hipEvent_t b)
{
    *ms = std::chrono::duration<float, std::milli>(b->at - a->at).count();
    return hipSuccess;
}

template <class F> inline hipError_t hipFuncSetAttribute(F, hipFuncAttribute, int)
{
    return hipSuccess;
}
template <class F> inline hipError_t hipFuncSetCacheConfig(F, hipFuncCache_t)
{
    return hipSuccess;
}
template <class F> inline hipError_t hipFuncSetSharedMemConfig(F, hipSharedMemConfig)
{
    return hipSuccess;
}
template <class F> inline hipError_t hipFuncGetAttributes(hipFuncAttributes *a, F)
{
    *a = hipFuncAttributes();
    a->maxThreadsPerBlock = 1024;
    a->numRegs = 64;
    return hipSuccess;
}
template <class F>
inline hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *n, F, int block, size_t)
{
    *n = block > 0 ? 2048 / block : 0;
    return hipSuccess;
}
template <class F>
inline hipError_t hipOccupancyMaxPotentialBlockSize(int *grid, int *block, F, size_t = 0, int = 0)
{
    *grid = 104;
    *block = 256;
    return hipSuccess;
}
template <class... P>
inline hipError_t hipLaunchKernel(void (*kernel)(P...), dim3 g, dim3 b, void **args,
                                  size_t shared = 0, hipStream_t = nullptr)
{
    return (hipError_t)starport::launch_array(kernel, g, b, args, shared,
                                              std::index_sequence_for<P...>());
}
template <class... P>
inline hipError_t hipLaunchCooperativeKernel(void (*kernel)(P...), dim3 g, dim3 b, void **args,
                                             unsigned shared = 0, hipStream_t = nullptr)
{
    return (hipError_t)starport::launch_array(kernel, g, b, args, shared,
                                              std::index_sequence_for<P...>());
}
/* A kernel behind void * has lost its parameter types, which a compiler's own launch stub would
 * have. */
inline hipError_t hipLaunchKernel(const void *, dim3, dim3, void **, size_t = 0,
                                  hipStream_t = nullptr)
{
    starport_note("not-emulated", STARPORT_PLACE, "launch of a kernel through void *");
    return starport::fail(hipErrorNotSupported);
}
#endif
