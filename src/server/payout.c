/* SPDX-License-Identifier: Apache-2.0 */
#include "server/payout.h"
#include "server/event.h"
#include "server/mail.h"
#include "server/page.h"
#include "server/wallet.h"

const struct jr_field payout_fields[] = {
    {"amount", JR_K_MONEY, JR_REQUIRED, offsetof(struct payout_want, amount_micro), 1,
     1000000000 * SL_MICRO, .doc = "of free cash"},
    {"reason", JR_K_STR, 0, offsetof(struct payout_want, reason), 1, 200},
    {0}};
const struct jr_field payout_note_fields[] = {
    {"note", JR_K_STR, JR_REQUIRED, offsetof(struct payout_note, note), 1, 200,
     .doc = "the number of the bank's transfer, or why not"},
    {0}};

int payout_request(struct db_c *c, struct server *s, const char *account_id, int64_t micro,
                   const char *reason, char ret_id[ID_TEXT], struct sl_err *err)
{
    struct wallet w;
    char a[SL_MONEY_TEXT], b[SL_MONEY_TEXT];
    int64_t now = env_now(s->env);
    if (micro <= 0)
        return sl_fail_at(err, SL_INVALID, "amount", "amount: %s is not above zero",
                          money_format(micro, a));
    if (wallet_get(c, account_id, &w, err) < 0)
        return -1;
    if (micro > w.cash)
        return sl_fail_at(err, SL_NO_CREDIT, "amount",
                          "amount: %s is asked for and %s %s of cash is free; what is held and "
                          "credit are not refunded",
                          money_format(micro, a), money_format(w.cash, b), w.currency);
    const struct posting p[] = {{account_id, LEDGER_CASH, -micro}, {NULL, LEDGER_PAYABLE, micro}};
    env_id(s->env, "ref", ret_id);
    if (ledger_post(c, s, "payout", ret_id, account_id, reason, w.currency, p, 2, NULL, err) < 0 ||
        db_exec(c, err,
                "INSERT INTO payout(id, account_id, amount_micro, currency, state, "
                "state_since_us, reason, created_us) VALUES(?1, ?2, ?3, ?4, 'requested', ?5, ?6, "
                "?5)",
                "ttitit", ret_id, account_id, micro, w.currency, now, reason) < 0)
        return -1;
    /* the row is born in its first state */
    return event_add(c, s, account_id, "payout", ret_id, "payout.requested", account_id, NULL, err);
}

struct row {
    char account[ID_TEXT], currency[4];
    int64_t amount;
    int state;
};

static int row_get(struct db_c *c, const char *account_id, const char *id, struct row *ret,
                   struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err,
                    "SELECT account_id, currency, amount_micro, state FROM payout WHERE id = ?1 "
                    "AND (?2 IS NULL OR account_id = ?2)",
                    "tt", id, account_id);
    if (rc > 0) {
        snprintf(ret->account, sizeof ret->account, "%s", db_text(&q, 0));
        snprintf(ret->currency, sizeof ret->currency, "%s", db_text(&q, 1));
        ret->amount = db_int(&q, 2);
        ret->state = sm_by_name(&payout_sm, db_text(&q, 3));
        SL_ASSERT(ret->state >= 0);
    }
    db_done(&q);
    return rc > 0 ? 0
           : rc < 0
               ? -1
               : sl_fail(err, SL_NOT_FOUND, "refund: there is no %.40s; see GET /v1/refunds", id);
}

int payout_end(struct db_c *c, struct server *s, const char *account_id, const char *id,
               enum payout_state to, const char *note, const char *actor, struct sl_err *err)
{
    struct row r;
    bool paid = to == PAYOUT_PAID;
    if (row_get(c, account_id, id, &r, err) < 0 ||
        sm_move_from(c, s, &payout_sm, id, r.state, (int)to, r.account, actor, note, err) < 0 ||
        db_exec(c, err, "UPDATE payout SET reference = ?2 WHERE id = ?1", "tt", id, note) < 0)
        return -1;
    const struct posting p[] = {
        {NULL, LEDGER_PAYABLE, -r.amount},
        {paid ? NULL : r.account, paid ? LEDGER_BANK : LEDGER_CASH, r.amount}};
    char amount[SL_MONEY_TEXT], mail[512];
    snprintf(mail, sizeof mail, "Your refund of %s %s was %s: %s\n\nRefund: %s\n",
             money_format(r.amount, amount), r.currency, payout_sm.states[to].name, note, id);
    if (mail_queue(c, s, r.account, "Your refund", mail, err) < 0)
        return -1;
    return ledger_post(c, s, paid ? "payout_paid" : "payout_back", id, r.account, note, r.currency,
                       p, 2, NULL, err);
}

/* ---- HTTP ---- */
#define COLUMNS                                                                                    \
    "id, account_id, state, currency, reason, reference, amount_micro, created_us, "               \
    "state_since_us FROM payout "

static void payout_write(struct jw *w, struct db_q *q)
{
    static const char *const names[] = {"id", "account", "state", "currency", "reason", "note"};
    jw_object(w, NULL);
    for (int i = 0; i < 6; i++)
        jw_str(w, names[i], db_text(q, i));
    jw_money(w, "amount", db_int(q, 6));
    jw_time(w, "created", db_int(q, 7));
    jw_time(w, "since", db_int(q, 8));
    jw_end(w);
}

static int answer(struct db_c *c, const char *id, struct reply *out, struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err, "SELECT " COLUMNS "WHERE id = ?1", "t", id);
    if (rc > 0)
        payout_write(&out->json, &q);
    db_done(&q);
    return rc < 0 ? -1 : 0;
}

int payout_create(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    const struct payout_want *want = r->body;
    char id[ID_TEXT];
    if (payout_request(c, r->s, r->caller.account_id, want->amount_micro,
                       want->reason ? want->reason : "", id, err) < 0)
        return -1;
    out->status = 201;
    return answer(c, id, out, err);
}

int payout_list(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct page p;
    struct db_q q;
    int rc;
    const char *who = r->caller.role == ROLE_OPERATOR ? NULL : r->caller.account_id;
    if (page_begin(r, out, &p, err) < 0 ||
        db_query(c, &q, err,
                 "SELECT " COLUMNS
                 "WHERE id > ?1 AND (?3 IS NULL OR account_id = ?3) ORDER BY id LIMIT ?2",
                 "tit", p.cursor, p.limit + 1, who) < 0)
        return -1;
    while ((rc = db_next(&q, err)) > 0 && page_take(&p, db_text(&q, 0)))
        payout_write(&out->json, &q);
    db_done(&q);
    page_end(out, &p);
    return rc < 0 ? -1 : 0;
}

static int finish(struct db_c *c, struct req *r, const char *account_id, enum payout_state to,
                  const char *note, struct reply *out, struct sl_err *err)
{
    if (payout_end(c, r->s, account_id, r->path[0], to, note, r->caller.account_id, err) < 0)
        return -1;
    return answer(c, r->path[0], out, err);
}

int payout_cancel(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    return finish(c, r, r->caller.account_id, PAYOUT_CANCELLED, "cancelled", out, err);
}

int payout_pay_post(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    return finish(c, r, NULL, PAYOUT_PAID, ((struct payout_note *)r->body)->note, out, err);
}

int payout_reject_post(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    return finish(c, r, NULL, PAYOUT_REJECTED, ((struct payout_note *)r->body)->note, out, err);
}
