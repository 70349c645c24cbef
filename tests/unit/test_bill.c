/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements as a renter who trusts nobody would check them: changed bytes, forged fields under the
 * operator's own key, history rewritten as a whole.
 */
#include "money_world.h"

#define PRICE 2200000

/* What happened in a world; the operator who rewrites history runs another one with the same seed.
 */
struct history {
    int64_t price, first_topup, first_end_s;
    bool skip_second;
};
static const struct history honest = {PRICE, 50 * SL_MICRO, 5400, false};

struct story {
    struct world *w;
    char account[ID_TEXT], other[ID_TEXT], first[ID_TEXT], second[ID_TEXT];
};

/* Up to 90 minutes: a lease that ended, one that runs, and somebody else's. */
static struct story story_begin(const struct history *h)
{
    struct story s = {.w = world_open(77, true)};
    struct world *w = s.w;
    char foreign[ID_TEXT];
    DO(w, .kind = OP_PRICE, .model = "A", .micro = h->price);
    world_account(w, s.account);
    world_account(w, s.other);
    DO(w, .kind = OP_TOPUP, .account = s.other, .micro = 9 * SL_MICRO);
    w->now_us += SL_SEC;
    DO(w, .kind = OP_TRIAL, .account = s.account, .text = "person");
    DO(w, .kind = OP_TOPUP, .account = s.account, .micro = h->first_topup);
    world_lease(w, s.account, "A", 3, s.first);
    world_lease(w, s.other, "A", 1, foreign);
    DO(w, .kind = OP_RUN, .lease = s.first, .t_us = T0 + MINUTE);
    DO(w, .kind = OP_RUN, .lease = foreign, .t_us = T0 + MINUTE);
    w->now_us = T0 + 30 * MINUTE;
    DO(w, .kind = OP_TICK, .lease = s.first);
    if (!h->skip_second) {
        world_lease(w, s.account, "A", 1, s.second);
        DO(w, .kind = OP_RUN, .lease = s.second);
    }
    w->now_us = T0 + MINUTE + h->first_end_s * SL_SEC;
    DO(w, .kind = OP_STOP, .lease = s.first);
    w->now_us = T0 + 95 * MINUTE;
    if (!h->skip_second)
        DO(w, .kind = OP_TICK, .lease = s.second);
    return s;
}

/* Three hours on: everything has ended. */
static void story_end(struct story *s, const struct history *h)
{
    struct world *w = s->w;
    w->now_us = T0 + 3 * HOUR;
    DO(w, .kind = OP_TOPUP, .account = s->account, .micro = 5 * SL_MICRO);
    if (!h->skip_second)
        DO(w, .kind = OP_STOP, .lease = s->second);
    w->now_us = T0 + 4 * HOUR;
}

static void statement(struct story *s, int64_t from, int64_t to, struct sl_buf *out)
{
    *out = SL_BUF(BILL_MAX);
    DO(s->w, .kind = OP_STATEMENT, .account = s->account, .t_us = from, .to_us = to, .buf = out);
}

static void must_verify(const struct sl_buf *b, const struct bill_options *o, struct bill_result *r)
{
    struct sl_err err = {0};
    if (bill_verify(b->p, b->n, o, r, &err) < 0)
        fail_msg("%s: %s", err.field, err.msg);
}

static const char *refused(const struct sl_buf *b, const struct sl_buf *earlier, enum sl_code code)
{
    static struct sl_err err;
    struct bill_result r;
    struct bill_options o = {.earlier = earlier ? earlier->p : NULL,
                             .earlier_n = earlier ? earlier->n : 0};
    err = (struct sl_err){0};
    if (bill_verify(b->p, b->n, &o, &r, &err) == 0)
        fail_msg("accepted");
    if (code && err.code != code)
        fail_msg("code %d: %s", err.code, err.msg);
    assert_true(*err.msg && *err.field);
    return err.msg;
}

static void an_honest_statement_verifies_and_says_what_was_checked(void **state)
{
    (void)state;
    struct story s = story_begin(&honest);
    SL_AUTO_BUF struct sl_buf b;
    struct bill_result r;
    statement(&s, 0, 0, &b);
    must_verify(&b, &(struct bill_options){.key_hex = s.w->s.sign_public}, &r);
    assert_string_equal(r.account, s.account);
    assert_int_equal(r.lines, 2);
    assert_int_equal(r.open_lines, 1);
    assert_int_equal(r.prices, 1);
    assert_int_equal(r.opening_micro, 0);
    assert_int_equal(r.total_micro, money_charge(3 * PRICE, 5400) + money_charge(PRICE, 65 * 60));
    assert_int_equal(r.closing_micro, 60 * SL_MICRO - r.total_micro);
    assert_null(strstr(b.p, s.other)); /* nothing of another renter (I17) */
    world_close(s.w);
}

