/* SPDX-License-Identifier: Apache-2.0
 *
 * stop_api.h: GET /v1/leases/{id}/stop-preview, and what is offered when a start finds no stock.
 */
#ifndef SERVER_STOP_API_H
#define SERVER_STOP_API_H
#include "server/lease.h"

struct lease_quote_want {
    const char *model;
    int64_t gpus;
};
extern const struct jr_field lease_quote_fields[];
handler_fn lease_quote_post; /* quote_api.c */

handler_fn lease_stop_preview;
/* Fills r->offers, which the problem answer then carries: a JSON array. */
int lease_offers(struct db_c *c, struct req *r, const struct lease *l, struct sl_err *err);
#endif
