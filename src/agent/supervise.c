/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/supervise.h"
#include "agent/devices.h"
#include "agent/metadata.h"
#include "agent/mount.h"
#include "agent/report.h"
#include "agent/use.h"
#include "base/core/clock.h"
#include "base/core/failpoint.h"
#include "base/core/log.h"
#include "base/io/crypto.h"
#include "base/io/proc.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum {
    BANNER_LIMIT_MS = 60000, /* from start to the sshd's banner */
    BANNER_RETRY_MS = 10,
    RETRY_FIRST_MS = 500, /* a server that does not answer */
    RETRY_MAX_MS = 10000,
    GRACE_S = 10, /* SIGTERM to SIGKILL when the stop is not asked for by an operation */
    METRICS_WAITING = 16,
};

enum phase { PHASE_BANNER, PHASE_READY, PHASE_RUNNING, PHASE_ENDED };

struct sup {
    const struct agent *a;
    const char *dir;
    struct sl_arena arena;
    struct lease_spec spec;
    struct lease_state st;
    enum phase phase;
    int pidfd, sigfd;
    int console; /* the console log, for reading, or -1 */
    struct metadata meta;
    struct report report;
    const char *report_kind; /* of the report under way */
    int64_t next_report_ms, retry_ms, begun_ms;
    char metrics[METRICS_WAITING][METADATA_METRIC_MAX * 2];
    int metrics_n;
    struct use use;
    char use_json[USE_JSON];
    bool stopping; /* asked by an operation: nothing to report */
};

static void save(struct sup *s)
{
    struct sl_err err = {0};
    if (state_write(s->dir, &s->st, &err) < 0)
        log_error("lease.state", "lease=%s error=%s", s->spec.lease,
                  log_quote(err.msg, (char[LOG_QUOTED]){0}));
}

/* The sshd's banner by the way that the tenant takes. */
static bool banner_there(int port)
{
    const struct timeval limit = {.tv_usec = 500000};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    SL_AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char text[8];
    size_t n = 0;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) < 0 ||
        connect(fd, (struct sockaddr *)&at, sizeof at) < 0)
        return false;
    while (n < 4) {
        ssize_t got = recv(fd, text + n, sizeof text - n, 0);
        if (got <= 0)
            return false;
        n += (size_t)got;
    }
    return memcmp(text, "SSH-", 4) == 0;
}

/* crun gives the log to the slot's root, whom the shifted mount of the volume does not know, so it
 * is reached by the descriptor of the container's first process. */
static void console_open(struct sup *s)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/fd/1", (int)s->st.pid);
    s->console = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (s->console >= 0 && (fstat(s->console, &st) < 0 || !S_ISREG(st.st_mode))) {
        close(s->console);
        s->console = -1;
    }
}

/* Keeps the end of the console log where lease.logs finds it after the volume is gone. */
static void console_keep_tail(struct sup *s)
{
    enum { TAIL = 65536 };
    char path[PATH_MAX], *tail = sl_alloc(TAIL);
    struct sl_err ignored = {0};
    off_t size = s->console < 0 ? -1 : lseek(s->console, 0, SEEK_END);
    if (size > 0) {
        ssize_t n = pread(s->console, tail, TAIL, size > TAIL ? size - TAIL : 0);
        if (n > 0)
            (void)run_write(agent_path(path, "%s/log.tail", s->dir), tail, (size_t)n, 0600,
                            &ignored);
    }
    free(tail);
    if (s->console >= 0)
        close(s->console);
    s->console = -1;
}

/* SIGTERM to the container's first process, SIGKILL after the grace. Returns its exit status or -1.
 */
static int container_end(struct sup *s, int grace_s)
{
    struct pollfd f = {s->pidfd, POLLIN, 0};
    siginfo_t info = {0};
    if (s->pidfd < 0)
        return -1;
    syscall(SYS_pidfd_send_signal, s->pidfd, SIGTERM, NULL, 0);
    if (poll(&f, 1, grace_s * 1000) == 0) {
        syscall(SYS_pidfd_send_signal, s->pidfd, SIGKILL, NULL, 0);
        poll(&f, 1, 10000);
    }
    if (waitid((idtype_t)P_PIDFD, (id_t)s->pidfd, &info, WEXITED) == 0 && info.si_pid)
        return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
    return -1;
}

