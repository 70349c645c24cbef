/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/mem.h"
#include "base/io/conf.h"
#include "base/io/crypto.h"
#include "base/io/db.h"
#include "base/io/json.h"
#include "base/io/proc.h"
#include "base/io/rpc.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <cmocka.h>

struct order {
    const char *name;
    int64_t n, price;
    bool fast;
    struct jr_strs tags;
};
static const struct jr_field order_fields[] = {
    JR_STR(struct order, name, "name", JR_REQUIRED, 1, 10),
    JR_INT(struct order, n, "n", 0, 1, 64),
    JR_MONEY(struct order, price, "price", 0, 0, 1000000000),
    JR_BOOL(struct order, fast, "fast", 0),
    JR_STRS(struct order, tags, "tags", 0, 0, 3),
    {0}};

static int parse(const char *text, struct order *o, struct sl_err *err)
{
    static struct sl_arena arena;
    sl_arena_free(&arena);
    memset(o, 0, sizeof *o);
    *err = (struct sl_err){0};
    return jr_parse(text, strlen(text), order_fields, o, &arena, err);
}

static void a_good_body_is_read(void **state)
{
    struct order o;
    struct sl_err err;
    assert_int_equal(parse("{\"name\":\"\xe4\xb8\xad\",\"n\":3,\"price\":\"2.20\",\"fast\":true,"
                           "\"tags\":[\"a\",\"b\"]}",
                           &o, &err),
                     0);
    assert_int_equal(o.n, 3);
    assert_int_equal(o.price, 2200000);
    assert_int_equal(o.tags.n, 2);
    parse("{\"name\":\"x\"}", &o, &err); /* frees the arena of the one before */
}

static void a_bad_body_names_its_field(void **state)
{
    static const struct {
        const char *text, *field;
    } rows[] = {{"{\"n\":1}", "name"},
                {"{\"name\":\"a\",\"m\":1}", "m"},
                {"{\"name\":1}", "name"},
                {"{\"name\":\"\"}", "name"},
                {"{\"name\":\"aaaaaaaaaaaaaaa\"}", "name"},
                {"{\"name\":\"a\\n\"}", "name"},
                {"{\"name\":\"a\",\"n\":65}", "n"},
                {"{\"name\":\"a\",\"n\":1.0}", "n"},
                {"{\"name\":\"a\",\"n\":1e1}", "n"},
                {"{\"name\":\"a\",\"n\":true}", "n"},
                {"{\"name\":\"a\",\"price\":2.2}", "price"},
                {"{\"name\":\"a\",\"price\":\"-1\"}", "price"},
                {"{\"name\":\"a\",\"price\":\"NaN\"}", "price"},
                {"{\"name\":\"a\",\"tags\":[1]}", "tags[0]"},
                {"{\"name\":\"a\",\"tags\":[\"\",\"\",\"\",\"\"]}", "tags"},
                {"{\"name\":\"a\",\"name\":\"b\"}", ""},
                {"{\"name\":\"a\"} x", ""},
                {"{\"name\":NaN}", ""},
                {"{\"name\":\"\xff\"}", ""},
                {"[]", "body"},
                {"", ""}};
    for (size_t i = 0; i < SL_COUNT(rows); i++) {
        struct order o;
        struct sl_err err;
        assert_int_equal(parse(rows[i].text, &o, &err), -1);
        assert_int_equal(err.code, SL_INVALID);
        assert_string_equal(err.field, rows[i].field);
    }
    struct order o;
    struct sl_err err;
    parse("{}", &o, &err);
}

static void deep_nesting_is_refused(void **state)
{
    char text[256] = "";
    struct sl_err err = {0};
    struct jr_doc *d = NULL;
    for (int i = 0; i < 40; i++)
        text[i] = '[', text[40 + i] = ']';
    assert_int_equal(jr_open(text, 80, &d, &err), -1);
}

