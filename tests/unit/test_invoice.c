/* SPDX-License-Identifier: Apache-2.0
 *
 * Invoices: exact figures, exact sums, never the same spend twice, never a changed one.
 */
#include "money_world.h"
#include "server/invoice.h"

#define PRICE 2200000

enum what { REQUEST, ISSUE, REVERSE, CONFIRM };
struct call {
    struct world *w;
    enum what what;
    const char *account, *id;
    struct invoice_want want;
    char out[ID_TEXT];
};

static int call_run(struct db_c *c, void *arg, struct sl_err *err)
{
    struct call *k = arg;
    struct server *s = &k->w->s;
    switch (k->what) {
    case REQUEST:
        return invoice_request(c, s, k->account, &k->want, k->out, err);
    case ISSUE:
        return invoice_issue(c, s, k->id, "op", err);
    case REVERSE:
        return invoice_reverse(c, s, k->account, k->id, "wrong title", "ann", err);
    case CONFIRM:
        return invoice_confirm(c, s, k->id, "op", k->out, err);
    }
    return -1;
}

static enum sl_code try(struct world *w, struct call *k)
{
    struct sl_err err = {0};
    k->w = w;
    if (k->what == REQUEST && !k->want.buyer_name)
        k->want.buyer_name = "Buyer";
    return db_write(w->s.db, call_run, k, &err) == 0 ? SL_OK : err.code;
}
#define TRY(w, ...) try((w), &(struct call){__VA_ARGS__})

static struct world *shop(char account[ID_TEXT], char lease[ID_TEXT])
{
    struct world *w = world_open(21, true);
    w->s.conf.invoice_seller = "Seller";
    w->s.conf.invoice_tax_bp = 600;
    world_account(w, account);
    DO(w, .kind = OP_PRICE, .model = "A", .micro = PRICE);
    DO(w, .kind = OP_TOPUP, .account = account, .micro = 1000 * SL_MICRO);
    world_lease(w, account, "A", 2, lease);
    DO(w, .kind = OP_RUN, .lease = lease);
    return w;
}

static void amounts_in_chinese_capitals_are_those_of_the_payment_rules(void **state)
{
    static const struct {
        int64_t cents;
        const char *words;
    } cases[] = {{0, "零元整"},
                 {1, "壹分"},
                 {5, "伍分"},
                 {10, "壹角整"},
                 {50, "伍角整"},
                 {100, "壹元整"},
                 {105, "壹元零伍分"},
                 {1000, "壹拾元整"},
                 {140950, "壹仟肆佰零玖元伍角整"},
                 {600714, "陆仟零柒元壹角肆分"},
                 {10700053, "壹拾万柒仟元零伍角叁分"},
                 {1640902, "壹万陆仟肆佰零玖元零贰分"},
                 {32504, "叁佰贰拾伍元零肆分"},
                 {123456789, "壹佰贰拾叁万肆仟伍佰陆拾柒元捌角玖分"},
                 {10000000000, "壹亿元整"},
                 {10005000000, "壹亿零伍万元整"},
                 {10000000100, "壹亿零壹元整"},
                 {10000123400, "壹亿零壹仟贰佰叁拾肆元整"},
                 {1000001, "壹万元零壹分"},
                 {99999999999999, "玖仟玖佰玖拾玖亿玖仟玖佰玖拾玖万玖仟玖佰玖拾玖元玖角玖分"},
                 {-123456, "负壹仟贰佰叁拾肆元伍角陆分"}};
    char out[INVOICE_WORDS];
    (void)state;
    for (size_t i = 0; i < SL_COUNT(cases); i++)
        assert_string_equal(money_words_zh(cases[i].cents * 10000, out), cases[i].words);
}

