/* SPDX-License-Identifier: Apache-2.0
 *
 * What disks cost, with a clock in hand.
 */
#include "../lib/world.h"
#include "base/core/mem.h"
#include "server/audit_money.h"
#include "server/node.h"
#include "server/statement.h"
#include "server/ticker.h"
#include "server/volume_meter.h"
#include "server/wallet.h"
#include "wire/bill.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { DAY = 86400, MONTH = 30 * 86400 };
static struct world w;
static struct sl_err err;

static void must(int rc)
{
    if (rc < 0)
        fail_msg("%s", err.msg);
}

struct act {
    const char *id;
    int (*fn)(struct db_c *c, const struct act *a, const struct lease *l, struct sl_err *e);
    int64_t n;
};
static int act_tx(struct db_c *c, void *arg, struct sl_err *e)
{
    struct act *a = arg;
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct lease l = {0};
    if (a->id && lease_get(c, NULL, a->id, &arena, &l, e) < 0)
        return -1;
    return a->fn(c, a, &l, e);
}
static int act(struct act a)
{
    return db_write(w.s.db, act_tx, &a, &err);
}
static int do_price(struct db_c *c, const struct act *a, const struct lease *l, struct sl_err *e)
{
    struct tariff t = {.kind = TARIFF_DISK, .price_micro = a->n, .currency = "CNY"};
    t.effective_us = env_now(w.s.env) + w.s.conf.price_notice_s * SL_SEC;
    return tariff_add(c, &w.s, &t, "test", e);
}
static int do_stop(struct db_c *c, const struct act *a, const struct lease *l, struct sl_err *e)
{
    return lease_stop(c, &w.s, l, "acc", "stopped by the renter", e);
}
static int do_failed(struct db_c *c, const struct act *a, const struct lease *l, struct sl_err *e)
{
    return lease_start_failed(c, &w.s, l, "no image here", e);
}
static int do_gone(struct db_c *c, const struct act *a, const struct lease *l, struct sl_err *e)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct node n;
    if (lease_gone(c, &w.s, l, a->n, e) < 0 || node_get(c, l->node_name, &arena, &n, e) < 0 ||
        db_exec(c, e, "UPDATE operation SET state = 'done' WHERE kind = 'sanitize'", "") < 0)
        return -1;
    return node_cleaned(c, &w.s, l->node_name, n.sanitize_mask, e);
}
static int do_release(struct db_c *c, const struct act *a, const struct lease *l, struct sl_err *e)
{
    return lease_release(c, &w.s, l, "acc", e);
}
static int do_topup(struct db_c *c, const struct act *a, const struct lease *l, struct sl_err *e)
{
    return wallet_topup(c, &w.s, l->account_id, a->n, "test", "more", e);
}

static int open_with(int64_t topup, int64_t price)
{
    err = (struct sl_err){0};
    world_open(
        &w, &(struct world_options){.nodes = 2, .cards = 8, .accounts = 1, .topup_micro = topup});
    if (price) {
        must(act((struct act){.fn = do_price, .n = price}));
        world_pass(&w, w.s.conf.price_notice_s + 1);
    }
    return 0;
}
static int open_world(void **state) /* 0.50 per GB and month */
{
    return open_with(0, 500000);
}
static int close_world(void **state)
{
    world_audit(&w);
    world_close(&w);
    return 0;
}

static const char *running(void)
{
    static char id[ID_TEXT];
    must(world_lease(&w, w.account[0], "MI300X", 1, id, &err));
    must(world_report(&w, id, 1, "ready", NULL, &err));
    return id;
}
static void stopped(const char *id)
{
    must(act((struct act){.id = id, .fn = do_stop}));
    must(act((struct act){.id = id, .fn = do_gone}));
}
static void pass(int64_t seconds, int64_t step)
{
    for (int64_t t = 0; t < seconds; t += step) {
        world_pass(&w, step);
        must(ticker_once(&w.s, true, &err));
    }
}
static int64_t disk_paid(void)
{
    return world_number(&w, "SELECT COALESCE(SUM(captured_micro), 0) FROM volume_segment");
}
static int64_t disk_gb(void)
{
    return world_number(&w, "SELECT MAX(disk_gb) FROM lease");
}
static int verify_tx(struct db_c *c, void *arg, struct sl_err *e)
{
    SL_AUTO_BUF struct sl_buf out = SL_BUF(64 << 20);
    struct bill_options o = {0};
    if (statement_make(c, &w.s, w.account[0], 0, 0, &out, e) < 0)
        return -1;
    return bill_verify(sl_buf_str(&out), out.n, &o, arg, e);
}

static void a_disk_of_a_month_costs_its_price_running_or_stopped(void **state)
{
    const char *id = running();
    pass(600, 20);
    must(world_report(&w, id, 1, "heartbeat", NULL, &err));
    stopped(id);
    pass(MONTH - 600, 7 * 3600 + 60); /* any step: 600 s short of a whole number of them */
    world_pass(&w, 1);
    must(act((struct act){.id = id, .fn = do_release}));
    int64_t us = world_number(&w, "SELECT end_us - start_us FROM volume_segment");
    assert_int_equal(disk_paid(), money_charge_per(500000 * disk_gb(), us / SL_SEC, MONEY_MONTH_S));
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM volume_segment"), 1);
    struct bill_result r;
    must(db_read(w.s.db, verify_tx, &r, &err));
    assert_int_equal(r.lines, 2); /* cards and disk */
    assert_true(r.total_micro > disk_paid());
}

