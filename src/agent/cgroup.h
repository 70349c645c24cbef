/* SPDX-License-Identifier: Apache-2.0
 *
 * cgroup.h: the lease's control group, /starlease/LEASE in every hierarchy: version 1 (one mount
 * per controller), version 2, or a hybrid of both. crun makes it; this file looks into it and
 * removes it.
 */
#ifndef AGENT_CGROUP_H
#define AGENT_CGROUP_H
#include "base/core/err.h"
#include <stdbool.h>

/* Processes in it, over all hierarchies; 0 when it does not exist. */
int cgroup_processes(const char *lease);
/* SIGKILL to all of them until none is left; SL_TIMEOUT when some live on after wait_ms. */
int cgroup_kill(const char *lease, int wait_ms, struct sl_err *err);
/* Removes the empty group everywhere; harmless when absent. */
int cgroup_remove(const char *lease, struct sl_err *err);
bool cgroup_exists(const char *lease);
/* CPU time that it has used, in microseconds; -1 when no hierarchy counts it. */
int64_t cgroup_cpu_us(const char *lease);
/* Removes /starlease itself, for the last one out; harmless while it has groups. */
void cgroup_parent_remove(void);
#endif
