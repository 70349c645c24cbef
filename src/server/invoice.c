/* SPDX-License-Identifier: Apache-2.0 */
#include "server/invoice.h"
#include "base/core/clock.h"
#include "server/event.h"
#include "server/lifecycle.h"
#include "server/mail.h"

#define ITEM_DEFAULT "*信息技术服务*算力服务"
#define LIVES "kind = 'blue' AND state IN ('draft', 'issued', 'reversing')"
/* What a charge or its refund moved in cash: the legs of the renter's cash accounts. */
#define CASH_LEGS                                                                                  \
    "FROM txn t JOIN entry e ON e.txn_id = t.id JOIN ledger_account a ON a.id = "                  \
    "e.ledger_account_id AND a.account_id = t.account_id AND a.kind IN ('cash', 'held_cash') "

struct line {
    char item[160], spec[100], unit[16], ref[ID_TEXT], price_version[ID_TEXT];
    int64_t quantity_micro;
};
struct draft {
    struct line lines[INVOICE_LINES_MAX];
    struct invoice_part parts[INVOICE_LINES_MAX], sum;
    int n;
    int64_t from_us, to_us, from_seq, to_seq;
    char currency[4], buyer[2048], seller[512];
    const struct server *s;
};

static int buyer_json(const struct invoice_want *w, char *out, size_t max, struct sl_err *err)
{
    const char *tax = w->tax_id ? w->tax_id : "";
    if (*tax && !taxpayer_id_ok(tax))
        return sl_fail_at(err, SL_INVALID, "tax_id",
                          "tax_id: \"%.40s\" is no taxpayer number of 18 characters with its check "
                          "character; look at the business licence again",
                          tax);
    SL_AUTO_BUF struct sl_buf b = SL_BUF(max - 1);
    struct jw j = {&b};
    jw_object(&j, NULL);
    jw_str(&j, "name", w->buyer_name);
    jw_str(&j, "tax_id", tax);
    jw_str(&j, "address", w->address ? w->address : "");
    jw_str(&j, "phone", w->phone ? w->phone : "");
    jw_str(&j, "bank", w->bank ? w->bank : "");
    jw_str(&j, "bank_account", w->bank_account ? w->bank_account : "");
    jw_end(&j);
    if (b.over)
        return sl_fail_at(err, SL_TOO_LARGE, "buyer_name", "buyer: the fields are too long");
    snprintf(out, max, "%s", sl_buf_str(&b));
    return 0;
}

static void seller_json(const struct server *s, char *out, size_t max)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(max - 1);
    struct jw j = {&b};
    jw_object(&j, NULL);
    jw_str(&j, "name", s->conf.invoice_seller ? s->conf.invoice_seller : "");
    jw_str(&j, "tax_id", s->conf.invoice_tax_id ? s->conf.invoice_tax_id : "");
    jw_end(&j);
    SL_ASSERT(!b.over);
    snprintf(out, max, "%s", sl_buf_str(&b));
}

/* The period, and the transactions in it. */
static int period(struct db_c *c, struct server *s, const char *account_id,
                  const struct invoice_want *w, struct draft *d, struct sl_err *err)
{
    int64_t now = env_now(s->env);
    struct db_q q;
    d->from_us = w->from_us, d->to_us = w->to_us ? w->to_us : now;
    if (!d->from_us && db_value(c, 0, &d->from_us, err,
                                "SELECT MAX(to_us) FROM invoice WHERE account_id = ?1 AND " LIVES,
                                "t", account_id) < 0)
        return -1;
    if (d->to_us > now || d->from_us >= d->to_us)
        return sl_fail_at(err, SL_INVALID, "to",
                          "to: the period must begin before it ends, and end by now");
    int rc = db_row(c, &q, err,
                    "SELECT MIN(account_seq), MAX(account_seq) FROM txn WHERE account_id = ?1 AND "
                    "t_us >= ?2 AND t_us < ?3",
                    "tii", account_id, d->from_us, d->to_us);
    if (rc < 0)
        return -1;
    d->from_seq = rc ? db_int(&q, 0) : 0, d->to_seq = rc ? db_int(&q, 1) : 0;
    db_done(&q);
    rc = db_row(c, &q, err,
                "SELECT id FROM invoice WHERE account_id = ?1 AND from_seq <= ?3 AND to_seq >= ?2 "
                "AND " LIVES " ORDER BY id LIMIT 1",
                "tii", account_id, d->from_seq, d->to_seq);
    if (rc > 0) {
        sl_fail_at(err, SL_CONFLICT, "from",
                   "from: a part of this period is on invoice %s already; choose another period, "
                   "or reverse it",
                   db_text(&q, 0));
        db_done(&q);
        return -1;
    }
    return rc;
}

