/* SPDX-License-Identifier: Apache-2.0
 *
 * Metering and charging as a renter would check them. Numbers in the names are public bug reports
 * of other systems whose fault must not be ours.
 */
#include "money_world.h"

#define PRICE (2200000) /* micro-units per card and hour */

static struct world *fresh(char account[ID_TEXT], int64_t cash)
{
    struct world *w = world_open(1, true);
    DO(w, .kind = OP_PRICE, .model = "A", .micro = PRICE);
    DO(w, .kind = OP_PRICE, .model = "B", .micro = 9 * PRICE);
    world_account(w, account);
    if (cash)
        DO(w, .kind = OP_TOPUP, .account = account, .micro = cash);
    return w;
}

static void million_random_splits_charge_the_same(void **state)
{
    (void)state;
    struct world r = {.random = 7};
    for (int i = 0; i < 1000000; i++) {
        int64_t rate = world_range(&r, 1, 1LL << world_range(&r, 1, 40));
        int64_t t = world_range(&r, 0, 1LL << world_range(&r, 1, 22)), a = world_range(&r, 0, t),
                b = world_range(&r, a, t);
        int64_t whole = money_charge(rate, t);
        int64_t parts = (money_charge(rate, a) - money_charge(rate, 0)) +
                        (money_charge(rate, b) - money_charge(rate, a)) +
                        (money_charge(rate, t) - money_charge(rate, b));
        assert_int_equal(parts, whole);
        __int128 twice = 2 * ((__int128)whole * 3600 - (__int128)rate * t);
        assert_true(twice <= 3600 && twice >= -3600); /* never more than half a micro-unit off */
    }
}

static void funds_last_exactly_as_long_as_the_charge_says(void **state)
{
    (void)state;
    struct world r = {.random = 8};
    for (int i = 0; i < 200000; i++) {
        int64_t rate = world_range(&r, 1, 1LL << world_range(&r, 1, 40));
        int64_t funds = world_range(&r, 0, 1LL << world_range(&r, 1, 40)),
                t = money_seconds_for(rate, funds);
        assert_true(money_charge(rate, t) <= funds && money_charge(rate, t + 1) > funds);
    }
}

static void killbill_1081_amounts_at_the_edges_of_integers_are_exact(void **state)
{
    (void)state;
    static const int64_t edges[] = {1, (1LL << 31) - 1, 1LL << 31, (1LL << 53) + 1,
                                    999999999999999};
    char account[ID_TEXT];
    struct world *w = fresh(account, 0);
    int64_t sum = 0;
    for (size_t i = 0; i < SL_COUNT(edges); i++) {
        struct op o = {.kind = OP_TOPUP, .account = account, .micro = edges[i]};
        struct sl_err err;
        if (edges[i] > 1000000000LL * SL_MICRO) {
            assert_int_equal(op_try(w, &o, &err), -1);
            assert_int_equal(err.code, SL_INVALID);
            continue;
        }
        op_must(w, &o);
        sum += edges[i];
        assert_int_equal(world_wallet(w, account).cash, sum);
    }
    assert_audit(w);
    world_close(w);
}

static void cloudkitty_rating_precision_prices_from_a_millionth_to_a_million(void **state)
{
    (void)state;
    static const int64_t prices[] = {1,        999999,         SL_MICRO,
                                     99999999, 100 * SL_MICRO, 999999 * SL_MICRO};
    char account[ID_TEXT], lease[ID_TEXT], model[8];
    struct world *w = fresh(account, 100000000 * SL_MICRO);
    for (size_t i = 0; i < SL_COUNT(prices); i++) {
        snprintf(model, sizeof model, "P%zu", i);
        DO(w, .kind = OP_PRICE, .model = model, .micro = prices[i]);
        world_lease(w, account, model, 1, lease);
        int64_t before = world_revenue(w), t = w->now_us;
        DO(w, .kind = OP_RUN, .lease = lease, .t_us = t);
        DO(w, .kind = OP_STOP, .lease = lease, .t_us = t + HOUR);
        assert_int_equal(world_revenue(w) - before, prices[i]);
    }
    assert_audit(w);
    world_close(w);
}

