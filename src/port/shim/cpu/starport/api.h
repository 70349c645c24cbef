/* SPDX-License-Identifier: Apache-2.0
 *
 * api.h: the part of HIP's host API that programs with a main() of their own use. One device whose
 * memory is host memory; every stream is synchronous; events read the host's clock.
 */
#ifndef STARPORT_API_H
#define STARPORT_API_H
#include "launch.h"
#include <chrono>
#include <cstdlib>
#include <cstring>

#define STARPORT_ERRORS(X)                                                                         \
    X(hipSuccess, 0, "no error")                                                                   \
    X(hipErrorInvalidValue, 1, "invalid argument")                                                 \
    X(hipErrorOutOfMemory, 2, "out of memory")                                                     \
    X(hipErrorNotInitialized, 3, "initialization error")                                           \
    X(hipErrorInvalidConfiguration, 9, "invalid configuration argument")                           \
    X(hipErrorInvalidSymbol, 13, "invalid device symbol")                                          \
    X(hipErrorInvalidDevicePointer, 17, "invalid device pointer")                                  \
    X(hipErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")                     \
    X(hipErrorInvalidDeviceFunction, 98, "invalid device function")                                \
    X(hipErrorNoDevice, 100, "no ROCm-capable device is detected")                                 \
    X(hipErrorInvalidDevice, 101, "invalid device ordinal")                                        \
    X(hipErrorNotReady, 600, "device not ready")                                                   \
    X(hipErrorLaunchFailure, 719, "unspecified launch failure")                                    \
    X(hipErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled")                     \
    X(hipErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch")             \
    X(hipErrorNotSupported, 801, "operation not supported")                                        \
    X(hipErrorUnknown, 999, "unknown error")
typedef enum hipError_t {
#define STARPORT_ERROR(name, value, text) name = value,
    STARPORT_ERRORS(STARPORT_ERROR)
#undef STARPORT_ERROR
        hipErrorMemoryAllocation = 2
} hipError_t;
typedef enum hipMemcpyKind {
    hipMemcpyHostToHost,
    hipMemcpyHostToDevice,
    hipMemcpyDeviceToHost,
    hipMemcpyDeviceToDevice,
    hipMemcpyDefault
} hipMemcpyKind;
typedef enum hipFuncCache_t {
    hipFuncCachePreferNone,
    hipFuncCachePreferShared,
    hipFuncCachePreferL1,
    hipFuncCachePreferEqual
} hipFuncCache_t;
typedef enum hipSharedMemConfig {
    hipSharedMemBankSizeDefault,
    hipSharedMemBankSizeFourByte,
    hipSharedMemBankSizeEightByte
} hipSharedMemConfig;
typedef enum hipFuncAttribute {
    hipFuncAttributeMaxDynamicSharedMemorySize = 8,
    hipFuncAttributePreferredSharedMemoryCarveout
} hipFuncAttribute;
typedef enum hipDeviceAttribute_t {
    hipDeviceAttributeMaxThreadsPerBlock,
    hipDeviceAttributeMaxSharedMemoryPerBlock,
    hipDeviceAttributeWarpSize,
    hipDeviceAttributeMultiprocessorCount,
    hipDeviceAttributeClockRate,
    hipDeviceAttributeComputeCapabilityMajor,
    hipDeviceAttributeComputeCapabilityMinor,
    hipDeviceAttributeMaxBlockDimX,
    hipDeviceAttributeMaxGridDimX,
    hipDeviceAttributeManagedMemory,
    hipDeviceAttributeConcurrentManagedAccess,
    hipDeviceAttributeCooperativeLaunch,
    hipDeviceAttributeImageSupport,
    hipDeviceAttributeMaxRegistersPerBlock,
    hipDeviceAttributeMaxThreadsPerMultiProcessor
} hipDeviceAttribute_t;
typedef enum hipMemoryAdvise {
    hipMemAdviseSetReadMostly = 1,
    hipMemAdviseUnsetReadMostly,
    hipMemAdviseSetPreferredLocation,
    hipMemAdviseUnsetPreferredLocation,
    hipMemAdviseSetAccessedBy,
    hipMemAdviseUnsetAccessedBy
} hipMemoryAdvise;
typedef enum hipLimit_t {
    hipLimitStackSize,
    hipLimitPrintfFifoSize,
    hipLimitMallocHeapSize
} hipLimit_t;
enum {
    hipStreamDefault = 0,
    hipStreamNonBlocking = 1,
    hipEventDefault = 0,
    hipEventBlockingSync = 1,
    hipEventDisableTiming = 2,
    hipHostMallocDefault = 0,
    hipHostMallocPortable = 1,
    hipHostMallocMapped = 2,
    hipHostMallocWriteCombined = 4,
    hipHostRegisterDefault = 0,
    hipHostRegisterPortable = 1,
    hipHostRegisterMapped = 2,
    hipMemAttachGlobal = 1,
    hipMemAttachHost = 2,
    hipDeviceScheduleAuto = 0,
    hipDeviceScheduleBlockingSync = 4,
    hipDeviceMapHost = 8,
    hipCpuDeviceId = -1
};
typedef struct starport_event {
    std::chrono::steady_clock::time_point at;
} * hipEvent_t;
typedef void *hipDeviceptr_t;
typedef int hipDevice_t;
typedef void (*hipStreamCallback_t)(hipStream_t, hipError_t, void *);
typedef void (*hipHostFn_t)(void *);
typedef struct hipFuncAttributes {
    int binaryVersion, cacheModeCA;
    size_t constSizeBytes, localSizeBytes;
    int maxDynamicSharedSizeBytes, maxThreadsPerBlock, numRegs, preferredShmemCarveout, ptxVersion;
    size_t sharedSizeBytes;
} hipFuncAttributes;
typedef struct hipDeviceProp_t {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
    int memoryClockRate, memoryBusWidth;
    size_t totalConstMem;
    int major, minor, multiProcessorCount, l2CacheSize, maxThreadsPerMultiProcessor, computeMode;
    int concurrentKernels, pciDomainID, pciBusID, pciDeviceID, isMultiGpuBoard, canMapHostMemory;
    int unifiedAddressing, managedMemory, concurrentManagedAccess, cooperativeLaunch, integrated;
    int asyncEngineCount, ECCEnabled, regsPerMultiprocessor, maxBlocksPerMultiProcessor;
    size_t sharedMemPerMultiprocessor, sharedMemPerBlockOptin, textureAlignment, memPitch;
    char gcnArchName[256];
} hipDeviceProp_t;

inline hipError_t hipGetLastError()
{
    int e = starport_last_error;
    starport_last_error = 0;
    return (hipError_t)e;
}
inline hipError_t hipPeekAtLastError()
{
    return (hipError_t)starport_last_error;
}
inline const char *hipGetErrorString(hipError_t e)
{
    switch ((int)e) {
#define STARPORT_ERROR(name, value, text)                                                          \
    case value:                                                                                    \
        return text;
        STARPORT_ERRORS(STARPORT_ERROR)
    }
    return "unknown error";
}
inline const char *hipGetErrorName(hipError_t e)
{
    switch ((int)e) {
#undef STARPORT_ERROR
#define STARPORT_ERROR(name, value, text)                                                          \
    case value:                                                                                    \
        return #name;
        STARPORT_ERRORS(STARPORT_ERROR)
#undef STARPORT_ERROR
    }
    return "hipErrorUnknown";
}
#include "api_memory.h"
#include "api_device.h"
#include "api_stream.h"
#endif
