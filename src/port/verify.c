/* SPDX-License-Identifier: Apache-2.0 */
#include "port/verify.h"
#include "port/report.h"
#include "port/run.h"
#include <limits.h>
#include <stdio.h>

#define AT(field) offsetof(struct verify_opts, field)
static const char *const wave_choices[] = {"32", "64", "both", NULL};
static const char *const output_choices[] = {"text", "json", NULL};
const struct cmd_opt verify_cmd_opts[] = {
    {"wave", 'w', CMD_TEXT, "32|64|both", "wave sizes to run with (default: both, compared)",
     wave_choices, AT(wave)},
    {"reference", 'r', CMD_TEXT, "FILE", "expected standard output", NULL, AT(reference)},
    {"tolerance", 't', CMD_TEXT, "X", "relative difference of numbers that is none (default 1e-5)",
     NULL, AT(tolerance)},
    {"fix", 'f', CMD_FLAG, NULL, "with the automatic fixes of the hazard rules", NULL, AT(fix)},
    {"arg", 'a', CMD_LIST, "ARG", "argument for the program (may be repeated)", NULL, AT(args)},
    {"include", 'I', CMD_LIST, "DIR", "search DIR for headers", NULL, AT(includes)},
    {"define", 'D', CMD_LIST, "NAME[=VALUE]", "define a macro", NULL, AT(defines)},
    {"std", 0, CMD_TEXT, "STANDARD", "C++ standard (default c++17)", NULL, AT(standard)},
    {"compiler", 0, CMD_TEXT, "PROGRAM", "C++ compiler (default clang++-19, g++ or clang++)", NULL,
     AT(compiler)},
    {"timeout", 0, CMD_INT, "SECONDS", "limit for each run (default 60)", NULL, AT(timeout_s)},
    {"lockstep", 0, CMD_FLAG, NULL,
     "lanes of a wave meet at every access to shared memory (slow): for code that relies on it",
     NULL, AT(lockstep)},
    {"strict", 0, CMD_FLAG, NULL, "notes count as findings", NULL, AT(strict)},
    {"keep", 'k', CMD_FLAG, NULL, "keep the working directory and print its name", NULL, AT(keep)},
    {"output", 'o', CMD_TEXT, "text|json", "form of the report (default text)", output_choices,
     AT(output)},
    {"shim-dir", 0, CMD_TEXT, "DIR", "where starport's own \"shim\" directory is", NULL,
     AT(shim_dir)},
    {0}};
const char verify_details[] =
    "Runs the program's own main() on the CPU, its kernels with waves of 32 and of 64 lanes. "
    "Emulated: shared memory (checked), barriers, shuffles, votes, matches, atomics, half, "
    "cooperative groups up to the block, hipCUB and Thrust basics; streams and events do nothing. "
    "Not emulated: memory order and races between blocks, separate address spaces, textures, "
    "inline "
    "assembly, MFMA, grid-wide sync, device-side launches, timing. Exit status: 0 nothing found, "
    "1 findings, 2 usage, 3 the program cannot be built.";

void verify_free(struct verify *v)
{
    for (int i = 0; i < VERIFY_RUNS; i++) {
        struct verify_run *r = &v->runs[i];
        sl_buf_free(&r->out);
        sl_buf_free(&r->errs);
        sl_buf_free(&r->report);
        sl_buf_free(&r->copies_raw);
        free(r->copies);
    }
    for (size_t i = 0; i < v->n; i++) {
        free(v->v[i].kind);
        free(v->v[i].file);
        free(v->v[i].text);
    }
    free(v->v);
    free(v->shim);
    free(v->program);
    free(v->compiler);
    free(v->dir);
    if (v->opts->keep) {
        fprintf(stderr, "starport: kept %s\n", v->stage.dir);
        v->stage.dir[0] = 0;
    }
    stage_close(&v->stage);
}

static size_t count(const struct verify *v, enum verify_severity s)
{
    size_t n = 0;
    for (size_t i = 0; i < v->n; i++)
        n += v->v[i].severity == s;
    return n;
}

