/* SPDX-License-Identifier: Apache-2.0
 *
 * idempotency.h: Idempotency-Key. The answer to a request that created money or things is stored
 * for ever in the same transaction, with a hash of the request. The same key with the same request
 * gets the stored answer; with another request it is SL_KEY_REUSED. Failed requests change nothing
 * and store nothing, so they may be tried again under their key.
 */
#ifndef SERVER_IDEMPOTENCY_H
#define SERVER_IDEMPOTENCY_H
#include "server/router.h"

/* 1 the stored answer is in *out, 0 the key is new, -1 it was used for another request. */
int idempotency_find(struct db_c *c, struct req *r, const char *path, struct reply *out,
                     struct sl_err *err);
int idempotency_store(struct db_c *c, struct req *r, const char *path, const struct reply *out,
                      struct sl_err *err);
/* Present where the route needs it, 8 to 128 printable characters. */
int idempotency_key_check(const struct req *r, struct sl_err *err);
#endif
