/* SPDX-License-Identifier: Apache-2.0
 *
 * report.h: facts about the lease to the control plane: POST report_url with the lease's token.
 * Each report is made by a child process, so a server that hangs delays neither heartbeat nor stop.
 *
 *     struct report r = {.fd = -1};
 *     report_send(&r, a, &spec, &facts, err);     one at a time
 *     ... poll r.fd; when readable:
 *     struct report_answer a = report_take(&r);
 */
#ifndef AGENT_REPORT_H
#define AGENT_REPORT_H
#include "agent/spec.h"

enum { REPORT_TIMEOUT_MS = 10000 };
struct report {
    pid_t pid;
    int fd; /* readable when the answer is there; -1: none under way */
};
struct report_answer {
    int status; /* HTTP status, 0 when the server was not reached */
    bool go, stop;
    int64_t funded_until_us; /* 0: not told */
};
struct report_facts {
    const char *kind; /* ready heartbeat exit failed metric */
    int64_t alive_s;
    const char *reason, *host_key; /* or NULL */
    int exit_code;                 /* -1: left out */
    const char *metric_json;       /* an object, or NULL */
    const char *use_json;          /* the same */
};

int report_send(struct report *r, const struct agent *a, const struct lease_spec *s,
                const struct report_facts *f, struct sl_err *err);
/* Reads the answer and ends the child. */
struct report_answer report_take(struct report *r);
/* Forgets the report that is under way. */
void report_cancel(struct report *r);
#endif
