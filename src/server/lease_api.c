/* SPDX-License-Identifier: Apache-2.0
 *
 * /v1/leases: what renters see and do.
 */
#include "base/core/failpoint.h"
#include "server/autostop.h"
#include "server/meter.h"
#include "server/node.h"
#include "server/page.h"
#include "server/stop_api.h"
#include <inttypes.h>
#include <stdio.h>

enum { LOG_BYTES = 64 << 10, LOGS_TIMEOUT_MS = 10000, KEYS_MAX = 64, ARGS_MAX = 256 };

const struct jr_field lease_create_fields[] = {
    {"quote", JR_K_STR, JR_REQUIRED, offsetof(struct lease_want, quote), 1, 31,
     .doc = "id of a quote that is still valid"},
    {"name", JR_K_STR, 0, offsetof(struct lease_want, name), 1, 63,
     .doc = "default: made from the id"},
    {"keys", JR_K_STRS, 0, offsetof(struct lease_want, keys), 0, KEYS_MAX,
     .doc = "ids of SSH keys; default: all of the account's"},
    {"command", JR_K_STRS, JR_TEXT, offsetof(struct lease_want, command), 0, ARGS_MAX,
     .doc = "program and arguments to run; default: none, SSH only"},
    {"autostop", JR_K_OBJ, 0, offsetof(struct lease_want, autostop), 0, 0, .sub = autostop_fields,
     .sub_size = sizeof(struct autostop_want), .doc = "timers that stop and delete it",
     .has_offset = offsetof(struct lease_want, has_autostop)},
    {0}};

static int write_cost(struct db_c *c, struct server *s, struct jw *w, const struct lease *l,
                      struct sl_err *err)
{
    int64_t cost = 0, now = env_now(s->env);
    int64_t upto = l->state == LEASE_RUNNING ? lease_proven_us(s, l, now) : now;
    if (meter_cost(c, l->id, upto, &cost, err) < 0)
        return -1;
    jw_money(w, "cost_so_far", cost);
    return 0;
}

/* The states that the lease went through, from its events. */
static int write_timeline(struct db_c *c, struct jw *w, const struct lease *l, struct sl_err *err)
{
    struct db_q q;
    int64_t before = 0;
    int rc = db_query(c, &q, err,
                      "SELECT type, t_us FROM event WHERE ref = ?1 AND noun = 'lease' ORDER BY seq",
                      "t", l->id);
    jw_array(w, "timeline");
    while (rc >= 0 && (rc = db_next(&q, err)) > 0) {
        char seconds[32];
        int64_t t = db_int(&q, 1), d = before ? t - before : 0;
        (void)snprintf(seconds, sizeof seconds, "%lld.%03lld", d / SL_SEC, d % SL_SEC / 1000);
        jw_object(w, NULL);
        jw_str(w, "step", db_text(&q, 0) + strlen("lease."));
        jw_time(w, "time", t);
        jw_str(w, "seconds", seconds);
        jw_end(w);
        before = t;
    }
    db_done(&q);
    jw_end(w);
    return rc < 0 ? -1 : 0;
}

static void write_place(struct server *s, struct jw *w, const struct lease *l)
{
    const char *host = *s->conf.ssh_host ? s->conf.ssh_host : l->node_name;
    jw_str(w, "node", *l->node_name ? l->node_name : NULL);
    jw_array(w, "cards");
    for (uint64_t m = l->gpu_mask; m; m &= m - 1)
        jw_int(w, NULL, __builtin_ctzll(m));
    jw_end(w);
    jw_str(w, "image", l->image);
    jw_int(w, "disk_gb", l->disk_gb);
    jw_object(w, "ssh");
    jw_str(w, "host", host);
    jw_int(w, "port", s->conf.port_base + l->slot);
    jw_str(w, "user", "root");
    jw_end(w);
    jw_str(w, "host_key", l->host_key);
    jw_str(w, "nonce", l->nonce);
}

