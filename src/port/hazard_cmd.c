/* SPDX-License-Identifier: Apache-2.0
 * hazard_cmd.c: examine a tree, explain a rule, port build files. */
#include "port/hazard_cmd.h"
#include "port/api.h"
#include "port/build_files.h"
#include "port/diff.h"
#include "port/files.h"
#include "port/out.h"
#include "port/report.h"
#include "port/run.h"

#include <sys/stat.h>

struct examine_args {
    const char *format, *lang, *fail_on, *arch, *rocm, *output;
    struct cmd_list no_fix, exclude_dirs, exclude_files;
};
struct build_args {
    const char *lang, *arch;
    bool inplace, diff;
    struct cmd_list no_fix, exclude_dirs;
};
struct explain_args {
    const char *lang, *docs;
};
#define EX(field) offsetof(struct examine_args, field)
#define BU(field) offsetof(struct build_args, field)
#define XP(field) offsetof(struct explain_args, field)
static const char *const formats[] = {"text", "json", "sarif", "html", NULL};
static const char *const langs[] = {"en", "zh", NULL};
static const char *const levels[] = {"note", "warning", "error", "never", NULL};

const struct cmd_opt examine_opts[] = {
    {"format", 'f', CMD_TEXT, "FORMAT", "text, json, sarif or html (default text)", formats,
     EX(format)},
    {"output", 'o', CMD_TEXT, "FILE", "write the report to FILE", NULL, EX(output)},
    {"lang", 'l', CMD_TEXT, "LANG", "en or zh (default en)", langs, EX(lang)},
    {"fail-on", 0, CMD_TEXT, "LEVEL", "exit 1 on findings from this level up (default error)",
     levels, EX(fail_on)},
    {"arch", 'a', CMD_TEXT, "LIST", "targets: gfx90a, gfx942, gfx950 (default gfx90a,gfx942)", NULL,
     EX(arch)},
    {"rocm", 0, CMD_TEXT, "VERSION", "target ROCm version (default newest)", NULL, EX(rocm)},
    {"no-fix", 0, CMD_LIST, "ID", "count this rule's findings as open; all: every rule's", NULL,
     EX(no_fix)},
    {"exclude-dir", 0, CMD_LIST, "NAME", "directory to leave out", NULL, EX(exclude_dirs)},
    {"exclude-file", 0, CMD_LIST, "NAME", "file to leave out", NULL, EX(exclude_files)},
    {0}};
const struct cmd_opt build_files_opts[] = {
    {"inplace", 'i', CMD_FLAG, NULL, "change the files; each is kept as FILE.prehip", NULL,
     BU(inplace)},
    {"diff", 0, CMD_FLAG, NULL, "print a unified diff instead of findings", NULL, BU(diff)},
    {"lang", 'l', CMD_TEXT, "LANG", "en or zh (default en)", langs, BU(lang)},
    {"arch", 'a', CMD_TEXT, "LIST", "targets (default gfx90a,gfx942)", NULL, BU(arch)},
    {"no-fix", 0, CMD_LIST, "ID", "leave this rule's places as they are; all: every rule's", NULL,
     BU(no_fix)},
    {"exclude-dir", 0, CMD_LIST, "NAME", "directory to leave out", NULL, BU(exclude_dirs)},
    {0}};
const struct cmd_opt explain_opts[] = {
    {"lang", 'l', CMD_TEXT, "LANG", "en or zh (default en)", langs, XP(lang)},
    {"docs", 0, CMD_TEXT, "DIR", "write one page per rule into DIR", NULL, XP(docs)},
    {0}};
const size_t examine_opts_size = sizeof(struct examine_args);
const size_t build_files_opts_size = sizeof(struct build_args);
const size_t explain_opts_size = sizeof(struct explain_args);
const char examine_details[] =
    "Reads sources, build files and Python files of a CUDA tree (or of its port) and changes "
    "nothing. "
    "Findings that `translate` or `build-files` settles by itself are marked and do not count. "
    "Exit "
    "status: 0 clean, 1 findings at or above --fail-on, 2 usage, 3 a file could not be read.";
