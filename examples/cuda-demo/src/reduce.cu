/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce.cu: sum, minimum and maximum: shuffles within a warp, shared memory between warps.
 */
#include "demo.h"
#include <cub/cub.cuh>

#define FULL_MASK 0xffffffff
#define THREADS 256

__device__ inline void atomic_min_float(float *p, float v)
{
    int *i = (int *)p, seen = *i;
    while (v < __int_as_float(seen)) {
        int before = atomicCAS(i, seen, __float_as_int(v));
        if (before == seen)
            break;
        seen = before;
    }
}

__device__ inline void atomic_max_float(float *p, float v)
{
    int *i = (int *)p, seen = *i;
    while (v > __int_as_float(seen)) {
        int before = atomicCAS(i, seen, __float_as_int(v));
        if (before == seen)
            break;
        seen = before;
    }
}

__global__ void __launch_bounds__(THREADS, 4)
    summarize_kernel(const float *readings, int n, summary *out)
{
    __shared__ float sums[THREADS / 32], lows[THREADS / 32], highs[THREADS / 32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float sum = 0, low = 1e30f, high = -1e30f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float v = readings[i];
        sum += v;
        low = fminf(low, v);
        high = fmaxf(high, v);
    }
    for (int offset = 16; offset > 0; offset >>= 1) {
        sum += __shfl_down_sync(FULL_MASK, sum, offset);
        low = fminf(low, __shfl_down_sync(FULL_MASK, low, offset));
        high = fmaxf(high, __shfl_down_sync(FULL_MASK, high, offset));
    }
    if (lane == 0) {
        sums[warp] = sum;
        lows[warp] = low;
        highs[warp] = high;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < THREADS / 32; w++) {
            sum += sums[w];
            low = fminf(low, lows[w]);
            high = fmaxf(high, highs[w]);
        }
        atomicAdd(&out->sum, sum);
        atomic_min_float(&out->low, low);
        atomic_max_float(&out->high, high);
    }
}

void summarize(const float *readings, int n, summary *out, cudaStream_t stream)
{
    summary start = {0, 1e30f, -1e30f};
    CUDA_CHECK(cudaMemcpyAsync(out, &start, sizeof start, cudaMemcpyHostToDevice, stream));
    summarize_kernel<<<4, THREADS, 0, stream>>>(readings, n, out);
    CUDA_CHECK(cudaGetLastError());
}

template <int BLOCK> __global__ void cub_sum_kernel(const float *readings, int n, float *out)
{
    typedef cub::BlockReduce<float, BLOCK> Reduce;
    __shared__ typename Reduce::TempStorage temp;
    int i = blockIdx.x * BLOCK + threadIdx.x;
    float sum = Reduce(temp).Sum(i < n ? readings[i] : 0.0f);
    if (threadIdx.x == 0)
        atomicAdd(out, sum);
}

float sum_by_cub(const float *readings, int n)
{
    float *d_sum, sum;
    CUDA_CHECK(cudaMalloc(&d_sum, sizeof *d_sum));
    CUDA_CHECK(cudaMemset(d_sum, 0, sizeof *d_sum));
    cub_sum_kernel<THREADS><<<(n + THREADS - 1) / THREADS, THREADS>>>(readings, n, d_sum);
    CUDA_CHECK(cudaMemcpy(&sum, d_sum, sizeof sum, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(d_sum));
    return sum;
}
