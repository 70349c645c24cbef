/* SPDX-License-Identifier: Apache-2.0 */
#include "server/payment.h"
#include "base/io/proc.h"
#include "server/event.h"
#include "server/page.h"
#include "server/wallet.h"
#include <ctype.h>

enum { KEYS_MAX = 64 * 1024, REF_TEXT = 256, REASON_TEXT = 288 };
static const char *const types[] = {"payment.pending", "payment.succeeded", "payment.failed", NULL};

const struct jr_field payment_fields[] = {
    {"id", JR_K_STR, JR_REQUIRED, offsetof(struct payment_event, id), 1, 100,
     .doc = "the provider's id of this event"},
    {"type", JR_K_STR, JR_REQUIRED, offsetof(struct payment_event, type), 1, 32, .choices = types,
     .doc = "only payment.succeeded books money"},
    {"reference", JR_K_STR, JR_REQUIRED, offsetof(struct payment_event, reference), 1, 90,
     .doc = "the provider's number of the payment"},
    {"account", JR_K_STR, JR_REQUIRED, offsetof(struct payment_event, account), 1, 254,
     .doc = "whose: an account id or e-mail"},
    {"amount", JR_K_MONEY, JR_REQUIRED, offsetof(struct payment_event, amount_micro), 1,
     1000000000 * SL_MICRO},
    {"currency", JR_K_STR, JR_REQUIRED, offsetof(struct payment_event, currency), 3, 3},
    {0}};
const struct jr_field payment_resolve_fields[] = {
    {"account", JR_K_STR, 0, offsetof(struct payment_resolve, account), 1, 254,
     .doc = "whose it is; left out: it was sent back"},
    {"note", JR_K_STR, JR_REQUIRED, offsetof(struct payment_resolve, note), 1, 200,
     .doc = "how that is known"},
    {0}};

/* ---- signatures ---- */
static bool signed_with(const char *key, size_t key_n, const char *message, size_t n,
                        const char *header)
{
    uint8_t want[SHA256_BYTES], got[SHA256_BYTES];
    bool ok = false;
    hmac_sha256(key, key_n, message, n, want);
    for (const char *p = header; (p = strstr(p, "v1=")); p += 3) {
        char hex[SHA256_HEX] = "";
        if (strcspn(p + 3, ",") != SHA256_HEX - 1)
            continue;
        memcpy(hex, p + 3, SHA256_HEX - 1);
        ok |= hex_decode(hex, got, sizeof got) && bytes_equal(want, got, sizeof got);
    }
    return ok;
}

static int refuse(struct sl_err *err)
{
    return sl_fail_at(err, SL_UNAUTHENTICATED, "Starlease-Signature",
                      "Starlease-Signature: it is missing, too old, or not made with the key");
}

/* "t=1796000000,..." */
static bool time_of(const char *header, int64_t *ret_s)
{
    char digits[16];
    long long t;
    size_t n = strcspn(header, ",");
    if (!sl_starts(header, "t=") || n < 3 || n - 2 >= sizeof digits)
        return false;
    memcpy(digits, header + 2, n - 2);
    digits[n - 2] = 0;
    *ret_s = sl_parse_i64(digits, &t) && t > 0 ? t : 0;
    return *ret_s > 0;
}

int payment_signature_check(const char *keys, const char *provider, const char *header,
                            const char *body, size_t body_n, int64_t now_us, int64_t tolerance_s,
                            struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(body_n + 64);
    struct sl_str rest = sl_str(keys), line;
    bool known = false, ok = false;
    int64_t t = 0, now_s = now_us / SL_SEC;
    bool timed =
        header && time_of(header, &t) && t >= now_s - tolerance_s && t <= now_s + tolerance_s;
    sl_buf_printf(&b, "%lld.", (long long)t);
    sl_buf_add(&b, body, body_n);
    while (sl_str_cut(&rest, '\n', &line)) {
        size_t n = strlen(provider);
        if (line.n <= n + 1 || memcmp(line.p, provider, n) != 0 || line.p[n] != ' ')
            continue;
        size_t key_n = line.n - n - 1;
        while (key_n && isspace((unsigned char)line.p[n + key_n]))
            key_n--;
        if (!key_n)
            continue;
        known = true;
        ok |= timed && signed_with(line.p + n + 1, key_n, b.p, b.n, header);
    }
    if (!known)
        return sl_fail(err, SL_NOT_FOUND, "payment: there is no provider %.40s", provider);
    return ok ? 0 : refuse(err);
}

