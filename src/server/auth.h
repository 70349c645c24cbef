/* SPDX-License-Identifier: Apache-2.0
 *
 * auth.h: who asks. Turns an Authorization header into a struct caller, and slows down guessing.
 *
 * Two kinds of token:
 *   slk_ + 64 hex digits       a person's, 256 random bits, stored as SHA-256 (token.h)
 *   slt_ID.EPOCH.MAC           one lease in one epoch, HMAC-SHA-256 under the server's lease key;
 * nothing is stored, a newer epoch of the lease makes it worthless
 *   sls_ + 64 hex digits       a signed-in browser's, from its cookie alone (session.h)
 */
#ifndef SERVER_AUTH_H
#define SERVER_AUTH_H
#include "server/server.h"

enum { LEASE_TOKEN_TEXT = 128, TOKEN_TEXT = 72 };

/* `authorization` NULL: *ret is ROLE_ANYONE. A token that is malformed, unknown, expired or revoked
 * is SL_UNAUTHENTICATED, always with the same words. */
int auth_caller(struct db_c *c, struct server *s, const char *authorization, const char *address,
                struct caller *ret, struct sl_err *err);

/* The token an agent gets with lease.start. Returns out. */
const char *lease_token(struct server *s, const char *lease_id, int64_t epoch,
                        char out[LEASE_TOKEN_TEXT]);
bool lease_token_check(struct server *s, const char *token, char ret_lease_id[ID_TEXT],
                       int64_t *ret_epoch);

/* Tokens in use since the last call, written as token.last_used_us in one transaction. */
int auth_flush_used(struct server *s, struct sl_err *err);

/* Guessing: every attempt is counted before the secret is looked at, and forgotten when it was
 * right. After `free` attempts each further one doubles the wait, up to `max_s`. SL_RATE:
 * *ret_wait_s says how long. Runs in its own transaction. */
struct delay_rule {
    const char *what; /* prefix of the key: "login:" */
    int free, max_s;
};
int delay_attempt(struct server *s, const struct delay_rule *rule, const char *who,
                  int64_t *ret_wait_s, struct sl_err *err);
/* Takes one attempt back; forget takes them all. */
int delay_forgive(struct db_c *c, const struct delay_rule *rule, const char *who,
                  struct sl_err *err);
int delay_forget(struct db_c *c, const struct delay_rule *rule, const char *who,
                 struct sl_err *err);
#endif
