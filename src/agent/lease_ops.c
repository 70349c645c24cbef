/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cgroup.h"
#include "agent/mount.h"
#include "agent/net.h"
#include "agent/ops.h"
#include "agent/supervise.h"
#include "agent/volume.h"
#include "base/core/failpoint.h"
#include "base/core/log.h"
#include "base/io/proc.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { SPAWN_WAIT_MS = 10000, STOP_LOCK_MS = 60000, RELEASE_MS = 10000, GRACE_MAX_S = 600 };

/* ---- starting ---- */
static bool supervised(void *arg)
{
    return state_supervised(arg);
}

int supervise_spawn(const struct agent *a, const char *dir, struct sl_err *err)
{
    char log[PATH_MAX], subnet[32], ip[IP_TEXT], copy[PATH_MAX];
    snprintf(subnet, sizeof subnet, "%s/%d", gateway_ip(a, ip), a->net_bits);
    const char *argv[24] = {
        "starlease-agentd", "--supervise", dir,       "--state",    a->state_dir, "--run",
        a->run_dir,         "--node",      a->node,   "--kfd-root", a->kfd_root,  "--dev-root",
        a->dev_root,        "--bridge",    a->bridge, "--subnet",   subnet};
    int n = 17;
    if (a->emulate)
        argv[n++] = "--emulate";
    if (a->ca_file) {
        argv[n++] = "--ca-file";
        argv[n++] = a->ca_file;
    }
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t at;
    sigset_t none;
    pid_t pid;
    sigemptyset(&none);
    agent_path(log, "%s/supervisor.log", dir);
    posix_spawn_file_actions_init(&fa);
    posix_spawnattr_init(&at);
    posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&fa, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&fa, 1, 2);
    posix_spawn_file_actions_addclosefrom_np(&fa, 3);
    posix_spawnattr_setsigmask(&at, &none);
    posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    int rc =
        posix_spawn(&pid, "/proc/self/exe", &fa, &at, (char *const *)(const void *)argv, environ);
    posix_spawn_file_actions_destroy(&fa);
    posix_spawnattr_destroy(&at);
    if (rc)
        return sl_fail_errno(err, rc, "start a supervisor");
    snprintf(copy, sizeof copy, "%s", dir);
    if (!agent_wait(supervised, copy, SPAWN_WAIT_MS))
        return sl_fail(err, SL_TIMEOUT, "the supervisor did not come up; see %s", log);
    return 0;
}

/* Two leases never share a slot, a port, a volume or a card, whatever the server asks for. */
static int clash(const struct agent *a, const struct lease_spec *s, struct sl_err *err)
{
    char **all, dir[PATH_MAX];
    int n = leases_all(a, &all), rc = 0;
    for (int i = 0; i < n; i++) {
        SL_AUTO_ARENA struct sl_arena arena = {0};
        struct lease_spec o;
        struct lease_state st;
        struct sl_err ignored = {0};
        bool other = rc == 0 && !sl_streq(all[i], s->lease) &&
                     state_read(lease_dir(a, all[i], dir), &st, &ignored) == 0 &&
                     !sl_streq(st.state, "exited") && spec_read(dir, &o, &arena, &ignored) == 0;
        free(all[i]);
        if (!other)
            continue;
        const char *what = o.slot == s->slot                     ? "slot"
                           : o.host_port == s->host_port         ? "host_port"
                           : sl_streq(o.volume.id, s->volume.id) ? "volume"
                                                                 : NULL;
        for (int c = 0; c < o.cards_n; c++)
            for (int k = 0; k < s->cards_n; k++)
                what = o.cards[c] == s->cards[k] ? "cards" : what;
        if (what)
            rc = sl_fail_at(err, SL_CONFLICT, what, "%s is in use by lease %s", what, o.lease);
    }
    free(all);
    return rc;
}

/* ---- ending ---- */
struct releasing {
    const struct agent *a;
    const struct lease_spec *s;
    const char *dir;
};

static bool released(void *arg)
{
    const struct releasing *r = arg;
    char file[PATH_MAX];
    return !loop_in_use(volume_file(r->a, r->s->volume.id, file)) &&
           !net_attached(r->a, (int)r->s->slot) && !cgroup_exists(r->s->lease);
}

