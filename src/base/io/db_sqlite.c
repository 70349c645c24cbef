/* SPDX-License-Identifier: Apache-2.0
 *
 * The only file that sees SQLite. One connection does all writes and all checkpoints (3.40.1 has
 * the WAL-reset bug, which needs two); read connections only read.
 */
#include "base/core/failpoint.h"
#include "base/core/mem.h"
#include "base/io/db.h"
#include "base/io/db_pcache.h"
#include "base/io/db_wal.h"
#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <time.h>

enum {
    READERS_MAX = 16,
    STMTS_MAX = 512, /* cached statements per connection; SQL texts are constants, so few */
    SLOTS = 2048,    /* of the hash from a text's address to its statement; a power of two */
    BATCH_MAX = 256, /* functions in one commit */
    CHECKPOINT_EVERY = 1024, /* commits between passive checkpoints */
    MIGRATION_MAX = 1 << 20,
    GATHER_MAX_US = 1000, /* a batch waits no longer for callers that are likely to come back */
};

struct stmt {
    char *sql;
    sqlite3_stmt *s;
    int n_params;
    bool busy, readonly;
};
struct db_c {
    sqlite3 *h;
    struct db *db;
    struct stmt stmts[STMTS_MAX];
    /* SQL texts are constants, so their address finds the statement; the text is compared all the
     * same. Two addresses of one text get a slot each. */
    struct {
        const char *sql;
        int at;
    } slots[SLOTS];
    int n_stmts, n_slots, n_busy;
    bool writing;
    uint64_t seen; /* a reader's snapshot holds no commit after this one; 0: none taken yet */
};
struct job {
    db_fn *fn;
    void *arg;
    struct sl_err *err;
    int rc;
    bool done;
    bool repeatable;         /* fn may run again: no savepoint is taken for it */
    pthread_cond_t finished; /* its caller alone waits here */
    struct job *next;
};
struct db {
    bool inline_writes;
    struct db_c writer;
    pthread_mutex_t inline_lock;
    struct db_c readers[READERS_MAX];
    int n_readers;
    bool reader_busy[READERS_MAX];
    pthread_mutex_t read_lock;
    pthread_cond_t read_free;
    /* the queue of writes; guarded by write_lock */
    pthread_mutex_t write_lock;
    pthread_cond_t work;
    struct job *first, *last;
    int n_queued;
    int n_open;        /* queued, run or with the disk: not answered yet */
    int callers;       /* how many there were lately */
    int64_t gather_us; /* how long the next batch may wait for them */
    bool stop;
    pthread_t thread;
    struct db_stats stats; /* guarded by write_lock */
    /* Batches that are committed but perhaps not on the disk yet; guarded by sync_lock. Commits are
     * counted in `begun` before a reader can see them. */
    struct db_wal *wal;
    pthread_mutex_t sync_lock;
    pthread_cond_t to_sync, was_synced;
    struct job *unsynced, *unsynced_last;
    uint64_t handed; /* the last commit among them */
    atomic_ullong begun, synced;
    int n_waiting;
    bool sync_stop;
    pthread_t sync_thread;
    void (*before_sync)(void *);
    void *before_sync_arg;
};

static int fail_sqlite(struct db_c *c, int rc, const char *what, struct sl_err *err)
{
    const char *msg = sqlite3_errmsg(c->h);
    switch (rc & 0xff) {
    case SQLITE_CONSTRAINT:
        return sl_fail(err, SL_CONFLICT, "%s: %s", what, msg);
    case SQLITE_FULL:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
        return sl_fail(err, SL_STORAGE_FULL,
                       "the database cannot be written: %s; free space or "
                       "repair the disk",
                       msg);
    case SQLITE_IOERR:
        return sl_fail(err, SL_STORAGE_FULL, "the database disk fails: %s", msg);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return sl_fail(err, SL_INTEGRITY, "the database file is damaged: %s", msg);
    default:
        return sl_fail(err, SL_INTERNAL, "%s: %s", what, msg);
    }
}

