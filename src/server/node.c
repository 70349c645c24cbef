/* SPDX-License-Identifier: Apache-2.0 */
#include "server/node.h"
#include "base/core/failpoint.h"
#include "base/core/log.h"
#include "server/event.h"
#include "server/operation.h"
#include <inttypes.h>
#include <stdio.h>

static const char sql_get[] =
    "SELECT name, model, account_id, health, engine, addr, state, cards, devices_per_card, cpus, "
    "memory_bytes, card_memory_bytes, failed_starts, seen_us, created_us, free_mask, leased_mask, "
    "sanitize_mask, emulated, facts, reason FROM node WHERE name = ?1";
static const char sql_engine[] = "SELECT name, addr, engine FROM node WHERE name = ?1";
static const char sql_state[] = "SELECT state FROM node WHERE name = ?1";
#define RETURNING_MASKS "RETURNING state, leased_mask, sanitize_mask"
static const char sql_take[] =
    "UPDATE node SET free_mask = free_mask & ~?2, leased_mask = leased_mask | ?2, "
    "free_cards = free_cards - ?3 WHERE name = ?1 AND (free_mask & ?2) = ?2 AND account_id = ?4";
static const char sql_take_open[] =
    "UPDATE node SET free_mask = free_mask & ~?2, leased_mask = leased_mask | ?2, "
    "free_cards = free_cards - ?3, account_id = ?4 WHERE name = ?1 AND (free_mask & ?2) = ?2 AND "
    "account_id IS NULL";
static const char sql_masks[] =
    "SELECT state, leased_mask, sanitize_mask FROM node WHERE name = ?1";
static const char sql_give_back[] =
    "UPDATE node SET leased_mask = leased_mask & ~?2, sanitize_mask = sanitize_mask | ?2 "
    "WHERE name = ?1 AND (leased_mask & ?2) = ?2 " RETURNING_MASKS;
static const char sql_cleaned[] =
    "UPDATE node SET sanitize_mask = sanitize_mask & ~?2, free_mask = free_mask | ?2, "
    "free_cards = free_cards + ?3 WHERE name = ?1 AND (sanitize_mask & ?2) = ?2 " RETURNING_MASKS;
/* Two leases with one node are found by the index of slots (0001). */
#define NO_CPU_RUN                                                                                 \
    " AND NOT EXISTS (SELECT 1 FROM lease l WHERE l.node_name = ?1 AND l.state <> 'released' AND " \
    "l.state <> 'failed' AND l.cpu_run = 1)"
static const char sql_unowned[] = "UPDATE node SET account_id = NULL WHERE name = ?1" NO_CPU_RUN;
static const char sql_give_cpu[] = "UPDATE node SET account_id = NULL WHERE name = ?1 AND "
                                   "leased_mask = 0 AND sanitize_mask = 0" NO_CPU_RUN;
static const char sql_take_cpu[] =
    "UPDATE node SET account_id = ?2 WHERE name = ?1 AND (account_id IS NULL OR account_id = ?2) "
    "AND health = 'good' AND state IN ('available', 'leased', 'sanitizing')";
static const char sql_reason[] = "UPDATE node SET reason = ?2 WHERE name = ?1";
static const char sql_failed[] =
    "UPDATE node SET failed_starts = failed_starts + 1 WHERE name = ?1";
static const char sql_worked[] =
    "UPDATE node SET failed_starts = 0 WHERE name = ?1 AND failed_starts <> 0";
static const char sql_health[] =
    "UPDATE node SET health = ?2, reason = ?3, seen_us = CASE WHEN ?2 = 'unknown' THEN seen_us "
    "ELSE ?4 END WHERE name = ?1";

static void text(char *out, size_t n, const char *in)
{
    (void)snprintf(out, n, "%s", in);
}

int node_get(struct db_c *c, const char *name, struct sl_arena *a, struct node *n,
             struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err, sql_get, "t", name);
    if (rc <= 0)
        return rc < 0 ? -1
                      : sl_fail_at(err, SL_NOT_FOUND, "node",
                                   "no node %.60s exists; list the nodes to see their names", name);
    *n = (struct node){.state = sm_by_name(&node_sm, db_text(&q, 6)),
                       .cards = db_int(&q, 7),
                       .devices_per_card = db_int(&q, 8),
                       .cpus = db_int(&q, 9),
                       .memory_bytes = db_int(&q, 10),
                       .card_memory_bytes = db_int(&q, 11),
                       .failed_starts = db_int(&q, 12),
                       .seen_us = db_int(&q, 13),
                       .created_us = db_int(&q, 14),
                       .free_mask = (uint64_t)db_int(&q, 15),
                       .leased_mask = (uint64_t)db_int(&q, 16),
                       .sanitize_mask = (uint64_t)db_int(&q, 17),
                       .emulated = db_int(&q, 18),
                       .facts = sl_arena_strdup(a, db_text(&q, 19)),
                       .reason = sl_arena_strdup(a, db_text(&q, 20))};
    text(n->name, sizeof n->name, db_text(&q, 0));
    text(n->model, sizeof n->model, db_text(&q, 1));
    text(n->account_id, sizeof n->account_id, db_text(&q, 2));
    text(n->health, sizeof n->health, db_text(&q, 3));
    text(n->engine, sizeof n->engine, db_text(&q, 4));
    text(n->addr, sizeof n->addr, db_text(&q, 5));
    db_done(&q);
    return 0;
}

