/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http.h"
#include "base/core/log.h"
#include "server/auth.h"
#include "server/event.h"
#include "server/listen.h"
#include "server/metric.h"
#include "server/pool.h"
#include "server/router.h"
#include "server/session.h"
#include "server/signup.h"
#include "server/static.h"
#include "server/tls.h"
#include <arpa/inet.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

enum {
    LISTENERS_MAX = 8,
    BODY_DISCARD_MAX = 16 << 20, /* a body over the limit is read so far, to answer politely */
    QUEUE_MAX = 1024,
    SLOW_THREADS = 4, /* password hashing (2 at once) and the identity service */
    PING_S = 15,
    HOUSEKEEPING_S = 60,
    WAKE_ROWS = 500,
};

/* A suspended connection that waits for events of an account. Under http.lock. */
struct waiter {
    struct waiter *prev, *next;
    struct MHD_Connection *conn;
    char account_id[ID_TEXT];
    bool all;              /* an operator: every account's */
    bool woken, suspended; /* woken: look again before the next suspend */
    bool stream;
    int64_t until_us; /* monotonic: look again then at the latest */
};

/* A connection. Under http.lock. */
struct peer {
    struct peer *prev, *next;
    int fd;
    bool receiving;   /* a request is awaited or half there */
    int64_t since_us; /* monotonic: since then */
};

struct http {
    struct server *s;
    struct MHD_Daemon *daemons[LISTENERS_MAX];
    int n;
    struct sl_buf urls, tls_addresses;
    struct pool *writers, *slow;
    pthread_t waker;
    bool waker_runs;
    pthread_mutex_t lock;
    pthread_cond_t idle;    /* calls became 0 */
    struct waiter *waiters; /* under lock */
    struct peer *peers;     /* under lock */
    int calls;              /* requests that are not finished; under lock */
    _Atomic bool stopping;
    uint32_t boot; /* random: the first half of request ids */
    _Atomic uint32_t count;
};

enum call_state { CALL_HEAD, CALL_BODY, CALL_POOL, CALL_WAIT, CALL_READY };
struct call {
    struct http *h;
    struct MHD_Connection *conn;
    struct peer *peer;
    enum call_state state;
    char *target;
    const char *method, *path, *expect, *cookie;
    char session[SESSION_AUTH_TEXT];
    struct sl_arena arena, run_arena; /* the request; one run of the router */
    struct req req;
    struct reply out;
    struct sl_buf body;
    size_t received;
    long long content_length;
    bool bad_head; /* what is wrong is in head_err */
    struct sl_err head_err;
    int64_t start_us;
    char id[24], address[INET6_ADDRSTRLEN];
    bool armed; /* wait is in the list */
    struct waiter wait;
    char base_etag[80];
};

/* ---- waiting ---- */
static void waiter_add(struct http *h, struct waiter *w)
{
    w->prev = NULL;
    w->next = h->waiters;
    if (w->next)
        w->next->prev = w;
    h->waiters = w;
}

static void waiter_remove(struct http *h, struct waiter *w)
{
    if (w->prev)
        w->prev->next = w->next;
    else
        h->waiters = w->next;
    if (w->next)
        w->next->prev = w->prev;
}

static void wake(struct waiter *w)
{
    w->woken = true;
    if (!w->suspended)
        return;
    w->suspended = false;
    MHD_resume_connection(w->conn);
}

/* Suspends unless something happened since the waiter was last looked at. */
static bool sleep_or_again(struct http *h, struct waiter *w)
{
    pthread_mutex_lock(&h->lock);
    bool again = w->woken || h->stopping;
    w->woken = false;
    if (!again) {
        w->suspended = true;
        MHD_suspend_connection(w->conn);
    }
    pthread_mutex_unlock(&h->lock);
    return !again;
}

struct news {
    struct http *h;
    int64_t last; /* event seq */
};

