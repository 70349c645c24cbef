/* SPDX-License-Identifier: Apache-2.0
 *
 * The operation workers. One dispatcher moves due rows to running in one transaction and hands them
 * to worker threads; a row that is running when the daemon dies is pending again at the next start.
 */
#include "server/work.h"
#include "base/core/failpoint.h"
#include "base/core/log.h"
#include "server/event.h"
#include "server/image.h"
#include "server/lease.h"
#include "server/node.h"
#include "server/operation.h"
#include "server/snapshot.h"
#include "server/volume.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

enum {
    WORKERS_MAX = 256,
    CLAIM_MAX = 64,
    WAIT_IDLE_MS = 200,
    WAIT_WOKEN_MS = 5, /* a row was added but its transaction is not committed yet */
    WOKEN_ROUNDS = 40,
    BACKOFF_FIRST_MS = 250,
    BACKOFF_MAX_MS = 30000,
};

const struct operation_kind operation_kinds[] = {
    {"lease_start", lease_run_start, 8, lease_start_gave_up},
    {"lease_stop", lease_run_stop, 0, NULL},
    {"sanitize", node_run_sanitize, 20, node_sanitize_gave_up, .slow = true},
    {"node_test", node_run_test, 5, node_test_gave_up},
    {"volume_remove", volume_run_remove, 0, NULL},
    {"volume_grow", volume_run_grow, 0, NULL},
    {"snapshot_make", snapshot_run_make, 5, snapshot_make_gave_up, .slow = true},
    {"snapshot_restore", snapshot_run_restore, 20, NULL, .slow = true},
    {"snapshot_remove", snapshot_run_remove, 0, NULL},
    {"image_import", image_run_import, 5, image_import_gave_up, .slow = true},
    {"image_remove", image_run_remove, 20, NULL, .slow = true},
    {"image_save", image_run_save, 10, image_save_gave_up, .slow = true},
    {0}};

/* A claimed operation on its way to a worker; owns its arena. */
struct job {
    struct operation op;
    struct sl_arena arena;
    struct job *next;
};
/* What is queued or running. */
struct flight {
    char id[ID_TEXT], ref[64], node[64];
    bool slow;
};
/* Guarded by lock. */
static struct {
    struct server *s;
    pthread_mutex_t lock;
    pthread_cond_t for_dispatcher, for_workers;
    bool clock_set, stop;
    int woken;
    struct job *first, *last;
    int n_busy, n_workers;
    struct flight busy[WORKERS_MAX + CLAIM_MAX];
    pthread_t dispatcher, worker[WORKERS_MAX];
} room = {.lock = PTHREAD_MUTEX_INITIALIZER, .for_workers = PTHREAD_COND_INITIALIZER};

void work_wake(void)
{
    pthread_mutex_lock(&room.lock);
    if (room.s) {
        room.woken = WOKEN_ROUNDS;
        pthread_cond_signal(&room.for_dispatcher);
    }
    pthread_mutex_unlock(&room.lock);
}

static void flight_drop(const char *ref)
{
    for (int i = 0; i < room.n_busy; i++)
        if (sl_streq(room.busy[i].ref, ref)) {
            room.busy[i] = room.busy[--room.n_busy];
            return;
        }
}

/* ---- claim ---- */
struct claim {
    struct server *s;
    int n_workers;
    struct flight all[WORKERS_MAX + CLAIM_MAX]; /* in flight, then what this claim adds */
    int n_before, n_all;
    struct job *jobs; /* result */
};
/* Quick work first: a start must not wait behind wipes that take minutes. */
#define SLOW_KINDS                                                                                 \
    "('sanitize', 'image_import', 'image_remove', 'snapshot_make', 'snapshot_restore', "           \
    "'image_save')"
static const char sql_due[] =
    "SELECT id, ref, COALESCE(node_name, '') FROM operation WHERE state = 'pending' AND "
    "next_us <= ?1 AND CASE WHEN kind IN " SLOW_KINDS " THEN 1 ELSE 0 END = ?2 "
    "ORDER BY next_us, id LIMIT 256";
static const char sql_attempt[] = "UPDATE operation SET attempts = attempts + 1 WHERE id = ?1";

