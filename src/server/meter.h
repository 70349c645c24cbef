/* SPDX-License-Identifier: Apache-2.0
 *
 * meter.h: metered time and its charge. A segment is one stretch of `running` of one lease epoch at
 * one pinned price; it bills whole seconds, floor((t - start) / 1 s), and what has been captured of
 * it is always money_charge(rate, captured_s): any split of the time charges the same
 * (docs/money.md, M3).
 *
 *     meter_start(c, s, lease_id, now, err)                 in the transaction placed->running
 *     meter_tick(c, s, lease_id, now, &funded_until, err)   every few seconds, or on a heartbeat
 *     meter_stop(c, s, lease_id, end, "stopped by renter", err)
 *
 * A capture carries the seconds it pays for in its memo ("seconds 60..120"), so that a statement
 * can recompute every single one. Everything runs inside the caller's write transaction. Times are
 * the control plane's; a time before the segment's start counts as its start.
 */
#ifndef SERVER_METER_H
#define SERVER_METER_H
#include "server/wallet.h"

/* Opens the segment of the lease's present epoch at start_us (never before the end of the lease's
 * last segment). Already open for this epoch: nothing happens. SL_CONFLICT when the epoch has been
 * metered already or another epoch is still open. */
int meter_start(struct db_c *c, struct server *s, const char *lease_id, int64_t start_us,
                struct sl_err *err);
/* Says until when the lease can run: what is held for it plus its share of the free balance (shared
 * among the account's metered leases by their rates, so that they cannot together outrun it while
 * the control plane is silent). Once less than half of the horizon is left of the hold it captures
 * the whole seconds up to upto_us (never past the funds) and raises the hold to the horizon ahead.
 * *ret_funded_until_us <= upto_us means: stop it now, reason insufficient_funds. No open segment:
 * SL_CONFLICT. */
int meter_tick(struct db_c *c, struct server *s, const char *lease_id, int64_t upto_us,
               int64_t *ret_funded_until_us, struct sl_err *err);
/* Closes the open segment at end_us: captures what is due, gives back what was captured past end_us
 * (a host that was lost: end_us is its last proven heartbeat), releases the hold. Seconds that the
 * funds do not cover are not billed: the segment then ends where the funds did. With no open
 * segment it only releases the hold, so it is safe to repeat and costs a failed start nothing. */
int meter_stop(struct db_c *c, struct server *s, const char *lease_id, int64_t end_us,
               const char *reason, struct sl_err *err);
int meter_open(struct db_c *c, const char *lease_id, bool *ret_open, struct sl_err *err);
/* A credit after a fault of the provider, paid by the house's goodwill account. micro > 0. */
int meter_credit(struct db_c *c, struct server *s, const char *lease_id, int64_t micro,
                 const char *reason, struct sl_err *err);
/* What the lease has cost up to now_us: all segments, the open one by the clock and its funds. */
int meter_cost(struct db_c *c, const char *lease_id, int64_t now_us, int64_t *ret_micro,
               struct sl_err *err);
#endif
