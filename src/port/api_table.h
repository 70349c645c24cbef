/* SPDX-License-Identifier: Apache-2.0
 *
 * api_table.h: what gen_table.c writes and api.c reads. Strings are offsets into one pool, so that
 * the table needs no relocation when the program starts.
 */
#ifndef PORT_API_TABLE_H
#define PORT_API_TABLE_H
#include "port/api_hash.h"

struct api_row {
    uint32_t cuda, hip, roc, note; /* offsets into api_pool; 0 is "" */
    uint32_t variant, roc_variant;
    uint16_t flags, version; /* version: index into api_versions */
    uint8_t kind, library, topic, length;
    uint16_t rule, n_rules; /* argument rules: index of the first, and how many */
};

/* In the order of struct api's fields: cuda added, deprecated, removed; hip added, deprecated,
 * removed, experimental; roc added, removed; variant from, before. */
enum { API_VERSIONS = 11 };

extern const char api_pool[];
extern const struct api_row api_rows[];
extern const uint32_t api_versions[][API_VERSIONS];
extern const uint32_t api_libraries[], api_topics[]; /* pool offsets */
extern const uint16_t api_rows_n, api_topics_n, api_longest;
extern const uint16_t api_displacement[1 << API_BUCKET_BITS];
extern const uint16_t api_slots[1 << API_SLOT_BITS]; /* row + 1, or 0 */
extern const uint64_t api_marks[1024];               /* api_mark of every name that means work */

struct api_rule_row {
    uint32_t value; /* pool offset */
    uint8_t target, argc, arg, action, to, count;
};
extern const struct api_rule_row api_rules[];
#endif
