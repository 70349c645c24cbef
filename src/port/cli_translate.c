/* SPDX-License-Identifier: Apache-2.0 */
#include "port/cli_translate.h"
#include "port/hazard.h"
#include "port/hazard_cmd.h"
#include "port/run.h"
#include <stdio.h>

struct translate_args {
    const char *out, *out_dir, *csv, *database, *launch, *rocm;
    bool inplace, no_backup, no_output, examine, diff, rename, stats, quiet, all_warnings;
    bool roc, miopen, experimental, skip_excluded, amap, strings, comments, own_names, half2,
        expand, closure;
    int64_t jobs;
    struct cmd_list defines, includes, exclude_dirs, exclude_files, whitelist, no_fix;
};
#define AT(field) offsetof(struct translate_args, field)
static const char *const launches[] = {"cuda", "hip", NULL};

const struct cmd_opt translate_opts[] = {
    {"output", 'o', CMD_TEXT, "FILE", "write the one result to FILE", NULL, AT(out)},
    {"o-dir", 'd', CMD_TEXT, "DIR", "write the results below DIR", NULL, AT(out_dir)},
    {"inplace", 'i', CMD_FLAG, NULL, "change the files themselves; each is kept as FILE.prehip",
     NULL, AT(inplace)},
    {"no-backup", 0, CMD_FLAG, NULL, "with --inplace: keep no .prehip", NULL, AT(no_backup)},
    {"diff", 0, CMD_FLAG, NULL, "print a unified diff", NULL, AT(diff)},
    {"rename", 0, CMD_FLAG, NULL, ".cu becomes .hip, .cuh becomes .hip.h", NULL, AT(rename)},
    {"no-output", 0, CMD_FLAG, NULL, "write nothing", NULL, AT(no_output)},
    {"examine", 0, CMD_FLAG, NULL, "--no-output and --print-stats together", NULL, AT(examine)},
    {"print-stats", 0, CMD_FLAG, NULL, "print statistics to standard error", NULL, AT(stats)},
    {"print-stats-csv", 0, CMD_TEXT, "FILE", "write statistics as CSV", NULL, AT(csv)},
    {"launch", 0, CMD_TEXT, "SYNTAX",
     "cuda keeps <<< >>> (default), hip makes hipLaunchKernelGGL calls", launches, AT(launch)},
    {"roc", 0, CMD_FLAG, NULL, "take roc* libraries instead of hip* ones where possible", NULL,
     AT(roc)},
    {"miopen", 0, CMD_FLAG, NULL, "cuDNN becomes MIOpen", NULL, AT(miopen)},
    {"experimental", 0, CMD_FLAG, NULL, "translate experimentally supported APIs", NULL,
     AT(experimental)},
    {"rocm", 0, CMD_TEXT, "VERSION", "warn of targets newer than this (default newest)", NULL,
     AT(rocm)},
    {"skip-excluded", 0, CMD_FLAG, NULL, "leave blocks alone that the preprocessor certainly drops",
     NULL, AT(skip_excluded)},
    {"amap", 0, CMD_FLAG, NULL, "translate in every conditional block (default)", NULL, AT(amap)},
    {"define", 'D', CMD_LIST, "NAME[=VALUE]", "for --skip-excluded", NULL, AT(defines)},
    {"include", 'I', CMD_LIST, "DIR", "where local headers are", NULL, AT(includes)},
    {"closure", 0, CMD_FLAG, NULL, "translate the local headers that the files include too", NULL,
     AT(closure)},
    {"database", 'p', CMD_TEXT, "DIR", "translate the files of DIR/compile_commands.json", NULL,
     AT(database)},
    {"exclude-dir", 0, CMD_LIST, "NAME", "directory to leave out, by name or path", NULL,
     AT(exclude_dirs)},
    {"exclude-file", 0, CMD_LIST, "NAME", "file to leave out, by name or path", NULL,
     AT(exclude_files)},
    {"whitelist", 0, CMD_LIST, "NAME", "identifier never to warn about", NULL, AT(whitelist)},
    {"strings", 0, CMD_FLAG, NULL, "API names inside string literals too", NULL, AT(strings)},
    {"comments", 0, CMD_FLAG, NULL, "API names inside comments too", NULL, AT(comments)},
    {"own-names", 0, CMD_FLAG, NULL, "the project's own names and texts that say CUDA say HIP",
     NULL, AT(own_names)},
    {"half2-members", 0, CMD_FLAG, NULL, "cast x and y of half2 variables to half", NULL,
     AT(half2)},
    {"no-fix", 0, CMD_LIST, "ID", "turn off this hazard rule's automatic fix; all: every rule's",
     NULL, AT(no_fix)},
    {"quiet-warnings", 'q', CMD_FLAG, NULL, "no warnings", NULL, AT(quiet)},
    {"all-warnings", 0, CMD_FLAG, NULL, "warn of APIs that CUDA deprecates, too", NULL,
     AT(all_warnings)},
    {"jobs", 'j', CMD_INT, "N", "threads (default: one a core)", NULL, AT(jobs)},
    {0}};
