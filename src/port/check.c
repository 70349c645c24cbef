/* SPDX-License-Identifier: Apache-2.0 */
#include "port/check.h"
#include "base/io/proc.h"
#include "port/hazard.h"
#include "port/report.h"
#include "port/run.h"
#include <ctype.h>
#include <stdio.h>

#define AT(field) offsetof(struct check_opts, field)
static const char *const output_choices[] = {"text", "json", NULL};
const struct cmd_opt check_cmd_opts[] = {
    {"arch", 0, CMD_TEXT, "LIST", "targets (default gfx90a,gfx942)", NULL, AT(arch)},
    {"rocm-path", 0, CMD_TEXT, "DIR", "a ROCm installation (default: Debian's packages)", NULL,
     AT(rocm_path)},
    {"include", 'I', CMD_LIST, "DIR", "search DIR for headers", NULL, AT(includes)},
    {"define", 'D', CMD_LIST, "NAME[=VALUE]", "define a macro", NULL, AT(defines)},
    {"exclude-dir", 0, CMD_LIST, "DIR", "leave out directories of this name or path", NULL,
     AT(exclude_dirs)},
    {"std", 0, CMD_TEXT, "STANDARD", "C++ standard (default c++17)", NULL, AT(standard)},
    {"optimize", 'O', CMD_TEXT, "LEVEL", "optimization level (default 3)", NULL, AT(opt)},
    {"no-fix", 0, CMD_FLAG, NULL, "without the automatic fixes of the hazard rules", NULL,
     AT(no_fix)},
    {"no-host", 0, CMD_FLAG, NULL, "compile device code only", NULL, AT(no_host)},
    {"rdc", 0, CMD_FLAG, NULL, "device code spans files: check it without linking", NULL,
     AT(gpu_rdc)},
    {"warnings", 'W', CMD_FLAG, NULL, "the compiler's warnings too", NULL, AT(warnings)},
    {"objects", 0, CMD_TEXT, "DIR", "keep the code objects there, FILE.ARCH.hsaco", NULL,
     AT(objects)},
    {"jobs", 'j', CMD_INT, "N", "compilers at a time (default: one a core)", NULL, AT(jobs)},
    {"timeout", 0, CMD_INT, "SECONDS", "limit for each compiler run (default 600)", NULL,
     AT(timeout_s)},
    {"keep", 'k', CMD_FLAG, NULL, "keep the working directory and print its name", NULL, AT(keep)},
    {"output", 'o', CMD_TEXT, "text|json", "form of the report (default text)", output_choices,
     AT(output)},
    {"shim-dir", 0, CMD_TEXT, "DIR", "where starport's own \"shim\" and \"stubs\" directories are",
     NULL, AT(shim_dir)},
    {0}};
const char check_details[] =
    "CUDA sources are translated into a working copy first; the tree is not changed. Libraries "
    "that "
    "are not installed are declared from the API table, which finds wrong names, not wrong "
    "arguments. Exit status: 0 everything compiles, 1 errors, 2 usage, 3 input or a missing "
    "compiler.";

void check_free(struct check *c)
{
    for (size_t i = 0; i < c->n_diags; i++) {
        free(c->diags[i].file);
        free(c->diags[i].text);
    }
    for (size_t i = 0; i < c->n_kernels; i++) {
        free(c->kernels[i].info.name);
        free(c->kernels[i].pretty);
    }
    free(c->diags);
    free(c->kernels);
    free(c->compiler);
    free(c->shim);
    free(c->stubs);
    free(c->headers);
    free(c->device_libs);
    free(c->arch_list);
    if (c->opts->keep && c->stage.dir[0]) {
        fprintf(stderr, "starport: kept %s\n", c->stage.dir);
        c->stage.dir[0] = 0;
    }
    stage_close(&c->stage);
}

/* "gfx90a,gfx942:xnack+" -> arch[]; names only have letters, digits, ':', '+', '-'. */
static int arch_parse(struct check *c, struct sl_err *err)
{
    c->arch_list = sl_strdup(c->opts->arch ? c->opts->arch : "gfx90a,gfx942");
    for (char *p = c->arch_list; p;) {
        char *comma = strchr(p, ',');
        if (comma)
            *comma++ = 0;
        bool good = strncmp(p, "gfx", 3) == 0 && strlen(p) < 40 && isdigit((unsigned char)p[3]);
        for (const char *q = p; *q; q++)
            good &= isalnum((unsigned char)*q) || *q == ':' || *q == '+' || *q == '-';
        if (!good)
            return sl_fail_at(err, SL_INVALID, "arch",
                              "--arch: \"%s\" is no target; give names like gfx90a or gfx942", p);
        if (c->n_arch == CHECK_ARCH_MAX)
            return sl_fail_at(err, SL_INVALID, "arch", "--arch: more than %d targets",
                              CHECK_ARCH_MAX);
        c->arch[c->n_arch++] = p;
        p = comma;
    }
    return 0;
}