int node_engine(struct db_c *c, const char *name, struct engine_node *ret,
                const struct engine **ret_engine, struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err, sql_engine, "t", name);
    if (rc > 0) {
        text(ret->name, sizeof ret->name, db_text(&q, 0));
        text(ret->addr, sizeof ret->addr, db_text(&q, 1));
        *ret_engine = engine_by_name(db_text(&q, 2));
    }
    db_done(&q);
    if (rc < 0)
        return -1;
    if (rc == 0)
        return sl_fail_at(err, SL_NOT_FOUND, "node", "no node %.60s exists", name);
    if (!*ret_engine)
        return sl_fail_at(err, SL_INVALID, "engine", "node %.60s has an unknown engine", name);
    return 0;
}

static int move(struct db_c *c, struct server *s, const char *name, int to, const char *reason,
                struct sl_err *err)
{
    return sm_move(c, s, &node_sm, "node", "name", name, to, "", "system", reason, err);
}

/* The state that the masks imply, and no account when nothing of one is left. q: the answer rc of
 * the statement that changed the masks (RETURNING_MASKS). */
static int settle(struct db_c *c, struct server *s, struct db_q *q, int rc, const char *name,
                  const char *reason, struct sl_err *err)
{
    int state = -1;
    int64_t leased = 0, dirty = 0;
    if (rc > 0) {
        state = sm_by_name(&node_sm, db_text(q, 0));
        leased = db_int(q, 1);
        dirty = db_int(q, 2);
    }
    db_done(q);
    if (rc < 0)
        return -1;
    if (rc == 0)
        return sl_fail(err, SL_CONFLICT,
                       "the cards of node %s are not in the expected state; look at it again",
                       name);
    FAILPOINT("node.masks");
    if (!leased && !dirty && db_exec(c, err, sql_unowned, "t", name) < 0)
        return -1;
    if (state != NODE_AVAILABLE && state != NODE_LEASED && state != NODE_SANITIZING)
        return 0; /* draining, quarantined: an operator decides what comes next */
    int want = leased ? NODE_LEASED : dirty ? NODE_SANITIZING : NODE_AVAILABLE;
    return want == state
               ? 0
               : sm_move_from(c, s, &node_sm, name, state, want, "", "system", reason, err);
}

int node_take(struct db_c *c, struct server *s, const char *name, const char *account_id,
              uint64_t mask, struct sl_err *err)
{
    /* Most cards are taken on a node that the account holds already: its index entry stays. */
    static const char *const takes[] = {sql_take, sql_take_open};
    int64_t changed = 0, cards = __builtin_popcountll(mask);
    struct db_q q = {0};
    for (size_t i = 0; i < SL_COUNT(takes) && changed == 0; i++)
        if (db_exec_n(c, &changed, err, takes[i], "tiit", name, (int64_t)mask, cards, account_id) <
            0)
            return -1;
    int rc = changed ? db_row(c, &q, err, sql_masks, "t", name) : 0;
    return settle(c, s, &q, rc, name, "", err);
}

int node_take_cpu(struct db_c *c, const char *name, const char *account_id, struct sl_err *err)
{
    int64_t changed = 0;
    if (db_exec_n(c, &changed, err, sql_take_cpu, "tt", name, account_id) < 0)
        return -1;
    if (changed)
        return 0;
    return sl_fail_at(err, SL_NO_CAPACITY, "no_gpu",
                      "the disk is on node %s, which another account holds now or which takes no "
                      "instances; try again later",
                      name);
}

int node_give_cpu(struct db_c *c, const char *name, struct sl_err *err)
{
    return db_exec(c, err, sql_give_cpu, "t", name);
}

int node_give_back(struct db_c *c, struct server *s, const char *name, uint64_t mask,
                   const char *reason, struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err, sql_give_back, "ti", name, (int64_t)mask);
    return settle(c, s, &q, rc, name, reason, err);
}

