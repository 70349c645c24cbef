/* SPDX-License-Identifier: Apache-2.0
 *
 * wallet.h: what a renter can spend. Four ledger balances in the account's currency: cash, credit,
 * and the parts of both that are held for leases. Funds are held ahead and captured, credit before
 * cash, so no balance ever goes below zero (also a CHECK in the schema).
 *
 *     wallet_hold(c, s, account_id, lease_id, quote.hold_micro, err)    before the lease is placed
 *     ... meter_start / meter_tick / meter_stop (meter.h) capture from it and release the rest
 *     wallet_release(c, s, lease_id, err)                               a start that failed
 *
 * Everything runs inside the caller's write transaction, wallet_get also in a read.
 */
#ifndef SERVER_WALLET_H
#define SERVER_WALLET_H
#include "server/ledger.h"

struct wallet {
    int64_t cash, credit;           /* free to spend */
    int64_t held_cash, held_credit; /* set aside for leases */
    char currency[4];
    int64_t rate_micro; /* per hour, all leases that are being metered now */
};
static inline int64_t wallet_available(const struct wallet *w)
{
    return w->cash + w->credit;
}
static inline int64_t wallet_held(const struct wallet *w)
{
    return w->held_cash + w->held_credit;
}

/* Makes the four balances of a new account; safe to repeat. */
int wallet_open(struct db_c *c, struct server *s, const char *account_id, struct sl_err *err);
/* SL_NOT_FOUND for an unknown account. */
int wallet_get(struct db_c *c, const char *account_id, struct wallet *ret, struct sl_err *err);
/* Seconds until the wallet is empty at the present rate, counted from the last captures (at most
 * half a hold horizon ago); -1 when nothing is being metered. A lease's own funded_until is exact.
 */
int64_t wallet_lasts_s(const struct wallet *w);

/* Money paid in. `actor` is the operator's account id. amount > 0, else SL_INVALID. */
int wallet_topup(struct db_c *c, struct server *s, const char *account_id, int64_t micro,
                 const char *actor, const char *reason, struct sl_err *err);
/* The same for a payment that has a reference of its own (a bank's number): the same reference
 * again with the same account and amount changes nothing and returns the first transaction; with
 * others it is SL_CONFLICT. */
int wallet_topup_once(struct db_c *c, struct server *s, const char *account_id, int64_t micro,
                      const char *actor, const char *reason, const char *reference,
                      char ret_txn[ID_TEXT], struct sl_err *err);
/* The trial credit (conf trial.amount), once per identity and once per account: SL_CONFLICT when
 * either had it, nothing changes then. */
int wallet_grant_trial(struct db_c *c, struct server *s, const char *account_id,
                       const char *identity_hash, struct sl_err *err);
/* Raises or lowers what is held for the lease to exactly amount_micro (0: as wallet_release). Takes
 * credit first, gives cash back first. SL_NO_CREDIT, field "balance", says how much is missing. */
int wallet_hold(struct db_c *c, struct server *s, const char *account_id, const char *lease_id,
                int64_t amount_micro, struct sl_err *err);
/* The same for a lease that is being made, for which nothing can be held yet. */
int wallet_hold_new(struct db_c *c, struct server *s, const char *account_id, const char *lease_id,
                    int64_t amount, struct sl_err *err);
/* May the account run rate_micro per hour more? SL_QUOTA, field "spend", when that would pass conf
 * quota.spend_per_hour, counting the leases that hold cards. */
int wallet_spend_check(struct db_c *c, struct server *s, const char *account_id, int64_t rate_micro,
                       struct sl_err *err);
/* Gives back all that is held for the lease; nothing held is fine. */
int wallet_release(struct db_c *c, struct server *s, const char *lease_id, struct sl_err *err);
/* What is held for the lease now. */
int wallet_held_for(struct db_c *c, const char *lease_id, int64_t *ret_credit, int64_t *ret_cash,
                    struct sl_err *err);
/* For meter.c alone: writes the hold row after postings that took from held funds. */
int wallet_hold_store(struct db_c *c, struct server *s, const char *account_id,
                      const char *lease_id, const char *currency, int64_t credit, int64_t cash,
                      struct sl_err *err);
#endif
