/* SPDX-License-Identifier: Apache-2.0
 *
 * signup.c: from an address and a password to an account and a token. What is slow (Argon2id) or
 * must leave a trace when it fails (attempts) happens in the prepare functions, before the
 * transaction.
 */
#include "server/account.h"
#include "server/account_secret.h"
#include "server/auth.h"
#include "server/event.h"
#include "server/mail.h"
#include "server/metric.h"
#include "server/signup.h"
#include "server/token.h"
#include "server/totp.h"
#include <pthread.h>
#include <strings.h>

enum {
    CODE_TEXT = 9,
    CODE_TRIES = 5,
    CODE_LIFE_S = 1800,
    PENDING_MAX = 3,
    PASSWORD_MIN = 8,
    PASSWORD_MAX = 200
};

static const struct delay_rule login_email = {"login:", 5, 300}, login_addr = {"addr:", 100, 60},
                               signup_addr = {"signup:", 300, 3600},
                               mail_email = {"mail:", 4, 3600}, verify_email = {"verify:", 10, 300};

const struct jr_field signup_fields[] = {
    {"email", JR_K_STR, JR_REQUIRED, offsetof(struct signup_want, email), 3, 254,
     .doc = "a code is mailed there"},
    {"password", JR_K_STR, JR_REQUIRED, offsetof(struct signup_want, password), PASSWORD_MIN,
     PASSWORD_MAX, .doc = "at least 8 bytes"},
    {0}};
const struct jr_field verify_fields[] = {
    {"email", JR_K_STR, JR_REQUIRED, offsetof(struct verify_want, email), 3, 254},
    {"code", JR_K_STR, JR_REQUIRED, offsetof(struct verify_want, code), 1, 32, .doc = "as mailed"},
    {0}};
const struct jr_field code_fields[] = {
    {"email", JR_K_STR, JR_REQUIRED, offsetof(struct verify_want, email), 3, 254}, {0}};
const struct jr_field session_fields[] = {
    {"email", JR_K_STR, JR_REQUIRED, offsetof(struct session_want, email), 3, 254},
    {"password", JR_K_STR, JR_REQUIRED, offsetof(struct session_want, password), 1, PASSWORD_MAX},
    {"name", JR_K_STR, 0, offsetof(struct session_want, name), 0, 63, .doc = "of the token"},
    {"scopes", JR_K_STR, 0, offsetof(struct session_want, scopes), 1, 32, .choices = token_scopes},
    {"days", JR_K_INT, 0, offsetof(struct session_want, days), 1, TOKEN_DAYS_MAX},
    {"code", JR_K_STR, 0, offsetof(struct session_want, code), 0, 32,
     .doc = "of the second factor, where the account has one"},
    {0}};

static int check_email(const char *email, struct sl_err *err)
{
    if (email_ok(email))
        return 0;
    return sl_fail_at(err, SL_INVALID, "email",
                      "email: \"%.80s\" is not an address; write name@example.org", email);
}

int password_check(const char *password, const char *email, struct sl_err *err)
{
    /* the commonest of published lists that are long enough to get here */
    static const char *const common[] = {
        "password",   "12345678",  "123456789", "1234567890", "qwertyuiop", "iloveyou",  "princess",
        "sunshine",   "football",  "baseball",  "superman",   "trustno1",   "password1", "passw0rd",
        "1q2w3e4r5t", "abcd1234",  "qwerty123", "11111111",   "88888888",   "00000000",  "letmein1",
        "welcome1",   "admin123",  "1qaz2wsx",  "zaq12wsx",   "q1w2e3r4",   "asdfghjkl", "aa123456",
        "a1234567",   "computer",  "starwars",  "whatever",   "jennifer",   "michelle",  "87654321",
        "987654321",  "123123123", "1234qwer",  "qwer1234",   "woaini1314", "5201314520"};
    size_t n = strlen(password);
    bool weak = n < PASSWORD_MIN || strcasecmp(password, email) == 0 ||
                strspn(password, (char[]){password[0], 0}) == n;
    for (size_t i = 0; i < SL_COUNT(common); i++)
        weak |= strcasecmp(password, common[i]) == 0;
    if (weak)
        return sl_fail_at(
            err, SL_INVALID, "password",
            "password: is too easy to guess; take at least %d characters that are on no "
            "list, for example four random words",
            PASSWORD_MIN);
    return 0;
}

