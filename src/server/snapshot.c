/* SPDX-License-Identifier: Apache-2.0 */
#include "server/snapshot.h"
#include "base/core/failpoint.h"
#include "server/engine.h"
#include "server/event.h"
#include "server/lease.h"
#include "server/node.h"
#include "server/operation.h"
#include "server/page.h"
#include "server/quota.h"
#include "server/volume_meter.h"
#include <inttypes.h>
#include <stdio.h>

enum { WORK_TIMEOUT_MS = 600000, SIZE_GB_MAX = 1000000, SNAPSHOTS_MAX = 100 };
#define GB 1000000000LL
#define COLUMNS "id, account_id, volume_id, name, state, size_bytes, node_name, method, created_us"

struct snapshot {
    char id[ID_TEXT], account_id[ID_TEXT], volume_id[ID_TEXT], name[64], node_name[64], method[16];
    int state;
    int64_t size_bytes, created_us;
};

const struct jr_field volume_grow_fields[] = {
    {"size_gb", JR_K_INT, JR_REQUIRED, offsetof(struct volume_grow_want, size_gb), 1, SIZE_GB_MAX,
     .doc = "the new size, larger than it is"},
    {0}};
const struct jr_field snapshot_fields[] = {{"name", JR_K_STR, 0,
                                            offsetof(struct snapshot_want, name), 1, 63,
                                            .doc = "default: made from the id"},
                                           {0}};

static void read_row(struct db_q *q, struct snapshot *n)
{
    *n = (struct snapshot){.state = sm_by_name(&snapshot_sm, db_text(q, 4)),
                           .size_bytes = db_int(q, 5),
                           .created_us = db_int(q, 8)};
    (void)snprintf(n->id, sizeof n->id, "%s", db_text(q, 0));
    (void)snprintf(n->account_id, sizeof n->account_id, "%s", db_text(q, 1));
    (void)snprintf(n->volume_id, sizeof n->volume_id, "%s", db_text(q, 2));
    (void)snprintf(n->name, sizeof n->name, "%s", db_text(q, 3));
    (void)snprintf(n->node_name, sizeof n->node_name, "%s", db_text(q, 6));
    (void)snprintf(n->method, sizeof n->method, "%s", db_text(q, 7));
}

static int get(struct db_c *c, const char *account_id, const char *id, struct snapshot *n,
               struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err, "SELECT " COLUMNS " FROM snapshot WHERE id = ?1", "t", id);
    if (rc > 0)
        read_row(&q, n);
    db_done(&q);
    if (rc < 0)
        return -1;
    if (rc == 0 || (account_id && !sl_streq(account_id, n->account_id)))
        return sl_fail_at(err, SL_NOT_FOUND, "id", "no snapshot %.60s exists; check the id", id);
    return 0;
}

static void snapshot_write(struct jw *w, const struct snapshot *n)
{
    jw_object(w, NULL);
    jw_str(w, "id", n->id);
    jw_str(w, "name", n->name);
    jw_str(w, "volume", n->volume_id);
    jw_str(w, "state", snapshot_sm.states[n->state].name);
    jw_int(w, "size_bytes", n->size_bytes);
    jw_str(w, "method", *n->method ? n->method : NULL);
    jw_str(w, "node", n->node_name);
    jw_time(w, "created", n->created_us);
    jw_end(w);
}

static int move(struct db_c *c, struct server *s, const struct snapshot *n, int to,
                const char *actor, const char *reason, struct sl_err *err)
{
    return sm_move(c, s, &snapshot_sm, "snapshot", "id", n->id, to, n->account_id, actor, reason,
                   err);
}

int volume_busy(struct db_c *c, const char *volume_id, struct sl_err *err)
{
    int64_t n = 0;
    if (db_value(c, 0, &n, err,
                 "SELECT COUNT(*) FROM operation WHERE ref = ?1 AND kind IN ('snapshot_make', "
                 "'snapshot_restore') AND state IN ('pending', 'running')",
                 "t", volume_id) < 0)
        return -1;
    if (n)
        return sl_fail_at(err, SL_CONFLICT, "state",
                          "a snapshot of the disk is being taken or put back; wait for it to end");
    return 0;
}

