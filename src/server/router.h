/* SPDX-License-Identifier: Apache-2.0
 *
 * router.h: the one route table (routes.c) and what a handler sees. From the table come dispatch,
 * role checks, body parsing, idempotency, OpenAPI 3.1, docs/api.md and the API tests.
 *
 * A handler runs inside one transaction and touches only the database and memory: GET handlers get
 * a read snapshot, the others the writer's transaction, in which the router also stores the
 * Idempotency-Key with the answer. Slow work (password hashing, asking another program) goes into
 * `prepare`, which runs before the transaction, in a thread that may wait; its results live in
 * req->prepared (arena). A handler may run more than once.
 *
 *     static int lease_show(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
 *     {
 *         struct lease l;
 *         if (lease_get(c, r->caller.account_id, r->path[0], r->arena, &l, err) < 0)
 *             return -1;
 *         lease_write(&out->json, NULL, &l);
 *         return 0;
 *     }
 */
#ifndef SL_ROUTER_H
#define SL_ROUTER_H
#include "server/server.h"
#include "wire/schema.h"

enum { PATH_PARAMS_MAX = 4, QUERY_MAX = 16, IDEM_KEY_MAX = 128 };

struct req {
    struct server *s;
    const struct route *route;
    struct caller caller;
    struct sl_arena *arena;
    const char *path[PATH_PARAMS_MAX]; /* values of {x} in order */
    struct {
        const char *name, *value;
    } query[QUERY_MAX];
    int n_query;
    void *body;            /* struct filled from route->request, or NULL */
    void *prepared;        /* left by route->prepare */
    int64_t retry_after_s; /* left by route->prepare with SL_RATE */
    const char *offers;    /* left by a handler that fails: what can be had instead, a JSON array */
    const char *idem_key, *if_match, *if_none_match, *request_id;
    const char *raw;
    size_t raw_n;
    /* What http.c found in the headers; NULL when absent. */
    const char *authorization, *content_type, *accept, *last_event_id, *address, *accept_language;
    const char *csrf;      /* X-CSRF-Token */
    const char *signature; /* Starlease-Signature */
    bool loopback;         /* the peer is this machine */
    int64_t wait_s;        /* ROUTE_WAIT: filled by router_run for http.c, which does the waiting */
};
struct reply {
    int status; /* 200 by default; 201 for creating POSTs */
    struct sl_buf body;
    struct jw json; /* writes into body */
    char etag[80];  /* "" for none */
    char location[160];
    char set_cookie[200];
    char allow[64];           /* with 405 */
    const char *content_type; /* application/json */
    int64_t retry_after_s;    /* > 0: Retry-After; kept when the handler fails */
    bool replayed;            /* the stored answer to an Idempotency-Key */
    struct sl_buf stored; /* what to store for replays when the body holds a secret; else empty */
    struct sl_err err;    /* what went wrong when status >= 400, for the access line */
};

typedef int handler_fn(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err);
enum route_flags {
    ROUTE_IDEMPOTENT = 1, /* creates money or things: Idempotency-Key required */
    ROUTE_STREAM = 2,     /* SSE: http.c takes over */
    ROUTE_RAW_BODY = 4,   /* body is not JSON */
    ROUTE_PAGED = 8,      /* ?cursor= and ?limit= (1..100) */
    ROUTE_WAIT = 16,      /* ?wait=SECONDS (0..60) long poll until the ETag changes */
    ROUTE_LIST = 32,      /* answers {"items":[response ...],"next":...}; ROUTE_PAGED implies it */
    ROUTE_CACHED = 64,    /* the same for every caller: the bytes are kept until the next commit */
    ROUTE_FREE_BODY =
        128, /* the handler reads the JSON itself (req->raw); OpenAPI says any object */
};
struct route {
    const char *method, *path; /* "/v1/leases/{id}" */
    handler_fn *handler;
    int (*prepare)(struct req *r, struct sl_err *err); /* or NULL */
    enum role role;
    unsigned flags;
    const struct jr_field *request; /* or NULL */
    size_t request_size;
    const struct wire_object *response; /* or NULL: no body */
    const char *summary;
    const char
        *query_doc; /* "state=running,model=MI300X": names of further query parameters, or NULL */
    /* Runs once after the commit of a successful, not replayed request: mails, wake-ups. Or NULL.
     */
    void (*after)(struct req *r, struct reply *out);
};
extern const struct route routes[]; /* ended by a zero row; routes.c */

/* NULL when absent. */
const char *req_query(const struct req *r, const char *name);
/* Paging: limit from the query (default 50) and the last seen id/seq ("" at first). */
int req_page(const struct req *r, int64_t *ret_limit, const char **ret_cursor, struct sl_err *err);
/* A list answer: begin, one jw_object per item, end with the cursor of the next page or NULL. */
void reply_list(struct reply *out);
void reply_list_end(struct reply *out, const char *next_cursor);
/* Writes `e` as the answer. Returning 0 after it commits the transaction, which a -1 would undo:
 * for refusals that must leave a trace (a wrong password). */
int reply_problem(struct reply *out, const struct req *r, const struct sl_err *e);
/* ETag = hash of the body; for answers without a version of their own. */
void reply_etag(struct reply *out);

/* The steps of a request. router_target splits a request target ("/v1/leases?state=running",
 * percent encoded) into path and query: SL_INVALID on bad escapes, control characters, a parameter
 * twice. */
int router_target(struct req *r, const char *target, const char **ret_path, struct sl_err *err);
/* The row for method and path, with r->path filled; NULL with SL_NOT_FOUND or SL_METHOD. HEAD is
 * GET. */
const struct route *router_match(struct req *r, const char *method, const char *path,
                                 struct sl_err *err);
/* Dispatches one request (http.c and tests call it): always fills *out, errors as problem+json.
 * `path` is decoded. The caller sets r->s, arena and the header members; frees out->body and
 * out->stored. */
void router_run(struct server *s, struct req *r, const char *method, const char *path,
                struct reply *out);
/* Names and limits of route->query_doc: true when `name` is one of them. */
bool route_query_known(const struct route *route, const char *name);
/* Checks the table itself: unique rows, shapes. Aborts when broken; called at start and in tests.
 */
void router_check(void);
#endif
