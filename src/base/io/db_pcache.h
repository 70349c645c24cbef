/* SPDX-License-Identifier: Apache-2.0
 *
 * db_pcache.h: SQLite's page cache with one shortcut. When a tree is rebalanced, a page's number is
 * parked on the highest page of the file for a moment; after that SQLite's own cache believes that
 * such a page is there, and each commit searches the whole cache for it. This layer remembers what
 * was parked, and lets a truncation through only when there may be a page to drop.
 *
 *     db_pcache_install();     before the first connection
 */
#ifndef SL_DB_PCACHE_H
#define SL_DB_PCACHE_H
void db_pcache_install(void);
#endif