static void what_the_writer_writes_the_reader_reads(void **state)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(4096), canon = SL_BUF(4096);
    struct jw w = {&b};
    struct sl_err err = {0};
    struct jr_doc *d = NULL;
    jw_object(&w, NULL);
    jw_str(&w, "z", "line\n\"quoted\" \\ \x01 \xff end");
    jw_int(&w, "a", INT64_MIN);
    jw_array(&w, "list");
    jw_int(&w, NULL, 9007199254740993);
    jw_bool(&w, NULL, true);
    jw_null(&w, NULL);
    jw_end(&w);
    jw_money(&w, "m", 2200000);
    jw_end(&w);
    assert_int_equal(jr_open(sl_buf_str(&b), b.n, &d, &err), 0);
    assert_int_equal(jr_i64(jr_get(jr_root(d), "a"), 0), INT64_MIN);
    assert_int_equal(jr_i64(jr_at(jr_get(jr_root(d), "list"), 0), 0), 9007199254740993);
    assert_string_equal(jr_text(jr_get(jr_root(d), "z"), ""),
                        "line\n\"quoted\" \\ \x01 \xef\xbf\xbd end");
    assert_int_equal(jr_canonical(jr_root(d), &canon, &err), 0);
    assert_true(sl_starts(sl_buf_str(&canon),
                          "{\"a\":-9223372036854775808,\"list\":[9007199254740993,true,null],"));
    jr_close(d);
}

struct conf {
    const char *listen;
    int64_t threads, price;
    bool tls;
};
static const struct conf_key keys[] = {
    {"server", "listen", CONF_TEXT, offsetof(struct conf, listen), "here", 0, 0, "d"},
    {"server", "threads", CONF_INT, offsetof(struct conf, threads), "2", 1, 64, "d"},
    {"server", "tls", CONF_BOOL, offsetof(struct conf, tls), "no", 0, 0, "d"},
    {"money", "price", CONF_MONEY, offsetof(struct conf, price), "1.5", 0, 9000000, "d"},
    {0}};

static void a_wrong_configuration_names_file_and_line(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {{"[server]\nthread = 2\n", "f:2: unknown key"},
                {"[sever]\n", "f:1: unknown section"},
                {"[server]\n\nthreads = 99\n", "f:3: server.threads"},
                {"[server]\ntls = maybe\n", "f:2: server.tls"},
                {"[server]\nthreads\n", "f:2: \"threads\" is not"},
                {"[money]\nprice = 1.23456789\n", "f:2: money.price"}};
    struct sl_arena a = {0};
    struct conf c;
    struct sl_err err = {0};
    for (size_t i = 0; i < SL_COUNT(rows); i++) {
        assert_int_equal(conf_parse("f", rows[i].text, strlen(rows[i].text), keys, &c, &a, &err),
                         -1);
        assert_true(sl_starts(err.msg, rows[i].want));
    }
    const char *good = "# c\n[server]\n listen = a = b \ntls=yes\n; x\n[money]\nprice=2\n";
    assert_int_equal(conf_parse("f", good, strlen(good), keys, &c, &a, &err), 0);
    assert_string_equal(c.listen, "a = b");
    assert_true(c.tls && c.threads == 2 && c.price == 2000000);
    sl_arena_free(&a);
}

static void programs_run_without_a_shell(void **state)
{
    struct sl_err err = {0};
    SL_AUTO_BUF struct sl_buf out = SL_BUF(1000);
    const char *cat[] = {"cat", NULL};
    struct proc p = {.argv = cat, .input = "; echo no", .input_n = 9, .out = &out};
    assert_int_equal(proc_run(&p, &err), 0);
    assert_string_equal(sl_buf_str(&out), "; echo no");
    const char *missing[] = {"no-such-program", NULL};
    assert_int_equal(proc_run(&(struct proc){.argv = missing}, &err), -1);
    assert_int_equal(err.code, SL_UNAVAILABLE);
    const char *slow[] = {"sleep", "30", NULL};
    assert_int_equal(proc_run(&(struct proc){.argv = slow, .timeout_s = 1}, &err), -1);
    assert_int_equal(err.code, SL_TIMEOUT);
    const char *fails[] = {"ls", "/no/such", NULL};
    assert_int_equal(proc_run(&(struct proc){.argv = fails}, &err), -1);
    assert_non_null(strstr(err.msg, "/no/such"));
}

