/* SPDX-License-Identifier: Apache-2.0
 *
 * money_world.h: a server with a store in a directory of its own, a clock that the test sets and
 * ids from a seed, and one way to do things to it: struct op, each in its own transaction. Included
 * by the money tests; everything is static.
 */
#ifndef MONEY_WORLD_H
#define MONEY_WORLD_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "server/audit_money.h"
#include "server/boot.h"
#include "server/catalog.h"
#include "server/meter.h"
#include "server/price.h"
#include "server/quote.h"
#include "server/statement.h"
#include "wire/bill.h"
#include <pthread.h>

#define MINUTE (60 * SL_SEC)
#define HOUR (3600 * SL_SEC)
#define T0 (1796000000LL * SL_SEC) /* an instant in November 2026 */

struct world {
    struct env env; /* first: its functions find the rest from it */
    struct server s;
    int64_t now_us;
    uint64_t random;
    pthread_mutex_t lock;
    char dir[64], db_path[96];
    int nodes;
};

enum op_kind {
    OP_ACCOUNT,
    OP_OPEN,
    OP_TOPUP,
    OP_TRIAL,
    OP_QUOTE,
    OP_QUOTE_USE,
    OP_LEASE,
    OP_HOLD,
    OP_RELEASE,
    OP_RUN,
    OP_TICK,
    OP_STOP,
    OP_GIVE_UP,
    OP_CREDIT,
    OP_PRICE,
    OP_STATEMENT,
    OP_COST,
    OP_SPEND,
    OP_AUDIT,
    OP_SQL
};
struct op {
    enum op_kind kind;
    const char *account, *lease, *text, *model, *currency;
    int64_t micro, gpus, t_us, to_us;
    struct world *w;
    /* answers */
    char id[ID_TEXT];
    int64_t ret;
    struct quote quote;
    struct sl_buf *buf;
    struct audit_report *report;
};

static inline uint64_t world_random(struct world *w)
{
    /* splitmix64 (Steele, Lea, Flood 2014) */
    uint64_t z = w->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
static inline int64_t world_range(struct world *w, int64_t low, int64_t high)
{
    return low + (int64_t)(world_random(w) % (uint64_t)(high - low + 1));
}
static int64_t world_now(struct env *e)
{
    return ((struct world *)e)->now_us;
}
static void world_bytes(struct env *e, void *out, size_t n)
{
    struct world *w = (struct world *)e;
    pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)out)[i] = (uint8_t)world_random(w);
    pthread_mutex_unlock(&w->lock);
}

