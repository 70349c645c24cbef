/* SPDX-License-Identifier: Apache-2.0 */
#include "server/volume_meter.h"
#include "base/core/failpoint.h"
#include "server/event.h"
#include "server/lease.h"
#include "server/mail.h"
#include "server/wallet.h"
#include <inttypes.h>
#include <stdio.h>

enum { BATCH = 200, WARN_S = 86400, AGAIN_S = 60 };
#define GB 1000000000LL

struct seg {
    char id[ID_TEXT], volume_id[ID_TEXT], account_id[ID_TEXT], currency[4];
    int64_t start_us, rate_micro, captured_s, captured_micro, captured_credit;
};
static const char sql_open[] =
    "SELECT id, volume_id, account_id, currency, start_us, rate_micro, captured_s, captured_micro, "
    "captured_credit_micro FROM volume_segment WHERE volume_id = ?1 AND end_us = 0";
static const char sql_add[] =
    "INSERT INTO volume_segment(id, volume_id, account_id, seq, start_us, gb, rate_micro, "
    "currency, "
    "tariff_id) VALUES(?1, ?2, ?3, (SELECT COALESCE(MAX(seq), 0) + 1 FROM volume_segment WHERE "
    "volume_id = ?2), ?4, ?5, ?6, ?7, ?8)";
static const char sql_store[] =
    "UPDATE volume_segment SET captured_s = ?2, captured_micro = ?3, captured_credit_micro = ?4, "
    "end_us = ?5, end_reason = ?6 WHERE id = ?1";

int64_t volume_gb(int64_t size_bytes)
{
    return (size_bytes + GB - 1) / GB;
}

static int64_t charge(const struct seg *g, int64_t seconds)
{
    return money_charge_per(g->rate_micro, seconds, MONEY_MONTH_S);
}

/* 1 found, 0 none, -1 error. */
static int open_segment(struct db_c *c, const char *volume_id, struct seg *g, struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err, sql_open, "t", volume_id);
    if (rc > 0) {
        *g = (struct seg){.start_us = db_int(&q, 4),
                          .rate_micro = db_int(&q, 5),
                          .captured_s = db_int(&q, 6),
                          .captured_micro = db_int(&q, 7),
                          .captured_credit = db_int(&q, 8)};
        (void)snprintf(g->id, sizeof g->id, "%s", db_text(&q, 0));
        (void)snprintf(g->volume_id, sizeof g->volume_id, "%s", db_text(&q, 1));
        (void)snprintf(g->account_id, sizeof g->account_id, "%s", db_text(&q, 2));
        (void)snprintf(g->currency, sizeof g->currency, "%s", db_text(&q, 3));
    }
    db_done(&q);
    return rc;
}

/* The tariff that the disk is pinned to; pins it. */
static int pinned(struct db_c *c, struct server *s, const struct volume *v, const char *currency,
                  struct tariff *t, struct sl_err *err)
{
    char id[ID_TEXT] = "";
    struct db_q q;
    int rc = db_row(c, &q, err, "SELECT tariff_id FROM volume WHERE id = ?1", "t", v->id);
    if (rc > 0)
        (void)snprintf(id, sizeof id, "%s", db_text(&q, 0));
    db_done(&q);
    if (rc < 0)
        return -1;
    if (*id)
        return tariff_by_id(c, id, t, err);
    if (tariff_get(c, TARIFF_DISK, currency, env_now(s->env), t, err) < 0)
        return -1;
    if (!*t->id && tariff_pin(c, s, TARIFF_DISK, currency, t, err) < 0)
        return -1;
    return db_exec(c, err, "UPDATE volume SET tariff_id = ?2 WHERE id = ?1", "tt", v->id, t->id);
}

