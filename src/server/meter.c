/* SPDX-License-Identifier: Apache-2.0 */
#include "server/event.h"
#include "server/meter.h"

/* Nobody is told that his funds last longer than a hundred years. */
#define FUNDED_MAX_S (100LL * 365 * 86400)

struct segment {
    char id[ID_TEXT], lease_id[ID_TEXT], account_id[ID_TEXT], currency[4];
    int64_t epoch, start_us, rate_micro, horizon_s;
    int64_t captured_s, captured_micro, captured_credit;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* 1 found, 0 no open segment, -1 error. */
static int segment_open(struct db_c *c, const char *lease_id, struct segment *ret,
                        struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err,
                    "SELECT s.id, s.account_id, s.currency, s.epoch, s.start_us, s.rate_micro, "
                    "l.horizon_s, s.captured_s, s.captured_micro, s.captured_credit_micro "
                    "FROM segment s JOIN lease l ON l.id = s.lease_id "
                    "WHERE s.lease_id = ?1 AND s.end_us = 0",
                    "t", lease_id);
    if (rc <= 0)
        return rc;
    *ret = (struct segment){.epoch = db_int(&q, 3),
                            .start_us = db_int(&q, 4),
                            .rate_micro = db_int(&q, 5),
                            .horizon_s = db_int(&q, 6),
                            .captured_s = db_int(&q, 7),
                            .captured_micro = db_int(&q, 8),
                            .captured_credit = db_int(&q, 9)};
    snprintf(ret->id, sizeof ret->id, "%s", db_text(&q, 0));
    snprintf(ret->lease_id, sizeof ret->lease_id, "%s", lease_id);
    snprintf(ret->account_id, sizeof ret->account_id, "%s", db_text(&q, 1));
    snprintf(ret->currency, sizeof ret->currency, "%s", db_text(&q, 2));
    db_done(&q);
    return 1;
}

int meter_open(struct db_c *c, const char *lease_id, bool *ret_open, struct sl_err *err)
{
    int64_t n;
    if (db_value(c, 0, &n, err, "SELECT COUNT(*) FROM segment WHERE lease_id = ?1 AND end_us = 0",
                 "t", lease_id) < 0)
        return -1;
    *ret_open = n > 0;
    return 0;
}

/* Where the lease's metering stands: its last segment. */
struct last {
    int64_t seq, epoch, start_us, end_us;
};

static int last_segment(struct db_c *c, const char *lease_id, struct last *ret, struct sl_err *err)
{
    struct db_q q;
    *ret = (struct last){.epoch = -1};
    int rc = db_row(c, &q, err,
                    "SELECT seq, epoch, start_us, end_us FROM segment WHERE lease_id = ?1 "
                    "ORDER BY seq DESC LIMIT 1",
                    "t", lease_id);
    if (rc > 0) {
        *ret = (struct last){db_int(&q, 0), db_int(&q, 1), db_int(&q, 2), db_int(&q, 3)};
        db_done(&q);
    }
    return rc;
}

int meter_start(struct db_c *c, struct server *s, const char *lease_id, int64_t start_us,
                struct sl_err *err)
{
    struct last last;
    int64_t epoch, n;
    char id[ID_TEXT];
    int rc = last_segment(c, lease_id, &last, err);
    if (rc < 0 ||
        db_value(c, -1, &epoch, err, "SELECT epoch FROM lease WHERE id = ?1", "t", lease_id) < 0)
        return -1;
    if (epoch < 0)
        return sl_fail(err, SL_NOT_FOUND, "no lease %s", lease_id);
    if (rc > 0 && last.epoch == epoch && last.end_us == 0)
        return 0;
    if (rc > 0 && (last.epoch >= epoch || last.end_us == 0))
        return sl_fail(err, SL_CONFLICT, "lease %s epoch %lld: %s", lease_id, (long long)epoch,
                       last.end_us ? "its metering has ended" : "an older epoch is still metered");
    if (rc > 0) /* segments of a lease never overlap, whatever the clock does */
        start_us = most(start_us, most(last.end_us, last.start_us + 1));
    if (db_exec_n(
            c, &n, err,
            "INSERT INTO segment(id, lease_id, account_id, seq, epoch, start_us, model, gpus, "
            "rate_micro, currency, price_version_id, node_name, gpu_mask) "
            "SELECT ?1, id, account_id, ?2, epoch, ?3, CASE cpu_run WHEN 1 THEN 'cpu' ELSE model "
            "END, CASE cpu_run WHEN 1 THEN 1 ELSE gpus END, CASE cpu_run WHEN 1 THEN "
            "cpu_rate_micro ELSE rate_micro END, currency, CASE cpu_run WHEN 1 THEN cpu_tariff_id "
            "ELSE price_version_id END, COALESCE(node_name, ''), gpu_mask FROM lease WHERE id = "
            "?4",
            "tiit", env_id(s->env, "seg", id), last.seq + 1, start_us, lease_id) < 0)
        return -1;
    SL_ASSERT(n == 1);
    return 0;
}

/* Moves what seconds up to `to_s` cost from the lease's held funds to revenue; the funds are there.
 */
