/* SPDX-License-Identifier: Apache-2.0
 *
 * Price files and model files as an operator writes them, right and wrong; and comparing jobs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "wire/compare.h"

static void a_wrong_file_is_refused_with_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says[3];
    } table[] = {
        {"", {"header"}},
        {"# only a comment\n", {"header"}},
        {"model,price\nA,1\n", {"currency", "missing"}},
        {"model,price,currency,colour\n", {"line 1", "colour"}},
        {"model,price,currency,model\n", {"line 1", "model", "twice"}},
        {"model,price,currency\nA,1\n", {"line 2", "2 fields"}},
        {"model,price,currency\nA,1,CNY\n\n# c\nB,x,CNY\n", {"line 5", "price", "\"x\""}},
        {"model,price,currency\nA,0,CNY\n", {"line 2", "price"}},
        {"model,price,currency\nA,-1,CNY\n", {"line 2", "price"}},
        {"model,price,currency\nA,1.0000001,CNY\n", {"line 2", "price"}},
        {"model,price,currency\nA,1000001,CNY\n", {"line 2", "price"}},
        {"model,price,currency\nA,1,yuan\n", {"line 2", "currency", "yuan"}},
        {"model,price,currency\n,1,CNY\n", {"line 2", "model", "empty"}},
        {"model,price,currency,unit\nA,1,CNY,month\n", {"line 2", "unit", "month"}},
        {"model,price,currency,memory_gb\nA,1,CNY,0\n", {"line 2", "memory_gb"}},
        {"model,price,currency,memory_gb\nA,1,CNY,9223372036854775808\n", {"line 2", "memory_gb"}},
        {"model,price,currency,seen\nA,1,CNY,2026-13-01\n", {"line 2", "seen"}},
        {"model,price,currency\n\"A,1,CNY\n", {"line 2", "quote"}},
        {"model,price,currency\nA\"B,1,CNY\n", {"line 2", "quote"}},
        {"model,price,currency\nA\x01,1,CNY\n", {"line 2", "model"}},
        {"model,price,currency\nA\xff,1,CNY\n", {"line 2", "model"}},
    };
    for (size_t i = 0; i < SL_COUNT(table); i++) {
        SL_AUTO_ARENA struct sl_arena arena = {0};
        struct price_file f;
        struct sl_err err = {0};
        if (price_file_parse("p.csv", table[i].text, strlen(table[i].text), &arena, &f, &err) == 0)
            fail_msg("accepted: %s", table[i].text);
        assert_int_equal(err.code, SL_INVALID);
        for (int k = 0; k < 3 && table[i].says[k]; k++)
            if (!strstr(err.msg, table[i].says[k]) || !strstr(err.msg, "p.csv"))
                fail_msg("\"%s\" does not say %s", err.msg, table[i].says[k]);
    }
}

static void
quotes_blank_lines_and_carriage_returns_are_read_as_spreadsheets_write_them(void **state)
{
    (void)state;
    static const char text[] = "# told\r\nmodel,price,currency,note\r\n\r\n"
                               "\"A \"\"x\"\", y\",2.2,CNY,\"\"\r\nB,0.000001,USD,last";
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct price_file f;
    struct sl_err err = {0};
    if (price_file_parse("p.csv", text, strlen(text), &arena, &f, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(f.n, 2);
    assert_string_equal(f.rows[0].model, "A \"x\", y");
    assert_int_equal(f.rows[0].price_micro, 2200000);
    assert_string_equal(f.rows[0].note, "");
    assert_int_equal(f.rows[0].line, 4);
    assert_int_equal(f.rows[1].price_micro, 1);
    assert_string_equal(f.rows[1].note, "last");
    assert_string_equal(f.rows[1].unit, "gpu_hour");
}

static void the_cost_per_gb_is_rounded_half_up_once(void **state)
{
    (void)state;
    char text[SL_MONEY_TEXT];
    assert_string_equal(price_per_gb(1000000, 2000, text), "0.001"); /* 0.0005 */
    assert_string_equal(price_per_gb(999999, 2000, text),
                        "0.000"); /* 0.0004999995: once, not twice */
    assert_string_equal(price_per_gb(1000000, 3, text), "0.333");
    assert_string_equal(price_per_gb(1000000, 0, text), "");
}

