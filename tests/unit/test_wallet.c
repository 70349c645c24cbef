/* SPDX-License-Identifier: Apache-2.0
 *
 * The wallet and the ledger: races, replays, guards, and an audit that notices every kind of
 * damage.
 */
#include "money_world.h"

#define PRICE 2200000

enum { THREADS_MAX = 64 };
struct racer {
    struct world *w;
    struct op op;
    int rounds, won, lost;
    enum sl_code lost_code;
    bool back; /* hold and give back, round by round */
    pthread_barrier_t *start;
};

static void *race(void *arg)
{
    struct racer *r = arg;
    struct sl_err err;
    pthread_barrier_wait(r->start);
    for (int i = 0; i < r->rounds; i++) {
        struct op o = r->op;
        if (r->back && i % 2)
            o.micro = 0;
        if (op_try(r->w, &o, &err) == 0) {
            r->won++;
            memcpy(r->op.id, o.id, sizeof o.id);
        } else {
            r->lost++;
            r->lost_code = err.code;
        }
    }
    return NULL;
}

static void race_all(struct racer *racers, int n)
{
    pthread_t threads[THREADS_MAX];
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, (unsigned)n);
    for (int i = 0; i < n; i++) {
        racers[i].start = &start;
        assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&start);
}

static void the_trial_credit_raced_by_50_threads_is_granted_once(void **state)
{
    (void)state;
    struct world *w = world_open(3, false);
    char account[2][ID_TEXT];
    struct racer racers[50];
    world_account(w, account[0]);
    world_account(w, account[1]); /* one person, two accounts */
    for (int i = 0; i < 50; i++)
        racers[i] = (struct racer){
            .w = w,
            .rounds = 2,
            .op = {.kind = OP_TRIAL, .account = account[i % 2], .text = "one person"}};
    race_all(racers, 50);
    int won = 0;
    for (int i = 0; i < 50; i++) {
        won += racers[i].won;
        assert_true(racers[i].lost == 0 || racers[i].lost_code == SL_CONFLICT);
    }
    assert_int_equal(won, 1);
    assert_int_equal(world_wallet(w, account[0]).credit + world_wallet(w, account[1]).credit,
                     10 * SL_MICRO);
    assert_audit(w);
    world_close(w);
}

static void lago_3618_2243_a_payment_settled_by_64_threads_a_hundred_times_counts_once(void **state)
{
    (void)state;
    struct world *w = world_open(4, false);
    char account[ID_TEXT];
    struct racer racers[64];
    world_account(w, account);
    for (int i = 0; i < 64; i++)
        racers[i] = (struct racer){
            .w = w,
            .rounds = 2,
            .op = {.kind = OP_TOPUP, .account = account, .micro = 7 * SL_MICRO, .text = "bank 42"}};
    race_all(racers, 64);
    for (int i = 0; i < 64; i++) {
        assert_int_equal(racers[i].lost, 0); /* each caller gets the one transaction */
        assert_string_equal(racers[i].op.id, racers[0].op.id);
    }
    assert_int_equal(world_wallet(w, account).cash, 7 * SL_MICRO);
    struct op other = {
        .kind = OP_TOPUP, .account = account, .micro = 8 * SL_MICRO, .text = "bank 42"};
    struct sl_err err;
    assert_int_equal(op_try(w, &other, &err), -1);
    assert_int_equal(err.code, SL_CONFLICT);
    assert_audit(w);
    world_close(w);
}

