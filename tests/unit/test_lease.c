/* SPDX-License-Identifier: Apache-2.0
 *
 * Leases against the real store with a clock in hand; the test plays the agent.
 */
#include "../lib/world.h"
#include "base/core/mem.h"
#include "server/meter.h"
#include "server/node.h"
#include "server/operation.h"
#include "server/ticker.h"
#include "server/volume.h"
#include "server/wallet.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

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

/* ---- small verbs ---- */
static const char *lease_of(int account, int64_t gpus)
{
    static char id[4][ID_TEXT];
    static int n;
    char *p = id[n++ % 4];
    if (world_lease(&w, w.account[account], "MI300X", gpus, p, &err) < 0)
        fail_msg("%s", err.msg);
    return p;
}

struct act {
    const char *id;
    int (*fn)(struct db_c *c, struct act *a, const struct lease *l, struct sl_err *err);
    int64_t n;
};

static int act_tx(struct db_c *c, void *arg, struct sl_err *e)
{
    struct act *a = arg;
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct lease l;
    if (lease_get(c, NULL, a->id, &arena, &l, e) < 0)
        return -1;
    return a->fn(c, a, &l, e);
}

static int act(const char *id,
               int (*fn)(struct db_c *, struct act *, const struct lease *, struct sl_err *))
{
    struct act a = {id, fn, 0};
    return db_write(w.s.db, act_tx, &a, &err);
}

static int do_stop(struct db_c *c, struct act *a, const struct lease *l, struct sl_err *e)
{
    return lease_stop(c, &w.s, l, "acc", "stopped by the renter", e);
}
static int do_gone(struct db_c *c, struct act *a, const struct lease *l, struct sl_err *e)
{
    return lease_gone(c, &w.s, l, false, e);
}
static int do_failed(struct db_c *c, struct act *a, const struct lease *l, struct sl_err *e)
{
    return lease_start_failed(c, &w.s, l, "no image here", e);
}
static int do_gone_failed(struct db_c *c, struct act *a, const struct lease *l, struct sl_err *e)
{
    return lease_gone(c, &w.s, l, true, e);
}
static int do_start(struct db_c *c, struct act *a, const struct lease *l, struct sl_err *e)
{
    return lease_start(c, &w.s, l, "acc", e);
}
static int do_top_up(struct db_c *c, struct act *a, const struct lease *l, struct sl_err *e)
{
    return wallet_topup(c, &w.s, l->account_id, 2200000, "test", "more", e);
}
static int do_release(struct db_c *c, struct act *a, const struct lease *l, struct sl_err *e)
{
    return lease_release(c, &w.s, l, "acc", e);
}
/* What a clean answer of sanitize does to the node. */
static int do_clean(struct db_c *c, struct act *a, const struct lease *l, struct sl_err *e)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct node n;
    if (node_get(c, l->node_name, &arena, &n, e) < 0 ||
        db_exec(c, e, "UPDATE operation SET state = 'done' WHERE kind = 'sanitize'", "") < 0)
        return -1;
    return node_cleaned(c, &w.s, l->node_name, n.sanitize_mask, e);
}

static void state_is(const char *id, int state)
{
    assert_string_equal(lease_sm.states[world_get(&w, id).state].name, lease_sm.states[state].name);
}

static void must(int rc)
{
    if (rc < 0)
        fail_msg("%s", err.msg);
}

static void run_until(const char *id, int64_t seconds, int64_t beat_s)
{
    for (int64_t t = 0; t < seconds; t += beat_s) {
        world_pass(&w, beat_s);
        must(world_report(&w, id, world_get(&w, id).epoch, "heartbeat", NULL, &err));
    }
}

static int64_t cost_of(const char *id)
{
    char sql[160];
    (void)snprintf(sql, sizeof sql,
                   "SELECT COALESCE(SUM(captured_micro), 0) FROM segment WHERE lease_id = '%s'",
                   id);
    return world_number(&w, sql);
}

/* ---- tests ---- */
static void every_table_holds_and_only_running_bills(void **state)
{
    lifecycle_check();
    for (int i = 0; i < lease_sm.n; i++)
        assert_int_equal(lease_sm.states[i].billed, i == LEASE_RUNNING);
    assert_false(sm_allowed(&node_sm, NODE_LEASED, NODE_AVAILABLE));
    assert_false(sm_allowed(&node_sm, NODE_QUARANTINED, NODE_AVAILABLE));
}

