/* SPDX-License-Identifier: Apache-2.0
 *
 * Vouchers, payments told by a provider, refunds of cash: races, replays, order, forged signatures.
 */
#include "money_world.h"
#include "server/payment.h"
#include "server/payout.h"
#include "server/voucher.h"

enum what { BATCH, REDEEM, TOLD, SETTLE, PAYOUT, END };
struct call {
    struct world *w;
    enum what what;
    const char *account, *id, *code;
    struct voucher_want batch;
    struct payment_event event;
    int64_t micro;
    enum payout_state to;
    char out[ID_TEXT];
    struct sl_buf codes;
};

static int call_run(struct db_c *c, void *arg, struct sl_err *err)
{
    struct call *k = arg;
    struct server *s = &k->w->s;
    char txn[ID_TEXT];
    switch (k->what) {
    case BATCH:
        sl_buf_clear(&k->codes);
        return voucher_batch_make(c, s, &k->batch, "op", k->out, &k->codes, err);
    case REDEEM:
        return voucher_redeem(c, s, k->account, k->code, &k->micro, txn, err);
    case TOLD:
        return payment_told(c, s, "bank", &k->event, k->out, err);
    case SETTLE:
        return payment_settle(c, s, k->id, k->account, "looked it up", "op", err);
    case PAYOUT:
        return payout_request(c, s, k->account, k->micro, "", k->out, err);
    case END:
        return payout_end(c, s, k->account, k->id, k->to, "note", "op", err);
    }
    return -1;
}
static enum sl_code try(struct world *w, struct call *k)
{
    struct sl_err err = {0};
    k->w = w;
    return db_write(w->s.db, call_run, k, &err) == 0 ? SL_OK : err.code;
}
#define TRY(w, ...) try((w), &(struct call){__VA_ARGS__})

/* One batch; its first code in `code`. */
static void batch(struct world *w, struct voucher_want want, char code[VOUCHER_CODE_TEXT],
                  struct sl_buf *all)
{
    struct call k = {.what = BATCH, .batch = want, .codes = SL_BUF(32768)};
    assert_int_equal(try(w, &k), SL_OK);
    snprintf(code, VOUCHER_CODE_TEXT, "%.19s", sl_buf_str(&k.codes));
    if (all)
        *all = k.codes;
    else
        sl_buf_free(&k.codes);
}

struct racer {
    struct world *w;
    struct call call;
    int won, lost, rounds;
    pthread_barrier_t *start;
};
static void *race(void *arg)
{
    struct racer *r = arg;
    pthread_barrier_wait(r->start);
    for (int i = 0; i < r->rounds; i++) {
        struct call k = r->call;
        if (try(r->w, &k) == SL_OK)
            r->won++;
        else
            r->lost++;
    }
    return NULL;
}
static int race_all(struct racer *racers, int n)
{
    pthread_t threads[64];
    pthread_barrier_t start;
    int won = 0;
    pthread_barrier_init(&start, NULL, (unsigned)n);
    for (int i = 0; i < n; i++) {
        racers[i].start = &start;
        assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
        won += racers[i].won;
    }
    pthread_barrier_destroy(&start);
    return won;
}

static void a_code_raced_from_50_connections_is_granted_once(void **state)
{
    struct world *w = world_open(31, false);
    char account[50][ID_TEXT], code[VOUCHER_CODE_TEXT];
    struct racer racers[50];
    (void)state;
    for (int shared = 0; shared < 2; shared++) { /* one account; then fifty for one code */
        batch(w, (struct voucher_want){.name = "x", .value_micro = 7000000}, code, NULL);
        for (int i = 0; i < 50; i++) {
            if (i == 0 || shared)
                world_account(w, account[i]);
            racers[i] = (struct racer){
                .w = w,
                .rounds = 3,
                .call = {.what = REDEEM, .code = code, .account = account[shared ? i : 0]}};
        }
        assert_int_equal(race_all(racers, 50), 1);
    }
    assert_int_equal(world_value(w, "SELECT SUM(balance_micro) FROM ledger_account WHERE kind = "
                                    "'credit'"),
                     14000000);
    assert_audit(w);
    world_close(w);
}

