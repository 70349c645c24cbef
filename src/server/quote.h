/* SPDX-License-Identifier: Apache-2.0
 *
 * quote.h: a binding offer: what `gpus` cards of a model cost per hour, at which price version, and
 * how much is held ahead. Valid for conf quote_ttl_s; a lease that uses it pays exactly this rate
 * for as long as it runs, whatever the price table does meanwhile.
 *
 *     quote_make(c, s, account_id, &want, arena, &q, err)
 *     quote_use(c, s, account_id, quote_id, lease_id, &q, err)      when the lease is created
 */
#ifndef SERVER_QUOTE_H
#define SERVER_QUOTE_H
#include "server/wallet.h"

enum { MODEL_TEXT = 64, IMAGE_TEXT = 128, QUOTE_HORIZON_MIN_S = 60, QUOTE_GPUS_MAX = 64 };

struct quote_want {
    const char *model, *image;
    int64_t gpus, disk_gb;
};
struct quote {
    char id[ID_TEXT], account_id[ID_TEXT], lease_id[ID_TEXT]; /* lease_id "" until used */
    char model[MODEL_TEXT], image[IMAGE_TEXT], price_version_id[ID_TEXT], currency[4];
    int64_t gpus, disk_gb;
    int64_t price_micro; /* per GPU-hour */
    int64_t rate_micro;  /* per hour, all cards */
    int64_t horizon_s;   /* funds are held so far ahead */
    int64_t hold_micro;  /* money_charge(rate, horizon) */
    int64_t expires_us, created_us;
};

/* SL_NOT_FOUND (model, image, or no price in the account's currency), SL_INVALID. A wallet that
 * cannot pay the hold still gets a quote; the answer says so. The horizon is conf
 * lease.hold_horizon, or less where the trial credit would not reach so far (but at least
 * QUOTE_HORIZON_MIN_S): a trial can start every shape whose minute it can pay. */
int quote_make(struct db_c *c, struct server *s, const char *account_id,
               const struct quote_want *want, struct quote *ret, struct sl_err *err);
/* SL_NOT_FOUND also when it belongs to another account. */
int quote_get(struct db_c *c, const char *account_id, const char *quote_id, struct quote *ret,
              struct sl_err *err);
/* Binds the quote to the lease. Expired or used by another lease: SL_CONFLICT. The same lease again
 * is fine. */
int quote_use(struct db_c *c, struct server *s, const char *account_id, const char *quote_id,
              const char *lease_id, struct quote *ret, struct sl_err *err);
#endif
