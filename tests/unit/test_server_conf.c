/* SPDX-License-Identifier: Apache-2.0
 *
 * The configuration of starleased: every key has a good default, mistakes name their place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "base/core/buf.h"
#include "base/core/money.h"
#include "server/conf.h"
#include <stdlib.h>

static int parse(const char *text, struct server_conf *c, struct sl_arena *a, struct sl_err *err)
{
    return conf_parse("t.conf", text, strlen(text), server_conf_keys, c, a, err);
}

static void the_defaults_are_what_the_manual_says(void **state)
{
    struct sl_arena a = {0};
    struct server_conf c = {0};
    struct sl_err err = {0};
    (void)state;
    assert_int_equal(server_conf_load(NULL, &a, &c, &err), 0);
    assert_string_equal(c.listen, "127.0.0.1:7070");
    assert_string_equal(c.db_path, "/var/lib/starlease/starlease.db");
    assert_int_equal(c.trial_micro, 10 * SL_MICRO);
    assert_string_equal(c.currency, "CNY");
    assert_true(c.hold_horizon_s <= 600);
    assert_false(c.tls_loopback);
    sl_arena_free(&a);
}

static void every_key_says_what_it_is_for(void **state)
{
    (void)state;
    for (const struct conf_key *k = server_conf_keys; k->section; k++) {
        assert_true(k->doc && *k->doc);
        assert_non_null(k->fallback);
        for (const struct conf_key *other = server_conf_keys; other < k; other++)
            assert_false(sl_streq(k->section, other->section) && sl_streq(k->key, other->key));
    }
}

static void a_mistake_names_file_line_and_key(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"[server]\nlisten = 127.0.0.1:1\nlissten = x\n", "lissten"},
        {"[server]\n\n[sever]\n", "sever"},
        {"[http]\nthreads = 0\n", "threads"},
        {"[http]\nthreads = many\n", "threads"},
        {"[lease]\nhold_horizon = 11m\n", "hold_horizon"}, /* at most 10 minutes */
        {"[trial]\namount = 1e3\n", "amount"},
        {"[trial]\namount = -1\n", "amount"},
        {"[tls]\nloopback = maybe\n", "loopback"},
    };
    (void)state;
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        struct sl_arena a = {0};
        struct server_conf c = {0};
        struct sl_err err = {0};
        assert_int_equal(parse(cases[i].text, &c, &a, &err), -1);
        if (!strstr(err.msg, cases[i].says) || !strstr(err.msg, "t.conf"))
            fail_msg("case %zu says: %s", i, err.msg);
        sl_arena_free(&a);
    }
}

static void keys_that_do_not_fit_together_are_refused(void **state)
{
    struct sl_arena a = {0};
    struct server_conf c = {0};
    struct sl_err err = {0};
    (void)state;
    setenv("STARLEASE_TLS_CERT", "/tmp/x.pem", 1);
    assert_int_equal(server_conf_load(NULL, &a, &c, &err), -1);
    assert_non_null(strstr(err.msg, "tls.key"));
    unsetenv("STARLEASE_TLS_CERT");
    setenv("STARLEASE_TRIAL_CURRENCY", "yuan", 1);
    assert_int_equal(server_conf_load(NULL, &a, &c, &err), -1);
    unsetenv("STARLEASE_TRIAL_CURRENCY");
    setenv("STARLEASE_SERVER_LOG_LEVEL", "loud", 1);
    assert_int_equal(server_conf_load(NULL, &a, &c, &err), -1);
    unsetenv("STARLEASE_SERVER_LOG_LEVEL");
    sl_arena_free(&a);
}

static void words_are_cut_at_blanks_and_commas(void **state)
{
    struct sl_arena a = {0};
    const char *rest = "  a:1, [::1]:2\tc ";
    (void)state;
    assert_string_equal(conf_word(&rest, &a), "a:1");
    assert_string_equal(conf_word(&rest, &a), "[::1]:2");
    assert_string_equal(conf_word(&rest, &a), "c");
    assert_null(conf_word(&rest, &a));
    sl_arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_defaults_are_what_the_manual_says),
        cmocka_unit_test(every_key_says_what_it_is_for),
        cmocka_unit_test(a_mistake_names_file_line_and_key),
        cmocka_unit_test(keys_that_do_not_fit_together_are_refused),
        cmocka_unit_test(words_are_cut_at_blanks_and_commas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
