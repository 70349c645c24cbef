/* SPDX-License-Identifier: Apache-2.0
 * build_files_flags.c: nvcc's flags and CUDA's libraries, what each becomes, and why. */
#include "port/build_files.h"
#include "port/fix.h"

#define ANY_LAMBDA                                                                                 \
    {                                                                                              \
        "clang allows it always", "clang 始终允许"                                             \
    }
#define NO_PTXAS                                                                                            \
    {                                                                                                       \
        "ptxas is not part of the chain; clang refuses the flag", "没有 ptxas；clang 会拒绝此选项" \
    }
#define TARGET                                                                                           \
    {                                                                                                    \
        "the target is a gfx name; one flag for each", "目标是 gfx 名称，每个目标一个选项" \
    }
#define LIBRARY                                                                                    \
    {                                                                                              \
        "the ROCm library with the same calls", "ROCm 中接口相同的库"                       \
    }
#define EDG_ONLY                                                                                   \
    {                                                                                              \
        "a switch of nvcc's front end only", "仅 nvcc 前端使用的开关"                      \
    }

static const struct flag_rule rules[] = {
    {"-gencode", FLAG_VALUE, false, HZ_B1, "@", TARGET},
    {"--generate-code", FLAG_VALUE, false, HZ_B1, "@", TARGET},
    {"-arch", FLAG_VALUE, true, HZ_B1, "@", TARGET},
    {"--gpu-architecture", FLAG_VALUE, false, HZ_B1, "@", TARGET},
    {"-code", FLAG_VALUE, true, HZ_B1, "", TARGET},
    {"--gpu-code", FLAG_VALUE, false, HZ_B1, "", TARGET},
    {"-Xcompiler",
     FLAG_VALUE,
     false,
     HZ_B1,
     "%",
     {"one compiler for host and device: pass it directly", "主机与设备使用同一编译器：直接传递"}},
    {"--compiler-options",
     FLAG_VALUE,
     false,
     HZ_B1,
     "%",
     {"one compiler for host and device: pass it directly", "主机与设备使用同一编译器：直接传递"}},
    {"-Xptxas", FLAG_VALUE, false, HZ_B1, "", NO_PTXAS},
    {"--ptxas-options", FLAG_VALUE, false, HZ_B1, "", NO_PTXAS},
    {"-Xcudafe", FLAG_VALUE, false, HZ_B1, "", EDG_ONLY},
    {"-Xnvlink",
     FLAG_VALUE,
     false,
     HZ_B1,
     "",
     {"there is no nvlink; lld links device code", "没有 nvlink；设备代码由 lld 链接"}},
    {"-diag-suppress", FLAG_VALUE, false, HZ_B1, "", EDG_ONLY},
    {"--diag-suppress", FLAG_VALUE, false, HZ_B1, "", EDG_ONLY},
    {"-diag_suppress", FLAG_VALUE, false, HZ_B1, "", EDG_ONLY},
    {"--diag_suppress", FLAG_VALUE, false, HZ_B1, "", EDG_ONLY},
    {"--use_fast_math",
     FLAG_EXACT,
     false,
     HZ_F4,
     "-ffast-math",
     {"also reorders sums and assumes no NaN", "还会重排求和并假设没有 NaN"}},
    {"-use_fast_math",
     FLAG_EXACT,
     false,
     HZ_F4,
     "-ffast-math",
     {"also reorders sums and assumes no NaN", "还会重排求和并假设没有 NaN"}},
    {"-ftz=true",
     FLAG_EXACT,
     false,
     HZ_F4,
     "-fgpu-flush-denormals-to-zero",
     {"clang's name for it", "clang 的写法"}},
    {"--ftz=true",
     FLAG_EXACT,
     false,
     HZ_F4,
     "-fgpu-flush-denormals-to-zero",
     {"clang's name for it", "clang 的写法"}},
    {"-ftz=false", FLAG_EXACT, false, HZ_B1, "", {"is clang's default", "clang 的默认行为"}},
    {"-prec-div=false",
     FLAG_EXACT,
     false,
     HZ_F4,
     "-fno-hip-fp32-correctly-rounded-divide-sqrt",
     {"clang's name; it covers division and square root", "clang 的写法，同时作用于除法与平方根"}},
    {"-prec-sqrt=false",
     FLAG_EXACT,
     false,
     HZ_F4,
     "-fno-hip-fp32-correctly-rounded-divide-sqrt",
     {"clang's name; it covers division and square root", "clang 的写法，同时作用于除法与平方根"}},
    {"-prec-div=true", FLAG_EXACT, false, HZ_B1, "", {"is clang's default", "clang 的默认行为"}},
    {"-prec-sqrt=true", FLAG_EXACT, false, HZ_B1, "", {"is clang's default", "clang 的默认行为"}},
    {"-fmad=false",
     FLAG_EXACT,
     false,
     HZ_F4,
     "-ffp-contract=off",
     {"clang's name for it", "clang 的写法"}},
    {"--fmad=false",
     FLAG_EXACT,
     false,
     HZ_F4,
     "-ffp-contract=off",
     {"clang's name for it", "clang 的写法"}},
    {"-fmad=true",
     FLAG_EXACT,
     false,
     HZ_B1,
     "-ffp-contract=fast",
     {"clang's name for it", "clang 的写法"}},
    {"-rdc=true",
     FLAG_EXACT,
     false,
     HZ_B1,
     "-fgpu-rdc",
     {"needed when compiling and when linking (with --hip-link)",
      "编译与链接（加 --hip-link）时都需要"}},
    {"--relocatable-device-code=true",
     FLAG_EXACT,
     false,
     HZ_B1,
     "-fgpu-rdc",
     {"needed when compiling and when linking (with --hip-link)",
      "编译与链接（加 --hip-link）时都需要"}},
    {"-rdc=false",
     FLAG_EXACT,
     false,
     HZ_B1,
     "-fno-gpu-rdc",
     {"clang's name for it", "clang 的写法"}},
    {"-dc",
     FLAG_EXACT,
     true,
     HZ_B1,
     "-fgpu-rdc -c",
     {"separate device compilation", "设备代码分离编译"}},
    {"--device-c",
     FLAG_EXACT,
     false,
     HZ_B1,
     "-fgpu-rdc -c",
     {"separate device compilation", "设备代码分离编译"}},
    {"-dlink",
     FLAG_EXACT,
     false,
     HZ_B1,
     "-fgpu-rdc --hip-link",
     {"the final link does it", "由最终链接完成"}},
    {"-maxrregcount",
     FLAG_VALUE,
     false,
     HZ_S4,
     "",
     {"no such limit: use __launch_bounds__ on the kernel",
      "没有此上限：请在核函数上使用 __launch_bounds__"}},
    {"--maxrregcount",
     FLAG_VALUE,
     false,
     HZ_S4,
     "",
     {"no such limit: use __launch_bounds__ on the kernel",
      "没有此上限：请在核函数上使用 __launch_bounds__"}},
    {"--extended-lambda", FLAG_EXACT, false, HZ_B1, "", ANY_LAMBDA},
    {"-extended-lambda", FLAG_EXACT, false, HZ_B1, "", ANY_LAMBDA},
    {"--expt-extended-lambda", FLAG_EXACT, false, HZ_B1, "", ANY_LAMBDA},
    {"-expt-extended-lambda", FLAG_EXACT, false, HZ_B1, "", ANY_LAMBDA},
    {"--expt-relaxed-constexpr", FLAG_EXACT, false, HZ_B1, "", ANY_LAMBDA},
    {"-expt-relaxed-constexpr", FLAG_EXACT, false, HZ_B1, "", ANY_LAMBDA},
    {"-lineinfo",
     FLAG_EXACT,
     false,
     HZ_B1,
     "-gline-tables-only",
     {"clang's name for it", "clang 的写法"}},
    {"--generate-line-info",
     FLAG_EXACT,
     false,
     HZ_B1,
     "-gline-tables-only",
     {"clang's name for it", "clang 的写法"}},
    {"-G", FLAG_EXACT, true, HZ_B1, "-ggdb -O0", {"device debug information", "设备调试信息"}},
    {"--device-debug",
     FLAG_EXACT,
     false,
     HZ_B1,
     "-ggdb -O0",
     {"device debug information", "设备调试信息"}},
    {"-ccbin",
     FLAG_VALUE,
     false,
     HZ_B1,
     "",
     {"clang compiles the host part too", "主机部分也由 clang 编译"}},
    {"--compiler-bindir",
     FLAG_VALUE,
     false,
     HZ_B1,
     "",
     {"clang compiles the host part too", "主机部分也由 clang 编译"}},
    {"--threads",
     FLAG_VALUE,
     true,
     HZ_B1,
     "",
     {"use the build tool's -j (or -parallel-jobs=N)", "请用构建工具的 -j（或 -parallel-jobs=N）"}},
    {"-t",
     FLAG_VALUE,
     true,
     HZ_B1,
     "",
     {"use the build tool's -j (or -parallel-jobs=N)", "请用构建工具的 -j（或 -parallel-jobs=N）"}},
    {"--split-compile",
     FLAG_VALUE,
     false,
     HZ_B1,
     "",
     {"use the build tool's -j", "请用构建工具的 -j"}},
    {"--default-stream",
     FLAG_VALUE,
     false,
     HZ_B1,
     "-fgpu-default-stream=%",
     {"clang's name for it", "clang 的写法"}},
    {"--resource-usage",
     FLAG_EXACT,
     false,
     HZ_B1,
     "-Rpass-analysis=kernel-resource-usage",
     {"registers and LDS of each kernel", "每个核函数的寄存器与 LDS"}},
    {"-res-usage",
     FLAG_EXACT,
     false,
     HZ_B1,
     "-Rpass-analysis=kernel-resource-usage",
     {"registers and LDS of each kernel", "每个核函数的寄存器与 LDS"}},
    {"--ptx",
     FLAG_EXACT,
     false,
     HZ_B1,
     "-S --offload-device-only",
     {"GCN assembly instead of PTX", "输出 GCN 汇编而非 PTX"}},
    {"-ptx",
     FLAG_EXACT,
     false,
     HZ_B1,
     "-S --offload-device-only",
     {"GCN assembly instead of PTX", "输出 GCN 汇编而非 PTX"}},
    {"-cubin", FLAG_EXACT, false, HZ_B1, "--genco", {"a code object", "代码对象"}},
    {"-fatbin", FLAG_EXACT, false, HZ_B1, "--genco", {"a code object", "代码对象"}},
    {"-cudart",
     FLAG_VALUE,
     false,
     HZ_B1,
     "",
     {"the runtime is one shared library", "运行时只有共享库"}},
    {"--cudart",
     FLAG_VALUE,
     false,
     HZ_B1,
     "",
     {"the runtime is one shared library", "运行时只有共享库"}},
    {"-Wno-deprecated-gpu-targets", FLAG_EXACT, false, HZ_B1, "", EDG_ONLY},
    {"-allow-unsupported-compiler", FLAG_EXACT, false, HZ_B1, "", EDG_ONLY},
    {"--allow-unsupported-compiler", FLAG_EXACT, false, HZ_B1, "", EDG_ONLY},
    {"-forward-unknown-to-host-compiler", FLAG_EXACT, false, HZ_B1, "", EDG_ONLY},
    {"--forward-unknown-to-host-compiler", FLAG_EXACT, false, HZ_B1, "", EDG_ONLY},
    {"--disable-warnings", FLAG_EXACT, false, HZ_B1, "-w", {"clang's name for it", "clang 的写法"}},
    {"-lcudart", FLAG_EXACT, false, HZ_B1, "-lamdhip64", LIBRARY},
    {"-lcudart_static", FLAG_EXACT, false, HZ_B1, "-lamdhip64", LIBRARY},
    {"-lcuda", FLAG_EXACT, false, HZ_B1, "-lamdhip64", LIBRARY},
    {"-lcudadevrt",
     FLAG_EXACT,
     false,
     HZ_B1,
     "",
     {"no device runtime: dynamic parallelism does not exist", "没有设备运行时：不支持动态并行"}},
    {"-lcublas", FLAG_EXACT, false, HZ_B1, "-lhipblas", LIBRARY},
    {"-lcublas_static", FLAG_EXACT, false, HZ_B1, "-lhipblas", LIBRARY},
    {"-lcublasLt", FLAG_EXACT, false, HZ_B1, "-lhipblaslt", LIBRARY},
    {"-lcufft", FLAG_EXACT, false, HZ_B1, "-lhipfft", LIBRARY},
    {"-lcurand", FLAG_EXACT, false, HZ_B1, "-lhiprand", LIBRARY},
    {"-lcusparse", FLAG_EXACT, false, HZ_B1, "-lhipsparse", LIBRARY},
    {"-lcusolver", FLAG_EXACT, false, HZ_B1, "-lhipsolver", LIBRARY},
    {"-lcudnn",
     FLAG_EXACT,
     false,
     HZ_B1,
     "-lMIOpen",
     {"other signatures: see SP0902", "函数签名不同：见 SP0902"}},
    {"-lnccl", FLAG_EXACT, false, HZ_B1, "-lrccl", LIBRARY},
    {"-lnvrtc", FLAG_EXACT, false, HZ_B1, "-lhiprtc", LIBRARY},
    {"-lnvToolsExt", FLAG_EXACT, false, HZ_B1, "-lroctx64", LIBRARY},
    {"-lnvidia-ml",
     FLAG_EXACT,
     false,
     HZ_B1,
     "-lrocm_smi64",
     {"other functions: see SP0902", "函数不同：见 SP0902"}},
    {"-L/usr/local/cuda/lib64",
     FLAG_EXACT,
     false,
     HZ_B1,
     "-L/opt/rocm/lib",
     {"ROCm's place", "ROCm 的路径"}},
    {"-L/usr/local/cuda/lib",
     FLAG_EXACT,
     false,
     HZ_B1,
     "-L/opt/rocm/lib",
     {"ROCm's place", "ROCm 的路径"}},
    {"-I/usr/local/cuda/include",
     FLAG_EXACT,
     false,
     HZ_B1,
     "-I/opt/rocm/include",
     {"ROCm's place", "ROCm 的路径"}},
};

