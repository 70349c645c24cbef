/* SPDX-License-Identifier: Apache-2.0 */
#include "server/autostop.h"
#include "base/core/failpoint.h"
#include "server/event.h"
#include "server/mail.h"
#include "server/metric.h"
#include <inttypes.h>
#include <stdio.h>

enum {
    BATCH = 100,
    WARN_MAX_S = 600,      /* a stop is told so long ahead, or half of its timer */
    WARN_DELETE_S = 86400, /* the same of a deletion */
    BEATS_FRESH = 3,       /* a longer silence of the agent counts as use */
    DELETE_AGAIN_S = 60,   /* a node has not confirmed the stop yet */
    SILENT_AGAIN_S = 5,
    RUN_MIN_S = 60, /* a budget that does not pay for a minute starts nothing */
    AGENT_SKEW_US = 60 * 1000000,
};

const struct jr_field autostop_fields[] = {
    {"ttl_s", JR_K_INT, 0, offsetof(struct autostop_want, ttl_s), 0, AUTOSTOP_TIMER_MAX_S,
     .doc = "seconds that a run lasts; set while it runs: from now; 0 switches it off",
     .has_offset = offsetof(struct autostop_want, has_ttl)},
    {"budget", JR_K_MONEY, 0, offsetof(struct autostop_want, budget_micro), 0, 1000000 * SL_MICRO,
     .doc = "what its cards may cost, all runs together; 0 switches it off",
     .has_offset = offsetof(struct autostop_want, has_budget)},
    {"idle_s", JR_K_INT, 0, offsetof(struct autostop_want, idle_s), 0, AUTOSTOP_TIMER_MAX_S,
     .doc = "seconds without use after which it stops; 0 switches it off",
     .has_offset = offsetof(struct autostop_want, has_idle)},
    {"delete_after_s", JR_K_INT, 0, offsetof(struct autostop_want, delete_after_s), 0,
     AUTOSTOP_TIMER_MAX_S, .doc = "seconds after a stop when it is released; 0 switches it off",
     .has_offset = offsetof(struct autostop_want, has_delete)},
    {0}};
const struct jr_field autostop_use_fields[] = {
    JR_INT(struct autostop_use, ssh, "ssh", JR_REQUIRED, 0, 1 << 20),
    JR_INT(struct autostop_use, ports, "ports", JR_REQUIRED, 0, 1 << 20),
    JR_INT(struct autostop_use, cpu_permille, "cpu_permille", JR_REQUIRED, 0, 1 << 30),
    {"gpu_percent", JR_K_INT, JR_NULLABLE, offsetof(struct autostop_use, gpu_percent), 0, 100,
     .has_offset = offsetof(struct autostop_use, has_gpu)},
    {0}};

struct row {
    bool there;
    char account_id[ID_TEXT], cause[16];
    const char *use_json;
    int64_t ttl_s, budget_micro, idle_s, delete_after_s, set_us, stop_us, active_us, use_us,
        delete_us, warned_us, warned_idle_us;
};

static const char sql_get[] =
    "SELECT account_id, ttl_s, budget_micro, idle_s, delete_after_s, set_us, stop_us, stop_cause, "
    "active_us, use_us, use_json, delete_us, warned_us, warned_idle_us FROM autostop WHERE "
    "lease_id = ?1";
static const char sql_put[] =
    "INSERT INTO autostop(lease_id, account_id, ttl_s, budget_micro, idle_s, delete_after_s, "
    "set_us, stop_us, stop_cause, active_us, delete_us, warned_us, warned_idle_us, due_us) "
    "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) ON CONFLICT (lease_id) DO "
    "UPDATE SET ttl_s = excluded.ttl_s, budget_micro = excluded.budget_micro, idle_s = "
    "excluded.idle_s, delete_after_s = excluded.delete_after_s, set_us = excluded.set_us, stop_us "
    "= excluded.stop_us, stop_cause = excluded.stop_cause, active_us = excluded.active_us, "
    "delete_us = excluded.delete_us, warned_us = excluded.warned_us, warned_idle_us = "
    "excluded.warned_idle_us, due_us = excluded.due_us";
