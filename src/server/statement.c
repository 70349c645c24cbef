/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/map.h"
#include "server/statement.h"
#include "server/wallet.h"
#include "wire/bill.h"

/* What the ledger of the period says about one segment. */
struct moved {
    int64_t from_s, to_s, micro;
};
struct work {
    struct db_c *c;
    struct sl_arena *arena;
    struct jw *w;
    const char *account_id;
    int64_t from_us, to_us;
    struct sl_map moved;  /* segment id -> struct moved */
    struct sl_map prices; /* price version ids that lines name */
    int64_t total, opening, period;
    char chain_head[SHA256_HEX];
};

static int moved_add(struct work *k, const char *segment, const char *memo, int64_t revenue,
                     struct sl_err *err)
{
    int64_t from, to;
    if (!bill_memo_seconds(memo, &from, &to))
        return sl_fail(err, SL_INTEGRITY, "a capture of segment %s does not say its seconds",
                       segment);
    struct moved **at = (struct moved **)sl_map_put(&k->moved, segment, strlen(segment));
    if (!*at) {
        *at = sl_arena_alloc(k->arena, sizeof **at);
        (*at)->from_s = from;
    }
    (*at)->to_s = to;
    (*at)->micro += revenue;
    return 0;
}

static bool renters(const char *kind)
{
    return sl_streq(kind, "cash") || sl_streq(kind, "credit") || sl_starts(kind, "held_");
}

/* The entries of the transaction that q stands on, up to the first row of the next one (or the
 * end): the rows are joined, one a posting. */
static int txn_write(struct work *k, struct db_q *q, struct sl_err *err)
{
    struct jw *w = k->w;
    char id[ID_TEXT], segment[ID_TEXT], memo[256];
    bool moves = bill_txn_moves(db_text(q, 2));
    int64_t revenue = 0;
    int rc;
    snprintf(id, sizeof id, "%s", db_text(q, 1));
    snprintf(segment, sizeof segment, "%s", db_text(q, 3));
    snprintf(memo, sizeof memo, "%s", db_text(q, 4));
    snprintf(k->chain_head, sizeof k->chain_head, "%s", db_text(q, 7));
    jw_object(w, NULL);
    jw_int(w, "seq", db_int(q, 0));
    jw_str(w, "id", id);
    jw_str(w, "kind", db_text(q, 2));
    jw_str(w, "ref", db_text(q, 3));
    jw_str(w, "memo", db_text(q, 4));
    jw_int(w, "t_us", db_int(q, 5));
    jw_str(w, "prev_hash", db_text(q, 6));
    jw_str(w, "hash", db_text(q, 7));
    jw_array(w, "entries");
    do {
        const char *kind = db_text(q, 8);
        int64_t amount = db_int(q, 9);
        jw_array(w, NULL);
        jw_str(w, NULL, kind);
        jw_int(w, NULL, amount);
        jw_end(w);
        if (sl_streq(kind, "revenue"))
            revenue += amount;
        if (renters(kind))
            k->period += amount;
        rc = db_next(q, err);
    } while (rc > 0 && sl_streq(db_text(q, 1), id));
    jw_end(w);
    jw_end(w);
    if (rc >= 0 && moves && moved_add(k, segment, memo, revenue, err) < 0)
        return -1;
    return rc;
}

static int ledger_write(struct work *k, struct sl_err *err)
{
    struct db_q q;
    if (db_query(k->c, &q, err,
                 "SELECT t.account_seq, t.id, t.kind, t.ref, t.memo, t.t_us, t.prev_hash, t.hash, "
                 "a.kind, e.amount_micro FROM txn t JOIN entry e ON e.txn_id = t.id JOIN "
                 "ledger_account a ON a.id = e.ledger_account_id WHERE t.account_id = ?1 AND "
                 "t.t_us >= ?2 AND t.t_us < ?3 ORDER BY t.account_seq, e.idx",
                 "tii", k->account_id, k->from_us, k->to_us) < 0)
        return -1;
    jw_array(k->w, "ledger");
    int rc = db_next(&q, err);
    while (rc > 0 && !k->w->b->over)
        rc = txn_write(k, &q, err);
    db_done(&q);
    jw_end(k->w);
    return rc < 0 ? -1 : 0;
}

