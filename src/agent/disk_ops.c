/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/disk_ops.h"
#include "agent/mount.h"
#include "agent/ops.h"
#include "agent/state.h"
#include "agent/volume.h"
#include "base/core/failpoint.h"
#include "base/io/proc.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define EXT4_RESIZE_FS _IOW('f', 16, uint64_t) /* linux/fs/ext4/ext4.h; not in the uapi headers */

static int lock_volume(const struct agent *a, const char *volume, int *ret, struct sl_err *err)
{
    char name[80];
    snprintf(name, sizeof name, "volume-%s", volume);
    return agent_lock(a, name, 30000, ret, err);
}

static const char *snapshot_file(const struct agent *a, const char *id, char out[PATH_MAX])
{
    return agent_path(out, "%s/snapshots/%s.img", a->state_dir, id);
}

/* The file system is mounted in the supervisor's namespace alone: it is reached through it. */
static int grow_mounted(const struct agent *a, const char *volume, int64_t size, bool *ret_online,
                        struct sl_err *err)
{
    char path[PATH_MAX], dir[PATH_MAX];
    struct statfs fs;
    pid_t pid = lease_with_volume(a, volume, dir);
    if (!pid)
        return sl_fail_at(err, SL_UNAVAILABLE, "volume",
                          "volume %s is attached and nobody supervises it now; try again", volume);
    agent_path(path, "/proc/%d/root%s/vol", (int)pid, dir);
    SL_AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstatfs(fd, &fs) < 0)
        return sl_fail_errno(err, errno, "open %s", path);
    uint64_t blocks = (uint64_t)size / (uint64_t)fs.f_bsize;
    *ret_online = ioctl(fd, EXT4_RESIZE_FS, &blocks) == 0;
    if (!*ret_online && errno != EPERM) /* no CAP_SYS_RESOURCE: it grows at the next start */
        return sl_fail_errno(err, errno, "grow the mounted file system of %s", volume);
    return 0;
}

int disk_grow(const struct agent *a, const char *volume, int64_t size, bool *ret_now,
              struct sl_err *err)
{
    char file[PATH_MAX], device[LOOP_TEXT];
    struct stat st;
    SL_AUTO_CLOSE int lock = -1, loop = -1;
    if (lock_volume(a, volume, &lock, err) < 0)
        return -1;
    *ret_now = true;
    volume_file(a, volume, file);
    if (stat(file, &st) < 0)
        return errno == ENOENT ? 0 : sl_fail_errno(err, errno, "stat %s", file);
    if (size < st.st_size)
        return sl_fail_at(err, SL_INVALID, "size_bytes",
                          "size_bytes: volume %s has %lld bytes; a disk only grows", volume,
                          (long long)st.st_size);
    if (truncate(file, size) < 0)
        return sl_fail_errno(err, errno, "grow %s", file);
    FAILPOINT("agent.disk_grown");
    if (!loop_in_use(file))
        return volume_fs_grow(file, err);
    if (loop_attach(file, false, true, &loop, device, err) < 0)
        return -1;
    if (ioctl(loop, LOOP_SET_CAPACITY, 0) < 0)
        return sl_fail_errno(err, errno, "grow %s", device);
    return grow_mounted(a, volume, size, ret_now, err);
}

/* Data without holes from in to out; the size is set already. */
static int copy_sparse(int in, int out, off_t size)
{
    for (off_t at = 0; at < size;) {
        off_t data = lseek(in, at, SEEK_DATA);
        if (data < 0)
            return errno == ENXIO ? 0 : -1; /* holes to the end */
        off_t hole = lseek(in, data, SEEK_HOLE);
        if (hole < 0)
            return -1;
        off_t from = data, to = data;
        while (from < hole) {
            ssize_t n = copy_file_range(in, &from, out, &to, (size_t)(hole - from), 0);
            if (n <= 0)
                return -1;
        }
        at = hole;
    }
    return 0;
}

/* to becomes a copy of from, whole or not at all. */
static int clone_file(const char *from, const char *to, bool *ret_cloned, struct sl_err *err)
{
    char temp[PATH_MAX];
    struct stat st;
    agent_path(temp, "%s.tmp", to);
    SL_AUTO_CLOSE int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (in < 0 || fstat(in, &st) < 0)
        return sl_fail_errno(err, errno, "open %s", from);
    SL_AUTO_CLOSE int out = open(temp, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (out < 0)
        return sl_fail_errno(err, errno, "make %s", temp);
    *ret_cloned = ioctl(out, FICLONE, in) == 0;
    if (!*ret_cloned && (ftruncate(out, st.st_size) < 0 || copy_sparse(in, out, st.st_size) < 0)) {
        int e = errno;
        unlink(temp);
        return sl_fail_errno(err, e, "copy %s", from);
    }
    if (fsync(out) < 0)
        return sl_fail_errno(err, errno, "sync %s", temp);
    FAILPOINT("agent.disk_copied");
    return rename(temp, to) < 0 ? sl_fail_errno(err, errno, "rename %s", temp) : 0;
}

static int detached(const char *volume, const char *file, struct sl_err *err)
{
    if (!loop_in_use(file))
        return 0;
    return sl_fail_at(err, SL_CONFLICT, "volume", "volume %s is in use; stop its lease first",
                      volume);
}

int disk_snapshot(const struct agent *a, const char *volume, const char *snapshot, bool *ret_cloned,
                  struct sl_err *err)
{
    char file[PATH_MAX], to[PATH_MAX], dir[PATH_MAX];
    SL_AUTO_CLOSE int lock = -1;
    if (lock_volume(a, volume, &lock, err) < 0 ||
        dir_make(agent_path(dir, "%s/snapshots", a->state_dir), 0700, err) < 0 ||
        detached(volume, volume_file(a, volume, file), err) < 0)
        return -1;
    return clone_file(file, snapshot_file(a, snapshot, to), ret_cloned, err);
}

int disk_restore(const struct agent *a, const char *volume, const char *snapshot,
                 int64_t size_bytes, bool *ret_cloned, struct sl_err *err)
{
    char file[PATH_MAX], from[PATH_MAX];
    struct stat st;
    SL_AUTO_CLOSE int lock = -1;
    if (lock_volume(a, volume, &lock, err) < 0 ||
        detached(volume, volume_file(a, volume, file), err) < 0 ||
        clone_file(snapshot_file(a, snapshot, from), file, ret_cloned, err) < 0)
        return -1;
    if (stat(file, &st) < 0)
        return sl_fail_errno(err, errno, "stat %s", file);
    if (st.st_size >= size_bytes)
        return 0;
    if (truncate(file, size_bytes) < 0)
        return sl_fail_errno(err, errno, "grow %s", file);
    return volume_fs_grow(file, err);
}

int disk_snapshot_remove(const struct agent *a, const char *snapshot, struct sl_err *err)
{
    char file[PATH_MAX];
    if (unlink(snapshot_file(a, snapshot, file)) < 0 && errno != ENOENT)
        return sl_fail_errno(err, errno, "remove %s", file);
    return 0;
}
