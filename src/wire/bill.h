/* SPDX-License-Identifier: Apache-2.0
 *
 * bill.h: checks a statement file offline, with nothing but the file: signature, every line and
 * every capture recomputed from its price version and seconds, the account's hash chain, all sums.
 * Against an earlier statement it also shows an operator who rewrote a price, a segment or the
 * whole chain.
 *
 *     struct bill_options o = {.key_hex = pinned};              NULL: the key in the file is
 * believed struct bill_result r; if (bill_verify(text, n, &o, &r, err) < 0) puts(err->msg) the
 * first thing that is wrong
 *
 * The file format is written down in docs/money.md.
 */
#ifndef WIRE_BILL_H
#define WIRE_BILL_H
#include "base/core/clock.h"
#include "base/core/money.h"
#include "base/io/crypto.h"
#include "base/io/json.h"

enum { BILL_MAX = 64 << 20 }; /* bytes of a statement file */
#define BILL_GENESIS "0000000000000000000000000000000000000000000000000000000000000000"

struct bill_options {
    const char *key_hex; /* the control plane's public key, or NULL */
    const char *earlier; /* text of an earlier statement of the same account, or NULL */
    size_t earlier_n;
};
struct bill_result {
    char account[40], currency[4], key_hex[SIGN_KEY_HEX], chain_head[SHA256_HEX];
    int64_t from_us, to_us;
    int lines, txns, prices;         /* how many were checked */
    int open_lines;                  /* still running when the statement was made */
    int earlier_lines, earlier_txns; /* found again unchanged */
    int64_t total_micro, opening_micro, closing_micro;
};

/* 0: everything holds. -1: SL_INTEGRITY says the first thing that does not (err->field names its
 * place), SL_INVALID when the file is no statement. */
int bill_verify(const char *text, size_t n, const struct bill_options *o, struct bill_result *ret,
                struct sl_err *err);
/* The lines as CSV, amounts as integers of micro-units, so that any tool can recompute them:
 * charge_micro = R(rate_micro * to_s / per_s) - R(rate_micro * from_s / per_s). No check is made.
 */
/* The lines as CSV in the columns of FOCUS 1.0, after everything was checked as bill_verify does:
 * the costs sum to the statement's total. `provider`: who sells. */
int bill_focus(const char *statement, size_t n, const char *provider, struct sl_buf *out,
               struct sl_err *err);
int bill_csv(const char *text, size_t n, struct sl_buf *out, struct sl_err *err);

/* Hash of one ledger transaction over the account's previous one (BILL_GENESIS at first). */
struct bill_entry {
    const char *kind;
    int64_t amount_micro;
};
struct bill_txn {
    int64_t seq; /* 1, 2, ... within the account */
    const char *id, *kind, *ref, *account, *memo, *currency;
    int64_t t_us;
    const struct bill_entry *entries;
    int n;
};
const char *bill_txn_hash(const struct bill_txn *t, const char *prev_hash, char out[SHA256_HEX]);
/* Kinds of transaction that charge a line: capture, refund, disk. */
bool bill_txn_moves(const char *kind);
/* Seconds that a price of this unit is for: gpu_hour and instance_hour 3600, gb_month 30 days; 0:
 * no unit of a bill. */
int64_t bill_unit_seconds(const char *unit);
/* "seconds A..B" of a capture's or refund's memo; false on anything else. */
bool bill_memo_seconds(const char *memo, int64_t *ret_from_s, int64_t *ret_to_s);
#endif