static int read_news(struct db_c *c, void *arg, struct sl_err *err)
{
    struct news *n = arg;
    struct db_q q;
    int rc;
    if (db_query(c, &q, err,
                 "SELECT seq, account_id FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2", "ii",
                 n->last, (int64_t)WAKE_ROWS) < 0)
        return -1;
    while ((rc = db_next(&q, err)) > 0) {
        n->last = db_int(&q, 0);
        pthread_mutex_lock(&n->h->lock);
        for (struct waiter *w = n->h->waiters; w; w = w->next)
            if (w->all || sl_streq(w->account_id, db_text(&q, 1)))
                wake(w);
        pthread_mutex_unlock(&n->h->lock);
    }
    db_done(&q);
    return rc < 0 ? -1 : 0;
}

static int last_seq(struct db_c *c, void *arg, struct sl_err *err)
{
    return db_value(c, 0, arg, err, "SELECT MAX(seq) FROM event", "");
}

static void housekeeping(struct server *s)
{
    struct sl_err err = {0};
    char quoted[LOG_QUOTED];
    if (auth_flush_used(s, &err) < 0 || signup_purge(s, &err) < 0)
        log_warn("housekeeping.failed", "error=%s", log_quote(err.msg, quoted));
}

/* Whoever sends a request byte by byte is cut off: a request has to be there within conf.receive_s
 * of the connection's begin or of the last answer. */
static void cut_slow_senders(struct http *h, int64_t now)
{
    for (struct peer *p = h->peers; p; p = p->next)
        if (p->receiving && now - p->since_us > h->s->conf.receive_s * SL_SEC) {
            shutdown(p->fd, SHUT_RDWR);
            p->receiving = false;
        }
}

static void *waker_main(void *arg)
{
    struct http *h = arg;
    struct news news = {.h = h};
    struct sl_err err = {0};
    uint64_t seen = 0;
    int64_t swept = env_mono(h->s->env);
    db_read(h->s->db, last_seq, &news.last, &err);
    while (!h->stopping) {
        pthread_mutex_lock(&h->lock);
        bool anyone = h->waiters != NULL;
        pthread_mutex_unlock(&h->lock);
        seen = bus_wait(h->s->bus, seen, anyone ? 250 : 1000);
        if (db_read(h->s->db, read_news, &news, &err) < 0)
            log_warn("events.failed", "code=%s", sl_code_info(err.code)->name);
        int64_t now = env_mono(h->s->env);
        pthread_mutex_lock(&h->lock);
        for (struct waiter *w = h->waiters; w; w = w->next)
            if (w->until_us <= now)
                wake(w);
        cut_slow_senders(h, now);
        pthread_mutex_unlock(&h->lock);
        if (now - swept > HOUSEKEEPING_S * SL_SEC) {
            housekeeping(h->s);
            swept = now;
        }
    }
    housekeeping(h->s);
    return NULL;
}

/* ---- answers ---- */
static void access_line(struct call *c, size_t bytes)
{
    char quoted[LOG_QUOTED];
    const struct caller *who = &c->req.caller;
    int64_t us = env_mono(c->h->s->env) - c->start_us;
    metric_http(c->req.route, c->out.status, us);
    log_info("http.request",
             "id=%s method=%.16s path=%s status=%d us=%lld bytes=%zu addr=%s%s%s%s%s", c->id,
             c->method, log_quote(c->path ? c->path : "", quoted), c->out.status, (long long)us,
             bytes, c->address, *who->account_id ? " account=" : "", who->account_id,
             c->out.status >= 400 ? " code=" : "",
             c->out.status >= 400 ? sl_code_info(c->out.err.code)->name : "");
}

static void header(struct MHD_Response *r, const char *name, const char *value)
{
    if (value && *value)
        MHD_add_response_header(r, name, value);
}

static enum MHD_Result send_response(struct call *c, struct MHD_Response *r, size_t bytes)
{
    header(r, "X-Request-Id", c->id);
    header(r, "X-Content-Type-Options", "nosniff");
    access_line(c, bytes);
    enum MHD_Result rc = MHD_queue_response(c->conn, (unsigned)c->out.status, r);
    MHD_destroy_response(r);
    return rc;
}

