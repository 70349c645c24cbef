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
 */
#ifndef SL_DB_WAL_H
#define SL_DB_WAL_H

#define DB_WAL_VFS "starlease"

/* Registers the layer, once for the process. Needs SQLite's synchronous=FULL: without a sync at
 * each commit there would be no end of a commit to see. */
void db_wal_register(void);
#endif
