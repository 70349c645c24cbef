#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""starport check: what a user sees when a tree is compiled for AMD targets on a machine without a GPU."""
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import BUILD, ROOT, Tap

STARPORT = os.path.join(BUILD, "starport")
DEMO = os.path.join(ROOT, "examples/cuda-demo")
SHIM = os.path.join(ROOT, "src/port")
t = Tap()


def check(*args, env=None):
    return subprocess.run([STARPORT, "check", *args], env=env, capture_output=True, text=True)


def write(path, text):
    with open(path, "w") as f:
        f.write(text)
    return path


def tree_hash(d):
    h = hashlib.sha256()
    for base, dirs, files in sorted(os.walk(d)):
        for name in sorted(files):
            with open(os.path.join(base, name), "rb") as f:
                h.update(name.encode() + b"\0" + f.read())
    return h.hexdigest()


def bad_input(work):
    for args, rc, what in [(["--arch", "sm_90", DEMO], 2, "sm_90"), (["--nonsense", DEMO], 2, "--nonsense"),
                           ([os.path.join(work, "nothing")], 3, "nothing"),
                           (["--rocm-path", os.path.join(work, "rocm"), DEMO], 3, "--rocm-path"),
                           (["--shim-dir", os.path.join(work, "shim"), DEMO], 3, "--shim-dir")]:
        p = check(*args)
        t.ok(p.returncode == rc and what in p.stderr and p.stderr.count("\n") == 1,
             f"check {' '.join(a for a in args if work not in a and a != DEMO) or what}: one line, exit status {rc}", p.stderr)
    plain = write(os.path.join(work, "plain.cpp"), "int main() { return 0; }\n")
    p = check(plain)
    t.ok(p.returncode == 3, "a tree without GPU code: exit status 3", p.stdout + p.stderr)
    p = check(DEMO, env={"PATH": work, "HOME": work})
    t.ok(p.returncode == 3 and all(n in p.stderr for n in ("clang-19", "lld-19", "clang-tools-19")),
         "without clang-19 the Debian packages are named", p.stderr)


def demo(work):
    before = tree_hash(DEMO)
    objects = os.path.join(work, "objects")
    p = check("-o", "json", "--objects", objects, "-I", DEMO + "/include", DEMO)
    r = json.loads(p.stdout)
    t.ok(p.returncode == 0 and r["units"] == r["units_ok"] == 4, "the demo compiles for gfx90a and gfx942", p.stdout + p.stderr)
    t.equal(tree_hash(DEMO), before, "the tree is left as it was")
    kernels = {(k["target"], k["name"].split("(")[0]): k for k in r["kernels"]}
    t.equal(sorted({a for a, _ in kernels}), ["gfx90a", "gfx942"], "kernels are reported for both targets")
    s = kernels.get(("gfx942", "summarize_kernel"), {})
    t.equal(s.get("lds"), 3 * 8 * 4, "LDS of a kernel is what its shared arrays take")
    t.ok(s.get("wave") == 64 and 0 < s.get("vgpr", 0) <= 128 and s.get("sgpr", 0) > 0 and s.get("occupancy") == 8,
         "wave size, registers and occupancy are reported", s)
    for arch, mach in (("gfx90a", 0x3F), ("gfx942", 0x4C)):
        path = os.path.join(objects, f"reduce.cu.{arch}.hsaco")
        with open(path, "rb") as f:
            head = f.read(64)
        machine, flags = struct.unpack_from("<H", head, 18)[0], struct.unpack_from("<I", head, 48)[0]
        t.ok(machine == 224 and flags & 0xFF == mach, f"--objects keeps a code object for {arch}", (machine, hex(flags)))


def one_command(work):
    """The whole tree ports in one command, and the result builds to a program with both code objects."""
    out = os.path.join(work, "hip")
    p = subprocess.run([STARPORT, "translate", DEMO, "--o-dir", out], capture_output=True, text=True)
    t.ok(p.returncode == 0 and os.path.exists(out + "/src/reduce.cu"), "the demo tree is ported in one command", p.stderr)
    p = check("-I", out + "/include", "--no-fix", "--no-host", "--arch", "gfx942", out)
    t.ok(p.returncode == 0 and "4 of 4 files compile" in p.stdout, "the ported tree passes check as it is", p.stdout + p.stderr)
    libs = os.path.join(work, "bitcode")
    os.mkdir(libs)
    bc = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"
    for f in os.listdir(bc):
        os.symlink(os.path.join(bc, f), os.path.join(libs, f))
    if not os.path.exists(libs + "/oclc_isa_version_942.bc"):
        os.symlink(bc + "/oclc_isa_version_940.bc", libs + "/oclc_isa_version_942.bc")
    sources = [os.path.join(out, "src", f) for f in sorted(os.listdir(out + "/src"))]
    program = os.path.join(work, "demo")
    p = subprocess.run(["clang++-19", "-x", "hip", "--offload-arch=gfx90a,gfx942", "-O1", "-std=c++17", "-w", "--rocm-path=/usr",
                        f"--rocm-device-lib-path={libs}", "-I", out + "/include", "-I", SHIM + "/stubs/newer",
                        "-include", "starport_newer_api.h", "-idirafter", SHIM + "/shim/lib", *sources, "-o", program, "-lamdhip64"],
                       capture_output=True, text=True)
    fat = open(program, "rb").read() if os.path.exists(program) else b""
    t.ok(p.returncode == 0 and b"gfx90a" in fat and b"gfx942" in fat,
         "the ported tree links to a program with code for gfx90a and gfx942", p.stderr)