static void
lago_2664_a_wallet_raced_by_64_threads_is_never_negative_and_nobody_fails_for_nothing(void **state)
{
    (void)state;
    struct world *w = world_open(5, false);
    char account[ID_TEXT], leases[64][ID_TEXT];
    struct racer racers[64];
    world_account(w, account);
    DO(w, .kind = OP_PRICE, .model = "A", .micro = PRICE);
    DO(w, .kind = OP_TOPUP, .account = account, .micro = 100 * SL_MICRO);
    for (int i = 0; i < 64; i++) {
        world_lease(w, account, "A", 1, leases[i]);
        bool pays = i % 4 == 0;
        racers[i] = (struct racer){.w = w,
                                   .rounds = 20,
                                   .back = !pays,
                                   .op = {.kind = pays ? OP_TOPUP : OP_HOLD,
                                          .account = account,
                                          .lease = leases[i],
                                          .micro = pays ? 1 : 3 * SL_MICRO}};
    }
    race_all(racers, 64);
    int refused = 0;
    for (int i = 0; i < 64; i++) {
        assert_true(racers[i].lost == 0 || racers[i].lost_code == SL_NO_CREDIT);
        assert_true(racers[i].op.kind == OP_HOLD || racers[i].lost == 0);
        refused += racers[i].lost;
    }
    for (int i = 0; i < 64; i++)
        DO(w, .kind = OP_GIVE_UP, .lease = leases[i]);
    struct wallet k = world_wallet(w, account);
    assert_int_equal(k.cash, 100 * SL_MICRO + 16 * 20);
    assert_int_equal(wallet_held(&k), 0);
    assert_true(refused >= 0);
    assert_audit(w);
    world_close(w);
}

static void
lago_4985_the_schema_itself_refuses_a_negative_balance_and_rewritten_history(void **state)
{
    (void)state;
    static const char *const forbidden[] = {
        "UPDATE ledger_account SET balance_micro = -1 WHERE kind = 'cash'",
        "UPDATE txn SET memo = 'other'",
        "DELETE FROM txn",
        "UPDATE entry SET amount_micro = amount_micro + 1",
        "DELETE FROM entry",
        "UPDATE price_version SET price_micro = 1",
        "DELETE FROM price_version",
        "UPDATE segment SET end_us = end_us + 1000000",
        "UPDATE segment SET rate_micro = 1",
        "DELETE FROM segment",
        "UPDATE trial_grant SET amount_micro = 1",
        "DELETE FROM trial_grant",
        "INSERT INTO segment SELECT 'seg_x', lease_id, account_id, seq, epoch, start_us + 1, 0, "
        "model, gpus, "
        "rate_micro, currency, price_version_id, node_name, gpu_mask, 0, 0, 0, '' FROM segment",
        "INSERT INTO segment SELECT 'seg_x', lease_id, account_id, seq + 1, epoch, start_us, 0, "
        "model, gpus, "
        "rate_micro, currency, price_version_id, node_name, gpu_mask, 0, 0, 0, '' FROM segment",
        "UPDATE hold SET cash_micro = -1",
    };
    struct world *w = world_open(6, true);
    char account[ID_TEXT], lease[ID_TEXT];
    world_account(w, account);
    DO(w, .kind = OP_PRICE, .model = "A", .micro = PRICE);
    DO(w, .kind = OP_TRIAL, .account = account, .text = "person");
    DO(w, .kind = OP_TOPUP, .account = account, .micro = SL_MICRO);
    world_lease(w, account, "A", 1, lease);
    DO(w, .kind = OP_RUN, .lease = lease);
    w->now_us += HOUR;
    DO(w, .kind = OP_STOP, .lease = lease);
    DO(w, .kind = OP_HOLD, .account = account, .lease = lease, .micro = 5);
    for (size_t i = 0; i < SL_COUNT(forbidden); i++) {
        struct op o = {.kind = OP_SQL, .text = forbidden[i]};
        struct sl_err err;
        if (op_try(w, &o, &err) == 0)
            fail_msg("allowed: %s", forbidden[i]);
    }
    DO(w, .kind = OP_RELEASE, .lease = lease);
    assert_audit(w);
    world_close(w);
}

