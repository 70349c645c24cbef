/* SPDX-License-Identifier: Apache-2.0
 * test_hazard.c: every source rule finds its example and leaves its near miss alone; fixes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "port/hazard.h"

static void scan(const char *text, const struct hazard_opts *o, struct findings *f,
                 struct sl_buf *out)
{
    struct source s;
    source_from(&s, "t.cu", text, strlen(text));
    hazard_scan(&s, o, f);
    if (out) {
        source_settle(&s);
        source_render(&s, out);
    }
    source_free(&s);
}

static size_t count(const struct findings *f, enum hazard_no no)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++)
        n += f->v[i].rule->no == no;
    return n;
}

static size_t found(const char *text, enum hazard_no no)
{
    struct findings f = {0};
    struct hazard_opts o = HAZARD_OPTS_DEFAULT;
    o.targets = HAZARD_ALL;
    if (no == HZ_V1 || no == HZ_V2)
        o.rocm = 50700;
    scan(text, &o, &f, NULL);
    size_t n = count(&f, no);
    findings_free(&f);
    return n;
}

static void examples_are_found_and_near_misses_are_not(void **state)
{
    int wrong = 0;
    for (size_t i = 0; i < HZ_COUNT; i++) {
        const struct hazard_rule *r = hazard_rule((enum hazard_no)i);
        if (r->input != HAZARD_IN_SOURCE)
            continue;
        if (!found(r->bad, r->no) && ++wrong)
            print_error("%s (%s): the example is not found\n%s\n", r->id, r->row, r->bad);
        if (found(r->good, r->no) && ++wrong)
            print_error("%s (%s): the near miss is found\n%s\n", r->id, r->row, r->good);
    }
    assert_int_equal(wrong, 0);
}

static void the_table_is_complete_and_its_texts_are_there(void **state)
{
    for (size_t i = 0; i < HZ_COUNT; i++) {
        const struct hazard_rule *r = hazard_rule((enum hazard_no)i);
        assert_int_equal(r->no, i);
        assert_true(strlen(r->id) == 6 && sl_starts(r->id, "SP"));
        assert_ptr_equal(hazard_rule_by_id(r->id), r);
        assert_ptr_equal(hazard_rule_by_id(r->row), r);
        for (int l = 0; l < HAZARD_LANGS; l++)
            assert_true(r->title[l] && r->title[l][0] && r->advice[l] && r->advice[l][0]);
        assert_true(r->source[0] && r->bad[0] && r->good[0] && r->targets);
    }
    assert_null(hazard_rule_by_id("SP9999"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_complete_and_its_texts_are_there),
        cmocka_unit_test(examples_are_found_and_near_misses_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
