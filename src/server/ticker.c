/* SPDX-License-Identifier: Apache-2.0 */
#include "server/ticker.h"
#include "base/core/failpoint.h"
#include "base/core/log.h"
#include "server/autostop.h"
#include "server/event.h"
#include "server/lease.h"
#include "server/mail.h"
#include "server/meter.h"
#include "server/metric.h"
#include "server/node.h"
#include "server/volume_meter.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

enum { ROUND_MS = 1000, BATCH = 1000, WARNINGS = 3, GRACE_S = 30 };

/* Guarded by lock. */
static struct {
    struct server *s;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop;
    int64_t since_us; /* monotonic: silence is counted while this server could have heard */
    pthread_t thread;
} clock_room = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char sql_running[] =
    "SELECT " LEASE_COLUMNS " FROM lease WHERE state = 'running' AND id > ?1 ORDER BY id LIMIT ?2";
static const char sql_ending[] =
    "SELECT " LEASE_COLUMNS " FROM lease WHERE state = 'running' AND funded_until_us <= ?1 AND "
    "id > ?2 ORDER BY id LIMIT ?3";
static const char sql_late[] =
    "SELECT " LEASE_COLUMNS " FROM lease WHERE state IN ('requested', 'queued', 'placed', "
    "'starting', 'stopping') AND deadline_us > 0 AND deadline_us <= ?1 AND id > ?2 ORDER BY id "
    "LIMIT ?3";
static const char sql_silent[] =
    "SELECT " LEASE_COLUMNS " FROM lease WHERE state = 'running' AND last_heartbeat_us <= ?1 AND "
    "id > ?2 ORDER BY id LIMIT ?3";
static const char sql_funded[] = "UPDATE lease SET funded_until_us = ?2 WHERE id = ?1";

struct warning {
    char email[256];
    int64_t lasts_s;
    struct warning *next;
};
struct tick {
    struct server *s;
    struct warning *warned; /* mailed after the commit */
    struct sl_arena arena;
    struct lease *rows; /* BATCH */
    int n;
    char after[ID_TEXT]; /* where this batch begins; a function may run twice */
    char last[ID_TEXT];  /* where it ended */
};

static int take_rows(struct tick *t, struct db_q *q, int rc, struct sl_err *err)
{
    t->n = 0;
    while (rc >= 0 && (rc = db_next(q, err)) > 0)
        lease_read(q, &t->arena, &t->rows[t->n++]);
    db_done(q);
    if (rc < 0)
        return -1;
    if (t->n)
        memcpy(t->last, t->rows[t->n - 1].id, ID_TEXT);
    return 0;
}

static void begin(struct tick *t)
{
    sl_arena_free(&t->arena);
    t->rows = sl_arena_alloc(&t->arena, BATCH * sizeof *t->rows);
}

/* One lease: capture up to the last proof of life, learn until when it is funded, stop it there. */
static int meter_one(struct db_c *c, struct server *s, const struct lease *l, struct sl_err *err)
{
    int64_t funded = 0, now = env_now(s->env), upto = lease_proven_us(s, l, now);
    if (meter_tick(c, s, l->id, upto, &funded, err) < 0 ||
        db_exec(c, err, sql_funded, "ti", l->id, funded) < 0)
        return -1;
    if (funded > now)
        return 0;
    FAILPOINT("ticker.funds_end");
    return lease_stop_at(c, s, l, funded < upto ? funded : upto, "system", "insufficient_funds",
                         err);
}

static int meter_all(struct db_c *c, void *arg, struct sl_err *err)
{
    struct tick *t = arg;
    struct db_q q;
    begin(t);
    int rc = db_query(c, &q, err, sql_running, "ti", t->after, (int64_t)BATCH);
    if (take_rows(t, &q, rc, err) < 0)
        return -1;
    for (int i = 0; i < t->n; i++)
        if (meter_one(c, t->s, &t->rows[i], err) < 0)
            return -1;
    FAILPOINT("ticker.metered");
    return 0;
}

