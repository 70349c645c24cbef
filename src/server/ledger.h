/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger.h: double entry, append-only. A transaction is a set of postings that sums to zero in one
 * currency; a balance is the sum of its entries (the cached one is checked by the audit).
 *
 *     const struct posting p[] = {{NULL, LEDGER_BANK, -amount}, {account_id, LEDGER_CASH, amount}};
 *     ledger_post(c, s, "topup", "", account_id, reason, "CNY", p, 2, txn_id, err);
 *
 * Which account kinds a kind of transaction may touch, and in which direction, is a table (rule
 * I3). Every transaction belongs to one account, is numbered within it from 1, and its hash covers
 * the hash of that account's previous transaction (wire/bill.h), so a renter can check his own
 * chain alone. Times of a chain never go back. Everything here runs inside the caller's write
 * transaction.
 */
#ifndef SERVER_LEDGER_H
#define SERVER_LEDGER_H
#include "server/server.h"

/* A renter has the first four; the rest are the house's, one per currency. */
enum ledger_kind {
    LEDGER_CASH,      /* paid in, free to spend */
    LEDGER_CREDIT,    /* granted, free to spend, never becomes cash */
    LEDGER_HELD_CASH, /* set aside for a lease */
    LEDGER_HELD_CREDIT,
    LEDGER_BANK,     /* money that came from outside: grows negative */
    LEDGER_PROMO,    /* pays for trial grants */
    LEDGER_REVENUE,  /* captured charges */
    LEDGER_GOODWILL, /* pays for credits after a fault */
    LEDGER_PAYABLE,  /* cash that is on its way back to renters */
    LEDGER_ADJUST,   /* pays for corrections by the operator */
    LEDGER_KIND_MAX
};
enum { LEDGER_POSTINGS_MAX = 8 };

struct posting {
    const char *account_id; /* NULL or "" for the house's kinds */
    enum ledger_kind kind;
    int64_t amount_micro; /* rows of 0 are left out */
};

const char *ledger_kind_name(enum ledger_kind kind);
bool ledger_kind_is_house(enum ledger_kind kind);
/* The kinds of transaction: topup grant voucher hold release capture refund payout goodwill. */
bool ledger_txn_kind_ok(const char *kind);
/* May a transaction of this kind have these postings: routing table, sum zero, at least two. */
bool ledger_routing_ok(const char *kind, const struct posting *p, int n);

/* Writes one transaction. A sum that is not zero, an unknown kind or a pair that the routing table
 * does not allow is a programming error (assertion). SL_NO_CREDIT when a renter's balance would go
 * below zero. `ref` is what it is about (a lease for hold and release, a segment for capture and
 * refund). ret_txn may be NULL. */
int ledger_post(struct db_c *c, struct server *s, const char *kind, const char *ref,
                const char *account_id, const char *memo, const char *currency,
                const struct posting *postings, int n, char ret_txn[ID_TEXT], struct sl_err *err);
/* Makes the ledger account with balance 0; safe to repeat. */
int ledger_account_open(struct db_c *c, const char *account_id, enum ledger_kind kind,
                        const char *currency, struct sl_err *err);
/* 0 when there is no such ledger account yet. */
int ledger_balance(struct db_c *c, const char *account_id, enum ledger_kind kind,
                   const char *currency, int64_t *ret_micro, struct sl_err *err);
#endif
