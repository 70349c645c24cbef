/* SPDX-License-Identifier: Apache-2.0 */
#include "server/metric.h"
#include "base/core/version.h"
#include "server/auth.h"
#include <dirent.h>
#include <stdatomic.h>
#include <sys/resource.h>

/* ---- counters of this process ---- */
enum { ROUTES_MAX = 160, STATUSES = 20, BUCKETS = 12 };

static const int statuses[STATUSES] = {200, 201, 202, 204, 304, 400, 401, 402, 403, 404,
                                       405, 409, 413, 422, 429, 500, 503, 504, 507, 0 /* others */};
static const int64_t bucket_us[BUCKETS] = {500,   1000,   2500,   5000,    10000,   25000,
                                           50000, 100000, 250000, 1000000, 5000000, 30000000};

struct histogram {
    _Atomic int64_t bucket[BUCKETS + 1], sum_us;
};
static _Atomic int64_t requests[ROUTES_MAX][STATUSES];
static struct histogram durations[ROUTES_MAX], launches;
static _Atomic int64_t counters[METRIC_MAX];

void metric_count(enum metric m, int64_t n)
{
    atomic_fetch_add_explicit(&counters[m], n, memory_order_relaxed);
}

static void observe(struct histogram *h, int64_t us)
{
    int i = 0;
    while (i < BUCKETS && us > bucket_us[i])
        i++;
    atomic_fetch_add_explicit(&h->bucket[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&h->sum_us, us, memory_order_relaxed);
}

void metric_launch(int64_t us)
{
    observe(&launches, us);
}

void metric_http(const struct route *route, int status, int64_t us)
{
    int at = route ? (int)(route - routes) + 1 : 0, s = 0;
    SL_ASSERT(at < ROUTES_MAX);
    while (s < STATUSES - 1 && statuses[s] != status)
        s++;
    atomic_fetch_add_explicit(&requests[at][s], 1, memory_order_relaxed);
    observe(&durations[at], us);
}

/* ---- text ---- */
static void head(struct sl_buf *b, const char *name, const char *type, const char *help)
{
    sl_buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void seconds(struct sl_buf *b, int64_t us)
{
    sl_buf_printf(b, "%lld.%06lld\n", (long long)(us / SL_SEC), (long long)(us % SL_SEC));
}

/* A label value: backslash, quote and newline escaped. */
static void label(struct sl_buf *b, const char *text)
{
    for (; *text; text++) {
        if (*text == '\\' || *text == '"')
            sl_buf_addc(b, '\\');
        sl_buf_addc(b, *text == '\n' ? ' ' : *text);
    }
}

static void gauge(struct sl_buf *b, const char *name, const char *type, const char *help, int64_t v)
{
    head(b, name, type, help);
    sl_buf_printf(b, "%s %lld\n", name, (long long)v);
}

static void histogram(struct sl_buf *b, const char *name, const char *labels, struct histogram *h)
{
    int64_t n = 0;
    for (int i = 0; i <= BUCKETS; i++) {
        n += atomic_load(&h->bucket[i]);
        sl_buf_printf(b, "%s_bucket{%s%sle=\"", name, labels, *labels ? "," : "");
        if (i == BUCKETS)
            sl_buf_adds(b, "+Inf");
        else
            sl_buf_printf(b, "%lld.%04lld", (long long)(bucket_us[i] / SL_SEC),
                          (long long)(bucket_us[i] % SL_SEC / 100));
        sl_buf_printf(b, "\"} %lld\n", (long long)n);
    }
    sl_buf_printf(b, "%s_sum%s%s%s ", name, *labels ? "{" : "", labels, *labels ? "}" : "");
    seconds(b, atomic_load(&h->sum_us));
    sl_buf_printf(b, "%s_count%s%s%s %lld\n", name, *labels ? "{" : "", labels, *labels ? "}" : "",
                  (long long)n);
}

static void http_metrics(struct sl_buf *b)
{
    head(b, "starlease_http_requests_total", "counter", "Requests answered");
    for (int i = 0; i < ROUTES_MAX; i++) {
        const struct route *t = i ? &routes[i - 1] : NULL;
        if (t && !t->method)
            break;
        for (int s = 0; s < STATUSES; s++) {
            int64_t n = atomic_load(&requests[i][s]);
            if (n)
                sl_buf_printf(
                    b,
                    "starlease_http_requests_total{route=\"%s\",method=\"%s\",code=\"%d\"} "
                    "%lld\n",
                    t ? t->path : "", t ? t->method : "", statuses[s], (long long)n);
        }
    }
    head(b, "starlease_http_request_duration_seconds", "histogram", "Time to answer, by route");
    for (int i = 0; i < ROUTES_MAX; i++) {
        const struct route *t = i ? &routes[i - 1] : NULL;
        if (t && !t->method)
            break;
        int64_t n = 0;
        for (int k = 0; k <= BUCKETS; k++)
            n += atomic_load(&durations[i].bucket[k]);
        char labels[160];
        snprintf(labels, sizeof labels, "route=\"%s\",method=\"%s\"", t ? t->path : "",
                 t ? t->method : "");
        if (n)
            histogram(b, "starlease_http_request_duration_seconds", labels, &durations[i]);
    }
}

/* ---- what the store knows ---- */
static int lease_metrics(struct db_c *c, struct sl_buf *b, struct sl_err *err)
{
    struct db_q q;
    int rc;
    int64_t failed;
    head(b, "starlease_leases", "gauge", "Leases by state and model");
    if (db_query(c, &q, err, "SELECT state, model, COUNT(*) FROM lease GROUP BY state, model", "") <
        0)
        return -1;
    while ((rc = db_next(&q, err)) > 0) {
        sl_buf_printf(b, "starlease_leases{state=\"%s\",model=\"", db_text(&q, 0));
        label(b, db_text(&q, 1));
        sl_buf_printf(b, "\"} %lld\n", (long long)db_int(&q, 2));
    }
    db_done(&q);
    if (rc < 0 ||
        db_value(c, 0, &failed, err, "SELECT COUNT(*) FROM lease WHERE state = 'failed'", "") < 0)
        return -1;
    head(b, "starlease_launch_failures_total", "counter", "Leases that never became ready");
    sl_buf_printf(b, "starlease_launch_failures_total{reason=\"start\"} %lld\n", (long long)failed);
    head(b, "starlease_launch_duration_seconds", "histogram", "From request to readiness");
    histogram(b, "starlease_launch_duration_seconds", "", &launches);
    return 0;
}

static int image_metrics(struct db_c *c, struct sl_buf *b, struct sl_err *err)
{
    struct db_q q;
    int rc;
    head(b, "starlease_images", "gauge", "Images by state; own: those that an account saved");
    if (db_query(c, &q, err,
                 "SELECT state, CASE WHEN account_id = '' THEN 'no' ELSE 'yes' END, COUNT(*) "
                 "FROM image WHERE state <> 'deleted' GROUP BY 1, 2",
                 "") < 0)
        return -1;
    while ((rc = db_next(&q, err)) > 0)
        sl_buf_printf(b, "starlease_images{state=\"%s\",own=\"%s\"} %lld\n", db_text(&q, 0),
                      db_text(&q, 1), (long long)db_int(&q, 2));
    db_done(&q);
    return rc < 0 ? -1 : 0;
}

static int gpu_metrics(struct db_c *c, struct server *s, struct sl_buf *b, struct sl_err *err)
{
    /* One line a model and state; cards of nodes that take no lease count as drained or unhealthy.
     */
    static const char *const names[] = {"free", "leased", "sanitizing", "unhealthy", "drained"};
    struct db_q q;
    int rc;
    int64_t now = env_now(s->env), n[SL_COUNT(names)] = {0};
    char model[64] = "";
    SL_AUTO_BUF struct sl_buf ages = SL_BUF(4 << 20);
    head(b, "starlease_gpus", "gauge", "Cards by model and state");
    if (db_query(
            c, &q, err,
            "SELECT model, state, health, cards, free_cards, leased_mask, sanitize_mask, name, "
            "seen_us FROM node WHERE state <> 'retired' ORDER BY model",
            "") < 0)
        return -1;
    do {
        rc = db_next(&q, err);
        bool turn = rc <= 0 || !sl_streq(model, db_text(&q, 0));
        for (size_t i = 0; turn && *model && i < SL_COUNT(names); i++) {
            sl_buf_adds(b, "starlease_gpus{model=\"");
            label(b, model);
            sl_buf_printf(b, "\",state=\"%s\"} %lld\n", names[i], (long long)n[i]);
            n[i] = 0;
        }
        if (rc <= 0)
            break;
        snprintf(model, sizeof model, "%s", db_text(&q, 0));
        int64_t leased = __builtin_popcountll((unsigned long long)db_int(&q, 5)),
                dirty = __builtin_popcountll((unsigned long long)db_int(&q, 6)),
                rest = db_int(&q, 3) - leased - dirty;
        bool open = sl_streq(db_text(&q, 1), "available") || sl_streq(db_text(&q, 1), "leased") ||
                    sl_streq(db_text(&q, 1), "sanitizing");
        n[1] += leased;
        n[2] += dirty;
        n[sl_streq(db_text(&q, 2), "bad") ? 3 : open ? 0 : 4] += rest;
        sl_buf_adds(&ages, "starlease_node_heartbeat_age_seconds{node=\"");
        label(&ages, db_text(&q, 7));
        sl_buf_adds(&ages, "\"} ");
        seconds(&ages, now > db_int(&q, 8) ? now - db_int(&q, 8) : 0);
    } while (true);
    db_done(&q);
    head(b, "starlease_node_heartbeat_age_seconds", "gauge", "Since the node was last heard of");
    sl_buf_adds(b, sl_buf_str(&ages));
    return rc < 0 ? -1 : 0;
}

static int one(struct db_c *c, struct sl_buf *b, const char *name, const char *type,
               const char *help, const char *sql, struct sl_err *err)
{
    int64_t v;
    if (db_value(c, 0, &v, err, sql, "") < 0)
        return -1;
    gauge(b, name, type, help, v);
    return 0;
}

static int money_metrics(struct db_c *c, struct server *s, struct sl_buf *b, struct sl_err *err)
{
    struct db_q q;
    int rc;
    int64_t lag = 0, now = env_now(s->env);
    head(b, "starlease_ledger_postings_total", "counter", "Ledger transactions by kind");
    if (db_query(c, &q, err, "SELECT kind, COUNT(*) FROM txn GROUP BY kind", "") < 0)
        return -1;
    while ((rc = db_next(&q, err)) > 0)
        sl_buf_printf(b, "starlease_ledger_postings_total{kind=\"%s\"} %lld\n", db_text(&q, 0),
                      (long long)db_int(&q, 1));
    db_done(&q);
    if (rc < 0 ||
        one(c, b, "starlease_ledger_imbalance_microyuan", "gauge", "Sum of all balances; must be 0",
            "SELECT SUM(balance_micro) FROM ledger_account", err) < 0 ||
        one(c, b, "starlease_wallet_frozen_microyuan", "gauge", "Held for leases",
            "SELECT SUM(credit_micro + cash_micro) FROM hold", err) < 0 ||
        one(c, b, "starlease_sanitize_failures_total", "counter",
            "Cards that were not proved clean",
            "SELECT COUNT(*) FROM certificate WHERE result <> 'clean'", err) < 0 ||
        db_value(c, now, &lag, err,
                 "SELECT MIN(start_us + captured_s * 1000000) FROM segment WHERE end_us = 0",
                 "") < 0)
        return -1;
    head(b, "starlease_meter_lag_seconds", "gauge",
         "Oldest running second that is not charged yet");
    sl_buf_adds(b, "starlease_meter_lag_seconds ");
    seconds(b, now > lag ? now - lag : 0);
    return 0;
}

/* ---- the process ---- */
static int64_t open_files(void)
{
    int64_t n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n > 3 ? n - 3 : 0; /* without . and .. and the directory itself */
}

static int64_t resident_bytes(void)
{
    long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%*s %lld", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

static void process_metrics(struct server *s, struct sl_buf *b)
{
    static _Atomic int64_t offset_at_start;
    struct rusage ru;
    struct db_stats st;
    int64_t zero = 0, offset = env_now(s->env) - env_mono(s->env);
    atomic_compare_exchange_strong(&offset_at_start, &zero, offset);
    getrusage(RUSAGE_SELF, &ru);
    head(b, "process_cpu_seconds_total", "counter", "User and system time");
    sl_buf_adds(b, "process_cpu_seconds_total ");
    seconds(b, (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * SL_SEC + ru.ru_utime.tv_usec +
                   ru.ru_stime.tv_usec);
    gauge(b, "process_resident_memory_bytes", "gauge", "Memory", resident_bytes());
    gauge(b, "process_open_fds", "gauge", "Open files", open_files());
    head(b, "starlease_clock_step_seconds", "gauge",
         "Wall clock against monotonic clock since start");
    int64_t step = offset - atomic_load(&offset_at_start);
    sl_buf_adds(b, step < 0 ? "starlease_clock_step_seconds -" : "starlease_clock_step_seconds ");
    seconds(b, step < 0 ? -step : step);
    db_stats_get(s->db, &st);
    head(b, "starlease_db_commit_duration_seconds", "summary", "Time of commits with their fsync");
    sl_buf_adds(b, "starlease_db_commit_duration_seconds_sum ");
    seconds(b, st.commit_us_total);
    sl_buf_printf(b, "starlease_db_commit_duration_seconds_count %lld\n", (long long)st.commits);
    gauge(b, "starlease_db_writes_total", "counter", "Write functions committed", st.writes);
}

int metric_show(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct sl_buf *b = &out->body;
    if (r->caller.role != ROLE_OPERATOR && !r->loopback)
        return sl_fail(
            err, SL_FORBIDDEN,
            "metrics: for operators and callers on this machine; send an operator's token");
    out->content_type = "text/plain; version=0.0.4; charset=utf-8";
    head(b, "starlease_build_info", "gauge", "The program");
    sl_buf_adds(b, "starlease_build_info{version=\"" SL_VERSION "\"} 1\n");
    http_metrics(b);
    gauge(b, "starlease_meter_ticks_total", "counter", "Runs of the meter",
          atomic_load(&counters[METRIC_METER_TICKS]));
    gauge(b, "starlease_meter_gaps_total", "counter", "Runs of the meter that came late",
          atomic_load(&counters[METRIC_METER_GAPS]));
    gauge(b, "starlease_signin_refused_total", "counter", "Sign-ins with a wrong password",
          atomic_load(&counters[METRIC_SIGNIN_REFUSED]));
    gauge(b, "starlease_event_streams", "gauge", "Open event streams",
          atomic_load(&counters[METRIC_EVENT_STREAMS]));
    gauge(b, "starlease_autostops_total", "counter", "Instances stopped by a timer",
          atomic_load(&counters[METRIC_AUTOSTOPS]));
    process_metrics(r->s, b);
    if (lease_metrics(c, b, err) < 0 || image_metrics(c, b, err) < 0 ||
        gpu_metrics(c, r->s, b, err) < 0)
        return -1;
    return money_metrics(c, r->s, b, err);
}
