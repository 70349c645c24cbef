/* SPDX-License-Identifier: Apache-2.0 */
#include "server/session.h"
#include "base/core/version.h"
#include "server/auth.h"
#include "server/event.h"
#include "server/token.h"
#include "wire/compare.h"

static const char cookie_name[] = "__Host-starlease=";

const struct jr_field console_fields[] = {
    {"email", JR_K_STR, 0, offsetof(struct console_want, login.email), 3, 254,
     .doc = "with password"},
    {"password", JR_K_STR, 0, offsetof(struct console_want, login.password), 1, 1024},
    {"code", JR_K_STR, 0, offsetof(struct console_want, login.code), 0, 32,
     .doc = "of the second factor"},
    {"token", JR_K_STR, 0, offsetof(struct console_want, token), 1, 128,
     .doc = "a token instead of e-mail and password"},
    {0}};

const char *session_from_cookie(const char *cookie, char out[SESSION_AUTH_TEXT])
{
    size_t name_n = sizeof cookie_name - 1;
    for (const char *p = cookie; p && *p; p += strcspn(p, ";"), p += strspn(p, "; ")) {
        if (strncmp(p, cookie_name, name_n) != 0)
            continue;
        size_t n = strcspn(p + name_n, "; ");
        if (n >= TOKEN_TEXT)
            return NULL;
        snprintf(out, SESSION_AUTH_TEXT, "Cookie %.*s", (int)n, p + name_n);
        return out;
    }
    return NULL;
}

void session_csrf(struct server *s, const char *token_id, char out[CSRF_TEXT])
{
    char text[ID_TEXT + 8];
    uint8_t mac[SHA256_BYTES];
    int n = snprintf(text, sizeof text, "csrf|%s", token_id);
    hmac_sha256(s->lease_key, sizeof s->lease_key, text, (size_t)n, mac);
    hex_encode(mac, sizeof mac, out);
}

static bool by_cookie(const struct req *r)
{
    return r->authorization && sl_starts(r->authorization, "Cookie ");
}

int session_check(const struct req *r, struct sl_err *err)
{
    char want[CSRF_TEXT];
    if (!by_cookie(r) || r->route->role == ROLE_ANYONE || sl_streq(r->route->method, "GET"))
        return 0;
    session_csrf(r->s, r->caller.token_id, want);
    if (r->csrf && strlen(r->csrf) == CSRF_TEXT - 1 && bytes_equal(r->csrf, want, CSRF_TEXT - 1))
        return 0;
    return sl_fail_at(err, SL_FORBIDDEN, "X-CSRF-Token",
                      "X-CSRF-Token: missing or not this session's; send the csrf of GET "
                      "/v1/console");
}

static void cookie_write(struct reply *out, const char *token, int64_t seconds)
{
    snprintf(out->set_cookie, sizeof out->set_cookie,
             "%s%s; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=%lld", cookie_name, token,
             (long long)seconds);
}

/* The exchange rate to show prices in a second currency by; conf_check has read it already. */
static void write_fx(struct jw *w, const char *text)
{
    struct fx fx;
    struct sl_err err = {0};
    if (!*text || fx_parse(text, &fx, &err) < 0) {
        jw_null(w, "fx");
        return;
    }
    jw_object(w, "fx");
    jw_str(w, "base", fx.base);
    jw_str(w, "quote", fx.quote);
    jw_money(w, "rate", fx.rate_micro);
    jw_str(w, "day", fx.day);
    jw_end(w);
}

static int console_write(struct db_c *c, struct req *r, const char *account_id,
                         const char *token_id, struct reply *out, struct sl_err *err)
{
    struct account a;
    char csrf[CSRF_TEXT] = "";
    struct jw *w = &out->json;
    if (*account_id && account_get(c, account_id, r->arena, &a, err) < 0)
        return -1;
    if (*token_id)
        session_csrf(r->s, token_id, csrf);
    jw_object(w, NULL);
    if (*account_id)
        account_write(w, "account", &a);
    else
        jw_null(w, "account");
    jw_str(w, "csrf", csrf);
    jw_str(w, "session", token_id);
    jw_str(w, "currency", r->s->conf.currency);
    jw_money(w, "trial", r->s->conf.trial_micro);
    write_fx(w, r->s->conf.console_fx);
    jw_str(w, "version", SL_VERSION);
    jw_end(w);
    return 0;
}

int console_show(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    bool person = r->caller.role == ROLE_RENTER || r->caller.role == ROLE_OPERATOR;
    return console_write(c, r, person ? r->caller.account_id : "",
                         person && by_cookie(r) ? r->caller.token_id : "", out, err);
}

/* A form on a foreign page can post here, but only without this content type. */
int console_prepare(struct req *r, struct sl_err *err)
{
    const struct console_want *w = r->body;
    if (!r->content_type)
        return sl_fail_at(err, SL_INVALID, "Content-Type",
                          "Content-Type: missing; send application/json");
    if (w->token && !w->login.email && !w->login.password)
        return 0;
    if (w->token || !w->login.email || !w->login.password)
        return sl_fail_at(err, SL_INVALID, "email",
                          "email: send email and password, or a token alone");
    return session_prepare(r, err);
}

/* Who the token belongs to: the session can do what the token can, and no more. */
static int of_token(struct db_c *c, struct req *r, const char *token, struct caller *ret,
                    struct sl_err *err)
{
    const char *text = sl_arena_printf(r->arena, "Bearer %s", token);
    if (auth_caller(c, r->s, text, r->address, ret, err) < 0)
        return -1;
    if (ret->role == ROLE_RENTER || ret->role == ROLE_OPERATOR)
        return 0;
    return sl_fail_at(err, SL_UNAUTHENTICATED, "token",
                      "token: is not a person's; use one that starts with slk_");
}

int console_create(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    const struct console_want *w = r->body;
    struct caller who = {0};
    char token[TOKEN_TEXT], id[ID_TEXT];
    int64_t expires;
    const char *account_id = who.account_id;
    if (w->token ? of_token(c, r, w->token, &who, err) < 0
                 : session_account(c, r, &account_id, err) < 0)
        return -1;
    struct token_want want = {.name = "browser", .days = SESSION_DAYS, .make_room = true};
    want.session = true;
    want.scopes = who.read_only ? "read" : "read,write";
    if (token_make(c, r->s, account_id, &want, token, id, &expires, err) < 0 ||
        event_add(c, r->s, account_id, "token", id, "token.made", account_id, NULL, err) < 0)
        return -1;
    cookie_write(out, token, SESSION_DAYS * 86400);
    out->status = 201;
    return console_write(c, r, account_id, id, out, err);
}

int console_delete(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    if (!by_cookie(r))
        return sl_fail(err, SL_CONFLICT,
                       "session: this call signs a browser out; revoke a token with DELETE "
                       "/v1/tokens/{id}");
    r->path[0] = r->caller.token_id;
    if (token_revoke(c, r, out, err) < 0)
        return -1;
    cookie_write(out, "", 0);
    return 0;
}