int volume_meter_start(struct db_c *c, struct server *s, const struct volume *v, struct sl_err *err)
{
    struct seg g;
    struct wallet w;
    struct tariff t;
    char id[ID_TEXT];
    int64_t last = 0, now = env_now(s->env), gb = volume_gb(v->size_bytes);
    int rc = open_segment(c, v->id, &g, err);
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    if (wallet_get(c, v->account_id, &w, err) < 0 || pinned(c, s, v, w.currency, &t, err) < 0 ||
        db_value(c, 0, &last, err,
                 "SELECT MAX(CASE WHEN end_us > start_us THEN end_us ELSE start_us + 1 END) FROM "
                 "volume_segment WHERE volume_id = ?1",
                 "t", v->id) < 0)
        return -1;
    if (t.price_micro == 0)
        return 0;
    return db_exec(c, err, sql_add, "tttiiitt", env_id(s->env, "vsg", id), v->id, v->account_id,
                   now > last ? now : last, gb, money_mul(t.price_micro, gb), w.currency, t.id);
}

/* Charges whole seconds up to upto_us as far as free funds reach; *ret_s: seconds paid in all. */
static int charge_to(struct db_c *c, struct server *s, struct seg *g, int64_t upto_us,
                     struct sl_err *err)
{
    struct wallet w;
    char memo[64];
    if (wallet_get(c, g->account_id, &w, err) < 0)
        return -1;
    int64_t secs = (upto_us - g->start_us) / SL_SEC;
    int64_t funds = g->captured_micro + wallet_available(&w);
    int64_t reach = money_seconds_for_per(g->rate_micro, funds, MONEY_MONTH_S);
    secs = secs < reach ? secs : reach;
    if (secs <= g->captured_s)
        return 0;
    int64_t due = charge(g, secs) - g->captured_micro;
    if (due > 0) {
        int64_t credit = due < w.credit ? due : w.credit;
        const struct posting p[] = {{g->account_id, LEDGER_CREDIT, -credit},
                                    {g->account_id, LEDGER_CASH, -(due - credit)},
                                    {NULL, LEDGER_REVENUE, due}};
        (void)snprintf(memo, sizeof memo, "seconds %lld..%lld", (long long)g->captured_s,
                       (long long)secs);
        if (ledger_post(c, s, "disk", g->id, g->account_id, memo, g->currency, p, 3, NULL, err) < 0)
            return -1;
        g->captured_micro += due;
        g->captured_credit += credit;
        g->captured_s = secs;
    }
    return 0;
}

static int store(struct db_c *c, const struct seg *g, int64_t end_us, const char *reason,
                 struct sl_err *err)
{
    return db_exec(c, err, sql_store, "tiiiit", g->id, g->captured_s, g->captured_micro,
                   g->captured_credit, end_us, reason);
}

/* Seconds that cost less than a micro-unit are paid too, so that a closed segment is as long as
 * what was charged of it. */
static int64_t end_of(struct seg *g, int64_t end_us)
{
    int64_t secs = (end_us - g->start_us) / SL_SEC;
    if (secs >= g->captured_s && charge(g, secs) == g->captured_micro) {
        g->captured_s = secs;
        return end_us;
    }
    return g->start_us + g->captured_s * SL_SEC;
}

int volume_meter_stop(struct db_c *c, struct server *s, const char *volume_id, const char *reason,
                      struct sl_err *err)
{
    struct seg g;
    int64_t now = env_now(s->env);
    int rc = open_segment(c, volume_id, &g, err);
    if (rc <= 0)
        return rc;
    if (charge_to(c, s, &g, now, err) < 0)
        return -1;
    FAILPOINT("volume.metered");
    int64_t end = end_of(&g, now > g.start_us ? now : g.start_us);
    return store(c, &g, end, reason, err);
}

int volume_cost(struct db_c *c, struct server *s, const char *volume_id, int64_t *ret_month,
                int64_t *ret_cost, struct sl_err *err)
{
    struct seg g;
    *ret_month = 0;
    if (db_value(c, 0, ret_cost, err,
                 "SELECT SUM(captured_micro) FROM volume_segment WHERE volume_id = ?1", "t",
                 volume_id) < 0)
        return -1;
    int rc = open_segment(c, volume_id, &g, err);
    if (rc <= 0)
        return rc;
    *ret_month = g.rate_micro;
    int64_t secs = (env_now(s->env) - g.start_us) / SL_SEC;
    *ret_cost += secs > g.captured_s ? charge(&g, secs) - g.captured_micro : 0;
    return 0;
}

