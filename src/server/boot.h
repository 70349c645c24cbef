/* SPDX-License-Identifier: Apache-2.0
 *
 * boot.h: opens what a struct server needs: the store with its migrations, the keys (made at first
 * start, kept in table meta). Used by starleased, its one-shot options, tests and the simulator.
 *
 *     struct server s = {.env = env_real(), .conf = conf};
 *     if (server_open(&s, false, err) < 0) ...
 *     server_close(&s);
 */
#ifndef SERVER_BOOT_H
#define SERVER_BOOT_H
#include "server/server.h"

/* Needs s->env and s->conf.db_path. inline_writes: see db.h. s->bus is left alone. */
int server_open(struct server *s, bool inline_writes, struct sl_err *err);
void server_close(struct server *s);
/* The texts of sql/NNNN_*.sql in order, NULL-ended; made at build time. */
extern const char *const server_migrations[];
#endif