static void any_changed_byte_is_noticed(void **state)
{
    (void)state;
    struct story s = story_begin(&honest);
    SL_AUTO_BUF struct sl_buf b;
    struct sl_err err;
    struct bill_result r;
    statement(&s, 0, 0, &b);
    for (size_t i = 0; i < b.n; i += 3) {
        b.p[i] ^= 1;
        err = (struct sl_err){0};
        if (bill_verify(b.p, b.n, &(struct bill_options){0}, &r, &err) == 0)
            fail_msg("byte %zu (%.20s) was changed and not noticed", i, b.p + i);
        b.p[i] ^= 1;
    }
    for (size_t n = 0; n < b.n; n += 97) { /* and a file that was cut */
        err = (struct sl_err){0};
        assert_int_equal(bill_verify(b.p, n, &(struct bill_options){0}, &r, &err), -1);
    }
    must_verify(&b, &(struct bill_options){0}, &r);
    world_close(s.w);
}

/* ---- forgeries under the right key ---- */

static void sign_again(struct server *s, const char *body, size_t n, struct sl_buf *out)
{
    char signature[SIGN_HEX];
    struct jw w = {out};
    SL_AUTO_FREE char *text = sl_strndup(body, n);
    sign_make(s->sign_secret, body, n, signature);
    jw_object(&w, NULL);
    jw_raw(&w, "statement", text);
    jw_str(&w, "key", s->sign_public);
    jw_str(&w, "signature", signature);
    jw_end(&w);
}

struct scan {
    const char *p, *end;
    char key[40];
    const char *value; /* of the token just found */
    size_t value_n;
    bool is_text;
};
/* The next number or string value of canonical JSON with the key that it is under. */
static bool scan_next(struct scan *s)
{
    while (s->p < s->end) {
        const char *at = s->p;
        if (*at == '"') {
            const char *close = at + 1;
            while (*close != '"')
                close += *close == '\\' ? 2 : 1;
            s->p = close + 1;
            if (*s->p == ':') {
                snprintf(s->key, sizeof s->key, "%.*s", (int)(close - at - 1), at + 1);
                continue;
            }
            s->value = at + 1;
            s->value_n = (size_t)(close - at - 1);
            s->is_text = true;
            return true;
        }
        if (*at == '-' || (*at >= '0' && *at <= '9')) {
            while (*s->p == '-' || (*s->p >= '0' && *s->p <= '9'))
                s->p++;
            s->value = at;
            s->value_n = (size_t)(s->p - at);
            s->is_text = false;
            return true;
        }
        s->p++;
    }
    return false;
}

static bool one_of(const char *key, const char *const *list)
{
    while (*list && !sl_streq(*list, key))
        list++;
    return *list != NULL;
}

/* What a single statement cannot prove; an earlier copy can for most of it. */
static const char *const unprovable[] = {"made",         "from",  "to",   "heartbeat_last_us",
                                         "effective_us", "lease", "name", "end_reason",
                                         "source",       NULL};

