/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/mem.h"
#include "base/io/db.h"
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static const char *const migrations[] = {
    "CREATE TABLE t (id TEXT PRIMARY KEY, n BIGINT NOT NULL) /* clustered */;", NULL};
static char dir[64];

static struct db *store(const char *name, void (*before_sync)(void *), void *arg)
{
    struct sl_err err = {0};
    struct db *db;
    SL_AUTO_FREE char *path = sl_asprintf("%s/%s.db", dir, name);
    struct db_options o = {.path = path, .before_sync = before_sync, .before_sync_arg = arg};
    assert_int_equal(db_open(&o, migrations, &db, &err), 0);
    return db;
}

/* What several threads wait for; every field under the lock. */
static struct gate {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool open, arrived, ran, acknowledged, told;
    int64_t saw;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};

static void gate_new(void)
{
    gate.open = gate.arrived = gate.ran = gate.acknowledged = gate.told = false;
    gate.saw = -1;
}

static void set(bool *flag)
{
    pthread_mutex_lock(&gate.lock);
    *flag = true;
    pthread_cond_broadcast(&gate.cond);
    pthread_mutex_unlock(&gate.lock);
}

static void wait_for(const bool *flag)
{
    pthread_mutex_lock(&gate.lock);
    while (!*flag)
        pthread_cond_wait(&gate.cond, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

static bool is(const bool *flag)
{
    pthread_mutex_lock(&gate.lock);
    bool v = *flag;
    pthread_mutex_unlock(&gate.lock);
    return v;
}

static void at_the_disk(void *arg)
{
    set(&gate.arrived);
    wait_for(&gate.open);
}

static int insert(struct db_c *c, void *arg, struct sl_err *err)
{
    return db_exec(c, err, "INSERT INTO t(id, n) VALUES(?1, 1)", "t", (const char *)arg);
}

static int insert_and_tell(struct db_c *c, void *arg, struct sl_err *err)
{
    set(&gate.ran);
    return insert(c, arg, err);
}

static int count(struct db_c *c, void *arg, struct sl_err *err)
{
    int64_t n;
    if (db_value(c, -1, &n, err, "SELECT COUNT(*) FROM t", "") < 0)
        return -1;
    if (arg)
        *(int64_t *)arg = n;
    set(&gate.told);
    return 0;
}

static void *writer(void *db)
{
    struct sl_err err = {0};
    assert_int_equal(db_write(db, insert, "a", &err), 0);
    set(&gate.acknowledged);
    return NULL;
}

static void *second_writer(void *db)
{
    struct sl_err err = {0};
    assert_int_equal(db_write(db, insert_and_tell, "b", &err), 0);
    return NULL;
}

static bool read_returned;

static void *reader(void *db)
{
    struct sl_err err = {0};
    assert_int_equal(db_read(db, count, &gate.saw, &err), 0);
    set(&read_returned);
    return NULL;
}

static void nothing_is_told_before_the_disk_has_it(void **state)
{
    pthread_t w, w2, r;
    gate_new();
    struct db *db = store("told", at_the_disk, NULL);
    assert_int_equal(pthread_create(&w, NULL, writer, db), 0);
    wait_for(&gate.arrived); /* committed, and the disk does not answer */
    assert_int_equal(pthread_create(&r, NULL, reader, db), 0);
    wait_for(&gate.told); /* the reader has seen the commit */
    assert_int_equal(pthread_create(&w2, NULL, second_writer, db), 0);
    wait_for(&gate.ran); /* and the writer thread works on */
    assert_false(is(&gate.acknowledged));
    assert_false(is(&read_returned));
    set(&gate.open);
    pthread_join(w, NULL);
    pthread_join(w2, NULL);
    pthread_join(r, NULL);
    assert_int_equal(gate.saw, 1);
    db_close(db);
}

/* Makes every open log a pipe, which cannot be synced. */
static void break_logs(void *arg)
{
    int ends[2];
    char link[64], target[256];
    assert_int_equal(pipe(ends), 0);
    DIR *d = opendir("/proc/self/fd");
    for (struct dirent *e; d && (e = readdir(d));) {
        (void)snprintf(link, sizeof link, "/proc/self/fd/%.20s", e->d_name);
        ssize_t n = readlink(link, target, sizeof target - 1);
        if (n > 4 && memcmp(target + n - 4, "-wal", 4) == 0)
            dup2(ends[1], (int)strtol(e->d_name, NULL, 10));
    }
    closedir(d);
}

static void a_failed_sync_ends_the_process_and_acknowledges_nothing(void **state)
{
    int status, told[2];
    assert_int_equal(pipe(told), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct sl_err err = {0};
        (void)!freopen("/dev/null", "w", stderr);
        struct db *db = store("broken", break_logs, NULL);
        db_write(db, insert, "a", &err);
        (void)!write(told[1], "x", 1);
        _exit(0);
    }
    close(told[1]);
    char c;
    assert_int_equal(read(told[0], &c, 1), 0); /* the end of file: it said nothing */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    close(told[0]);
}

static int hold_writer(struct db_c *c, void *arg, struct sl_err *err)
{
    set(&gate.arrived);
    wait_for(&gate.open);
    return 0;
}

static void *holder(void *db)
{
    struct sl_err err = {0};
    assert_int_equal(db_write(db, hold_writer, NULL, &err), 0);
    return NULL;
}

struct member {
    pthread_t thread;
    struct db *db;
    char id[8];
    bool fail;
    int runs, rc;
};

static int member_fn(struct db_c *c, void *arg, struct sl_err *err)
{
    struct member *m = arg;
    m->runs++;
    if (insert(c, m->id, err) < 0)
        return -1;
    return m->fail ? sl_fail(err, SL_QUOTA, "%s is not wanted", m->id) : 0;
}

static void *member(void *arg)
{
    struct member *m = arg;
    struct sl_err err = {0};
    m->rc = db_write_repeatable(m->db, member_fn, m, &err);
    if (m->fail)
        assert_string_equal(err.msg + strlen(m->id), " is not wanted");
    return NULL;
}

static void a_failing_member_of_a_batch_does_not_undo_the_others(void **state)
{
    struct member m[8] = {0};
    pthread_t h;
    int64_t n;
    struct sl_err err = {0};
    gate_new();
    struct db *db = store("batch", NULL, NULL);
    assert_int_equal(pthread_create(&h, NULL, holder, db), 0);
    wait_for(&gate.arrived);
    for (int i = 0; i < 8; i++) {
        m[i].db = db;
        m[i].fail = i % 3 == 1;
        (void)snprintf(m[i].id, sizeof m[i].id, "m%d", i);
        assert_int_equal(pthread_create(&m[i].thread, NULL, member, &m[i]), 0);
    }
    set(&gate.open);
    pthread_join(h, NULL);
    for (int i = 0; i < 8; i++) {
        pthread_join(m[i].thread, NULL);
        assert_int_equal(m[i].rc, m[i].fail ? -1 : 0);
        assert_in_range(m[i].runs, 1, 2);
    }
    assert_int_equal(db_read(db, count, &n, &err), 0);
    assert_int_equal(n, 5);
    db_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_told_before_the_disk_has_it),
        cmocka_unit_test(a_failed_sync_ends_the_process_and_acknowledges_nothing),
        cmocka_unit_test(a_failing_member_of_a_batch_does_not_undo_the_others),
    };
    (void)snprintf(dir, sizeof dir, "/tmp/starlease-db-XXXXXX");
    if (!mkdtemp(dir))
        return 1;
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.')
            (void)unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
    rmdir(dir);
    return rc;
}
