/* SPDX-License-Identifier: Apache-2.0 */
#include "server/route_cache.h"
#include <pthread.h>

enum { CACHE_SLOTS = 8, CACHE_MAX_US = 1000000 };

struct slot {
    const struct route *route;
    struct cache_version at;
    struct sl_buf body;
    char etag[80];
    const char *content_type;
};
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot cache_slots[CACHE_SLOTS]; /* under cache_lock */

struct cache_version cache_version(struct server *s)
{
    struct db_stats st;
    db_stats_get(s->db, &st);
    return (struct cache_version){s->db, st.commits, env_mono(s->env)};
}

static struct slot *slot_of(const struct route *route)
{
    for (int i = 0; i < CACHE_SLOTS; i++)
        if (cache_slots[i].route == route || !cache_slots[i].route)
            return &cache_slots[i];
    return NULL;
}

bool cache_get(const struct route *route, const struct cache_version *now, struct reply *out)
{
    pthread_mutex_lock(&cache_lock);
    struct slot *k = slot_of(route);
    bool good = k && k->route && k->at.db == now->db && k->at.commits == now->commits &&
                now->mono_us - k->at.mono_us < CACHE_MAX_US;
    if (good) {
        sl_buf_clear(&out->body);
        sl_buf_add(&out->body, k->body.p, k->body.n);
        snprintf(out->etag, sizeof out->etag, "%s", k->etag);
        out->content_type = k->content_type;
    }
    pthread_mutex_unlock(&cache_lock);
    return good;
}

void cache_put(const struct route *route, const struct cache_version *at, const struct reply *out)
{
    pthread_mutex_lock(&cache_lock);
    struct slot *k = slot_of(route);
    if (k && out->body.n) {
        k->route = route;
        k->at = *at;
        k->body.max = out->body.max;
        sl_buf_clear(&k->body);
        sl_buf_add(&k->body, out->body.p, out->body.n);
        snprintf(k->etag, sizeof k->etag, "%s", out->etag);
        k->content_type = out->content_type;
    }
    pthread_mutex_unlock(&cache_lock);
}