/* ---- rounds ---- */
struct mail {
    char email[256], subject[120], text[500];
    struct mail *next;
};
struct round {
    struct server *s;
    struct sl_arena arena;
    struct mail *mails;
    int64_t due;
};

static int tell(struct db_c *c, struct round *k, const struct volume *v, const char *type,
                const char *why, int64_t until_us, struct sl_err *err)
{
    char when[TS_TEXT], data[120];
    struct db_q q;
    struct mail *m = sl_arena_alloc(&k->arena, sizeof *m);
    int rc = db_row(c, &q, err, "SELECT email FROM account WHERE id = ?1", "t", v->account_id);
    if (rc > 0)
        (void)snprintf(m->email, sizeof m->email, "%s", db_text(&q, 0));
    db_done(&q);
    if (rc < 0)
        return -1;
    ts_format(until_us, when);
    (void)snprintf(data, sizeof data, "{\"kept_until\":\"%s\"}", when);
    (void)snprintf(m->subject, sizeof m->subject, "Disk %s is %s", v->name, why);
    (void)snprintf(m->text, sizeof m->text,
                   "Your balance does not pay for disk %s. It is kept until %s, at no charge.\n"
                   "Top up before then, and it stays. After that it is deleted.\n",
                   v->name, when);
    m->next = k->mails;
    k->mails = m;
    return event_add(c, k->s, v->account_id, "volume", v->id, type, "system", data, err);
}

static int keep_until(struct db_c *c, const char *id, int64_t until_us, struct sl_err *err)
{
    return db_exec(c, err, "UPDATE volume SET kept_until_us = ?2, warned_us = 0 WHERE id = ?1",
                   "ti", id, until_us);
}

/* One open segment: charge it; where funds end, so does it. */
static int meter_one(struct db_c *c, struct round *k, const char *volume_id, struct sl_err *err)
{
    struct seg g;
    struct volume v;
    struct server *s = k->s;
    int64_t now = env_now(s->env);
    int rc = open_segment(c, volume_id, &g, err);
    if (rc <= 0 || charge_to(c, s, &g, now, err) < 0)
        return rc <= 0 ? rc : -1;
    int64_t secs = (now - g.start_us) / SL_SEC;
    if (secs <= g.captured_s || charge(&g, secs) == g.captured_micro)
        return store(c, &g, 0, "", err);
    int64_t until = now + s->conf.disk_keep_s * SL_SEC;
    FAILPOINT("volume.unpaid");
    if (store(c, &g, end_of(&g, now), "insufficient_funds", err) < 0 ||
        keep_until(c, volume_id, until, err) < 0 || volume_get(c, NULL, volume_id, &v, err) < 0)
        return -1;
    return tell(c, k, &v, "volume.unpaid", "not paid", until, err);
}

static int drop(struct db_c *c, struct round *k, const struct volume *v, struct sl_err *err)
{
    SL_AUTO_ARENA struct sl_arena a = {0};
    struct lease l = {.state = LEASE_RELEASED};
    if (*v->lease_id && lease_get(c, NULL, v->lease_id, &a, &l, err) < 0)
        return -1;
    FAILPOINT("volume.unpaid_delete");
    if (l.state == LEASE_STOPPED && !lease_on_node(&l))
        return lease_release(c, k->s, &l, "system", err);
    if (l.state == LEASE_RELEASED || l.state == LEASE_FAILED)
        return volume_delete(c, k->s, v->id, true, "system", err);
    return keep_until(c, v->id, env_now(k->s->env) + AGAIN_S * SL_SEC, err); /* it runs */
}