const char build_files_details[] =
    "CMakeLists.txt, *.cmake, Makefile, *.mk, *.sh and setup.py. Without --inplace nothing is "
    "written. "
    "Exit status: 0 done, 2 usage, 3 a file could not be read or written.";
const char explain_details[] =
    "ID is a rule's id (SP0101) or row (W1). Without one the rules are listed.";

static const char *const all_extensions[] = {
    "cu",  "cuh",   "c",   "cc",       "cpp",      "cxx",         "h",  "hh", "hpp",
    "hxx", "inl",   "inc", "ipp",      "hip",      "cl",          "py", "sh", "bash",
    "mk",  "cmake", "txt", "Makefile", "makefile", "GNUmakefile", NULL};

static int usage(const char *verb, const char *what, const char *value)
{
    fprintf(stderr, "starport: %s: %s%s%s\n", verb, what, value ? " " : "", value ? value : "");
    return RUN_USAGE;
}

bool hazard_no_fix(struct hazard_opts *o, const char *ids)
{
    struct sl_str rest = sl_str(ids), piece;
    while (sl_str_cut(&rest, ',', &piece)) {
        if (sl_str_eq(piece, SL_STR("all"))) {
            o->fix = false;
            continue;
        }
        SL_AUTO_FREE char *id = sl_strndup(piece.p, piece.n);
        const struct hazard_rule *r = hazard_rule_by_id(id);
        if (!r)
            return false;
        o->no_fix[r->no] = true;
    }
    return true;
}

/* Fills o from texts that may be NULL; a usage message and false when one is wrong. */
static bool options(const char *verb, const char *arch, const char *rocm,
                    const struct cmd_list *no_fix, struct hazard_opts *o)
{
    *o = HAZARD_OPTS_DEFAULT;
    if (arch && !(o->targets = hazard_targets_parse(arch))) {
        usage(verb, "unknown target in --arch (gfx90a, gfx942, gfx950):", arch);
        return false;
    }
    if (rocm) {
        o->rocm = api_version_parse(rocm);
        if (o->rocm < 30000 || o->rocm >= 80000) {
            usage(verb, "unknown ROCm version (3.0 to 7.x, as 5.7):", rocm);
            return false;
        }
    }
    for (int i = 0; i < no_fix->n; i++)
        if (!hazard_no_fix(o, no_fix->v[i])) {
            usage(verb, "unknown rule in --no-fix (see `starport explain`):", no_fix->v[i]);
            return false;
        }
    return true;
}

static const char *const *ended(const struct cmd_list *l, const char **v)
{
    for (int i = 0; i < l->n; i++)
        v[i] = l->v[i];
    v[l->n] = NULL;
    return v;
}

/* One file into f; false with a line on stderr when it cannot be read. */
static bool scan_file(const char *path, const struct hazard_opts *o, struct findings *f)
{
    struct source s;
    struct sl_err err = {0};
    enum build_kind kind = build_kind_of(path);
    size_t n = strlen(path);
    if (kind == BUILD_NONE && n > 4 && sl_streq(path + n - 4, ".txt"))
        return true;
    if (source_read(&s, path, &err) < 0) {
        fprintf(stderr, "starport: %s: %s\n", path, err.msg);
        return false;
    }
    if (kind != BUILD_NONE)
        build_scan(kind, &s, o, f);
    else
        hazard_scan(&s, o, f);
    f->files++;
    f->changed += s.n_edits > 0;
    source_free(&s);
    return true;
}

static int write_report(const struct sl_buf *b, const char *path)
{
    struct sl_err err = {0};
    if (!path) {
        bool ok = fwrite(sl_buf_str(b), 1, b->n, stdout) == b->n && fflush(stdout) == 0;
        return ok ? 0 : RUN_INPUT;
    }
    if (out_write(path, sl_buf_str(b), b->n, &err) < 0) {
        fprintf(stderr, "starport: %s\n", err.msg);
        return RUN_INPUT;
    }
    return 0;
}

