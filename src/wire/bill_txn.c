/* SPDX-License-Identifier: Apache-2.0
 *
 * The hash of a ledger transaction and the memo of a capture: what the server writes and what
 * anyone checks later, in one place.
 */
#include "wire/bill.h"

enum { TXN_TEXT_MAX = 16384 };

const char *bill_txn_hash(const struct bill_txn *t, const char *prev_hash, char out[SHA256_HEX])
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(TXN_TEXT_MAX);
    struct jw w = {&b};
    sl_buf_reserve(&b, 1000); /* one piece of memory, mostly */
    /* keys in alphabetical order: these are canonical bytes */
    jw_object(&w, NULL);
    jw_str(&w, "account", t->account);
    jw_str(&w, "currency", t->currency);
    jw_array(&w, "entries");
    for (int i = 0; i < t->n; i++) {
        jw_array(&w, NULL);
        jw_str(&w, NULL, t->entries[i].kind);
        jw_int(&w, NULL, t->entries[i].amount_micro);
        jw_end(&w);
    }
    jw_end(&w);
    jw_str(&w, "id", t->id);
    jw_str(&w, "kind", t->kind);
    jw_str(&w, "memo", t->memo);
    jw_str(&w, "prev_hash", prev_hash);
    jw_str(&w, "ref", t->ref);
    jw_int(&w, "seq", t->seq);
    jw_int(&w, "t_us", t->t_us);
    jw_end(&w);
    SL_ASSERT(!b.over);
    return sha256_hex(b.p, b.n, out);
}

/* Digits without sign or leading zeros. */
static bool seconds(struct sl_str s, int64_t *ret)
{
    if (s.n == 0 || s.n > 15 || (s.n > 1 && s.p[0] == '0'))
        return false;
    *ret = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        *ret = *ret * 10 + (s.p[i] - '0');
    }
    return true;
}

bool bill_memo_seconds(const char *memo, int64_t *ret_from_s, int64_t *ret_to_s)
{
    if (!sl_starts(memo, "seconds "))
        return false;
    const char *from = memo + strlen("seconds "), *dots = strstr(from, "..");
    if (!dots)
        return false;
    return seconds((struct sl_str){from, (size_t)(dots - from)}, ret_from_s) &&
           seconds(sl_str(dots + 2), ret_to_s);
}