static void a_lease_bills_from_ready_until_stop(void **state)
{
    SL_AUTO_BUF struct sl_buf answer = SL_BUF(4096);
    const char *id = lease_of(0, 2);
    state_is(id, LEASE_PLACED);
    world_pass(&w, 30);
    assert_int_equal(cost_of(id), 0);
    must(world_report(&w, id, 1, "ready", &answer, &err));
    assert_non_null(strstr(sl_buf_str(&answer), "\"go\":true"));
    state_is(id, LEASE_RUNNING);
    run_until(id, 100, 10);
    must(act(id, do_stop));
    state_is(id, LEASE_STOPPING);
    world_pass(&w, 500); /* a slow node costs the renter nothing */
    must(act(id, do_gone));
    state_is(id, LEASE_STOPPED);
    assert_int_equal(cost_of(id), money_charge(2 * 2200000, 100));
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM hold WHERE cash_micro > 0"), 0);
}

static void ready_twice_starts_the_meter_once(void **state)
{
    SL_AUTO_BUF struct sl_buf answer = SL_BUF(4096);
    const char *id = lease_of(0, 1);
    for (int i = 0; i < 3; i++) {
        must(world_report(&w, id, 1, "ready", &answer, &err));
        assert_non_null(strstr(sl_buf_str(&answer), "\"go\":true"));
    }
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM segment"), 1);
}

static void a_stale_epoch_is_refused(void **state)
{
    const char *id = lease_of(0, 1);
    must(world_report(&w, id, 1, "ready", NULL, &err));
    must(act(id, do_stop));
    must(act(id, do_gone));
    must(act(id, do_clean));
    must(act(id, do_start));
    assert_int_equal(world_get(&w, id).epoch, 2);
    assert_int_equal(world_report(&w, id, 1, "heartbeat", NULL, &err), -1);
    assert_int_equal(err.code, SL_CONFLICT);
    assert_int_equal(world_report(&w, id, 1, "ready", NULL, &err), -1);
    state_is(id, LEASE_PLACED);
    must(world_report(&w, id, 2, "ready", NULL, &err));
    state_is(id, LEASE_RUNNING);
}

static void a_ready_after_the_stop_gets_no_go(void **state)
{
    SL_AUTO_BUF struct sl_buf answer = SL_BUF(4096);
    const char *id = lease_of(0, 1);
    must(act(id, do_stop));
    must(world_report(&w, id, 1, "ready", &answer, &err));
    assert_non_null(strstr(sl_buf_str(&answer), "\"go\":false,\"stop\":true"));
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM segment"), 0);
}

struct look {
    const char *account, *id;
};
static int look_fn(struct db_c *c, void *arg, struct sl_err *e)
{
    const struct look *k = arg;
    SL_AUTO_ARENA struct sl_arena a = {0};
    struct lease l;
    return lease_get(c, k->account, k->id, &a, &l, e);
}

static void a_foreign_lease_does_not_exist(void **state)
{
    const char *id = lease_of(0, 1);
    must(db_read(w.s.db, look_fn, &(struct look){w.account[0], id}, &err));
    assert_int_equal(db_read(w.s.db, look_fn, &(struct look){w.account[1], id}, &err), -1);
    assert_int_equal(err.code, SL_NOT_FOUND);
    struct lease l = world_get(&w, id);
    must(db_read(w.s.db, look_fn, &(struct look){w.account[0], l.name}, &err));
    assert_int_equal(db_read(w.s.db, look_fn, &(struct look){w.account[1], l.name}, &err), -1);
    assert_int_equal(err.code, SL_NOT_FOUND);
}

static void a_failed_start_costs_nothing_and_gives_the_funds_back(void **state)
{
    const char *id = lease_of(0, 4);
    assert_true(world_number(&w, "SELECT COUNT(*) FROM hold WHERE cash_micro > 0") == 1);
    must(act(id, do_failed));
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM hold WHERE cash_micro > 0"), 0);
    state_is(id, LEASE_STOPPING);
    must(act(id, do_gone_failed));
    state_is(id, LEASE_FAILED);
    assert_int_equal(cost_of(id), 0);
    assert_int_equal(world_number(&w, "SELECT failed_starts FROM node WHERE name = 'n00001'"), 1);
    /* Its cards are not free before they are sanitized. */
    assert_int_equal(world_number(&w, "SELECT free_cards FROM node WHERE name = 'n00001'"), 4);
    must(act(id, do_clean));
    assert_int_equal(world_number(&w, "SELECT free_cards FROM node WHERE name = 'n00001'"), 8);
}

