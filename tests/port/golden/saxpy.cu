// SPDX-License-Identifier: Apache-2.0
// A small program of its own: runtime API, a launch, a symbol, an error macro.
#include <cstdio>
#include <cuda_runtime.h>
#include <cublas_v2.h>

#define CHECK(call)                                                        \
    do {                                                                   \
        cudaError_t err = (call);                                          \
        if (err != cudaSuccess)                                            \
            fprintf(stderr, "cuda: %s\n", cudaGetErrorString(err));        \
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
    CHECK(cudaMalloc(&x, n * sizeof(float)));
    CHECK(cudaMallocHost(&y, n * sizeof(float))); /* cudaMallocHost stays a comment */
    CHECK(cudaMemcpyToSymbol(scale, &one, sizeof one));
    CHECK(cudaFuncSetAttribute(saxpy<float>, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
    saxpy<float><<<(n + 255) / 256, 256>>>(n, 2.0f, x, y);
    CHECK(cudaDeviceSynchronize());
    cublasHandle_t h;
    cublasCreate(&h);
    cudaFree(x);
    return 0;
}
