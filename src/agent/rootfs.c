/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/rootfs.h"
#include "agent/agent.h"
#include "base/core/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/securebits.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int open_real(int root, const char *rel, int flags)
{
    struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC | O_NOFOLLOW),
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, root, rel, &how, sizeof how);
}

/* A folder below `root` (which names its parent first): real, or made now. */
static int need_dir(int root, const char *rel, mode_t mode, struct sl_err *err)
{
    int fd = open_real(root, rel, O_PATH | O_DIRECTORY);
    if (fd < 0 && errno == ENOENT && mkdirat(root, rel, mode) == 0)
        fd = open_real(root, rel, O_PATH | O_DIRECTORY);
    if (fd < 0)
        return sl_fail_at(err, SL_INVALID, "image",
                          "image: /%s must be a folder, not a link or a file (%s)", rel,
                          strerror(errno));
    close(fd);
    return 0;
}

/* A regular file to mount on; a link (as Debian's /etc/resolv.conf often is) is replaced. */
static int need_file(int root, const char *dir, const char *name, const char *text,
                     struct sl_err *err)
{
    SL_AUTO_CLOSE int at = open_real(root, dir, O_PATH | O_DIRECTORY);
    struct stat st;
    if (at < 0)
        return sl_fail_errno(err, errno, "open /%s of the image", dir);
    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        if (S_ISREG(st.st_mode))
            return 0;
        if (unlinkat(at, name, 0) < 0)
            return sl_fail_at(err, SL_INVALID, "image", "image: /%s/%s must be a file", dir, name);
    }
    SL_AUTO_CLOSE int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 || write_all(fd, text, strlen(text)) < 0)
        return sl_fail_errno(err, errno, "write /%s/%s", dir, name);
    return 0;
}

static int prepare(int root, bool shared, struct sl_err *err)
{
    static const struct {
        const char *rel;
        mode_t mode;
    } dirs[] = {{"dev", 0755},  {"proc", 0555}, {"sys", 0555},       {"etc", 0755},
                {"tmp", 01777}, {"root", 0700}, {"root/.ssh", 0700}, {".starlease", 0755}};
    static const struct {
        const char *name, *text;
    } files[] = {{"passwd", "root:x:0:0:root:/root:/bin/sh\n"},
                 {"group", "root:x:0:\n"},
                 {"shells", "/bin/sh\n/bin/bash\n/usr/bin/bash\n/bin/dash\n/bin/ash\n"},
                 {"hosts", ""},
                 {"hostname", ""},
                 {"resolv.conf", ""}};
    for (size_t i = 0; i < SL_COUNT(dirs); i++)
        if (need_dir(root, dirs[i].rel, dirs[i].mode, err) < 0)
            return -1;
    if (shared && need_dir(root, "shared", 0755, err) < 0)
        return -1;
    for (size_t i = 0; i < SL_COUNT(files); i++)
        if (need_file(root, "etc", files[i].name, files[i].text, err) < 0)
            return -1;
    return 0;
}

int rootfs_prepare(const char *root, uid_t uid, bool shared, struct sl_err *err)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return sl_fail_errno(err, errno, "pipe");
    pid_t pid = fork(); /* a child, so that the change of ids ends with it */
    if (pid == 0) {
        struct sl_err e = {0};
        umask(0);
        prctl(PR_SET_SECUREBITS, prctl(PR_GET_SECUREBITS) | SECBIT_NO_SETUID_FIXUP);
        setfsgid(uid);
        setfsuid(uid);
        int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        int rc = fd < 0 ? sl_fail_errno(&e, errno, "open %s", root) : prepare(fd, shared, &e);
        (void)!write(fds[1], &e, sizeof e);
        _exit(rc < 0);
    }
    close(fds[1]);
    struct sl_err e = {0};
    ssize_t n = pid < 0 ? -1 : read(fds[0], &e, sizeof e);
    close(fds[0]);
    int status = 1;
    if (pid > 0)
        waitpid(pid, &status, 0);
    if (n != (ssize_t)sizeof e)
        return sl_fail(err, SL_INTERNAL, "preparing the root failed");
    *err = status ? e : *err;
    return status ? -1 : 0;
}
