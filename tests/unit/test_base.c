/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/buf.h"
#include "base/core/clock.h"
#include "base/core/cmd.h"
#include "base/core/err.h"
#include "base/core/id.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/core/money.h"
#include "base/core/sm.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void buffer_keeps_its_maximum(void **state)
{
    struct sl_buf b = SL_BUF(8);
    sl_buf_adds(&b, "12345678");
    assert_false(b.over);
    sl_buf_addc(&b, '9');
    assert_true(b.over);
    assert_string_equal(sl_buf_str(&b), "12345678");
    sl_buf_free(&b);
}

static void pieces_are_cut_at_separators(void **state)
{
    struct sl_str rest = SL_STR("a,,b"), p;
    assert_true(sl_str_cut(&rest, ',', &p) && sl_str_eq(p, SL_STR("a")));
    assert_true(sl_str_cut(&rest, ',', &p) && p.n == 0);
    assert_true(sl_str_cut(&rest, ',', &p) && sl_str_eq(p, SL_STR("b")));
    assert_false(sl_str_cut(&rest, ',', &p));
}

static void bad_utf8_is_refused(void **state)
{
    static const struct {
        const char *s;
        bool ok;
    } rows[] = {{"plain", true},
                {"\xe4\xb8\xad\xe6\x96\x87", true},
                {"\xc0\x80", false},
                {"\xed\xa0\x80", false},
                {"\xf4\x90\x80\x80", false},
                {"\xe4\xb8", false},
                {"a\nb", false},
                {"\xc2\x85", false},
                {"\xff", false},
                {"\xf0\x9f\x98\x80", true}};
    for (size_t i = 0; i < SL_COUNT(rows); i++)
        assert_int_equal(sl_utf8_ok(rows[i].s, strlen(rows[i].s), false), rows[i].ok);
}

static void amounts_are_read_exactly(void **state)
{
    static const struct {
        const char *text;
        int64_t micro;
        bool ok;
    } rows[] = {{"2.2", 2200000, true},
                {"0.000001", 1, true},
                {"-12.50", -12500000, true},
                {"999999", 999999000000, true},
                {"9223372036854.775807", INT64_MAX, true},
                {"9223372036854.775808", 0, false},
                {"1.0000001", 0, false},
                {"1e3", 0, false},
                {"NaN", 0, false},
                {"", 0, false},
                {".5", 0, false},
                {"1.", 0, false},
                {"+1", 0, false},
                {" 1", 0, false}};
    for (size_t i = 0; i < SL_COUNT(rows); i++) {
        struct sl_err err = {0};
        int64_t v = 0;
        int rc = money_parse(rows[i].text, "amount", &v, &err);
        assert_int_equal(rc, rows[i].ok ? 0 : -1);
        if (rows[i].ok)
            assert_int_equal(v, rows[i].micro);
        else
            assert_string_equal(err.field, "amount");
    }
}

static void amounts_print_with_two_decimals_or_more(void **state)
{
    char out[SL_MONEY_TEXT];
    assert_string_equal(money_format(2200000, out), "2.20");
    assert_string_equal(money_format(1, out), "0.000001");
    assert_string_equal(money_format(-1500000, out), "-1.50");
    assert_string_equal(money_format(0, out), "0.00");
    assert_string_equal(money_format_rounded(22917, 3, out), "0.023");
    assert_string_equal(money_format_rounded(43750, 3, out), "0.044");
    assert_string_equal(money_format_rounded(37500, 3, out), "0.038");
    assert_string_equal(money_format_rounded(-500, 3, out), "-0.001");
}

/* xorshift64*: https://vigna.di.unimi.it/ftp/papers/xorshift.pdf */
static uint64_t rng(uint64_t *s)
{
    *s ^= *s >> 12, *s ^= *s << 25, *s ^= *s >> 27;
    return *s * 2685821657736338717u;
}

static void a_million_random_splits_charge_the_same(void **state)
{
    uint64_t s = 42;
    int64_t splits = 0;
    while (splits < 1000000) {
        int64_t rate = (int64_t)(rng(&s) % 50000000000u), t = (int64_t)(rng(&s) % 40000000u);
        int64_t at = 0, sum = 0;
        for (int i = 0; i < 20 && at < t; i++, splits++) {
            int64_t next = at + 1 + (int64_t)(rng(&s) % (uint64_t)(t - at));
            sum += money_charge(rate, next) - money_charge(rate, at);
            at = next;
        }
        sum += money_charge(rate, t) - money_charge(rate, at);
        assert_int_equal(sum, money_charge(rate, t));
    }
}

