/* SPDX-License-Identifier: Apache-2.0
 *
 * kernel_gate.h: is this node's kernel and GPU driver one that leaves a tenant's memory to the
 * next? A table of known faults with the versions that mend them; no network, no package manager.
 *
 *     struct gate g;
 *     kernel_gate("6.12.95+deb13-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.12.95-1 (2026-07-05)",
 * "", "gfx942", &g); for (int i = 0; i < g.n; i++) if (g.v[i].state == GATE_VULNERABLE)
 * puts(g.v[i].detail);
 *
 * Numbers are compared within a stable series: 6.6.150 has what 6.6.140 brought, 6.12.80 does not.
 * A series newer than the table has the fix, an older or ended one has not. A distribution's kernel
 * below the number may carry the fix all the same: unknown, except Debian's, whose package version
 * stands in `uname -v`. All texts are read as they come; nonsense is unknown, never ok.
 */
#ifndef AGENT_KERNEL_GATE_H
#define AGENT_KERNEL_GATE_H
#include "agent/probe_amd.h"

enum { GATE_FINDINGS_MAX = 8, GATE_DETAIL_MAX = 160 };
enum gate_state { GATE_OK, GATE_VULNERABLE, GATE_UNKNOWN };
struct gate_finding {
    const char *id; /* "CVE-2026-46229", static */
    enum gate_state state;
    char detail[GATE_DETAIL_MAX]; /* one sentence with the versions that decided it */
};
struct gate {
    struct gate_finding v[GATE_FINDINGS_MAX];
    int n;
};

/* release: `uname -r`; version: `uname -v`; dkms: text of /sys/module/amdgpu/version, "" when the
 * driver is the kernel's own; gfx: "gfx942" or "". Pure: looks at nothing else. */
void kernel_gate(const char *release, const char *version, const char *dkms, const char *gfx,
                 struct gate *ret);
/* The same for the running kernel and this topology. No finding where there is no GPU. */
void kernel_gate_here(const struct topology *t, struct gate *ret);
/* The worst of the findings (vulnerable, then unknown, then ok); NULL when there is none. */
const struct gate_finding *gate_worst(const struct gate *g);
#endif
