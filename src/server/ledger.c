/* SPDX-License-Identifier: Apache-2.0 */
#include "server/ledger.h"
#include "wire/bill.h"

enum { LEDGER_ID = 80 };
/* Balances stay below this, so that no sum of two ever overflows. */
#define BALANCE_MAX 9000000000000000000LL

static const char *const kind_names[] = {
    [LEDGER_CASH] = "cash",           [LEDGER_CREDIT] = "credit",
    [LEDGER_HELD_CASH] = "held_cash", [LEDGER_HELD_CREDIT] = "held_credit",
    [LEDGER_BANK] = "bank",           [LEDGER_PROMO] = "promo",
    [LEDGER_REVENUE] = "revenue",     [LEDGER_GOODWILL] = "goodwill",
    [LEDGER_PAYABLE] = "payable",     [LEDGER_ADJUST] = "adjust",
};

/* Rule I3: which kinds a transaction may take from and give to. With `pools` cash stays cash and
 * credit stays credit: what leaves one of {cash, held_cash} arrives in the other. */
#define K(kind) (1u << LEDGER_##kind)
static const struct routing {
    const char *kind;
    unsigned from, to;
    bool pools;
} routing[] = {
    {"topup", K(BANK), K(CASH), false},
    {"grant", K(PROMO), K(CREDIT), false},
    {"voucher", K(PROMO), K(CREDIT), false},
    {"payout", K(CASH), K(PAYABLE), false},
    {"payout_back", K(PAYABLE), K(CASH), false},
    {"payout_paid", K(PAYABLE), K(BANK), false},
    {"hold", K(CASH) | K(CREDIT), K(HELD_CASH) | K(HELD_CREDIT), true},
    {"release", K(HELD_CASH) | K(HELD_CREDIT), K(CASH) | K(CREDIT), true},
    {"capture", K(HELD_CASH) | K(HELD_CREDIT), K(REVENUE), false},
    {"refund", K(REVENUE), K(CASH) | K(CREDIT), false},
    {"goodwill", K(GOODWILL), K(CREDIT), false},
    {"disk", K(CASH) | K(CREDIT), K(REVENUE), false},
};

const char *ledger_kind_name(enum ledger_kind kind)
{
    SL_ASSERT(kind < LEDGER_KIND_MAX);
    return kind_names[kind];
}

bool ledger_kind_is_house(enum ledger_kind kind)
{
    return kind >= LEDGER_BANK;
}

static const struct routing *routing_of(const char *kind)
{
    for (size_t i = 0; i < SL_COUNT(routing); i++)
        if (sl_streq(routing[i].kind, kind))
            return &routing[i];
    return NULL;
}

bool ledger_txn_kind_ok(const char *kind)
{
    return routing_of(kind) != NULL;
}

bool ledger_routing_ok(const char *kind, const struct posting *p, int n)
{
    const struct routing *r = routing_of(kind);
    int64_t sum = 0, cash = 0;
    if (!r)
        return false;
    for (int i = 0; i < n; i++) {
        if (!((p[i].amount_micro < 0 ? r->from : r->to) & 1u << p[i].kind) ||
            __builtin_add_overflow(sum, p[i].amount_micro, &sum))
            return false;
        if (p[i].kind == LEDGER_CASH || p[i].kind == LEDGER_HELD_CASH)
            cash += p[i].amount_micro;
    }
    return n >= 2 && sum == 0 && (!r->pools || cash == 0);
}

static const char *ledger_id(const char *account_id, enum ledger_kind kind, const char *currency,
                             char out[LEDGER_ID])
{
    const char *parts[] = {ledger_kind_is_house(kind) ? "house" : account_id, kind_names[kind],
                           currency};
    char *w = out;
    for (size_t i = 0; i < SL_COUNT(parts); i++) {
        size_t n = strlen(parts[i]);
        SL_ASSERT(n + 2 <= (size_t)(out + LEDGER_ID - w));
        memcpy(w, parts[i], n);
        w += n;
        *w++ = i + 1 < SL_COUNT(parts) ? ':' : 0;
    }
    return out;
}

int ledger_balance(struct db_c *c, const char *account_id, enum ledger_kind kind,
                   const char *currency, int64_t *ret_micro, struct sl_err *err)
{
    char id[LEDGER_ID];
    return db_value(c, 0, ret_micro, err, "SELECT balance_micro FROM ledger_account WHERE id = ?1",
                    "t", ledger_id(account_id, kind, currency, id));
}

int ledger_account_open(struct db_c *c, const char *account_id, enum ledger_kind kind,
                        const char *currency, struct sl_err *err)
{
    char id[LEDGER_ID];
    return db_exec(c, err,
                   "INSERT INTO ledger_account(id, account_id, kind, currency, balance_micro) "
                   "VALUES(?1, ?2, ?3, ?4, 0) ON CONFLICT (id) DO NOTHING",
                   "tttt", ledger_id(account_id, kind, currency, id),
                   ledger_kind_is_house(kind) ? "" : account_id, kind_names[kind], currency);
}

