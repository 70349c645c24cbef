/* SPDX-License-Identifier: Apache-2.0
 *
 * What a hostile tenant tries, as root of an instance. Each try is one row; the program prints the
 * names of those that worked and, last, how many it tried. A static program, so that it runs in any
 * image.
 *
 *     attacker CANARY       CANARY: a file of the host, by the host's name
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *canary;

static bool call(long nr, long a, long b, long c, long d, long e)
{
    return syscall(nr, a, b, c, d, e) >= 0;
}

static bool opens(const char *path, int flags)
{
    int fd = open(path, flags | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool reads(const char *path)
{
    char byte;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool ok = fd >= 0 && read(fd, &byte, 1) == 1;
    if (fd >= 0)
        close(fd);
    return ok;
}

static bool writes(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) > 0;
    if (fd >= 0)
        close(fd);
    return ok;
}

static bool makes_node(mode_t kind, unsigned major, unsigned minor)
{
    unlink("/tmp/node");
    return mknod("/tmp/node", kind | 0666, makedev(major, minor)) == 0;
}

static bool sockets(int family, int type)
{
    int fd = socket(family, type, 0);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool enters(const char *space)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/1/ns/%s", space);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && setns(fd, 0) == 0;
}

static bool new_space(int flag)
{
    return unshare(flag) == 0;
}

static bool clones(void)
{
    long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0)
        _exit(0);
    return pid > 0;
}

static bool climbs_out(void)
{
    mkdir("/tmp/jail", 0755);
    int up = open("/", O_RDONLY | O_DIRECTORY);
    if (chroot("/tmp/jail") < 0 || fchdir(up) < 0)
        return false;
    for (int i = 0; i < 64; i++)
        (void)!chdir("..");
    (void)!chroot(".");
    return opens(canary, O_RDONLY);
}

static bool reads_by_root_link(void)
{
    char path[4096];
    static const char *const roots[] = {"/proc/1/root", "/proc/self/root/..",
                                        "/proc/1/cwd/../../../.."};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s%s", roots[i], canary);
        if (opens(path, O_RDONLY))
            return true;
    }
    return opens(canary, O_RDONLY);
}

/* A descriptor that was not closed on the way into the container (CVE-2024-21626). */
static bool has_leaked_fd(void)
{
    DIR *d = opendir("/proc/self/fd");
    bool found = false;
    for (struct dirent *e; d && (e = readdir(d));) {
        long fd = strtol(e->d_name, NULL, 10);
        char to[4096];
        ssize_t n = readlinkat(dirfd(d), e->d_name, to, sizeof to - 1);
        to[n > 0 ? n : 0] = 0;
        if (fd > 2 && fd != dirfd(d))
            found = true;
    }
    if (d)
        closedir(d);
    return found;
}

static bool device_allowed(dev_t d)
{
    static const unsigned char standard[][2] = {{1, 3}, {1, 5}, {1, 7}, {1, 8},
                                                {1, 9}, {5, 0}, {5, 2}};
    for (size_t i = 0; i < sizeof standard / sizeof *standard; i++)
        if (major(d) == standard[i][0] && minor(d) == standard[i][1])
            return true;
    return major(d) == 136;
}

/* Every node in /dev: only the standard ones open. */
static bool opens_strange_device(const char *dir)
{
    DIR *d = opendir(dir);
    bool found = false;
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[4096];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (e->d_name[0] == '.' || lstat(path, &st) < 0)
            continue;
        if (S_ISDIR(st.st_mode))
            found = opens_strange_device(path) || found;
        else if ((S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)) && !device_allowed(st.st_rdev))
            found = opens(path, O_RDWR) || opens(path, O_RDONLY) || found;
    }
    if (d)
        closedir(d);
    return found;
}

static bool attaches(void)
{
    return ptrace(PTRACE_SEIZE, 1, NULL, NULL) == 0 || ptrace(PTRACE_ATTACH, 1, NULL, NULL) == 0;
}

static bool reads_init(void)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)0x400000, 1};
    return process_vm_readv(1, &here, 1, &there, 1, 0) > 0 || opens("/proc/1/mem", O_RDONLY) ||
           opens("/proc/1/environ", O_RDONLY);
}

static bool raises_limit(void)
{
    struct rlimit r;
    getrlimit(RLIMIT_NOFILE, &r);
    r.rlim_max += 1;
    return setrlimit(RLIMIT_NOFILE, &r) == 0;
}

static bool gains_capability(void)
{
    struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct d[2] = {{0}};
    if (syscall(SYS_capget, &h, d) < 0)
        return false;
    d[CAP_SYS_ADMIN / 32].permitted |= 1u << CAP_SYS_ADMIN % 32;
    d[CAP_SYS_ADMIN / 32].effective |= 1u << CAP_SYS_ADMIN % 32;
    return syscall(SYS_capset, &h, d) == 0;
}