const struct flag_rule *build_flag_at(size_t i)
{
    return i < SL_COUNT(rules) ? &rules[i] : NULL;
}

void build_flags_page(struct sl_buf *b)
{
    sl_buf_adds(
        b, "<!-- Made by `starport explain --docs docs/porting`. Edit the flag table. -->\n"
           "# Flags of nvcc and what they become\n\nWhat is not listed stays: clang takes it as it "
           "is. A flag marked *nvcc only* means something to other programs too and changes only "
           "where the compiler certainly runs. `%` stands for the flag's value.\n\n"
           "| Flag | Becomes | Why | 说明 |\n|---|---|---|---|\n");
    for (size_t i = 0; i < SL_COUNT(rules); i++) {
        const struct flag_rule *r = &rules[i];
        const char *to = sl_streq(r->to, "@") ? "--offload-arch=..."
                         : r->to[0]           ? r->to
                                              : "(dropped)";
        sl_buf_printf(b, "| `%s%s`%s | `%s` | %s | %s |\n", r->flag,
                      r->match == FLAG_VALUE ? " %" : "", r->shy ? " (nvcc only)" : "", to,
                      r->reason[HAZARD_EN], r->reason[HAZARD_ZH]);
    }
}

const struct flag_rule *build_flag(const char *word, size_t n, size_t *ret_value)
{
    *ret_value = 0;
    for (size_t i = 0; n > 1 && word[0] == '-' && i < SL_COUNT(rules); i++) {
        size_t k = strlen(rules[i].flag);
        if (n < k || memcmp(word, rules[i].flag, k) != 0)
            continue;
        if (n == k)
            return &rules[i];
        if (rules[i].match == FLAG_VALUE && word[k] == '=') {
            *ret_value = k + 1;
            return &rules[i];
        }
        if (rules[i].match == FLAG_PREFIX) {
            *ret_value = k;
            return &rules[i];
        }
    }
    return NULL;
}

