/* SPDX-License-Identifier: Apache-2.0 */
#include "server/voucher.h"
#include "server/auth.h"
#include "server/event.h"
#include "server/money_api.h"
#include "server/page.h"
#include "server/wallet.h"
#include <ctype.h>

enum { LETTERS = 16, DAYS_DEFAULT = 365 };
static const char signs[33] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"; /* 5 bits each, without I L O U */
static const struct delay_rule guess_rule = {"voucher:", 10, 900};

const struct jr_field voucher_fields[] = {
    {"name", JR_K_STR, JR_REQUIRED, offsetof(struct voucher_want, name), 1, 63,
     .doc = "what it is for"},
    {"value", JR_K_MONEY, JR_REQUIRED, offsetof(struct voucher_want, value_micro), 1,
     1000000 * SL_MICRO, .doc = "credit of one use"},
    {"currency", JR_K_STR, 0, offsetof(struct voucher_want, currency), 3, 3,
     .doc = "default: that of accounts made here"},
    {"codes", JR_K_INT, 0, offsetof(struct voucher_want, codes), 1, VOUCHER_CODES_MAX,
     .doc = "how many codes; default 1"},
    {"uses", JR_K_INT, 0, offsetof(struct voucher_want, uses), 1, 1000000,
     .doc = "by how many accounts each can be used; default 1"},
    {"per_account", JR_K_INT, 0, offsetof(struct voucher_want, per_account), 1, VOUCHER_CODES_MAX,
     .doc = "codes of this batch that one account may use; default 1"},
    {"days", JR_K_INT, 0, offsetof(struct voucher_want, days), 1, 3650,
     .doc = "until it expires; default 365"},
    {0}};
const struct jr_field redeem_fields[] = {
    {"code", JR_K_STR, JR_REQUIRED, offsetof(struct redeem_want, code), 1, 64, .doc = "as given"},
    {0}};

static void code_hash(const char *letters, char out[SHA256_HEX])
{
    char text[32];
    snprintf(text, sizeof text, "voucher:%s", letters);
    sha256_hex(text, strlen(text), out);
}

static int code_make(struct db_c *c, const char *batch, int64_t uses, struct sl_buf *codes,
                     struct sl_err *err)
{
    uint8_t bytes[LETTERS];
    char letters[LETTERS + 1] = "", hash[SHA256_HEX];
    random_bytes(bytes, sizeof bytes);
    for (int i = 0; i < LETTERS; i++)
        letters[i] = signs[bytes[i] % 32];
    code_hash(letters, hash);
    sl_buf_printf(codes, "%.4s-%.4s-%.4s-%.4s\n", letters, letters + 4, letters + 8, letters + 12);
    return db_exec(c, err, "INSERT INTO voucher(code_hash, batch_id, uses_left) VALUES(?1, ?2, ?3)",
                   "tti", hash, batch, uses);
}

int voucher_batch_make(struct db_c *c, struct server *s, const struct voucher_want *w,
                       const char *actor, char ret_id[ID_TEXT], struct sl_buf *codes,
                       struct sl_err *err)
{
    const char *currency = w->currency ? w->currency : s->conf.currency;
    int64_t now = env_now(s->env), n = w->codes ? w->codes : 1, uses = w->uses ? w->uses : 1;
    if (!currency_ok(currency))
        return sl_fail_at(err, SL_INVALID, "currency",
                          "currency: \"%.10s\" is none; write three capitals, like CNY", currency);
    if (db_exec(c, err,
                "INSERT INTO voucher_batch(id, name, value_micro, currency, codes, uses, "
                "per_account, expires_us, made_by, created_us) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, "
                "?8, ?9, ?10)",
                "ttitiiiiti", env_id(s->env, "vou", ret_id), w->name, w->value_micro, currency, n,
                uses, w->per_account ? w->per_account : 1,
                now + (w->days ? w->days : DAYS_DEFAULT) * 86400 * SL_SEC, actor, now) < 0)
        return -1;
    for (int64_t i = 0; i < n; i++)
        if (code_make(c, ret_id, uses, codes, err) < 0)
            return -1;
    return event_add(c, s, "", "voucher", ret_id, "voucher.made", actor, NULL, err);
}