int payment_prepare(struct req *r, struct sl_err *err)
{
    const char *path = r->s->conf.payment_keys;
    SL_AUTO_BUF struct sl_buf keys = SL_BUF(KEYS_MAX);
    if (path && *path && file_read(path, KEYS_MAX, &keys, err) < 0)
        return sl_fail(err, SL_UNAVAILABLE, "payment: the keys cannot be read; tell the operator");
    return payment_signature_check(sl_buf_str(&keys), r->path[0], r->signature,
                                   r->raw ? r->raw : "", r->raw_n, env_now(r->s->env),
                                   r->s->conf.payment_tolerance_s, err);
}

/* ---- booking ---- */
/* 1 found, 0 not. */
static int account_find(struct db_c *c, const char *told, char ret_id[ID_TEXT], char currency[4],
                        struct sl_err *err)
{
    char norm[256];
    struct db_q q;
    size_t n = 0;
    for (; told[n] && n < sizeof norm - 1; n++)
        norm[n] = (char)tolower((unsigned char)told[n]);
    norm[n] = 0;
    int rc = db_row(c, &q, err,
                    "SELECT id, currency FROM account WHERE (id = ?1 OR email_norm = ?2) AND state "
                    "<> 'unverified'",
                    "tt", told, norm);
    if (rc > 0) {
        snprintf(ret_id, ID_TEXT, "%s", db_text(&q, 0));
        snprintf(currency, 4, "%s", db_text(&q, 1));
    }
    db_done(&q);
    return rc;
}

struct verdict {
    const char *state, *detail;
    char account[ID_TEXT], txn[ID_TEXT];
};

/* Decides what a payment.succeeded means. */
static int judge(struct db_c *c, struct server *s, const char *provider,
                 const struct payment_event *e, struct verdict *v, struct sl_err *err)
{
    char currency[4] = "", ref[REF_TEXT], reason[REASON_TEXT];
    int64_t same, others;
    *v = (struct verdict){.state = "suspense", .detail = "no such account"};
    int rc = account_find(c, e->account, v->account, currency, err);
    if (rc < 0 ||
        db_value(c, 0, &same, err,
                 "SELECT COUNT(*) FROM payment WHERE provider = ?1 AND reference = ?2 AND type = "
                 "'payment.succeeded' AND state <> 'noted' AND (account = ?3 OR account_id = ?4) "
                 "AND amount_micro = ?5 AND currency = ?6",
                 "ttttit", provider, e->reference, e->account, v->account, e->amount_micro,
                 e->currency) < 0 ||
        db_value(c, 0, &others, err,
                 "SELECT COUNT(*) FROM payment WHERE provider = ?1 AND reference = ?2 AND type = "
                 "'payment.succeeded' AND state <> 'noted'",
                 "tt", provider, e->reference) < 0)
        return -1;
    if (same) {
        v->state = "noted", v->detail = "an earlier event told it";
        return 0;
    }
    if (rc == 0)
        return 0;
    v->detail = strcmp(currency, e->currency) != 0 ? "the account has another currency"
                : others ? "the reference was told before, with another account or amount"
                         : "";
    if (*v->detail)
        return 0;
    snprintf(ref, sizeof ref, "%s:%s", provider, e->reference);
    snprintf(reason, sizeof reason, "payment %s", ref);
    if (wallet_topup_once(c, s, v->account, e->amount_micro, "payment", reason, ref, v->txn, err) <
        0) {
        if (err->code != SL_CONFLICT)
            return -1;
        v->detail = "the reference was booked by hand for another account or amount";
        return 0;
    }
    v->state = "booked";
    return 0;
}