static void three_failed_starts_quarantine_the_node(void **state)
{
    for (int i = 0; i < 3; i++) {
        const char *id = lease_of(0, 1);
        assert_string_equal(world_get(&w, id).node_name, "n00001");
        must(act(id, do_failed));
        must(act(id, do_gone_failed));
        must(act(id, do_clean));
    }
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM node WHERE state = 'quarantined'"), 1);
    assert_string_equal(world_get(&w, lease_of(0, 1)).node_name, "n00002");
}

static void a_silent_host_is_billed_to_its_last_heartbeat(void **state)
{
    const char *id = lease_of(0, 1);
    must(world_report(&w, id, 1, "ready", NULL, &err));
    run_until(id, 60, 10);
    for (int i = 0; i < 30; i++) { /* 15 minutes of silence */
        world_pass(&w, 30);
        must(ticker_once(&w.s, true, &err));
    }
    must(act(id, do_stop));
    assert_int_equal(cost_of(id), money_charge(2200000, 60));
}

static void a_stop_during_silence_bills_to_the_last_heartbeat(void **state)
{
    const char *id = lease_of(0, 1);
    must(world_report(&w, id, 1, "ready", NULL, &err));
    run_until(id, 60, 10);
    world_pass(&w, 40); /* more than two heartbeats, too short for the ticker to act */
    must(act(id, do_stop));
    assert_int_equal(cost_of(id), money_charge(2200000, 60));
}

static void funds_that_end_stop_the_lease_and_keep_its_disk(void **state)
{
    world_close(&w);
    world_open(
        &w, &(struct world_options){.nodes = 1, .cards = 8, .accounts = 2, .topup_micro = 2200000});
    const char *id = lease_of(0, 1); /* one hour */
    must(world_report(&w, id, 1, "ready", NULL, &err));
    for (int i = 0; i < 400 && world_get(&w, id).state == LEASE_RUNNING; i++) {
        world_pass(&w, 10);
        must(world_report(&w, id, 1, "heartbeat", NULL, &err));
        if (i % 6 == 0)
            must(ticker_once(&w.s, true, &err));
    }
    state_is(id, LEASE_STOPPING);
    assert_string_equal(world_get(&w, id).reason, "insufficient_funds");
    assert_int_equal(cost_of(id), 2200000);
    must(act(id, do_gone));
    state_is(id, LEASE_STOPPED);
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM volume WHERE state = 'available'"), 1);
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM notice"), 3);
    must(act(id, do_clean));
    assert_int_equal(act(id, do_start), -1);
    assert_int_equal(err.code, SL_NO_CREDIT);
}

static void the_ticker_alone_stops_at_the_end_of_funds(void **state)
{
    world_close(&w);
    world_open(
        &w, &(struct world_options){.nodes = 1, .cards = 8, .accounts = 2, .topup_micro = 2200000});
    const char *id = lease_of(0, 1);
    must(world_report(&w, id, 1, "ready", NULL, &err));
    run_until(id, 3590, 10);
    must(ticker_once(&w.s, true, &err));
    state_is(id, LEASE_RUNNING);
    world_pass(&w, 10);
    must(ticker_once(&w.s, false, &err));
    state_is(id, LEASE_STOPPING);
    assert_int_equal(cost_of(id), 2200000);
}

static void the_agent_hears_of_the_end_of_funds_at_once(void **state)
{
    SL_AUTO_BUF struct sl_buf answer = SL_BUF(4096);
    world_close(&w);
    world_open(
        &w, &(struct world_options){.nodes = 1, .cards = 8, .accounts = 2, .topup_micro = 2200000});
    const char *id = lease_of(0, 1);
    must(world_report(&w, id, 1, "ready", NULL, &err));
    run_until(id, 3590, 10);
    world_pass(&w, 10);
    must(world_report(&w, id, 1, "heartbeat", &answer, &err));
    assert_non_null(strstr(sl_buf_str(&answer), "\"stop\":true"));
    state_is(id, LEASE_STOPPING);
}

