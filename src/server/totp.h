/* SPDX-License-Identifier: Apache-2.0
 *
 * totp.h: a second factor: six digits of an authenticator app (RFC 6238: HMAC-SHA-1, 30 s), or one
 * of ten recovery codes that work once each.
 *
 *     POST /v1/account/totp               -> a secret; nothing is asked for yet
 *     POST /v1/account/totp/confirm {code}-> from now on signing in wants a code; recovery codes
 *     POST /v1/account/totp/disable {code}-> off again
 *
 * A code counts for its 30 s and the two neighbours', once: the step that was used last is kept.
 * Tokens that exist go on working; who has one could make another anyway.
 */
#ifndef SERVER_TOTP_H
#define SERVER_TOTP_H
#include "server/router.h"

enum { TOTP_SECRET = 20, TOTP_STEP_S = 30, TOTP_RECOVERY = 10, TOTP_BASE32 = 33 };

struct totp_want {
    const char *code;
};
extern const struct jr_field totp_fields[];
int totp_prepare(struct req *r, struct sl_err *err);
handler_fn totp_show, totp_begin, totp_confirm, totp_disable;

/* For signing in, inside its transaction: 0 when the account has no second factor or the code is
 * right (and now used). SL_UNAUTHENTICATED with field "code" otherwise; code NULL: not sent. */
int totp_check(struct db_c *c, struct server *s, const char *account_id, const char *code,
               struct sl_err *err);

/* The parts, for tests. */
void sha1_hmac(const void *key, size_t key_n, const void *p, size_t n, uint8_t out[20]);
/* The code of one step: 000000 to 999999. */
int32_t totp_code(const uint8_t secret[TOTP_SECRET], int64_t step);
void base32_encode(const uint8_t in[TOTP_SECRET], char out[TOTP_BASE32]);
#endif
