/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations on a node: the test that makes it available, and the wipe between tenants.
 */
#include "base/core/failpoint.h"
#include "base/core/log.h"
#include "server/event.h"
#include "server/image.h"
#include "server/node.h"
#include "server/operation.h"
#include "server/placement.h"
#include <inttypes.h>
#include <stdio.h>

enum { PROBE_TIMEOUT_MS = 30000, SANITIZE_TIMEOUT_MS = 1200000, STEPS_MAX = 64 << 10 };

static void request(struct sl_buf *b, const char *op, const char *node)
{
    struct jw w = {b};
    jw_object(&w, NULL);
    jw_str(&w, "op", op);
    if (node)
        jw_str(&w, "node", node);
    jw_end(&w);
}

int node_ask_name(const char *addr, int timeout_ms, char ret_name[NODE_NAME_MAX],
                  struct sl_err *err)
{
    struct engine_node at = {.name = "?"};
    (void)snprintf(at.addr, sizeof at.addr, "%s", addr);
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    const struct jr_val *ok = NULL;
    if (engine_local.operate(&at, "{\"op\":\"probe\"}", timeout_ms, NULL, NULL, &doc, &ok, err) < 0)
        return -1;
    const char *name = jr_text(jr_get(ok, "node"), "");
    if (!name_ok(name))
        return sl_fail_at(
            err, SL_INVALID, "name",
            "the agent at %.80s names its node \"%.60s\"; a node's name is 1 to 63 of "
            "a-z, 0-9 and '-'",
            addr, name);
    (void)snprintf(ret_name, NODE_NAME_MAX, "%s", name);
    return 0;
}

/* ---- test ---- */
struct probed {
    struct server *s;
    const struct operation *op;
    const struct jr_val *facts, *images;
};

static const char sql_probed[] =
    "UPDATE node SET model = ?2, cards = ?3, devices_per_card = ?4, cpus = ?5, memory_bytes = ?6, "
    "card_memory_bytes = ?7, emulated = ?8, facts = ?9, free_mask = ?10, free_cards = ?11, "
    "failed_starts = 0, reason = '', seen_us = ?12, topology = ?13 WHERE name = ?1";

static uint64_t mask_of(int64_t cards)
{
    return cards >= 64 ? UINT64_MAX : (1ULL << cards) - 1;
}

int node_probed(struct db_c *c, struct server *s, const char *name, const struct jr_val *facts,
                struct sl_err *err)
{
    SL_AUTO_ARENA struct sl_arena a = {0};
    struct node n;
    const struct jr_val *cards = jr_get(facts, "cards"), *first = jr_at(cards, 0);
    int64_t count = (int64_t)jr_len(cards);
    if (node_get(c, name, &a, &n, err) < 0)
        return -1;
    if (count < 1 || count > NODE_CARDS_MAX)
        return sl_fail_at(err, SL_INVALID, "cards",
                          "node %s reports %" PRId64 " cards; 1 to %d can be rented", name, count,
                          NODE_CARDS_MAX);
    uint64_t busy = n.leased_mask | n.sanitize_mask, all = mask_of(count);
    const char *model = jr_text(jr_get(facts, "model"), "");
    if ((busy & ~all) || (busy && !sl_streq(model, n.model)))
        return sl_fail(err, SL_CONFLICT,
                       "node %s reports %" PRId64 " cards of %.40s, but cards that are not among "
                       "them are leased; repair it",
                       name, count, model);
    int64_t least = INT64_MAX;
    for (int64_t i = 0; i < count; i++) {
        int64_t bytes = jr_i64(jr_get(jr_at(cards, (size_t)i), "memory_bytes"), 0);
        least = bytes < least ? bytes : least;
    }
    SL_AUTO_BUF struct sl_buf text = SL_BUF(4 << 20);
    jr_write(facts, &text);
    SL_AUTO_BUF struct sl_buf topology = SL_BUF(NODE_CARDS_MAX * NODE_CARDS_MAX);
    struct place_topology *t = sl_arena_alloc(&a, sizeof *t);
    place_topology_read(facts, t);
    place_topology_text(t, (int)count, &topology);
    int64_t devices = (int64_t)jr_len(jr_get(first, "devices"));
    return db_exec(
        c, err, sql_probed, "ttiiiiiitiiit", name, model, count, devices > 0 ? devices : 1,
        jr_i64(jr_get(facts, "cpus"), 0), jr_i64(jr_get(facts, "memory_bytes"), 0), least,
        (int64_t)jr_true(jr_get(facts, "emulated")), sl_buf_str(&text), (int64_t)(all & ~busy),
        (int64_t)__builtin_popcountll(all & ~busy), env_now(s->env), sl_buf_str(&topology));
}