static int index_of(const char *value, const char *const *list, int otherwise)
{
    for (int i = 0; value && list[i]; i++)
        if (sl_streq(value, list[i]))
            return i;
    return otherwise;
}

int examine_main(const void *globals, const void *opts, int argc, char **argv)
{
    const struct examine_args *a = opts;
    struct hazard_opts o;
    if (!options("examine", a->arch, a->rocm, &a->no_fix, &o))
        return RUN_USAGE;
    const char *dirs[CMD_LIST_MAX + 1], *names[CMD_LIST_MAX + 1];
    struct file_rules rules = {ended(&a->exclude_dirs, dirs), ended(&a->exclude_files, names),
                               all_extensions};
    struct file_list l = {0};
    struct findings f = {0};
    bool ok = true;
    for (int i = 0; i < argc; i++) {
        struct sl_err err = {0};
        if (file_list_add(&l, argv[i], &rules, &err) < 0) {
            fprintf(stderr, "starport: %s\n", err.msg);
            ok = false;
        }
    }
    for (size_t i = 0; i < l.n; i++)
        ok = scan_file(l.v[i].path, &o, &f) && ok;
    file_list_free(&l);
    findings_sort(&f);
    struct report_opts ro = {.format =
                                 (enum report_format)index_of(a->format, formats, REPORT_TEXT),
                             .lang = (enum hazard_lang)index_of(a->lang, langs, HAZARD_EN),
                             .color = !a->output && isatty(STDOUT_FILENO),
                             .targets = o.targets,
                             .rocm = o.rocm,
                             .tree = argv[0]};
    SL_AUTO_BUF struct sl_buf b = SL_BUF(REPORT_MAX_BYTES);
    report_write(&f, &ro, &b);
    int status = write_report(&b, a->output);
    int level = index_of(a->fail_on, levels, HAZARD_ERROR);
    for (int s = level; !status && s < HAZARD_SEVERITIES; s++)
        if (findings_count(&f, (enum hazard_severity)s, true))
            status = RUN_FINDINGS;
    findings_free(&f);
    return ok ? status : RUN_INPUT;
}

static int write_docs(const char *dir)
{
    struct sl_err err = {0};
    for (size_t i = 0; i <= HZ_COUNT + 1; i++) {
        SL_AUTO_BUF struct sl_buf b = SL_BUF(1 << 20);
        const char *name = i < HZ_COUNT    ? hazard_rule((enum hazard_no)i)->id
                           : i == HZ_COUNT ? "index"
                                           : "flags";
        if (i < HZ_COUNT)
            hazard_page(hazard_rule((enum hazard_no)i), &b);
        else if (i == HZ_COUNT)
            hazard_page_index(&b);
        else
            build_flags_page(&b);
        SL_AUTO_FREE char *path = sl_asprintf("%s/%s.md", dir, name);
        if (out_parents(path, &err) < 0 || out_write(path, sl_buf_str(&b), b.n, &err) < 0) {
            fprintf(stderr, "starport: %s\n", err.msg);
            return RUN_INPUT;
        }
    }
    return RUN_OK;
}

static void print_rule(const struct hazard_rule *r, enum hazard_lang lang)
{
    char targets[32];
    static const char *const heads[HAZARD_LANGS][5] = {
        {"Targets", "Automatic fix", "Found", "Not found", "Source"},
        {"目标", "自动修复", "会报告", "不会报告", "来源"}};
    printf("%s (%s, %s): %s\n\n%s\n\n", r->id, r->row, hazard_severity_name(r->severity, lang),
           r->title[lang], r->advice[lang]);
    printf("%s: %s\n%s: %s\n%s: %s\n\n", heads[lang][0], hazard_targets_text(r->targets, targets),
           heads[lang][1], r->fixable ? "--no-fix" : "-", heads[lang][4], r->source);
    printf("%s:\n%s\n%s:\n%s", heads[lang][2], r->bad, heads[lang][3], r->good);
}

