/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks that SQL can express are rows of a table: a query that returns the first rows that do not
 * hold. The others walk the rows in order and recompute with the product's own law (money.h,
 * wire/bill.h).
 */
#include "base/core/map.h"
#include "server/audit_money.h"
#include "server/ledger.h"
#include "server/quote.h"
#include "wire/bill.h"
#include <stdarg.h>

static const struct audit_sql sql_checks[] = {
    {"I1", "entries of every transaction sum to zero",
     "SELECT t.id, 'sum of its entries is ' || COALESCE(SUM(e.amount_micro), 0) FROM txn t LEFT "
     "JOIN "
     "entry e ON e.txn_id = t.id GROUP BY t.id HAVING COALESCE(SUM(e.amount_micro), 1) <> 0 OR "
     "COUNT(e.idx) < 2"},
    {"I1", "all balances of a currency sum to zero",
     "SELECT currency, 'balances sum to ' || SUM(balance_micro) FROM ledger_account GROUP BY "
     "currency "
     "HAVING SUM(balance_micro) <> 0"},
    {"I1", "a transaction has one currency",
     "SELECT t.id, 'it is in ' || t.currency || ', an entry in ' || a.currency FROM txn t JOIN "
     "entry "
     "e ON e.txn_id = t.id JOIN ledger_account a ON a.id = e.ledger_account_id WHERE a.currency <> "
     "t.currency"},
    {"I2", "balances are the sums of their entries",
     "SELECT a.id, 'balance ' || a.balance_micro || ', entries ' || COALESCE(SUM(e.amount_micro), "
     "0) "
     "FROM ledger_account a LEFT JOIN entry e ON e.ledger_account_id = a.id GROUP BY a.id, "
     "a.balance_micro HAVING a.balance_micro <> COALESCE(SUM(e.amount_micro), 0)"},
    {"I3", "a transaction touches the accounts of one renter",
     "SELECT t.id, 'it is of ' || t.account_id || ' and touches ' || a.id FROM txn t JOIN entry e "
     "ON "
     "e.txn_id = t.id JOIN ledger_account a ON a.id = e.ledger_account_id WHERE a.account_id <> '' "
     "AND a.account_id <> t.account_id"},
    {"I6", "segments of a lease do not overlap and follow its epochs",
     "SELECT b.id, 'it begins before ' || a.id || ' ends, or its epoch is not later' FROM segment "
     "a "
     "JOIN segment b ON b.lease_id = a.lease_id AND b.seq = a.seq + 1 WHERE a.end_us = 0 OR "
     "b.start_us < a.end_us OR b.epoch <= a.epoch"},
    {"I6", "segments of a lease are numbered without a gap",
     "SELECT lease_id, 'highest number ' || MAX(seq) || ', rows ' || COUNT(*) FROM segment GROUP "
     "BY "
     "lease_id HAVING MAX(seq) <> COUNT(*) OR MIN(seq) <> 1"},
    {"I7", "what is metered is leased",
     "SELECT s.id, 'open, but its node does not have its cards leased' FROM segment s LEFT JOIN "
     "node "
     "n ON n.name = s.node_name WHERE s.end_us = 0 AND s.node_name <> '' AND (n.name IS NULL OR "
     "(n.leased_mask & s.gpu_mask) <> s.gpu_mask)"},
    {"I7", "metering is open exactly while a lease is running",
     "SELECT l.id, 'it is ' || l.state || ', its metering is ' || CASE WHEN s.id IS NULL THEN "
     "'closed' ELSE 'open' END FROM lease l LEFT JOIN segment s ON s.lease_id = l.id AND s.end_us "
     "= "
     "0 WHERE (l.state = 'running') <> (s.id IS NOT NULL)"},
    {"I8", "no renter's balance is below zero",
     "SELECT id, 'balance ' || balance_micro FROM ledger_account WHERE account_id <> '' AND "
     "balance_micro < 0"},
    {"I10", "held balances are the sums of the holds",
     "SELECT a.id, 'held ' || a.balance_micro || ', holds ' || COALESCE(SUM(CASE a.kind WHEN "
     "'held_cash' THEN h.cash_micro ELSE h.credit_micro END), 0) FROM ledger_account a LEFT JOIN "
     "hold h ON h.account_id = a.account_id AND h.currency = a.currency WHERE a.kind IN "
     "('held_cash', 'held_credit') GROUP BY a.id, a.balance_micro HAVING a.balance_micro <> "
     "COALESCE(SUM(CASE a.kind WHEN 'held_cash' THEN h.cash_micro ELSE h.credit_micro END), 0)"},
    {"I10", "funds are held only for leases that may use them",
     "SELECT h.lease_id, 'funds are held and the lease is ' || COALESCE(l.state, 'unknown') FROM "
     "hold h LEFT JOIN lease l ON l.id = h.lease_id WHERE l.state IS NULL OR l.state IN "
     "('stopping', "
     "'stopped', 'released', 'failed')"},
    {"I11", "the price of a segment is the pinned version's",
     "SELECT s.id, 'rate ' || s.rate_micro || ', price version ' || s.price_version_id FROM "
     "segment "
     "s JOIN lease l ON l.id = s.lease_id LEFT JOIN price_named p ON p.id = s.price_version_id "
     "WHERE p.id IS NULL OR s.rate_micro <> p.price_micro * s.gpus OR p.model <> s.model OR "
     "p.currency <> s.currency OR p.effective_us > s.start_us OR (s.model <> 'cpu' AND s.epoch = "
     "l.epoch AND "
     "(l.price_version_id <> s.price_version_id OR l.gpus <> s.gpus OR l.rate_micro <> "
     "s.rate_micro)) OR (s.model = 'cpu' AND s.gpu_mask <> 0)"},
    {"I11", "the price of a lease is its quote's",
     "SELECT l.id, 'quote ' || l.quote_id FROM lease l LEFT JOIN quote q ON q.id = l.quote_id "
     "WHERE "
     "q.id IS NULL OR q.rate_micro <> l.rate_micro OR q.price_version_id <> l.price_version_id OR "
     "q.gpus <> l.gpus OR q.account_id <> l.account_id OR COALESCE(q.lease_id, '') <> l.id"},
    {"I18", "a disk is metered once at a time, in segments without a gap in their numbers",
     "SELECT b.id, 'it begins before ' || a.id || ' ends' FROM volume_segment a JOIN "
     "volume_segment "
     "b ON b.volume_id = a.volume_id AND b.seq = a.seq + 1 WHERE a.end_us = 0 OR b.start_us < "
     "a.end_us UNION ALL SELECT volume_id, 'highest number ' || MAX(seq) || ', rows ' || COUNT(*) "
     "FROM volume_segment GROUP BY volume_id HAVING MAX(seq) <> COUNT(*)"},
    {"I18", "no disk is metered before it exists or after it was deleted",
     "SELECT d.id, 'its disk is ' || v.state FROM volume_segment d JOIN volume v ON v.id = "
     "d.volume_id WHERE d.end_us = 0 AND v.state NOT IN ('available', 'attached')"},
    {"I18", "the price of a disk is its pinned tariff's",
     "SELECT d.id, 'rate ' || d.rate_micro || ', tariff ' || d.tariff_id FROM volume_segment d "
     "JOIN "
     "volume v ON v.id = d.volume_id LEFT JOIN tariff t ON t.id = d.tariff_id WHERE t.id IS NULL "
     "OR "
     "t.kind <> 'disk' OR d.rate_micro <> t.price_micro * d.gb OR t.currency <> d.currency OR "
     "t.effective_us > d.start_us OR v.tariff_id <> d.tariff_id"},
    {"I13", "trial credit is given once per person and account, as booked",
     "SELECT g.account_id, 'granted ' || g.amount_micro || ', booked ' || COALESCE(SUM("
     "e.amount_micro), 0) FROM trial_grant g LEFT JOIN txn t ON t.id = g.txn_id AND t.kind = "
     "'grant' "
     "AND t.account_id = g.account_id LEFT JOIN entry e ON e.txn_id = t.id AND e.amount_micro > 0 "
     "GROUP BY g.identity_hash, g.account_id, g.amount_micro HAVING g.amount_micro <> "
     "COALESCE(SUM(e.amount_micro), 0)"},
    {"I13", "every grant has its row",
     "SELECT t.id, 'a grant without its row in trial_grant' FROM txn t LEFT JOIN trial_grant g ON "
     "g.txn_id = t.id WHERE t.kind = 'grant' AND g.txn_id IS NULL"},
    {"I14", "the append-only guards are in place",
     "SELECT w.name, 'trigger is missing' FROM (SELECT 'txn_no_update' AS name UNION ALL SELECT "
     "'txn_no_delete' UNION ALL SELECT 'entry_no_update' UNION ALL SELECT 'entry_no_delete' UNION "
     "ALL SELECT 'price_version_no_update' UNION ALL SELECT 'price_version_no_delete' UNION ALL "
     "SELECT 'segment_closed' UNION ALL SELECT 'segment_pinned' UNION ALL SELECT "
     "'segment_no_delete') w WHERE NOT EXISTS (SELECT 1 FROM sqlite_master m WHERE m.type = "
     "'trigger' AND m.name = w.name)"},
    {"I16", "numbers and times of transactions only go forward",
     "SELECT b.id, 'number ' || b.seq || ' is earlier than the one before' FROM txn a JOIN txn b "
     "ON "
     "b.seq = a.seq + 1 WHERE b.t_us < a.t_us"},
    {"I16", "transactions are numbered without a gap",
     "SELECT 'ledger', 'highest number ' || MAX(seq) || ', rows ' || COUNT(*) FROM txn HAVING "
     "COUNT(*) <> COALESCE(MAX(seq), 0)"},
};

