/* SPDX-License-Identifier: Apache-2.0 */
#include "port/stage.h"
#include "base/core/buf.h"
#include "base/core/mem.h"
#include "base/io/proc.h"
#include "port/cpu_form.h"
#include "port/hazard.h"
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const stage_extensions[] = {"cu",  "hip", "cuh", "c",   "cc",  "cpp",
                                               "cxx", "h",   "hh",  "hpp", "hxx", "inl",
                                               "inc", "ipp", "tpp", NULL};

int stage_open(struct stage *st, struct sl_err *err)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(st->dir, sizeof st->dir, "%.36s/starport-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
    if (!mkdtemp(st->dir)) {
        int e = errno;
        st->dir[0] = 0;
        return sl_fail_errno(err, e, "cannot make a working directory in %s", tmp ? tmp : "/tmp");
    }
    return 0;
}

static int remove_one(const char *path, const struct stat *sb, int kind, struct FTW *at)
{
    return kind == FTW_DP ? rmdir(path) : unlink(path);
}

void stage_close(struct stage *st)
{
    for (size_t i = 0; i < st->n; i++) {
        free(st->v[i].path);
        free(st->v[i].staged);
        free(st->v[i].real_dir);
        free(st->v[i].text);
        free(st->v[i].line);
    }
    free(st->v);
    file_list_free(&st->files);
    sl_map_free(&st->templates);
    sl_map_free(&st->included);
    if (st->dir[0])
        nftw(st->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    *st = (struct stage){0};
}

int stage_add(struct stage *st, const char *path, const struct stage_opts *o, struct sl_err *err)
{
    struct file_rules r = {.extensions = stage_extensions, .exclude_dirs = o->exclude_dirs};
    return file_list_add(&st->files, path, &r, err);
}

static bool extension_is(const char *path, const char *const *list)
{
    const char *dot = strrchr(path, '.');
    for (; dot && *list; list++)
        if (strcmp(dot + 1, *list) == 0)
            return true;
    return false;
}

static bool includes_hip(const struct source *s)
{
    for (size_t i = 0; i < s->lex.n; i++) {
        const struct lex_tok *t = &s->lex.v[i];
        if (t->kind == LEX_HEADER && t->n > 6 && memcmp(s->p + t->at + 1, "hip/", 4) == 0)
            return true;
    }
    return false;
}

static void apply_fixes(struct source *s, const struct port_options *o, void *arg)
{
    struct findings f = {0};
    struct hazard_opts h = HAZARD_OPTS_DEFAULT;
    hazard_scan(s, &h, &f);
    findings_free(&f);
}

static bool uses_gpu(struct source *s)
{
    struct lex *l = &s->lex;
    for (size_t i = 0; i < l->n; i++) {
        if (l->v[i].kind == LEX_PUNCT && l->v[i].sub == LEX_P_LAUNCH)
            return true;
        if (l->v[i].kind == LEX_HEADER) {
            struct sl_str h = {lex_text(l, i) + 1, l->v[i].n > 2 ? l->v[i].n - 2 : 0};
            if ((h.n > 3 && memcmp(h.p, "hip", 3) == 0) || memmem(h.p, h.n, "cuda", 4))
                return true;
        } else if (l->v[i].kind == LEX_IDENT &&
                   (lex_is(l, i, "__global__") || lex_is(l, i, "__device__"))) {
            return true;
        }
    }
    return false;
}

/* Sources that another source includes are no units of their own. */
static void note_includes(struct stage *st, const struct source *s)
{
    static int yes;
    for (size_t i = 0; i < s->lex.n; i++) {
        const struct lex_tok *t = &s->lex.v[i];
        if (t->kind != LEX_HEADER || t->n < 3 || t->first != '"')
            continue;
        const char *p = s->p + t->at + 1, *slash = memrchr(p, '/', t->n - 2);
        const char *name = slash ? slash + 1 : p;
        *sl_map_put(&st->included, name, (size_t)(p + t->n - 2 - name)) = &yes;
    }
}

static bool is_included(const struct stage *st, const struct stage_file *f)
{
    const char *slash = strrchr(f->path, '/'), *name = slash ? slash + 1 : f->path;
    return sl_map_get(&st->included, name, strlen(name)) != NULL;
}

/* Input line of every line of the result, where lines were added or removed. */
static void map_lines(struct stage_file *f, struct source *s)
{
    size_t in = 1, out = 1;
    for (size_t i = 0; i < s->n; i++)
        in += s->p[i] == '\n';
    for (size_t i = 0; i < f->text_n; i++)
        out += f->text[i] == '\n';
    if (in == out)
        return;
    f->lines = out;
    f->line = sl_alloc((out + 2) * sizeof *f->line);
    for (size_t i = 1; i <= out; i++)
        f->line[i] = source_back_line(s, (unsigned)i);
}

static int translate_one(struct stage *st, struct stage_file *f, const struct stage_opts *o,
                         struct sl_err *err)
{
    struct source s;
    struct port_result r = {0};
    struct port_options p = {
        .ggl = o->cpu,
        .expand_macros = o->cpu,
        .half2_members = false,
        .include_dirs = o->include_dirs,
        .defines = o->defines,
    };
    SL_AUTO_BUF struct sl_buf b = SL_BUF(LEX_MAX_BYTES);
    if (source_read(&s, f->path, err) < 0)
        return -1;
    if (o->fix && (o->fix_hip || !includes_hip(&s)))
        p.fix = apply_fixes;
    port_translate(&s, &p, &r);
    source_render(&s, &b);
    static const char *const gpu_units[] = {"cu", "hip", NULL};
    f->is_gpu = extension_is(f->path, gpu_units) || uses_gpu(&s);
    f->text_n = b.n;
    f->text = sl_strndup(sl_buf_str(&b), b.n);
    f->changed = b.n != s.n || memcmp(f->text, s.p, s.n) != 0;
    map_lines(f, &s);
    note_includes(st, &s);
    if (o->cpu)
        cpu_form_kernels(f->text, f->text_n, &st->templates);
    port_result_free(&r);
    source_free(&s);
    return b.over ? sl_fail(err, SL_TOO_LARGE, "%s: larger than 1 GiB", f->path) : 0;
}

/* The text with a #line marker wherever the numbering leaves the input's. */
static void with_markers(const struct stage_file *f, const char *name, struct sl_buf *b)
{
    const char *p = f->text, *end = f->text + f->text_n;
    unsigned expected = 0;
    bool continued = false;
    for (size_t i = 1; p < end; i++) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        size_t n = nl ? (size_t)(nl - p) + 1 : (size_t)(end - p);
        unsigned want = f->line && i <= f->lines ? f->line[i] : (unsigned)i;
        if (want != expected && !continued) {
            sl_buf_printf(b, "#line %u \"%s\"\n", want, name);
            expected = want;
        }
        sl_buf_add(b, p, n);
        continued =
            n >= 2 && p[n - 1] == '\n' && (p[n - 2] == '\\' || (n >= 3 && p[n - 3] == '\\'));
        expected++;
        p += n;
    }
}

