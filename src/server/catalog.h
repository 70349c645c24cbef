/* SPDX-License-Identifier: Apache-2.0
 *
 * catalog.h: card models with their facts, from data files (prices/models.csv), and the start-up
 * import of models and prices. A model is a card as sold: an MI250 is one card with two devices.
 *
 *     catalog_bootstrap(s, err)        once at start, after the migrations
 */
#ifndef SERVER_CATALOG_H
#define SERVER_CATALOG_H
#include "server/server.h"

struct model { /* strings live in the arena that was passed */
    const char *name, *maker, *memory_type, *gfx, *partition_modes;
    int64_t memory_bytes; /* of the whole card, the maker's figure */
    int64_t devices_per_card;
};
/* What the fleet has of a model now. */
struct model_stock {
    int64_t free_cards, cards;
    int64_t reported_bytes; /* least card memory that a node reports; 0: no node */
    bool emulated;          /* every node of it is emulated */
};

/* Reads conf prices.models and prices.files and adds what is not there yet; safe to repeat. */
int catalog_bootstrap(struct server *s, struct sl_err *err);
int model_get(struct db_c *c, const char *name, struct sl_arena *arena, struct model *ret,
              struct sl_err *err);
int model_list(struct db_c *c, struct sl_arena *arena, struct model **ret, int *ret_n,
               struct sl_err *err);
int model_stock(struct db_c *c, const char *name, struct model_stock *ret, struct sl_err *err);
#endif
