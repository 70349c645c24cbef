/* SPDX-License-Identifier: Apache-2.0 */
#include "server/event.h"
#include "server/wallet.h"
#include "server/mail.h"

/* One payment at most; far above any real one, far below what int64 holds. */
#define TOPUP_MAX (1000000000LL * SL_MICRO)

static int account_currency(struct db_c *c, const char *account_id, char out[4], struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err, "SELECT currency FROM account WHERE id = ?1", "t", account_id);
    if (rc == 0)
        return sl_fail(err, SL_NOT_FOUND, "no account %s", account_id);
    if (rc < 0)
        return -1;
    snprintf(out, 4, "%s", db_text(&q, 0));
    db_done(&q);
    return 0;
}

int wallet_open(struct db_c *c, struct server *s, const char *account_id, struct sl_err *err)
{
    char currency[4];
    if (account_currency(c, account_id, currency, err) < 0)
        return -1;
    for (int k = LEDGER_CASH; k <= LEDGER_HELD_CREDIT; k++)
        if (ledger_account_open(c, account_id, (enum ledger_kind)k, currency, err) < 0)
            return -1;
    return 0;
}

/* The four balances and the currency; not the rate. */
static int balances_get(struct db_c *c, const char *account_id, struct wallet *ret,
                        struct sl_err *err)
{
    struct db_q q;
    int rc, rows = 0;
    *ret = (struct wallet){0};
    if (db_query(c, &q, err,
                 "SELECT a.currency, l.kind, l.balance_micro FROM account a LEFT JOIN "
                 "ledger_account l ON l.account_id = a.id AND l.currency = a.currency "
                 "WHERE a.id = ?1",
                 "t", account_id) < 0)
        return -1;
    for (; (rc = db_next(&q, err)) > 0; rows++) {
        const char *kind = db_text(&q, 1);
        snprintf(ret->currency, sizeof ret->currency, "%s", db_text(&q, 0));
        int64_t *at = sl_streq(kind, "cash")          ? &ret->cash
                      : sl_streq(kind, "credit")      ? &ret->credit
                      : sl_streq(kind, "held_cash")   ? &ret->held_cash
                      : sl_streq(kind, "held_credit") ? &ret->held_credit
                                                      : NULL;
        if (at)
            *at = db_int(&q, 2);
    }
    db_done(&q);
    if (rc == 0 && rows == 0)
        return sl_fail(err, SL_NOT_FOUND, "no account %s", account_id);
    return rc;
}

int wallet_get(struct db_c *c, const char *account_id, struct wallet *ret, struct sl_err *err)
{
    if (balances_get(c, account_id, ret, err) < 0)
        return -1;
    return db_value(c, 0, &ret->rate_micro, err,
                    "SELECT SUM(rate_micro) FROM segment WHERE account_id = ?1 AND end_us = 0", "t",
                    account_id);
}

int64_t wallet_lasts_s(const struct wallet *w)
{
    if (w->rate_micro <= 0)
        return -1;
    return money_seconds_for(w->rate_micro, money_add(wallet_available(w), wallet_held(w)));
}

static int topup_seen(struct db_c *c, const char *account_id, int64_t micro, const char *reference,
                      char ret_txn[ID_TEXT], struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err,
                    "SELECT t.id, t.account_id, e.amount_micro FROM txn t JOIN entry e ON "
                    "e.txn_id = t.id WHERE t.kind = 'topup' AND t.ref = ?1 AND t.ref <> '' AND "
                    "e.amount_micro > 0",
                    "t", reference);
    if (rc <= 0)
        return rc;
    bool same = sl_streq(db_text(&q, 1), account_id) && db_int(&q, 2) == micro;
    snprintf(ret_txn, ID_TEXT, "%s", db_text(&q, 0));
    db_done(&q);
    if (!same)
        return sl_fail_at(err, SL_CONFLICT, "reference",
                          "reference: payment %.60s is booked already for another account or "
                          "amount (%s); use the number of this payment",
                          reference, ret_txn);
    return 1;
}