static enum MHD_Result respond(struct call *c)
{
    struct reply *o = &c->out;
    size_t n = o->body.n;
    struct MHD_Response *r =
        n ? MHD_create_response_from_buffer(n, o->body.p, MHD_RESPMEM_MUST_FREE)
          : MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
    if (n)
        o->body = (struct sl_buf){0}; /* the response owns the bytes now */
    char seconds[24];
    if (n)
        header(r, "Content-Type", o->content_type);
    header(r, "ETag", o->etag);
    header(r, "Location", o->location);
    header(r, "Set-Cookie", o->set_cookie);
    header(r, "Allow", o->allow);
    header(r, "Cache-Control", *o->etag ? "no-cache" : "no-store");
    if (o->retry_after_s > 0) {
        snprintf(seconds, sizeof seconds, "%lld", (long long)o->retry_after_s);
        header(r, "Retry-After", seconds);
    }
    if (o->replayed)
        header(r, "Idempotent-Replay", "true");
    if (o->status == 401)
        header(r, "WWW-Authenticate", "Bearer");
    return send_response(c, r, n);
}

static enum MHD_Result respond_err(struct call *c, const struct sl_err *err)
{
    c->out.body.max = c->out.stored.max = 64 * 1024;
    reply_problem(&c->out, &c->req, err);
    return respond(c);
}

/* The console's files: compressed when the program was built, the same for everybody. */
static enum MHD_Result respond_static(struct call *c)
{
    struct sl_err err = {0};
    struct reply *o = &c->out;
    if (!sl_streq(c->method, "GET") && !sl_streq(c->method, "HEAD")) {
        sl_fail(&err, SL_METHOD, "method: %.16s is not available on %.100s; use GET", c->method,
                c->path);
        snprintf(o->allow, sizeof o->allow, "GET");
        return respond_err(c, &err);
    }
    if (sl_streq(c->path, "/")) {
        o->status = 302;
        snprintf(o->location, sizeof o->location, STATIC_HOME);
        return respond(c);
    }
    const struct static_file *f = static_find(c->path);
    if (!f) {
        sl_fail(&err, SL_NOT_FOUND, "path: there is no %.100s; see " STATIC_HOME, c->path);
        return respond_err(c, &err);
    }
    bool same = c->req.if_none_match && strstr(c->req.if_none_match, f->etag);
    o->status = same ? 304 : 200;
    struct MHD_Response *r =
        MHD_create_response_from_buffer(same ? 0 : f->n, (void *)f->bytes, MHD_RESPMEM_PERSISTENT);
    header(r, "Content-Type", f->type);
    header(r, "Content-Encoding", same ? "" : "gzip");
    header(r, "ETag", f->etag);
    /* the page names its files with their hash as a query: those never change */
    header(r, "Cache-Control",
           req_query(&c->req, "v") ? "public, max-age=31536000, immutable" : "no-cache");
    header(r, "Content-Security-Policy", static_csp);
    header(r, "Referrer-Policy", "no-referrer");
    header(r, "Cross-Origin-Opener-Policy", "same-origin");
    return send_response(c, r, same ? 0 : f->n);
}

/* ---- streams of events ---- */
struct stream {
    struct waiter wait;
    struct http *h;
    struct caller who;
    char *authorization; /* looked up again at every turn: a revoked token ends the stream */
    int64_t after, ping_us;
    struct sl_buf buf;
    size_t off;
    bool refused;
};

static int stream_step(struct db_c *c, void *arg, struct sl_err *err)
{
    struct stream *t = arg;
    struct db_q q;
    struct caller who;
    int rc;
    sl_buf_clear(&t->buf);
    t->refused =
        auth_caller(c, t->h->s, t->authorization, NULL, &who, err) < 0 || who.role == ROLE_ANYONE;
    if (t->refused || events_after(c, &t->who, t->after, 100, &q, err) < 0)
        return -1;
    while ((rc = db_next(&q, err)) > 0) {
        struct jw w = {.b = &t->buf};
        t->after = db_int(&q, 0);
        sl_buf_printf(&t->buf, "id: %lld\nevent: %s\ndata: ", (long long)t->after, db_text(&q, 5));
        event_write(&w, NULL, &q);
        sl_buf_adds(&t->buf, "\n\n");
    }
    db_done(&q);
    return rc < 0 ? -1 : 0;
}