static void a_voucher_is_credit_within_its_limits_and_never_cash(void **state)
{
    struct world *w = world_open(32, true);
    char ann[ID_TEXT], bob[ID_TEXT], eve[ID_TEXT], code[VOUCHER_CODE_TEXT], low[32];
    struct sl_buf all;
    (void)state;
    world_account(w, ann);
    world_account(w, bob);
    struct op other = {.kind = OP_ACCOUNT, .currency = "USD"};
    op_must(w, &other);
    snprintf(eve, sizeof eve, "%s", other.id);
    batch(w,
          (struct voucher_want){"spring", .value_micro = 5000000, .codes = 3, .uses = 2,
                                .per_account = 2, .days = 10},
          code, &all);
    assert_int_equal(TRY(w, .what = REDEEM, .account = eve, .code = code), SL_CONFLICT);
    snprintf(low, sizeof low, " %c%s", code[0] >= 'A' ? code[0] + 32 : code[0], code + 1);
    assert_int_equal(TRY(w, .what = REDEEM, .account = ann, .code = low), SL_OK);
    assert_int_equal(TRY(w, .what = REDEEM, .account = ann, .code = code), SL_CONFLICT);
    assert_int_equal(TRY(w, .what = REDEEM, .account = ann, .code = sl_buf_str(&all) + 20),
                     SL_NOT_FOUND);
    char second[VOUCHER_CODE_TEXT], third[VOUCHER_CODE_TEXT];
    snprintf(second, sizeof second, "%.19s", sl_buf_str(&all) + 20);
    snprintf(third, sizeof third, "%.19s", sl_buf_str(&all) + 40);
    assert_int_equal(TRY(w, .what = REDEEM, .account = ann, .code = second), SL_OK);
    assert_int_equal(TRY(w, .what = REDEEM, .account = ann, .code = third), SL_CONFLICT);
    assert_int_equal(TRY(w, .what = REDEEM, .account = bob, .code = code), SL_OK);
    assert_int_equal(TRY(w, .what = REDEEM, .account = bob, .code = ""), SL_NOT_FOUND);
    assert_int_equal(world_wallet(w, ann).credit, 10000000);
    assert_int_equal(world_wallet(w, ann).cash, 0);
    assert_int_equal(TRY(w, .what = PAYOUT, .account = ann, .micro = 1), SL_NO_CREDIT);
    w->now_us += 10 * 24 * HOUR;
    assert_int_equal(TRY(w, .what = REDEEM, .account = bob, .code = third), SL_CONFLICT);
    /* what is stored is no code */
    assert_int_equal(world_value(w, "SELECT COUNT(*) FROM voucher WHERE LENGTH(code_hash) <> 64"),
                     0);
    sl_buf_free(&all);
    assert_audit(w);
    world_close(w);
}

#define EVENT(i, t, r, a, m)                                                                       \
    {                                                                                              \
        (i), "payment." t, (r), (a), "CNY", (m)                                                    \
    }

static void events_in_any_order_and_any_number_book_a_payment_once(void **state)
{
    struct world *w = world_open(33, true);
    char ann[ID_TEXT];
    (void)state;
    world_account(w, ann);
    for (int payment = 0; payment < 30; payment++) {
        char ref[16], ids[4][24];
        snprintf(ref, sizeof ref, "P%d", payment);
        for (int i = 0; i < 4; i++)
            snprintf(ids[i], sizeof ids[i], "e%d.%d", payment, i);
        const struct payment_event events[] = {EVENT(ids[0], "pending", ref, ann, 1000001),
                                               EVENT(ids[1], "succeeded", ref, ann, 1000001),
                                               EVENT(ids[2], "succeeded", ref, ann, 1000001),
                                               EVENT(ids[3], "failed", ref, ann, 1000001)};
        bool seen = false;
        for (int i = 0; i < 20; i++) {
            int64_t pick = world_range(w, 0, 3);
            seen = seen || pick == 1 || pick == 2;
            assert_int_equal(TRY(w, .what = TOLD, .event = events[pick]), SL_OK);
        }
        if (!seen)
            assert_int_equal(TRY(w, .what = TOLD, .event = events[1]), SL_OK);
        assert_int_equal(world_wallet(w, ann).cash, (payment + 1) * 1000001);
    }
    assert_audit(w);
    world_close(w);
}