static void report_1_starts_that_fail_cost_nothing(void **state)
{
    (void)state;
    char account[ID_TEXT], lease[ID_TEXT];
    struct world *w = fresh(account, 5 * SL_MICRO);
    for (int i = 0; i < 200; i++) {
        world_lease(w, account, "A", 4, lease);
        assert_true(world_wallet(w, account).held_cash > 0);
        DO(w, .kind = OP_GIVE_UP, .lease = lease, .t_us = w->now_us + MINUTE);
    }
    struct wallet k = world_wallet(w, account);
    assert_int_equal(k.cash, 5 * SL_MICRO);
    assert_int_equal(k.held_cash, 0);
    assert_int_equal(world_revenue(w), 0);
    assert_audit(w);
    world_close(w);
}

static void gpustack_6279_a_lost_host_is_billed_to_its_last_proof_of_life(void **state)
{
    (void)state;
    char account[ID_TEXT], lease[ID_TEXT];
    struct world *w = fresh(account, 0);
    DO(w, .kind = OP_TRIAL, .account = account, .text = "person");
    DO(w, .kind = OP_TOPUP, .account = account, .micro = 100 * SL_MICRO);
    world_lease(w, account, "A", 4,
                lease); /* 8.80 an hour: the credit of 10 is used up on the way */
    DO(w, .kind = OP_RUN, .lease = lease, .t_us = T0);
    DO(w, .kind = OP_TICK, .lease = lease, .t_us = T0 + 2 * HOUR);
    assert_int_equal(world_revenue(w), 8 * PRICE);
    DO(w, .kind = OP_STOP, .lease = lease, .t_us = T0 + 90 * MINUTE + 700000, .text = "host lost");
    struct wallet k = world_wallet(w, account);
    assert_int_equal(world_revenue(w), 6 * PRICE);
    assert_int_equal(k.credit + k.cash, 110 * SL_MICRO - 6 * PRICE);
    assert_int_equal(k.cash,
                     100 * SL_MICRO - (6 * PRICE - 10 * SL_MICRO)); /* cash came back first */
    assert_int_equal(wallet_held(&k), 0);
    assert_audit(w);
    world_close(w);
}

static void gpustack_5710_every_hour_of_two_years_has_3600_seconds(void **state)
{
    (void)state;
    char account[ID_TEXT], lease[ID_TEXT];
    struct world *w = fresh(account, 1000000 * SL_MICRO);
    world_lease(w, account, "A", 1, lease);
    int64_t captured = 0;
    DO(w, .kind = OP_RUN, .lease = lease, .t_us = T0);
    for (int h = 1; h <= 2 * 366 * 24;
         h += (int)world_range(w, 1, 200)) { /* month ends, DST days, 29 February */
        w->now_us = T0 + h * HOUR;
        DO(w, .kind = OP_TICK, .lease = lease);
        captured = (int64_t)h * PRICE;
        assert_int_equal(world_revenue(w), captured);
    }
    DO(w, .kind = OP_STOP, .lease = lease);
    assert_int_equal(world_revenue(w), captured);
    assert_audit(w);
    world_close(w);
}

