/* SPDX-License-Identifier: Apache-2.0
 *
 * The timers of a lease, with a clock in hand; the test plays the agent.
 */
#include "../lib/world.h"
#include "base/core/mem.h"
#include "server/autostop.h"
#include "server/node.h"
#include "server/ticker.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { HOUR_S = 3600, PRICE = 2200000 };
static struct world w;
static struct sl_err err;

static int open_world(void **state)
{
    err = (struct sl_err){0};
    world_open(&w, &(struct world_options){.nodes = 2, .cards = 8, .accounts = 2});
    return 0;
}
static int close_world(void **state)
{
    world_audit(&w);
    world_close(&w);
    return 0;
}

struct act {
    const char *id;
    int (*fn)(struct db_c *c, const struct act *a, const struct lease *l, struct sl_err *e);
    struct autostop_want want;
    struct autostop_use use;
};
static int act_tx(struct db_c *c, void *arg, struct sl_err *e)
{
    struct act *a = arg;
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct lease l;
    return lease_get(c, NULL, a->id, &arena, &l, e) < 0 ? -1 : a->fn(c, a, &l, e);
}
static int act(struct act a)
{
    return db_write(w.s.db, act_tx, &a, &err);
}
static void must(int rc)
{
    if (rc < 0)
        fail_msg("%s", err.msg);
}
static int do_set(struct db_c *c, const struct act *a, const struct lease *l, struct sl_err *e)
{
    return autostop_set(c, &w.s, l, &a->want, "acc", e);
}
static int do_seen(struct db_c *c, const struct act *a, const struct lease *l, struct sl_err *e)
{
    return autostop_seen(c, &w.s, l, &a->use, e);
}
static int do_stop(struct db_c *c, const struct act *a, const struct lease *l, struct sl_err *e)
{
    return lease_stop(c, &w.s, l, "acc", "stopped by the renter", e);
}
/* The node proves that nothing is left, and its cards are clean. */
static int do_gone(struct db_c *c, const struct act *a, const struct lease *l, struct sl_err *e)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct node n;
    if (lease_gone(c, &w.s, l, false, e) < 0 || node_get(c, l->node_name, &arena, &n, e) < 0 ||
        db_exec(c, e, "UPDATE operation SET state = 'done' WHERE kind = 'sanitize'", "") < 0)
        return -1;
    return node_cleaned(c, &w.s, l->node_name, n.sanitize_mask, e);
}
static int do_start(struct db_c *c, const struct act *a, const struct lease *l, struct sl_err *e)
{
    return lease_start(c, &w.s, l, "acc", e);
}

static const char *lease_with(struct autostop_want want)
{
    static char id[ID_TEXT];
    must(world_lease(&w, w.account[0], "MI300X", 1, id, &err));
    must(act((struct act){.id = id, .fn = do_set, .want = want}));
    return id;
}
static void beat(const char *id)
{
    must(world_report(&w, id, world_get(&w, id).epoch, "heartbeat", NULL, &err));
}
static void ready(const char *id)
{
    must(world_report(&w, id, world_get(&w, id).epoch, "ready", NULL, &err));
}
static void pass(const char *id, int64_t seconds, int64_t step)
{
    for (int64_t t = 0; t < seconds && world_get(&w, id).state == LEASE_RUNNING; t += step) {
        world_pass(&w, step);
        beat(id);
        must(ticker_once(&w.s, true, &err));
    }
}
static int64_t cost_of(const char *id)
{
    char sql[120];
    (void)snprintf(sql, sizeof sql, "SELECT SUM(captured_micro) FROM segment WHERE lease_id = '%s'",
                   id);
    return world_number(&w, sql);
}
static void state_is(const char *id, int state)
{
    assert_string_equal(lease_sm.states[world_get(&w, id).state].name, lease_sm.states[state].name);
}
static void reason_begins(const char *id, const char *with)
{
    struct lease l = world_get(&w, id);
    if (!sl_starts(l.reason, with))
        fail_msg("the reason is \"%s\", not %s...", l.reason, with);
}
static int64_t events_of(const char *type)
{
    char sql[100];
    (void)snprintf(sql, sizeof sql, "SELECT COUNT(*) FROM event WHERE type = '%s'", type);
    return world_number(&w, sql);
}
#define TTL(s) ((struct autostop_want){.ttl_s = (s), .has_ttl = true})
#define BUDGET(micro) ((struct autostop_want){.budget_micro = (micro), .has_budget = true})
#define IDLE(s) ((struct autostop_want){.idle_s = (s), .has_idle = true})
#define DELETE(s) ((struct autostop_want){.delete_after_s = (s), .has_delete = true})

