/* SPDX-License-Identifier: Apache-2.0
 *
 * placement.c against an exhaustive search that shares no code with it.
 */
#include "base/core/mem.h"
#include "base/io/json.h"
#include "server/placement.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static uint64_t seed = 42;
static uint64_t next_random(void)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static int bits(uint64_t m)
{
    int n = 0;
    for (int i = 0; i < 64; i++)
        n += (int)(m >> i & 1);
    return n;
}

static int64_t inside(uint64_t m, const struct place_topology *t)
{
    int64_t sum = 0;
    for (int a = 0; a < 64; a++)
        for (int b = a + 1; b < 64; b++)
            if ((m >> a & 1) && (m >> b & 1))
                sum += t->weight[a][b];
    return sum;
}

/* Every mask of 12 bits: least weight inside, then least weight of the rest, then the lowest mask.
 */
static uint64_t oracle(uint64_t free_mask, int k, const struct place_topology *t)
{
    uint64_t best = 0;
    for (uint64_t m = 1; m < 4096; m++) {
        if (bits(m) != k || (m & ~free_mask))
            continue;
        if (!best || inside(m, t) < inside(best, t) ||
            (inside(m, t) == inside(best, t) &&
             inside(free_mask & ~m, t) < inside(free_mask & ~best, t)))
            best = m;
    }
    return best;
}

static void random_topology(struct place_topology *t, int kinds)
{
    for (int a = 0; a < 64; a++)
        for (int b = 0; b < a; b++)
            t->weight[a][b] = t->weight[b][a] = (uint8_t)(20 + 10 * (next_random() % kinds));
}

static void cards_are_the_best_connected_ones(void **state)
{
    struct place_topology *t = sl_alloc(sizeof *t);
    for (int round = 0; round < 200; round++) {
        random_topology(t, 1 + round % 4);
        uint64_t free_mask = next_random() & 0xfff;
        int k = 1 + (int)(next_random() % 8);
        uint64_t want = bits(free_mask) >= k ? oracle(free_mask, k, t) : 0;
        assert_int_equal(place_cards(free_mask, k, t), want);
    }
    free(t);
}

static const char two_hives[] =
    "{\"cards\":[{\"index\":0,\"numa\":0},{\"index\":1,\"numa\":0},{\"index\":2,\"numa\":0},"
    "{\"index\":3,\"numa\":0},{\"index\":4,\"numa\":1},{\"index\":5,\"numa\":1},"
    "{\"index\":6,\"numa\":1},{\"index\":7,\"numa\":1}],"
    "\"links\":[[0,1,15],[0,2,15],[0,3,15],[1,2,15],[1,3,15],[2,3,15],"
    "[4,5,15],[4,6,15],[4,7,15],[5,6,15],[5,7,15],[6,7,15],[0,4,72],[1,5,72]]}";

static void a_tenant_is_never_split_across_hives(void **state)
{
    struct place_topology *t = sl_alloc(sizeof *t);
    struct jr_doc *doc;
    struct sl_err err;
    assert_int_equal(jr_open(two_hives, sizeof two_hives - 1, &doc, &err), 0);
    place_topology_read(jr_root(doc), t);
    jr_close(doc);
    assert_int_equal(place_cards(0xff, 4, t), 0x0f);
    assert_int_equal(place_cards(0xfe, 4, t), 0xf0);
    assert_int_equal(place_cards(0xfc, 2, t), 0x0c);
    /* One card comes from the hive that is broken already. */
    assert_int_equal(place_cards(0x1f, 1, t), 0x10);
    assert_int_equal(place_cards(0xf8, 1, t), 0x08);
    free(t);
}