ERRORS = """// no header of CUDA is included: translation adds HIP's
#define N 64


__global__ void masks(int *p)
{
    p[threadIdx.x] = __shfl_xor_sync(0xffffffff, p[threadIdx.x], 1);
}
__global__ void wrong(int *p)
{
    p[threadIdx.x] = not_declared;
}
int main()
{
    int *p;
    cudaMalloc(&p, N * sizeof(int));
    masks<<<1, N>>>(p);
    cudaFree(p, 1);
}
"""
LARGE = """#include <cuda_runtime.h>
__global__ void large(float *p)
{
    __shared__ float s[20000];
    s[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = s[1023 - threadIdx.x];
}
__global__ void fits(float *p)
{
    __shared__ float s[10000];
    s[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = s[1023 - threadIdx.x];
}
"""
LIBRARIES = """#include <cublas_v2.h>
#include <cufft.h>
#include <curand.h>
#include <cusolverDn.h>
#include <cusparse.h>
#include <nccl.h>
#include <nvToolsExt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
__global__ void k(__nv_bfloat16 *b, half *h) { b[0] = __float2bfloat16(__half2float(h[0])); }
int main()
{
    cublasHandle_t blas;
    cufftHandle plan;
    cusparseHandle_t sparse;
    cusolverDnHandle_t solver;
    curandGenerator_t gen;
    ncclComm_t comm;
    float one = 1, zero = 0, *x = nullptr;
    if (cublasCreate(&blas) != CUBLAS_STATUS_SUCCESS)
        return 1;
    cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, 4, 4, 4, &one, x, 4, x, 4, &zero, x, 4);
    cufftPlan1d(&plan, 64, CUFFT_C2C, 1);
    cusparseCreate(&sparse);
    cusolverDnCreate(&solver);
    curandCreateGenerator(&gen, CURAND_RNG_PSEUDO_DEFAULT);
    ncclAllReduce(x, x, 4, ncclFloat, ncclSum, comm, 0);
    nvtxRangePushA("work");
    nvtxRangePop();
    return 0;
}
"""


def errors(work):
    path = write(os.path.join(work, "errors.cu"), ERRORS)
    p = check("--no-fix", "--no-host", "--arch", "gfx942", path)
    for line, what in [(7, "64-bit integer"), (11, "not_declared"), (18, "hipFree")]:
        hit = [s for s in p.stdout.splitlines() if f"errors.cu:{line}:" in s and what in s]
        t.ok(hit, f"an error is at its CUDA line ({what})", p.stdout + p.stderr)
    t.equal(p.returncode, 1, "errors make the exit status 1")
    p = check("--no-host", "--arch", "gfx942", path)
    t.ok("64-bit integer" not in p.stdout and "not_declared" in p.stdout, "the automatic fixes repair the 32-bit mask", p.stdout)
    hip = write(os.path.join(work, "hip.hip"), "#include <hip/hip_runtime.h>\n" + ERRORS.split("__global__ void wrong")[0])
    p = check("--no-host", "--arch", "gfx942", hip)
    t.ok("hip.hip:8:" in p.stdout and "64-bit integer" in p.stdout, "HIP sources are compiled as they are, without fixes", p.stdout)
    write(os.path.join(work, "large.cu"), LARGE)
    p = check("--no-host", os.path.join(work, "large.cu"))
    t.ok(p.returncode == 1 and "local memory (80000) exceeds limit (65536)" in p.stdout and "large.cu:2:" in p.stdout,
         "a kernel with more than 64 KiB of LDS is an error at its line", p.stdout + p.stderr)
    p = check("-W", "-o", "json", write(os.path.join(work, "libraries.cu"), LIBRARIES))
    r = json.loads(p.stdout or "{}")
    t.ok(p.returncode == 0 and r.get("units_ok") == 1, "code that uses libraries which are not installed is checked all the same",
         p.stdout + p.stderr)


with tempfile.TemporaryDirectory(prefix="starport-test-") as tmp:
    for test in (bad_input, demo, one_command, errors):
        sub = os.path.join(tmp, test.__name__)
        os.mkdir(sub)
        if test is not bad_input and not (shutil.which("clang++-19") and os.path.exists("/usr/include/hip/hip_runtime.h")):
            t.skip(test.__name__, "clang-19 or libamdhip64-dev is not installed")
            continue
        t.run(test.__name__, test, sub)
t.done()
