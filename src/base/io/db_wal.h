/* SPDX-License-Identifier: Apache-2.0
 *
 * db_wal.h: SQLite writes a commit to its log in two small writes a page. This layer above the
 * default file system (a "VFS") gathers them, so that a commit is one write and one fsync. Only the
 * connection that writes opens its database through it.
 *
 *     db_wal_register();
 *     sqlite3_open_v2(path, &h, flags, DB_WAL_VFS);
 *
 * What is gathered is written before anybody can want it: at the sync that ends a commit (the pages
 * of a commit are found by readers only after it), and before every read, size, truncation or lock
 * of the log. Nothing is held back beyond that sync, and a failed write is that sync's error.
 *
 * The sync itself can be left to another thread, which then tells the callers:
 *
 *     struct db_wal *wal = db_wal_of(h);                    after the first statement
 *     db_wal_defer(wal, true); COMMIT; db_wal_defer(wal, false);
 *     if (db_wal_sync(wal) < 0) abort();                    the other thread
 *
 * What SQLite syncs outside of that (a log that starts anew, a checkpoint) it syncs itself.
 */
#ifndef SL_DB_WAL_H
#define SL_DB_WAL_H
#include <stdbool.h>
#include <stdint.h>

#define DB_WAL_VFS "starlease"

struct sqlite3;
struct db_wal; /* one connection's log; lives as long as the connection */

/* Registers the layer, once for the process. Needs SQLite's synchronous=FULL: without a sync at
 * each commit there would be no end of a commit to see. */
void db_wal_register(void);
struct db_wal *db_wal_of(struct sqlite3 *h);
void db_wal_defer(struct db_wal *w, bool on);
/* Any thread. 0: every commit that was made before the call is on the disk. -1 with errno: nobody
 * knows what is. */
int db_wal_sync(struct db_wal *w);
/* Bytes written to the log, and its syncs, since it was opened. */
void db_wal_stats(struct db_wal *w, int64_t *ret_bytes, int64_t *ret_syncs);
#endif
