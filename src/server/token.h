/* SPDX-License-Identifier: Apache-2.0
 *
 * token.h: a person's tokens. A token is "slk_" and 64 hex digits of 256 random bits; the table
 * holds its SHA-256 alone, so a copy of the database opens nothing. Scopes: "read" (GET only) or
 * "read,write". Revoking works from the next request on, because every request looks the row up.
 */
#ifndef SERVER_TOKEN_H
#define SERVER_TOKEN_H
#include "server/auth.h"
#include "server/router.h"

enum { TOKEN_DAYS_DEFAULT = 90, TOKEN_DAYS_MAX = 3660 };

struct token_want {
    const char *name;   /* NULL: "" */
    const char *scopes; /* NULL: "read,write" */
    int64_t days;       /* 0: TOKEN_DAYS_DEFAULT */
    bool session;       /* a browser's: for the cookie alone (session.h) */
    bool make_room; /* at the limit revoke the one that was used longest ago: signing in works */
};
/* Draws a token into ret_text and stores its hash. */
int token_make(struct db_c *c, struct server *s, const char *account_id,
               const struct token_want *want, char ret_text[TOKEN_TEXT], char ret_id[ID_TEXT],
               int64_t *ret_expires_us, struct sl_err *err);
extern const char *const token_scopes[];

extern const struct jr_field token_fields[]; /* struct token_want */
handler_fn token_list, token_create, token_revoke;
#endif
