/* SPDX-License-Identifier: Apache-2.0
 *
 * The checks, in the order in which a doubter would ask: whose key, which prices, what each
 * movement of money says, what each line says, what all of it adds up to, and what an earlier
 * statement said.
 */
#include "base/core/map.h"
#include "wire/bill_file.h"

/* Places of lines and prices by id. */
struct index {
    struct sl_map map;
};
static void index_put(struct index *x, const char *id, void *v)
{
    *sl_map_put(&x->map, id, strlen(id)) = v;
}
static void *index_get(const struct index *x, const char *id)
{
    return sl_map_get(&x->map, id, strlen(id));
}
static void index_free(struct index *x)
{
    sl_map_free(&x->map);
}
#define AUTO_INDEX __attribute__((cleanup(index_free)))

#define WRONG(field, ...) sl_fail_at(err, SL_INTEGRITY, field, __VA_ARGS__)

static bool is_renters(const char *kind)
{
    return sl_streq(kind, "cash") || sl_streq(kind, "credit") || sl_streq(kind, "held_cash") ||
           sl_streq(kind, "held_credit");
}

bool bill_txn_moves(const char *kind)
{
    return sl_streq(kind, "capture") || sl_streq(kind, "refund") || sl_streq(kind, "disk");
}

int64_t bill_unit_seconds(const char *unit)
{
    return sl_streq(unit, "gpu_hour") || sl_streq(unit, "instance_hour") ? MONEY_HOUR_S
           : sl_streq(unit, "gb_month")                                  ? MONEY_MONTH_S
                                                                         : 0;
}

static int64_t charge_of(const struct bill_line *l, int64_t seconds)
{
    return money_charge_per(l->rate_micro, seconds, l->per_s);
}

static int prices_check(const struct bill *b, struct index *prices, struct sl_err *err)
{
    for (int i = 0; i < b->prices.n; i++) {
        const struct bill_price *p = &BILL_PRICES(b)[i];
        if (index_get(prices, p->id))
            return WRONG("prices", "price %s is there twice", p->id);
        if (!bill_unit_seconds(p->unit) || p->price_micro < sl_streq(p->unit, "gpu_hour"))
            return WRONG("prices", "price %s is no price per gpu_hour, instance_hour or gb_month",
                         p->id);
        index_put(prices, p->id, (void *)p);
    }
    return 0;
}

/* What a line claims about itself, from its price version, rate and seconds. */
static int line_check(const struct bill *b, const struct bill_line *l, const struct index *prices,
                      struct sl_err *err)
{
    const struct bill_price *p = index_get(prices, l->price_version);
    char want[SL_MONEY_TEXT], have[SL_MONEY_TEXT];
    if (!p)
        return WRONG("lines", "line %s: its price version %s is not in the statement", l->segment,
                     l->price_version);
    if (!sl_streq(p->model, l->model) || !sl_streq(p->currency, b->currency) ||
        p->effective_us > l->start_us)
        return WRONG("lines", "line %s: price version %s is for %s in %s, or was not in force yet",
                     l->segment, p->id, p->model, p->currency);
    int64_t rate;
    if (l->gpus < 1 || __builtin_mul_overflow(p->price_micro, l->gpus, &rate) ||
        rate != l->rate_micro)
        return WRONG("lines", "line %s: the rate is not %lld times price version %s", l->segment,
                     (long long)l->gpus, p->id);
    if (l->seconds != l->to_s - l->from_s)
        return WRONG("lines", "line %s: %lld seconds are not %lld..%lld", l->segment,
                     (long long)l->seconds, (long long)l->from_s, (long long)l->to_s);
    int64_t charge = charge_of(l, l->to_s) - charge_of(l, l->from_s);
    if (charge != l->charge_micro)
        return WRONG("lines", "line %s: %lld s at this rate cost %s, not %s", l->segment,
                     (long long)l->seconds, money_format(charge, want),
                     money_format(l->charge_micro, have));
    if (l->open != (l->end_us == 0) || (!l->open && l->end_us < l->start_us))
        return WRONG("lines", "line %s: its end is before its start, or open and end disagree",
                     l->segment);
    if (!l->open && charge_of(l, (l->end_us - l->start_us) / SL_SEC) != charge_of(l, l->to_s))
        return WRONG("lines", "line %s: start and end are not the %lld seconds that were charged",
                     l->segment, (long long)l->to_s);
    return 0;
}