/* Silence of the agent is no proof of idleness: use counts from its end. */
static const char sql_seen[] =
    "UPDATE autostop SET active_us = CASE WHEN ?2 = 1 OR ?3 - use_us > ?5 THEN ?3 ELSE active_us "
    "END, use_us = ?3, use_json = ?4 WHERE lease_id = ?1 AND idle_s > 0";

static int row_get(struct db_c *c, const char *lease_id, struct sl_arena *a, struct row *r,
                   struct sl_err *err)
{
    struct db_q q;
    *r = (struct row){.use_json = ""};
    int rc = db_row(c, &q, err, sql_get, "t", lease_id);
    if (rc > 0) {
        *r = (struct row){.there = true,
                          .ttl_s = db_int(&q, 1),
                          .budget_micro = db_int(&q, 2),
                          .idle_s = db_int(&q, 3),
                          .delete_after_s = db_int(&q, 4),
                          .set_us = db_int(&q, 5),
                          .stop_us = db_int(&q, 6),
                          .active_us = db_int(&q, 8),
                          .use_us = db_int(&q, 9),
                          .use_json = a ? sl_arena_strdup(a, db_text(&q, 10)) : "",
                          .delete_us = db_int(&q, 11),
                          .warned_us = db_int(&q, 12),
                          .warned_idle_us = db_int(&q, 13)};
        (void)snprintf(r->account_id, sizeof r->account_id, "%s", db_text(&q, 0));
        (void)snprintf(r->cause, sizeof r->cause, "%s", db_text(&q, 7));
    }
    db_done(&q);
    return rc < 0 ? -1 : 0;
}

/* How long before an event it is told: at most `most`, at most half of the timer. */
static int64_t lead_us(int64_t timer_us, int64_t most_s)
{
    return timer_us / 2 < most_s * SL_SEC ? timer_us / 2 : most_s * SL_SEC;
}

static void sooner(int64_t *due, int64_t t_us)
{
    if (t_us > 0 && (*due == 0 || t_us < *due))
        *due = t_us;
}

/* When the ticker has to look at the row again. */
static int64_t due_of(const struct row *r, int64_t now)
{
    int64_t due = 0, idle_us = r->idle_s * SL_SEC;
    int64_t timer = r->stop_us ? r->stop_us - r->set_us : r->delete_after_s * SL_SEC;
    int64_t end = r->stop_us ? r->stop_us : r->delete_us;
    int64_t most = r->stop_us ? WARN_MAX_S : WARN_DELETE_S;
    sooner(&due, end);
    if (end && r->warned_us != end)
        sooner(&due, end - lead_us(timer, most));
    if (idle_us && r->active_us) {
        int64_t quiet_at = r->active_us + idle_us;
        /* past, and nothing tells of use: the agent's next word decides */
        sooner(&due, quiet_at > now ? quiet_at : now + SILENT_AGAIN_S * SL_SEC);
        if (quiet_at > now && r->warned_idle_us != r->active_us)
            sooner(&due, r->active_us + idle_us - lead_us(idle_us, WARN_MAX_S));
    }
    return due;
}

static int row_put(struct db_c *c, struct server *s, const char *lease_id, const struct row *r,
                   struct sl_err *err)
{
    return db_exec(c, err, sql_put, "ttiiiiiitiiiii", lease_id, r->account_id, r->ttl_s,
                   r->budget_micro, r->idle_s, r->delete_after_s, r->set_us, r->stop_us, r->cause,
                   r->active_us, r->delete_us, r->warned_us, r->warned_idle_us,
                   due_of(r, env_now(s->env)));
}

