/* SPDX-License-Identifier: Apache-2.0
 *
 * stats.h: how much of a file, or of all files, was translated, in the form that hipify-perl and
 * hipify-clang print, so that scripts which read it go on working.
 */
#ifndef PORT_STATS_H
#define PORT_STATS_H
#include "port/translate.h"
#include <stdio.h>

struct port_stats {
    struct port_result r; /* counts only */
    size_t warnings, lines, changed_lines, bytes, replaced_bytes;
};

/* Counts of one file that is translated and settled. `st->r` takes over r's counts, not its notes.
 */
void stats_of(struct source *s, const struct port_result *r, bool roc, struct port_stats *st);
void stats_add(struct port_stats *total, const struct port_stats *st);
void stats_print(FILE *f, const char *name, const struct port_stats *st, bool roc);
void stats_print_csv(FILE *f, const char *name, const struct port_stats *st, bool roc);
/* Writes the file's warnings, one a line: "FILE:LINE:COL: warning: TEXT". Returns how many. */
size_t stats_warnings(FILE *f, struct source *s, const struct port_result *r, bool all);
void stats_free(struct port_stats *st);
#endif
