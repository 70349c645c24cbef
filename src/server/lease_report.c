/* SPDX-License-Identifier: Apache-2.0
 *
 * POST /v1/agent/report: what the supervisor of a lease tells: ready, heartbeat, exit, failed,
 * metric. Every report may come twice. The time of billing is this server's, never the node's.
 */
#include "base/core/failpoint.h"
#include "server/autostop.h"
#include "server/event.h"
#include "server/lease.h"
#include "server/meter.h"
#include "server/metric.h"
#include "server/node.h"
#include "server/volume.h"
#include <inttypes.h>
#include <stdio.h>

enum { MINUTE_US = 60 * SL_SEC };

static const char *const kinds[] = {"ready", "heartbeat", "exit", "failed", "metric", NULL};
static const struct jr_field metric_fields[] = {
    JR_STR(struct lease_report_metric, name, "name", JR_REQUIRED, 1, 64),
    JR_STR(struct lease_report_metric, value, "value", JR_REQUIRED, 1, 256),
    JR_STR(struct lease_report_metric, sha256, "sha256", JR_REQUIRED, 64, 64),
    {0}};
const struct jr_field lease_report_fields[] = {
    JR_STR(struct lease_report, lease, "lease", JR_REQUIRED, 1, 31),
    JR_INT(struct lease_report, epoch, "epoch", JR_REQUIRED, 1, INT64_MAX),
    {"kind", JR_K_STR, JR_REQUIRED, offsetof(struct lease_report, kind), 1, 15, .choices = kinds},
    JR_INT(struct lease_report, t_us, "t_us", JR_REQUIRED, 0, INT64_MAX),
    JR_INT(struct lease_report, alive_s, "alive_s", 0, 0, INT64_MAX),
    JR_STR(struct lease_report, reason, "reason", JR_NULLABLE, 0, 400),
    JR_STR(struct lease_report, host_key, "host_key", JR_NULLABLE, 0, 1000),
    {"exit_code", JR_K_INT, JR_NULLABLE, offsetof(struct lease_report, exit_code), -255, 255,
     .has_offset = offsetof(struct lease_report, has_exit_code)},
    {"metric", JR_K_OBJ, JR_NULLABLE, offsetof(struct lease_report, metric), 0, 0,
     .sub = metric_fields, .sub_size = sizeof(struct lease_report_metric),
     .has_offset = offsetof(struct lease_report, has_metric)},
    {"use", JR_K_OBJ, JR_NULLABLE, offsetof(struct lease_report, use), 0, 0,
     .sub = autostop_use_fields, .sub_size = sizeof(struct autostop_use),
     .has_offset = offsetof(struct lease_report, has_use)},
    {0}};

static const char sql_ready[] =
    "UPDATE lease SET ready_us = ?2, last_heartbeat_us = ?2, funded_until_us = ?3, "
    "host_key = CASE WHEN ?4 = '' THEN host_key ELSE ?4 END, updated_us = ?2 WHERE id = ?1";
static const char sql_alive[] =
    "UPDATE lease SET last_heartbeat_us = ?2, funded_until_us = ?3 WHERE id = ?1";
static const char sql_minute[] =
    "INSERT INTO heartbeat(lease_id, epoch, minute_us, first_us, last_us, count) "
    "VALUES(?1, ?2, ?3, ?4, ?4, 1) ON CONFLICT (lease_id, epoch, minute_us) "
    "DO UPDATE SET last_us = excluded.last_us, count = heartbeat.count + 1";
static const char sql_metric[] = "UPDATE lease SET metric = ?2, metric_us = ?3 WHERE id = ?1";

static int beat(struct db_c *c, const struct lease *l, int64_t now, struct sl_err *err)
{
    return db_exec(c, err, sql_minute, "tiii", l->id, l->epoch, now - now % MINUTE_US, now);
}

static int on_ready(struct db_c *c, struct server *s, struct lease *l,
                    const struct lease_report *rep, struct sl_err *err)
{
    int64_t now = env_now(s->env), funded = 0;
    if (l->state != LEASE_STARTING && l->state != LEASE_PLACED)
        return 0; /* a repeat, or too late: the answer says which */
    if (l->state == LEASE_PLACED && sm_move(c, s, &lease_sm, "lease", "id", l->id, LEASE_STARTING,
                                            l->account_id, "agent", "", err) < 0)
        return -1;
    if (sm_move(c, s, &lease_sm, "lease", "id", l->id, LEASE_RUNNING, l->account_id, "agent", "",
                err) < 0 ||
        meter_start(c, s, l->id, now, err) < 0)
        return -1;
    FAILPOINT("lease.meter_started");
    if (meter_tick(c, s, l->id, now, &funded, err) < 0 ||
        db_exec(c, err, sql_ready, "tiit", l->id, now, funded, rep->host_key ? rep->host_key : "") <
            0 ||
        beat(c, l, now, err) < 0 || volume_attach(c, s, l->volume_id, err) < 0 ||
        node_start_worked(c, l->node_name, err) < 0 || autostop_running(c, s, l->id, err) < 0)
        return -1;
    l->state = LEASE_RUNNING;
    l->funded_until_us = funded;
    if (l->epoch == 1)
        metric_launch(now - l->created_us);
    FAILPOINT("lease.running");
    return 0;
}