static void a_payment_told_by_64_threads_counts_once(void **state)
{
    struct world *w = world_open(34, false);
    char ann[ID_TEXT];
    struct racer racers[64];
    (void)state;
    world_account(w, ann);
    for (int i = 0; i < 64; i++)
        racers[i] = (struct racer){
            .w = w,
            .rounds = 5,
            .call = {.what = TOLD,
                     .event = EVENT(i % 2 ? "e1" : "e2", "succeeded", "P", ann, 5000000)}};
    assert_int_equal(race_all(racers, 64), 64 * 5);
    assert_int_equal(world_wallet(w, ann).cash, 5000000);
    assert_audit(w);
    world_close(w);
}

static void money_that_is_not_clear_waits_and_is_never_lost(void **state)
{
    struct world *w = world_open(35, true);
    char ann[ID_TEXT], bob[ID_TEXT];
    (void)state;
    world_account(w, ann);
    world_account(w, bob);
    struct call unknown = {.what = TOLD, .event = EVENT("1", "succeeded", "P1", "nobody@x.org", 9)};
    struct call dollars = {.what = TOLD, .event = {"2", "payment.succeeded", "P2", ann, "USD", 9}};
    struct call more = {.what = TOLD, .event = EVENT("4", "succeeded", "P3", ann, 10)};
    struct call again = {.what = TOLD, .event = EVENT("5", "succeeded", "P1", "nobody@x.org", 9)};
    assert_int_equal(try(w, &unknown), SL_OK);
    assert_int_equal(try(w, &again), SL_OK); /* the same money: waits once */
    assert_int_equal(try(w, &dollars), SL_OK);
    assert_int_equal(TRY(w, .what = TOLD, .event = EVENT("3", "succeeded", "P3", ann, 9)), SL_OK);
    assert_int_equal(try(w, &more), SL_OK);
    assert_int_equal(TRY(w, .what = TOLD, .event = EVENT("3", "succeeded", "P3", ann, 10)),
                     SL_CONFLICT);
    assert_int_equal(world_value(w, "SELECT COUNT(*) FROM payment WHERE state = 'suspense'"), 3);
    assert_int_equal(world_wallet(w, ann).cash, 9);
    assert_int_equal(TRY(w, .what = SETTLE, .id = unknown.out, .account = "acc_x"), SL_NOT_FOUND);
    assert_int_equal(TRY(w, .what = SETTLE, .id = unknown.out, .account = bob), SL_OK);
    assert_int_equal(TRY(w, .what = SETTLE, .id = unknown.out, .account = bob), SL_CONFLICT);
    assert_int_equal(TRY(w, .what = SETTLE, .id = dollars.out, .account = ann), SL_CONFLICT);
    assert_int_equal(TRY(w, .what = SETTLE, .id = dollars.out), SL_OK);
    assert_int_equal(TRY(w, .what = SETTLE, .id = more.out, .account = ann), SL_OK);
    assert_int_equal(TRY(w, .what = SETTLE, .id = again.out, .account = bob), SL_CONFLICT);
    assert_int_equal(world_wallet(w, bob).cash, 9);
    assert_int_equal(world_wallet(w, ann).cash, 19);
    assert_audit(w);
    world_close(w);
}

static enum sl_code check(const char *keys, const char *provider, const char *header,
                          const char *body, int64_t now_s)
{
    struct sl_err err = {0};
    return payment_signature_check(keys, provider, header, body, strlen(body), now_s * SL_SEC, 300,
                                   &err) == 0
               ? SL_OK
               : err.code;
}