static void funds_last_exactly_until_the_second_before_they_are_exceeded(void **state)
{
    uint64_t s = 7;
    for (int i = 0; i < 100000; i++) {
        int64_t rate = 1 + (int64_t)(rng(&s) % 100000000u),
                funds = (int64_t)(rng(&s) % 1000000000u);
        int64_t t = money_seconds_for(rate, funds);
        assert_true(money_charge(rate, t) <= funds);
        assert_true(money_charge(rate, t + 1) > funds);
    }
}

static void times_round_trip_and_reject_nonsense(void **state)
{
    char out[TS_TEXT];
    struct sl_err err = {0};
    int64_t t;
    for (int64_t day = -40000; day < 120000; day += 13) {
        int64_t want = day * 86400 * SL_SEC + 3723 * SL_SEC + (day % 7 ? 0 : 5);
        assert_int_equal(ts_parse(ts_format(want, out), "t", &t, &err), 0);
        assert_int_equal(t, want);
    }
    assert_int_equal(ts_parse("2026-12-01T08:00:00+08:00", "t", &t, &err), 0);
    assert_string_equal(ts_format(t, out), "2026-12-01T00:00:00Z");
    static const char *const bad[] = {
        "2026-02-29",          "2026-13-01", "2026-1-1", "2026-12-01T24:00:00Z",
        "2026-12-01T08:00:00", "now",        "",         "2100-02-29"};
    for (size_t i = 0; i < SL_COUNT(bad); i++)
        assert_int_equal(ts_parse(bad[i], "t", &t, &err), -1);
    assert_int_equal(ts_parse("2028-02-29", "t", &t, &err), 0);
}

static void durations_have_units(void **state)
{
    struct sl_err err = {0};
    int64_t s;
    assert_int_equal(duration_parse("24h", "d", &s, &err), 0);
    assert_int_equal(s, 86400);
    assert_int_equal(duration_parse("-1s", "d", &s, &err), -1);
    assert_int_equal(duration_parse("1w", "d", &s, &err), -1);
    assert_int_equal(duration_parse("99999999999999999999d", "d", &s, &err), -1);
}

static void ids_sort_by_time_and_are_checked(void **state)
{
    char a[ID_TEXT], b[ID_TEXT];
    uint8_t rnd[10] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    id_make("lea", 1000000, rnd, a);
    memset(rnd, 0, sizeof rnd);
    id_make("lea", 1001000, rnd, b);
    assert_true(strcmp(a, b) < 0);
    assert_true(id_ok(a, "lea") && id_ok(a, NULL) && !id_ok(a, "vol"));
    assert_false(id_ok("lea_../../etc/passwd", "lea"));
    a[5] = 'U';
    assert_false(id_ok(a, "lea"));
    assert_true(name_ok("train-1"));
    assert_false(name_ok("-x") || name_ok("") || name_ok("a b") || name_ok("<b>"));
}

static void the_error_table_is_complete(void **state)
{
    for (int i = 0; i < SL_CODE_MAX; i++) {
        const struct sl_code_info *c = sl_code_info((enum sl_code)i);
        assert_true(c->name && c->http && c->title_en && c->title_zh);
        assert_int_equal(sl_code_by_name(c->name), i);
    }
    struct sl_err err = {0};
    sl_fail_at(&err, SL_INVALID, "f", "a\nb");
    assert_string_equal(err.msg, "a?b");
}

static void lifecycles_refuse_moves_that_are_not_in_the_table(void **state)
{
    static const struct sm_state s[] = {{"off", SM_TO(1), false, 0, 0},
                                        {"on", SM_TO(0) | SM_TO(2), true, 60, 2},
                                        {"gone", 0, false, 0, 0}};
    const struct sm sm = {"lamp", s, 3};
    sm_check(&sm);
    assert_true(sm_allowed(&sm, 0, 1));
    assert_false(sm_allowed(&sm, 2, 0));
    assert_int_equal(sm_by_name(&sm, "gone"), 2);
    assert_int_equal(sm_by_name(&sm, "lost"), -1);
}

