/* SPDX-License-Identifier: Apache-2.0
 *
 * cc.h: command lines for compilers, and running several at once. No shell: an argument is an
 * argument.
 *
 *     struct argv a = {0};
 *     argv_add(&a, "clang++-19"); argv_addf(&a, "-I%s", dir);
 *     struct cc_job j = {.argv = &a, .timeout_s = 300};
 *     cc_run(&j, 1, cc_cores());
 *     if (j.status) fputs(sl_buf_str(&j.errs), stderr);
 *     cc_job_free(&j); argv_free(&a);
 */
#ifndef PORT_CC_H
#define PORT_CC_H
#include "base/core/buf.h"
#include "base/core/err.h"

struct argv {
    char **v; /* NULL-ended */
    size_t n, cap;
};
void argv_add(struct argv *a, const char *s);
void argv_addf(struct argv *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void argv_free(struct argv *a);

struct cc_job {
    struct argv *argv; /* borrowed */
    int timeout_s;
    struct sl_buf out, errs; /* what it wrote; owned */
    int status;              /* exit status, 128 + signal; -1: could not be run, err says why */
    struct sl_err err;
};
/* Runs n jobs, at most `parallel` at a time, and returns when all have ended. */
void cc_run(struct cc_job *jobs, size_t n, int parallel);
void cc_job_free(struct cc_job *j);
int cc_cores(void);
/* Is there a program of this name in PATH? */
bool cc_have(const char *name);
#endif