static void only_a_fresh_signature_with_a_key_of_the_provider_is_good(void **state)
{
    static const char keys[] = "bank new-key\nbank old-key \nother third\nempty \n";
    char header[200], hex[SHA256_HEX], two[300];
    uint8_t mac[SHA256_BYTES];
    (void)state;
    crypto_init();
    hmac_sha256("new-key", 7, "1000.{\"a\":1}", 12, mac);
    hex_encode(mac, sizeof mac, hex);
    snprintf(header, sizeof header, "t=1000,v1=%s", hex);
    assert_int_equal(check(keys, "bank", header, "{\"a\":1}", 1000), SL_OK);
    assert_int_equal(check(keys, "bank", header, "{\"a\":1}", 1300), SL_OK);
    assert_int_equal(check(keys, "bank", header, "{\"a\":1}", 700), SL_OK);
    assert_int_equal(check(keys, "bank", header, "{\"a\":1}", 1301), SL_UNAUTHENTICATED);
    assert_int_equal(check(keys, "bank", header, "{\"a\":1}", 699), SL_UNAUTHENTICATED);
    assert_int_equal(check(keys, "bank", header, "{\"a\":2}", 1000), SL_UNAUTHENTICATED);
    assert_int_equal(check(keys, "bank", header, "{\"a\":1} ", 1000), SL_UNAUTHENTICATED);
    assert_int_equal(check(keys, "other", header, "{\"a\":1}", 1000), SL_UNAUTHENTICATED);
    assert_int_equal(check(keys, "nobody", header, "{\"a\":1}", 1000), SL_NOT_FOUND);
    assert_int_equal(check(keys, "empty", header, "{\"a\":1}", 1000), SL_NOT_FOUND);
    assert_int_equal(check(keys, "ban", header, "{\"a\":1}", 1000), SL_NOT_FOUND);
    assert_int_equal(check("", "bank", header, "{\"a\":1}", 1000), SL_NOT_FOUND);
    /* rotation: the old key is good as long as it stands there, and so is one of two signatures */
    snprintf(two, sizeof two, "t=1000,v1=%064d,v1=%s", 0, hex);
    assert_int_equal(check(keys, "bank", two, "{\"a\":1}", 1000), SL_OK);
    hmac_sha256("old-key", 7, "1000.{\"a\":1}", 12, mac);
    hex_encode(mac, sizeof mac, hex);
    snprintf(header, sizeof header, "t=1000,v1=%s", hex);
    assert_int_equal(check(keys, "bank", header, "{\"a\":1}", 1000), SL_OK);
    assert_int_equal(check("bank new-key\n", "bank", header, "{\"a\":1}", 1000),
                     SL_UNAUTHENTICATED);
    static const char *const bad[] = {NULL,
                                      "",
                                      "t=",
                                      "t=1000",
                                      "t=1000,v1=",
                                      "t=1000,v1=00",
                                      "v1=00",
                                      "t=-1,v1=00",
                                      "t=99999999999999999999,v1=00",
                                      "t=1000,v1=zz",
                                      "t=1e3,v1=00",
                                      ",,,,",
                                      "t=1000,v1=v1=v1=v1=,v1="};
    for (size_t i = 0; i < SL_COUNT(bad); i++)
        assert_int_equal(check(keys, "bank", bad[i], "{\"a\":1}", 1000), SL_UNAUTHENTICATED);
}

static void refunds_raced_with_spending_never_go_below_zero(void **state)
{
    struct world *w = world_open(36, false);
    char ann[ID_TEXT], lease[ID_TEXT];
    struct racer racers[40];
    (void)state;
    world_account(w, ann);
    DO(w, .kind = OP_PRICE, .model = "A", .micro = 2200000);
    DO(w, .kind = OP_TRIAL, .account = ann, .text = "p");
    DO(w, .kind = OP_TOPUP, .account = ann, .micro = 10 * SL_MICRO);
    world_lease(w, ann, "A", 1, lease);
    for (int i = 0; i < 40; i++)
        racers[i] = (struct racer){
            .w = w, .rounds = 4, .call = {.what = PAYOUT, .account = ann, .micro = 300000}};
    assert_int_equal(race_all(racers, 40), 33); /* 10.00 / 0.30 */
    assert_int_equal(world_wallet(w, ann).cash, 100000);
    assert_int_equal(world_wallet(w, ann).credit + world_wallet(w, ann).held_credit, 10 * SL_MICRO);
    assert_audit(w);
    world_close(w);
}

static void a_refund_ends_once_and_only_a_paid_one_leaves_the_house(void **state)
{
    struct world *w = world_open(37, true);
    char ann[ID_TEXT];
    (void)state;
    world_account(w, ann);
    DO(w, .kind = OP_TOPUP, .account = ann, .micro = 10 * SL_MICRO);
    struct call k[3];
    for (int i = 0; i < 3; i++) {
        k[i] = (struct call){.what = PAYOUT, .account = ann, .micro = 3 * SL_MICRO};
        assert_int_equal(try(w, &k[i]), SL_OK);
    }
    assert_int_equal(world_wallet(w, ann).cash, SL_MICRO);
    assert_audit(w);
    assert_int_equal(
        TRY(w, .what = END, .id = k[0].out, .account = "acc_x", .to = PAYOUT_CANCELLED),
        SL_NOT_FOUND);
    assert_int_equal(TRY(w, .what = END, .id = k[0].out, .account = ann, .to = PAYOUT_CANCELLED),
                     SL_OK);
    assert_int_equal(TRY(w, .what = END, .id = k[1].out, .to = PAYOUT_PAID), SL_OK);
    assert_int_equal(TRY(w, .what = END, .id = k[2].out, .to = PAYOUT_REJECTED), SL_OK);
    for (int i = 0; i < 3; i++)
        for (int to = PAYOUT_PAID; to <= PAYOUT_CANCELLED; to++)
            assert_int_equal(TRY(w, .what = END, .id = k[i].out, .to = (enum payout_state)to),
                             SL_CONFLICT);
    assert_int_equal(world_wallet(w, ann).cash, 7 * SL_MICRO);
    assert_int_equal(world_value(w, "SELECT balance_micro FROM ledger_account WHERE kind = 'bank'"),
                     -7 * SL_MICRO);
    assert_int_equal(
        world_value(w, "SELECT balance_micro FROM ledger_account WHERE kind = 'payable'"), 0);
    assert_audit(w);
    world_close(w);
}

