/* SPDX-License-Identifier: Apache-2.0 */
#include "server/invoice.h"
#include "server/page.h"

const struct jr_field invoice_fields[] = {
    {"buyer_name", JR_K_STR, JR_REQUIRED, offsetof(struct invoice_want, buyer_name), 1, 100,
     .doc = "a company's registered name, or a person's"},
    {"tax_id", JR_K_STR, 0, offsetof(struct invoice_want, tax_id), 18, 18,
     .doc = "a company's unified social credit code; left out for a person"},
    {"address", JR_K_STR, 0, offsetof(struct invoice_want, address), 0, 200},
    {"phone", JR_K_STR, 0, offsetof(struct invoice_want, phone), 0, 40},
    {"bank", JR_K_STR, 0, offsetof(struct invoice_want, bank), 0, 100},
    {"bank_account", JR_K_STR, 0, offsetof(struct invoice_want, bank_account), 0, 40},
    {"from", JR_K_TIME, 0, offsetof(struct invoice_want, from_us),
     .doc = "default: the end of the last invoice"},
    {"to", JR_K_TIME, 0, offsetof(struct invoice_want, to_us), .doc = "default: now"},
    {0}};
const struct jr_field invoice_reason_fields[] = {{"reason", JR_K_STR, JR_REQUIRED,
                                                  offsetof(struct invoice_reason, reason), 1, 200,
                                                  .doc = "why: a wrong title, a refund ..."},
                                                 {0}};

#define COLUMNS                                                                                    \
    "i.id, i.number, i.kind, i.state, i.account_id, i.from_us, i.to_us, i.currency, i.buyer, "     \
    "i.seller, i.tax_bp, i.net_micro, i.tax_micro, i.total_micro, i.exact_micro, i.original_id, "  \
    "(SELECT r.id FROM invoice r WHERE r.original_id = i.id AND r.kind = 'red'), i.reason, "       \
    "i.created_us, i.issued_us "

static void text_or_null(struct jw *w, const char *key, struct db_q *q, int col)
{
    if (db_null(q, col))
        jw_null(w, key);
    else
        jw_str(w, key, db_text(q, col));
}

static void percent(struct jw *w, const char *key, int64_t bp)
{
    char text[SL_MONEY_TEXT], out[SL_MONEY_TEXT + 1];
    money_format_rounded(bp * SL_MICRO / 100, bp % 100 ? 2 : 0, text);
    snprintf(out, sizeof out, "%s%%", text);
    jw_str(w, key, out);
}

/* The head, left open for the lines. */
static void head_write(struct jw *w, struct db_q *q)
{
    char words[INVOICE_WORDS];
    jw_object(w, NULL);
    jw_str(w, "id", db_text(q, 0));
    text_or_null(w, "number", q, 1);
    jw_str(w, "kind", db_text(q, 2));
    jw_str(w, "state", db_text(q, 3));
    jw_str(w, "account", db_text(q, 4));
    jw_time(w, "from", db_int(q, 5));
    jw_time(w, "to", db_int(q, 6));
    jw_str(w, "currency", db_text(q, 7));
    jw_raw(w, "buyer", db_text(q, 8));
    jw_raw(w, "seller", db_text(q, 9));
    percent(w, "tax_rate", db_int(q, 10));
    jw_money(w, "amount", db_int(q, 11));
    jw_money(w, "tax", db_int(q, 12));
    jw_money(w, "total", db_int(q, 13));
    jw_str(w, "total_in_words", money_words_zh(db_int(q, 13), words));
    jw_money(w, "paid", db_int(q, 14));
    text_or_null(w, "original", q, 15);
    text_or_null(w, "red_letter", q, 16);
    jw_str(w, "reason", db_text(q, 17));
    jw_time(w, "created", db_int(q, 18));
    jw_time(w, "issued", db_int(q, 19));
}

