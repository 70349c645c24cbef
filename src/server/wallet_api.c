/* SPDX-License-Identifier: Apache-2.0 */
#include "server/audit_money.h"
#include "server/money_api.h"
#include "server/statement.h"
#include "server/wallet.h"

const struct jr_field topup_fields[] = {
    JR_MONEY(struct topup_want, amount_micro, "amount", JR_REQUIRED, 1, 1000000000 * SL_MICRO),
    JR_STR(struct topup_want, reason, "reason", JR_REQUIRED, 1, 200),
    JR_STR(struct topup_want, reference, "reference", 0, 1, 100),
    {0}};

int wallet_write(struct db_c *c, struct jw *w, const char *key, const char *account_id,
                 struct sl_err *err)
{
    struct wallet k;
    if (wallet_get(c, account_id, &k, err) < 0)
        return -1;
    int64_t lasts = wallet_lasts_s(&k);
    jw_object(w, key);
    jw_str(w, "currency", k.currency);
    jw_money(w, "cash", k.cash);
    jw_money(w, "credit", k.credit);
    jw_money(w, "held", wallet_held(&k));
    jw_money(w, "available", wallet_available(&k));
    if (lasts < 0)
        jw_null(w, "balance_lasts_s");
    else
        jw_int(w, "balance_lasts_s", lasts);
    jw_end(w);
    return 0;
}

int wallet_show(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    return wallet_write(c, &out->json, NULL, r->caller.account_id, err);
}

/* Columns of a transaction with one entry a row. */
#define TXN_ROWS                                                                                   \
    "SELECT t.account_seq, t.id, t.kind, t.ref, t.memo, t.t_us, t.hash, a.account_id, a.kind, "    \
    "e.amount_micro FROM txn t JOIN entry e ON e.txn_id = t.id JOIN ledger_account a ON a.id = "   \
    "e.ledger_account_id "

/* The transaction that q stands on, up to the first row of the next: 1 there is one, 0 the end. */
static int txn_write(struct jw *w, struct db_q *q, struct sl_err *err)
{
    int rc;
    int64_t seq = db_int(q, 0);
    jw_object(w, NULL);
    jw_str(w, "id", db_text(q, 1));
    jw_int(w, "seq", seq);
    jw_str(w, "kind", db_text(q, 2));
    jw_str(w, "ref", db_text(q, 3));
    jw_str(w, "memo", db_text(q, 4));
    jw_time(w, "time", db_int(q, 5));
    jw_str(w, "hash", db_text(q, 6));
    jw_array(w, "entries");
    do {
        jw_object(w, NULL);
        jw_str(w, "account", db_text(q, 7));
        jw_str(w, "kind", db_text(q, 8));
        jw_money(w, "amount", db_int(q, 9));
        jw_end(w);
        rc = db_next(q, err);
    } while (rc > 0 && db_int(q, 0) == seq);
    jw_end(w);
    jw_end(w);
    return rc;
}

int ledger_list(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct db_q q;
    int64_t limit, last = 0;
    const char *cursor;
    char next[24];
    int n = 0;
    long long after = 0;
    if (req_page(r, &limit, &cursor, err) < 0)
        return -1;
    if (*cursor && (!sl_parse_i64(cursor, &after) || after < 0))
        return sl_fail_at(err, SL_INVALID, "cursor",
                          "cursor: \"%.40s\" is not one; take \"next\" of the page before", cursor);
    if (db_query(c, &q, err,
                 TXN_ROWS "WHERE t.account_id = ?1 AND t.account_seq > ?2 AND t.account_seq <= ?3 "
                          "ORDER BY t.account_seq, e.idx",
                 "tii", r->caller.account_id, (int64_t)after, (int64_t)after + limit) < 0)
        return -1;
    reply_list(out);
    int rc = db_next(&q, err);
    for (; rc > 0; n++) {
        last = db_int(&q, 0);
        rc = txn_write(&out->json, &q, err);
    }
    db_done(&q);
    snprintf(next, sizeof next, "%lld", (long long)last);
    reply_list_end(out, n == limit ? next : NULL);
    return rc < 0 ? -1 : 0;
}

int topup_create(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    const struct topup_want *want = r->body;
    char txn[ID_TEXT];
    struct db_q q;
    if (wallet_topup_once(c, r->s, r->path[0], want->amount_micro, r->caller.account_id,
                          want->reason, want->reference ? want->reference : "", txn, err) < 0)
        return -1;
    out->status = 201;
    int rc = db_row(c, &q, err, TXN_ROWS "WHERE t.id = ?1 ORDER BY e.idx", "t", txn);
    if (rc > 0)
        rc = txn_write(&out->json, &q, err);
    db_done(&q);
    return rc < 0 ? -1 : 0;
}

static int time_query(const struct req *r, const char *name, int64_t *ret, struct sl_err *err)
{
    const char *text = req_query(r, name);
    *ret = 0;
    return text ? ts_parse(text, name, ret, err) : 0;
}

int statement_show(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    int64_t from, to;
    if (time_query(r, "from", &from, err) < 0 || time_query(r, "to", &to, err) < 0)
        return -1;
    return statement_make(c, r->s, r->caller.account_id, from, to, &out->body, err);
}

int audit_money_show(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct audit_report *a = sl_arena_alloc(r->arena, sizeof *a);
    struct jw *w = &out->json;
    if (audit_money(c, r->s, a, err) < 0)
        return -1;
    jw_object(w, NULL);
    jw_bool(w, "ok", a->ok);
    jw_array(w, "checks");
    for (int i = 0; i < a->n; i++) {
        jw_object(w, NULL);
        jw_str(w, "id", a->checks[i].id);
        jw_str(w, "name", a->checks[i].name);
        jw_bool(w, "ok", a->checks[i].ok);
        jw_str(w, "detail", a->checks[i].detail);
        jw_end(w);
    }
    jw_end(w);
    jw_end(w);
    return 0;
}