static void the_audit_notices_each_kind_of_damage_to_these_books(void **state)
{
    static const struct {
        const char *invariant, *sql;
    } damages[] = {{"I13", "DELETE FROM voucher_use"},
                   {"I13", "UPDATE voucher_use SET amount_micro = amount_micro + 1"},
                   {"I13", "UPDATE voucher SET uses_left = uses_left + 1"},
                   {"I13", "UPDATE voucher_batch SET value_micro = value_micro + 1"},
                   {"I9", "UPDATE payment SET amount_micro = amount_micro + 1"},
                   {"I9", "UPDATE payment SET state = 'noted'"},
                   {"I9", "UPDATE payment SET account_id = 'acc_x'"},
                   {"I10", "UPDATE payout SET amount_micro = amount_micro + 1"},
                   {"I10", "UPDATE payout SET state = 'paid'"},
                   {"I10", "DELETE FROM payout"}};
    static const char *const triggers[] = {"voucher_use_no_update", "voucher_use_no_delete",
                                           "payment_told"};
    (void)state;
    for (size_t i = 0; i < SL_COUNT(damages); i++) {
        struct world *w = world_open(38, true);
        char ann[ID_TEXT], code[VOUCHER_CODE_TEXT], sql[64];
        world_account(w, ann);
        batch(w, (struct voucher_want){"x", .value_micro = 5, .uses = 3}, code, NULL);
        assert_int_equal(TRY(w, .what = REDEEM, .account = ann, .code = code), SL_OK);
        assert_int_equal(TRY(w, .what = TOLD, .event = EVENT("1", "succeeded", "P", ann, 9)),
                         SL_OK);
        assert_int_equal(TRY(w, .what = PAYOUT, .account = ann, .micro = 4), SL_OK);
        assert_audit(w);
        for (size_t k = 0; k < SL_COUNT(triggers); k++) {
            snprintf(sql, sizeof sql, "DROP TRIGGER %s", triggers[k]);
            DO(w, .kind = OP_SQL, .text = sql);
        }
        DO(w, .kind = OP_SQL, .text = damages[i].sql);
        struct audit_report *r = sl_alloc(sizeof *r);
        struct op o = {.kind = OP_AUDIT, .report = r};
        bool named = false;
        op_must(w, &o);
        for (int k = 0; k < r->n; k++)
            named = named || (!r->checks[k].ok && sl_streq(r->checks[k].id, damages[i].invariant));
        if (!named)
            fail_msg("not noticed as %s: %s", damages[i].invariant, damages[i].sql);
        free(r);
        world_close(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_code_raced_from_50_connections_is_granted_once),
        cmocka_unit_test(a_voucher_is_credit_within_its_limits_and_never_cash),
        cmocka_unit_test(events_in_any_order_and_any_number_book_a_payment_once),
        cmocka_unit_test(a_payment_told_by_64_threads_counts_once),
        cmocka_unit_test(money_that_is_not_clear_waits_and_is_never_lost),
        cmocka_unit_test(only_a_fresh_signature_with_a_key_of_the_provider_is_good),
        cmocka_unit_test(refunds_raced_with_spending_never_go_below_zero),
        cmocka_unit_test(a_refund_ends_once_and_only_a_paid_one_leaves_the_house),
        cmocka_unit_test(the_audit_notices_each_kind_of_damage_to_these_books),
    };
    return cmocka_run_group_tests_name("vouchers, payments, refunds", tests, NULL, NULL);
}
