/* SPDX-License-Identifier: Apache-2.0
 *
 * check_compile.c: command lines for clang, and what comes back.
 */
#include "port/check.h"
#include "base/io/proc.h"
#include "port/check_headers.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OBJECT_MAX = 256 << 20, LIMIT_S = 600 };
static const char bitcode_dir[] = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode";

/* Debian's device libraries are those of LLVM 15, which has no file for gfx942. Its
 * oclc_isa_version file only tells the library the ISA's number, and gfx940's does the same work.
 */
static int device_libs_link(const struct check *c, struct sl_err *err)
{
    static const char *const newer[] = {"942", "950"};
    if (dir_make(c->device_libs, 0700, err) < 0)
        return -1;
    DIR *d = opendir(bitcode_dir);
    if (!d)
        return sl_fail(err, SL_UNAVAILABLE,
                       "%s: no device libraries; install the Debian package rocm-device-libs, or "
                       "give --rocm-path",
                       bitcode_dir);
    for (struct dirent *e; (e = readdir(d));) {
        SL_AUTO_FREE char *from = sl_asprintf("%s/%s", bitcode_dir, e->d_name);
        SL_AUTO_FREE char *to = sl_asprintf("%s/%s", c->device_libs, e->d_name);
        if (e->d_name[0] != '.' && symlink(from, to) < 0 && errno != EEXIST) {
            int en = errno;
            closedir(d);
            return sl_fail_errno(err, en, "cannot link %s", to);
        }
    }
    closedir(d);
    for (size_t i = 0; i < SL_COUNT(newer); i++) {
        SL_AUTO_FREE char *from = sl_asprintf("%s/oclc_isa_version_940.bc", bitcode_dir);
        SL_AUTO_FREE char *to = sl_asprintf("%s/oclc_isa_version_%s.bc", c->device_libs, newer[i]);
        if (access(to, F_OK) != 0 && symlink(from, to) < 0 && errno != EEXIST)
            return sl_fail_errno(err, errno, "cannot link %s", to);
    }
    return 0;
}

static int missing(struct sl_err *err, const char *what)
{
    return sl_fail(
        err, SL_UNAVAILABLE,
        "%s is not installed; on Debian: apt install clang-19 lld-19 clang-tools-19 llvm-19 "
        "libamdhip64-dev rocm-device-libs (or give --rocm-path)",
        what);
}

int check_tools(struct check *c, struct sl_err *err)
{
    const char *rocm = c->opts->rocm_path;
    if (rocm) {
        static const char *const places[] = {"llvm/bin/clang++", "lib/llvm/bin/clang++",
                                             "bin/amdclang++"};
        for (size_t i = 0; i < SL_COUNT(places) && !c->compiler; i++) {
            char *p = sl_asprintf("%s/%s", rocm, places[i]);
            if (access(p, X_OK) == 0)
                c->compiler = p;
            else
                free(p);
        }
        if (access(rocm, R_OK) != 0)
            return sl_fail_at(err, SL_NOT_FOUND, "rocm-path", "--rocm-path %s: no such directory",
                              rocm);
    }
    if (!c->compiler) {
        if (!cc_have("clang++-19"))
            return missing(err, "clang++-19");
        if (!cc_have("ld.lld-19"))
            return missing(err, "ld.lld-19");
        c->compiler = sl_strdup("clang++-19");
    }
    if (!rocm && access("/usr/include/hip/hip_runtime.h", R_OK) != 0)
        return missing(err, "/usr/include/hip/hip_runtime.h");
    if (stage_data_dir(c->opts->shim_dir, "shim", &c->shim, err) < 0 ||
        stage_data_dir(c->opts->shim_dir, "stubs", &c->stubs, err) < 0)
        return -1;
    c->device_libs = sl_asprintf("%s/bitcode", c->stage.dir);
    c->headers = sl_asprintf("%s/headers", c->stage.dir);
    if (!rocm && device_libs_link(c, err) < 0)
        return -1;
    return check_headers_write(c->headers, err);
}

