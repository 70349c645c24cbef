/* SPDX-License-Identifier: Apache-2.0
 *
 * health.h: good, bad or unknown, with reasons. Unknown takes no new lease and evicts nobody.
 */
#ifndef AGENT_HEALTH_H
#define AGENT_HEALTH_H
#include "agent/agent.h"
#include "agent/probe_amd.h"

enum { HEALTH_REASONS_MAX = 24 };
struct health {
    const char *state; /* "good" "bad" "unknown" */
    char reasons[HEALTH_REASONS_MAX][160];
    int n;
};

/* Looks at the topology, the device nodes, uncorrected memory errors where the driver shows them,
 * the programs that leases need, and the kernel and driver against kernel_gate.h's table (bad:
 * known vulnerable; unknown: could not be checked; an emulated node only tells it). Advice that
 * does not make the node bad is listed as well. */
struct health health_check(const struct agent *a, const struct topology *t);
#endif