static void a_forged_field_is_noticed_even_under_the_right_key(void **state)
{
    (void)state;
    struct story s = story_begin(&honest);
    SL_AUTO_BUF struct sl_buf b;
    struct sl_err err = {0};
    struct bill_result r;
    int tried = 0;
    story_end(&s, &honest);
    statement(&s, 0, 0, &b);
    const char *begin = strstr(b.p, "{\"account\""), *end = strstr(b.p, ",\"key\":");
    assert_non_null(begin);
    struct scan scan = {.p = begin, .end = end};
    while (scan_next(&scan)) {
        SL_AUTO_BUF struct sl_buf body = SL_BUF(BILL_MAX), forged = SL_BUF(BILL_MAX);
        char text[80];
        if (one_of(scan.key, unprovable))
            continue;
        sl_buf_add(&body, begin, (size_t)(scan.value - begin));
        if (scan.is_text && scan.value_n == 0) {
            sl_buf_addc(&body, 'x');
        } else if (scan.is_text) {
            sl_buf_add(&body, scan.value, scan.value_n - 1);
            sl_buf_addc(&body, scan.value[scan.value_n - 1] == '0' ? '1' : '0');
        } else {
            snprintf(text, sizeof text, "%.*s", (int)scan.value_n, scan.value);
            long long v = strtoll(text, NULL, 10);
            v += strstr(scan.key, "_us") ? SL_SEC : 1;
            sl_buf_printf(&body, "%lld", v);
        }
        sl_buf_add(&body, scan.value + scan.value_n,
                   (size_t)(end - scan.value - (ptrdiff_t)scan.value_n));
        sign_again(&s.w->s, body.p, body.n, &forged);
        err = (struct sl_err){0};
        if (bill_verify(forged.p, forged.n, &(struct bill_options){0}, &r, &err) == 0)
            fail_msg("%s \"%.*s\" was forged and not noticed", scan.key, (int)scan.value_n,
                     scan.value);
        tried++;
    }
    assert_true(tried > 150);
    world_close(s.w);
}

static void a_forged_number_that_is_huge_is_refused_and_does_not_stop_the_program(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "\"rate_micro\":",   "\"to_s\":", "\"from_s\":",        "\"end_us\":", "\"price_micro\":",
        "\"charge_micro\":", "\"gpus\":", "\"opening_micro\":", "\"t_us\":"};
    static const char *const values[] = {"9000000000000000000",
                                         "9223372036854775807",
                                         "1099511627776",
                                         "-9000000000000000000",
                                         "99999999999999999999999",
                                         "1e3",
                                         "0.5",
                                         "null",
                                         "\"5\"",
                                         "[]"};
    struct story s = story_begin(&honest);
    SL_AUTO_BUF struct sl_buf b;
    struct bill_result r;
    statement(&s, 0, 0, &b);
    const char *begin = strstr(b.p, "{\"account\""), *end = strstr(b.p, ",\"key\":");
    for (size_t k = 0; k < SL_COUNT(keys); k++)
        for (size_t v = 0; v < SL_COUNT(values); v++) {
            SL_AUTO_BUF struct sl_buf body = SL_BUF(BILL_MAX), forged = SL_BUF(BILL_MAX);
            struct sl_err err = {0};
            const char *at = strstr(begin, keys[k]) + strlen(keys[k]), *rest = at;
            while (*rest != ',' && *rest != '}')
                rest++;
            sl_buf_add(&body, begin, (size_t)(at - begin));
            sl_buf_adds(&body, values[v]);
            sl_buf_add(&body, rest, (size_t)(end - rest));
            sign_again(&s.w->s, body.p, body.n, &forged);
            if (bill_verify(forged.p, forged.n, &(struct bill_options){0}, &r, &err) == 0)
                fail_msg("%s%s accepted", keys[k], values[v]);
        }
    world_close(s.w);
}

static void another_key_is_refused_when_the_renter_knows_the_right_one(void **state)
{
    (void)state;
    struct story s = story_begin(&honest);
    char public[SIGN_KEY_HEX], secret[SIGN_HEX], pinned[SIGN_KEY_HEX];
    SL_AUTO_BUF struct sl_buf b;
    struct bill_result r;
    struct sl_err err = {0};
    memcpy(pinned, s.w->s.sign_public, sizeof pinned);
    sign_keypair(public, secret);
    memcpy(s.w->s.sign_public, public, sizeof public);
    memcpy(s.w->s.sign_secret, secret, sizeof secret);
    statement(&s, 0, 0, &b);
    must_verify(&b, &(struct bill_options){0}, &r); /* whole in itself */
    assert_int_equal(bill_verify(b.p, b.n, &(struct bill_options){.key_hex = pinned}, &r, &err),
                     -1);
    assert_int_equal(err.code, SL_INTEGRITY);
    assert_string_equal(err.field, "key");
    world_close(s.w);
}

/* ---- a dishonest database, made consistent ---- */

struct link {
    char id[ID_TEXT], kind[16], ref[ID_TEXT], memo[64];
    int64_t t_us, amounts[8];
    char kinds[8][16];
    int n;
};

