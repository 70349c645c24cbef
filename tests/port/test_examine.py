#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""starport examine, explain and build-files as a user meets them: reports, exit statuses, bad input, public bugs."""
import html.parser
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import BUILD, ROOT, Tap  # noqa: E402

t = Tap()
TOOL = f"{BUILD}/starport"
tmp = tempfile.mkdtemp(prefix="starport-examine-")


def run(*args, cwd=tmp):
    return subprocess.run([TOOL, *args], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=120)


def put(name, text):
    path = os.path.join(tmp, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    return path


def found(text, name="t.cu", *args):
    """The findings of one file."""
    p = run("examine", put("one/" + name, text), "--format", "json", "--fail-on", "never", *args)
    os.unlink(os.path.join(tmp, "one", name))
    return json.loads(p.stdout)["findings"]


def ids(text, name="t.cu", *args):
    return {x["id"] for x in found(text, name, *args)}


def ported(text, *args):
    p = run("translate", put("one/t.cu", text), "-q", *args)
    return p.stdout.decode()


# ---- exit statuses and bad input ----
put("clean/a.cu", "__global__ void k(int *p) { p[threadIdx.x] = 1; }\n")
put("dirty/a.cu", "__device__ unsigned f() { unsigned r; asm(\"mov.u32 %0, %%smid;\" : \"=r\"(r)); return r; }\n")
put("warn/a.cu", "void f(float **p) { cudaMallocManaged(p, 4); }\n")
put("bin/a.cu", b"\x7fELF\0\0\0")
put("empty/readme.rst", "nothing\n")
for args, want, name in [
        (["examine", "clean"], 0, "a clean tree exits 0"),
        (["examine", "dirty"], 1, "a tree with an error exits 1"),
        (["examine", "dirty", "--fail-on", "never"], 0, "--fail-on never exits 0"),
        (["examine", "warn"], 0, "a warning alone exits 0"),
        (["examine", "warn", "--fail-on", "warning"], 1, "--fail-on warning exits 1 on a warning"),
        (["examine"], 2, "no argument is a usage error"),
        (["examine", "clean", "--format", "pdf"], 2, "an unknown format is a usage error"),
        (["examine", "clean", "--arch", "gfx1100"], 2, "an unknown target is a usage error"),
        (["examine", "clean", "--rocm", "99"], 2, "an unknown ROCm version is a usage error"),
        (["examine", "clean", "--no-fix", "SP9999"], 2, "an unknown rule is a usage error"),
        (["explain", "SP9999"], 2, "explaining an unknown rule is a usage error"),
        (["examine", "nowhere"], 3, "a missing path exits 3"),
        (["examine", "empty"], 3, "a tree without sources exits 3"),
        (["examine", "bin"], 3, "a binary file exits 3"),
        (["examine", "clean", "--output", "no/such/dir/report"], 3, "a report that cannot be written exits 3"),
        (["build-files", "nowhere"], 3, "build-files on a missing path exits 3")]:
    p = run(*args)
    line = p.stderr.decode().strip()
    t.ok(p.returncode == want and (want < 2 or (line and "\n" not in line)), name, f"exit {p.returncode}\n{line}")

# ---- text ----
p = run("examine", "dirty/a.cu")
text = p.stdout.decode().split("\n")
t.ok(text[0].startswith("dirty/a.cu:1:39: error: ") and text[0].endswith("[SP0201]"), "text names file, line, column, rule", text[0])
t.equal(text[2].index("^"), text[1].index("asm"), "the caret stands under the place")
t.ok("__smid()" in p.stdout.decode(), "the text says what to write instead")
t.ok("错误" in run("examine", "dirty", "--lang", "zh").stdout.decode(), "--lang zh speaks Chinese")

# ---- hostile names and contents in every format ----
bad = put("evil/<img src=x onerror=alert(1)>&\" '.cu",
          b"// \xff\xfe\xe4\xb8\xad </pre><script>alert(1)</script>\n"
          b"__device__ int f(int v) { /* \xe4\xb8\xad\xff */ return __shfl_xor_sync(0xffffffff, v, 1); } // <script>\"'\x01\n")
p = run("examine", "evil", "--format", "json", "--fail-on", "never")
j = json.loads(p.stdout.decode())
t.ok(j["findings"] and j["findings"][0]["id"] == "SP0101" and j["findings"][0]["fixed"], "JSON parses and carries the finding")

s = json.loads(run("examine", "evil", "dirty", "warn", "--format", "sarif", "--fail-on", "never").stdout.decode())


def sarif_problems(s):
    """What the 2.1.0 schema requires, and what it restricts, of the objects that are used here."""
    out = []

    def need(cond, what):
        if not cond:
            out.append(what)

    def keys(o, required, allowed, where):
        need(isinstance(o, dict), f"{where} is an object")
        need(set(required) <= set(o), f"{where} has {required}, got {sorted(o)}")
        need(set(o) <= set(required) | set(allowed), f"{where} has unknown {sorted(set(o) - set(required) - set(allowed))}")

    def text_message(o, where):
        keys(o, ["text"], ["markdown", "id", "arguments"], where)
        need(isinstance(o.get("text"), str), f"{where}.text is a string")

    keys(s, ["version", "runs"], ["$schema", "inlineExternalProperties", "properties"], "log")
    need(s["version"] == "2.1.0", "version is 2.1.0")
    for r in s["runs"]:
        keys(r, ["tool"], ["results", "columnKind", "artifacts", "invocations", "properties", "language"], "run")
        need(r.get("columnKind") in ("utf16CodeUnits", "unicodeCodePoints"), "columnKind")
        keys(r["tool"], ["driver"], ["extensions", "properties"], "tool")
        d = r["tool"]["driver"]
        keys(d, ["name"], ["version", "language", "rules", "informationUri", "semanticVersion"], "driver")
        need(re.fullmatch(r"[a-zA-Z]{2}(-[a-zA-Z]{2})?", d.get("language", "en-US")), "language")
        rules = d.get("rules", [])
        need(len({x["id"] for x in rules}) == len(rules), "rule ids are unique")
        for x in rules:
            keys(x, ["id"], ["shortDescription", "fullDescription", "help", "defaultConfiguration", "properties", "name", "helpUri"], "rule")
            for k in ("shortDescription", "fullDescription", "help"):
                text_message(x[k], k)
            need(x["defaultConfiguration"]["level"] in ("none", "note", "warning", "error"), "level of a rule")
        for x in r["results"]:
            keys(x, ["message"], ["ruleId", "ruleIndex", "level", "locations", "properties", "fixes", "kind"], "result")
            text_message(x["message"], "message")
            need(x["level"] in ("none", "note", "warning", "error"), "level of a result")
            need(rules[x["ruleIndex"]]["id"] == x["ruleId"], "ruleIndex names ruleId")
            for loc in x["locations"]:
                pl = loc["physicalLocation"]
                keys(pl, ["artifactLocation", "region"], [], "physicalLocation")
                need(re.fullmatch(r"[A-Za-z0-9._~/%:-]+", pl["artifactLocation"]["uri"]), "uri is a URI: " + pl["artifactLocation"]["uri"])
                g = pl["region"]
                keys(g, ["startLine"], ["startColumn", "endColumn", "endLine", "snippet"], "region")
                need(g["startLine"] >= 1 and g["startColumn"] >= 1 and g["endColumn"] >= g["startColumn"], "region counts from 1")
                line = g["snippet"]["text"]
                need(g["endColumn"] <= len(line) + 1, "region lies in its line")
    return out


problems = sarif_problems(s)
t.ok(not problems and len(s["runs"][0]["results"]) >= 3, "SARIF holds what the 2.1.0 schema requires", "\n".join(problems))
g = next(x for x in s["runs"][0]["results"] if x["ruleId"] == "SP0101")["locations"][0]["physicalLocation"]["region"]
t.equal(g["snippet"]["text"][g["startColumn"] - 1:g["endColumn"] - 1], "0xffffffff", "SARIF's columns count code points")


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.urls, self.text = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.urls += [v for k, v in attrs if k in ("src", "href", "action", "data", "srcset", "background")]
        self.urls += [k for k, _ in attrs if k.startswith("on")]

    def handle_data(self, data):
        self.text += data


for lang in ("en", "zh"):
    out = os.path.join(tmp, f"report-{lang}.html")
    run("examine", "evil", "dirty", "--format", "html", "--output", out, "--lang", lang, "--fail-on", "never")
    with open(out, encoding="utf-8") as f:
        page = f.read()
    h = Page()
    h.feed(page)
    allowed = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "table", "tr", "th", "td", "details", "summary", "b",
               "p", "br", "small", "code", "pre", "mark"}
    t.ok(set(h.tags) <= allowed and not h.urls and "url(" not in page and "@import" not in page and "<script>" in h.text,
         f"the HTML page ({lang}) is one file, holds no markup of others and needs nothing else", f"{set(h.tags) - allowed} {h.urls}")

