/* SPDX-License-Identifier: Apache-2.0 */
#include "port/out.h"
#include "base/core/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int fail(const char *path, const char *what, struct sl_err *err)
{
    int e = errno;
    if (e == EACCES || e == EPERM)
        return sl_fail(err, SL_FORBIDDEN, "%s: %s: no permission", path, what);
    if (e == ENOENT || e == ENOTDIR)
        return sl_fail(err, SL_NOT_FOUND, "%s: %s: its directory does not exist", path, what);
    return sl_fail_errno(err, e, "%s: %s", path, what);
}

static int write_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return -1;
        p += k;
        n -= (size_t)k;
    }
    return 0;
}

/* The directory entry is durable only when the directory is flushed too. */
static void flush_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    SL_AUTO_FREE char *dir = slash ? sl_strndup(path, (size_t)(slash - path) + 1) : sl_strdup(".");
    SL_AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        fsync(fd);
}

int out_write(const char *path, const char *p, size_t n, struct sl_err *err)
{
    static atomic_uint serial;
    char real[PATH_MAX];
    struct stat st;
    mode_t mode = 0666;
    if (realpath(path, real))
        path = real;
    if (stat(path, &st) == 0) {
        if (!S_ISREG(st.st_mode))
            return sl_fail(err, SL_INVALID, "%s: is not a regular file, so it is not written over",
                           path);
        mode = st.st_mode & 07777;
    }
    SL_AUTO_FREE char *tmp = sl_asprintf("%s.starport-%ld-%u", path, (long)getpid(), serial++);
    int fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0)
        return fail(path, "cannot be written", err);
    bool ok = write_all(fd, p, n) == 0 && (mode == 0666 || fchmod(fd, mode) == 0) && fsync(fd) == 0;
    int e = errno;
    ok = close(fd) == 0 && ok;
    if (ok && rename(tmp, path) == 0) {
        flush_parent(path);
        return 0;
    }
    e = ok ? errno : e;
    unlink(tmp);
    errno = e;
    return fail(path, "cannot be written", err);
}

int out_parents(const char *path, struct sl_err *err)
{
    SL_AUTO_FREE char *dir = sl_strdup(path);
    for (char *s = dir + 1; (s = strchr(s, '/')) != NULL; s++) {
        *s = 0;
        if (mkdir(dir, 0777) < 0 && errno != EEXIST)
            return fail(dir, "cannot be made", err);
        *s = '/';
    }
    return 0;
}

bool out_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int out_backup(const char *from, const char *to, const char *p, size_t n, struct sl_err *err)
{
    struct stat st;
    if (lstat(to, &st) == 0)
        return 0;
    if (out_write(to, p, n, err) < 0)
        return -1;
    if (stat(from, &st) == 0)
        chmod(to, st.st_mode & 07777);
    return 0;
}
