/* SPDX-License-Identifier: Apache-2.0 */
#include "server/router.h"
#include "base/core/failpoint.h"
#include "base/core/log.h"
#include "server/auth.h"
#include "server/event.h"
#include "server/idempotency.h"
#include "server/route_cache.h"
#include "server/session.h"

enum { REPLY_MAX = 16 << 20, PAGE_DEFAULT = 50, PAGE_MAX = 100, WAIT_MAX_S = 60 };

/* ---- what handlers call ---- */
const char *req_query(const struct req *r, const char *name)
{
    for (int i = 0; i < r->n_query; i++)
        if (sl_streq(r->query[i].name, name))
            return r->query[i].value;
    return NULL;
}

static int query_number(const struct req *r, const char *name, int64_t min, int64_t max,
                        int64_t *ret, struct sl_err *err)
{
    const char *text = req_query(r, name);
    long long v;
    if (!text)
        return 0;
    if (!sl_parse_i64(text, &v) || v < min || v > max)
        return sl_fail_at(err, SL_INVALID, name, "%s: \"%.40s\" is not a number from %lld to %lld",
                          name, text, (long long)min, (long long)max);
    *ret = v;
    return 0;
}

int req_page(const struct req *r, int64_t *ret_limit, const char **ret_cursor, struct sl_err *err)
{
    const char *cursor = req_query(r, "cursor");
    *ret_limit = PAGE_DEFAULT;
    *ret_cursor = cursor ? cursor : "";
    return query_number(r, "limit", 1, PAGE_MAX, ret_limit, err);
}

void reply_list(struct reply *out)
{
    jw_object(&out->json, NULL);
    jw_array(&out->json, "items");
}

void reply_list_end(struct reply *out, const char *next_cursor)
{
    jw_end(&out->json);
    jw_str(&out->json, "next", next_cursor);
    jw_end(&out->json);
}

int reply_problem(struct reply *out, const struct req *r, const struct sl_err *e)
{
    const struct sl_code_info *info = sl_code_info(e->code);
    char type[96];
    snprintf(type, sizeof type, "https://starlease.invalid/problems/%s", info->name);
    out->err = *e;
    out->status = info->http;
    out->content_type = "application/problem+json";
    out->etag[0] = out->location[0] = out->set_cookie[0] = 0;
    sl_buf_clear(&out->body);
    out->json = (struct jw){.b = &out->body};
    jw_object(&out->json, NULL);
    jw_str(&out->json, "type", type);
    bool zh = r->accept_language && sl_starts(r->accept_language, "zh");
    jw_str(&out->json, "title", zh ? info->title_zh : info->title_en);
    jw_int(&out->json, "status", info->http);
    jw_str(&out->json, "code", info->name);
    jw_str(&out->json, "detail", e->msg);
    if (*e->field)
        jw_str(&out->json, "field", e->field);
    if (r->offers)
        jw_raw(&out->json, "offers", r->offers);
    jw_str(&out->json, "request_id", r->request_id ? r->request_id : "");
    jw_end(&out->json);
    return 0;
}

static void reply_reset(struct reply *out)
{
    out->status = 200;
    out->etag[0] = out->location[0] = out->set_cookie[0] = 0;
    out->content_type = "application/json";
    out->replayed = false;
    out->body.max = out->stored.max = REPLY_MAX;
    sl_buf_clear(&out->body);
    sl_buf_clear(&out->stored);
    out->json = (struct jw){.b = &out->body};
    out->err = (struct sl_err){0};
}

/* ---- matching ---- */
/* Compares "/v1/leases/{id}" with a path; fills up to PATH_PARAMS_MAX values. Returns the number of
 * parameters, -1 when it does not fit. */
static int path_match(const char *pattern, const char *path, struct sl_str values[PATH_PARAMS_MAX])
{
    int n = 0;
    while (*pattern) {
        if (*pattern == '{') {
            size_t len = strcspn(path, "/");
            SL_ASSERT(n < PATH_PARAMS_MAX);
            if (len == 0)
                return -1;
            values[n++] = (struct sl_str){path, len};
            path += len;
            pattern += strcspn(pattern, "}") + 1;
        } else if (*pattern++ != *path++) {
            return -1;
        }
    }
    return *path ? -1 : n;
}