/* ---- statements ---- */
static int slot_of(const struct db_c *c, const char *sql)
{
    uint64_t h = (uint64_t)(uintptr_t)sql * 0x9e3779b97f4a7c15u >> 32;
    int i = (int)(h & (SLOTS - 1));
    while (c->slots[i].sql && c->slots[i].sql != sql)
        i = (i + 1) & (SLOTS - 1);
    return i;
}

static struct stmt *stmt_find(struct db_c *c, const char *sql, int slot)
{
    struct stmt *st = c->slots[slot].sql ? &c->stmts[c->slots[slot].at] : NULL;
    if (st && !st->busy && sl_streq(st->sql, sql))
        return st;
    for (int i = 0; i < c->n_stmts; i++)
        if (!c->stmts[i].busy && sl_streq(c->stmts[i].sql, sql))
            return &c->stmts[i];
    return NULL;
}

static struct stmt *stmt_new(struct db_c *c, const char *sql, struct sl_err *err)
{
    struct stmt *st = NULL;
    if (c->n_stmts < STMTS_MAX)
        st = &c->stmts[c->n_stmts];
    for (int i = 0; !st && i < c->n_stmts; i++)
        if (!c->stmts[i].busy)
            st = &c->stmts[i]; /* full: replace one that is not in use */
    SL_ASSERT(st != NULL);
    sqlite3_stmt *s;
    int rc = sqlite3_prepare_v3(c->h, sql, -1, SQLITE_PREPARE_PERSISTENT, &s, NULL);
    if (rc != SQLITE_OK) {
        fail_sqlite(c, rc, sql, err);
        return NULL;
    }
    if (st == &c->stmts[c->n_stmts])
        c->n_stmts++;
    else
        sqlite3_finalize(st->s), free(st->sql);
    *st = (struct stmt){sl_strdup(sql), s, sqlite3_bind_parameter_count(s), false,
                        sqlite3_stmt_readonly(s)};
    return st;
}

static struct stmt *stmt_get(struct db_c *c, const char *sql, struct sl_err *err)
{
    int slot = slot_of(c, sql);
    struct stmt *st = stmt_find(c, sql, slot);
    if (!st)
        st = stmt_new(c, sql, err);
    if (!st)
        return NULL;
    if (!c->slots[slot].sql &&
        c->n_slots == SLOTS / 2) { /* texts that are no constants: start afresh */
        memset(c->slots, 0, sizeof c->slots);
        c->n_slots = 0;
        slot = slot_of(c, sql);
    }
    c->n_slots += !c->slots[slot].sql;
    c->slots[slot].sql = sql;
    c->slots[slot].at = (int)(st - c->stmts);
    return st;
}

/* `keep`: the values outlive the statement's run, so they need no copy. */
static void bind_all(sqlite3_stmt *s, const char *types, bool keep, va_list ap)
{
    sqlite3_destructor_type how = keep ? SQLITE_STATIC : SQLITE_TRANSIENT;
    for (int i = 1; *types; types++, i++) {
        int rc = SQLITE_OK;
        switch (*types) {
        case 'i':
            rc = sqlite3_bind_int64(s, i, va_arg(ap, int64_t));
            break;
        case 't': {
            const char *t = va_arg(ap, const char *);
            rc = t ? sqlite3_bind_text(s, i, t, -1, how) : sqlite3_bind_null(s, i);
            break;
        }
        case 'b': {
            const void *p = va_arg(ap, const void *);
            size_t n = va_arg(ap, size_t);
            rc = sqlite3_bind_blob64(s, i, p, n, how);
            break;
        }
        default:
            SL_ASSERT(!"unknown parameter letter");
        }
        SL_ASSERT(rc == SQLITE_OK);
    }
}

static struct stmt *stmt_bound(struct db_c *c, const char *sql, const char *types, bool keep,
                               va_list ap, struct sl_err *err)
{
    struct stmt *st = stmt_get(c, sql, err);
    if (!st)
        return NULL;
    SL_ASSERT(st->n_params == (int)strlen(types));
    SL_ASSERT(c->writing || st->readonly);
    bind_all(st->s, types, keep, ap);
    return st;
}

