#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""starport verify: what a user sees of kernels that run on the CPU with waves of 32 and 64 lanes."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gen_kernels
from tap import BUILD, ROOT, Tap

STARPORT = os.path.join(BUILD, "starport")
SEED = int(os.environ.get("SEED", "20261201"))
t = Tap()


def verify(*args, cwd=None, env=None):
    return subprocess.run([STARPORT, "verify", *args], cwd=cwd, env=env, capture_output=True, text=True)


def report(*args):
    p = verify("-o", "json", *args)
    try:
        return json.loads(p.stdout), p
    except json.JSONDecodeError:
        return {"findings": [], "runs": []}, p


def write(path, text):
    with open(path, "w") as f:
        f.write(text)
    return path


def line_of(text, what, nth=1):
    lines = [i for i, s in enumerate(text.split("\n"), 1) if what in s]
    return lines[nth - 1]


def generated(work):
    """30 planted bugs, 30 correct kernels, and the same after the automatic fixes."""
    index = gen_kernels.generate(work, SEED, 30, 30)

    def caught(name, options=()):
        kernels = [k for k in index if k["file"] == name]
        ref = write(os.path.join(work, name + ".ref"), "".join(f"{k['name']} ok\n" for k in kernels))
        r, p = report("--reference", ref, *options, os.path.join(work, name))
        errors = [f for f in r["findings"] if f["severity"] == "error"]
        if not r["runs"]:
            t.ok(False, f"{name} builds and runs", p.stderr)
        hit = set()
        for k in kernels:
            for f in errors:
                at = f["file"] and f["file"].endswith(name) and k["first"] <= f["line"] <= k["last"]
                if at or f"\"{k['name']} " in f["text"]:
                    hit.add(k["name"])
        return hit, p, errors

    good, bugs = [k for k in index if not k["rule"]], [k for k in index if k["rule"]]
    for name in sorted({k["file"] for k in good}):
        hit, p, errors = caught(name)
        t.ok(p.returncode == 0 and not errors, f"correct wave-64 kernels: nothing is found in {name}", p.stdout + p.stderr)
    found, fixed = set(), set()
    for name in sorted({k["file"] for k in bugs}):
        hit, p, _ = caught(name)
        found |= hit
        t.equal(p.returncode, 1, f"planted bugs: {name} exits with 1")
        fixed |= caught(name, ["--fix"])[0]
    t.equal((len(bugs), len(good)), (30, 30), "30 planted bugs and 30 correct kernels were made")
    t.equal(sorted(k["name"] for k in bugs if k["name"] not in found), [], f"every planted bug is found (seed {SEED})")
    t.equal(sorted((k["rule"], k["name"]) for k in bugs if k["fixable"] and k["name"] in fixed), [],
            "after the automatic fixes the kernels that have one pass")


SHARED = """#include <cstdio>
#include <hip/hip_runtime.h>
__global__ void over(int *out)
{
    __shared__ int tile[64];
    tile[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x + 1]; // reads tile[64]
}
__global__ void under(int *out)
{
    __shared__ double a[8], b[8];
    if (threadIdx.x < 8)
        a[threadIdx.x] = b[threadIdx.x] = 0;
    b[(int)threadIdx.x - 1 < 8 ? (int)threadIdx.x - 1 : 0] = 2; // writes b[-1]
    out[0] = (int)a[0];
}
__global__ void dynamic(int *out)
{
    extern __shared__ short s[];
    s[threadIdx.x] = 1;
    s[threadIdx.x + 64] = 2; // writes past the launch's bytes
    out[threadIdx.x] = s[threadIdx.x];
}
__device__ void helper(int *p)
{
    p[100] = 3; // writes through a pointer
}
__global__ void pointer(int *out)
{
    __shared__ int mine[100];
    if (threadIdx.x == 0)
        helper(mine);
}
__global__ void parted(int *out)
{
    if (threadIdx.x % 2)
        __syncthreads(); // odd threads
    else
        out[threadIdx.x] = 1;
    __syncthreads();     // even threads
    out[threadIdx.x] = 2;
}
__global__ void early(int *out)
{
    if (threadIdx.x >= 48)
        return;
    __syncthreads(); // after a return
    out[threadIdx.x] = 3;
}
__global__ void fine(int *out)
{
    __shared__ int t[64];
    t[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = t[63 - threadIdx.x];
}
int main()
{
    int *d, h[64];
    (void)hipMalloc(&d, sizeof h);
    over<<<1, 64>>>(d);
    under<<<1, 64>>>(d);
    dynamic<<<1, 64, 64 * sizeof(short)>>>(d);
    pointer<<<1, 64>>>(d);
    parted<<<1, 64>>>(d);
    early<<<1, 64>>>(d);
    dynamic<<<1, 64, 70000>>>(d); // more LDS than there is
    fine<<<1, 64>>>(d);
    (void)hipMemcpy(h, d, sizeof h, hipMemcpyDeviceToHost);
    printf("%d\\n", h[0]);
}
"""