static void a_ttl_of_8_h_bills_28800_s_and_not_one_more(void **state)
{
    const char *id = lease_with(TTL(8 * HOUR_S));
    world_pass(&w, 77);
    ready(id);
    pass(id, 9 * HOUR_S, 7); /* 7 does not divide 28800 */
    state_is(id, LEASE_STOPPING);
    reason_begins(id, "ttl: the 8 h set for this run are over");
    assert_int_equal(cost_of(id), 8 * PRICE);
    assert_int_equal(events_of("lease.stops_soon"), 1);
}

/* A hard cap holds whatever else fails: skypilot#3569. */
static void a_server_that_was_away_for_a_day_bills_to_the_ttl(void **state)
{
    const char *id = lease_with(TTL(HOUR_S));
    ready(id);
    world_pass(&w, 86400);
    beat(id);
    must(ticker_once(&w.s, true, &err));
    state_is(id, LEASE_STOPPING);
    assert_int_equal(cost_of(id), PRICE);
}

static void a_stop_that_comes_after_the_ttl_bills_to_the_ttl(void **state)
{
    const char *id = lease_with(TTL(600));
    ready(id);
    world_pass(&w, 601);
    beat(id);
    must(act((struct act){.id = id, .fn = do_stop}));
    reason_begins(id, "ttl:");
    assert_int_equal(cost_of(id), money_charge(PRICE, 600));
}

static void the_agent_is_told_the_ttl_as_the_end_of_its_leave(void **state)
{
    SL_AUTO_BUF struct sl_buf answer = SL_BUF(4096);
    char want[64];
    const char *id = lease_with(TTL(600));
    must(world_report(&w, id, 1, "ready", &answer, &err));
    (void)snprintf(want, sizeof want, "\"funded_until_us\":%lld}",
                   (long long)(w.now_us + 600 * SL_SEC));
    assert_non_null(strstr(sl_buf_str(&answer), want));
}

static void a_budget_of_20_is_kept_over_two_runs_and_then_refuses_a_start(void **state)
{
    const char *id = lease_with(BUDGET(20 * SL_MICRO));
    ready(id);
    pass(id, 5 * HOUR_S, 20); /* 11.00 */
    must(act((struct act){.id = id, .fn = do_stop}));
    must(act((struct act){.id = id, .fn = do_gone}));
    must(act((struct act){.id = id, .fn = do_start}));
    ready(id);
    pass(id, 10 * HOUR_S, 20);
    reason_begins(id, "budget: the 20.00 CNY set for this instance are used up");
    int64_t cost = cost_of(id);
    assert_true(cost <= 20 * SL_MICRO);
    assert_true(cost + money_charge(PRICE, 1) >= 20 * SL_MICRO); /* not a second too early */
    must(act((struct act){.id = id, .fn = do_gone}));
    assert_int_equal(act((struct act){.id = id, .fn = do_start}), -1);
    assert_string_equal(err.field, "budget");
    must(act((struct act){.id = id, .fn = do_set, .want = BUDGET(30 * SL_MICRO)}));
    must(act((struct act){.id = id, .fn = do_start}));
}

static void a_budget_below_the_cost_so_far_is_refused(void **state)
{
    const char *id = lease_with(TTL(86400));
    ready(id);
    pass(id, 3 * HOUR_S, 20);
    must(act((struct act){.id = id, .fn = do_stop}));
    assert_int_equal(act((struct act){.id = id, .fn = do_set, .want = BUDGET(SL_MICRO)}), -1);
    assert_int_equal(err.code, SL_INVALID);
}

static void timers_change_on_a_living_lease(void **state)
{
    const char *id = lease_with(TTL(HOUR_S));
    ready(id);
    pass(id, 1800, 20);
    must(act((struct act){.id = id, .fn = do_set, .want = TTL(HOUR_S)})); /* an hour from now */
    pass(id, 2 * HOUR_S, 20);
    assert_int_equal(cost_of(id), money_charge(PRICE, 1800 + HOUR_S));
    must(act((struct act){.id = id, .fn = do_gone}));
    must(act((struct act){.id = id, .fn = do_set, .want = TTL(0)}));
    must(act((struct act){.id = id, .fn = do_start}));
    ready(id);
    pass(id, 3 * HOUR_S, 20);
    state_is(id, LEASE_RUNNING);
}

