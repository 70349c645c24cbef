/* SPDX-License-Identifier: Apache-2.0
 *
 * account.h: renters and operators. A sign-up waits in its own table until the mailed code is
 * entered; then it becomes the account with the same id, and gets its wallet. Nothing that this
 * interface answers tells whether an address has an account: sign-up, a new code and a failed
 * sign-in read the same, and take the same time, either way.
 *
 *     POST /v1/accounts {email, password}    -> 201, a code is mailed
 *     POST /v1/accounts/verify {email, code} -> the account
 *     POST /v1/sessions {email, password}    -> a token (token.h)
 */
#ifndef SERVER_ACCOUNT_H
#define SERVER_ACCOUNT_H
#include "server/router.h"

struct account {
    char id[ID_TEXT], role[16], state[16], currency[4];
    const char *email, *email_norm, *state_reason; /* NULL: none */ /* in the arena */
    int64_t email_verified_us, quota_gpus, quota_leases, quota_disk_gb, created_us;
};
int account_get(struct db_c *c, const char *id, struct sl_arena *a, struct account *ret,
                struct sl_err *err);
void account_write(struct jw *w, const char *key, const struct account *a);

/* What starleased --create-operator does: makes the account, or the existing one an operator, and a
 * token. password NULL: none can be used to sign in. */
int account_make_operator(struct server *s, const char *email, const char *password,
                          char *ret_token, size_t token_max, struct sl_err *err);

struct signup_want {
    const char *email, *password;
};
struct verify_want {
    const char *email, *code;
};
struct session_want {
    const char *email, *password, *name, *scopes, *code;
    int64_t days;
};
extern const struct jr_field signup_fields[], verify_fields[], code_fields[], session_fields[];
int signup_prepare(struct req *r, struct sl_err *err);
int code_prepare(struct req *r, struct sl_err *err);
int verify_prepare(struct req *r, struct sl_err *err);
int session_prepare(struct req *r, struct sl_err *err);
/* After session_prepare: whose password it was; the failed attempts are forgotten. */
int session_account(struct db_c *c, struct req *r, const char **ret_id, struct sl_err *err);
void signup_after(struct req *r, struct reply *out);
handler_fn signup_create, signup_verify, signup_code, session_create;
handler_fn account_show, account_list, account_show_any;
#endif