/* One unpaid disk: are there funds again, is its date near or past? */
static int unpaid_one(struct db_c *c, struct round *k, const char *volume_id, struct sl_err *err)
{
    struct volume v;
    struct wallet w;
    struct tariff t;
    struct server *s = k->s;
    int64_t now = env_now(s->env), warned = 0;
    if (volume_get(c, NULL, volume_id, &v, err) < 0 || wallet_get(c, v.account_id, &w, err) < 0 ||
        pinned(c, s, &v, w.currency, &t, err) < 0 ||
        db_value(c, 0, &warned, err, "SELECT warned_us FROM volume WHERE id = ?1", "t", v.id) < 0)
        return -1;
    if (v.state == VOLUME_DELETED || v.state == VOLUME_PURGED)
        return keep_until(c, v.id, 0, err);
    int64_t hour =
        money_charge_per(money_mul(t.price_micro, volume_gb(v.size_bytes)), 3600, MONEY_MONTH_S);
    if (wallet_available(&w) > hour)
        return keep_until(c, v.id, 0, err) < 0 ? -1 : volume_meter_start(c, s, &v, err);
    if (now >= v.kept_until_us)
        return drop(c, k, &v, err);
    if (warned || now < v.kept_until_us - WARN_S * SL_SEC)
        return 0;
    if (db_exec(c, err, "UPDATE volume SET warned_us = ?2 WHERE id = ?1", "ti", v.id, now) < 0)
        return -1;
    return tell(c, k, &v, "volume.deleted_soon", "deleted soon", v.kept_until_us, err);
}

static int each(struct db_c *c, struct round *k, const char *sql, int64_t t_us,
                int (*fn)(struct db_c *, struct round *, const char *, struct sl_err *),
                struct sl_err *err)
{
    char ids[BATCH][ID_TEXT];
    int n = 0;
    struct db_q q;
    int rc = db_query(c, &q, err, sql, "ii", t_us, (int64_t)BATCH);
    while (rc >= 0 && (rc = db_next(&q, err)) > 0)
        (void)snprintf(ids[n++], ID_TEXT, "%s", db_text(&q, 0));
    db_done(&q);
    for (int i = 0; rc >= 0 && i < n; i++)
        rc = fn(c, k, ids[i], err);
    return rc < 0 ? -1 : 0;
}

/* The longest unpaid first; a batch a round. */
#define DUE "FROM volume_segment WHERE end_us = 0 AND start_us + captured_s * 1000000 <= ?1"
static const char sql_due[] = "SELECT volume_id " DUE " ORDER BY start_us + captured_s * 1000000 "
                              "LIMIT ?2";
static const char sql_unpaid[] =
    "SELECT id FROM volume WHERE kept_until_us > 0 AND ?1 > 0 ORDER BY "
    "kept_until_us LIMIT ?2";

static int64_t due_before(const struct round *k)
{
    return env_now(k->s->env) - k->s->conf.disk_meter_s * SL_SEC;
}

static int do_round(struct db_c *c, void *arg, struct sl_err *err)
{
    struct round *k = arg;
    sl_arena_free(&k->arena);
    k->mails = NULL;
    return each(c, k, sql_due, due_before(k), meter_one, err) < 0 ||
                   each(c, k, sql_unpaid, 1, unpaid_one, err) < 0
               ? -1
               : 0;
}

static int look(struct db_c *c, void *arg, struct sl_err *err)
{
    struct round *k = arg;
    return db_value(c, 0, &k->due, err,
                    "SELECT (SELECT COUNT(*) " DUE ") + (SELECT COUNT(*) FROM volume WHERE "
                    "kept_until_us > 0)",
                    "i", due_before(k));
}

int volume_meter_round(struct server *s, struct sl_err *err)
{
    struct round k = {.s = s};
    int rc = db_read(s->db, look, &k, err);
    if (rc == 0 && k.due) {
        rc = db_write(s->db, do_round, &k, err);
        for (struct mail *m = rc == 0 ? k.mails : NULL; m; m = m->next)
            mail_post(s, m->email, m->subject, m->text);
    }
    sl_arena_free(&k.arena);
    return rc < 0 ? -1 : 0;
}
