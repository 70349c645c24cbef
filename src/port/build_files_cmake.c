/* SPDX-License-Identifier: Apache-2.0
 * build_files_cmake.c: CMake's language as commands with arguments (cmake-language(7)): comments,
 * bracket comments and arguments, quotes with escapes, nested parentheses. */
#include "base/core/map.h"
#include "port/build_files.h"

struct arg {
    size_t at, n; /* without its quotes */
    bool quoted;
};
enum { ARGS = 4096 };

struct command {
    size_t at, n; /* its name */
    size_t close; /* its ) */
    struct arg *arg;
    size_t n_arg;
};

/* Length of a bracket at p ([[, [=[ ...) up to and including its end, or 0. */
static size_t bracket(const char *p, size_t n)
{
    size_t k = 1;
    if (n < 2 || p[0] != '[')
        return 0;
    while (k < n && p[k] == '=')
        k++;
    if (k >= n || p[k] != '[')
        return 0;
    size_t equals = k - 1;
    for (size_t i = k + 1; i + equals + 1 < n; i++) {
        if (p[i] != ']')
            continue;
        size_t e = 0;
        while (e < equals && p[i + 1 + e] == '=')
            e++;
        if (e == equals && p[i + 1 + e] == ']')
            return i + equals + 2;
        i += e; /* what was seen are '=': no bracket starts there */
    }
    return n;
}

static size_t skip_comment(const char *p, size_t n, size_t i)
{
    size_t b = bracket(p + i + 1, n - i - 1);
    if (b)
        return i + 1 + b;
    const char *nl = memchr(p + i, '\n', n - i);
    return nl ? (size_t)(nl - p) : n;
}

static bool name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static size_t read_quoted(const char *p, size_t n, size_t i)
{
    for (i++; i < n && p[i] != '"'; i++)
        if (p[i] == '\\')
            i++;
    return i < n ? i : n;
}

/* Arguments from i (behind the parenthesis) to the closing one. */
static size_t read_args(const char *p, size_t n, size_t i, struct command *c)
{
    int depth = 1;
    while (i < n) {
        size_t b;
        struct arg a = {i, 0, false};
        if (p[i] == '#') {
            i = skip_comment(p, n, i);
            continue;
        }
        if (p[i] == ')' && --depth == 0) {
            c->close = i;
            return i + 1;
        }
        depth += p[i] == '(';
        if (p[i] == '(' || p[i] == ')' || p[i] == ' ' || p[i] == '\t' || p[i] == '\n' ||
            p[i] == '\r' || p[i] == ';') {
            i++;
            continue;
        }
        if (p[i] == '"') {
            size_t e = read_quoted(p, n, i);
            a = (struct arg){i + 1, e > i ? e - i - 1 : 0, true};
            i = e < n ? e + 1 : n;
        } else if ((b = bracket(p + i, n - i)) > 0) {
            a = (struct arg){i, b, true};
            i += b;
        } else {
            while (i < n && !strchr(" \t\r\n()#\";", p[i]))
                i += p[i] == '\\' && i + 1 < n ? 2 : 1;
            if (i > n)
                i = n;
            if (i == a.at) { /* a NUL: strchr finds it */
                i++;
                continue;
            }
            a.n = i - a.at;
        }
        if (c->n_arg < ARGS)
            c->arg[c->n_arg++] = a;
    }
    c->close = n;
    return n;
}

struct cm {
    struct source *s;
    const struct hazard_opts *o;
    struct findings *f;
    struct flag_place place;
    bool uses_cuda;          /* the file asks for the language */
    struct sl_map hip_files; /* sources that a command has told to be HIP */
};

static bool arg_is(const struct cm *m, const struct arg *a, const char *text)
{
    return sl_str_eq((struct sl_str){m->s->p + a->at, a->n}, sl_str(text));
}
static bool arg_has(const struct cm *m, const struct arg *a, const char *text)
{
    return a->n >= strlen(text) && memmem(m->s->p + a->at, a->n, text, strlen(text));
}

static void change(struct cm *m, size_t at, size_t n, const char *to, const char *en,
                   const char *zh)
{
    SL_AUTO_BUF struct sl_buf what = SL_BUF(200);
    sl_buf_add(&what, m->s->p + at, n < 80 ? n : 80);
    struct finding *d = findings_add(m->f, m->o, m->s, HZ_B2, at, n, sl_buf_str(&what));
    if (!d)
        return;
    d->note[HAZARD_EN] = en;
    d->note[HAZARD_ZH] = zh;
    d->fix = to ? sl_arena_strdup(&m->f->arena, to) : NULL;
    d->fixed = to && m->o->fix && !m->o->no_fix[HZ_B2];
    if (d->fixed)
        source_edit_copy(m->s, at, n, to, strlen(to), EDIT_FIX, HZ_B2 + 1);
}

