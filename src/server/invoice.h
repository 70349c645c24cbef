/* SPDX-License-Identifier: Apache-2.0
 *
 * invoice.h: invoices for what was paid in cash, with the fields of a Chinese e-invoice.
 *
 *     struct invoice_want want = {.buyer_name = "...", .tax_id = "91350100M000100Y43"};
 *     invoice_request(c, s, account_id, &want, id, err)    a draft
 *     invoice_issue(c, s, id, operator, err)               gets its number; nothing changes any
 * more invoice_reverse(c, s, account, id, reason, actor, err) invoice_confirm(c, s, id, operator,
 * red_id, err)     the red letter; the spend is free again
 *
 * An invoice covers the charges among the account's transactions from_seq..to_seq, credit left out.
 * No two that live (draft, issued, reversing) cover the same transaction. Its total is what was
 * paid, rounded down to the cent; the tax is contained in it and rounded once; lines get their
 * cents so that they sum to net, tax and total exactly (invoice_split).
 */
#ifndef SERVER_INVOICE_H
#define SERVER_INVOICE_H
#include "server/router.h"

enum { INVOICE_LINES_MAX = 500, INVOICE_WORDS = 320 };

struct invoice_want {
    const char *buyer_name, *tax_id, *address, *phone, *bank, *bank_account;
    int64_t from_us, to_us; /* 0: after the last living invoice; now */
};
struct invoice_reason {
    const char *reason;
};

int invoice_request(struct db_c *c, struct server *s, const char *account_id,
                    const struct invoice_want *want, char ret_id[ID_TEXT], struct sl_err *err);
int invoice_issue(struct db_c *c, struct server *s, const char *id, const char *actor,
                  struct sl_err *err);
/* A draft is cancelled at once, an issued one becomes `reversing`. account_id NULL: any. */
int invoice_reverse(struct db_c *c, struct server *s, const char *account_id, const char *id,
                    const char *reason, const char *actor, struct sl_err *err);
int invoice_confirm(struct db_c *c, struct server *s, const char *id, const char *actor,
                    char ret_red_id[ID_TEXT], struct sl_err *err);
/* Writes the Invoice object; account_id NULL: of anybody. */
int invoice_write(struct db_c *c, struct jw *w, const char *account_id, const char *id,
                  struct sl_err *err);

/* ---- the law alone (invoice_law.c) ---- */
/* A unified social credit code: 18 characters with the check character of GB 32100. */
bool taxpayer_id_ok(const char *id);
/* 1234.56 -> 壹仟贰佰叁拾肆元伍角陆分. Whole cents, below 10^12 units. */
const char *money_words_zh(int64_t micro, char out[INVOICE_WORDS]);
struct invoice_part {
    int64_t exact_micro;                       /* in */
    int64_t net_micro, tax_micro, total_micro; /* out: whole cents */
};
/* Shares the rounded total and its contained tax out to the lines: sums are exact, no line is more
 * than a cent off. Returns the total in ret. The exact amounts must sum to 0 or more. */
void invoice_split(struct invoice_part *lines, int n, int64_t tax_bp, struct invoice_part *ret);

extern const struct jr_field invoice_fields[];        /* struct invoice_want */
extern const struct jr_field invoice_reason_fields[]; /* struct invoice_reason */
handler_fn invoice_create, invoice_list, invoice_show, invoice_issue_post, invoice_reverse_post,
    invoice_confirm_post;
#endif
