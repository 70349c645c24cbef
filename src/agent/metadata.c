/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/metadata.h"
#include "base/io/crypto.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { CLIENT_MS = 2000 };

static bool copy(char *out, size_t max, const char *p, size_t n)
{
    if (n >= max)
        return false;
    memcpy(out, p, n);
    out[n] = 0;
    return true;
}

/* One header line. False when it is not one. */
static bool header(struct sl_str line, struct metadata_request *r, size_t *body_n)
{
    struct sl_str value = line, name;
    if (!sl_str_cut(&value, ':', &name) || !value.p || name.n == 0 || memchr(name.p, ' ', name.n))
        return false;
    while (value.n && *value.p == ' ')
        value.p++, value.n--;
    if (name.n == 15 && strncasecmp(name.p, "X-Forwarded-For", 15) == 0)
        r->forwarded = true;
    if (name.n == 17 && strncasecmp(name.p, "X-Starlease-Token", 17) == 0)
        return copy(r->token, sizeof r->token, value.p, value.n);
    if (name.n == 17 && strncasecmp(name.p, "Transfer-Encoding", 17) == 0)
        return false;
    if (name.n == 14 && strncasecmp(name.p, "Content-Length", 14) == 0) {
        char text[8];
        long long v;
        if (!copy(text, sizeof text, value.p, value.n) || !sl_parse_i64(text, &v) || v < 0)
            return false;
        *body_n = (size_t)v;
    }
    return true;
}

int metadata_parse(const char *text, size_t n, struct metadata_request *ret)
{
    *ret = (struct metadata_request){0};
    const char *end = n ? memmem(text, n, "\r\n\r\n", 4) : NULL;
    if (!end)
        return n >= METADATA_REQUEST_MAX ? -1 : 0;
    struct sl_str head = {text, (size_t)(end - text)}, line = {0}, piece;
    size_t body_n = 0;
    for (int no = 0; sl_str_cut(&head, '\n', &line); no++) {
        if (line.n && line.p[line.n - 1] == '\r')
            line.n--;
        if (no > 0) {
            if (line.n && !header(line, ret, &body_n))
                return -1;
            continue;
        }
        if (!sl_str_cut(&line, ' ', &piece) ||
            !copy(ret->method, sizeof ret->method, piece.p, piece.n) ||
            !sl_str_cut(&line, ' ', &piece) ||
            !copy(ret->path, sizeof ret->path, piece.p, piece.n) || line.n < 5 ||
            memcmp(line.p, "HTTP/", 5) != 0)
            return -1;
    }
    ret->body = end + 4;
    ret->body_n = body_n;
    size_t have = n - (size_t)(ret->body - text);
    if (body_n > METADATA_METRIC_MAX)
        return -1;
    return have < body_n ? 0 : 1;
}

static void answer(int fd, int status, const char *type, const char *body)
{
    char text[METADATA_REQUEST_MAX];
    int n = snprintf(text, sizeof text,
                     "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                     "Connection: close\r\n\r\n%s",
                     status, status < 300 ? "OK" : "Refused", type, strlen(body), body);
    (void)!send(fd, text, (size_t)(n < (int)sizeof text ? n : (int)sizeof text - 1), MSG_NOSIGNAL);
}

struct service {
    char token[65], instance[4096], nonce[160];
    int metrics;
};

struct metric {
    const char *name, *value, *sha256;
};