static int capture(struct db_c *c, struct server *s, struct segment *g, int64_t to_s,
                   struct sl_err *err)
{
    int64_t credit, cash, due = money_charge(g->rate_micro, to_s) - g->captured_micro;
    char memo[64];
    SL_ASSERT(to_s >= g->captured_s && due >= 0);
    if (due == 0)
        return 0; /* the next capture pays for these seconds too */
    if (wallet_held_for(c, g->lease_id, &credit, &cash, err) < 0)
        return -1;
    int64_t from_credit = least(due, credit), from_cash = due - from_credit;
    SL_ASSERT(from_cash <= cash);
    snprintf(memo, sizeof memo, "seconds %lld..%lld", (long long)g->captured_s, (long long)to_s);
    const struct posting p[] = {{g->account_id, LEDGER_HELD_CREDIT, -from_credit},
                                {g->account_id, LEDGER_HELD_CASH, -from_cash},
                                {NULL, LEDGER_REVENUE, due}};
    if (ledger_post(c, s, "capture", g->id, g->account_id, memo, g->currency, p, 3, NULL, err) <
            0 ||
        wallet_hold_store(c, s, g->account_id, g->lease_id, g->currency, credit - from_credit,
                          cash - from_cash, err) < 0)
        return -1;
    g->captured_s = to_s;
    g->captured_micro += due;
    g->captured_credit += from_credit;
    return 0;
}

/* Gives back what was captured for seconds past `to_s`, cash first: credit was spent first. */
static int refund(struct db_c *c, struct server *s, struct segment *g, int64_t to_s,
                  struct sl_err *err)
{
    int64_t back = g->captured_micro - money_charge(g->rate_micro, to_s);
    char memo[64];
    SL_ASSERT(to_s <= g->captured_s && back >= 0);
    if (back == 0)
        return 0;
    int64_t to_cash = least(back, g->captured_micro - g->captured_credit);
    int64_t to_credit = back - to_cash;
    snprintf(memo, sizeof memo, "seconds %lld..%lld", (long long)g->captured_s, (long long)to_s);
    const struct posting p[] = {{NULL, LEDGER_REVENUE, -back},
                                {g->account_id, LEDGER_CASH, to_cash},
                                {g->account_id, LEDGER_CREDIT, to_credit}};
    if (ledger_post(c, s, "refund", g->id, g->account_id, memo, g->currency, p, 3, NULL, err) < 0)
        return -1;
    g->captured_s = to_s;
    g->captured_micro -= back;
    g->captured_credit -= to_credit;
    return 0;
}

/* Free and held funds that the lease could use now. */
static int funds_of(struct db_c *c, const struct segment *g, struct wallet *ret_w,
                    int64_t *ret_held, struct sl_err *err)
{
    int64_t credit, cash;
    if (wallet_get(c, g->account_id, ret_w, err) < 0 ||
        wallet_held_for(c, g->lease_id, &credit, &cash, err) < 0)
        return -1;
    *ret_held = credit + cash;
    return 0;
}

/* Captures whole seconds up to upto_us as far as all funds reach. */
static int charge_to(struct db_c *c, struct server *s, struct segment *g, int64_t upto_us,
                     int64_t *ret_seconds, struct sl_err *err)
{
    struct wallet w;
    int64_t held;
    if (funds_of(c, g, &w, &held, err) < 0)
        return -1;
    int64_t secs = most((upto_us - g->start_us) / SL_SEC, g->captured_s);
    int64_t funds = g->captured_micro + held + wallet_available(&w);
    secs = most(least(secs, money_seconds_for(g->rate_micro, funds)), g->captured_s);
    int64_t due = money_charge(g->rate_micro, secs) - g->captured_micro;
    if (due > held && wallet_hold(c, s, g->account_id, g->lease_id, due, err) < 0)
        return -1;
    *ret_seconds = secs;
    return capture(c, s, g, secs, err);
}

static int segment_store(struct db_c *c, const struct segment *g, struct sl_err *err)
{
    return db_exec(c, err,
                   "UPDATE segment SET captured_s = ?2, captured_micro = ?3, "
                   "captured_credit_micro = ?4 WHERE id = ?1",
                   "tiii", g->id, g->captured_s, g->captured_micro, g->captured_credit);
}

/* A capture and a hold are ledger transactions that a renter's statement carries for ever: they are
 * written when less than half of the horizon is left of the hold, or when the funds end. */
static bool settle_due(const struct segment *g, int64_t upto_us, int64_t held, int64_t funds)
{
    int64_t secs = most((upto_us - g->start_us) / SL_SEC, g->captured_s);
    if (secs >= money_seconds_for(g->rate_micro, g->captured_micro + funds))
        return true;
    int64_t owed = money_charge(g->rate_micro, secs) - g->captured_micro;
    return held - owed < money_charge(g->rate_micro, g->horizon_s) / 2;
}