/* The disk, its instance stopped for good: nothing writes to it. */
static int idle_volume(struct db_c *c, struct req *r, const char *account, const char *id,
                       struct volume *v, struct sl_err *err)
{
    struct lease l = {.state = LEASE_STOPPED};
    if (volume_get(c, account, id, v, err) < 0 ||
        (*v->lease_id && lease_get(c, NULL, v->lease_id, r->arena, &l, err) < 0))
        return -1;
    if (v->state == VOLUME_AVAILABLE && l.state == LEASE_STOPPED && !lease_on_node(&l))
        return volume_busy(c, v->id, err);
    return sl_fail_at(err, SL_CONFLICT, "state",
                      "volume %s is %s and its instance %s; stop the instance first", v->name,
                      volume_sm.states[v->state].name, lease_sm.states[l.state].name);
}

static int add_work(struct db_c *c, struct server *s, const char *kind, const struct volume *v,
                    const char *snapshot, struct sl_err *err)
{
    char payload[96];
    (void)snprintf(payload, sizeof payload, "{\"snapshot\":\"%.40s\"}", snapshot);
    struct operation_new op = {.kind = kind,
                               .ref = v->id,
                               .account_id = v->account_id,
                               .node_name = v->node_name,
                               .payload = payload};
    return operation_add(c, s, &op, NULL, err);
}

/* ---- HTTP ---- */
int volume_grow_post(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    const struct volume_grow_want *w = r->body;
    struct server *s = r->s;
    struct volume v;
    if (volume_get(c, r->caller.account_id, r->path[0], &v, err) < 0)
        return -1;
    int64_t have = volume_gb(v.size_bytes);
    if (v.state != VOLUME_AVAILABLE && v.state != VOLUME_ATTACHED)
        return sl_fail_at(err, SL_CONFLICT, "state", "volume %s is %s; it cannot grow", v.name,
                          volume_sm.states[v.state].name);
    if (w->size_gb <= have)
        return sl_fail_at(err, SL_INVALID, "size_gb",
                          "size_gb: volume %s has %" PRId64 " GB; a disk only grows, give more",
                          v.name, have);
    bool metered = false;
    int64_t month = 0, cost = 0;
    if (volume_busy(c, v.id, err) < 0 ||
        quota_check(c, v.account_id, 0, 0, w->size_gb - have, err) < 0 ||
        volume_cost(c, s, v.id, &month, &cost, err) < 0)
        return -1;
    metered = month > 0;
    if (metered && volume_meter_stop(c, s, v.id, "grown", err) < 0)
        return -1;
    v.size_bytes = w->size_gb * GB;
    if (db_exec(c, err, "UPDATE volume SET size_bytes = ?2 WHERE id = ?1", "ti", v.id,
                v.size_bytes) < 0 ||
        db_exec(c, err, "UPDATE lease SET disk_gb = ?2 WHERE volume_id = ?1", "ti", v.id,
                w->size_gb) < 0 ||
        (metered && volume_meter_start(c, s, &v, err) < 0))
        return -1;
    FAILPOINT("volume.grow");
    if (add_work(c, s, "volume_grow", &v, "", err) < 0 ||
        event_add(c, s, v.account_id, "volume", v.id, "volume.grown", r->caller.account_id, NULL,
                  err) < 0)
        return -1;
    return volume_show(c, r, out, err);
}

static int pick_name(const struct snapshot_want *w, struct snapshot *n, struct sl_err *err)
{
    if (!w->name) {
        (void)snprintf(n->name, sizeof n->name, "s-%s", n->id + strlen(n->id) - 10);
        return 0;
    }
    if (!name_ok(w->name))
        return sl_fail_at(err, SL_INVALID, "name",
                          "name: \"%.63s\" is not a name; use 1 to 63 of a-z, 0-9 and '-', first "
                          "and last a letter or digit",
                          w->name);
    (void)snprintf(n->name, sizeof n->name, "%s", w->name);
    return 0;
}