def shared_memory(work):
    path = write(os.path.join(work, "shared.hip"), SHARED)
    r, p = report(path)
    at = {(f["kind"], f["line"]) for f in r["findings"]}
    for what, kind, name in [
        ("reads tile[64]", "bounds", "a read past the end of a shared array is found, with its line"),
        ("writes b[-1]", "bounds", "a write before the start of a shared array is found"),
        ("past the launch's bytes", "bounds", "a write past the launch's dynamic shared memory is found"),
        ("through a pointer", "bounds", "an overrun through a pointer in a called function is found"),
        ("odd threads", "barrier", "a barrier that only some threads reach is found"),
        ("after a return", "barrier-exit", "threads that returned before a barrier give a note"),
        ("more LDS than there is", "lds", "a launch with more than 64 KiB of shared memory is found"),
    ]:
        t.ok((kind, line_of(SHARED, what)) in at, name, f"{sorted(at)}\n{p.stderr}")
    lines = {line for _, line in at}
    first = line_of(SHARED, "void fine")
    t.ok(not any(first <= line <= first + 6 for line in lines), "a correct kernel beside them has no finding", sorted(at))
    texts = " ".join(f["text"] for f in r["findings"])
    t.ok('"tile" (256 bytes)' in texts and "thread (63,0,0)" in texts, "the finding names array, size and thread", texts)
    note = [f for f in r["findings"] if f["kind"] == "barrier-exit"]
    t.ok(note and note[0]["severity"] == "note", "the early return is a note, not a finding")
    t.equal(p.returncode, 1, "findings make the exit status 1")


def demo():
    """The CUDA project that is shipped."""
    d = os.path.join(ROOT, "examples/cuda-demo")
    files = [os.path.join(d, "src", f) for f in sorted(os.listdir(d + "/src")) if f.endswith(".cu")]
    args = ["-I", d + "/include", *files]
    p = verify(*args)
    t.ok(p.returncode == 1 and "select.cu:15: error: mask" in p.stdout and "output-differs" in p.stdout,
         "the demo's wave-32 assumptions are found as it stands", p.stdout + p.stderr)
    p = verify("--fix", *args)
    t.ok(p.returncode == 0 and "0 findings" in p.stdout, "the demo passes with the automatic fixes", p.stdout + p.stderr)


SUM = """#include <cstdio>
#include <cuda_runtime.h>
__global__ void sum(const float *x, float *y)
{
    float v = x[threadIdx.x];
    for (int o = warpSize / 2; o > 0; o /= 2)
        v += __shfl_down(v, o);
    if (threadIdx.x % warpSize == 0)
        atomicAdd(y, v);
}
int main(int argc, char **argv)
{
    float h[128], *x, *y, r = 0;
    for (int i = 0; i < 128; i++)
        h[i] = i;
    cudaMalloc(&x, sizeof h);
    cudaMalloc(&y, sizeof r);
    cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
    sum<<<1, 128>>>(x, y);
    cudaMemcpy(&r, y, sizeof r, cudaMemcpyDeviceToHost);
    printf("sum %.1f of %s\\n", r, argc > 1 ? argv[1] : "nothing");
}
"""


