/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"
#include "base/core/mem.h"
#include "base/io/env.h"
#include "base/io/proc.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/stat.h>

const char *agent_path(char out[PATH_MAX], const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(out, PATH_MAX, fmt, ap);
    va_end(ap);
    SL_ASSERT(n > 0 && n < PATH_MAX);
    return out;
}

const char *lease_dir(const struct agent *a, const char *lease, char out[PATH_MAX])
{
    return agent_path(out, "%s/leases/%s", a->run_dir, lease);
}

int agent_dirs(const struct agent *a, struct sl_err *err)
{
    /* RUN may be crossed by mapped users on their way to their own root, but not listed; what is
     * secret in it is mode 0600. */
    static const char *const run_subs[] = {"", "/locks", "/leases", "/crun"};
    static const char *const state_subs[] = {"", "/images", "/volumes", "/shared"};
    char path[PATH_MAX];
    for (size_t i = 0; i < 4; i++) {
        if (dir_make(agent_path(path, "%s%s", a->run_dir, run_subs[i]), 0711, err) < 0)
            return -1;
        if (dir_make(agent_path(path, "%s%s", a->state_dir, state_subs[i]), 0700, err) < 0)
            return -1;
    }
    return 0;
}

int agent_name(const char *name, const char *field, struct sl_err *err)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    static const char rest[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    size_t n = strlen(name);
    if (n < 1 || n > 63 || !strchr(first, name[0]) || strspn(name, rest) != n)
        return sl_fail_at(err, SL_INVALID, field,
                          "%s must be 1 to 63 letters, digits, '.', '_' or '-' and begin with a "
                          "letter, digit or '_'",
                          field);
    return 0;
}

static const char *ip_text(uint32_t ip, char out[IP_TEXT])
{
    snprintf(out, IP_TEXT, "%u.%u.%u.%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255);
    return out;
}

const char *slot_ip(const struct agent *a, int slot, char out[IP_TEXT])
{
    return ip_text(a->net_base + 2 + (uint32_t)slot, out);
}

const char *gateway_ip(const struct agent *a, char out[IP_TEXT])
{
    return ip_text(a->net_base + 1, out);
}

const char *slot_iface(const struct agent *a, int slot, char out[IFACE_TEXT])
{
    snprintf(out, IFACE_TEXT, "%.*s.%d", AGENT_BRIDGE_MAX, a->bridge, slot);
    return out;
}

int64_t agent_now_us(void)
{
    return env_now(env_real());
}
int64_t agent_mono_ms(void)
{
    return env_mono(env_real()) / 1000;
}

bool agent_wait(bool (*fn)(void *arg), void *arg, int wait_ms)
{
    int64_t until = agent_mono_ms() + wait_ms;
    const struct timespec step = {.tv_nsec = 5000000};
    for (;;) {
        if (fn(arg))
            return true;
        if (agent_mono_ms() >= until)
            return false;
        nanosleep(&step, NULL);
    }
}

static bool try_lock(void *arg)
{
    return flock(*(int *)arg, LOCK_EX | LOCK_NB) == 0;
}

int agent_lock(const struct agent *a, const char *name, int wait_ms, int *ret_fd,
               struct sl_err *err)
{
    char path[PATH_MAX];
    agent_path(path, "%s/locks/%s", a->run_dir, name);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return sl_fail_errno(err, errno, "open %s", path);
    if (!agent_wait(try_lock, &fd, wait_ms)) {
        close(fd);
        return sl_fail(err, SL_CONFLICT, "%s is busy with another operation; try again", name);
    }
    *ret_fd = fd;
    return 0;
}

int write_all(int fd, const void *p, size_t n)
{
    const char *c = p;
    while (n) {
        ssize_t w = write(fd, c, n);
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0)
            return -1;
        c += w;
        n -= (size_t)w;
    }
    return 0;
}

int run_write(const char *path, const void *data, size_t n, int mode, struct sl_err *err)
{
    char temp[PATH_MAX];
    agent_path(temp, "%s.new", path);
    SL_AUTO_CLOSE int fd =
        open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode & 0700);
    if (fd < 0 || fchmod(fd, (mode_t)mode) < 0 || write_all(fd, data, n) < 0 ||
        rename(temp, path) < 0)
        return sl_fail_errno(err, errno, "write %s", path);
    return 0;
}
