#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes CUDA programs with kernels of random names and shapes, each with a scalar reference on the host.

    gen_kernels.py --seed 7 --correct 30 --bugs 30 DIR

DIR/good_*.cu hold kernels that are right for a wavefront of 32 and of 64 lanes, DIR/bug_*.cu kernels with
one planted bug each, of the hazard rules W (wave size) and C (compile-time tests). DIR/index.json lists
them: {"name", "file", "first", "last" (lines), "rule", "fixable"}; rule "" is a correct kernel. A program
prints one line a kernel, "NAME ok" or "NAME bad".
"""
import argparse
import json
import os
import random

SYLLABLES = "ba ce di fo gu ha ki lo mu ne pa qui ro sa ti vu wo xe ya zo bra cle dri sto tra".split()
HEAD = """#include <cstdio>
#include <vector>
#include <cuda_runtime.h>
"""


class Shape:
    """What a template may vary."""

    def __init__(self, rng, used):
        while True:
            self.name = "".join(rng.choice(SYLLABLES) for _ in range(rng.randint(2, 4)))
            if self.name not in used:
                break
        used.add(self.name)
        self.block = rng.choice([64, 128, 192, 256, 320, 512])
        self.grid = rng.randint(1, 5)
        self.type = rng.choice(["int", "unsigned", "float"])
        self.a, self.b, self.c = rng.randint(3, 97), rng.randint(0, 50), rng.randint(7, 61)
        self.k = rng.randint(2, 5)
        self.bit = rng.randint(1, 3)
        self.n = self.block * self.grid
        self.src = rng.randint(1, 31)


def program_part(s, kernel, out_type, out_n, want, launch_extra="", in_type=None):
    """A kernel, and a host function that runs it and compares with `want`, the scalar code."""
    t = in_type or s.type
    return f"""
{kernel}
static int test_{s.name}()
{{
    const int n = {s.n}, block = {s.block}, grid = {s.grid}, m = {out_n};
    std::vector<{t}> in(n);
    std::vector<{out_type}> out(m), want(m);
    for (int i = 0; i < n; i++)
        in[i] = ({t})((i * {s.a} + {s.b}) % {s.c});
    {t} *d_in;
    {out_type} *d_out;
    cudaMalloc(&d_in, n * sizeof({t}));
    cudaMalloc(&d_out, m * sizeof({out_type}));
    cudaMemset(d_out, 0, m * sizeof({out_type}));
    cudaMemcpy(d_in, in.data(), n * sizeof({t}), cudaMemcpyHostToDevice);
    {s.name}<<<grid, block{launch_extra}>>>(d_in, d_out, n);
    cudaMemcpy(out.data(), d_out, m * sizeof({out_type}), cudaMemcpyDeviceToHost);
    cudaFree(d_in);
    cudaFree(d_out);
{want}
    int bad = 0;
    for (int i = 0; i < m; i++)
        bad += out[i] != want[i];
    printf("{s.name} %s\\n", bad ? "bad" : "ok");
    return bad != 0;
}}
"""


BLOCK_SUM = """    for (int b = 0; b < grid; b++)
        for (int i = 0; i < block; i++)
            want[b] += in[b * block + i];"""
GROUP_FIRST = """    for (int i = 0; i < n; i++)
        want[i] = in[i / 32 * 32 + %d];"""
BLOCK_COUNT = """    for (int b = 0; b < grid; b++)
        for (int i = 0; i < block; i++)
            want[b] += ((int)in[b * block + i] & %d) != 0;"""
BLOCK_RANK = """    for (int b = 0; b < grid; b++)
        for (int i = 0, r = 0; i < block; i++) {
            want[b * block + i] = i %% 32 == 0 ? (r = 0) : r;
            r += ((int)in[b * block + i] & %d) != 0;
        }"""
SCALE = """    for (int i = 0; i < n; i++)
        want[i] = in[i] * %d + i %% %d;"""


# --- planted bugs: (rule, fixable, group, function) ---------------------------------------------------
# group "held": written for warps of 32 throughout; "generic": uses warpSize, but not everywhere.
def bug_mask_reduce(s):
    k = f"""__global__ void {s.name}(const {s.type} *in, {s.type} *out, int n)
{{
    __shared__ {s.type} part[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    {s.type} v = i < n ? in[i] : ({s.type})0;
    for (int o = 16; o > 0; o >>= 1)
        v += __shfl_down_sync(0xffffffff, v, o);
    if (lane == 0)
        part[w] = v;
    __syncthreads();
    if (threadIdx.x == 0) {{
        {s.type} sum = 0;
        for (int j = 0; j < {s.block} / 32; j++)
            sum += part[j];
        out[blockIdx.x] = sum;
    }}
}}"""
    return program_part(s, k, s.type, s.grid, BLOCK_SUM)


def bug_mask_xor(s):
    k = f"""#define FULL_{s.name.upper()} 0xffffffffu
__global__ void {s.name}(const {s.type} *in, {s.type} *out, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {s.type} v = in[i];
    for (int o = 1; o < 32; o *= 2)
        v += __shfl_xor_sync(FULL_{s.name.upper()}, v, o);
    out[i] = v;
}}"""
    want = """    for (int i = 0; i < n; i++)
        for (int j = 0; j < 32; j++)
            want[i] += in[i / 32 * 32 + j];"""
    return program_part(s, k, s.type, s.n, want)


def bug_broadcast(s):
    k = f"""__global__ void {s.name}(const {s.type} *in, {s.type} *out, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {s.type} v = in[i];
    out[i] = __shfl_sync(0xffffffff, v, {s.src});
}}"""
    return program_part(s, k, s.type, s.n, GROUP_FIRST % s.src)


def bug_scan(s):
    k = f"""__global__ void {s.name}(const {s.type} *in, {s.type} *out, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    {s.type} v = in[i];
    for (int d = 1; d < 32; d <<= 1) {{
        {s.type} u = __shfl_up_sync(0xffffffff, v, d);
        if (lane >= d)
            v += u;
    }}
    out[i] = __shfl_sync(0xffffffff, v, 31);
}}"""
    want = """    for (int i = 0; i < n; i++)
        for (int j = 0; j < 32; j++)
            want[i] += in[i / 32 * 32 + j];"""
    return program_part(s, k, s.type, s.n, want)


def bug_ballot_count(s):
    k = f"""__global__ void {s.name}(const {s.type} *in, int *out, int n)
{{
    __shared__ int total;
    if (threadIdx.x == 0)
        total = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned votes = __ballot_sync(0xffffffff, ((int)in[i] & {s.bit}) != 0);
    if ((threadIdx.x & 31) == 0)
        atomicAdd(&total, __popc(votes));
    __syncthreads();
    if (threadIdx.x == 0)
        out[blockIdx.x] = total;
}}"""
    return program_part(s, k, "int", s.grid, BLOCK_COUNT % s.bit)


def bug_ballot_rank(s):
    k = f"""__global__ void {s.name}(const {s.type} *in, int *out, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x & 31;
    unsigned votes = __ballot_sync(0xffffffff, ((int)in[i] & {s.bit}) != 0);
    out[i] = __popc(votes & ((1u << lane) - 1));
}}"""
    return program_part(s, k, "int", s.n, BLOCK_RANK % s.bit)


def bug_leader(s):
    k = f"""__global__ void {s.name}(const {s.type} *in, int *out, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned votes = __ballot_sync(0xffffffff, ((int)in[i] & {s.bit}) != 0);
    out[i] = votes ? __ffs(votes) - 1 : -1;
}}"""
    want = f"""    for (int i = 0; i < n; i++) {{
        want[i] = -1;
        for (int j = 31; j >= 0; j--)
            if ((int)in[i / 32 * 32 + j] & {s.bit})
                want[i] = j;
    }}"""
    return program_part(s, k, "int", s.n, want)


def bug_any(s):
    k = f"""__global__ void {s.name}(const {s.type} *in, int *out, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = __any_sync(0xffffffff, in[i] == ({s.type}){s.b % s.c} && (threadIdx.x & 32) == 0);
}}"""
    want = f"""    for (int i = 0; i < n; i++)
        for (int j = 0; j < 32; j++) {{
            int at = i / 32 * 32 + j;
            want[i] |= in[at] == ({s.type}){s.b % s.c} && (at % block & 32) == 0;
        }}"""
    return program_part(s, k, "int", s.n, want)


def bug_generic_ballot(s):
    k = f"""__global__ void {s.name}(const {s.type} *in, int *out, int n)
{{
    __shared__ int total;
    if (threadIdx.x == 0)
        total = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int votes = __ballot_sync(0xffffffff, ((int)in[i] & {s.bit}) != 0);
    if (threadIdx.x % warpSize == 0)
        atomicAdd(&total, __popc(votes));
    __syncthreads();
    if (threadIdx.x == 0)
        out[blockIdx.x] = total;
}}"""
    return program_part(s, k, "int", s.grid, BLOCK_COUNT % s.bit)


def bug_generic_index(s):
    k = f"""__global__ void {s.name}(const {s.type} *in, {s.type} *out, int n)
{{
    __shared__ {s.type} part[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {s.type} v = in[i];
    for (int o = warpSize / 2; o > 0; o /= 2)
        v += __shfl_down(v, o);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int j = 0; j < {s.block} / 32; j++)
            out[blockIdx.x] += part[j];
}}"""
    return program_part(s, k, s.type, s.grid, BLOCK_SUM)


def bug_generic_shift(s):
    k = f"""__global__ void {s.name}(const {s.type} *in, int *out, int n)
{{
    __shared__ int count[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize;
    unsigned long long votes = __ballot(((int)in[i] & {s.bit}) != 0);
    if (lane == 0)
        count[wave] = __popcll(votes);
    __syncthreads();
    int rank = __popc(votes & ((1u << lane) - 1));
    for (int j = 0; j < wave; j++)
        rank += count[j];
    out[i] = rank;
}}"""
    want = f"""    for (int b = 0; b < grid; b++)
        for (int i = 0, r = 0; i < block; i++) {{
            want[b * block + i] = r;
            r += ((int)in[b * block + i] & {s.bit}) != 0;
        }}"""
    return program_part(s, k, "int", s.n, want)


def bug_spin(s):
    k = f"""__device__ int lock_{s.name};
__global__ void {s.name}(const {s.type} *in, {s.type} *out, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    while (atomicCAS(&lock_{s.name}, 0, 1) != 0)
        ;
    out[0] += in[i];
    __threadfence();
    atomicExch(&lock_{s.name}, 0);
}}"""
    want = """    for (int i = 0; i < n; i++)
        want[0] += in[i];"""
    return program_part(s, k, s.type, 1, want)


def bug_arch_defined(s):
    k = f"""__device__ {s.type} scale_{s.name}({s.type} v, int i)
{{
#ifdef __CUDA_ARCH__
    return v * {s.k} + i % {s.c};
#else
    return 0;
#endif
}}
__global__ void {s.name}(const {s.type} *in, {s.type} *out, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = scale_{s.name}(in[i], i);
}}"""
    return program_part(s, k, s.type, s.n, SCALE % (s.k, s.c))


def bug_arch_number(s):
    k = f"""__global__ void {s.name}(const {s.type} *in, {s.type} *out, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#if __CUDA_ARCH__ >= 600
    out[i] = in[i] * {s.k} + i % {s.c};
#elif __CUDA_ARCH__ > 0
    out[i] = i % {s.c} + in[i] * {s.k};
#endif
}}"""
    return program_part(s, k, s.type, s.n, SCALE % (s.k, s.c))


def bug_nvcc(s):
    k = f"""#ifdef __NVCC__