static ssize_t stream_read(void *cls, uint64_t pos, char *out, size_t max)
{
    struct stream *t = cls;
    struct sl_err err = {0};
    (void)pos;
    for (;;) {
        if (t->off < t->buf.n) {
            size_t n = t->buf.n - t->off < max ? t->buf.n - t->off : max;
            memcpy(out, t->buf.p + t->off, n);
            t->off += n;
            return (ssize_t)n;
        }
        if (t->h->stopping)
            return MHD_CONTENT_READER_END_OF_STREAM;
        t->off = 0;
        if (db_read(t->h->s->db, stream_step, t, &err) < 0)
            return MHD_CONTENT_READER_END_OF_STREAM;
        int64_t now = env_mono(t->h->s->env);
        if (!t->buf.n && now >= t->ping_us) /* a comment: finds out whether the client is there */
            sl_buf_adds(&t->buf, ": ping\n\n");
        if (t->buf.n) {
            t->ping_us = now + PING_S * SL_SEC;
            pthread_mutex_lock(&t->h->lock);
            t->wait.until_us = t->ping_us;
            pthread_mutex_unlock(&t->h->lock);
        } else if (sleep_or_again(t->h, &t->wait)) {
            return 0;
        }
    }
}

static void stream_free(void *cls)
{
    struct stream *t = cls;
    pthread_mutex_lock(&t->h->lock);
    waiter_remove(t->h, &t->wait);
    pthread_mutex_unlock(&t->h->lock);
    metric_count(METRIC_EVENT_STREAMS, -1);
    sl_buf_free(&t->buf);
    free(t->authorization);
    free(t);
}

/* Where to begin: Last-Event-ID, else ?after=, else now. */
static int stream_begin(struct call *c, int64_t *ret_after, struct sl_err *err)
{
    const char *text = c->req.last_event_id ? c->req.last_event_id : req_query(&c->req, "after");
    long long v;
    if (!text)
        return db_read(c->h->s->db, last_seq, ret_after, err);
    if (!sl_parse_i64(text, &v) || v < 0)
        return sl_fail_at(err, SL_INVALID, "Last-Event-ID",
                          "Last-Event-ID: \"%.40s\" is not the id of an event; send a number",
                          text);
    *ret_after = v;
    return 0;
}

static bool stream_room(struct http *h, const char *account_id)
{
    int n = 0;
    for (struct waiter *w = h->waiters; w; w = w->next)
        n += w->stream && sl_streq(w->account_id, account_id);
    return n < HTTP_STREAMS_MAX;
}

static enum MHD_Result stream_open(struct call *c)
{
    struct http *h = c->h;
    struct sl_err err = {0};
    int64_t after, now = env_mono(h->s->env);
    if (stream_begin(c, &after, &err) < 0)
        return respond_err(c, &err);
    struct stream *t = sl_alloc(sizeof *t);
    t->h = h;
    t->who = c->req.caller;
    t->authorization = sl_strdup(c->req.authorization);
    t->after = after;
    t->ping_us = now; /* the first bytes at once, so that the client sees that it is open */
    t->buf.max = 4 << 20;
    t->wait = (struct waiter){.conn = c->conn, .stream = true, .until_us = now + PING_S * SL_SEC};
    t->wait.all = t->who.role == ROLE_OPERATOR;
    memcpy(t->wait.account_id, t->who.account_id, ID_TEXT);
    pthread_mutex_lock(&h->lock);
    bool room = stream_room(h, t->who.account_id);
    if (room)
        waiter_add(h, &t->wait);
    pthread_mutex_unlock(&h->lock);
    if (!room) {
        free(t->authorization);
        free(t);
        sl_fail(&err, SL_RATE, "events: the account has %d streams open, the most; close some",
                HTTP_STREAMS_MAX);
        return respond_err(c, &err);
    }
    metric_count(METRIC_EVENT_STREAMS, 1);
    struct MHD_Response *r =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16 * 1024, stream_read, t, stream_free);
    header(r, "Content-Type", "text/event-stream");
    header(r, "Cache-Control", "no-store");
    header(r, "X-Accel-Buffering", "no");
    return send_response(c, r, 0);
}

