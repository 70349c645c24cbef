/* SPDX-License-Identifier: Apache-2.0 */
#include "server/placement.h"
#include <inttypes.h>

/* Pair weights of the ROCm device plugin's allocator: node part and link part. */
enum { NUMA_SAME = 10, NUMA_OTHER = 20, LINK_XGMI = 10, LINK_PCIE = 40, LINK_NONE = 50 };
/* KFD reports 15 for XGMI between cards (13 inside a package, 41 across packages of one card's
 * partitions) and 72 for PCIe peer to peer. */
enum { KFD_XGMI_MAX = 41 };
enum { TOPOLOGY_TEXT = PLACE_CARDS_MAX * (PLACE_CARDS_MAX - 1) + 1 };

static inline int lowest(uint64_t m)
{
    return __builtin_ctzll(m);
}

int64_t place_weight(uint64_t mask, const struct place_topology *t)
{
    int64_t sum = 0;
    for (uint64_t a = mask; t && a; a &= a - 1)
        for (uint64_t b = a & (a - 1); b; b &= b - 1)
            sum += t->weight[lowest(a)][lowest(b)];
    return sum;
}

/* C(n, k), stopping early above the limit of the exhaustive search. */
static int64_t subsets(int n, int k)
{
    int64_t r = 1;
    for (int i = 1; i <= k && r <= PLACE_SUBSETS_MAX; i++)
        r = r * (n - k + i) / i;
    return r;
}

struct pick {
    uint64_t mask;
    int64_t inside, rest;
};

static void consider(struct pick *best, uint64_t mask, uint64_t free_mask,
                     const struct place_topology *t)
{
    struct pick p = {mask, place_weight(mask, t), 0};
    if (best->mask && p.inside > best->inside)
        return;
    p.rest = place_weight(free_mask & ~mask, t);
    bool better = !best->mask || p.inside < best->inside ||
                  (p.inside == best->inside &&
                   (p.rest < best->rest || (p.rest == best->rest && mask < best->mask)));
    if (better)
        *best = p;
}

/* Walks every k-subset of the n free cards in ascending order of an n-bit pattern (Gosper's step).
 */
static void all_subsets(struct pick *best, uint64_t free_mask, int n, int k,
                        const struct place_topology *t)
{
    int card[PLACE_CARDS_MAX], i = 0;
    for (uint64_t m = free_mask; m; m &= m - 1)
        card[i++] = lowest(m);
    for (uint64_t p = (1ULL << k) - 1; p < (1ULL << n);) {
        uint64_t mask = 0;
        for (uint64_t m = p; m; m &= m - 1)
            mask |= 1ULL << card[lowest(m)];
        consider(best, mask, free_mask, t);
        uint64_t low = p & -p, carry = p + low;
        p = (((carry ^ p) >> 2) / low) | carry;
    }
}

/* From every free card, add the card that costs least until there are k. */
static void greedy(struct pick *best, uint64_t free_mask, int k, const struct place_topology *t)
{
    for (uint64_t seeds = free_mask; seeds; seeds &= seeds - 1) {
        uint64_t mask = seeds & -seeds;
        for (int n = 1; n < k; n++) {
            int pick = -1;
            int64_t cost = INT64_MAX;
            for (uint64_t m = free_mask & ~mask; m; m &= m - 1) {
                int64_t w = 0;
                for (uint64_t in = mask; t && in; in &= in - 1)
                    w += t->weight[lowest(m)][lowest(in)];
                if (w < cost) {
                    cost = w;
                    pick = lowest(m);
                }
            }
            mask |= 1ULL << pick;
        }
        consider(best, mask, free_mask, t);
    }
}

uint64_t place_cards(uint64_t free_mask, int k, const struct place_topology *t)
{
    int n = __builtin_popcountll(free_mask);
    if (k < 1 || k > n)
        return 0;
    if (k == n)
        return free_mask;
    struct pick best = {0};
    if (!t) { /* all pairs alike: the lowest cards */
        uint64_t mask = 0;
        for (uint64_t m = free_mask; k > 0; m &= m - 1, k--)
            mask |= m & -m;
        return mask;
    }
    if (n < PLACE_CARDS_MAX && subsets(n, k) <= PLACE_SUBSETS_MAX)
        all_subsets(&best, free_mask, n, k, t);
    else
        greedy(&best, free_mask, k, t);
    return best.mask;
}

/* Smaller is better; compared field by field. */
struct cost {
    int opens; /* 1: a node that the account does not hold yet */
    int stranded;
    int64_t order;
};

static bool cheaper(const struct cost *a, const struct cost *b)
{
    if (a->opens != b->opens)
        return a->opens < b->opens;
    if (a->stranded != b->stranded)
        return a->stranded < b->stranded;
    return a->order < b->order;
}

