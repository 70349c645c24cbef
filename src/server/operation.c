/* SPDX-License-Identifier: Apache-2.0 */
#include "server/operation.h"
#include "base/core/failpoint.h"
#include "server/page.h"
#include "server/work.h"
#include <stdio.h>

#define COLUMNS                                                                                    \
    "id, kind, ref, account_id, node_name, epoch, state, state_since_us, attempts, payload, "      \
    "error, created_us"
static const char sql_add[] =
    "INSERT INTO operation(id, kind, ref, account_id, node_name, epoch, state, state_since_us, "
    "next_us, payload, created_us) VALUES(?1, ?2, ?3, ?4, ?5, ?6, 'pending', ?7, ?8, ?9, ?7)";
static const char sql_get[] = "SELECT " COLUMNS " FROM operation WHERE id = ?1";
static const char sql_list[] =
    "SELECT " COLUMNS " FROM operation WHERE ref = ?1 AND (?2 = '' OR account_id = ?2) "
    "AND id > ?3 ORDER BY id LIMIT ?4";
static const char sql_list_all[] =
    "SELECT " COLUMNS " FROM operation WHERE (?1 = '' OR account_id = ?1) AND id > ?2 "
    "ORDER BY id LIMIT ?3";

int operation_add(struct db_c *c, struct server *s, const struct operation_new *n,
                  char ret_id[ID_TEXT], struct sl_err *err)
{
    char id[ID_TEXT];
    int64_t now = env_now(s->env);
    env_id(s->env, "opn", id);
    if (db_exec(c, err, sql_add, "tttttiiit", id, n->kind, n->ref, n->account_id, n->node_name,
                n->epoch, now, now + n->delay_s * SL_SEC, n->payload ? n->payload : "{}") < 0)
        return -1;
    FAILPOINT("operation.added");
    if (ret_id)
        memcpy(ret_id, id, ID_TEXT);
    work_wake();
    return 0;
}

int operation_finish(struct db_c *c, struct server *s, const struct operation *op,
                     struct sl_err *err)
{
    FAILPOINT("operation.finish");
    return sm_move(c, s, &operation_sm, "operation", "id", op->id, OPERATION_DONE, op->account_id,
                   "system", "", err);
}

int operation_fail(struct db_c *c, struct server *s, const struct operation *op, const char *why,
                   struct sl_err *err)
{
    FAILPOINT("operation.fail");
    if (db_exec(c, err, "UPDATE operation SET error = ?2 WHERE id = ?1", "tt", op->id, why) < 0)
        return -1;
    return sm_move(c, s, &operation_sm, "operation", "id", op->id, OPERATION_FAILED, op->account_id,
                   "system", why, err);
}

static void read_row(struct db_q *q, struct sl_arena *a, struct operation *op)
{
    *op = (struct operation){.epoch = db_int(q, 5),
                             .state = sm_by_name(&operation_sm, db_text(q, 6)),
                             .attempts = db_int(q, 8),
                             .payload = sl_arena_strdup(a, db_text(q, 9)),
                             .error = sl_arena_strdup(a, db_text(q, 10)),
                             .created_us = db_int(q, 11)};
    (void)snprintf(op->id, sizeof op->id, "%s", db_text(q, 0));
    (void)snprintf(op->kind, sizeof op->kind, "%s", db_text(q, 1));
    (void)snprintf(op->ref, sizeof op->ref, "%s", db_text(q, 2));
    (void)snprintf(op->account_id, sizeof op->account_id, "%s", db_text(q, 3));
    (void)snprintf(op->node_name, sizeof op->node_name, "%s", db_text(q, 4));
}

int operation_get(struct db_c *c, const char *account_id, const char *id, struct sl_arena *a,
                  struct operation *ret, struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err, sql_get, "t", id);
    if (rc > 0)
        read_row(&q, a, ret);
    db_done(&q);
    if (rc < 0)
        return -1;
    if (rc == 0 || (account_id && !sl_streq(account_id, ret->account_id)))
        return sl_fail_at(err, SL_NOT_FOUND, "id", "no operation %.60s exists; check the id", id);
    return 0;
}

static void write_row(struct jw *w, struct db_q *q)
{
    jw_object(w, NULL);
    jw_str(w, "id", db_text(q, 0));
    jw_str(w, "kind", db_text(q, 1));
    jw_str(w, "ref", db_text(q, 2));
    jw_str(w, "node", db_null(q, 4) ? NULL : db_text(q, 4));
    jw_str(w, "state", db_text(q, 6));
    jw_int(w, "attempts", db_int(q, 8));
    jw_str(w, "error", db_text(q, 10));
    jw_time(w, "created", db_int(q, 11));
    jw_time(w, "since", db_int(q, 7));
    jw_end(w);
}

/* Operators see every account's. */
static const char *seen_by(const struct req *r)
{
    return r->caller.role == ROLE_OPERATOR ? "" : r->caller.account_id;
}

int operation_write(struct db_c *c, struct jw *w, const char *account_id, const char *id,
                    struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err, sql_get, "t", id);
    bool seen = rc > 0 && (!*account_id || sl_streq(account_id, db_text(&q, 3)));
    if (seen)
        write_row(w, &q);
    db_done(&q);
    if (rc < 0)
        return -1;
    if (!seen)
        return sl_fail_at(err, SL_NOT_FOUND, "id", "no operation %.60s exists; check the id", id);
    return 0;
}

int operation_show(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    return operation_write(c, &out->json, seen_by(r), r->path[0], err);
}

int operation_list(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct page p;
    struct db_q q;
    const char *ref = req_query(r, "ref");
    if (page_begin(r, out, &p, err) < 0)
        return -1;
    int rc = ref ? db_query(c, &q, err, sql_list, "ttti", ref, seen_by(r), p.cursor, p.limit + 1)
                 : db_query(c, &q, err, sql_list_all, "tti", seen_by(r), p.cursor, p.limit + 1);
    while (rc >= 0 && (rc = db_next(&q, err)) > 0 && page_take(&p, db_text(&q, 0)))
        write_row(&out->json, &q);
    db_done(&q);
    page_end(out, &p);
    return rc < 0 ? -1 : 0;
}