static int balance_add(struct db_c *c, const struct posting *p, const char *currency,
                       struct sl_err *err)
{
    char id[LEDGER_ID];
    bool house = ledger_kind_is_house(p->kind);
    ledger_id(p->account_id, p->kind, currency, id);
    for (int pass = 0; pass < 2; pass++) {
        int64_t changed;
        if (db_exec_n(c, &changed, err,
                      "UPDATE ledger_account SET balance_micro = balance_micro + ?2 WHERE id = ?1 "
                      "AND balance_micro + ?2 BETWEEN ?3 AND ?4",
                      "tiii", id, p->amount_micro, house ? -BALANCE_MAX : (int64_t)0,
                      (int64_t)BALANCE_MAX) < 0)
            return -1;
        if (changed == 1)
            return 0;
        if (pass == 0 && ledger_account_open(c, p->account_id, p->kind, currency, err) < 0)
            return -1;
    }
    char text[SL_MONEY_TEXT];
    if (!house && p->amount_micro < 0)
        return sl_fail_at(err, SL_NO_CREDIT, "balance",
                          "balance: %s %s cannot be taken from %s, it would go below zero; top up",
                          money_format(-p->amount_micro, text), currency, kind_names[p->kind]);
    return sl_fail_at(err, SL_INVALID, "amount", "amount: %s %s is more than an account can hold",
                      money_format(p->amount_micro, text), currency);
}

/* Where the account's chain and the whole ledger stand. */
struct heads {
    int64_t seq, last_us, account_seq;
    char prev_hash[SHA256_HEX];
};

static const char sql_heads[] =
    "SELECT g.seq, g.t_us, a.account_seq, a.hash FROM txn g LEFT JOIN txn a ON a.account_id = ?1 "
    "AND a.account_seq = (SELECT MAX(account_seq) FROM txn WHERE account_id = ?1) "
    "WHERE g.seq = (SELECT MAX(seq) FROM txn)";

static int heads_get(struct db_c *c, const char *account_id, struct heads *h, struct sl_err *err)
{
    struct db_q q;
    *h = (struct heads){.prev_hash = BILL_GENESIS};
    int rc = db_row(c, &q, err, sql_heads, "t", account_id);
    if (rc > 0) {
        h->seq = db_int(&q, 0);
        h->last_us = db_int(&q, 1);
        h->account_seq = db_int(&q, 2);
        if (h->account_seq)
            snprintf(h->prev_hash, sizeof h->prev_hash, "%s", db_text(&q, 3));
    }
    db_done(&q);
    return rc < 0 ? -1 : 0;
}

static int txn_insert(struct db_c *c, const struct bill_txn *t, const struct heads *h,
                      struct sl_err *err)
{
    char hash[SHA256_HEX];
    bill_txn_hash(t, h->prev_hash, hash);
    return db_exec(c, err,
                   "INSERT INTO txn(id, seq, account_id, account_seq, kind, ref, memo, currency, "
                   "t_us, prev_hash, hash) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                   "titittttitt", t->id, h->seq + 1, t->account, t->seq, t->kind, t->ref, t->memo,
                   t->currency, t->t_us, h->prev_hash, hash);
}

/* Most transactions have two entries; those go in one statement. */
static int entries_insert(struct db_c *c, const char *txn, const struct posting *p, int n,
                          const char *currency, struct sl_err *err)
{
    char a[LEDGER_ID], b[LEDGER_ID];
    if (n == 2)
        return db_exec(c, err,
                       "INSERT INTO entry(txn_id, idx, ledger_account_id, amount_micro) "
                       "VALUES(?1, 0, ?2, ?3), (?1, 1, ?4, ?5)",
                       "ttiti", txn, ledger_id(p[0].account_id, p[0].kind, currency, a),
                       p[0].amount_micro, ledger_id(p[1].account_id, p[1].kind, currency, b),
                       p[1].amount_micro);
    for (int i = 0; i < n; i++)
        if (db_exec(c, err,
                    "INSERT INTO entry(txn_id, idx, ledger_account_id, amount_micro) "
                    "VALUES(?1, ?2, ?3, ?4)",
                    "titi", txn, (int64_t)i, ledger_id(p[i].account_id, p[i].kind, currency, a),
                    p[i].amount_micro) < 0)
            return -1;
    return 0;
}

int ledger_post(struct db_c *c, struct server *s, const char *kind, const char *ref,
                const char *account_id, const char *memo, const char *currency,
                const struct posting *postings, int n, char ret_txn[ID_TEXT], struct sl_err *err)
{
    struct posting p[LEDGER_POSTINGS_MAX];
    struct bill_entry entries[LEDGER_POSTINGS_MAX];
    char id[ID_TEXT];
    struct heads h;
    int m = 0;
    SL_ASSERT(n <= LEDGER_POSTINGS_MAX && currency_ok(currency));
    for (int i = 0; i < n; i++)
        if (postings[i].amount_micro) {
            entries[m] =
                (struct bill_entry){kind_names[postings[i].kind], postings[i].amount_micro};
            p[m++] = postings[i];
        }
    SL_ASSERT(ledger_routing_ok(kind, p, m));
    if (heads_get(c, account_id, &h, err) < 0)
        return -1;
    int64_t now = env_now(s->env);
    struct bill_txn t = {.seq = h.account_seq + 1,
                         .id = env_id(s->env, "txn", id),
                         .kind = kind,
                         .ref = ref,
                         .account = account_id,
                         .memo = memo,
                         .currency = currency,
                         .t_us = now > h.last_us ? now : h.last_us, /* I16: never goes back */
                         .entries = entries,
                         .n = m};
    if (txn_insert(c, &t, &h, err) < 0)
        return -1;
    for (int i = 0; i < m; i++) {
        SL_ASSERT(ledger_kind_is_house(p[i].kind) || sl_streq(p[i].account_id, account_id));
        if (balance_add(c, &p[i], currency, err) < 0)
            return -1;
    }
    if (entries_insert(c, id, p, m, currency, err) < 0)
        return -1;
    if (ret_txn)
        snprintf(ret_txn, ID_TEXT, "%s", id);
    return 0;
}