/* Everything of the lease is undone; what remains is to tell. */
static void end(struct sup *s, const char *reason, int exit_code)
{
    struct sl_err err = {0};
    report_cancel(&s->report);
    metadata_stop(&s->meta);
    console_keep_tail(s);
    if (s->pidfd >= 0)
        close(s->pidfd);
    s->pidfd = -1;
    if (lease_undo(s->a, &s->spec, s->dir, &err) < 0)
        log_error("lease.undo", "lease=%s error=%s", s->spec.lease,
                  log_quote(err.msg, (char[LOG_QUOTED]){0}));
    snprintf(s->st.state, sizeof s->st.state, "exited");
    snprintf(s->st.reason, sizeof s->st.reason, "%s", reason);
    s->st.exit_code = exit_code;
    s->st.reported = s->stopping;
    save(s);
    FAILPOINT("agent.ended");
    log_info("lease.ended", "lease=%s epoch=%lld reason=%s status=%d", s->spec.lease,
             (long long)s->spec.epoch, reason, exit_code);
    s->phase = PHASE_ENDED;
    s->next_report_ms = 0;
    s->retry_ms = RETRY_FIRST_MS;
}

static void stop(struct sup *s, const char *reason, int grace_s)
{
    end(s, reason, container_end(s, grace_s));
}

/* The meter runs: GPUs and command. */
static int go(struct sup *s, struct sl_err *err)
{
    char path[PATH_MAX];
    SL_AUTO_FREE struct dev_set *devices = sl_alloc(sizeof *devices);
    FAILPOINT("agent.go");
    if (dev_set_for(s->a, s->spec.cards, s->spec.cards_n, devices, err) < 0 ||
        dev_inject(devices, s->st.pid, agent_path(path, "%s/dev", s->dir),
                   slot_uid((int)s->spec.slot), err) < 0)
        return -1;
    FAILPOINT("agent.devices");
    s->st.go = true;
    s->st.go_us = agent_now_us();
    snprintf(s->st.state, sizeof s->st.state, "running");
    save(s);
    if (run_write(agent_path(path, "%s/guest/go", s->dir), "go\n", 3, 0644, err) < 0)
        return -1;
    FAILPOINT("agent.went");
    s->phase = PHASE_RUNNING;
    s->next_report_ms = agent_mono_ms() + s->spec.heartbeat_s * 1000;
    log_info("lease.running", "lease=%s epoch=%lld", s->spec.lease, (long long)s->spec.epoch);
    return 0;
}

static void answered(struct sup *s, const char *kind, struct report_answer a)
{
    int64_t now = agent_mono_ms();
    struct sl_err err = {0};
    if (a.status == 0 || a.status >= 500 || a.status == 429) { /* tenants outlive a silent server */
        s->retry_ms = s->retry_ms * 2 > RETRY_MAX_MS ? RETRY_MAX_MS : s->retry_ms * 2;
        s->next_report_ms = now + s->retry_ms;
        return;
    }
    s->retry_ms = RETRY_FIRST_MS;
    if (s->phase == PHASE_ENDED) { /* 200, or a refusal that no repetition changes */
        s->st.reported = true;
        save(s);
        return;
    }
    if (sl_streq(kind, "metric")) {
        s->metrics_n--;
        memmove(s->metrics[0], s->metrics[1], sizeof s->metrics[0] * (size_t)s->metrics_n);
    }
    if (a.status == 409 || a.stop) {
        s->stopping = true; /* the server knows */
        stop(s, a.stop ? "stopped by the server" : "stale epoch", GRACE_S);
        return;
    }
    if (a.status != 200) {
        log_warn("report.refused", "lease=%s kind=%s status=%d", s->spec.lease, kind, a.status);
        s->next_report_ms = now + RETRY_MAX_MS;
        return;
    }
    if (a.funded_until_us)
        s->st.funded_until_us = a.funded_until_us;
    s->st.last_alive_us = agent_now_us();
    if (s->phase == PHASE_READY && a.go) {
        if (go(s, &err) < 0) {
            log_error("lease.go", "lease=%s error=%s", s->spec.lease,
                      log_quote(err.msg, (char[LOG_QUOTED]){0}));
            stop(s, err.msg, 0);
        }
        return;
    }
    s->next_report_ms = now + (s->phase == PHASE_READY    ? RETRY_FIRST_MS
                               : sl_streq(kind, "metric") ? 0
                                                          : s->spec.heartbeat_s * 1000);
    save(s);
}