static int link_read(struct db_c *c, const char *account, int64_t seq, struct link *l,
                     struct sl_err *err)
{
    struct db_q q;
    int rc;
    *l = (struct link){0};
    if (db_query(
            c, &q, err,
            "SELECT t.id, t.kind, t.ref, t.memo, t.t_us, a.kind, e.amount_micro FROM txn t "
            "JOIN entry e ON e.txn_id = t.id JOIN ledger_account a ON a.id = "
            "e.ledger_account_id WHERE t.account_id = ?1 AND t.account_seq = ?2 ORDER BY e.idx",
            "ti", account, seq) < 0)
        return -1;
    for (; (rc = db_next(&q, err)) > 0; l->n++) {
        snprintf(l->id, sizeof l->id, "%s", db_text(&q, 0));
        snprintf(l->kind, sizeof l->kind, "%s", db_text(&q, 1));
        snprintf(l->ref, sizeof l->ref, "%s", db_text(&q, 2));
        snprintf(l->memo, sizeof l->memo, "%s", db_text(&q, 3));
        l->t_us = db_int(&q, 4);
        snprintf(l->kinds[l->n], sizeof l->kinds[0], "%s", db_text(&q, 5));
        l->amounts[l->n] = db_int(&q, 6);
    }
    db_done(&q);
    return rc < 0 ? -1 : l->n > 0;
}

static const char *chain_begin = BILL_GENESIS;

/* What a dishonest operator does after changing rows: all hashes anew. */
static int rechain(struct db_c *c, void *arg, struct sl_err *err)
{
    const char *account = arg;
    char prev[SHA256_HEX], hash[SHA256_HEX];
    struct link l;
    int rc;
    snprintf(prev, sizeof prev, "%s", chain_begin);
    for (int64_t seq = 1; (rc = link_read(c, account, seq, &l, err)) > 0; seq++) {
        struct bill_entry e[8];
        for (int i = 0; i < l.n; i++)
            e[i] = (struct bill_entry){l.kinds[i], l.amounts[i]};
        struct bill_txn t = {.seq = seq,
                             .id = l.id,
                             .kind = l.kind,
                             .ref = l.ref,
                             .account = account,
                             .memo = l.memo,
                             .currency = "CNY",
                             .t_us = l.t_us,
                             .entries = e,
                             .n = l.n};
        bill_txn_hash(&t, prev, hash);
        if (db_exec(c, err, "UPDATE txn SET prev_hash = ?2, hash = ?3 WHERE id = ?1", "ttt", l.id,
                    prev, hash) < 0)
            return -1;
        memcpy(prev, hash, sizeof prev);
    }
    return rc;
}

/* Three captures of 600 s each at 0.001 a second, a stop, and a second stretch of the same lease.
 */
static struct story three_captures(void)
{
    static const char *const guards[] = {"txn_no_update", "entry_no_update", "segment_closed",
                                         "segment_pinned"};
    char sql[200];
    struct story s = {.w = world_open(78, true)};
    struct world *w = s.w;
    DO(w, .kind = OP_PRICE, .model = "A", .micro = 3600000);
    world_account(w, s.account);
    DO(w, .kind = OP_TOPUP, .account = s.account, .micro = 50 * SL_MICRO);
    world_lease(w, s.account, "A", 1, s.first);
    DO(w, .kind = OP_RUN, .lease = s.first);
    for (int i = 1; i <= 3; i++) {
        w->now_us = T0 + i * 600 * SL_SEC;
        DO(w, .kind = OP_TICK, .lease = s.first);
    }
    DO(w, .kind = OP_STOP, .lease = s.first);
    snprintf(sql, sizeof sql, "UPDATE lease SET epoch = 2, state = 'starting' WHERE id = '%s'",
             s.first);
    DO(w, .kind = OP_SQL, .text = sql);
    DO(w, .kind = OP_HOLD, .account = s.account, .lease = s.first, .micro = 600000);
    w->now_us += 600 * SL_SEC;
    DO(w, .kind = OP_RUN, .lease = s.first);
    w->now_us += 600 * SL_SEC;
    DO(w, .kind = OP_STOP, .lease = s.first);
    assert_audit(w);
    for (size_t i = 0; i < SL_COUNT(guards); i++) {
        snprintf(sql, sizeof sql, "DROP TRIGGER %s", guards[i]);
        DO(w, .kind = OP_SQL, .text = sql);
    }
    return s;
}

