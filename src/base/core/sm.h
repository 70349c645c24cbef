/* SPDX-License-Identifier: Apache-2.0
 *
 * sm.h: a lifecycle as a table. Each state lists the states it may move to, whether it bills, its
 * deadline and what happens when the deadline passes. The move itself (state column + event row in
 * one transaction) is server/lifecycle.h; nothing else may write a state column (tidy test).
 *
 *     static const struct sm_state lease_states[] = {
 *         [LEASE_PLACED] = {"placed", SM_TO(LEASE_STARTING) | SM_TO(LEASE_FAILED), false, 60,
 * LEASE_FAILED},
 *     ...
 *     const struct sm lease_sm = {"lease", lease_states, LEASE_STATE_MAX};
 */
#ifndef SL_SM_H
#define SL_SM_H
#include <stdbool.h>
#include <stdint.h>

#define SM_TO(state) (1u << (state))

struct sm_state {
    const char *name;
    uint32_t allowed;   /* bit set of next states */
    bool billed;        /* does GPU time cost money in this state */
    int32_t deadline_s; /* 0: may stay for ever */
    int on_deadline;    /* the state to move to when the deadline passes */
};

struct sm {
    const char *noun;
    const struct sm_state *states;
    int n;
};

/* -1 when the name is unknown. */
int sm_by_name(const struct sm *sm, const char *name);
bool sm_allowed(const struct sm *sm, int from, int to);
/* Every state named once, allowed bits in range, every deadline has an allowed outcome, every state
 * but the first reachable. Called at start-up and in tests; aborts when broken. */
void sm_check(const struct sm *sm);
#endif