int lease_write(struct db_c *c, struct server *s, struct jw *w, const char *key,
                const struct lease *l, bool detail, struct sl_err *err)
{
    bool running = l->state == LEASE_RUNNING;
    jw_object(w, key);
    jw_str(w, "id", l->id);
    jw_str(w, "name", l->name);
    jw_str(w, "state", lease_sm.states[l->state].name);
    jw_bool(w, "billed", lease_sm.states[l->state].billed);
    jw_str(w, "model", l->model);
    jw_int(w, "gpus", l->gpus);
    write_place(s, w, l);
    jw_str(w, "price_version", l->price_version_id);
    jw_money(w, "rate_per_hour", lease_rate(l));
    jw_bool(w, "no_gpu", l->cpu_run);
    jw_str(w, "currency", l->currency);
    if (write_cost(c, s, w, l, err) < 0)
        return -1;
    jw_time(w, "created", l->created_us);
    jw_time(w, "ready", l->ready_us);
    jw_time(w, "funded_until", running ? l->funded_until_us : 0);
    jw_time(w, "last_heartbeat", l->last_heartbeat_us);
    jw_str(w, "reason", l->reason);
    jw_bool(w, "emulated", l->emulated);
    jw_int(w, "epoch", l->epoch);
    jw_raw(w, "metric", *l->metric ? l->metric : "null");
    if (autostop_write(c, w, l, err) < 0)
        return -1;
    if (detail) {
        if (write_timeline(c, w, l, err) < 0)
            return -1;
    } else {
        jw_array(w, "timeline");
        jw_end(w);
    }
    jw_end(w);
    return 0;
}

static const char *seen_by(const struct req *r)
{
    return r->caller.role == ROLE_OPERATOR ? NULL : r->caller.account_id;
}

/* Operators name a lease by its id alone. */
static int answer(struct db_c *c, struct req *r, struct reply *out, const char *id,
                  struct sl_err *err)
{
    struct lease l;
    if (lease_get(c, seen_by(r), id, r->arena, &l, err) < 0)
        return -1;
    return lease_write(c, r->s, &out->json, NULL, &l, true, err);
}

int lease_create_post(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    char id[ID_TEXT];
    if (lease_create(c, r->s, r->caller.account_id, r->body, id, err) < 0)
        return -1;
    out->status = 201;
    (void)snprintf(out->location, sizeof out->location, "/v1/leases/%s", id);
    return answer(c, r, out, id, err);
}

int lease_show(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct lease l;
    if (lease_get(c, seen_by(r), r->path[0], r->arena, &l, err) < 0 ||
        lease_write(c, r->s, &out->json, NULL, &l, true, err) < 0)
        return -1;
    (void)snprintf(out->etag, sizeof out->etag, "\"%" PRId64 "-%s-%" PRId64 "-%" PRId64 "\"",
                   l.epoch, lease_sm.states[l.state].name, l.state_since_us, l.metric_us);
    return 0;
}

int lease_list(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct page p;
    struct db_q q;
    const char *state = req_query(r, "state"), *account = seen_by(r);
    int n = 0, rc;
    if (state && sm_by_name(&lease_sm, state) < 0)
        return sl_fail_at(err, SL_INVALID, "state",
                          "state: \"%.40s\" is unknown; use requested, queued, placed, starting, "
                          "running, stopping, stopped, released or failed",
                          state);
    if (page_begin(r, out, &p, err) < 0)
        return -1;
    struct lease *rows = sl_arena_alloc(r->arena, (size_t)p.limit * sizeof *rows);
    rc = db_query(c, &q, err,
                  "SELECT " LEASE_COLUMNS " FROM lease WHERE (?1 = '' OR account_id = ?1) AND "
                  "(?2 = '' OR state = ?2) AND id > ?3 ORDER BY id LIMIT ?4",
                  "ttti", account ? account : "", state ? state : "", p.cursor, p.limit + 1);
    while (rc >= 0 && (rc = db_next(&q, err)) > 0 && page_take(&p, db_text(&q, 0)))
        lease_read(&q, r->arena, &rows[n++]);
    db_done(&q);
    for (int i = 0; rc >= 0 && i < n; i++)
        rc = lease_write(c, r->s, &out->json, NULL, &rows[i], false, err);
    page_end(out, &p);
    return rc < 0 ? -1 : 0;
}

