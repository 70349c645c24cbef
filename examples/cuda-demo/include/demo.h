/* SPDX-License-Identifier: Apache-2.0
 *
 * demo.h: statistics of n readings on the device.
 */
#ifndef DEMO_H
#define DEMO_H
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CUDA_CHECK(call)                                                                           \
    do {                                                                                           \
        cudaError_t e_ = (call);                                                                   \
        if (e_ != cudaSuccess) {                                                                   \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));            \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

struct summary {
    float sum, low, high;
};

/* All pointers are device pointers. */
void summarize(const float *readings, int n, summary *out, cudaStream_t stream);
/* Indices of readings above `limit`, in order within a block; returns how many. */
int select_above(const float *readings, int n, float limit, int *indices);
/* The readings at 50, 90 and 99 percent. */
void quantiles(const float *readings, int n, float out[3]);
/* The sum again, by CUB. */
float sum_by_cub(const float *readings, int n);
#endif