static struct audit_check *check_new(struct audit_report *r, const char *id, const char *name)
{
    SL_ASSERT(r->n < AUDIT_CHECKS_MAX);
    struct audit_check *k = &r->checks[r->n++];
    *k = (struct audit_check){.id = id, .name = name, .ok = true};
    return k;
}

/* Keeps the first difference only. */
static void check_fails(struct audit_check *k, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void check_fails(struct audit_check *k, const char *fmt, ...)
{
    if (!k->ok)
        return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(k->detail, sizeof k->detail, fmt, ap);
    va_end(ap);
    k->ok = false;
}

static int run_sql(struct db_c *c, const struct audit_sql *s, struct audit_report *r,
                   struct sl_err *err)
{
    struct audit_check *k = check_new(r, s->id, s->name);
    struct db_q q;
    int rc = db_row(c, &q, err, s->sql, "");
    if (rc > 0)
        check_fails(k, "%s: %s", db_text(&q, 0), db_text(&q, 1));
    db_done(&q);
    return rc < 0 ? -1 : 0;
}

/* ---- the ledger in the order of its accounts' chains ---- */
struct chain {
    char account[ID_TEXT], prev[SHA256_HEX];
    int64_t seq;
};
struct ledger_walk {
    struct audit_check *hash, *routing, *seconds;
    struct sl_map segments; /* segment id -> struct seg_sum */
    struct sl_arena *arena;
    int64_t txns;
    struct chain chain;
};
struct seg_sum {
    int64_t to_s, micro, credit;
};
/* One transaction with its entries, copied out of the query. */
struct row {
    char id[ID_TEXT], kind[16], account[ID_TEXT], currency[8], prev[SHA256_HEX], hash[SHA256_HEX];
    const char *ref, *memo;
    int64_t seq, t_us;
    struct bill_entry entries[LEDGER_POSTINGS_MAX];
    struct posting postings[LEDGER_POSTINGS_MAX];
    int n;
    bool strange; /* an unknown kind of account, or too many entries */
};

static void row_entry(struct row *t, const char *kind, int64_t amount)
{
    for (int k = 0; k < LEDGER_KIND_MAX; k++)
        if (t->n < LEDGER_POSTINGS_MAX && sl_streq(kind, ledger_kind_name((enum ledger_kind)k))) {
            t->entries[t->n] = (struct bill_entry){ledger_kind_name((enum ledger_kind)k), amount};
            t->postings[t->n++] = (struct posting){NULL, (enum ledger_kind)k, amount};
            return;
        }
    t->strange = true;
}

/* Reads the transaction at q up to the first row of the next one; 1 there is one, 0 the end. */
static int row_read(struct db_q *q, struct sl_arena *arena, struct row *t, struct sl_err *err)
{
    int rc;
    *t = (struct row){.seq = db_int(q, 0), .t_us = db_int(q, 5)};
    snprintf(t->id, sizeof t->id, "%s", db_text(q, 1));
    snprintf(t->kind, sizeof t->kind, "%s", db_text(q, 2));
    t->ref = sl_arena_strdup(arena, db_text(q, 3));
    t->memo = sl_arena_strdup(arena, db_text(q, 4));
    snprintf(t->prev, sizeof t->prev, "%s", db_text(q, 6));
    snprintf(t->hash, sizeof t->hash, "%s", db_text(q, 7));
    snprintf(t->account, sizeof t->account, "%s", db_text(q, 10));
    snprintf(t->currency, sizeof t->currency, "%s", db_text(q, 11));
    do {
        row_entry(t, db_text(q, 8), db_int(q, 9));
        rc = db_next(q, err);
    } while (rc > 0 && sl_streq(db_text(q, 1), t->id));
    return rc;
}

static void chain_step(struct ledger_walk *w, const struct row *t)
{
    struct chain *h = &w->chain;
    char hash[SHA256_HEX];
    struct bill_txn x = {.seq = t->seq,
                         .id = t->id,
                         .kind = t->kind,
                         .ref = t->ref,
                         .account = t->account,
                         .memo = t->memo,
                         .currency = t->currency,
                         .t_us = t->t_us,
                         .entries = t->entries,
                         .n = t->n};
    if (!sl_streq(h->account, t->account)) {
        *h = (struct chain){.prev = BILL_GENESIS};
        snprintf(h->account, sizeof h->account, "%s", t->account);
    }
    if (t->seq != h->seq + 1 || !sl_streq(t->prev, h->prev))
        check_fails(w->hash, "%s does not follow on the transaction before it", t->id);
    if (!sl_streq(bill_txn_hash(&x, t->prev, hash), t->hash))
        check_fails(w->hash, "%s: its hash does not fit its content", t->id);
    h->seq = t->seq;
    snprintf(h->prev, sizeof h->prev, "%s", t->hash);
    if (t->strange || !ledger_routing_ok(t->kind, t->postings, t->n))
        check_fails(w->routing, "%s: a %s may not move money between these accounts", t->id,
                    t->kind);
}

/* Captures and refunds of a segment follow on each other, by the seconds in their memos. */
static void seconds_step(struct ledger_walk *w, const struct row *t)
{
    int64_t from, to, revenue = 0, credit = 0;
    bool is_capture = !sl_streq(t->kind, "refund");
    if (!bill_txn_moves(t->kind))
        return;
    for (int i = 0; i < t->n; i++) {
        enum ledger_kind k = t->postings[i].kind;
        revenue += k == LEDGER_REVENUE ? t->postings[i].amount_micro : 0;
        credit -= k == LEDGER_CREDIT || k == LEDGER_HELD_CREDIT ? t->postings[i].amount_micro : 0;
    }
    struct seg_sum **at = (struct seg_sum **)sl_map_put(&w->segments, t->ref, strlen(t->ref));
    if (!*at)
        *at = sl_arena_alloc(w->arena, sizeof **at);
    if (!bill_memo_seconds(t->memo, &from, &to) || from != (*at)->to_s ||
        (to > from) != is_capture) {
        check_fails(w->seconds, "%s: seconds \"%.40s\" do not follow on %lld of segment %s", t->id,
                    t->memo, (long long)(*at)->to_s, t->ref);
        return;
    }
    (*at)->to_s = to;
    (*at)->micro += revenue;
    (*at)->credit += credit;
}

static int walk_ledger(struct db_c *c, struct ledger_walk *w, struct sl_err *err)
{
    struct db_q q;
    if (db_query(c, &q, err,
                 "SELECT t.account_seq, t.id, t.kind, t.ref, t.memo, t.t_us, t.prev_hash, t.hash, "
                 "a.kind, e.amount_micro, t.account_id, t.currency FROM txn t JOIN entry e ON "
                 "e.txn_id = t.id JOIN ledger_account a ON a.id = e.ledger_account_id "
                 "ORDER BY t.account_id, t.account_seq, e.idx",
                 "") < 0)
        return -1;
    int rc = db_next(&q, err);
    while (rc > 0) {
        SL_AUTO_ARENA struct sl_arena arena = {0};
        struct row t;
        rc = row_read(&q, &arena, &t, err);
        chain_step(w, &t);
        seconds_step(w, &t);
        w->txns++;
    }
    db_done(&q);
    return rc < 0 ? -1 : 0;
}

/* Columns: id, start, end, rate, captured_s, captured_micro, captured_credit, what the rate is for.
 */
static void segment_step(struct ledger_walk *w, struct db_q *q, struct audit_check *law)
{
    const char *id = db_text(q, 0);
    static const struct seg_sum none = {0};
    const struct seg_sum *m = sl_map_get(&w->segments, id, strlen(id));
    int64_t end = db_int(q, 2), rate = db_int(q, 3), s = db_int(q, 4), micro = db_int(q, 5),
            per = db_int(q, 7);
    m = m ? m : &none;
    if (m->micro != micro || m->credit != db_int(q, 6) ||
        money_charge_per(rate, m->to_s, per) != money_charge_per(rate, s, per))
        check_fails(w->seconds, "%s: ledger has %lld micro for %lld s, segment %lld for %lld s", id,
                    (long long)m->micro, (long long)m->to_s, (long long)micro, (long long)s);
    if (money_charge_per(rate, s, per) != micro)
        check_fails(law, "%s: %lld s cost %lld micro, captured are %lld", id, (long long)s,
                    (long long)money_charge_per(rate, s, per), (long long)micro);
    if (end && (end < db_int(q, 1) || (end - db_int(q, 1)) / SL_SEC != s))
        check_fails(law, "%s: it lasted %lld s, charged are %lld s", id,
                    (long long)((end - db_int(q, 1)) / SL_SEC), (long long)s);
}

static int walk_segments(struct db_c *c, struct ledger_walk *w, struct audit_report *r,
                         struct sl_err *err)
{
    struct audit_check *law = check_new(r, "I5", "charges are R(rate x seconds) of whole seconds");
    struct db_q q;
    int64_t n = 0;
    int rc;
    if (db_query(c, &q, err,
                 "SELECT id, start_us, end_us, rate_micro, captured_s, captured_micro, "
                 "captured_credit_micro, 3600 FROM segment UNION ALL SELECT id, start_us, end_us, "
                 "rate_micro, captured_s, captured_micro, captured_credit_micro, 2592000 FROM "
                 "volume_segment",
                 "") < 0)
        return -1;
    for (; (rc = db_next(&q, err)) > 0; n++)
        segment_step(w, &q, law);
    db_done(&q);
    if (law->ok)
        snprintf(law->detail, sizeof law->detail, "%lld segments", (long long)n);
    return rc < 0 ? -1 : 0;
}

/* Sweeps every node's segments by their start; each card remembers until when it was metered. */
static int check_cards(struct db_c *c, struct audit_report *r, struct sl_err *err)
{
    struct audit_check *k = check_new(r, "I7", "a card is metered for one lease at a time");
    char node[256] = "";
    int64_t until[64] = {0};
    struct db_q q;
    int rc;
    if (db_query(c, &q, err,
                 "SELECT node_name, id, start_us, end_us, gpu_mask, gpus FROM segment WHERE "
                 "node_name <> '' AND model <> 'cpu' ORDER BY node_name, start_us",
                 "") < 0)
        return -1;
    while ((rc = db_next(&q, err)) > 0) {
        uint64_t mask = (uint64_t)db_int(&q, 4);
        int64_t start = db_int(&q, 2), end = db_int(&q, 3);
        if (!sl_streq(node, db_text(&q, 0))) {
            snprintf(node, sizeof node, "%s", db_text(&q, 0));
            memset(until, 0, sizeof until);
        }
        if (__builtin_popcountll(mask) != db_int(&q, 5))
            check_fails(k, "%s: %lld cards are paid, the mask is %llx", db_text(&q, 1),
                        (long long)db_int(&q, 5), (unsigned long long)mask);
        for (int card = 0; card < 64; card++) {
            if (!(mask >> card & 1))
                continue;
            if (start < until[card])
                check_fails(k, "%s: card %d of node %s is metered for another lease too",
                            db_text(&q, 1), card, node);
            until[card] = end ? end : INT64_MAX;
        }
    }
    db_done(&q);
    return rc < 0 ? -1 : 0;
}

static int check_quotes(struct db_c *c, struct audit_report *r, struct sl_err *err)
{
    struct audit_check *k = check_new(r, "I8", "quotes hold what their horizon costs");
    struct db_q q;
    int rc;
    if (db_query(c, &q, err, "SELECT id, rate_micro, horizon_s, hold_micro FROM quote", "") < 0)
        return -1;
    while ((rc = db_next(&q, err)) > 0)
        if (db_int(&q, 3) != money_charge(db_int(&q, 1), db_int(&q, 2)))
            check_fails(k, "%s: holds %lld micro for %lld s", db_text(&q, 0),
                        (long long)db_int(&q, 3), (long long)db_int(&q, 2));
    db_done(&q);
    return rc < 0 ? -1 : 0;
}

int audit_money(struct db_c *c, struct server *s, struct audit_report *ret, struct sl_err *err)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct ledger_walk w = {.arena = &arena};
    *ret = (struct audit_report){.ok = true};
    for (size_t i = 0; i < SL_COUNT(sql_checks); i++)
        if (run_sql(c, &sql_checks[i], ret, err) < 0)
            return -1;
    for (const struct audit_sql *k = audit_papers; k->sql; k++)
        if (run_sql(c, k, ret, err) < 0)
            return -1;
    w.routing = check_new(ret, "I3", "only allowed pairs of accounts exchange money");
    w.hash = check_new(ret, "I14", "every account's chain of hashes is whole");
    w.seconds = check_new(ret, "I9", "each second of a segment is charged once");
    int rc = walk_ledger(c, &w, err);
    if (w.hash->ok)
        snprintf(w.hash->detail, sizeof w.hash->detail, "%lld transactions", (long long)w.txns);
    if (rc == 0)
        rc = walk_segments(c, &w, ret, err);
    sl_map_free(&w.segments);
    if (rc < 0 || check_cards(c, ret, err) < 0 || check_quotes(c, ret, err) < 0)
        return -1;
    for (int i = 0; i < ret->n; i++)
        ret->ok = ret->ok && ret->checks[i].ok;
    return 0;
}

struct audit_call {
    struct server *s;
    struct audit_report report;
};

static int audit_read(struct db_c *c, void *arg, struct sl_err *err)
{
    struct audit_call *a = arg;
    return audit_money(c, a->s, &a->report, err);
}

int audit_money_print(struct server *s, FILE *out)
{
    struct audit_call a = {.s = s};
    struct sl_err err = {0};
    if (db_read(s->db, audit_read, &a, &err) < 0) {
        fprintf(out, "audit: cannot run: %s\n", err.msg);
        return 2;
    }
    for (int i = 0; i < a.report.n; i++) {
        const struct audit_check *k = &a.report.checks[i];
        fprintf(out, "%-6s %-4s %s%s%s\n", k->ok ? "ok" : "FAILED", k->id, k->name,
                *k->detail ? ": " : "", k->detail);
    }
    fprintf(out, "audit: %s\n", a.report.ok ? "every check holds" : "MONEY DOES NOT ADD UP");
    return a.report.ok ? 0 : 1;
}