/* Recomputing a charge goes through 128 bits but must end within 64: a forged line must not abort.
 */
static bool in_range(const struct bill_line *l)
{
    __int128 most =
        (__int128)l->rate_micro * (l->to_s > l->from_s ? l->to_s : l->from_s) / l->per_s;
    __int128 whole = l->end_us > l->start_us
                         ? (__int128)l->rate_micro * ((l->end_us - l->start_us) / SL_SEC) / l->per_s
                         : 0;
    return most < INT64_MAX / 4 && whole < INT64_MAX / 4;
}

static int lines_check(const struct bill *b, const struct index *prices, struct index *lines,
                       struct sl_err *err)
{
    for (int i = 0; i < b->lines.n; i++) {
        struct bill_line *l = &BILL_LINES(b)[i];
        if (index_get(lines, l->segment))
            return WRONG("lines", "line %s is there twice", l->segment);
        const struct bill_price *p = index_get(prices, l->price_version);
        l->per_s = p ? bill_unit_seconds(p->unit) : MONEY_HOUR_S;
        if (!in_range(l))
            return WRONG("lines", "line %s: rate and seconds are out of range", l->segment);
        if (line_check(b, l, prices, err) < 0)
            return -1;
        index_put(lines, l->segment, l);
    }
    return 0;
}

/* A lease is metered once at a time: its segments may touch but not overlap. Lines come in the
 * order of their start. */
static int overlap_check(const struct bill *b, struct sl_err *err)
{
    AUTO_INDEX struct index last = {0};
    for (int i = 0; i < b->lines.n; i++) {
        struct bill_line *l = &BILL_LINES(b)[i], *before = index_get(&last, l->lease);
        if (i > 0 && l->start_us < l[-1].start_us)
            return WRONG("lines", "line %s: lines are not in the order of their start", l->segment);
        if (before && (before->open || before->end_us > l->start_us))
            return WRONG("lines", "lines %s and %s: lease %s is billed twice for the same time",
                         before->segment, l->segment, l->lease);
        index_put(&last, l->lease, l);
    }
    return 0;
}

/* A capture or refund: the seconds in its memo, at the rate of its line, follow on the one before.
 */
static int movement_check(const struct bill_ledger *t, int64_t revenue, struct bill_line *l,
                          struct sl_err *err)
{
    int64_t from, to;
    char want[SL_MONEY_TEXT], have[SL_MONEY_TEXT];
    if (!l)
        return WRONG("ledger", "transaction %s charges segment %s, which has no line", t->id,
                     t->ref);
    if (!bill_memo_seconds(t->memo, &from, &to) || (to > from) != !sl_streq(t->kind, "refund"))
        return WRONG("ledger", "transaction %s: its memo does not say which seconds it is for",
                     t->id);
    if (from != (l->seen ? l->seen_to_s : l->from_s))
        return WRONG("ledger", "transaction %s: seconds %lld.. do not follow on the charge before",
                     t->id, (long long)from);
    int64_t longest = to > from ? to : from;
    if ((__int128)l->rate_micro * longest / l->per_s > INT64_MAX / 4)
        return WRONG("ledger", "transaction %s: seconds are out of range", t->id);
    int64_t charge = charge_of(l, to) - charge_of(l, from);
    if (charge != revenue)
        return WRONG("ledger", "transaction %s: its seconds cost %s, not %s", t->id,
                     money_format(charge, want), money_format(revenue, have));
    l->seen = true;
    l->seen_to_s = to;
    l->seen_micro += charge;
    return 0;
}

/* Sum of the entries, and of the renter's and the revenue part of them. */
static int entries_sum(const struct bill_ledger *t, int64_t *ret_renter, int64_t *ret_revenue,
                       struct sl_err *err)
{
    __int128 sum = 0;
    *ret_renter = *ret_revenue = 0;
    for (int i = 0; i < t->n; i++) {
        const struct bill_entry *e = &t->entries[i];
        sum += e->amount_micro;
        int64_t *to = is_renters(e->kind)            ? ret_renter
                      : sl_streq(e->kind, "revenue") ? ret_revenue
                                                     : NULL;
        if (to && __builtin_add_overflow(*to, e->amount_micro, to))
            return WRONG("ledger", "transaction %s: amounts are out of range", t->id);
    }
    if (sum != 0)
        return WRONG("ledger", "transaction %s: its entries do not sum to zero", t->id);
    return 0;
}