# ---- pages ----
docs = os.path.join(tmp, "docs")
run("explain", "--docs", docs)
stale = [f for f in sorted(os.listdir(docs)) if not os.path.exists(f"{ROOT}/docs/porting/{f}") or
         open(f"{ROOT}/docs/porting/{f}", "rb").read() != open(f"{docs}/{f}", "rb").read()]
extra = sorted(set(os.listdir(f"{ROOT}/docs/porting")) - set(os.listdir(docs)))
t.ok(not stale and not extra, "docs/porting/ is what `starport explain --docs docs/porting` writes", f"stale {stale} extra {extra}")
listed = run("explain").stdout.decode().split()
t.ok(all(run("explain", i, "--lang", lang).returncode == 0 for i in listed if re.fullmatch(r"SP\d{4}", i) for lang in ("en", "zh")),
     "every rule explains itself in both languages")

# ---- public bugs: (issue, what a user sees, file, text, ids that must be there, ids that must not) ----
K = "__global__ void k(int *p, float *q, int v) {\n%s\n}\n"
BUGS = [
    ("HIP-3425", "missing bfloat16 conversions are named", "a.cu", K % "__nv_bfloat16 b = __int2bfloat16_rn(v);", {"SP0603"}, set()),
    ("HIPIFY-403", "NVRTC options in strings are named", "a.cpp",
     '#include <nvrtc.h>\nconst char *o[] = {"--gpu-architecture=compute_70"};\n', {"SP1101"}, set()),
    ("HIP-3667", "a 32-bit mask is an error", "a.cu", K % "p[0] = __shfl_xor_sync(0xffffffff, v, 1);", {"SP0101"}, set()),
    ("HeCBench-177", "ballot in int, __popc, ~(-1<<lane), shuffle from 31", "a.cu",
     K % "int lane = threadIdx.x % 32; int b = __ballot_sync(~0, v); p[0] = __popc(b & ~(-1 << lane)) + __ffs(b) + __shfl_sync(~0, v, 31);",
     {"SP0101", "SP0102", "SP0103", "SP0104", "SP0105"}, set()),
    ("HeCBench-180", "tid>>5 and __shfl_up without a width", "a.cu",
     K % "int warp = threadIdx.x >> 5; p[warp] = __shfl_up(v, 1);", {"SP0104", "SP0105"}, set()),
    ("HeCBench-167", "WS = 32", "a.cu", "static const int WS = 32;\n" + K % "p[0] = __any_sync(~0, v);", {"SP0104"}, set()),
    ("vLLM-20330", "warpSize as a template argument", "a.cu", "template <int N> __device__ int f();\n" + K % "p[0] = f<warpSize>();",
     {"SP0106"}, set()),
    ("HIPIFY-731", "PTX with the SM number", "a.cu", K % 'asm("mov.u32 %0, %%smid;" : "=r"(p[0]));', {"SP0201"}, set()),
    ("ROCm-3420", "textures on MI300X", "a.cu", K.replace("int v", "cudaTextureObject_t t") % "q[0] = tex2D<float>(t, 1, 1);", {"SP0501"}, set()),
    ("HIP-3625", "cg::reduce is missing", "a.cu", "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n"
     "namespace cg = cooperative_groups;\n" + K % "auto b = cg::this_thread_block(); p[0] = cg::reduce(b, v, cg::plus<int>());", {"SP0109"}, set()),
    ("HIP-2521", "the second argument of __launch_bounds__", "a.cu", "__global__ void __launch_bounds__(256, 2) k(int *p) { p[0] = 1; }\n",
     {"SP0402"}, set()),
    ("HIP-3122", "96 KiB of dynamic shared memory", "a.cu",
     "void f() { cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 96 * 1024); }\n", {"SP0401"}, set()),
    ("HIP-3122b", "48 KiB of dynamic shared memory is fine", "a.cu",
     "void f() { cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 48 * 1024); }\n", set(), {"SP0401"}),
    ("HIP-3511", "a kernel launched by a kernel", "a.cu", "__global__ void c(int *);\n" + K % "c<<<1, 1>>>(p);", {"SP0801"}, set()),
    ("vLLM-7210", "448 as the limit of e4m3", "a.cu", K % "__nv_fp8_e4m3 x; q[0] = q[0] / 448.0f;", {"SP0601"}, set()),
    ("hipamd-19", "float atomicAdd is a loop", "a.cu", K % "atomicAdd(q, 1.0f);", {"SP0701"}, set()),
    ("rocm-systems-10943", "stream-ordered allocation", "a.cu", "void f(void **p, cudaStream_t s) { cudaMallocAsync(p, 4, s); }\n", {"SP0704"}, set()),
    ("xformers-1162", "flags that clang does not know", "setup.py",
     "CUDAExtension('x', ['x.cu'], extra_compile_args={'nvcc': ['--use_fast_math', '--extended-lambda', '--generate-line-info', "
     "'--ptxas-options=-v']})\n", {"SP1103", "SP0604"}, set()),
    ("pytorch-149245", "CUDA inside a path is no flag", "Makefile", "CFLAGS = -I/opt/CUDA/include -DCUDA=1\nLIBS = -L/data/nvcc/lib\n",
     set(), {"SP1101"}),
    ("mmcv-1898", "CUDAExtension runs unchanged", "setup.py", "CUDAExtension('x', ['x.cu'], include_dirs=['include'])\n", {"SP1310"}, {"SP1103"}),
    ("HIP-732", "FindCUDA and enable_language(CUDA)", "CMakeLists.txt",
     "find_package(CUDA)\nenable_language(CUDA)\ncuda_compile(objects a.cu)\n", {"SP1102"}, set()),
]
for issue, what, name, body, must, never in BUGS:
    have = ids(body, name)
    t.ok(must <= have and not (never & have), f"{issue}: {what}", f"got {sorted(have)}")

