/* SPDX-License-Identifier: Apache-2.0 */
#include "port/hipify.h"
#include "base/core/version.h"
#include "port/run.h"
#include <stddef.h>
#include <stdio.h>

enum { LIST_MAX = 256 };
struct hipify {
    struct run_options run;
    bool help, version, examine, amap, print_csv, keep_launches;
    const char *out_stats, *database;
    char *csv_name;                     /* of the first input when no name is given; owned */
    const char *lists[5][LIST_MAX + 1]; /* enum list_kind */
    int n[5];
};
enum list_kind { L_DEFINES, L_INCLUDES, L_EXCLUDE_DIRS, L_EXCLUDE_FILES, L_WHITELIST };

enum kind { FLAG, TEXT, LIST, WORDS, IGNORED, IGNORED_VALUE };
struct option {
    const char *name;
    enum kind kind;
    size_t at;        /* offset into struct hipify, or enum list_kind */
    const char *help; /* NULL: taken for compatibility, not shown */
};
#define AT(field) offsetof(struct hipify, field)
static const struct option options[] = {
    {"amap", FLAG, AT(amap), "translate in every conditional block (overrides the next two)"},
    {"cuda-kernel-execution-syntax", FLAG, AT(keep_launches), "keep <<< >>> (default)"},
    {"default-preprocessor", FLAG, AT(run.port.skip_excluded),
     "leave blocks alone that the preprocessor drops"},
    {"examine", FLAG, AT(examine), "-no-output and -print-stats together"},
    {"exclude-dirs", WORDS, L_EXCLUDE_DIRS, "directories to leave out, separated by commas"},
    {"exclude-files", WORDS, L_EXCLUDE_FILES, "files to leave out, separated by commas"},
    {"experimental", FLAG, AT(run.port.experimental), "translate experimentally supported APIs"},
    {"help", FLAG, AT(help), "this list"},
    {"hip-kernel-execution-syntax", FLAG, AT(run.port.ggl),
     "make launches hipLaunchKernelGGL calls"},
    {"inplace", FLAG, AT(run.inplace), "change the file itself, kept as FILE.prehip"},
    {"miopen", FLAG, AT(run.port.miopen), "cuDNN becomes MIOpen"},
    {"no-backup", FLAG, AT(run.no_backup), "with -inplace: no .prehip"},
    {"no-output", FLAG, AT(run.no_output), "write no translated file"},
    {"o", TEXT, AT(run.out), "output file"},
    {"o-dir", TEXT, AT(run.out_dir), "output directory"},
    {"o-stats", TEXT, AT(out_stats), "file for -print-stats-csv"},
    {"p", TEXT, AT(database), "directory of compile_commands.json: its files are translated"},
    {"print-stats", FLAG, AT(run.stats), "print statistics"},
    {"print-stats-csv", FLAG, AT(print_csv), "write statistics as CSV"},
    {"quiet-warnings", FLAG, AT(run.quiet), "no warnings"},
    {"roc", FLAG, AT(run.port.roc), "take roc* libraries instead of hip* ones where possible"},
    {"skip-excluded-preprocessor-conditional-blocks", FLAG, AT(run.port.skip_excluded),
     "the same as -default-preprocessor"},
    {"version", FLAG, AT(version), "print the version"},
    {"whitelist", WORDS, L_WHITELIST, "identifiers never to warn about, separated by commas"},
    {"D", LIST, L_DEFINES, "NAME or NAME=VALUE is defined"},
    {"I", LIST, L_INCLUDES, "directory of local headers"},
    /* What only a compiler needs. */
    {"cuda-path", IGNORED_VALUE, 0, NULL},
    {"cuda-gpu-arch", IGNORED_VALUE, 0, NULL},
    {"clang-resource-directory", IGNORED_VALUE, 0, NULL},
    {"extra-arg", IGNORED_VALUE, 0, NULL},
    {"extra-arg-before", IGNORED_VALUE, 0, NULL},
    {"hip-amdgpu", IGNORED, 0, NULL},
    {"save-temps", IGNORED, 0, NULL},
    {"temp-dir", IGNORED_VALUE, 0, NULL},
    {"use-hip-data-types", IGNORED, 0, NULL},
    {"no-undocumented-features", IGNORED, 0, NULL},
    {"no-warnings-on-undocumented-features", IGNORED, 0, NULL},
    {"local-headers", IGNORED, 0, NULL},
    {"local-headers-recursive", IGNORED, 0, NULL},
    {"v", IGNORED, 0, NULL},
    {NULL, FLAG, 0, NULL}};

bool hipify_is_name(const char *argv0)
{
    const char *slash = strrchr(argv0, '/'), *name = slash ? slash + 1 : argv0;
    return strncmp(name, "starport-hipify", 15) == 0 || strncmp(name, "hipify-perl", 11) == 0 ||
           strncmp(name, "hipify-clang", 12) == 0;
}

static int usage(const char *what, const char *value)
{
    fprintf(stderr, "starport-hipify: %s: %s; see starport-hipify -help\n", what, value);
    return RUN_USAGE;
}