#define CAPTURE(n) "(SELECT id FROM txn WHERE kind = 'capture' ORDER BY seq LIMIT 1 OFFSET " #n ")"
static const struct {
    const char *sql[2], *says;
} dishonest[] = {
    {{"UPDATE segment SET end_us = end_us WHERE 0", NULL}, NULL}, /* nothing changed: it verifies */
    {{"UPDATE entry SET amount_micro = amount_micro + CASE WHEN amount_micro > 0 THEN 9 ELSE -9 "
      "END "
      "WHERE txn_id = " CAPTURE(0),
      "UPDATE entry SET amount_micro = amount_micro - CASE WHEN amount_micro > 0 THEN 9 ELSE -9 "
      "END "
      "WHERE txn_id = " CAPTURE(1)},
     "its seconds cost"}, /* the line's sum is right, its parts are not */
    {{"UPDATE entry SET amount_micro = amount_micro - CASE WHEN amount_micro > 0 THEN 9 ELSE -9 "
      "END "
      "WHERE txn_id = " CAPTURE(0),
      "UPDATE entry SET amount_micro = amount_micro + CASE WHEN amount_micro > 0 THEN 9 ELSE -9 "
      "END "
      "WHERE txn_id = " CAPTURE(1)},
     "its seconds cost"},
    {{"UPDATE txn SET memo = 'seconds 540..1140' WHERE id = " CAPTURE(1), NULL},
     "do not follow"}, /* a minute twice, and one left out */
    {{"UPDATE txn SET memo = 'seconds 600..1200 ' WHERE id = " CAPTURE(1), NULL}, "does not say"},
    {{"UPDATE segment SET start_us = start_us - 700000000, end_us = end_us - 700000000 WHERE seq = "
      "2",
      NULL},
     "twice for the same time"},
    {{"UPDATE segment SET end_us = end_us - 1000000 WHERE seq = 1", NULL}, "start and end"},
    {{"UPDATE txn SET kind = 'goodwill' WHERE id = " CAPTURE(1), NULL}, "s at this rate cost"},
    {{"UPDATE txn SET ref = 'seg_x' WHERE id = " CAPTURE(1), NULL}, "s at this rate cost"},
    {{"UPDATE entry SET amount_micro = amount_micro - 40000000 * CASE WHEN amount_micro > 0 THEN 1 "
      "ELSE -1 END WHERE txn_id = (SELECT id FROM txn WHERE kind = 'topup')",
      "UPDATE entry SET amount_micro = amount_micro - 9000000 * CASE WHEN amount_micro > 0 THEN 1 "
      "ELSE -1 END WHERE txn_id = (SELECT id FROM txn WHERE kind = 'topup')"},
     "below zero"},
    {{"UPDATE entry SET amount_micro = amount_micro + 1 WHERE amount_micro > 0 AND txn_id = "
      "(SELECT "
      "id FROM txn WHERE kind = 'topup')",
      NULL},
     "do not sum to zero"},
    {{"UPDATE txn SET t_us = t_us - 700000000 WHERE id = " CAPTURE(2), NULL}, "does not follow"},
};

static void a_dishonest_database_with_whole_chains_is_noticed_in_the_statement(void **state)
{
    (void)state;
    for (size_t i = 0; i < SL_COUNT(dishonest); i++) {
        struct story s = three_captures();
        struct sl_err err = {0};
        struct bill_result r;
        SL_AUTO_BUF struct sl_buf b = SL_BUF(BILL_MAX);
        for (int k = 0; k < 2 && dishonest[i].sql[k]; k++)
            DO(s.w, .kind = OP_SQL, .text = dishonest[i].sql[k]);
        if (!dishonest[i].sql[0])
            chain_begin = "1111111111111111111111111111111111111111111111111111111111111111";
        assert_int_equal(db_write(s.w->s.db, rechain, s.account, &err), 0);
        struct op o = {.kind = OP_STATEMENT, .account = s.account, .buf = &b};
        if (op_try(s.w, &o, &err) < 0) { /* the server itself cannot make sense of it */
            assert_int_equal(err.code, SL_INTEGRITY);
        } else if (!dishonest[i].says) {
            must_verify(&b, &(struct bill_options){0}, &r);
        } else {
            const char *msg = refused(&b, NULL, SL_INTEGRITY);
            if (!strstr(msg, dishonest[i].says))
                fail_msg("row %zu: %s", i, msg);
        }
        chain_begin = BILL_GENESIS;
        world_close(s.w);
    }
}

/* ---- against an earlier copy ---- */