/* The run under way: its first second, its rate, and what the runs before it cost. */
static int run_of(struct db_c *c, const char *lease_id, int64_t *ret_start_us, int64_t *ret_rate,
                  int64_t *ret_before, struct sl_err *err)
{
    struct db_q q;
    *ret_start_us = *ret_rate = 0;
    int rc = db_row(c, &q, err,
                    "SELECT start_us, rate_micro FROM segment WHERE lease_id = ?1 AND end_us = 0",
                    "t", lease_id);
    if (rc > 0) {
        *ret_start_us = db_int(&q, 0);
        *ret_rate = db_int(&q, 1);
    }
    db_done(&q);
    if (rc < 0)
        return -1;
    return db_value(c, 0, ret_before, err,
                    "SELECT SUM(captured_micro) FROM segment WHERE lease_id = ?1 AND end_us <> 0",
                    "t", lease_id);
}

/* Where TTL and budget end the run: whole seconds from its start, so that the bill has them. */
static int plan_stop(struct db_c *c, const char *lease_id, struct row *r, struct sl_err *err)
{
    int64_t start, rate, before, at = 0;
    if (run_of(c, lease_id, &start, &rate, &before, err) < 0)
        return -1;
    r->stop_us = 0;
    r->cause[0] = 0;
    if (!start)
        return 0;
    if (r->ttl_s) {
        int64_t from = r->set_us > start ? r->set_us : start;
        at = start + ((from - start) / SL_SEC + r->ttl_s) * SL_SEC;
        (void)snprintf(r->cause, sizeof r->cause, "ttl");
    }
    if (r->budget_micro) {
        int64_t left = r->budget_micro > before ? r->budget_micro - before : 0;
        int64_t secs = money_seconds_for(rate, left);
        int64_t end = secs < AUTOSTOP_TIMER_MAX_S * 10LL ? start + secs * SL_SEC : 0;
        if (end && (!at || end < at)) {
            at = end;
            (void)snprintf(r->cause, sizeof r->cause, "budget");
        }
    }
    r->stop_us = at;
    return 0;
}

static int check(struct db_c *c, const struct lease *l, const struct row *r, struct sl_err *err)
{
    int64_t start, rate, before;
    char a[SL_MONEY_TEXT], b[SL_MONEY_TEXT];
    if (l->state == LEASE_RELEASED || l->state == LEASE_FAILED)
        return sl_fail_at(err, SL_CONFLICT, "state",
                          "instance %s is %s; it has nothing to stop or delete", l->name,
                          lease_sm.states[l->state].name);
    if (!r->budget_micro)
        return 0;
    if (run_of(c, l->id, &start, &rate, &before, err) < 0)
        return -1;
    if (r->budget_micro > before)
        return 0;
    return sl_fail_at(err, SL_INVALID, "budget",
                      "budget: %s is not more than the %s that instance %s has cost already",
                      money_format(r->budget_micro, a), money_format(before, b), l->name);
}

static void want_into(const struct autostop_want *w, struct row *r)
{
    r->ttl_s = w->has_ttl ? w->ttl_s : r->ttl_s;
    r->budget_micro = w->has_budget ? w->budget_micro : r->budget_micro;
    r->idle_s = w->has_idle ? w->idle_s : r->idle_s;
    r->delete_after_s = w->has_delete ? w->delete_after_s : r->delete_after_s;
}

static int told(struct db_c *c, struct server *s, const struct lease *l, const struct row *r,
                const char *actor, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(1024);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_int(&w, "ttl_s", r->ttl_s);
    jw_money(&w, "budget", r->budget_micro);
    jw_int(&w, "idle_s", r->idle_s);
    jw_int(&w, "delete_after_s", r->delete_after_s);
    jw_end(&w);
    return event_add(c, s, l->account_id, "lease", l->id, "lease.autostop", actor, sl_buf_str(&b),
                     err);
}