/* Whole arguments -> what they become, in any command. */
static const struct {
    const char *from, *to;
    const char *en, *zh;
} words[] = {
    {"CUDA::cudart", "hip::host", "the HIP runtime", "HIP 运行时"},
    {"CUDA::cudart_static", "hip::host", "the runtime is one shared library", "运行时只有共享库"},
    {"CUDA::cuda_driver", "hip::host", "driver calls are part of the HIP runtime",
     "驱动接口属于 HIP 运行时"},
    {"CUDA::cublas", "roc::hipblas", "find_package(hipblas)", "find_package(hipblas)"},
    {"CUDA::cublasLt", "roc::hipblaslt", "find_package(hipblaslt)", "find_package(hipblaslt)"},
    {"CUDA::cufft", "hip::hipfft", "find_package(hipfft)", "find_package(hipfft)"},
    {"CUDA::curand", "hip::hiprand", "find_package(hiprand)", "find_package(hiprand)"},
    {"CUDA::cusparse", "roc::hipsparse", "find_package(hipsparse)", "find_package(hipsparse)"},
    {"CUDA::cusolver", "roc::hipsolver", "find_package(hipsolver)", "find_package(hipsolver)"},
    {"CUDA::nvrtc", "hiprtc::hiprtc", "find_package(hiprtc)", "find_package(hiprtc)"},
    {"CUDA::nvToolsExt", "roctx64", "roctracer's library", "roctracer 的库"},
    {"CUDA::nvtx3", "roctx64", "roctracer's library", "roctracer 的库"},
    {"CUDA::nvml", "rocm_smi64", "other functions: see SP0902", "函数不同：见 SP0902"},
    {"${CUDA_LIBRARIES}", "hip::host", "the HIP runtime", "HIP 运行时"},
    {"${CUDA_CUDART_LIBRARY}", "hip::host", "the HIP runtime", "HIP 运行时"},
    {"${CUDA_CUBLAS_LIBRARIES}", "roc::hipblas", "find_package(hipblas)", "find_package(hipblas)"},
    {"${CUDA_CUFFT_LIBRARIES}", "hip::hipfft", "find_package(hipfft)", "find_package(hipfft)"},
    {"${CUDA_curand_LIBRARY}", "hip::hiprand", "find_package(hiprand)", "find_package(hiprand)"},
    {"${CUDA_INCLUDE_DIRS}", "${hip_INCLUDE_DIRS}", "from find_package(hip)",
     "来自 find_package(hip)"},
    {"${CUDAToolkit_INCLUDE_DIRS}", "${hip_INCLUDE_DIRS}", "from find_package(hip)",
     "来自 find_package(hip)"},
    {"CMAKE_CUDA_STANDARD", "CMAKE_HIP_STANDARD", "the HIP language's variable", "HIP 语言的变量"},
    {"CMAKE_CUDA_STANDARD_REQUIRED", "CMAKE_HIP_STANDARD_REQUIRED", "the HIP language's variable",
     "HIP 语言的变量"},
    {"CMAKE_CUDA_EXTENSIONS", "CMAKE_HIP_EXTENSIONS", "the HIP language's variable",
     "HIP 语言的变量"},
    {"CMAKE_CUDA_FLAGS", "CMAKE_HIP_FLAGS", "the HIP language's variable", "HIP 语言的变量"},
    {"CMAKE_CUDA_FLAGS_RELEASE", "CMAKE_HIP_FLAGS_RELEASE", "the HIP language's variable",
     "HIP 语言的变量"},
    {"CMAKE_CUDA_FLAGS_DEBUG", "CMAKE_HIP_FLAGS_DEBUG", "the HIP language's variable",
     "HIP 语言的变量"},
    {"CMAKE_CUDA_COMPILER", "CMAKE_HIP_COMPILER", "the HIP language's variable", "HIP 语言的变量"},
    {"CMAKE_CUDA_ARCHITECTURES", "CMAKE_HIP_ARCHITECTURES", "the HIP language's variable",
     "HIP 语言的变量"},
    {"CUDA_ARCHITECTURES", "HIP_ARCHITECTURES", "target property of the HIP language",
     "HIP 语言的目标属性"},
    {"CUDA_STANDARD", "HIP_STANDARD", "target property of the HIP language", "HIP 语言的目标属性"},
    {"CUDA_STANDARD_REQUIRED", "HIP_STANDARD_REQUIRED", "target property of the HIP language",
     "HIP 语言的目标属性"},
    {"CUDA_EXTENSIONS", "HIP_EXTENSIONS", "target property of the HIP language",
     "HIP 语言的目标属性"},
    {"CUDA_NVCC_FLAGS", "CMAKE_HIP_FLAGS", "FindCUDA's list of flags", "FindCUDA 的选项列表"},
    {"CUDA_SEPARABLE_COMPILATION", NULL,
     "no such property for HIP: compile and link with -fgpu-rdc",
     "HIP 没有此属性：编译与链接请用 -fgpu-rdc"},
    {"CUDA_RESOLVE_DEVICE_SYMBOLS", NULL,
     "no such property for HIP: link with -fgpu-rdc --hip-link",
     "HIP 没有此属性：链接请用 -fgpu-rdc --hip-link"},
    {"CUDA_RUNTIME_LIBRARY", NULL, "the HIP runtime is one shared library", "HIP 运行时只有共享库"},
};

