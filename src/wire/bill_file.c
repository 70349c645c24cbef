/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/bill_file.h"

enum { TEXT_MAX = 512, LIST_MAX = 1 << 20, ENTRIES_MAX = 8 };
#define AMOUNT_MAX 9000000000000000000LL
#define TIME_MAX_US (253402300799LL * SL_SEC) /* 9999-12-31 */
#define TEXT(T, m, name) JR_STR(T, m, name, JR_REQUIRED, 0, TEXT_MAX)
#define TIME(T, m, name) JR_INT(T, m, name, JR_REQUIRED, 0, TIME_MAX_US)
#define AMOUNT(T, m, name) JR_INT(T, m, name, JR_REQUIRED, -AMOUNT_MAX, AMOUNT_MAX)
#define COUNT(T, m, name, max) JR_INT(T, m, name, JR_REQUIRED, 0, max)
#define SECONDS_MAX (1LL << 40)

static const struct jr_field line_fields[] = {
    TEXT(struct bill_line, segment, "segment"),
    TEXT(struct bill_line, lease, "lease"),
    TEXT(struct bill_line, name, "name"),
    TEXT(struct bill_line, model, "model"),
    COUNT(struct bill_line, gpus, "gpus", 1 << 20),
    TIME(struct bill_line, start_us, "start_us"),
    TIME(struct bill_line, end_us, "end_us"),
    JR_BOOL(struct bill_line, open, "open", JR_REQUIRED),
    COUNT(struct bill_line, from_s, "from_s", SECONDS_MAX),
    COUNT(struct bill_line, to_s, "to_s", SECONDS_MAX),
    JR_INT(struct bill_line, seconds, "seconds", JR_REQUIRED, -SECONDS_MAX, SECONDS_MAX),
    COUNT(struct bill_line, rate_micro, "rate_micro", AMOUNT_MAX),
    TEXT(struct bill_line, price_version, "price_version"),
    AMOUNT(struct bill_line, charge_micro, "charge_micro"),
    TIME(struct bill_line, heartbeat_last_us, "heartbeat_last_us"),
    TEXT(struct bill_line, end_reason, "end_reason"),
    {0}};
static const struct jr_field price_fields[] = {
    TEXT(struct bill_price, id, "id"),
    TEXT(struct bill_price, model, "model"),
    COUNT(struct bill_price, price_micro, "price_micro", AMOUNT_MAX),
    TEXT(struct bill_price, currency, "currency"),
    TEXT(struct bill_price, unit, "unit"),
    TIME(struct bill_price, effective_us, "effective_us"),
    TEXT(struct bill_price, source, "source"),
    {0}};
static const struct jr_field ledger_fields[] = {
    COUNT(struct bill_ledger, seq, "seq", AMOUNT_MAX),
    TEXT(struct bill_ledger, id, "id"),
    TEXT(struct bill_ledger, kind, "kind"),
    TEXT(struct bill_ledger, ref, "ref"),
    TEXT(struct bill_ledger, memo, "memo"),
    TIME(struct bill_ledger, t_us, "t_us"),
    {"entries", JR_K_RAW, JR_REQUIRED, offsetof(struct bill_ledger, entries_json), 0, 0},
    JR_STR(struct bill_ledger, prev_hash, "prev_hash", JR_REQUIRED, 64, 64),
    JR_STR(struct bill_ledger, hash, "hash", JR_REQUIRED, 64, 64),
    {0}};
#define LIST(m, name, fields, T)                                                                   \
    {                                                                                              \
        name, JR_K_LIST, JR_REQUIRED, offsetof(struct bill, m), 0, LIST_MAX, fields, sizeof(T)     \
    }