static void a_taxpayer_number_is_held_against_its_check_character(void **state)
{
    static const char signs[] = "0123456789ABCDEFGHJKLMNPQRTUWXY";
    char id[20] = "91350100M000100Y43";
    int good = 0;
    (void)state;
    assert_true(taxpayer_id_ok(id)); /* the example of GB 32100-2015 */
    for (int i = 0; i < 18; i++)     /* every other character in every place is wrong */
        for (const char *p = signs; *p; p++) {
            char was = id[i];
            id[i] = *p;
            good += taxpayer_id_ok(id);
            id[i] = was;
        }
    assert_int_equal(good, 18);
    assert_false(taxpayer_id_ok("91350100m000100y43"));
    assert_false(taxpayer_id_ok("91350100M000100Y4"));
    assert_false(taxpayer_id_ok("91350100M000100Y430"));
    assert_false(taxpayer_id_ok("9135010OM000100Y43"));
    assert_false(taxpayer_id_ok(""));
}

static void lines_sum_to_net_tax_and_total_to_the_cent_whatever_they_are(void **state)
{
    struct world *w = world_open(4, true);
    (void)state;
    for (int round = 0; round < 20000; round++) {
        struct invoice_part p[40], sum;
        int n = (int)world_range(w, 1, 40);
        int64_t bp = world_range(w, 0, 5000), exact = 0, net = 0, tax = 0, total = 0;
        for (int i = 0; i < n; i++) {
            p[i].exact_micro = world_range(w, 0, round % 3 ? 30000 : 1000000000000);
            if (round % 5 == 0 && exact > p[i].exact_micro)
                p[i].exact_micro = -p[i].exact_micro;
            exact += p[i].exact_micro;
        }
        invoice_split(p, n, bp, &sum);
        for (int i = 0; i < n; i++) {
            net += p[i].net_micro, tax += p[i].tax_micro, total += p[i].total_micro;
            assert_int_equal(p[i].net_micro + p[i].tax_micro, p[i].total_micro);
            assert_int_equal(p[i].total_micro % 10000, 0);
            assert_int_equal(p[i].net_micro % 10000, 0);
            int64_t off = p[i].total_micro - p[i].exact_micro;
            assert_true(off > -10000 && off < 10000);
            if (p[i].exact_micro >= 0)
                assert_true(p[i].tax_micro >= 0 && p[i].net_micro >= 0);
        }
        assert_int_equal(total, exact - exact % 10000);
        assert_int_equal(total, sum.total_micro);
        assert_int_equal(net, sum.net_micro);
        assert_int_equal(tax, sum.tax_micro);
        /* the tax is that of the whole, rounded once */
        assert_int_equal(sum.net_micro / 10000, money_muldiv(total / 10000, 10000, 10000 + bp));
    }
    world_close(w);
}

static void an_hour_of_two_cards_is_invoiced_to_the_cent(void **state)
{
    char account[ID_TEXT], lease[ID_TEXT], text[64];
    struct world *w = shop(account, lease);
    (void)state;
    w->now_us += HOUR;
    DO(w, .kind = OP_STOP, .lease = lease); /* 2 x 2.20 = 4.40 */
    w->now_us += MINUTE;
    struct call k = {.what = REQUEST, .account = account};
    assert_int_equal(try(w, &k), SL_OK);
    assert_int_equal(world_value(w, "SELECT total_micro FROM invoice"), 4400000);
    assert_int_equal(world_value(w, "SELECT net_micro FROM invoice"), 4150000); /* 4.40 / 1.06 */
    assert_int_equal(world_value(w, "SELECT tax_micro FROM invoice"), 250000);
    assert_int_equal(world_value(w, "SELECT quantity_micro FROM invoice_line"), 2000000);
    assert_int_equal(TRY(w, .what = ISSUE, .id = k.out), SL_OK);
    world_text(w, "SELECT number FROM invoice", text, sizeof text);
    assert_string_equal(text, "2026-00000001");
    assert_audit(w);
    world_close(w);
}