static void gpustack_6054_each_stretch_is_charged_at_its_own_shape_and_price(void **state)
{
    (void)state;
    static const struct {
        const char *model_a, *model_b;
        int64_t gpus_a, gpus_b, want;
    } table[] = {
        {"A", "A", 4, 1, 4 * PRICE / 2 + PRICE / 3}, /* 2.33 card-hours, not 0.83 */
        {"A", "A", 1, 4, PRICE / 2 + 4 * PRICE / 3}, /* 1.83 card-hours, not 3.33 */
        {"A", "B", 1, 1, PRICE / 2 + 9 * PRICE / 3}, /* not all 50 minutes at the dearer pool */
    };
    for (size_t i = 0; i < SL_COUNT(table); i++) {
        char account[ID_TEXT], lease[ID_TEXT];
        struct world *w = fresh(account, 1000 * SL_MICRO);
        world_lease(w, account, table[i].model_a, table[i].gpus_a, lease);
        DO(w, .kind = OP_RUN, .lease = lease, .t_us = T0);
        DO(w, .kind = OP_STOP, .lease = lease, .t_us = T0 + 30 * MINUTE);
        world_lease(w, account, table[i].model_b, table[i].gpus_b, lease);
        DO(w, .kind = OP_RUN, .lease = lease, .t_us = T0 + 30 * MINUTE);
        DO(w, .kind = OP_STOP, .lease = lease, .t_us = T0 + 50 * MINUTE);
        assert_true(llabs(world_revenue(w) - table[i].want) <= 1); /* the table's thirds are cut */
        assert_audit(w);
        world_close(w);
    }
}

static int restart(struct world *w, const char *account, const char *lease, int64_t t)
{
    char sql[256];
    snprintf(sql, sizeof sql,
             "UPDATE lease SET epoch = epoch + 1, state = 'starting' WHERE id = '%s'", lease);
    DO(w, .kind = OP_SQL, .text = sql);
    DO(w, .kind = OP_HOLD, .account = account, .lease = lease, .micro = PRICE / 6);
    struct op o = {.kind = OP_RUN, .lease = lease, .t_us = t};
    struct sl_err err;
    return op_try(w, &o, &err);
}

static void cloudstack_4982_a_hundred_starts_and_stops_in_a_second(void **state)
{
    (void)state;
    char account[ID_TEXT], lease[ID_TEXT];
    struct world *w = fresh(account, 10 * SL_MICRO);
    world_lease(w, account, "A", 1, lease);
    DO(w, .kind = OP_RUN, .lease = lease, .t_us = T0);
    for (int i = 1; i <= 100; i++) {
        DO(w, .kind = OP_STOP, .lease = lease, .t_us = T0 + i * 10000 - 5000);
        assert_int_equal(restart(w, account, lease, T0 + i * 10000), 0);
    }
    DO(w, .kind = OP_STOP, .lease = lease, .t_us = T0 + SL_SEC);
    assert_int_equal(world_revenue(w), 0); /* no whole second was used */
    assert_int_equal(world_value(w, "SELECT COUNT(*) FROM segment"), 101);
    assert_audit(w);
    world_close(w);
}

static void redpanda_12780_a_clock_that_jumps_charges_no_second_twice_or_below_zero(void **state)
{
    (void)state;
    char account[ID_TEXT], lease[ID_TEXT];
    struct world *w = fresh(account, 1000 * SL_MICRO);
    world_lease(w, account, "A", 2, lease);
    static const int64_t steps_h[] = {1, 2, 1, -24, 3, 2, 4};
    DO(w, .kind = OP_RUN, .lease = lease, .t_us = T0);
    int64_t seen = 0;
    for (size_t i = 0; i < SL_COUNT(steps_h); i++) {
        w->now_us = T0 + steps_h[i] * HOUR;
        DO(w, .kind = OP_TICK, .lease = lease);
        assert_true(world_revenue(w) >= seen);
        seen = world_revenue(w);
    }
    DO(w, .kind = OP_STOP, .lease = lease,
       .t_us = T0 - HOUR); /* before its start: nothing was used */
    assert_int_equal(world_revenue(w), 0);
    assert_int_equal(restart(w, account, lease, T0 - HOUR),
                     0); /* set-back clock: never an overlap */
    w->now_us = T0 + HOUR;
    DO(w, .kind = OP_STOP, .lease = lease);
    assert_int_equal(restart(w, account, lease, T0 + MINUTE),
                     0); /* set back into the last stretch */
    assert_int_equal(world_value(w, "SELECT MAX(start_us) FROM segment"), T0 + HOUR);
    DO(w, .kind = OP_STOP, .lease = lease);
    assert_audit(w);
    world_close(w);
}