static struct world *world_open(uint64_t seed, bool inline_writes)
{
    struct world *w = sl_alloc(sizeof *w);
    struct sl_err err = {0};
    w->env = (struct env){world_now, world_now, world_bytes, NULL};
    w->random = seed;
    w->now_us = T0;
    pthread_mutex_init(&w->lock, NULL);
    snprintf(w->dir, sizeof w->dir, "/tmp/starlease-money-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    snprintf(w->db_path, sizeof w->db_path, "%s/m.db", w->dir);
    w->s = (struct server){.env = &w->env,
                           .conf = {.db_path = w->db_path,
                                    .trial_micro = 10 * SL_MICRO,
                                    .currency = "CNY",
                                    .hold_horizon_s = 600,
                                    .quote_ttl_s = 900,
                                    .disk_keep_s = 15 * 86400,
                                    .fence_after_s = 900}};
    if (server_open(&w->s, inline_writes, &err) < 0)
        fail_msg("%s", err.msg);
    return w;
}

static void world_close(struct world *w)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char path[128];
    server_close(&w->s);
    for (size_t i = 0; i < SL_COUNT(ends); i++) {
        snprintf(path, sizeof path, "%s%s", w->db_path, ends[i]);
        unlink(path);
    }
    rmdir(w->dir);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

static int op_account(struct db_c *c, struct op *o, struct sl_err *err)
{
    char id[ID_TEXT], email[64];
    env_id(&o->w->env, "acc", id);
    snprintf(email, sizeof email, "%s@example.org", id);
    if (db_exec(c, err,
                "INSERT INTO account(id, email, email_norm, password_hash, role, state, "
                "state_reason, currency, "
                "quota_gpus, quota_leases, quota_disk_gb, created_us, updated_us) "
                "VALUES(?1, ?2, ?2, '', 'renter', 'active', '', ?3, 64, 64, 1000, ?4, ?4)",
                "ttti", id, email, o->currency ? o->currency : "CNY", o->w->now_us) < 0)
        return -1;
    snprintf(o->id, sizeof o->id, "%s", id);
    return wallet_open(c, &o->w->s, id, err);
}

static int op_price(struct db_c *c, struct op *o, struct sl_err *err)
{
    struct price p = {.model = o->model,
                      .frameworks = "",
                      .note = "",
                      .source = "test",
                      .price_micro = o->micro,
                      .effective_us = o->t_us};
    snprintf(p.currency, sizeof p.currency, "%s", o->currency ? o->currency : "CNY");
    if (db_exec(c, err,
                "INSERT INTO model(name, maker, memory_type, memory_bytes, devices_per_card, gfx, "
                "partition_modes, "
                "updated_us) VALUES(?1, 'AMD', 'HBM', 1073741824, 1, 'gfx', '', 0) ON CONFLICT "
                "(name) DO NOTHING",
                "t", o->model) < 0 ||
        db_exec(c, err,
                "INSERT INTO image(id, name, digest, source, state, state_since_us, size_bytes, "
                "files, reason, "
                "created_us) VALUES('img', 'debian', '', '', 'available', 0, 0, 0, '', 0) ON "
                "CONFLICT DO NOTHING",
                "") < 0 ||
        price_add(c, &o->w->s, &p, "test", err) < 0)
        return -1;
    snprintf(o->id, sizeof o->id, "%s", p.id);
    return 0;
}

static int op_quote(struct db_c *c, struct op *o, struct sl_err *err)
{
    struct quote_want want = {.model = o->model, .image = "debian", .gpus = o->gpus, .disk_gb = 10};
    return quote_make(c, &o->w->s, o->account, &want, &o->quote, err);
}

/* A placed lease on a node of its own with its funds held, as lease.c makes it. */
static int op_lease(struct db_c *c, struct op *o, struct sl_err *err)
{
    struct world *w = o->w;
    struct quote *q = &o->quote;
    char id[ID_TEXT], node[32];
    int64_t mask = (int64_t)((1ull << (o->gpus - 1) << 1) - 1);
    env_id(&w->env, "lea", id);
    snprintf(node, sizeof node, "node-%d", ++w->nodes);
    if (op_quote(c, o, err) < 0 || quote_use(c, &w->s, o->account, q->id, id, q, err) < 0 ||
        wallet_hold(c, &w->s, o->account, id, q->hold_micro, err) < 0 ||
        db_exec(
            c, err,
            "INSERT INTO node(name, id, state, state_since_us, health, model, cards, "
            "devices_per_card, free_mask, "
            "free_cards, leased_mask, account_id, engine, addr, place_order, cpus, memory_bytes, "
            "card_memory_bytes, emulated, facts, seen_us, created_us) VALUES(?1, ?1, 'leased', 0, "
            "'good', ?2, ?3, "
            "1, 0, 0, ?4, ?5, 'local', '', 0, 1, 1, 1073741824, 1, '{}', 0, 0)",
            "ttiit", node, o->model, o->gpus, mask, o->account) < 0 ||
        db_exec(
            c, err,
            "INSERT INTO lease(id, account_id, name, state, state_since_us, epoch, model, gpus, "
            "node_name, "
            "gpu_mask, slot, quote_id, price_version_id, rate_micro, currency, horizon_s, image, "
            "volume_id, "
            "disk_gb, command, ssh_keys, nonce, created_us, updated_us) VALUES(?1, ?2, ?1, "
            "'starting', 0, 1, ?3, "
            "?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 'debian', '', 10, '[]', '[]', '', ?13, ?13)",
            "tttitiittitii", id, o->account, o->model, o->gpus, node, mask, (int64_t)w->nodes,
            q->id, q->price_version_id, q->rate_micro, q->currency, q->horizon_s, w->now_us) < 0)
        return -1;
    snprintf(o->id, sizeof o->id, "%s", id);
    return 0;
}

static int lease_state(struct db_c *c, const char *lease, const char *state, struct sl_err *err)
{
    return db_exec(c, err, "UPDATE lease SET state = ?2 WHERE id = ?1", "tt", lease, state);
}

static int op_run(struct db_c *c, void *arg, struct sl_err *err)
{
    struct op *o = arg;
    struct server *s = &o->w->s;
    int64_t t = o->t_us ? o->t_us : o->w->now_us;
    switch (o->kind) {
    case OP_ACCOUNT:
        return op_account(c, o, err);
    case OP_OPEN:
        return wallet_open(c, s, o->account, err);
    case OP_TOPUP:
        return wallet_topup_once(c, s, o->account, o->micro, "test", "paid", o->text ? o->text : "",
                                 o->id, err);
    case OP_TRIAL:
        return wallet_grant_trial(c, s, o->account, o->text, err);
    case OP_QUOTE:
        return op_quote(c, o, err);
    case OP_QUOTE_USE:
        return quote_use(c, s, o->account, o->text, o->lease, &o->quote, err);
    case OP_LEASE:
        return op_lease(c, o, err);
    case OP_HOLD:
        return wallet_hold(c, s, o->account, o->lease, o->micro, err);
    case OP_RELEASE:
        return wallet_release(c, s, o->lease, err);
    case OP_RUN:
        if (meter_start(c, s, o->lease, t, err) < 0)
            return -1;
        return lease_state(c, o->lease, "running", err);
    case OP_TICK:
        return meter_tick(c, s, o->lease, t, &o->ret, err);
    case OP_STOP:
    case OP_GIVE_UP:
        if (meter_stop(c, s, o->lease, t, o->text ? o->text : "stopped by the renter", err) < 0)
            return -1;
        return lease_state(c, o->lease, o->kind == OP_STOP ? "stopped" : "failed", err);
    case OP_CREDIT:
        return meter_credit(c, s, o->lease, o->micro, o->text, err);
    case OP_PRICE:
        return op_price(c, o, err);
    case OP_STATEMENT:
        return statement_make(c, s, o->account, o->t_us, o->to_us, o->buf, err);
    case OP_COST:
        return meter_cost(c, o->lease, t, &o->ret, err);
    case OP_SPEND:
        return wallet_spend_check(c, s, o->account, o->micro, err);
    case OP_AUDIT:
        return audit_money(c, s, o->report, err);
    case OP_SQL:
        return db_exec(c, err, o->text, "");
    }
    return -1;
}

static int op_try(struct world *w, struct op *o, struct sl_err *err)
{
    o->w = w;
    *err = (struct sl_err){0};
    if (o->kind == OP_STATEMENT || o->kind == OP_AUDIT || o->kind == OP_COST)
        return db_read(w->s.db, op_run, o, err);
    return db_write(w->s.db, op_run, o, err);
}

static void op_must(struct world *w, struct op *o)
{
    struct sl_err err;
    if (op_try(w, o, &err) < 0)
        fail_msg("operation %d: %s", o->kind, err.msg);
}
#define DO(w, ...) op_must((w), &(struct op){__VA_ARGS__})

static inline void world_account(struct world *w, char out[ID_TEXT])
{
    struct op o = {.kind = OP_ACCOUNT};
    op_must(w, &o);
    snprintf(out, ID_TEXT, "%s", o.id);
}
static inline void world_lease(struct world *w, const char *account, const char *model,
                               int64_t gpus, char out[ID_TEXT])
{
    struct op o = {.kind = OP_LEASE, .account = account, .model = model, .gpus = gpus};
    op_must(w, &o);
    snprintf(out, ID_TEXT, "%s", o.id);
}

struct world_get {
    const char *account;
    struct wallet wallet;
    const char *sql;
    int64_t value;
    char *text;
    size_t text_n;
};
static int world_get_fn(struct db_c *c, void *arg, struct sl_err *err)
{
    struct world_get *g = arg;
    struct db_q q;
    if (g->account)
        return wallet_get(c, g->account, &g->wallet, err);
    if (!g->text)
        return db_value(c, 0, &g->value, err, g->sql, "");
    int rc = db_row(c, &q, err, g->sql, "");
    snprintf(g->text, g->text_n, "%s", rc > 0 ? db_text(&q, 0) : "");
    db_done(&q);
    return rc < 0 ? -1 : 0;
}
static inline struct wallet world_wallet(struct world *w, const char *account)
{
    struct world_get g = {.account = account};
    struct sl_err err = {0};
    assert_int_equal(db_read(w->s.db, world_get_fn, &g, &err), 0);
    return g.wallet;
}
static inline int64_t world_value(struct world *w, const char *sql)
{
    struct world_get g = {.sql = sql};
    struct sl_err err = {0};
    if (db_read(w->s.db, world_get_fn, &g, &err) < 0)
        fail_msg("%s", err.msg);
    return g.value;
}
static inline void world_text(struct world *w, const char *sql, char *out, size_t n)
{
    struct world_get g = {.sql = sql, .text = out, .text_n = n};
    struct sl_err err = {0};
    if (db_read(w->s.db, world_get_fn, &g, &err) < 0)
        fail_msg("%s", err.msg);
}
/* What all segments of the world have captured. */
static inline int64_t world_revenue(struct world *w)
{
    return world_value(
        w, "SELECT COALESCE(SUM(balance_micro), 0) FROM ledger_account WHERE kind = 'revenue'");
}
static inline bool world_audit(struct world *w, char detail[AUDIT_DETAIL])
{
    struct audit_report *r = sl_alloc(sizeof *r);
    struct op o = {.kind = OP_AUDIT, .report = r};
    op_must(w, &o);
    bool ok = r->ok;
    detail[0] = 0;
    for (int i = 0; i < r->n && !*detail; i++)
        if (!r->checks[i].ok)
            snprintf(detail, AUDIT_DETAIL, "%s %.60s: %.150s", r->checks[i].id, r->checks[i].name,
                     r->checks[i].detail);
    free(r);
    return ok;
}
static inline void assert_audit(struct world *w)
{
    char detail[AUDIT_DETAIL];
    if (!world_audit(w, detail))
        fail_msg("%s", detail);
}
#endif