int autostop_set(struct db_c *c, struct server *s, const struct lease *l,
                 const struct autostop_want *w, const char *actor, struct sl_err *err)
{
    struct row r;
    int64_t now = env_now(s->env);
    if (!w->has_ttl && !w->has_budget && !w->has_idle && !w->has_delete)
        return sl_fail_at(err, SL_INVALID, "ttl_s",
                          "no timer is named; give ttl_s, budget, idle_s or delete_after_s");
    if (row_get(c, l->id, NULL, &r, err) < 0)
        return -1;
    want_into(w, &r);
    (void)snprintf(r.account_id, sizeof r.account_id, "%s", l->account_id);
    if (w->has_ttl || w->has_budget || !r.set_us)
        r.set_us = now;
    if (check(c, l, &r, err) < 0 || plan_stop(c, l->id, &r, err) < 0)
        return -1;
    if (l->state == LEASE_RUNNING && w->has_idle)
        r.active_us = now;
    if (w->has_delete) /* from now, so that nothing goes without its warning */
        r.delete_us =
            l->state == LEASE_STOPPED && r.delete_after_s ? now + r.delete_after_s * SL_SEC : 0;
    r.warned_us = 0;
    return row_put(c, s, l->id, &r, err) < 0 ? -1 : told(c, s, l, &r, actor, err);
}

/* ---- the lease's life ---- */
int autostop_starting(struct db_c *c, struct server *s, const struct lease *l, struct sl_err *err)
{
    struct row r;
    int64_t start, rate, before;
    char a[SL_MONEY_TEXT], b[SL_MONEY_TEXT];
    if (row_get(c, l->id, NULL, &r, err) < 0)
        return -1;
    if (!r.there)
        return 0;
    if (run_of(c, l->id, &start, &rate, &before, err) < 0)
        return -1;
    int64_t left = r.budget_micro > before ? r.budget_micro - before : 0;
    if (r.budget_micro && money_seconds_for(lease_rate(l), left) < RUN_MIN_S)
        return sl_fail_at(err, SL_CONFLICT, "budget",
                          "budget: %s of the %s set for this instance are used up; set a higher "
                          "budget (or 0 for none), then start it",
                          money_format(before, a), money_format(r.budget_micro, b));
    r.delete_us = r.stop_us = r.active_us = r.warned_us = 0;
    return row_put(c, s, l->id, &r, err);
}

int autostop_running(struct db_c *c, struct server *s, const char *lease_id, struct sl_err *err)
{
    struct row r;
    if (row_get(c, lease_id, NULL, &r, err) < 0)
        return -1;
    if (!r.there)
        return 0;
    r.set_us = r.active_us = env_now(s->env);
    r.warned_us = r.warned_idle_us = 0;
    if (plan_stop(c, lease_id, &r, err) < 0)
        return -1;
    return row_put(c, s, lease_id, &r, err);
}

int autostop_stopped(struct db_c *c, struct server *s, const char *lease_id, struct sl_err *err)
{
    struct row r;
    int64_t now = env_now(s->env);
    if (row_get(c, lease_id, NULL, &r, err) < 0)
        return -1;
    if (!r.there)
        return 0;
    r.stop_us = r.active_us = r.warned_us = 0;
    r.cause[0] = 0;
    r.delete_us = r.delete_after_s ? now + r.delete_after_s * SL_SEC : 0;
    return row_put(c, s, lease_id, &r, err);
}

int autostop_over(struct db_c *c, const char *lease_id, struct sl_err *err)
{
    return db_exec(c, err, "DELETE FROM autostop WHERE lease_id = ?1", "t", lease_id);
}

int autostop_seen(struct db_c *c, struct server *s, const struct lease *l,
                  const struct autostop_use *u, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(256);
    struct jw w = {&b};
    bool busy = u->ssh || u->ports || u->cpu_permille >= AUTOSTOP_CPU_BUSY ||
                (u->has_gpu && u->gpu_percent > 0);
    jw_object(&w, NULL);
    jw_int(&w, "ssh", u->ssh);
    jw_int(&w, "ports", u->ports);
    jw_int(&w, "cpu_permille", u->cpu_permille);
    if (u->has_gpu)
        jw_int(&w, "gpu_percent", u->gpu_percent);
    else
        jw_null(&w, "gpu_percent");
    jw_end(&w);
    return db_exec(c, err, sql_seen, "tiiti", l->id, (int64_t)busy, env_now(s->env), sl_buf_str(&b),
                   BEATS_FRESH * s->conf.heartbeat_s * SL_SEC);
}

