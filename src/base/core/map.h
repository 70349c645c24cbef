/* SPDX-License-Identifier: Apache-2.0
 *
 * map.h: string -> pointer hash table (open addressing, keys copied). Not for hostile keys without
 * a seed: pass random bits where a tenant chooses the keys. Not shared between threads.
 */
#ifndef SL_MAP_H
#define SL_MAP_H
#include <stddef.h>
#include <stdint.h>

struct sl_map {
    struct sl_map_slot *slots;
    size_t n, cap;
    uint64_t seed;
};
/* {0} is an empty map. Returns the value's place (NULL inside when new). Valid until the next put.
 */
void **sl_map_put(struct sl_map *m, const char *key, size_t key_n);
void *sl_map_get(const struct sl_map *m, const char *key, size_t key_n); /* NULL when absent */
/* Walks: *it starts at 0; returns the key or NULL at the end. Order is not defined. */
const char *sl_map_next(const struct sl_map *m, size_t *it, void **ret_value);
void sl_map_free(struct sl_map *m); /* values are the caller's */
#endif
