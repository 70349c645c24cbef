/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose an image is, what the catalogue lists and warns of, and how a registry's password is kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "../lib/world.h"
#include "base/io/proc.h"
#include "server/image.h"
#include "wire/price_file.h"
#include <stdio.h>

static struct world w;
static struct sl_err err;

static int setup(void **state)
{
    world_open(&w, &(struct world_options){.nodes = 1, .cards = 8, .accounts = 2});
    err = (struct sl_err){0};
    return 0;
}

static int teardown(void **state)
{
    world_close(&w);
    return 0;
}

static const char catalogue[] =
    "name,reference,rocm,frameworks,note,source\n"
    "old,docker://docker.io/rocm/pytorch:rocm5.7,5.7,PyTorch 2.0,,test\n"
    "new,docker://docker.io/rocm/pytorch:rocm6.4,6.4,PyTorch 2.7,,test\n";
static const char compat[] = "gfx,rocm_min,kernel_min,source\ngfx942,6.0,6.2,test\n";

static void read_lists(const char *images, const char *needs)
{
    static char a[300], b[300];
    snprintf(a, sizeof a, "%s/catalogue.csv", w.dir);
    snprintf(b, sizeof b, "%s/compat.csv", w.dir);
    assert_int_equal(file_write(a, images, strlen(images), 0600, &err), 0);
    assert_int_equal(file_write(b, needs, strlen(needs), 0600, &err), 0);
    w.s.conf.image_catalogue = a;
    w.s.conf.image_compat = b;
    if (image_bootstrap(&w.s, &err) < 0)
        fail_msg("%s", err.msg);
}

struct ask {
    const char *account, *name, *model;
    char digest[DIGEST_TEXT], file[IMAGE_NAME];
    struct sl_buf said;
};

static int checked(struct db_c *c, void *arg, struct sl_err *e)
{
    struct ask *a = arg;
    return image_check(c, a->account, a->name, a->digest, a->file, e);
}

static int quotable(struct db_c *c, void *arg, struct sl_err *e)
{
    struct ask *a = arg;
    return image_quotable(c, a->account, a->name, e);
}

static void say(void *arg, const char *sentence)
{
    sl_buf_adds(arg, sentence);
    sl_buf_addc(arg, '\n');
}

static int warned(struct db_c *c, void *arg, struct sl_err *e)
{
    struct ask *a = arg;
    sl_buf_clear(&a->said);
    return image_warn_of(c, a->name, a->model, say, &a->said, e);
}

static void what_is_only_listed_tells_the_import_command(void **state)
{
    struct ask a = {.account = w.account[0], .name = "old"};
    read_lists(catalogue, compat);
    assert_int_equal(db_read(w.s.db, quotable, &a, &err), -1);
    assert_int_equal(err.code, SL_CONFLICT);
    assert_non_null(
        strstr(err.msg, "starlease image import old docker://docker.io/rocm/pytorch:rocm5.7"));
    assert_int_equal(db_read(w.s.db, checked, &a, &err), -1);
    assert_int_equal(err.code, SL_INVALID);
    a.name = "debian";
    assert_int_equal(db_read(w.s.db, checked, &a, &err), 0);
    assert_string_equal(a.file, "debian");
    a.name = "nothing";
    assert_int_equal(db_read(w.s.db, quotable, &a, &err), -1);
    assert_int_equal(err.code, SL_NOT_FOUND);
}

static void the_list_follows_its_file(void **state)
{
    read_lists(catalogue, compat);
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM image WHERE state = 'listed'"), 2);
    read_lists(catalogue, compat); /* again: nothing new */
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM image"), 3);
    read_lists("name,reference,rocm,frameworks\nnew,docker://h.x/y:2,6.4,z\n", compat);
    assert_int_equal(
        world_number(&w, "SELECT COUNT(*) FROM image WHERE name = 'old' AND state = 'deleted'"), 1);
    assert_int_equal(
        world_number(&w, "SELECT COUNT(*) FROM image WHERE source = 'docker://h.x/y:2'"), 1);
    read_lists(catalogue, compat);
    assert_int_equal(world_number(&w, "SELECT COUNT(*) FROM image WHERE state = 'listed'"), 2);
    /* one that was imported is left alone */
    world_exec(&w, "UPDATE image SET state = 'available', digest = 'sha256:x' WHERE name = 'new'");
    read_lists("name,reference,rocm,frameworks\nold,docker://h.x/y:2,5.7,z\n", compat);
    assert_int_equal(
        world_number(&w, "SELECT COUNT(*) FROM image WHERE name = 'new' AND state = 'available'"),
        1);
}