static void allow_add(char *allow, size_t max, const char *method)
{
    size_t n = strlen(allow);
    if (!strstr(allow, method))
        snprintf(allow + n, max - n, "%s%s", n ? ", " : "", method);
}

static const struct route *match(struct req *r, const char *method, const char *path, char *allow,
                                 size_t allow_max, struct sl_err *err)
{
    const struct route *best = NULL;
    struct sl_str values[PATH_PARAMS_MAX], best_values[PATH_PARAMS_MAX];
    int best_n = PATH_PARAMS_MAX + 1;
    const char *want = sl_streq(method, "HEAD") ? "GET" : method;
    bool known = false;
    for (const struct route *t = routes; t->method; t++) {
        int n = path_match(t->path, path, values);
        if (n < 0)
            continue;
        known = true;
        allow_add(allow, allow_max, t->method);
        if (sl_streq(t->method, want) && n < best_n) {
            best = t, best_n = n;
            memcpy(best_values, values, sizeof values);
        }
    }
    if (!best && known)
        sl_fail(err, SL_METHOD, "method: %.16s is not available on %.100s; use %s", method, path,
                allow);
    else if (!best)
        sl_fail(err, SL_NOT_FOUND, "path: there is no %.100s; see GET /v1/openapi.json", path);
    for (int i = 0; best && i < best_n; i++)
        r->path[i] = sl_arena_strndup(r->arena, best_values[i].p, best_values[i].n);
    return best;
}

const struct route *router_match(struct req *r, const char *method, const char *path,
                                 struct sl_err *err)
{
    char allow[64] = "";
    return match(r, method, path, allow, sizeof allow, err);
}

/* ---- checks before the handler ---- */
bool route_query_known(const struct route *route, const char *name)
{
    unsigned f = route->flags;
    if ((f & ROUTE_PAGED) && (sl_streq(name, "cursor") || sl_streq(name, "limit")))
        return true;
    if ((f & ROUTE_WAIT) && sl_streq(name, "wait"))
        return true;
    size_t n = strlen(name);
    for (const char *p = route->query_doc; p && *p; p += strcspn(p, ","), p += *p == ',')
        if (n == strcspn(p, "=,") && strncmp(p, name, n) == 0)
            return true;
    return false;
}

static int check_query(struct req *r, struct sl_err *err)
{
    for (int i = 0; i < r->n_query; i++)
        if (!route_query_known(r->route, r->query[i].name))
            return sl_fail_at(err, SL_INVALID, r->query[i].name,
                              "%.60s: unknown query parameter of %s %s; see GET /v1/openapi.json",
                              r->query[i].name, r->route->method, r->route->path);
    r->wait_s = 0;
    return query_number(r, "wait", 0, WAIT_MAX_S, &r->wait_s, err);
}

static int check_role(const struct req *r, struct sl_err *err)
{
    enum role want = r->route->role, have = r->caller.role;
    if (want == ROLE_ANYONE)
        return 0;
    if (have == ROLE_ANYONE)
        return sl_fail(err, SL_UNAUTHENTICATED,
                       "token: missing; send \"Authorization: Bearer TOKEN\" (POST /v1/sessions "
                       "gives one)");
    bool fits = have == want || (want == ROLE_RENTER && have == ROLE_OPERATOR);
    if (!fits)
        return sl_fail(err, SL_FORBIDDEN, "token: this call is for %s",
                       want == ROLE_OPERATOR ? "operators"
                       : want == ROLE_LEASE  ? "a running lease's agent"
                                             : "accounts, not for a lease's agent");
    if (r->caller.read_only && !sl_streq(r->route->method, "GET"))
        return sl_fail(err, SL_FORBIDDEN,
                       "token: has the scope read alone; make one with read,write");
    return session_check(r, err);
}

