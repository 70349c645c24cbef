/* SPDX-License-Identifier: Apache-2.0
 *
 * key.h: the SSH public keys of an account. An instance gets the lines of all of them, or of those
 * named when it is made; the agent writes them, never a tenant's text.
 */
#ifndef SERVER_KEY_H
#define SERVER_KEY_H
#include "server/router.h"

/* The authorized_keys lines of `ids` (all of the account's when n is 0), as a JSON array of strings
 * in the arena. An unknown or foreign id is SL_NOT_FOUND. */
int key_lines(struct db_c *c, const char *account_id, const char *const *ids, int n,
              struct sl_arena *a, const char **ret_json, struct sl_err *err);

struct key_want {
    const char *name, *key;
};
extern const struct jr_field key_fields[]; /* struct key_want */
handler_fn key_list, key_create, key_delete;
#endif
