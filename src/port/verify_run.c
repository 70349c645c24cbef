/* SPDX-License-Identifier: Apache-2.0
 *
 * verify_run.c: compiles the ported copy with the CPU shim, and runs it.
 */
#include "port/verify.h"
#include "base/io/proc.h"
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { BUILD_LIMIT_S = 300, COPIES_MAX = 300 << 20, OUTPUT_MAX = 64 << 20 };

static int find_compiler(struct verify *v, struct sl_err *err)
{
    static const char *const names[] = {"clang++-19", "g++", "clang++"};
    if (v->opts->compiler) {
        v->compiler = sl_strdup(v->opts->compiler);
        return 0;
    }
    for (size_t i = 0; i < SL_COUNT(names); i++)
        if (cc_have(names[i])) {
            v->compiler = sl_strdup(names[i]);
            return 0;
        }
    return sl_fail(err, SL_UNAVAILABLE,
                   "verify needs a C++17 compiler: install clang-19 (best) or g++");
}

/* What both the program and the runtime are compiled with. Frame pointers and source order of
 * blocks: the runtime tells by return addresses which of two places comes first. */
static void common_args(const struct verify *v, struct argv *a)
{
    bool clang = strstr(v->compiler, "clang") != NULL;
    argv_add(a, v->compiler);
    argv_addf(a, "-std=%s", v->opts->standard ? v->opts->standard : "c++17");
    const char *both[] = {"-g",
                          "-Wno-register",
                          "-gdwarf-4",
                          "-w",
                          "-fno-omit-frame-pointer",
                          "-fno-optimize-sibling-calls",
                          "-fno-pie",
                          "-pthread",
                          "-fno-strict-aliasing",
                          "-ffp-contract=off"};
    for (size_t i = 0; i < SL_COUNT(both); i++)
        argv_add(a, both[i]);
    if (clang) {
        argv_add(a, "-fconvergent-functions"); /* as for a GPU: no barrier is duplicated */
        argv_add(a, "-mllvm");
        argv_add(a, "-disable-block-placement");
    } else {
        argv_add(a, "-fno-reorder-blocks");
        argv_add(a, "-fno-thread-jumps");
        argv_add(a, "-fno-crossjumping");
    }
    argv_addf(a, "-I%s/cpu", v->shim);
}

static void check_args(const struct verify *v, struct argv *a)
{
    argv_add(a, "-fsanitize=kernel-address");
    if (strstr(v->compiler, "clang")) {
        const char *llvm[] = {"-asan-instrumentation-with-call-threshold=0", "-asan-stack=0",
                              "-asan-globals=0"};
        for (size_t i = 0; i < SL_COUNT(llvm); i++) {
            argv_add(a, "-mllvm");
            argv_add(a, llvm[i]);
        }
        return;
    }
    const char *gcc[] = {"asan-instrumentation-with-call-threshold=0", "asan-stack=0",
                         "asan-globals=0"};
    for (size_t i = 0; i < SL_COUNT(gcc); i++) {
        argv_add(a, "--param");
        argv_add(a, gcc[i]);
    }
}

static void unit_args(const struct verify *v, const struct stage_file *f, int fixed,
                      const char *object, struct argv *a)
{
    common_args(v, a);
    check_args(v, a);
    argv_addf(a, "-I%s/lib", v->shim);
    argv_addf(a, "-I%s/root%s", v->stage.dir, f->real_dir);
    for (int i = 0; i < v->opts->includes.n; i++) {
        char *real = realpath(v->opts->includes.v[i], NULL);
        argv_addf(a, "-I%s/root%s", v->stage.dir, real ? real : v->opts->includes.v[i]);
        argv_addf(a, "-I%s", real ? real : v->opts->includes.v[i]);
        free(real);
    }
    argv_add(a, "-iquote");
    argv_add(a, f->real_dir);
    for (int i = 0; i < v->opts->defines.n; i++)
        argv_addf(a, "-D%s", v->opts->defines.v[i]);
    if (fixed)
        argv_addf(a, "-DSTARPORT_WAVE_FIXED=%d", fixed);
    argv_add(a, sl_streq(v->compiler, "clang++") ? "-O0"
                                                 : "-O1"); /* an old clang duplicates barriers */
    argv_add(a, "-include");
    argv_add(a, "hip/hip_runtime.h");
    argv_add(a, "-x");
    argv_add(a, "c++");
    argv_add(a, "-c");
    argv_add(a, f->staged);
    argv_add(a, "-o");
    argv_add(a, object);
}