int lease_stop_post(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct lease l;
    const char *reason =
        r->caller.role == ROLE_OPERATOR ? "stopped by the operator" : "stopped by the renter";
    if (lease_get(c, seen_by(r), r->path[0], r->arena, &l, err) < 0 ||
        lease_stop(c, r->s, &l, r->caller.account_id, reason, err) < 0)
        return -1;
    return answer(c, r, out, l.id, err);
}

const struct jr_field lease_start_fields[] = {
    {"no_gpu", JR_K_BOOL, 0, offsetof(struct lease_start_want, no_gpu),
     .doc = "without cards, at the tariff cpu; model and price stay pinned"},
    {"quote", JR_K_STR, 0, offsetof(struct lease_start_want, quote), 1, 31,
     .doc = "id of a quote of this instance: its cards and price are pinned anew"},
    {0}};

static int start(struct db_c *c, struct req *r, const struct lease *l, struct sl_err *err)
{
    const struct lease_start_want *w = r->body;
    const char *actor = r->caller.account_id;
    if (w->no_gpu && w->quote)
        return sl_fail_at(err, SL_INVALID, "no_gpu", "no_gpu and quote exclude each other");
    if (w->no_gpu)
        return lease_start_cpu(c, r->s, l, actor, err);
    return w->quote ? lease_start_quoted(c, r->s, l, w->quote, actor, err)
                    : lease_start(c, r->s, l, actor, err);
}

int lease_start_post(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct lease l;
    if (lease_get(c, r->caller.account_id, r->path[0], r->arena, &l, err) < 0)
        return -1;
    if (start(c, r, &l, err) < 0) {
        struct sl_err none = {0};
        if (err->code == SL_NO_CAPACITY)
            (void)lease_offers(c, r, &l, &none);
        return -1;
    }
    return answer(c, r, out, l.id, err);
}

int lease_delete(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct lease l;
    if (lease_get(c, r->caller.account_id, r->path[0], r->arena, &l, err) < 0 ||
        lease_release(c, r->s, &l, r->caller.account_id, err) < 0)
        return -1;
    return answer(c, r, out, l.id, err);
}

/* ---- logs: the node keeps them, so it is asked before the transaction ---- */
struct logs_from {
    struct req *r;
    struct lease lease;
    struct engine_node node;
    const struct engine *engine;
};

static int find_logs(struct db_c *c, void *arg, struct sl_err *err)
{
    struct logs_from *f = arg;
    if (lease_get(c, seen_by(f->r), f->r->path[0], f->r->arena, &f->lease, err) < 0)
        return -1;
    return node_engine(c, f->lease.node_name, &f->node, &f->engine, err);
}

int lease_logs_prepare(struct req *r, struct sl_err *err)
{
    struct logs_from f = {.r = r};
    if (db_read(r->s->db, find_logs, &f, err) < 0)
        return -1;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(1024);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "op", "lease.logs");
    jw_str(&w, "node", f.node.name);
    jw_str(&w, "lease", f.lease.id);
    jw_int(&w, "tail_bytes", LOG_BYTES);
    jw_end(&w);
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    const struct jr_val *ok = NULL;
    if (f.engine->operate(&f.node, sl_buf_str(&b), LOGS_TIMEOUT_MS, NULL, NULL, &doc, &ok, err) < 0)
        return -1;
    r->prepared = sl_arena_strdup(r->arena, jr_text(jr_get(ok, "text"), ""));
    return 0;
}

int lease_logs(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    jw_object(&out->json, NULL);
    jw_str(&out->json, "text", r->prepared);
    jw_end(&out->json);
    return 0;
}