static void cloudkitty_gnocchi_a_lease_made_and_ended_between_ticks_is_billed(void **state)
{
    (void)state;
    char account[ID_TEXT], lease[ID_TEXT];
    struct world *w = fresh(account, 10 * SL_MICRO);
    world_lease(w, account, "A", 1, lease);
    DO(w, .kind = OP_RUN, .lease = lease, .t_us = T0);
    DO(w, .kind = OP_STOP, .lease = lease, .t_us = T0 + 36 * SL_SEC);
    assert_int_equal(world_revenue(w), PRICE / 100);
    DO(w, .kind = OP_STOP, .lease = lease, .t_us = T0 + HOUR); /* again: nothing */
    DO(w, .kind = OP_STOP, .lease = lease, .t_us = T0);
    assert_int_equal(world_revenue(w), PRICE / 100);
    assert_audit(w);
    world_close(w);
}

static void
akash_1635_a_day_without_the_charge_loop_is_charged_exactly_and_never_past_the_funds(void **state)
{
    (void)state;
    char account[ID_TEXT], lease[ID_TEXT], text[128];
    struct world *w = fresh(account, 3 * SL_MICRO);
    world_lease(w, account, "A", 1, lease);
    DO(w, .kind = OP_RUN, .lease = lease, .t_us = T0);
    w->now_us = T0 + 24 * HOUR;
    struct op tick = {.kind = OP_TICK, .lease = lease};
    op_must(w, &tick);
    int64_t lasts = money_seconds_for(PRICE, 3 * SL_MICRO);
    assert_int_equal(tick.ret, T0 + lasts * SL_SEC); /* before now: stop it */
    assert_int_equal(world_revenue(w), money_charge(PRICE, lasts));
    DO(w, .kind = OP_STOP, .lease = lease, .text = "insufficient_funds");
    struct wallet k = world_wallet(w, account);
    assert_int_equal(k.cash + world_revenue(w), 3 * SL_MICRO);
    assert_true(k.cash >= 0 && k.cash < PRICE / 3600 + 1);
    world_text(w, "SELECT end_reason FROM segment", text, sizeof text);
    assert_string_equal(text, "insufficient_funds");
    assert_audit(w);
    world_close(w);
}

static void devkit_3931_no_lease_ends_while_its_account_has_money_for_another_second(void **state)
{
    (void)state;
    char account[ID_TEXT], a[ID_TEXT], b[ID_TEXT];
    struct world *w = fresh(account, 20 * SL_MICRO);
    world_lease(w, account, "A", 1, a);
    world_lease(w, account, "A", 3, b);
    DO(w, .kind = OP_RUN, .lease = a, .t_us = T0);
    DO(w, .kind = OP_RUN, .lease = b, .t_us = T0);
    struct op ta = {.kind = OP_TICK, .lease = a}, tb = {.kind = OP_TICK, .lease = b};
    bool a_runs = true, b_runs = true;
    for (int m = 1; a_runs || b_runs; m++) {
        w->now_us = T0 + m * 20 * SL_SEC;
        if (a_runs)
            op_must(w, &ta);
        if (b_runs)
            op_must(w, &tb);
        struct wallet k = world_wallet(w, account);
        if (a_runs && ta.ret <= w->now_us) {
            assert_int_equal(k.cash, 0);
            DO(w, .kind = OP_STOP, .lease = a, .text = "insufficient_funds");
            a_runs = false;
        }
        if (b_runs && tb.ret <= w->now_us) {
            DO(w, .kind = OP_STOP, .lease = b, .text = "insufficient_funds");
            b_runs = false;
        }
        assert_true(m < 1000);
    }
    struct wallet k = world_wallet(w, account);
    assert_int_equal(k.cash + k.held_cash + world_revenue(w), 20 * SL_MICRO);
    assert_audit(w);
    world_close(w);
}

