/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/bundle.h"
#include "agent/cgroup.h"
#include "agent/guest.h"
#include "agent/mount.h"
#include "agent/net.h"
#include "agent/rootfs.h"
#include "agent/supervise.h"
#include "agent/volume.h"
#include "base/core/failpoint.h"
#include "base/io/proc.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { CONSOLE_LOG_START = 4 << 20 }; /* a longer console log begins anew with the next start */

static int make_dirs(const char *dir, struct sl_err *err)
{
    static const char *const subs[] = {"image", "vol", "root", "shared", "agent", "guest", "dev"};
    char path[PATH_MAX];
    for (size_t i = 0; i < SL_COUNT(subs); i++)
        if (dir_make(agent_path(path, "%s/%s", dir, subs[i]), 0711, err) < 0)
            return -1;
    return 0;
}

static int mount_image(const struct agent *a, const struct lease_spec *s, const char *target,
                       int userns, struct sl_err *err)
{
    char file[PATH_MAX], device[LOOP_TEXT], lock_name[80];
    SL_AUTO_CLOSE int lock = -1, loop = -1;
    snprintf(lock_name, sizeof lock_name, "image-%s", s->image);
    agent_path(file, "%s/images/%s.erofs", a->state_dir, s->image);
    if (access(file, F_OK) < 0)
        return sl_fail_at(err, SL_NOT_FOUND, "image", "image %s is not on this node; import it",
                          s->image);
    if (agent_lock(a, lock_name, 30000, &lock, err) < 0 ||
        loop_attach(file, true, true, &loop, device, err) < 0 ||
        mount_device(device, "erofs", target, true, err) < 0)
        return -1;
    return mount_shift(target, userns, err);
}

/* The system volume, its part that the tenant does not see, and the console log (counted against
 * his quota, so a command that shouts cannot fill the host). */
static int mount_volume(const struct agent *a, const struct lease_spec *s, const char *dir,
                        int userns, struct lease_state *st, int *ret_log, struct sl_err *err)
{
    char vol[PATH_MAX], path[PATH_MAX];
    agent_path(vol, "%s/vol", dir);
    if (volume_mount(a, s, vol, err) < 0)
        return -1;
    agent_path(path, "%s/agent", vol);
    if (guest_host_key(path, dir, slot_uid((int)s->slot), st->host_key, err) < 0)
        return -1;
    agent_path(path, "%s/agent/console.log", vol);
    struct stat info;
    int fresh = stat(path, &info) == 0 && info.st_size > CONSOLE_LOG_START ? O_TRUNC : 0;
    *ret_log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | fresh, 0600);
    if (*ret_log < 0)
        return sl_fail_errno(err, errno, "open the console log");
    return mount_shift(vol, userns, err);
}

static int mount_all(const struct agent *a, const struct lease_spec *s, const char *dir,
                     const char *guest, struct lease_state *st, int *ret_log, struct sl_err *err)
{
    char image[PATH_MAX], vol_u[PATH_MAX], vol_w[PATH_MAX], root[PATH_MAX], path[PATH_MAX];
    SL_AUTO_CLOSE int userns = -1;
    uid_t uid = slot_uid((int)s->slot);
    agent_path(image, "%s/image", dir);
    agent_path(vol_u, "%s/vol/u", dir);
    agent_path(vol_w, "%s/vol/w", dir);
    agent_path(root, "%s/root", dir);
    if (userns_open(uid, AGENT_UID_RANGE, &userns, err) < 0 ||
        mount_bind_ro(guest, agent_path(path, "%s/agent", dir), err) < 0 ||
        guest_lease_files(a, s, dir, err) < 0)
        return -1;
    FAILPOINT("agent.guest");
    if (mount_image(a, s, image, userns, err) < 0)
        return -1;
    FAILPOINT("agent.image_mounted");
    if (mount_volume(a, s, dir, userns, st, ret_log, err) < 0)
        return -1;
    FAILPOINT("agent.volume_mounted");
    if (s->shared_quota_bytes &&
        shared_mount(a, s, agent_path(path, "%s/shared", dir), userns, err) < 0)
        return -1;
    FAILPOINT("agent.shared_mounted");
    if (mount_overlay(image, vol_u, vol_w, root, uid, err) < 0)
        return -1;
    return rootfs_prepare(root, uid, s->shared_quota_bytes > 0, err);
}

/* crun's container inherits stdout and stderr, so they are the console log, never a pipe of ours.
 */