static void include_args(const struct check *c, const struct stage_file *f, struct argv *a)
{
    argv_addf(a, "-I%s/root%s", c->stage.dir, f->real_dir);
    for (int i = 0; i < c->opts->includes.n; i++) {
        char *real = realpath(c->opts->includes.v[i], NULL);
        argv_addf(a, "-I%s/root%s", c->stage.dir, real ? real : c->opts->includes.v[i]);
        argv_addf(a, "-I%s", real ? real : c->opts->includes.v[i]);
        free(real);
    }
    argv_add(a, "-iquote");
    argv_add(a, f->real_dir);
    for (int i = 0; i < c->opts->defines.n; i++)
        argv_addf(a, "-D%s", c->opts->defines.v[i]);
    if (!c->opts->rocm_path) {
        argv_addf(a, "-I%s/newer", c->stubs);
        argv_add(a, "-include");
        argv_add(a, "starport_newer_api.h");
    }
    /* after everything that is installed */
    const char *last[] = {c->shim, "/lib", c->stubs, "/declared", c->headers, ""};
    for (size_t i = 0; i < SL_COUNT(last); i += 2) {
        argv_add(a, "-idirafter");
        argv_addf(a, "%s%s", last[i], last[i + 1]);
    }
}

static void job_args(const struct check *c, const struct stage_file *f, int arch,
                     const char *object, struct argv *a)
{
    argv_add(a, c->compiler);
    argv_add(a, "-x");
    argv_add(a, "hip");
    argv_addf(a, "-std=%s", c->opts->standard ? c->opts->standard : "c++17");
    argv_addf(a, "-O%s", c->opts->opt ? c->opts->opt : "3");
    argv_add(a, c->opts->warnings ? "-Wall" : "-w");
    argv_add(a, "-Wno-register"); /* an error in C++17 that nvcc lets pass */
    argv_add(a, "-fno-caret-diagnostics");
    argv_add(a, "-fno-color-diagnostics");
    argv_add(a, "-ferror-limit=20");
    if (c->opts->rocm_path) {
        argv_addf(a, "--rocm-path=%s", c->opts->rocm_path);
    } else {
        argv_add(a, "--rocm-path=/usr");
        argv_addf(a, "--rocm-device-lib-path=%s", c->device_libs);
    }
    if (c->opts->gpu_rdc)
        argv_add(a, "-fgpu-rdc");
    include_args(c, f, a);
    if (arch >= 0) {
        argv_addf(a, "--offload-arch=%s", c->arch[arch]);
        argv_add(a, "--offload-device-only");
        argv_add(a, c->opts->gpu_rdc ? "-fsyntax-only" : "--no-gpu-bundle-output");
    } else {
        argv_addf(a, "--offload-arch=%s", c->arch[0]);
        argv_add(a, "--offload-host-only");
        argv_add(a, "-fsyntax-only");
    }
    if (arch >= 0 && !c->opts->gpu_rdc) {
        argv_add(a, "-o");
        argv_add(a, object);
    }
    argv_add(a, f->staged);
}

/* --- messages
 * --------------------------------------------------------------------------------------- */
static void diag_add(struct check *c, char *file, unsigned line, unsigned col, bool is_error,
                     const char *text, unsigned bit)
{
    if (c->n_diags == c->cap_diags)
        c->diags = sl_realloc(c->diags, (c->cap_diags = c->cap_diags ? c->cap_diags * 2 : 32) *
                                            sizeof *c->diags);
    c->diags[c->n_diags++] = (struct check_diag){file, sl_strdup(text), line, col, is_error, bit};
}

/* Splits "FILE:LINE:COL" that ends at `at`; the staging directory is taken out of FILE. NULL: no
 * place. */