static void frequent_ticks_write_the_ledger_seldom_and_owe_nothing_unheld(void **state)
{
    (void)state;
    char account[ID_TEXT], lease[ID_TEXT];
    struct world *w = fresh(account, 10000 * SL_MICRO);
    world_lease(w, account, "A", 1, lease);
    DO(w, .kind = OP_RUN, .lease = lease);
    int64_t lead_min = INT64_MAX, ticks = 0;
    for (; w->now_us < T0 + 24 * HOUR; ticks++, w->now_us += 30 * SL_SEC) {
        DO(w, .kind = OP_TICK, .lease = lease);
        struct op cost = {.kind = OP_COST, .lease = lease};
        op_must(w, &cost);
        assert_int_equal(cost.ret, money_charge(PRICE, (w->now_us - T0) / SL_SEC));
        struct wallet k = world_wallet(w, account);
        int64_t lead = k.held_cash + world_revenue(w) - cost.ret; /* held beyond what is owed */
        lead_min = lead < lead_min ? lead : lead_min;
    }
    assert_true(lead_min >= money_charge(PRICE, 270)); /* never less than the half, and a tick */
    assert_true(world_value(w, "SELECT COUNT(*) FROM txn") < ticks / 4);
    w->now_us = T0 + 24 * HOUR;
    DO(w, .kind = OP_STOP, .lease = lease);
    assert_int_equal(world_revenue(w), 24LL * PRICE);
    assert_audit(w);
    world_close(w);
}

static void two_leases_cannot_outrun_the_wallet_while_the_control_plane_is_silent(void **state)
{
    (void)state;
    char account[ID_TEXT], a[ID_TEXT], b[ID_TEXT];
    struct world *w = fresh(account, 50 * SL_MICRO);
    world_lease(w, account, "A", 1, a);
    world_lease(w, account, "A", 4, b);
    DO(w, .kind = OP_RUN, .lease = a, .t_us = T0);
    DO(w, .kind = OP_RUN, .lease = b, .t_us = T0);
    struct op ta = {.kind = OP_TICK, .lease = a}, tb = {.kind = OP_TICK, .lease = b};
    op_must(w, &ta);
    op_must(w, &tb);
    int64_t cost = money_charge(PRICE, (ta.ret - T0) / SL_SEC) +
                   money_charge(4 * PRICE, (tb.ret - T0) / SL_SEC);
    assert_true(cost <= 50 * SL_MICRO + 1 && cost > 48 * SL_MICRO);
    world_close(w);
}

static void skypilot_6051_dstack_1886_what_was_quoted_is_what_is_charged(void **state)
{
    (void)state;
    char account[ID_TEXT], lease[ID_TEXT];
    struct world *w = fresh(account, 1000 * SL_MICRO);
    struct op o = {.kind = OP_LEASE, .account = account, .model = "A", .gpus = 8};
    op_must(w, &o);
    snprintf(lease, sizeof lease, "%s", o.id);
    w->now_us += MINUTE;
    DO(w, .kind = OP_PRICE, .model = "A", .micro = 3 * PRICE); /* dearer from now on */
    int64_t t = w->now_us + MINUTE;
    DO(w, .kind = OP_RUN, .lease = lease, .t_us = t);
    DO(w, .kind = OP_STOP, .lease = lease, .t_us = t + 24 * HOUR);
    assert_int_equal(world_revenue(w), money_charge(o.quote.rate_micro, 86400));
    assert_int_equal(world_revenue(w), 8LL * 24 * PRICE);
    struct op fresh_quote = {.kind = OP_QUOTE, .account = account, .model = "A", .gpus = 1};
    op_must(w, &fresh_quote);
    assert_int_equal(fresh_quote.quote.price_micro, 3 * PRICE);
    assert_audit(w);
    world_close(w);
}