static const struct jr_field statement_fields[] = {
    JR_INT(struct bill, version, "version", JR_REQUIRED, 1, 1),
    JR_STR(struct bill, account, "account", JR_REQUIRED, 1, 39),
    TIME(struct bill, from_us, "from"),
    TIME(struct bill, to_us, "to"),
    JR_STR(struct bill, currency, "currency", JR_REQUIRED, 3, 3),
    TIME(struct bill, made_us, "made"),
    LIST(lines, "lines", line_fields, struct bill_line),
    LIST(prices, "prices", price_fields, struct bill_price),
    LIST(ledger, "ledger", ledger_fields, struct bill_ledger),
    AMOUNT(struct bill, opening_micro, "opening_micro"),
    AMOUNT(struct bill, closing_micro, "closing_micro"),
    AMOUNT(struct bill, total_charge_micro, "total_charge_micro"),
    JR_STR(struct bill, chain_head, "chain_head", JR_REQUIRED, 64, 64),
    {0}};

/* [["cash",-5],["held_cash",5]] */
static int entries_read(struct bill_ledger *l, struct sl_arena *arena, struct sl_err *err)
{
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    if (jr_open(l->entries_json, strlen(l->entries_json), &doc, err) < 0)
        return -1;
    size_t n = jr_len(jr_root(doc));
    if (n < 2 || n > ENTRIES_MAX)
        return sl_fail_at(err, SL_INVALID, "entries", "ledger %.40s: entries: %zu of them", l->id,
                          n);
    l->entries = sl_arena_alloc(arena, n * sizeof *l->entries);
    l->n = (int)n;
    for (size_t i = 0; i < n; i++) {
        const struct jr_val *e = jr_at(jr_root(doc), i);
        const char *kind = jr_text(jr_at(e, 0), NULL);
        int64_t amount = jr_i64(jr_at(e, 1), INT64_MIN);
        if (jr_len(e) != 2 || !kind || amount > AMOUNT_MAX || amount < -AMOUNT_MAX)
            return sl_fail_at(err, SL_INVALID, "entries",
                              "ledger %.40s: entries[%zu] is not [kind, micro-units]", l->id, i);
        l->entries[i] = (struct bill_entry){sl_arena_strdup(arena, kind), amount};
    }
    return 0;
}

/* The file's three members, nothing else; *ret_body = canonical bytes of "statement". */
static int envelope_read(const char *text, size_t n, struct sl_arena *arena, struct bill *ret,
                         struct sl_buf *ret_body, struct sl_err *err)
{
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    void *it = NULL;
    const struct jr_val *v, *body = NULL;
    if (jr_open(text, n, &doc, err) < 0)
        return -1;
    ret->key = ret->signature = "";
    for (const char *key; (key = jr_member(jr_root(doc), &it, &v));) {
        if (sl_streq(key, "statement"))
            body = v;
        else if (sl_streq(key, "key"))
            ret->key = sl_arena_strdup(arena, jr_text(v, ""));
        else if (sl_streq(key, "signature"))
            ret->signature = sl_arena_strdup(arena, jr_text(v, ""));
        else
            return sl_fail_at(err, SL_INVALID, "file",
                              "the file has a member \"%.40s\" that a statement has not", key);
    }
    if (!body || !*ret->key || !*ret->signature)
        return sl_fail_at(err, SL_INVALID, "file",
                          "the file is no statement: it needs statement, key and signature");
    return jr_canonical(body, ret_body, err);
}

int bill_read(const char *text, size_t n, bool check_signature, struct sl_arena *arena,
              struct bill *ret, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf body = SL_BUF(BILL_MAX);
    *ret = (struct bill){0};
    if (n > BILL_MAX)
        return sl_fail(err, SL_TOO_LARGE, "the file is larger than %d bytes", BILL_MAX);
    crypto_init();
    if (envelope_read(text, n, arena, ret, &body, err) < 0)
        return -1;
    if (check_signature && !sign_ok(ret->key, body.p, body.n, ret->signature))
        return sl_fail_at(err, SL_INTEGRITY, "signature",
                          "the signature does not fit the content: the file was changed after it "
                          "was signed");
    if (jr_parse(body.p, body.n, statement_fields, ret, arena, err) < 0)
        return -1;
    for (int i = 0; i < ret->ledger.n; i++)
        if (entries_read(&BILL_LEDGER(ret)[i], arena, err) < 0)
            return -1;
    return 0;
}
