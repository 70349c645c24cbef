// SPDX-License-Identifier: Apache-2.0
// A small program of its own: runtime API, a launch, a symbol, an error macro.
#include <cstdio>
#include <hip/hip_runtime.h>
#include <hipblas/hipblas.h>

#define CHECK(call)                                                        \
    do {                                                                   \
        hipError_t err = (call);                                          \
        if (err != hipSuccess)                                            \
            fprintf(stderr, "cuda: %s\n", hipGetErrorString(err));        \
    } while (0)

__constant__ float scale;

template <typename T>
__global__ void saxpy(int n, T a, const T *x, T *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + scale * y[i];
}

int main()
{
    const int n = 1 << 20;
    float *x, *y, one = 1.0f;
    CHECK(hipMalloc(&x, n * sizeof(float)));
    CHECK(hipHostMalloc(&y, n * sizeof(float))); /* cudaMallocHost stays a comment */
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(scale), &one, sizeof one));
    CHECK(hipFuncSetAttribute(reinterpret_cast<const void*>(saxpy<float>), hipFuncAttributePreferredSharedMemoryCarveout, 50));
    hipLaunchKernelGGL(HIP_KERNEL_NAME(saxpy<float>), dim3((n + 255) / 256), dim3(256), 0, 0, n, 2.0f, x, y);
    CHECK(hipDeviceSynchronize());
    hipblasHandle_t h;
    hipblasCreate(&h);
    hipFree(x);
    return 0;
}