/* One operation of a ref at a time. A node that hangs leaves two workers to the others; slow work
 * leaves half of them, quick work one. */
static bool claim_may(const struct claim *k, const char *ref, const char *node, bool slow)
{
    int on_node = 0, same = 0, node_max = k->n_workers > 3 ? k->n_workers - 2 : 1;
    int kind_max = slow ? (k->n_workers + 1) / 2 : k->n_workers > 1 ? k->n_workers - 1 : 1;
    if (k->n_all >= k->n_workers || k->n_all - k->n_before >= CLAIM_MAX)
        return false;
    for (int i = 0; i < k->n_all; i++) {
        if (sl_streq(k->all[i].ref, ref))
            return false;
        on_node += sl_streq(k->all[i].node, node);
        same += k->all[i].slow == slow;
    }
    return same < kind_max && (!*node || on_node < node_max);
}

static void jobs_free(struct job *j)
{
    while (j) {
        struct job *next = j->next;
        sl_arena_free(&j->arena);
        free(j);
        j = next;
    }
}

static int claim_one(struct db_c *c, struct claim *k, const char *id, struct sl_err *err)
{
    struct job *j = sl_alloc(sizeof *j);
    j->next = k->jobs;
    k->jobs = j;
    if (db_exec(c, err, sql_attempt, "t", id) < 0 ||
        operation_get(c, NULL, id, &j->arena, &j->op, err) < 0)
        return -1;
    return sm_move(c, k->s, &operation_sm, "operation", "id", id, OPERATION_RUNNING,
                   j->op.account_id, "system", "", err);
}

static int choose(struct db_c *c, struct claim *k, bool slow, struct sl_err *err)
{
    struct db_q q;
    int rc = db_query(c, &q, err, sql_due, "ii", env_now(k->s->env), (int64_t)slow);
    while (rc >= 0 && (rc = db_next(&q, err)) > 0)
        if (claim_may(k, db_text(&q, 1), db_text(&q, 2), slow)) {
            struct flight *f = &k->all[k->n_all++];
            f->slow = slow;
            (void)snprintf(f->id, sizeof f->id, "%s", db_text(&q, 0));
            (void)snprintf(f->ref, sizeof f->ref, "%s", db_text(&q, 1));
            (void)snprintf(f->node, sizeof f->node, "%s", db_text(&q, 2));
        }
    db_done(&q);
    return rc < 0 ? -1 : 0;
}

static int due_now(struct db_c *c, void *arg, struct sl_err *err)
{
    struct claim *k = arg;
    k->n_all = k->n_before;
    return choose(c, k, false, err) < 0 || choose(c, k, true, err) < 0 ? -1 : 0;
}

static int claim(struct db_c *c, void *arg, struct sl_err *err)
{
    struct claim *k = arg;
    jobs_free(k->jobs);
    k->jobs = NULL;
    if (due_now(c, k, err) < 0)
        return -1;
    for (int i = k->n_all - 1; i >= k->n_before; i--) /* pushed in front: ends up in order */
        if (claim_one(c, k, k->all[i].id, err) < 0)
            return -1;
    FAILPOINT("operation.claim");
    return 0;
}

/* Looks on a read snapshot first, so that an idle server writes nothing. */
static int claim_due(struct server *s, struct claim *k, struct sl_err *err)
{
    k->s = s;
    if (db_read(s->db, due_now, k, err) < 0)
        return -1;
    if (k->n_all == k->n_before)
        return 0;
    if (db_write(s->db, claim, k, err) < 0) {
        jobs_free(k->jobs);
        k->jobs = NULL;
        return -1;
    }
    return 0;
}

/* ---- run ---- */
struct outcome {
    struct server *s;
    const struct operation *op;
    const struct operation_kind *kind;
    const struct sl_err *why;
};
static const char sql_retry[] = "UPDATE operation SET next_us = ?2, error = ?3 WHERE id = ?1";

static int64_t backoff_ms(int64_t attempts)
{
    int64_t ms = BACKOFF_FIRST_MS;
    for (int64_t i = 1; i < attempts && ms < BACKOFF_MAX_MS; i++)
        ms *= 2;
    return ms < BACKOFF_MAX_MS ? ms : BACKOFF_MAX_MS;
}