static void the_map_holds_what_was_put(void **state)
{
    struct sl_map m = {0};
    char key[16];
    for (long i = 0; i < 5000; i++) {
        int n = snprintf(key, sizeof key, "k%ld", i);
        *sl_map_put(&m, key, (size_t)n) = (void *)(i + 1);
    }
    for (long i = 0; i < 5000; i++) {
        int n = snprintf(key, sizeof key, "k%ld", i);
        assert_ptr_equal(sl_map_get(&m, key, (size_t)n), (void *)(i + 1));
    }
    assert_null(sl_map_get(&m, "x", 1));
    assert_int_equal(m.n, 5000);
    sl_map_free(&m);
}

struct opts {
    const char *gpu;
    int64_t n;
    bool force;
    struct cmd_list keys;
};
static struct opts seen;
static int seen_argc;
static char seen_arg[64];
static int verb_main(const void *globals, const void *opts, int argc, char **argv)
{
    seen = *(const struct opts *)opts;
    seen_argc = argc;
    snprintf(seen_arg, sizeof seen_arg, "%s", argc ? argv[argc - 1] : "");
    return 0;
}
static const struct cmd_opt opts[] = {
    {"gpu", 'g', CMD_TEXT, "M", "m", NULL, offsetof(struct opts, gpu)},
    {"n", 0, CMD_INT, "N", "n", NULL, offsetof(struct opts, n)},
    {"force", 'f', CMD_FLAG, NULL, "f", NULL, offsetof(struct opts, force)},
    {"key", 0, CMD_LIST, "K", "k", NULL, offsetof(struct opts, keys)},
    {0}};
static const struct cmd_verb verbs[] = {
    {"run", "IMAGE [COMMAND...]", "start", opts, sizeof(struct opts), verb_main, 1, -1, true, false,
     NULL},
    {"image list", "", "list", opts, sizeof(struct opts), verb_main, 0, 0, false, false, NULL},
    {0}};
static const struct cmd_opt globals[] = {{0}};
static const struct cmd_program prog = {"prog", "test", verbs, globals, 1, NULL};

static int call(const char *line)
{
    char copy[256], *argv[32], *save = NULL;
    int argc = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *p = strtok_r(copy, " ", &save); p; p = strtok_r(NULL, " ", &save))
        argv[argc++] = p;
    argv[argc] = NULL;
    return cmd_main(&prog, argc, argv);
}

static void the_command_line_is_parsed_from_its_table(void **state)
{
    assert_int_equal(call("prog run --gpu=MI300X:2 -f --n 3 --key a --key b img ls -l"), 0);
    assert_string_equal(seen.gpu, "MI300X:2");
    assert_int_equal(seen.n, 3);
    assert_true(seen.force);
    assert_int_equal(seen.keys.n, 2);
    assert_int_equal(seen_argc, 3);
    assert_string_equal(seen_arg, "-l");
    assert_int_equal(call("prog image list"), 0);
    assert_int_equal(call("prog image list extra"), 2);
    assert_int_equal(call("prog image"), 2);
    assert_int_equal(call("prog fly"), 2);
    assert_int_equal(call("prog run"), 2);
    assert_int_equal(call("prog run --n x img"), 2);
    assert_int_equal(call("prog run --what img"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffer_keeps_its_maximum),
        cmocka_unit_test(pieces_are_cut_at_separators),
        cmocka_unit_test(bad_utf8_is_refused),
        cmocka_unit_test(amounts_are_read_exactly),
        cmocka_unit_test(amounts_print_with_two_decimals_or_more),
        cmocka_unit_test(a_million_random_splits_charge_the_same),
        cmocka_unit_test(funds_last_exactly_until_the_second_before_they_are_exceeded),
        cmocka_unit_test(times_round_trip_and_reject_nonsense),
        cmocka_unit_test(durations_have_units),
        cmocka_unit_test(ids_sort_by_time_and_are_checked),
        cmocka_unit_test(the_error_table_is_complete),
        cmocka_unit_test(lifecycles_refuse_moves_that_are_not_in_the_table),
        cmocka_unit_test(the_map_holds_what_was_put),
        cmocka_unit_test(the_command_line_is_parsed_from_its_table),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