static int opening_read(struct work *k, struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(k->c, &q, err,
                    "SELECT hash FROM txn WHERE account_id = ?1 AND t_us < ?2 ORDER BY account_seq "
                    "DESC LIMIT 1",
                    "ti", k->account_id, k->from_us);
    snprintf(k->chain_head, sizeof k->chain_head, "%s", rc > 0 ? db_text(&q, 0) : BILL_GENESIS);
    db_done(&q);
    if (rc < 0)
        return -1;
    return db_value(k->c, 0, &k->opening, err,
                    "SELECT SUM(e.amount_micro) FROM txn t JOIN entry e ON e.txn_id = t.id JOIN "
                    "ledger_account a ON a.id = e.ledger_account_id WHERE t.account_id = ?1 AND "
                    "t.t_us < ?2 AND a.account_id = ?1",
                    "ti", k->account_id, k->from_us);
}

/* Columns: id, lease, name, model, gpus, start, end, rate, price, captured_s, captured_micro,
 * reason, heartbeat, the seconds that the rate is for. A disk stands where else a lease does. */
static void line_write(struct work *k, struct db_q *q, const struct moved *m)
{
    struct jw *w = k->w;
    int64_t captured_s = db_int(q, 9), to_s = m ? m->to_s : captured_s;
    /* the segment's end belongs to the statement that has its last charge */
    bool open =
        db_int(q, 6) == 0 || db_int(q, 10) != money_charge_per(db_int(q, 7), to_s, db_int(q, 13));
    jw_object(w, NULL);
    jw_str(w, "segment", db_text(q, 0));
    jw_str(w, "lease", db_text(q, 1));
    jw_str(w, "name", db_text(q, 2));
    jw_str(w, "model", db_text(q, 3));
    jw_int(w, "gpus", db_int(q, 4));
    jw_int(w, "start_us", db_int(q, 5));
    jw_int(w, "end_us", open ? 0 : db_int(q, 6));
    jw_bool(w, "open", open);
    jw_int(w, "from_s", m ? m->from_s : captured_s);
    jw_int(w, "to_s", to_s);
    jw_int(w, "seconds", m ? m->to_s - m->from_s : 0);
    jw_int(w, "rate_micro", db_int(q, 7));
    jw_str(w, "price_version", db_text(q, 8));
    jw_int(w, "charge_micro", m ? m->micro : 0);
    jw_int(w, "heartbeat_last_us", db_int(q, 12));
    jw_str(w, "end_reason", open ? "" : db_text(q, 11));
    jw_end(w);
    const char *price = db_text(q, 8);
    *sl_map_put(&k->prices, price, strlen(price)) = k;
    k->total += m ? m->micro : 0;
}

static int lines_write(struct work *k, struct sl_err *err)
{
    struct db_q q;
    int rc;
    if (db_query(k->c, &q, err,
                 "SELECT s.id, s.lease_id, l.name, s.model, s.gpus, s.start_us, s.end_us, "
                 "s.rate_micro, s.price_version_id, s.captured_s, s.captured_micro, s.end_reason, "
                 "COALESCE((SELECT MAX(h.last_us) FROM heartbeat h WHERE h.lease_id = s.lease_id "
                 "AND h.epoch = s.epoch), 0), 3600 FROM segment s JOIN lease l ON l.id = "
                 "s.lease_id WHERE s.account_id = ?1 AND s.start_us < ?2 UNION ALL "
                 "SELECT d.id, d.volume_id, v.name, 'disk', d.gb, d.start_us, d.end_us, "
                 "d.rate_micro, d.tariff_id, d.captured_s, d.captured_micro, d.end_reason, 0, "
                 "2592000 FROM volume_segment d JOIN volume v ON v.id = d.volume_id WHERE "
                 "d.account_id = ?1 AND d.start_us < ?2 ORDER BY 6, 1",
                 "ti", k->account_id, k->to_us) < 0)
        return -1;
    jw_array(k->w, "lines");
    while ((rc = db_next(&q, err)) > 0 && !k->w->b->over) {
        const char *id = db_text(&q, 0);
        const struct moved *m = sl_map_get(&k->moved, id, strlen(id));
        if (m || db_int(&q, 6) == 0 || db_int(&q, 6) >= k->from_us)
            line_write(k, &q, m);
    }
    db_done(&q);
    jw_end(k->w);
    return rc < 0 ? -1 : 0;
}