int explain_main(const void *globals, const void *opts, int argc, char **argv)
{
    const struct explain_args *a = opts;
    enum hazard_lang lang = (enum hazard_lang)index_of(a->lang, langs, HAZARD_EN);
    if (a->docs)
        return write_docs(a->docs);
    for (size_t i = 0; argc == 0 && i < HZ_COUNT; i++) {
        const struct hazard_rule *r = hazard_rule((enum hazard_no)i);
        printf("%s %-4s %-8s %s\n", r->id, r->row, hazard_severity_name(r->severity, lang),
               r->title[lang]);
    }
    for (int i = 0; i < argc; i++) {
        const struct hazard_rule *r = hazard_rule_by_id(argv[i]);
        if (!r)
            return usage("explain", "no such rule (`starport explain` lists them):", argv[i]);
        print_rule(r, lang);
    }
    return RUN_OK;
}

/* Writes a changed build file over itself, its first state kept. */
static int replace_file(struct source *s, const struct sl_buf *b)
{
    struct sl_err err = {0};
    SL_AUTO_FREE char *backup = sl_asprintf("%s.prehip", s->path);
    if (out_backup(s->path, backup, s->p, s->n, &err) < 0 ||
        out_write(s->path, sl_buf_str(b), b->n, &err) < 0) {
        fprintf(stderr, "starport: %s\n", err.msg);
        return -1;
    }
    return 0;
}

static int build_one(const char *path, const struct build_args *a, const struct hazard_opts *o,
                     struct findings *f)
{
    struct source s;
    struct sl_err err = {0};
    enum build_kind kind = build_kind_of(path);
    if (kind == BUILD_NONE || kind == BUILD_PYTHON)
        return 0;
    if (source_read(&s, path, &err) < 0) {
        fprintf(stderr, "starport: %s: %s\n", path, err.msg);
        return -1;
    }
    int rc = 0;
    build_scan(kind, &s, o, f);
    source_settle(&s);
    f->files++;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(REPORT_MAX_BYTES);
    if (s.n_edits && a->diff) {
        diff_unified(&s, path, &b);
        fwrite(sl_buf_str(&b), 1, b.n, stdout);
        sl_buf_clear(&b);
    }
    if (s.n_edits && a->inplace) {
        source_render(&s, &b);
        rc = replace_file(&s, &b);
    }
    f->changed += s.n_edits > 0;
    source_free(&s);
    return rc;
}

int build_files_main(const void *globals, const void *opts, int argc, char **argv)
{
    const struct build_args *a = opts;
    struct hazard_opts o;
    if (!options("build-files", a->arch, NULL, &a->no_fix, &o))
        return RUN_USAGE;
    const char *dirs[CMD_LIST_MAX + 1];
    struct file_rules rules = {ended(&a->exclude_dirs, dirs), NULL, all_extensions};
    struct file_list l = {0};
    struct findings f = {0};
    int status = RUN_OK;
    for (int i = 0; i < argc; i++) {
        struct sl_err err = {0};
        if (file_list_add(&l, argv[i], &rules, &err) < 0) {
            fprintf(stderr, "starport: %s\n", err.msg);
            status = RUN_INPUT;
        }
    }
    for (size_t i = 0; i < l.n; i++)
        if (build_one(l.v[i].path, a, &o, &f) < 0)
            status = RUN_INPUT;
    file_list_free(&l);
    findings_sort(&f);
    struct report_opts ro = {.lang = (enum hazard_lang)index_of(a->lang, langs, HAZARD_EN),
                             .targets = o.targets,
                             .color = isatty(STDOUT_FILENO)};
    SL_AUTO_BUF struct sl_buf b = SL_BUF(REPORT_MAX_BYTES);
    if (!a->diff)
        report_text(&f, &ro, &b);
    if (write_report(&b, NULL) != 0)
        status = RUN_INPUT;
    findings_free(&f);
    return status;
}

void hazard_fix_hook(struct source *s, const struct port_options *o, void *arg)
{
    struct hazard_opts h = arg ? *(const struct hazard_opts *)arg : HAZARD_OPTS_DEFAULT;
    if (o->rocm)
        h.rocm = o->rocm;
    struct findings f = {0};
    hazard_fix(s, &h, &f);
    findings_free(&f);
}