/* ---- a request ---- */
static void run_router(struct call *c)
{
    sl_arena_free(&c->run_arena);
    c->req.arena = &c->run_arena;
    router_run(c->h->s, &c->req, c->method, c->path, &c->out);
}

static void run_in_pool(void *arg)
{
    struct call *c = arg;
    run_router(c);
    c->state = CALL_READY;
    MHD_resume_connection(c->conn);
}

/* With ?wait=: is the answer still what the client knows? */
static bool unchanged(struct call *c)
{
    if (c->out.status == 304)
        return true;
    if (c->out.status != 200 || c->req.if_none_match)
        return false;
    if (!*c->base_etag)
        snprintf(c->base_etag, sizeof c->base_etag, "%s", c->out.etag);
    return sl_streq(c->base_etag, c->out.etag);
}

static void disarm(struct call *c)
{
    if (!c->armed)
        return;
    pthread_mutex_lock(&c->h->lock);
    waiter_remove(c->h, &c->wait);
    pthread_mutex_unlock(&c->h->lock);
    c->armed = false;
}

/* From now on news of the account are noticed; look once more before sleeping. */
static void arm(struct call *c)
{
    c->wait = (struct waiter){.conn = c->conn, .all = c->req.caller.role == ROLE_OPERATOR};
    c->wait.until_us = c->start_us + c->req.wait_s * SL_SEC;
    memcpy(c->wait.account_id, c->req.caller.account_id, ID_TEXT);
    pthread_mutex_lock(&c->h->lock);
    waiter_add(c->h, &c->wait);
    pthread_mutex_unlock(&c->h->lock);
    c->armed = true;
}

static enum MHD_Result run_read(struct call *c)
{
    for (;;) {
        run_router(c);
        bool over =
            c->h->stopping || env_mono(c->h->s->env) >= c->start_us + c->req.wait_s * SL_SEC;
        if (!c->req.wait_s || over || !unchanged(c))
            break;
        if (!c->armed) {
            arm(c);
            continue;
        }
        c->state = CALL_WAIT;
        if (sleep_or_again(c->h, &c->wait))
            return MHD_YES;
    }
    disarm(c);
    const struct route *t = c->req.route;
    bool stream = t && (t->flags & ROUTE_STREAM) && c->out.status == 200 &&
                  !(c->req.accept && strstr(c->req.accept, "application/json"));
    return stream ? stream_open(c) : respond(c);
}

static enum MHD_Result run_suspended(struct call *c, const struct route *route)
{
    struct pool *p = route->prepare ? c->h->slow : c->h->writers;
    struct sl_err err = {0};
    if (c->h->stopping) { /* on a connection that was kept open; the pools are going */
        sl_fail(&err, SL_UNAVAILABLE, "the server is stopping; try again in a few seconds");
        return respond_err(c, &err);
    }
    c->state = CALL_POOL;
    MHD_suspend_connection(c->conn);
    if (pool_add(p, run_in_pool, c))
        return MHD_YES;
    sl_fail(&err, SL_UNAVAILABLE, "the server is busy; try again in a second");
    c->out.body.max = 64 * 1024;
    reply_problem(&c->out, &c->req, &err);
    c->out.retry_after_s = 1;
    c->state = CALL_READY;
    MHD_resume_connection(c->conn);
    return MHD_YES;
}

static void receiving(struct call *c, bool yes)
{
    if (!c->peer)
        return;
    pthread_mutex_lock(&c->h->lock);
    c->peer->receiving = yes;
    c->peer->since_us = env_mono(c->h->s->env);
    pthread_mutex_unlock(&c->h->lock);
}

