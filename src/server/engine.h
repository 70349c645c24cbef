/* SPDX-License-Identifier: Apache-2.0
 *
 * engine.h: how an operation reaches a node. Two kinds of call: a short operation on a node, and a
 * lease process that lives as long as the lease. The database is the truth; an engine only carries.
 *
 *     const struct engine *e = engine_by_name("local");
 *     JR_AUTO_DOC struct jr_doc *doc = NULL;
 *     const struct jr_val *ok;
 *     if (e->operate(&node, "{\"op\":\"probe\",\"node\":\"n1\"}", 30000, NULL, NULL, &doc, &ok,
 * err) < 0) ...
 *
 * Calls block on the network: workers make them, request handlers never. Threads may call at once.
 * Every call may be repeated: the agent's operations are idempotent.
 */
#ifndef SL_ENGINE_H
#define SL_ENGINE_H
#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/io/json.h"

enum { NODE_NAME_MAX = 64, NODE_ADDR_MAX = 256 };
struct engine_node {
    char name[NODE_NAME_MAX];
    char addr[NODE_ADDR_MAX]; /* "unix:/run/starlease/agent.sock" */
};
typedef void engine_progress_fn(void *arg, const struct jr_val *v);
struct engine {
    const char *name;
    /* One operation; the answer lives in *ret_doc (jr_close it). */
    int (*operate)(const struct engine_node *n, const char *request, int timeout_ms,
                   engine_progress_fn *progress, void *arg, struct jr_doc **ret_doc,
                   const struct jr_val **ret_ok, struct sl_err *err);
    /* Starts the lease process; returns once it exists. `request` is the whole lease.start object.
     */
    int (*lease_start)(const struct engine_node *n, const char *request, struct sl_err *err);
    /* Returns 0 only when nothing of the lease remains on the node. */
    int (*lease_stop)(const struct engine_node *n, const char *lease, int64_t epoch,
                      int64_t grace_s, struct sl_err *err);
};
/* NULL when unknown. */
const struct engine *engine_by_name(const char *name);
extern const struct engine
    engine_local; /* engine_local.c: the node's agentd over its Unix socket */
#endif
