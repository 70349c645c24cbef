/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/devices.h"
#include "agent/mount.h"
#include "base/core/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

/* The first character-device major of the range for local use (240-254, Documentation/admin-guide/
 * devices.txt) that no driver has taken. */
static int free_major(struct sl_err *err)
{
    bool taken[256] = {false};
    FILE *f = fopen("/proc/devices", "re");
    if (!f)
        return sl_fail_errno(err, errno, "open /proc/devices");
    char line[128];
    unsigned major;
    while (fgets(line, sizeof line, f) && !sl_starts(line, "Block"))
        if (sscanf(line, "%u ", &major) == 1 && major < 256)
            taken[major] = true;
    fclose(f);
    for (int m = 240; m < 255; m++)
        if (!taken[m])
            return m;
    return sl_fail(err, SL_UNAVAILABLE, "no free device major in 240..254 for emulated GPUs");
}

static int dev_stat(const struct agent *a, const char *name, unsigned emulated_minor,
                    struct dev_node *ret, struct sl_err *err)
{
    snprintf(ret->name, sizeof ret->name, "%s", name);
    if (a->emulate) {
        int major = free_major(err);
        if (major < 0)
            return -1;
        ret->major = (unsigned)major;
        ret->minor = emulated_minor;
        return 0;
    }
    char path[PATH_MAX];
    struct stat st;
    agent_path(path, "%s/%s", a->dev_root, name);
    if (lstat(path, &st) < 0 || !S_ISCHR(st.st_mode))
        return sl_fail(err, SL_UNAVAILABLE, "device node %s is missing", path);
    ret->major = major(st.st_rdev);
    ret->minor = minor(st.st_rdev);
    return 0;
}

int dev_kfd(const struct agent *a, struct dev_node *ret, struct sl_err *err)
{
    return dev_stat(a, "kfd", 0, ret, err);
}

int dev_render(const struct agent *a, int render_minor, struct dev_node *ret, struct sl_err *err)
{
    char name[24];
    if (render_minor < 128)
        return sl_fail(err, SL_UNAVAILABLE, "a GPU device has no render node");
    snprintf(name, sizeof name, "dri/renderD%d", render_minor);
    return dev_stat(a, name, (unsigned)render_minor, ret, err);
}

int dev_set_for(const struct agent *a, const int *cards, int cards_n, struct dev_set *ret,
                struct sl_err *err)
{
    ret->n = 0;
    if (cards_n == 0)
        return 0;
    struct topology t;
    if (topology_read(a->kfd_root, &t, err) < 0)
        return -1;
    int rc = dev_kfd(a, &ret->v[ret->n++], err);
    for (int i = 0; rc == 0 && i < cards_n; i++) {
        if (cards[i] < 0 || cards[i] >= t.cards_n) {
            rc = sl_fail_at(err, SL_INVALID, "cards",
                            "cards: card %d does not exist; this node has %d", cards[i], t.cards_n);
            break;
        }
        const struct topo_card *c = &t.cards[cards[i]];
        for (int d = 0; rc == 0 && d < c->n; d++)
            rc = dev_render(a, t.devices[c->devices[d]].render_minor, &ret->v[ret->n++], err);
    }
    topology_free(&t);
    return rc;
}

/* One node on the private file system; returns a detached mount of it. */
static int node_make(const struct dev_node *d, const char *scratch, int index, struct sl_err *err)
{
    char path[PATH_MAX];
    agent_path(path, "%s/%d", scratch, index);
    if (mknod(path, S_IFCHR | 0666, makedev(d->major, d->minor)) < 0 && errno != EEXIST)
        return sl_fail_errno(err, errno, "make device node %s", d->name);
    if (chmod(path, 0666) < 0)
        return sl_fail_errno(err, errno, "chmod %s", path);
    int fd = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (fd < 0)
        return sl_fail_errno(err, errno, "clone the mount of %s", path);
    return fd;
}

/* In the container's namespace, as the slot's root: an empty file to mount on. Its /dev is the
 * tenant's to write, so no link is followed; a tenant who plays with it harms his own lease only.
 */
static int node_place(int dev_dir, const struct dev_node *d, int tree)
{
    const char *name = d->name;
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    SL_AUTO_CLOSE int dir = dup(dev_dir);
    if (sl_starts(name, "dri/")) {
        mkdirat(dev_dir, "dri", 0755);
        close(dir);
        dir = (int)syscall(SYS_openat2, dev_dir, "dri", &how, sizeof how);
        name += 4;
    }
    if (dir < 0)
        return errno;
    SL_AUTO_CLOSE int made =
        openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    struct stat st;
    if (made < 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISCHR(st.st_mode) &&
        st.st_rdev == makedev(d->major, d->minor))
        return 0; /* put there before this supervisor took over */
    if (made < 0 && unlinkat(dir, name, 0) == 0)
        made = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    SL_AUTO_CLOSE int at = made < 0 ? -1 : openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (at < 0 ||
        move_mount(tree, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
        return errno ? errno : EIO;
    return 0;
}

static int inject_child(const struct dev_set *set, const int *trees, int ns, uid_t uid)
{
    if (setns(ns, CLONE_NEWNS) < 0) /* also moves root and cwd to the container's root */
        return errno;
    int dev = open("/dev", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dev < 0)
        return errno;
    setfsgid(uid);
    setfsuid(uid);
    for (int i = 0; i < set->n; i++) {
        int e = node_place(dev, &set->v[i], trees[i]);
        if (e)
            return e;
    }
    return 0;
}

int dev_inject(const struct dev_set *set, pid_t pid, const char *scratch, uid_t uid,
               struct sl_err *err)
{
    if (set->n == 0)
        return 0;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)pid);
    SL_AUTO_CLOSE int ns = open(path, O_RDONLY | O_CLOEXEC);
    if (ns < 0)
        return sl_fail_errno(err, errno, "open %s", path);
    if (mount("starlease-dev", scratch, "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0711,size=64k") < 0)
        return sl_fail_errno(err, errno, "mount %s", scratch);
    int *trees = sl_alloc(sizeof *trees * (size_t)set->n);
    int rc = 0, made = 0;
    for (; rc == 0 && made < set->n; made++)
        if ((trees[made] = node_make(&set->v[made], scratch, made, err)) < 0) {
            rc = -1;
            break;
        }
    if (rc == 0) {
        pid_t child = fork();
        if (child == 0)
            _exit(inject_child(set, trees, ns, uid));
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) < 0)
            rc = sl_fail_errno(err, errno, "fork");
        else if (!WIFEXITED(status) || WEXITSTATUS(status))
            rc = sl_fail_errno(err, WIFEXITED(status) ? WEXITSTATUS(status) : EIO,
                               "put device nodes into the container");
    }
    for (int i = 0; i < made; i++)
        close(trees[i]);
    free(trees);
    umount2(scratch, MNT_DETACH);
    return rc;
}