static void credit_is_spent_first_and_cash_comes_back_first(void **state)
{
    (void)state;
    struct world *w = world_open(12, true);
    char account[ID_TEXT], lease[ID_TEXT];
    struct sl_err err;
    world_account(w, account);
    DO(w, .kind = OP_PRICE, .model = "A", .micro = 36 * SL_MICRO); /* 0.01 a second, 6.00 held */
    DO(w, .kind = OP_TRIAL, .account = account, .text = "person");
    DO(w, .kind = OP_TOPUP, .account = account, .micro = 20 * SL_MICRO);
    world_lease(w, account, "A", 1, lease);
    DO(w, .kind = OP_HOLD, .account = account, .lease = lease, .micro = 25 * SL_MICRO);
    struct wallet k = world_wallet(w, account);
    assert_int_equal(k.held_credit, 10 * SL_MICRO);
    assert_int_equal(k.held_cash, 15 * SL_MICRO);
    struct op more = {
        .kind = OP_HOLD, .account = account, .lease = lease, .micro = 30 * SL_MICRO + 1};
    assert_int_equal(op_try(w, &more, &err), -1);
    assert_int_equal(err.code, SL_NO_CREDIT);
    assert_non_null(strstr(err.msg, "0.000001 CNY is missing"));
    DO(w, .kind = OP_HOLD, .account = account, .lease = lease, .micro = 12 * SL_MICRO);
    k = world_wallet(w, account);
    assert_int_equal(k.held_credit, 10 * SL_MICRO);
    assert_int_equal(k.held_cash, 2 * SL_MICRO);
    DO(w, .kind = OP_RUN, .lease = lease, .t_us = T0);
    DO(w, .kind = OP_TICK, .lease = lease, .t_us = T0 + 950 * SL_SEC); /* 9.50, then 6.00 held */
    k = world_wallet(w, account);
    assert_int_equal(k.held_credit, SL_MICRO / 2);
    assert_int_equal(k.held_cash, 5500000);
    DO(w, .kind = OP_STOP, .lease = lease, .t_us = T0 + 950 * SL_SEC);
    assert_audit(w);
    world_close(w);
}

static void one_person_gets_one_trial_and_so_does_one_account(void **state)
{
    (void)state;
    struct world *w = world_open(13, true);
    char a[ID_TEXT], b[ID_TEXT];
    struct sl_err err;
    world_account(w, a);
    world_account(w, b);
    DO(w, .kind = OP_TRIAL, .account = a, .text = "person");
    struct op again[] = {{.kind = OP_TRIAL, .account = b, .text = "person"},
                         {.kind = OP_TRIAL, .account = a, .text = "somebody else"}};
    for (size_t i = 0; i < SL_COUNT(again); i++) {
        assert_int_equal(op_try(w, &again[i], &err), -1);
        assert_int_equal(err.code, SL_CONFLICT);
        assert_string_equal(err.field, "identity");
    }
    DO(w, .kind = OP_TRIAL, .account = b, .text = "somebody else");
    assert_audit(w);
    world_close(w);
}

