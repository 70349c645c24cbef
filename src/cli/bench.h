/* SPDX-License-Identifier: Apache-2.0
 *
 * bench.h: `starlease bench`. bench.c has the verbs, bench_run.c runs a suite here or in an
 * instance and makes the record (wire/bench.h).
 */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H
#include "cli/verbs.h"

struct bench_run_args {
    const char *in, *out, *identity; /* in: an instance; NULL: this machine */
    const char *figure, *unit, *better;
    const char *repeats, *warmup, *steps, *batch, *size, *image, *precision, *mode, *checkpoint,
        *seed, *timeout;
    bool no_sign;
};

struct bench_verify_args {
    const char *key;
};
struct bench_compare_args {
    const char *limit, *loss_tolerance;
    struct cmd_list peak;
    bool require_within;
};
extern const struct cmd_opt bench_run_opts[], bench_verify_opts[], bench_compare_opts[];
VERB_MAIN(bench_run);
VERB_MAIN(bench_verify);
VERB_MAIN(bench_compare);
VERB_MAIN(bench_list);
VERB_MAIN(bench_get);

extern const char bench_suite_py[]; /* bench/suite.py, by bench/embed.py */

/* Runs `suite` and writes the object {"record": ...,"sha256": ...} into out. *ret_lease: the
 * instance's id, or NULL. `command` is the program of the suite "kernel". */
int bench_run_suite(struct cli *c, const struct bench_run_args *o, const char *suite,
                    char **command, int n_command, struct sl_buf *out, const char **ret_lease,
                    struct sl_err *err);
#endif
