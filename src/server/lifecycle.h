/* SPDX-License-Identifier: Apache-2.0
 *
 * lifecycle.h: the states of every noun as tables, and the one function that moves a row from one
 * state to the next. Nothing else writes a state column.
 *
 *     if (sm_move(c, s, &lease_sm, "lease", "id", id, LEASE_STARTING, account, "system", "", err) <
 * 0) return -1;
 *
 * A move checks the table, writes state, state_since_us (and deadline_us where the row has one) and
 * adds the event "NOUN.STATE" with {"from","reason"} in the same transaction.
 */
#ifndef SL_LIFECYCLE_H
#define SL_LIFECYCLE_H
#include "base/core/sm.h"
#include "server/server.h"

enum lease_state {
    LEASE_REQUESTED,
    LEASE_QUEUED, /* waits for a card; holds nothing */
    LEASE_PLACED, /* cards and funds are held, the node has not been told */
    LEASE_STARTING,
    LEASE_RUNNING,  /* the only billed state */
    LEASE_STOPPING, /* not billed; the node has not yet proved that nothing remains */
    LEASE_STOPPED,  /* keeps disk, name, port and host key */
    LEASE_RELEASED,
    LEASE_FAILED, /* never ran; cost 0 */
    LEASE_STATE_MAX
};
enum node_state {
    NODE_ENROLLED,
    NODE_TESTING,
    NODE_AVAILABLE,
    NODE_LEASED,     /* at least one card is leased */
    NODE_SANITIZING, /* no card leased, at least one not yet proved clean */
    NODE_DRAINING,
    NODE_QUARANTINED,
    NODE_RETIRED,
    NODE_STATE_MAX
};
enum volume_state {
    VOLUME_CREATING,
    VOLUME_AVAILABLE,
    VOLUME_ATTACHED,
    VOLUME_DELETED, /* tombstone: data kept until purge_after_us */
    VOLUME_PURGED,  /* data gone, row kept for the record */
    VOLUME_STATE_MAX
};
enum image_state {
    IMAGE_IMPORTING,
    IMAGE_AVAILABLE,
    IMAGE_FAILED,
    IMAGE_DELETED,
    IMAGE_LISTED, /* of the catalogue, not imported */
    IMAGE_STATE_MAX
};
enum snapshot_state {
    SNAPSHOT_CREATING,
    SNAPSHOT_AVAILABLE,
    SNAPSHOT_FAILED,
    SNAPSHOT_DELETED,
    SNAPSHOT_STATE_MAX
};
enum operation_state {
    OPERATION_PENDING,
    OPERATION_RUNNING,
    OPERATION_DONE,
    OPERATION_FAILED,
    OPERATION_STATE_MAX
};

enum invoice_state {
    INVOICE_DRAFT,
    INVOICE_ISSUED,    /* has its number; immutable */
    INVOICE_REVERSING, /* the operator has to confirm with the red letter */
    INVOICE_REVERSED,  /* its spend can be invoiced again */
    INVOICE_CANCELLED, /* a draft that was never issued */
    INVOICE_STATE_MAX
};

enum payout_state {
    PAYOUT_REQUESTED,
    PAYOUT_PAID,
    PAYOUT_REJECTED,
    PAYOUT_CANCELLED,
    PAYOUT_STATE_MAX
};
extern const struct sm lease_sm, node_sm, volume_sm, image_sm, operation_sm, invoice_sm, snapshot_sm,
    payout_sm;

/* Checks every table; aborts when one is broken. Called once at start. */
void lifecycle_check(void);

/* Moves row `id` (column key_column of table) to state `to`. SL_CONFLICT names both states when the
 * table does not allow it, SL_NOT_FOUND when there is no such row. table and key_column are
 * literals. */
int sm_move(struct db_c *c, struct server *s, const struct sm *sm, const char *table,
            const char *key_column, const char *id, int to, const char *account_id,
            const char *actor, const char *reason, struct sl_err *err);
/* The same for a caller that has just read, in this transaction, that the row is in `from`. */
int sm_move_from(struct db_c *c, struct server *s, const struct sm *sm, const char *id, int from,
                 int to, const char *account_id, const char *actor, const char *reason,
                 struct sl_err *err);
/* Adds the event alone, for a row that was inserted in state `to` (with sm_deadline_us) and passed
 * through `from` on its way; aborts when the table has no such move. */
int sm_moved(struct db_c *c, struct server *s, const struct sm *sm, const char *id, int from,
             int to, const char *account_id, const char *actor, const char *reason,
             struct sl_err *err);
/* When a row that enters `state` now is overdue; 0 = never. */
int64_t sm_deadline_us(const struct sm *sm, int state, int64_t now);
#endif