static void dir_remove(const char *dir)
{
    DIR *d = opendir(dir);
    char path[PATH_MAX + 300];
    for (struct dirent *e; d && (e = readdir(d));) {
        if (sl_streq(e->d_name, ".") || sl_streq(e->d_name, ".."))
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (unlink(path) < 0 && (errno == EISDIR || errno == EPERM))
            dir_remove(path);
    }
    if (d)
        closedir(d);
    rmdir(dir);
}

static bool unsupervised(void *arg)
{
    return !state_supervised(arg);
}

/* The lock's owner is the only process with this argument, and it is found by that. */
static pid_t supervisor_pid(const char *dir)
{
    DIR *d = opendir("/proc");
    pid_t found = 0;
    for (struct dirent *e; d && !found && (e = readdir(d));) {
        long long pid;
        char path[64], text[PATH_MAX + 64];
        if (!sl_parse_i64(e->d_name, &pid))
            continue;
        snprintf(path, sizeof path, "/proc/%lld/cmdline", pid);
        SL_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
        if (n <= 0)
            continue;
        text[n] = 0;
        const char *second = text + strlen(text) + 1;
        if (second >= text + n || !sl_streq(second, "--supervise"))
            continue;
        const char *third = second + strlen(second) + 1;
        if (third < text + n && sl_streq(third, dir))
            found = (pid_t)pid;
    }
    if (d)
        closedir(d);
    return found;
}

/* Supervisor and container end; then everything is undone here once more, which does nothing when
 * the supervisor did it, and all when it was dead. */
static int lease_end(const struct agent *a, const char *lease, int grace_s, struct sl_err *err)
{
    char dir[PATH_MAX], path[PATH_MAX], text[32];
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct lease_spec s;
    lease_dir(a, lease, dir);
    if (spec_read(dir, &s, &arena, err) < 0)
        return -1;
    snprintf(text, sizeof text, "%d", grace_s);
    if (run_write(agent_path(path, "%s/stop", dir), text, strlen(text), 0600, err) < 0)
        return -1;
    FAILPOINT("agent.stop_marked");
    if (state_supervised(dir)) {
        pid_t pid = supervisor_pid(dir);
        if (pid > 0)
            kill(pid, SIGTERM);
        if (!agent_wait(unsupervised, dir, grace_s * 1000 + 15000) && pid > 0) {
            log_warn("supervisor.killed", "lease=%s pid=%d", lease, (int)pid);
            kill(pid, SIGKILL);
            agent_wait(unsupervised, dir, 5000);
        }
    }
    FAILPOINT("agent.stop_unsupervised");
    if (lease_undo(a, &s, dir, err) < 0)
        return -1;
    struct releasing r = {a, &s, dir};
    if (!agent_wait(released, &r, RELEASE_MS))
        return sl_fail(err, SL_TIMEOUT, "lease %s does not let go of its disk or network", lease);
    dir_remove(dir);
    FAILPOINT("agent.stopped");
    return 0;
}

static int lease_fresh(const struct agent *a, const struct lease_spec *s, struct sl_err *err)
{
    char dir[PATH_MAX];
    struct lease_state st = {
        .epoch = s->epoch, .exit_code = -1, .funded_until_us = s->funded_until_us};
    SL_AUTO_CLOSE int all = -1;
    snprintf(st.state, sizeof st.state, "starting");
    if (agent_lock(a, "leases", STOP_LOCK_MS, &all, err) < 0 || clash(a, s, err) < 0 ||
        dir_make(lease_dir(a, s->lease, dir), 0711, err) < 0)
        return -1;
    FAILPOINT("agent.start_dir");
    if (spec_write(s, dir, err) < 0 || state_write(dir, &st, err) < 0)
        return -1;
    FAILPOINT("agent.start_written");
    return supervise_spawn(a, dir, err);
}

int op_lease_start(struct op_call *c, struct sl_err *err)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    SL_AUTO_CLOSE int lock = -1;
    struct lease_spec s;
    struct lease_state st;
    struct sl_err none = {0};
    char dir[PATH_MAX], lock_name[80];
    if (spec_parse(c->json, c->n, &s, &arena, err) < 0)
        return -1;
    snprintf(lock_name, sizeof lock_name, "lease-%s", s.lease);
    if (agent_lock(c->a, lock_name, STOP_LOCK_MS, &lock, err) < 0)
        return -1;
    if (state_read(lease_dir(c->a, s.lease, dir), &st, &none) == 0) {
        if (s.epoch < st.epoch)
            return sl_fail_at(err, SL_CONFLICT, "epoch", "epoch %lld is older than %lld",
                              (long long)s.epoch, (long long)st.epoch);
        if (s.epoch == st.epoch) {
            if (!state_supervised(dir) && !sl_streq(st.state, "exited") &&
                supervise_spawn(c->a, dir, err) < 0)
                return -1;
            sl_buf_adds(c->out, "{\"started\":true}");
            return 0;
        }
        if (lease_end(c->a, s.lease, 5, err) < 0)
            return -1;
    }
    if (lease_fresh(c->a, &s, err) < 0)
        return -1;
    sl_buf_adds(c->out, "{\"started\":true}");
    return 0;
}

