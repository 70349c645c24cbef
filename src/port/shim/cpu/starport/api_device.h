/* SPDX-License-Identifier: Apache-2.0
 *
 * api_device.h: devices and their properties. Included by api.h.
 */
#ifndef STARPORT_API_DEVICE_H
#define STARPORT_API_DEVICE_H

inline hipError_t hipInit(unsigned)
{
    return hipSuccess;
}
inline hipError_t hipSetDevice(int d)
{
    return d == 0 ? hipSuccess : starport::fail(hipErrorInvalidDevice);
}
inline hipError_t hipGetDevice(int *d)
{
    *d = 0;
    return hipSuccess;
}
inline hipError_t hipGetDeviceCount(int *n)
{
    *n = 1;
    return hipSuccess;
}
inline hipError_t hipDeviceSynchronize()
{
    return hipSuccess;
}
inline hipError_t hipDeviceReset()
{
    return hipSuccess;
}
inline hipError_t hipSetDeviceFlags(unsigned)
{
    return hipSuccess;
}
inline hipError_t hipDeviceSetLimit(hipLimit_t, size_t)
{
    return hipSuccess;
}
inline hipError_t hipDeviceSetCacheConfig(hipFuncCache_t)
{
    return hipSuccess;
}
inline hipError_t hipDeviceSetSharedMemConfig(hipSharedMemConfig)
{
    return hipSuccess;
}
inline hipError_t hipDeviceCanAccessPeer(int *can, int, int)
{
    *can = 0;
    return hipSuccess;
}
inline hipError_t hipDriverGetVersion(int *v)
{
    *v = HIP_VERSION;
    return hipSuccess;
}
inline hipError_t hipRuntimeGetVersion(int *v)
{
    return hipDriverGetVersion(v);
}
inline hipError_t hipProfilerStart()
{
    return hipSuccess;
}
inline hipError_t hipProfilerStop()
{
    return hipSuccess;
}
/* The figures of one MI210 (gfx90a): ROCm documentation, GPU hardware specifications. */
inline hipError_t hipGetDeviceProperties(hipDeviceProp_t *p, int d)
{
    if (d)
        return starport::fail(hipErrorInvalidDevice);
    *p = hipDeviceProp_t();
    snprintf(p->name, sizeof p->name, "starport CPU shim, wave %d", starport_wave_size);
    snprintf(p->gcnArchName, sizeof p->gcnArchName, "gfx90a:sramecc+:xnack-");
    p->totalGlobalMem = (size_t)64 << 30;
    p->sharedMemPerBlock = p->sharedMemPerMultiprocessor = p->sharedMemPerBlockOptin = 65536;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = starport_wave_size;
    p->maxThreadsPerBlock = 1024;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = p->maxThreadsDim[2] = 1024;
    p->maxGridSize[0] = 0x7fffffff;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->clockRate = 1700000;
    p->memoryClockRate = 1600000;
    p->memoryBusWidth = 4096;
    p->totalConstMem = 0x7fffffff;
    p->major = 9;
    p->multiProcessorCount = 104;
    p->l2CacheSize = 8 << 20;
    p->maxThreadsPerMultiProcessor = 2048;
    p->maxBlocksPerMultiProcessor = 32;
    p->concurrentKernels = p->canMapHostMemory = p->unifiedAddressing = p->managedMemory = 1;
    p->asyncEngineCount = 2;
    p->textureAlignment = 256;
    p->memPitch = 0x7fffffff;
    return hipSuccess;
}
inline hipError_t hipDeviceGetAttribute(int *v, hipDeviceAttribute_t a, int d)
{
    hipDeviceProp_t p;
    hipError_t e = hipGetDeviceProperties(&p, d);
    if (e != hipSuccess)
        return e;
    switch (a) {
    case hipDeviceAttributeMaxThreadsPerBlock:
    case hipDeviceAttributeMaxBlockDimX:
        *v = 1024;
        break;
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
    case hipDeviceAttributeMaxRegistersPerBlock:
        *v = 65536;
        break;
    case hipDeviceAttributeWarpSize:
        *v = p.warpSize;
        break;
    case hipDeviceAttributeMultiprocessorCount:
        *v = p.multiProcessorCount;
        break;
    case hipDeviceAttributeClockRate:
        *v = p.clockRate;
        break;
    case hipDeviceAttributeComputeCapabilityMajor:
        *v = p.major;
        break;
    case hipDeviceAttributeMaxGridDimX:
        *v = p.maxGridSize[0];
        break;
    case hipDeviceAttributeManagedMemory:
        *v = 1;
        break;
    case hipDeviceAttributeMaxThreadsPerMultiProcessor:
        *v = p.maxThreadsPerMultiProcessor;
        break;
    case hipDeviceAttributeComputeCapabilityMinor:
    case hipDeviceAttributeConcurrentManagedAccess:
    case hipDeviceAttributeCooperativeLaunch:
    case hipDeviceAttributeImageSupport:
        *v = 0;
        break;
    }
    return hipSuccess;
}
#endif
