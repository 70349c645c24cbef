/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/io/env.h"
#include "base/io/http_client.h"
#include "base/core/id.h"
#include <arpa/inet.h>
#include <time.h>

enum { TRIES = 5, CALL_TIMEOUT_MS = 60000, STREAM_TIMEOUT_MS = 24 * 3600 * 1000 };

void answer_free(struct answer *a)
{
    jr_close(a->doc);
    sl_buf_free(&a->text);
    a->doc = NULL;
    a->root = NULL;
}

const char *cli_quote(struct cli *c, const char *s)
{
    if (c->g.explain) /* for reading: "(id of my-lease)" */
        return s;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(1 << 16);
    for (; *s; s++) {
        unsigned char u = (unsigned char)*s;
        if ((u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') || (u >= '0' && u <= '9') ||
            strchr("-._~", u))
            sl_buf_addc(&b, *s);
        else
            sl_buf_printf(&b, "%%%02X", u);
    }
    return sl_arena_strdup(&c->arena, sl_buf_str(&b));
}

/* The first characters tell which token it is; the secret part is never shown. */
static void explain(const struct cli *c, const char *method, const char *path, const char *body,
                    bool post)
{
    printf("%s %s%s\n", method, c->url, path);
    if (c->token[0])
        printf("Authorization: Bearer %.8s...\n", c->token);
    if (post)
        puts("Idempotency-Key: (a new UUIDv7 id, kept for every retry)");
    if (body)
        printf("Content-Type: application/json\n\n%s\n", body);
    putchar('\n');
}

/* problem+json -> *err. */
static int fail_from_answer(struct cli *c, const struct answer *a, struct sl_err *err)
{
    const char *code = jr_text(jr_get(a->root, "code"), NULL);
    const char *detail = jr_text(jr_get(a->root, "detail"), NULL);
    if (!code || !detail)
        return sl_fail(err, SL_UNAVAILABLE,
                       "the server answered %d without saying why: is the address right?",
                       a->status);
    const char *field = jr_text(jr_get(a->root, "field"), NULL);
    return sl_fail_at(err, sl_code_by_name(code), field && *field ? field : NULL, "%s",
                      cli_safe(c, detail));
}

static int parse_answer(struct cli *c, struct http_req *r, struct answer *a, struct sl_err *err)
{
    if (a->text.over)
        return sl_fail(err, SL_TOO_LARGE, "the answer is over %d MiB", CLI_ANSWER_MAX >> 20);
    a->status = r->status;
    snprintf(a->etag, sizeof a->etag, "%s", r->etag);
    bool json = strstr(r->content_type, "json") != NULL;
    if (json && a->text.n && jr_open(a->text.p, a->text.n, &a->doc, err) < 0)
        return -1;
    a->root = a->doc ? jr_root(a->doc) : NULL;
    if (a->status >= 200 && a->status < 300)
        return 0;
    return a->status == 304 ? 0 : fail_from_answer(c, a, err);
}

/* Worth another try with the same Idempotency-Key: nobody answered, or asked to come back. */
static bool transient(const struct sl_err *e)
{
    return e->code == SL_UNAVAILABLE || e->code == SL_TIMEOUT;
}

static void pause_before(int try)
{
    int64_t ms = 200LL << (try - 1);
    struct timespec t = {ms / 1000, (ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

struct header_set {
    const char *v[8];
    int n;
};

static int call_once(struct cli *c, const char *method, const char *path, const char *body,
                     const struct header_set *h, int timeout_ms, struct answer *a,
                     struct sl_err *err)
{
    answer_free(a);
    a->text = SL_BUF(CLI_ANSWER_MAX);
    SL_AUTO_FREE char *url = sl_asprintf("%s%s", c->url, path);
    struct http_req r = {.method = method,
                         .url = url,
                         .headers = h->v,
                         .body = body,
                         .body_n = body ? strlen(body) : 0,
                         .ca_file = c->ca_file[0] ? c->ca_file : NULL,
                         .timeout_ms = timeout_ms,
                         .out = &a->text};
    if (http_do(&r, err) < 0)
        return -1;
    return parse_answer(c, &r, a, err);
}

static int need_url(const struct cli *c, struct sl_err *err)
{
    if (c->url[0])
        return 0;
    return sl_fail_at(err, SL_INVALID, "url",
                      "no server is known: run `starlease login --url URL`, or set STARLEASE_URL");
}

/* Tokens and passwords do not cross a network in the clear. */
static int need_private(const struct cli *c, struct sl_err *err)
{
    static const char scheme[] = "http://";
    char host[64] = "";
    struct in_addr ip;
    if (!sl_starts(c->url, scheme))
        return 0;
    const char *at = c->url + sizeof scheme - 1;
    size_t n = *at == '[' ? strcspn(at, "]") + 1 : strcspn(at, ":/?#");
    if (n < sizeof host && !strchr(c->url, '@'))
        memcpy(host, at, n);
    if (sl_streq(host, "localhost") || sl_streq(host, "[::1]") ||
        (inet_pton(AF_INET, host, &ip) == 1 && ntohl(ip.s_addr) >> 24 == 127))
        return 0;
    return sl_fail_at(err, SL_INVALID, "url",
                      "%.200s is not on this machine and not encrypted: use https://", c->url);
}

static void common_headers(struct cli *c, struct header_set *h)
{
    h->v[h->n++] = "Accept: application/json";
    if (c->token[0])
        h->v[h->n++] = sl_arena_printf(&c->arena, "Authorization: Bearer %s", c->token);
}

int cli_call(struct cli *c, const char *method, const char *path, const char *body,
             struct answer *a, struct sl_err *err)
{
    bool post = sl_streq(method, "POST");
    if (need_url(c, err) < 0)
        return -1;
    if (c->g.explain) {
        explain(c, method, path, body, post);
        return CLI_EXPLAINED;
    }
    if (need_private(c, err) < 0)
        return -1;
    struct header_set h = {0};
    char key[ID_TEXT];
    common_headers(c, &h);
    if (post)
        h.v[h.n++] =
            sl_arena_printf(&c->arena, "Idempotency-Key: %s", env_id(env_real(), "req", key));
    for (int try = 1;; try++) {
        if (call_once(c, method, path, body, &h, CALL_TIMEOUT_MS, a, err) == 0)
            return 0;
        if (!transient(err) || try == TRIES)
            return -1;
        pause_before(try);
    }
}

int cli_get(struct cli *c, const char *path, struct answer *a, struct sl_err *err)
{
    return cli_call(c, "GET", path, NULL, a, err);
}

int cli_get_change(struct cli *c, const char *path, int wait_s, struct answer *a,
                   struct sl_err *err)
{
    if (!a->etag[0])
        return cli_get(c, path, a, err);
    struct header_set h = {0};
    common_headers(c, &h);
    h.v[h.n++] = sl_arena_printf(&c->arena, "If-None-Match: %s", a->etag);
    const char *with_wait =
        sl_arena_printf(&c->arena, "%s%cwait=%d", path, strchr(path, '?') ? '&' : '?', wait_s);
    struct answer fresh = {0};
    for (int try = 1;; try++) {
        if (call_once(c, "GET", with_wait, NULL, &h, (wait_s + 30) * 1000, &fresh, err) == 0)
            break;
        if (!transient(err) || try == TRIES) {
            answer_free(&fresh);
            return -1;
        }
        pause_before(try);
    }
    if (fresh.status == 304) {
        answer_free(&fresh);
        return 0;
    }
    answer_free(a);
    *a = fresh;
    return 0;
}

int cli_list(struct cli *c, const char *path, struct answer *a, struct sl_err *err)
{
    struct sl_buf all = SL_BUF(CLI_ANSWER_MAX);
    const char *next = NULL;
    bool first = true;
    sl_buf_adds(&all, "{\"items\":[");
    do {
        const char *p = next ? sl_arena_printf(&c->arena, "%s%ccursor=%s", path,
                                               strchr(path, '?') ? '&' : '?', cli_quote(c, next))
                             : path;
        struct answer page = {0};
        int rc = cli_get(c, p, &page, err);
        if (rc) {
            answer_free(&page);
            sl_buf_free(&all);
            return rc;
        }
        const struct jr_val *items = jr_get(page.root, "items");
        for (size_t i = 0; i < jr_len(items); i++) {
            if (!first)
                sl_buf_addc(&all, ',');
            first = false;
            jr_write(jr_at(items, i), &all);
        }
        const char *cursor = jr_text(jr_get(page.root, "next"), NULL);
        next = cursor ? sl_arena_strdup(&c->arena, cursor) : NULL;
        answer_free(&page);
    } while (next && !all.over);
    sl_buf_adds(&all, "],\"next\":null}");
    answer_free(a);
    a->text = all;
    if (all.over)
        return sl_fail(err, SL_TOO_LARGE, "the list is over %d MiB: narrow it",
                       CLI_ANSWER_MAX >> 20);
    a->status = 200;
    if (jr_open(a->text.p, a->text.n, &a->doc, err) < 0)
        return -1;
    a->root = jr_root(a->doc);
    return 0;
}

/* ---- server-sent events ---- */
struct sse {
    struct sl_buf line, data;
    bool (*on_event)(void *arg, const char *data);
    void *arg;
    bool stopped;
};

static void sse_line(struct sse *s)
{
    const char *l = sl_buf_str(&s->line);
    if (s->line.n == 0) { /* a blank line ends an event */
        if (s->data.n && !s->on_event(s->arg, sl_buf_str(&s->data)))
            s->stopped = true;
        sl_buf_clear(&s->data);
    } else if (sl_starts(l, "data:")) {
        l += 5;
        sl_buf_adds(&s->data, *l == ' ' ? l + 1 : l);
    }
    sl_buf_clear(&s->line);
}

static int sse_chunk(void *arg, const char *p, size_t n)
{
    struct sse *s = arg;
    for (size_t i = 0; i < n && !s->stopped; i++) {
        if (p[i] == '\n')
            sse_line(s);
        else if (p[i] != '\r')
            sl_buf_addc(&s->line, p[i]);
    }
    return s->stopped;
}

int cli_stream(struct cli *c, const char *path, bool (*on_event)(void *arg, const char *data),
               void *arg, struct sl_err *err)
{
    if (need_url(c, err) < 0)
        return -1;
    if (c->g.explain) {
        explain(c, "GET", path, NULL, false);
        return CLI_EXPLAINED;
    }
    if (need_private(c, err) < 0)
        return -1;
    struct header_set h = {.v = {"Accept: text/event-stream"}, .n = 1};
    if (c->token[0])
        h.v[h.n++] = sl_arena_printf(&c->arena, "Authorization: Bearer %s", c->token);
    struct sse s = {SL_BUF(1 << 20), SL_BUF(1 << 20), on_event, arg, false};
    struct sl_buf none = SL_BUF(1 << 16);
    SL_AUTO_FREE char *url = sl_asprintf("%s%s", c->url, path);
    struct http_req r = {.method = "GET",
                         .url = url,
                         .headers = h.v,
                         .ca_file = c->ca_file[0] ? c->ca_file : NULL,
                         .timeout_ms = STREAM_TIMEOUT_MS,
                         .out = &none,
                         .chunk = sse_chunk,
                         .chunk_arg = &s};
    int rc = http_do(&r, err);
    if (s.stopped)
        rc = 0;
    else if (rc == 0 && r.status != 200)
        rc = sl_fail(err, r.status == 401 ? SL_UNAUTHENTICATED : SL_UNAVAILABLE,
                     "the server answered %d instead of an event stream", r.status);
    sl_buf_free(&s.line);
    sl_buf_free(&s.data);
    sl_buf_free(&none);
    return rc;
}
