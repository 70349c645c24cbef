/* SPDX-License-Identifier: Apache-2.0
 *
 * Backup and restore: a consistent copy of a database that may be in use, checked before it has its
 * name.
 */
#include "base/core/mem.h"
#include "base/io/db.h"
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUSY_MS = 30000 };

static int failed(sqlite3 *h, const char *what, const char *path, struct sl_err *err)
{
    return sl_fail(err, SL_STORAGE_FULL, "%s %s: %s", what, path,
                   h ? sqlite3_errmsg(h) : "no memory");
}

static int open_file(const char *path, int flags, sqlite3 **ret, struct sl_err *err)
{
    if (sqlite3_open_v2(path, ret, flags, NULL) != SQLITE_OK)
        return failed(*ret, "cannot open the database", path, err);
    sqlite3_busy_timeout(*ret, BUSY_MS);
    return 0;
}

/* "ok" in one row, or the first thing that is wrong. */
static int check(sqlite3 *h, const char *path, struct sl_err *err)
{
    sqlite3_stmt *s = NULL;
    int rc = -1;
    if (sqlite3_prepare_v2(h, "PRAGMA integrity_check(1)", -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW && sl_streq((const char *)sqlite3_column_text(s, 0), "ok"))
        rc = 0;
    else
        sl_fail(err, SL_INTEGRITY, "the database %s is damaged: %s", path,
                s && sqlite3_column_count(s) ? (const char *)sqlite3_column_text(s, 0)
                                             : sqlite3_errmsg(h));
    sqlite3_finalize(s);
    return rc;
}

/* In one step, so that it is the state of one moment; writers of the source wait for nothing. */
static int copy(sqlite3 *from, sqlite3 *to, const char *path, struct sl_err *err)
{
    sqlite3_backup *b = sqlite3_backup_init(to, "main", from, "main");
    if (!b)
        return failed(to, "cannot write", path, err);
    int rc = sqlite3_backup_step(b, -1);
    sqlite3_backup_finish(b);
    return rc == SQLITE_DONE ? 0 : failed(to, "cannot write", path, err);
}

static int settle(const char *temp, const char *path, struct sl_err *err)
{
    const char *slash = strrchr(path, '/');
    SL_AUTO_FREE char *dir =
        slash ? sl_asprintf("%.*s/", (int)(slash - path), path) : sl_asprintf(".");
    int fd = open(temp, O_RDONLY | O_CLOEXEC), folder = open(dir, O_RDONLY | O_CLOEXEC);
    int rc = fd >= 0 && folder >= 0 && fsync(fd) == 0 && link(temp, path) == 0 ? 0 : -1;
    if (rc < 0)
        sl_fail_errno(err, errno, "cannot keep %s", path);
    else if (unlink(temp) < 0 || fsync(folder) < 0)
        rc = sl_fail_errno(err, errno, "cannot keep %s", path);
    if (fd >= 0)
        close(fd);
    if (folder >= 0)
        close(folder);
    return rc;
}

int db_copy(const char *from, const char *to, struct sl_err *err)
{
    struct stat st;
    sqlite3 *source = NULL, *target = NULL;
    db_library();
    if (stat(to, &st) == 0)
        return sl_fail(err, SL_CONFLICT, "%s exists; name another file, or move it away first", to);
    if (stat(from, &st) < 0)
        return sl_fail_errno(err, errno, "cannot read %s", from);
    SL_AUTO_FREE char *temp = sl_asprintf("%s.part", to);
    unlink(temp); /* what an earlier copy left that was cut short */
    int rc = open_file(from, SQLITE_OPEN_READWRITE, &source, err);
    if (rc == 0)
        rc = open_file(temp, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &target, err);
    if (rc == 0)
        rc = copy(source, target, to, err);
    if (rc == 0)
        rc = check(target, to, err);
    sqlite3_close(target);
    sqlite3_close(source);
    if (rc == 0)
        rc = settle(temp, to, err);
    if (rc < 0)
        unlink(temp);
    return rc;
}
