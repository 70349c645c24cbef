/* SPDX-License-Identifier: Apache-2.0 */
#include "proc.h"
#include "base/core/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { ENV_MAX = 64, ERRS_MAX = 64 * 1024, DEFAULT_TIMEOUT_S = 60 };

static int64_t mono_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void build_env(const struct proc *p, const char **env, char path[4096])
{
    int n = 0;
    const char *have = getenv("PATH");
    snprintf(path, 4096, "PATH=%s",
             have ? have : "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    env[n++] = path;
    env[n++] = "HOME=/nonexistent";
    env[n++] = "LANG=C.UTF-8";
    for (const char *const *e = p->env; e && *e && n < ENV_MAX - 1; e++)
        env[n++] = *e;
    env[n] = NULL;
}

struct pipes {
    int in[2], out[2], errs[2];
};

static void pipes_close(struct pipes *s)
{
    int *all[] = {s->in, s->out, s->errs};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 2; j++)
            if (all[i][j] >= 0)
                close(all[i][j]);
}

static int start(const struct proc *p, struct pipes *s, pid_t *ret_pid)
{
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t at;
    const char *env[ENV_MAX];
    char path[4096];
    build_env(p, env, path);
    posix_spawn_file_actions_init(&fa);
    posix_spawnattr_init(&at);
    if (p->input)
        posix_spawn_file_actions_adddup2(&fa, s->in[0], 0);
    else
        posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&fa, s->out[1], 1);
    posix_spawn_file_actions_adddup2(&fa, s->errs[1], 2);
    posix_spawn_file_actions_addclosefrom_np(&fa, 3);
    if (p->dir)
        posix_spawn_file_actions_addchdir_np(&fa, p->dir);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&at, &none);
    posix_spawnattr_setsigdefault(&at, &all);
    posix_spawnattr_setpgroup(&at, 0);
    posix_spawnattr_setflags(&at, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                      POSIX_SPAWN_SETSIGDEF);
    int rc = posix_spawnp(ret_pid, p->argv[0], &fa, &at, (char *const *)(const void *)p->argv,
                          (char *const *)(const void *)env);
    posix_spawn_file_actions_destroy(&fa);
    posix_spawnattr_destroy(&at);
    return rc;
}

/* Reads what is there; returns false at end of file. Past its maximum the output is read and
 * dropped. */
static bool drain(int fd, struct sl_buf *b)
{
    char chunk[65536];
    ssize_t n = read(fd, chunk, sizeof chunk);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    if (n > 0 && b) {
        size_t room = b->max - b->n;
        sl_buf_add(b, chunk, (size_t)n < room ? (size_t)n : room);
        b->over = b->over || (size_t)n > room;
    }
    return n > 0;
}

/* Moves bytes until the child closed its outputs; false on time-out. */
static bool pump(const struct proc *p, struct pipes *s, struct sl_buf *errs, int64_t end_ms)
{
    size_t sent = 0;
    struct pollfd f[3] = {
        {s->out[0], POLLIN, 0}, {s->errs[0], POLLIN, 0}, {p->input ? s->in[1] : -1, POLLOUT, 0}};
    while (f[0].fd >= 0 || f[1].fd >= 0) {
        int64_t left = end_ms - mono_ms();
        if (left <= 0)
            return false;
        if (poll(f, 3, left > 1000 ? 1000 : (int)left) < 0 && errno != EINTR)
            return false;
        if (f[0].fd >= 0 && f[0].revents && !drain(f[0].fd, p->out))
            f[0].fd = -1;
        if (f[1].fd >= 0 && f[1].revents && !drain(f[1].fd, errs))
            f[1].fd = -1;
        if (f[2].fd >= 0 && f[2].revents) {
            ssize_t n = write(f[2].fd, p->input + sent, p->input_n - sent);
            if (n > 0)
                sent += (size_t)n;
            if (sent == p->input_n || (n < 0 && errno != EINTR && errno != EAGAIN)) {
                close(s->in[1]);
                s->in[1] = f[2].fd = -1;
            }
        }
    }
    return true;
}

static int wait_child(pid_t pid, int64_t end_ms, bool *ret_late)
{
    int st;
    *ret_late = false;
    for (;;) {
        pid_t r = waitpid(pid, &st, *ret_late ? 0 : WNOHANG);
        if (r == pid)
            return WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
        if (r < 0 && errno != EINTR)
            return 255;
        if (!*ret_late && mono_ms() >= end_ms) {
            kill(-pid, SIGKILL);
            *ret_late = true;
        } else if (r == 0) {
            struct timespec ts = {0, 1000000};
            nanosleep(&ts, NULL);
        }
    }
}