/* "8 h", "30 min" */
static const char *span(int64_t s, char out[32])
{
    int64_t unit = s % 86400 == 0 ? 86400 : s % 3600 == 0 ? 3600 : s % 60 == 0 ? 60 : 1;
    (void)snprintf(out, 32, "%" PRId64 " %s", s / unit,
                   unit == 86400  ? "d"
                   : unit == 3600 ? "h"
                   : unit == 60   ? "min"
                                  : "s");
    return out;
}

static void reason_of(const struct row *r, const char *currency, char out[AUTOSTOP_REASON])
{
    char a[SL_MONEY_TEXT], d[32];
    if (sl_streq(r->cause, "budget"))
        (void)snprintf(out, AUTOSTOP_REASON, "budget: the %s %s set for this instance are used up",
                       money_format(r->budget_micro, a), currency);
    else
        (void)snprintf(out, AUTOSTOP_REASON, "ttl: the %s set for this run are over",
                       span(r->ttl_s, d));
}

int autostop_cut(struct db_c *c, const struct lease *l, int64_t *end_us, const char **reason,
                 char text[AUTOSTOP_REASON], struct sl_err *err)
{
    struct row r;
    if (l->state != LEASE_RUNNING)
        return 0;
    if (row_get(c, l->id, NULL, &r, err) < 0)
        return -1;
    if (!r.there || !r.stop_us)
        return 0;
    /* The agent keeps the time by its own clock, and knows it as the end of the funds. */
    bool agents = strstr(*reason, "insufficient_funds") && l->funded_until_us > r.stop_us &&
                  r.stop_us - *end_us < AGENT_SKEW_US;
    if (*end_us < r.stop_us && !agents)
        return 0;
    *end_us = *end_us < r.stop_us ? *end_us : r.stop_us;
    reason_of(&r, l->currency, text);
    metric_count(METRIC_AUTOSTOPS, 1);
    *reason = text;
    return 0;
}

int autostop_until(struct db_c *c, const char *lease_id, int64_t until_us, int64_t *ret_us,
                   struct sl_err *err)
{
    int64_t stop_us = 0;
    if (db_value(c, 0, &stop_us, err, "SELECT stop_us FROM autostop WHERE lease_id = ?1", "t",
                 lease_id) < 0)
        return -1;
    *ret_us = stop_us && stop_us < until_us ? stop_us : until_us;
    return 0;
}

/* ---- what is due ---- */
struct mail {
    char email[256], subject[120], text[500];
    struct mail *next;
};
struct round {
    struct server *s;
    struct sl_arena arena;
    struct mail *mails;
    int64_t due;
    int n;
};

static int warn(struct db_c *c, struct round *k, const struct lease *l, const char *type,
                const char *cause, int64_t at_us, struct sl_err *err)
{
    char email[256] = "", when[TS_TEXT], data[160];
    struct db_q q;
    int rc = db_row(c, &q, err, "SELECT email FROM account WHERE id = ?1", "t", l->account_id);
    if (rc > 0)
        (void)snprintf(email, sizeof email, "%s", db_text(&q, 0));
    db_done(&q);
    if (rc < 0)
        return -1;
    ts_format(at_us, when);
    (void)snprintf(data, sizeof data, "{\"cause\":\"%s\",\"at\":\"%s\"}", cause, when);
    if (event_add(c, k->s, l->account_id, "lease", l->id, type, "system", data, err) < 0)
        return -1;
    bool deletes = sl_streq(cause, "delete");
    struct mail *m = sl_arena_alloc(&k->arena, sizeof *m);
    (void)snprintf(m->email, sizeof m->email, "%s", email);
    (void)snprintf(m->subject, sizeof m->subject, "Instance %s %s soon", l->name,
                   deletes ? "is deleted" : "stops");
    (void)snprintf(m->text, sizeof m->text,
                   "Your instance %s %s at %s (%s).\n"
                   "To change that: starlease autostop %s, with another time or \"off\".\n",
                   l->name, deletes ? "is deleted with its disk" : "stops", when, cause, l->name);
    m->next = k->mails;
    k->mails = m;
    return 0;
}