static int prices_write(struct work *k, struct sl_err *err)
{
    struct db_q q;
    int rc;
    if (db_query(k->c, &q, err,
                 "SELECT id, model, price_micro, currency, unit, effective_us, source FROM "
                 "price_named ORDER BY id",
                 "") < 0)
        return -1;
    jw_array(k->w, "prices");
    while ((rc = db_next(&q, err)) > 0) {
        const char *id = db_text(&q, 0);
        if (!sl_map_get(&k->prices, id, strlen(id)))
            continue;
        jw_object(k->w, NULL);
        jw_str(k->w, "id", id);
        jw_str(k->w, "model", db_text(&q, 1));
        jw_int(k->w, "price_micro", db_int(&q, 2));
        jw_str(k->w, "currency", db_text(&q, 3));
        jw_str(k->w, "unit", db_text(&q, 4));
        jw_int(k->w, "effective_us", db_int(&q, 5));
        jw_str(k->w, "source", db_text(&q, 6));
        jw_end(k->w);
    }
    db_done(&q);
    jw_end(k->w);
    return rc < 0 ? -1 : 0;
}

static int statement_write(struct work *k, int64_t made_us, struct sl_err *err)
{
    struct wallet wallet;
    struct jw *w = k->w;
    if (wallet_get(k->c, k->account_id, &wallet, err) < 0 || opening_read(k, err) < 0)
        return -1;
    jw_object(w, NULL);
    jw_int(w, "version", 1);
    jw_str(w, "account", k->account_id);
    jw_int(w, "from", k->from_us);
    jw_int(w, "to", k->to_us);
    jw_str(w, "currency", wallet.currency);
    jw_int(w, "made", made_us);
    if (ledger_write(k, err) < 0 || lines_write(k, err) < 0 || prices_write(k, err) < 0)
        return -1;
    jw_int(w, "opening_micro", k->opening);
    jw_int(w, "closing_micro", k->opening + k->period);
    jw_int(w, "total_charge_micro", k->total);
    jw_str(w, "chain_head", k->chain_head);
    jw_end(w);
    if (w->b->over)
        return sl_fail_at(err, SL_TOO_LARGE, "from",
                          "from: the statement is over %d bytes; ask for a shorter period",
                          STATEMENT_MAX);
    return 0;
}

static int statement_sign(struct server *s, const struct sl_buf *body, struct sl_buf *out,
                          struct sl_err *err)
{
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    SL_AUTO_BUF struct sl_buf canonical = SL_BUF(STATEMENT_MAX);
    char signature[SIGN_HEX];
    struct jw w = {out};
    if (jr_open(body->p, body->n, &doc, err) < 0 || jr_canonical(jr_root(doc), &canonical, err) < 0)
        return -1;
    sign_make(s->sign_secret, canonical.p, canonical.n, signature);
    jw_object(&w, NULL);
    jw_raw(&w, "statement", canonical.p);
    jw_str(&w, "key", s->sign_public);
    jw_str(&w, "signature", signature);
    jw_end(&w);
    if (out->over)
        return sl_fail(err, SL_TOO_LARGE, "the statement is over %zu bytes", out->max);
    return 0;
}

int statement_make(struct db_c *c, struct server *s, const char *account_id, int64_t from_us,
                   int64_t to_us, struct sl_buf *out, struct sl_err *err)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    SL_AUTO_BUF struct sl_buf body = SL_BUF(STATEMENT_MAX);
    struct jw w = {&body};
    int64_t last, now = env_now(s->env);
    struct work k = {.c = c,
                     .arena = &arena,
                     .w = &w,
                     .account_id = account_id,
                     .from_us = from_us,
                     .to_us = to_us};
    if (db_value(c, 0, &last, err, "SELECT MAX(t_us) FROM txn WHERE account_id = ?1", "t",
                 account_id) < 0)
        return -1;
    if (to_us == 0) /* a chain's clock may be ahead of a clock that was set back */
        k.to_us = (now > last ? now : last) + 1;
    if (from_us < 0 || from_us > k.to_us)
        return sl_fail_at(err, SL_INVALID, "from", "from: the period begins after its end");
    int rc = statement_write(&k, now > last ? now : last, err);
    sl_map_free(&k.moved);
    sl_map_free(&k.prices);
    return rc < 0 ? -1 : statement_sign(s, &body, out, err);
}
