/* SPDX-License-Identifier: Apache-2.0
 *
 * freeze.h: an operator freezes an account, with a reason that the renter reads. What runs is
 * stopped at once (billing ends, disks stay), nothing can be started until it is unfrozen. The
 * renter still signs in, reads, takes his statements, and stops or releases what he has.
 */
#ifndef SERVER_FREEZE_H
#define SERVER_FREEZE_H
#include "server/router.h"

struct freeze_want {
    const char *reason;
};
extern const struct jr_field freeze_fields[];
handler_fn account_freeze;   /* POST /v1/accounts/{id}/freeze; again: only the reason changes */
handler_fn account_unfreeze; /* POST /v1/accounts/{id}/unfreeze; harmless when it is not frozen */
#endif