static void memory_that_differs_is_flagged_and_a_drivers_share_is_not(void **state)
{
    (void)state;
    char flag[PRICE_FLAG];
    assert_string_equal(price_memory_flag(100, 200, 0, flag), "told 100 GB, the maker says 200 GB");
    assert_string_equal(price_memory_flag(200, 200, 197, flag), "");
    assert_string_equal(price_memory_flag(200, 200, 190, flag), "the node reports 190 GB");
    assert_string_equal(price_memory_flag(0, 200, 0, flag), "");
    assert_int_equal(memory_gb_of(137438953472), 128);
}

static void a_rate_needs_a_date_and_a_job_its_parts(void **state)
{
    (void)state;
    static const char *const rates[] = {"USD/CNY=7",
                                        "USD/CNY=7@",
                                        "USD/CNY=0@2026-11-30",
                                        "USD/USD=1@2026-11-30",
                                        "usd/CNY=7@2026-11-30",
                                        "USD/CNY=-7@2026-11-30",
                                        "7@2026-11-30",
                                        "USD/CNY=7@yesterday"};
    static const char *const jobs[] = {"",        "A:1h",   "8xA",    "8x:1h",   "0xA:1h",
                                       "-1xA:1h", "8xA:0s", "8xA:1w", "1e3xA:1h"};
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct sl_err err;
    struct fx fx;
    struct job job;
    for (size_t i = 0; i < SL_COUNT(rates); i++)
        assert_int_equal(fx_parse(rates[i], &fx, &err), -1);
    for (size_t i = 0; i < SL_COUNT(jobs); i++)
        assert_int_equal(job_parse(jobs[i], &arena, &job, &err), -1);
    assert_int_equal(job_parse("8xRTX x2@Lab 1:90m", &arena, &job, &err), 0);
    assert_string_equal(job.model, "RTX x2");
    assert_string_equal(job.offer, "Lab 1");
    assert_int_equal(job.gpus * job.seconds, 8 * 5400);
}

static void a_rate_works_in_both_directions(void **state)
{
    (void)state;
    static const struct price_row rows[] = {
        {.model = "A", .offer = "", .currency = "CNY", .price_micro = 5000000},
        {.model = "B", .offer = "", .currency = "USD", .price_micro = 2000000}};
    const struct job a = {.model = "A", .offer = "", .gpus = 1, .seconds = 3600, .text = "a"},
                     b = {.model = "B", .offer = "", .gpus = 1, .seconds = 3600, .text = "b"};
    struct compare_result r;
    struct sl_err err = {0};
    struct fx fx;
    assert_int_equal(fx_parse("USD/CNY=5@2026-11-30", &fx, &err), 0);
    assert_int_equal(compare_run(rows, 2, (struct job[]){a, b}, 2, &fx, 1, &r, &err), 0);
    assert_int_equal(r.lines[1].converted_micro, 10000000);
    assert_int_equal(r.lines[1].ratio_centi, 200);
    assert_int_equal(compare_run(rows, 2, (struct job[]){b, a}, 2, &fx, 1, &r, &err), 0);
    assert_int_equal(r.lines[1].converted_micro, 1000000);
    assert_int_equal(r.lines[1].ratio_centi, 50);
    assert_int_equal(compare_run(rows, 2, (struct job[]){a, b}, 2, NULL, 0, &r, &err), 0);
    assert_true(r.refused && !r.lines[1].has_ratio && *r.refusal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_file_is_refused_with_line_and_column),
        cmocka_unit_test(
            quotes_blank_lines_and_carriage_returns_are_read_as_spreadsheets_write_them),
        cmocka_unit_test(the_cost_per_gb_is_rounded_half_up_once),
        cmocka_unit_test(memory_that_differs_is_flagged_and_a_drivers_share_is_not),
        cmocka_unit_test(a_rate_needs_a_date_and_a_job_its_parts),
        cmocka_unit_test(a_rate_works_in_both_directions),
    };
    return cmocka_run_group_tests_name("price files", tests, NULL, NULL);
}
