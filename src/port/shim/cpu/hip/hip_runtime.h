/* SPDX-License-Identifier: Apache-2.0
 *
 * hip_runtime.h of starport's CPU shim: HIP programs compiled as plain C++17, kernels run on the
 * CPU with a wave of 32 or 64 lanes. Used by `starport verify`; see starport/core.h for the model.
 *
 *     c++ -std=c++17 -I shim/cpu -x c++ prog.hip shim/cpu/run.cc      (launches as
 * hipLaunchKernelGGL)
 *
 * Host and device code are compiled once, as device code (__HIP_DEVICE_COMPILE__ is defined). There
 * is one address space. Not here: textures and surfaces, inline assembly, MFMA builtins,
 * device-side launches, grid-wide sync, separate host and device overloads of one function, timing.
 */
#ifndef STARPORT_HIP_RUNTIME_H
#define STARPORT_HIP_RUNTIME_H

#define STARPORT_CPU 1
#define __HIP__ 1
#define __HIPCC__ 1
#define __HIP_CPU_RT__ 1
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_PLATFORM_HCC__ 1
#define __HIP_DEVICE_COMPILE__ 1
#define HIP_VERSION_MAJOR 6
#define HIP_VERSION_MINOR 3
#define HIP_VERSION_PATCH 0
#define HIP_VERSION 60300000
#define __HIP_ARCH_HAS_GLOBAL_INT32_ATOMICS__ 1
#define __HIP_ARCH_HAS_GLOBAL_FLOAT_ATOMIC_EXCH__ 1
#define __HIP_ARCH_HAS_SHARED_INT32_ATOMICS__ 1
#define __HIP_ARCH_HAS_SHARED_FLOAT_ATOMIC_EXCH__ 1
#define __HIP_ARCH_HAS_FLOAT_ATOMIC_ADD__ 1
#define __HIP_ARCH_HAS_GLOBAL_INT64_ATOMICS__ 1
#define __HIP_ARCH_HAS_SHARED_INT64_ATOMICS__ 1
#define __HIP_ARCH_HAS_DOUBLES__ 1
#define __HIP_ARCH_HAS_WARP_VOTE__ 1
#define __HIP_ARCH_HAS_WARP_BALLOT__ 1
#define __HIP_ARCH_HAS_WARP_SHUFFLE__ 1
#define __HIP_ARCH_HAS_WARP_FUNNEL_SHIFT__ 1
#define __HIP_ARCH_HAS_THREAD_FENCE_SYSTEM__ 1

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __shared__ static thread_local /* where the rewriting of declarations did not reach */
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_SYMBOL(x) x
#define HIP_DYNAMIC_SHARED(type, name) auto name = starport::dynamic_shared<type>();

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include "../starport/core.h"
#include "../starport/vector.h"
#include "../starport/math.h"
#include "../starport/wave.h"
#include "../starport/atomic.h"
#include "../starport/launch.h"
#include "../starport/api.h"
#endif
