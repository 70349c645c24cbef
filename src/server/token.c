/* SPDX-License-Identifier: Apache-2.0 */
#include "server/token.h"
#include "server/event.h"

enum { TOKENS_MAX = 200 };

const char *const token_scopes[] = {"read", "read,write", NULL};

const struct jr_field token_fields[] = {
    {"name", JR_K_STR, 0, offsetof(struct token_want, name), 0, 63, .doc = "what it is for"},
    {"scopes", JR_K_STR, 0, offsetof(struct token_want, scopes), 1, 32, .choices = token_scopes,
     .doc = "default read,write"},
    {"days", JR_K_INT, 0, offsetof(struct token_want, days), 1, TOKEN_DAYS_MAX,
     .doc = "until it expires; default 90"},
    {0}};

static int revoke_idlest(struct db_c *c, const char *account_id, int64_t now, struct sl_err *err)
{
    return db_exec(
        c, err,
        "UPDATE token SET revoked_us = ?2 WHERE id = (SELECT id FROM token WHERE "
        "account_id = ?1 AND revoked_us = 0 AND expires_us > ?2 ORDER BY last_used_us, id "
        "LIMIT 1)",
        "ti", account_id, now);
}

int token_make(struct db_c *c, struct server *s, const char *account_id,
               const struct token_want *want, char ret_text[TOKEN_TEXT], char ret_id[ID_TEXT],
               int64_t *ret_expires_us, struct sl_err *err)
{
    uint8_t secret[32];
    char hex[SHA256_HEX], hash[SHA256_HEX];
    int64_t now = env_now(s->env), n;
    if (db_value(c, 0, &n, err,
                 "SELECT COUNT(*) FROM token WHERE account_id = ?1 AND revoked_us = 0 AND "
                 "expires_us > ?2",
                 "ti", account_id, now) < 0)
        return -1;
    if (n >= TOKENS_MAX && !want->make_room)
        return sl_fail(err, SL_QUOTA,
                       "tokens: the account has %d valid ones, the most; revoke some", TOKENS_MAX);
    if (n >= TOKENS_MAX && revoke_idlest(c, account_id, now, err) < 0)
        return -1;
    random_bytes(secret, sizeof secret);
    hex_encode(secret, sizeof secret, hex);
    snprintf(ret_text, TOKEN_TEXT, "%s_%s", want->session ? "sls" : "slk", hex);
    sha256_hex(ret_text, strlen(ret_text), hash);
    *ret_expires_us = now + (want->days ? want->days : TOKEN_DAYS_DEFAULT) * 86400 * SL_SEC;
    return db_exec(c, err,
                   "INSERT INTO token(id, account_id, hash, name, scopes, created_us, expires_us, "
                   "session) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                   "tttttiii", env_id(s->env, "tok", ret_id), account_id, hash,
                   want->name ? want->name : "", want->scopes ? want->scopes : "read,write", now,
                   *ret_expires_us, (int64_t)want->session);
}

#define TOKEN_COLUMNS "id, name, scopes, created_us, expires_us, last_used_us, revoked_us, session"

static void token_write(struct jw *w, struct db_q *q, const char *secret, bool with_secret)
{
    jw_object(w, NULL);
    jw_str(w, "id", db_text(q, 0));
    jw_str(w, "name", db_text(q, 1));
    jw_str(w, "scopes", db_text(q, 2));
    jw_time(w, "created", db_int(q, 3));
    jw_time(w, "expires", db_int(q, 4));
    jw_time(w, "last_used", db_int(q, 5));
    jw_time(w, "revoked", db_int(q, 6));
    jw_bool(w, "session", db_int(q, 7) != 0);
    if (with_secret)
        jw_str(w, "token", secret);
    jw_end(w);
}

int token_list(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct db_q q;
    int64_t limit, n = 0;
    const char *cursor;
    char last[ID_TEXT] = "";
    int rc;
    if (req_page(r, &limit, &cursor, err) < 0 ||
        db_query(c, &q, err,
                 "SELECT " TOKEN_COLUMNS
                 " FROM token WHERE account_id = ?1 AND id > ?2 ORDER BY id "
                 "LIMIT ?3",
                 "tti", r->caller.account_id, cursor, limit) < 0)
        return -1;
    reply_list(out);
    while ((rc = db_next(&q, err)) > 0) {
        token_write(&out->json, &q, NULL, false);
        snprintf(last, sizeof last, "%s", db_text(&q, 0));
        n++;
    }
    db_done(&q);
    reply_list_end(out, n == limit ? last : NULL);
    return rc < 0 ? -1 : 0;
}

int token_create(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    const struct token_want *want = r->body;
    char text[TOKEN_TEXT], id[ID_TEXT];
    int64_t expires;
    struct db_q q;
    if (token_make(c, r->s, r->caller.account_id, want, text, id, &expires, err) < 0 ||
        event_add(c, r->s, r->caller.account_id, "token", id, "token.made", r->caller.account_id,
                  NULL, err) < 0)
        return -1;
    int rc = db_row(c, &q, err, "SELECT " TOKEN_COLUMNS " FROM token WHERE id = ?1", "t", id);
    if (rc < 0)
        return -1;
    SL_ASSERT(rc == 1);
    token_write(&out->json, &q, text, true);
    /* what is kept for replays holds no secret */
    token_write(&(struct jw){.b = &out->stored}, &q, NULL, true);
    db_done(&q);
    out->status = 201;
    snprintf(out->location, sizeof out->location, "/v1/tokens/%s", id);
    return 0;
}

int token_revoke(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    int64_t found;
    if (db_value(c, 0, &found, err, "SELECT 1 FROM token WHERE id = ?1 AND account_id = ?2", "tt",
                 r->path[0], r->caller.account_id) < 0)
        return -1;
    if (!found)
        return sl_fail(err, SL_NOT_FOUND, "token: there is no %.40s; see GET /v1/tokens",
                       r->path[0]);
    int64_t changed;
    if (db_exec_n(c, &changed, err,
                  "UPDATE token SET revoked_us = ?2 WHERE id = ?1 AND revoked_us = 0", "ti",
                  r->path[0], env_now(r->s->env)) < 0)
        return -1;
    out->status = 204;
    return changed ? event_add(c, r->s, r->caller.account_id, "token", r->path[0], "token.revoked",
                               r->caller.account_id, NULL, err)
                   : 0;
}