t.ok("__shfl_xor(v, 1)" in ported(K % "p[0] = __shfl_xor_sync(0xffffffff, v, 1);", "--rocm", "5.7"),
     "HIP-3301: for ROCm 5.7 the mask is dropped with the suffix")
t.ok("__activemask()" in ported(K % "p[0] = __shfl_xor_sync(0xffffffff, v, 1);"), "HIP-3667: the mask is widened")
t.ok("0xffffffff" in ported(K % "p[0] = __shfl_xor_sync(0xffffffff, v, 1);", "--no-fix", "SP0101"), "--no-fix SP0101 leaves the mask")
t.ok("SP1001" in ids(K % "p[0] = __shfl_sync(~0ULL, v, 0, 32);", "t.cu", "--rocm", "5.7") and
     "SP1001" not in ids(K % "p[0] = __shfl_sync(~0ULL, v, 0, 32);"), "--rocm 5.7 reports what came later")

# ---- build-files ----
put("b/Makefile", "CC = nvcc\nCFLAGS = -O3 -arch=sm_80 -Xcompiler -Wall\nrun:\n\t./prog --threads 4 -arch=sm_80 -G\n")
before = open(f"{tmp}/b/Makefile").read()
p = run("build-files", "b", "--diff")
t.ok(p.returncode == 0 and "+CC = hipcc" in p.stdout.decode() and open(f"{tmp}/b/Makefile").read() == before, "--diff shows and writes nothing")
p = run("build-files", "b", "--inplace")
after = open(f"{tmp}/b/Makefile").read()
t.ok("hipcc" in after and "./prog --threads 4 -arch=sm_80 -G" in after and open(f"{tmp}/b/Makefile.prehip").read() == before,
     "--inplace ports flags, leaves other programs' arguments, keeps the first state", after)
