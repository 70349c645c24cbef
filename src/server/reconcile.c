/* SPDX-License-Identifier: Apache-2.0 */
#include "server/reconcile.h"
#include "base/core/failpoint.h"
#include "base/core/log.h"
#include "server/event.h"
#include "server/lease.h"
#include "server/node.h"
#include "server/operation.h"
#include "server/work.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum {
    LIST_TIMEOUT_MS = 10000,
    HEALTH_EVERY = 5,  /* rounds between questions for a node's health */
    SILENT_ROUNDS = 3, /* rounds without an answer before a node's health is unknown */
    ORPHAN_GRACE_S = 10,
    /* A row that changed while the node was answering is looked at again in the next round. */
    SETTLE_US = 5 * SL_SEC,
};

/* Guarded by lock. */
static struct {
    struct server *s;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_bool stop; /* also read between two nodes, without the lock */
    pthread_t thread;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* What one round knows of a node. */
struct visit {
    struct server *s;
    struct engine_node node;
    const struct engine *engine;
    int64_t asked_us;
    const struct jr_val *leases; /* the node's answer */
    const char *health, *reason;
    struct sl_arena arena;
    struct lease *rows; /* leases that hold cards here */
    int n_rows;
};

static const char sql_held[] =
    "SELECT " LEASE_COLUMNS " FROM lease WHERE node_name = ?1 AND (gpu_mask <> 0 OR cpu_run = 1) "
    "AND state <> 'released' AND state <> 'failed'";

static const struct jr_val *on_node(const struct visit *v, const char *id)
{
    const struct jr_val *l;
    for (size_t i = 0; (l = jr_at(v->leases, i)); i++)
        if (sl_streq(jr_text(jr_get(l, "lease"), ""), id))
            return l;
    return NULL;
}

static int load(struct db_c *c, void *arg, struct sl_err *err)
{
    struct visit *v = arg;
    struct db_q q;
    int cap = 0;
    sl_arena_free(&v->arena);
    v->rows = NULL;
    v->n_rows = 0;
    int rc = db_query(c, &q, err, sql_held, "t", v->node.name);
    while (rc >= 0 && (rc = db_next(&q, err)) > 0) {
        if (v->n_rows == cap) {
            struct lease *more = sl_arena_alloc(&v->arena, (size_t)(cap + 64) * sizeof *more);
            if (cap)
                memcpy(more, v->rows, (size_t)cap * sizeof *more);
            v->rows = more;
            cap += 64;
        }
        lease_read(&q, &v->arena, &v->rows[v->n_rows++]);
    }
    db_done(&q);
    return rc < 0 ? -1 : 0;
}

static bool settled(const struct visit *v, const struct lease *l)
{
    return v->asked_us - l->state_since_us > SETTLE_US;
}

/* The row says it runs; what does the node say? NULL: it agrees, or it is too early to tell. */
static const char *lost_because(const struct visit *v, const struct lease *l)
{
    bool begun = l->state == LEASE_STARTING || l->state == LEASE_RUNNING;
    if (!begun || !settled(v, l))
        return NULL;
    const struct jr_val *on = on_node(v, l->id);
    if (on && jr_i64(jr_get(on, "epoch"), 0) == l->epoch)
        return sl_streq(jr_text(jr_get(on, "state"), ""), "exited") ? "exited" : NULL;
    /* A start may still be on its way to the node; its deadline watches over it. */
    return l->state == LEASE_RUNNING ? "host_lost: the node no longer has the instance" : NULL;
}

struct loss {
    struct server *s;
    const char *id, *why;
    int64_t epoch, exit_code;
    const char *reason;
};

/* Billing ends at the last proof of life: what came after it is not charged. */
static int end_lost(struct db_c *c, void *arg, struct sl_err *err)
{
    struct loss *k = arg;
    SL_AUTO_ARENA struct sl_arena a = {0};
    struct lease l;
    if (lease_get(c, NULL, k->id, &a, &l, err) < 0)
        return -1;
    if (l.epoch != k->epoch)
        return 0;
    int64_t proven = l.last_heartbeat_us > l.ready_us ? l.last_heartbeat_us : l.ready_us;
    char reason[300];
    if (sl_streq(k->why, "exited"))
        (void)snprintf(reason, sizeof reason, "exited with status %" PRId64 "%s%.200s",
                       k->exit_code, *k->reason ? ": " : "", k->reason);
    else
        (void)snprintf(reason, sizeof reason, "%s", k->why);
    FAILPOINT("reconcile.lost");
    if (l.state == LEASE_STARTING)
        return lease_start_failed(c, k->s, &l, reason, err);
    if (l.state != LEASE_RUNNING)
        return 0;
    return lease_stop_at(c, k->s, &l, proven, "system", reason, err);
}

/* A lease is wanted on a node while it is placed, starting or running there, in its present epoch;
 * while it is stopping its own operation ends it. */
static bool wanted(const struct visit *v, const char *id, int64_t epoch)
{
    for (int i = 0; i < v->n_rows; i++)
        if (sl_streq(v->rows[i].id, id))
            return v->rows[i].epoch == epoch;
    return false;
}

static void stop_orphans(struct visit *v)
{
    const struct jr_val *l;
    for (size_t i = 0; (l = jr_at(v->leases, i)); i++) {
        const char *id = jr_text(jr_get(l, "lease"), "");
        int64_t epoch = jr_i64(jr_get(l, "epoch"), 0);
        struct sl_err err = {0};
        char quoted[LOG_QUOTED];
        if (wanted(v, id, epoch))
            continue;
        log_warn("reconcile.orphan", "node=%s lease=%s epoch=%" PRId64, v->node.name, id, epoch);
        FAILPOINT("reconcile.orphan");
        if (v->engine->lease_stop(&v->node, id, epoch, ORPHAN_GRACE_S, &err) < 0)
            log_warn("reconcile.orphan_stays", "node=%s lease=%s error=%s", v->node.name, id,
                     log_quote(err.msg, quoted));
    }
}

static int store_health(struct db_c *c, void *arg, struct sl_err *err)
{
    struct visit *v = arg;
    return node_health(c, v->s, v->node.name, v->health, v->reason, err);
}

static int ask(struct visit *v, const char *op, struct jr_doc **ret_doc,
               const struct jr_val **ret_ok, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(512);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "op", op);
    jw_str(&w, "node", v->node.name);
    jw_end(&w);
    return v->engine->operate(&v->node, sl_buf_str(&b), LIST_TIMEOUT_MS, NULL, NULL, ret_doc,
                              ret_ok, err);
}

