/* SPDX-License-Identifier: Apache-2.0
 *
 * run.h: translates a list of files, one thread a core, and puts each result where it belongs. What
 * a user sees comes in the order of the list.
 */
#ifndef PORT_RUN_H
#define PORT_RUN_H
#include "port/files.h"
#include "port/hazard.h"
#include "port/translate.h"

struct run_options {
    struct port_options port;
    const char *out;     /* file for the one result */
    const char *out_dir; /* tree for the results, unchanged files included */
    bool inplace;   /* over the input, kept as FILE.prehip (which is the input when it exists) */
    bool no_backup; /* with inplace: no .prehip */
    bool no_output, diff, rename, stats, quiet, all_warnings;
    bool tolerant;   /* unterminated comments and launches are warnings, the file is written */
    const struct hazard_opts *hazards; /* build files are ported by these; NULL: taken as sources */
    const char *csv; /* statistics as CSV go to this file */
    int jobs;        /* threads; 0: one a core */
};

/* The tool's exit statuses. */
enum { RUN_OK = 0, RUN_FINDINGS = 1, RUN_USAGE = 2, RUN_INPUT = 3 };

/* Returns RUN_OK or RUN_INPUT (a file could not be read, trusted or written; the others are done).
 */
int run_files(const struct run_options *o, const struct file_list *files);
/* "axpy.cu" -> "axpy.hip", "axpy.cuh" -> "axpy.hip.h"; other names stay. Owned by the caller. */
char *run_renamed(const char *path);
#endif