run("build-files", "b", "--inplace")
t.ok(open(f"{tmp}/b/Makefile").read() == after, "a second run changes nothing")

# ---- one command for the whole tree ----
put("tree/src/k.cu", "#include <cuda_runtime.h>\n" + K % "p[0] = __shfl_sync(0xffffffff, v, 0);")
put("tree/CMakeLists.txt", "cmake_minimum_required(VERSION 3.18)\nproject(x LANGUAGES CXX CUDA)\nadd_executable(x src/k.cu)\n")
put("tree/Makefile", "CC = nvcc\n")
put("tree/setup.py", "CUDAExtension('x', ['k.cu'], extra_compile_args={'nvcc': ['--extended-lambda', '-O3']})\n")
put("tree/notes.txt", "project(x CUDA)\n")
p = run("translate", "tree", "--o-dir", "tree-hip")
got = {f: open(f"{tmp}/tree-hip/{f}").read() if os.path.exists(f"{tmp}/tree-hip/{f}") else "" for f in
       ("src/k.cu", "CMakeLists.txt", "Makefile", "setup.py", "notes.txt")}
t.ok(p.returncode == 0 and "__activemask()" in got["src/k.cu"] and "LANGUAGES CXX HIP" in got["CMakeLists.txt"] and
     got["Makefile"] == "CC = hipcc\n" and "['-O3']" in got["setup.py"] and not got["notes.txt"],
     "one command ports sources, CMake, Makefile and setup.py", f"{got}\n{p.stderr.decode()}")

