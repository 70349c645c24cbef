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
    [IMAGE_DELETED]   = {"deleted",   SM_TO(IMAGE_IMPORTING) | SM_TO(IMAGE_LISTED), false, 0, 0},
    [IMAGE_LISTED]    = {"listed",    SM_TO(IMAGE_IMPORTING) | SM_TO(IMAGE_DELETED), false, 0, 0},
};
static const struct sm_state snapshot_states[] = {
    [SNAPSHOT_CREATING]  = {"creating",  SM_TO(SNAPSHOT_AVAILABLE) | SM_TO(SNAPSHOT_FAILED), false, 86400, SNAPSHOT_FAILED},
    [SNAPSHOT_AVAILABLE] = {"available", SM_TO(SNAPSHOT_DELETED), false, 0, 0},
    [SNAPSHOT_FAILED]    = {"failed",    SM_TO(SNAPSHOT_DELETED), false, 0, 0},
    [SNAPSHOT_DELETED]   = {"deleted",   0, false, 0, 0},
};
/* running goes back to pending when an attempt fails, and for every row when the daemon starts. */
static const struct sm_state operation_states[] = {
    [OPERATION_PENDING] = {"pending", SM_TO(OPERATION_RUNNING), false, 0, 0},
    [OPERATION_RUNNING] = {"running", SM_TO(OPERATION_PENDING) | SM_TO(OPERATION_DONE) | SM_TO(OPERATION_FAILED), false, 0, 0},
    [OPERATION_DONE]    = {"done",    0, false, 0, 0},
    [OPERATION_FAILED]  = {"failed",  0, false, 0, 0},
};
static const struct sm_state invoice_states[] = {
    [INVOICE_DRAFT]     = {"draft",     SM_TO(INVOICE_ISSUED) | SM_TO(INVOICE_CANCELLED), false, 0, 0},
    [INVOICE_ISSUED]    = {"issued",    SM_TO(INVOICE_REVERSING), false, 0, 0},
    [INVOICE_REVERSING] = {"reversing", SM_TO(INVOICE_REVERSED), false, 0, 0},
    [INVOICE_REVERSED]  = {"reversed",  0, false, 0, 0},
    [INVOICE_CANCELLED] = {"cancelled", 0, false, 0, 0},
};
static const struct sm_state payout_states[] = {
    [PAYOUT_REQUESTED] = {"requested", SM_TO(PAYOUT_PAID) | SM_TO(PAYOUT_REJECTED) | SM_TO(PAYOUT_CANCELLED), false, 0, 0},
    [PAYOUT_PAID]      = {"paid",      0, false, 0, 0},
    [PAYOUT_REJECTED]  = {"rejected",  0, false, 0, 0},
    [PAYOUT_CANCELLED] = {"cancelled", 0, false, 0, 0},
};
/* clang-format on */
const struct sm lease_sm = {"lease", lease_states, LEASE_STATE_MAX};
const struct sm node_sm = {"node", node_states, NODE_STATE_MAX};
const struct sm volume_sm = {"volume", volume_states, VOLUME_STATE_MAX};
const struct sm image_sm = {"image", image_states, IMAGE_STATE_MAX};
const struct sm snapshot_sm = {"snapshot", snapshot_states, SNAPSHOT_STATE_MAX};
const struct sm operation_sm = {"operation", operation_states, OPERATION_STATE_MAX};
const struct sm payout_sm = {"payout", payout_states, PAYOUT_STATE_MAX};
const struct sm invoice_sm = {"invoice", invoice_states, INVOICE_STATE_MAX};

void lifecycle_check(void)
{
    sm_check(&lease_sm);
    sm_check(&node_sm);
    sm_check(&volume_sm);
    sm_check(&image_sm);
    sm_check(&operation_sm);
    sm_check(&invoice_sm);
    sm_check(&snapshot_sm);
    sm_check(&payout_sm);
    for (int i = 0; i < lease_sm.n; i++)
        SL_ASSERT(lease_sm.states[i].billed == (i == LEASE_RUNNING));
    SL_ASSERT(!sm_allowed(&node_sm, NODE_LEASED, NODE_AVAILABLE));
}

/* The statements of each noun, as constants: the store finds a prepared one by its text's address.
 */