static const struct {
    const char *from, *to;
    const char *en, *zh;
} commands[] = {
    {"cuda_add_executable", "add_executable", "and LANGUAGE HIP on its .cu files",
     "并对 .cu 文件设置 LANGUAGE HIP"},
    {"cuda_add_library", "add_library", "and LANGUAGE HIP on its .cu files",
     "并对 .cu 文件设置 LANGUAGE HIP"},
    {"cuda_include_directories", "include_directories", "FindCUDA is gone", "FindCUDA 已移除"},
    {"cuda_compile", NULL, "write add_library(... OBJECT) with LANGUAGE HIP",
     "请用 add_library(... OBJECT) 并设置 LANGUAGE HIP"},
    {"cuda_compile_ptx", NULL, "compile with --genco instead", "请改用 --genco 编译"},
    {"cuda_select_nvcc_arch_flags", NULL, "set CMAKE_HIP_ARCHITECTURES",
     "请设置 CMAKE_HIP_ARCHITECTURES"},
    {"cuda_add_cublas_to_target", NULL, "link roc::hipblas", "请链接 roc::hipblas"},
    {"cuda_add_cufft_to_target", NULL, "link hip::hipfft", "请链接 hip::hipfft"},
};

static bool is_command(const struct cm *m, const struct command *c, const char *name)
{
    size_t n = strlen(name);
    if (c->n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if ((m->s->p[c->at + i] | 0x20) != (name[i] | 0x20))
            return false;
    return true;
}

/* project(x LANGUAGES CXX CUDA), enable_language(CUDA), set_source_files_properties(... LANGUAGE
 * CUDA) */
static void languages(struct cm *m, const struct command *c)
{
    bool language = is_command(m, c, "project") || is_command(m, c, "enable_language") ||
                    is_command(m, c, "check_language");
    for (size_t k = 0; k < c->n_arg; k++) {
        const struct arg *a = &c->arg[k];
        bool after = k > 0 && (arg_is(m, &c->arg[k - 1], "LANGUAGE") ||
                               arg_is(m, &c->arg[k - 1], "LINKER_LANGUAGE"));
        bool named = is_command(m, c, "project") && k == 0;
        if (arg_is(m, a, "CUDA") && (language || after) && !named) {
            m->uses_cuda = true;
            change(m, a->at, a->n, "HIP", "CMake's HIP language (3.21 and later)",
                   "CMake 的 HIP 语言（3.21 及以上）");
        }
    }
}

static void packages(struct cm *m, const struct command *c)
{
    if (!is_command(m, c, "find_package") || !c->n_arg)
        return;
    const struct arg *a = &c->arg[0];
    if (!arg_is(m, a, "CUDA") && !arg_is(m, a, "CUDAToolkit"))
        return;
    /* a version, components and QUIET belong to the other package */
    size_t end = c->arg[c->n_arg - 1].at + c->arg[c->n_arg - 1].n;
    change(m, a->at, end - a->at, "hip REQUIRED", "ROCm's package; each library has its own",
           "ROCm 的软件包；每个库各有一个");
}

/* The architecture list after CMAKE_CUDA_ARCHITECTURES or CUDA_ARCHITECTURES. */
static void architectures(struct cm *m, const struct command *c, size_t k)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(256);
    size_t end = k + 1;
    while (end < c->n_arg && m->s->p[c->arg[end].at] >= '0' && m->s->p[c->arg[end].at] <= '9')
        end++;
    bool word = end == k + 1 && end < c->n_arg &&
                (arg_is(m, &c->arg[end], "native") || arg_is(m, &c->arg[end], "all") ||
                 arg_is(m, &c->arg[end], "all-major") || arg_is(m, &c->arg[end], "OFF"));
    end += word;
    if (end == k + 1)
        return;
    const struct arg *first = &c->arg[k + 1], *last = &c->arg[end - 1];
    build_offload(m->o->targets, ";", "", &b);
    size_t at = first->at, n = last->at + last->n - first->at;
    SL_AUTO_BUF struct sl_buf quoted = SL_BUF(300);
    sl_buf_printf(&quoted, first->quoted ? "%s" : "\"%s\"", sl_buf_str(&b));
    change(m, at, n, sl_buf_str(&quoted), "gfx names of the targets", "目标的 gfx 名称");
}

