/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc.h"
#include "base/core/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

static int64_t mono_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int address(const char *path, struct sockaddr_un *ret, struct sl_err *err)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof ret->sun_path)
        return sl_fail_at(err, SL_INVALID, "socket",
                          "socket: path is over %zu bytes; use a shorter one: %.80s",
                          sizeof ret->sun_path - 1, path);
    memcpy(ret->sun_path, path, strlen(path));
    return 0;
}

static int send_all(int fd, const char *p, size_t n, struct sl_err *err)
{
    while (n) {
        ssize_t w = send(fd, p, n, MSG_NOSIGNAL);
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0)
            return sl_fail(err, SL_UNAVAILABLE, "the other side of the socket is gone");
        p += w, n -= (size_t)w;
    }
    return 0;
}

/* Moves the next whole line from fd (through *b, which keeps what follows it) into *line. */
static int next_line(int fd, struct sl_buf *b, struct sl_buf *line, int64_t end_ms,
                     struct sl_err *err)
{
    sl_buf_clear(line);
    for (;;) {
        char *nl = b->n ? memchr(b->p, '\n', b->n) : NULL;
        if (nl) {
            size_t n = (size_t)(nl - b->p);
            sl_buf_add(line, b->p, n);
            memmove(b->p, nl + 1, b->n - n - 1);
            b->n -= n + 1;
            return 0;
        }
        int64_t left = end_ms - mono_ms();
        struct pollfd f = {fd, POLLIN, 0};
        if (left <= 0)
            return sl_fail(err, SL_TIMEOUT, "the agent did not answer in time");
        if (poll(&f, 1, (int)(left > 60000 ? 60000 : left)) <= 0)
            continue;
        char chunk[16384];
        ssize_t n = recv(fd, chunk, sizeof chunk, 0);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            return sl_fail(err, SL_UNAVAILABLE, "the connection closed before a whole line came");
        sl_buf_add(b, chunk, (size_t)n);
        if (b->over)
            return sl_fail(err, SL_TOO_LARGE, "a line is over %d bytes", RPC_LINE_MAX);
    }
}

static int dial(const char *socket_path, int *ret_fd, struct sl_err *err)
{
    struct sockaddr_un a;
    if (address(socket_path, &a, err) < 0)
        return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return sl_fail_errno(err, errno, "no socket");
    if (connect(fd, (struct sockaddr *)&a, sizeof a) < 0) {
        int e = errno;
        close(fd);
        return sl_fail(err, SL_UNAVAILABLE,
                       "no agent answers at %s (%s); is starlease-agentd running?", socket_path,
                       e == EACCES ? "permission denied" : "connection refused");
    }
    *ret_fd = fd;
    return 0;
}

static int answer(struct jr_doc *doc, const struct jr_val **ret_ok, struct sl_err *err)
{
    const struct jr_val *e = jr_get(jr_root(doc), "error");
    *ret_ok = jr_get(jr_root(doc), "ok");
    if (*ret_ok)
        return 0;
    if (e)
        return sl_fail_at(err, sl_code_by_name(jr_text(jr_get(e, "code"), "")),
                          jr_text(jr_get(e, "field"), ""), "%s",
                          jr_text(jr_get(e, "message"), "the agent refused without a reason"));
    return sl_fail(err, SL_INTERNAL, "the agent's answer has neither ok nor error");
}

int rpc_call(const char *socket_path, const char *request, int timeout_ms,
             void (*progress)(void *arg, const struct jr_val *v), void *arg,
             struct jr_doc **ret_doc, const struct jr_val **ret_ok, struct sl_err *err)
{
    SL_AUTO_CLOSE int fd = -1;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(RPC_LINE_MAX), line = SL_BUF(RPC_LINE_MAX);
    int64_t end_ms = mono_ms() + timeout_ms;
    *ret_doc = NULL;
    if (dial(socket_path, &fd, err) < 0 || send_all(fd, request, strlen(request), err) < 0 ||
        send_all(fd, "\n", 1, err) < 0)
        return -1;
    for (;;) {
        JR_AUTO_DOC struct jr_doc *doc = NULL;
        int rc = next_line(fd, &b, &line, end_ms, err);
        if (rc == 0)
            rc = jr_open(sl_buf_str(&line), line.n, &doc, err);
        if (rc < 0) {
            sl_buf_free(&line);
            return -1;
        }
        const struct jr_val *p = jr_get(jr_root(doc), "progress");
        if (p) {
            if (progress)
                progress(arg, p);
            continue;
        }
        rc = answer(doc, ret_ok, err);
        sl_buf_free(&line);
        if (rc < 0)
            return -1;
        *ret_doc = doc;
        doc = NULL;
        return 0;
    }
}

int rpc_read(int fd, int timeout_ms, struct jr_doc **ret_doc, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(RPC_LINE_MAX);
    struct sl_buf line = SL_BUF(RPC_LINE_MAX);
    int rc = next_line(fd, &b, &line, mono_ms() + timeout_ms, err);
    if (rc == 0)
        rc = jr_open(sl_buf_str(&line), line.n, ret_doc, err);
    sl_buf_free(&line);
    return rc;
}

int rpc_reply_ok(int fd, const char *json, struct sl_err *err)
{
    SL_AUTO_FREE char *line = sl_asprintf("{\"ok\":%s}\n", json);
    return send_all(fd, line, strlen(line), err);
}

void rpc_reply_err(int fd, const struct sl_err *e)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(4096);
    struct jw w = {&b};
    struct sl_err ignored;
    jw_object(&w, NULL);
    jw_object(&w, "error");
    jw_str(&w, "code", sl_code_info(e->code)->name);
    jw_str(&w, "field", e->field);
    jw_str(&w, "message", e->msg);
    jw_end(&w);
    jw_end(&w);
    sl_buf_addc(&b, '\n');
    (void)!send_all(fd, sl_buf_str(&b), b.n, &ignored);
}

int rpc_progress(int fd, const char *json)
{
    struct sl_err ignored;
    SL_AUTO_FREE char *line = sl_asprintf("{\"progress\":%s}\n", json);
    return send_all(fd, line, strlen(line), &ignored);
}

int rpc_listen(const char *socket_path, int mode, int gid, int *ret_fd, struct sl_err *err)
{
    struct sockaddr_un a;
    struct sl_err none;
    int probe;
    if (address(socket_path, &a, err) < 0)
        return -1;
    if (dial(socket_path, &probe, &none) == 0) {
        close(probe);
        return sl_fail(err, SL_CONFLICT, "%s: another agent listens there", socket_path);
    }
    unlink(socket_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return sl_fail_errno(err, errno, "no socket");
    mode_t old = umask(0177);
    int rc = bind(fd, (struct sockaddr *)&a, sizeof a);
    umask(old);
    if (rc < 0 || (gid >= 0 && chown(socket_path, (uid_t)-1, (gid_t)gid) < 0) ||
        chmod(socket_path, (mode_t)mode) < 0 || listen(fd, 128) < 0) {
        int e = errno;
        close(fd);
        return sl_fail_errno(err, e, "cannot listen at %s", socket_path);
    }
    *ret_fd = fd;
    return 0;
}