static void a_quote_is_used_once_by_its_account_and_not_after_it_expired(void **state)
{
    (void)state;
    char account[ID_TEXT], other[ID_TEXT];
    struct sl_err err;
    struct world *w = fresh(account, 0);
    world_account(w, other);
    struct op q = {.kind = OP_QUOTE, .account = account, .model = "A", .gpus = 1};
    op_must(w, &q);
    struct op use = {.kind = OP_QUOTE_USE, .account = other, .text = q.quote.id, .lease = "lea_1"};
    assert_int_equal(op_try(w, &use, &err), -1);
    assert_int_equal(err.code, SL_NOT_FOUND); /* another account's */
    use.account = account;
    op_must(w, &use);
    op_must(w, &use); /* the same lease again */
    use.lease = "lea_2";
    assert_int_equal(op_try(w, &use, &err), -1);
    assert_int_equal(err.code, SL_CONFLICT);
    op_must(w, &q);
    use.text = q.quote.id;
    w->now_us = q.quote.expires_us;
    assert_int_equal(op_try(w, &use, &err), -1);
    assert_int_equal(err.code, SL_CONFLICT);
    w->now_us = q.quote.expires_us - 1;
    op_must(w, &use);
    world_close(w);
}

static void a_price_in_the_past_or_twice_for_an_instant_is_refused(void **state)
{
    (void)state;
    char account[ID_TEXT];
    struct sl_err err;
    struct world *w = fresh(account, 0);
    struct op past = {.kind = OP_PRICE, .model = "A", .micro = 1, .t_us = w->now_us - 1};
    assert_int_equal(op_try(w, &past, &err), -1);
    assert_int_equal(err.code, SL_INVALID);
    assert_string_equal(err.field, "effective");
    struct op twice = {.kind = OP_PRICE, .model = "A", .micro = 1};
    assert_int_equal(op_try(w, &twice, &err), -1);
    assert_int_equal(err.code, SL_CONFLICT);
    DO(w, .kind = OP_PRICE, .model = "A", .micro = 5 * PRICE,
       .t_us = w->now_us + HOUR); /* later on */
    struct op q = {.kind = OP_QUOTE, .account = account, .model = "A", .gpus = 1};
    op_must(w, &q);
    assert_int_equal(q.quote.price_micro, PRICE);
    w->now_us += HOUR;
    op_must(w, &q);
    assert_int_equal(q.quote.price_micro, 5 * PRICE);
    world_close(w);
}

static void a_higher_price_is_known_a_week_before_it_comes_into_force(void **state)
{
    (void)state;
    char account[ID_TEXT];
    struct sl_err err;
    struct world *w = fresh(account, 0);
    int64_t week = 7 * 24 * HOUR;
    w->s.conf.price_notice_s = week / SL_SEC;
    w->now_us += SL_SEC;
    struct op soon = {
        .kind = OP_PRICE, .model = "A", .micro = 2 * PRICE, .t_us = w->now_us + week - 1};
    assert_int_equal(op_try(w, &soon, &err), -1);
    assert_int_equal(err.code, SL_INVALID);
    assert_string_equal(err.field, "effective");
    DO(w, .kind = OP_PRICE, .model = "A", .micro = 2 * PRICE); /* no time given: the earliest */
    DO(w, .kind = OP_PRICE, .model = "A", .micro = PRICE - 1); /* a lower one is in force at once */
    struct op q = {.kind = OP_QUOTE, .account = account, .model = "A", .gpus = 1};
    op_must(w, &q);
    assert_int_equal(q.quote.price_micro, PRICE - 1);
    w->now_us += week - 1;
    op_must(w, &q);
    assert_int_equal(q.quote.price_micro, PRICE - 1);
    w->now_us += 1;
    op_must(w, &q);
    assert_int_equal(q.quote.price_micro, 2 * PRICE);
    world_close(w);
}