int node_cleaned(struct db_c *c, struct server *s, const char *name, uint64_t mask,
                 struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err, sql_cleaned, "tii", name, (int64_t)mask,
                    (int64_t)__builtin_popcountll(mask));
    return settle(c, s, &q, rc, name, "", err);
}

int node_quarantine(struct db_c *c, struct server *s, const char *name, const char *reason,
                    struct sl_err *err)
{
    struct db_q q;
    int state = -1, rc = db_row(c, &q, err, sql_state, "t", name);
    if (rc > 0)
        state = sm_by_name(&node_sm, db_text(&q, 0));
    db_done(&q);
    if (rc < 0)
        return -1;
    if (state < 0 || state == NODE_QUARANTINED || !sm_allowed(&node_sm, state, NODE_QUARANTINED))
        return 0;
    if (db_exec(c, err, sql_reason, "tt", name, reason) < 0)
        return -1;
    log_warn("node.quarantined", "node=%s", name);
    return move(c, s, name, NODE_QUARANTINED, reason, err);
}

int node_start_failed(struct db_c *c, struct server *s, const char *name, const char *reason,
                      struct sl_err *err)
{
    int64_t failed = 0;
    if (db_exec(c, err, sql_failed, "t", name) < 0 ||
        db_value(c, 0, &failed, err, "SELECT failed_starts FROM node WHERE name = ?1", "t", name) <
            0)
        return -1;
    if (failed < NODE_FAILED_STARTS_MAX)
        return 0;
    char why[300];
    (void)snprintf(why, sizeof why, "%" PRId64 " starts in a row failed; the last: %.200s", failed,
                   reason);
    return node_quarantine(c, s, name, why, err);
}

int node_start_worked(struct db_c *c, const char *name, struct sl_err *err)
{
    return db_exec(c, err, sql_worked, "t", name);
}

int node_health(struct db_c *c, struct server *s, const char *name, const char *health,
                const char *reason, struct sl_err *err)
{
    char before[8] = "";
    struct db_q q;
    int rc = db_row(c, &q, err, "SELECT health FROM node WHERE name = ?1", "t", name);
    if (rc > 0)
        text(before, sizeof before, db_text(&q, 0));
    db_done(&q);
    if (rc <= 0)
        return rc;
    if (!sl_streq(health, "good") && !sl_streq(health, "bad"))
        health = "unknown";
    if (db_exec(c, err, sql_health, "ttti", name, health, reason, env_now(s->env)) < 0)
        return -1;
    if (sl_streq(before, health))
        return 0;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(2048);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "from", before);
    jw_str(&w, "to", health);
    jw_str(&w, "reason", reason);
    jw_end(&w);
    if (event_add(c, s, "", "node", name, "node.health", "agent", sl_buf_str(&b), err) < 0)
        return -1;
    return sl_streq(health, "bad") ? node_quarantine(c, s, name, reason, err) : 0;
}

int node_enrol(struct db_c *c, struct server *s, const char *name, const char *addr,
               const char *engine, struct sl_err *err)
{
    char id[ID_TEXT];
    int64_t now = env_now(s->env), changed = 0;
    env_id(s->env, "nod", id);
    if (db_exec_n(c, &changed, err,
                  "INSERT INTO node(name, id, state, state_since_us, health, model, cards, "
                  "devices_per_card, free_mask, free_cards, engine, addr, place_order, cpus, "
                  "memory_bytes, card_memory_bytes, emulated, facts, seen_us, created_us) "
                  "SELECT ?1, ?2, 'enrolled', ?3, 'unknown', '', 0, 1, 0, 0, ?4, ?5, "
                  "COALESCE(MAX(place_order), 0) + 1, 0, 0, 0, 0, '{}', 0, ?3 FROM node WHERE true "
                  "ON CONFLICT (name) DO NOTHING",
                  "ttitt", name, id, now, engine, addr) < 0)
        return -1;
    if (changed == 0) {
        struct db_q q;
        int rc = db_row(c, &q, err, sql_state, "t", name);
        bool retired = rc > 0 && sl_streq(db_text(&q, 0), "retired");
        db_done(&q);
        if (rc < 0)
            return -1;
        if (!retired)
            return sl_fail_at(err, SL_CONFLICT, "name",
                              "a node named %s is enrolled already; retire it first or use another "
                              "name",
                              name);
        if (db_exec(c, err, "UPDATE node SET addr = ?2, engine = ?3, reason = '' WHERE name = ?1",
                    "ttt", name, addr, engine) < 0 ||
            move(c, s, name, NODE_ENROLLED, "", err) < 0)
            return -1;
    }
    if (move(c, s, name, NODE_TESTING, "", err) < 0)
        return -1;
    struct operation_new op = {
        .kind = "node_test", .ref = name, .account_id = "", .node_name = name};
    return operation_add(c, s, &op, NULL, err);
}

