/* SPDX-License-Identifier: Apache-2.0
 *
 * out.h: files that are replaced whole or not at all: written beside their place under a temporary
 * name, flushed to disk, renamed.
 */
#ifndef PORT_OUT_H
#define PORT_OUT_H
#include "base/core/err.h"
#include <stdbool.h>
#include <stddef.h>

/* Writes n bytes as `path`, which keeps its mode when it exists; a symbolic link is written
 * through. SL_STORAGE_FULL (also a read-only place), SL_FORBIDDEN, SL_INVALID (a directory). */
int out_write(const char *path, const char *p, size_t n, struct sl_err *err);
/* Makes the directories that lead to `path`. */
int out_parents(const char *path, struct sl_err *err);
/* Both names reach the same file. False when either does not exist. */
bool out_same_file(const char *a, const char *b);
/* Copies `from` to `to` unless `to` exists. */
int out_backup(const char *from, const char *to, const char *p, size_t n, struct sl_err *err);
#endif