static void what_credit_paid_is_not_invoiced(void **state)
{
    struct world *w = world_open(22, true);
    char account[ID_TEXT], lease[ID_TEXT];
    (void)state;
    world_account(w, account);
    DO(w, .kind = OP_PRICE, .model = "A", .micro = PRICE);
    DO(w, .kind = OP_TRIAL, .account = account, .text = "person"); /* 10.00 */
    DO(w, .kind = OP_TOPUP, .account = account, .micro = 100 * SL_MICRO);
    world_lease(w, account, "A", 1, lease);
    DO(w, .kind = OP_RUN, .lease = lease);
    w->now_us += 4 * HOUR; /* 8.80 */
    DO(w, .kind = OP_TICK, .lease = lease);
    w->now_us += MINUTE;
    assert_int_equal(TRY(w, .what = REQUEST, .account = account), SL_CONFLICT);
    w->now_us += 2 * HOUR - MINUTE; /* 13.20: 3.20 of it in cash */
    DO(w, .kind = OP_STOP, .lease = lease);
    w->now_us += MINUTE;
    assert_int_equal(TRY(w, .what = REQUEST, .account = account), SL_OK);
    assert_int_equal(world_value(w, "SELECT total_micro FROM invoice"), 3200000);
    assert_audit(w);
    world_close(w);
}

static void the_same_spend_is_never_invoiced_twice_and_a_reversal_frees_it(void **state)
{
    char account[ID_TEXT], lease[ID_TEXT];
    struct world *w = shop(account, lease);
    struct call first = {.what = REQUEST, .account = account}, red = {.what = CONFIRM};
    (void)state;
    for (int i = 0; i < 6; i++) {
        w->now_us += HOUR;
        DO(w, .kind = OP_TICK, .lease = lease);
    }
    DO(w, .kind = OP_STOP, .lease = lease);
    w->now_us += MINUTE;
    first.want = (struct invoice_want){"Buyer", .to_us = T0 + 4 * HOUR};
    assert_int_equal(try(w, &first), SL_OK);
    assert_int_equal(
        TRY(w, .what = REQUEST, .account = account, .want = {"B", .from_us = T0 + 2 * HOUR}),
        SL_CONFLICT);
    assert_int_equal(TRY(w, .what = REQUEST, .account = account, .want = {"B", .from_us = 1}),
                     SL_CONFLICT);
    struct call rest = {.what = REQUEST, .account = account}; /* goes on where the first ends */
    assert_int_equal(try(w, &rest), SL_OK);
    assert_int_equal(world_value(w, "SELECT SUM(exact_micro) FROM invoice"), 6 * 2 * PRICE);
    assert_int_equal(TRY(w, .what = ISSUE, .id = first.out), SL_OK);
    assert_int_equal(TRY(w, .what = ISSUE, .id = first.out), SL_CONFLICT);
    assert_int_equal(TRY(w, .what = CONFIRM, .id = first.out), SL_CONFLICT);
    assert_int_equal(TRY(w, .what = REVERSE, .account = "acc_x", .id = first.out), SL_NOT_FOUND);
    assert_int_equal(TRY(w, .what = REVERSE, .account = account, .id = first.out), SL_OK);
    assert_int_equal(TRY(w, .what = REQUEST, .account = account,
                         .want = {"B", .from_us = 1, .to_us = T0 + 4 * HOUR}),
                     SL_CONFLICT); /* not before the red letter */
    red.id = first.out;
    assert_int_equal(try(w, &red), SL_OK);
    assert_int_equal(TRY(w, .what = CONFIRM, .id = first.out), SL_CONFLICT);
    assert_int_equal(TRY(w, .what = REVERSE, .account = account, .id = red.out), SL_CONFLICT);
    assert_int_equal(world_value(w, "SELECT SUM(total_micro) FROM invoice WHERE number IS NOT "
                                    "NULL"),
                     0);
    assert_int_equal(world_value(w, "SELECT MAX(no) FROM invoice"), 2);
    assert_audit(w);
    assert_int_equal(TRY(w, .what = REQUEST, .account = account,
                         .want = {"New title", .from_us = 1, .to_us = T0 + 4 * HOUR}),
                     SL_OK);
    assert_int_equal(TRY(w, .what = REVERSE, .account = account, .id = rest.out), SL_OK);
    assert_int_equal(TRY(w, .what = ISSUE, .id = rest.out), SL_CONFLICT); /* it was a draft */
    assert_audit(w);
    world_close(w);
}