static int idle_stop(struct db_c *c, struct round *k, const struct lease *l, const struct row *r,
                     struct sl_err *err)
{
    char reason[AUTOSTOP_REASON], d[32];
    bool gpu = !strstr(r->use_json, "\"gpu_percent\":null");
    (void)snprintf(reason, sizeof reason,
                   "idle: no use was seen for %s (SSH, connections to its ports, CPU%s)",
                   span(r->idle_s, d), gpu ? ", GPU" : "; GPU use is not known here");
    metric_count(METRIC_AUTOSTOPS, 1);
    FAILPOINT("autostop.idle");
    return lease_stop(c, k->s, l, "system", reason, err);
}

static int running_due(struct db_c *c, struct round *k, const struct lease *l, struct row *r,
                       int64_t now, struct sl_err *err)
{
    int64_t idle_us = r->idle_s * SL_SEC, quiet_at = r->active_us + idle_us;
    bool fresh = now - r->use_us <= BEATS_FRESH * k->s->conf.heartbeat_s * SL_SEC;
    if (r->stop_us && now >= r->stop_us) {
        char reason[AUTOSTOP_REASON];
        reason_of(r, l->currency, reason);
        FAILPOINT("autostop.timer");
        int64_t proven = lease_proven_us(k->s, l, now);
        return lease_stop_at(c, k->s, l, proven < r->stop_us ? proven : r->stop_us, "system",
                             reason, err);
    }
    if (idle_us && now >= quiet_at && fresh)
        return idle_stop(c, k, l, r, err);
    if (r->stop_us && r->warned_us != r->stop_us &&
        now >= r->stop_us - lead_us(r->stop_us - r->set_us, WARN_MAX_S)) {
        r->warned_us = r->stop_us;
        if (warn(c, k, l, "lease.stops_soon", r->cause, r->stop_us, err) < 0)
            return -1;
    }
    if (idle_us && fresh && r->warned_idle_us != r->active_us &&
        now >= quiet_at - lead_us(idle_us, WARN_MAX_S)) {
        r->warned_idle_us = r->active_us;
        if (warn(c, k, l, "lease.stops_soon", "idle", quiet_at, err) < 0)
            return -1;
    }
    return row_put(c, k->s, l->id, r, err);
}

static int stopped_due(struct db_c *c, struct round *k, const struct lease *l, struct row *r,
                       int64_t now, struct sl_err *err)
{
    if (r->delete_us && now >= r->delete_us) {
        if (lease_on_node(l)) { /* its node has not confirmed the stop */
            r->delete_us = now + DELETE_AGAIN_S * SL_SEC;
            r->warned_us = r->delete_us;
            return row_put(c, k->s, l->id, r, err);
        }
        FAILPOINT("autostop.delete");
        return lease_release(c, k->s, l, "system", err);
    }
    if (r->delete_us && r->warned_us != r->delete_us &&
        now >= r->delete_us - lead_us(r->delete_after_s * SL_SEC, WARN_DELETE_S)) {
        r->warned_us = r->delete_us;
        if (warn(c, k, l, "lease.deleted_soon", "delete", r->delete_us, err) < 0)
            return -1;
    }
    return row_put(c, k->s, l->id, r, err);
}

