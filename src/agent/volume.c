/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/volume.h"
#include "agent/mount.h"
#include "base/core/failpoint.h"
#include "base/io/proc.h"
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

enum { ODD_END = 16 << 20 };

const char *volume_file(const struct agent *a, const char *id, char out[PATH_MAX])
{
    return agent_path(out, "%s/volumes/%s.img", a->state_dir, id);
}

const char *shared_file(const struct agent *a, const char *account, char out[PATH_MAX])
{
    return agent_path(out, "%s/shared/%s.img", a->state_dir, account);
}

/* Bytes of the ext4 file system in `file`; 0 when there is none. From its superblock, at 1024. */
static int64_t fs_bytes(const char *file)
{
    enum { AT = 1024, MAGIC = 0xef53, LOW = 0x4, LOG_SIZE = 0x18, MAGIC_AT = 0x38, HIGH = 0x150 };
    uint8_t b[1024];
    SL_AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || pread(fd, b, sizeof b, AT) != (ssize_t)sizeof b ||
        (b[MAGIC_AT] | b[MAGIC_AT + 1] << 8) != MAGIC || b[LOG_SIZE] > 6)
        return 0;
    uint32_t low, high;
    memcpy(&low, b + LOW, sizeof low);
    memcpy(&high, b + HIGH, sizeof high);
    uint64_t blocks = (uint64_t)le32toh(high) << 32 | le32toh(low);
    return blocks < 1ULL << 40 ? (int64_t)(blocks << (10 + b[LOG_SIZE])) : 0;
}

int volume_fs_grow(const char *file, struct sl_err *err)
{
    const char *check[] = {"e2fsck", "-f", "-p", file, NULL};
    const char *grow[] = {"resize2fs", file, NULL};
    struct proc checking = {.argv = check, .timeout_s = 600, .any_status = true};
    if (proc_run(&checking, err) < 0)
        return -1;
    return proc_run(&(struct proc){.argv = grow, .timeout_s = 600}, err);
}

/* Also one whose file has grown and its file system not yet: while it was mounted, or a kill came
 * between. A file system may leave out an odd end. */
static int volume_grow(const char *file, int64_t size_bytes, struct sl_err *err)
{
    struct stat st;
    if (stat(file, &st) < 0)
        return sl_fail_errno(err, errno, "stat %s", file);
    if (loop_in_use(file))
        return 0;
    if (st.st_size < size_bytes && truncate(file, size_bytes) < 0)
        return sl_fail_errno(err, errno, "grow %s", file);
    int64_t size = st.st_size < size_bytes ? size_bytes : st.st_size, fs = fs_bytes(file);
    return fs == 0 || size - fs < ODD_END ? 0 : volume_fs_grow(file, err);
}

int volume_make(const char *file, int64_t size_bytes, struct sl_err *err)
{
    if (access(file, F_OK) == 0)
        return volume_grow(file, size_bytes, err);
    char temp[PATH_MAX];
    agent_path(temp, "%s.tmp", file);
    int fd = open(temp, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return sl_fail_errno(err, errno, "make %s", temp);
    int rc = ftruncate(fd, size_bytes);
    close(fd);
    if (rc < 0)
        return sl_fail_errno(err, errno, "size %s", temp);
    const char *mkfs[] = {"mkfs.ext4",
                          "-q",
                          "-F",
                          "-m",
                          "0",
                          "-E",
                          "lazy_itable_init=1,lazy_journal_init=1,nodiscard,root_owner=0:0",
                          temp,
                          NULL};
    if (proc_run(&(struct proc){.argv = mkfs}, err) < 0)
        return -1;
    FAILPOINT("agent.volume_made");
    if (rename(temp, file) < 0)
        return sl_fail_errno(err, errno, "rename %s", temp);
    return 0;
}

static int mount_file(const char *file, const char *fs, const char *target, bool share,
                      struct sl_err *err)
{
    char device[LOOP_TEXT];
    SL_AUTO_CLOSE int loop = -1;
    if (loop_attach(file, false, share, &loop, device, err) < 0)
        return -1;
    return mount_device(device, fs, target, false, err);
}

static int make_dirs(const char *root, const char *const *names, mode_t mode, struct sl_err *err)
{
    for (; *names; names++) {
        char path[PATH_MAX];
        if (mkdir(agent_path(path, "%s/%s", root, *names), mode) < 0 && errno != EEXIST)
            return sl_fail_errno(err, errno, "make %s", path);
    }
    return 0;
}

int volume_mount(const struct agent *a, const struct lease_spec *s, const char *target,
                 struct sl_err *err)
{
    static const char *const dirs[] = {"u", "w", "agent", NULL};
    char file[PATH_MAX], lock_name[80];
    SL_AUTO_CLOSE int lock = -1;
    snprintf(lock_name, sizeof lock_name, "volume-%s", s->volume.id);
    volume_file(a, s->volume.id, file);
    if (agent_lock(a, lock_name, 30000, &lock, err) < 0 ||
        volume_make(file, s->volume.size_bytes, err) < 0 ||
        mount_file(file, "ext4", target, false, err) < 0)
        return -1;
    return make_dirs(target, dirs, 0755, err);
}

int shared_mount(const struct agent *a, const struct lease_spec *s, const char *target,
                 int userns_fd, struct sl_err *err)
{
    static const char *const dirs[] = {"data", NULL};
    char file[PATH_MAX], data[PATH_MAX], lock_name[80];
    SL_AUTO_CLOSE int lock = -1;
    snprintf(lock_name, sizeof lock_name, "shared-%s", s->account);
    shared_file(a, s->account, file);
    /* Two leases mount one loop device: the kernel gives both the same superblock. */
    if (agent_lock(a, lock_name, 30000, &lock, err) < 0 ||
        volume_make(file, s->shared_quota_bytes, err) < 0 ||
        mount_file(file, "ext4", target, true, err) < 0 || make_dirs(target, dirs, 0755, err) < 0)
        return -1;
    agent_path(data, "%s/data", target);
    if (mount(data, target, NULL, MS_BIND, NULL) < 0)
        return sl_fail_errno(err, errno, "bind %s", data);
    return mount_shift(target, userns_fd, err);
}

int volume_remove(const struct agent *a, const char *id, struct sl_err *err)
{
    char file[PATH_MAX], lock_name[80];
    SL_AUTO_CLOSE int lock = -1;
    snprintf(lock_name, sizeof lock_name, "volume-%s", id);
    if (agent_lock(a, lock_name, 30000, &lock, err) < 0)
        return -1;
    volume_file(a, id, file);
    if (loop_in_use(file))
        return sl_fail_at(err, SL_CONFLICT, "volume", "volume %s is in use; stop its lease first",
                          id);
    if (unlink(file) < 0 && errno != ENOENT)
        return sl_fail_errno(err, errno, "remove %s", file);
    return 0;
}
