/* SPDX-License-Identifier: Apache-2.0
 *
 * statement.h: the signed statement of an account for [from_us, to_us): what was captured of each
 * segment, the price versions that were used, and the account's ledger lines with their hash chain.
 * It is read from one snapshot, so lines and ledger agree. wire/bill.h checks it without any
 * server.
 *
 *     statement_make(c, s, account_id, from, to, &buf, err)
 */
#ifndef SERVER_STATEMENT_H
#define SERVER_STATEMENT_H
#include "server/server.h"

enum { STATEMENT_MAX = 64 << 20 }; /* bytes */

/* Appends {"statement":{...},"key":HEX,"signature":HEX} to out. to_us 0 = all until now. A read
 * snapshot is enough. SL_INVALID when from is after to, SL_TOO_LARGE over STATEMENT_MAX. */
int statement_make(struct db_c *c, struct server *s, const char *account_id, int64_t from_us,
                   int64_t to_us, struct sl_buf *out, struct sl_err *err);
#endif
