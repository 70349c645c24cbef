/* SPDX-License-Identifier: Apache-2.0
 *
 * api_memory.h: allocation and copies. Included by api.h. Copies to the host are handed to the
 * runtime for the comparison of a wave-32 and a wave-64 run.
 */
#ifndef STARPORT_API_MEMORY_H
#define STARPORT_API_MEMORY_H

#define STARPORT_PLACE __builtin_return_address(0)
namespace starport
{
inline hipError_t give(void **p, size_t n)
{
    *p = n ? starport_alloc(n) : nullptr;
    return n && !*p ? hipErrorOutOfMemory : hipSuccess;
}
inline hipError_t fail(hipError_t e)
{
    starport_last_error = e;
    return e;
}
} // namespace starport

template <class T> inline hipError_t hipMalloc(T **p, size_t n)
{
    return starport::give((void **)p, n);
}
template <class T>
inline hipError_t hipMallocManaged(T **p, size_t n, unsigned = hipMemAttachGlobal)
{
    return starport::give((void **)p, n);
}
template <class T> inline hipError_t hipMallocAsync(T **p, size_t n, hipStream_t)
{
    return starport::give((void **)p, n);
}
template <class T> inline hipError_t hipHostMalloc(T **p, size_t n, unsigned = 0)
{
    return starport::give((void **)p, n);
}
template <class T> inline hipError_t hipMallocHost(T **p, size_t n)
{
    return starport::give((void **)p, n);
}
template <class T> inline hipError_t hipHostAlloc(T **p, size_t n, unsigned = 0)
{
    return starport::give((void **)p, n);
}
template <class T>
inline hipError_t hipMallocPitch(T **p, size_t *pitch, size_t width, size_t height)
{
    *pitch = (width + 255) / 256 * 256;
    return starport::give((void **)p, *pitch * height);
}
inline hipError_t hipFree(void *p)
{
    return starport_free(p) ? starport::fail(hipErrorInvalidDevicePointer) : hipSuccess;
}
inline hipError_t hipFreeAsync(void *p, hipStream_t)
{
    return hipFree(p);
}
inline hipError_t hipHostFree(void *p)
{
    return hipFree(p);
}
inline hipError_t hipFreeHost(void *p)
{
    return hipFree(p);
}
inline hipError_t hipHostRegister(void *, size_t, unsigned)
{
    return hipSuccess;
}
inline hipError_t hipHostUnregister(void *)
{
    return hipSuccess;
}
template <class T> inline hipError_t hipHostGetDevicePointer(T **d, void *h, unsigned)
{
    *d = static_cast<T *>(h);
    return hipSuccess;
}
__attribute__((noinline)) inline hipError_t hipMemcpy(void *to, const void *from, size_t n,
                                                      hipMemcpyKind kind)
{
    if (n && (!to || !from))
        return starport::fail(hipErrorInvalidValue);
    size_t room = starport_alloc_rest(to), have = starport_alloc_rest(from);
    if ((room && n > room) || (have && n > have)) {
        starport_note("copy", STARPORT_PLACE, "the copy is larger than the allocation it touches");
        return starport::fail(hipErrorInvalidValue);
    }
    if (n)
        memmove(to, from, n);
    if (kind == hipMemcpyDeviceToHost || (kind == hipMemcpyDefault && have && !room))
        starport_copied(to, n, STARPORT_PLACE);
    return hipSuccess;
}
#define hipMemcpyAsync(to, from, n, ...) starport_memcpy_async(to, from, n, ##__VA_ARGS__)
STARPORT_INLINE hipError_t starport_memcpy_async(void *to, const void *from, size_t n,
                                                 hipMemcpyKind kind, hipStream_t = nullptr)
{
    return hipMemcpy(to, from, n, kind);
}
STARPORT_INLINE hipError_t hipMemcpyHtoD(hipDeviceptr_t to, const void *from, size_t n)
{
    return hipMemcpy(to, from, n, hipMemcpyHostToDevice);
}
STARPORT_INLINE hipError_t hipMemcpyDtoH(void *to, hipDeviceptr_t from, size_t n)
{
    return hipMemcpy(to, from, n, hipMemcpyDeviceToHost);
}
STARPORT_INLINE hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t n)
{
    return hipMemcpy(to, from, n, hipMemcpyDeviceToDevice);
}
STARPORT_INLINE hipError_t hipMemcpyPeer(void *to, int, const void *from, int, size_t n)
{
    return hipMemcpy(to, from, n, hipMemcpyDeviceToDevice);
}
STARPORT_INLINE hipError_t hipMemcpy2D(void *to, size_t to_pitch, const void *from,
                                       size_t from_pitch, size_t width, size_t height,
                                       hipMemcpyKind kind)
{
    for (size_t y = 0; y < height; y++) {
        hipError_t e =
            hipMemcpy((char *)to + y * to_pitch, (const char *)from + y * from_pitch, width, kind);
        if (e != hipSuccess)
            return e;
    }
    return hipSuccess;
}
STARPORT_INLINE hipError_t hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                                            size_t from_pitch, size_t width, size_t height,
                                            hipMemcpyKind kind, hipStream_t = nullptr)
{
    return hipMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}
