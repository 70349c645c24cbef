/* SPDX-License-Identifier: Apache-2.0
 *
 * ops.h: the closed list of operations, one table. The daemon and the command line both go through
 * it.
 *
 *     static int tell(void *arg, const char *json) { ... }           progress lines, may be NULL
 *     if (op_run(a, request_json, n, tell, arg, &out, err) < 0)      out: the JSON object of the
 * answer
 */
#ifndef AGENT_OPS_H
#define AGENT_OPS_H
#include "agent/agent.h"
#include "base/core/buf.h"

struct op_call {
    const struct agent *a;
    const char *json; /* the whole request */
    size_t n;
    int (*progress)(void *arg, const char *json); /* non-zero: the caller is gone */
    void *progress_arg;
    struct sl_buf *out;
};

/* Unknown operation or field, another node's name: SL_INVALID. */
int op_run(struct op_call *c, struct sl_err *err);

/* lease_ops.c */
int op_lease_start(struct op_call *c, struct sl_err *err);
int op_lease_stop(struct op_call *c, struct sl_err *err);
int op_lease_list(struct op_call *c, struct sl_err *err);
int op_lease_logs(struct op_call *c, struct sl_err *err);
/* Gives every lease without a supervisor a new one; what agentd does when it starts. */
int leases_take_over(const struct agent *a, struct sl_err *err);
/* Leases that have not ended. */
int leases_running(const struct agent *a);
/* The supervisor of the lease that has this system volume, and its folder; 0: none. */
pid_t lease_with_volume(const struct agent *a, const char *volume, char ret_dir[PATH_MAX]);
/* True when a lease other than `except` uses this card. */
bool card_in_use(const struct agent *a, int card, const char *except);
#endif