static const struct sm_sql {
    const struct sm *sm;
    const char *table, *key_column, *read, *move;
} sm_sql[] = {
    {&lease_sm, "lease", "id", "SELECT state FROM lease WHERE id = ?1",
     "UPDATE lease SET state = ?2, state_since_us = ?3, deadline_us = ?4 WHERE id = ?1"},
    {&node_sm, "node", "name", "SELECT state FROM node WHERE name = ?1",
     "UPDATE node SET state = ?2, state_since_us = ?3 WHERE name = ?1"},
    {&volume_sm, "volume", "id", "SELECT state FROM volume WHERE id = ?1",
     "UPDATE volume SET state = ?2, state_since_us = ?3 WHERE id = ?1"},
    {&image_sm, "image", "id", "SELECT state FROM image WHERE id = ?1",
     "UPDATE image SET state = ?2, state_since_us = ?3 WHERE id = ?1"},
    {&snapshot_sm, "snapshot", "id", "SELECT state FROM snapshot WHERE id = ?1",
     "UPDATE snapshot SET state = ?2, state_since_us = ?3 WHERE id = ?1"},
    {&operation_sm, "operation", "id", "SELECT state FROM operation WHERE id = ?1",
     "UPDATE operation SET state = ?2, state_since_us = ?3 WHERE id = ?1"},
    {&payout_sm, "payout", "id", "SELECT state FROM payout WHERE id = ?1",
     "UPDATE payout SET state = ?2, state_since_us = ?3 WHERE id = ?1"},
    {&invoice_sm, "invoice", "id", "SELECT state FROM invoice WHERE id = ?1",
     "UPDATE invoice SET state = ?2, state_since_us = ?3 WHERE id = ?1"},
};

static const struct sm_sql *sql_of(const struct sm *sm)
{
    size_t i = 0;
    while (i < SL_COUNT(sm_sql) && sm_sql[i].sm != sm)
        i++;
    SL_ASSERT(i < SL_COUNT(sm_sql));
    return &sm_sql[i];
}

static int read_state(struct db_c *c, const struct sm_sql *k, const char *id, int *ret,
                      struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err, k->read, "t", id);
    if (rc > 0)
        *ret = sm_by_name(k->sm, db_text(&q, 0));
    db_done(&q);
    if (rc < 0)
        return -1;
    if (rc == 0)
        return sl_fail(err, SL_NOT_FOUND, "no %s %s exists; list them to see their ids",
                       k->sm->noun, id);
    SL_ASSERT(*ret >= 0);
    return 0;
}

static int allowed(const struct sm *sm, int from, int to, struct sl_err *err)
{
    if (sm_allowed(sm, from, to))
        return 0;
    return sl_fail_at(err, SL_CONFLICT, "state",
                      "the %s is %s, from which it cannot become %s; look at it again and retry",
                      sm->noun, sm->states[from].name, sm->states[to].name);
}

int64_t sm_deadline_us(const struct sm *sm, int state, int64_t now)
{
    int64_t s = sm->states[state].deadline_s;
    return s ? now + s * SL_SEC : 0;
}

int sm_moved(struct db_c *c, struct server *s, const struct sm *sm, const char *id, int from,
             int to, const char *account_id, const char *actor, const char *reason,
             struct sl_err *err)
{
    char type[48];
    SL_ASSERT(sm_allowed(sm, from, to));
    (void)snprintf(type, sizeof type, "%s.%s", sm->noun, sm->states[to].name);
    SL_AUTO_BUF struct sl_buf b = SL_BUF(4096);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "from", sm->states[from].name);
    if (reason && *reason)
        jw_str(&w, "reason", reason);
    jw_end(&w);
    return event_add(c, s, account_id, sm->noun, id, type, actor, sl_buf_str(&b), err);
}

int sm_move_from(struct db_c *c, struct server *s, const struct sm *sm, const char *id, int from,
                 int to, const char *account_id, const char *actor, const char *reason,
                 struct sl_err *err)
{
    const struct sm_sql *k = sql_of(sm);
    const char *name = sm->states[to].name;
    int64_t now = env_now(s->env);
    if (allowed(sm, from, to, err) < 0)
        return -1;
    int rc = sm == &lease_sm
                 ? db_exec(c, err, k->move, "ttii", id, name, now, sm_deadline_us(sm, to, now))
                 : db_exec(c, err, k->move, "tti", id, name, now);
    return rc < 0 ? -1 : sm_moved(c, s, sm, id, from, to, account_id, actor, reason, err);
}

int sm_move(struct db_c *c, struct server *s, const struct sm *sm, const char *table,
            const char *key_column, const char *id, int to, const char *account_id,
            const char *actor, const char *reason, struct sl_err *err)
{
    const struct sm_sql *k = sql_of(sm);
    int from = -1;
    SL_ASSERT(sl_streq(table, k->table) && sl_streq(key_column, k->key_column));
    if (read_state(c, k, id, &from, err) < 0)
        return -1;
    return sm_move_from(c, s, sm, id, from, to, account_id, actor, reason, err);
}