/* The last word on the funds is the agent's: close to their end it must know of a top-up. */
static int on_heartbeat(struct db_c *c, struct server *s, struct lease *l,
                        const struct lease_report *rep, struct sl_err *err)
{
    int64_t now = env_now(s->env);
    if (l->state != LEASE_RUNNING)
        return 0;
    if (l->funded_until_us - now < 6 * s->conf.heartbeat_s * SL_SEC &&
        meter_tick(c, s, l->id, now, &l->funded_until_us, err) < 0)
        return -1;
    if (db_exec(c, err, sql_alive, "tii", l->id, now, l->funded_until_us) < 0)
        return -1;
    FAILPOINT("lease.heartbeat");
    if (beat(c, l, now, err) < 0 || (rep->has_use && autostop_seen(c, s, l, &rep->use, err) < 0))
        return -1;
    if (l->funded_until_us > now)
        return 0;
    if (lease_stop_at(c, s, l, l->funded_until_us, "system", "insufficient_funds", err) < 0)
        return -1;
    l->state = LEASE_STOPPING;
    return 0;
}

static int on_exit_report(struct db_c *c, struct server *s, struct lease *l,
                          const struct lease_report *rep, struct sl_err *err)
{
    char reason[300];
    const char *why = rep->reason ? rep->reason : "";
    if (rep->has_exit_code)
        (void)snprintf(reason, sizeof reason, "exited with status %" PRId64 "%s%.200s",
                       rep->exit_code, *why ? ": " : "", why);
    else
        (void)snprintf(reason, sizeof reason, "%.250s", *why ? why : "exited");
    if (l->state == LEASE_PLACED || l->state == LEASE_STARTING) {
        if (lease_start_failed(c, s, l, reason, err) < 0)
            return -1;
        l->state = LEASE_STOPPING;
    } else if (l->state == LEASE_RUNNING) {
        /* The report itself proves that it lived until now. */
        int64_t now = env_now(s->env);
        if (lease_stop_at(c, s, l, now, "agent", reason, err) < 0)
            return -1;
        l->state = LEASE_STOPPING;
    }
    return 0;
}

static int on_metric(struct db_c *c, struct server *s, const struct lease *l,
                     const struct lease_report *rep, struct sl_err *err)
{
    if (!rep->has_metric)
        return sl_fail_at(err, SL_INVALID, "metric",
                          "metric: is missing; give name, value and sha256");
    SL_AUTO_BUF struct sl_buf b = SL_BUF(2048);
    struct jw w = {&b};
    int64_t now = env_now(s->env);
    jw_object(&w, NULL);
    jw_str(&w, "name", rep->metric.name);
    jw_str(&w, "value", rep->metric.value);
    jw_str(&w, "sha256", rep->metric.sha256);
    jw_time(&w, "time", now);
    jw_end(&w);
    if (sl_streq(l->metric, sl_buf_str(&b)))
        return 0;
    if (db_exec(c, err, sql_metric, "tti", l->id, sl_buf_str(&b), now) < 0)
        return -1;
    return event_add(c, s, l->account_id, "lease", l->id, "lease.metric", "agent", sl_buf_str(&b),
                     err);
}

static int check(const struct req *r, const struct lease_report *rep, const struct lease *l,
                 struct sl_err *err)
{
    if (!sl_streq(rep->lease, r->caller.lease_id) || rep->epoch != r->caller.epoch)
        return sl_fail_at(err, SL_FORBIDDEN, "lease",
                          "lease: the token is for %s epoch %" PRId64 ", the report for another",
                          r->caller.lease_id, r->caller.epoch);
    if (rep->epoch != l->epoch)
        return sl_fail_at(err, SL_CONFLICT, "epoch",
                          "epoch: %" PRId64 " is over, the lease is at %" PRId64
                          "; stop what belongs to it",
                          rep->epoch, l->epoch);
    return 0;
}

int lease_report_post(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    const struct lease_report *rep = r->body;
    struct server *s = r->s;
    struct lease l;
    int rc = 0;
    if (lease_get(c, NULL, r->caller.lease_id, r->arena, &l, err) < 0 || check(r, rep, &l, err) < 0)
        return -1;
    if (sl_streq(rep->kind, "ready"))
        rc = on_ready(c, s, &l, rep, err);
    else if (sl_streq(rep->kind, "heartbeat"))
        rc = on_heartbeat(c, s, &l, rep, err);
    else if (sl_streq(rep->kind, "metric"))
        rc = on_metric(c, s, &l, rep, err);
    else
        rc = on_exit_report(c, s, &l, rep, err);
    if (rc < 0)
        return -1;
    bool running = l.state == LEASE_RUNNING;
    int64_t until = l.funded_until_us;
    if (running && autostop_until(c, l.id, until, &until, err) < 0)
        return -1;
    bool waits = l.state == LEASE_PLACED || l.state == LEASE_STARTING;
    jw_object(&out->json, NULL);
    jw_str(&out->json, "state", lease_sm.states[l.state].name);
    jw_bool(&out->json, "go", running);
    jw_bool(&out->json, "stop", !running && !waits);
    jw_int(&out->json, "funded_until_us", running ? until : 0);
    jw_end(&out->json);
    return 0;
}