static char *diag_place(const struct check *c, const char *s, const char *at, unsigned *ret_line,
                        unsigned *ret_col)
{
    const char *e = at, *col, *line;
    while (e > s && isdigit((unsigned char)e[-1]))
        e--;
    if (e == at || e == s || e[-1] != ':')
        return NULL;
    col = e--;
    while (e > s && isdigit((unsigned char)e[-1]))
        e--;
    if (e == s || e[-1] != ':' || !isdigit((unsigned char)*e))
        return NULL;
    line = e;
    const char *root = strstr(s, "/root/");
    bool staged = root && strncmp(s, c->stage.dir, strlen(c->stage.dir)) == 0;
    const char *name = staged ? root + 5 : s;
    *ret_line = (unsigned)strtoul(line, NULL, 10);
    *ret_col = (unsigned)strtoul(col, NULL, 10);
    return sl_strndup(name, (size_t)(line - 1 - name));
}

static bool is_users(const struct check *c, const char *file)
{
    for (size_t i = 0; file && i < c->stage.n; i++)
        if (sl_streq(c->stage.v[i].path, file))
            return true;
    return false;
}

/* One line of the compiler's. An error inside a header of the system's or ours is moved to the
 * user's line that it was instantiated from, which a note after it tells: *last is that error, or
 * SIZE_MAX. */
static bool diag_line(struct check *c, const char *s, unsigned bit, size_t *last)
{
    static const char *const words[] = {": fatal error: ", ": error: ", ": warning: ", ": note: "};
    const char *at = NULL, *word = NULL;
    unsigned line = 0, col = 0;
    for (size_t i = 0; i < SL_COUNT(words) && !at; i++)
        if ((at = strstr(s, words[i])))
            word = words[i];
    if (!at)
        return false;
    const char *text = at + strlen(word);
    char *file = diag_place(c, s, at, &line, &col);
    if (sl_streq(word, ": note: ")) {
        struct check_diag *d = *last < c->n_diags ? &c->diags[*last] : NULL;
        if (d && strstr(text, "requested here") && !is_users(c, d->file) && is_users(c, file)) {
            free(d->file);
            d->file = file;
            d->line = line;
            d->col = col;
            return false;
        }
        free(file);
        return false;
    }
    if (strstr(text, "generated when compiling") || strstr(text, "linker command failed")) {
        free(file);
        return false;
    }
    diag_add(c, file, line, col, !strstr(word, "warning"), text, bit);
    *last = c->n_diags - 1;
    return true;
}

/* The same message of another target is the same finding. */
static void diags_merge(struct check *c, size_t from)
{
    for (size_t i = from; i < c->n_diags; i++)
        for (size_t k = 0; k < i; k++) {
            struct check_diag *a = &c->diags[k], *b = &c->diags[i];
            bool same_file = a->file && b->file ? sl_streq(a->file, b->file) : a->file == b->file;
            if (!same_file || a->line != b->line || a->col != b->col || !sl_streq(a->text, b->text))
                continue;
            a->targets |= b->targets;
            free(b->file);
            free(b->text);
            c->diags[i--] = c->diags[--c->n_diags];
            break;
        }
}

size_t check_diags_read(struct check *c, const char *p, size_t n, unsigned target_bit)
{
    struct sl_str rest = {p, n}, line;
    size_t from = c->n_diags, last = SIZE_MAX, found = 0;
    while (sl_str_cut(&rest, '\n', &line)) {
        SL_AUTO_FREE char *s = sl_strndup(line.p, line.n);
        found += diag_line(c, s, target_bit, &last);
    }
    diags_merge(c, from);
    return found;
}

/* --- all units
 * ---------------------------------------------------------------------------------------- */
static void kernels_read(struct check *c, const char *object, int arch, const char *unit)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(OBJECT_MAX);
    struct sl_err err = {0};
    struct kernel_info *k = NULL;
    size_t n = 0;
    if (file_read(object, OBJECT_MAX, &b, &err) < 0 ||
        codeobj_kernels(sl_buf_str(&b), b.n, &k, &n, &err) < 0)
        diag_add(c, sl_strdup(unit), 0, 0, true, err.msg, 1u << arch);
    if (c->n_kernels + n > c->cap_kernels)
        c->kernels =
            sl_realloc(c->kernels, (c->cap_kernels = (c->n_kernels + n) * 2) * sizeof *c->kernels);
    for (size_t i = 0; i < n; i++)
        c->kernels[c->n_kernels++] = (struct check_kernel){k[i], NULL, arch, unit};
    free(k); /* the names moved */
}