int node_sanitize_add(struct db_c *c, struct server *s, const char *name, const char *lease_id,
                      const char *account_id, uint64_t mask, struct sl_err *err)
{
    char payload[64];
    (void)snprintf(payload, sizeof payload, "{\"mask\":%" PRId64 "}", (int64_t)mask);
    struct operation_new op = {.kind = "sanitize",
                               .ref = *lease_id ? lease_id : name,
                               .account_id = account_id,
                               .node_name = name,
                               .payload = payload};
    return operation_add(c, s, &op, NULL, err);
}

/* ---- audit ---- */
static const char sql_audit_nodes[] =
    "SELECT n.name, n.state, n.cards, n.free_mask, n.free_cards, n.leased_mask, n.sanitize_mask, "
    "COALESCE(n.account_id, ''), COALESCE(SUM(l.gpu_mask), 0), COALESCE(SUM(CASE WHEN l.gpu_mask "
    "<> 0 THEN l.gpus ELSE 0 END), 0), "
    "COALESCE(MIN(l.account_id), ''), COALESCE(MAX(l.account_id), ''), COALESCE(SUM(l.cpu_run), 0) "
    "FROM node n LEFT JOIN lease l ON l.node_name = n.name AND (l.gpu_mask <> 0 OR l.cpu_run = 1) "
    "AND l.state <> 'released' AND l.state <> 'failed' GROUP BY n.name";
static const char sql_audit_dirty[] =
    "SELECT COUNT(*) FROM operation WHERE kind = 'sanitize' AND node_name = ?1 AND "
    "(state = 'pending' OR state = 'running')";

struct audit_row {
    char name[64], state[16], account[ID_TEXT], low[ID_TEXT], high[ID_TEXT];
    int64_t cards, free_mask, free_cards, leased, dirty, lease_sum, lease_gpus, cpu_runs;
};

/* Disjoint masks add up to their union, and to no more cards than bits, exactly when no two
 * overlap. */
static const char *audit_one(const struct audit_row *r)
{
    int n_leased = __builtin_popcountll((uint64_t)r->leased);
    if (r->lease_sum != r->leased || r->lease_gpus != n_leased)
        return "its leased cards are not those of its leases";
    if (r->free_cards != __builtin_popcountll((uint64_t)r->free_mask))
        return "free_cards is not the number of bits in free_mask";
    if ((r->free_mask & r->leased) || (r->free_mask & r->dirty) || (r->leased & r->dirty))
        return "a card is in two states";
    if (!*r->account != !(r->leased || r->dirty || r->cpu_runs))
        return "its account does not fit its cards";
    if ((r->leased || r->cpu_runs) &&
        (!sl_streq(r->low, r->account) || !sl_streq(r->high, r->account)))
        return "it serves another account than its own";
    return NULL;
}

int node_audit(struct db_c *c, struct sl_buf *report, int64_t *ret_bad, struct sl_err *err)
{
    struct db_q q;
    int rc = db_query(c, &q, err, sql_audit_nodes, "");
    *ret_bad = 0;
    while (rc >= 0 && (rc = db_next(&q, err)) > 0) {
        struct audit_row r = {.cards = db_int(&q, 2),
                              .free_mask = db_int(&q, 3),
                              .free_cards = db_int(&q, 4),
                              .leased = db_int(&q, 5),
                              .dirty = db_int(&q, 6),
                              .lease_sum = db_int(&q, 8),
                              .lease_gpus = db_int(&q, 9),
                              .cpu_runs = db_int(&q, 12)};
        text(r.name, sizeof r.name, db_text(&q, 0));
        text(r.state, sizeof r.state, db_text(&q, 1));
        text(r.account, sizeof r.account, db_text(&q, 7));
        text(r.low, sizeof r.low, db_text(&q, 10));
        text(r.high, sizeof r.high, db_text(&q, 11));
        const char *bad = audit_one(&r);
        int64_t open = 1;
        if (!bad && r.dirty && !sl_streq(r.state, "quarantined")) {
            if (db_value(c, 0, &open, err, sql_audit_dirty, "t", r.name) < 0)
                rc = -1;
            if (!open)
                bad = "cards wait to be sanitized and nothing will do it";
        }
        if (bad) {
            ++*ret_bad;
            sl_buf_printf(report, "node %s: %s\n", r.name, bad);
        }
    }
    db_done(&q);
    return rc < 0 ? -1 : 0;
}