void build_offload(unsigned targets, const char *sep, const char *prefix, struct sl_buf *b)
{
    const char *between = "";
    for (unsigned bit = 0; bit < 3; bit++) {
        char name[32];
        if (!(targets & (1u << bit)))
            continue;
        sl_buf_printf(b, "%s%s%s", between, prefix, hazard_targets_text(1u << bit, name));
        between = sep;
    }
}

/* The replacement text of a rule; a value of -Xcompiler is a list with commas, maybe in quotes. */
static void replacement(const struct flag_place *p, const struct flag_rule *r, const char *value,
                        size_t n, struct sl_buf *b)
{
    if (sl_streq(r->to, "@")) {
        if (!p->arch_done)
            build_offload(p->o->targets, " ", "--offload-arch=", b);
        return;
    }
    for (const char *t = r->to; *t; t++) {
        if (*t != '%') {
            sl_buf_addc(b, *t);
            continue;
        }
        if (n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n - 1] == value[0]) {
            value++;
            n -= 2;
        }
        for (size_t i = 0; i < n;
             i++) /* not inside -Wl,-rpath,x: there the commas belong to the flag */
            sl_buf_addc(b, value[i] == ',' && !(n > 4 && memcmp(value, "-Wl,", 4) == 0) ? ' '
                                                                                        : value[i]);
    }
}

