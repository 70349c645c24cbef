/* SPDX-License-Identifier: Apache-2.0
 *
 * The way of a request through the route table, without sockets: router_run on a store of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "base/io/proc.h"
#include "server/auth.h"
#include "server/boot.h"
#include "server/event.h"
#include "server/router.h"
#include "server/system.h"
#include "server/account.h"
#include <stdlib.h>

struct fixture {
    struct server s;
    struct sl_arena conf_arena, arena;
    char dir[64], operator_token[80], bearer[96];
    struct reply out;
};
static struct fixture f;

static int setup(void **state)
{
    struct sl_err err = {0};
    (void)state;
    snprintf(f.dir, sizeof f.dir, "/tmp/starlease-router-XXXXXX");
    assert_non_null(mkdtemp(f.dir));
    f.s.env = env_real();
    assert_int_equal(server_conf_load(NULL, &f.conf_arena, &f.s.conf, &err), 0);
    f.s.conf.data_dir = f.dir;
    f.s.conf.db_path = sl_arena_printf(&f.conf_arena, "%s/t.db", f.dir);
    assert_int_equal(server_open(&f.s, true, &err), 0);
    assert_int_equal(account_make_operator(&f.s, "op@example.org", NULL, f.operator_token,
                                           sizeof f.operator_token, &err),
                     0);
    snprintf(f.bearer, sizeof f.bearer, "Bearer %s", f.operator_token);
    return 0;
}

static int teardown(void **state)
{
    struct sl_err err = {0};
    (void)state;
    server_close(&f.s);
    sl_buf_free(&f.out.body);
    sl_buf_free(&f.out.stored);
    sl_arena_free(&f.arena);
    sl_arena_free(&f.conf_arena);
    return proc_run(&(struct proc){.argv = (const char *[]){"rm", "-rf", f.dir, NULL}}, &err);
}

/* One request; the answer stays in f.out. */
static int call(const char *method, const char *target, const char *body, const char *key,
                const char *authorization)
{
    struct sl_err err = {0};
    struct req r = {.s = &f.s, .arena = &f.arena, .request_id = "req_test", .idem_key = key};
    const char *path = "";
    r.authorization = authorization;
    r.raw = body ? body : "";
    r.raw_n = strlen(r.raw);
    r.address = "192.0.2.1";
    if (router_target(&r, target, &path, &err) < 0)
        reply_problem(&f.out, &r, &err);
    else
        router_run(&f.s, &r, method, path, &f.out);
    return f.out.status;
}

static bool says(const char *text)
{
    return strstr(sl_buf_str(&f.out.body), text) != NULL;
}

/* ---- the target ---- */
static void a_target_is_split_and_decoded(void **state)
{
    struct sl_arena a = {0};
    struct sl_err err = {0};
    struct req r = {.arena = &a};
    const char *path;
    (void)state;
    assert_int_equal(
        router_target(&r, "/v1/leases/a%2Db?state=run+ning&x=%E4%BD%A0&empty&y=", &path, &err), 0);
    assert_string_equal(path, "/v1/leases/a-b");
    assert_string_equal(req_query(&r, "state"), "run ning");
    assert_string_equal(req_query(&r, "x"), "\xe4\xbd\xa0");
    assert_string_equal(req_query(&r, "empty"), "");
    assert_string_equal(req_query(&r, "y"), "");
    assert_null(req_query(&r, "z"));
    assert_int_equal(r.n_query, 4);
    sl_arena_free(&a);
}

static void a_bad_target_is_refused(void **state)
{
    static const char *const bad[] = {
        "",          "v1/health", "http://x/v1/health", "*",           "/v1/%",
        "/v1/%4",    "/v1/%zz",   "/v1/a%2fb",          "/v1/%00",     "/v1/%0a",
        "/v1/%ff",   "/v1/\xc3",  "/v1?a=%c0",          "/v1?a=1&a=2", "/v1?%61=1&a=2",
        "/v1?a=%0d", "/v1?%7f=1",
    };
    (void)state;
    for (size_t i = 0; i < SL_COUNT(bad); i++) {
        struct sl_arena a = {0};
        struct sl_err err = {0};
        struct req r = {.arena = &a};
        const char *path;
        if (router_target(&r, bad[i], &path, &err) == 0)
            fail_msg("accepted: %s", bad[i]);
        assert_int_equal(err.code, SL_INVALID);
        sl_arena_free(&a);
    }
    char many[2048] = "/v1?";
    for (int i = 0; i < 20; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), "p%d=1&", i);
    assert_int_equal(call("GET", many, NULL, NULL, NULL), 400);
    char *longer = sl_alloc(6000);
    memset(longer, 'a', 5999);
    longer[0] = '/';
    assert_int_equal(call("GET", longer, NULL, NULL, NULL), 400);
    free(longer);
}