static void copy_object(const struct check *c, const char *object, size_t unit, int arch)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(OBJECT_MAX);
    struct sl_err err = {0};
    const char *base = strrchr(c->stage.v[unit].path, '/');
    SL_AUTO_FREE char *to = sl_asprintf("%s/%s.%s.hsaco", c->opts->objects,
                                        base ? base + 1 : c->stage.v[unit].path, c->arch[arch]);
    if (dir_make(c->opts->objects, 0777, &err) < 0 || file_read(object, OBJECT_MAX, &b, &err) < 0 ||
        file_write(to, sl_buf_str(&b), b.n, 0644, &err) < 0)
        fprintf(stderr, "starport: check: %s\n", err.msg);
}

struct unit_job {
    size_t unit;
    int arch; /* -1: host */
    char *object;
    struct argv argv;
};

static size_t plan(struct check *c, struct unit_job *u)
{
    size_t n = 0;
    for (size_t i = 0; i < c->stage.n; i++) {
        const struct stage_file *f = &c->stage.v[i];
        if (!f->is_unit)
            continue;
        if (!f->is_gpu) {
            c->units_skipped++;
            continue;
        }
        c->units++;
        for (int arch = c->opts->no_host ? 0 : -1; arch < c->n_arch; arch++) {
            u[n] = (struct unit_job){i, arch, NULL, {0}};
            u[n].object = sl_asprintf("%s/u%zu-%d.co", c->stage.dir, i, arch);
            job_args(c, f, arch, u[n].object, &u[n].argv);
            n++;
        }
    }
    return n;
}

int check_compile(struct check *c, struct sl_err *err)
{
    size_t most = c->stage.n * (size_t)(c->n_arch + 1) + 1, unit = SIZE_MAX;
    struct unit_job *u = sl_alloc(most * sizeof *u);
    struct cc_job *j = sl_alloc(most * sizeof *j);
    size_t n = plan(c, u);
    for (size_t i = 0; i < n; i++)
        j[i] = (struct cc_job){.argv = &u[i].argv,
                               .timeout_s = c->opts->timeout_s ? (int)c->opts->timeout_s : LIMIT_S};
    cc_run(j, n, c->opts->jobs > 0 ? (int)c->opts->jobs : cc_cores());
    int rc = 0;
    bool good = true;
    for (size_t i = 0; i < n; i++) {
        unsigned bit = u[i].arch < 0 ? 1u << CHECK_ARCH_MAX : 1u << u[i].arch;
        const char *path = c->stage.v[u[i].unit].path;
        if (j[i].status < 0) {
            *err = j[i].err;
            rc = -1;
        }
        size_t found = check_diags_read(c, sl_buf_str(&j[i].errs), j[i].errs.n, bit);
        if (j[i].status > 0 && found == 0)
            diag_add(c, sl_strdup(path), 0, 0, true, sl_buf_str(&j[i].errs), bit);
        if (j[i].status == 0 && u[i].arch >= 0 && !c->opts->gpu_rdc) {
            kernels_read(c, u[i].object, u[i].arch, path);
            if (c->opts->objects)
                copy_object(c, u[i].object, u[i].unit, u[i].arch);
        }
        if (u[i].unit != unit)
            good = true;
        unit = u[i].unit;
        good &= j[i].status == 0;
        if (good && (i + 1 == n || u[i + 1].unit != unit))
            c->units_ok++;
    }
    for (size_t i = 0; i < n; i++) {
        cc_job_free(&j[i]);
        argv_free(&u[i].argv);
        free(u[i].object);
    }
    free(u);
    free(j);
    return rc;
}