static int chain_check(const struct bill *b, int i, const char *prev, struct sl_err *err)
{
    const struct bill_ledger *t = &BILL_LEDGER(b)[i];
    char hash[SHA256_HEX];
    struct bill_txn x = {.seq = t->seq,
                         .id = t->id,
                         .kind = t->kind,
                         .ref = t->ref,
                         .account = b->account,
                         .memo = t->memo,
                         .currency = b->currency,
                         .t_us = t->t_us,
                         .entries = t->entries,
                         .n = t->n};
    if (prev && (!sl_streq(t->prev_hash, prev) || t->seq != t[-1].seq + 1 || t->t_us < t[-1].t_us))
        return WRONG("ledger", "transaction %s does not follow on the one before", t->id);
    if ((t->seq == 1) != sl_streq(t->prev_hash, BILL_GENESIS))
        return WRONG("ledger", "transaction %s is number %lld but its chain begins elsewhere",
                     t->id, (long long)t->seq);
    if (!sl_streq(bill_txn_hash(&x, t->prev_hash, hash), t->hash))
        return WRONG("ledger", "transaction %s: its hash does not fit its content", t->id);
    if (t->t_us < b->from_us || t->t_us >= b->to_us)
        return WRONG("ledger", "transaction %s is not of this period", t->id);
    return 0;
}

static int ledger_check(const struct bill *b, const struct index *lines, int64_t *ret_moved,
                        struct sl_err *err)
{
    const char *prev = NULL;
    int64_t balance = b->opening_micro;
    for (int i = 0; i < b->ledger.n; i++) {
        const struct bill_ledger *t = &BILL_LEDGER(b)[i];
        int64_t renter, revenue;
        if (chain_check(b, i, prev, err) < 0 || entries_sum(t, &renter, &revenue, err) < 0)
            return -1;
        bool moves = bill_txn_moves(t->kind);
        if (moves ? movement_check(t, revenue, index_get(lines, t->ref), err) < 0 : revenue != 0)
            return moves ? -1
                         : WRONG("ledger", "transaction %s (%s) moves revenue", t->id, t->kind);
        if (__builtin_add_overflow(balance, renter, &balance) || balance < 0)
            return WRONG("ledger", "transaction %s: the balance goes below zero", t->id);
        prev = t->hash;
    }
    if (prev && !sl_streq(prev, b->chain_head))
        return WRONG("chain_head", "the last transaction is not the head of the chain");
    if (b->ledger.n && BILL_LEDGER(b)[0].seq == 1 && b->opening_micro != 0)
        return WRONG("opening_micro", "an account begins with nothing, not with %lld micro-units",
                     (long long)b->opening_micro);
    *ret_moved = balance;
    return 0;
}

static int sums_check(const struct bill *b, int64_t closing, struct sl_err *err)
{
    __int128 total = 0;
    for (int i = 0; i < b->lines.n; i++) {
        const struct bill_line *l = &BILL_LINES(b)[i];
        total += l->charge_micro;
        if (l->seen_micro != l->charge_micro || (l->seen && l->seen_to_s != l->to_s))
            return WRONG("lines", "line %s: the ledger does not have the charge that it shows",
                         l->segment);
    }
    if (total != b->total_charge_micro)
        return WRONG("total_charge_micro", "the total is not the sum of the lines");
    if (closing != b->closing_micro)
        return WRONG("closing_micro", "opening balance and transactions do not give the closing "
                                      "balance");
    return 0;
}

