/* SPDX-License-Identifier: Apache-2.0
 *
 * sanitize.h: what must be true of cards before another tenant gets them. Each step answers done,
 * failed or not_possible (this machine has no means for it, which the certificate says); one failed
 * step makes the result "failed", and the server keeps the node out of use.
 */
#ifndef AGENT_SANITIZE_H
#define AGENT_SANITIZE_H
#include "agent/agent.h"
#include "base/core/buf.h"

struct sanitize {
    const char *lease, *account;
    int cards[AGENT_CARDS_MAX];
    int cards_n;
};
/* {"result","emulated","steps":[{"name","result","detail"}]}. Refuses (SL_CONFLICT) while a lease
 * runs on one of the cards. */
int sanitize_run(const struct agent *a, const struct sanitize *s, struct sl_buf *out,
                 struct sl_err *err);
#endif