int wallet_topup_once(struct db_c *c, struct server *s, const char *account_id, int64_t micro,
                      const char *actor, const char *reason, const char *reference,
                      char ret_txn[ID_TEXT], struct sl_err *err)
{
    char currency[4], text[SL_MONEY_TEXT];
    if (micro <= 0 || micro > TOPUP_MAX)
        return sl_fail_at(err, SL_INVALID, "amount",
                          "amount: %s is not between 0.000001 and 1000000000",
                          money_format(micro, text));
    if (account_currency(c, account_id, currency, err) < 0)
        return -1;
    int rc = *reference ? topup_seen(c, account_id, micro, reference, ret_txn, err) : 0;
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    const struct posting p[] = {{NULL, LEDGER_BANK, -micro}, {account_id, LEDGER_CASH, micro}};
    if (ledger_post(c, s, "topup", reference, account_id, reason, currency, p, 2, ret_txn, err) < 0)
        return -1;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(2048);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "amount", money_format(micro, text));
    jw_str(&w, "currency", currency);
    jw_str(&w, "reason", reason);
    jw_end(&w);
    char mail[512];
    snprintf(mail, sizeof mail, "%s %s was paid in.\n\nTransaction: %s\n", text, currency, ret_txn);
    if (mail_queue(c, s, account_id, "Your payment", mail, err) < 0)
        return -1;
    return event_add(c, s, account_id, "wallet", ret_txn, "wallet.topup", actor, sl_buf_str(&b),
                     err);
}

int wallet_topup(struct db_c *c, struct server *s, const char *account_id, int64_t micro,
                 const char *actor, const char *reason, struct sl_err *err)
{
    char txn[ID_TEXT];
    return wallet_topup_once(c, s, account_id, micro, actor, reason, "", txn, err);
}

int wallet_grant_trial(struct db_c *c, struct server *s, const char *account_id,
                       const char *identity_hash, struct sl_err *err)
{
    char currency[4], txn[ID_TEXT], text[SL_MONEY_TEXT], data[128];
    int64_t had, micro = s->conf.trial_micro;
    if (account_currency(c, account_id, currency, err) < 0 ||
        db_value(c, 0, &had, err,
                 "SELECT COUNT(*) FROM trial_grant WHERE identity_hash = ?1 OR account_id = ?2",
                 "tt", identity_hash, account_id) < 0)
        return -1;
    if (had)
        return sl_fail_at(
            err, SL_CONFLICT, "identity",
            "identity: the trial credit was given to this person already; it is given "
            "once");
    if (micro <= 0)
        return sl_fail(err, SL_CONFLICT, "no trial credit is given here; top up to start");
    const struct posting p[] = {{NULL, LEDGER_PROMO, -micro}, {account_id, LEDGER_CREDIT, micro}};
    if (ledger_post(c, s, "grant", identity_hash, account_id, "trial credit", currency, p, 2, txn,
                    err) < 0 ||
        db_exec(c, err,
                "INSERT INTO trial_grant(identity_hash, account_id, amount_micro, txn_id, "
                "created_us) VALUES(?1, ?2, ?3, ?4, ?5)",
                "ttiti", identity_hash, account_id, micro, txn, env_now(s->env)) < 0)
        return -1;
    snprintf(data, sizeof data, "{\"amount\":\"%s\",\"currency\":\"%s\"}",
             money_format(micro, text), currency);
    return event_add(c, s, account_id, "wallet", txn, "wallet.trial", account_id, data, err);
}

int wallet_held_for(struct db_c *c, const char *lease_id, int64_t *ret_credit, int64_t *ret_cash,
                    struct sl_err *err)
{
    struct db_q q;
    *ret_credit = *ret_cash = 0;
    int rc = db_row(c, &q, err, "SELECT credit_micro, cash_micro FROM hold WHERE lease_id = ?1",
                    "t", lease_id);
    if (rc <= 0)
        return rc;
    *ret_credit = db_int(&q, 0);
    *ret_cash = db_int(&q, 1);
    db_done(&q);
    return 0;
}