static void a_restart_that_fails_keeps_the_disk(void **state)
{
    const char *id = lease_of(0, 1);
    must(world_report(&w, id, 1, "ready", NULL, &err));
    must(act(id, do_stop));
    must(act(id, do_gone));
    must(act(id, do_clean));
    must(act(id, do_start));
    must(act(id, do_failed));
    assert_int_equal(world_number(&w,
                                  "SELECT COUNT(*) FROM operation WHERE kind = 'lease_stop' AND "
                                  "payload LIKE '%true%'"),
                     0);
    must(act(id, do_gone));
    state_is(id, LEASE_STOPPED);
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM volume WHERE state = 'available'"), 1);
}

static void a_start_that_hangs_ends_at_its_deadline(void **state)
{
    const char *id = lease_of(0, 1);
    world_pass(&w, 121);
    must(ticker_once(&w.s, false, &err));
    state_is(id, LEASE_STOPPING);
    must(act(id, do_gone_failed));
    state_is(id, LEASE_FAILED);
    assert_int_equal(cost_of(id), 0);
}

static void a_stop_that_hangs_frees_the_renter_but_not_the_cards(void **state)
{
    const char *id = lease_of(0, 2);
    must(world_report(&w, id, 1, "ready", NULL, &err));
    must(act(id, do_stop));
    world_pass(&w, 601);
    must(ticker_once(&w.s, false, &err));
    state_is(id, LEASE_STOPPED);
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM node WHERE state = 'quarantined'"), 1);
    assert_int_equal(world_number(&w, "SELECT leased_mask FROM node WHERE name = 'n00001'"), 3);
    assert_int_equal(act(id, do_start), -1);
    assert_int_equal(err.code, SL_CONFLICT);
    assert_int_equal(act(id, do_release), -1);
    assert_int_equal(err.code, SL_CONFLICT);
    must(act(id, do_gone)); /* the node answers at last */
    assert_int_equal(world_number(&w, "SELECT leased_mask FROM node WHERE name = 'n00001'"), 0);
}

static void a_node_serves_one_account_at_a_time(void **state)
{
    const char *a = lease_of(0, 1), *b = lease_of(1, 1), *c = lease_of(0, 1);
    assert_string_equal(world_get(&w, a).node_name, "n00001");
    assert_string_equal(world_get(&w, b).node_name, "n00002");
    assert_string_equal(world_get(&w, c).node_name, "n00001");
    assert_int_equal(world_get(&w, c).slot, 1);
    char id[ID_TEXT];
    assert_int_equal(world_lease(&w, w.account[0], "MI300X", 7, id, &err), -1);
    assert_int_equal(err.code, SL_NO_CAPACITY);
}

static void stop_and_start_keep_disk_port_and_host_key(void **state)
{
    const char *id = lease_of(0, 1);
    must(world_report(&w, id, 1, "ready", NULL, &err));
    struct lease before = world_get(&w, id);
    must(act(id, do_stop));
    must(act(id, do_gone));
    must(act(id, do_clean));
    must(act(id, do_start));
    must(world_report(&w, id, 2, "ready", NULL, &err));
    struct lease after = world_get(&w, id);
    assert_string_equal(before.volume_id, after.volume_id);
    assert_string_equal(before.host_key, after.host_key);
    assert_string_equal(before.node_name, after.node_name);
    assert_int_equal(before.slot, after.slot);
}

static void a_released_lease_leaves_a_tombstone(void **state)
{
    const char *id = lease_of(0, 1);
    must(world_report(&w, id, 1, "ready", NULL, &err));
    assert_int_equal(act(id, do_release), -1);
    assert_int_equal(err.code, SL_CONFLICT);
    must(act(id, do_stop));
    must(act(id, do_gone));
    must(act(id, do_release));
    must(act(id, do_release));
    state_is(id, LEASE_RELEASED);
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM volume WHERE state = 'deleted' AND "
                                      "purge_after_us > 0"),
                     1);
    world_pass(&w, w.s.conf.tombstone_keep_s + 1);
    must(ticker_once(&w.s, false, &err));
    assert_int_equal(
        world_number(&w, "SELECT COUNT(*) FROM operation WHERE kind = 'volume_remove'"), 1);
}

