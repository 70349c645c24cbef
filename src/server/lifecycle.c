/* SPDX-License-Identifier: Apache-2.0 */
#include "server/lifecycle.h"
#include "server/event.h"
#include <stdio.h>

/* clang-format off */
static const struct sm_state lease_states[] = {
    /* state           name         may move to                                                        billed deadline outcome */
    [LEASE_REQUESTED] = {"requested", SM_TO(LEASE_QUEUED) | SM_TO(LEASE_PLACED) | SM_TO(LEASE_FAILED), false, 60, LEASE_FAILED},
    [LEASE_QUEUED]    = {"queued",    SM_TO(LEASE_PLACED) | SM_TO(LEASE_FAILED),                       false, 86400, LEASE_FAILED},
    [LEASE_PLACED]    = {"placed",    SM_TO(LEASE_STARTING) | SM_TO(LEASE_STOPPING),                   false, 120, LEASE_STOPPING},
    [LEASE_STARTING]  = {"starting",  SM_TO(LEASE_RUNNING) | SM_TO(LEASE_STOPPING),                    false, 300, LEASE_STOPPING},
    [LEASE_RUNNING]   = {"running",   SM_TO(LEASE_STOPPING),                                           true,  0, 0},
    [LEASE_STOPPING]  = {"stopping",  SM_TO(LEASE_STOPPED) | SM_TO(LEASE_FAILED),                      false, 600, LEASE_STOPPED},
    [LEASE_STOPPED]   = {"stopped",   SM_TO(LEASE_PLACED) | SM_TO(LEASE_RELEASED),                     false, 0, 0},
    [LEASE_RELEASED]  = {"released",  0,                                                               false, 0, 0},
    [LEASE_FAILED]    = {"failed",    0,                                                               false, 0, 0},
};
/* No edge leads from leased to available: cards come back only through sanitizing. */
static const struct sm_state node_states[] = {
    [NODE_ENROLLED]    = {"enrolled",    SM_TO(NODE_TESTING) | SM_TO(NODE_RETIRED), false, 0, 0},
    [NODE_TESTING]     = {"testing",     SM_TO(NODE_AVAILABLE) | SM_TO(NODE_QUARANTINED) | SM_TO(NODE_DRAINING) | SM_TO(NODE_RETIRED), false, 600, NODE_QUARANTINED},
    [NODE_AVAILABLE]   = {"available",   SM_TO(NODE_LEASED) | SM_TO(NODE_DRAINING) | SM_TO(NODE_QUARANTINED), false, 0, 0},
    [NODE_LEASED]      = {"leased",      SM_TO(NODE_SANITIZING) | SM_TO(NODE_DRAINING) | SM_TO(NODE_QUARANTINED), false, 0, 0},
    [NODE_SANITIZING]  = {"sanitizing",  SM_TO(NODE_AVAILABLE) | SM_TO(NODE_LEASED) | SM_TO(NODE_DRAINING) | SM_TO(NODE_QUARANTINED), false, 3600, NODE_QUARANTINED},
    [NODE_DRAINING]    = {"draining",    SM_TO(NODE_TESTING) | SM_TO(NODE_LEASED) | SM_TO(NODE_SANITIZING) | SM_TO(NODE_QUARANTINED) | SM_TO(NODE_RETIRED), false, 0, 0},
    [NODE_QUARANTINED] = {"quarantined", SM_TO(NODE_TESTING) | SM_TO(NODE_LEASED) | SM_TO(NODE_SANITIZING) | SM_TO(NODE_DRAINING) | SM_TO(NODE_RETIRED), false, 0, 0},
    [NODE_RETIRED]     = {"retired",     SM_TO(NODE_ENROLLED), false, 0, 0},
};
/* creating lasts as long as its lease is placed or starting, whose deadlines bound it. */
static const struct sm_state volume_states[] = {
    [VOLUME_CREATING]  = {"creating",  SM_TO(VOLUME_AVAILABLE) | SM_TO(VOLUME_ATTACHED) | SM_TO(VOLUME_DELETED), false, 0, 0},
    [VOLUME_AVAILABLE] = {"available", SM_TO(VOLUME_ATTACHED) | SM_TO(VOLUME_DELETED), false, 0, 0},
    [VOLUME_ATTACHED]  = {"attached",  SM_TO(VOLUME_AVAILABLE), false, 0, 0},
    [VOLUME_DELETED]   = {"deleted",   SM_TO(VOLUME_PURGED), false, 0, 0},
    [VOLUME_PURGED]    = {"purged",    0, false, 0, 0},
};
static const struct sm_state image_states[] = {
    [IMAGE_IMPORTING] = {"importing", SM_TO(IMAGE_AVAILABLE) | SM_TO(IMAGE_FAILED), false, 7200, IMAGE_FAILED},
    [IMAGE_AVAILABLE] = {"available", SM_TO(IMAGE_IMPORTING) | SM_TO(IMAGE_DELETED), false, 0, 0},
    [IMAGE_FAILED]    = {"failed",    SM_TO(IMAGE_IMPORTING) | SM_TO(IMAGE_DELETED), false, 0, 0},
    [IMAGE_DELETED]   = {"deleted",   SM_TO(IMAGE_IMPORTING), false, 0, 0},
};
/* running goes back to pending when an attempt fails, and for every row when the daemon starts. */
static const struct sm_state operation_states[] = {
    [OPERATION_PENDING] = {"pending", SM_TO(OPERATION_RUNNING), false, 0, 0},
    [OPERATION_RUNNING] = {"running", SM_TO(OPERATION_PENDING) | SM_TO(OPERATION_DONE) | SM_TO(OPERATION_FAILED), false, 0, 0},
    [OPERATION_DONE]    = {"done",    0, false, 0, 0},
    [OPERATION_FAILED]  = {"failed",  0, false, 0, 0},
};
/* clang-format on */
const struct sm lease_sm = {"lease", lease_states, LEASE_STATE_MAX};
const struct sm node_sm = {"node", node_states, NODE_STATE_MAX};
const struct sm volume_sm = {"volume", volume_states, VOLUME_STATE_MAX};
const struct sm image_sm = {"image", image_states, IMAGE_STATE_MAX};
const struct sm operation_sm = {"operation", operation_states, OPERATION_STATE_MAX};

