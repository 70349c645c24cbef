/* SPDX-License-Identifier: Apache-2.0
 *
 * mail.h: mails leave through one thread, so that no request waits for a mail server. The queue is
 * in memory: a mail that was not sent when the process ended is asked for again (POST
 * /v1/accounts/code). conf mail.spool writes .eml files into a directory instead; with neither
 * spool nor url mails are dropped with a line in the log.
 *
 *     mail_post(s, "a@example.org", "Your code", "12345678\n");
 *
 * Receipts take mail_queue instead: rows that outlive the process.
 *
 * Call mail_post after the commit (route->after), never inside a transaction, which may run twice.
 */
#ifndef SERVER_MAIL_H
#define SERVER_MAIL_H
#include "server/server.h"

int mail_start(struct server *s, struct sl_err *err);
/* Sends what is queued for at most the given time, then drops the rest and joins the thread. */
void mail_stop(struct server *s, int64_t at_most_s);
/* Copies its arguments; never blocks. `to` must have passed email_ok. */
void mail_post(struct server *s, const char *to, const char *subject, const char *text);
/* The same for a mail that must arrive, inside the transaction of what it tells: a row, sent after
 * the commit by whichever daemon runs next, at least once, always with the same Message-ID. To the
 * account's address. Nothing when mail is not configured. */
int mail_queue(struct db_c *c, struct server *s, const char *account_id, const char *subject,
               const char *text, struct sl_err *err);
/* The whole message with headers, for tests. */
void mail_compose(struct sl_buf *out, const char *from, const char *to, const char *subject,
                  const char *text, int64_t t_us, const char *id);
/* One address local@domain, ASCII, no quotes, at most 254 bytes. */
bool email_ok(const char *email);
#endif
