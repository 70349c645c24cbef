/* SPDX-License-Identifier: Apache-2.0
 *
 * voucher.h: codes that are worth credit. An operator makes a batch; its codes are in that answer
 * alone, the database has their hashes. Who redeems one gets credit (never cash), once per code, at
 * most per_account codes of a batch, until it expires or its uses are up.
 *
 *     voucher_batch_make(c, s, &want, operator, id, codes, err)
 *     voucher_redeem(c, s, account_id, "ABCD-EFGH-JKMN-PQRS", &value, txn, err)
 */
#ifndef SERVER_VOUCHER_H
#define SERVER_VOUCHER_H
#include "server/router.h"

enum { VOUCHER_CODES_MAX = 1000, VOUCHER_CODE_TEXT = 20 };
struct voucher_want {
    const char *name, *currency;
    int64_t value_micro, codes, uses, per_account, days; /* 0: the default */
};
struct redeem_want {
    const char *code;
};

/* Appends the codes to *codes, one a line. */
int voucher_batch_make(struct db_c *c, struct server *s, const struct voucher_want *want,
                       const char *actor, char ret_id[ID_TEXT], struct sl_buf *codes,
                       struct sl_err *err);
/* SL_NOT_FOUND for a code that is none, SL_CONFLICT when it cannot be used (any more). Blanks,
 * hyphens and small letters in the code do not matter. */
int voucher_redeem(struct db_c *c, struct server *s, const char *account_id, const char *code,
                   int64_t *ret_micro, char ret_txn[ID_TEXT], struct sl_err *err);

extern const struct jr_field voucher_fields[]; /* struct voucher_want */
extern const struct jr_field redeem_fields[];  /* struct redeem_want */
handler_fn voucher_create, voucher_list, voucher_revoke, redeem_create;
int redeem_prepare(struct req *r, struct sl_err *err);
#endif