static enum MHD_Result dispatch(struct call *c)
{
    struct sl_err err = {0};
    receiving(c, false);
    c->req.arena = &c->arena;
    if (c->bad_head)
        return respond_err(c, &c->head_err);
    if (c->body.over) {
        sl_fail_at(&err, SL_TOO_LARGE, "body", "body: over %d bytes; send less", HTTP_BODY_MAX);
        return respond_err(c, &err);
    }
    if (router_target(&c->req, c->target, &c->path, &err) < 0)
        return respond_err(c, &err);
    if (static_is_ours(c->path))
        return respond_static(c);
    c->req.raw = sl_buf_str(&c->body);
    c->req.raw_n = c->body.n;
    const struct route *route = router_match(&c->req, c->method, c->path, &err);
    bool get = sl_streq(c->method, "GET") || sl_streq(c->method, "HEAD");
    if (route && (!get || route->prepare))
        return run_suspended(c, route);
    return run_read(c); /* also 404 and 405: they touch nothing */
}

/* ---- what the library calls ---- */
static void on_connection(void *cls, struct MHD_Connection *conn, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http *h = cls;
    struct peer *p = *context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD);
        *context = p = sl_alloc(sizeof *p);
        *p = (struct peer){.fd = info->connect_fd, .receiving = true};
        p->since_us = env_mono(h->s->env);
    }
    pthread_mutex_lock(&h->lock);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        p->next = h->peers;
        if (p->next)
            p->next->prev = p;
        h->peers = p;
    } else {
        *(p->prev ? &p->prev->next : &h->peers) = p->next;
        if (p->next)
            p->next->prev = p->prev;
        free(p);
        *context = NULL;
    }
    pthread_mutex_unlock(&h->lock);
}

static void peer_address(struct call *c)
{
    const union MHD_ConnectionInfo *context =
        MHD_get_connection_info(c->conn, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    c->peer = context ? context->socket_context : NULL;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c->conn, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *sa = info ? info->client_addr : NULL;
    if (sa && sa->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)sa;
        inet_ntop(AF_INET, &in->sin_addr, c->address, sizeof c->address);
        c->req.loopback = (ntohl(in->sin_addr.s_addr) >> 24) == 127;
    } else if (sa && sa->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const void *)sa;
        inet_ntop(AF_INET6, &in6->sin6_addr, c->address, sizeof c->address);
        c->req.loopback = IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
    }
}

static void *on_uri(void *cls, const char *uri, struct MHD_Connection *conn)
{
    struct http *h = cls;
    struct call *c = sl_alloc(sizeof *c);
    c->h = h;
    c->conn = conn;
    c->start_us = env_mono(h->s->env);
    c->target = sl_strdup(uri);
    c->content_length = -1;
    c->body.max = HTTP_BODY_MAX;
    snprintf(c->id, sizeof c->id, "req_%08x%08x", h->boot, atomic_fetch_add(&h->count, 1));
    peer_address(c);
    c->req.s = h->s;
    c->req.request_id = c->id;
    c->req.address = c->address;
    pthread_mutex_lock(&h->lock);
    h->calls++;
    pthread_mutex_unlock(&h->lock);
    return c;
}

static void on_completed(void *cls, struct MHD_Connection *conn, void **con_cls,
                         enum MHD_RequestTerminationCode toe)
{
    struct http *h = cls;
    struct call *c = *con_cls;
    (void)conn, (void)toe;
    if (!c)
        return;
    disarm(c);
    receiving(c, true);
    sl_buf_free(&c->body);
    sl_buf_free(&c->out.body);
    sl_buf_free(&c->out.stored);
    sl_arena_free(&c->arena);
    sl_arena_free(&c->run_arena);
    free(c->target);
    free(c);
    *con_cls = NULL;
    pthread_mutex_lock(&h->lock);
    if (--h->calls == 0)
        pthread_cond_broadcast(&h->idle);
    pthread_mutex_unlock(&h->lock);
}

static void head_wrong(struct call *c, const char *name, const char *why)
{
    c->bad_head = true;
    sl_fail_at(&c->head_err, SL_INVALID, name, "%s: %s", name, why);
}

