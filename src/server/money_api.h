/* SPDX-License-Identifier: Apache-2.0
 *
 * money_api.h: the HTTP calls of prices, models, quotes, the wallet, the ledger, statements and the
 * audit (price_api.c, quote_api.c, wallet_api.c). The objects are in wire/objects.c.
 */
#ifndef SERVER_MONEY_API_H
#define SERVER_MONEY_API_H
#include "server/router.h"

struct price_want {
    const char *model, *currency, *frameworks, *note, *source;
    int64_t price_micro, memory_gb_told, effective_us; /* 0: not given */
};
struct topup_want {
    const char *reason, *reference;
    int64_t amount_micro;
};
extern const struct jr_field price_fields[];      /* struct price_want */
extern const struct jr_field quote_want_fields[]; /* struct quote_want */
extern const struct jr_field topup_fields[];      /* struct topup_want */

handler_fn price_list_get, price_create, model_list_get;
handler_fn quote_create, quote_show;
handler_fn wallet_show, ledger_list, topup_create;
handler_fn statement_show, audit_money_show;

/* A Wallet object of the account. */
int wallet_write(struct db_c *c, struct jw *w, const char *key, const char *account_id,
                 struct sl_err *err);
#endif