static int crun(const struct agent *a, const char *dir, const char *const *args, int log_fd,
                struct sl_err *err)
{
    const char *argv[16] = {"crun", "--cgroup-manager=cgroupfs"};
    char root[PATH_MAX], log[PATH_MAX], path[PATH_MAX];
    int n = 2;
    argv[n++] = agent_path(root, "--root=%s/crun", a->run_dir);
    argv[n++] = agent_path(log, "--log=file:%s/crun.log", dir);
    while (*args)
        argv[n++] = *args++;
    argv[n] = NULL;
    agent_path(path, "%s/crun.log", dir);
    unlink(path);
    pid_t pid = fork();
    if (pid == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        int null = open("/dev/null", O_RDWR);
        dup2(null, 0);
        dup2(log_fd >= 0 ? log_fd : null, 1);
        dup2(log_fd >= 0 ? log_fd : null, 2);
        close_range(3, ~0u, 0);
        execvp("crun", (char *const *)(const void *)argv);
        _exit(127);
    }
    int st = 0;
    if (pid < 0 || waitpid(pid, &st, 0) < 0)
        return sl_fail_errno(err, errno, "run crun");
    if (st == 0)
        return 0;
    if (WIFEXITED(st) && WEXITSTATUS(st) == 127)
        return sl_fail(err, SL_UNAVAILABLE, "crun is not installed");
    SL_AUTO_BUF struct sl_buf why = SL_BUF(300);
    struct sl_err ignored = {0};
    (void)file_read(path, 300, &why, &ignored);
    for (size_t i = 0; i < why.n; i++)
        if ((unsigned char)why.p[i] < ' ')
            why.p[i] = ' ';
    return sl_fail(err, SL_INTERNAL, "crun %s failed: %s", argv[4], sl_buf_str(&why));
}

static int container_create(const struct agent *a, const struct lease_spec *s, const char *dir,
                            int log_fd, struct lease_state *st, struct sl_err *err)
{
    char bundle[PATH_MAX], pid_file[PATH_MAX], path[PATH_MAX];
    agent_path(path, "%s/pid", dir);
    unlink(path);
    agent_path(bundle, "--bundle=%s/bundle", dir);
    agent_path(pid_file, "--pid-file=%s/pid", dir);
    const char *args[] = {"create", bundle, pid_file, s->lease, NULL};
    if (crun(a, dir, args, log_fd, err) < 0)
        return -1;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(32);
    if (file_read(path, 32, &b, err) < 0)
        return -1;
    long long pid;
    char text[32];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(sl_buf_str(&b), "\n"), sl_buf_str(&b));
    if (!sl_parse_i64(text, &pid) || (st->pid_start = process_start((pid_t)pid)) == 0)
        return sl_fail(err, SL_INTERNAL, "the container ended while it was made");
    st->pid = (pid_t)pid;
    return 0;
}

int lease_build(const struct agent *a, const struct lease_spec *s, const char *dir,
                struct lease_state *st, struct sl_err *err)
{
    SL_AUTO_CLOSE int log_fd = -1;
    SL_AUTO_FREE struct dev_set *devices = sl_alloc(sizeof *devices);
    const char *start[] = {"start", s->lease, NULL};
    char guest[PATH_MAX];
    /* the guest set first: it is found by this program's own path */
    if (make_dirs(dir, err) < 0 || guest_prepare(a, guest, err) < 0 || mount_private(err) < 0)
        return -1;
    FAILPOINT("agent.dirs");
    if (mount_all(a, s, dir, guest, st, &log_fd, err) < 0 ||
        dev_set_for(a, s->cards, s->cards_n, devices, err) < 0 ||
        bundle_write(s, devices, dir, err) < 0)
        return -1;
    FAILPOINT("agent.bundle");
    if (container_create(a, s, dir, log_fd, st, err) < 0)
        return -1;
    FAILPOINT("agent.created");
    if (state_write(dir, st, err) < 0 ||
        net_attach(a, (int)s->slot, (int)s->host_port, st->pid, err) < 0)
        return -1;
    FAILPOINT("agent.connected");
    if (crun(a, dir, start, log_fd, err) < 0)
        return -1;
    FAILPOINT("agent.started");
    st->started = true;
    return state_write(dir, st, err);
}

int lease_undo(const struct agent *a, const struct lease_spec *s, const char *dir,
               struct sl_err *err)
{
    static const char *const mounts[] = {"root", "shared", "shared", "vol",
                                         "vol",  "image",  "agent",  "dev"};
    const char *delete[] = {"delete", "--force", s->lease, NULL};
    char path[PATH_MAX];
    struct sl_err ignored = {0};
    struct stat st;
    if (cgroup_kill(s->lease, 10000, err) < 0)
        return -1;
    FAILPOINT("agent.killed");
    if (stat(agent_path(path, "%s/crun/%s", a->run_dir, s->lease), &st) == 0)
        crun(a, dir, delete, -1, &ignored);
    FAILPOINT("agent.deleted");
    if (net_detach(a, (int)s->slot, (int)s->host_port, err) < 0)
        return -1;
    FAILPOINT("agent.detached");
    for (size_t i = 0; i < SL_COUNT(mounts); i++)
        umount2(agent_path(path, "%s/%s", dir, mounts[i]), MNT_DETACH);
    if (cgroup_remove(s->lease, err) < 0)
        return -1;
    FAILPOINT("agent.undone");
    return 0;
}