#define TRIES                                                                                      \
    T("mount", mount("x", "/tmp", "tmpfs", 0, NULL) == 0)                                          \
    T("remount of /sys", mount(NULL, "/sys", NULL, MS_REMOUNT | MS_BIND, NULL) == 0)               \
    T("umount of a mask", umount2("/proc/keys", 0) == 0 || umount2("/etc/hosts", MNT_DETACH) == 0) \
    T("open_tree", call(428, AT_FDCWD, (long)"/", 1, 0, 0))                                        \
    T("fsopen", call(430, (long)"tmpfs", 0, 0, 0, 0))                                              \
    T("mount_setattr", call(442, AT_FDCWD, (long)"/sys", 0, 0, 0))                                 \
    T("pivot_root", call(SYS_pivot_root, (long)"/", (long)"/tmp", 0, 0, 0))                        \
    T("a mount namespace", new_space(CLONE_NEWNS))                                                 \
    T("a user namespace", new_space(CLONE_NEWUSER))                                                \
    T("a network namespace", new_space(CLONE_NEWNET))                                              \
    T("a cgroup namespace", new_space(CLONE_NEWCGROUP))                                            \
    T("clone into a user namespace", clones())                                                     \
    T("clone3", call(435, 0, 0, 0, 0, 0) || errno != ENOSYS)                                       \
    T("setns mnt", enters("mnt"))                                                                  \
    T("setns user", enters("user"))                                                                \
    T("mknod of memory", makes_node(S_IFCHR, 1, 1))                                                \
    T("mknod of a disk", makes_node(S_IFBLK, 7, 0) || makes_node(S_IFBLK, 254, 0))                 \
    T("mknod of a GPU", makes_node(S_IFCHR, 226, 128))                                             \
    T("bpf", call(SYS_bpf, 0, 0, 0, 0, 0) || errno != EPERM)                                       \
    T("keyctl", call(SYS_keyctl, 0, -3, 0, 0, 0) || errno != EPERM)                                \
    T("add_key", call(SYS_add_key, (long)"user", (long)"x", (long)"y", 1, -3))                     \
    T("userfaultfd", call(SYS_userfaultfd, 0, 0, 0, 0, 0))                                         \
    T("perf_event_open", call(SYS_perf_event_open, 0, 0, -1, -1, 0) || errno != EPERM)             \
    T("io_uring", call(425, 1, 0, 0, 0, 0) || errno != EPERM)                                      \
    T("open_by_handle_at", call(SYS_open_by_handle_at, AT_FDCWD, 0, 0, 0, 0) || errno != EPERM)    \
    T("init_module", call(SYS_init_module, 0, 0, (long)"", 0, 0) || errno != EPERM)                \
    T("kexec_load", call(SYS_kexec_load, 0, 0, 0, 0, 0) || errno != EPERM)                         \
    T("swapon", call(SYS_swapon, (long)"/tmp/x", 0, 0, 0, 0) || errno != EPERM)                    \
    T("quotactl", call(SYS_quotactl, 0, 0, 0, 0, 0) || errno != EPERM)                             \
    T("acct", call(SYS_acct, 0, 0, 0, 0, 0) || errno != EPERM)                                     \
    T("fanotify", call(SYS_fanotify_init, 0, 0, 0, 0, 0) || errno != EPERM)                        \
    T("the kernel's log", klogctl(3, NULL, 0) >= 0 || opens("/dev/kmsg", O_RDONLY))                \
    T("sethostname", sethostname("evil", 4) == 0)                                                  \
    T("the clock", clock_settime(CLOCK_REALTIME, &(struct timespec){1, 0}) == 0)                   \
    T("adjtimex", adjtimex(&(struct timex){.modes = ADJ_OFFSET}) >= 0)                             \
    T("iopl", call(SYS_iopl, 3, 0, 0, 0, 0))                                                       \
    T("raw packets", sockets(AF_PACKET, SOCK_RAW) || sockets(AF_INET, SOCK_RAW))                   \
    T("AF_ALG", sockets(AF_ALG, SOCK_SEQPACKET))                                                   \
    T("AF_VSOCK", sockets(AF_VSOCK, SOCK_STREAM))                                                  \
    T("ptrace of PID 1", attaches())                                                               \
    T("memory of PID 1", reads_init())                                                             \
    T("kcore", reads("/proc/kcore") || reads("/proc/keys") || reads("/proc/timer_list")) \
    T("sysrq", writes("/proc/sysrq-trigger", "h"))                                                 \
    T("core_pattern", writes("/proc/sys/kernel/core_pattern", "|/tmp/x"))                          \
    T("modprobe path", writes("/proc/sys/kernel/modprobe", "/tmp/x"))                              \
    T("uevent_helper", writes("/sys/kernel/uevent_helper", "/tmp/x"))                              \
    T("release_agent", writes("/sys/fs/cgroup/release_agent", "/tmp/x"))                           \
    T("own limits in /sys", writes("/sys/fs/cgroup/memory.max", "max"))                            \
    T("oom_score of PID 1", writes("/proc/1/oom_score_adj", "-1000"))                              \
    T("the agent's init", writes("/.starlease/init", "x") || unlink("/.starlease/init") == 0)      \
    T("the agent's keys", writes("/root/.ssh/authorized_keys", "x"))                               \
    T("the go file", opens("/.starlease/lease/x", O_CREAT | O_WRONLY))                             \
    T("a leaked descriptor", has_leaked_fd())                                                      \
    T("a host file by /proc", reads_by_root_link())                                                \
    T("a strange device", opens_strange_device("/dev"))                                            \
    T("a higher limit", raises_limit())                                                            \
    T("a capability", gains_capability())                                                          \
    T("the whole system's reboot", call(SYS_reboot, 0xfee1dead, 0x28121969, 0, 0, 0))              \
    T("a host file by chroot", climbs_out())

int main(int argc, char **argv)
{
    int n = 0;
    if (argc != 2)
        return 2;
    canary = argv[1];
#define T(name, worked)                                                                            \
    n++;                                                                                           \
    errno = 0;                                                                                     \
    if (worked)                                                                                    \
        printf("worked: %s\n", name);
    TRIES
    printf("%d tries\n", n);
    return 0;
}