static int content_check(const struct bill *b, struct bill_result *r, struct sl_err *err)
{
    AUTO_INDEX struct index prices = {0}, lines = {0};
    int64_t closing = 0;
    if (!currency_ok(b->currency) || b->from_us > b->to_us || b->opening_micro < 0)
        return WRONG("statement", "period, currency or opening balance cannot be");
    if (prices_check(b, &prices, err) < 0 || lines_check(b, &prices, &lines, err) < 0 ||
        overlap_check(b, err) < 0 || ledger_check(b, &lines, &closing, err) < 0 ||
        sums_check(b, closing, err) < 0)
        return -1;
    *r = (struct bill_result){.from_us = b->from_us,
                              .to_us = b->to_us,
                              .lines = b->lines.n,
                              .txns = b->ledger.n,
                              .prices = b->prices.n,
                              .total_micro = b->total_charge_micro,
                              .opening_micro = b->opening_micro,
                              .closing_micro = b->closing_micro};
    for (int i = 0; i < b->lines.n; i++)
        r->open_lines += BILL_LINES(b)[i].open;
    snprintf(r->account, sizeof r->account, "%s", b->account);
    snprintf(r->currency, sizeof r->currency, "%s", b->currency);
    snprintf(r->key_hex, sizeof r->key_hex, "%s", b->key);
    snprintf(r->chain_head, sizeof r->chain_head, "%s", b->chain_head);
    return 0;
}

/* ---- against an earlier statement ---- */

static int earlier_ledger(const struct bill *old, const struct bill *new, struct bill_result *r,
                          struct sl_err *err)
{
    AUTO_INDEX struct index by_id = {0};
    const struct bill_ledger *first = new->ledger.n ? BILL_LEDGER(new) : NULL;
    for (int i = 0; i < new->ledger.n; i++)
        index_put(&by_id, BILL_LEDGER(new)[i].id, &BILL_LEDGER(new)[i]);
    for (int i = 0; i < old->ledger.n; i++) {
        const struct bill_ledger *t = &BILL_LEDGER(old)[i], *again = index_get(&by_id, t->id);
        if (t->t_us < new->from_us) {
            if (first && first->seq == t->seq + 1 && !sl_streq(first->prev_hash, t->hash))
                return WRONG("earlier",
                             "the chain does not continue from transaction %s of the "
                             "earlier statement: it was rewritten",
                             t->id);
            continue;
        }
        if (t->t_us >= new->to_us)
            continue;
        if (!again)
            return WRONG("earlier", "transaction %s of the earlier statement is gone", t->id);
        if (!sl_streq(again->hash, t->hash) || again->seq != t->seq)
            return WRONG("earlier", "transaction %s was rewritten since the earlier statement",
                         t->id);
        r->earlier_txns++;
    }
    return 0;
}

static int earlier_prices(const struct bill *old, const struct bill *new, struct sl_err *err)
{
    AUTO_INDEX struct index by_id = {0};
    for (int i = 0; i < new->prices.n; i++)
        index_put(&by_id, BILL_PRICES(new)[i].id, &BILL_PRICES(new)[i]);
    for (int i = 0; i < old->prices.n; i++) {
        const struct bill_price *p = &BILL_PRICES(old)[i], *again = index_get(&by_id, p->id);
        if (again &&
            (again->price_micro != p->price_micro || !sl_streq(again->model, p->model) ||
             !sl_streq(again->currency, p->currency) || !sl_streq(again->source, p->source) ||
             again->effective_us != p->effective_us))
            return WRONG("earlier", "price version %s was rewritten since the earlier statement",
                         p->id);
    }
    return 0;
}

static bool same_line(const struct bill_line *a, const struct bill_line *b)
{
    return sl_streq(a->lease, b->lease) && sl_streq(a->model, b->model) && a->gpus == b->gpus &&
           a->start_us == b->start_us && a->rate_micro == b->rate_micro &&
           sl_streq(a->price_version, b->price_version);
}

static int earlier_lines(const struct bill *old, const struct bill *new, struct bill_result *r,
                         struct sl_err *err)
{
    AUTO_INDEX struct index by_id = {0};
    bool covers = new->from_us <= old->from_us &&new->to_us >= old->to_us;
    for (int i = 0; i < new->lines.n; i++)
        index_put(&by_id, BILL_LINES(new)[i].segment, &BILL_LINES(new)[i]);
    for (int i = 0; i < old->lines.n; i++) {
        const struct bill_line *l = &BILL_LINES(old)[i], *again = index_get(&by_id, l->segment);
        if (!again && covers)
            return WRONG("earlier", "line %s of the earlier statement is gone", l->segment);
        if (!again)
            continue;
        if (!same_line(l, again))
            return WRONG("earlier", "line %s was rewritten since the earlier statement",
                         l->segment);
        bool kept = again->end_us == l->end_us && sl_streq(again->end_reason, l->end_reason) &&
                    (new->from_us != old->from_us || again->charge_micro == l->charge_micro);
        if (!l->open && covers && !kept)
            return WRONG("earlier", "line %s had ended and was changed since the earlier statement",
                         l->segment);
        if (again->heartbeat_last_us < l->heartbeat_last_us)
            return WRONG("earlier", "line %s: a proof of life of the earlier statement is gone",
                         l->segment);
        r->earlier_lines++;
    }
    return 0;
}