static void print_help(void)
{
    printf(
        "usage: starport-hipify [OPTIONS] FILE...\n\nTranslates CUDA source text to HIP. Takes the "
        "options of hipify-perl and hipify-clang.\n\n");
    for (const struct option *o = options; o->name; o++)
        if (o->help)
            printf("  -%-46s %s\n", o->name, o->help);
}

static int add_to_list(struct hipify *h, size_t list, const char *word)
{
    if (h->n[list] == LIST_MAX)
        return usage("an option is given too often", word);
    h->lists[list][h->n[list]++] = word;
    return 0;
}

/* "a,b c" -> three words, cut in place. */
static int add_words(struct hipify *h, size_t list, char *words)
{
    char *rest;
    for (char *w = strtok_r(words, ", ", &rest); w; w = strtok_r(NULL, ", ", &rest))
        if (add_to_list(h, list, w))
            return RUN_USAGE;
    return 0;
}

/* The option that argument `a` (without dashes) spells; *ret_value what follows '=' or, for D and
 * I, the rest of the word. */
static const struct option *find(char *a, char **ret_value)
{
    size_t n = strcspn(a, "=");
    for (const struct option *o = options; o->name; o++)
        if (strlen(o->name) == n && strncmp(o->name, a, n) == 0) {
            *ret_value = a[n] ? a + n + 1 : NULL;
            return o;
        }
    for (const struct option *o = options; o->name; o++)
        if (o->kind == LIST && *a == *o->name) {
            *ret_value = a + 1;
            return o;
        }
    return NULL;
}

static int take(struct hipify *h, int argc, char **argv, int *i)
{
    char *a = argv[*i] + 1, *value = NULL;
    a += *a == '-';
    const struct option *o = find(a, &value);
    if (!o)
        return usage("unknown option", argv[*i]);
    if (o->kind == FLAG || o->kind == IGNORED) {
        if (value)
            return usage("this option takes no value", argv[*i]);
        if (o->kind == FLAG)
            *(bool *)((char *)h + o->at) = true;
        return 0;
    }
    if (!value) {
        if (*i + 1 >= argc)
            return usage("this option needs a value", argv[*i]);
        value = argv[++*i];
    }
    if (o->kind == TEXT)
        *(const char **)((char *)h + o->at) = value;
    else if (o->kind == LIST)
        return add_to_list(h, o->at, value);
    else if (o->kind == WORDS)
        return add_words(h, o->at, value);
    return 0;
}

/* Options whose meaning depends on others. */
static int settle(struct hipify *h, const struct file_list *files)
{
    struct run_options *r = &h->run;
    r->tolerant = r->all_warnings = true;
    r->jobs = 0;
    r->port.expand_macros = r->port.half2_members = r->port.strings = true;
    r->port.hipify = true;
    r->port.defines = h->lists[L_DEFINES];
    r->port.include_dirs = h->lists[L_INCLUDES];
    r->port.whitelist = h->lists[L_WHITELIST];
    if (h->amap)
        r->port.skip_excluded = false;
    r->no_output |= h->examine;
    r->stats |= h->examine;
    if (h->print_csv && !h->out_stats)
        h->csv_name = sl_asprintf("%s.csv", files->v[0].path);
    if (h->print_csv)
        r->csv = h->csv_name ? h->csv_name : h->out_stats;
    if (r->out && files->n > 1)
        return usage("one output file for several inputs", r->out);
    return 0;
}

static int parse(struct hipify *h, int argc, char **argv, struct file_list *files)
{
    struct file_rules rules = {.exclude_dirs = h->lists[L_EXCLUDE_DIRS],
                               .exclude_files = h->lists[L_EXCLUDE_FILES]};
    struct sl_err err = {0};
    char **names = sl_alloc((size_t)(argc + 1) * sizeof *names);
    int n = 0, rc = 0;
    for (int i = 1; i < argc && rc == 0 && strcmp(argv[i], "--") != 0; i++) {
        if (argv[i][0] == '-' && argv[i][1])
            rc = take(h, argc, argv, &i);
        else
            names[n++] = argv[i];
    }
    rules.out_dir = h->run.out_dir;
    for (int i = 0; i < n && rc == 0; i++)
        if (file_list_add(files, names[i], &rules, &err) < 0)
            rc = RUN_INPUT;
    if (rc == 0 && h->database && file_list_database(files, h->database, &rules, &err) < 0)
        rc = RUN_INPUT;
    if (rc == RUN_INPUT)
        fprintf(stderr, "starport-hipify: %s\n", err.msg);
    free(names);
    return rc;
}

int hipify_main(int argc, char **argv)
{
    struct hipify *h = sl_alloc(sizeof *h);
    struct file_list files = {0};
    int rc = parse(h, argc, argv, &files);
    if (rc == 0 && h->help) {
        print_help();
    } else if (rc == 0 && h->version) {
        printf("starport-hipify %s (HIP version 6.3.0)\n", SL_VERSION);
    } else if (rc == 0 && files.n == 0) {
        rc = usage("no input file", "give at least one");
    } else if (rc == 0) {
        rc = settle(h, &files);
        rc = rc ? rc : run_files(&h->run, &files);
    }
    file_list_free(&files);
    free(h->csv_name);
    free(h);
    return rc;
}