/* A deleted volume is charged no more: cloudstack#6717. */
static void a_deleted_disk_costs_nothing_more(void **state)
{
    const char *id = running();
    stopped(id);
    pass(2 * DAY, 3600);
    must(act((struct act){.id = id, .fn = do_release}));
    int64_t paid = disk_paid();
    assert_true(paid > 0);
    pass(3 * DAY, 3600);
    assert_int_equal(disk_paid(), paid);
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM volume_segment WHERE end_us = 0"), 0);
}

static void a_start_that_fails_makes_no_disk_that_costs(void **state)
{
    static char id[ID_TEXT];
    must(world_lease(&w, w.account[0], "MI300X", 1, id, &err));
    must(act((struct act){.id = id, .fn = do_failed}));
    must(act((struct act){.id = id, .fn = do_gone, .n = 1}));
    pass(DAY, 3600);
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM volume_segment"), 0);
}

static void a_free_disk_writes_nothing(void **state)
{
    world_close(&w);
    open_with(0, 0);
    const char *id = running();
    stopped(id);
    pass(DAY, 3600);
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM volume_segment"), 0);
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM txn WHERE kind = 'disk'"), 0);
}

static void the_price_of_a_disk_stays_when_the_tariff_rises(void **state)
{
    const char *id = running();
    stopped(id);
    must(act((struct act){.fn = do_price, .n = 900000}));
    pass(20 * DAY, DAY);
    assert_int_equal(world_number(&w, "SELECT rate_micro FROM volume_segment"), 500000 * disk_gb());
    must(act((struct act){.id = id, .fn = do_release}));
}

/* The balance never goes below zero: Dreambooth-Ion-Cannon PR#5, cloud-gpus#31. Data is kept to the
 * date. */
static void an_unpaid_disk_is_kept_to_its_date_and_a_topup_saves_it(void **state)
{
    world_close(&w);
    open_with(2 * SL_MICRO, 100 * SL_MICRO); /* dear disk: two units last for minutes */
    const char *id = running();
    world_pass(&w, 30);
    stopped(id);
    pass(3 * DAY, 3600);
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM volume WHERE kept_until_us > 0"), 1);
    assert_int_equal(world_number(&w, "SELECT MIN(balance_micro) FROM ledger_account WHERE "
                                      "account_id <> ''"),
                     0);
    int64_t paid = disk_paid();
    pass(2 * DAY, 3600);
    assert_int_equal(disk_paid(), paid); /* not charged meanwhile */
    must(act((struct act){.id = id, .fn = do_topup, .n = 1000 * SL_MICRO}));
    pass(3600, 600);
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM volume WHERE kept_until_us > 0"), 0);
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM volume_segment"), 2);
    pass(2 * 3600, 600);
    assert_true(disk_paid() > paid);
    struct bill_result r;
    must(db_read(w.s.db, verify_tx, &r, &err));
    pass(40 * DAY, 6 * 3600);
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM volume WHERE kept_until_us > 0 AND "
                                      "state = 'available'"),
                     1);
    int64_t until = world_number(&w, "SELECT kept_until_us FROM volume WHERE kept_until_us > 0");
    world_pass(&w, (until - w.now_us) / SL_SEC - 1);
    must(ticker_once(&w.s, true, &err));
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM volume WHERE state = 'available'"), 1);
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM event WHERE type = "
                                      "'volume.deleted_soon'"),
                     1);
    world_pass(&w, 2);
    must(ticker_once(&w.s, true, &err));
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM volume WHERE state = 'deleted' AND "
                                      "purge_after_us > 0"),
                     1);
    assert_string_equal(lease_sm.states[world_get(&w, id).state].name, "released");
}

static int audit_tx(struct db_c *c, void *arg, struct sl_err *e)
{
    struct audit_report *r = sl_alloc(sizeof *r);
    int rc = audit_money(c, &w.s, r, e);
    for (int i = 0; i < r->n; i++)
        if (!r->checks[i].ok)
            *(int *)arg += 1;
    free(r);
    return rc;
}
static void the_audit_sees_a_disk_that_is_charged_wrongly(void **state)
{
    int bad = 0;
    const char *id = running();
    stopped(id);
    pass(DAY, 3600);
    must(db_read(w.s.db, audit_tx, &bad, &err));
    assert_int_equal(bad, 0);
    world_exec(&w, "UPDATE volume_segment SET captured_micro = captured_micro + 1");
    must(db_read(w.s.db, audit_tx, &bad, &err));
    assert_true(bad > 0);
    world_exec(&w, "UPDATE volume_segment SET captured_micro = captured_micro - 1");
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_world, close_world)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_disk_of_a_month_costs_its_price_running_or_stopped),
        T(a_deleted_disk_costs_nothing_more),
        T(a_start_that_fails_makes_no_disk_that_costs),
        T(a_free_disk_writes_nothing),
        T(the_price_of_a_disk_stays_when_the_tariff_rises),
        T(an_unpaid_disk_is_kept_to_its_date_and_a_topup_saves_it),
        T(the_audit_sees_a_disk_that_is_charged_wrongly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