inline hipError_t hipMemset(void *p, int value, size_t n)
{
    size_t room = starport_alloc_rest(p);
    if (n && (!p || (room && n > room)))
        return starport::fail(hipErrorInvalidValue);
    if (n)
        memset(p, value, n);
    return hipSuccess;
}
inline hipError_t hipMemsetAsync(void *p, int value, size_t n, hipStream_t = nullptr)
{
    return hipMemset(p, value, n);
}
inline hipError_t hipMemsetD32(hipDeviceptr_t p, int value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ((int *)p)[i] = value;
    return hipSuccess;
}
inline hipError_t hipMemset2D(void *p, size_t pitch, int value, size_t width, size_t height)
{
    for (size_t y = 0; y < height; y++)
        memset((char *)p + y * pitch, value, width);
    return hipSuccess;
}
template <class T>
inline hipError_t hipMemcpyToSymbol(T &symbol, const void *from, size_t n, size_t offset = 0,
                                    hipMemcpyKind = hipMemcpyHostToDevice)
{
    if (offset + n > sizeof symbol)
        return starport::fail(hipErrorInvalidValue);
    memcpy((char *)&symbol + offset, from, n);
    return hipSuccess;
}
template <class T>
inline hipError_t hipMemcpyToSymbolAsync(T &symbol, const void *from, size_t n, size_t offset,
                                         hipMemcpyKind kind, hipStream_t = nullptr)
{
    return hipMemcpyToSymbol(symbol, from, n, offset, kind);
}
template <class T>
inline hipError_t hipMemcpyFromSymbol(void *to, const T &symbol, size_t n, size_t offset = 0,
                                      hipMemcpyKind = hipMemcpyDeviceToHost)
{
    if (offset + n > sizeof symbol)
        return starport::fail(hipErrorInvalidValue);
    memcpy(to, (const char *)&symbol + offset, n);
    starport_copied(to, n, STARPORT_PLACE);
    return hipSuccess;
}
template <class T> inline hipError_t hipGetSymbolAddress(void **p, T &symbol)
{
    *p = (void *)&symbol;
    return hipSuccess;
}
template <class T> inline hipError_t hipGetSymbolSize(size_t *n, const T &symbol)
{
    *n = sizeof symbol;
    return hipSuccess;
}
inline hipError_t hipMemGetInfo(size_t *free_bytes, size_t *total)
{
    *free_bytes = *total = (size_t)64 << 30;
    return hipSuccess;
}
inline hipError_t hipMemPrefetchAsync(const void *, size_t, int, hipStream_t = nullptr)
{
    return hipSuccess;
}
inline hipError_t hipMemAdvise(const void *, size_t, hipMemoryAdvise, int)
{
    return hipSuccess;
}
#endif