/* The text that the table keeps of a mailed code. */
static void code_hash(struct server *s, const char *signup_id, const char *code,
                      char out[SHA256_HEX])
{
    char text[ID_TEXT + 64];
    uint8_t mac[SHA256_BYTES];
    int n = snprintf(text, sizeof text, "code|%s|%.32s", signup_id, code);
    hmac_sha256(s->lease_key, sizeof s->lease_key, text, (size_t)n, mac);
    hex_encode(mac, sizeof mac, out);
}

static void code_draw(char out[CODE_TEXT])
{
    uint64_t x;
    random_bytes(&x, sizeof x);
    snprintf(out, CODE_TEXT, "%08llu", (unsigned long long)(x % 100000000));
}

/* One attempt by a key; keeps the wait for Retry-After. */
static int attempt(struct req *r, const struct delay_rule *rule, const char *who,
                   struct sl_err *err)
{
    return delay_attempt(r->s, rule, who, &r->retry_after_s, err);
}

/* ---- sign-up ---- */
struct signup {
    char id[ID_TEXT], code[CODE_TEXT], hash[PASSWORD_HASH];
    const char *email, *norm;
    bool exists, send; /* set by the transaction */
};

int signup_prepare(struct req *r, struct sl_err *err)
{
    const struct signup_want *w = r->body;
    struct signup *p = sl_arena_alloc(r->arena, sizeof *p);
    r->prepared = p;
    if (check_email(w->email, err) < 0 || password_check(w->password, w->email, err) < 0)
        return -1;
    p->email = w->email;
    p->norm = email_norm(r->arena, w->email);
    if (attempt(r, &signup_addr, r->address ? r->address : "", err) < 0 ||
        attempt(r, &mail_email, p->norm, err) < 0)
        return -1;
    env_id(r->s->env, "acc", p->id);
    code_draw(p->code);
    return password_hash(w->password, p->hash, err);
}

/* The newest PENDING_MAX sign-ups of an address may wait; older ones make room. */
static int make_room(struct db_c *c, struct server *s, const char *norm, struct sl_err *err)
{
    return db_exec(c, err, "DELETE FROM signup WHERE email_norm = ?1 AND expires_us <= ?2", "ti",
                   norm, env_now(s->env)) < 0 ||
                   db_exec(c, err,
                           "DELETE FROM signup WHERE email_norm = ?1 AND id NOT IN (SELECT id FROM "
                           "signup WHERE email_norm = ?1 ORDER BY id DESC LIMIT ?2)",
                           "ti", norm, (int64_t)PENDING_MAX - 1) < 0
               ? -1
               : 0;
}

int signup_create(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct signup *p = r->prepared;
    struct server *s = r->s;
    char hash[SHA256_HEX] = "";
    int64_t found, now = env_now(s->env);
    if (db_value(c, 0, &found, err, "SELECT 1 FROM account WHERE email_norm = ?1", "t", p->norm) <
            0 ||
        make_room(c, s, p->norm, err) < 0)
        return -1;
    p->exists = found;
    if (!p->exists)
        code_hash(s, p->id, p->code, hash);
    /* An address that has an account gets a row that no code fits: the same work, the same answer.
     */
    if (db_exec(c, err,
                "INSERT INTO signup(id, email, email_norm, password_hash, code_hash, expires_us, "
                "created_us) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                "tttttii", p->id, p->email, p->norm, p->hash, hash, now + CODE_LIFE_S * SL_SEC,
                now) < 0)
        return -1;
    struct account a = {.email = p->email,
                        .role = "renter",
                        .state = "unverified",
                        .quota_gpus = s->conf.quota_gpus,
                        .quota_leases = s->conf.quota_leases,
                        .quota_disk_gb = s->conf.quota_disk_gb,
                        .created_us = now};
    snprintf(a.id, sizeof a.id, "%s", p->id);
    snprintf(a.currency, sizeof a.currency, "%s", s->conf.currency);
    account_write(&out->json, NULL, &a);
    out->status = 201;
    p->send = true;
    return 0;
}

void signup_after(struct req *r, struct reply *out)
{
    const struct signup *p = r->prepared;
    (void)out;
    if (!p->send)
        return;
    if (p->exists) {
        mail_post(
            r->s, p->email, "Your Starlease account",
            "Somebody, perhaps you, tried to sign up with this address, which has an account\n"
            "already. Sign in with its password. If it was not you, nothing has to be done.\n");
        return;
    }
    char *text =
        sl_arena_printf(r->arena,
                        "Your code for Starlease is\n\n    %s\n\nIt is good for %d minutes. It "
                        "belongs to the sign-up from address %s.\nIf that was not you, do not "
                        "enter it: nothing has to be done.\n",
                        p->code, CODE_LIFE_S / 60, r->address ? r->address : "unknown");
    mail_post(r->s, p->email, "Your Starlease code", text);
}