/* The node is asked first and the database read afterwards: a lease that was started in between is
 * in both, one that was ended in between is in neither's way. */
static int compare(struct visit *v, struct sl_err *err)
{
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    const struct jr_val *ok = NULL;
    v->asked_us = env_now(v->s->env);
    if (ask(v, "lease.list", &doc, &ok, err) < 0)
        return -1;
    v->leases = jr_get(ok, "leases");
    struct sl_err store = {0};
    if (db_read(v->s->db, load, v, &store) < 0) {
        log_warn("reconcile.store", "node=%s", v->node.name);
        return 0;
    }
    stop_orphans(v);
    for (int i = 0; i < v->n_rows; i++) {
        const struct lease *l = &v->rows[i];
        const struct jr_val *on = on_node(v, l->id);
        struct loss k = {.s = v->s,
                         .id = l->id,
                         .epoch = l->epoch,
                         .why = lost_because(v, l),
                         .exit_code = jr_i64(jr_get(on, "exit_code"), -1),
                         .reason = jr_text(jr_get(on, "reason"), "")};
        if (k.why && db_write(v->s->db, end_lost, &k, &store) < 0)
            log_warn("reconcile.store", "lease=%s", l->id);
    }
    v->leases = NULL;
    return 0;
}

static void set_health(struct visit *v, const char *health, const char *reason)
{
    struct sl_err err = {0};
    v->health = health;
    v->reason = reason;
    if (db_write(v->s->db, store_health, v, &err) < 0)
        log_warn("reconcile.health", "node=%s", v->node.name);
}

static void ask_health(struct visit *v)
{
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    const struct jr_val *ok = NULL;
    struct sl_err err = {0};
    if (ask(v, "health", &doc, &ok, &err) < 0)
        return; /* the list decides about silence */
    set_health(v, jr_text(jr_get(ok, "health"), "unknown"),
               jr_text(jr_at(jr_get(ok, "reasons"), 0), ""));
}

/* ---- rounds over all nodes ---- */
struct fleet {
    struct server *s;
    struct engine_node *nodes;
    char (*engines)[16];
    int n;
};
/* Rounds in which a node gave no answer; only the reconcile thread touches it. */
static struct silence {
    char name[64];
    int rounds;
} * silent;
static int n_silent;
static int64_t round_number;