static void only_allowed_movements_between_accounts_pass_the_routing_table(void **state)
{
    (void)state;
    static const struct {
        const char *kind;
        struct posting p[3];
        int n;
        bool ok;
    } table[] = {
        {"topup", {{NULL, LEDGER_BANK, -5}, {"a", LEDGER_CASH, 5}}, 2, true},
        {"topup",
         {{NULL, LEDGER_BANK, -5}, {"a", LEDGER_CASH, 4}},
         2,
         false}, /* does not sum to zero */
        {"topup", {{NULL, LEDGER_BANK, 5}, {"a", LEDGER_CASH, -5}}, 2, false}, /* backwards */
        {"topup",
         {{NULL, LEDGER_PROMO, -5}, {"a", LEDGER_CASH, 5}},
         2,
         false}, /* credit made cash (I13) */
        {"grant", {{NULL, LEDGER_PROMO, -5}, {"a", LEDGER_CASH, 5}}, 2, false},
        {"grant", {{NULL, LEDGER_PROMO, -5}, {"a", LEDGER_CREDIT, 5}}, 2, true},
        {"hold", {{"a", LEDGER_CREDIT, -5}, {"a", LEDGER_HELD_CREDIT, 5}}, 2, true},
        {"hold",
         {{"a", LEDGER_CREDIT, -5}, {"a", LEDGER_HELD_CASH, 5}},
         2,
         false}, /* credit made cash */
        {"release", {{"a", LEDGER_HELD_CREDIT, -5}, {"a", LEDGER_CASH, 5}}, 2, false},
        {"capture",
         {{"a", LEDGER_CASH, -5}, {NULL, LEDGER_REVENUE, 5}},
         2,
         false}, /* what was not held */
        {"capture",
         {{"a", LEDGER_HELD_CASH, -2}, {"a", LEDGER_HELD_CREDIT, -3}, {NULL, LEDGER_REVENUE, 5}},
         3,
         true},
        {"goodwill", {{NULL, LEDGER_GOODWILL, -5}, {"a", LEDGER_CASH, 5}}, 2, false},
        {"gift", {{NULL, LEDGER_BANK, -5}, {"a", LEDGER_CASH, 5}}, 2, false}, /* no such kind */
        {"topup", {{NULL, LEDGER_BANK, 0}}, 1, false},
        {"hold",
         {{"a", LEDGER_CASH, INT64_MIN}, {"a", LEDGER_HELD_CASH, INT64_MIN}, {"a", LEDGER_CASH, 1}},
         3,
         false},
    };
    for (size_t i = 0; i < SL_COUNT(table); i++)
        if (ledger_routing_ok(table[i].kind, table[i].p, table[i].n) != table[i].ok)
            fail_msg("row %zu (%s)", i, table[i].kind);
}

/* More than is held: the ledger itself refuses, whatever the wallet thought. */
static int overdraw(struct db_c *c, void *arg, struct sl_err *err)
{
    struct op *o = arg;
    const struct posting p[] = {{o->account, LEDGER_HELD_CASH, -5}, {NULL, LEDGER_REVENUE, 5}};
    return ledger_post(c, &o->w->s, "capture", "seg", o->account, "seconds 0..1", "CNY", p, 2, NULL,
                       err);
}

static void the_ledger_refuses_to_overdraw_and_leaves_nothing_behind(void **state)
{
    (void)state;
    struct world *w = world_open(14, true);
    char account[ID_TEXT];
    struct sl_err err = {0};
    world_account(w, account);
    struct op o = {.w = w, .account = account};
    assert_int_equal(db_write(w->s.db, overdraw, &o, &err), -1);
    assert_int_equal(err.code, SL_NO_CREDIT);
    assert_int_equal(world_value(w, "SELECT COUNT(*) FROM txn") +
                         world_value(w, "SELECT COUNT(*) FROM entry"),
                     0);
    assert_audit(w);
    world_close(w);
}

/* ---- replays ---- */
enum { SCRIPT = 60 };
struct script {
    struct op ops[SCRIPT];
    int n;
};

static void step(struct world *w, const struct op *o, bool again)
{
    struct op copy = *o;
    struct sl_err err;
    int rc = op_try(w, &copy, &err);
    assert_true(rc == 0 || again);
}

/* Runs the script; after each step replays up to `replays` earlier ones that have happened, in
 * random order. A late tick or start has nothing left to do, or is refused. */