/* Columns: thing, model, price version, price, unit, name, paid in cash. */
static void line_read(struct draft *d, struct db_q *q)
{
    struct line *l = &d->lines[d->n];
    const char *unit = db_text(q, 4), *item = d->s->conf.invoice_item;
    bool disk = sl_streq(unit, "gb_month");
    int64_t price = db_int(q, 3);
    snprintf(l->item, sizeof l->item, "%s", item && *item ? item : ITEM_DEFAULT);
    snprintf(l->spec, sizeof l->spec, "%s%s%s", db_text(q, 1), *db_text(q, 5) ? " " : "",
             db_text(q, 5));
    snprintf(l->unit, sizeof l->unit, "%s", disk ? "GB·月" : "卡·时");
    snprintf(l->ref, sizeof l->ref, "%s", db_text(q, 0));
    snprintf(l->price_version, sizeof l->price_version, "%s", db_text(q, 2));
    d->parts[d->n].exact_micro = db_int(q, 6);
    l->quantity_micro = price > 0 ? money_muldiv(db_int(q, 6), SL_MICRO, price) : 0;
    d->n++;
}

static int lines_read(struct db_c *c, const char *account_id, struct draft *d, struct sl_err *err)
{
    struct db_q q;
    int rc;
    if (db_query(
            c, &q, err,
            "SELECT COALESCE(s.lease_id, v.volume_id, t.ref), COALESCE(s.model, 'disk'), "
            "COALESCE(p.id, ''), COALESCE(p.price_micro, 0), COALESCE(p.unit, ''), "
            "COALESCE(MAX(l.name), ''), -SUM(e.amount_micro) " CASH_LEGS
            "LEFT JOIN segment s ON s.id = t.ref LEFT JOIN lease l ON l.id = s.lease_id LEFT "
            "JOIN volume_segment v ON v.id = t.ref LEFT JOIN price_named p ON p.id = "
            "COALESCE(s.price_version_id, v.tariff_id) WHERE t.account_id = ?1 AND "
            "t.account_seq BETWEEN ?2 AND ?3 AND t.kind IN ('capture', 'refund', 'disk') GROUP "
            "BY 1, 2, 3, 4, 5 HAVING SUM(e.amount_micro) <> 0 ORDER BY 2, 1, 3",
            "tii", account_id, d->from_seq, d->to_seq) < 0)
        return -1;
    while ((rc = db_next(&q, err)) > 0 && d->n < INVOICE_LINES_MAX)
        line_read(d, &q);
    db_done(&q);
    if (rc > 0)
        return sl_fail_at(err, SL_TOO_LARGE, "to", "to: over %d lines; ask for a shorter period",
                          INVOICE_LINES_MAX);
    return rc;
}

/* Rule I13: all living invoices together are never more than what was paid in cash. */
static int within_spend(struct db_c *c, const char *account_id, int64_t exact, struct sl_err *err)
{
    int64_t spent, invoiced;
    if (db_value(c, 0, &spent, err,
                 "SELECT -SUM(e.amount_micro) " CASH_LEGS
                 "WHERE t.account_id = ?1 AND t.kind IN ('capture', 'refund', 'disk')",
                 "t", account_id) < 0 ||
        db_value(c, 0, &invoiced, err,
                 "SELECT SUM(exact_micro) FROM invoice WHERE account_id = ?1 AND " LIVES, "t",
                 account_id) < 0)
        return -1;
    if (exact <= spent - invoiced)
        return 0;
    return sl_fail_at(err, SL_CONFLICT, "to",
                      "to: charges of this period were refunded later; let the period reach to "
                      "the refund");
}