static int check_body(struct req *r, struct sl_err *err)
{
    const struct route *t = r->route;
    if (t->flags & ROUTE_RAW_BODY)
        return 0;
    if (r->raw_n && r->content_type && !sl_starts(r->content_type, "application/json"))
        return sl_fail_at(err, SL_INVALID, "Content-Type",
                          "Content-Type: \"%.60s\" is not read here; send application/json",
                          r->content_type);
    if (t->flags & ROUTE_FREE_BODY)
        return 0;
    static const struct jr_field none[] = {{0}}; /* no body, or {} */
    const struct jr_field *fields = t->request ? t->request : none;
    r->body = sl_arena_alloc(r->arena, t->request_size + 1);
    return r->raw_n ? jr_parse(r->raw, r->raw_n, fields, r->body, r->arena, err)
                    : jr_parse("{}", 2, fields, r->body, r->arena, err);
}

/* ---- running ---- */
struct run {
    struct req *r;
    struct reply *out;
    const char *path;
};

static int authenticate(struct db_c *c, void *arg, struct sl_err *err)
{
    struct req *r = arg;
    return auth_caller(c, r->s, r->authorization, r->address, &r->caller, err);
}

static int finished(struct reply *out, struct sl_err *err)
{
    return out->body.over || out->stored.over
               ? sl_fail(err, SL_TOO_LARGE, "answer: over %d bytes; ask for less", REPLY_MAX)
               : 0;
}

static int read_step(struct db_c *c, void *arg, struct sl_err *err)
{
    struct run *k = arg;
    struct req *r = k->r;
    reply_reset(k->out);
    if (auth_caller(c, r->s, r->authorization, r->address, &r->caller, err) < 0 ||
        check_role(r, err) < 0 || check_query(r, err) < 0 || check_body(r, err) < 0)
        return -1;
    return r->route->handler(c, r, k->out, err) < 0 ? -1 : finished(k->out, err);
}

static int write_step(struct db_c *c, void *arg, struct sl_err *err)
{
    struct run *k = arg;
    struct req *r = k->r;
    bool idem = r->route->flags & ROUTE_IDEMPOTENT;
    reply_reset(k->out);
    if (idem) {
        int rc = idempotency_find(c, r, k->path, k->out, err);
        if (rc != 0)
            return rc < 0 ? -1 : 0;
    }
    if (r->route->handler(c, r, k->out, err) < 0 || finished(k->out, err) < 0)
        return -1;
    if (idem && k->out->status < 400 && idempotency_store(c, r, k->path, k->out, err) < 0)
        return -1;
    FAILPOINT("request.stored");
    return 0;
}

/* A repeated request must not pay for its slow part again. */
static int find_step(struct db_c *c, void *arg, struct sl_err *err)
{
    struct run *k = arg;
    reply_reset(k->out);
    return idempotency_find(c, k->r, k->path, k->out, err) < 0 ? -1 : 0;
}

static int run_write(struct run *k, struct sl_err *err)
{
    struct req *r = k->r;
    if (r->authorization && db_read(r->s->db, authenticate, r, err) < 0)
        return -1;
    if (check_role(r, err) < 0 || check_query(r, err) < 0 || idempotency_key_check(r, err) < 0 ||
        check_body(r, err) < 0)
        return -1;
    if (r->route->prepare) {
        if (r->route->flags & ROUTE_IDEMPOTENT) {
            if (db_read(r->s->db, find_step, k, err) < 0)
                return -1;
            if (k->out->replayed)
                return 0;
        }
        if (r->route->prepare(r, err) < 0)
            return -1;
    }
    if (db_write_repeatable(r->s->db, write_step, k, err) < 0)
        return -1;
    FAILPOINT("request.committed");
    if (!k->out->replayed) {
        bus_poke(r->s);
        if (r->route->after && k->out->status < 400)
            r->route->after(r, k->out);
    }
    return 0;
}

/* What a GET has to fetch from elsewhere comes before its snapshot. */
static int run_slow_read(struct run *k, struct sl_err *err)
{
    struct req *r = k->r;
    if (r->authorization && db_read(r->s->db, authenticate, r, err) < 0)
        return -1;
    if (check_role(r, err) < 0 || check_query(r, err) < 0 || check_body(r, err) < 0 ||
        r->route->prepare(r, err) < 0)
        return -1;
    return db_read(r->s->db, read_step, k, err);
}