static void play(uint64_t seed, int replays, char ret_hash[SHA256_HEX])
{
    struct world *w = world_open(11, true);
    struct world dice = {.random = seed};
    char account[ID_TEXT], a[ID_TEXT], b[ID_TEXT];
    DO(w, .kind = OP_PRICE, .model = "A", .micro = PRICE);
    world_account(w, account);
    DO(w, .kind = OP_TOPUP, .account = account, .micro = 20 * SL_MICRO, .text = "bank 1");
    world_lease(w, account, "A", 1, a);
    world_lease(w, account, "A", 2, b);
    struct script s = {.n = 0};
#define STEP(...) s.ops[s.n++] = (struct op){__VA_ARGS__}
    STEP(.kind = OP_TRIAL, .account = account, .text = "person");
    STEP(.kind = OP_RUN, .lease = a, .t_us = T0);
    STEP(.kind = OP_RUN, .lease = b, .t_us = T0 + 5 * MINUTE);
    for (int i = 1; i <= 12; i++) {
        STEP(.kind = OP_TICK, .lease = a, .t_us = T0 + i * 7 * MINUTE);
        STEP(.kind = OP_TICK, .lease = b, .t_us = T0 + i * 8 * MINUTE);
        if (i % 5 == 0)
            STEP(.kind = OP_TOPUP, .account = account, .micro = i * SL_MICRO,
                 .text = i == 5 ? "bank 5" : "bank 10");
    }
    STEP(.kind = OP_STOP, .lease = a, .t_us = T0 + 100 * MINUTE);
    STEP(.kind = OP_STOP, .lease = b, .t_us = T0 + 93 * MINUTE);
    for (int i = 0; i < s.n; i++) {
        step(w, &s.ops[i], false);
        for (int k = 0; k < replays; k++) {
            const struct op *late = &s.ops[world_range(&dice, 0, i)];
            if (late->kind != OP_RUN || late == &s.ops[i])
                step(w, late, true);
            else { /* a ready report that comes again must not start anything */
                struct op again = {.kind = OP_RUN, .lease = late->lease, .t_us = late->t_us + 1};
                char sql[128], was[32];
                struct sl_err err;
                snprintf(sql, sizeof sql, "SELECT state FROM lease WHERE id = '%s'", late->lease);
                world_text(w, sql, was, sizeof was);
                if (op_try(w, &again, &err) < 0)
                    assert_int_equal(err.code, SL_CONFLICT);
            }
        }
    }
    assert_audit(w);
    world_text(w, "SELECT hash FROM txn ORDER BY seq DESC LIMIT 1", ret_hash, SHA256_HEX);
    world_close(w);
}

static void flexprice_612_ten_replays_in_random_order_give_the_same_ledger_hash(void **state)
{
    (void)state;
    char once[SHA256_HEX], again[SHA256_HEX];
    play(0, 0, once);
    for (uint64_t seed = 1; seed <= 10; seed++) {
        play(seed, 10, again);
        assert_string_equal(again, once);
    }
}

/* ---- a storm of everything, and the audit after each gust ---- */
enum { STORM_ACCOUNTS = 4, STORM_LEASES = 24 };
struct storm_lease {
    char id[ID_TEXT];
    int account, state; /* 0 placed, 1 running, 2 over */
};

static void storm_step(struct world *w, char accounts[][ID_TEXT], struct storm_lease *leases,
                       int *n)
{
    struct sl_err err;
    int a = (int)world_range(w, 0, STORM_ACCOUNTS - 1);
    struct storm_lease *l = *n ? &leases[world_range(w, 0, *n - 1)] : NULL;
    struct op o = {.lease = l ? l->id : NULL, .account = accounts[a]};
    int dice = (int)world_range(w, 0, 9);
    w->now_us += world_range(w, -2, 400) * SL_SEC + world_range(w, 0, 999999);
    if (dice == 0 && *n < STORM_LEASES) {
        o = (struct op){
            .kind = OP_LEASE, .account = accounts[a], .model = "A", .gpus = world_range(w, 1, 8)};
        if (op_try(w, &o, &err) == 0) {
            leases[*n] = (struct storm_lease){.account = a};
            snprintf(leases[(*n)++].id, ID_TEXT, "%s", o.id);
        } else {
            assert_int_equal(err.code, SL_NO_CREDIT);
        }
    } else if (dice == 1) {
        o = (struct op){
            .kind = OP_TOPUP, .account = accounts[a], .micro = world_range(w, 1, 5 * SL_MICRO)};
        op_must(w, &o);
    } else if (l && l->state == 0) {
        o.kind = dice < 8 ? OP_RUN : OP_GIVE_UP;
        op_must(w, &o);
        l->state = o.kind == OP_RUN ? 1 : 2;
    } else if (l && l->state == 1 && dice < 9) {
        o.kind = OP_TICK;
        op_must(w, &o);
        if (o.ret <= w->now_us) {
            o = (struct op){.kind = OP_STOP, .lease = l->id, .text = "insufficient_funds"};
            op_must(w, &o);
            l->state = 2;
        }
    } else if (l && l->state == 1) {
        o.kind = OP_STOP;
        o.t_us = w->now_us - world_range(w, 0, 600) * SL_SEC; /* at times: lost a while ago */
        op_must(w, &o);
        l->state = 2;
    }
}