static int earlier_check(const struct bill *old, const struct bill *new, struct bill_result *r,
                         struct sl_err *err)
{
    if (!sl_streq(old->account, new->account) || !sl_streq(old->currency, new->currency))
        return WRONG("earlier", "the earlier statement is of another account or currency");
    if (!sl_streq(old->key, new->key))
        return WRONG("earlier", "the earlier statement was signed with another key");
    if (old->made_us > new->made_us)
        return sl_fail_at(err, SL_INVALID, "earlier",
                          "the earlier statement is the newer one of the two; swap them");
    const struct bill_ledger *last = old->ledger.n ? &BILL_LEDGER(old)[old->ledger.n - 1] : NULL;
    const struct bill_ledger *first = new->ledger.n ? BILL_LEDGER(new) : NULL;
    if (last && first && first->seq > last->seq + 1)
        return sl_fail_at(
            err, SL_INVALID, "earlier",
            "between the two statements transactions are missing; ask for a statement "
            "from the beginning of the earlier one");
    if (last && !first && !sl_streq(old->chain_head, new->chain_head) && new->to_us >= old->to_us)
        return WRONG("earlier", "transactions of the earlier statement are gone");
    if (earlier_prices(old, new, err) < 0 || earlier_lines(old, new, r, err) < 0)
        return -1;
    return earlier_ledger(old, new, r, err);
}

int bill_verify(const char *text, size_t n, const struct bill_options *o, struct bill_result *ret,
                struct sl_err *err)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct bill b, old;
    struct bill_result before;
    *ret = (struct bill_result){0};
    if (bill_read(text, n, true, &arena, &b, err) < 0)
        return -1;
    if (o->key_hex && !sl_streq(o->key_hex, b.key))
        return WRONG("key",
                     "the statement is signed with another key (%.16s...) than the one that "
                     "you trust",
                     b.key);
    if (content_check(&b, ret, err) < 0)
        return -1;
    if (!o->earlier)
        return 0;
    struct sl_err why = {0};
    if (bill_read(o->earlier, o->earlier_n, true, &arena, &old, &why) < 0 ||
        content_check(&old, &before, &why) < 0)
        return sl_fail_at(err, why.code, "earlier", "the earlier statement: %s", why.msg);
    return earlier_check(&old, &b, ret, err);
}

int bill_csv(const char *text, size_t n, struct sl_buf *out, struct sl_err *err)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct bill b;
    if (bill_read(text, n, false, &arena, &b, err) < 0)
        return -1;
    sl_buf_adds(out, "segment,lease,model,gpus,price_version,price_micro,rate_micro,start_us,"
                     "end_us,from_s,to_s,per_s,charge_micro,currency\n");
    for (int i = 0; i < b.lines.n; i++) {
        const struct bill_line *l = &BILL_LINES(&b)[i];
        int64_t price = 0, per_s = MONEY_HOUR_S;
        for (int k = 0; k < b.prices.n; k++)
            if (sl_streq(BILL_PRICES(&b)[k].id, l->price_version)) {
                price = BILL_PRICES(&b)[k].price_micro;
                per_s = bill_unit_seconds(BILL_PRICES(&b)[k].unit);
            }
        sl_buf_printf(out, "%s,%s,\"%s\",%lld,%s,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%s\n",
                      l->segment, l->lease, l->model, (long long)l->gpus, l->price_version,
                      (long long)price, (long long)l->rate_micro, (long long)l->start_us,
                      (long long)l->end_us, (long long)l->from_s, (long long)l->to_s,
                      (long long)per_s, (long long)l->charge_micro, b.currency);
    }
    if (out->over)
        return sl_fail(err, SL_TOO_LARGE, "the CSV is over %zu bytes", out->max);
    return 0;
}