static int lines_write(struct db_c *c, struct jw *w, const char *id, struct sl_err *err)
{
    struct db_q q;
    char text[SL_MONEY_TEXT];
    int rc;
    if (db_query(c, &q, err,
                 "SELECT item, spec, unit, quantity_micro, net_micro, tax_micro, total_micro, ref, "
                 "price_version_id FROM invoice_line WHERE invoice_id = ?1 ORDER BY idx",
                 "t", id) < 0)
        return -1;
    jw_array(w, "lines");
    while ((rc = db_next(&q, err)) > 0) {
        int64_t quantity = db_int(&q, 3);
        jw_object(w, NULL);
        jw_str(w, "item", db_text(&q, 0));
        jw_str(w, "specification", db_text(&q, 1));
        jw_str(w, "unit", db_text(&q, 2));
        jw_str(w, "quantity", money_format(quantity, text));
        int64_t net = db_int(&q, 4), one = quantity < 0 ? -1 : 1;
        jw_money(w, "unit_price", quantity ? money_muldiv(net * one, SL_MICRO, quantity * one) : 0);
        jw_money(w, "amount", net);
        jw_money(w, "tax", db_int(&q, 5));
        jw_money(w, "total", db_int(&q, 6));
        jw_str(w, "ref", db_text(&q, 7));
        jw_str(w, "price_version", db_text(&q, 8));
        jw_end(w);
    }
    db_done(&q);
    jw_end(w);
    return rc;
}

int invoice_write(struct db_c *c, struct jw *w, const char *account_id, const char *id,
                  struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err,
                    "SELECT " COLUMNS
                    "FROM invoice i WHERE i.id = ?1 AND (?2 IS NULL OR i.account_id = ?2)",
                    "tt", id, account_id);
    if (rc > 0)
        head_write(w, &q);
    db_done(&q);
    if (rc <= 0)
        return rc < 0 ? -1
                      : sl_fail(err, SL_NOT_FOUND,
                                "invoice: there is no %.40s; see GET /v1/invoices", id);
    rc = lines_write(c, w, id, err);
    jw_end(w);
    return rc;
}

/* An operator sees all. */
static const char *scope(const struct req *r)
{
    return r->caller.role == ROLE_OPERATOR ? NULL : r->caller.account_id;
}

int invoice_list(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct page p;
    struct db_q q;
    int rc;
    if (page_begin(r, out, &p, err) < 0 ||
        db_query(c, &q, err,
                 "SELECT " COLUMNS
                 "FROM invoice i WHERE (?1 IS NULL OR i.account_id = ?1) AND i.id > "
                 "?2 ORDER BY i.id LIMIT ?3",
                 "tti", scope(r), p.cursor, p.limit + 1) < 0)
        return -1;
    while ((rc = db_next(&q, err)) > 0 && page_take(&p, db_text(&q, 0))) {
        head_write(&out->json, &q);
        jw_end(&out->json);
    }
    db_done(&q);
    page_end(out, &p);
    return rc < 0 ? -1 : 0;
}

int invoice_show(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    return invoice_write(c, &out->json, scope(r), r->path[0], err);
}

int invoice_create(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    char id[ID_TEXT];
    if (invoice_request(c, r->s, r->caller.account_id, r->body, id, err) < 0)
        return -1;
    out->status = 201;
    snprintf(out->location, sizeof out->location, "/v1/invoices/%s", id);
    return invoice_write(c, &out->json, NULL, id, err);
}

int invoice_issue_post(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    if (invoice_issue(c, r->s, r->path[0], r->caller.account_id, err) < 0)
        return -1;
    return invoice_write(c, &out->json, NULL, r->path[0], err);
}

int invoice_reverse_post(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    const struct invoice_reason *want = r->body;
    if (invoice_reverse(c, r->s, scope(r), r->path[0], want->reason, r->caller.account_id, err) < 0)
        return -1;
    return invoice_write(c, &out->json, NULL, r->path[0], err);
}

int invoice_confirm_post(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    char red[ID_TEXT];
    if (invoice_confirm(c, r->s, r->path[0], r->caller.account_id, red, err) < 0)
        return -1;
    return invoice_write(c, &out->json, NULL, red, err);
}
