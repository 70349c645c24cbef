/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/image.h"
#include "agent/mount.h"
#include "base/core/mem.h"
#include "base/io/proc.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { MKFS_LIMIT_S = 3600, COPY_BYTES = 1 << 20 };
/* What the holey files of one image may have of data between their holes: it is copied to memory.
 */
#define ASIDE_DATA_MAX (256LL << 20)

struct making {
    const struct unpack *u;
    const char *root, *file;
    char aside[PATH_MAX]; /* beside `file` */
    int64_t max_bytes;
};

static int mkfs(const struct making *m, struct sl_err *err)
{
    /* Fixed time and UUID: the same image gives the same file. Larger clusters where there are GBs
     * of zeros, which compress to almost nothing. */
    const char *argv[12] = {
        "mkfs.erofs", "-zlz4",  "-T0", "-U", "00000000-0000-0000-0000-000000000000",
        "-x-1",       "--quiet"};
    int n = 7;
    if (m->u->holey_n)
        argv[n++] = "-C65536";
    argv[n++] = m->file;
    argv[n++] = m->root;
    struct rlimit was, now;
    getrlimit(RLIMIT_FSIZE, &was);
    now = was;
    now.rlim_cur = m->max_bytes ? (rlim_t)m->max_bytes : was.rlim_cur;
    setrlimit(RLIMIT_FSIZE, &now); /* of mkfs: a signal ends it there */
    struct proc p = {.argv = argv, .timeout_s = MKFS_LIMIT_S};
    int rc = proc_run(&p, err);
    setrlimit(RLIMIT_FSIZE, &was);
    if (rc < 0 && m->max_bytes && p.status == 128 + SIGXFSZ)
        return sl_fail_at(err, SL_QUOTA, "name",
                          "the image is larger than the %lld MB that are left to the account",
                          (long long)m->max_bytes / 1000000);
    return rc;
}

/* Copies the data between the holes. */
static int copy_data(int from, int to, int64_t size, int64_t *budget, struct sl_err *err)
{
    SL_AUTO_FREE char *chunk = sl_alloc(COPY_BYTES);
    off_t at = 0, end;
    while ((at = lseek(from, at, SEEK_DATA)) >= 0 && at < size) {
        end = lseek(from, at, SEEK_HOLE);
        if ((*budget -= end - at) < 0)
            return 1;
        while (at < end) {
            size_t want = end - at < COPY_BYTES ? (size_t)(end - at) : (size_t)COPY_BYTES;
            ssize_t n = pread(from, chunk, want, at);
            if (n <= 0 || pwrite(to, chunk, (size_t)n, at) != n)
                return sl_fail_errno(err, errno, "copy a sparse file");
            at += n;
        }
    }
    return ftruncate(to, size) < 0 ? sl_fail_errno(err, errno, "size a sparse file") : 0;
}

/* mkfs reads every hole. In a tmpfs that costs a fraction of what it costs on a disk's file system,
 * so mostly empty files are shown to it there, mounted over the real ones. */
static int put_aside(const struct making *m, int root, const char *name, int number,
                     int64_t *budget, struct sl_err *err)
{
    char copy[PATH_MAX], target[64];
    struct stat st;
    SL_AUTO_CLOSE int fd = unpack_open(root, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink > 1 ||
        st.st_size - st.st_blocks * 512 < UNPACK_HOLEY)
        return 0; /* a later layer replaced or deleted it */
    agent_path(copy, "%s/%d", m->aside, number);
    SL_AUTO_CLOSE int to = open(copy, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (to < 0)
        return sl_fail_errno(err, errno, "make %s", copy);
    int rc = copy_data(fd, to, st.st_size, budget, err);
    if (rc) {
        unlink(copy);
        return rc < 0 ? -1 : 0; /* over the budget: mkfs reads the real one */
    }
    if (fchown(to, st.st_uid, st.st_gid) < 0 || fchmod(to, st.st_mode & 07777) < 0)
        return sl_fail_errno(err, errno, "set the owner of %s", copy);
    snprintf(target, sizeof target, "/proc/self/fd/%d", fd);
    if (mount(copy, target, NULL, MS_BIND, NULL) < 0)
        return sl_fail_errno(err, errno, "mount a sparse file");
    return 0;
}

static int with_holes(void *arg, struct sl_err *err)
{
    const struct making *m = arg;
    int64_t budget = ASIDE_DATA_MAX;
    SL_AUTO_CLOSE int root = open(m->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_make(m->aside, 0700, err) < 0)
        return -1;
    if (root < 0 || mount("starlease", m->aside, "tmpfs", MS_NODEV | MS_NOSUID, "size=512m") < 0)
        return sl_fail_errno(err, errno, "mount a tmpfs on %s", m->aside);
    for (int i = 0; i < m->u->holey_n; i++)
        if (put_aside(m, root, m->u->holey[i], i, &budget, err) < 0)
            return -1;
    return mkfs(m, err);
}

int erofs_make(const struct unpack *u, const char *root, const char *file, int64_t max_bytes,
               struct sl_err *err)
{
    struct making m = {u, root, file, "", max_bytes};
    agent_path(m.aside, "%s.aside", file);
    return u->holey_n ? mounts_apart(with_holes, &m, err) : mkfs(&m, err);
}
