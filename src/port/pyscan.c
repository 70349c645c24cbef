/* SPDX-License-Identifier: Apache-2.0
 * pyscan.c: Python tokens and the rules over them. */
#include "port/build_files.h"
#include "port/pyscan.h"

static bool name_byte(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c >= 0x80;
}

/* Length of a string prefix (r, b, f, u and pairs) if a quote follows; else 0. *quote: its place.
 */
static bool string_at(const char *p, size_t n, size_t i, size_t *ret_quote, bool *ret_raw)
{
    size_t k = i;
    *ret_raw = false;
    while (k < n && k < i + 2 && strchr("rRbBfFuU", p[k]) && p[k]) {
        *ret_raw |= p[k] == 'r' || p[k] == 'R';
        k++;
    }
    if (k >= n || (p[k] != '"' && p[k] != '\''))
        return false;
    *ret_quote = k;
    return true;
}

static size_t string_end(const char *p, size_t n, size_t q, struct py_tok *t)
{
    char c = p[q];
    bool triple = q + 2 < n && p[q + 1] == c && p[q + 2] == c;
    size_t i = q + (triple ? 3 : 1);
    t->at = i;
    for (; i < n; i++) {
        if (p[i] == '\\' && i + 1 < n) {
            i++;
        } else if (triple && p[i] == c && i + 2 < n && p[i + 1] == c && p[i + 2] == c) {
            t->n = i - t->at;
            return i + 3;
        } else if (!triple && (p[i] == c || p[i] == '\n')) {
            t->n = i - t->at;
            return p[i] == c ? i + 1 : i;
        }
    }
    t->n = n > t->at ? n - t->at : 0;
    return n;
}

struct py_tok py_next(const char *p, size_t n, size_t *i)
{
    struct py_tok t = {PY_END, n, 0, n, n};
    size_t k = *i, quote;
    bool raw;
    while (k < n) {
        if (p[k] == '#') {
            const char *nl = memchr(p + k, '\n', n - k);
            k = nl ? (size_t)(nl - p) : n;
        } else if (p[k] == ' ' || p[k] == '\t' || p[k] == '\r' || p[k] == '\f') {
            k++;
        } else if (p[k] == '\\' && k + 1 < n && p[k + 1] == '\n') {
            k += 2;
        } else {
            break;
        }
    }
    t.from = t.at = k;
    if (k >= n) {
        *i = n;
        return t;
    }
    if (string_at(p, n, k, &quote, &raw)) {
        t.kind = PY_STRING;
        *i = string_end(p, n, quote, &t);
    } else if (name_byte((unsigned char)p[k])) {
        bool digit = p[k] >= '0' && p[k] <= '9';
        t.kind = digit ? PY_NUMBER : PY_NAME;
        size_t e = k;
        while (e < n && (name_byte((unsigned char)p[e]) || (digit && p[e] == '.')))
            e++;
        t.n = e - k;
        *i = e;
    } else {
        t.kind = p[k] == '\n' ? PY_NEWLINE : PY_OP;
        t.n = 1;
        *i = k + 1;
    }
    t.to = *i;
    return t;
}

/* Dotted names, matched from their start: "torch.version.cuda" also matches
 * torch.version.cuda.split. */
static const struct {
    const char *name;
    enum hazard_no no;
    const char *fix;
} names[] = {
    {"torch.version.cuda", HZ_PY_VERSION, "torch.version.hip"},
    {"torch.cuda.get_device_capability", HZ_PY_SM,
     "torch.cuda.get_device_properties(0).gcnArchName"},
    {"torch.cuda.get_arch_list", HZ_PY_SM, "torch.cuda.get_device_properties(0).gcnArchName"},
    {"torch.cuda.nvtx", HZ_PY_OK, NULL},
    {"torch.backends.cuda.matmul.allow_tf32", HZ_PY_TF32, NULL},
    {"torch.backends.cudnn.allow_tf32", HZ_PY_TF32, NULL},
    {"torch.set_float32_matmul_precision", HZ_PY_TF32, NULL},
    {"torch.float8_e4m3fn", HZ_PY_FP8, "torch.float8_e4m3fnuz on gfx942"},
    {"torch.float8_e5m2", HZ_PY_FP8, "torch.float8_e5m2fnuz on gfx942"},
    {"torch.cuda.amp", HZ_PY_OK, NULL},
    {"torch.cuda", HZ_PY_OK, NULL},
    {"torch.backends.cudnn", HZ_PY_OK, NULL},
};