static const char *first_reason(const struct jr_val *facts)
{
    return jr_text(jr_at(jr_get(facts, "reasons"), 0), "");
}

static int tested(struct db_c *c, void *arg, struct sl_err *err)
{
    struct probed *p = arg;
    SL_AUTO_ARENA struct sl_arena a = {0};
    struct node n;
    const char *name = p->op->node_name;
    if (node_get(c, name, &a, &n, err) < 0)
        return -1;
    if (n.state != NODE_TESTING) /* drained or retired meanwhile */
        return operation_finish(c, p->s, p->op, err);
    if (node_probed(c, p->s, name, p->facts, err) < 0 || image_on_node(c, name, p->images, err) < 0)
        return -1;
    FAILPOINT("node.probed");
    const char *health = jr_text(jr_get(p->facts, "health"), "unknown");
    if (node_health(c, p->s, name, health, first_reason(p->facts), err) < 0)
        return -1;
    if (!sl_streq(health, "bad") && sm_move(c, p->s, &node_sm, "node", "name", name, NODE_AVAILABLE,
                                            "", "system", "probe passed", err) < 0)
        return -1;
    return operation_finish(c, p->s, p->op, err);
}

struct where {
    const char *name;
    struct engine_node node;
    const struct engine *engine;
};

static int find_engine(struct db_c *c, void *arg, struct sl_err *err)
{
    struct where *w = arg;
    return node_engine(c, w->name, &w->node, &w->engine, err);
}

static int ask(const struct where *w, const char *op, struct jr_doc **ret_doc,
               const struct jr_val **ret_ok, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(1024);
    request(&b, op, w->name);
    return w->engine->operate(&w->node, sl_buf_str(&b), PROBE_TIMEOUT_MS, NULL, NULL, ret_doc,
                              ret_ok, err);
}

int node_run_test(struct server *s, const struct operation *op, struct sl_err *err)
{
    struct where w = {.name = op->node_name};
    if (db_read(s->db, find_engine, &w, err) < 0)
        return -1;
    JR_AUTO_DOC struct jr_doc *facts_doc = NULL, *images_doc = NULL;
    const struct jr_val *images = NULL;
    struct probed p = {.s = s, .op = op};
    if (ask(&w, "probe", &facts_doc, &p.facts, err) < 0 ||
        ask(&w, "image.list", &images_doc, &images, err) < 0)
        return -1;
    p.images = jr_get(images, "images");
    return db_write(s->db, tested, &p, err);
}

int node_test_gave_up(struct db_c *c, struct server *s, const struct operation *op, const char *why,
                      struct sl_err *err)
{
    return node_quarantine(c, s, op->node_name, why, err);
}

/* ---- enrolment from the configuration ---- */
struct socket_node {
    struct server *s;
    const char *addr;
    char name[NODE_NAME_MAX];
    int64_t known;
};

static int socket_known(struct db_c *c, void *arg, struct sl_err *err)
{
    struct socket_node *n = arg;
    return db_value(c, 0, &n->known, err, "SELECT COUNT(*) FROM node WHERE addr = ?1", "t",
                    n->addr);
}

static int socket_enrol(struct db_c *c, void *arg, struct sl_err *err)
{
    struct socket_node *n = arg;
    return node_enrol(c, n->s, n->name, n->addr, engine_local.name, err);
}

void node_enrol_sockets(struct server *s)
{
    SL_AUTO_ARENA struct sl_arena a = {0};
    const char *rest = s->conf.node_sockets ? s->conf.node_sockets : "", *addr;
    while ((addr = conf_word(&rest, &a))) {
        struct sl_err err = {0};
        struct socket_node n = {.s = s, .addr = addr};
        if (db_read(s->db, socket_known, &n, &err) < 0 || n.known)
            continue;
        if (node_ask_name(addr, 5000, n.name, &err) == 0 &&
            db_write(s->db, socket_enrol, &n, &err) == 0)
            log_info("node.enrolled", "node=%s addr=%s", n.name, addr);
    }
}

/* ---- sanitize ---- */
struct wipe {
    struct server *s;
    const struct operation *op;
    uint64_t mask;
    const struct jr_val *answer;
};

static uint64_t op_mask(const struct operation *op)
{
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    struct sl_err err = {0};
    SL_ASSERT(jr_open(op->payload, strlen(op->payload), &doc, &err) == 0);
    return (uint64_t)jr_i64(jr_get(jr_root(doc), "mask"), 0);
}

