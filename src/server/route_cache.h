/* SPDX-License-Identifier: Apache-2.0
 *
 * route_cache.h: the rendered answers of ROUTE_CACHED routes, which are the same for every caller
 * (the price table). An answer is good until the next commit of the store, and for CACHE_MAX_US at
 * most, because prices come into force by the clock alone.
 */
#ifndef SERVER_ROUTE_CACHE_H
#define SERVER_ROUTE_CACHE_H
#include "server/router.h"

/* What the store looked like; take it before reading. */
struct cache_version {
    const struct db *db;
    int64_t commits, mono_us;
};
struct cache_version cache_version(struct server *s);
/* Copies a fresh answer into *out. False when there is none. */
bool cache_get(const struct route *route, const struct cache_version *now, struct reply *out);
void cache_put(const struct route *route, const struct cache_version *at, const struct reply *out);
#endif
