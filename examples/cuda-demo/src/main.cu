/* SPDX-License-Identifier: Apache-2.0
 *
 * main.cu: readings, their statistics on the device, and the same by a plain loop.
 */
#include "demo.h"
#include <algorithm>
#include <cmath>
#include <vector>

static int check(const char *what, double got, double want)
{
    bool good = std::fabs(got - want) <= 1e-4 * std::fabs(want) + 1e-6;
    printf("%-8s %12.4f %s\n", what, got, good ? "ok" : "WRONG");
    return !good;
}

int main()
{
    const int n = 10000;
    std::vector<float> readings(n);
    unsigned x = 12345;
    for (float &r : readings) {
        x = x * 1664525u + 1013904223u;
        r = (x >> 8) / 65536.0f;
    }
    float *d_readings;
    summary *d_summary, s;
    int *d_indices;
    cudaStream_t stream;
    CUDA_CHECK(cudaStreamCreate(&stream));
    CUDA_CHECK(cudaMalloc((void **)&d_readings, n * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&d_summary, sizeof s));
    CUDA_CHECK(cudaMalloc(&d_indices, n * sizeof(int)));
    CUDA_CHECK(cudaMemcpy(d_readings, readings.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    summarize(d_readings, n, d_summary, stream);
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaMemcpy(&s, d_summary, sizeof s, cudaMemcpyDeviceToHost));

    double sum = 0;
    for (float r : readings)
        sum += r;
    int bad = check("sum", s.sum, sum);
    bad += check("low", s.low, *std::min_element(readings.begin(), readings.end()));
    bad += check("high", s.high, *std::max_element(readings.begin(), readings.end()));
    bad += check("sum(cub)", sum_by_cub(d_readings, n), sum);

    int count = select_above(d_readings, n, 200.0f, d_indices);
    std::vector<int> indices(n), want;
    CUDA_CHECK(cudaMemcpy(indices.data(), d_indices, n * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        if (readings[i] > 200.0f)
            want.push_back(i);
    bad += check("selected", count, (double)want.size());
    bool same = count == (int)want.size() && std::equal(want.begin(), want.end(), indices.begin());
    printf("%-8s %12s %s\n", "indices", "", same ? "ok" : "WRONG");

    float q[3];
    quantiles(d_readings, n, q);
    std::sort(readings.begin(), readings.end());
    bad += check("50 %", q[0], readings[n / 2]);
    bad += check("90 %", q[1], readings[n / 10 * 9]);
    bad += check("99 %", q[2], readings[n / 100 * 99]);
    CUDA_CHECK(cudaFree(d_readings));
    CUDA_CHECK(cudaFree(d_summary));
    CUDA_CHECK(cudaFree(d_indices));
    CUDA_CHECK(cudaStreamDestroy(stream));
    return bad != 0 || !same;
}