static void write_cards(struct jw *w, uint64_t mask)
{
    jw_array(w, "cards");
    for (uint64_t m = mask; m; m &= m - 1)
        jw_int(w, NULL, __builtin_ctzll(m));
    jw_end(w);
}

/* The certificate: what is signed are the canonical bytes of its body. */
static int certify(struct db_c *c, struct server *s, const struct operation *op, uint64_t mask,
                   const char *result, bool emulated, const char *steps_json, struct sl_err *err)
{
    char id[ID_TEXT], signature[SIGN_HEX];
    int64_t now = env_now(s->env);
    SL_AUTO_BUF struct sl_buf body = SL_BUF(STEPS_MAX * 2), canon = SL_BUF(STEPS_MAX * 2);
    struct jw w = {&body};
    env_id(s->env, "cer", id);
    jw_object(&w, NULL);
    jw_int(&w, "version", 1);
    jw_str(&w, "certificate", id);
    jw_str(&w, "node", op->node_name);
    jw_str(&w, "lease", sl_starts(op->ref, "lea_") ? op->ref : "");
    write_cards(&w, mask);
    jw_str(&w, "result", result);
    jw_bool(&w, "emulated", emulated);
    jw_raw(&w, "steps", steps_json);
    jw_int(&w, "made_us", now);
    jw_end(&w);
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    if (jr_open(sl_buf_str(&body), body.n, &doc, err) < 0 ||
        jr_canonical(jr_root(doc), &canon, err) < 0)
        return -1;
    sign_make(s->sign_secret, canon.p, canon.n, signature);
    return db_exec(c, err,
                   "INSERT INTO certificate(id, node_name, lease_id, gpu_mask, result, emulated, "
                   "body, signature, created_us) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                   "tttititti", id, op->node_name, sl_starts(op->ref, "lea_") ? op->ref : "",
                   (int64_t)mask, result, (int64_t)emulated, sl_buf_str(&canon), signature, now);
}

static int wiped(struct db_c *c, void *arg, struct sl_err *err)
{
    struct wipe *k = arg;
    struct server *s = k->s;
    SL_AUTO_ARENA struct sl_arena a = {0};
    struct node n;
    const char *name = k->op->node_name;
    bool clean = sl_streq(jr_text(jr_get(k->answer, "result"), ""), "clean");
    if (node_get(c, name, &a, &n, err) < 0)
        return -1;
    SL_AUTO_BUF struct sl_buf steps = SL_BUF(STEPS_MAX);
    if (jr_get(k->answer, "steps"))
        jr_write(jr_get(k->answer, "steps"), &steps);
    bool emulated = n.emulated || jr_true(jr_get(k->answer, "emulated"));
    if (certify(c, s, k->op, k->mask, clean ? "clean" : "failed", emulated,
                steps.n && !steps.over ? sl_buf_str(&steps) : "[]", err) < 0)
        return -1;
    FAILPOINT("node.certified");
    uint64_t dirty = k->mask & n.sanitize_mask;
    if (clean && dirty && node_cleaned(c, s, name, dirty, err) < 0)
        return -1;
    if (!clean && node_quarantine(c, s, name, "cards could not be sanitized", err) < 0)
        return -1;
    return operation_finish(c, s, k->op, err);
}

int node_run_sanitize(struct server *s, const struct operation *op, struct sl_err *err)
{
    struct where where = {.name = op->node_name};
    struct wipe k = {.s = s, .op = op, .mask = op_mask(op)};
    if (db_read(s->db, find_engine, &where, err) < 0)
        return -1;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(4096);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "op", "sanitize");
    jw_str(&w, "node", where.node.name);
    write_cards(&w, k.mask);
    jw_str(&w, "lease", op->ref); /* after a resume: the node's name */
    jw_str(&w, "account", op->account_id);
    jw_end(&w);
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    if (where.engine->operate(&where.node, sl_buf_str(&b), SANITIZE_TIMEOUT_MS, NULL, NULL, &doc,
                              &k.answer, err) < 0)
        return -1;
    return db_write(s->db, wiped, &k, err);
}

int node_sanitize_gave_up(struct db_c *c, struct server *s, const struct operation *op,
                          const char *why, struct sl_err *err)
{
    char reason[300];
    if (certify(c, s, op, op_mask(op), "failed", false, "[]", err) < 0)
        return -1;
    (void)snprintf(reason, sizeof reason, "cards could not be sanitized: %.200s", why);
    return node_quarantine(c, s, op->node_name, reason, err);
}