static void runtime_args(const struct verify *v, int fixed, struct argv *a)
{
    common_args(v, a);
    if (fixed)
        argv_addf(a, "-DSTARPORT_WAVE_FIXED=%d", fixed);
    argv_add(a, "-O2");
    argv_add(a, "-c");
    argv_addf(a, "%s/cpu/run.cc", v->shim);
    argv_add(a, "-o");
    argv_addf(a, "%s/runtime%d.o", v->stage.dir, fixed);
}

/* The compiler's own words, its working directory's names taken out. */
static int compile_failed(const struct stage_file *f, const struct cc_job *j, struct sl_err *err)
{
    if (j->status < 0) {
        *err = j->err;
        return -1;
    }
    fwrite(sl_buf_str(&j->errs), 1, j->errs.n, stderr);
    if (memmem(sl_buf_str(&j->errs), j->errs.n, "asm", 3))
        fputs("starport: inline assembly of a GPU is not emulated\n", stderr);
    return sl_fail(err, SL_INVALID, "%s does not compile for the CPU; see the messages above",
                   f ? f->path : "the runtime");
}

/* Compiles every unit and the runtime, and links `program`. fixed: 0, or the wave size to build in.
 * *ret_constant: it failed because warpSize is used as a constant. */
static int build(struct verify *v, int fixed, const char *program, bool *ret_constant,
                 struct sl_err *err)
{
    size_t n = v->stage.n, jobs = 0;
    struct argv *a = sl_alloc((n + 1) * sizeof *a);
    struct cc_job *j = sl_alloc((n + 1) * sizeof *j);
    const struct stage_file **of = sl_alloc((n + 1) * sizeof *of);
    struct argv link = {0};
    int rc = 0;
    argv_add(&link, v->compiler);
    argv_add(&link, "-no-pie");
    argv_add(&link, "-pthread");
    argv_addf(&link, "%s/runtime%d.o", v->stage.dir, fixed);
    runtime_args(v, fixed, &a[jobs++]);
    for (size_t i = 0; i < n; i++) {
        if (!v->stage.v[i].is_unit)
            continue;
        SL_AUTO_FREE char *o = sl_asprintf("%s/u%zu-%d.o", v->stage.dir, i, fixed);
        argv_add(&link, o);
        of[jobs] = &v->stage.v[i];
        unit_args(v, &v->stage.v[i], fixed, o, &a[jobs++]);
    }
    for (size_t i = 0; i < jobs; i++)
        j[i] = (struct cc_job){.argv = &a[i], .timeout_s = BUILD_LIMIT_S};
    cc_run(j, jobs, cc_cores());
    for (size_t i = 0; i < jobs && rc == 0; i++)
        if (j[i].status != 0) {
            *ret_constant = memmem(sl_buf_str(&j[i].errs), j[i].errs.n, "warpSize", 8) != NULL;
            rc = *ret_constant && !fixed ? -1 : compile_failed(of[i], &j[i], err);
        }
    argv_add(&link, "-o");
    argv_add(&link, program);
    if (rc == 0) {
        struct cc_job l = {.argv = &link, .timeout_s = BUILD_LIMIT_S};
        cc_run(&l, 1, 1);
        if (l.status != 0) {
            fwrite(sl_buf_str(&l.errs), 1, l.errs.n, stderr);
            rc = sl_fail(err, SL_INVALID,
                         "the program does not link: give all of its files (one has main)");
        }
        cc_job_free(&l);
    }
    for (size_t i = 0; i < jobs; i++) {
        cc_job_free(&j[i]);
        argv_free(&a[i]);
    }
    argv_free(&link);
    free(a);
    free(j);
    free(of);
    return rc;
}