static int run_read(struct run *k, struct sl_err *err)
{
    struct req *r = k->r;
    bool cached = (r->route->flags & ROUTE_CACHED) && !r->n_query && !r->raw_n;
    if (r->route->prepare)
        return run_slow_read(k, err);
    if (!cached)
        return db_read(r->s->db, read_step, k, err);
    if (r->authorization && db_read(r->s->db, authenticate, r, err) < 0)
        return -1; /* the answer is for everybody, but a bad token is told */
    struct cache_version now = cache_version(r->s);
    if (cache_get(r->route, &now, k->out))
        return 0;
    if (db_read(r->s->db, read_step, k, err) < 0)
        return -1;
    if (!k->out->etag[0])
        reply_etag(k->out);
    cache_put(r->route, &now, k->out);
    return 0;
}

void reply_etag(struct reply *out)
{
    char hex[SHA256_HEX];
    sha256_hex(sl_buf_str(&out->body), out->body.n, hex);
    snprintf(out->etag, sizeof out->etag, "\"%.32s\"", hex);
}

/* If-None-Match: one tag, a list, or *. Weak tags compare like strong ones. */
static bool etag_listed(const char *list, const char *etag)
{
    size_t n = strlen(etag);
    for (const char *p = list; (p = strstr(p, etag)); p++)
        if (p[n] == 0 || p[n] == ',' || p[n] == ' ')
            return true;
    return sl_streq(list, "*");
}

static void conditional(struct req *r, struct reply *out)
{
    if (out->status != 200 || !sl_streq(r->route->method, "GET"))
        return;
    if (!out->etag[0] && (r->route->flags & ROUTE_WAIT))
        reply_etag(out);
    if (r->if_none_match && out->etag[0] && etag_listed(r->if_none_match, out->etag)) {
        out->status = 304;
        sl_buf_clear(&out->body);
    }
}

void router_run(struct server *s, struct req *r, const char *method, const char *path,
                struct reply *out)
{
    struct sl_err err = {0};
    struct run k = {r, out, path};
    r->s = s;
    reply_reset(out);
    out->retry_after_s = 0;
    out->allow[0] = 0;
    r->route = match(r, method, path, out->allow, sizeof out->allow, &err);
    if (r->route)
        out->allow[0] = 0;
    bool read = r->route && sl_streq(r->route->method, "GET");
    if (!r->route || (read ? run_read(&k, &err) : run_write(&k, &err)) < 0) {
        if (err.code == SL_INTERNAL || err.code == SL_INTEGRITY) {
            char quoted[LOG_QUOTED];
            log_error("http.fault", "id=%s route=\"%s\" error=%s", r->request_id,
                      r->route ? r->route->path : "", log_quote(err.msg, quoted));
            /* what went wrong inside is the operator's business */
            sl_fail(&err, err.code,
                    "a fault on our side, nothing was changed; tell the operator "
                    "request %s",
                    r->request_id);
        }
        reply_problem(out, r, &err);
        if (!out->retry_after_s)
            out->retry_after_s = r->retry_after_s;
        return;
    }
    conditional(r, out);
}

void router_check(void)
{
    for (const struct route *t = routes; t->method; t++) {
        bool get = sl_streq(t->method, "GET");
        SL_ASSERT(get || sl_streq(t->method, "POST") || sl_streq(t->method, "DELETE") ||
                  sl_streq(t->method, "PATCH") || sl_streq(t->method, "PUT"));
        SL_ASSERT(t->path[0] == '/' && t->handler && t->summary);
        SL_ASSERT(!t->request == !t->request_size);
        SL_ASSERT(!get || (!t->request && !(t->flags & ROUTE_IDEMPOTENT)));
        SL_ASSERT(!t->prepare || !(t->flags & (ROUTE_WAIT | ROUTE_CACHED | ROUTE_STREAM)));
        /* keys belong to an account */
        SL_ASSERT(!(t->flags & ROUTE_IDEMPOTENT) || t->role == ROLE_RENTER ||
                  t->role == ROLE_OPERATOR);
        SL_ASSERT(!(t->flags & ROUTE_CACHED) || t->role == ROLE_ANYONE);
        for (const struct route *u = routes; u < t; u++)
            SL_ASSERT(!sl_streq(t->method, u->method) || !sl_streq(t->path, u->path));
    }
}