const size_t translate_opts_size = sizeof(struct translate_args);
const char translate_details[] = "A file goes to standard output; a directory needs --o-dir, "
                                 "--inplace, --diff or --examine. A second "
                                 "run over the result changes nothing. Exit status: 0 done, 2 "
                                 "usage, 3 a file could not be read, "
                                 "trusted or written.";

static int usage(const char *what)
{
    fprintf(stderr, "starport: translate: %s\n", what);
    return RUN_USAGE;
}

/* A cmd_list as a list that ends with NULL; v has CMD_LIST_MAX + 1 places. */
static const char *const *ended(const struct cmd_list *l, const char **v)
{
    for (int i = 0; i < l->n; i++)
        v[i] = l->v[i];
    v[l->n] = NULL;
    return v;
}

struct lists {
    const char *defines[CMD_LIST_MAX + 1], *includes[CMD_LIST_MAX + 1];
    const char *dirs[CMD_LIST_MAX + 1], *files[CMD_LIST_MAX + 1], *whitelist[CMD_LIST_MAX + 1];
    struct hazard_opts hazards; /* the automatic fixes, in the same pass */
};

static int fill(const struct translate_args *a, struct lists *l, struct run_options *o)
{
    *o = (struct run_options){.out = a->out && !sl_streq(a->out, "-") ? a->out : NULL,
                              .out_dir = a->out_dir,
                              .inplace = a->inplace,
                              .no_backup = a->no_backup,
                              .no_output = a->no_output || a->examine,
                              .diff = a->diff,
                              .rename = a->rename,
                              .stats = a->stats || a->examine,
                              .quiet = a->quiet,
                              .all_warnings = a->all_warnings,
                              .csv = a->csv,
                              .jobs = (int)a->jobs};
    o->port = (struct port_options){.roc = a->roc,
                                    .miopen = a->miopen,
                                    .experimental = a->experimental,
                                    .ggl = a->launch && strcmp(a->launch, "hip") == 0,
                                    .half2_members = a->half2,
                                    .skip_excluded = a->skip_excluded && !a->amap,
                                    .strings = a->strings,
                                    .own_names = a->own_names,
                                    .comments = a->comments,
                                    .defines = ended(&a->defines, l->defines),
                                    .include_dirs = ended(&a->includes, l->includes),
                                    .whitelist = ended(&a->whitelist, l->whitelist),
                                    .fix = hazard_fix_hook,
                                    .fix_arg = &l->hazards};
    l->hazards = HAZARD_OPTS_DEFAULT;
    o->hazards = &l->hazards;
    for (int i = 0; i < a->no_fix.n; i++)
        if (!hazard_no_fix(&l->hazards, a->no_fix.v[i]))
            return usage("--no-fix: unknown rule; `starport explain` lists them");
    if (a->jobs < 0 || a->jobs > 256)
        return usage("--jobs: give 1 to 256");
    if (a->rocm && strcmp(a->rocm, "newest") != 0 && !(o->port.rocm = api_version_parse(a->rocm)))
        return usage("--rocm: not a version; give one like 5.7 or 6.3.1");
    if (!!a->out + !!a->out_dir + a->inplace > 1)
        return usage("--output, --o-dir and --inplace exclude each other");
    return 0;
}

/* What a directory is searched for: file_extensions, and the build files that go along. */
static const char *const with_build_files[] = {"cu",
                                               "cuh",
                                               "c",
                                               "cc",
                                               "cpp",
                                               "cxx",
                                               "h",
                                               "hh",
                                               "hpp",
                                               "hxx",
                                               "inl",
                                               "inc",
                                               "ipp",
                                               "cmake",
                                               "mk",
                                               "sh",
                                               "CMakeLists.txt",
                                               "Makefile",
                                               "makefile",
                                               "GNUmakefile",
                                               "setup.py",
                                               NULL};