static void an_account_cannot_run_more_an_hour_than_its_spend_limit(void **state)
{
    (void)state;
    char account[ID_TEXT], lease[ID_TEXT];
    struct sl_err err;
    struct world *w = fresh(account, 1000 * SL_MICRO);
    w->s.conf.spend_hour_micro = 5 * PRICE;
    world_lease(w, account, "A", 3, lease);
    struct op o = {.kind = OP_SPEND, .account = account, .micro = 2 * PRICE};
    op_must(w, &o);
    o.micro++;
    assert_int_equal(op_try(w, &o, &err), -1);
    assert_int_equal(err.code, SL_QUOTA);
    assert_string_equal(err.field, "spend");
    w->s.conf.spend_hour_micro = 0; /* no limit */
    op_must(w, &o);
    world_close(w);
}

static void killbill_1934_the_same_use_costs_the_same_whenever_it_happens(void **state)
{
    (void)state;
    /* around the ends of months and years, leap days, and the hours when clocks change somewhere */
    static const int64_t days[] = {0, 31, 59, 89, 90, 120, 334, 365, 457, 789};
    char account[ID_TEXT], lease[ID_TEXT];
    struct world *w = fresh(account, 100000 * SL_MICRO);
    int64_t last = 0, want = money_charge(2 * PRICE, 12345);
    for (size_t i = 0; i < SL_COUNT(days) * 4; i++) {
        w->now_us = T0 + days[i / 4] * 24 * HOUR + (int64_t)(i % 4) * 6 * HOUR + 1;
        world_lease(w, account, "A", 2, lease);
        DO(w, .kind = OP_RUN, .lease = lease);
        w->now_us += 12345 * SL_SEC + 999999;
        DO(w, .kind = OP_STOP, .lease = lease);
        assert_int_equal(world_revenue(w) - last, want);
        last = world_revenue(w);
    }
    assert_audit(w);
    world_close(w);
}

static void a_charge_too_small_for_a_micro_unit_is_not_lost(void **state)
{
    (void)state;
    char account[ID_TEXT], lease[ID_TEXT];
    struct world *w = fresh(account, SL_MICRO);
    DO(w, .kind = OP_PRICE, .model = "tiny", .micro = 7); /* a micro-unit every 514 s */
    world_lease(w, account, "tiny", 1, lease);
    DO(w, .kind = OP_RUN, .lease = lease, .t_us = T0);
    for (int i = 1; i <= 7200; i += 13) {
        w->now_us = T0 + i * SL_SEC;
        DO(w, .kind = OP_TICK, .lease = lease);
        struct op cost = {.kind = OP_COST, .lease = lease};
        op_must(w, &cost);
        assert_int_equal(cost.ret, money_charge(7, i));
        assert_true(world_revenue(w) <= cost.ret && world_revenue(w) + 1 >= cost.ret);
    }
    w->now_us = T0 + 7200 * SL_SEC;
    DO(w, .kind = OP_STOP, .lease = lease);
    assert_int_equal(world_revenue(w), 14);
    assert_audit(w);
    world_close(w);
}

static void a_credit_after_a_fault_is_free_credit_and_not_cash(void **state)
{
    (void)state;
    char account[ID_TEXT], lease[ID_TEXT];
    struct world *w = fresh(account, 10 * SL_MICRO);
    world_lease(w, account, "A", 1, lease);
    DO(w, .kind = OP_CREDIT, .lease = lease, .micro = SL_MICRO, .text = "card fell off the bus");
    struct wallet k = world_wallet(w, account);
    assert_int_equal(k.credit, SL_MICRO);
    assert_int_equal(k.cash + k.held_cash, 10 * SL_MICRO);
    DO(w, .kind = OP_GIVE_UP, .lease = lease);
    assert_audit(w);
    world_close(w);
}

