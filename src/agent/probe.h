/* SPDX-License-Identifier: Apache-2.0
 *
 * probe.h: facts about the node in one answer: machine, cards, links, health.
 */
#ifndef AGENT_PROBE_H
#define AGENT_PROBE_H
#include "agent/agent.h"
#include "base/core/buf.h"

/* The JSON object of the `probe` operation. A machine without KFD has no cards and good health. */
int probe_json(const struct agent *a, struct sl_buf *out, struct sl_err *err);
/* The JSON object of `health`. */
int health_json(const struct agent *a, struct sl_buf *out, struct sl_err *err);
#endif
