/* SPDX-License-Identifier: Apache-2.0
 *
 * account_secret.h: what account.c (the row) and signup.c (the way to it) share.
 */
#ifndef SERVER_ACCOUNT_SECRET_H
#define SERVER_ACCOUNT_SECRET_H
#include "server/server.h"

/* Lower case, in the arena: the form that is unique. */
const char *email_norm(struct sl_arena *a, const char *email);
/* SL_INVALID when it is too short, on the short list of common ones, or the address itself. */
int password_check(const char *password, const char *email, struct sl_err *err);
/* The row with its wallet and event; the address counts as verified. An address that has an account
 * already is SL_CONFLICT. password_hash_text "": nobody can sign in with a password. */
int account_insert(struct db_c *c, struct server *s, const char *id, const char *email,
                   const char *norm, const char *password_hash_text, const char *role,
                   struct sl_err *err);
#endif