int verify_build(struct verify *v, char **files, int n, struct sl_err *err)
{
    const char *includes[CMD_LIST_MAX + 1] = {0}, *defines[CMD_LIST_MAX + 1] = {0};
    struct stage_opts o = {.include_dirs = includes,
                           .defines = defines,
                           .cpu = true,
                           .fix = v->opts->fix,
                           .fix_hip = true};
    memcpy(includes, v->opts->includes.v, sizeof *includes * (size_t)v->opts->includes.n);
    memcpy(defines, v->opts->defines.v, sizeof *defines * (size_t)v->opts->defines.n);
    if (find_compiler(v, err) < 0 || stage_data_dir(v->opts->shim_dir, "shim", &v->shim, err) < 0 ||
        stage_open(&v->stage, err) < 0)
        return -1;
    for (int i = 0; i < n; i++)
        if (stage_add(&v->stage, files[i], &o, err) < 0)
            return -1;
    if (stage_write(&v->stage, &o, err) < 0)
        return -1;
    size_t units = 0;
    for (size_t i = 0; i < v->stage.n; i++)
        units += v->stage.v[i].is_unit;
    if (units == 0)
        return sl_fail(err, SL_INVALID, "%s: no source file; give .cu, .hip or .cpp", files[0]);
    v->dir = sl_strdup(v->stage.v[0].real_dir);
    v->program = sl_asprintf("%s/program", v->stage.dir);
    bool constant = false;
    if (build(v, 0, v->program, &constant, err) == 0)
        return 0;
    if (!constant)
        return -1;
    v->fixed_wave = true;
    for (int i = 0; i < 2; i++) {
        SL_AUTO_FREE char *program = sl_asprintf("%s%d", v->program, i ? 64 : 32);
        if (v->waves[i] && build(v, i ? 64 : 32, program, &constant, err) < 0)
            return -1;
    }
    return 0;
}

static void copies_split(struct verify_run *r)
{
    const char *p = sl_buf_str(&r->copies_raw);
    size_t cap = 0, n = r->copies_raw.n;
    for (size_t at = 0; n - at >= 24;) {
        uint64_t head[3];
        memcpy(head, p + at, sizeof head);
        at += sizeof head;
        if (head[0] != 0x79706f63 || head[2] > n - at)
            return;
        if (r->n_copies == cap)
            r->copies = sl_realloc(r->copies, (cap = cap ? cap * 2 : 64) * sizeof *r->copies);
        r->copies[r->n_copies++] = (struct verify_copy){head[1], head[2], p + at};
        at += head[2];
    }
}

int verify_run_one(struct verify *v, int which, int wave, bool one_thread, struct sl_err *err)
{
    struct verify_run *r = &v->runs[which];
    SL_AUTO_FREE char *report = sl_asprintf("%s/report%d", v->stage.dir, which);
    SL_AUTO_FREE char *copies = sl_asprintf("%s/copies%d", v->stage.dir, which);
    SL_AUTO_FREE char *program =
        v->fixed_wave ? sl_asprintf("%s%d", v->program, wave) : sl_strdup(v->program);
    int64_t limit = v->opts->timeout_s ? v->opts->timeout_s : 60;
    char *env[7] = {sl_asprintf("STARPORT_WAVE=%d", wave),
                    sl_asprintf("STARPORT_REPORT=%s", report),
                    sl_asprintf("STARPORT_COPIES=%s", copies),
                    sl_asprintf("STARPORT_LIMIT_S=%d", (int)limit),
                    NULL,
                    NULL,
                    NULL};
    int n_env = 4;
    if (one_thread)
        env[n_env++] = sl_strdup("STARPORT_THREADS=1");
    if (v->opts->lockstep)
        env[n_env++] = sl_strdup("STARPORT_LOCKSTEP=1");
    const char *argv[CMD_LIST_MAX + 2] = {program};
    for (int i = 0; i < v->opts->args.n; i++)
        argv[i + 1] = v->opts->args.v[i];
    r->wave = wave;
    r->out = r->errs = r->report = SL_BUF(OUTPUT_MAX);
    r->copies_raw = SL_BUF(COPIES_MAX);
    struct proc p = {.argv = argv,
                     .env = (const char *const *)env,
                     .dir = v->dir,
                     .out = &r->out,
                     .errs = &r->errs,
                     .timeout_s = (int)limit + 10,
                     .any_status = true};
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    int rc = proc_run(&p, err);
    clock_gettime(CLOCK_MONOTONIC, &b);
    r->seconds = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
    r->status = p.status;
    for (int i = 0; i < n_env; i++)
        free(env[i]);
    struct sl_err ignored = {0}; /* a program that stopped early may have written neither file */
    file_read(report, OUTPUT_MAX, &r->report, &ignored);
    file_read(copies, COPIES_MAX, &r->copies_raw, &ignored);
    copies_split(r);
    return rc;
}

int verify_runs(struct verify *v, struct sl_err *err)
{
    for (int i = 0; i < 2; i++)
        if (v->waves[i] && verify_run_one(v, i ? RUN_64 : RUN_32, i ? 64 : 32, false, err) < 0)
            return -1;
    return 0;
}
