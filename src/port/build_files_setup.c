/* SPDX-License-Identifier: Apache-2.0
 * build_files_setup.c: setup.py of a PyTorch extension. CUDAExtension stays; the strings that nvcc
 * alone understands do not. */
#include "port/build_files.h"
#include "port/pyscan.h"

static const struct {
    const char *from, *to;
} libraries[] = {{"cublas", "hipblas"},      {"cublasLt", "hipblaslt"}, {"cufft", "hipfft"},
                 {"curand", "hiprand"},      {"cusparse", "hipsparse"}, {"cusolver", "hipsolver"},
                 {"cudart", "amdhip64"},     {"cuda", "amdhip64"},      {"nvrtc", "hiprtc"},
                 {"nccl", "rccl"},           {"cudnn", "MIOpen"},       {"nvToolsExt", "roctx64"},
                 {"nvidia-ml", "rocm_smi64"}};

struct setup {
    struct source *s;
    const struct hazard_opts *o;
    struct findings *f;
    struct flag_place place;
    int list_depth, in_libraries; /* depth of the [ that `libraries` opened, or 0 */
};

static bool same(const struct source *s, const struct py_tok *t, const char *text)
{
    return t->n == strlen(text) && memcmp(s->p + t->at, text, t->n) == 0;
}

static struct finding *report(struct setup *u, size_t at, size_t n, const char *what,
                              const char *fix, const char *en, const char *zh)
{
    struct finding *d = findings_add(u->f, u->o, u->s, HZ_B3, at, n, what);
    if (d) {
        d->fix = fix;
        d->note[HAZARD_EN] = en;
        d->note[HAZARD_ZH] = zh;
    }
    return d;
}

static bool fixing(const struct setup *u)
{
    return u->o->fix && !u->o->no_fix[HZ_B3];
}

static void replace(struct setup *u, struct finding *d, const struct py_tok *t, const char *to)
{
    if (!d || !fixing(u))
        return;
    d->fixed = true;
    source_edit_copy(u->s, t->at, t->n, to, strlen(to), EDIT_FIX, HZ_B3 + 1);
}

/* Takes the string out of its list: with the comma behind it, or the one before it. */
static void drop(struct setup *u, const struct py_tok *t)
{
    const char *p = u->s->p;
    size_t from = t->from, to = t->to;
    while (to < u->s->n && (p[to] == ' ' || p[to] == '\t'))
        to++;
    if (to < u->s->n && p[to] == ',') {
        to++;
        while (to < u->s->n && (p[to] == ' ' || p[to] == '\t'))
            to++;
    } else {
        to = t->to;
        size_t k = from;
        while (k > 0 && (p[k - 1] == ' ' || p[k - 1] == '\t'))
            k--;
        if (k > 0 && p[k - 1] == ',')
            from = k - 1;
    }
    source_edit_copy(u->s, from, to - from, "", 0, EDIT_FIX, HZ_B3 + 1);
}

/* A string in a list: a flag of nvcc, or the value of one. Returns true when the next string is its
 * value. */
static bool flag_string(struct setup *u, const struct py_tok *t)
{
    size_t value;
    const struct flag_rule *r = build_flag(u->s->p + t->at, t->n, &value);
    if (!r || !u->list_depth)
        return false;
    size_t before = u->f->n;
    build_flag_word(&u->place, t->at, t->n, 0, 0);
    bool own_value = r->match == FLAG_VALUE && !value;
    enum hazard_no no = r->no == HZ_B1 ? HZ_B3 : r->no;
    bool on = u->o->fix && !u->o->no_fix[no];
    if (u->f->n > before)
        u->f->v[u->f->n - 1].fixed = on;
    if (!on)
        return own_value;
    if (r->to[0] && r->to[0] != '@' && r->to[0] != '%') {
        if (strchr(r->to, ' ') || strchr(r->to, '%'))
            u->f->v[u->f->n - 1].fixed = false; /* two words: not one string of a list */
        else
            source_edit_copy(u->s, t->at, t->n, r->to, strlen(r->to), EDIT_FIX, (unsigned)no + 1);
    } else if (r->to[0] == '%' && value) {
        source_edit_copy(u->s, t->at, value, "", 0, EDIT_FIX, (unsigned)no + 1);
    } else {
        drop(u, t); /* PyTorch passes PYTORCH_ROCM_ARCH's targets by itself */
    }
    return own_value && r->to[0] != '%';
}

