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
#endif
