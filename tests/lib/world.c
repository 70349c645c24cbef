/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"
#include "server/placement.h"
#include "base/io/proc.h"
#include "server/audit_money.h"
#include "server/boot.h"
#include "server/node.h"
#include "server/quote.h"
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>

#define START_US 1790000000000000LL /* 2026-09-21T14:13:20Z; any instant would do */
static const char pub_key[] =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ7VbJ2pNVYQ5wC6nq3kTtG5J7c5p0l3fYv0fZ4n2b6k test";

static void must(int rc, const struct sl_err *err, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "world: %s: %s\n", what, err->msg);
    abort();
}

static int64_t world_now(struct env *e)
{
    return ((struct world *)e->data)->now_us;
}

static const struct world_options *options;

static int nodes_add(struct db_c *c, void *arg, struct sl_err *err)
{
    struct world *w = arg;
    SL_AUTO_BUF struct sl_buf facts = SL_BUF(1 << 20);
    sl_buf_adds(&facts, "{\"cards\":[");
    for (int i = 0; i < w->cards; i++)
        sl_buf_printf(&facts, "%s{\"index\":%d,\"numa\":%d,\"memory_bytes\":206158430208}",
                      i ? "," : "", i, i * 2 / w->cards);
    sl_buf_adds(&facts, "],\"links\":[");
    for (int a = 0, n = 0; a < w->cards; a++)
        for (int b = a + 1; b < w->cards; b++)
            sl_buf_printf(&facts, "%s[%d,%d,15]", n++ ? "," : "", a, b);
    sl_buf_adds(&facts, "]}");
    SL_AUTO_BUF struct sl_buf topology = SL_BUF(1 << 14);
    struct jr_doc *doc;
    struct place_topology t;
    if (jr_open(sl_buf_str(&facts), facts.n, &doc, err) < 0)
        return -1;
    place_topology_read(jr_root(doc), &t);
    jr_close(doc);
    place_topology_text(&t, w->cards, &topology);
    uint64_t all = w->cards == 64 ? UINT64_MAX : (1ULL << w->cards) - 1;
    for (int i = 1; i <= options->nodes; i++) {
        char name[64], id[ID_TEXT];
        (void)snprintf(name, sizeof name, "n%05d", i);
        if (db_exec(
                c, err,
                "INSERT INTO node(name, id, state, state_since_us, health, model, cards, "
                "devices_per_card, free_mask, free_cards, engine, addr, place_order, cpus, "
                "memory_bytes, card_memory_bytes, emulated, facts, topology, seen_us, created_us) "
                "VALUES(?1, ?2, 'available', ?3, 'good', 'MI300X', ?4, 1, ?5, ?4, 'local', "
                "'unix:/nowhere', ?6, 128, 2199023255552, 206158430208, 1, ?7, ?8, ?3, ?3)",
                "ttiiiitt", name, env_id(w->s.env, "nod", id), env_now(w->s.env), (int64_t)w->cards,
                (int64_t)all, (int64_t)i, sl_buf_str(&facts), sl_buf_str(&topology)) < 0 ||
            db_exec(c, err,
                    "INSERT INTO node_image(node_name, image, digest) VALUES(?1, 'debian', "
                    "'sha256:0')",
                    "t", name) < 0)
            return -1;
    }
    return 0;
}

static int goods_add(struct db_c *c, void *arg, struct sl_err *err)
{
    struct world *w = arg;
    char id[ID_TEXT];
    int64_t now = env_now(w->s.env);
    if (db_exec(c, err,
                "INSERT INTO model(name, maker, memory_type, memory_bytes, devices_per_card, gfx, "
                "partition_modes, updated_us) VALUES('MI300X', 'AMD', 'HBM3', 206158430208, 1, "
                "'gfx942', 'SPX', ?1)",
                "i", now) < 0 ||
        db_exec(c, err,
                "INSERT INTO price_version(id, model, price_micro, currency, unit, memory_gb_told, "
                "frameworks, note, source, effective_us, created_us) VALUES(?1, 'MI300X', ?2, "
                "'CNY', 'gpu_hour', 192, '', '', 'test', ?3, ?3)",
                "tii", env_id(w->s.env, "prv", id),
                options->price_micro ? options->price_micro : 2200000, now - SL_SEC) < 0)
        return -1;
    return db_exec(c, err,
                   "INSERT INTO image(id, name, digest, source, state, state_since_us, size_bytes, "
                   "files, reason, created_us) VALUES(?1, 'debian', 'sha256:0', '', 'available', "
                   "?2, 1, 1, '', ?2)",
                   "ti", env_id(w->s.env, "img", id), now);
}

