/* SPDX-License-Identifier: Apache-2.0 */
#include "server/volume.h"
#include "base/core/failpoint.h"
#include "server/engine.h"
#include "server/node.h"
#include "server/operation.h"
#include "server/page.h"
#include "server/snapshot.h"
#include "server/volume_meter.h"
#include <stdio.h>

enum { REMOVE_TIMEOUT_MS = 120000 };

#define COLUMNS                                                                                    \
    "id, account_id, name, state, size_bytes, node_name, lease_id, purge_after_us, created_us, "   \
    "kept_until_us"
static const char sql_get[] = "SELECT " COLUMNS " FROM volume WHERE id = ?1";
static const char sql_list[] =
    "SELECT " COLUMNS " FROM volume WHERE account_id = ?1 AND id > ?2 ORDER BY id "
    "LIMIT ?3";
static const char sql_add[] =
    "INSERT INTO volume(id, account_id, name, state, state_since_us, size_bytes, node_name, "
    "lease_id, created_us) VALUES(?1, ?2, ?3, 'creating', ?4, ?5, ?6, ?7, ?4)";
static const char sql_purge_after[] = "UPDATE volume SET purge_after_us = ?2 WHERE id = ?1";
static const char sql_in_use[] =
    "SELECT COUNT(*) FROM lease WHERE id = ?1 AND state <> 'released' AND state <> 'failed'";
static const char sql_expired[] =
    "SELECT id FROM volume WHERE state = 'deleted' AND purge_after_us > 0 AND purge_after_us <= ?1 "
    "LIMIT 100";

static void text(char *out, size_t n, const char *in)
{
    (void)snprintf(out, n, "%s", in);
}

static void read_row(struct db_q *q, struct volume *v)
{
    *v = (struct volume){.state = sm_by_name(&volume_sm, db_text(q, 3)),
                         .size_bytes = db_int(q, 4),
                         .purge_after_us = db_int(q, 7),
                         .created_us = db_int(q, 8),
                         .kept_until_us = db_int(q, 9)};
    text(v->id, sizeof v->id, db_text(q, 0));
    text(v->account_id, sizeof v->account_id, db_text(q, 1));
    text(v->name, sizeof v->name, db_text(q, 2));
    text(v->node_name, sizeof v->node_name, db_text(q, 5));
    text(v->lease_id, sizeof v->lease_id, db_text(q, 6));
}

int volume_get(struct db_c *c, const char *account_id, const char *id, struct volume *ret,
               struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err, sql_get, "t", id);
    if (rc > 0)
        read_row(&q, ret);
    db_done(&q);
    if (rc < 0)
        return -1;
    if (rc == 0 || (account_id && !sl_streq(account_id, ret->account_id)))
        return sl_fail_at(err, SL_NOT_FOUND, "id", "no volume %.60s exists; check the id", id);
    return 0;
}

static int move(struct db_c *c, struct server *s, const struct volume *v, int to, const char *actor,
                const char *reason, struct sl_err *err)
{
    return sm_move(c, s, &volume_sm, "volume", "id", v->id, to, v->account_id, actor, reason, err);
}

int volume_create(struct db_c *c, struct server *s, const char *account_id, const char *lease_id,
                  const char *name, const char *node, int64_t size_bytes, char ret_id[ID_TEXT],
                  struct sl_err *err)
{
    env_id(s->env, "vol", ret_id);
    return db_exec(c, err, sql_add, "tttiitt", ret_id, account_id, name, env_now(s->env),
                   size_bytes, node, lease_id);
}

static int follow(struct db_c *c, struct server *s, const char *id, int to, struct sl_err *err)
{
    struct volume v;
    if (volume_get(c, NULL, id, &v, err) < 0)
        return -1;
    if (v.state == to || !sm_allowed(&volume_sm, v.state, to))
        return 0;
    if (v.state == VOLUME_CREATING && volume_meter_start(c, s, &v, err) < 0)
        return -1;
    return move(c, s, &v, to, "system", "", err);
}

