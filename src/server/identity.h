/* SPDX-License-Identifier: Apache-2.0
 *
 * identity.h: who is behind an account, as far as the trial credit needs to know. A pluggable HTTP
 * service (conf identity.url) is asked once per attempt:
 *
 *     POST {"kind":"phone","value":"+8613800000000","proof":"123456"}
 *     <- 200 {"verified":true,"subject":"opaque-name-of-the-person"}
 *
 * Only the SHA-256 of kind and subject (or value) is stored. One identity belongs to one account,
 * and brings the trial credit once. Without a service the mailed code is the identity: the address
 * without its +tag.
 */
#ifndef SERVER_IDENTITY_H
#define SERVER_IDENTITY_H
#include "server/router.h"

struct identity_want {
    const char *kind, *value, *proof;
};
extern const struct jr_field identity_fields[];
int identity_prepare(struct req *r, struct sl_err *err);
handler_fn identity_create, trial_create;
#endif
