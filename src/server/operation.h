/* SPDX-License-Identifier: Apache-2.0
 *
 * operation.h: durable work. A handler adds a row in its own transaction (the outbox); worker
 * threads run it afterwards, again and again with back-off until it is done, also after a kill -9.
 *
 *     operation_add(c, s, &(struct operation_new){.kind = "lease_start", .ref = lease_id, ...}, id,
 * err)
 *
 * Each kind is a row of operation_kinds (work.c): `run` is called outside any transaction, must be
 * idempotent and stores what it learnt through db_write, together with operation_finish. Operations
 * of one ref run one at a time, oldest first, so that a stop never overtakes its start.
 *
 * Threads: operations_start makes one dispatcher and conf.workers workers; operations_stop joins
 * them.
 */
#ifndef SL_OPERATION_H
#define SL_OPERATION_H
#include "server/lifecycle.h"
#include "server/router.h"

struct operation {
    char id[ID_TEXT], ref[64], account_id[ID_TEXT], node_name[64], kind[24];
    int64_t epoch, attempts, created_us;
    int state;
    char *payload; /* JSON */
    char *error;   /* of the last attempt */
};
struct operation_new {
    const char *kind, *ref, *account_id, *node_name; /* node_name may be NULL */
    int64_t epoch;
    const char *payload; /* JSON, NULL: {} */
    int64_t delay_s;     /* not before now + delay */
};
struct operation_kind {
    const char *kind;
    /* 0: run has stored the outcome and finished the row. -1: try again later. */
    int (*run)(struct server *s, const struct operation *op, struct sl_err *err);
    int max_attempts; /* 0: for ever. Then give_up is called once and the row becomes failed. */
    int (*give_up)(struct db_c *c, struct server *s, const struct operation *op, const char *why,
                   struct sl_err *err);
    bool slow; /* minutes on a node: at most half of the workers do such work */
};
extern const struct operation_kind operation_kinds[]; /* ended by a zero row */

/* In the caller's transaction. ret_id may be NULL. Wakes the dispatcher. */
int operation_add(struct db_c *c, struct server *s, const struct operation_new *n,
                  char ret_id[ID_TEXT], struct sl_err *err);
/* running -> done. */
int operation_finish(struct db_c *c, struct server *s, const struct operation *op,
                     struct sl_err *err);
/* running -> failed: trying again would fail the same way. */
int operation_fail(struct db_c *c, struct server *s, const struct operation *op, const char *why,
                   struct sl_err *err);
/* Strings in the arena. account_id NULL: any account. */
int operation_get(struct db_c *c, const char *account_id, const char *id, struct sl_arena *a,
                  struct operation *ret, struct sl_err *err);

/* JSON object; account_id "": any account. */
int operation_write(struct db_c *c, struct jw *w, const char *account_id, const char *id,
                    struct sl_err *err);

int operations_start(struct server *s, struct sl_err *err);
/* Waits up to at_most_s for running operations to end. False: some still wait for their node; they
 * are pending again at the next start, but this process must now end without closing the store. */
bool operations_stop(int64_t at_most_s);
/* Runs everything that is due in the calling thread; tests and tools. Returns how many ran. */
int operations_run_due(struct server *s, struct sl_err *err);

handler_fn operation_show, operation_list;
#endif
