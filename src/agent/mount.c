/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/mount.h"
#include "agent/agent.h"
#include "base/core/mem.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <linux/openat2.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* This process was started in a chroot, whose root is no mount: then neither can its mounts be made
 * private by name, nor user namespaces made, nor a container's root exchanged. So step out (into
 * this namespace's real root, the old way: chroot somewhere else while standing outside of it),
 * make all private, and make the chroot the root of the namespace. */
static int chroot_to_root(void)
{
    struct stat here, up;
    SL_AUTO_CLOSE int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || chdir("/") < 0 || chroot("/proc") < 0)
        return -1;
    do {
        if (stat(".", &here) < 0 || chdir("..") < 0 || stat(".", &up) < 0)
            return -1;
    } while (here.st_ino != up.st_ino || here.st_dev != up.st_dev);
    if (chroot(".") < 0 || mount(NULL, ".", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return -1;
    SL_AUTO_CLOSE int tree =
        open_tree(root, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH);
    if (tree < 0 ||
        move_mount(tree, "", root, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0 ||
        fchdir(tree) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0)
        return -1;
    return chdir("/");
}

int mount_private(struct sl_err *err)
{
    if (unshare(CLONE_NEWNS) < 0)
        return sl_fail_errno(err, errno, "unshare the mount namespace");
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 &&
        (errno != EINVAL || chroot_to_root() < 0))
        return sl_fail_errno(err, errno, "make mounts private");
    /* absent on a pure v2 or v1 host; the empty file system takes what crun writes there instead */
    if (umount2("/sys/fs/cgroup/unified", MNT_DETACH) == 0 &&
        mount("starlease", "/sys/fs/cgroup/unified", "tmpfs", 0, "size=64k") < 0)
        return sl_fail_errno(err, errno, "cover the cgroup v2 mount");
    return 0;
}

static int write_map(pid_t pid, const char *which, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, which);
    SL_AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd < 0 ? -1 : write_all(fd, text, strlen(text));
}

int userns_open(uid_t uid_base, unsigned range, int *ret_fd, struct sl_err *err)
{
    int ready[2];
    if (pipe2(ready, O_CLOEXEC) < 0)
        return sl_fail_errno(err, errno, "pipe");
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int why = unshare(CLONE_NEWUSER) < 0 ? errno : 0;
        if (write(ready[1], &why, sizeof why) == sizeof why && !why)
            pause();
        _exit(1);
    }
    close(ready[1]);
    if (pid < 0) {
        close(ready[0]);
        return sl_fail_errno(err, errno, "fork");
    }
    char map[64], path[64];
    int why = EIO;
    snprintf(map, sizeof map, "0 %u %u\n", uid_base, range);
    snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
    bool good = read(ready[0], &why, sizeof why) == sizeof why && !why;
    errno = why;
    good = good && write_map(pid, "uid_map", map) == 0 && write_map(pid, "gid_map", map) == 0;
    int fd = good ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    int saved = errno;
    close(ready[0]);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    if (fd < 0)
        return sl_fail_errno(err, saved, "make a user namespace for ids from %u", uid_base);
    *ret_fd = fd;
    return 0;
}

/* Calls fn for every loop device that has a file behind it; stops when fn returns non-zero. */
static int loops_each(int (*fn)(int number, const char *backing, void *arg), void *arg)
{
    DIR *d = opendir("/sys/block");
    if (!d)
        return 0;
    int rc = 0;
    for (struct dirent *e; !rc && (e = readdir(d));) {
        int number;
        if (sscanf(e->d_name, "loop%d", &number) != 1)
            continue;
        char path[PATH_MAX], backing[PATH_MAX];
        agent_path(path, "/sys/block/loop%d/loop/backing_file", number);
        SL_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, backing, sizeof backing - 1);
        if (n <= 0)
            continue;
        backing[n] = 0;
        backing[strcspn(backing, "\n")] = 0;
        rc = fn(number, backing, arg);
    }
    closedir(d);
    return rc;
}

struct loop_find {
    struct stat st;
    int fd; /* the device, open, or -1 */
    char path[LOOP_TEXT];
};

/* The kernel knows the file by device and inode; the path in sysfs is only for people. */
static int loop_is(int number, const char *backing, void *arg)
{
    struct loop_find *f = arg;
    char path[LOOP_TEXT];
    snprintf(path, sizeof path, "/dev/loop%d", number);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct loop_info64 info;
    if (fd >= 0 && ioctl(fd, LOOP_GET_STATUS64, &info) == 0 && info.lo_inode == f->st.st_ino &&
        info.lo_device == f->st.st_dev) {
        f->fd = fd;
        memcpy(f->path, path, sizeof path);
        return 1;
    }
    if (fd >= 0)
        close(fd);
    return 0;
}

bool loop_in_use(const char *file)
{
    struct loop_find f = {.fd = -1};
    if (stat(file, &f.st) < 0)
        return false;
    bool found = loops_each(loop_is, &f);
    if (found)
        close(f.fd);
    return found;
}

struct loop_count {
    const char *dir;
    int n;
};

static int loop_below(int number, const char *backing, void *arg)
{
    struct loop_count *c = arg;
    size_t n = strlen(c->dir);
    if (strncmp(backing, c->dir, n) == 0 && backing[n] == '/')
        c->n++;
    return 0;
}

int loops_below(const char *dir)
{
    struct loop_count c = {dir, 0};
    loops_each(loop_below, &c);
    return c.n;
}

