/* SPDX-License-Identifier: Apache-2.0
 *
 * payment.h: what a payment provider tells (POST /v1/payments/webhook/PROVIDER), each event once.
 *
 *     Starlease-Signature: t=1796000000,v1=<hex HMAC-SHA256 of "t.body" under the provider's key>
 *
 * conf payment.keys is a file of lines "PROVIDER KEY"; two lines of one provider are the old and
 * the new key of a rotation, both good. It is read with every call, so no restart is needed. t may
 * be off by payment.tolerance; an event id counts once for ever, so a replay changes nothing.
 *
 * Only payment.succeeded books money, once per payment reference, whatever came before or comes
 * after. Money whose account, currency or reference is not clear waits in `suspense` until an
 * operator books or returns it.
 */
#ifndef SERVER_PAYMENT_H
#define SERVER_PAYMENT_H
#include "server/router.h"

struct payment_event {
    const char *id, *type, *reference, *account, *currency;
    int64_t amount_micro;
};
struct payment_resolve {
    const char *account, *note;
};

/* Is `header` a signature of `body` made within tolerance_s of now with one of the provider's keys
 * in `keys` (lines "PROVIDER KEY")? SL_NOT_FOUND for a provider without a key, SL_UNAUTHENTICATED
 * else. */
int payment_signature_check(const char *keys, const char *provider, const char *header,
                            const char *body, size_t body_n, int64_t now_us, int64_t tolerance_s,
                            struct sl_err *err);
/* Stores the event and books it when it is clear. ret_id: its row; the first one for an event that
 * was told before. SL_CONFLICT when the same event id comes with another content. */
int payment_told(struct db_c *c, struct server *s, const char *provider,
                 const struct payment_event *e, char ret_id[ID_TEXT], struct sl_err *err);
/* account NULL: the money was sent back. */
int payment_settle(struct db_c *c, struct server *s, const char *id, const char *account,
                   const char *note, const char *actor, struct sl_err *err);

extern const struct jr_field payment_fields[];         /* struct payment_event */
extern const struct jr_field payment_resolve_fields[]; /* struct payment_resolve */
int payment_prepare(struct req *r, struct sl_err *err);
handler_fn payment_webhook, payment_list, payment_resolve_post;
#endif