static void an_exit_ends_billing_at_its_report(void **state)
{
    const char *id = lease_of(0, 1);
    must(world_report(&w, id, 1, "ready", NULL, &err));
    run_until(id, 20, 10);
    world_pass(&w, 5);
    must(world_report(&w, id, 1, "exit", NULL, &err));
    must(world_report(&w, id, 1, "exit", NULL, &err));
    state_is(id, LEASE_STOPPING);
    world_pass(&w, 50);
    must(act(id, do_gone));
    assert_int_equal(cost_of(id), money_charge(2200000, 25));
}

static void heartbeats_are_kept_by_the_minute(void **state)
{
    const char *id = lease_of(0, 1);
    must(world_report(&w, id, 1, "ready", NULL, &err));
    run_until(id, 180, 10);
    int64_t rows = world_number(&w, "SELECT COUNT(*) FROM heartbeat");
    assert_true(rows == 3 || rows == 4);
    assert_int_equal(world_number(&w, "SELECT SUM(count) FROM heartbeat"), 19);
}

static void a_quota_names_what_is_in_use(void **state)
{
    char id[ID_TEXT];
    world_exec(&w, "UPDATE account SET quota_gpus = 3");
    lease_of(0, 2);
    assert_int_equal(world_lease(&w, w.account[0], "MI300X", 2, id, &err), -1);
    assert_int_equal(err.code, SL_QUOTA);
    assert_string_equal(err.field, "gpus");
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM lease"), 1);
    lease_of(0, 1); /* up to the quota, not one less */
}

struct taking {
    uint64_t mask;
    const char *account;
    int (*fn)(struct db_c *c, struct taking *k, struct sl_err *err);
};
static int take_tx(struct db_c *c, void *arg, struct sl_err *e)
{
    struct taking *k = arg;
    return k->fn(c, k, e);
}
static int take(struct db_c *c, struct taking *k, struct sl_err *e)
{
    return node_take(c, &w.s, "n00001", k->account, k->mask, e);
}
static int give_back(struct db_c *c, struct taking *k, struct sl_err *e)
{
    return node_give_back(c, &w.s, "n00001", k->mask, "", e);
}
static int cleaned(struct db_c *c, struct taking *k, struct sl_err *e)
{
    return node_cleaned(c, &w.s, "n00001", k->mask, e);
}

static void cards_move_only_between_the_states_they_are_in(void **state)
{
    const char *id = lease_of(0, 2); /* cards 0 and 1 */
    struct taking k = {2, w.account[0], take};
    assert_int_equal(db_write(w.s.db, take_tx, &k, &err), -1); /* leased already */
    k = (struct taking){4, w.account[1], take};
    assert_int_equal(db_write(w.s.db, take_tx, &k, &err), -1); /* another account's node */
    k = (struct taking){4, NULL, give_back};
    assert_int_equal(db_write(w.s.db, take_tx, &k, &err), -1); /* free, not leased */
    k = (struct taking){1, NULL, cleaned};
    assert_int_equal(db_write(w.s.db, take_tx, &k, &err), -1); /* leased, not waiting for a wipe */
    must(act(id, do_stop));
    must(act(id, do_gone));
    k = (struct taking){1, w.account[0], take};
    assert_int_equal(db_write(w.s.db, take_tx, &k, &err), -1); /* not clean yet */
    assert_int_equal(world_number(&w, "SELECT free_cards FROM node WHERE name = 'n00001'"), 6);
}

static void a_restart_waits_while_its_node_serves_another_account(void **state)
{
    const char *a = lease_of(0, 1);
    must(world_report(&w, a, 1, "ready", NULL, &err));
    must(act(a, do_stop));
    must(act(a, do_gone));
    must(act(a, do_clean));
    lease_of(1, 1); /* now holds n00001 */
    assert_int_equal(act(a, do_start), -1);
    assert_int_equal(err.code, SL_NO_CAPACITY);
    state_is(a, LEASE_STOPPED);
    assert_int_equal(world_get(&w, a).epoch, 1);
}

