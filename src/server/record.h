/* SPDX-License-Identifier: Apache-2.0
 *
 * record.h: benchmark records (wire/bench.h) of leases. The control plane checks that a record
 * follows from its samples and carries the nonce that it chose for the lease, adds what it knows
 * itself (model, cards, node, emulated, times) and signs both. What that proves: this record was
 * handed in for this lease at this time. The renter is root in his instance, so the samples remain
 * his word; the nonce keeps a record from being used for another lease.
 */
#ifndef SERVER_RECORD_H
#define SERVER_RECORD_H
#include "server/router.h"

enum { RECORDS_PER_LEASE = 100 };
struct record_want {
    const char *record; /* JSON */
};
extern const struct jr_field record_fields[];
int record_prepare(struct req *r, struct sl_err *err);
handler_fn record_create; /* POST /v1/leases/{id}/records */
handler_fn record_list;   /* GET /v1/leases/{id}/records */
handler_fn record_show;   /* GET /v1/records/{id}: the signed file */
#endif