/* Sends what is due. */
static void report_due(struct sup *s)
{
    struct report_facts f = {.exit_code = -1};
    struct sl_err err = {0};
    int64_t now = agent_mono_ms();
    if (s->report.fd >= 0 || now < s->next_report_ms || s->phase == PHASE_BANNER)
        return;
    f.alive_s = s->st.go_us ? (agent_now_us() - s->st.go_us) / SL_SEC : 0;
    f.host_key = s->st.host_key;
    if (s->phase == PHASE_READY)
        f.kind = "ready";
    else if (s->phase == PHASE_RUNNING)
        f.kind = s->metrics_n ? "metric" : "heartbeat";
    else {
        f.kind = s->st.ready_us ? "exit" : "failed";
        f.reason = s->st.reason;
        f.exit_code = s->st.exit_code;
    }
    if (s->phase == PHASE_RUNNING)
        f.use_json = use_look(&s->use, s->a, &s->spec, s->st.pid, s->use_json);
    if (s->metrics_n && s->phase == PHASE_RUNNING)
        f.metric_json = s->metrics[0];
    s->report_kind = f.kind;
    if (report_send(&s->report, s->a, &s->spec, &f, &err) < 0) {
        log_error("report.send", "lease=%s error=%s", s->spec.lease,
                  log_quote(err.msg, (char[LOG_QUOTED]){0}));
        s->next_report_ms = now + RETRY_MAX_MS;
    }
}

static void look_for_banner(struct sup *s)
{
    if (banner_there((int)s->spec.host_port)) {
        s->phase = PHASE_READY;
        s->st.ready_us = s->st.ready_us ? s->st.ready_us : agent_now_us();
        s->next_report_ms = 0;
        save(s);
        FAILPOINT("agent.ready");
    } else if (agent_mono_ms() - s->begun_ms > BANNER_LIMIT_MS) {
        stop(s, "no SSH banner within 60 s", 0);
    }
}

static void metric_take(struct sup *s)
{
    char text[METADATA_METRIC_MAX * 2];
    ssize_t n = recv(s->meta.fd, text, sizeof text - 1, MSG_DONTWAIT);
    if (n <= 0) { /* the service died: start another */
        struct sl_err err = {0};
        metadata_stop(&s->meta);
        if (n == 0 && metadata_start(&s->meta, &s->spec, s->a->emulate, s->st.pid, &err) < 0)
            log_error("metadata.start", "lease=%s error=%s", s->spec.lease,
                      log_quote(err.msg, (char[LOG_QUOTED]){0}));
        return;
    }
    text[n] = 0;
    if (s->metrics_n < METRICS_WAITING) {
        memcpy(s->metrics[s->metrics_n++], text, (size_t)n + 1);
        s->next_report_ms = 0;
    }
}

static int stop_grace(const char *dir)
{
    char path[PATH_MAX];
    SL_AUTO_BUF struct sl_buf b = SL_BUF(32);
    struct sl_err ignored = {0};
    long long v = GRACE_S;
    if (file_read(agent_path(path, "%s/stop", dir), 32, &b, &ignored) == 0)
        sl_parse_i64(sl_buf_str(&b), &v);
    return (int)v;
}

static bool stop_asked(const char *dir)
{
    char path[PATH_MAX];
    return access(agent_path(path, "%s/stop", dir), F_OK) == 0;
}

static int wait_ms(const struct sup *s)
{
    int64_t now = agent_mono_ms(), until = now + 60000;
    if (s->phase == PHASE_BANNER)
        return BANNER_RETRY_MS;
    if (s->report.fd < 0 && s->next_report_ms < until)
        until = s->next_report_ms;
    if (s->st.funded_until_us && s->phase != PHASE_ENDED) {
        int64_t funds = now + (s->st.funded_until_us - agent_now_us()) / 1000 + 1;
        until = funds < until ? funds : until;
    }
    return until <= now ? 0 : (int)(until - now);
}