/* ---- the table ---- */
static void a_path_finds_its_row(void **state)
{
    struct sl_err err = {0};
    struct req r = {.arena = &f.arena};
    (void)state;
    router_check();
    const struct route *t = router_match(&r, "GET", "/v1/accounts/acc_x", &err);
    assert_non_null(t);
    assert_string_equal(t->path, "/v1/accounts/{id}");
    assert_string_equal(r.path[0], "acc_x");
    t = router_match(&r, "POST", "/v1/accounts/verify", &err); /* a word before a parameter */
    assert_string_equal(t->path, "/v1/accounts/verify");
    assert_ptr_equal(router_match(&r, "HEAD", "/v1/health", &err),
                     router_match(&r, "GET", "/v1/health", &err));
    assert_null(router_match(&r, "GET", "/v1/accounts/", &err));
    assert_int_equal(err.code, SL_NOT_FOUND);
    assert_null(router_match(&r, "GET", "/v1/accounts/a/b/c", &err));
    assert_null(router_match(&r, "GET", "/v1/healthy", &err));
    assert_null(router_match(&r, "GET", "/v1/healt", &err));
    assert_null(router_match(&r, "PUT", "/v1/health", &err));
    assert_int_equal(err.code, SL_METHOD);
}

static void a_wrong_method_names_the_right_ones(void **state)
{
    (void)state;
    assert_int_equal(call("PUT", "/v1/tokens", NULL, NULL, NULL), 405);
    assert_string_equal(f.out.allow, "GET, POST");
    assert_true(says("\"code\":\"method\""));
}

/* ---- what is checked before a handler ---- */
static void checks_come_in_order_and_name_the_field(void **state)
{
    (void)state;
    assert_int_equal(call("GET", "/v1/account?x=1", NULL, NULL, NULL), 401);
    assert_int_equal(call("GET", "/v1/account?x=1", NULL, NULL, f.bearer), 400);
    assert_true(says("\"field\":\"x\""));
    assert_int_equal(call("GET", "/v1/account", NULL, NULL, "Bearer slk_0"), 401);
    assert_int_equal(call("GET", "/v1/account", NULL, NULL, "Basic abc"), 401);
    assert_int_equal(call("GET", "/v1/health", NULL, NULL, "Bearer slk_0"), 401);
    assert_int_equal(call("GET", "/v1/health", "{\"a\":1}", NULL, NULL), 400);
    assert_int_equal(call("POST", "/v1/tokens", "{}", NULL, f.bearer), 400);
    assert_true(says("\"field\":\"Idempotency-Key\""));
    assert_int_equal(call("POST", "/v1/tokens", "{\"nam\":1}", "key-12345", f.bearer), 400);
    assert_true(says("\"field\":\"nam\"") && says("\"request_id\":\"req_test\""));
    assert_int_equal(
        call("POST", "/v1/tokens", "{\"name\":\"a\",\"name\":\"b\"}", "key-12345", f.bearer), 400);
    assert_int_equal(call("GET", "/v1/tokens?limit=0", NULL, NULL, f.bearer), 400);
    assert_int_equal(call("GET", "/v1/tokens?limit=101", NULL, NULL, f.bearer), 400);
    assert_int_equal(call("GET", "/v1/tokens?limit=1", NULL, NULL, f.bearer), 200);
}

static void a_repeated_key_gets_the_first_answer_without_the_secret(void **state)
{
    char first[4096];
    (void)state;
    assert_int_equal(call("POST", "/v1/tokens", "{\"name\":\"ci\"}", "key-repeat", f.bearer), 201);
    assert_false(f.out.replayed);
    assert_true(says("\"token\":\"slk_"));
    snprintf(first, sizeof first, "%s", sl_buf_str(&f.out.body));
    assert_int_equal(call("POST", "/v1/tokens", "{\"name\":\"ci\"}", "key-repeat", f.bearer), 201);
    assert_true(f.out.replayed);
    assert_true(says("\"token\":null"));
    assert_memory_equal(first, sl_buf_str(&f.out.body), 37); /* the same id */
    assert_int_equal(call("POST", "/v1/tokens", "{\"name\":\"other\"}", "key-repeat", f.bearer),
                     422);
    assert_true(says("\"code\":\"key_reused\""));
    assert_int_equal(call("POST", "/v1/keys", "{\"key\":\"x\"}", "key-repeat", f.bearer), 422);
    assert_int_equal(call("POST", "/v1/tokens", "{\"name\":\"ci\"}", "short", f.bearer), 400);
    assert_int_equal(call("POST", "/v1/tokens", "{\"name\":\"ci\"}", "with blank", f.bearer), 400);
}