static int draft_make(struct db_c *c, struct server *s, const char *account_id,
                      const struct invoice_want *w, struct draft *d, struct sl_err *err)
{
    struct db_q q;
    int64_t exact = 0;
    d->s = s;
    int rc = db_row(c, &q, err, "SELECT currency FROM account WHERE id = ?1", "t", account_id);
    if (rc > 0)
        snprintf(d->currency, sizeof d->currency, "%s", db_text(&q, 0));
    db_done(&q);
    if (rc <= 0)
        return rc < 0 ? -1 : sl_fail(err, SL_NOT_FOUND, "account: there is no %s", account_id);
    if (buyer_json(w, d->buyer, sizeof d->buyer, err) < 0 ||
        period(c, s, account_id, w, d, err) < 0 || lines_read(c, account_id, d, err) < 0)
        return -1;
    seller_json(s, d->seller, sizeof d->seller);
    for (int i = 0; i < d->n; i++)
        exact = money_add(exact, d->parts[i].exact_micro);
    if (exact < SL_MICRO / 100)
        return sl_fail_at(err, SL_CONFLICT, "from",
                          "from: nothing was paid in cash in this period; credit is not invoiced");
    if (within_spend(c, account_id, exact, err) < 0)
        return -1;
    invoice_split(d->parts, d->n, s->conf.invoice_tax_bp, &d->sum);
    return 0;
}

static int lines_store(struct db_c *c, const struct draft *d, const char *id, struct sl_err *err)
{
    for (int i = 0; i < d->n; i++) {
        const struct line *l = &d->lines[i];
        const struct invoice_part *p = &d->parts[i];
        if (db_exec(c, err,
                    "INSERT INTO invoice_line(invoice_id, idx, item, spec, unit, ref, "
                    "price_version_id, quantity_micro, exact_micro, net_micro, tax_micro, "
                    "total_micro) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
                    "tittttt"
                    "iiiii",
                    id, (int64_t)i + 1, l->item, l->spec, l->unit, l->ref, l->price_version,
                    l->quantity_micro, p->exact_micro, p->net_micro, p->tax_micro,
                    p->total_micro) < 0)
            return -1;
    }
    return 0;
}

int invoice_request(struct db_c *c, struct server *s, const char *account_id,
                    const struct invoice_want *want, char ret_id[ID_TEXT], struct sl_err *err)
{
    SL_AUTO_FREE struct draft *d = sl_alloc(sizeof *d);
    int64_t now = env_now(s->env);
    if (draft_make(c, s, account_id, want, d, err) < 0 ||
        db_exec(c, err,
                "INSERT INTO invoice(id, account_id, kind, state, state_since_us, from_us, to_us, "
                "from_seq, to_seq, currency, buyer, seller, tax_bp, exact_micro, net_micro, "
                "tax_micro, total_micro, created_us) VALUES(?1, ?2, 'blue', 'draft', ?3, ?4, ?5, "
                "?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?3)",
                "ttiiiiitttiiiii", env_id(s->env, "inv", ret_id), account_id, now, d->from_us,
                d->to_us, d->from_seq, d->to_seq, d->currency, d->buyer, d->seller,
                s->conf.invoice_tax_bp, d->sum.exact_micro, d->sum.net_micro, d->sum.tax_micro,
                d->sum.total_micro) < 0 ||
        lines_store(c, d, ret_id, err) < 0)
        return -1;
    return event_add(c, s, account_id, "invoice", ret_id, "invoice.draft", account_id, NULL, err);
}

/* The state and the owner; account_id NULL: of anybody. */
static int find(struct db_c *c, const char *account_id, const char *id, char owner[ID_TEXT],
                int *ret_state, struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err,
                    "SELECT account_id, state, kind FROM invoice WHERE id = ?1 AND (?2 IS NULL OR "
                    "account_id = ?2)",
                    "tt", id, account_id);
    if (rc < 0)
        return -1;
    if (rc == 0)
        return sl_fail(err, SL_NOT_FOUND, "invoice: there is no %.40s; see GET /v1/invoices", id);
    bool red = sl_streq(db_text(&q, 2), "red");
    snprintf(owner, ID_TEXT, "%s", db_text(&q, 0));
    *ret_state = sm_by_name(&invoice_sm, db_text(&q, 1));
    db_done(&q);
    SL_ASSERT(*ret_state >= 0);
    return red ? sl_fail_at(err, SL_CONFLICT, "kind",
                            "invoice: %.40s is a red letter; it stands as it is", id)
               : 0;
}