static void turn(struct sup *s)
{
    struct pollfd f[4] = {{s->sigfd, POLLIN, 0},
                          {s->pidfd, POLLIN, 0},
                          {s->report.fd, POLLIN, 0},
                          {s->meta.fd, POLLIN, 0}};
    struct signalfd_siginfo si;
    poll(f, 4, wait_ms(s));
    if (f[0].revents && read(s->sigfd, &si, sizeof si) == sizeof si && si.ssi_signo == SIGTERM &&
        stop_asked(s->dir) && s->phase != PHASE_ENDED) {
        s->stopping = true;
        stop(s, "stopped", stop_grace(s->dir));
        return;
    }
    if (s->phase == PHASE_ENDED && stop_asked(s->dir))
        s->st.reported = true;
    if (f[1].revents) {
        int status = container_end(s, 0);
        end(s,
            !s->st.go           ? "the container ended before it was ready"
            : s->spec.command.n ? "the command ended"
                                : "the instance ended",
            status);
        return;
    }
    if (f[2].revents) {
        struct report_answer a = report_take(&s->report);
        answered(s, s->report_kind, a);
    }
    if (s->phase != PHASE_ENDED && f[3].revents)
        metric_take(s);
    if (s->phase != PHASE_ENDED && s->st.funded_until_us && agent_now_us() >= s->st.funded_until_us)
        stop(s, "insufficient_funds", GRACE_S);
    if (s->phase == PHASE_BANNER)
        look_for_banner(s);
    if (!s->st.reported)
        report_due(s);
}

/* A container that a dead supervisor left, or a fresh one. */
static int take_over_or_build(struct sup *s, struct sl_err *err)
{
    if (s->st.started && (s->pidfd = process_open(s->st.pid, s->st.pid_start)) >= 0) {
        log_info("lease.reattached", "lease=%s epoch=%lld", s->spec.lease,
                 (long long)s->spec.epoch);
        if (mount_private(err) < 0)
            return -1;
        s->phase = s->st.go ? PHASE_RUNNING : s->st.ready_us ? PHASE_READY : PHASE_BANNER;
        return 0;
    }
    if (s->st.started)
        return sl_fail(err, SL_UNAVAILABLE, "the container ended while nobody supervised it");
    /* An attempt that wrote its bundle may have made a container; an earlier one left only mounts,
     * which ended with its supervisor. */
    char bundle[PATH_MAX];
    if (access(agent_path(bundle, "%s/bundle", s->dir), F_OK) == 0 &&
        lease_undo(s->a, &s->spec, s->dir, err) < 0)
        return -1;
    s->st = (struct lease_state){
        .epoch = s->spec.epoch, .exit_code = -1, .funded_until_us = s->spec.funded_until_us};
    snprintf(s->st.state, sizeof s->st.state, "starting");
    save(s);
    if (lease_build(s->a, &s->spec, s->dir, &s->st, err) < 0)
        return -1;
    s->pidfd = process_open(s->st.pid, s->st.pid_start);
    return s->pidfd < 0 ? sl_fail(err, SL_UNAVAILABLE, "the container ended at once") : 0;
}

static void begin(struct sup *s)
{
    struct sl_err err = {0};
    s->begun_ms = agent_mono_ms();
    s->retry_ms = RETRY_FIRST_MS;
    if (sl_streq(s->st.state, "exited")) {
        s->phase = PHASE_ENDED;
        return;
    }
    if (take_over_or_build(s, &err) < 0 ||
        metadata_start(&s->meta, &s->spec, s->a->emulate, s->st.pid, &err) < 0) {
        log_error("lease.start", "lease=%s error=%s", s->spec.lease,
                  log_quote(err.msg, (char[LOG_QUOTED]){0}));
        stop(s, err.msg, 0);
        return;
    }
    console_open(s);
    if (s->st.go) {
        char path[PATH_MAX];
        (void)run_write(agent_path(path, "%s/guest/go", s->dir), "go\n", 3, 0644, &err);
    }
}

int supervise_main(const struct agent *a, const char *dir)
{
    struct sup *s = sl_alloc(sizeof *s);
    struct sl_err err = {0};
    sigset_t signals;
    int lock;
    *s = (struct sup){
        .a = a, .dir = dir, .pidfd = -1, .console = -1, .meta = {.fd = -1}, .report = {.fd = -1}};
    crypto_init();
    /* The container becomes our child when crun ends, so its exit status reaches us. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    s->sigfd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (state_supervise(dir, &lock, &err) < 0 || spec_read(dir, &s->spec, &s->arena, &err) < 0 ||
        state_read(dir, &s->st, &err) < 0) {
        log_error("supervise", "dir=%s error=%s", dir, log_quote(err.msg, (char[LOG_QUOTED]){0}));
        return 1;
    }
    begin(s);
    while (s->phase != PHASE_ENDED || !s->st.reported)
        turn(s);
    report_cancel(&s->report);
    sl_arena_free(&s->arena);
    free(s);
    close(lock);
    return 0;
}
