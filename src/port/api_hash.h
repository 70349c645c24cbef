/* SPDX-License-Identifier: Apache-2.0
 *
 * api_hash.h: the hash behind the API table, shared by its generator and its reader. Two levels: a
 * name's bucket picks a displacement, name hash and displacement pick the slot (hash, displace and
 * compress: Belazzougui, Botelho, Dietzfelbinger, ESA 2009).
 */
#ifndef PORT_API_HASH_H
#define PORT_API_HASH_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { API_BUCKET_BITS = 12, API_SLOT_BITS = 14 };

static inline uint64_t api_hash(const char *p, size_t n)
{
    uint64_t h = (uint64_t)n * 0x9e3779b97f4a7c15u, w = 0;
    for (; n > 8; p += 8, n -= 8) {
        memcpy(&w, p, 8);
        h = (h ^ w) * 0xff51afd7ed558ccdu;
        h ^= h >> 29;
    }
    if (n >= 4) {
        uint32_t a, b;
        memcpy(&a, p, 4);
        memcpy(&b, p + n - 4, 4);
        w = (uint64_t)a << 32 | b;
    } else if (n > 0) {
        w = (uint64_t)(unsigned char)p[0] | (uint64_t)(unsigned char)p[n / 2] << 8 |
            (uint64_t)(unsigned char)p[n - 1] << 16;
    }
    h = (h ^ w) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 32;
}

static inline uint32_t api_bucket(uint64_t h)
{
    return (uint32_t)h & ((1u << API_BUCKET_BITS) - 1);
}
static inline uint32_t api_slot(uint64_t h, uint16_t displacement)
{
    uint64_t x = (h ^ (displacement * 0x9e3779b97f4a7c15u)) * 0xd6e8feb86659fd93u;
    return (uint32_t)(x >> (64 - API_SLOT_BITS));
}
/* A bit number of a 65536-bit map from a name's length (at least 2), first two and last bytes:
 * cheap to take, and enough to reject nearly all names that are not in the table. */
static inline uint32_t api_mark(const char *p, size_t n)
{
    uint32_t x = (uint32_t)(unsigned char)p[0] | (uint32_t)(unsigned char)p[1] << 8 |
                 (uint32_t)(unsigned char)p[n - 1] << 16 | (uint32_t)n << 24;
    return (x * 0x9e3779b1u) >> 16;
}
#endif
