/* SPDX-License-Identifier: Apache-2.0 */
#include "map.h"
#include "mem.h"
#include <string.h>

struct sl_map_slot {
    char *key;
    size_t n;
    uint64_t hash;
    void *value;
};

/* FNV-1a, 64 bit: http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint64_t hash_of(const struct sl_map *m, const char *key, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u ^ m->seed;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)key[i]) * 0x100000001b3u;
    return h ^ h >> 32;
}

static struct sl_map_slot *find(const struct sl_map *m, const char *key, size_t n, uint64_t h)
{
    for (size_t i = h & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
        struct sl_map_slot *s = &m->slots[i];
        if (!s->key || (s->hash == h && s->n == n && memcmp(s->key, key, n) == 0))
            return s;
    }
}

static void grow(struct sl_map *m)
{
    struct sl_map old = *m;
    m->cap = old.cap ? old.cap * 2 : 16;
    m->slots = sl_alloc(sizeof *m->slots * m->cap);
    for (size_t i = 0; i < old.cap; i++)
        if (old.slots[i].key)
            *find(m, old.slots[i].key, old.slots[i].n, old.slots[i].hash) = old.slots[i];
    free(old.slots);
}

void **sl_map_put(struct sl_map *m, const char *key, size_t n)
{
    if (m->n * 4 >= m->cap * 3)
        grow(m);
    uint64_t h = hash_of(m, key, n);
    struct sl_map_slot *s = find(m, key, n, h);
    if (!s->key) {
        *s = (struct sl_map_slot){sl_strndup(key, n), n, h, NULL};
        m->n++;
    }
    return &s->value;
}

void *sl_map_get(const struct sl_map *m, const char *key, size_t n)
{
    if (!m->cap)
        return NULL;
    struct sl_map_slot *s = find(m, key, n, hash_of(m, key, n));
    return s->key ? s->value : NULL;
}

const char *sl_map_next(const struct sl_map *m, size_t *it, void **ret_value)
{
    while (*it < m->cap) {
        struct sl_map_slot *s = &m->slots[(*it)++];
        if (s->key) {
            *ret_value = s->value;
            return s->key;
        }
    }
    return NULL;
}

void sl_map_free(struct sl_map *m)
{
    for (size_t i = 0; i < m->cap; i++)
        free(m->slots[i].key);
    free(m->slots);
    *m = (struct sl_map){.seed = m->seed};
}
