/* SPDX-License-Identifier: Apache-2.0
 *
 * main.c: starport's verbs. One row a verb; its code is in the file named after it.
 */
#include "port/check.h"
#include "port/cli_translate.h"
#include "port/hazard_cmd.h"
#include "port/hipify.h"
#include "port/verify.h"

static const struct cmd_opt no_opts[] = {{0}};
static const struct cmd_verb verbs[] = {
    {"translate", "FILE|DIR...", "turn CUDA sources into HIP", translate_opts, 0, translate_main, 0,
     -1, false, false, translate_details},
    {"api", "NAME", "explain one CUDA API: targets, versions, argument rules", no_opts, 1, api_main,
     1, 1, false, false, NULL},
    {"check", "FILE|DIR...", "compile for AMD targets without a GPU; resources of every kernel",
     check_cmd_opts, sizeof(struct check_opts), check_main, 1, -1, false, false, check_details},
    {"verify", "FILE...", "run kernels on the CPU with waves of 32 and 64 lanes, and compare",
     verify_cmd_opts, sizeof(struct verify_opts), verify_main, 1, -1, false, false, verify_details},
    {"examine", "FILE|DIR...", "report what will break or be slow on the targets", examine_opts, 0,
     examine_main, 1, -1, false, false, examine_details},
    {"explain", "[ID...]", "explain a hazard rule", explain_opts, 0, explain_main, 0, -1, false,
     false, explain_details},
    {"build-files", "FILE|DIR...", "port CMake files, Makefiles, scripts and setup.py",
     build_files_opts, 0, build_files_main, 1, -1, false, false, build_files_details},
    {0}};

int main(int argc, char **argv)
{
    if (hipify_is_name(argv[0]))
        return hipify_main(argc, argv);
    struct cmd_verb rows[sizeof verbs / sizeof *verbs];
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        rows[i] = verbs[i];
        if (rows[i].opts == translate_opts)
            rows[i].opts_size = translate_opts_size;
        if (rows[i].opts == examine_opts)
            rows[i].opts_size = examine_opts_size;
        if (rows[i].opts == explain_opts)
            rows[i].opts_size = explain_opts_size;
        if (rows[i].opts == build_files_opts)
            rows[i].opts_size = build_files_opts_size;
    }
    const struct cmd_program prog = {.name = "starport",
                                     .help = "port CUDA code to AMD GPUs",
                                     .verbs = rows,
                                     .globals = no_opts,
                                     .globals_size = 1,
                                     .man_tail = NULL};
    return cmd_main(&prog, argc, argv);
}