static void history_goes_on_and_the_earlier_statement_is_found_in_the_later_one(void **state)
{
    (void)state;
    struct story s = story_begin(&honest);
    SL_AUTO_BUF struct sl_buf early, late;
    struct bill_result r;
    statement(&s, 0, 0, &early);
    story_end(&s, &honest);
    statement(&s, 0, 0, &late);
    must_verify(&late, &(struct bill_options){.earlier = early.p, .earlier_n = early.n}, &r);
    assert_int_equal(r.earlier_lines, 2);
    assert_true(r.earlier_txns > 8);
    assert_non_null(strstr(refused(&early, &late, SL_INVALID), "swap"));
    world_close(s.w);
}

static void an_operator_who_rewrites_history_as_a_whole_is_caught_by_the_earlier_copy(void **state)
{
    (void)state;
    static const struct {
        struct history h;
        const char *says;
    } rewrites[] = {
        {{PRICE + 1, 50 * SL_MICRO, 5400, false}, "price version"},
        {{PRICE, 50 * SL_MICRO + 1, 5400, false}, "was rewritten"},
        {{PRICE, 50 * SL_MICRO, 5401, false}, "had ended and was changed"},
        {{PRICE, 50 * SL_MICRO, 5400, true}, "is gone"},
    };
    struct story s = story_begin(&honest);
    SL_AUTO_BUF struct sl_buf early;
    struct bill_result r;
    statement(&s, 0, 0, &early);
    for (size_t i = 0; i < SL_COUNT(rewrites); i++) {
        struct story fake = story_begin(&rewrites[i].h);
        SL_AUTO_BUF struct sl_buf late;
        memcpy(fake.w->s.sign_public, s.w->s.sign_public, SIGN_KEY_HEX);
        memcpy(fake.w->s.sign_secret, s.w->s.sign_secret, SIGN_HEX);
        assert_string_equal(fake.account, s.account);
        story_end(&fake, &rewrites[i].h);
        statement(&fake, 0, 0, &late);
        must_verify(&late, &(struct bill_options){0}, &r); /* whole in itself */
        const char *msg = refused(&late, &early, SL_INTEGRITY);
        if (!strstr(msg, rewrites[i].says))
            fail_msg("rewrite %zu: %s", i, msg);
        /* also when the later statement begins after what was rewritten */
        SL_AUTO_BUF struct sl_buf tail;
        statement(&fake, T0 + 96 * MINUTE, 0, &tail);
        must_verify(&tail, &(struct bill_options){0}, &r);
        refused(&tail, &early, 0);
        world_close(fake.w);
    }
    world_close(s.w);
}

static void an_earlier_copy_shows_a_key_that_changed_and_a_proof_of_life_that_vanished(void **state)
{
    (void)state;
    struct story s = story_begin(&honest);
    SL_AUTO_BUF struct sl_buf early, late, other;
    char public[SIGN_KEY_HEX], secret[SIGN_HEX], sql[256];
    snprintf(sql, sizeof sql,
             "INSERT INTO heartbeat(lease_id, epoch, minute_us, first_us, last_us, count) "
             "VALUES('%s', 1, 0, 1, %lld, 1)",
             s.first, (long long)T0);
    DO(s.w, .kind = OP_SQL, .text = sql);
    statement(&s, 0, 0, &early);
    story_end(&s, &honest);
    DO(s.w, .kind = OP_SQL, .text = "DELETE FROM heartbeat");
    statement(&s, 0, 0, &late);
    assert_non_null(strstr(refused(&late, &early, SL_INTEGRITY), "proof of life"));
    DO(s.w, .kind = OP_SQL, .text = sql);
    sign_keypair(public, secret);
    memcpy(s.w->s.sign_public, public, sizeof public);
    memcpy(s.w->s.sign_secret, secret, sizeof secret);
    statement(&s, 0, 0, &other);
    assert_non_null(strstr(refused(&other, &early, SL_INTEGRITY), "another key"));
    world_close(s.w);
}