static int failed(struct db_c *c, void *arg, struct sl_err *err)
{
    struct outcome *o = arg;
    const struct operation *op = o->op;
    struct server *s = o->s;
    int64_t tries = op->attempts;
    bool over = o->kind->max_attempts && tries >= o->kind->max_attempts;
    if (db_exec(c, err, sql_retry, "tit", op->id, env_now(s->env) + backoff_ms(tries) * 1000,
                o->why->msg) < 0)
        return -1;
    if (over && o->kind->give_up && o->kind->give_up(c, s, op, o->why->msg, err) < 0)
        return -1;
    return sm_move(c, s, &operation_sm, "operation", "id", op->id,
                   over ? OPERATION_FAILED : OPERATION_PENDING, op->account_id, "system",
                   o->why->msg, err);
}

static const struct operation_kind *kind_of(const struct operation *op)
{
    for (const struct operation_kind *k = operation_kinds; k->kind; k++)
        if (sl_streq(k->kind, op->kind))
            return k;
    return NULL;
}

static void run_job(struct server *s, struct job *j)
{
    struct sl_err err = {0}, store = {0};
    char quoted[LOG_QUOTED];
    const struct operation_kind *kind = kind_of(&j->op);
    SL_ASSERT(kind);
    FAILPOINT("operation.before_run");
    if (kind->run(s, &j->op, &err) == 0) {
        FAILPOINT("operation.after_run");
        bus_poke(s);
        return;
    }
    log_warn("operation.retry", "operation=%s kind=%s ref=%s attempts=%" PRId64 " error=%s",
             j->op.id, j->op.kind, j->op.ref, j->op.attempts, log_quote(err.msg, quoted));
    struct outcome o = {s, &j->op, kind, &err};
    if (db_write(s->db, failed, &o, &store) < 0)
        log_error("operation.store", "operation=%s error=%s", j->op.id,
                  log_quote(store.msg, quoted));
    bus_poke(s);
}

/* ---- recover ---- */
static int recover(struct db_c *c, void *arg, struct sl_err *err)
{
    struct server *s = arg;
    for (;;) {
        char id[ID_TEXT], account[ID_TEXT];
        struct db_q q;
        int rc = db_row(c, &q, err,
                        "SELECT id, account_id FROM operation WHERE state = 'running' LIMIT 1", "");
        if (rc > 0) {
            (void)snprintf(id, sizeof id, "%s", db_text(&q, 0));
            (void)snprintf(account, sizeof account, "%s", db_text(&q, 1));
        }
        db_done(&q);
        if (rc <= 0)
            return rc;
        if (db_exec(c, err, "UPDATE operation SET next_us = ?2 WHERE id = ?1", "ti", id,
                    env_now(s->env)) < 0 ||
            sm_move(c, s, &operation_sm, "operation", "id", id, OPERATION_PENDING, account,
                    "system", "the daemon was restarted", err) < 0)
            return -1;
    }
}

/* ---- threads ---- */
static void *worker_main(void *arg)
{
    struct server *s = arg;
    pthread_mutex_lock(&room.lock);
    for (;;) {
        while (!room.first && !room.stop)
            pthread_cond_wait(&room.for_workers, &room.lock);
        struct job *j = room.first;
        if (!j || room.stop)
            break;
        room.first = j->next;
        if (!room.first)
            room.last = NULL;
        pthread_mutex_unlock(&room.lock);
        run_job(s, j);
        pthread_mutex_lock(&room.lock);
        flight_drop(j->op.ref);
        room.woken = room.woken ? room.woken : 1;
        pthread_cond_signal(&room.for_dispatcher);
        j->next = NULL;
        jobs_free(j);
    }
    pthread_mutex_unlock(&room.lock);
    return NULL;
}

static void wait_ms(int ms)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += ms * 1000000L;
    t.tv_sec += t.tv_nsec / 1000000000L;
    t.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&room.for_dispatcher, &room.lock, &t);
}

