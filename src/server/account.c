/* SPDX-License-Identifier: Apache-2.0 */
#include "server/account.h"
#include "server/account_secret.h"
#include "server/event.h"
#include "server/mail.h"
#include "server/token.h"
#include "server/wallet.h"
#include <ctype.h>

#define ACCOUNT_COLUMNS                                                                            \
    "id, role, state, currency, email, email_norm, email_verified_us, quota_gpus, quota_leases, "  \
    "quota_disk_gb, created_us, state_reason"

static void account_read(struct db_q *q, struct sl_arena *a, struct account *ret)
{
    snprintf(ret->id, sizeof ret->id, "%s", db_text(q, 0));
    snprintf(ret->role, sizeof ret->role, "%s", db_text(q, 1));
    snprintf(ret->state, sizeof ret->state, "%s", db_text(q, 2));
    snprintf(ret->currency, sizeof ret->currency, "%s", db_text(q, 3));
    ret->email = sl_arena_strdup(a, db_text(q, 4));
    ret->email_norm = sl_arena_strdup(a, db_text(q, 5));
    ret->email_verified_us = db_int(q, 6);
    ret->quota_gpus = db_int(q, 7);
    ret->quota_leases = db_int(q, 8);
    ret->quota_disk_gb = db_int(q, 9);
    ret->created_us = db_int(q, 10);
    ret->state_reason = sl_arena_strdup(a, db_text(q, 11));
}

int account_get(struct db_c *c, const char *id, struct sl_arena *a, struct account *ret,
                struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err, "SELECT " ACCOUNT_COLUMNS " FROM account WHERE id = ?1", "t", id);
    if (rc < 0)
        return -1;
    if (rc == 0)
        return sl_fail(err, SL_NOT_FOUND, "account: there is no %.40s", id);
    account_read(&q, a, ret);
    db_done(&q);
    return 0;
}

void account_write(struct jw *w, const char *key, const struct account *a)
{
    jw_object(w, key);
    jw_str(w, "id", a->id);
    jw_str(w, "email", a->email);
    jw_str(w, "role", a->role);
    jw_str(w, "state", a->state);
    jw_str(w, "state_reason", a->state_reason ? a->state_reason : "");
    jw_bool(w, "email_verified", a->email_verified_us != 0);
    jw_str(w, "currency", a->currency);
    jw_object(w, "quota");
    jw_int(w, "gpus", a->quota_gpus);
    jw_int(w, "leases", a->quota_leases);
    jw_int(w, "disk_gb", a->quota_disk_gb);
    jw_end(w);
    jw_time(w, "created", a->created_us);
    jw_end(w);
}

int account_show(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct account a;
    if (account_get(c, r->caller.account_id, r->arena, &a, err) < 0)
        return -1;
    account_write(&out->json, NULL, &a);
    return 0;
}

int account_show_any(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct account a;
    if (account_get(c, r->path[0], r->arena, &a, err) < 0)
        return -1;
    account_write(&out->json, NULL, &a);
    return 0;
}

int account_list(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    int64_t limit, n = 0;
    const char *cursor, *email = req_query(r, "email");
    struct account a = {0};
    struct db_q q;
    int rc;
    if (req_page(r, &limit, &cursor, err) < 0 ||
        db_query(c, &q, err,
                 "SELECT " ACCOUNT_COLUMNS
                 " FROM account WHERE id > ?1 AND (?2 = '' OR email_norm = "
                 "?2) ORDER BY id LIMIT ?3",
                 "tti", cursor, email ? email_norm(r->arena, email) : "", limit) < 0)
        return -1;
    reply_list(out);
    while ((rc = db_next(&q, err)) > 0) {
        account_read(&q, r->arena, &a);
        account_write(&out->json, NULL, &a);
        n++;
    }
    db_done(&q);
    reply_list_end(out, n == limit ? a.id : NULL);
    return rc < 0 ? -1 : 0;
}

const char *email_norm(struct sl_arena *a, const char *email)
{
    char *out = sl_arena_strdup(a, email);
    for (char *p = out; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return out;
}

int account_insert(struct db_c *c, struct server *s, const char *id, const char *email,
                   const char *norm, const char *password_hash_text, const char *role,
                   struct sl_err *err)
{
    const struct server_conf *f = &s->conf;
    int64_t now = env_now(s->env);
    if (db_exec(c, err,
                "INSERT INTO account(id, email, email_norm, password_hash, role, state, "
                "state_reason, currency, email_verified_us, quota_gpus, quota_leases, "
                "quota_disk_gb, created_us, updated_us) VALUES(?1, ?2, ?3, ?4, ?5, 'active', '', "
                "?6, ?7, ?8, ?9, ?10, ?7, ?7)",
                "ttttttiiii", id, email, norm, password_hash_text, role, f->currency, now,
                f->quota_gpus, f->quota_leases, f->quota_disk_gb) < 0)
        return -1;
    if (wallet_open(c, s, id, err) < 0)
        return -1;
    return event_add(c, s, id, "account", id, "account.opened", id, NULL, err);
}

/* ---- operators from the command line ---- */
struct make_operator {
    struct server *s;
    struct sl_arena *arena;
    const char *email, *hash;
    char *token;
    size_t token_max;
};

static int promote(struct db_c *c, const struct make_operator *m, const char *id,
                   struct sl_err *err)
{
    if (db_exec(c, err, "UPDATE account SET role = 'operator', updated_us = ?2 WHERE id = ?1", "ti",
                id, env_now(m->s->env)) < 0)
        return -1;
    if (*m->hash && db_exec(c, err, "UPDATE account SET password_hash = ?2 WHERE id = ?1", "tt", id,
                            m->hash) < 0)
        return -1;
    return event_add(c, m->s, id, "account", id, "account.operator", "system", NULL, err);
}

static int make_operator_step(struct db_c *c, void *arg, struct sl_err *err)
{
    struct make_operator *m = arg;
    char id[ID_TEXT] = "", token[TOKEN_TEXT], token_id[ID_TEXT];
    const char *norm = email_norm(m->arena, m->email);
    struct db_q q;
    int64_t expires;
    int rc = db_row(c, &q, err, "SELECT id FROM account WHERE email_norm = ?1", "t", norm);
    if (rc < 0)
        return -1;
    if (rc > 0) {
        snprintf(id, sizeof id, "%s", db_text(&q, 0));
        db_done(&q);
        if (promote(c, m, id, err) < 0)
            return -1;
    } else if (account_insert(c, m->s, env_id(m->s->env, "acc", id), m->email, norm, m->hash,
                              "operator", err) < 0) {
        return -1;
    }
    if (token_make(c, m->s, id, &(struct token_want){.name = "bootstrap"}, token, token_id,
                   &expires, err) < 0)
        return -1;
    snprintf(m->token, m->token_max, "%s", token);
    return 0;
}

int account_make_operator(struct server *s, const char *email, const char *password,
                          char *ret_token, size_t token_max, struct sl_err *err)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    char hash[PASSWORD_HASH] = ""; /* fits no password */
    if (!email_ok(email))
        return sl_fail_at(err, SL_INVALID, "email",
                          "email: \"%.80s\" is not an address; write name@example.org", email);
    if (password &&
        (password_check(password, email, err) < 0 || password_hash(password, hash, err) < 0))
        return -1;
    struct make_operator m = {s, &arena, email, hash, ret_token, token_max};
    return db_write(s->db, make_operator_step, &m, err);
}