int snapshot_create(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct volume v;
    struct snapshot n = {.state = SNAPSHOT_CREATING, .created_us = env_now(r->s->env)};
    int64_t have = 0;
    if (idle_volume(c, r, r->caller.account_id, r->path[0], &v, err) < 0)
        return -1;
    env_id(r->s->env, "snp", n.id);
    (void)snprintf(n.account_id, sizeof n.account_id, "%s", v.account_id);
    (void)snprintf(n.volume_id, sizeof n.volume_id, "%s", v.id);
    (void)snprintf(n.node_name, sizeof n.node_name, "%s", v.node_name);
    n.size_bytes = v.size_bytes;
    if (pick_name(r->body, &n, err) < 0 ||
        quota_check(c, v.account_id, 0, 0, volume_gb(v.size_bytes), err) < 0 ||
        db_value(c, 0, &have, err,
                 "SELECT COUNT(*) FROM snapshot WHERE account_id = ?1 AND state <> 'deleted'", "t",
                 v.account_id) < 0)
        return -1;
    if (have >= SNAPSHOTS_MAX)
        return sl_fail_at(err, SL_QUOTA, "id", "an account keeps %d snapshots; delete one first",
                          SNAPSHOTS_MAX);
    if (db_exec(c, err,
                "INSERT INTO snapshot(id, account_id, volume_id, name, state, state_since_us, "
                "size_bytes, node_name, created_us) VALUES(?1, ?2, ?3, ?4, 'creating', ?5, ?6, ?7, "
                "?5)",
                "ttttiit", n.id, n.account_id, n.volume_id, n.name, n.created_us, n.size_bytes,
                n.node_name) < 0 ||
        add_work(c, r->s, "snapshot_make", &v, n.id, err) < 0)
        return -1;
    FAILPOINT("snapshot.added");
    out->status = 201;
    snapshot_write(&out->json, &n);
    return 0;
}

int snapshot_list(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct page p;
    struct db_q q;
    struct snapshot n;
    if (page_begin(r, out, &p, err) < 0)
        return -1;
    int rc =
        db_query(c, &q, err,
                 "SELECT " COLUMNS " FROM snapshot WHERE account_id = ?1 AND id > ?2 AND state "
                 "<> 'deleted' ORDER BY id LIMIT ?3",
                 "tti", r->caller.account_id, p.cursor, p.limit + 1);
    while (rc >= 0 && (rc = db_next(&q, err)) > 0 && page_take(&p, db_text(&q, 0))) {
        read_row(&q, &n);
        snapshot_write(&out->json, &n);
    }
    db_done(&q);
    page_end(out, &p);
    return rc < 0 ? -1 : 0;
}

int snapshot_delete(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct snapshot n;
    struct volume v;
    if (get(c, r->caller.account_id, r->path[0], &n, err) < 0 ||
        volume_get(c, NULL, n.volume_id, &v, err) < 0)
        return -1;
    if (n.state == SNAPSHOT_CREATING)
        return sl_fail_at(err, SL_CONFLICT, "state", "snapshot %s is being taken; wait for it",
                          n.name);
    if (n.state != SNAPSHOT_DELETED) {
        if (volume_busy(c, v.id, err) < 0 ||
            move(c, r->s, &n, SNAPSHOT_DELETED, r->caller.account_id, "", err) < 0 ||
            add_work(c, r->s, "snapshot_remove", &v, n.id, err) < 0)
            return -1;
        n.state = SNAPSHOT_DELETED;
    }
    snapshot_write(&out->json, &n);
    return 0;
}

int snapshot_restore(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct snapshot n;
    struct volume v;
    if (get(c, r->caller.account_id, r->path[0], &n, err) < 0)
        return -1;
    if (n.state != SNAPSHOT_AVAILABLE)
        return sl_fail_at(err, SL_CONFLICT, "state", "snapshot %s is %s; it cannot be put back",
                          n.name, snapshot_sm.states[n.state].name);
    if (idle_volume(c, r, r->caller.account_id, n.volume_id, &v, err) < 0 ||
        add_work(c, r->s, "snapshot_restore", &v, n.id, err) < 0 ||
        event_add(c, r->s, v.account_id, "volume", v.id, "volume.restored", r->caller.account_id,
                  NULL, err) < 0)
        return -1;
    snapshot_write(&out->json, &n);
    return 0;
}

int snapshot_purge_of(struct db_c *c, struct server *s, const struct volume *v, struct sl_err *err)
{
    struct snapshot all[SNAPSHOTS_MAX];
    struct db_q q;
    int n = 0;
    int rc =
        db_query(c, &q, err,
                 "SELECT " COLUMNS " FROM snapshot WHERE account_id = ?1 AND volume_id = ?2 AND "
                 "state IN ('available', 'failed') ORDER BY id LIMIT ?3",
                 "tti", v->account_id, v->id, (int64_t)SNAPSHOTS_MAX);
    while (rc >= 0 && (rc = db_next(&q, err)) > 0)
        read_row(&q, &all[n++]);
    db_done(&q);
    for (int i = 0; rc >= 0 && i < n; i++)
        if (move(c, s, &all[i], SNAPSHOT_DELETED, "system", "its disk was purged", err) < 0 ||
            add_work(c, s, "snapshot_remove", v, all[i].id, err) < 0)
            return -1;
    return rc < 0 ? -1 : 0;
}

