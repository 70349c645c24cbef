/* SPDX-License-Identifier: Apache-2.0
 *
 * proc.h: run a program without a shell, with bounded output and a deadline.
 *
 *     const char *argv[] = {"mkfs.ext4", "-q", path, NULL};
 *     if (proc_run(&(struct proc){.argv = argv, .timeout_s = 60}, err) < 0) ...
 *
 * argv[0] is looked up in PATH. The child gets /dev/null as stdin (or `input`), an environment of
 * PATH, HOME, LANG=C.UTF-8 plus `env`, its own process group, and no descriptors but 0-2.
 */
#ifndef SL_PROC_H
#define SL_PROC_H
#include "base/core/buf.h"
#include "base/core/err.h"
#include <sys/types.h>

struct proc {
    const char *const *argv; /* NULL-ended */
    const char *const *env;  /* extra "K=V", NULL-ended, or NULL */
    const char *dir;         /* working directory, or NULL */
    const char *input;       /* written to stdin, or NULL */
    size_t input_n;
    struct sl_buf *out;  /* stdout; NULL: discarded */
    struct sl_buf *errs; /* stderr; NULL: the first 300 bytes go into the error message */
    int timeout_s;       /* 0: 60 s. On time-out the process group is killed: SL_TIMEOUT */
    int status;          /* result: exit status, or 128 + signal */
    bool any_status;     /* do not treat a non-zero status as an error */
};
/* 0 when it ran and exited 0 (or any_status). A missing program is SL_UNAVAILABLE and names it. */
int proc_run(struct proc *p, struct sl_err *err);

/* Small files: whole contents (up to max bytes) and atomic replacement (temp, fsync, rename, fsync
 * dir). */
int file_read(const char *path, size_t max, struct sl_buf *out, struct sl_err *err);
int file_write(const char *path, const void *data, size_t n, int mode, struct sl_err *err);
/* mkdir -p */
int dir_make(const char *path, int mode, struct sl_err *err);
#endif