#define FACTOR_{s.name.upper()} {s.k}
#else
#define FACTOR_{s.name.upper()} {s.k - 1}
#endif
__global__ void {s.name}(const {s.type} *in, {s.type} *out, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] * FACTOR_{s.name.upper()} + i % {s.c};
}}"""
    return program_part(s, k, s.type, s.n, SCALE % (s.k, s.c))


BUGS = [
    ("W1", True, "held", bug_mask_reduce),
    ("W1", True, "held", bug_mask_xor),
    ("W5", True, "held", bug_broadcast),
    ("W5", True, "held", bug_scan),
    ("W2", True, "held", bug_ballot_count),
    ("W3", True, "held", bug_ballot_rank),
    ("W3", True, "held", bug_leader),
    ("W1", True, "held", bug_any),
    ("W2", True, "generic", bug_generic_ballot),
    ("W4", False, "generic", bug_generic_index),
    ("W3", False, "generic", bug_generic_shift),
    ("W8", False, "other", bug_spin),
    ("C1", True, "other", bug_arch_defined),
    ("C2", False, "other", bug_arch_number),
    ("C3", False, "other", bug_nvcc),
]


# --- correct kernels ----------------------------------------------------------------------------------
def good_reduce(s):
    k = f"""__global__ void {s.name}(const {s.type} *in, {s.type} *out, int n)
{{
    __shared__ {s.type} part[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {s.type} v = i < n ? in[i] : ({s.type})0;
    for (int o = warpSize / 2; o > 0; o /= 2)
        v += __shfl_down(v, o);
    if (threadIdx.x % warpSize == 0)
        part[threadIdx.x / warpSize] = v;
    __syncthreads();
    if (threadIdx.x == 0) {{
        {s.type} sum = 0;
        for (int j = 0; j < ({s.block} + warpSize - 1) / warpSize; j++)
            sum += part[j];
        out[blockIdx.x] = sum;
    }}
}}"""
    return program_part(s, k, s.type, s.grid, BLOCK_SUM)


def good_sub_warp(s):
    k = f"""__global__ void {s.name}(const {s.type} *in, {s.type} *out, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {s.type} v = in[i];
    for (int o = 16; o > 0; o /= 2)
        v += __shfl_down(v, o, 32);
    out[i] = __shfl(v, 0, 32);
}}"""
    want = """    for (int i = 0; i < n; i++)
        for (int j = 0; j < 32; j++)
            want[i] += in[i / 32 * 32 + j];"""
    return program_part(s, k, s.type, s.n, want)


def good_ballot(s):
    k = f"""__global__ void {s.name}(const {s.type} *in, int *out, int n)
{{
    __shared__ int total;
    if (threadIdx.x == 0)
        total = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long votes = __ballot(((int)in[i] & {s.bit}) != 0);
    if (threadIdx.x % warpSize == 0)
        atomicAdd(&total, __popcll(votes));
    __syncthreads();
    if (threadIdx.x == 0)
        out[blockIdx.x] = total;
}}"""
    return program_part(s, k, "int", s.grid, BLOCK_COUNT % s.bit)


def good_compact(s):
    k = f"""__global__ void {s.name}(const {s.type} *in, int *out, int n)
{{
    __shared__ int before[33];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % warpSize;
    bool keep = ((int)in[i] & {s.bit}) != 0;
    unsigned long long votes = __ballot(keep);
    if (lane == 0)
        before[threadIdx.x / warpSize] = __popcll(votes);
    __syncthreads();
    if (threadIdx.x == 0)
        for (int j = 0, sum = 0; j < ({s.block} + warpSize - 1) / warpSize; j++) {{
            int c = before[j];
            before[j] = sum;
            sum += c;
        }}
    __syncthreads();
    if (keep)
        out[blockIdx.x * blockDim.x + before[threadIdx.x / warpSize] +
            __popcll(votes & ((1ull << lane) - 1))] = i + 1;
}}"""
    want = f"""    for (int b = 0; b < grid; b++)
        for (int i = 0, at = 0; i < block; i++)
            if ((int)in[b * block + i] & {s.bit})
                want[b * block + at++] = b * block + i + 1;"""
    return program_part(s, k, "int", s.n, want)


def good_scan(s):
    k = f"""__global__ void {s.name}(const {s.type} *in, {s.type} *out, int n)
{{
    extern __shared__ unsigned char raw_{s.name}[];
    {s.type} *t = reinterpret_cast<{s.type} *>(raw_{s.name});
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    t[threadIdx.x] = in[i];
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {{
        {s.type} u = threadIdx.x >= d ? t[threadIdx.x - d] : ({s.type})0;
        __syncthreads();
        t[threadIdx.x] += u;
        __syncthreads();
    }}
    out[i] = t[threadIdx.x];
}}"""
    want = f"""    for (int b = 0; b < grid; b++) {{
        {s.type} sum = 0;
        for (int i = 0; i < block; i++)
            want[b * block + i] = sum += in[b * block + i];
    }}"""
    return program_part(s, k, s.type, s.n, want, f", block * sizeof({s.type})")


def good_reverse(s):
    k = f"""template <int N, typename T> __global__ void {s.name}(const T *in, T *out, int n)
{{
    __shared__ T tile[N];
    int base = blockIdx.x * N;
    tile[threadIdx.x] = in[base + threadIdx.x];
    __syncthreads();
    out[base + threadIdx.x] = tile[N - 1 - threadIdx.x] * {s.k};
}}"""
    want = f"""    for (int b = 0; b < grid; b++)
        for (int i = 0; i < block; i++)
            want[b * block + i] = in[b * block + block - 1 - i] * {s.k};"""
    p = program_part(s, k, s.type, s.n, want)
    return p.replace(f"{s.name}<<<", f"{s.name}<{s.block}><<<")


def good_histogram(s):
    k = f"""__global__ void {s.name}(const {s.type} *in, int *out, int n)
{{
    __shared__ int bins[{s.c}];
    for (int j = threadIdx.x; j < {s.c}; j += blockDim.x)
        bins[j] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&bins[(int)in[i]], 1);
    __syncthreads();
    for (int j = threadIdx.x; j < {s.c}; j += blockDim.x)
        atomicAdd(&out[j], bins[j]);
}}"""
    want = """    for (int i = 0; i < n; i++)
        want[(int)in[i]]++;"""
    return program_part(s, k, "int", s.c, want)


def good_max(s):
    k = f"""__global__ void {s.name}(const {s.type} *in, {s.type} *out, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {s.type} v = in[i];
    for (int o = warpSize / 2; o > 0; o >>= 1) {{
        {s.type} u = __shfl_xor(v, o);
        v = u > v ? u : v;
    }}
    __shared__ {s.type} best[64];
    if (threadIdx.x % warpSize == 0)
        best[threadIdx.x / warpSize] = v;
    __syncthreads();
    if (threadIdx.x < warpSize) {{
        int waves = (blockDim.x + warpSize - 1) / warpSize;
        v = threadIdx.x < waves ? best[threadIdx.x] : best[0];
        for (int o = warpSize / 2; o > 0; o >>= 1) {{
            {s.type} u = __shfl_xor(v, o);
            v = u > v ? u : v;
        }}
        if (threadIdx.x == 0)
            out[blockIdx.x] = v;
    }}
}}"""
    want = """    for (int b = 0; b < grid; b++)
        for (int i = 0; i < block; i++)
            want[b] = in[b * block + i] > want[b] ? in[b * block + i] : want[b];"""
    return program_part(s, k, s.type, s.grid, want)


def good_divergent(s):
    k = f"""__device__ {s.type} pick_{s.name}({s.type} v, int odd)
{{
    if (odd)
        v += __shfl(v, 1, 32);
    else
        v -= __shfl(v, 0, 32);
    return v;
}}
__global__ void {s.name}(const {s.type} *in, {s.type} *out, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {s.type} v = pick_{s.name}(in[i], threadIdx.x & 1);
    out[i] = v + __shfl_xor(v, 1, 32);
}}"""
    want = f"""    std::vector<{s.type}> t(n);
    for (int i = 0; i < n; i++)
        t[i] = i & 1 ? in[i] + in[i / 32 * 32 + 1] : in[i] - in[i / 32 * 32];
    for (int i = 0; i < n; i++)
        want[i] = t[i] + t[i ^ 1];"""
    return program_part(s, k, s.type, s.n, want)


def good_cas(s):
    k = f"""__global__ void {s.name}(const {s.type} *in, unsigned *out, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned *p = &out[threadIdx.x % {s.k}], seen = *p, before;
    do {{
        before = seen;
        seen = atomicCAS(p, before, before + (unsigned)in[i]);
    }} while (seen != before);
}}"""
    want = f"""    for (int b = 0; b < grid; b++)
        for (int i = 0; i < block; i++)
            want[i % {s.k}] += (unsigned)in[b * block + i];"""
    return program_part(s, k, "unsigned", s.k, want)


GOOD = [good_reduce, good_sub_warp, good_ballot, good_compact, good_scan, good_reverse,
        good_histogram, good_max, good_divergent, good_cas]


def write(path, parts, index, meta):
    """parts: (name, text). Notes each kernel's lines in the index."""
    text, line = HEAD, HEAD.count("\n")
    for (name, part), m in zip(parts, meta):
        first = line + 1
        text += part
        line += part.count("\n")
        index.append(dict(m, name=name, file=os.path.basename(path), first=first, last=line))
    calls = "\n".join(f"    bad += test_{name}();" for name, _ in parts)
    with open(path, "w") as f:
        f.write(f"{text}\nint main()\n{{\n    int bad = 0;\n{calls}\n    return bad != 0;\n}}\n")


