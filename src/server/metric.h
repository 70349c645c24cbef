/* SPDX-License-Identifier: Apache-2.0
 *
 * metric.h: /metrics in Prometheus text form. Counters of this process are bumped where things
 * happen; everything that the store knows is read from it at the scrape. No label holds an account,
 * lease or token, so the number of series is bounded by routes, models, states and nodes.
 *
 *     metric_count(METRIC_METER_TICKS, 1);
 *     metric_launch(lease.ready_us - lease.created_us);
 *
 * Threads: atomic counters; call from anywhere.
 */
#ifndef SERVER_METRIC_H
#define SERVER_METRIC_H
#include "server/router.h"

enum metric {
    METRIC_METER_TICKS,    /* starlease_meter_ticks_total */
    METRIC_METER_GAPS,     /* starlease_meter_gaps_total: a run came more than two intervals late */
    METRIC_SIGNIN_REFUSED, /* starlease_signin_refused_total */
    METRIC_EVENT_STREAMS,  /* starlease_event_streams, open now */
    METRIC_AUTOSTOPS,      /* starlease_autostops_total: stopped by a timer */
    METRIC_MAX
};
void metric_count(enum metric m, int64_t n);
/* From request to readiness, for starlease_launch_duration_seconds. */
void metric_launch(int64_t us);
/* One answered request. route NULL: no such path. */
void metric_http(const struct route *route, int status, int64_t us);

handler_fn metric_show;
#endif