static int verdict(struct proc *p, const struct sl_buf *errs, bool late, int limit_s,
                   struct sl_err *err)
{
    if (late)
        return sl_fail(err, SL_TIMEOUT, "%s did not end within %d s; it was stopped", p->argv[0],
                       limit_s);
    if (p->status == 0 || p->any_status)
        return 0;
    return sl_fail(err, SL_INTERNAL, "%s failed with status %d: %.250s", p->argv[0], p->status,
                   sl_buf_str(errs));
}

int proc_run(struct proc *p, struct sl_err *err)
{
    struct pipes s = {{-1, -1}, {-1, -1}, {-1, -1}};
    SL_AUTO_BUF struct sl_buf own = SL_BUF(ERRS_MAX);
    struct sl_buf *errs = p->errs ? p->errs : &own;
    int limit_s = p->timeout_s ? p->timeout_s : DEFAULT_TIMEOUT_S;
    int64_t end_ms = mono_ms() + limit_s * 1000LL;
    pid_t pid;
    if ((p->input && pipe2(s.in, O_CLOEXEC) < 0) || pipe2(s.out, O_CLOEXEC) < 0 ||
        pipe2(s.errs, O_CLOEXEC) < 0) {
        int e = errno;
        pipes_close(&s);
        return sl_fail_errno(err, e, "no pipes to run %s", p->argv[0]);
    }
    if (p->input)
        fcntl(s.in[1], F_SETFL, O_NONBLOCK);
    int rc = start(p, &s, &pid);
    if (rc) {
        pipes_close(&s);
        return rc == ENOENT ? sl_fail(err, SL_UNAVAILABLE,
                                      "%s is not installed; install the package that "
                                      "has it",
                                      p->argv[0])
                            : sl_fail_errno(err, rc, "cannot run %s", p->argv[0]);
    }
    int *child_ends[] = {&s.in[0], &s.out[1], &s.errs[1]};
    for (int i = 0; i < 3; i++)
        if (*child_ends[i] >= 0) {
            close(*child_ends[i]);
            *child_ends[i] = -1;
        }
    bool late = !pump(p, &s, errs, end_ms), late2;
    if (late)
        kill(-pid, SIGKILL);
    p->status = wait_child(pid, late ? mono_ms() + 5000 : end_ms, &late2);
    pipes_close(&s);
    return verdict(p, errs, late || late2, limit_s, err);
}

int file_read(const char *path, size_t max, struct sl_buf *out, struct sl_err *err)
{
    SL_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? sl_fail(err, SL_NOT_FOUND, "%s: no such file", path)
                               : sl_fail_errno(err, errno, "cannot open %s", path);
    size_t total = 0;
    char chunk[65536];
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sl_fail_errno(err, errno, "cannot read %s", path);
        if (n == 0)
            return 0;
        total += (size_t)n;
        if (total > max)
            return sl_fail(err, SL_TOO_LARGE, "%s: larger than %zu bytes", path, max);
        sl_buf_add(out, chunk, (size_t)n);
        if (out->over)
            return sl_fail(err, SL_TOO_LARGE, "%s: larger than %zu bytes", path, out->max);
    }
}

static int write_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t w = write(fd, p, n);
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0)
            return -1;
        p += w, n -= (size_t)w;
    }
    return 0;
}

int file_write(const char *path, const void *data, size_t n, int mode, struct sl_err *err)
{
    SL_AUTO_FREE char *tmp = sl_asprintf("%s.tmp.%d", path, (int)getpid());
    SL_AUTO_CLOSE int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0)
        return sl_fail_errno(err, errno, "cannot write %s", tmp);
    if (fchmod(fd, (mode_t)mode) < 0 || write_all(fd, data, n) < 0 || fsync(fd) < 0 ||
        rename(tmp, path) < 0) {
        int e = errno;
        unlink(tmp);
        return sl_fail_errno(err, e, "cannot write %s", path);
    }
    SL_AUTO_FREE char *dir = sl_strdup(path);
    char *slash = strrchr(dir, '/');
    if (slash)
        slash[slash == dir] = 0;
    SL_AUTO_CLOSE int dfd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dfd < 0 || fsync(dfd) < 0)
        return sl_fail_errno(err, errno, "cannot sync the directory of %s", path);
    return 0;
}

int dir_make(const char *path, int mode, struct sl_err *err)
{
    SL_AUTO_FREE char *p = sl_strdup(path);
    for (char *s = p + 1;; s++) {
        if (*s && *s != '/')
            continue;
        char keep = *s;
        *s = 0;
        if (mkdir(p, (mode_t)mode) < 0 && errno != EEXIST)
            return sl_fail_errno(err, errno, "cannot make directory %s", p);
        if (!keep)
            return 0;
        *s = keep;
    }
}