/* Checks the tenant's object and sends it on, written anew. */
static int metric_pass(struct service *s, const struct metadata_request *r, struct sl_err *err)
{
    static const struct jr_field fields[] = {
        JR_STR(struct metric, name, "name", JR_REQUIRED, 1, 64),
        JR_STR(struct metric, value, "value", JR_REQUIRED, 1, 256),
        JR_STR(struct metric, sha256, "sha256", JR_REQUIRED, 64, 64),
        {0}};
    SL_AUTO_ARENA struct sl_arena arena = {0};
    SL_AUTO_BUF struct sl_buf b = SL_BUF(METADATA_METRIC_MAX * 2);
    struct metric m = {0};
    if (jr_parse(r->body, r->body_n, fields, &m, &arena, err) < 0)
        return -1;
    if (strspn(m.sha256, "0123456789abcdef") != 64)
        return sl_fail_at(err, SL_INVALID, "sha256", "sha256 must be 64 lower-case hex digits");
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "name", m.name);
    jw_str(&w, "value", m.value);
    jw_str(&w, "sha256", m.sha256);
    jw_end(&w);
    if (b.over || send(s->metrics, b.p, b.n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return sl_fail(err, SL_RATE, "too many metrics at once; try again");
    return 0;
}

static void route(struct service *s, int fd, const struct metadata_request *r)
{
    if (r->forwarded) {
        answer(fd, 403, "text/plain", "requests through a proxy are refused\n");
        return;
    }
    if (sl_streq(r->path, "/v1/token")) {
        if (sl_streq(r->method, "PUT"))
            answer(fd, 200, "text/plain", s->token);
        else
            answer(fd, 405, "text/plain", "use PUT\n");
        return;
    }
    if (strlen(r->token) != 64 || !bytes_equal(r->token, s->token, 64)) {
        answer(fd, 401, "text/plain", "PUT /v1/token, then send it as X-Starlease-Token\n");
        return;
    }
    struct sl_err err = {0};
    if (sl_streq(r->path, "/v1/instance") && sl_streq(r->method, "GET"))
        answer(fd, 200, "application/json", s->instance);
    else if (sl_streq(r->path, "/v1/nonce") && sl_streq(r->method, "GET"))
        answer(fd, 200, "text/plain", s->nonce);
    else if (sl_streq(r->path, "/v1/metric") && sl_streq(r->method, "POST")) {
        if (metric_pass(s, r, &err) == 0)
            answer(fd, 202, "application/json", "{\"accepted\":true}\n");
        else
            answer(fd, sl_code_info(err.code)->http, "text/plain", err.msg);
    } else
        answer(fd, 404, "text/plain", "no such thing\n");
}

static void serve_one(struct service *s, int fd)
{
    char text[METADATA_REQUEST_MAX + METADATA_METRIC_MAX];
    size_t n = 0;
    struct metadata_request r;
    int64_t until = agent_mono_ms() + CLIENT_MS;
    for (;;) {
        int left = (int)(until - agent_mono_ms());
        struct pollfd p = {fd, POLLIN, 0};
        if (left <= 0 || n == sizeof text || poll(&p, 1, left) <= 0)
            return;
        ssize_t got = recv(fd, text + n, sizeof text - n, 0);
        if (got <= 0)
            return;
        n += (size_t)got;
        int whole = metadata_parse(text, n, &r);
        if (whole < 0)
            answer(fd, 400, "text/plain", "malformed request\n");
        else if (whole > 0)
            route(s, fd, &r);
        if (whole != 0)
            return;
    }
}

static int listen_inside(int ns)
{
    const int one = 1;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(80)};
    inet_pton(AF_INET, "169.254.169.254", &at.sin_addr);
    if (setns(ns, CLONE_NEWNET) < 0)
        return -1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
        bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, 32) < 0)
        return -1;
    return fd;
}

static void instance_json(const struct lease_spec *s, bool emulated, struct service *out)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(sizeof out->instance - 1);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "id", s->lease);
    jw_str(&w, "name", s->hostname);
    jw_str(&w, "nonce", s->nonce);
    jw_array(&w, "cards");
    for (int i = 0; i < s->cards_n; i++)
        jw_int(&w, NULL, s->cards[i]);
    jw_end(&w);
    jw_bool(&w, "emulated", emulated);
    jw_end(&w);
    snprintf(out->instance, sizeof out->instance, "%s", sl_buf_str(&b));
    snprintf(out->nonce, sizeof out->nonce, "%s", s->nonce);
}

/* From here on the process parses what a tenant sends: no privilege, no file but its sockets. */
static bool drop_privileges(uid_t uid)
{
    return setgroups(0, NULL) == 0 && setresgid(uid, uid, uid) == 0 &&
           setresuid(uid, uid, uid) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_DUMPABLE, 0) == 0;
}

static _Noreturn void child(struct service *s, int ns, uid_t uid, int ready)
{
    sigset_t none;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int fd = listen_inside(ns);
    /* the highest id of the slot: no file belongs to it */
    char ok = fd >= 0 && drop_privileges(uid + AGENT_UID_RANGE - 1);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of ids clears it */
    if (write(ready, &ok, 1) != 1 || !ok)
        _exit(1);
    close(ready);
    for (;;) {
        int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        if (client < 0 && errno != EINTR && errno != ECONNABORTED)
            _exit(1);
        if (client < 0)
            continue;
        serve_one(s, client);
        close(client);
    }
}

int metadata_start(struct metadata *m, const struct lease_spec *s, bool emulated, pid_t pid,
                   struct sl_err *err)
{
    char path[64], ok = 0;
    uint8_t secret[32];
    struct service service = {0};
    int fds[2], ready[2];
    snprintf(path, sizeof path, "/proc/%d/ns/net", (int)pid);
    SL_AUTO_CLOSE int ns = open(path, O_RDONLY | O_CLOEXEC);
    if (ns < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
        return sl_fail_errno(err, errno, "open %s", path);
    if (pipe2(ready, O_CLOEXEC) < 0)
        return sl_fail_errno(err, errno, "pipe");
    random_bytes(secret, sizeof secret);
    hex_encode(secret, sizeof secret, service.token);
    instance_json(s, emulated, &service);
    service.metrics = fds[1];
    m->pid = fork();
    if (m->pid == 0)
        child(&service, ns, slot_uid((int)s->slot), ready[1]);
    close(ready[1]);
    close(fds[1]);
    m->fd = fds[0];
    bool good = m->pid > 0 && read(ready[0], &ok, 1) == 1 && ok;
    close(ready[0]);
    if (good)
        return 0;
    metadata_stop(m);
    return sl_fail(err, SL_INTERNAL, "the metadata service did not start");
}

void metadata_stop(struct metadata *m)
{
    if (m->fd >= 0)
        close(m->fd);
    if (m->pid > 0) {
        kill(m->pid, SIGKILL);
        waitpid(m->pid, NULL, 0);
    }
    *m = (struct metadata){.fd = -1};
}