static void string(struct setup *u, const struct py_tok *t, bool *skip)
{
    if (*skip) {
        if (fixing(u) && u->list_depth)
            drop(u, t);
        *skip = false;
        return;
    }
    if (same(u->s, t, "TORCH_CUDA_ARCH_LIST")) {
        report(u, t->at, t->n, "TORCH_CUDA_ARCH_LIST", "PYTORCH_ROCM_ARCH=\"gfx90a;gfx942\"",
               "gfx names, separated by semicolons", "gfx 名称，以分号分隔");
        return;
    }
    for (size_t k = 0; u->in_libraries && k < SL_COUNT(libraries); k++)
        if (same(u->s, t, libraries[k].from)) {
            struct finding *d =
                report(u, t->at, t->n, libraries[k].from, libraries[k].to,
                       "the ROCm library with the same calls", "ROCm 中接口相同的库");
            replace(u, d, t, libraries[k].to);
        }
    *skip = flag_string(u, t);
}

static void name(struct setup *u, const struct py_tok *t)
{
    static const char *const words[] = {"CUDA_HOME", "get_cuda_bare_metal_version",
                                        "TORCH_CUDA_ARCH_LIST"};
    const char *p = u->s->p;
    for (size_t k = 0; k < SL_COUNT(words); k++)
        if (same(u->s, t, words[k]))
            report(u, t->at, t->n, words[k], k == 0 ? "ROCM_HOME" : NULL,
                   "is None on PyTorch for ROCm: test torch.version.hip",
                   "在 ROCm 版 PyTorch 上为 None：请检查 torch.version.hip");
    if (!same(u->s, t, "CUDAExtension") || t->to >= u->s->n || p[t->to] != '(')
        return;
    struct finding *d = findings_add(u->f, u->o, u->s, HZ_PY_OK, t->at, t->n, "CUDAExtension");
    if (d) {
        d->note[HAZARD_EN] =
            "PyTorch for ROCm converts and compiles its sources; headers must be in include_dirs.";
        d->note[HAZARD_ZH] = "ROCm 版 PyTorch 会转换并编译其源文件；头文件须位于 include_dirs。";
    }
}

void build_scan_setup(struct source *s, const struct hazard_opts *o, struct findings *f)
{
    struct setup u = {
        .s = s, .o = o, .f = f, .place = {.s = s, .o = o, .f = f, .sure = false, .python = true}};
    bool libraries_next = false, skip = false;
    if (memmem(s->p, s->n, "CUDAExtension", 13) || memmem(s->p, s->n, "nvcc", 4))
        u.place.sure = true;
    for (size_t i = 0;;) {
        struct py_tok t = py_next(s->p, s->n, &i);
        if (t.kind == PY_END)
            break;
        if (t.kind == PY_NAME) {
            libraries_next = same(s, &t, "libraries");
            name(&u, &t);
        } else if (t.kind == PY_STRING) {
            libraries_next |= same(s, &t, "libraries");
            if (u.place.sure)
                string(&u, &t, &skip);
        } else if (t.kind == PY_OP && s->p[t.at] == '[') {
            u.list_depth++;
            if (libraries_next)
                u.in_libraries = u.list_depth;
            libraries_next = false;
        } else if (t.kind == PY_OP && s->p[t.at] == ']') {
            if (u.in_libraries == u.list_depth)
                u.in_libraries = 0;
            u.list_depth -= u.list_depth > 0;
            skip = false;
        }
    }
    if (!u.place.sure)
        pyscan(s, o, f);
}
