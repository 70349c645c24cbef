/* SPDX-License-Identifier: Apache-2.0
 *
 * /v1/nodes and /v1/certificates: for operators.
 */
#include "server/node.h"
#include "server/operation.h"
#include "server/page.h"
#include <stdio.h>

enum { ENROL_TIMEOUT_MS = 10000 };
const struct jr_field node_enrol_fields[] = {
    {"name", JR_K_STR, 0, offsetof(struct node_enrol_body, name), 1, 63,
     .doc = "default: what the agent calls itself"},
    {"addr", JR_K_STR, JR_REQUIRED, offsetof(struct node_enrol_body, addr), 7, NODE_ADDR_MAX - 1,
     .doc = "unix:/path of the agent's socket"},
    {"engine", JR_K_STR, 0, offsetof(struct node_enrol_body, engine), 1, 15, .doc = "local"},
    {0}};

/* One letter a card, in the order of the node. */
static void card_letters(const struct node *n, char out[NODE_CARDS_MAX + 1])
{
    int i;
    for (i = 0; i < n->cards && i < NODE_CARDS_MAX; i++) {
        uint64_t bit = 1ull << i;
        out[i] = n->free_mask & bit       ? 'F'
                 : n->leased_mask & bit   ? 'L'
                 : n->sanitize_mask & bit ? 'S'
                                          : 'O';
    }
    out[i] = 0;
}

static void node_write(struct jw *w, const struct node *n)
{
    char letters[NODE_CARDS_MAX + 1];
    card_letters(n, letters);
    jw_object(w, NULL);
    jw_str(w, "name", n->name);
    jw_str(w, "state", node_sm.states[n->state].name);
    jw_str(w, "health", n->health);
    jw_str(w, "model", n->model);
    jw_int(w, "cards", n->cards);
    jw_int(w, "free", __builtin_popcountll(n->free_mask));
    jw_int(w, "leased", __builtin_popcountll(n->leased_mask));
    jw_int(w, "sanitizing", __builtin_popcountll(n->sanitize_mask));
    jw_str(w, "card_states", letters);
    jw_str(w, "account", *n->account_id ? n->account_id : NULL);
    jw_str(w, "addr", n->addr);
    jw_bool(w, "emulated", n->emulated);
    jw_str(w, "reason", n->reason);
    jw_raw(w, "facts", n->facts);
    jw_end(w);
}

static int answer(struct db_c *c, struct req *r, struct reply *out, const char *name,
                  struct sl_err *err)
{
    struct node n;
    if (node_get(c, name, r->arena, &n, err) < 0)
        return -1;
    node_write(&out->json, &n);
    return 0;
}

int node_show(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    return answer(c, r, out, r->path[0], err);
}

int node_list(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct page p;
    struct db_q q;
    char(*names)[64];
    int n = 0, rc;
    if (page_begin(r, out, &p, err) < 0)
        return -1;
    names = sl_arena_alloc(r->arena, (size_t)p.limit * sizeof *names);
    rc = db_query(c, &q, err, "SELECT name FROM node WHERE name > ?1 ORDER BY name LIMIT ?2", "ti",
                  p.cursor, p.limit + 1);
    while (rc >= 0 && (rc = db_next(&q, err)) > 0 && page_take(&p, db_text(&q, 0)))
        (void)snprintf(names[n++], sizeof names[0], "%s", db_text(&q, 0));
    db_done(&q);
    for (int i = 0; rc >= 0 && i < n; i++)
        rc = answer(c, r, out, names[i], err);
    page_end(out, &p);
    return rc < 0 ? -1 : 0;
}

int node_enrol_prepare(struct req *r, struct sl_err *err)
{
    const struct node_enrol_body *b = r->body;
    const char *engine = b->engine ? b->engine : engine_local.name;
    if (b->name && !name_ok(b->name))
        return sl_fail_at(err, SL_INVALID, "name",
                          "name: \"%.60s\" is not a node's name; use a-z, 0-9 and '-'", b->name);
    if (!engine_by_name(engine))
        return sl_fail_at(err, SL_INVALID, "engine", "engine: \"%.20s\" is unknown; use local",
                          engine);
    if (!sl_starts(b->addr, "unix:/"))
        return sl_fail_at(err, SL_INVALID, "addr",
                          "addr: \"%.100s\" is not an agent's address; write unix:/path.sock",
                          b->addr);
    char *name = sl_arena_alloc(r->arena, NODE_NAME_MAX);
    if (b->name)
        (void)snprintf(name, NODE_NAME_MAX, "%s", b->name);
    else if (node_ask_name(b->addr, ENROL_TIMEOUT_MS, name, err) < 0)
        return -1;
    r->prepared = name;
    return 0;
}

int node_enrol_post(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    const struct node_enrol_body *b = r->body;
    const char *engine = b->engine ? b->engine : engine_local.name, *name = r->prepared;
    if (node_enrol(c, r->s, name, b->addr, engine, err) < 0)
        return -1;
    out->status = 201;
    (void)snprintf(out->location, sizeof out->location, "/v1/nodes/%s", name);
    return answer(c, r, out, name, err);
}