int place(const struct place_node *nodes, int n, const struct place_want *want,
          struct place_result *ret)
{
    struct cost best = {0};
    ret->node = -1;
    ret->mask = 0;
    for (int i = 0; i < n; i++) {
        const struct place_node *p = &nodes[i];
        int free = __builtin_popcountll(p->free_mask);
        if (!(p->mine || p->open) || want->gpus < 1 || free < want->gpus)
            continue;
        bool whole = want->gpus == p->cards;
        struct cost cost = {p->mine && !whole ? 0 : 1, free - want->gpus, p->order};
        if (ret->node < 0 || cheaper(&cost, &best)) {
            best = cost;
            ret->node = i;
        }
    }
    if (ret->node < 0)
        return -1;
    const struct place_node *p = &nodes[ret->node];
    ret->mask = place_cards(p->free_mask, want->gpus, p->topology);
    SL_ASSERT(__builtin_popcountll(ret->mask) == want->gpus && !(ret->mask & ~p->free_mask));
    return 0;
}

void place_topology_read(const struct jr_val *facts, struct place_topology *t)
{
    const struct jr_val *cards = jr_get(facts, "cards"), *links = jr_get(facts, "links"), *l;
    int64_t numa[PLACE_CARDS_MAX] = {0};
    for (size_t i = 0; i < jr_len(cards); i++) {
        int64_t at = jr_i64(jr_get(jr_at(cards, i), "index"), -1);
        if (at >= 0 && at < PLACE_CARDS_MAX)
            numa[at] = jr_i64(jr_get(jr_at(cards, i), "numa"), 0);
    }
    for (int a = 0; a < PLACE_CARDS_MAX; a++)
        for (int b = 0; b < PLACE_CARDS_MAX; b++)
            t->weight[a][b] = (uint8_t)((numa[a] == numa[b] ? NUMA_SAME : NUMA_OTHER) + LINK_NONE);
    for (size_t i = 0; (l = jr_at(links, i)); i++) {
        int64_t a = jr_i64(jr_at(l, 0), -1), b = jr_i64(jr_at(l, 1), -1);
        int64_t w = jr_i64(jr_at(l, 2), 0);
        if (a < 0 || b < 0 || a >= PLACE_CARDS_MAX || b >= PLACE_CARDS_MAX || a == b)
            continue;
        int cost = (numa[a] == numa[b] ? NUMA_SAME : NUMA_OTHER) +
                   (w <= KFD_XGMI_MAX ? LINK_XGMI : LINK_PCIE);
        t->weight[a][b] = t->weight[b][a] = (uint8_t)cost;
    }
}