WARP_SYNCHRONOUS = """#include <cstdio>
#include <cuda_runtime.h>
__global__ void sum(const int *x, int *y)
{
    __shared__ int s[256];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    if (t < 128)
        s[t] += s[t + 128];
    __syncthreads();
    if (t < 32) {
        volatile int *v = s;
        for (int d = 64; d >= 32; d /= 2) {
            if (d == 64)
                v[t + 32] += v[t + 96];
            v[t] += v[t + d];
        }
        v[t] += v[t + 16];
        v[t] += v[t + 8];
        v[t] += v[t + 4];
        v[t] += v[t + 2];
        v[t] += v[t + 1];
    }
    if (t == 0)
        *y = s[0];
}
int main()
{
    int h[256], *x, *y, r = 0;
    for (int i = 0; i < 256; i++)
        h[i] = i;
    cudaMalloc(&x, sizeof h);
    cudaMalloc(&y, sizeof r);
    cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
    sum<<<1, 256>>>(x, y);
    cudaMemcpy(&r, y, sizeof r, cudaMemcpyDeviceToHost);
    printf("sum %d\\n", r);
}
"""


def options(work):
    path = write(os.path.join(work, "volatile.cu"), WARP_SYNCHRONOUS)
    p = verify("--lockstep", "--reference", write(os.path.join(work, "sum"), "sum 32640\n"), path)
    t.ok(p.returncode == 0, "code that relies on lock-step gives its hardware result with --lockstep", p.stdout + p.stderr)
    path = write(os.path.join(work, "sum.cu"), SUM)
    right = write(os.path.join(work, "right"), "sum 8128.01 of it\n")
    wrong = write(os.path.join(work, "wrong"), "sum 8129.0 of it\n")
    p = verify("--arg", "it", "--reference", right, path)
    t.ok(p.returncode == 0, "a number within the tolerance equals the reference", p.stdout + p.stderr)
    p = verify("--arg", "it", "--reference", wrong, "--wave", "64", path)
    t.ok(p.returncode == 1 and "8128.0" in p.stdout and "8129.0" in p.stdout, "another number does not, and both are shown", p.stdout)
    t.ok("wave 32" not in p.stdout, "--wave 64 runs that size only", p.stdout)
    with open(path, "rb") as f:
        t.ok(f.read().decode() == SUM, "the source file is left as it was")
    if shutil.which("g++"):
        p = verify("--compiler", "g++", path)
        t.ok(p.returncode == 0 and "0 findings" in p.stdout, "g++ will do as the compiler", p.stdout + p.stderr)
    else:
        t.skip("g++ will do as the compiler", "no g++")


def bad_input(work):
    p = verify(os.path.join(work, "nothing.cu"))
    t.ok(p.returncode == 3 and p.stderr.count("\n") == 1 and "nothing.cu" in p.stderr, "a missing file: one line, exit status 3", p.stderr)
    broken = write(os.path.join(work, "broken.cu"), "__global__ void k(int *p)\n{\n    p[0] = undeclared_name;\n}\nint main() {}\n")
    p = verify(broken)
    t.ok(p.returncode == 3 and "broken.cu:3:" in p.stderr and "undeclared_name" in p.stderr,
         "an error of the compiler is at the CUDA line", p.stderr)
    for args, what in [(["--wave", "48"], "--wave"), (["--tolerance", "x"], "--tolerance"), (["--nonsense"], "--nonsense")]:
        p = verify(*args, broken)
        t.ok(p.returncode == 2 and what in p.stderr, f"{' '.join(args)}: exit status 2, named", p.stderr)
    p = verify(broken, env={"PATH": work, "HOME": work})
    t.ok(p.returncode == 3 and "clang-19" in p.stderr, "without a compiler the package is named", p.stderr)
    loop = "__global__ void k(volatile int *p)\n{\n    while (p[0] == 0)\n        ;\n}\nint main()\n{\n    int *p;\n" \
           "    cudaMalloc(&p, 4);\n    k<<<1, 1>>>(p);\n}\n"
    path = write(os.path.join(work, "loop.cu"), loop)
    p = verify("--timeout", "5", "--wave", "64", path)
    t.ok(p.returncode == 1 and re.search(r"loop\.cu:[34]: error: timeout", p.stdout), "a kernel that does not end is found, with its line", p.stdout + p.stderr)


with tempfile.TemporaryDirectory(prefix="starport-test-") as tmp:
    for test in (generated, shared_memory, options, bad_input):
        sub = os.path.join(tmp, test.__name__)
        os.mkdir(sub)
        t.run(test.__name__, test, sub)
    t.run("demo", demo)
t.done()