int volume_attach(struct db_c *c, struct server *s, const char *id, struct sl_err *err)
{
    return follow(c, s, id, VOLUME_ATTACHED, err);
}

int volume_detach(struct db_c *c, struct server *s, const char *id, struct sl_err *err)
{
    return follow(c, s, id, VOLUME_AVAILABLE, err);
}

int volume_delete(struct db_c *c, struct server *s, const char *id, bool with_lease,
                  const char *actor, struct sl_err *err)
{
    struct volume v;
    int64_t users = 0;
    if (volume_get(c, NULL, id, &v, err) < 0 ||
        db_value(c, 0, &users, err, sql_in_use, "t", v.lease_id) < 0)
        return -1;
    if (v.state == VOLUME_DELETED || v.state == VOLUME_PURGED)
        return 0;
    if (users && !with_lease)
        return sl_fail_at(err, SL_CONFLICT, "id",
                          "volume %s is the system disk of instance %s; release that instance to "
                          "delete its disk",
                          v.name, v.lease_id);
    if (v.state == VOLUME_ATTACHED && move(c, s, &v, VOLUME_AVAILABLE, actor, "", err) < 0)
        return -1;
    if (db_exec(c, err, sql_purge_after, "ti", id,
                env_now(s->env) + s->conf.tombstone_keep_s * SL_SEC) < 0)
        return -1;
    if (volume_meter_stop(c, s, id, "deleted", err) < 0)
        return -1;
    FAILPOINT("volume.tombstone");
    return move(c, s, &v, VOLUME_DELETED, actor, "", err);
}

int volume_purge(struct db_c *c, struct server *s, const struct volume *v, struct sl_err *err)
{
    struct operation_new op = {.kind = "volume_remove",
                               .ref = v->id,
                               .account_id = v->account_id,
                               .node_name = v->node_name};
    SL_ASSERT(v->state == VOLUME_DELETED);
    /* Asked for once: the time is cleared, so that the ticker does not ask again. */
    if (db_exec(c, err, sql_purge_after, "ti", v->id, (int64_t)0) < 0)
        return -1;
    return operation_add(c, s, &op, NULL, err);
}

int volume_expire(struct db_c *c, struct server *s, struct sl_err *err)
{
    char ids[100][ID_TEXT];
    int n = 0;
    struct db_q q;
    int rc = db_query(c, &q, err, sql_expired, "i", env_now(s->env));
    while (rc >= 0 && (rc = db_next(&q, err)) > 0)
        text(ids[n++], ID_TEXT, db_text(&q, 0));
    db_done(&q);
    for (int i = 0; rc >= 0 && i < n; i++) {
        struct volume v;
        rc = volume_get(c, NULL, ids[i], &v, err);
        if (rc == 0)
            rc = volume_purge(c, s, &v, err);
    }
    return rc < 0 ? -1 : 0;
}

/* ---- the operation ---- */
struct removal {
    struct server *s;
    const struct operation *op;
    struct volume v;
    struct engine_node node;
    const struct engine *engine;
};

static int find(struct db_c *c, void *arg, struct sl_err *err)
{
    struct removal *r = arg;
    if (volume_get(c, NULL, r->op->ref, &r->v, err) < 0)
        return -1;
    return node_engine(c, r->op->node_name, &r->node, &r->engine, err);
}

static int removed(struct db_c *c, void *arg, struct sl_err *err)
{
    struct removal *r = arg;
    struct volume v;
    if (volume_get(c, NULL, r->op->ref, &v, err) < 0 ||
        (v.state == VOLUME_DELETED &&
         (move(c, r->s, &v, VOLUME_PURGED, "system", "data removed on the node", err) < 0 ||
          snapshot_purge_of(c, r->s, &v, err) < 0)))
        return -1;
    return operation_finish(c, r->s, r->op, err);
}

