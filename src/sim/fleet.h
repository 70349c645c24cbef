/* SPDX-License-Identifier: Apache-2.0
 *
 * fleet.h: many simulated nodes in one process. They speak the agent's protocol (wire/agent_ops.h)
 * on one Unix socket and report by HTTP like real supervisors; everything they say is marked
 * emulated. They keep their leases in memory, so they outlive any restart of starleased.
 *
 * The fleet is also a judge: it counts what a real node could not survive, whatever the server
 * believes: a card or slot given to two leases, a card given on before it was sanitized, an epoch
 * that goes back, a sanitize of a card in use. {"op":"sim.state"} tells the counts; a correct
 * server never makes one.
 *
 * Threads: socket threads call fleet_answer, report threads run fleet_reporter; one lock inside.
 */
#ifndef SIM_FLEET_H
#define SIM_FLEET_H
#include "base/core/err.h"
#include "base/core/id.h"
#include "base/io/json.h"
#include <stdbool.h>
#include <stdint.h>

enum { SIM_CARDS_MAX = 64, SIM_NODE_NAME = 64 };

/* What goes wrong on purpose, out of 1000, decided by a seeded generator. */
struct fleet_faults {
    int64_t seed;
    int64_t start_ms;    /* a start takes 1..start_ms until the instance is ready */
    int64_t fail_start;  /* lease.start is refused */
    int64_t never_ready; /* the instance fails before it is ready */
    int64_t lose_reply;  /* an operation is done, its answer lost */
    int64_t exit;        /* the instance ends by itself, per heartbeat */
};
struct fleet_options {
    int64_t nodes, cards, memory_gb;
    const char *model, *url; /* url: for leases that are told no report_url */
    struct fleet_faults faults;
};

struct fleet *fleet_new(const struct fleet_options *o);
/* One request. Appends the "ok" object to out; *ret_lose_reply: close without an answer. */
int fleet_answer(struct fleet *f, int fd, const struct jr_val *request, struct sl_buf *out,
                 bool *ret_lose_reply, struct sl_err *err);
/* Sends due reports for ever. */
void *fleet_reporter(void *fleet);
#endif