static void a_refusal_says_how_much_is_missing(void **state)
{
    (void)state;
    char account[ID_TEXT];
    struct sl_err err;
    struct world *w = fresh(account, SL_MICRO);
    struct op o = {.kind = OP_LEASE, .account = account, .model = "A", .gpus = 8};
    assert_int_equal(op_try(w, &o, &err), -1);
    assert_int_equal(err.code, SL_NO_CREDIT);
    assert_string_equal(err.field, "balance");
    assert_non_null(strstr(err.msg, "1.933333 CNY is missing")); /* 8 x 2.20 / 6 - 1 */
    assert_int_equal(world_value(w, "SELECT COUNT(*) FROM lease") +
                         world_value(w, "SELECT COUNT(*) FROM hold"),
                     0);
    assert_audit(w);
    world_close(w);
}

static void a_trial_can_start_every_shape_whose_first_minute_it_can_pay(void **state)
{
    (void)state;
    char account[ID_TEXT], lease[ID_TEXT];
    struct world *w = fresh(account, 0);
    DO(w, .kind = OP_TRIAL, .account = account, .text = "person");
    for (int64_t gpus = 1; gpus <= 30; gpus++) { /* B: 19.80 an hour; 30 of them 9.90 a minute */
        struct op o = {.kind = OP_LEASE, .account = account, .model = "B", .gpus = gpus};
        op_must(w, &o);
        assert_true(o.quote.horizon_s >= 60 && o.quote.horizon_s <= 600);
        snprintf(lease, sizeof lease, "%s", o.id);
        DO(w, .kind = OP_GIVE_UP, .lease = lease);
    }
    assert_audit(w);
    world_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(million_random_splits_charge_the_same),
        cmocka_unit_test(funds_last_exactly_as_long_as_the_charge_says),
        cmocka_unit_test(killbill_1081_amounts_at_the_edges_of_integers_are_exact),
        cmocka_unit_test(cloudkitty_rating_precision_prices_from_a_millionth_to_a_million),
        cmocka_unit_test(report_1_starts_that_fail_cost_nothing),
        cmocka_unit_test(gpustack_6279_a_lost_host_is_billed_to_its_last_proof_of_life),
        cmocka_unit_test(gpustack_5710_every_hour_of_two_years_has_3600_seconds),
        cmocka_unit_test(gpustack_6054_each_stretch_is_charged_at_its_own_shape_and_price),
        cmocka_unit_test(cloudstack_4982_a_hundred_starts_and_stops_in_a_second),
        cmocka_unit_test(redpanda_12780_a_clock_that_jumps_charges_no_second_twice_or_below_zero),
        cmocka_unit_test(cloudkitty_gnocchi_a_lease_made_and_ended_between_ticks_is_billed),
        cmocka_unit_test(
            akash_1635_a_day_without_the_charge_loop_is_charged_exactly_and_never_past_the_funds),
        cmocka_unit_test(devkit_3931_no_lease_ends_while_its_account_has_money_for_another_second),
        cmocka_unit_test(frequent_ticks_write_the_ledger_seldom_and_owe_nothing_unheld),
        cmocka_unit_test(two_leases_cannot_outrun_the_wallet_while_the_control_plane_is_silent),
        cmocka_unit_test(skypilot_6051_dstack_1886_what_was_quoted_is_what_is_charged),
        cmocka_unit_test(a_quote_is_used_once_by_its_account_and_not_after_it_expired),
        cmocka_unit_test(a_price_in_the_past_or_twice_for_an_instant_is_refused),
        cmocka_unit_test(a_higher_price_is_known_a_week_before_it_comes_into_force),
        cmocka_unit_test(an_account_cannot_run_more_an_hour_than_its_spend_limit),
        cmocka_unit_test(killbill_1934_the_same_use_costs_the_same_whenever_it_happens),
        cmocka_unit_test(a_charge_too_small_for_a_micro_unit_is_not_lost),
        cmocka_unit_test(a_credit_after_a_fault_is_free_credit_and_not_cash),
        cmocka_unit_test(a_refusal_says_how_much_is_missing),
        cmocka_unit_test(a_trial_can_start_every_shape_whose_first_minute_it_can_pay),
    };
    return cmocka_run_group_tests_name("metering", tests, NULL, NULL);
}