/* Idle is no SSH, no connections, no CPU, no GPU: skypilot#1306, #5946. */
static void idleness_is_every_kind_of_use_missing(void **state)
{
    static const struct autostop_use uses[] = {
        {.ssh = 1}, {.ports = 2}, {.cpu_permille = 50}, {.gpu_percent = 1, .has_gpu = true}};
    const char *id = lease_with(IDLE(1800));
    ready(id);
    for (size_t i = 0; i < SL_COUNT(uses); i++)
        for (int t = 0; t < 3600; t += 10) {
            world_pass(&w, 10);
            beat(id);
            must(act((struct act){.id = id, .fn = do_seen, .use = uses[i]}));
            must(ticker_once(&w.s, false, &err));
        }
    state_is(id, LEASE_RUNNING);
    for (int t = 0; t < 1790; t += 10) {
        world_pass(&w, 10);
        beat(id);
        must(act((struct act){.id = id, .fn = do_seen, .use = {.cpu_permille = 49}}));
        must(ticker_once(&w.s, false, &err));
    }
    state_is(id, LEASE_RUNNING);
    assert_int_equal(events_of("lease.stops_soon"), 1);
    world_pass(&w, 10);
    beat(id);
    must(act((struct act){.id = id, .fn = do_seen, .use = {.cpu_permille = 49}}));
    must(ticker_once(&w.s, false, &err));
    state_is(id, LEASE_STOPPING);
    reason_begins(id, "idle: no use was seen for 30 min");
    assert_non_null(strstr(world_get(&w, id).reason, "GPU use is not known here"));
    assert_int_equal(cost_of(id), money_charge(PRICE, 4 * 3600 + 1800));
}

static void silence_of_an_agent_is_not_idleness(void **state)
{
    const char *id = lease_with(IDLE(60));
    ready(id);
    pass(id, 600, 10); /* heartbeats of an agent that does not know of use */
    state_is(id, LEASE_RUNNING);
    must(act((struct act){.id = id, .fn = do_seen})); /* the first word after it */
    must(ticker_once(&w.s, false, &err));
    state_is(id, LEASE_RUNNING);
}

static void the_delete_timer_counts_from_the_stop_and_warns_a_day_ahead(void **state)
{
    const char *id = lease_with(DELETE(7 * 86400));
    ready(id);
    pass(id, 3 * HOUR_S, 20);
    must(act((struct act){.id = id, .fn = do_stop}));
    must(act((struct act){.id = id, .fn = do_gone}));
    world_pass(&w, 6 * 86400 - 1);
    must(ticker_once(&w.s, false, &err));
    assert_int_equal(events_of("lease.deleted_soon"), 0);
    world_pass(&w, 1);
    must(ticker_once(&w.s, false, &err));
    assert_int_equal(events_of("lease.deleted_soon"), 1);
    world_pass(&w, 86399);
    must(ticker_once(&w.s, false, &err));
    state_is(id, LEASE_STOPPED); /* never early */
    world_pass(&w, 1);
    must(ticker_once(&w.s, false, &err));
    state_is(id, LEASE_RELEASED);
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM volume WHERE state = 'deleted' AND "
                                      "purge_after_us > 0"),
                     1);
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM autostop"), 0);
}

static void a_start_ends_the_delete_timer(void **state)
{
    const char *id = lease_with(DELETE(86400));
    ready(id);
    must(act((struct act){.id = id, .fn = do_stop}));
    must(act((struct act){.id = id, .fn = do_gone}));
    world_pass(&w, 86000);
    must(act((struct act){.id = id, .fn = do_start}));
    ready(id);
    pass(id, 3 * HOUR_S, 20);
    state_is(id, LEASE_RUNNING);
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_world, close_world)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_ttl_of_8_h_bills_28800_s_and_not_one_more),
        T(a_server_that_was_away_for_a_day_bills_to_the_ttl),
        T(a_stop_that_comes_after_the_ttl_bills_to_the_ttl),
        T(the_agent_is_told_the_ttl_as_the_end_of_its_leave),
        T(a_budget_of_20_is_kept_over_two_runs_and_then_refuses_a_start),
        T(a_budget_below_the_cost_so_far_is_refused),
        T(timers_change_on_a_living_lease),
        T(idleness_is_every_kind_of_use_missing),
        T(silence_of_an_agent_is_not_idleness),
        T(the_delete_timer_counts_from_the_stop_and_warns_a_day_ahead),
        T(a_start_ends_the_delete_timer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