static int move(struct db_c *c, struct req *r, int to, const char *reason, struct sl_err *err)
{
    return sm_move(c, r->s, &node_sm, "node", "name", r->path[0], to, "", r->caller.account_id,
                   reason, err);
}

int node_drain(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct node n;
    if (node_get(c, r->path[0], r->arena, &n, err) < 0 ||
        (n.state != NODE_DRAINING && move(c, r, NODE_DRAINING, "drained by an operator", err) < 0))
        return -1;
    return answer(c, r, out, r->path[0], err);
}

/* Whatever is still leased or unclean decides where the node goes; otherwise it is tested again. */
int node_resume(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct node n;
    int64_t open = 0;
    if (node_get(c, r->path[0], r->arena, &n, err) < 0)
        return -1;
    if (n.state != NODE_DRAINING && n.state != NODE_QUARANTINED)
        return sl_fail_at(err, SL_CONFLICT, "state",
                          "node %s is %s; only a draining or quarantined node can be resumed",
                          n.name, node_sm.states[n.state].name);
    int to = n.leased_mask ? NODE_LEASED : n.sanitize_mask ? NODE_SANITIZING : NODE_TESTING;
    if (move(c, r, to, "resumed by an operator", err) < 0 ||
        db_exec(c, err, "UPDATE node SET reason = '', failed_starts = 0 WHERE name = ?1", "t",
                n.name) < 0 ||
        db_value(c, 0, &open, err,
                 "SELECT COUNT(*) FROM operation WHERE kind = 'sanitize' AND node_name = ?1 AND "
                 "(state = 'pending' OR state = 'running')",
                 "t", n.name) < 0)
        return -1;
    if (n.sanitize_mask && !open &&
        node_sanitize_add(c, r->s, n.name, "", n.account_id, n.sanitize_mask, err) < 0)
        return -1;
    struct operation_new op = {
        .kind = "node_test", .ref = n.name, .account_id = "", .node_name = n.name};
    if (to == NODE_TESTING && operation_add(c, r->s, &op, NULL, err) < 0)
        return -1;
    return answer(c, r, out, n.name, err);
}

int node_retire(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct node n;
    int64_t disks = 0;
    if (node_get(c, r->path[0], r->arena, &n, err) < 0)
        return -1;
    if (n.leased_mask || n.sanitize_mask)
        return sl_fail_at(err, SL_CONFLICT, "state",
                          "node %s still has cards leased or not yet sanitized; drain it and wait",
                          n.name);
    if (db_value(c, 0, &disks, err,
                 "SELECT COUNT(*) FROM volume WHERE node_name = ?1 AND state <> 'purged'", "t",
                 n.name) < 0)
        return -1;
    if (disks > 0)
        return sl_fail_at(err, SL_CONFLICT, "state",
                          "node %s still holds %d disks of renters; they must be purged first",
                          n.name, (int)disks);
    if (n.state == NODE_AVAILABLE && move(c, r, NODE_DRAINING, "retired by an operator", err) < 0)
        return -1;
    if (n.state != NODE_RETIRED && move(c, r, NODE_RETIRED, "retired by an operator", err) < 0)
        return -1;
    if (db_exec(c, err, "UPDATE node SET free_mask = 0, free_cards = 0 WHERE name = ?1", "t",
                n.name) < 0)
        return -1;
    return answer(c, r, out, n.name, err);
}

static void certificate_write(struct jw *w, struct db_q *q)
{
    jw_object(w, NULL);
    jw_str(w, "id", db_text(q, 0));
    jw_str(w, "node", db_text(q, 1));
    jw_str(w, "lease", db_text(q, 2));
    jw_array(w, "cards");
    for (uint64_t m = (uint64_t)db_int(q, 3); m; m &= m - 1)
        jw_int(w, NULL, __builtin_ctzll(m));
    jw_end(w);
    jw_str(w, "result", db_text(q, 4));
    jw_bool(w, "emulated", db_int(q, 5));
    jw_raw(w, "body", db_text(q, 6));
    jw_str(w, "signature", db_text(q, 7));
    jw_time(w, "created", db_int(q, 8));
    jw_end(w);
}

int certificate_list(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct page p;
    struct db_q q;
    const char *node = req_query(r, "node");
    if (page_begin(r, out, &p, err) < 0)
        return -1;
    int rc =
        db_query(c, &q, err,
                 "SELECT id, node_name, lease_id, gpu_mask, result, emulated, body, signature, "
                 "created_us FROM certificate WHERE (?1 = '' OR node_name = ?1) AND id > ?2 "
                 "ORDER BY id LIMIT ?3",
                 "tti", node ? node : "", p.cursor, p.limit + 1);
    while (rc >= 0 && (rc = db_next(&q, err)) > 0 && page_take(&p, db_text(&q, 0)))
        certificate_write(&out->json, &q);
    db_done(&q);
    page_end(out, &p);
    return rc < 0 ? -1 : 0;
}
