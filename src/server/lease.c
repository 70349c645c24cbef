/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading a lease, and how it ends. How it begins: lease_create.c; what workers do: lease_work.c.
 */
#include "server/lease.h"
#include "base/core/failpoint.h"
#include "server/autostop.h"
#include "server/event.h"
#include "server/meter.h"
#include "server/node.h"
#include "server/operation.h"
#include "server/volume.h"
#include <stdio.h>

static const char sql_by_id[] = "SELECT " LEASE_COLUMNS " FROM lease WHERE id = ?1";
static const char sql_by_name[] = "SELECT " LEASE_COLUMNS " FROM lease WHERE account_id = ?1 AND "
                                  "name = ?2 AND state <> 'released' AND state <> 'failed'";
static const char sql_end[] = "UPDATE lease SET reason = ?2, funded_until_us = 0, updated_us = ?3 "
                              "WHERE id = ?1";
static const char sql_no_cards[] = "UPDATE lease SET gpu_mask = 0, updated_us = ?2 WHERE id = ?1";

static const char sql_no_cpu[] = "UPDATE lease SET cpu_run = 0, updated_us = ?2 WHERE id = ?1";

static void text(char *out, size_t n, const char *in)
{
    (void)snprintf(out, n, "%s", in);
}

void lease_read(struct db_q *q, struct sl_arena *a, struct lease *l)
{
    *l = (struct lease){.state = sm_by_name(&lease_sm, db_text(q, 3)),
                        .state_since_us = db_int(q, 4),
                        .deadline_us = db_int(q, 5),
                        .epoch = db_int(q, 6),
                        .gpus = db_int(q, 8),
                        .gpu_mask = (uint64_t)db_int(q, 10),
                        .slot = db_int(q, 11),
                        .rate_micro = db_int(q, 14),
                        .horizon_s = db_int(q, 16),
                        .image = sl_arena_strdup(a, db_text(q, 17)),
                        .disk_gb = db_int(q, 19),
                        .command = sl_arena_strdup(a, db_text(q, 20)),
                        .ssh_keys = sl_arena_strdup(a, db_text(q, 21)),
                        .host_key = sl_arena_strdup(a, db_text(q, 22)),
                        .ready_us = db_int(q, 24),
                        .last_heartbeat_us = db_int(q, 25),
                        .funded_until_us = db_int(q, 26),
                        .reason = sl_arena_strdup(a, db_text(q, 27)),
                        .emulated = db_int(q, 28),
                        .metric = sl_arena_strdup(a, db_text(q, 29)),
                        .metric_us = db_int(q, 30),
                        .created_us = db_int(q, 31),
                        .cpu_run = db_int(q, 32),
                        .cpu_rate_micro = db_int(q, 33)};
    text(l->id, sizeof l->id, db_text(q, 0));
    text(l->account_id, sizeof l->account_id, db_text(q, 1));
    text(l->name, sizeof l->name, db_text(q, 2));
    text(l->model, sizeof l->model, db_text(q, 7));
    text(l->node_name, sizeof l->node_name, db_text(q, 9));
    text(l->quote_id, sizeof l->quote_id, db_text(q, 12));
    text(l->price_version_id, sizeof l->price_version_id, db_text(q, 13));
    text(l->currency, sizeof l->currency, db_text(q, 15));
    text(l->volume_id, sizeof l->volume_id, db_text(q, 18));
    text(l->nonce, sizeof l->nonce, db_text(q, 23));
}

int lease_get(struct db_c *c, const char *account_id, const char *id, struct sl_arena *a,
              struct lease *ret, struct sl_err *err)
{
    struct db_q q;
    bool by_name = account_id && !id_ok(id, "lea");
    int rc = by_name ? db_row(c, &q, err, sql_by_name, "tt", account_id, id)
                     : db_row(c, &q, err, sql_by_id, "t", id);
    if (rc > 0)
        lease_read(&q, a, ret);
    db_done(&q);
    if (rc < 0)
        return -1;
    if (rc == 0 || (account_id && !sl_streq(account_id, ret->account_id)))
        return sl_fail_at(err, SL_NOT_FOUND, "id",
                          "no instance %.63s exists; list yours to see their ids and names", id);
    return 0;
}

int64_t lease_proven_us(const struct server *s, const struct lease *l, int64_t now)
{
    int64_t last = l->last_heartbeat_us > l->ready_us ? l->last_heartbeat_us : l->ready_us;
    return now - last <= 2 * s->conf.heartbeat_s * SL_SEC ? now : last;
}

static int move(struct db_c *c, struct server *s, const struct lease *l, int to, const char *actor,
                const char *reason, struct sl_err *err)
{
    return sm_move(c, s, &lease_sm, "lease", "id", l->id, to, l->account_id, actor, reason, err);
}

static int tell_node(struct db_c *c, struct server *s, const struct lease *l, bool failed,
                     struct sl_err *err)
{
    struct operation_new op = {.kind = "lease_stop",
                               .ref = l->id,
                               .account_id = l->account_id,
                               .node_name = l->node_name,
                               .epoch = l->epoch,
                               .payload = failed ? "{\"failed\":true}" : "{\"failed\":false}"};
    return operation_add(c, s, &op, NULL, err);
}