static void a_failed_request_may_be_tried_again_under_its_key(void **state)
{
    (void)state;
    assert_int_equal(call("POST", "/v1/tokens", "{\"days\":0}", "key-failed", f.bearer), 400);
    assert_int_equal(call("POST", "/v1/tokens", "{\"days\":1}", "key-failed", f.bearer), 201);
}

static void an_etag_that_fits_answers_304(void **state)
{
    (void)state;
    assert_int_equal(call("GET", "/v1/prices", NULL, NULL, NULL), 200);
    char etag[80];
    snprintf(etag, sizeof etag, "%s", f.out.etag);
    assert_true(*etag == '"');
    struct req r = {.s = &f.s, .arena = &f.arena, .if_none_match = etag};
    router_run(&f.s, &r, "GET", "/v1/prices", &f.out);
    assert_int_equal(f.out.status, 304);
    assert_int_equal(f.out.body.n, 0);
}

static void a_lease_token_opens_its_own_route_alone(void **state)
{
    char token[LEASE_TOKEN_TEXT], bearer[LEASE_TOKEN_TEXT + 8], id[ID_TEXT], got[ID_TEXT];
    int64_t epoch;
    (void)state;
    env_id(f.s.env, "lea", id);
    lease_token(&f.s, id, 7, token);
    assert_true(lease_token_check(&f.s, token, got, &epoch));
    assert_string_equal(got, id);
    assert_int_equal(epoch, 7);
    snprintf(bearer, sizeof bearer, "Bearer %s", token);
    assert_int_equal(call("GET", "/v1/account", NULL, NULL, bearer), 403);
    assert_int_equal(call("GET", "/v1/accounts", NULL, NULL, bearer), 403);
    assert_int_equal(call("POST", "/v1/agent/report", "{}", NULL, f.bearer), 403);
    for (size_t i = 0; token[i]; i++) { /* any changed byte */
        char bad[LEASE_TOKEN_TEXT];
        memcpy(bad, token, sizeof bad);
        bad[i] = bad[i] == 'a' ? 'b' : 'a';
        assert_false(lease_token_check(&f.s, bad, got, &epoch));
    }
}

static int break_chain(struct db_c *c, void *arg, struct sl_err *err)
{
    int64_t *bad_rows = arg;
    return event_chain_check(c, &bad_rows[0], &bad_rows[1], err);
}

static void the_event_chain_holds(void **state)
{
    int64_t bad_rows[2];
    struct sl_err err = {0};
    (void)state;
    assert_int_equal(db_read(f.s.db, break_chain, bad_rows, &err), 0);
    assert_int_equal(bad_rows[0], 0);
    assert_true(bad_rows[1] > 0);
}

static void the_openapi_document_is_json_and_names_every_row(void **state)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(OPENAPI_MAX), pretty = SL_BUF(2 * OPENAPI_MAX);
    JR_AUTO_DOC struct jr_doc *doc = NULL, *again = NULL;
    struct sl_err err = {0};
    (void)state;
    openapi_write(&b);
    assert_false(b.over);
    assert_int_equal(jr_open(b.p, b.n, &doc, &err), 0);
    const struct jr_val *paths = jr_get(jr_root(doc), "paths");
    for (const struct route *t = routes; t->method; t++)
        assert_non_null(jr_get(paths, t->path));
    json_indent(b.p, &pretty);
    assert_int_equal(jr_open(pretty.p, pretty.n, &again, &err), 0);
    SL_AUTO_BUF struct sl_buf one = SL_BUF(OPENAPI_MAX), two = SL_BUF(OPENAPI_MAX);
    jr_write(jr_root(doc), &one);
    jr_write(jr_root(again), &two);
    assert_string_equal(sl_buf_str(&one), sl_buf_str(&two));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_is_split_and_decoded),
        cmocka_unit_test(a_bad_target_is_refused),
        cmocka_unit_test(a_path_finds_its_row),
        cmocka_unit_test(a_wrong_method_names_the_right_ones),
        cmocka_unit_test(checks_come_in_order_and_name_the_field),
        cmocka_unit_test(a_repeated_key_gets_the_first_answer_without_the_secret),
        cmocka_unit_test(a_failed_request_may_be_tried_again_under_its_key),
        cmocka_unit_test(an_etag_that_fits_answers_304),
        cmocka_unit_test(a_lease_token_opens_its_own_route_alone),
        cmocka_unit_test(the_event_chain_holds),
        cmocka_unit_test(the_openapi_document_is_json_and_names_every_row),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