static void card_63_can_be_leased(void **state)
{
    struct place_topology *t = sl_alloc(sizeof *t);
    random_topology(t, 1);
    assert_int_equal(place_cards(1ULL << 63, 1, t), 1ULL << 63);
    assert_int_equal(place_cards(UINT64_MAX, 64, t), UINT64_MAX);
    assert_int_equal(bits(place_cards(UINT64_MAX, 9, t)), 9);
    assert_int_equal(bits(place_cards(0x8000000000000001ULL, 2, t)), 2);
    assert_int_equal(place_cards(0x8000000000000001ULL, 3, t), 0);
    struct place_node n = {.free_mask = 1ULL << 63, .cards = 64, .open = true};
    struct place_result r;
    assert_int_equal(place(&n, 1, &(struct place_want){1}, &r), 0);
    assert_true(r.mask == 1ULL << 63);
    free(t);
}

static void large_nodes_are_placed_well_without_trying_every_subset(void **state)
{
    struct place_topology *t = sl_alloc(sizeof *t);
    for (int a = 0; a < 64; a++) /* 8 islands of 8 */
        for (int b = 0; b < 64; b++)
            t->weight[a][b] = a / 8 == b / 8 ? 20 : 70;
    uint64_t got = place_cards(UINT64_MAX & ~1ULL, 8, t);
    assert_int_equal(got, 0xff00);
    free(t);
}

static void nodes_are_filled_before_new_ones_are_opened(void **state)
{
    struct place_node n[] = {
        {.free_mask = 0xff, .cards = 8, .open = true, .order = 1},
        {.free_mask = 0x0f, .cards = 8, .mine = true, .order = 9},
        {.free_mask = 0x03, .cards = 8, .mine = true, .order = 8},
    };
    struct place_result r;
    assert_int_equal(place(n, 3, &(struct place_want){2}, &r), 0);
    assert_int_equal(r.node, 2); /* fits exactly: strands nothing */
    assert_int_equal(place(n, 3, &(struct place_want){3}, &r), 0);
    assert_int_equal(r.node, 1);
    assert_int_equal(place(n, 3, &(struct place_want){8}, &r), 0);
    assert_int_equal(r.node, 0);
    assert_int_equal(place(n, 3, &(struct place_want){9}, &r), -1);
    assert_int_equal(r.node, -1);
    n[0].open = false; /* another account's */
    assert_int_equal(place(n, 3, &(struct place_want){8}, &r), -1);
}

static void equal_nodes_are_taken_in_their_fixed_order(void **state)
{
    struct place_node n[] = {{.free_mask = 0xff, .cards = 8, .open = true, .order = 7},
                             {.free_mask = 0xff, .cards = 8, .open = true, .order = 3},
                             {.free_mask = 0xff, .cards = 8, .open = true, .order = 5}};
    struct place_result r;
    assert_int_equal(place(n, 3, &(struct place_want){1}, &r), 0);
    assert_int_equal(r.node, 1);
    assert_int_equal(r.mask, 1);
}

static void what_the_node_row_keeps_of_the_topology_is_enough(void **state)
{
    for (int cards = 2; cards <= 64; cards += 31) {
        struct place_topology t = {0}, back = {0};
        SL_AUTO_BUF struct sl_buf text = SL_BUF(8192);
        for (int a = 0; a < cards; a++)
            for (int b = a + 1; b < cards; b++)
                t.weight[a][b] = t.weight[b][a] = (uint8_t)next_random();
        place_topology_text(&t, cards, &text);
        assert_true(place_topology_parse(sl_buf_str(&text), cards, &back));
        assert_memory_equal(&t, &back, sizeof t);
        assert_false(place_topology_parse("", cards, &back));
        text.p[1] = 'g';
        assert_false(place_topology_parse(sl_buf_str(&text), cards, &back));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cards_are_the_best_connected_ones),
        cmocka_unit_test(a_tenant_is_never_split_across_hives),
        cmocka_unit_test(card_63_can_be_leased),
        cmocka_unit_test(what_the_node_row_keeps_of_the_topology_is_enough),
        cmocka_unit_test(large_nodes_are_placed_well_without_trying_every_subset),
        cmocka_unit_test(nodes_are_filled_before_new_ones_are_opened),
        cmocka_unit_test(equal_nodes_are_taken_in_their_fixed_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
