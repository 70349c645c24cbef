/* SPDX-License-Identifier: Apache-2.0
 *
 * session.h: signing in with a browser. A session is a token of its own kind ("sls_...", scope
 * "console") that only ever travels in a cookie which scripts cannot read:
 *
 *     POST /v1/console {email, password} or {token}  -> Set-Cookie: __Host-starlease=sls_...
 *     GET /v1/console                                -> who is signed in, and the CSRF value
 *     DELETE /v1/console                             -> revoked, cookie gone
 *
 * Every other call takes the cookie where it takes a bearer token (auth.h). A call that changes
 * something also needs the CSRF value, an HMAC over the session's id, as X-CSRF-Token. Sessions
 * stand in GET /v1/tokens and are revoked there like tokens.
 */
#ifndef SERVER_SESSION_H
#define SERVER_SESSION_H
#include "server/account.h"

enum { SESSION_DAYS = 7, COOKIE_TEXT = 200, CSRF_TEXT = 65, SESSION_AUTH_TEXT = 88 };

struct console_want {
    struct session_want login; /* first: session_prepare reads it */
    const char *token;
};
extern const struct jr_field console_fields[];
int console_prepare(struct req *r, struct sl_err *err);
handler_fn console_create, console_show, console_delete;

/* The session in a Cookie header, as the text that auth_caller takes ("Cookie sls_..."); NULL when
 * there is none. */
const char *session_from_cookie(const char *cookie, char out[SESSION_AUTH_TEXT]);
/* The value that X-CSRF-Token must have. */
void session_csrf(struct server *s, const char *token_id, char out[CSRF_TEXT]);
/* A call by cookie that changes something: SL_FORBIDDEN without the right X-CSRF-Token. */
int session_check(const struct req *r, struct sl_err *err);
#endif