void place_topology_text(const struct place_topology *t, int cards, struct sl_buf *out)
{
    for (int a = 0; a < cards; a++)
        for (int b = a + 1; b < cards; b++)
            sl_buf_printf(out, "%02x", t->weight[a][b]);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool place_topology_parse(const char *text, int cards, struct place_topology *ret)
{
    if (strlen(text) != (size_t)cards * (size_t)(cards - 1))
        return false;
    for (int a = 0; a < cards; a++)
        for (int b = a + 1; b < cards; b++, text += 2) {
            int hi = hex_digit(text[0]), lo = hex_digit(text[1]);
            if (hi < 0 || lo < 0)
                return false;
            ret->weight[a][b] = ret->weight[b][a] = (uint8_t)(hi << 4 | lo);
        }
    return cards > 1;
}

/* ---- in the database ---- */
/* Not IN (...): SQLite would build a table of the three for each run. */
#define NODE_OPEN                                                                                  \
    " AND health = 'good' AND (state = 'leased' OR state = 'available' OR state = 'sanitizing')"
#define HAS_IMAGE(name, digest)                                                                    \
    " AND EXISTS (SELECT 1 FROM node_image i WHERE i.node_name = node.name AND i.image = " name    \
    " AND i.digest = " digest ")"
static const char sql_mine[] =
    "SELECT name, cards, free_mask, place_order, topology FROM node "
    "WHERE account_id = ?1 AND model = ?2 AND free_cards >= ?3" NODE_OPEN HAS_IMAGE("?4", "?5");
static const char sql_open[] =
    "SELECT name, cards, free_mask, place_order, topology FROM node "
    "WHERE model = ?1 AND state = 'available' AND free_cards >= ?2 AND account_id IS NULL "
    "AND health = 'good'" HAS_IMAGE("?3", "?4") " ORDER BY free_cards, place_order LIMIT 1";
static const char sql_one[] =
    "SELECT name, cards, free_mask, place_order, topology FROM node "
    "WHERE name = ?1 AND model = ?2 AND free_cards >= ?3 AND (account_id IS NULL OR account_id = "
    "?4)" NODE_OPEN HAS_IMAGE("?5", "?6");
static const char sql_stock[] =
    "SELECT COALESCE(SUM(CASE WHEN health = 'good' AND state IN ('available', 'leased', "
    "'sanitizing') THEN free_cards ELSE 0 END), 0), COALESCE(SUM(cards), 0) FROM node "
    "WHERE model = ?1 AND state <> 'retired'";

/* The best node seen so far and the one that is looked at. */
struct candidates {
    struct place_want want;
    struct place_node node[2];
    char name[2][64], topology[2][TOPOLOGY_TEXT];
    bool found;
};

static void look_at(struct candidates *k, struct db_q *q, bool mine)
{
    struct place_result r;
    int at = k->found;
    (void)snprintf(k->name[at], sizeof k->name[0], "%s", db_text(q, 0));
    (void)snprintf(k->topology[at], sizeof k->topology[0], "%s", db_text(q, 4));
    k->node[at] = (struct place_node){.cards = (int)db_int(q, 1),
                                      .free_mask = (uint64_t)db_int(q, 2),
                                      .order = db_int(q, 3),
                                      .mine = mine,
                                      .open = !mine};
    if (place(k->node, at + 1, &k->want, &r) < 0)
        return;
    k->found = true;
    if (r.node == 1) {
        memcpy(k->name[0], k->name[1], sizeof k->name[0]);
        memcpy(k->topology[0], k->topology[1], sizeof k->topology[0]);
        k->node[0] = k->node[1];
    }
}

static int gather(struct db_q *q, int rc, struct candidates *k, bool mine, struct sl_err *err)
{
    while (rc >= 0 && (rc = db_next(q, err)) > 0)
        look_at(k, q, mine);
    db_done(q);
    return rc < 0 ? -1 : 0;
}

static int find(struct db_c *c, const struct place_ask *ask, struct candidates *k,
                struct sl_err *err)
{
    struct db_q q;
    int rc;
    if (ask->node_name) {
        rc = db_query(c, &q, err, sql_one, "ttittt", ask->node_name, ask->model, ask->gpus,
                      ask->account_id, ask->image, ask->digest);
        return gather(&q, rc, k, true, err);
    }
    rc = db_query(c, &q, err, sql_mine, "ttitt", ask->account_id, ask->model, ask->gpus, ask->image,
                  ask->digest);
    if (gather(&q, rc, k, true, err) < 0)
        return -1;
    if (k->found && ask->gpus < k->node[0].cards) /* no other account's node is cheaper */
        return 0;
    rc = db_query(c, &q, err, sql_open, "titt", ask->model, ask->gpus, ask->image, ask->digest);
    return gather(&q, rc, k, false, err);
}

static int stock(struct db_c *c, const char *model, int64_t *ret_free, int64_t *ret_total,
                 struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err, sql_stock, "t", model);
    if (rc > 0) {
        *ret_free = db_int(&q, 0);
        *ret_total = db_int(&q, 1);
    }
    db_done(&q);
    return rc < 0 ? -1 : 0;
}

static int refuse(struct db_c *c, const struct place_ask *ask, struct sl_err *err)
{
    int64_t free = 0, total = 0;
    if (stock(c, ask->model, &free, &total, err) < 0)
        return -1;
    if (ask->node_name)
        return sl_fail_at(err, SL_NO_CAPACITY, "gpus",
                          "the disk is on node %s, which has no %" PRId64
                          " free cards for this account now; try again later",
                          ask->node_name, ask->gpus);
    return sl_fail_at(err, SL_NO_CAPACITY, "gpus",
                      "no node with image %.60s can give %" PRId64
                      " %s cards together now (%" PRId64 " of %" PRId64
                      " are free, some on nodes of other accounts); try fewer cards, "
                      "another model, or later",
                      ask->image, ask->gpus, ask->model, free, total);
}

int place_in_db(struct db_c *c, struct server *s, const struct place_ask *ask, char ret_node[64],
                uint64_t *ret_mask, struct sl_err *err)
{
    struct candidates k;
    struct place_topology t;
    k.want = (struct place_want){(int)ask->gpus};
    k.found = false;
    if (find(c, ask, &k, err) < 0)
        return -1;
    if (!k.found)
        return refuse(c, ask, err);
    const struct place_node *p = &k.node[0];
    bool told = place_topology_parse(k.topology[0], p->cards, &t);
    *ret_mask = place_cards(p->free_mask, (int)ask->gpus, told ? &t : NULL);
    memcpy(ret_node, k.name[0], 64);
    return 0;
}
