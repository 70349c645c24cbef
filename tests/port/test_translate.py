#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""starport translate and starport-hipify as their users see them: results, options, bad input."""
import glob
import json
import os
import resource
import shutil
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import BUILD, ROOT, Tap  # noqa: E402

t = Tap()
STARPORT, HIPIFY = f"{BUILD}/starport", f"{BUILD}/starport-hipify"
GOLDEN = f"{ROOT}/tests/port/golden"
work = tempfile.mkdtemp(prefix="starport-test-")


def run(*args, tool=STARPORT, cwd=work):
    p = subprocess.run([tool, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, timeout=120)
    return p.returncode, p.stdout, p.stderr.decode(errors="replace")


def put(name, data, where=work):
    path = os.path.join(where, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    return path


def get(path):
    with open(path, "rb") as f:
        return f.read()


def golden():
    for want in sorted(glob.glob(f"{GOLDEN}/*.hip")):
        name = os.path.basename(want).split(".")[0]
        opts = ["--launch", "hip"] if want.endswith(".ggl.hip") else []
        rc, out, err = run("translate", "--no-fix=all", *opts, f"{GOLDEN}/{name}.cu")
        t.equal((rc, out), (0, get(want)), f"{os.path.basename(want)} is what translation gives")
        rc, again, err = run("translate", "--no-fix=all", *opts, want)
        t.equal(again, out, f"{os.path.basename(want)}: a second run changes nothing")


def trees():
    tree = os.path.join(work, "tree")
    put("tree/a.cu", "#include <cuda.h>\ncudaFree(p);\n")
    put("tree/sub/b.cuh", "#pragma once\n__device__ int f();\n")
    put("tree/sub/plain.cpp", "int main() { return 0; }\n")
    put("tree/notes.txt", "cudaFree")
    put("tree/skip/c.cu", "cudaFree(p);\n")
    os.symlink(tree, f"{tree}/loop")
    rc, out, err = run("translate", "--o-dir", "out", "--exclude-dir", "skip", "--rename", "tree")
    t.ok(rc == 0 and sorted(os.listdir(f"{work}/out")) == ["a.hip", "sub"], "a tree is written below --o-dir, .cu renamed",
         err + str(os.listdir(f"{work}/out")))
    t.equal(get(f"{work}/out/sub/plain.cpp"), get(f"{tree}/sub/plain.cpp"), "an unchanged file is byte-identical")
    rc, out, err = run("translate", "--diff", "tree")
    t.ok(rc == 0 and b"-cudaFree(p);\n+hipFree(p);\n" in out, "--diff shows what would change", out)
    if shutil.which("patch"):
        shutil.copytree(tree, f"{work}/patched", symlinks=True)
        subprocess.run(["patch", "-s", "-p2", "-d", f"{work}/patched"], input=out, check=True)
        rc, whole, err = run("translate", f"{tree}/a.cu")
        t.equal(get(f"{work}/patched/a.cu"), whole, "HIPIFY-274: an absolute path is a path; the diff applies and gives the same file")
    rc, out, err = run("translate", "--inplace", "tree")
    t.ok(rc == 0 and get(f"{tree}/a.cu.prehip").startswith(b"#include <cuda.h>") and b"hipFree" in get(f"{tree}/a.cu"),
         "--inplace changes the file and keeps it as .prehip", err)
    t.ok(not os.path.exists(f"{tree}/sub/plain.cpp.prehip"), "--inplace leaves an unchanged file without a .prehip")
    before = os.stat(f"{tree}/a.cu").st_ino
    rc, out, err = run("translate", "--inplace", "tree")
    t.ok(rc == 0 and b"hipFree" in get(f"{tree}/a.cu") and before, "--inplace again starts from the .prehip")
    put("tree2/main.cu", '#include "lib.h"\nint x;\n')
    put("tree2/lib.h", '#include "deep.h"\n')
    put("tree2/deep.h", "cudaError_t e;\n")
    rc, out, err = run("translate", "--closure", "--diff", "tree2/main.cu")
    t.ok(b"b/tree2/deep.h" in out, "HIPIFY-47: --closure translates the headers that a file includes", out)
    put("tree3/a.cu", "cudaFree(p);\n")
    for tool, opts in (STARPORT, ["translate"]), (HIPIFY, []):
        for _ in range(2):
            rc, out, err = run(*opts, "--o-dir", "tree3/hip", "tree3", tool=tool)
        t.ok(rc == 0 and os.listdir(f"{work}/tree3/hip") == ["a.cu"],
             f"an output directory inside of the tree is no input of the next run ({os.path.basename(tool)})",
             err + str(os.listdir(f"{work}/tree3/hip")))
    put("db/compile_commands.json", json.dumps([{"directory": f"{work}/tree2", "file": "main.cu", "command": "nvcc main.cu"}]))
    rc, out, err = run("translate", "--database", "db")
    t.ok(rc == 0 and b"int x;" in out, "the files of compile_commands.json are translated", err)


def hipify():
    put("h.cu", "#include <cuda.h>\ncudaFree(p); cudaGLMapBufferObject(p, b);\nk<<<1, 2>>>(p);\n")
    rc, out, err = run("-hip-kernel-execution-syntax", "h.cu", tool=HIPIFY)
    t.ok(rc == 0 and b"hipLaunchKernelGGL(k, dim3(1), dim3(2), 0, 0, p);" in out, "hipify-perl's options work with one dash", out)
    t.ok("h.cu:2:14: warning: cudaGLMapBufferObject" in err, "a name without counterpart is a warning with its place", err)
    rc, out, err = run("-examine", "-quiet-warnings", "h.cu", tool=HIPIFY)
    t.ok(out == b"" and "[HIPIFY] info: file 'h.cu' statistics:\n  CONVERTED refs count: 3\n" in err and
         "  cudaFree => hipFree: 1\n" in err, "HIPIFY-525: -examine prints hipify's statistics and no file", err)
    rc, out, err = run("-o=h.hip", "h.cu", tool=HIPIFY)
    t.ok(rc == 0 and b"hipFree" in get(f"{work}/h.hip"), "-o=FILE writes the file", err)
    rc, out, err = run("--print-stats-csv", "--no-output", "h.cu", "--", "-std=c++17", "-DX", tool=HIPIFY)
    t.ok(rc == 0 and b"CONVERTED refs count;3" in get(f"{work}/h.cu.csv"), "--print-stats-csv writes FILE.csv; what follows -- is ignored", err)
    os.symlink(STARPORT, f"{work}/hipify-perl")
    rc, out, err = run("h.cu", tool=f"{work}/hipify-perl")
    t.ok(rc == 0 and b"hipFree" in out, "starport called hipify-perl behaves like it", err)
    rc, out, err = run("-no-such-thing", "h.cu", tool=HIPIFY)
    t.ok(rc == 2 and err.count("\n") == 1, "an unknown option is one line and exit status 2", err)


RT, GGL = "#include <hip/hip_runtime.h>\n", ["--launch", "hip"]
# Public reports against the existing translators: number, what a user sees here, options, input, output.
REPORTS = [
    ("HIP-1409", "a macro whose body is a launch changes in its body, calls stay", GGL,
     "#define L(k,g,b,...) k<<<g,b>>>(__VA_ARGS__)\nL(f, 1, 2);\n",
     RT + "#define L(k,g,b,...) hipLaunchKernelGGL(k, dim3(g), dim3(b), 0, 0, ##__VA_ARGS__)\nL(f, 1, 2);\n"),
    ("HIP-1406", "a macro that stands for a kernel's instance is kept as one argument", GGL,
     "#define K axpy<float>\nK<<<1,2>>>(x);\n",
     RT + "#define K axpy<float>\nhipLaunchKernelGGL(HIP_KERNEL_NAME(K), dim3(1), dim3(2), 0, 0, x);\n"),
    ("HIPIFY-294", "a comma in a call's brackets separates nothing", GGL, "k<<<b,t,min(x,y)>>>();\n",
     RT + "hipLaunchKernelGGL(k, dim3(b), dim3(t), min(x,y), 0);\n"),
    ("HIPIFY-2455", "launches are rewritten with every option that asks for it", GGL, "k<<<g,b,s,st>>>(a, c);\n",
     RT + "hipLaunchKernelGGL(k, dim3(g), dim3(b), s, st, a, c);\n"),
    ("HIPIFY-64", "a template kernel's commas do not split the macro's arguments", GGL, "sort<512,8><<<1,512>>>(a,b);\n",
     RT + "hipLaunchKernelGGL(HIP_KERNEL_NAME(sort<512,8>), dim3(1), dim3(512), 0, 0, a,b);\n"),
    ("HIP-1387", "a launch without arguments has no trailing comma", GGL, "empty<<<1,2>>>( );\n",
     RT + "hipLaunchKernelGGL(empty, dim3(1), dim3(2), 0, 0);\n"),
    ("HIP-1487", "a qualified kernel name stays whole", GGL, "first::test<<<1,1>>>();\n",
     RT + "hipLaunchKernelGGL(first::test, dim3(1), dim3(1), 0, 0);\n"),
    ("HIP-1487b", "the runtime's header is included once", [], "#include <cuda.h>\n#include <cuda_runtime.h>\ncudaFree(p);\n",
     RT + "hipFree(p);\n"),
    ("pytorch-41022", "a template kernel is protected by HIP_KERNEL_NAME", GGL, "f<int, 3><<<g, b>>>(x);\n",
     RT + "hipLaunchKernelGGL(HIP_KERNEL_NAME(f<int, 3>), dim3(g), dim3(b), 0, 0, x);\n"),
    ("HIP-199", "a file that does not compile is translated", [], "#include <cuda.h>\nint x = = cudaSuccess\n", RT + "int x = = hipSuccess\n"),
    ("HIPIFY-2486", "comments and lit directives stay", [], "// RUN: %t cudaMalloc\n/* cudaFree */ cudaFree(p);\n",
     RT + "// RUN: %t cudaMalloc\n/* cudaFree */ hipFree(p);\n"),
    ("HIPIFY-533", "names inside of longer names stay", [], "my_cudaMalloc(cudaMalloc_x, cudaMalloc);\n",
     RT + "my_cudaMalloc(cudaMalloc_x, hipMalloc);\n"),
    ("HIPIFY-1604", "no CUDA installation is needed", [], "#include <cufft.h>\ncufftHandle h;\n",
     RT + "#include <hipfft/hipfft.h>\nhipfftHandle h;\n"),
    ("ROCm-3937", "a header of HIP is not mapped again", [], "#include <hip/device_functions.h>\n#include <hip/hip_runtime.h>\ncudaFree(p);\n",
     "#include <hip/device_functions.h>\n#include <hip/hip_runtime.h>\nhipFree(p);\n"),
    ("hipify_torch", "Latin-1 bytes stay", [], b"#include <cuda.h>\n// \xe9t\xe9\ncudaFree(p);\n", RT.encode() + b"// \xe9t\xe9\nhipFree(p);\n"),
    ("HIPIFY-75", "cub becomes hipCUB", [], "#include <cub/cub.cuh>\ncub::BlockRadixSort<int, 64> s;\n",
     RT + "#include <hipcub/hipcub.hpp>\nhipcub::BlockRadixSort<int, 64> s;\n"),
    ("HIPIFY-383", "a data type in cuSPARSE code is no hipBLAS type", ["--rocm", "5.7"], "#include <cusparse.h>\ncudaDataType t = CUDA_R_32F;\n",
     RT + "#include <hipsparse/hipsparse.h>\nhipDataType t = HIP_R_32F;\n"),
    ("pytorch-187752", "compute types of cuBLAS are mapped", [], "#include <cublas_v2.h>\ncublasComputeType_t t = CUBLAS_COMPUTE_16F;\n",
     RT + "#include <hipblas/hipblas.h>\nhipblasComputeType_t t = HIPBLAS_COMPUTE_16F;\n"),
    ("HIPIFY-584", "cuDNN becomes MIOpen when asked", ["--miopen", "-q"], "#include <cudnn.h>\ncudnnHandle_t h;\n",
     RT + "#include <miopen/miopen.h>\nmiopenHandle_t h;\n"),
    ("HIPIFY-293", "NCCL becomes RCCL", [], "#include <nccl.h>\nncclComm_t c;\n", "#include <rccl/rccl.h>\nncclComm_t c;\n"),
    ("HIP-1638", "NVTX becomes roctx", [], "#include <nvtx3/nvToolsExt.h>\nnvtxRangePush(\"x\");\n",
     RT + "#include <roctracer/roctx.h>\nroctxRangePushA(\"x\");\n"),
    ("HIPIFY-2088", "the bfloat16 header is mapped", [], "#include <cuda_bf16.h>\n__nv_bfloat16 b;\n",
     RT + "#include <hip/hip_bf16.h>\n__hip_bfloat16 b;\n"),
    ("perl-13", "a launch of any postfix expression is rewritten", GGL, "(*fp)<<<g,b>>>(d); obj.get<float>()<<<g,b>>>();\n",
     RT + "hipLaunchKernelGGL((*fp), dim3(g), dim3(b), 0, 0, d); hipLaunchKernelGGL(obj.get<float>(), dim3(g), dim3(b), 0, 0);\n"),
    ("perl-17", "strings stay", [], 'cudaFree(p); puts("cudaMalloc failed"); R"(cudaFree)";\n',
     RT + 'hipFree(p); puts("cudaMalloc failed"); R"(cudaFree)";\n'),
    ("perl-18", "a local header named like a CUDA header stays", [],
     '#include "mylib/cuda_runtime.h"\n#include "third_party/cub/cub.cuh"\n', '#include "mylib/cuda_runtime.h"\n#include "third_party/cub/cub.cuh"\n'),
]


def reports():
    for number, name, opts, text, want in REPORTS:
        path = put(f"report/{number}.cu", text)
        want = want if isinstance(want, bytes) else want.encode()
        again = put(f"report/{number}.hip", want)
        _, out, _ = run("translate", "--no-fix=all", *opts, path)
        _, twice, _ = run("translate", "--no-fix=all", *opts, again)
        t.ok(out == want == twice, f"{number}: {name}; a second run changes nothing", f"{out!r}\n{twice!r}")


def dash():
    path = put("dash/a.cu", "void f() { cudaFree(0); }\n")
    plain, named = run("translate", path)[1], run("translate", "-o", "-", path)[1]
    t.ok(named == plain != b"" and not os.path.exists(os.path.join(work, "-")), "--output - is standard output, not a file of that name", named)


def refused(name, args, rc_want, *words):
    rc, out, err = run(*args)
    t.ok(rc == rc_want and out == b"" and err.count("\n") == 1 and all(w in err for w in words), name, f"rc {rc}\n{err}{out!r}")


def bad_input():
    refused("a missing file is one line and exit status 3", ["translate", "nothing.cu"], 3, "nothing.cu", "no such file")
    os.makedirs(f"{work}/empty", exist_ok=True)
    refused("a directory without sources says so", ["translate", "--o-dir", "x", "empty"], 3, "empty", "no CUDA")
    put("nul.cu", b"int a;\0cudaFree")
    refused("a file with NUL bytes is refused", ["translate", "nul.cu"], 3, "nul.cu", "NUL byte at offset 6")
    for name, text in (("comment", "int a; /* cudaFree"), ("string", 'R"(cudaFree'), ("launch", "k<<<1, 2>>;\n")):
        path = put(f"open_{name}.cu", text)
        refused(f"an unterminated {name} is one line and the file is left alone", ["translate", "-q", "--inplace", path], 3, f"open_{name}.cu:1:")
        t.equal(get(path), text.encode(), f"the file with the unterminated {name} is untouched")
    path = put("over.cu", "cudaFree(p);\n")
    refused("output over the input needs --inplace", ["translate", "-o", path, path], 3, "--inplace")
    refused("the same through --o-dir", ["translate", "--o-dir", work, path], 3, "--inplace")
    refused("an unknown option is a usage error", ["translate", "--nonsense", path], 2, "--nonsense")
    refused("an unknown ROCm version is a usage error", ["translate", "--rocm", "new", path], 2, "--rocm")
    refused("an unknown launch syntax is a usage error", ["translate", "--launch", "x", path], 2, "--launch")
    refused("two places for the output are a usage error", ["translate", "-o", "y", "--inplace", path], 2, "exclude")
    os.symlink("loop2", f"{work}/loop1")
    os.symlink("loop1", f"{work}/loop2")
    refused("a loop of symbolic links is one line", ["translate", "loop1"], 3, "loop1")
    big = put("big.cu", "")
    os.truncate(big, (1 << 30) + 1)
    refused("a file over 1 GiB is refused", ["translate", "big.cu"], 3, "1 GiB")
    refused("a device is refused", ["translate", "/dev/null"], 3, "not a regular file")
    refused("an unknown API is one line", ["api", "cudaNothing"], 3, "cudaNothing")
    if os.getuid() != 0:
        put("ro/a.cu", "cudaFree(p);\n")
        os.chmod(f"{work}/ro", stat.S_IRUSR | stat.S_IXUSR)
        refused("a read-only tree is one line", ["translate", "--inplace", "ro"], 3, "no permission")
        os.chmod(f"{work}/ro", stat.S_IRWXU)
    odd = put("latin1.cu", b"// \xe9\xff\xfe\r\ncudaFree(p); // \xa0\r\n")
    rc, out, err = run("translate", "--no-fix=all", odd)
    t.equal(out, b"#include <hip/hip_runtime.h>\r\n// \xe9\xff\xfe\r\nhipFree(p); // \xa0\r\n", "any encoding and CR LF are kept")


def cost(text):
    """Processor time of one run over the text, the best of three."""
    path, best = put("hostile.cu", text), 1e9
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run("translate", "-q", "--launch", "hip", "--roc", "--own-names", "--no-fix=all", "--no-output", path)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def hostile():
    """Eight times the input costs about eight times the work; a square would be 64 times."""
    for name, unit in (("launches that never close", "k<<<"), ("nested calls with argument rules", "cusparseScsrmv("),
                       ("template brackets", "a<b,"), ("calls of calls", "f()"), ("brackets", "("), ("conditions", "#if A\n"),
                       ("comments", "/**/"), ("macros that are launches", "#define L%d(k) k<<<1,2>>>()\n")):
        def text(n):
            return "".join(unit % i if "%d" in unit else unit for i in range(n // len(unit))) + "<<<1,2>>>();\n"
        small, large = cost(text(150_000)), cost(text(1_200_000))
        t.ok(large < 24 * small + 0.05, f"HIPIFY-1776: {name}: work grows with the input, not with its square", f"{small:.3f} s, {large:.3f} s")


def links():
    p = subprocess.run(["ldd", STARPORT], stdout=subprocess.PIPE, text=True)
    names = [line.split()[0] for line in p.stdout.splitlines()]
    if "asan" in p.stdout:
        t.skip("starport links libc only", "a sanitizer build")
        return
    t.ok(all(n.startswith(("linux-vdso", "libc.so", "/lib64/ld-linux", "/lib/ld-linux")) for n in names), "starport links libc only", p.stdout)


def api():
    rc, out, err = run("api", "cudaMemcpyToSymbol")
    text = out.decode()
    t.ok(rc == 0 and "hipMemcpyToSymbol" in text and "HIP_SYMBOL" in text and "HIP since" in text, "api explains targets, versions and argument rules", text)


for step in (golden, trees, hipify, reports, dash, bad_input, hostile, links, api):
    t.run(f"{step.__name__} runs", step)
shutil.rmtree(work)
t.done()
