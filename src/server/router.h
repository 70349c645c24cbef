/* SPDX-License-Identifier: Apache-2.0
 *
 * router.h: the one route table (routes.c) and what a handler sees. From the table come dispatch, role
 * checks, body parsing, idempotency, OpenAPI 3.1, docs/api.md and the API tests.
 *
 * A handler runs inside one transaction and touches only the database and memory: GET handlers get a
 * read snapshot, the others the writer's transaction, in which the router also stores the Idempotency-Key
 * with the answer. Slow work that needs no database (password hashing) goes into `prepare`, which runs
 * before the transaction; its results live in req->prepared (arena). A handler may run more than once.
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
    void *body;     /* struct filled from route->request, or NULL */
    void *prepared; /* left by route->prepare */
    const char *idem_key, *if_match, *request_id;
    const char *raw;
    size_t raw_n;
};
struct reply {
    int status;      /* 200 by default; 201 for creating POSTs */
    struct sl_buf body;
    struct jw json;  /* writes into body */
    char etag[80];   /* "" for none */
    char location[160];
    const char *content_type; /* application/json */
};

typedef int handler_fn(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err);
enum route_flags {
    ROUTE_IDEMPOTENT = 1, /* creates money or things: Idempotency-Key required */
    ROUTE_STREAM = 2,     /* SSE: http.c takes over */
    ROUTE_RAW_BODY = 4,   /* body is not JSON */
    ROUTE_PAGED = 8,      /* ?cursor= and ?limit= (1..100) */
    ROUTE_WAIT = 16,      /* ?wait=SECONDS (0..60) long poll until the ETag changes */
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
    const char *query_doc; /* "state=running,model=MI300X": names of further query parameters, or NULL */
};
extern const struct route routes[]; /* ended by a zero row; routes.c */

/* NULL when absent. */
const char *req_query(const struct req *r, const char *name);
/* Paging: limit from the query (default 50) and the last seen id/seq ("" at first). */
int req_page(const struct req *r, int64_t *ret_limit, const char **ret_cursor, struct sl_err *err);
/* Dispatches one parsed request (http.c and tests call it): always fills *out, errors as problem+json. */
void router_run(struct server *s, struct req *r, const char *method, const char *path, struct reply *out);
#endif