struct found {
    char batch[ID_TEXT], currency[4], mine[4];
    int64_t left, value, expires, per_account, revoked, same, others;
};

static int find(struct db_c *c, const char *account_id, const char *hash, struct found *f,
                struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err,
                    "SELECT b.id, b.currency, a.currency, v.uses_left, b.value_micro, "
                    "b.expires_us, b.per_account, b.revoked_us, (SELECT COUNT(*) FROM voucher_use "
                    "u WHERE u.code_hash = v.code_hash AND u.account_id = a.id), (SELECT COUNT(*) "
                    "FROM voucher_use u WHERE u.batch_id = b.id AND u.account_id = a.id) FROM "
                    "voucher v JOIN voucher_batch b ON b.id = v.batch_id JOIN account a ON a.id = "
                    "?2 WHERE v.code_hash = ?1",
                    "tt", hash, account_id);
    if (rc > 0) {
        snprintf(f->batch, sizeof f->batch, "%s", db_text(&q, 0));
        snprintf(f->currency, sizeof f->currency, "%s", db_text(&q, 1));
        snprintf(f->mine, sizeof f->mine, "%s", db_text(&q, 2));
        f->left = db_int(&q, 3), f->value = db_int(&q, 4), f->expires = db_int(&q, 5);
        f->per_account = db_int(&q, 6), f->revoked = db_int(&q, 7), f->same = db_int(&q, 8);
        f->others = db_int(&q, 9);
    }
    db_done(&q);
    if (rc == 0)
        return sl_fail_at(err, SL_NOT_FOUND, "code",
                          "code: it is not one of ours; look at each letter again");
    return rc < 0 ? -1 : 0;
}

static int usable(const struct found *f, int64_t now, struct sl_err *err)
{
    const char *why =
        f->same                             ? "you have used it"
        : f->revoked                        ? "it was withdrawn"
        : f->expires <= now                 ? "it has expired"
        : f->left == 0                      ? "it is used up"
        : f->others >= f->per_account       ? "you have used as many of its kind as an account may"
        : strcmp(f->currency, f->mine) != 0 ? "it is in another currency than your wallet"
                                            : NULL;
    return why ? sl_fail_at(err, SL_CONFLICT, "code", "code: it cannot be used: %s", why) : 0;
}

int voucher_redeem(struct db_c *c, struct server *s, const char *account_id, const char *code,
                   int64_t *ret_micro, char ret_txn[ID_TEXT], struct sl_err *err)
{
    char letters[LETTERS + 1] = "", hash[SHA256_HEX];
    struct found f = {0};
    size_t n = 0;
    for (const char *p = code; *p; p++) {
        if (*p == '-' || *p == ' ')
            continue;
        if (n < LETTERS)
            letters[n] = (char)toupper((unsigned char)*p);
        n++;
    }
    code_hash(n == LETTERS ? letters : "", hash);
    if (find(c, account_id, hash, &f, err) < 0 || usable(&f, env_now(s->env), err) < 0)
        return -1;
    const struct posting p[] = {{NULL, LEDGER_PROMO, -f.value},
                                {account_id, LEDGER_CREDIT, f.value}};
    *ret_micro = f.value;
    if (ledger_post(c, s, "voucher", f.batch, account_id, "voucher", f.currency, p, 2, ret_txn,
                    err) < 0 ||
        db_exec(c, err, "UPDATE voucher SET uses_left = uses_left - 1 WHERE code_hash = ?1", "t",
                hash) < 0 ||
        db_exec(c, err,
                "INSERT INTO voucher_use(txn_id, code_hash, batch_id, account_id, amount_micro, "
                "created_us) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
                "ttttii", ret_txn, hash, f.batch, account_id, f.value, env_now(s->env)) < 0)
        return -1;
    return event_add(c, s, account_id, "wallet", ret_txn, "wallet.voucher", account_id, NULL, err);
}

/* ---- HTTP ---- */
#define COLUMNS                                                                                    \
    "b.id, b.name, b.value_micro, b.currency, b.codes, b.uses, b.per_account, (SELECT COUNT(*) "   \
    "FROM voucher_use u WHERE u.batch_id = b.id), b.expires_us, b.revoked_us, b.created_us FROM "  \
    "voucher_batch b "

