/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io/db_pcache.h"
#include "base/core/err.h"
#include "base/core/mem.h"
#include <sqlite3.h>
#include <stdlib.h>

/* No page of the cache has a number above `highest`, but for the parked one (0: none). */
struct cache {
    sqlite3_pcache *real;
    unsigned highest, parked;
};

static sqlite3_pcache_methods2 below;

static struct cache *cache_of(sqlite3_pcache *p)
{
    return (struct cache *)p;
}

static int cache_init(void *arg)
{
    return below.xInit(below.pArg);
}

static void cache_shutdown(void *arg)
{
    below.xShutdown(below.pArg);
}

static sqlite3_pcache *cache_create(int page, int extra, int purgeable)
{
    struct cache *c = sl_alloc(sizeof *c);
    c->real = below.xCreate(page, extra, purgeable);
    if (!c->real) {
        free(c);
        return NULL;
    }
    return (sqlite3_pcache *)c;
}

static void cache_size(sqlite3_pcache *p, int n)
{
    below.xCachesize(cache_of(p)->real, n);
}

static int cache_count(sqlite3_pcache *p)
{
    return below.xPagecount(cache_of(p)->real);
}

static sqlite3_pcache_page *cache_fetch(sqlite3_pcache *p, unsigned key, int create)
{
    struct cache *c = cache_of(p);
    if (create && key > c->highest && key != c->parked)
        c->highest = key;
    return below.xFetch(c->real, key, create);
}

static void cache_unpin(sqlite3_pcache *p, sqlite3_pcache_page *page, int discard)
{
    below.xUnpin(cache_of(p)->real, page, discard);
}

static void cache_rekey(sqlite3_pcache *p, sqlite3_pcache_page *page, unsigned from, unsigned to)
{
    struct cache *c = cache_of(p);
    if (from == c->parked)
        c->parked = 0;
    if (to > c->highest && !c->parked)
        c->parked = to;
    else if (to > c->highest)
        c->highest = to;
    below.xRekey(c->real, page, from, to);
}

static void cache_truncate(sqlite3_pcache *p, unsigned limit)
{
    struct cache *c = cache_of(p);
    if (limit > c->highest && limit > c->parked)
        return;
    below.xTruncate(c->real, limit);
    if (c->highest >= limit)
        c->highest = limit ? limit - 1 : 0;
    if (c->parked >= limit)
        c->parked = 0;
}

static void cache_destroy(sqlite3_pcache *p)
{
    below.xDestroy(cache_of(p)->real);
    free(cache_of(p));
}

static void cache_shrink(sqlite3_pcache *p)
{
    below.xShrink(cache_of(p)->real);
}

void db_pcache_install(void)
{
    sqlite3_pcache_methods2 ours = {.iVersion = 1,
                                    .xInit = cache_init,
                                    .xShutdown = cache_shutdown,
                                    .xCreate = cache_create,
                                    .xCachesize = cache_size,
                                    .xPagecount = cache_count,
                                    .xFetch = cache_fetch,
                                    .xUnpin = cache_unpin,
                                    .xRekey = cache_rekey,
                                    .xTruncate = cache_truncate,
                                    .xDestroy = cache_destroy,
                                    .xShrink = cache_shrink};
    SL_ASSERT(sqlite3_config(SQLITE_CONFIG_GETPCACHE2, &below) == SQLITE_OK);
    SL_ASSERT(sqlite3_config(SQLITE_CONFIG_PCACHE2, &ours) == SQLITE_OK);
}