static void a_storm_of_random_operations_keeps_every_invariant(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct world *w = world_open(seed, true);
        char accounts[STORM_ACCOUNTS][ID_TEXT];
        struct storm_lease leases[STORM_LEASES];
        int n = 0;
        DO(w, .kind = OP_PRICE, .model = "A", .micro = PRICE + (int64_t)seed);
        for (int i = 0; i < STORM_ACCOUNTS; i++) {
            world_account(w, accounts[i]);
            if (i % 2)
                DO(w, .kind = OP_TRIAL, .account = accounts[i], .text = accounts[i]);
        }
        for (int i = 0; i < 400; i++) {
            storm_step(w, accounts, leases, &n);
            if (i % 40 == 0)
                assert_audit(w);
        }
        assert_audit(w);
        world_close(w);
    }
}

/* ---- the audit notices ---- */
struct damage {
    const char *invariant, *sql;
};
static const struct damage damages[] = {
    {"I1", "UPDATE entry SET amount_micro = amount_micro + 1 WHERE (txn_id, idx) = (SELECT "
           "MAX(txn_id), 1 FROM "
           "entry)"},
    {"I1", "DELETE FROM entry WHERE (txn_id, idx) = (SELECT MAX(txn_id), 1 FROM entry)"},
    {"I1", "UPDATE ledger_account SET balance_micro = balance_micro + 1 WHERE kind = 'revenue'"},
    {"I2", "UPDATE ledger_account SET balance_micro = balance_micro + CASE kind WHEN 'revenue' "
           "THEN 5 ELSE -5 END "
           "WHERE kind IN ('revenue', 'bank')"},
    {"I3", "UPDATE txn SET kind = 'hold' WHERE kind = 'topup'"},
    {"I5", "UPDATE segment SET captured_s = captured_s + 60, end_us = end_us + 60000000 WHERE "
           "end_us <> 0"},
    {"I5", "UPDATE segment SET end_us = end_us - 60000000 WHERE end_us <> 0"},
    {"I6", "UPDATE segment SET seq = seq + 1"},
    {"I7", "UPDATE segment SET gpu_mask = gpu_mask * 2 + 1"},
    {"I7", "UPDATE segment SET node_name = 'node-2', gpu_mask = 1"},
    {"I7", "UPDATE node SET leased_mask = 0"},
    {"I7", "UPDATE lease SET state = 'stopped'"},
    {"I9", "UPDATE txn SET memo = 'seconds 0..1' WHERE kind = 'capture'"},
    {"I10", "UPDATE hold SET cash_micro = cash_micro + 1"},
    {"I10", "DELETE FROM hold"},
    {"I11", "UPDATE price_version SET price_micro = price_micro + 1"},
    {"I11", "UPDATE quote SET rate_micro = rate_micro + 1"},
    {"I13", "UPDATE trial_grant SET amount_micro = 1"},
    {"I13", "DELETE FROM trial_grant"},
    {"I14", "UPDATE txn SET memo = 'rewritten' WHERE kind = 'topup'"},
    {"I14", "UPDATE txn SET t_us = t_us + 1 WHERE seq = (SELECT MAX(seq) FROM txn)"},
    {"I14", "UPDATE txn SET hash = prev_hash WHERE seq = (SELECT MAX(seq) FROM txn)"},
    {"I16", "UPDATE txn SET seq = seq + 1 WHERE seq = (SELECT MAX(seq) FROM txn)"},
    {"I16", "UPDATE txn SET t_us = 1 WHERE seq = (SELECT MAX(seq) FROM txn)"},
};