static int write_one(struct stage *st, struct stage_file *f, const struct stage_opts *o,
                     struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF((size_t)2 << 30);
    SL_AUTO_FREE char *dir = sl_asprintf("%s/root%s", st->dir, f->real_dir);
    const char *base = strrchr(f->path, '/');
    if (o->cpu) {
        SL_AUTO_BUF struct sl_buf formed = SL_BUF(LEX_MAX_BYTES);
        cpu_form(f->text, f->text_n, &st->templates, &formed);
        free(f->text);
        f->text_n = formed.n;
        f->text = sl_strndup(sl_buf_str(&formed), formed.n);
    }
    with_markers(f, f->path, &b);
    f->staged = sl_asprintf("%s/%s", dir, base ? base + 1 : f->path);
    if (b.over)
        return sl_fail(err, SL_TOO_LARGE, "%s: larger than 1 GiB", f->path);
    if (dir_make(dir, 0700, err) < 0)
        return -1;
    FILE *out = fopen(f->staged, "we");
    if (!out || fwrite(sl_buf_str(&b), 1, b.n, out) != b.n || fclose(out) != 0)
        return sl_fail_errno(err, errno, "cannot write %s", f->staged);
    free(f->text);
    f->text = NULL;
    return 0;
}

int stage_write(struct stage *st, const struct stage_opts *o, struct sl_err *err)
{
    static const char *const units[] = {"cu", "hip", "cc", "cpp", "cxx", NULL};
    file_list_close(&st->files, o->include_dirs);
    st->v = sl_alloc((st->files.n + 1) * sizeof *st->v);
    for (size_t i = 0; i < st->files.n; i++) {
        struct stage_file *f = &st->v[st->n++];
        f->path = sl_strdup(st->files.v[i].path);
        f->is_unit = extension_is(f->path, units);
        char real[PATH_MAX];
        if (!realpath(f->path, real))
            return sl_fail_errno(err, errno, "%s", f->path);
        *strrchr(real, '/') = 0;
        f->real_dir = sl_strdup(real);
        if (translate_one(st, f, o, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < st->n; i++)
        st->v[i].is_unit &= !is_included(st, &st->v[i]);
    for (size_t i = 0; i < st->n; i++)
        if (write_one(st, &st->v[i], o, err) < 0)
            return -1;
    return 0;
}

int stage_data_dir(const char *given, const char *name, char **ret_dir, struct sl_err *err)
{
    static const char *const places[] = {"%s/../share/starport/%s", "%s/../src/port/%s",
                                         "%s/../../src/port/%s", "%s/../../../src/port/%s"};
    char self[PATH_MAX];
    struct stat sb;
    if (given) {
        *ret_dir = sl_asprintf("%s/%s", given, name);
        if (stat(*ret_dir, &sb) == 0 && S_ISDIR(sb.st_mode))
            return 0;
        free(*ret_dir);
        *ret_dir = NULL;
        return sl_fail_at(err, SL_NOT_FOUND, "shim-dir", "--shim-dir: no directory %s in %s", name,
                          given);
    }
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = 0;
    for (size_t i = 0; i < SL_COUNT(places); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        *ret_dir = sl_asprintf(places[i], self, name);
#pragma GCC diagnostic pop
        char *real = realpath(*ret_dir, NULL);
        free(*ret_dir);
        *ret_dir = real;
        if (real && stat(real, &sb) == 0 && S_ISDIR(sb.st_mode))
            return 0;
        free(real);
        *ret_dir = NULL;
    }
    return sl_fail(err, SL_NOT_FOUND,
                   "starport's \"%s\" directory is not in %s/../share/starport; give --shim-dir",
                   name, self);
}