static int load_fleet(struct db_c *c, void *arg, struct sl_err *err)
{
    struct fleet *f = arg;
    struct db_q q;
    int cap = 0;
    f->n = 0;
    int rc = db_query(c, &q, err,
                      "SELECT name, addr, engine FROM node WHERE state <> 'retired' AND "
                      "state <> 'enrolled' ORDER BY name",
                      "");
    while (rc >= 0 && (rc = db_next(&q, err)) > 0) {
        if (f->n == cap) {
            cap = cap ? cap * 2 : 64;
            f->nodes = sl_realloc(f->nodes, (size_t)cap * sizeof *f->nodes);
            f->engines = sl_realloc(f->engines, (size_t)cap * sizeof *f->engines);
        }
        (void)snprintf(f->nodes[f->n].name, NODE_NAME_MAX, "%s", db_text(&q, 0));
        (void)snprintf(f->nodes[f->n].addr, NODE_ADDR_MAX, "%s", db_text(&q, 1));
        (void)snprintf(f->engines[f->n++], sizeof f->engines[0], "%s", db_text(&q, 2));
    }
    db_done(&q);
    return rc < 0 ? -1 : 0;
}

static int *silence_of(const char *name)
{
    for (int i = 0; i < n_silent; i++)
        if (sl_streq(silent[i].name, name))
            return &silent[i].rounds;
    silent = sl_realloc(silent, (size_t)(n_silent + 1) * sizeof *silent);
    silent[n_silent] = (struct silence){0};
    (void)snprintf(silent[n_silent].name, sizeof silent[0].name, "%s", name);
    return &silent[n_silent++].rounds;
}

static void visit_node(struct server *s, const struct engine_node *node, const char *engine)
{
    struct visit v = {.s = s, .node = *node, .engine = engine_by_name(engine)};
    struct sl_err err = {0};
    char quoted[LOG_QUOTED];
    int *rounds = silence_of(node->name);
    if (!v.engine)
        return;
    if (compare(&v, &err) == 0) {
        if (*rounds >= SILENT_ROUNDS || round_number % HEALTH_EVERY == 0)
            ask_health(&v);
        *rounds = 0;
    } else if (++*rounds == SILENT_ROUNDS) {
        log_warn("reconcile.silent", "node=%s error=%s", node->name, log_quote(err.msg, quoted));
        set_health(&v, "unknown", "the node's agent does not answer");
    }
    sl_arena_free(&v.arena);
}

int reconcile_once(struct server *s, struct sl_err *err)
{
    struct fleet f = {.s = s};
    node_enrol_sockets(s);
    if (db_read(s->db, load_fleet, &f, err) < 0) {
        free(f.nodes);
        free(f.engines);
        return -1;
    }
    for (int i = 0; i < f.n && !watch.stop; i++)
        visit_node(s, &f.nodes[i], f.engines[i]);
    round_number++;
    free(f.nodes);
    free(f.engines);
    return 0;
}

static void *watch_main(void *arg)
{
    struct server *s = arg;
    char quoted[LOG_QUOTED];
    pthread_mutex_lock(&watch.lock);
    while (!watch.stop) {
        pthread_mutex_unlock(&watch.lock);
        struct sl_err err = {0};
        if (reconcile_once(s, &err) < 0)
            log_error("reconcile", "error=%s", log_quote(err.msg, quoted));
        pthread_mutex_lock(&watch.lock);
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        t.tv_sec += s->conf.reconcile_s;
        if (!watch.stop)
            pthread_cond_timedwait(&watch.wake, &watch.lock, &t);
    }
    pthread_mutex_unlock(&watch.lock);
    return NULL;
}

int reconcile_start(struct server *s, struct sl_err *err)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&watch.wake, &attr);
    watch.s = s;
    watch.stop = false;
    SL_ASSERT(pthread_create(&watch.thread, NULL, watch_main, s) == 0);
    return 0;
}

bool reconcile_stop(int64_t at_most_s)
{
    if (!watch.s)
        return true;
    pthread_mutex_lock(&watch.lock);
    watch.stop = true;
    pthread_cond_signal(&watch.wake);
    pthread_mutex_unlock(&watch.lock);
    if (!work_join(watch.thread, at_most_s))
        return false;
    watch.s = NULL;
    free(silent);
    silent = NULL;
    n_silent = 0;
    return true;
}