/* Captures up to upto_us and raises the hold to the horizon ahead, as far as the funds allow. */
static int settle(struct db_c *c, struct server *s, struct segment *g, int64_t upto_us,
                  struct sl_err *err)
{
    struct wallet w;
    int64_t secs, held;
    if (charge_to(c, s, g, upto_us, &secs, err) < 0 || segment_store(c, g, err) < 0 ||
        funds_of(c, g, &w, &held, err) < 0)
        return -1;
    int64_t ahead = money_charge(g->rate_micro, secs + g->horizon_s) - g->captured_micro;
    int64_t want = least(ahead, held + wallet_available(&w));
    return want > held ? wallet_hold(c, s, g->account_id, g->lease_id, want, err) : 0;
}

int meter_tick(struct db_c *c, struct server *s, const char *lease_id, int64_t upto_us,
               int64_t *ret_funded_until_us, struct sl_err *err)
{
    struct segment g;
    struct wallet w;
    int64_t held;
    int rc = segment_open(c, lease_id, &g, err);
    if (rc == 0)
        return sl_fail(err, SL_CONFLICT, "lease %s is not being metered", lease_id);
    if (rc < 0 || funds_of(c, &g, &w, &held, err) < 0)
        return -1;
    if (settle_due(&g, upto_us, held, held + wallet_available(&w)) &&
        (settle(c, s, &g, upto_us, err) < 0 || funds_of(c, &g, &w, &held, err) < 0))
        return -1;
    /* its share of what is free, rounded down */
    SL_ASSERT(w.rate_micro >= g.rate_micro);
    int64_t share =
        w.rate_micro ? (int64_t)((__int128)wallet_available(&w) * g.rate_micro / w.rate_micro) : 0;
    int64_t lasts = money_seconds_for(g.rate_micro, g.captured_micro + held + share);
    *ret_funded_until_us = g.start_us + least(lasts, FUNDED_MAX_S) * SL_SEC;
    return 0;
}

int meter_stop(struct db_c *c, struct server *s, const char *lease_id, int64_t end_us,
               const char *reason, struct sl_err *err)
{
    struct segment g;
    int64_t secs;
    int rc = segment_open(c, lease_id, &g, err);
    if (rc <= 0)
        return rc < 0 ? -1 : wallet_release(c, s, lease_id, err);
    end_us = most(end_us, g.start_us);
    int64_t whole = (end_us - g.start_us) / SL_SEC;
    if (whole < g.captured_s) {
        if (refund(c, s, &g, whole, err) < 0)
            return -1;
    } else {
        if (charge_to(c, s, &g, end_us, &secs, err) < 0)
            return -1;
        if (secs < whole) /* the funds ended before: what follows is not billed */
            end_us = g.start_us + secs * SL_SEC;
        whole = secs;
    }
    SL_ASSERT(g.captured_micro == money_charge(g.rate_micro, whole));
    if (db_exec(c, err,
                "UPDATE segment SET captured_s = ?2, captured_micro = ?3, captured_credit_micro = "
                "?4, end_us = ?5, end_reason = ?6 WHERE id = ?1",
                "tiiiit", g.id, whole, g.captured_micro, g.captured_credit, end_us, reason) < 0)
        return -1;
    return wallet_release(c, s, lease_id, err);
}

int meter_credit(struct db_c *c, struct server *s, const char *lease_id, int64_t micro,
                 const char *reason, struct sl_err *err)
{
    struct db_q q;
    char account_id[ID_TEXT], currency[4], txn[ID_TEXT], text[SL_MONEY_TEXT];
    if (micro <= 0)
        return sl_fail_at(err, SL_INVALID, "amount", "amount: %s is not more than 0",
                          money_format(micro, text));
    int rc =
        db_row(c, &q, err, "SELECT account_id, currency FROM lease WHERE id = ?1", "t", lease_id);
    if (rc == 0)
        return sl_fail(err, SL_NOT_FOUND, "no lease %s", lease_id);
    if (rc < 0)
        return -1;
    snprintf(account_id, sizeof account_id, "%s", db_text(&q, 0));
    snprintf(currency, sizeof currency, "%s", db_text(&q, 1));
    db_done(&q);
    const struct posting p[] = {{NULL, LEDGER_GOODWILL, -micro},
                                {account_id, LEDGER_CREDIT, micro}};
    if (ledger_post(c, s, "goodwill", lease_id, account_id, reason, currency, p, 2, txn, err) < 0)
        return -1;
    return event_add(c, s, account_id, "wallet", txn, "wallet.goodwill", "system", NULL, err);
}

int meter_cost(struct db_c *c, const char *lease_id, int64_t now_us, int64_t *ret_micro,
               struct sl_err *err)
{
    struct segment g;
    struct wallet w;
    int64_t held;
    if (db_value(c, 0, ret_micro, err,
                 "SELECT SUM(captured_micro) FROM segment WHERE lease_id = ?1", "t", lease_id) < 0)
        return -1;
    int rc = segment_open(c, lease_id, &g, err);
    if (rc <= 0)
        return rc;
    if (funds_of(c, &g, &w, &held, err) < 0)
        return -1;
    int64_t secs = most((now_us - g.start_us) / SL_SEC, g.captured_s);
    int64_t due = money_charge(g.rate_micro, secs) - g.captured_micro;
    *ret_micro += least(most(due, 0), held + wallet_available(&w));
    return 0;
}