static void stmt_rest(struct db_c *c, struct stmt *st)
{
    c->n_busy -= st->busy;
    sqlite3_reset(st->s);
    sqlite3_clear_bindings(st->s);
    st->busy = false;
}

static int exec_va(struct db_c *c, int64_t *ret_changed, const char *sql, const char *types,
                   va_list ap, struct sl_err *err)
{
    struct stmt *st = stmt_bound(c, sql, types, true, ap, err);
    if (!st)
        return -1;
    int rc;
    do
        rc = sqlite3_step(st->s);
    while (rc == SQLITE_ROW);
    int result = rc == SQLITE_DONE ? 0 : fail_sqlite(c, rc, sql, err);
    if (ret_changed)
        *ret_changed = sqlite3_changes64(c->h);
    stmt_rest(c, st);
    return result;
}

int db_exec(struct db_c *c, struct sl_err *err, const char *sql, const char *types, ...)
{
    va_list ap;
    va_start(ap, types);
    int rc = exec_va(c, NULL, sql, types, ap, err);
    va_end(ap);
    return rc;
}

int db_exec_n(struct db_c *c, int64_t *ret_changed, struct sl_err *err, const char *sql,
              const char *types, ...)
{
    va_list ap;
    va_start(ap, types);
    int rc = exec_va(c, ret_changed, sql, types, ap, err);
    va_end(ap);
    return rc;
}

static int query_va(struct db_c *c, struct db_q *q, const char *sql, const char *types, va_list ap,
                    struct sl_err *err)
{
    *q = (struct db_q){NULL, c};
    struct stmt *st = stmt_bound(c, sql, types, false, ap, err);
    if (!st)
        return -1;
    st->busy = true;
    c->n_busy++;
    q->stmt = st; /* a busy slot of the cache stays where it is */
    return 0;
}

int db_query(struct db_c *c, struct db_q *q, struct sl_err *err, const char *sql, const char *types,
             ...)
{
    va_list ap;
    va_start(ap, types);
    int rc = query_va(c, q, sql, types, ap, err);
    va_end(ap);
    return rc;
}

static sqlite3_stmt *stmt_of(const struct db_q *q)
{
    return ((struct stmt *)q->stmt)->s;
}

int db_next(struct db_q *q, struct sl_err *err)
{
    int rc = sqlite3_step(stmt_of(q));
    if (!q->c->seen) /* a transaction's first statement takes its snapshot */
        q->c->seen = atomic_load(&q->c->db->begun);
    if (rc == SQLITE_ROW)
        return 1;
    return rc == SQLITE_DONE ? 0 : fail_sqlite(q->c, rc, ((struct stmt *)q->stmt)->sql, err);
}

void db_done(struct db_q *q)
{
    if (!q->stmt)
        return;
    stmt_rest(q->c, q->stmt);
    q->stmt = NULL;
}

static int row_va(struct db_c *c, struct db_q *q, const char *sql, const char *types, va_list ap,
                  struct sl_err *err)
{
    int rc = query_va(c, q, sql, types, ap, err);
    if (rc == 0)
        rc = db_next(q, err);
    if (rc <= 0)
        db_done(q);
    return rc;
}

int db_row(struct db_c *c, struct db_q *q, struct sl_err *err, const char *sql, const char *types,
           ...)
{
    va_list ap;
    va_start(ap, types);
    int rc = row_va(c, q, sql, types, ap, err);
    va_end(ap);
    return rc;
}

int db_value(struct db_c *c, int64_t otherwise, int64_t *ret, struct sl_err *err, const char *sql,
             const char *types, ...)
{
    struct db_q q;
    va_list ap;
    va_start(ap, types);
    int rc = row_va(c, &q, sql, types, ap, err);
    va_end(ap);
    *ret = rc > 0 && !db_null(&q, 0) ? db_int(&q, 0) : otherwise;
    if (rc > 0)
        db_done(&q);
    return rc < 0 ? -1 : 0;
}