struct stop_args {
    const char *op, *node, *lease;
    int64_t epoch, grace_s, tail_bytes;
};
static const struct jr_field stop_fields[] = {
    JR_STR(struct stop_args, op, "op", 0, 1, 64),
    JR_STR(struct stop_args, node, "node", 0, 1, 64),
    JR_STR(struct stop_args, lease, "lease", JR_REQUIRED, 1, 63),
    JR_INT(struct stop_args, epoch, "epoch", JR_REQUIRED, 1, 1LL << 40),
    JR_INT(struct stop_args, grace_s, "grace_s", 0, 0, GRACE_MAX_S),
    {0}};

int op_lease_stop(struct op_call *c, struct sl_err *err)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    SL_AUTO_CLOSE int lock = -1;
    struct stop_args g = {0};
    struct lease_state st;
    struct sl_err none = {0};
    char dir[PATH_MAX], lock_name[80];
    if (jr_parse(c->json, c->n, stop_fields, &g, &arena, err) < 0 ||
        agent_name(g.lease, "lease", err) < 0)
        return -1;
    snprintf(lock_name, sizeof lock_name, "lease-%s", g.lease);
    if (agent_lock(c->a, lock_name, STOP_LOCK_MS, &lock, err) < 0)
        return -1;
    if (state_read(lease_dir(c->a, g.lease, dir), &st, &none) == 0) {
        if (g.epoch < st.epoch)
            return sl_fail_at(err, SL_CONFLICT, "epoch", "epoch %lld is older than %lld",
                              (long long)g.epoch, (long long)st.epoch);
        if (lease_end(c->a, g.lease, (int)g.grace_s, err) < 0)
            return -1;
    } else {
        dir_remove(dir); /* a start that died before its first state */
    }
    sl_buf_adds(c->out, "{\"stopped\":true}");
    return 0;
}

/* ---- listing ---- */
static void lease_row(struct jw *w, const char *lease, const struct lease_state *st)
{
    jw_object(w, NULL);
    jw_str(w, "lease", lease);
    jw_int(w, "epoch", st->epoch);
    jw_str(w, "state", st->state);
    jw_int(w, "ready_us", st->ready_us);
    jw_int(w, "last_alive_us", st->last_alive_us);
    jw_int(w, "exit_code", st->exit_code);
    jw_str(w, "reason", st->reason);
    jw_end(w);
}

static int take_over(const struct agent *a, const char *lease, struct jw *w, struct sl_err *err)
{
    char dir[PATH_MAX], lock_name[80];
    struct lease_state st;
    struct sl_err none = {0};
    snprintf(lock_name, sizeof lock_name, "lease-%s", lease);
    if (state_read(lease_dir(a, lease, dir), &st, &none) < 0)
        return 0;
    if (!state_supervised(dir) && !st.reported) {
        SL_AUTO_CLOSE int lock = -1;
        /* a start or stop that is under way deals with it itself */
        if (agent_lock(a, lock_name, 0, &lock, &none) == 0 && access(dir, F_OK) == 0 &&
            !state_supervised(dir) && supervise_spawn(a, dir, err) < 0)
            return -1;
    }
    if (w)
        lease_row(w, lease, &st);
    return 0;
}

static int each_lease(const struct agent *a, struct jw *w, struct sl_err *err)
{
    char **all;
    int n = leases_all(a, &all), rc = 0;
    for (int i = 0; i < n; i++) {
        struct sl_err e = {0};
        if (take_over(a, all[i], w, &e) < 0) {
            log_error("lease.take_over", "lease=%s error=%s", all[i],
                      log_quote(e.msg, (char[LOG_QUOTED]){0}));
            *err = e;
            rc = -1;
        }
        free(all[i]);
    }
    free(all);
    return rc;
}

int leases_take_over(const struct agent *a, struct sl_err *err)
{
    return each_lease(a, NULL, err);
}