/* The next number of the year, and from here on nothing changes. */
static int number_give(struct db_c *c, struct server *s, const char *id, struct sl_err *err)
{
    char text[TS_TEXT], number[32];
    int64_t now = env_now(s->env), last, year;
    ts_format(now, text);
    year = (text[0] - '0') * 1000 + (text[1] - '0') * 100 + (text[2] - '0') * 10 + text[3] - '0';
    if (db_value(c, 0, &last, err, "SELECT MAX(no) FROM invoice WHERE year = ?1", "i", year) < 0)
        return -1;
    snprintf(number, sizeof number, "%lld-%08lld", (long long)year, (long long)last + 1);
    return db_exec(c, err,
                   "UPDATE invoice SET year = ?2, no = ?3, number = ?4, issued_us = ?5 WHERE id = "
                   "?1",
                   "tiiti", id, year, last + 1, number, now);
}

int invoice_issue(struct db_c *c, struct server *s, const char *id, const char *actor,
                  struct sl_err *err)
{
    char owner[ID_TEXT];
    int state;
    if (find(c, NULL, id, owner, &state, err) < 0)
        return -1;
    if (!s->conf.invoice_seller || !*s->conf.invoice_seller)
        return sl_fail(err, SL_CONFLICT,
                       "invoice.seller is not set; an invoice needs to say whose it is");
    if (sm_move_from(c, s, &invoice_sm, id, state, INVOICE_ISSUED, owner, actor, "", err) < 0)
        return -1;
    char mail[256];
    snprintf(mail, sizeof mail, "Your invoice was issued.\n\nstarlease invoice show %s\n", id);
    if (mail_queue(c, s, owner, "Your invoice", mail, err) < 0)
        return -1;
    return number_give(c, s, id, err);
}

int invoice_reverse(struct db_c *c, struct server *s, const char *account_id, const char *id,
                    const char *reason, const char *actor, struct sl_err *err)
{
    char owner[ID_TEXT];
    int state;
    if (find(c, account_id, id, owner, &state, err) < 0 ||
        sm_move_from(c, s, &invoice_sm, id, state,
                     state == INVOICE_DRAFT ? INVOICE_CANCELLED : INVOICE_REVERSING, owner, actor,
                     reason, err) < 0)
        return -1;
    return db_exec(c, err, "UPDATE invoice SET reason = ?2 WHERE id = ?1", "tt", id, reason);
}

int invoice_confirm(struct db_c *c, struct server *s, const char *id, const char *actor,
                    char ret_red_id[ID_TEXT], struct sl_err *err)
{
    char owner[ID_TEXT];
    int state;
    if (find(c, NULL, id, owner, &state, err) < 0 ||
        sm_move_from(c, s, &invoice_sm, id, state, INVOICE_REVERSED, owner, actor, "", err) < 0 ||
        db_exec(c, err,
                "INSERT INTO invoice(id, account_id, kind, state, state_since_us, from_us, to_us, "
                "from_seq, to_seq, currency, buyer, seller, tax_bp, exact_micro, net_micro, "
                "tax_micro, total_micro, original_id, reason, created_us) SELECT ?2, account_id, "
                "'red', 'issued', ?3, from_us, to_us, from_seq, to_seq, currency, buyer, seller, "
                "tax_bp, -exact_micro, -net_micro, -tax_micro, -total_micro, id, reason, ?3 FROM "
                "invoice WHERE id = ?1",
                "tti", id, env_id(s->env, "inv", ret_red_id), env_now(s->env)) < 0 ||
        db_exec(c, err,
                "INSERT INTO invoice_line(invoice_id, idx, item, spec, unit, ref, "
                "price_version_id, quantity_micro, exact_micro, net_micro, tax_micro, total_micro) "
                "SELECT ?2, idx, item, spec, unit, ref, price_version_id, -quantity_micro, "
                "-exact_micro, -net_micro, -tax_micro, -total_micro FROM invoice_line WHERE "
                "invoice_id = ?1",
                "tt", id, ret_red_id) < 0)
        return -1;
    return number_give(c, s, ret_red_id, err);
}
