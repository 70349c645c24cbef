/* SPDX-License-Identifier: Apache-2.0 */
#include "server/identity.h"
#include "base/io/http_client.h"
#include "server/account.h"
#include "server/auth.h"
#include "server/event.h"
#include "server/money_api.h"
#include "server/wallet.h"

enum { ADAPTER_TIMEOUT_MS = 10000, ADAPTER_ANSWER_MAX = 64 * 1024 };

static const struct delay_rule identity_rule = {"identity:", 10, 3600};
static const char *const kinds[] = {"phone", "real_name", NULL};

const struct jr_field identity_fields[] = {
    {"kind", JR_K_STR, JR_REQUIRED, offsetof(struct identity_want, kind), 1, 32, .choices = kinds},
    {"value", JR_K_STR, JR_REQUIRED, offsetof(struct identity_want, value), 1, 200,
     .doc = "the phone number, or name and document number"},
    {"proof", JR_K_STR, JR_REQUIRED, offsetof(struct identity_want, proof), 1, 4000,
     .doc = "what the identity service asks for, for example the code it sent"},
    {0}};

struct identity {
    char hash[SHA256_HEX];
    const char *kind;
};

static int ask_adapter(struct server *s, const struct identity_want *w, struct sl_buf *answer,
                       struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(ADAPTER_ANSWER_MAX);
    struct jw json = {.b = &b};
    jw_object(&json, NULL);
    jw_str(&json, "kind", w->kind);
    jw_str(&json, "value", w->value);
    jw_str(&json, "proof", w->proof);
    jw_end(&json);
    const char *const headers[] = {"Content-Type: application/json", "Accept: application/json",
                                   NULL};
    struct http_req req = {.method = "POST",
                           .url = s->conf.identity_url,
                           .headers = headers,
                           .body = b.p,
                           .body_n = b.n,
                           .ca_file = *s->conf.identity_ca ? s->conf.identity_ca : NULL,
                           .timeout_ms = ADAPTER_TIMEOUT_MS,
                           .out = answer};
    struct sl_err why = {0};
    if (http_do(&req, &why) < 0 || req.status != 200)
        return sl_fail(err, SL_UNAVAILABLE,
                       "the identity service does not answer (%.120s); try again later",
                       *why.msg ? why.msg : "its status is not 200");
    return 0;
}

int identity_prepare(struct req *r, struct sl_err *err)
{
    const struct identity_want *w = r->body;
    struct identity *p = sl_arena_alloc(r->arena, sizeof *p);
    r->prepared = p;
    p->kind = w->kind;
    if (!*r->s->conf.identity_url)
        return sl_fail(err, SL_CONFLICT,
                       "no identity service is set up here; POST /v1/account/trial needs none");
    if (delay_attempt(r->s, &identity_rule, r->caller.account_id, &r->retry_after_s, err) < 0)
        return -1;
    SL_AUTO_BUF struct sl_buf answer = SL_BUF(ADAPTER_ANSWER_MAX);
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    struct sl_err why = {0};
    if (ask_adapter(r->s, w, &answer, err) < 0)
        return -1;
    if (jr_open(sl_buf_str(&answer), answer.n, &doc, &why) < 0)
        return sl_fail(err, SL_UNAVAILABLE, "the identity service sent no JSON; try again later");
    if (!jr_true(jr_get(jr_root(doc), "verified")))
        return sl_fail_at(err, SL_INVALID, "proof",
                          "proof: the identity service did not accept it; check value and proof");
    const char *subject = jr_text(jr_get(jr_root(doc), "subject"), "");
    char *text = sl_arena_printf(r->arena, "%s\n%s", w->kind, *subject ? subject : w->value);
    sha256_hex(text, strlen(text), p->hash);
    return 0;
}

/* ---- the trial credit ---- */
/* Grants it when the account did not have it. An identity that brought it to another account is
 * SL_CONFLICT. */
