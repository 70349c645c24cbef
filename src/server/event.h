/* SPDX-License-Identifier: Apache-2.0
 *
 * event.h: the audit trail, one row per thing that happened, and the bus that tells waiting
 * clients. Rows are chained: hash = SHA-256 over the row and the hash of the row before, so a
 * changed or removed row is found by event_chain_check. Rows are written in the transaction of
 * their cause.
 *
 *     event_add(c, s, lease->account_id, "lease", lease->id, "lease.running", "agent", "{}", err)
 *
 * After db_write returned, bus_poke(s) wakes streams (GET /v1/events) and long polls at once; the
 * router does it for every request that writes. Without a poke they notice within a second.
 */
#ifndef SERVER_EVENT_H
#define SERVER_EVENT_H
#include "server/router.h"

/* account_id "" = the house's own event, seen by operators alone. `actor`: account id, "system",
 * "agent" or "operator:ID". data_json: an object, without secrets; NULL = {}. */
int event_add(struct db_c *c, struct server *s, const char *account_id, const char *noun,
              const char *ref, const char *type, const char *actor, const char *data_json,
              struct sl_err *err);
/* Recomputes the chain. *ret_bad_seq = first row that does not fit, 0 when all do. */
int event_chain_check(struct db_c *c, int64_t *ret_bad_seq, int64_t *ret_rows, struct sl_err *err);
/* Writes one event as JSON from a row of EVENT_COLUMNS. */
#define EVENT_COLUMNS "seq, id, account_id, noun, ref, type, actor, data, t_us, hash"
void event_write(struct jw *w, const char *key, struct db_q *q);
/* Opens a query for the rows of EVENT_COLUMNS after a seq that `who` may see, oldest first. */
int events_after(struct db_c *c, const struct caller *who, int64_t after, int64_t limit,
                 struct db_q *q, struct sl_err *err);
handler_fn event_list; /* GET /v1/events with Accept: application/json */

/* The bus: a mutex, a condition and a counter. One per server; NULL where nobody waits (simulator).
 */
struct bus *bus_new(void);
void bus_free(struct bus *b);
void bus_poke(struct server *s);
/* Waits until poked or ms passed. Returns the counter of pokes; pass the last one seen. */
uint64_t bus_wait(struct bus *b, uint64_t seen, int ms);
#endif