# ---- Python ----
PY = "import torch\nx = torch.zeros(3, device='cuda:0')  # pynvml\nimport pynvml\n"
have = {(x["id"], x["line"]) for x in found(PY, "train.py")}
t.equal(have, {("SP1310", 2), ("SP1301", 3)}, "a PyTorch file: what runs unchanged and what does not")
PROJECT = '''import os, torch
import torch.nn as nn
import cupy as cp                              # SP1302
from apex import amp                           # SP1303
from numba import cuda                         # SP1302
os.environ['OMP_NUM_THREADS'] = '1'
os.environ["CUDA_VISIBLE_DEVICES"] = "0"       # SP1308
torch.backends.cuda.matmul.allow_tf32 = True   # SP1306
assert float(torch.version.cuda) > 11          # SP1307
big = torch.cuda.get_device_capability()[0] >= 8   # SP1304
s = torch.cuda.Stream()                        # SP1310
with torch.autocast("cuda"):                   # SP1310
    y = x.to('cuda:1').to(torch.float8_e4m3fn) # SP1303 SP1310
src = r"""
extern "C" __global__ void k() {}
"""
ext = load(name='x', sources=['x.cu'], extra_cuda_cflags=['--expt-relaxed-constexpr', '-O3'])  # SP1103
args = {'nvcc': ['-O3']}
text = "import pynvml"
import tensorrt                                # SP1309
dist.init_process_group('nccl')                # SP1310
'''
want = {(i, n + 1) for n, line in enumerate(PROJECT.split("\n")) if "#" in line for i in re.findall(r"SP\d{4}", line.split("#")[1])}
want.add(("SP1305", 14))
have = {(x["id"], x["line"]) for x in found(PROJECT, "train.py", "--arch", "gfx90a,gfx942,gfx950")}
t.equal(sorted(have), sorted(want), "a PyTorch project, line by line")
t.done()
