/* SPDX-License-Identifier: Apache-2.0
 *
 * placement.h: which cards of which node a lease gets. place() is a pure function over a snapshot,
 * used by the server and the simulator alike; place_in_db() feeds it candidate rows.
 *
 * Rule, in this order (never spread):
 *   1. a node that the account already holds before one that would be opened for it,
 *   2. fewest cards stranded: cards left over on the node, which no other account may use,
 *   3. fixed order of nodes (place_order).
 * A request for every card of a node takes an empty node first. Spreading makes whole nodes
 * impossible to get under load (99 % of 8-card requests refused at 0.8 load, against 0 % here).
 *
 * Inside the node: the subset with the smallest sum of pair weights (same NUMA 10, other 20, plus
 * the link weight the node reports: XGMI 10, PCIe 40, none 50), then the one that leaves the best
 * connected rest, then the lowest cards. Exhaustive up to PLACE_SUBSETS_MAX subsets, greedy from
 * every seed above.
 */
#ifndef SL_PLACEMENT_H
#define SL_PLACEMENT_H
#include "server/server.h"

enum { PLACE_CARDS_MAX = 64, PLACE_SUBSETS_MAX = 13000 /* C(16,8) = 12,870 */ };

/* Weight of each pair of cards; NULL topology: all pairs are alike. */
struct place_topology {
    uint8_t weight[PLACE_CARDS_MAX][PLACE_CARDS_MAX];
};
struct place_node {
    uint64_t free_mask;
    int cards;
    bool mine; /* held by the account that asks */
    bool open; /* held by nobody */
    int64_t order;
    const struct place_topology *topology;
};
struct place_want {
    int gpus;
};
struct place_result {
    int node; /* index, -1: none fits */
    uint64_t mask;
};
/* Returns 0 when placed, -1 when nothing fits. */
int place(const struct place_node *nodes, int n, const struct place_want *want,
          struct place_result *ret);
/* Best-connected `k` cards out of `free_mask`; 0 when there are fewer. */
uint64_t place_cards(uint64_t free_mask, int k, const struct place_topology *t);
/* Sum of pair weights inside `mask`. */
int64_t place_weight(uint64_t mask, const struct place_topology *t);
/* Reads "cards" and "links" of a probe answer. Missing parts make pairs alike. */
void place_topology_read(const struct jr_val *facts, struct place_topology *ret);
/* The weights as text, as the node row keeps them: two hex digits for each pair (0,1) (0,2) ..
 * (1,2) .. of `cards` cards. "" on reading: all pairs are alike (returns false). */
void place_topology_text(const struct place_topology *t, int cards, struct sl_buf *out);
bool place_topology_parse(const char *text, int cards, struct place_topology *ret);

struct place_ask {
    const char *account_id, *model;
    const char *image, *digest; /* only where this very image is */
    const char *node_name;      /* only this node (the disk is there), or NULL */
    int64_t gpus;
};
/* Picks node and cards among nodes that may take a lease (state, health). SL_NO_CAPACITY says how
 * many cards of the model are free and why they do not do. The caller takes them (node_take). */
int place_in_db(struct db_c *c, struct server *s, const struct place_ask *ask, char ret_node[64],
                uint64_t *ret_mask, struct sl_err *err);
#endif