static void batch_write(struct jw *w, struct db_q *q, const char *codes)
{
    static const char *const numbers[] = {"codes", "uses", "per_account", "used"};
    jw_object(w, NULL);
    jw_str(w, "id", db_text(q, 0));
    jw_str(w, "name", db_text(q, 1));
    jw_money(w, "value", db_int(q, 2));
    jw_str(w, "currency", db_text(q, 3));
    for (int i = 0; i < 4; i++)
        jw_int(w, numbers[i], db_int(q, 4 + i));
    jw_time(w, "expires", db_int(q, 8));
    jw_time(w, "revoked", db_int(q, 9));
    jw_time(w, "created", db_int(q, 10));
    if (codes) {
        jw_array(w, "secrets");
        for (const char *p = codes; *p; p += strcspn(p, "\n") + 1)
            jw_strn(w, NULL, p, strcspn(p, "\n"));
        jw_end(w);
    }
    jw_end(w);
}

int voucher_create(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf codes = SL_BUF(VOUCHER_CODES_MAX * VOUCHER_CODE_TEXT + 1);
    char id[ID_TEXT];
    struct db_q q;
    if (voucher_batch_make(c, r->s, r->body, r->caller.account_id, id, &codes, err) < 0)
        return -1;
    SL_ASSERT(!codes.over);
    int rc = db_row(c, &q, err, "SELECT " COLUMNS "WHERE b.id = ?1", "t", id);
    if (rc > 0) {
        batch_write(&out->json, &q, sl_buf_str(&codes));
        /* what is kept for replays holds no code */
        batch_write(&(struct jw){.b = &out->stored}, &q, "");
    }
    db_done(&q);
    out->status = 201;
    return rc < 0 ? -1 : 0;
}

int voucher_list(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct page p;
    struct db_q q;
    int rc;
    if (page_begin(r, out, &p, err) < 0 ||
        db_query(c, &q, err, "SELECT " COLUMNS "WHERE b.id > ?1 ORDER BY b.id LIMIT ?2", "ti",
                 p.cursor, p.limit + 1) < 0)
        return -1;
    while ((rc = db_next(&q, err)) > 0 && page_take(&p, db_text(&q, 0)))
        batch_write(&out->json, &q, NULL);
    db_done(&q);
    page_end(out, &p);
    return rc < 0 ? -1 : 0;
}

int voucher_revoke(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    int64_t found;
    if (db_value(c, 0, &found, err, "SELECT 1 FROM voucher_batch WHERE id = ?1", "t", r->path[0]) <
        0)
        return -1;
    if (!found)
        return sl_fail(err, SL_NOT_FOUND, "voucher: there is no batch %.40s; see GET /v1/vouchers",
                       r->path[0]);
    out->status = 204;
    if (db_exec(c, err, "UPDATE voucher_batch SET revoked_us = ?2 WHERE id = ?1 AND revoked_us = 0",
                "ti", r->path[0], env_now(r->s->env)) < 0)
        return -1;
    return event_add(c, r->s, "", "voucher", r->path[0], "voucher.revoked", r->caller.account_id,
                     NULL, err);
}

/* Guesses are counted per account before the code is looked at. */
int redeem_prepare(struct req *r, struct sl_err *err)
{
    return delay_attempt(r->s, &guess_rule, r->caller.account_id, &r->retry_after_s, err);
}

int redeem_create(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    const struct redeem_want *want = r->body;
    char txn[ID_TEXT];
    int64_t micro;
    if (voucher_redeem(c, r->s, r->caller.account_id, want->code, &micro, txn, err) < 0 ||
        delay_forget(c, &guess_rule, r->caller.account_id, err) < 0)
        return -1;
    out->status = 201;
    jw_object(&out->json, NULL);
    jw_money(&out->json, "amount", micro);
    jw_str(&out->json, "transaction", txn);
    if (wallet_write(c, &out->json, "wallet", r->caller.account_id, err) < 0)
        return -1;
    jw_end(&out->json);
    return 0;
}