static void a_slot_is_used_again_only_after_the_release(void **state)
{
    const char *a = lease_of(0, 1), *b = lease_of(0, 1);
    assert_int_equal(world_get(&w, b).slot, 1);
    must(world_report(&w, a, 1, "ready", NULL, &err));
    must(act(a, do_stop));
    must(act(a, do_gone));
    assert_int_equal(world_get(&w, lease_of(0, 1)).slot, 2); /* a keeps its port while stopped */
    must(act(a, do_release));
    assert_int_equal(world_get(&w, lease_of(0, 1)).slot, 0);
}

static void card_63_is_rented_like_any_other(void **state)
{
    world_close(&w);
    world_open(&w, &(struct world_options){.nodes = 1, .cards = 64, .accounts = 2});
    for (int round = 0; round < 2; round++) {
        char id[64][ID_TEXT];
        for (int i = 0; i < 64; i++)
            must(world_lease(&w, w.account[0], "MI300X", 1, id[i], &err));
        assert_true(world_number(&w, "SELECT COUNT(*) FROM lease WHERE gpu_mask < 0") == 1);
        assert_int_equal(world_number(&w, "SELECT free_cards FROM node"), 0);
        world_audit(&w);
        for (int i = 0; i < 64; i++) {
            must(act(id[i], do_stop));
            must(act(id[i], do_gone));
        }
        world_audit(&w);
        must(act(id[0], do_clean));
        assert_int_equal(world_number(&w, "SELECT free_mask FROM node"), -1);
        assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM node WHERE state = 'available'"),
                         1);
    }
}

static void a_lease_is_placed_where_its_image_is(void **state)
{
    char id[ID_TEXT];
    world_exec(&w, "DELETE FROM node_image WHERE node_name = 'n00001'");
    assert_string_equal(world_get(&w, lease_of(0, 1)).node_name, "n00002");
    world_exec(&w, "UPDATE node_image SET digest = 'sha256:other'"); /* an older import */
    assert_int_equal(world_lease(&w, w.account[0], "MI300X", 1, id, &err), -1);
    assert_int_equal(err.code, SL_NO_CAPACITY);
    assert_non_null(strstr(err.msg, "debian"));
}

static void a_name_is_taken_until_its_instance_is_over(void **state)
{
    char quote[2][ID_TEXT], id[ID_TEXT];
    const char *a = lease_of(0, 1);
    world_exec(&w, "UPDATE lease SET name = 'train'");
    for (int i = 0; i < 2; i++)
        must(world_quote(&w, w.account[0], "MI300X", 1, quote[i], &err));
    assert_int_equal(world_lease_named(&w, w.account[0], quote[0], "train", id, &err), -1);
    assert_int_equal(err.code, SL_CONFLICT);
    assert_string_equal(err.field, "name");
    assert_int_equal(world_lease_named(&w, w.account[0], quote[0], "Bad Name", id, &err), -1);
    assert_int_equal(err.code, SL_INVALID);
    must(act(a, do_stop));
    must(act(a, do_gone));
    must(act(a, do_release));
    must(world_lease_named(&w, w.account[0], quote[1], "train", id, &err));
}

static void a_quote_starts_one_instance(void **state)
{
    char quote[ID_TEXT], id[ID_TEXT];
    must(world_quote(&w, w.account[0], "MI300X", 1, quote, &err));
    must(world_lease_from(&w, w.account[0], quote, id, &err));
    assert_int_equal(world_lease_from(&w, w.account[0], quote, id, &err), -1);
    assert_int_equal(err.code, SL_CONFLICT);
    must(world_quote(&w, w.account[0], "MI300X", 1, quote, &err));
    assert_int_equal(world_lease_from(&w, w.account[1], quote, id, &err), -1);
    world_pass(&w, w.s.conf.quote_ttl_s + 1);
    assert_int_equal(world_lease_from(&w, w.account[0], quote, id, &err), -1);
    assert_int_equal(err.code, SL_CONFLICT);
}

static void no_money_leaves_no_trace(void **state)
{
    char id[ID_TEXT];
    world_close(&w);
    world_open(
        &w, &(struct world_options){.nodes = 1, .cards = 8, .accounts = 2, .topup_micro = 100000});
    assert_int_equal(world_lease(&w, w.account[0], "MI300X", 8, id, &err), -1);
    assert_int_equal(err.code, SL_NO_CREDIT);
    assert_int_equal(world_number(&w, "SELECT free_cards FROM node"), 8);
    assert_int_equal(world_number(&w, "SELECT (SELECT COUNT(*) FROM lease) + (SELECT COUNT(*) FROM "
                                      "volume) + (SELECT COUNT(*) FROM operation)"),
                     0);
}

