/* SPDX-License-Identifier: Apache-2.0
 *
 * pool.h: threads with a bounded queue in front, for requests that wait for the disk or for another
 * service. A full queue refuses at once: the caller answers 503 and the client comes back.
 *
 *     struct pool *p = pool_new(16, 1024, err);
 *     if (!pool_add(p, run, arg)) ...
 *     pool_free(p);      runs what is queued, then joins the threads
 */
#ifndef SERVER_POOL_H
#define SERVER_POOL_H
#include "base/core/err.h"

struct pool;
struct pool *pool_new(int threads, int queue_max, struct sl_err *err);
bool pool_add(struct pool *p, void (*fn)(void *arg), void *arg);
void pool_free(struct pool *p);
#endif
