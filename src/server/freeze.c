/* SPDX-License-Identifier: Apache-2.0 */
#include "server/freeze.h"
#include "server/account.h"
#include "server/event.h"
#include "server/lease.h"
#include <stdio.h>

const struct jr_field freeze_fields[] = {{"reason", JR_K_STR, JR_REQUIRED,
                                          offsetof(struct freeze_want, reason), 1, 300,
                                          .doc = "what the renter reads"},
                                         {0}};

static const char sql_state[] =
    "UPDATE account SET state = ?2, state_reason = ?3, updated_us = ?4 WHERE id = ?1";
static const char sql_running[] =
    "SELECT id FROM lease WHERE account_id = ?1 AND state IN ('placed', 'starting', 'running') "
    "ORDER BY id LIMIT 1";

static int set_state(struct db_c *c, struct req *r, const char *id, const char *state,
                     const char *reason, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(4096);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "reason", reason);
    jw_end(&w);
    const char *type = sl_streq(state, "frozen") ? "account.frozen" : "account.unfrozen";
    const char *actor = sl_arena_printf(r->arena, "operator:%s", r->caller.account_id);
    if (db_exec(c, err, sql_state, "ttti", id, state, reason, env_now(r->s->env)) < 0)
        return -1;
    return event_add(c, r->s, id, "account", id, type, actor, sl_buf_str(&b), err);
}

/* Each stop takes its lease out of the query. */
static int stop_all(struct db_c *c, struct req *r, const char *account_id, const char *reason,
                    struct sl_err *err)
{
    const char *why = sl_arena_printf(r->arena, "account frozen: %s", reason);
    for (;;) {
        char id[ID_TEXT];
        struct lease l;
        struct db_q q;
        int rc = db_row(c, &q, err, sql_running, "t", account_id);
        if (rc > 0)
            (void)snprintf(id, sizeof id, "%s", db_text(&q, 0));
        db_done(&q);
        if (rc <= 0)
            return rc;
        if (lease_get(c, NULL, id, r->arena, &l, err) < 0 ||
            lease_stop(c, r->s, &l, "system", why, err) < 0)
            return -1;
    }
}

static int answer(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct account a;
    if (account_get(c, r->path[0], r->arena, &a, err) < 0)
        return -1;
    account_write(&out->json, NULL, &a);
    return 0;
}

int account_freeze(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    const struct freeze_want *want = r->body;
    struct account a;
    if (account_get(c, r->path[0], r->arena, &a, err) < 0)
        return -1;
    if (sl_streq(a.role, "operator"))
        return sl_fail_at(err, SL_CONFLICT, "id",
                          "id: %s is an operator's account, which cannot be frozen", a.id);
    if ((!sl_streq(a.state, "frozen") || !sl_streq(a.state_reason, want->reason)) &&
        set_state(c, r, a.id, "frozen", want->reason, err) < 0)
        return -1;
    if (stop_all(c, r, a.id, want->reason, err) < 0)
        return -1;
    return answer(c, r, out, err);
}

int account_unfreeze(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct account a;
    if (account_get(c, r->path[0], r->arena, &a, err) < 0)
        return -1;
    if (sl_streq(a.state, "frozen") && set_state(c, r, a.id, "active", "", err) < 0)
        return -1;
    return answer(c, r, out, err);
}