/* The hold row follows the postings; no row means nothing is held. */
int wallet_hold_store(struct db_c *c, struct server *s, const char *account_id,
                      const char *lease_id, const char *currency, int64_t credit, int64_t cash,
                      struct sl_err *err)
{
    if (credit + cash == 0)
        return db_exec(c, err, "DELETE FROM hold WHERE lease_id = ?1", "t", lease_id);
    return db_exec(c, err,
                   "INSERT INTO hold(lease_id, account_id, currency, credit_micro, cash_micro, "
                   "updated_us) VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (lease_id) DO UPDATE "
                   "SET credit_micro = excluded.credit_micro, cash_micro = excluded.cash_micro, "
                   "updated_us = excluded.updated_us",
                   "tttiii", lease_id, account_id, currency, credit, cash, env_now(s->env));
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int no_credit(const struct wallet *w, int64_t amount, int64_t missing, struct sl_err *err)
{
    char a[SL_MONEY_TEXT], b[SL_MONEY_TEXT], d[SL_MONEY_TEXT];
    return sl_fail_at(err, SL_NO_CREDIT, "balance",
                      "balance: %s %s is missing: %s must be held ahead and %s is free; top up, or "
                      "ask for fewer cards",
                      money_format(missing, a), w->currency, money_format(amount, b),
                      money_format(wallet_available(w), d));
}

/* Brings what is held for the lease from credit + cash to `amount`. */
static int hold_to(struct db_c *c, struct server *s, const char *account_id, const char *lease_id,
                   int64_t amount, int64_t credit, int64_t cash, struct sl_err *err)
{
    struct wallet w;
    int64_t d_credit, d_cash, more = amount - credit - cash;
    SL_ASSERT(amount >= 0);
    if (more == 0)
        return 0;
    /* the two that matter, by their keys: cheaper than all four */
    w = (struct wallet){0};
    if (account_currency(c, account_id, w.currency, err) < 0 ||
        ledger_balance(c, account_id, LEDGER_CREDIT, w.currency, &w.credit, err) < 0 ||
        ledger_balance(c, account_id, LEDGER_CASH, w.currency, &w.cash, err) < 0)
        return -1;
    if (more > wallet_available(&w))
        return no_credit(&w, amount, more - wallet_available(&w), err);
    if (more > 0) {
        d_credit = least(more, w.credit); /* credit is spent first */
        d_cash = more - d_credit;
    } else {
        d_cash = -least(-more, cash); /* and cash is given back first */
        d_credit = more - d_cash;
    }
    const struct posting p[] = {{account_id, LEDGER_CREDIT, -d_credit},
                                {account_id, LEDGER_CASH, -d_cash},
                                {account_id, LEDGER_HELD_CREDIT, d_credit},
                                {account_id, LEDGER_HELD_CASH, d_cash}};
    if (ledger_post(c, s, more > 0 ? "hold" : "release", lease_id, account_id, "", w.currency, p, 4,
                    NULL, err) < 0)
        return -1;
    return wallet_hold_store(c, s, account_id, lease_id, w.currency, credit + d_credit,
                             cash + d_cash, err);
}

int wallet_hold(struct db_c *c, struct server *s, const char *account_id, const char *lease_id,
                int64_t amount, struct sl_err *err)
{
    int64_t credit, cash;
    if (wallet_held_for(c, lease_id, &credit, &cash, err) < 0)
        return -1;
    return hold_to(c, s, account_id, lease_id, amount, credit, cash, err);
}

int wallet_hold_new(struct db_c *c, struct server *s, const char *account_id, const char *lease_id,
                    int64_t amount, struct sl_err *err)
{
    return hold_to(c, s, account_id, lease_id, amount, 0, 0, err);
}

int wallet_spend_check(struct db_c *c, struct server *s, const char *account_id, int64_t rate_micro,
                       struct sl_err *err)
{
    int64_t runs, max = s->conf.spend_hour_micro;
    char a[SL_MONEY_TEXT], b[SL_MONEY_TEXT], m[SL_MONEY_TEXT];
    if (max == 0)
        return 0;
    if (db_value(c, 0, &runs, err,
                 "SELECT SUM(CASE cpu_run WHEN 1 THEN cpu_rate_micro ELSE rate_micro END) FROM "
                 "lease WHERE account_id = ?1 AND (gpu_mask <> 0 OR cpu_run = 1) AND state <> "
                 "'released' AND state <> 'failed'",
                 "t", account_id) < 0)
        return -1;
    if (rate_micro <= max - runs)
        return 0;
    return sl_fail_at(err, SL_QUOTA, "spend",
                      "spend: %s per hour run and %s are asked for, but the account's limit is %s "
                      "per hour; stop something or ask the operator for more",
                      money_format(runs, a), money_format(rate_micro, b), money_format(max, m));
}

int wallet_release(struct db_c *c, struct server *s, const char *lease_id, struct sl_err *err)
{
    struct db_q q;
    char account_id[ID_TEXT];
    int rc = db_row(c, &q, err, "SELECT account_id FROM hold WHERE lease_id = ?1", "t", lease_id);
    if (rc <= 0)
        return rc;
    snprintf(account_id, sizeof account_id, "%s", db_text(&q, 0));
    db_done(&q);
    return wallet_hold(c, s, account_id, lease_id, 0, err);
}
