/* SPDX-License-Identifier: Apache-2.0 */
#include "sm.h"
#include "err.h"
#include <string.h>

int sm_by_name(const struct sm *sm, const char *name)
{
    for (int i = 0; i < sm->n; i++)
        if (strcmp(sm->states[i].name, name) == 0)
            return i;
    return -1;
}

bool sm_allowed(const struct sm *sm, int from, int to)
{
    SL_ASSERT(from >= 0 && from < sm->n && to >= 0 && to < sm->n);
    return sm->states[from].allowed & SM_TO(to);
}

void sm_check(const struct sm *sm)
{
    SL_ASSERT(sm->n > 0 && sm->n <= 32);
    uint32_t reached = SM_TO(0), all = sm->n == 32 ? UINT32_MAX : SM_TO(sm->n) - 1;
    for (int round = 0; round < sm->n; round++)
        for (int i = 0; i < sm->n; i++)
            if (reached & SM_TO(i))
                reached |= sm->states[i].allowed;
    SL_ASSERT(reached == all);
    for (int i = 0; i < sm->n; i++) {
        const struct sm_state *s = &sm->states[i];
        SL_ASSERT(s->name && sm_by_name(sm, s->name) == i);
        SL_ASSERT((s->allowed & ~all) == 0);
        SL_ASSERT(s->deadline_s == 0 || sm_allowed(sm, i, s->on_deadline));
    }
}
