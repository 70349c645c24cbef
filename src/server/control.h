/* SPDX-License-Identifier: Apache-2.0
 *
 * control.h: one process owns a database at a time. The owner holds a lock file beside the database
 * and listens on a Unix socket (mode 0600, in data_dir) for what an operator does from the shell;
 * the one-shot options of starleased go through it when a server runs, and do the work themselves
 * when none does. A second process never writes the database: SQLite 3.40 can lose a write-ahead
 * log that way.
 *
 *     struct control *k = control_start(s, err);       serves until control_stop(k)
 *     control_make_operator(s, email, password, token, sizeof token, err)
 */
#ifndef SERVER_CONTROL_H
#define SERVER_CONTROL_H
#include "server/server.h"
#include <stdio.h>

/* Takes the lock: *ret_fd >= 0, or -1 when another process has it. Needs conf and data_dir alone.
 */
int control_lock(struct server *s, int *ret_fd, struct sl_err *err);

struct control;
struct control *control_start(struct server *s, struct sl_err *err);
void control_stop(struct control *k);

/* Both work whether or not a server runs. */
int control_make_operator(struct server *s, const char *email, const char *password,
                          char *ret_token, size_t token_max, struct sl_err *err);
/* Prints one line a check. *ret_status: 0 all hold, 1 something differs, 2 could not run. */
int control_audit(struct server *s, FILE *out, int *ret_status, struct sl_err *err);
#endif