static void signatures_and_hashes_agree_with_published_vectors(void **state)
{
    char hex[SHA256_HEX], pk[SIGN_KEY_HEX], sk[SIGN_HEX], sig[SIGN_HEX];
    crypto_init();
    assert_string_equal(sha256_hex("abc", 3, hex), /* FIPS 180-4 example */
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    sign_keypair(pk, sk);
    sign_make(sk, "hello", 5, sig);
    assert_true(sign_ok(pk, "hello", 5, sig));
    assert_false(sign_ok(pk, "hellp", 5, sig));
    sig[3] = sig[3] == '0' ? '1' : '0';
    assert_false(sign_ok(pk, "hello", 5, sig));
    char hash[PASSWORD_HASH];
    struct sl_err err = {0};
    assert_int_equal(password_hash("correct horse", hash, &err), 0);
    assert_true(password_ok("correct horse", hash));
    assert_false(password_ok("wrong", hash));
}

/* ---- store ---- */
static const char *const migrations[] = {
    "CREATE TABLE t (id TEXT PRIMARY KEY, n BIGINT NOT NULL CHECK (n >= 0));", NULL};
static const char *const migrations2[] = {
    "CREATE TABLE t (id TEXT PRIMARY KEY, n BIGINT NOT NULL CHECK (n >= 0));",
    "CREATE TABLE u (id TEXT);", NULL};
static char dir[64];
static char *db_path(void)
{
    return sl_asprintf("%s/t.db", dir);
}

static int insert_fn(struct db_c *c, void *arg, struct sl_err *err)
{
    return db_exec(c, err, "INSERT INTO t(id, n) VALUES(?1, ?2)", "ti", (const char *)arg,
                   (int64_t)1);
}
static int insert_then_fail(struct db_c *c, void *arg, struct sl_err *err)
{
    if (insert_fn(c, arg, err) < 0)
        return -1;
    return sl_fail(err, SL_QUOTA, "no");
}
static int count_fn(struct db_c *c, void *arg, struct sl_err *err)
{
    return db_value(c, -1, arg, err, "SELECT count(*) FROM t", "");
}
static int add_fn(struct db_c *c, void *arg, struct sl_err *err)
{
    return db_exec(c, err, "UPDATE t SET n = n + 1 WHERE id = 'a'", "");
}
static void *add_many(void *arg)
{
    struct sl_err err = {0};
    for (int i = 0; i < 200; i++)
        assert_int_equal(db_write(arg, add_fn, NULL, &err), 0);
    return NULL;
}

static void writes_of_many_threads_are_all_there_after_reopening(void **state)
{
    struct sl_err err = {0};
    struct db *db;
    int64_t n;
    SL_AUTO_FREE char *path = db_path();
    assert_int_equal(db_open(&(struct db_options){.path = path}, migrations, &db, &err), 0);
    assert_int_equal(db_write(db, insert_fn, "a", &err), 0);
    assert_int_equal(db_write(db, insert_fn, "a", &err), -1);
    assert_int_equal(err.code, SL_CONFLICT);
    assert_int_equal(db_write(db, insert_then_fail, "b", &err), -1);
    assert_int_equal(err.code, SL_QUOTA);
    assert_int_equal(db_read(db, count_fn, &n, &err), 0);
    assert_int_equal(n, 1);
    pthread_t t[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&t[i], NULL, add_many, db);
    for (int i = 0; i < 8; i++)
        pthread_join(t[i], NULL);
    struct db_stats st;
    db_stats_get(db, &st);
    assert_true(st.commits < st.writes); /* group commit happened */
    db_close(db);
    assert_int_equal(
        db_open(&(struct db_options){.path = path, .inline_writes = true}, migrations2, &db, &err),
        0);
    assert_int_equal(db_read(db, count_fn, &n, &err), 0);
    db_close(db);
    assert_int_equal(db_open(&(struct db_options){.path = path}, migrations, &db, &err), -1);
    assert_int_equal(err.code, SL_CONFLICT);
    assert_non_null(strstr(err.msg, "newer"));
}

static void a_store_that_cannot_be_written_says_so(void **state)
{
    struct sl_err err = {0};
    struct db *db;
    assert_int_equal(
        db_open(&(struct db_options){.path = "/no/such/dir/x.db"}, migrations, &db, &err), -1);
    assert_int_equal(err.code, SL_STORAGE_FULL);
}

/* ---- rpc ---- */
static void *serve_one(void *arg)
{
    int fd = accept(*(int *)arg, NULL, NULL);
    struct sl_err err = {0};
    struct jr_doc *d = NULL;
    assert_int_equal(rpc_read(fd, 5000, &d, &err), 0);
    if (sl_streq(jr_text(jr_get(jr_root(d), "op"), ""), "good")) {
        rpc_progress(fd, "{\"n\":1}");
        rpc_reply_ok(fd, "{\"x\":7}", &err);
    } else {
        sl_fail_at(&err, SL_NO_CAPACITY, "op", "op: unknown");
        rpc_reply_err(fd, &err);
    }
    jr_close(d);
    close(fd);
    return NULL;
}
static void on_progress(void *arg, const struct jr_val *v)
{
    *(int *)arg += (int)jr_i64(jr_get(v, "n"), 0);
}

static void an_agent_answers_over_its_socket(void **state)
{
    struct sl_err err = {0};
    SL_AUTO_FREE char *path = sl_asprintf("%s/s", dir);
    int lfd, seen = 0;
    assert_int_equal(rpc_listen(path, 0600, -1, &lfd, &err), 0);
    const char *requests[] = {"{\"op\":\"good\"}", "{\"op\":\"bad\"}"};
    for (int i = 0; i < 2; i++) {
        pthread_t t;
        struct jr_doc *d;
        const struct jr_val *ok;
        pthread_create(&t, NULL, serve_one, &lfd);
        int rc = rpc_call(path, requests[i], 5000, on_progress, &seen, &d, &ok, &err);
        pthread_join(t, NULL);
        assert_int_equal(rc, i ? -1 : 0);
        if (rc == 0)
            assert_int_equal(jr_i64(jr_get(ok, "x"), 0), 7);
        else
            assert_int_equal(err.code, SL_NO_CAPACITY);
        jr_close(d);
    }
    assert_int_equal(seen, 1);
    close(lfd);
    struct jr_doc *d;
    const struct jr_val *ok;
    assert_int_equal(rpc_call(path, "{}", 1000, NULL, NULL, &d, &ok, &err), -1);
    assert_int_equal(err.code, SL_UNAVAILABLE);
}

static int setup(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/test-io-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}
static int teardown(void **state)
{
    const char *argv[] = {"rm", "-rf", dir, NULL};
    struct sl_err err = {0};
    return proc_run(&(struct proc){.argv = argv}, &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_body_is_read),
        cmocka_unit_test(a_bad_body_names_its_field),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(what_the_writer_writes_the_reader_reads),
        cmocka_unit_test(a_wrong_configuration_names_file_and_line),
        cmocka_unit_test(programs_run_without_a_shell),
        cmocka_unit_test(signatures_and_hashes_agree_with_published_vectors),
        cmocka_unit_test(writes_of_many_threads_are_all_there_after_reopening),
        cmocka_unit_test(a_store_that_cannot_be_written_says_so),
        cmocka_unit_test(an_agent_answers_over_its_socket),
    };
    return cmocka_run_group_tests_name("io", tests, setup, teardown);
}