void lifecycle_check(void)
{
    sm_check(&lease_sm);
    sm_check(&node_sm);
    sm_check(&volume_sm);
    sm_check(&image_sm);
    sm_check(&operation_sm);
    for (int i = 0; i < lease_sm.n; i++)
        SL_ASSERT(lease_sm.states[i].billed == (i == LEASE_RUNNING));
    SL_ASSERT(!sm_allowed(&node_sm, NODE_LEASED, NODE_AVAILABLE));
}

static int read_state(struct db_c *c, const struct sm *sm, const char *table,
                      const char *key_column, const char *id, int *ret, struct sl_err *err)
{
    char sql[128];
    struct db_q q;
    (void)snprintf(sql, sizeof sql, "SELECT state FROM %s WHERE %s = ?1", table, key_column);
    int rc = db_row(c, &q, err, sql, "t", id);
    if (rc > 0)
        *ret = sm_by_name(sm, db_text(&q, 0));
    db_done(&q);
    if (rc < 0)
        return -1;
    if (rc == 0)
        return sl_fail(err, SL_NOT_FOUND, "no %s %s exists; list them to see their ids", sm->noun,
                       id);
    SL_ASSERT(*ret >= 0);
    return 0;
}

int sm_move(struct db_c *c, struct server *s, const struct sm *sm, const char *table,
            const char *key_column, const char *id, int to, const char *account_id,
            const char *actor, const char *reason, struct sl_err *err)
{
    int from = -1;
    if (read_state(c, sm, table, key_column, id, &from, err) < 0)
        return -1;
    const struct sm_state *t = &sm->states[to];
    if (!sm_allowed(sm, from, to))
        return sl_fail_at(
            err, SL_CONFLICT, "state",
            "the %s is %s, from which it cannot become %s; look at it again and retry", sm->noun,
            sm->states[from].name, t->name);
    char sql[192], type[48];
    int64_t now = env_now(s->env);
    int rc;
    if (sm == &lease_sm) {
        (void)snprintf(sql, sizeof sql,
                       "UPDATE %s SET state = ?2, state_since_us = ?3, deadline_us = ?4 "
                       "WHERE %s = ?1",
                       table, key_column);
        rc = db_exec(c, err, sql, "ttii", id, t->name, now,
                     t->deadline_s ? now + t->deadline_s * SL_SEC : (int64_t)0);
    } else {
        (void)snprintf(sql, sizeof sql,
                       "UPDATE %s SET state = ?2, state_since_us = ?3 WHERE %s = ?1", table,
                       key_column);
        rc = db_exec(c, err, sql, "tti", id, t->name, now);
    }
    if (rc < 0)
        return -1;
    (void)snprintf(type, sizeof type, "%s.%s", sm->noun, t->name);
    SL_AUTO_BUF struct sl_buf b = SL_BUF(4096);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "from", sm->states[from].name);
    if (reason && *reason)
        jw_str(&w, "reason", reason);
    jw_end(&w);
    return event_add(c, s, account_id, sm->noun, id, type, actor, sl_buf_str(&b), err);
}