static int one_due(struct db_c *c, struct round *k, const char *id, int64_t now, struct sl_err *err)
{
    struct lease l;
    struct row r;
    if (lease_get(c, NULL, id, &k->arena, &l, err) < 0 || row_get(c, id, &k->arena, &r, err) < 0)
        return -1;
    if (l.state == LEASE_RUNNING)
        return running_due(c, k, &l, &r, now, err);
    if (l.state == LEASE_STOPPED)
        return stopped_due(c, k, &l, &r, now, err);
    /* on its way: what it arrives at sets the times anew */
    return db_exec(c, err, "UPDATE autostop SET due_us = ?2 WHERE lease_id = ?1", "ti", id,
                   now + SL_SEC);
}

static int do_due(struct db_c *c, void *arg, struct sl_err *err)
{
    struct round *k = arg;
    char ids[BATCH][ID_TEXT];
    int64_t now = env_now(k->s->env);
    struct db_q q;
    sl_arena_free(&k->arena);
    k->mails = NULL;
    k->n = 0;
    int rc = db_query(c, &q, err,
                      "SELECT lease_id FROM autostop WHERE due_us > 0 AND due_us <= ?1 ORDER BY "
                      "due_us LIMIT ?2",
                      "ii", now, (int64_t)BATCH);
    while (rc >= 0 && (rc = db_next(&q, err)) > 0)
        (void)snprintf(ids[k->n++], ID_TEXT, "%s", db_text(&q, 0));
    db_done(&q);
    for (int i = 0; rc >= 0 && i < k->n; i++)
        rc = one_due(c, k, ids[i], now, err);
    return rc < 0 ? -1 : 0;
}

static int look(struct db_c *c, void *arg, struct sl_err *err)
{
    struct round *k = arg;
    return db_value(c, 0, &k->due, err,
                    "SELECT COUNT(*) FROM autostop WHERE due_us > 0 AND due_us <= ?1", "i",
                    env_now(k->s->env));
}

int autostop_round(struct server *s, struct sl_err *err)
{
    struct round k = {.s = s};
    int rc = db_read(s->db, look, &k, err);
    if (rc == 0 && k.due) {
        rc = db_write(s->db, do_due, &k, err);
        for (struct mail *m = rc == 0 ? k.mails : NULL; m; m = m->next)
            mail_post(s, m->email, m->subject, m->text);
        if (rc == 0)
            bus_poke(s);
    }
    sl_arena_free(&k.arena);
    return rc < 0 ? -1 : 0;
}

/* ---- HTTP ---- */
int autostop_write(struct db_c *c, struct jw *w, const struct lease *l, struct sl_err *err)
{
    SL_AUTO_ARENA struct sl_arena a = {0};
    struct row r;
    if (row_get(c, l->id, &a, &r, err) < 0)
        return -1;
    if (!r.there) {
        jw_null(w, "autostop");
        return 0;
    }
    bool running = l->state == LEASE_RUNNING;
    jw_object(w, "autostop");
    jw_int(w, "ttl_s", r.ttl_s);
    jw_money(w, "budget", r.budget_micro);
    jw_int(w, "idle_s", r.idle_s);
    jw_int(w, "delete_after_s", r.delete_after_s);
    jw_time(w, "stops_at", running ? r.stop_us : 0);
    jw_str(w, "stops_by", running && r.stop_us ? r.cause : NULL);
    jw_time(w, "used_at", running && r.idle_s ? r.active_us : 0);
    jw_time(w, "idle_stop_at",
            running && r.idle_s && r.active_us ? r.active_us + r.idle_s * SL_SEC : 0);
    jw_raw(w, "use", running && *r.use_json ? r.use_json : "null");
    jw_time(w, "deleted_at", l->state == LEASE_STOPPED ? r.delete_us : 0);
    jw_end(w);
    return 0;
}

int autostop_post(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct lease l;
    if (lease_get(c, r->caller.account_id, r->path[0], r->arena, &l, err) < 0 ||
        autostop_set(c, r->s, &l, r->body, r->caller.account_id, err) < 0)
        return -1;
    return lease_write(c, r->s, &out->json, NULL, &l, true, err);
}
