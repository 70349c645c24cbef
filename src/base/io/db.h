/* SPDX-License-Identifier: Apache-2.0
 *
 * db.h: the store. SQLite behind it now (db_sqlite.c), PostgreSQL later behind the same functions.
 * SQL is text constants in the noun's file, in the common subset of SQLite 3.40 and PostgreSQL 15,
 * parameters written ?1 ?2 ...
 *
 * All writes go through ONE writer thread, which runs the queued functions of concurrent callers in
 * one transaction and commits them together: synchronous=FULL, one fsync for many. A second thread
 * waits for the disk while the writer goes on. When db_write returns 0 the change is durable, and
 * so is everything that db_read showed when it returns. A failed fsync or commit aborts the
 * process.
 *
 *     static int add(struct db_c *c, void *arg, struct sl_err *err)
 *     {
 *         return db_exec(c, err, "INSERT INTO t(id, n) VALUES(?1, ?2)", "ti", id, n);
 *     }
 *     if (db_write(db, add, &args, err) < 0) ...
 *
 *     struct db_q q;                                      a query; inside db_read or a write
 * function if (db_query(c, &q, err, "SELECT id, n FROM t WHERE n > ?1", "i", (int64_t)3) < 0)
 * return -1; while ((rc = db_next(&q, err)) > 0) use(db_text(&q, 0), db_int(&q, 1)); db_done(&q);
 * always, also after an error if (rc < 0) return -1;
 *
 * Parameter letters: i int64_t, t const char * (NULL is SQL NULL), b const void * + size_t blob.
 * A write function has no effects outside the database, except through arg.
 */
#ifndef SL_DB_H
#define SL_DB_H
#include "base/core/buf.h"
#include "base/core/err.h"
#include <stdint.h>

struct db;   /* the store; shared by threads */
struct db_c; /* a connection in use by one function: read snapshot or write transaction */
struct db_q {
    void *stmt;
    struct db_c *c;
};

typedef int db_fn(struct db_c *c, void *arg, struct sl_err *err);

struct db_options {
    const char *path;   /* file; ":memory:" is not supported */
    bool inline_writes; /* no writer thread: db_write runs in the caller (simulator, tools) */
    int readers;        /* read connections, default 4 */
    /* Called by the thread that syncs, before it does; for tests. */
    void (*before_sync)(void *arg);
    void *before_sync_arg;
};

/* Opens or creates. Refuses (SL_CONFLICT) a database whose schema is newer than the program. Runs
 * the migrations that are missing, each in one transaction (`migrations`: texts 1..n, NULL-ended).
 */
int db_open(const struct db_options *o, const char *const *migrations, struct db **ret_db,
            struct sl_err *err);
/* Sets the engine up for the process; for the db_*.c files alone, before their first call. */
void db_library(void);
/* Copies the database file `from`, which may be in use, to the new file `to` as of one moment, and
 * checks the copy. `to` appears whole or not at all; one that exists is SL_CONFLICT. */
int db_copy(const char *from, const char *to, struct sl_err *err);
/* Waits for queued writes, checkpoints, closes. NULL-safe. */
void db_close(struct db *db);

/* Runs fn in the writer's transaction; 0 = committed and durable. On -1 nothing of fn remains. */
int db_write(struct db *db, db_fn *fn, void *arg, struct sl_err *err);
/* The same for an fn that may run more than once: it has no effect outside the database except
 * through arg, which it sets afresh each time. Cheaper: no savepoint is taken for it. */
int db_write_repeatable(struct db *db, db_fn *fn, void *arg, struct sl_err *err);
/* Runs fn on a read snapshot; it must not write. */
int db_read(struct db *db, db_fn *fn, void *arg, struct sl_err *err);

/* INSERT/UPDATE/DELETE. Uniqueness violations are SL_CONFLICT, a full disk SL_STORAGE_FULL. */
int db_exec(struct db_c *c, struct sl_err *err, const char *sql, const char *types, ...);
/* The same; *ret_changed = number of rows changed. */
int db_exec_n(struct db_c *c, int64_t *ret_changed, struct sl_err *err, const char *sql,
              const char *types, ...);
int db_query(struct db_c *c, struct db_q *q, struct sl_err *err, const char *sql, const char *types,
             ...);
/* 1 a row, 0 no more, -1 error. */
int db_next(struct db_q *q, struct sl_err *err);
void db_done(struct db_q *q);
/* One row expected: 1 found, 0 not found, -1 error; leaves q open on that row when 1 (db_done it).
 */
int db_row(struct db_c *c, struct db_q *q, struct sl_err *err, const char *sql, const char *types,
           ...);
/* A single int64 of a single row; `otherwise` when there is no row or it is NULL. */
int db_value(struct db_c *c, int64_t otherwise, int64_t *ret, struct sl_err *err, const char *sql,
             const char *types, ...);

int64_t db_int(struct db_q *q, int col); /* 0 for NULL */
const char *db_text(struct db_q *q,
                    int col); /* "" for NULL; valid until the next db_next/db_done */
const void *db_blob(struct db_q *q, int col, size_t *ret_n);
bool db_null(struct db_q *q, int col);

struct db_stats {
    int64_t commits, writes, batch_max, commit_us_total;
    int64_t wal_bytes, syncs; /* bytes written to the log; syncs of it */
    int64_t writer_cpu_us;    /* of the writer thread */
};
void db_stats_get(struct db *db, struct db_stats *ret);
#endif