/* Kernel names as a programmer wrote them, where c++filt (binutils) is there. */
static void demangle(struct check *c)
{
    SL_AUTO_BUF struct sl_buf in = SL_BUF(64 << 20), out = SL_BUF(64 << 20), errs = SL_BUF(4096);
    struct sl_err err = {0};
    const char *argv[] = {"c++filt", NULL};
    for (size_t i = 0; i < c->n_kernels; i++)
        sl_buf_printf(&in, "%s\n", c->kernels[i].info.name);
    struct proc p = {.argv = argv,
                     .input = sl_buf_str(&in),
                     .input_n = in.n,
                     .out = &out,
                     .errs = &errs,
                     .any_status = true};
    bool good = in.n && cc_have(argv[0]) && proc_run(&p, &err) == 0 && p.status == 0;
    struct sl_str rest = {sl_buf_str(&out), out.n}, line;
    for (size_t i = 0; i < c->n_kernels; i++)
        c->kernels[i].pretty = good && sl_str_cut(&rest, '\n', &line)
                                   ? sl_strndup(line.p, line.n)
                                   : sl_strdup(c->kernels[i].info.name);
}

static void targets_text(const struct check *c, unsigned set, struct sl_buf *b)
{
    const char *comma = "";
    for (int i = 0; i < c->n_arch; i++)
        if (set & 1u << i) {
            sl_buf_printf(b, "%s%s", comma, c->arch[i]);
            comma = ", ";
        }
    if (set & 1u << CHECK_ARCH_MAX)
        sl_buf_printf(b, "%shost", comma);
}

static size_t errors(const struct check *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_diags; i++)
        n += c->diags[i].is_error;
    return n;
}

static void print_text(const struct check *c, const char *tree)
{
    for (size_t i = 0; i < c->n_diags; i++) {
        const struct check_diag *d = &c->diags[i];
        SL_AUTO_BUF struct sl_buf t = SL_BUF(1024);
        targets_text(c, d->targets, &t);
        if (d->file)
            printf("%s:%u:%u: ", d->file, d->line, d->col);
        printf("%s: %s [%s]\n", d->is_error ? "error" : "warning", d->text, sl_buf_str(&t));
    }
    if (c->n_kernels)
        printf("%-8s %6s %6s %5s %5s %5s %7s %5s %6s  %s\n", "target", "LDS", "stack", "VGPR",
               "AGPR", "SGPR", "spills", "wave", "occup.", "kernel");
    for (size_t i = 0; i < c->n_kernels; i++) {
        const struct kernel_info *k = &c->kernels[i].info;
        printf("%-8s %6llu %6llu %5llu %5llu %5llu %3llu/%-3llu %5llu %3u/%u%s%s  %s\n",
               c->arch[c->kernels[i].arch], (unsigned long long)k->lds_bytes,
               (unsigned long long)k->scratch_bytes, (unsigned long long)k->vgprs,
               (unsigned long long)k->agprs, (unsigned long long)k->sgprs,
               (unsigned long long)k->vgpr_spills, (unsigned long long)k->sgpr_spills,
               (unsigned long long)k->wave_size, k->occupancy, (unsigned)CODEOBJ_WAVES_MAX,
               *k->limited_by ? " " : "", k->limited_by, c->kernels[i].pretty);
        if (k->lds_bytes > CODEOBJ_LDS_BYTES)
            printf("%s: warning: %s: %llu bytes of LDS: gfx90a and gfx942 have %d a block (S1)\n",
                   c->kernels[i].unit, c->kernels[i].pretty, (unsigned long long)k->lds_bytes,
                   CODEOBJ_LDS_BYTES);
    }
    SL_AUTO_BUF struct sl_buf t = SL_BUF(1024);
    targets_text(c, (1u << c->n_arch) - 1, &t);
    printf("%s: %zu of %zu files compile for %s", tree, c->units_ok, c->units, sl_buf_str(&t));
    if (c->units_skipped)
        printf("; %zu without GPU code were left out", c->units_skipped);
    printf("; %zu errors\n", errors(c));
}