static void what_does_not_run_is_flagged(void **state)
{
    struct ask a = {.name = "old", .model = "MI300X", .said = SL_BUF(4096)};
    world_exec(&w, "UPDATE model SET gfx = 'gfx942' WHERE name = 'MI300X'");
    world_exec(&w, "UPDATE node SET facts = '{\"kernel\":\"6.12.9-amd64\"}'");
    read_lists(catalogue, compat);
    assert_int_equal(db_read(w.s.db, warned, &a, &err), 0);
    assert_non_null(
        strstr(sl_buf_str(&a.said), "ROCm 5.7 has no code for MI300X (gfx942), which needs 6.0"));
    assert_null(strstr(sl_buf_str(&a.said), "kernel"));
    a.name = "new";
    assert_int_equal(db_read(w.s.db, warned, &a, &err), 0);
    assert_string_equal(sl_buf_str(&a.said), "");
    world_exec(&w, "UPDATE node SET facts = '{\"kernel\":\"6.1.0-40-amd64\"}'");
    assert_int_equal(db_read(w.s.db, warned, &a, &err), 0);
    assert_non_null(strstr(sl_buf_str(&a.said), "kernel 6.1 of node"));
    a.name = "debian"; /* not of the catalogue: nothing is known */
    assert_int_equal(db_read(w.s.db, warned, &a, &err), 0);
    assert_string_equal(sl_buf_str(&a.said), "");
    sl_buf_free(&a.said);
}

static void an_own_image_is_its_owners_alone(void **state)
{
    char sql[600];
    struct ask mine = {.account = w.account[0], .name = "work"},
               his = {.account = w.account[1], .name = "work"};
    snprintf(sql, sizeof sql,
             "INSERT INTO image(id, name, digest, source, state, state_since_us, size_bytes, "
             "files, reason, created_us, "
             "account_id, title) VALUES('img_1', 'img_1', 'sha256:own', 'lea_1', 'available', 1, "
             "1, 1, '', 1, '%s', 'work')",
             w.account[0]);
    world_exec(&w, sql);
    assert_int_equal(db_read(w.s.db, checked, &mine, &err), 0);
    assert_string_equal(mine.file, "img_1"); /* what the node calls it */
    assert_string_equal(mine.digest, "sha256:own");
    assert_int_equal(db_read(w.s.db, checked, &his, &err), -1);
    assert_int_equal(db_read(w.s.db, quotable, &his, &err), -1);
    assert_int_equal(err.code, SL_NOT_FOUND);
    his.name = "img_1"; /* nor by its id */
    assert_int_equal(db_read(w.s.db, checked, &his, &err), -1);
    assert_int_equal(db_read(w.s.db, quotable, &his, &err), -1);
    mine.name = "debian";
    assert_int_equal(db_read(w.s.db, checked, &mine, &err), 0);
}

static void a_registry_password_is_kept_sealed(void **state)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(8192);
    struct jw j = {&b};
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    char user[512] = "", password[512] = "";
    const struct image_import in = {.username = "ann", .password = "a secret: with\" everything"};
    jw_object(&j, NULL);
    credentials_seal(&w.s, &in, &j);
    jw_end(&j);
    assert_null(strstr(sl_buf_str(&b), "secret"));
    assert_null(strstr(sl_buf_str(&b), "ann"));
    assert_int_equal(jr_open(sl_buf_str(&b), b.n, &doc, &err), 0);
    assert_int_equal(credentials_open(&w.s, jr_root(doc), user, password, sizeof user, &err), 0);
    assert_string_equal(user, "ann");
    assert_string_equal(password, in.password);
    w.s.lease_key[0] ^= 1; /* another server's key */
    assert_int_equal(credentials_open(&w.s, jr_root(doc), user, password, sizeof user, &err), -1);
    assert_int_equal(err.code, SL_INTEGRITY);
}

static void wrong_lists_are_refused_with_their_line(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"name,reference,rocm\n", "frameworks"},
        {"name,reference,rocm,frameworks\na,docker://x,six,z\n", "\"six\" is not a version"},
        {"name,reference,rocm,frameworks\na,http://x,6.4,z\n", "docker://"},
        {"name,reference,rocm,frameworks\na,docker://x,6.4,z\na,docker://x,6.4,z\n", "line 3"},
    };
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct catalogue_file f;
    struct compat_file g;
    for (size_t i = 0; i < SL_COUNT(rows); i++) {
        assert_int_equal(
            catalogue_file_parse("f", rows[i].text, strlen(rows[i].text), &arena, &f, &err), -1);
        if (!strstr(err.msg, rows[i].says))
            fail_msg("%s", err.msg);
    }
    assert_int_equal(compat_file_parse("f", compat, strlen(compat), &arena, &g, &err), 0);
    const char *bad = "gfx,rocm_min,kernel_min,source\ngfx1,6,,x\n";
    assert_int_equal(compat_file_parse("f", bad, strlen(bad), &arena, &g, &err), -1);
    assert_int_equal(version_number("6.4"), 6004);
    assert_true(version_number("5.10") > version_number("5.9"));
    assert_int_equal(version_number("6.12.9-amd64"), 6012);
    assert_int_equal(version_number("x.y"), 0);
    assert_int_equal(version_number("6"), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(what_is_only_listed_tells_the_import_command),
        T(the_list_follows_its_file),
        T(what_does_not_run_is_flagged),
        T(an_own_image_is_its_owners_alone),
        T(a_registry_password_is_kept_sealed),
        T(wrong_lists_are_refused_with_their_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