/* Modules by their first name in an import. */
static const struct {
    const char *module;
    enum hazard_no no;
    const char *fix;
} modules[] = {
    {"pynvml", HZ_PY_NVML, "amdsmi"},
    {"nvidia_smi", HZ_PY_NVML, "amdsmi"},
    {"py3nvml", HZ_PY_NVML, "amdsmi"},
    {"gpustat", HZ_PY_NVML, "amdsmi"},
    {"GPUtil", HZ_PY_NVML, "amdsmi"},
    {"cupy", HZ_PY_CUPY, "cupy-rocm, or torch"},
    {"cupyx", HZ_PY_CUPY, "cupy-rocm, or torch"},
    {"pycuda", HZ_PY_CUPY, "HIP Python"},
    {"cuda", HZ_PY_CUPY, "HIP Python"},
    {"transformer_engine", HZ_PY_FP8, "ROCm's TransformerEngine"},
    {"apex", HZ_PY_FP8, "ROCm's apex"},
    {"tensorrt", HZ_PY_BACKEND, "MIGraphX"},
    {"torch_tensorrt", HZ_PY_BACKEND, "torch_migraphx"},
    {"torch2trt", HZ_PY_BACKEND, "torch_migraphx"},
    {"nvidia", HZ_PY_BACKEND, "rocAL for nvidia.dali"},
    {"cudf", HZ_PY_BACKEND, "pandas or polars"},
    {"cuml", HZ_PY_BACKEND, "scikit-learn"},
    {"cugraph", HZ_PY_BACKEND, "networkx"},
    {"flash_attn", HZ_PY_BACKEND, "its ROCm build"},
    {"xformers", HZ_PY_BACKEND, "its ROCm build"},
    {"bitsandbytes", HZ_PY_BACKEND, "its ROCm build"},
    {"deepspeed", HZ_PY_BACKEND, "its ROCm build"},
    {"vllm", HZ_PY_BACKEND, "its ROCm build"},
};

static const struct {
    const char *name;
    enum hazard_no no;
    const char *fix;
} variables[] = {
    {"CUDA_LAUNCH_BLOCKING", HZ_PY_ENV, "AMD_SERIALIZE_KERNEL=3"},
    {"PYTORCH_CUDA_ALLOC_CONF", HZ_PY_ENV, "PYTORCH_HIP_ALLOC_CONF"},
    {"CUDA_VISIBLE_DEVICES", HZ_PY_ENV, "HIP_VISIBLE_DEVICES (the CUDA name works for torch)"},
    {"CUDA_DEVICE_ORDER", HZ_PY_ENV, "no counterpart: drop it"},
    {"CUDA_HOME", HZ_PY_ENV, "ROCM_HOME"},
    {"CUDA_PATH", HZ_PY_ENV, "ROCM_PATH"},
    {"NVIDIA_TF32_OVERRIDE", HZ_PY_TF32, NULL},
    {"TORCH_CUDA_ARCH_LIST", HZ_PY_SM, "PYTORCH_ROCM_ARCH=\"gfx90a;gfx942\""},
};

struct py {
    struct source *s;
    const struct hazard_opts *o;
    struct findings *f;
    bool import_line; /* since import or from, to the end of the line */
    bool after_from;
    unsigned ok_line; /* line of the last SP1310: one a line */
};

static void report(struct py *y, enum hazard_no no, size_t at, size_t n, const char *fix)
{
    unsigned line, col;
    if (no == HZ_PY_OK) {
        source_where(y->s, at, &line, &col);
        if (line == y->ok_line)
            return;
        y->ok_line = line;
    }
    SL_AUTO_BUF struct sl_buf what = SL_BUF(128);
    for (size_t i = 0; i < n && i < 60 && y->s->p[at + i] != '\n'; i++)
        sl_buf_addc(&what, y->s->p[at + i]);
    struct finding *d = findings_add(y->f, y->o, y->s, no, at, n, sl_buf_str(&what));
    if (d)
        d->fix = fix;
}

static bool same(const struct py *y, size_t at, size_t n, const char *text)
{
    return n == strlen(text) && memcmp(y->s->p + at, text, n) == 0;
}

/* The whole of text starts at `at` and ends at a name's border. */
static bool dotted(const struct py *y, size_t at, const char *text)
{
    size_t n = strlen(text);
    if (y->s->n - at < n || memcmp(y->s->p + at, text, n) != 0)
        return false;
    return at + n == y->s->n || !name_byte((unsigned char)y->s->p[at + n]);
}