/* ---- operations ---- */
struct work {
    struct server *s;
    const struct operation *op;
    char snapshot[ID_TEXT], method[16];
    struct volume v;
    struct engine_node node;
    const struct engine *engine;
};

static int load(struct db_c *c, void *arg, struct sl_err *err)
{
    struct work *k = arg;
    return volume_get(c, NULL, k->op->ref, &k->v, err) < 0
               ? -1
               : node_engine(c, k->op->node_name, &k->node, &k->engine, err);
}

static int finish(struct db_c *c, void *arg, struct sl_err *err)
{
    struct work *k = arg;
    struct snapshot n;
    if (sl_streq(k->op->kind, "snapshot_make")) {
        if (get(c, NULL, k->snapshot, &n, err) < 0 ||
            db_exec(c, err, "UPDATE snapshot SET method = ?2 WHERE id = ?1", "tt", n.id,
                    k->method) < 0 ||
            (n.state == SNAPSHOT_CREATING &&
             move(c, k->s, &n, SNAPSHOT_AVAILABLE, "system", k->method, err) < 0))
            return -1;
    }
    return operation_finish(c, k->s, k->op, err);
}

static int run(struct server *s, const struct operation *op, const char *agent_op,
               struct sl_err *err)
{
    struct work k = {.s = s, .op = op};
    JR_AUTO_DOC struct jr_doc *payload = NULL, *doc = NULL;
    const struct jr_val *ok = NULL;
    if (jr_open(op->payload, strlen(op->payload), &payload, err) < 0 ||
        db_read(s->db, load, &k, err) < 0)
        return -1;
    (void)snprintf(k.snapshot, sizeof k.snapshot, "%s",
                   jr_text(jr_get(jr_root(payload), "snapshot"), ""));
    SL_AUTO_BUF struct sl_buf b = SL_BUF(1024);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "op", agent_op);
    jw_str(&w, "node", k.node.name);
    if (!sl_streq(op->kind, "snapshot_remove"))
        jw_str(&w, "volume", k.v.id);
    if (*k.snapshot)
        jw_str(&w, "snapshot", k.snapshot);
    if (sl_streq(op->kind, "volume_grow") || sl_streq(op->kind, "snapshot_restore"))
        jw_int(&w, "size_bytes", k.v.size_bytes);
    jw_end(&w);
    FAILPOINT("snapshot.before_node");
    bool needs_disk = !sl_streq(op->kind, "snapshot_remove");
    if (!(needs_disk && k.v.state == VOLUME_PURGED) &&
        k.engine->operate(&k.node, sl_buf_str(&b), WORK_TIMEOUT_MS, NULL, NULL, &doc, &ok, err) < 0)
        return -1;
    (void)snprintf(k.method, sizeof k.method, "%s", jr_text(jr_get(ok, "method"), ""));
    return db_write(s->db, finish, &k, err);
}

int volume_run_grow(struct server *s, const struct operation *op, struct sl_err *err)
{
    return run(s, op, "volume.grow", err);
}
int snapshot_run_make(struct server *s, const struct operation *op, struct sl_err *err)
{
    return run(s, op, "volume.snapshot", err);
}
int snapshot_run_restore(struct server *s, const struct operation *op, struct sl_err *err)
{
    return run(s, op, "volume.restore", err);
}
int snapshot_run_remove(struct server *s, const struct operation *op, struct sl_err *err)
{
    return run(s, op, "snapshot.remove", err);
}

int snapshot_make_gave_up(struct db_c *c, struct server *s, const struct operation *op,
                          const char *why, struct sl_err *err)
{
    JR_AUTO_DOC struct jr_doc *payload = NULL;
    struct snapshot n;
    if (jr_open(op->payload, strlen(op->payload), &payload, err) < 0 ||
        get(c, NULL, jr_text(jr_get(jr_root(payload), "snapshot"), ""), &n, err) < 0)
        return -1;
    return n.state == SNAPSHOT_CREATING ? move(c, s, &n, SNAPSHOT_FAILED, "system", why, err) : 0;
}