/* 1 the event was told before, with the same content; 0 not. */
static int told_before(struct db_c *c, const char *provider, const struct payment_event *e,
                       char ret_id[ID_TEXT], struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err,
                    "SELECT id, type, reference, account, amount_micro, currency FROM payment "
                    "WHERE provider = ?1 AND event = ?2",
                    "tt", provider, e->id);
    if (rc <= 0)
        return rc;
    bool same = sl_streq(db_text(&q, 1), e->type) && sl_streq(db_text(&q, 2), e->reference) &&
                sl_streq(db_text(&q, 3), e->account) && db_int(&q, 4) == e->amount_micro &&
                sl_streq(db_text(&q, 5), e->currency);
    snprintf(ret_id, ID_TEXT, "%s", db_text(&q, 0));
    db_done(&q);
    return same ? 1
                : sl_fail_at(err, SL_CONFLICT, "id",
                             "id: event %.40s was told before with another content", e->id);
}

int payment_told(struct db_c *c, struct server *s, const char *provider,
                 const struct payment_event *e, char ret_id[ID_TEXT], struct sl_err *err)
{
    struct verdict v = {.state = "noted", .detail = ""};
    int64_t now = env_now(s->env);
    int rc = told_before(c, provider, e, ret_id, err);
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    if (sl_streq(e->type, "payment.succeeded") && judge(c, s, provider, e, &v, err) < 0)
        return -1;
    bool booked = sl_streq(v.state, "booked");
    if (db_exec(c, err,
                "INSERT INTO payment(id, provider, event, type, reference, account, amount_micro, "
                "currency, state, account_id, txn_id, detail, told_us, created_us, updated_us) "
                "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?13, ?13)",
                "ttttttittttti", env_id(s->env, "pay", ret_id), provider, e->id, e->type,
                e->reference, e->account, e->amount_micro, e->currency, v.state,
                booked ? v.account : NULL, booked ? v.txn : NULL, v.detail, now) < 0)
        return -1;
    return sl_streq(v.state, "suspense")
               ? event_add(c, s, "", "payment", ret_id, "payment.suspense", "payment", NULL, err)
               : 0;
}

struct waiting {
    char provider[64], event[128], reference[128], currency[4];
    int64_t amount;
};

static int waiting_get(struct db_c *c, const char *id, struct waiting *w, struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err,
                    "SELECT provider, event, reference, currency, amount_micro, state FROM payment "
                    "WHERE id = ?1",
                    "t", id);
    if (rc <= 0)
        return rc < 0 ? -1
                      : sl_fail(err, SL_NOT_FOUND,
                                "payment: there is no %.40s; see GET /v1/payments", id);
    snprintf(w->provider, sizeof w->provider, "%s", db_text(&q, 0));
    snprintf(w->event, sizeof w->event, "%s", db_text(&q, 1));
    snprintf(w->reference, sizeof w->reference, "%s", db_text(&q, 2));
    snprintf(w->currency, sizeof w->currency, "%s", db_text(&q, 3));
    w->amount = db_int(&q, 4);
    bool waits = sl_streq(db_text(&q, 5), "suspense");
    db_done(&q);
    return waits ? 0
                 : sl_fail_at(err, SL_CONFLICT, "state",
                              "payment: %.40s does not wait for anything (any more)", id);
}

