/* SPDX-License-Identifier: Apache-2.0
 *
 * starlease-agentd: the root half of the node agent. A Unix socket, peers checked by the kernel's
 * word for who they are, one child per request, a closed list of operations. Running leases belong
 * to their own supervising processes and do not notice when this one ends.
 */
#include "agent/cgroup.h"
#include "agent/guest.h"
#include "agent/net.h"
#include "agent/ops.h"
#include "agent/options.h"
#include "agent/supervise.h"
#include "base/core/log.h"
#include "base/core/mem.h"
#include "base/io/crypto.h"
#include "base/io/proc.h"
#include "base/io/rpc.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { REQUEST_MS = 10000, REFUSED_MS = 500, CHILDREN_MAX = 64 };

static int progress(void *arg, const char *json)
{
    return rpc_progress(*(int *)arg, json);
}

/* In a child: one request, one answer. */
static void serve(const struct agent *a, int fd)
{
    struct sl_err err = {0};
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    SL_AUTO_BUF struct sl_buf request = SL_BUF(RPC_LINE_MAX), out = SL_BUF(RPC_LINE_MAX);
    if (rpc_read(fd, REQUEST_MS, &doc, &err) < 0) {
        rpc_reply_err(fd, &err);
        return;
    }
    jr_write(jr_root(doc), &request);
    struct op_call c = {a, request.p, request.n, progress, &fd, &out};
    if (op_run(&c, &err) < 0) {
        log_info("op.refused", "op=%.40s code=%s error=%s", jr_text(jr_get(jr_root(doc), "op"), ""),
                 sl_code_info(err.code)->name, log_quote(err.msg, (char[LOG_QUOTED]){0}));
        rpc_reply_err(fd, &err);
        return;
    }
    (void)rpc_reply_ok(fd, sl_buf_str(&out), &err);
}

static bool peer_allowed(const struct agent *a, int fd, uid_t *ret_uid)
{
    struct ucred who;
    socklen_t n = sizeof who;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0)
        return false;
    *ret_uid = who.uid;
    bool ok = who.uid == 0 || who.uid == geteuid();
    for (int i = 0; i < a->allow_n; i++)
        ok = ok || a->allow[i] == who.uid;
    return ok;
}

/* Children that serve a request; a supervisor that this process had to start is not one of them. */
struct children {
    pid_t v[CHILDREN_MAX];
    int n;
};

static void child_ended(struct children *c, pid_t pid)
{
    for (int i = 0; i < c->n; i++)
        if (c->v[i] == pid)
            c->v[i--] = c->v[--c->n];
}

/* A stranger's request is read before the refusal, or the kernel drops the answer with it. */
static void refuse(int fd, const struct sl_err *why)
{
    char dropped[4096];
    struct pollfd f = {fd, POLLIN, 0};
    if (poll(&f, 1, REFUSED_MS) > 0)
        while (recv(fd, dropped, sizeof dropped, MSG_DONTWAIT) > 0)
            ;
    rpc_reply_err(fd, why);
}

static void take(const struct agent *a, int listener, struct children *children)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    uid_t uid = (uid_t)-1;
    struct sl_err why = {0};
    if (fd < 0)
        return;
    if (!peer_allowed(a, fd, &uid)) {
        log_warn("peer.refused", "uid=%d", (int)uid);
        sl_fail(&why, SL_FORBIDDEN, "user %d may not give orders to this agent", (int)uid);
    }
    /* strangers get half of the places, so they cannot take those of the control plane */
    pid_t pid = children->n < (why.code ? CHILDREN_MAX / 2 : CHILDREN_MAX) ? fork() : -1;
    if (pid == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        close(listener);
        if (why.code)
            refuse(fd, &why);
        else
            serve(a, fd);
        _exit(0);
    }
    if (pid > 0) {
        children->v[children->n++] = pid;
    } else {
        sl_fail(&why, SL_UNAVAILABLE, "%d operations are under way; try again", children->n);
        rpc_reply_err(fd, &why);
    }
    close(fd);
}