def generate(out_dir, seed, correct, bugs):
    rng, used, index = random.Random(seed), set(), []
    os.makedirs(out_dir, exist_ok=True)
    groups = {}
    for i in range(bugs):
        rule, fixable, group, make = BUGS[i % len(BUGS)]
        s = Shape(rng, used)
        if make is bug_spin:
            s.block, s.grid, s.n = 64, 1, 64
        groups.setdefault(group, []).append((s.name, make(s), {"rule": rule, "fixable": fixable}))
    good = []
    for i in range(correct):
        s = Shape(rng, used)
        good.append((s.name, GOOD[i % len(GOOD)](s), {"rule": "", "fixable": False}))
    per_file = (correct + 1) // 2 or 1
    for i in range(0, len(good), per_file):
        groups[f"good{i // per_file}"] = good[i:i + per_file]
    for group, items in sorted(groups.items()):
        prefix = "good_" if group.startswith("good") else "bug_"
        write(os.path.join(out_dir, f"{prefix}{group}.cu"), [(n, t) for n, t, _ in items], index,
              [m for _, _, m in items])
    with open(os.path.join(out_dir, "index.json"), "w") as f:
        json.dump(index, f, indent=1)
    return index


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--correct", type=int, default=30)
    ap.add_argument("--bugs", type=int, default=30)
    ap.add_argument("dir")
    a = ap.parse_args()
    generate(a.dir, a.seed, a.correct, a.bugs)
