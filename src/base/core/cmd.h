/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd.h: a command line as a table. From one table come parsing, --help, the man page and the bash
 * completion.
 *
 *     static const struct cmd_opt run_opts[] = {
 *         {"gpu", 'g', CMD_TEXT, "MODEL:N", "cards to rent", NULL, offsetof(struct run_args, gpu)},
 *         {"force", 'f', CMD_FLAG, NULL, "do not ask", NULL, offsetof(struct run_args, force)},
 *         {0}};
 *     static const struct cmd_verb verbs[] = {
 *         {"run", "IMAGE [COMMAND...]", "start an instance", run_opts, run_main}, {0}};
 *     const struct cmd_program prog = {"starlease", "rent GPU servers", verbs, global_opts};
 *     return cmd_main(&prog, argc, argv, &globals);
 *
 * A value of kind TEXT is stored as `const char *` (borrowed from argv), INT as int64_t, FLAG as
 * bool, LIST as struct cmd_list. Options may stand anywhere before `--`, unless the verb sets
 * stop_at_arg (then the first positional ends them: `run IMAGE ls -l`). Usage errors go to stderr,
 * exit status 2.
 */
#ifndef SL_CMD_H
#define SL_CMD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum cmd_kind { CMD_END, CMD_FLAG, CMD_TEXT, CMD_INT, CMD_LIST };
enum { CMD_LIST_MAX = 64 };
struct cmd_list {
    const char *v[CMD_LIST_MAX];
    int n;
};

struct cmd_opt {
    const char *name; /* long name without dashes */
    char letter;      /* or 0 */
    enum cmd_kind kind;
    const char *arg;            /* shown in help: "FILE" */
    const char *help;           /* one line; ends with the default where there is one */
    const char *const *choices; /* NULL-ended list of allowed values, or NULL */
    size_t offset;              /* into the options struct of the verb (or of the globals) */
};

struct cmd_verb {
    const char *name;           /* may be two words: "image import" */
    const char *args;           /* positional arguments for help: "LEASE [COMMAND...]" or "" */
    const char *help;           /* one line */
    const struct cmd_opt *opts; /* may be NULL */
    size_t opts_size;           /* size of the options struct */
    /* Returns the exit status. argv holds the positional arguments only. */
    int (*main)(const void *globals, const void *opts, int argc, char **argv);
    int min_args, max_args; /* max -1: no limit */
    bool stop_at_arg;
    bool hidden;
    const char *details; /* more text for the man page, or NULL */
};

struct cmd_program {
    const char *name, *help;
    const struct cmd_verb
        *verbs; /* ended by a zero row; a program without verbs has one with name "" */
    const struct cmd_opt *globals;
    size_t globals_size;
    const char *man_tail; /* extra man sections (EXIT STATUS, FILES ...) in man source, or NULL */
};

/* Parses, runs the verb and returns its exit status. Handles --help, `help [VERB]`, --version,
 * and the hidden verbs `--man` and `--completion` that the build uses. */
int cmd_main(const struct cmd_program *prog, int argc, char **argv);
void cmd_help(const struct cmd_program *prog, const struct cmd_verb *verb, FILE *out);
void cmd_man(const struct cmd_program *prog, FILE *out);
void cmd_completion(const struct cmd_program *prog, FILE *out);
#endif
