/* SPDX-License-Identifier: Apache-2.0
 *
 * node.h: GPU servers as one row each. Bit i of a mask is card i (at most 64; bit 63 is the sign
 * bit). A card is in exactly one of: free, leased, sanitizing, or none while the node has not been
 * tested. A node belongs to one account from its first lease until its last card is proved clean.
 *
 * There is no way from leased to free but through sanitizing: node_take, node_give_back and
 * node_cleaned are the only functions that change a mask.
 */
#ifndef SL_NODE_H
#define SL_NODE_H
#include "server/engine.h"
#include "server/lifecycle.h"
#include "server/router.h"

enum { NODE_CARDS_MAX = 64, NODE_FAILED_STARTS_MAX = 3 };
struct operation;
struct node {
    char name[64], model[64], account_id[ID_TEXT], health[8], engine[16], addr[NODE_ADDR_MAX];
    int state;
    int64_t cards, devices_per_card, cpus, memory_bytes, card_memory_bytes, failed_starts, seen_us,
        created_us;
    uint64_t free_mask, leased_mask, sanitize_mask;
    bool emulated;
    char *facts, *reason; /* arena; facts is the probe's answer as JSON */
};
int node_get(struct db_c *c, const char *name, struct sl_arena *a, struct node *ret,
             struct sl_err *err);
int node_engine(struct db_c *c, const char *name, struct engine_node *ret,
                const struct engine **ret_engine, struct sl_err *err);

/* A run without cards: the node becomes (or is) `account_id`'s. SL_NO_CAPACITY when another account
 * holds it or it takes no leases. */
int node_take_cpu(struct db_c *c, const char *name, const char *account_id, struct sl_err *err);
/* Such a run is over: the node is nobody's when nothing else holds it. */
int node_give_cpu(struct db_c *c, const char *name, struct sl_err *err);
/* free -> leased; the node becomes `account_id`'s. SL_CONFLICT when a card is not free. */
int node_take(struct db_c *c, struct server *s, const char *name, const char *account_id,
              uint64_t mask, struct sl_err *err);
/* leased -> sanitizing, once the agent has proved that nothing of the lease remains. */
int node_give_back(struct db_c *c, struct server *s, const char *name, uint64_t mask,
                   const char *reason, struct sl_err *err);
/* sanitizing -> free; the last one clears the account. */
int node_cleaned(struct db_c *c, struct server *s, const char *name, uint64_t mask,
                 struct sl_err *err);
/* No new lease until an operator resumes it; running leases stay. Idempotent. */
int node_quarantine(struct db_c *c, struct server *s, const char *name, const char *reason,
                    struct sl_err *err);
/* A start failed for a fault that is not the renter's; the third in a row quarantines. */
int node_start_failed(struct db_c *c, struct server *s, const char *name, const char *reason,
                      struct sl_err *err);
int node_start_worked(struct db_c *c, const char *name, struct sl_err *err);
/* Health as the node reports it: good, bad (quarantine) or unknown (no new lease, evicts nobody).
 */
int node_health(struct db_c *c, struct server *s, const char *name, const char *health,
                const char *reason, struct sl_err *err);
/* A probe answer is stored: model, cards, memory as the node reports them. Cards that are neither
 * leased nor waiting to be sanitized become free; testing -> available. */
int node_probed(struct db_c *c, struct server *s, const char *name, const struct jr_val *facts,
                struct sl_err *err);
/* enrolled -> testing, with the operation that probes it. Name free or retired, else SL_CONFLICT.
 */
int node_enrol(struct db_c *c, struct server *s, const char *name, const char *addr,
               const char *engine, struct sl_err *err);
/* Asks the agent at addr for its node's name. Blocks on the socket. */
int node_ask_name(const char *addr, int timeout_ms, char ret_name[NODE_NAME_MAX],
                  struct sl_err *err);
/* Enrols the sockets of conf node.sockets that no node has yet; one that does not answer is tried
 * again at the next call. */
void node_enrol_sockets(struct server *s);
/* Adds the operation that cleans `mask` (bits that are in sanitize_mask already). */
int node_sanitize_add(struct db_c *c, struct server *s, const char *name, const char *lease_id,
                      const char *account_id, uint64_t mask, struct sl_err *err);
/* Recomputes every mask from the leases and open sanitize operations; *ret_bad counts differences
 * and `report` gets one line each. Part of the audit. */
int node_audit(struct db_c *c, struct sl_buf *report, int64_t *ret_bad, struct sl_err *err);

/* Operations: node_test probes and makes the node available. */
int node_run_test(struct server *s, const struct operation *op, struct sl_err *err);
int node_test_gave_up(struct db_c *c, struct server *s, const struct operation *op, const char *why,
                      struct sl_err *err);
int node_run_sanitize(struct server *s, const struct operation *op, struct sl_err *err);
int node_sanitize_gave_up(struct db_c *c, struct server *s, const struct operation *op,
                          const char *why, struct sl_err *err);

extern const struct jr_field node_enrol_fields[];
int node_enrol_prepare(struct req *r, struct sl_err *err);
struct node_enrol_body {
    const char *name, *addr, *engine;
};
handler_fn node_list, node_show, node_enrol_post, node_drain, node_resume, node_retire,
    certificate_list;
#endif