static int meter_ending(struct db_c *c, void *arg, struct sl_err *err)
{
    struct tick *t = arg;
    struct db_q q;
    begin(t);
    int rc = db_query(c, &q, err, sql_ending, "iti", env_now(t->s->env), "", (int64_t)BATCH);
    if (take_rows(t, &q, rc, err) < 0)
        return -1;
    for (int i = 0; i < t->n; i++)
        if (meter_one(c, t->s, &t->rows[i], err) < 0)
            return -1;
    return 0;
}

static int deadlines(struct db_c *c, void *arg, struct sl_err *err)
{
    struct tick *t = arg;
    struct db_q q;
    begin(t);
    int rc = db_query(c, &q, err, sql_late, "iti", env_now(t->s->env), "", (int64_t)BATCH);
    if (take_rows(t, &q, rc, err) < 0)
        return -1;
    for (int i = 0; i < t->n; i++)
        if (lease_deadline(c, t->s, &t->rows[i], err) < 0)
            return -1;
    return 0;
}

/* Nothing was heard of these for fence_after: they are lost, and were not billed meanwhile. */
static int lost(struct db_c *c, void *arg, struct sl_err *err)
{
    struct tick *t = arg;
    struct server *s = t->s;
    struct db_q q;
    begin(t);
    int rc = db_query(c, &q, err, sql_silent, "iti",
                      env_now(s->env) - s->conf.fence_after_s * SL_SEC, "", (int64_t)BATCH);
    if (take_rows(t, &q, rc, err) < 0)
        return -1;
    for (int i = 0; i < t->n; i++)
        if (lease_stop_at(c, s, &t->rows[i], t->rows[i].last_heartbeat_us, "system",
                          "host_lost: no proof of life for too long", err) < 0)
            return -1;
    return 0;
}

/* Nodes that are stuck in a transient state. */
static int node_deadlines(struct db_c *c, void *arg, struct sl_err *err)
{
    struct tick *t = arg;
    char names[64][64];
    int n = 0;
    struct db_q q;
    int64_t now = env_now(t->s->env);
    int rc = db_query(c, &q, err,
                      "SELECT name FROM node WHERE (state = 'testing' AND state_since_us < ?1) OR "
                      "(state = 'sanitizing' AND state_since_us < ?2) LIMIT 64",
                      "ii", now - node_sm.states[NODE_TESTING].deadline_s * SL_SEC,
                      now - node_sm.states[NODE_SANITIZING].deadline_s * SL_SEC);
    while (rc >= 0 && (rc = db_next(&q, err)) > 0)
        (void)snprintf(names[n++], sizeof names[0], "%s", db_text(&q, 0));
    db_done(&q);
    for (int i = 0; rc >= 0 && i < n; i++)
        rc = node_quarantine(c, t->s, names[i], "it did not become clean or tested in time", err);
    return rc < 0 ? -1 : 0;
}

static int purge(struct db_c *c, void *arg, struct sl_err *err)
{
    return volume_expire(c, ((struct tick *)arg)->s, err);
}

/* ---- warnings: funds forecast per account, once per threshold until topped up again ---- */
static const struct {
    const char *kind;
    int64_t seconds;
} warnings[WARNINGS] = {{"funds_24h", 24 * 3600}, {"funds_3h", 3 * 3600}, {"funds_30min", 30 * 60}};

static const char sql_payers[] =
    "SELECT DISTINCT account_id FROM lease WHERE state = 'running' AND account_id > ?1 ORDER BY "
    "account_id LIMIT ?2";

static int remember(struct db_c *c, struct tick *t, const char *account, int64_t lasts_s,
                    struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err, "SELECT email FROM account WHERE id = ?1", "t", account);
    if (rc > 0) {
        struct warning *w = sl_arena_alloc(&t->arena, sizeof *w);
        (void)snprintf(w->email, sizeof w->email, "%s", db_text(&q, 0));
        w->lasts_s = lasts_s;
        w->next = t->warned;
        t->warned = w;
    }
    db_done(&q);
    return rc < 0 ? -1 : 0;
}

