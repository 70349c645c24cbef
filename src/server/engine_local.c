/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine.h"
#include "base/core/failpoint.h"
#include "base/io/rpc.h"

enum { START_TIMEOUT_MS = 60000, STOP_MARGIN_MS = 30000 };

static int local_operate(const struct engine_node *n, const char *request, int timeout_ms,
                         engine_progress_fn *progress, void *arg, struct jr_doc **ret_doc,
                         const struct jr_val **ret_ok, struct sl_err *err)
{
    if (!sl_starts(n->addr, "unix:/"))
        return sl_fail_at(err, SL_INVALID, "addr",
                          "node %s has the address \"%s\"; the local engine needs unix:/path.sock",
                          n->name, n->addr);
    FAILPOINT("engine.before_call");
    int rc = rpc_call(n->addr + strlen("unix:"), request, timeout_ms, progress, arg, ret_doc,
                      ret_ok, err);
    FAILPOINT("engine.after_call");
    return rc;
}

static int local_lease_start(const struct engine_node *n, const char *request, struct sl_err *err)
{
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    const struct jr_val *ok;
    return local_operate(n, request, START_TIMEOUT_MS, NULL, NULL, &doc, &ok, err);
}

static int local_lease_stop(const struct engine_node *n, const char *lease, int64_t epoch,
                            int64_t grace_s, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(4096);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "op", "lease.stop");
    jw_str(&w, "node", n->name);
    jw_str(&w, "lease", lease);
    jw_int(&w, "epoch", epoch);
    jw_int(&w, "grace_s", grace_s);
    jw_end(&w);
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    const struct jr_val *ok = NULL;
    if (local_operate(n, sl_buf_str(&b), (int)grace_s * 1000 + STOP_MARGIN_MS, NULL, NULL, &doc,
                      &ok, err) < 0)
        return -1;
    if (!jr_true(jr_get(ok, "stopped")))
        return sl_fail(err, SL_UNAVAILABLE,
                       "node %s did not confirm that nothing of %s remains; it is asked again",
                       n->name, lease);
    return 0;
}

const struct engine engine_local = {"local", local_operate, local_lease_start, local_lease_stop};

const struct engine *engine_by_name(const char *name)
{
    return sl_streq(name, engine_local.name) ? &engine_local : NULL;
}