int op_lease_list(struct op_call *c, struct sl_err *err)
{
    struct jw w = {c->out};
    struct sl_err ignored = {0}; /* one lease that cannot be taken over hides no other */
    jw_object(&w, NULL);
    jw_array(&w, "leases");
    each_lease(c->a, &w, &ignored);
    jw_end(&w);
    jw_end(&w);
    return 0;
}

int leases_running(const struct agent *a)
{
    char **all, dir[PATH_MAX];
    int n = leases_all(a, &all), running = 0;
    for (int i = 0; i < n; i++) {
        struct lease_state st;
        struct sl_err none = {0};
        running +=
            state_read(lease_dir(a, all[i], dir), &st, &none) == 0 && !sl_streq(st.state, "exited");
        free(all[i]);
    }
    free(all);
    return running;
}

pid_t lease_with_volume(const struct agent *a, const char *volume, char ret_dir[PATH_MAX])
{
    char **all, dir[PATH_MAX];
    int n = leases_all(a, &all);
    pid_t pid = 0;
    for (int i = 0; i < n; i++) {
        SL_AUTO_ARENA struct sl_arena arena = {0};
        struct lease_spec s;
        struct lease_state st;
        struct sl_err none = {0};
        if (!pid && state_read(lease_dir(a, all[i], dir), &st, &none) == 0 &&
            !sl_streq(st.state, "exited") && spec_read(dir, &s, &arena, &none) == 0 &&
            sl_streq(s.volume.id, volume)) {
            pid = supervisor_pid(dir);
            snprintf(ret_dir, PATH_MAX, "%s", dir);
        }
        free(all[i]);
    }
    free(all);
    return pid;
}

bool card_in_use(const struct agent *a, int card, const char *except)
{
    char **all, dir[PATH_MAX];
    int n = leases_all(a, &all);
    bool used = false;
    for (int i = 0; i < n; i++) {
        SL_AUTO_ARENA struct sl_arena arena = {0};
        struct lease_spec s;
        struct lease_state st;
        struct sl_err none = {0};
        if (!sl_streq(all[i], except) && state_read(lease_dir(a, all[i], dir), &st, &none) == 0 &&
            !sl_streq(st.state, "exited") && spec_read(dir, &s, &arena, &none) == 0)
            for (int k = 0; k < s.cards_n; k++)
                used = used || s.cards[k] == card;
        free(all[i]);
    }
    free(all);
    return used;
}

/* ---- logs ---- */
static const struct jr_field logs_fields[] = {
    JR_STR(struct stop_args, op, "op", 0, 1, 64),
    JR_STR(struct stop_args, node, "node", 0, 1, 64),
    JR_STR(struct stop_args, lease, "lease", JR_REQUIRED, 1, 63),
    JR_INT(struct stop_args, tail_bytes, "tail_bytes", 0, 1, 1 << 20),
    {0}};

/* The console of a running lease is its first process' stdout, which no tenant can replace. */
static int console_open(const char *dir, const struct lease_state *st)
{
    char path[PATH_MAX];
    struct stat info;
    if (process_is(st->pid, st->pid_start)) {
        int fd = open(agent_path(path, "/proc/%d/fd/1", (int)st->pid),
                      O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
            return fd;
        if (fd >= 0)
            close(fd);
    }
    return open(agent_path(path, "%s/log.tail", dir), O_RDONLY | O_CLOEXEC);
}

int op_lease_logs(struct op_call *c, struct sl_err *err)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct stop_args g = {.tail_bytes = 65536};
    struct lease_state st;
    char dir[PATH_MAX];
    if (jr_parse(c->json, c->n, logs_fields, &g, &arena, err) < 0 ||
        agent_name(g.lease, "lease", err) < 0 ||
        state_read(lease_dir(c->a, g.lease, dir), &st, err) < 0)
        return -1;
    SL_AUTO_CLOSE int fd = console_open(dir, &st);
    SL_AUTO_FREE char *text = sl_alloc((size_t)g.tail_bytes + 1);
    off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    ssize_t n = size <= 0 ? 0
                          : pread(fd, text, (size_t)g.tail_bytes,
                                  size > g.tail_bytes ? size - g.tail_bytes : 0);
    struct jw w = {c->out};
    jw_object(&w, NULL);
    jw_strn(&w, "text", text, n > 0 ? (size_t)n : 0);
    jw_end(&w);
    return 0;
}