static void json_text(struct sl_buf *b, const char *key, const char *s)
{
    sl_buf_printf(b, "\"%s\":", key);
    if (s)
        report_json_string(b, s, strlen(s));
    else
        sl_buf_adds(b, "null");
}

static void print_json(const struct check *c)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(256 << 20);
    sl_buf_printf(&b, "{\"units\":%zu,\"units_ok\":%zu,\"units_skipped\":%zu,\"diagnostics\":[",
                  c->units, c->units_ok, c->units_skipped);
    for (size_t i = 0; i < c->n_diags; i++) {
        const struct check_diag *d = &c->diags[i];
        SL_AUTO_BUF struct sl_buf t = SL_BUF(1024);
        targets_text(c, d->targets, &t);
        sl_buf_printf(&b, "%s{\"severity\":\"%s\",\"line\":%u,\"column\":%u,", i ? "," : "",
                      d->is_error ? "error" : "warning", d->line, d->col);
        json_text(&b, "file", d->file);
        sl_buf_addc(&b, ',');
        json_text(&b, "text", d->text);
        sl_buf_addc(&b, ',');
        json_text(&b, "targets", sl_buf_str(&t));
        sl_buf_addc(&b, '}');
    }
    sl_buf_adds(&b, "],\"kernels\":[");
    for (size_t i = 0; i < c->n_kernels; i++) {
        const struct kernel_info *k = &c->kernels[i].info;
        sl_buf_printf(&b,
                      "%s{\"lds\":%llu,\"scratch\":%llu,\"vgpr\":%llu,\"agpr\":%llu,\"sgpr\":%llu,"
                      "\"vgpr_spills\":%llu,\"sgpr_spills\":%llu,\"wave\":%llu,\"occupancy\":%u,",
                      i ? "," : "", (unsigned long long)k->lds_bytes,
                      (unsigned long long)k->scratch_bytes, (unsigned long long)k->vgprs,
                      (unsigned long long)k->agprs, (unsigned long long)k->sgprs,
                      (unsigned long long)k->vgpr_spills, (unsigned long long)k->sgpr_spills,
                      (unsigned long long)k->wave_size, k->occupancy);
        json_text(&b, "name", c->kernels[i].pretty);
        sl_buf_addc(&b, ',');
        json_text(&b, "unit", c->kernels[i].unit);
        sl_buf_addc(&b, ',');
        json_text(&b, "target", c->arch[c->kernels[i].arch]);
        sl_buf_addc(&b, '}');
    }
    sl_buf_adds(&b, "]}\n");
    fputs(sl_buf_str(&b), stdout);
}

static int prepare(struct check *c, int argc, char **argv, struct sl_err *err)
{
    const char *includes[CMD_LIST_MAX + 1] = {0}, *defines[CMD_LIST_MAX + 1] = {0};
    const char *dirs[CMD_LIST_MAX + 1] = {0};
    struct stage_opts o = {.include_dirs = includes,
                           .defines = defines,
                           .exclude_dirs = dirs,
                           .fix = !c->opts->no_fix};
    memcpy(includes, c->opts->includes.v, sizeof *includes * (size_t)c->opts->includes.n);
    memcpy(defines, c->opts->defines.v, sizeof *defines * (size_t)c->opts->defines.n);
    memcpy(dirs, c->opts->exclude_dirs.v, sizeof *dirs * (size_t)c->opts->exclude_dirs.n);
    if (stage_open(&c->stage, err) < 0 || check_tools(c, err) < 0)
        return -1;
    for (int i = 0; i < argc; i++)
        if (stage_add(&c->stage, argv[i], &o, err) < 0)
            return -1;
    return stage_write(&c->stage, &o, err);
}

int check_main(const void *globals, const void *opts, int argc, char **argv)
{
    struct check c = {.opts = opts};
    struct sl_err err = {0};
    int rc = RUN_INPUT;
    if (arch_parse(&c, &err) < 0) {
        fprintf(stderr, "starport: check: %s\n", err.msg);
        rc = RUN_USAGE;
    } else if (prepare(&c, argc, argv, &err) < 0 || check_compile(&c, &err) < 0) {
        fprintf(stderr, "starport: check: %s\n", err.msg);
    } else if (c.units == 0) {
        fprintf(stderr, "starport: check: %s: no file with GPU code\n", argv[0]);
    } else {
        demangle(&c);
        if (c.opts->output && sl_streq(c.opts->output, "json"))
            print_json(&c);
        else
            print_text(&c, argv[0]);
        rc = errors(&c) ? RUN_FINDINGS : RUN_OK;
    }
    check_free(&c);
    return rc;
}
