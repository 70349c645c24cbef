/* SPDX-License-Identifier: Apache-2.0
 *
 * use.h: is anybody using the lease? What each heartbeat tells the control plane for the idle
 * timer: SSH sessions, connections from outside to ports on which the instance listens (JupyterLab,
 * a served model), the CPU it used since the last look, and the GPUs' busy counter where the driver
 * has one. Connections inside the instance (a notebook and its kernels) are no use. Emulated GPUs
 * have no counter: null.
 *
 *     struct use u = {0};
 *     char json[USE_JSON];
 *     use_look(&u, a, &spec, pid, json) {"ssh":1,"ports":0,"cpu_permille":12,"gpu_percent":null}
 */
#ifndef AGENT_USE_H
#define AGENT_USE_H
#include "agent/spec.h"

enum { USE_JSON = 128 };
struct use { /* the last look; zero at first */
    int64_t cpu_us, at_ms;
};
/* pid: a process in the lease's network namespace. Returns json. */
const char *use_look(struct use *u, const struct agent *a, const struct lease_spec *s, pid_t pid,
                     char json[USE_JSON]);

/* One table of /proc/PID/net (tcp or tcp6) as text, added to *c: first call with listens to learn
 * the ports, then again to count. own: the lease's address, host order. */
struct use_count {
    uint8_t listens[65536 / 8];
    int ssh, ports;
};
void use_listens(struct use_count *c, const char *table);
void use_connections(struct use_count *c, const char *table, uint32_t own);
#endif