int payment_settle(struct db_c *c, struct server *s, const char *id, const char *account,
                   const char *note, const char *actor, struct sl_err *err)
{
    struct waiting w;
    char owner[ID_TEXT] = "", currency[4] = "", txn[ID_TEXT] = "", ref[REF_TEXT], reason[REASON_TEXT];
    int rc = account ? account_find(c, account, owner, currency, err) : 1;
    if (waiting_get(c, id, &w, err) < 0)
        return -1;
    if (rc <= 0)
        return rc < 0 ? -1
                      : sl_fail_at(err, SL_NOT_FOUND, "account", "account: there is no %.60s",
                                   account);
    if (account && strcmp(currency, w.currency) != 0)
        return sl_fail_at(err, SL_CONFLICT, "account",
                          "account: its wallet is in %s, the payment in %s; send it back", currency,
                          w.currency);
    /* the event's own id: the payment's reference may be taken by what it was mistaken for */
    snprintf(ref, sizeof ref, "%s:event:%s", w.provider, w.event);
    snprintf(reason, sizeof reason, "payment %s:%.90s", w.provider, w.reference);
    if (account && wallet_topup_once(c, s, owner, w.amount, actor, reason, ref, txn, err) < 0)
        return -1;
    if (db_exec(c, err,
                "UPDATE payment SET state = ?2, account_id = ?3, txn_id = ?4, detail = ?5, "
                "resolved_by = ?6, updated_us = ?7 WHERE id = ?1",
                "ttttt"
                "ti",
                id, account ? "booked" : "returned", account ? owner : NULL, account ? txn : NULL,
                note, actor, env_now(s->env)) < 0)
        return -1;
    return event_add(c, s, owner, "payment", id, account ? "payment.booked" : "payment.returned",
                     actor, NULL, err);
}

/* ---- HTTP ---- */
#define COLUMNS                                                                                    \
    "id, provider, event, type, reference, account, amount_micro, currency, state, account_id, "   \
    "txn_id, detail, resolved_by, created_us, updated_us FROM payment "

static void payment_write(struct jw *w, struct db_q *q)
{
    static const char *const names[] = {"id", "provider", "event", "type", "reference", "account"};
    jw_object(w, NULL);
    for (int i = 0; i < 6; i++)
        jw_str(w, names[i], db_text(q, i));
    jw_money(w, "amount", db_int(q, 6));
    jw_str(w, "currency", db_text(q, 7));
    jw_str(w, "state", db_text(q, 8));
    jw_str(w, "account_id", db_null(q, 9) ? NULL : db_text(q, 9));
    jw_str(w, "transaction", db_null(q, 10) ? NULL : db_text(q, 10));
    jw_str(w, "detail", db_text(q, 11));
    jw_str(w, "resolved_by", db_text(q, 12));
    jw_time(w, "created", db_int(q, 13));
    jw_time(w, "updated", db_int(q, 14));
    jw_end(w);
}

static int payment_answer(struct db_c *c, const char *id, struct reply *out, struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err, "SELECT " COLUMNS "WHERE id = ?1", "t", id);
    if (rc > 0)
        payment_write(&out->json, &q);
    db_done(&q);
    return rc < 0 ? -1 : 0;
}

int payment_webhook(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    char id[ID_TEXT];
    if (payment_told(c, r->s, r->path[0], r->body, id, err) < 0)
        return -1;
    return payment_answer(c, id, out, err);
}

int payment_list(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct page p;
    struct db_q q;
    int rc;
    const char *state = req_query(r, "state");
    if (page_begin(r, out, &p, err) < 0 ||
        db_query(c, &q, err,
                 "SELECT " COLUMNS
                 "WHERE id > ?1 AND (?3 IS NULL OR state = ?3) ORDER BY id LIMIT ?2",
                 "tit", p.cursor, p.limit + 1, state) < 0)
        return -1;
    while ((rc = db_next(&q, err)) > 0 && page_take(&p, db_text(&q, 0)))
        payment_write(&out->json, &q);
    db_done(&q);
    page_end(out, &p);
    return rc < 0 ? -1 : 0;
}

int payment_resolve_post(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    const struct payment_resolve *want = r->body;
    if (payment_settle(c, r->s, r->path[0], want->account, want->note, r->caller.account_id, err) <
        0)
        return -1;
    return payment_answer(c, r->path[0], out, err);
}