static int collect(const struct translate_args *a, struct lists *l, int argc, char **argv,
                   struct file_list *files)
{
    struct file_rules r = {.exclude_dirs = ended(&a->exclude_dirs, l->dirs),
                           .extensions = with_build_files,
                           .out_dir = a->out_dir,
                           .exclude_files = ended(&a->exclude_files, l->files)};
    struct sl_err err = {0};
    int rc = 0;
    for (int i = 0; i < argc && rc == 0; i++)
        rc = file_list_add(files, argv[i], &r, &err);
    if (rc == 0 && a->database)
        rc = file_list_database(files, a->database, &r, &err);
    if (rc < 0) {
        fprintf(stderr, "starport: %s\n", err.msg);
        return RUN_INPUT;
    }
    if (a->closure)
        file_list_close(files, l->includes);
    return 0;
}

int translate_main(const void *globals, const void *opts, int argc, char **argv)
{
    const struct translate_args *a = opts;
    struct lists l;
    struct run_options o;
    struct file_list files = {0};
    if (argc == 0 && !a->database)
        return usage("no file; give files, directories or --database");
    int rc = fill(a, &l, &o);
    rc = rc ? rc : collect(a, &l, argc, argv, &files);
    bool to_stdout = !o.out && !o.out_dir && !o.inplace && !o.no_output && !o.diff;
    if (rc == 0 && to_stdout &&
        (files.n != 1 || (argc == 1 && strcmp(files.v[0].path, argv[0]) != 0)) && isatty(1))
        rc = usage("several files; say where they go: --o-dir, --inplace, --diff or --examine");
    if (rc == 0 && o.out && files.n != 1)
        rc = usage("--output is for one file; use --o-dir");
    if (rc == 0 && files.n == 0)
        rc = usage("no file is left after the exclusions");
    if (rc == 0)
        rc = run_files(&o, &files);
    file_list_free(&files);
    return rc;
}

static void print_version(const char *label, uint32_t v, bool flagged)
{
    char text[16];
    if (v || flagged)
        printf("  %-18s %s\n", label, v ? api_version(v, text) : "yes, version not known");
}

static void print_rules(int id)
{
    static const char *const what[API_ACTIONS] = {"is wrapped in HIP_SYMBOL()",
                                                  "is cast to const void*",
                                                  "is cast to size_t*",
                                                  "is put before:",
                                                  "becomes",
                                                  "is dropped",
                                                  "is repeated before argument",
                                                  "moves to argument",
                                                  "name becomes"};
    static const char *const targets[] = {"HIP", "roc", "MIOpen"};
    struct api_rule r;
    for (int k = 0; api_rule(id, k, &r); k++) {
        printf("  %-18s %s argument %d %s %s", "arguments", targets[r.target], r.arg + 1,
               what[r.action], r.value);
        if (r.action == API_ARG_COPY || r.action == API_ARG_MOVE)
            printf("%d", r.to + 1);
        if (r.argc)
            printf(" (calls with %d arguments)", r.argc);
        putchar('\n');
    }
}

int api_main(const void *globals, const void *opts, int argc, char **argv)
{
    int id = api_find(argv[0], strlen(argv[0]));
    struct api a;
    if (id < 0) {
        fprintf(stderr, "starport: api: %s: no CUDA API of that name is known\n", argv[0]);
        return RUN_INPUT;
    }
    api_get(id, &a);
    printf("%s (%s, %s, %s)\n", a.cuda, a.library, api_kind_name(a.kind),
           api_topic_name(api_topic(id)));
    printf("  %-18s %s%s\n", "HIP", a.flags & API_HIP ? a.hip : "none",
           a.flags & API_EXPERIMENTAL ? " (experimental)" : "");
    if (a.flags & API_ROC)
        printf("  %-18s %s\n", a.flags & API_MIOPEN ? "MIOpen" : "roc library", a.roc);
    print_version("CUDA since", a.cuda_added, false);
    print_version("CUDA deprecated", a.cuda_deprecated, a.flags & API_CUDA_DEPRECATED);
    print_version("CUDA removed", a.cuda_removed, a.flags & API_CUDA_REMOVED);
    print_version("HIP since", a.hip_added, false);
    print_version("HIP deprecated", a.hip_deprecated, a.flags & API_HIP_DEPRECATED);
    print_version("HIP removed", a.hip_removed, false);
    print_version("roc since", a.roc_added, false);
    print_rules(id);
    if (*a.note)
        printf("  %-18s %s\n", "note", a.note);
    return RUN_OK;
}
