/* SPDX-License-Identifier: Apache-2.0
 *
 * payout.h: a renter gets unspent cash back. The amount leaves the wallet when it is asked for
 * (cash -> payable), so it cannot be spent meanwhile; the operator pays it (payable -> bank) or
 * rejects it, or the renter cancels it (payable -> cash). Held funds and credit are not refunded.
 *
 *     payout_request(c, s, account_id, micro, "closing down", id, err)
 *     payout_end(c, s, NULL, id, PAYOUT_PAID, "bank number 17", operator, err)
 */
#ifndef SERVER_PAYOUT_H
#define SERVER_PAYOUT_H
#include "server/lifecycle.h"
#include "server/router.h"

struct payout_want {
    const char *reason;
    int64_t amount_micro;
};
struct payout_note {
    const char *note;
};

/* SL_NO_CREDIT when that much cash is not free. */
int payout_request(struct db_c *c, struct server *s, const char *account_id, int64_t micro,
                   const char *reason, char ret_id[ID_TEXT], struct sl_err *err);
/* account_id NULL: of anybody. `to`: PAYOUT_PAID, PAYOUT_REJECTED or PAYOUT_CANCELLED. */
int payout_end(struct db_c *c, struct server *s, const char *account_id, const char *id,
               enum payout_state to, const char *note, const char *actor, struct sl_err *err);

extern const struct jr_field payout_fields[];      /* struct payout_want */
extern const struct jr_field payout_note_fields[]; /* struct payout_note */
handler_fn payout_create, payout_list, payout_cancel, payout_pay_post, payout_reject_post;
#endif
