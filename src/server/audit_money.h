/* SPDX-License-Identifier: Apache-2.0
 *
 * audit_money.h: recompute everything about money from the rows alone: balances from entries,
 * chains from contents, charges from rates and seconds, holds, price pins, double use of a card.
 * Each check has the number of its invariant (docs/money.md) and names the first row that does not
 * hold.
 *
 *     struct audit_report r = {0};
 *     audit_money(c, s, &r, err)     0 = it ran; r.ok = every check held
 */
#ifndef SERVER_AUDIT_MONEY_H
#define SERVER_AUDIT_MONEY_H
#include "server/server.h"
#include <stdio.h>

enum { AUDIT_CHECKS_MAX = 64, AUDIT_DETAIL = 240 };
struct audit_check {
    const char *id, *name; /* "I1", "transactions sum to zero" */
    bool ok;
    char detail[AUDIT_DETAIL]; /* the first difference; how much was looked at when ok */
};
struct audit_report {
    bool ok;
    int n;
    struct audit_check checks[AUDIT_CHECKS_MAX];
};

/* A check that SQL can express: the query returns (what it is about, what is wrong) for what does
 * not hold. */
struct audit_sql {
    const char *id, *name, *sql;
};
/* Invoices, vouchers, payments and refunds (audit_paper.c); ended by a zero row. */
extern const struct audit_sql audit_papers[];

int audit_money(struct db_c *c, struct server *s, struct audit_report *ret, struct sl_err *err);
/* Runs it on a read snapshot and prints one line a check. 0 all held, 1 not, 2 could not run. */
int audit_money_print(struct server *s, FILE *out);
#endif