static int loop_new(int file_fd, bool readonly, int *ret_fd, char ret_path[LOOP_TEXT])
{
    SL_AUTO_CLOSE int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    if (control < 0)
        return -1;
    for (int tries = 0; tries < 50; tries++) { /* another process may take the free one first */
        int number = ioctl(control, LOOP_CTL_GET_FREE);
        if (number < 0)
            return -1;
        snprintf(ret_path, LOOP_TEXT, "/dev/loop%d", number);
        int fd = open(ret_path, O_RDWR | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT) { /* no devtmpfs (a chroot): make the node */
            mknod(ret_path, S_IFBLK | 0600, (dev_t)(7 << 8 | (number & 255)));
            fd = open(ret_path, O_RDWR | O_CLOEXEC);
        }
        if (fd < 0)
            return -1;
        struct loop_config c = {.fd = (__u32)file_fd};
        c.info.lo_flags = LO_FLAGS_AUTOCLEAR | (readonly ? LO_FLAGS_READ_ONLY : 0);
        if (ioctl(fd, LOOP_CONFIGURE, &c) == 0) {
            *ret_fd = fd;
            return 0;
        }
        int saved = errno;
        close(fd);
        errno = saved;
        if (saved != EBUSY)
            return -1;
    }
    return -1;
}

int loop_attach(const char *file, bool readonly, bool share, int *ret_fd, char ret_path[LOOP_TEXT],
                struct sl_err *err)
{
    SL_AUTO_CLOSE int file_fd = open(file, (readonly ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOFOLLOW);
    struct loop_find f = {.fd = -1};
    if (file_fd < 0 || fstat(file_fd, &f.st) < 0)
        return sl_fail_errno(err, errno, "open %s", file);
    if (loops_each(loop_is, &f)) {
        if (!share) {
            close(f.fd);
            return sl_fail(err, SL_CONFLICT, "%s is still in use by %s", file, f.path);
        }
        *ret_fd = f.fd;
        memcpy(ret_path, f.path, LOOP_TEXT);
        return 0;
    }
    if (loop_new(file_fd, readonly, ret_fd, ret_path) < 0)
        return sl_fail_errno(err, errno, "attach %s to a loop device", file);
    return 0;
}

int mount_device(const char *device, const char *fs, const char *target, bool readonly,
                 struct sl_err *err)
{
    unsigned long flags = MS_NODEV | (readonly ? MS_RDONLY : 0);
    /* what a tenant deletes goes back to the host: his disk is a sparse file */
    const char *options = readonly ? NULL : "discard";
    if (mount(device, target, fs, flags, options) < 0)
        return sl_fail_errno(err, errno, "mount %s on %s", device, target);
    return 0;
}

int mount_shift(const char *target, int userns_fd, struct sl_err *err)
{
    /* An idmapping can only be set on a detached copy that nobody has used yet. */
    SL_AUTO_CLOSE int tree = open_tree(AT_FDCWD, target, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)userns_fd};
    int rc = tree < 0 ? -1 : mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof attr);
    int saved = errno;
    umount2(target, MNT_DETACH);
    errno = saved;
    if (rc < 0 || move_mount(tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return sl_fail_errno(err, errno, "shift the ids of %s", target);
    return 0;
}

int mount_bind_ro(const char *source, const char *target, struct sl_err *err)
{
    if (mount(source, target, NULL, MS_BIND, NULL) < 0 ||
        mount(NULL, target, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) <
            0)
        return sl_fail_errno(err, errno, "bind %s on %s", source, target);
    return 0;
}

int mount_overlay(const char *lower, const char *upper, const char *work, const char *target,
                  uid_t uid, struct sl_err *err)
{
    SL_AUTO_FREE char *options =
        sl_asprintf("lowerdir=%s,upperdir=%s,workdir=%s", lower, upper, work);
    /* Overlayfs works with the credentials of its mounter. Host root has no name on an idmapped
     * mount, so mount as the slot's root, keeping the capabilities that a uid change would drop. */
    int bits = prctl(PR_GET_SECUREBITS);
    prctl(PR_SET_SECUREBITS, bits | SECBIT_NO_SETUID_FIXUP);
    setfsgid(uid);
    setfsuid(uid);
    int rc = mount("overlay", target, "overlay", MS_NODEV, options);
    int saved = errno;
    setfsuid(0);
    setfsgid(0);
    prctl(PR_SET_SECUREBITS, bits);
    if (rc < 0)
        return sl_fail_errno(err, saved, "mount the overlay on %s", target);
    return 0;
}

int open_beneath(const char *root, const char *rel, int flags, mode_t mode)
{
    SL_AUTO_CLOSE int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -1;
    struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC | O_NOFOLLOW),
                           .mode = flags & O_CREAT ? mode : 0,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, dir, rel, &how, sizeof how);
}

int mounts_apart(int (*fn)(void *arg, struct sl_err *err), void *arg, struct sl_err *err)
{
    int fds[2];
    struct sl_err e = {0};
    if (pipe2(fds, O_CLOEXEC) < 0)
        return sl_fail_errno(err, errno, "pipe");
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int rc = mount_private(&e) < 0 || fn(arg, &e) < 0;
        (void)!write(fds[1], &e, sizeof e);
        _exit(rc);
    }
    close(fds[1]);
    ssize_t n = pid < 0 ? -1 : read(fds[0], &e, sizeof e);
    close(fds[0]);
    int status = 1;
    if (pid > 0)
        waitpid(pid, &status, 0);
    if (n != (ssize_t)sizeof e)
        return sl_fail(err, SL_UNAVAILABLE, "work on the image was interrupted; try again");
    if (status)
        *err = e;
    return status ? -1 : 0;
}
