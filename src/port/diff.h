/* SPDX-License-Identifier: Apache-2.0
 *
 * diff.h: the edits of a source as a unified diff. No comparison is made: the edits say what
 * changed.
 */
#ifndef PORT_DIFF_H
#define PORT_DIFF_H
#include "port/source.h"

/* Appends the diff with three lines of context; nothing when there is no edit. `patch -p1` applies
 * it. */
void diff_unified(struct source *s, const char *new_path, struct sl_buf *out);
#endif