static void statements_of_periods_add_up_and_continue_each_other(void **state)
{
    (void)state;
    struct story s = story_begin(&honest);
    SL_AUTO_BUF struct sl_buf all;
    struct bill_result whole, r, before = {0};
    static const int64_t cuts[] = {
        T0, T0 + 20 * MINUTE, T0 + 30 * MINUTE, T0 + 92 * MINUTE, T0 + 170 * MINUTE, T0 + 5 * HOUR};
    int64_t total = 0;
    story_end(&s, &honest);
    statement(&s, 0, 0, &all);
    must_verify(&all, &(struct bill_options){0}, &whole);
    SL_AUTO_BUF struct sl_buf last = SL_BUF(1);
    for (size_t i = 0; i + 1 < SL_COUNT(cuts); i++) {
        struct sl_buf b;
        statement(&s, cuts[i], cuts[i + 1], &b);
        must_verify(&b, &(struct bill_options){.earlier = i ? last.p : NULL, .earlier_n = last.n},
                    &r);
        total += r.total_micro;
        if (i)
            assert_int_equal(r.opening_micro, before.closing_micro);
        before = r;
        sl_buf_free(&last);
        last = b;
    }
    assert_int_equal(total, whole.total_micro);
    assert_int_equal(before.closing_micro, whole.closing_micro);
    assert_string_equal(before.chain_head, whole.chain_head);
    SL_AUTO_BUF struct sl_buf first;
    statement(&s, cuts[0], cuts[1], &first);
    assert_non_null(
        strstr(refused(&last, &first, SL_INVALID), "missing")); /* a gap proves nothing */
    world_close(s.w);
}

static void
openmeter_4649_a_later_payment_does_not_change_the_statement_of_a_closed_period(void **state)
{
    (void)state;
    struct story s = story_begin(&honest);
    SL_AUTO_BUF struct sl_buf a, b;
    int64_t to = s.w->now_us + 1;
    statement(&s, T0, to, &a);
    s.w->now_us += MINUTE;
    DO(s.w, .kind = OP_TOPUP, .account = s.account, .micro = 77 * SL_MICRO);
    DO(s.w, .kind = OP_TICK, .lease = s.second);
    statement(&s, T0, to, &b);
    const char *ma = strstr(a.p, "\"made\":"), *mb = strstr(b.p, "\"made\":");
    assert_int_equal(ma - a.p, mb - b.p);
    assert_memory_equal(a.p, b.p, (size_t)(ma - a.p));
    const char *ra = strchr(ma, ','), *rb = strchr(mb, ','), *sa = strstr(ra, "\"signature\"");
    assert_memory_equal(ra, rb, (size_t)(sa - ra));
    world_close(s.w);
}

static void files_that_are_no_statement_are_refused_in_words(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "{}",
        "[]",
        "null",
        "{\"statement\":{},\"key\":\"\",\"signature\":\"\"}",
        "{\"statement\":{},\"key\":\"00\",\"signature\":\"00\"}",
        "{\"statement\":{},\"key\":\"00\",\"signature\":\"00\",\"x\":1}",
        "\xff\xfe"};
    for (size_t i = 0; i < SL_COUNT(texts); i++) {
        struct sl_err err = {0};
        struct bill_result r;
        SL_AUTO_BUF struct sl_buf csv = SL_BUF(4096);
        assert_int_equal(
            bill_verify(texts[i], strlen(texts[i]), &(struct bill_options){0}, &r, &err), -1);
        assert_true(*err.msg);
        assert_int_equal(bill_csv(texts[i], strlen(texts[i]), &csv, &err), -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_honest_statement_verifies_and_says_what_was_checked),
        cmocka_unit_test(any_changed_byte_is_noticed),
        cmocka_unit_test(a_forged_field_is_noticed_even_under_the_right_key),
        cmocka_unit_test(a_forged_number_that_is_huge_is_refused_and_does_not_stop_the_program),
        cmocka_unit_test(a_dishonest_database_with_whole_chains_is_noticed_in_the_statement),
        cmocka_unit_test(another_key_is_refused_when_the_renter_knows_the_right_one),
        cmocka_unit_test(history_goes_on_and_the_earlier_statement_is_found_in_the_later_one),
        cmocka_unit_test(an_operator_who_rewrites_history_as_a_whole_is_caught_by_the_earlier_copy),
        cmocka_unit_test(
            an_earlier_copy_shows_a_key_that_changed_and_a_proof_of_life_that_vanished),
        cmocka_unit_test(statements_of_periods_add_up_and_continue_each_other),
        cmocka_unit_test(
            openmeter_4649_a_later_payment_does_not_change_the_statement_of_a_closed_period),
        cmocka_unit_test(files_that_are_no_statement_are_refused_in_words),
    };
    return cmocka_run_group_tests_name("statements", tests, NULL, NULL);
}