/* Words of an argument: white space, ';' and the end of a generator expression part them; a flag
 * may stand behind the ':' of one. */
static size_t flag_words(const struct cm *m, const struct arg *a, struct arg *out, size_t max)
{
    const char *p = m->s->p;
    size_t n = 0;
    for (size_t i = a->at, start = SIZE_MAX; i <= a->at + a->n; i++) {
        bool gap = i == a->at + a->n || strchr(" \t\r\n;>\"", p[i]) != NULL;
        if (!gap && start == SIZE_MAX)
            start = i;
        if (!gap || start == SIZE_MAX)
            continue;
        while (start < i && p[start] != '-' && memchr(p + start, ':', i - start))
            start = (size_t)((const char *)memchr(p + start, ':', i - start) - p) + 1;
        if (start < i && n < max)
            out[n++] = (struct arg){start, i - start, false};
        start = SIZE_MAX;
    }
    return n;
}

/* nvcc's flags anywhere in a command that has to do with CUDA. */
static void flags(struct cm *m, const struct command *c)
{
    enum { WORDS = 1024 };
    bool old = m->place.sure;
    for (size_t k = 0; k < c->n_arg; k++)
        m->place.sure |= arg_has(m, &c->arg[k], "CUDA");
    m->place.arch_done = false;
    struct arg *w = sl_alloc(WORDS * sizeof(*w));
    size_t n = 0;
    for (size_t k = 0; k < c->n_arg && n < WORDS; k++)
        n += flag_words(m, &c->arg[k], w + n, WORDS - n);
    for (size_t k = 0; k < n; k++) {
        struct arg none = {0}, next = k + 1 < n ? w[k + 1] : none;
        if (build_flag_word(&m->place, w[k].at, w[k].n, next.at, next.n))
            k++;
    }
    free(w);
    m->place.sure = old;
}

/* ${CMAKE_CUDA_FLAGS} and its like inside a longer argument. */
static void references(struct cm *m, const struct arg *a)
{
    static const struct {
        const char *from, *to;
    } names[] = {{"${CMAKE_CUDA_FLAGS}", "${CMAKE_HIP_FLAGS}"},
                 {"${CUDA_NVCC_FLAGS}", "${CMAKE_HIP_FLAGS}"},
                 {"${CMAKE_CUDA_ARCHITECTURES}", "${CMAKE_HIP_ARCHITECTURES}"},
                 {"${CMAKE_CUDA_COMPILER}", "${CMAKE_HIP_COMPILER}"}};
    for (size_t k = 0; k < SL_COUNT(names); k++) {
        size_t n = strlen(names[k].from), at = a->at, end = a->at + a->n;
        const char *hit;
        while (at < end && (hit = memmem(m->s->p + at, end - at, names[k].from, n)) != NULL) {
            at = (size_t)(hit - m->s->p);
            change(m, at, n, names[k].to, "the HIP language's variable", "HIP 语言的变量");
            at += n;
        }
    }
}

static void arguments(struct cm *m, const struct command *c)
{
    for (size_t k = 0; k < c->n_arg; k++) {
        const struct arg *a = &c->arg[k];
        for (size_t w = 0; w < SL_COUNT(words); w++)
            if (arg_is(m, a, words[w].from))
                change(m, a->at, a->n, words[w].to, words[w].en, words[w].zh);
        if (arg_is(m, a, "CMAKE_CUDA_ARCHITECTURES") || arg_is(m, a, "CUDA_ARCHITECTURES"))
            architectures(m, c, k);
        const char *ge = arg_has(m, a, "COMPILE_LANGUAGE:CUDA")
                             ? memmem(m->s->p + a->at, a->n, "COMPILE_LANGUAGE:CUDA", 21)
                             : NULL;
        if (ge)
            change(m, (size_t)(ge - m->s->p) + 17, 4, "HIP", "the HIP language", "HIP 语言");
        references(m, a);
    }
}