static int end(struct db_c *c, struct server *s, const struct lease *l, int64_t end_us,
               const char *actor, const char *reason, bool failed, struct sl_err *err)
{
    char cut[AUTOSTOP_REASON];
    if (autostop_cut(c, l, &end_us, &reason, cut, err) < 0)
        return -1;
    /* With no open segment meter_stop only gives the hold back: a start that failed costs nothing.
     */
    if (meter_stop(c, s, l->id, end_us, reason, err) < 0)
        return -1;
    FAILPOINT("lease.meter_stopped");
    if (db_exec(c, err, sql_end, "tti", l->id, reason, env_now(s->env)) < 0 ||
        move(c, s, l, LEASE_STOPPING, actor, reason, err) < 0 ||
        autostop_stopped(c, s, l->id, err) < 0)
        return -1;
    return tell_node(c, s, l, failed, err);
}

int lease_stop_at(struct db_c *c, struct server *s, const struct lease *l, int64_t end_us,
                  const char *actor, const char *reason, struct sl_err *err)
{
    if (!sm_allowed(&lease_sm, l->state, LEASE_STOPPING))
        return 0;
    return end(c, s, l, end_us, actor, reason, false, err);
}

int lease_stop(struct db_c *c, struct server *s, const struct lease *l, const char *actor,
               const char *reason, struct sl_err *err)
{
    return lease_stop_at(c, s, l, lease_proven_us(s, l, env_now(s->env)), actor, reason, err);
}

int lease_start_failed(struct db_c *c, struct server *s, const struct lease *l, const char *why,
                       struct sl_err *err)
{
    char reason[360];
    struct volume v;
    if (l->state != LEASE_PLACED && l->state != LEASE_STARTING)
        return 0;
    if (volume_get(c, NULL, l->volume_id, &v, err) < 0)
        return -1;
    (void)snprintf(reason, sizeof reason, "start failed, nothing is charged: %.280s", why);
    if (node_start_failed(c, s, l->node_name, why, err) < 0)
        return -1;
    return end(c, s, l, env_now(s->env), "system", reason, v.state == VOLUME_CREATING, err);
}

static int drop_disk(struct db_c *c, struct server *s, const struct lease *l, struct sl_err *err)
{
    struct volume v;
    if (volume_delete(c, s, l->volume_id, true, "system", err) < 0 ||
        volume_get(c, NULL, l->volume_id, &v, err) < 0)
        return -1;
    return v.state == VOLUME_DELETED ? volume_purge(c, s, &v, err) : 0;
}

int lease_gone(struct db_c *c, struct server *s, const struct lease *l, bool failed,
               struct sl_err *err)
{
    if (l->gpu_mask) {
        if (node_give_back(c, s, l->node_name, l->gpu_mask, "the lease has ended", err) < 0 ||
            db_exec(c, err, sql_no_cards, "ti", l->id, env_now(s->env)) < 0 ||
            node_sanitize_add(c, s, l->node_name, l->id, l->account_id, l->gpu_mask, err) < 0)
            return -1;
    }
    if (l->cpu_run && (db_exec(c, err, sql_no_cpu, "ti", l->id, env_now(s->env)) < 0 ||
                       node_give_cpu(c, l->node_name, err) < 0))
        return -1;
    FAILPOINT("lease.cards_back");
    if (l->state != LEASE_STOPPING)
        return 0; /* its deadline passed earlier; only the cards were outstanding */
    if (move(c, s, l, failed ? LEASE_FAILED : LEASE_STOPPED, "system", l->reason, err) < 0)
        return -1;
    if (failed)
        return autostop_over(c, l->id, err) < 0 ? -1 : drop_disk(c, s, l, err);
    return volume_detach(c, s, l->volume_id, err);
}

int lease_release(struct db_c *c, struct server *s, const struct lease *l, const char *actor,
                  struct sl_err *err)
{
    if (l->state == LEASE_RELEASED || l->state == LEASE_FAILED)
        return 0;
    if (l->state != LEASE_STOPPED)
        return sl_fail_at(
            err, SL_CONFLICT, "state",
            "instance %s is %s; stop it and wait until it is stopped, then release it", l->name,
            lease_sm.states[l->state].name);
    if (lease_on_node(l))
        return sl_fail_at(
            err, SL_CONFLICT, "state",
            "instance %s is stopped, but its node has not confirmed that nothing of it "
            "remains; release it once the node answers",
            l->name);
    const char *why = sl_streq(actor, "system") ? "deleted by its timer" : "released by the renter";
    if (move(c, s, l, LEASE_RELEASED, actor, why, err) < 0 || autostop_over(c, l->id, err) < 0)
        return -1;
    FAILPOINT("lease.released");
    return volume_delete(c, s, l->volume_id, true, actor, err);
}

int lease_deadline(struct db_c *c, struct server *s, const struct lease *l, struct sl_err *err)
{
    switch (l->state) {
    case LEASE_PLACED:
    case LEASE_STARTING:
        return lease_start_failed(
            c, s, l, "the node did not report the instance ready within its time", err);
    case LEASE_STOPPING:
        /* The cards stay taken (gpu_mask) until the node proves that nothing remains. */
        if (node_quarantine(c, s, l->node_name, "it did not confirm the stop of a lease in time",
                            err) < 0 ||
            move(c, s, l, LEASE_STOPPED, "system", l->reason, err) < 0)
            return -1;
        return volume_detach(c, s, l->volume_id, err);
    case LEASE_REQUESTED:
    case LEASE_QUEUED:
        return move(c, s, l, LEASE_FAILED, "system", "it was not placed in time", err);
    default:
        return 0;
    }
}