static void mail_warnings(struct tick *t)
{
    for (struct warning *w = t->warned; w; w = w->next) {
        char text[400];
        (void)snprintf(text, sizeof text,
                       "At the present rate your balance lasts %" PRId64 " h %" PRId64
                       " min. Then your instances are stopped; their disks are kept.\n"
                       "Top up to let them run on.\n",
                       w->lasts_s / 3600, w->lasts_s % 3600 / 60);
        mail_post(t->s, w->email, "Your balance is running low", text);
    }
}

static int warn_one(struct db_c *c, struct tick *t, const char *account, int64_t lasts_s,
                    struct sl_err *err)
{
    struct server *s = t->s;
    bool warned = false;
    for (int i = 0; i < WARNINGS; i++) {
        int64_t changed = 0;
        if (lasts_s > warnings[i].seconds) {
            if (db_exec(c, err, "DELETE FROM notice WHERE account_id = ?1 AND kind = ?2", "tt",
                        account, warnings[i].kind) < 0)
                return -1;
            continue;
        }
        if (db_exec_n(c, &changed, err,
                      "INSERT INTO notice(account_id, kind, ref, t_us) VALUES(?1, ?2, '', ?3) ON "
                      "CONFLICT (account_id, kind, ref) DO NOTHING",
                      "tti", account, warnings[i].kind, env_now(s->env)) < 0)
            return -1;
        if (!changed)
            continue;
        char data[96];
        (void)snprintf(data, sizeof data, "{\"lasts_s\":%" PRId64 ",\"warning\":\"%s\"}", lasts_s,
                       warnings[i].kind);
        if (event_add(c, s, account, "wallet", account, "wallet.low", "system", data, err) < 0)
            return -1;
        warned = true;
    }
    return warned ? remember(c, t, account, lasts_s, err) : 0; /* one mail for what came at once */
}

static int warn_all(struct db_c *c, void *arg, struct sl_err *err)
{
    struct tick *t = arg;
    struct db_q q;
    begin(t);
    t->warned = NULL;
    char(*accounts)[ID_TEXT] = sl_arena_alloc(&t->arena, BATCH * sizeof *accounts);
    int rc = db_query(c, &q, err, sql_payers, "ti", t->after, (int64_t)BATCH);
    t->n = 0;
    while (rc >= 0 && (rc = db_next(&q, err)) > 0)
        (void)snprintf(accounts[t->n++], ID_TEXT, "%s", db_text(&q, 0));
    db_done(&q);
    for (int i = 0; rc >= 0 && i < t->n; i++) {
        struct wallet w;
        rc = wallet_get(c, accounts[i], &w, err);
        int64_t lasts = rc < 0 ? -1 : wallet_lasts_s(&w);
        if (rc >= 0 && lasts >= 0)
            rc = warn_one(c, t, accounts[i], lasts, err);
    }
    if (t->n)
        memcpy(t->last, accounts[t->n - 1], ID_TEXT);
    return rc < 0 ? -1 : 0;
}

/* ---- rounds ---- */
struct probe {
    int64_t due;
    int64_t now;
    int64_t testing_before, sanitizing_before;
};

/* Whether anything of a round would write; a quiet server must not. */
static int look(struct db_c *c, void *arg, struct sl_err *err)
{
    struct probe *p = arg;
    return db_value(
        c, 0, &p->due, err,
        "SELECT (SELECT COUNT(*) FROM lease WHERE state = 'running' AND funded_until_us <= ?1) + "
        "(SELECT COUNT(*) FROM lease WHERE state IN ('requested', 'queued', 'placed', 'starting', "
        "'stopping') AND deadline_us > 0 AND deadline_us <= ?1) + "
        "(SELECT COUNT(*) FROM node WHERE (state = 'testing' AND state_since_us < ?2) OR "
        "(state = 'sanitizing' AND state_since_us < ?3)) + "
        "(SELECT COUNT(*) FROM volume WHERE state = 'deleted' AND purge_after_us > 0 AND "
        "purge_after_us <= ?1)",
        "iii", p->now, p->testing_before, p->sanitizing_before);
}

static int write_in_batches(struct tick *t, db_fn *fn, struct sl_err *err)
{
    t->last[0] = 0;
    do {
        memcpy(t->after, t->last, ID_TEXT);
        if (db_write(t->s->db, fn, t, err) < 0)
            return -1;
        mail_warnings(t);
        t->warned = NULL;
    } while (t->n == BATCH);
    return 0;
}

