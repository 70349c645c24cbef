/* SPDX-License-Identifier: Apache-2.0
 *
 * verify.h: runs a HIP or CUDA program on the CPU with a wave of 32 and of 64 lanes and says where
 * the two, or a reference, differ. `starport verify FILE...` is the command; this is what it is
 * made of.
 *
 *     struct verify v = {.opts = &o};
 *     verify_build(&v, files, n, &err);       ported copy, compiled with the CPU shim
 *     verify_runs(&v, &err);                  the program's own main, under each wave size
 *     verify_judge(&v, &err);                 findings
 *     verify_free(&v);
 *
 * What counts as a finding: output (with a tolerance for numbers), exit status or a device-to-host
 * copy that differs; a lane that executes a *_sync call whose mask does not name it; lanes that
 * spin on each other; access outside of a shared array; a barrier that not all threads reach; a run
 * that does not end; a fault. A difference that goes away when blocks run one after another is a
 * note, as is a line that differs between two runs of one wave size.
 */
#ifndef PORT_VERIFY_H
#define PORT_VERIFY_H
#include "base/core/cmd.h"
#include "port/cc.h"
#include "port/stage.h"

struct verify_opts {
    const char *wave;      /* "32", "64" or "both" (default) */
    const char *reference; /* file with the expected standard output, or NULL */
    const char *tolerance; /* relative, for numbers; default 1e-5 */
    const char *output;    /* "text" (default) or "json" */
    const char *shim_dir, *compiler, *standard;
    struct cmd_list includes, defines, args;
    bool fix, keep, strict, lockstep;
    int64_t timeout_s;
};

enum verify_severity { VERIFY_NOTE, VERIFY_FINDING };
struct verify_finding {
    enum verify_severity severity;
    char *kind, *file, *text; /* file NULL: no place */
    unsigned line;
    int wave; /* 32, 64, or 0: both, or a comparison of the two */
};

struct verify_copy {
    uint64_t place, n;
    const char *bytes; /* in copies_raw */
};
struct verify_run {
    int wave, status;
    bool failed; /* could not be started */
    double seconds;
    struct sl_buf out, errs, report, copies_raw;
    struct verify_copy *copies;
    size_t n_copies;
};
enum { RUN_32, RUN_64, RUN_32_ONE, RUN_64_ONE, RUN_32_AGAIN, VERIFY_RUNS };

struct verify {
    const struct verify_opts *opts;
    struct stage stage;
    char *shim, *program, *compiler, *dir; /* dir: where the program runs */
    double tolerance;
    bool waves[2];   /* 32, 64 */
    bool fixed_wave; /* warpSize is used as a constant: one program per wave size */
    struct verify_run runs[VERIFY_RUNS];
    struct verify_finding *v;
    size_t n, cap;
};

int verify_build(struct verify *v, char **files, int n, struct sl_err *err);
int verify_runs(struct verify *v, struct sl_err *err);
int verify_judge(struct verify *v, struct sl_err *err);
void verify_free(struct verify *v);

/* Runs once more: one thread, or not. */
int verify_run_one(struct verify *v, int which, int wave, bool one_thread, struct sl_err *err);
/* Text is copied; `file` too. */
void verify_add(struct verify *v, enum verify_severity s, const char *kind, const char *file,
                unsigned line, int wave, const char *text);
/* First line (from 1, after line `after`) where a and b differ beyond the tolerance, 0: none. Lines
 * that differ between `a` and `again` (may be NULL) do not count. */
unsigned verify_diff_text(const struct sl_buf *a, const struct sl_buf *b,
                          const struct sl_buf *again, unsigned after, double tolerance);
/* Offset of the first difference of n bytes beyond the tolerance (as float or double), or n. */
size_t verify_diff_bytes(const char *a, const char *b, size_t n, double tolerance);
struct sl_str verify_line(const struct sl_buf *b, unsigned line);

extern const struct cmd_opt verify_cmd_opts[];
extern const char verify_details[];
int verify_main(const void *globals, const void *opts, int argc, char **argv);
#endif