static void an_issued_invoice_cannot_be_changed_by_hand(void **state)
{
    static const char *const sqls[] = {
        "UPDATE invoice SET total_micro = total_micro + 10000, tax_micro = tax_micro + 10000",
        "UPDATE invoice SET buyer = '{}'",
        "UPDATE invoice SET number = '2026-00000009'",
        "DELETE FROM invoice",
        "UPDATE invoice_line SET item = 'x'",
        "DELETE FROM invoice_line",
        ("INSERT INTO invoice_line SELECT invoice_id, 99, item, spec, unit, ref, price_version_id, "
         "0, 0, 0, 0, 0 FROM invoice_line")};
    char account[ID_TEXT], lease[ID_TEXT];
    struct world *w = shop(account, lease);
    struct sl_err err;
    (void)state;
    w->now_us += HOUR;
    DO(w, .kind = OP_STOP, .lease = lease);
    w->now_us += MINUTE;
    struct call k = {.what = REQUEST, .account = account};
    assert_int_equal(try(w, &k), SL_OK);
    assert_int_equal(TRY(w, .what = ISSUE, .id = k.out), SL_OK);
    for (size_t i = 0; i < SL_COUNT(sqls); i++) {
        struct op o = {.kind = OP_SQL, .text = sqls[i]};
        assert_int_equal(op_try(w, &o, &err), -1);
    }
    assert_audit(w);
    world_close(w);
}

static void the_audit_notices_each_kind_of_damage_to_invoices(void **state)
{
    static const struct {
        const char *invariant, *sql;
    } damages[] = {
        {"I15", "UPDATE invoice_line SET total_micro = total_micro + 10000, tax_micro = tax_micro "
                "+ 10000"},
        {"I15", "UPDATE invoice SET exact_micro = exact_micro + 1"},
        {"I15", "DELETE FROM invoice_line"},
        {"I13", "UPDATE invoice SET from_seq = 1, to_seq = 1000"},
        {"I16", "UPDATE invoice SET no = no + 1"},
        {"I15", "UPDATE invoice SET state = 'reversed'"},
        {"I14", "SELECT 1"}};
    static const char *const triggers[] = {"invoice_numbered", "invoice_no_delete",
                                           "invoice_line_no_update", "invoice_line_no_delete"};
    (void)state;
    for (size_t i = 0; i < SL_COUNT(damages); i++) {
        char account[ID_TEXT], lease[ID_TEXT], sql[96];
        struct world *w = shop(account, lease);
        struct call a = {.what = REQUEST, .account = account}, b = a;
        w->now_us += HOUR;
        DO(w, .kind = OP_TICK, .lease = lease);
        w->now_us += MINUTE;
        assert_int_equal(try(w, &a), SL_OK);
        w->now_us += HOUR;
        DO(w, .kind = OP_STOP, .lease = lease);
        w->now_us += MINUTE;
        assert_int_equal(try(w, &b), SL_OK);
        assert_int_equal(TRY(w, .what = ISSUE, .id = a.out), SL_OK);
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
        cmocka_unit_test(amounts_in_chinese_capitals_are_those_of_the_payment_rules),
        cmocka_unit_test(a_taxpayer_number_is_held_against_its_check_character),
        cmocka_unit_test(lines_sum_to_net_tax_and_total_to_the_cent_whatever_they_are),
        cmocka_unit_test(an_hour_of_two_cards_is_invoiced_to_the_cent),
        cmocka_unit_test(what_credit_paid_is_not_invoiced),
        cmocka_unit_test(the_same_spend_is_never_invoiced_twice_and_a_reversal_frees_it),
        cmocka_unit_test(an_issued_invoice_cannot_be_changed_by_hand),
        cmocka_unit_test(the_audit_notices_each_kind_of_damage_to_invoices),
    };
    return cmocka_run_group_tests_name("invoices", tests, NULL, NULL);
}