static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind, const char *name,
                                 const char *value)
{
    struct call *c = cls;
    struct req *r = &c->req;
    const char *length = NULL, *ignored = NULL;
    struct {
        const char *name, **at;
    } known[] = {{"Authorization", &r->authorization},
                 {"Content-Type", &r->content_type},
                 {"Accept", &r->accept},
                 {"Last-Event-ID", &r->last_event_id},
                 {"Idempotency-Key", &r->idem_key},
                 {"If-Match", &r->if_match},
                 {"If-None-Match", &r->if_none_match},
                 {"Content-Length", &length},
                 {"Expect", &c->expect},
                 {"Accept-Language", &r->accept_language},
                 {"Starlease-Signature", &r->signature},
                 {"X-CSRF-Token", &r->csrf},
                 {"Cookie", &c->cookie},
                 {"Transfer-Encoding", &ignored}};
    (void)kind;
    for (size_t i = 0; value && i < SL_COUNT(known); i++) {
        if (strcasecmp(name, known[i].name) != 0)
            continue;
        if (*known[i].at || (known[i].at == &length && c->content_length >= 0))
            head_wrong(c, known[i].name, "sent twice; send it once");
        *known[i].at = value;
    }
    if (length && (!sl_parse_i64(length, &c->content_length) || c->content_length < 0))
        head_wrong(c, "Content-Length", "is not a number of bytes; send the length of the body");
    return MHD_YES;
}

static enum MHD_Result on_head(struct call *c, const char *method)
{
    c->method = method;
    MHD_get_connection_values(c->conn, MHD_HEADER_KIND, on_header, c);
    if (!c->req.authorization && c->cookie)
        c->req.authorization = session_from_cookie(c->cookie, c->session);
    /* Two lengths are how requests are smuggled through a proxy. */
    bool chunked = MHD_lookup_connection_value(c->conn, MHD_HEADER_KIND, "Transfer-Encoding");
    if (chunked && c->content_length >= 0)
        head_wrong(c, "Content-Length", "sent together with Transfer-Encoding; send one of them");
    c->state = CALL_BODY;
    bool early =
        c->content_length > BODY_DISCARD_MAX || (c->content_length > HTTP_BODY_MAX && c->expect);
    if (!early && !c->bad_head)
        return MHD_YES;
    c->body.over |= early;
    return dispatch(c); /* before the body: the connection closes after the answer */
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *conn, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *data_n, void **con_cls)
{
    struct call *c = *con_cls;
    (void)cls, (void)conn, (void)url, (void)version;
    if (c->state == CALL_HEAD)
        return on_head(c, method);
    if (*data_n) {
        c->received += *data_n;
        if (c->received > BODY_DISCARD_MAX)
            return MHD_NO;
        if (!c->body.over)
            sl_buf_add(&c->body, data, *data_n);
        *data_n = 0;
        return MHD_YES;
    }
    switch (c->state) {
    case CALL_BODY:
        return dispatch(c);
    case CALL_WAIT:
        return run_read(c);
    case CALL_READY:
        return respond(c);
    case CALL_HEAD:
    case CALL_POOL:
        break;
    }
    return MHD_YES;
}

/* Text stays as it came: router_target does the decoding. */
static size_t no_unescape(void *cls, struct MHD_Connection *conn, char *text)
{
    (void)cls, (void)conn;
    return strlen(text);
}

static void on_library_log(void *cls, const char *fmt, va_list ap)
{
    char text[300], quoted[LOG_QUOTED];
    (void)cls;
    vsnprintf(text, sizeof text, fmt, ap);
    log_debug("http.library", "text=%s", log_quote(text, quoted));
}

/* ---- listeners ---- */
static char tls_priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