/* ---- a new code ---- */
int code_prepare(struct req *r, struct sl_err *err)
{
    const struct verify_want *w = r->body;
    struct signup *p = sl_arena_alloc(r->arena, sizeof *p);
    r->prepared = p;
    if (check_email(w->email, err) < 0)
        return -1;
    p->email = w->email;
    p->norm = email_norm(r->arena, w->email);
    code_draw(p->code);
    return attempt(r, &mail_email, p->norm, err);
}

int signup_code(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct signup *p = r->prepared;
    struct db_q q;
    char hash[SHA256_HEX];
    p->send = false;
    int rc =
        db_row(c, &q, err,
               "SELECT id, email FROM signup WHERE email_norm = ?1 AND code_hash <> '' ORDER BY "
               "id DESC LIMIT 1",
               "t", p->norm);
    if (rc < 0)
        return -1;
    if (rc > 0) {
        snprintf(p->id, sizeof p->id, "%s", db_text(&q, 0));
        p->email = sl_arena_strdup(r->arena, db_text(&q, 1));
        db_done(&q);
        code_hash(r->s, p->id, p->code, hash);
        if (db_exec(c, err,
                    "UPDATE signup SET code_hash = ?2, expires_us = ?3, tries = 0 WHERE id = ?1",
                    "tti", p->id, hash, env_now(r->s->env) + CODE_LIFE_S * SL_SEC) < 0)
            return -1;
        p->send = true;
    }
    jw_object(&out->json, NULL);
    jw_bool(&out->json, "ok", true);
    jw_str(&out->json, "detail",
           "if a sign-up with this address waits for its code, a new one was mailed");
    jw_end(&out->json);
    return 0;
}

/* ---- entering the code ---- */
int verify_prepare(struct req *r, struct sl_err *err)
{
    const struct verify_want *w = r->body;
    if (check_email(w->email, err) < 0)
        return -1;
    return attempt(r, &verify_email, email_norm(r->arena, w->email), err);
}

/* The waiting sign-up that this code belongs to: 1 found, 0 none, -1 error. */
static int find_signup(struct db_c *c, struct req *r, const char *norm, const char *code,
                       struct signup *ret, struct sl_err *err)
{
    struct db_q q;
    int rc, found = 0;
    char want[SHA256_HEX];
    if (db_query(c, &q, err,
                 "SELECT id, email, password_hash, code_hash FROM signup WHERE email_norm = ?1 AND "
                 "expires_us > ?2 AND tries < ?3 ORDER BY id",
                 "tii", norm, env_now(r->s->env), (int64_t)CODE_TRIES) < 0)
        return -1;
    while ((rc = db_next(&q, err)) > 0) {
        code_hash(r->s, db_text(&q, 0), code, want);
        if (strlen(db_text(&q, 3)) != SHA256_HEX - 1 ||
            !bytes_equal(want, db_text(&q, 3), SHA256_HEX - 1))
            continue;
        found = 1;
        snprintf(ret->id, sizeof ret->id, "%s", db_text(&q, 0));
        ret->email = sl_arena_strdup(r->arena, db_text(&q, 1));
        snprintf(ret->hash, sizeof ret->hash, "%s", db_text(&q, 2));
    }
    db_done(&q);
    return rc < 0 ? -1 : found;
}

int signup_verify(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    const struct verify_want *w = r->body;
    const char *norm = email_norm(r->arena, w->email);
    struct signup p = {0};
    struct account a;
    int rc = find_signup(c, r, norm, w->code, &p, err);
    if (rc < 0)
        return -1;
    if (rc == 0) {
        if (db_exec(c, err, "UPDATE signup SET tries = tries + 1 WHERE email_norm = ?1", "t",
                    norm) < 0)
            return -1;
        sl_fail_at(err, SL_INVALID, "code",
                   "code: \"%.32s\" is wrong, used or too old; ask for a new one with POST "
                   "/v1/accounts/code",
                   w->code);
        return reply_problem(out, r, err); /* commits, so that the try is counted */
    }
    if (account_insert(c, r->s, p.id, p.email, norm, p.hash, "renter", err) < 0 ||
        db_exec(c, err, "DELETE FROM signup WHERE email_norm = ?1", "t", norm) < 0 ||
        delay_forget(c, &verify_email, norm, err) < 0 ||
        delay_forget(c, &mail_email, norm, err) < 0 || account_get(c, p.id, r->arena, &a, err) < 0)
        return -1;
    account_write(&out->json, NULL, &a);
    return 0;
}

