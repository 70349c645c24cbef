/* SPDX-License-Identifier: Apache-2.0
 * build_files_make.c: Makefiles and shell scripts: words of logical lines. Both know comments,
 * quotes and continuation lines; what nvcc gets is decided by the line (shell) or by the file
 * (make). */
#include "port/build_files.h"

struct word {
    size_t at, n;
};
enum { WORDS = 512 };

static bool ends(struct sl_str w, const char *tail)
{
    size_t n = strlen(tail);
    return w.n >= n && memcmp(w.p + w.n - n, tail, n) == 0;
}

/* nvcc, /usr/local/cuda/bin/nvcc, $(CUDA_HOME)/bin/nvcc */
static bool is_nvcc(struct sl_str w)
{
    return ends(w, "nvcc") && (w.n == 4 || w.p[w.n - 5] == '/');
}

static bool separator(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Splits the logical line that starts at *at; moves *at behind it. Quoted parts belong to a word.
 */
static size_t split(const char *p, size_t n, size_t *at, bool shell, struct word *w)
{
    size_t i = *at, count = 0, start = SIZE_MAX;
    char quote = 0;
    for (; i < n; i++) {
        char c = p[i];
        if (c == '\\' && i + 1 < n) {
            bool joined = p[i + 1] == '\n' || (p[i + 1] == '\r' && i + 2 < n && p[i + 2] == '\n');
            if (joined && start != SIZE_MAX && count < WORDS)
                w[count++] = (struct word){start, i - start};
            if (joined)
                start = SIZE_MAX;
            i += joined && p[i + 1] == '\r' ? 2 : 1;
            continue;
        }
        if (c == '\n')
            break;
        if (quote) {
            quote = c == quote ? 0 : quote;
            continue;
        }
        if (c == '"' || c == '\'')
            quote = c;
        bool comment = c == '#' && (start == SIZE_MAX);
        bool op = shell && (c == ';' || c == '&' || c == '|' || c == '(' || c == ')');
        if (separator(c) || comment || op) {
            if (start != SIZE_MAX && count < WORDS)
                w[count++] = (struct word){start, i - start};
            start = SIZE_MAX;
            if (comment)
                while (i < n && p[i] != '\n')
                    i++;
            if (comment || op)
                break; /* the next command starts behind an operator */
        } else if (start == SIZE_MAX) {
            start = i;
        }
    }
    if (start != SIZE_MAX && count < WORDS)
        w[count++] = (struct word){start, i - start};
    *at = i + 1;
    return count;
}

static void replace_nvcc(struct source *s, const struct hazard_opts *o, struct findings *f,
                         struct word w)
{
    struct finding *d = findings_add(f, o, s, HZ_B1, w.at, w.n, "nvcc");
    if (!d)
        return;
    d->fix = "hipcc";
    d->note[HAZARD_EN] = "the HIP compiler driver; it runs clang++ -x hip";
    d->note[HAZARD_ZH] = "HIP 编译器驱动，实际运行 clang++ -x hip";
    d->fixed = o->fix && !o->no_fix[HZ_B1];
    if (d->fixed)
        source_edit_copy(s, w.at, w.n, "hipcc", 5, EDIT_FIX, HZ_B1 + 1);
}

/* A word as flags see it: an opening quote and VAR= before it do not belong to it. */
static struct word trimmed(const char *p, struct word w)
{
    if (w.n > 1 && (p[w.at] == '"' || p[w.at] == '\'')) {
        w.at++;
        w.n--;
        if (p[w.at + w.n - 1] == '"' || p[w.at + w.n - 1] == '\'')
            w.n--;
    }
    if (p[w.at] == '-')
        return w;
    const char *eq = memchr(p + w.at, '=', w.n);
    if (eq && (size_t)(eq + 1 - p) < w.at + w.n) {
        size_t skip = (size_t)(eq + 1 - (p + w.at));
        w.at += skip;
        w.n -= skip;
        if (w.n > 1 && (p[w.at] == '"' || p[w.at] == '\'')) {
            w.at++;
            w.n--;
            if (w.n && (p[w.at + w.n - 1] == '"' || p[w.at + w.n - 1] == '\''))
                w.n--;
        }
    }
    return w;
}

/* The flags in one word: a quoted word may hold several. */
static bool word_flags(struct flag_place *place, struct word w, struct word next)
{
    const char *p = place->s->p;
    if (!memchr(p + w.at, ' ', w.n) || memmem(p + w.at, w.n, "-Xcompiler=", 11))
        return build_flag_word(place, w.at, w.n, next.at, next.n);
    struct word part[64];
    size_t n = 0;
    for (size_t i = w.at, start = SIZE_MAX; i <= w.at + w.n; i++) {
        bool gap = i == w.at + w.n || separator(p[i]);
        if (!gap && start == SIZE_MAX)
            start = i;
        if (gap && start != SIZE_MAX) {
            if (n < 64)
                part[n++] = (struct word){start, i - start};
            start = SIZE_MAX;
        }
    }
    for (size_t k = 0; k < n; k++) {
        struct word none = {0, 0};
        struct word after = k + 1 < n ? part[k + 1] : none;
        if (build_flag_word(place, part[k].at, part[k].n, after.at, after.n))
            k++;
    }
    return false;
}

/* What a logical line is to the flag table. */
enum line_kind { LINE_OTHER, LINE_COMPILER, LINE_FLAGS };

/* The command of a recipe or script line, without make's @ and -. */
static struct sl_str command_of(const char *p, struct word w)
{
    struct sl_str t = {p + w.at, w.n};
    while (t.n && (t.p[0] == '@' || t.p[0] == '-' || t.p[0] == '+')) {
        t.p++;
        t.n--;
    }
    return t;
}

static bool has(struct sl_str t, const char *part)
{
    return memmem(t.p, t.n, part, strlen(part)) != NULL;
}

/* $(CC) and its like run the compiler in a Makefile that sets one of them to nvcc. */
static bool is_compiler(struct sl_str t, bool file_sure)
{
    static const char *const names[] = {"$(CC)", "${CC}",     "$(CXX)",  "${CXX}",
                                        "$(LD)", "$(LINKER)", "$(LINK)", NULL};
    if (is_nvcc(t) || has(t, "NVCC") || has(t, "hipcc"))
        return true;
    for (int k = 0; file_sure && names[k]; k++)
        if (sl_str_eq(t, sl_str(names[k])))
            return true;
    return false;
}

/* A variable's line, by its name: NVCCFLAGS, GENCODE, CUDA_OPTS, LDLIBS ... */
static bool is_flag_variable(struct sl_str t)
{
    static const char *const parts[] = {"FLAG", "NVCC", "CUDA", "ARCH", "GENCODE", "OPT", "LIB",
                                        "CC",   "CXX",  "LD",   "INC",  "flags",   "SM",  NULL};
    for (int k = 0; parts[k]; k++)
        if (has(t, parts[k]))
            return true;
    return false;
}

static enum line_kind kind_of(const struct source *s, const struct word *w, size_t n, bool shell,
                              bool file_sure)
{
    struct sl_str first = command_of(s->p, w[0]), second = {NULL, 0};
    if (n > 1)
        second = (struct sl_str){s->p + w[1].at, w[1].n};
    bool recipe = shell || (w[0].at > 0 && s->p[w[0].at - 1] == '\t');
    bool wrapped = sl_str_eq(first, SL_STR("time")) || sl_str_eq(first, SL_STR("export")) ||
                   sl_str_eq(first, SL_STR("exec")) || sl_str_eq(first, SL_STR("ccache"));
    if (wrapped && n > 1)
        first = second;
    const char *eq = memchr(first.p, '=', first.n);
    if (eq && shell)
        return is_flag_variable((struct sl_str){first.p, (size_t)(eq - first.p)}) ? LINE_FLAGS
                                                                                  : LINE_OTHER;
    if (recipe)
        return is_compiler(first, file_sure) ? LINE_COMPILER : LINE_OTHER;
    /* a variable, or "target: ..." with none of the flags */
    struct sl_str name = eq ? (struct sl_str){first.p, (size_t)(eq - first.p)} : first;
    return is_flag_variable(name) || has(first, "nvcc") ? LINE_FLAGS : LINE_OTHER;
}

static void scan_words(struct source *s, const struct hazard_opts *o, struct findings *f,
                       bool shell, bool file_sure)
{
    struct word *w = sl_alloc(WORDS * sizeof(*w));
    struct flag_place place = {.s = s, .o = o, .f = f};
    for (size_t at = 0; at < s->n;) {
        size_t n = split(s->p, s->n, &at, shell, w);
        if (!n)
            continue;
        enum line_kind kind = kind_of(s, w, n, shell, file_sure);
        place.sure = kind == LINE_COMPILER || (kind == LINE_FLAGS && file_sure);
        place.arch_done = false;
        for (size_t k = 0; k < n; k++) {
            struct word a = trimmed(s->p, w[k]), none = {0, 0};
            struct word b = k + 1 < n ? w[k + 1] : none;
            if (is_nvcc((struct sl_str){s->p + a.at, a.n}))
                replace_nvcc(s, o, f, a);
            else if (kind != LINE_OTHER && word_flags(&place, a, b))
                k++;
        }
    }
    free(w);
}

void build_scan_make(struct source *s, const struct hazard_opts *o, struct findings *f)
{
    bool sure = memmem(s->p, s->n, "nvcc", 4) || memmem(s->p, s->n, "NVCC", 4);
    scan_words(s, o, f, false, sure);
}

void build_scan_shell(struct source *s, const struct hazard_opts *o, struct findings *f)
{
    scan_words(s, o, f, true, false);
}