static int listen_one(struct http *h, const char *word, struct sl_err *err)
{
    const struct server_conf *f = &h->s->conf;
    struct sockaddr_storage addr = {0};
    int fd = -1;
    if (h->n == LISTENERS_MAX)
        return sl_fail_at(err, SL_INVALID, "server.listen",
                          "server.listen: more than %d addresses; listen on fewer", LISTENERS_MAX);
    if (listen_bind(word, &fd, &addr, err) < 0)
        return -1;
    bool tls = f->tls_loopback || !address_is_loopback((struct sockaddr *)&addr);
    struct MHD_OptionItem cert[] = {{MHD_OPTION_HTTPS_CERT_CALLBACK, 0, tls_callback()},
                                    {MHD_OPTION_HTTPS_PRIORITIES, 0, tls_priorities},
                                    {MHD_OPTION_END, 0, NULL}};
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
                     (tls ? MHD_USE_TLS : 0);
    h->daemons[h->n] = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, h, MHD_OPTION_EXTERNAL_LOGGER, on_library_log, NULL,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE, (unsigned)f->http_threads,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_HEAD_MAX, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)f->max_connections, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        (unsigned)f->max_per_address, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_IDLE_S,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK, on_uri, h,
        MHD_OPTION_UNESCAPE_CALLBACK, no_unescape, NULL, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, h, MHD_OPTION_NOTIFY_COMPLETED, on_completed, h, MHD_OPTION_ARRAY,
        tls ? cert : none, MHD_OPTION_END);
    if (!h->daemons[h->n]) {
        close(fd);
        return sl_fail(err, SL_INTERNAL,
                       "server.listen: cannot serve %s; is the limit of open files "
                       "over http.max_connections?",
                       word);
    }
    h->n++;
    listen_url(&addr, tls, &h->urls);
    return 0;
}

int http_start(struct server *s, struct http **ret, struct sl_err *err)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    const char *rest = s->conf.listen, *word;
    struct http *h = sl_alloc(sizeof *h);
    bool tls;
    h->s = s;
    h->urls.max = h->tls_addresses.max = 4096;
    pthread_mutex_init(&h->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&h->idle, &attr);
    pthread_condattr_destroy(&attr);
    random_bytes(&h->boot, sizeof h->boot);
    h->writers = pool_new((int)s->conf.http_writers, QUEUE_MAX, err);
    h->slow = h->writers ? pool_new(SLOW_THREADS, QUEUE_MAX, err) : NULL;
    sl_buf_adds(&h->tls_addresses, "127.0.0.1 ::1");
    if (!h->slow || listen_public(s->conf.listen, &h->tls_addresses, &tls, err) < 0 ||
        ((tls || s->conf.tls_loopback) && tls_open(s, sl_buf_str(&h->tls_addresses), err) < 0))
        goto failed;
    if (pthread_create(&h->waker, NULL, waker_main, h) != 0) {
        sl_fail(err, SL_INTERNAL, "cannot start the waker thread");
        goto failed;
    }
    h->waker_runs = true;
    while ((word = conf_word(&rest, &arena)))
        if (listen_one(h, word, err) < 0)
            goto failed;
    if (h->n == 0) {
        sl_fail_at(err, SL_INVALID, "server.listen",
                   "server.listen: is empty; write 127.0.0.1:7070");
        goto failed;
    }
    *ret = h;
    return 0;
failed:
    http_stop(h);
    return -1;
}

const char *http_urls(const struct http *h)
{
    return sl_buf_str(&h->urls);
}

/* Waits until no request is in work, for conf.drain_s at most. */
static void drain(struct http *h)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += h->s->conf.drain_s;
    pthread_mutex_lock(&h->lock);
    for (struct waiter *w = h->waiters; w; w = w->next)
        wake(w);
    while (h->calls > 0 && pthread_cond_timedwait(&h->idle, &h->lock, &until) == 0)
        ;
    if (h->calls)
        log_warn("http.drain", "unfinished=%d", h->calls);
    pthread_mutex_unlock(&h->lock);
}

void http_stop(struct http *h)
{
    if (!h)
        return;
    h->stopping = true;
    for (int i = 0; i < h->n; i++) {
        int fd = MHD_quiesce_daemon(h->daemons[i]);
        if (fd >= 0)
            close(fd);
    }
    drain(h);
    pool_free(h->slow);
    pool_free(h->writers);
    if (h->waker_runs) {
        bus_poke(h->s);
        pthread_join(h->waker, NULL);
    }
    for (int i = 0; i < h->n; i++)
        MHD_stop_daemon(h->daemons[i]);
    tls_close();
    pthread_cond_destroy(&h->idle);
    pthread_mutex_destroy(&h->lock);
    sl_buf_free(&h->urls);
    sl_buf_free(&h->tls_addresses);
    free(h);
}
