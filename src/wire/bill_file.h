/* SPDX-License-Identifier: Apache-2.0
 *
 * bill_file.h: a statement file as C structures, for bill.c alone: bill_read checks form and
 * signature, bill.c what the content says.
 */
#ifndef WIRE_BILL_FILE_H
#define WIRE_BILL_FILE_H
#include "wire/bill.h"

struct bill_line {
    const char *segment, *lease, *name, *model, *price_version, *end_reason;
    int64_t gpus, start_us, end_us; /* end_us 0 while open */
    int64_t from_s, to_s, seconds;  /* of the segment, paid in this period */
    int64_t rate_micro, charge_micro, heartbeat_last_us;
    bool open;
    /* filled by the check: what the ledger lines of the segment add up to */
    int64_t seen_to_s, seen_micro, per_s; /* per_s: what the rate is for */
    bool seen;
};
struct bill_price {
    const char *id, *model, *currency, *unit, *source;
    int64_t price_micro, effective_us;
};
struct bill_ledger {
    const char *id, *kind, *ref, *memo, *prev_hash, *hash;
    const char *entries_json;
    int64_t seq, t_us;
    struct bill_entry *entries; /* read from entries_json */
    int n;
};
struct bill {
    int64_t version, from_us, to_us, made_us;
    const char *account, *currency, *chain_head;
    struct jr_list lines, prices, ledger;
    int64_t opening_micro, closing_micro, total_charge_micro;
    const char *key, *signature;
};
#define BILL_LINES(b) ((struct bill_line *)(b)->lines.v)
#define BILL_PRICES(b) ((struct bill_price *)(b)->prices.v)
#define BILL_LEDGER(b) ((struct bill_ledger *)(b)->ledger.v)

/* SL_INVALID: not a statement file. SL_INTEGRITY: the signature does not fit the content. Strings
 * live in the arena. check_signature false: for reading without trust (CSV). */
int bill_read(const char *text, size_t n, bool check_signature, struct sl_arena *arena,
              struct bill *ret, struct sl_err *err);
#endif