static bool audit_names(struct world *w, const char *invariant)
{
    struct audit_report *r = sl_alloc(sizeof *r);
    struct op o = {.kind = OP_AUDIT, .report = r};
    bool named = false;
    op_must(w, &o);
    for (int i = 0; i < r->n; i++)
        named = named || (!r->checks[i].ok && sl_streq(r->checks[i].id, invariant));
    named = named && !r->ok;
    free(r);
    return named;
}

static const char *const triggers[] = {
    "txn_no_update",   "txn_no_delete",           "entry_no_update",
    "entry_no_delete", "price_version_no_update", "segment_closed",
    "segment_pinned",  "trial_grant_no_update",   "trial_grant_no_delete"};

static void the_audit_names_the_invariant_that_each_kind_of_damage_breaks(void **state)
{
    (void)state;
    for (size_t i = 0; i < SL_COUNT(damages); i++) {
        struct world *w = world_open(9, true);
        char account[ID_TEXT], done[ID_TEXT], runs[ID_TEXT], sql[96];
        world_account(w, account);
        DO(w, .kind = OP_PRICE, .model = "A", .micro = PRICE);
        DO(w, .kind = OP_TRIAL, .account = account, .text = "person");
        DO(w, .kind = OP_TOPUP, .account = account, .micro = 100 * SL_MICRO);
        world_lease(w, account, "A", 2, done);
        world_lease(w, account, "A", 1, runs);
        DO(w, .kind = OP_RUN, .lease = done);
        DO(w, .kind = OP_RUN, .lease = runs);
        w->now_us += 7 * HOUR;
        DO(w, .kind = OP_TICK, .lease = runs);
        DO(w, .kind = OP_STOP, .lease = done);
        assert_audit(w);
        for (size_t k = 0; k < SL_COUNT(triggers); k++) {
            snprintf(sql, sizeof sql, "DROP TRIGGER %s", triggers[k]);
            DO(w, .kind = OP_SQL, .text = sql);
        }
        DO(w, .kind = OP_SQL, .text = damages[i].sql);
        if (!audit_names(w, damages[i].invariant))
            fail_msg("not noticed as %s: %s", damages[i].invariant, damages[i].sql);
        world_close(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_trial_credit_raced_by_50_threads_is_granted_once),
        cmocka_unit_test(
            lago_3618_2243_a_payment_settled_by_64_threads_a_hundred_times_counts_once),
        cmocka_unit_test(
            lago_2664_a_wallet_raced_by_64_threads_is_never_negative_and_nobody_fails_for_nothing),
        cmocka_unit_test(
            lago_4985_the_schema_itself_refuses_a_negative_balance_and_rewritten_history),
        cmocka_unit_test(credit_is_spent_first_and_cash_comes_back_first),
        cmocka_unit_test(one_person_gets_one_trial_and_so_does_one_account),
        cmocka_unit_test(only_allowed_movements_between_accounts_pass_the_routing_table),
        cmocka_unit_test(the_ledger_refuses_to_overdraw_and_leaves_nothing_behind),
        cmocka_unit_test(flexprice_612_ten_replays_in_random_order_give_the_same_ledger_hash),
        cmocka_unit_test(a_storm_of_random_operations_keeps_every_invariant),
        cmocka_unit_test(the_audit_names_the_invariant_that_each_kind_of_damage_breaks),
    };
    return cmocka_run_group_tests_name("wallet and ledger", tests, NULL, NULL);
}