/* .cu files of a target: CMake compiles them as CUDA unless told otherwise. */
static void sources(struct cm *m, const struct command *c)
{
    bool target = is_command(m, c, "add_executable") || is_command(m, c, "add_library") ||
                  is_command(m, c, "cuda_add_executable") || is_command(m, c, "cuda_add_library");
    if (is_command(m, c, "set_source_files_properties")) {
        bool hip = false;
        for (size_t k = 1; k < c->n_arg; k++)
            hip |= arg_is(m, &c->arg[k - 1], "LANGUAGE");
        for (size_t k = 0; hip && k < c->n_arg; k++)
            *sl_map_put(&m->hip_files, m->s->p + c->arg[k].at, c->arg[k].n) = m;
    }
    if (!target)
        return;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(1 << 16);
    for (size_t k = 1; k < c->n_arg; k++) {
        const struct arg *a = &c->arg[k];
        bool cu = a->n > 3 && memcmp(m->s->p + a->at + a->n - 3, ".cu", 3) == 0;
        if (!cu || sl_map_get(&m->hip_files, m->s->p + a->at, a->n))
            continue;
        sl_buf_adds(&b, b.n ? " " : "set_source_files_properties(");
        sl_buf_add(&b, m->s->p + a->at, a->n);
    }
    if (!b.n || b.over)
        return;
    sl_buf_adds(&b, " PROPERTIES LANGUAGE HIP)\n");
    struct finding *d = findings_add(m->f, m->o, m->s, HZ_B2, c->at, c->n, ".cu");
    if (!d)
        return;
    d->note[HAZARD_EN] = "CMake compiles .cu as CUDA unless told otherwise";
    d->note[HAZARD_ZH] = "除非另行指定，CMake 会把 .cu 当作 CUDA 编译";
    d->fix = sl_arena_strdup(&m->f->arena, sl_buf_str(&b));
    d->fixed = m->o->fix && !m->o->no_fix[HZ_B2];
    if (d->fixed)
        source_edit_copy(m->s, c->at, 0, sl_buf_str(&b), b.n, EDIT_FIX, HZ_B2 + 1);
}

static void one_command(struct cm *m, const struct command *c)
{
    for (size_t k = 0; k < SL_COUNT(commands); k++)
        if (is_command(m, c, commands[k].from))
            change(m, c->at, c->n, commands[k].to, commands[k].en, commands[k].zh);
    languages(m, c);
    packages(m, c);
    arguments(m, c);
    flags(m, c);
    sources(m, c);
}

/* cmake_minimum_required below 3.21 in a file that now asks for HIP. */
static void minimum(struct cm *m, size_t at, size_t n)
{
    unsigned v[2] = {0, 0};
    int field = 0;
    for (size_t i = at; i < at + n && field < 2; i++) {
        if (m->s->p[i] == '.')
            field++;
        else if (m->s->p[i] >= '0' && m->s->p[i] <= '9' && v[field] < 1000)
            v[field] = v[field] * 10 + (unsigned)(m->s->p[i] - '0');
        else
            break;
    }
    if (v[0] && (v[0] < 3 || (v[0] == 3 && v[1] < 21)))
        change(m, at, n, "3.21", "the first CMake with the HIP language",
               "首个支持 HIP 语言的 CMake");
}

void build_scan_cmake(struct source *s, const struct hazard_opts *o, struct findings *f)
{
    struct cm m = {.s = s, .o = o, .f = f, .place = {.s = s, .o = o, .f = f}};
    struct command c = {.arg = sl_alloc(ARGS * sizeof(*c.arg))};
    size_t min_at = 0, min_n = 0;
    for (size_t i = 0; i < s->n;) {
        if (s->p[i] == '#') {
            i = skip_comment(s->p, s->n, i);
        } else if (name_byte(s->p[i])) {
            c.at = i;
            while (i < s->n && name_byte(s->p[i]))
                i++;
            c.n = i - c.at;
            while (i < s->n && (s->p[i] == ' ' || s->p[i] == '\t'))
                i++;
            if (i >= s->n || s->p[i] != '(')
                continue;
            c.n_arg = 0;
            i = read_args(s->p, s->n, i + 1, &c);
            if (is_command(&m, &c, "cmake_minimum_required") && c.n_arg > 1) {
                min_at = c.arg[1].at;
                min_n = c.arg[1].n;
            }
            one_command(&m, &c);
        } else {
            i++;
        }
    }
    if (m.uses_cuda && min_n)
        minimum(&m, min_at, min_n);
    sl_map_free(&m.hip_files);
    free(c.arg);
}