static void name(struct py *y, const struct py_tok *t, bool member)
{
    const char *p = y->s->p;
    if (same(y, t->at, t->n, "import") || same(y, t->at, t->n, "from")) {
        y->after_from = !y->import_line;
        y->import_line = true;
        return;
    }
    if (y->import_line && y->after_from && !member) {
        y->after_from = false;
        for (size_t k = 0; k < SL_COUNT(modules); k++)
            if (same(y, t->at, t->n, modules[k].module))
                report(y, modules[k].no, t->at, t->n, modules[k].fix);
        if (dotted(y, t->at, "numba.cuda"))
            report(y, HZ_PY_CUPY, t->at, 10, "Triton or HIP Python");
    }
    if (same(y, t->at, t->n, "numba") && y->import_line) {
        /* from numba import cuda */
        const char *nl = memchr(p + t->at, '\n', y->s->n - t->at);
        size_t end = nl ? (size_t)(nl - p) : y->s->n;
        if (memmem(p + t->at, end - t->at, " cuda", 5))
            report(y, HZ_PY_CUPY, t->at, t->n, "Triton or HIP Python");
    }
    if (member)
        return;
    for (size_t k = 0; k < SL_COUNT(names); k++)
        if (dotted(y, t->at, names[k].name)) {
            report(y, names[k].no, t->at, strlen(names[k].name), names[k].fix);
            return;
        }
}

/* A flag of nvcc in extra_cuda_cflags and the like. */
static bool flag(struct py *y, const struct py_tok *t)
{
    size_t value;
    const struct flag_rule *r = build_flag(y->s->p + t->at, t->n, &value);
    if (!r || r->shy)
        return false;
    size_t before = y->f->n;
    report(y, HZ_B3, t->at, t->n, r->to[0] && r->to[0] != '@' && r->to[0] != '%' ? r->to : "-");
    for (int l = 0; l < HAZARD_LANGS && y->f->n > before; l++)
        y->f->v[before].note[l] = r->reason[l];
    return true;
}

/* 'nvcc': [...] is a key of PyTorch's, not a program that is run. */
static bool is_key(const struct py *y, const struct py_tok *t)
{
    size_t i = t->to;
    while (i < y->s->n && (y->s->p[i] == ' ' || y->s->p[i] == '\t'))
        i++;
    return i < y->s->n && y->s->p[i] == ':';
}

static void string(struct py *y, const struct py_tok *t)
{
    const char *p = y->s->p + t->at;
    if (flag(y, t))
        return;
    for (size_t k = 0; k < SL_COUNT(variables); k++)
        if (same(y, t->at, t->n, variables[k].name)) {
            report(y, variables[k].no, t->at, t->n, variables[k].fix);
            return;
        }
    bool device = same(y, t->at, t->n, "cuda") || (t->n > 5 && memcmp(p, "cuda:", 5) == 0) ||
                  same(y, t->at, t->n, "nccl");
    if (device) {
        report(y, HZ_PY_OK, t->at, t->n, NULL);
        return;
    }
    bool nvrtc = memmem(p, t->n, "__global__", 10) || memmem(p, t->n, "compute_", 8) ||
                 (same(y, t->at, t->n, "nvcc") && !is_key(y, t));
    if (nvrtc)
        report(y, HZ_PY_NVRTC, t->at, t->n, "--offload-arch=gfx942");
    else if (t->n >= 10 && memcmp(p, "nvidia-smi", 10) == 0)
        report(y, HZ_PY_NVML, t->at, t->n, "rocm-smi --json");
    else if (t->n >= 5 && t->n <= 8 && memcmp(p, "sm_", 3) == 0 && p[3] >= '0' && p[3] <= '9')
        report(y, HZ_PY_SM, t->at, t->n, "gfx942");
    else if (t->n > 5 && t->n < 12 && memcmp(p, "NCCL_", 5) == 0)
        report(y, HZ_PY_ENV, t->at, t->n, NULL);
}

void pyscan(struct source *s, const struct hazard_opts *o, struct findings *f)
{
    struct py y = {.s = s, .o = o, .f = f};
    bool member = false;
    for (size_t i = 0;;) {
        struct py_tok t = py_next(s->p, s->n, &i);
        if (t.kind == PY_END)
            return;
        if (t.kind == PY_NEWLINE)
            y.import_line = y.after_from = false;
        else if (t.kind == PY_NAME)
            name(&y, &t, member);
        else if (t.kind == PY_STRING)
            string(&y, &t);
        bool comma = t.kind == PY_OP && s->p[t.at] == ',' && y.import_line;
        y.after_from |= comma; /* import a, b */
        member = t.kind == PY_OP && s->p[t.at] == '.';
    }
}