static int grant(struct db_c *c, struct req *r, const char *hash, bool *ret_granted,
                 int64_t *ret_micro, struct sl_err *err)
{
    int64_t had, other;
    *ret_granted = false;
    *ret_micro = 0;
    if (db_value(c, 0, &had, err, "SELECT 1 FROM trial_grant WHERE account_id = ?1", "t",
                 r->caller.account_id) < 0 ||
        db_value(c, 0, &other, err, "SELECT 1 FROM trial_grant WHERE identity_hash = ?1", "t",
                 hash) < 0)
        return -1;
    if (had || r->s->conf.trial_micro == 0)
        return 0;
    if (other)
        return sl_fail(err, SL_CONFLICT,
                       "this identity had its trial credit with another account; top up instead");
    if (wallet_grant_trial(c, r->s, r->caller.account_id, hash, err) < 0)
        return -1;
    *ret_micro = r->s->conf.trial_micro;
    *ret_granted = true;
    return 0;
}

int identity_create(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    const struct identity *p = r->prepared;
    const char *account = r->caller.account_id;
    int64_t foreign, micro;
    bool granted;
    if (db_value(c, 0, &foreign, err, "SELECT 1 FROM identity WHERE hash = ?1 AND account_id <> ?2",
                 "tt", p->hash, account) < 0)
        return -1;
    if (foreign)
        return sl_fail_at(err, SL_CONFLICT, "value",
                          "value: this identity belongs to another account; sign in there");
    if (db_exec(
            c, err,
            "INSERT INTO identity(hash, account_id, kind, verified_us) VALUES(?1, ?2, ?3, ?4) ON "
            "CONFLICT (hash) DO NOTHING",
            "ttti", p->hash, account, p->kind, env_now(r->s->env)) < 0 ||
        event_add(c, r->s, account, "account", account, "account.identity", account, NULL, err) <
            0 ||
        delay_forget(c, &identity_rule, account, err) < 0 ||
        grant(c, r, p->hash, &granted, &micro, err) < 0)
        return -1;
    jw_object(&out->json, NULL);
    jw_bool(&out->json, "verified", true);
    jw_object(&out->json, "trial");
    jw_bool(&out->json, "granted", granted);
    jw_money(&out->json, "amount", micro);
    jw_end(&out->json);
    jw_end(&out->json);
    return 0;
}

/* What stands for the person: the verified identity, or the mail address where no service is set
 * up. */
static int trial_identity(struct db_c *c, struct req *r, char ret_hash[SHA256_HEX],
                          struct sl_err *err)
{
    struct account a;
    if (account_get(c, r->caller.account_id, r->arena, &a, err) < 0)
        return -1;
    if (!a.email_verified_us)
        return sl_fail(err, SL_FORBIDDEN,
                       "trial: enter the mailed code first (POST /v1/accounts/verify)");
    if (!*r->s->conf.identity_url) {
        const char *at = strchr(a.email_norm, '@'), *plus = strchr(a.email_norm, '+');
        size_t local =
            plus && plus < at ? (size_t)(plus - a.email_norm) : (size_t)(at - a.email_norm);
        char *text = sl_arena_printf(r->arena, "email\n%.*s%s", (int)local, a.email_norm, at);
        sha256_hex(text, strlen(text), ret_hash);
        return 0;
    }
    struct db_q q;
    int rc = db_row(c, &q, err,
                    "SELECT hash FROM identity WHERE account_id = ?1 ORDER BY verified_us LIMIT 1",
                    "t", a.id);
    if (rc < 0)
        return -1;
    if (rc == 0)
        return sl_fail(err, SL_FORBIDDEN,
                       "trial: verify a phone or a name first (POST /v1/account/identity)");
    snprintf(ret_hash, SHA256_HEX, "%s", db_text(&q, 0));
    db_done(&q);
    return 0;
}

int trial_create(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    char hash[SHA256_HEX];
    int64_t micro;
    bool granted;
    if (trial_identity(c, r, hash, err) < 0 || grant(c, r, hash, &granted, &micro, err) < 0)
        return -1;
    jw_object(&out->json, NULL);
    jw_bool(&out->json, "granted", granted);
    jw_money(&out->json, "amount", micro);
    if (wallet_write(c, &out->json, "wallet", r->caller.account_id, err) < 0)
        return -1;
    jw_end(&out->json);
    return 0;
}