/* Ports of leases that exist; all others go. */
static int reconcile(const struct agent *a, struct sl_err *err)
{
    char **all, dir[PATH_MAX];
    int n = leases_all(a, &all), ports_n = 0;
    int *ports = sl_alloc(sizeof *ports * ((size_t)n + 1));
    for (int i = 0; i < n; i++) {
        SL_AUTO_ARENA struct sl_arena arena = {0};
        struct lease_spec s;
        struct sl_err ignored = {0};
        if (spec_read(lease_dir(a, all[i], dir), &s, &arena, &ignored) == 0)
            ports[ports_n++] = (int)s.host_port;
        free(all[i]);
    }
    free(all);
    int rc = net_reconcile(a, ports, ports_n, err);
    free(ports);
    return rc;
}

static int start(const struct agent *a, int *ret_listener, struct sl_err *err)
{
    char path[PATH_MAX], guest[PATH_MAX];
    snprintf(path, sizeof path, "%.4000s", a->socket);
    if (agent_dirs(a, err) < 0 || dir_make(dirname(path), 0755, err) < 0 || net_up(a, err) < 0 ||
        reconcile(a, err) < 0 || guest_prepare(a, guest, err) < 0)
        return -1;
    struct sl_err e = {0};
    if (leases_take_over(a, &e) < 0) /* said in the log; the node still serves the others */
        log_error("lease.take_over", "error=%s", log_quote(e.msg, (char[LOG_QUOTED]){0}));
    /* anybody may connect: the kernel says who it is, and the list decides */
    return rpc_listen(a->socket, 0666, -1, ret_listener, err);
}

static int daemon_main(const struct agent *a)
{
    struct sl_err err = {0};
    sigset_t set;
    int listener;
    struct children children = {0};
    bool ending = false;
    crypto_init();
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGCHLD);
    if (start(a, &listener, &err) < 0) {
        fprintf(stderr, "starlease-agentd: %s\n", err.msg);
        return sl_code_info(err.code)->exit;
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
    int sigs = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    log_info("agent.ready", "node=%s socket=%s emulated=%s", a->node, a->socket,
             a->emulate ? "true" : "false");
    while (!ending || children.n) {
        struct pollfd f[2] = {{sigs, POLLIN, 0}, {ending ? -1 : listener, POLLIN, 0}};
        struct signalfd_siginfo si;
        if (poll(f, 2, -1) < 0 && errno != EINTR)
            break;
        while (read(sigs, &si, sizeof si) == sizeof si)
            ending = ending || si.ssi_signo != SIGCHLD;
        for (pid_t pid; (pid = waitpid(-1, NULL, WNOHANG)) > 0;)
            child_ended(&children, pid);
        if (f[1].revents)
            take(a, listener, &children);
    }
    unlink(a->socket);
    char **all;
    int left = leases_all(a, &all);
    for (int i = 0; i < left; i++)
        free(all[i]);
    free(all);
    if (left == 0) {
        net_down(a);
        cgroup_parent_remove();
    }
    log_info("agent.ended", "leases=%d", left);
    return 0;
}

static int agentd(const void *globals, const void *opts, int argc, char **argv)
{
    struct agent a;
    struct sl_err err = {0};
    const struct agent_options *o = globals;
    if (agent_from_options(o, &a, &err) < 0) {
        fprintf(stderr, "starlease-agentd: %s\n", err.msg);
        return 2;
    }
    if (geteuid() != 0) {
        fprintf(stderr, "starlease-agentd: must run as root\n");
        return sl_code_info(SL_FORBIDDEN)->exit;
    }
    umask(022);
    return o->supervise ? supervise_main(&a, o->supervise) : daemon_main(&a);
}

int main(int argc, char **argv)
{
    static const struct cmd_verb verbs[] = {
        {"", "", "run operations on this node for the control plane", NULL, 0, agentd, 0, 0}, {0}};
    static const struct cmd_program program = {
        "starlease-agentd", "node agent of Starlease",    verbs,
        agent_option_table, sizeof(struct agent_options), NULL};
    setlocale(LC_CTYPE, "C.UTF-8"); /* names in archives are UTF-8 */
    return cmd_main(&program, argc, argv);
}