static int account_add(struct db_c *c, struct world *w, int i, struct sl_err *err)
{
    char mail[64], key[ID_TEXT], print[80];
    int64_t now = env_now(w->s.env), quota = options->quota ? options->quota : 1000000;
    env_id(w->s.env, "acc", w->account[i]);
    (void)snprintf(mail, sizeof mail, "a%d@example.com", i);
    (void)snprintf(print, sizeof print, "SHA256:%d", i);
    if (db_exec(c, err,
                "INSERT INTO account(id, email, email_norm, password_hash, role, state, "
                "state_reason, currency, email_verified_us, quota_gpus, quota_leases, "
                "quota_disk_gb, created_us, updated_us) VALUES(?1, ?2, ?2, '', 'renter', 'active', "
                "'', 'CNY', ?3, ?4, ?4, ?5, ?3, ?3)",
                "ttiii", w->account[i], mail, now, quota, quota * 1000) < 0 ||
        db_exec(c, err,
                "INSERT INTO ssh_key(id, account_id, name, type, line, fingerprint, created_us) "
                "VALUES(?1, ?2, 'k', 'ssh-ed25519', ?3, ?4, ?5)",
                "tttti", env_id(w->s.env, "key", key), w->account[i], pub_key, print, now) < 0 ||
        wallet_open(c, &w->s, w->account[i], err) < 0)
        return -1;
    int64_t micro = options->topup_micro ? options->topup_micro : 1000000 * SL_MICRO;
    return wallet_topup(c, &w->s, w->account[i], micro, "test", "test", err);
}

static int accounts_add(struct db_c *c, void *arg, struct sl_err *err)
{
    struct world *w = arg;
    for (int i = 0; i < w->n_accounts; i++)
        if (account_add(c, w, i, err) < 0)
            return -1;
    return 0;
}

void world_open(struct world *w, const struct world_options *o)
{
    struct sl_err err = {0};
    *w = (struct world){.n_accounts = o->accounts ? o->accounts : 1, .cards = o->cards};
    options = o;
    w->keep = o->dir != NULL;
    if (o->dir) {
        must(dir_make(o->dir, 0700, &err), &err, "dir");
        (void)snprintf(w->dir, sizeof w->dir, "%s", o->dir);
    } else {
        const char *tmp = getenv("TMPDIR");
        (void)snprintf(w->dir, sizeof w->dir, "%s/starlease-world-XXXXXX", tmp ? tmp : "/tmp");
        SL_ASSERT(mkdtemp(w->dir));
    }
    (void)snprintf(w->db_path, sizeof w->db_path, "%s/starlease.db", w->dir);
    w->now_us = START_US;
    w->env = *env_real();
    w->env.data = w;
    if (!o->real_clock)
        w->env.now = w->env.mono = world_now;
    w->s.env = &w->env;
    static struct sl_arena conf_arena;
    must(server_conf_load(NULL, &conf_arena, &w->s.conf, &err), &err, "conf");
    w->s.conf.db_path = w->db_path;
    must(server_open(&w->s, !o->writer_thread, &err), &err, "open");
    must(db_write(w->s.db, goods_add, w, &err), &err, "goods");
    must(db_write(w->s.db, accounts_add, w, &err), &err, "accounts");
    must(db_write(w->s.db, nodes_add, w, &err), &err, "nodes");
}

void world_close(struct world *w)
{
    server_close(&w->s);
    if (w->keep)
        return;
    DIR *d = opendir(w->dir);
    SL_ASSERT(d);
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.')
            (void)unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
    rmdir(w->dir);
}

void world_pass(struct world *w, int64_t seconds)
{
    w->now_us += seconds * SL_SEC;
}

void world_reopen(struct world *w, bool writer_thread)
{
    struct sl_err err = {0};
    server_close(&w->s);
    must(server_open(&w->s, !writer_thread, &err), &err, "reopen");
}

struct making {
    struct world *w;
    const char *account, *model;
    int64_t gpus;
    char id[ID_TEXT];
    const char *quote, *name;
};

static int quote(struct db_c *c, void *arg, struct sl_err *err)
{
    struct making *m = arg;
    struct quote q;
    struct quote_want qw = {m->model, "debian", m->gpus, 10};
    if (quote_make(c, &m->w->s, m->account, &qw, &q, err) < 0)
        return -1;
    memcpy(m->id, q.id, ID_TEXT);
    return 0;
}

static int create(struct db_c *c, void *arg, struct sl_err *err)
{
    struct making *m = arg;
    struct lease_want lw = {.quote = m->quote, .name = m->name};
    return lease_create(c, &m->w->s, m->account, &lw, m->id, err);
}

int world_quote(struct world *w, const char *account, const char *model, int64_t gpus,
                char ret_id[ID_TEXT], struct sl_err *err)
{
    struct making m = {.w = w, .account = account, .model = model, .gpus = gpus};
    if (db_write(w->s.db, quote, &m, err) < 0)
        return -1;
    memcpy(ret_id, m.id, ID_TEXT);
    return 0;
}