int64_t db_int(struct db_q *q, int col)
{
    return sqlite3_column_int64(stmt_of(q), col);
}

const char *db_text(struct db_q *q, int col)
{
    const char *t = (const char *)sqlite3_column_text(stmt_of(q), col);
    return t ? t : "";
}

const void *db_blob(struct db_q *q, int col, size_t *ret_n)
{
    const void *p = sqlite3_column_blob(stmt_of(q), col);
    *ret_n = (size_t)sqlite3_column_bytes(stmt_of(q), col);
    return p;
}

bool db_null(struct db_q *q, int col)
{
    return sqlite3_column_type(stmt_of(q), col) == SQLITE_NULL;
}

/* ---- transactions ---- */
static int control(struct db_c *c, const char *sql, struct sl_err *err)
{
    return db_exec(c, err, sql, "");
}

/* A commit that fails leaves the truth unknown: stop, and recover from the log at the next start.
 */
static void must(struct db_c *c, const char *sql)
{
    struct sl_err err = {0};
    if (control(c, sql, &err) < 0) {
        fprintf(stderr, "<0>db.fatal statement=\"%s\" error=\"%s\"\n", sql, err.msg);
        abort();
    }
}

static int64_t mono_us(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static void run_one(struct db_c *c, struct job *j, bool savepoint)
{
    if (savepoint)
        must(c, "SAVEPOINT one");
    j->rc = j->fn(c, j->arg, j->err);
    SL_ASSERT(j->rc == 0 || j->rc == -1);
    SL_ASSERT(c->n_busy == 0);          /* else a query was left open: db_done is missing */
    if (sqlite3_get_autocommit(c->h)) { /* the engine rolled everything back (disk full) */
        j->rc = -1;
        return;
    }
    if (!savepoint)
        return;
    if (j->rc < 0)
        must(c, "ROLLBACK TO one");
    must(c, "RELEASE one");
}

static void fail_all(struct job *jobs, const struct sl_err *why)
{
    for (struct job *j = jobs; j; j = j->next) {
        j->rc = -1;
        *j->err = *why;
    }
}

/* Commits the batch. When the disk is full the whole batch is rolled back and says so. */
static bool commit(struct db *db, struct job *jobs)
{
    struct db_c *c = &db->writer;
    struct sl_err err = {0};
    int64_t t0 = mono_us();
    if (sqlite3_get_autocommit(c->h)) {
        sl_fail(&err, SL_STORAGE_FULL, "the database disk is full; nothing was changed");
        fail_all(jobs, &err);
        return false;
    }
    if (control(c, "COMMIT", &err) < 0) {
        if (err.code != SL_STORAGE_FULL) {
            fprintf(stderr, "<0>db.fatal statement=COMMIT error=\"%s\"\n", err.msg);
            abort();
        }
        int rc = sqlite3_extended_errcode(c->h);
        if ((rc & 0xff) == SQLITE_IOERR) {
            fprintf(stderr, "<0>db.fatal statement=COMMIT error=\"%s\"\n", err.msg);
            abort(); /* a failed fsync: the pages on disk are unknown */
        }
        if (!sqlite3_get_autocommit(c->h))
            must(c, "ROLLBACK");
        fail_all(jobs, &err);
        return false;
    }
    db->stats.commit_us_total += mono_us() - t0;
    return true;
}

/* A savepoint a function costs a copy of every page it touches. Functions that may run again do
 * without: most succeed. One that fails after it changed something spoils the transaction, which
 * then starts over with savepoints. */
static bool run_plain(struct db_c *c, struct job *jobs, int *ret_n)
{
    for (struct job *j = jobs; j; j = j->next, ++*ret_n) {
        sqlite3_int64 before = sqlite3_total_changes64(c->h);
        run_one(c, j, false);
        if (sqlite3_get_autocommit(c->h))
            return true; /* commit() tells them all */
        if (j->rc < 0 && sqlite3_total_changes64(c->h) != before)
            return false;
    }
    return true;
}

/* With `defer` the commit is written, not synced. */
static int run_batch(struct db *db, struct job *jobs, bool defer)
{
    int n = 0;
    struct db_c *c = &db->writer;
    struct sl_err err = {0};
    bool plain = true;
    for (struct job *j = jobs; j; j = j->next)
        plain = plain && j->repeatable;
    if (control(c, "BEGIN IMMEDIATE", &err) < 0) {
        fail_all(jobs, &err);
        return 0;
    }
    if (plain && !run_plain(c, jobs, &n)) {
        must(c, "ROLLBACK");
        must(c, "BEGIN IMMEDIATE");
        plain = false;
        n = 0;
    }
    for (struct job *j = plain ? NULL : jobs; j; j = j->next, n++) {
        run_one(c, j, true);
        if (sqlite3_get_autocommit(c->h))
            break;
    }
    atomic_fetch_add(&db->begun, 1); /* before a reader can see it */
    db_wal_defer(db->wal, defer);
    commit(db, jobs);
    db_wal_defer(db->wal, false);
    if (++db->stats.commits % CHECKPOINT_EVERY == 0)
        sqlite3_wal_checkpoint_v2(c->h, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return n;
}

/* Of the callers that write again and again, half are in the batch that the disk has while the
 * other half are in the one that is run: then neither waits for the other. */
static int half(const struct db *db)
{
    return (db->callers + 1) / 2;
}

/* Those of the last answer come back a moment after it. Waiting for them (a fraction of a batch's
 * time) makes one commit of what would be two. A lone caller never waits. */
static void gather(struct db *db)
{
    struct timespec end;
    if (db->n_queued >= half(db) || db->gather_us <= 0)
        return;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += db->gather_us * 1000;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    while (db->n_queued < half(db) && !db->stop)
        if (pthread_cond_timedwait(&db->work, &db->write_lock, &end) != 0)
            break;
}

static struct job *take_batch(struct db *db)
{
    struct job *batch = db->first, *end = batch;
    int n = 1;
    for (; n < BATCH_MAX && n < half(db) && end->next; n++)
        end = end->next;
    db->first = end->next;
    if (!db->first)
        db->last = NULL;
    end->next = NULL;
    db->n_queued -= n;
    return batch;
}

static void answer(struct db *db, struct job *batch)
{
    pthread_mutex_lock(&db->write_lock);
    for (struct job *j = batch, *next; j; j = next) {
        next = j->next; /* the waiter owns j from `done` on */
        j->done = true;
        db->n_open--;
        pthread_cond_signal(&j->finished);
    }
    pthread_mutex_unlock(&db->write_lock);
}

static void hand_to_sync(struct db *db, struct job *batch)
{
    struct job *last = batch;
    while (last->next)
        last = last->next;
    pthread_mutex_lock(&db->sync_lock);
    if (db->unsynced)
        db->unsynced_last->next = batch;
    else
        db->unsynced = batch;
    db->unsynced_last = last;
    db->handed = atomic_load(&db->begun);
    pthread_cond_signal(&db->to_sync);
    pthread_mutex_unlock(&db->sync_lock);
}

/* The writer goes on to the next batch while this thread waits for the disk. Callers hear of their
 * change, and readers of what they saw, when it is there. */
static void *sync_main(void *arg)
{
    struct db *db = arg;
    pthread_mutex_lock(&db->sync_lock);
    for (;;) {
        while (!db->unsynced && !db->sync_stop)
            pthread_cond_wait(&db->to_sync, &db->sync_lock);
        struct job *batch = db->unsynced;
        uint64_t upto = db->handed;
        if (!batch)
            break;
        db->unsynced = db->unsynced_last = NULL;
        pthread_mutex_unlock(&db->sync_lock);
        if (db->before_sync)
            db->before_sync(db->before_sync_arg);
        if (failpoint_fails("db.sync_fails") || db_wal_sync(db->wal) < 0) {
            fprintf(stderr, "<0>db.fatal statement=fdatasync error=\"%s\"\n", strerror(errno));
            abort(); /* what is on the disk is unknown */
        }
        FAILPOINT("db.synced");
        pthread_mutex_lock(&db->sync_lock);
        atomic_store(&db->synced, upto);
        if (db->n_waiting)
            pthread_cond_broadcast(&db->was_synced);
        pthread_mutex_unlock(&db->sync_lock);
        answer(db, batch);
        pthread_mutex_lock(&db->sync_lock);
    }
    pthread_mutex_unlock(&db->sync_lock);
    return NULL;
}

/* What a reader tells or does may rest on a commit that is not on the disk yet. */
static void wait_synced(struct db *db, uint64_t upto)
{
    if (db->inline_writes || atomic_load(&db->synced) >= upto)
        return;
    pthread_mutex_lock(&db->sync_lock);
    db->n_waiting++;
    while (atomic_load(&db->synced) < upto)
        pthread_cond_wait(&db->was_synced, &db->sync_lock);
    db->n_waiting--;
    pthread_mutex_unlock(&db->sync_lock);
}

static void *writer_main(void *arg)
{
    struct db *db = arg;
    pthread_mutex_lock(&db->write_lock);
    for (;;) {
        while (!db->first && !db->stop)
            pthread_cond_wait(&db->work, &db->write_lock);
        if (!db->first)
            break;
        gather(db);
        struct job *batch = take_batch(db);
        pthread_mutex_unlock(&db->write_lock);
        int64_t t0 = mono_us();
        int n = run_batch(db, batch, true);
        int64_t took = mono_us() - t0;
        hand_to_sync(db, batch);
        pthread_mutex_lock(&db->write_lock);
        db->stats.writes += n;
        if (n > db->stats.batch_max)
            db->stats.batch_max = n;
        db->callers = db->n_open > db->callers * 7 / 8 ? db->n_open : db->callers * 7 / 8;
        db->gather_us = took / 2 < GATHER_MAX_US ? took / 2 : GATHER_MAX_US;
    }
    pthread_mutex_unlock(&db->write_lock);
    return NULL;
}

static int write_job(struct db *db, db_fn *fn, void *arg, bool repeatable, struct sl_err *err)
{
    struct job j = {.fn = fn,
                    .arg = arg,
                    .err = err,
                    .repeatable = repeatable,
                    .finished = PTHREAD_COND_INITIALIZER};
    if (db->inline_writes) {
        pthread_mutex_lock(&db->inline_lock);
        db->stats.writes += run_batch(db, &j, false);
        pthread_mutex_unlock(&db->inline_lock);
        return j.rc;
    }
    pthread_mutex_lock(&db->write_lock);
    SL_ASSERT(!db->stop);
    if (db->last)
        db->last->next = &j;
    else
        db->first = &j;
    db->last = &j;
    db->n_queued++;
    db->n_open++;
    if (db->n_open > db->callers)
        db->callers = db->n_open;
    pthread_cond_signal(&db->work);
    while (!j.done)
        pthread_cond_wait(&j.finished, &db->write_lock);
    pthread_mutex_unlock(&db->write_lock);
    pthread_cond_destroy(&j.finished);
    return j.rc;
}

int db_write(struct db *db, db_fn *fn, void *arg, struct sl_err *err)
{
    return write_job(db, fn, arg, false, err);
}

int db_write_repeatable(struct db *db, db_fn *fn, void *arg, struct sl_err *err)
{
    return write_job(db, fn, arg, true, err);
}

static int reader_take(struct db *db)
{
    int i;
    pthread_mutex_lock(&db->read_lock);
    for (;;) {
        for (i = 0; i < db->n_readers && db->reader_busy[i]; i++)
            ;
        if (i < db->n_readers)
            break;
        pthread_cond_wait(&db->read_free, &db->read_lock);
    }
    db->reader_busy[i] = true;
    pthread_mutex_unlock(&db->read_lock);
    return i;
}

static void reader_give(struct db *db, int i)
{
    pthread_mutex_lock(&db->read_lock);
    db->reader_busy[i] = false;
    pthread_cond_signal(&db->read_free);
    pthread_mutex_unlock(&db->read_lock);
}

int db_read(struct db *db, db_fn *fn, void *arg, struct sl_err *err)
{
    int i = reader_take(db);
    struct db_c *c = &db->readers[i];
    int rc = control(c, "BEGIN", err);
    c->seen = 0;
    if (rc == 0) {
        rc = fn(c, arg, err);
        SL_ASSERT(c->n_busy == 0);
        must(c, "ROLLBACK");
    }
    uint64_t seen = c->seen;
    reader_give(db, i);
    wait_synced(db, seen);
    return rc;
}

/* ---- open, migrate, close ---- */
static int open_one(struct db *db, struct db_c *c, const char *path, bool writer,
                    struct sl_err *err)
{
    int flags = writer ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READWRITE;
    int rc = sqlite3_open_v2(path, &c->h, flags | SQLITE_OPEN_NOMUTEX, writer ? DB_WAL_VFS : NULL);
    c->db = db;
    if (rc != SQLITE_OK)
        return sl_fail(err, SL_STORAGE_FULL,
                       "cannot open the database %s: %s; check that the "
                       "directory exists and is writable",
                       path, c->h ? sqlite3_errmsg(c->h) : "no memory");
    sqlite3_busy_timeout(c->h, 10000);
    static const char *const setup[] = {
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",
        "PRAGMA foreign_keys = ON",
        "PRAGMA wal_autocheckpoint = 0",
        "PRAGMA trusted_schema = OFF",
        "PRAGMA cell_size_check = ON",
        "PRAGMA cache_size = -32768",
        "PRAGMA temp_store = MEMORY", /* what savepoints save goes to memory, not to a file */
    };
    for (size_t i = 0; i < SL_COUNT(setup); i++) {
        rc = sqlite3_exec(c->h, setup[i], NULL, NULL, NULL);
        if (rc != SQLITE_OK)
            return fail_sqlite(c, rc, setup[i], err);
    }
    if (!writer && sqlite3_exec(c->h, "PRAGMA query_only = ON", NULL, NULL, NULL) != SQLITE_OK)
        return fail_sqlite(c, SQLITE_ERROR, "query_only", err);
    c->writing = writer;
    return 0;
}

/* What the common subset cannot say: a table that lives in its key's tree, and a number that is the
 * row's own (SQLite knows that only of the word INTEGER). */
static const struct {
    const char *common, *here;
} dialect[] = {{"/* clustered */", "WITHOUT ROWID"},
               {" BIGINT PRIMARY KEY", " INTEGER PRIMARY KEY"}};

static void translate(const char *text, struct sl_buf *out)
{
    while (*text) {
        size_t i = 0;
        while (i < SL_COUNT(dialect) && !sl_starts(text, dialect[i].common))
            i++;
        if (i < SL_COUNT(dialect)) {
            sl_buf_adds(out, dialect[i].here);
            text += strlen(dialect[i].common);
        } else {
            sl_buf_addc(out, *text++);
        }
    }
    SL_ASSERT(!out->over);
}

static int migrate_one(struct db_c *c, const char *text, int to, struct sl_err *err)
{
    char set[64];
    SL_AUTO_BUF struct sl_buf sql = SL_BUF(MIGRATION_MAX);
    translate(text, &sql);
    snprintf(set, sizeof set, "PRAGMA user_version = %d", to);
    int rc = sqlite3_exec(c->h, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(c->h, sl_buf_str(&sql), NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(c->h, set, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(c->h, "COMMIT", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        return 0;
    fail_sqlite(c, rc, "migration", err);
    sqlite3_exec(c->h, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}

static int migrate(struct db_c *c, const char *const *migrations, struct sl_err *err)
{
    int64_t have;
    int want = 0;
    while (migrations && migrations[want])
        want++;
    if (db_value(c, 0, &have, err, "PRAGMA user_version", "") < 0)
        return -1;
    if (have > want)
        return sl_fail(err, SL_CONFLICT,
                       "the database has schema version %lld, this program knows "
                       "%d; use the newer program or restore a backup",
                       (long long)have, want);
    for (int v = (int)have; v < want; v++)
        if (migrate_one(c, migrations[v], v + 1, err) < 0)
            return -1;
    return 0;
}

/* Without memory statistics SQLite takes no lock per allocation. */
static void library_once(void)
{
    SL_ASSERT(sqlite3_threadsafe());
    SL_ASSERT(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK);
    db_pcache_install();
}

void db_library(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, library_once);
}

int db_open(const struct db_options *o, const char *const *migrations, struct db **ret_db,
            struct sl_err *err)
{
    db_library();
    db_wal_register();
    struct db *db = sl_alloc(sizeof *db);
    db->inline_writes = o->inline_writes;
    db->n_readers = o->readers ? o->readers : 4;
    SL_ASSERT(db->n_readers <= READERS_MAX);
    pthread_mutex_init(&db->inline_lock, NULL);
    pthread_mutex_init(&db->read_lock, NULL);
    pthread_mutex_init(&db->write_lock, NULL);
    pthread_cond_init(&db->read_free, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&db->work, &attr);
    pthread_mutex_init(&db->sync_lock, NULL);
    pthread_cond_init(&db->to_sync, NULL);
    pthread_cond_init(&db->was_synced, NULL);
    db->before_sync = o->before_sync;
    db->before_sync_arg = o->before_sync_arg;
    int rc = open_one(db, &db->writer, o->path, true, err);
    if (rc == 0)
        rc = migrate(&db->writer, migrations, err);
    for (int i = 0; rc == 0 && i < db->n_readers; i++)
        rc = open_one(db, &db->readers[i], o->path, false, err);
    if (rc == 0)
        db->wal = db_wal_of(db->writer.h);
    if (rc == 0 && !db->inline_writes) {
        SL_ASSERT(pthread_create(&db->sync_thread, NULL, sync_main, db) == 0);
        SL_ASSERT(pthread_create(&db->thread, NULL, writer_main, db) == 0);
    }
    if (rc < 0) {
        db->inline_writes = true; /* no thread to stop */
        db_close(db);
        return -1;
    }
    *ret_db = db;
    return 0;
}

static void close_one(struct db_c *c)
{
    for (int i = 0; i < c->n_stmts; i++) {
        sqlite3_finalize(c->stmts[i].s);
        free(c->stmts[i].sql);
    }
    sqlite3_close(c->h);
}

void db_close(struct db *db)
{
    if (!db)
        return;
    if (!db->inline_writes) {
        pthread_mutex_lock(&db->write_lock);
        db->stop = true;
        pthread_cond_signal(&db->work);
        pthread_mutex_unlock(&db->write_lock);
        pthread_join(db->thread, NULL);
        pthread_mutex_lock(&db->sync_lock);
        db->sync_stop = true;
        pthread_cond_signal(&db->to_sync);
        pthread_mutex_unlock(&db->sync_lock);
        pthread_join(db->sync_thread, NULL);
    }
    for (int i = 0; i < db->n_readers; i++)
        close_one(&db->readers[i]);
    close_one(&db->writer);
    pthread_mutex_destroy(&db->inline_lock);
    pthread_mutex_destroy(&db->read_lock);
    pthread_mutex_destroy(&db->write_lock);
    pthread_cond_destroy(&db->read_free);
    pthread_cond_destroy(&db->work);
    pthread_mutex_destroy(&db->sync_lock);
    pthread_cond_destroy(&db->to_sync);
    pthread_cond_destroy(&db->was_synced);
    free(db);
}

void db_stats_get(struct db *db, struct db_stats *ret)
{
    pthread_mutex_lock(&db->write_lock);
    *ret = db->stats;
    db_wal_stats(db->wal, &ret->wal_bytes, &ret->syncs);
    clockid_t cpu;
    struct timespec t;
    if (!db->inline_writes && pthread_getcpuclockid(db->thread, &cpu) == 0 &&
        clock_gettime(cpu, &t) == 0)
        ret->writer_cpu_us = (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
    pthread_mutex_unlock(&db->write_lock);
}