static void print_text(const struct verify *v, const char *name)
{
    for (int i = 0; i < 2; i++)
        if (v->waves[i])
            printf("%s: wave %d: exit status %d, %.2f s, %zu copies to the host\n", name,
                   i ? 64 : 32, v->runs[i].status, v->runs[i].seconds, v->runs[i].n_copies);
    for (size_t i = 0; i < v->n; i++) {
        const struct verify_finding *f = &v->v[i];
        const char *wave = f->wave == 32 ? " [wave 32]" : f->wave == 64 ? " [wave 64]" : "";
        if (f->file)
            printf("%s:%u: ", f->file, f->line);
        else
            printf("%s: ", name);
        printf("%s: %s: %s%s\n", f->severity == VERIFY_FINDING ? "error" : "note", f->kind, f->text,
               wave);
    }
    if (v->fixed_wave)
        printf("%s: note: warpSize is used as a constant; built once for each wave size\n", name);
    printf("%s: %zu findings, %zu notes\n", name, count(v, VERIFY_FINDING), count(v, VERIFY_NOTE));
}

static void json_text(struct sl_buf *b, const char *key, const char *s)
{
    sl_buf_printf(b, "\"%s\":", key);
    if (s)
        report_json_string(b, s, strlen(s));
    else
        sl_buf_adds(b, "null");
}

static void print_json(const struct verify *v, const char *name)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(64 << 20);
    sl_buf_adds(&b, "{");
    json_text(&b, "program", name);
    sl_buf_adds(&b, ",\"runs\":[");
    for (int i = 0, n = 0; i < 2; i++)
        if (v->waves[i])
            sl_buf_printf(&b, "%s{\"wave\":%d,\"status\":%d,\"seconds\":%.3f,\"copies\":%zu}",
                          n++ ? "," : "", i ? 64 : 32, v->runs[i].status, v->runs[i].seconds,
                          v->runs[i].n_copies);
    sl_buf_adds(&b, "],\"findings\":[");
    for (size_t i = 0; i < v->n; i++) {
        const struct verify_finding *f = &v->v[i];
        sl_buf_printf(&b, "%s{\"severity\":\"%s\",\"line\":%u,\"wave\":%d,", i ? "," : "",
                      f->severity == VERIFY_FINDING ? "error" : "note", f->line, f->wave);
        json_text(&b, "kind", f->kind);
        sl_buf_addc(&b, ',');
        json_text(&b, "file", f->file);
        sl_buf_addc(&b, ',');
        json_text(&b, "text", f->text);
        sl_buf_addc(&b, '}');
    }
    sl_buf_adds(&b, "]}\n");
    fputs(sl_buf_str(&b), stdout);
}

int verify_main(const void *globals, const void *opts, int argc, char **argv)
{
    const struct verify_opts *o = opts;
    struct verify v = {.opts = o, .tolerance = 1e-5};
    struct sl_err err = {0};
    char *end = NULL;
    v.waves[0] = !o->wave || !sl_streq(o->wave, "64");
    v.waves[1] = !o->wave || !sl_streq(o->wave, "32");
    if (o->tolerance) {
        v.tolerance = strtod(o->tolerance, &end);
        if (end == o->tolerance || *end || !(v.tolerance >= 0)) {
            fprintf(stderr, "starport: verify: --tolerance: \"%s\" is no number >= 0\n",
                    o->tolerance);
            return RUN_USAGE;
        }
    }
    if (o->timeout_s < 0 || o->timeout_s > 86400) {
        fprintf(stderr, "starport: verify: --timeout: give 1 to 86400 seconds\n");
        return RUN_USAGE;
    }
    int rc = RUN_INPUT;
    if (verify_build(&v, argv, argc, &err) < 0 || verify_runs(&v, &err) < 0 ||
        verify_judge(&v, &err) < 0) {
        fprintf(stderr, "starport: verify: %s\n", err.msg);
    } else {
        if (o->output && sl_streq(o->output, "json"))
            print_json(&v, argv[0]);
        else
            print_text(&v, argv[0]);
        rc = count(&v, VERIFY_FINDING) ? RUN_FINDINGS : RUN_OK;
    }
    verify_free(&v);
    return rc;
}