int world_lease_from(struct world *w, const char *account, const char *quote_id,
                     char ret_id[ID_TEXT], struct sl_err *err)
{
    return world_lease_named(w, account, quote_id, NULL, ret_id, err);
}

int world_lease_named(struct world *w, const char *account, const char *quote_id, const char *name,
                      char ret_id[ID_TEXT], struct sl_err *err)
{
    struct making m = {.w = w, .account = account, .quote = quote_id, .name = name};
    if (db_write_repeatable(w->s.db, create, &m, err) < 0)
        return -1;
    memcpy(ret_id, m.id, ID_TEXT);
    return 0;
}

static int make(struct db_c *c, void *arg, struct sl_err *err)
{
    struct making *m = arg;
    char id[ID_TEXT];
    if (quote(c, m, err) < 0)
        return -1;
    memcpy(id, m->id, ID_TEXT);
    m->quote = id;
    return create(c, m, err);
}

int world_lease(struct world *w, const char *account, const char *model, int64_t gpus,
                char ret_id[ID_TEXT], struct sl_err *err)
{
    struct making m = {.w = w, .account = account, .model = model, .gpus = gpus};
    if (db_write(w->s.db, make, &m, err) < 0)
        return -1;
    memcpy(ret_id, m.id, ID_TEXT);
    return 0;
}

static struct sl_arena got;
struct getting {
    const char *id;
    struct lease l;
};

static int get(struct db_c *c, void *arg, struct sl_err *err)
{
    struct getting *g = arg;
    return lease_get(c, NULL, g->id, &got, &g->l, err);
}

struct lease world_get(struct world *w, const char *id)
{
    struct getting g = {.id = id};
    struct sl_err err = {0};
    must(db_read(w->s.db, get, &g, &err), &err, "lease");
    return g.l;
}

struct telling {
    struct world *w;
    struct lease_report r;
    struct sl_buf *out;
};

static int tell(struct db_c *c, void *arg, struct sl_err *err)
{
    struct telling *t = arg;
    SL_AUTO_ARENA struct sl_arena a = {0};
    struct reply reply = {.body = SL_BUF(1 << 16)};
    struct req req = {.s = &t->w->s, .arena = &a, .body = &t->r};
    reply.json.b = &reply.body;
    req.caller.role = ROLE_LEASE;
    req.caller.epoch = t->r.epoch;
    (void)snprintf(req.caller.lease_id, ID_TEXT, "%s", t->r.lease);
    int rc = lease_report_post(c, &req, &reply, err);
    if (rc == 0 && t->out) {
        sl_buf_clear(t->out);
        sl_buf_adds(t->out, sl_buf_str(&reply.body));
    }
    sl_buf_free(&reply.body);
    return rc;
}

int world_report(struct world *w, const char *id, int64_t epoch, const char *kind,
                 struct sl_buf *out, struct sl_err *err)
{
    struct telling t = {w,
                        {.lease = id,
                         .epoch = epoch,
                         .kind = kind,
                         .t_us = env_now(w->s.env),
                         .host_key = "ssh-ed25519 AAAAtest"},
                        out};
    return db_write(w->s.db, tell, &t, err);
}

struct numbering {
    const char *sql;
    int64_t n;
};

static int number(struct db_c *c, void *arg, struct sl_err *err)
{
    struct numbering *n = arg;
    return db_value(c, -1, &n->n, err, n->sql, "");
}

int64_t world_number(struct world *w, const char *sql)
{
    struct numbering n = {sql, 0};
    struct sl_err err = {0};
    must(db_read(w->s.db, number, &n, &err), &err, sql);
    return n.n;
}

static int run(struct db_c *c, void *arg, struct sl_err *err)
{
    return db_exec(c, err, arg, "");
}

void world_exec(struct world *w, const char *sql)
{
    struct sl_err err = {0};
    must(db_write(w->s.db, run, (void *)sql, &err), &err, sql);
}

static int audit(struct db_c *c, void *arg, struct sl_err *err)
{
    struct world *w = arg;
    struct audit_report r = {0};
    SL_AUTO_BUF struct sl_buf text = SL_BUF(1 << 20);
    int64_t bad = 0;
    if (audit_money(c, &w->s, &r, err) < 0 || node_audit(c, &text, &bad, err) < 0)
        return -1;
    for (int i = 0; i < r.n; i++)
        if (!r.checks[i].ok)
            return sl_fail(err, SL_INTEGRITY, "%s %s: %s", r.checks[i].id, r.checks[i].name,
                           r.checks[i].detail);
    return bad ? sl_fail(err, SL_INTEGRITY, "%.300s", sl_buf_str(&text)) : 0;
}

void world_audit(struct world *w)
{
    struct sl_err err = {0};
    must(db_read(w->s.db, audit, w, &err), &err, "audit");
}
