/* SPDX-License-Identifier: Apache-2.0
 *
 * verbs_money.h: the verbs of invoices, vouchers, refunds and payments (as verbs.h).
 */
#ifndef SL_CLI_VERBS_MONEY_H
#define SL_CLI_VERBS_MONEY_H
#include "cli/verbs.h"

/* invoice.c */
struct invoice_args {
    const char *tax_id, *address, *phone, *bank, *bank_account, *from, *to;
};
struct invoice_reason_args {
    const char *reason;
};
extern const struct cmd_opt invoice_opts[], invoice_reverse_opts[];
VERB_MAIN(invoice_request);
VERB_MAIN(invoice_list);
VERB_MAIN(invoice_show);
VERB_MAIN(invoice_reverse);
VERB_MAIN(invoice_issue);
VERB_MAIN(invoice_confirm);

/* paper.c */
struct voucher_args {
    int64_t codes, uses, per_account, days;
};
struct refund_args {
    const char *reason;
};
struct note_args {
    const char *note, *account;
};
extern const struct cmd_opt voucher_opts[], refund_opts[], note_opts[], resolve_opts[];
VERB_MAIN(voucher_create);
VERB_MAIN(voucher_list);
VERB_MAIN(voucher_revoke);
VERB_MAIN(wallet_redeem);
VERB_MAIN(wallet_refund);
VERB_MAIN(refund_list);
VERB_MAIN(refund_cancel);
VERB_MAIN(refund_pay);
VERB_MAIN(refund_reject);
VERB_MAIN(payment_list);
VERB_MAIN(payment_resolve);
#endif