static void a_top_up_near_the_end_keeps_it_running(void **state)
{
    world_close(&w);
    world_open(
        &w, &(struct world_options){.nodes = 1, .cards = 8, .accounts = 2, .topup_micro = 2200000});
    const char *id = lease_of(0, 1);
    must(world_report(&w, id, 1, "ready", NULL, &err));
    run_until(id, 3580, 10);
    state_is(id, LEASE_RUNNING);
    struct act top_up = {id, do_top_up, 0};
    must(db_write(w.s.db, act_tx, &top_up, &err));
    SL_AUTO_BUF struct sl_buf answer = SL_BUF(4096);
    must(world_report(&w, id, 1, "heartbeat", &answer, &err));
    run_until(id, 600, 10);
    state_is(id, LEASE_RUNNING);
    must(act(id, do_stop));
    assert_int_equal(cost_of(id), money_charge(2200000, 4180));
}

/* ---- races ---- */
enum { RACERS = 200 };
static int won, lost_for_capacity;
static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;

static void *racer(void *arg)
{
    char id[ID_TEXT];
    struct sl_err e = {0};
    int rc = world_lease(&w, w.account[0], "MI300X", 1, id, &e);
    pthread_mutex_lock(&count_lock);
    won += rc == 0;
    lost_for_capacity += rc < 0 && e.code == SL_NO_CAPACITY;
    pthread_mutex_unlock(&count_lock);
    return NULL;
}

static void two_hundred_creates_for_the_last_card_give_one_lease(void **state)
{
    pthread_t t[RACERS];
    world_close(&w);
    world_open(
        &w, &(struct world_options){.nodes = 1, .cards = 8, .accounts = 1, .writer_thread = true});
    lease_of(0, 7);
    won = lost_for_capacity = 0;
    for (int i = 0; i < RACERS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, racer, NULL), 0);
    for (int i = 0; i < RACERS; i++)
        pthread_join(t[i], NULL);
    assert_int_equal(won, 1);
    assert_int_equal(lost_for_capacity, RACERS - 1);
    assert_int_equal(world_number(&w, "SELECT free_cards FROM node"), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
    const struct CMUnitTest tests[] = {
        T(every_table_holds_and_only_running_bills),
        T(a_lease_bills_from_ready_until_stop),
        T(ready_twice_starts_the_meter_once),
        T(a_stale_epoch_is_refused),
        T(a_ready_after_the_stop_gets_no_go),
        T(a_foreign_lease_does_not_exist),
        T(a_failed_start_costs_nothing_and_gives_the_funds_back),
        T(three_failed_starts_quarantine_the_node),
        T(a_silent_host_is_billed_to_its_last_heartbeat),
        T(a_stop_during_silence_bills_to_the_last_heartbeat),
        T(funds_that_end_stop_the_lease_and_keep_its_disk),
        T(the_ticker_alone_stops_at_the_end_of_funds),
        T(the_agent_hears_of_the_end_of_funds_at_once),
        T(a_restart_that_fails_keeps_the_disk),
        T(a_start_that_hangs_ends_at_its_deadline),
        T(a_stop_that_hangs_frees_the_renter_but_not_the_cards),
        T(a_node_serves_one_account_at_a_time),
        T(stop_and_start_keep_disk_port_and_host_key),
        T(a_released_lease_leaves_a_tombstone),
        T(an_exit_ends_billing_at_its_report),
        T(heartbeats_are_kept_by_the_minute),
        T(a_quota_names_what_is_in_use),
        T(cards_move_only_between_the_states_they_are_in),
        T(a_restart_waits_while_its_node_serves_another_account),
        T(a_slot_is_used_again_only_after_the_release),
        T(card_63_is_rented_like_any_other),
        T(a_lease_is_placed_where_its_image_is),
        T(a_name_is_taken_until_its_instance_is_over),
        T(a_quote_starts_one_instance),
        T(no_money_leaves_no_trace),
        T(a_top_up_near_the_end_keeps_it_running),
        T(two_hundred_creates_for_the_last_card_give_one_lease),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