static void enqueue(struct claim *k)
{
    for (int i = k->n_before; i < k->n_all; i++) {
        SL_ASSERT(room.n_busy < (int)SL_COUNT(room.busy));
        room.busy[room.n_busy++] = k->all[i];
    }
    while (k->jobs) {
        struct job *j = k->jobs;
        k->jobs = j->next;
        j->next = NULL;
        if (room.last)
            room.last->next = j;
        else
            room.first = j;
        room.last = j;
        pthread_cond_signal(&room.for_workers);
    }
}

static void *dispatcher_main(void *arg)
{
    struct server *s = arg;
    struct claim *k = sl_alloc(sizeof *k);
    char quoted[LOG_QUOTED];
    pthread_mutex_lock(&room.lock);
    while (!room.stop) {
        bool woken = room.woken > 0;
        room.woken -= woken;
        bool idle = room.n_busy < room.n_workers;
        k->n_workers = room.n_workers;
        k->n_before = k->n_all = room.n_busy;
        memcpy(k->all, room.busy, sizeof room.busy[0] * (size_t)room.n_busy);
        if (idle) {
            struct sl_err err = {0};
            pthread_mutex_unlock(&room.lock);
            if (claim_due(s, k, &err) < 0)
                log_warn("operation.claim", "error=%s", log_quote(err.msg, quoted));
            pthread_mutex_lock(&room.lock);
        }
        if (k->jobs)
            enqueue(k);
        else if (!room.stop)
            wait_ms(woken && idle ? WAIT_WOKEN_MS : WAIT_IDLE_MS);
    }
    pthread_mutex_unlock(&room.lock);
    free(k);
    return NULL;
}

int operations_start(struct server *s, struct sl_err *err)
{
    lifecycle_check();
    if (db_write(s->db, recover, s, err) < 0)
        return -1;
    if (!room.clock_set) {
        pthread_condattr_t attr;
        pthread_condattr_init(&attr);
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        pthread_cond_init(&room.for_dispatcher, &attr);
        room.clock_set = true;
    }
    room.stop = false;
    room.n_busy = room.woken = 0;
    room.n_workers = (int)s->conf.workers;
    SL_ASSERT(room.n_workers > 0 && room.n_workers <= WORKERS_MAX);
    pthread_mutex_lock(&room.lock);
    room.s = s;
    pthread_mutex_unlock(&room.lock);
    SL_ASSERT(pthread_create(&room.dispatcher, NULL, dispatcher_main, s) == 0);
    for (int i = 0; i < room.n_workers; i++)
        SL_ASSERT(pthread_create(&room.worker[i], NULL, worker_main, s) == 0);
    return 0;
}

bool work_join(pthread_t thread, int64_t at_most_s)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += at_most_s;
    return pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &end) == 0;
}

bool operations_stop(int64_t at_most_s)
{
    bool joined = true;
    pthread_mutex_lock(&room.lock);
    bool on = room.s != NULL;
    room.stop = true;
    if (on) {
        pthread_cond_broadcast(&room.for_dispatcher);
        pthread_cond_broadcast(&room.for_workers);
    }
    pthread_mutex_unlock(&room.lock);
    if (!on)
        return true;
    pthread_join(room.dispatcher, NULL);
    for (int i = 0; i < room.n_workers; i++)
        joined &= work_join(room.worker[i], joined ? at_most_s : 0);
    if (!joined)
        return false;
    pthread_mutex_lock(&room.lock);
    jobs_free(room.first); /* still running in the database: pending again at the next start */
    room.first = room.last = NULL;
    room.s = NULL;
    pthread_mutex_unlock(&room.lock);
    return true;
}

int operations_run_due(struct server *s, struct sl_err *err)
{
    struct claim *k = sl_alloc(sizeof *k);
    int n = 0;
    for (;;) {
        k->n_workers = CLAIM_MAX;
        k->n_before = k->n_all = 0;
        if (claim_due(s, k, err) < 0) {
            free(k);
            return -1;
        }
        if (!k->jobs)
            break;
        for (struct job *j = k->jobs; j; j = j->next, n++)
            run_job(s, j);
        jobs_free(k->jobs);
        k->jobs = NULL;
    }
    free(k);
    return n;
}