bool build_flag_word(struct flag_place *p, size_t at, size_t n, size_t next_at, size_t next_n)
{
    size_t value;
    const char *text = p->s->p;
    const struct flag_rule *r = build_flag(text + at, n, &value);
    if (!r || (r->shy && !p->sure))
        return false;
    bool next = r->match == FLAG_VALUE && !value && next_n > 0;
    if (p->python)
        next = false; /* each string of a list is its own word; the reader pairs them */
    SL_AUTO_BUF struct sl_buf to = SL_BUF(1 << 16);
    const char *v = next ? text + next_at : text + at + value;
    replacement(p, r, v, next ? next_n : value ? n - value : 0, &to);
    bool at_sign = sl_streq(r->to, "@");
    SL_AUTO_BUF struct sl_buf what = SL_BUF(200);
    sl_buf_add(&what, text + at, n);
    enum hazard_no no = p->python && r->no == HZ_B1 ? HZ_B3 : r->no;
    struct finding *d = findings_add(p->f, p->o, p->s, no, at, n, sl_buf_str(&what));
    size_t end = next ? next_at + next_n : at + n;
    if (d) {
        d->note[HAZARD_EN] = r->reason[HAZARD_EN];
        d->note[HAZARD_ZH] = r->reason[HAZARD_ZH];
        d->fix = sl_arena_strdup(&p->f->arena, to.n ? sl_buf_str(&to) : "-");
        d->fixed = p->o->fix && !p->o->no_fix[no];
    }
    if (p->o->fix && !p->o->no_fix[no] && !p->python) {
        size_t from = at;
        while (!to.n && from > 0 && (text[from - 1] == ' ' || text[from - 1] == '\t'))
            from--; /* a dropped flag takes its space along */
        if (from == 0 || text[from - 1] == '\n' || text[from - 1] == '\\')
            from = at;
        source_edit_copy(p->s, from, end - from, sl_buf_str(&to), to.n, EDIT_FIX, (unsigned)no + 1);
    }
    p->arch_done |= at_sign;
    return next;
}