/* ---- signing in ---- */
struct login {
    const char *norm;
    char hash[PASSWORD_HASH], account_id[ID_TEXT];
};

static int find_login(struct db_c *c, void *arg, struct sl_err *err)
{
    struct login *l = arg;
    struct db_q q;
    int rc = db_row(c, &q, err, "SELECT id, password_hash FROM account WHERE email_norm = ?1", "t",
                    l->norm);
    if (rc <= 0)
        return rc;
    snprintf(l->account_id, sizeof l->account_id, "%s", db_text(&q, 0));
    snprintf(l->hash, sizeof l->hash, "%s", db_text(&q, 1));
    db_done(&q);
    return 0;
}

/* A hash that fits no password, made at first use: an unknown address costs the same time as a
 * wrong password. */
static char nobody[PASSWORD_HASH];
static void nobody_make(void)
{
    char text[SHA256_HEX];
    uint8_t random[32];
    struct sl_err err = {0};
    random_bytes(random, sizeof random);
    hex_encode(random, sizeof random, text);
    if (password_hash(text, nobody, &err) < 0)
        nobody[0] = 0;
}

int session_prepare(struct req *r, struct sl_err *err)
{
    const struct session_want *w = r->body;
    struct login *l = sl_arena_alloc(r->arena, sizeof *l);
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, nobody_make);
    r->prepared = l;
    if (check_email(w->email, err) < 0)
        return -1;
    l->norm = email_norm(r->arena, w->email);
    if (attempt(r, &login_addr, r->address ? r->address : "", err) < 0 ||
        attempt(r, &login_email, l->norm, err) < 0 || db_read(r->s->db, find_login, l, err) < 0)
        return -1;
    bool known = *l->account_id && *l->hash;
    if (!password_ok(w->password, known ? l->hash : nobody) || !known) {
        metric_count(METRIC_SIGNIN_REFUSED, 1);
        return sl_fail(
            err, SL_UNAUTHENTICATED,
            "email or password is wrong, or the mailed code was not entered yet; check both, "
            "or ask for a new code with POST /v1/accounts/code");
    }
    return 0;
}

int session_account(struct db_c *c, struct req *r, const char **ret_id, struct sl_err *err)
{
    const struct login *l = r->prepared;
    const struct session_want *w = r->body;
    *ret_id = l->account_id;
    if (totp_check(c, r->s, l->account_id, w->code, err) < 0)
        return -1;
    return delay_forget(c, &login_email, l->norm, err) < 0
               ? -1
               : delay_forgive(c, &login_addr, r->address ? r->address : "", err);
}

int session_create(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    const struct session_want *w = r->body;
    const char *account_id;
    const struct token_want want = {w->name, w->scopes, w->days, .make_room = true};
    char token[TOKEN_TEXT], id[ID_TEXT];
    int64_t expires;
    struct account a;
    if (session_account(c, r, &account_id, err) < 0 ||
        token_make(c, r->s, account_id, &want, token, id, &expires, err) < 0 ||
        event_add(c, r->s, account_id, "token", id, "token.made", account_id, NULL, err) < 0 ||
        account_get(c, account_id, r->arena, &a, err) < 0)
        return -1;
    jw_object(&out->json, NULL);
    jw_str(&out->json, "token", token);
    jw_str(&out->json, "token_id", id);
    jw_time(&out->json, "expires", expires);
    account_write(&out->json, "account", &a);
    jw_end(&out->json);
    out->status = 201;
    return 0;
}

/* ---- sweeping ---- */
static int purge_step(struct db_c *c, void *arg, struct sl_err *err)
{
    struct server *s = arg;
    int64_t now = env_now(s->env);
    return db_exec(c, err, "DELETE FROM signup WHERE expires_us < ?1", "i", now) < 0 ||
                   db_exec(c, err, "DELETE FROM login_delay WHERE last_us < ?1 AND until_us < ?2",
                           "ii", now - 86400 * SL_SEC, now) < 0
               ? -1
               : 0;
}

int signup_purge(struct server *s, struct sl_err *err)
{
    return db_write(s->db, purge_step, s, err);
}