int volume_run_remove(struct server *s, const struct operation *op, struct sl_err *err)
{
    struct removal r = {.s = s, .op = op};
    if (db_read(s->db, find, &r, err) < 0)
        return -1;
    if (r.v.state == VOLUME_DELETED) {
        SL_AUTO_BUF struct sl_buf b = SL_BUF(1024);
        struct jw w = {&b};
        jw_object(&w, NULL);
        jw_str(&w, "op", "volume.remove");
        jw_str(&w, "node", r.node.name);
        jw_str(&w, "volume", r.v.id);
        jw_end(&w);
        JR_AUTO_DOC struct jr_doc *doc = NULL;
        const struct jr_val *ok = NULL;
        if (r.engine->operate(&r.node, sl_buf_str(&b), REMOVE_TIMEOUT_MS, NULL, NULL, &doc, &ok,
                              err) < 0)
            return -1;
    }
    return db_write(s->db, removed, &r, err);
}

/* ---- HTTP ---- */
static int volume_write(struct db_c *c, struct server *s, struct jw *w, const struct volume *v,
                        struct sl_err *err)
{
    int64_t month = 0, cost = 0;
    if (volume_cost(c, s, v->id, &month, &cost, err) < 0)
        return -1;
    jw_object(w, NULL);
    jw_str(w, "id", v->id);
    jw_str(w, "name", v->name);
    jw_str(w, "state", volume_sm.states[v->state].name);
    jw_int(w, "size_bytes", v->size_bytes);
    jw_str(w, "node", *v->node_name ? v->node_name : NULL);
    jw_str(w, "lease", *v->lease_id ? v->lease_id : NULL);
    jw_time(w, "purge_after", v->purge_after_us);
    jw_money(w, "price_per_month", month);
    jw_money(w, "cost_so_far", cost);
    jw_time(w, "kept_until", v->kept_until_us);
    jw_time(w, "created", v->created_us);
    jw_end(w);
    return 0;
}

int volume_list(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct page p;
    struct db_q q;
    if (page_begin(r, out, &p, err) < 0)
        return -1;
    struct volume *rows = sl_arena_alloc(r->arena, (size_t)(p.limit + 1) * sizeof *rows);
    int n = 0;
    int rc = db_query(c, &q, err, sql_list, "tti", r->caller.account_id, p.cursor, p.limit + 1);
    while (rc >= 0 && (rc = db_next(&q, err)) > 0 && page_take(&p, db_text(&q, 0)))
        read_row(&q, &rows[n++]);
    db_done(&q);
    for (int i = 0; rc >= 0 && i < n; i++)
        rc = volume_write(c, r->s, &out->json, &rows[i], err);
    page_end(out, &p);
    return rc < 0 ? -1 : 0;
}

int volume_show(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct volume v;
    if (volume_get(c, r->caller.account_id, r->path[0], &v, err) < 0)
        return -1;
    return volume_write(c, r->s, &out->json, &v, err);
}

int volume_delete_handler(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct volume v;
    const char *id = r->path[0], *key = req_query(r, "purge");
    if (volume_get(c, r->caller.account_id, id, &v, err) < 0)
        return -1;
    if (key && !sl_streq(key, v.id))
        return sl_fail_at(err, SL_INVALID, "purge",
                          "purge: \"%.60s\" is not this volume's id; give the id as second key to "
                          "remove the data for good",
                          key);
    if (volume_delete(c, r->s, v.id, false, r->caller.account_id, err) < 0 ||
        volume_get(c, r->caller.account_id, id, &v, err) < 0)
        return -1;
    if (key && v.state == VOLUME_DELETED && v.purge_after_us && volume_purge(c, r->s, &v, err) < 0)
        return -1;
    if (volume_get(c, r->caller.account_id, id, &v, err) < 0)
        return -1;
    return volume_write(c, r->s, &out->json, &v, err);
}
