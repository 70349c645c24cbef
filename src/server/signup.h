/* SPDX-License-Identifier: Apache-2.0
 *
 * signup.h: sweeps what sign-ups and guessing leave behind.
 */
#ifndef SERVER_SIGNUP_H
#define SERVER_SIGNUP_H
#include "server/server.h"

/* Deletes sign-ups whose code is too old and delays that ended a day ago. */
int signup_purge(struct server *s, struct sl_err *err);
#endif