static int round_of(struct tick *t, bool meter, struct sl_err *err)
{
    struct server *s = t->s;
    int64_t now = env_now(s->env);
    struct probe p = {.now = now,
                      .testing_before = now - node_sm.states[NODE_TESTING].deadline_s * SL_SEC,
                      .sanitizing_before =
                          now - node_sm.states[NODE_SANITIZING].deadline_s * SL_SEC};
    if (autostop_round(s, err) < 0) /* first: no charge past a timer's end */
        return -1;
    if (meter &&
        (write_in_batches(t, meter_all, err) < 0 || write_in_batches(t, warn_all, err) < 0))
        return -1;
    if (meter && volume_meter_round(s, err) < 0)
        return -1;
    if (db_read(s->db, look, &p, err) < 0)
        return -1;
    if (p.due &&
        (db_write(s->db, meter_ending, t, err) < 0 || db_write(s->db, deadlines, t, err) < 0 ||
         db_write(s->db, node_deadlines, t, err) < 0 || db_write(s->db, purge, t, err) < 0))
        return -1;
    bool heard_long = env_mono(s->env) - clock_room.since_us > s->conf.fence_after_s * SL_SEC;
    if (meter && heard_long && db_write(s->db, lost, t, err) < 0)
        return -1;
    if (p.due || meter)
        bus_poke(s);
    return 0;
}

int ticker_once(struct server *s, bool meter, struct sl_err *err)
{
    struct tick t = {.s = s};
    int rc = round_of(&t, meter, err);
    sl_arena_free(&t.arena);
    return rc;
}

static void wait_round(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += ROUND_MS / 1000;
    pthread_cond_timedwait(&clock_room.wake, &clock_room.lock, &t);
}

static void *ticker_main(void *arg)
{
    struct server *s = arg;
    int64_t last_meter = 0;
    char quoted[LOG_QUOTED];
    pthread_mutex_lock(&clock_room.lock);
    while (!clock_room.stop) {
        pthread_mutex_unlock(&clock_room.lock);
        struct sl_err err = {0};
        int64_t now = env_mono(s->env);
        bool meter = now - last_meter >= s->conf.meter_s * SL_SEC;
        if (meter) {
            metric_count(METRIC_METER_TICKS, 1);
            if (last_meter && now - last_meter > 3 * s->conf.meter_s * SL_SEC)
                metric_count(METRIC_METER_GAPS, 1);
            last_meter = now;
        }
        if (ticker_once(s, meter, &err) < 0)
            log_error("ticker", "error=%s", log_quote(err.msg, quoted));
        pthread_mutex_lock(&clock_room.lock);
        if (!clock_room.stop)
            wait_round();
    }
    pthread_mutex_unlock(&clock_room.lock);
    return NULL;
}

/* While the server was away nodes could not report: their deadlines begin anew, shortly. */
static int grace(struct db_c *c, void *arg, struct sl_err *err)
{
    struct server *s = arg;
    int64_t until = env_now(s->env) + GRACE_S * SL_SEC;
    return db_exec(
        c, err,
        "UPDATE lease SET deadline_us = ?1 WHERE deadline_us > 0 AND deadline_us < ?1 AND "
        "state IN ('placed', 'starting', 'stopping')",
        "i", until);
}

int ticker_start(struct server *s, struct sl_err *err)
{
    if (db_write(s->db, grace, s, err) < 0)
        return -1;
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&clock_room.wake, &attr);
    clock_room.s = s;
    clock_room.stop = false;
    clock_room.since_us = env_mono(s->env);
    SL_ASSERT(pthread_create(&clock_room.thread, NULL, ticker_main, s) == 0);
    return 0;
}

void ticker_stop(void)
{
    if (!clock_room.s)
        return;
    pthread_mutex_lock(&clock_room.lock);
    clock_room.stop = true;
    pthread_cond_signal(&clock_room.wake);
    pthread_mutex_unlock(&clock_room.lock);
    pthread_join(clock_room.thread, NULL);
    clock_room.s = NULL;
}
