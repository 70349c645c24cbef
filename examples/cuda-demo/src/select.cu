/* SPDX-License-Identifier: Apache-2.0
 *
 * select.cu: stream compaction: a ballot gives each warp its count and each lane its rank.
 */
#include "demo.h"
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>

__global__ void select_kernel(const float *readings, int n, float limit, int *indices, int *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % 32;
    bool keep = i < n && readings[i] > limit;
    unsigned votes = __ballot_sync(0xffffffff, keep);
    int base = 0;
    if (lane == 0)
        base = atomicAdd(count, __popc(votes));
    base = __shfl_sync(0xffffffff, base, 0);
    if (keep)
        indices[base + __popc(votes & ((1u << lane) - 1))] = i;
}

int select_above(const float *readings, int n, float limit, int *indices)
{
    int *d_count, count;
    CUDA_CHECK(cudaMalloc(&d_count, sizeof *d_count));
    CUDA_CHECK(cudaMemset(d_count, 0, sizeof *d_count));
    select_kernel<<<(n + 127) / 128, 128>>>(readings, n, limit, indices, d_count);
    CUDA_CHECK(cudaMemcpy(&count, d_count, sizeof count, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(d_count));
    thrust::sort(thrust::device, thrust::device_pointer_cast(indices),
                 thrust::device_pointer_cast(indices) + count);
    return count;
}
