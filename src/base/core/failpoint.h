/* SPDX-License-Identifier: Apache-2.0
 *
 * failpoint.h: named places where a test can kill or fail the process.
 *
 *     FAILPOINT("lease.after_hold");            dies by SIGKILL when armed
 *     if (failpoint_fails("volume.mkfs")) ...   returns true when armed
 *
 * Armed by the environment: STARLEASE_FAILPOINT=name:n[,name:n...], n = the n-th time it is reached
 * (default 1). STARLEASE_FAILPOINT_LIST=FILE appends every name that is reached, so that a test can
 * find them all. Costs one load when nothing is armed.
 */
#ifndef SL_FAILPOINT_H
#define SL_FAILPOINT_H
#include <stdbool.h>
extern _Atomic int failpoint_armed; /* 0 none, 1 some, -1 not looked yet */
bool failpoint_hit(const char *name);
void failpoint_die(void);
#define failpoint_fails(name) (failpoint_armed && failpoint_hit(name))
#define FAILPOINT(name) (failpoint_fails(name) ? failpoint_die() : (void)0)
#endif
