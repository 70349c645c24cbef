/* SPDX-License-Identifier: Apache-2.0
 *
 * tls.h: the certificate of every listener that is not loopback. Without a configured one, a
 * self-signed certificate for this host's names and addresses is made at first start
 * (data_dir/tls.crt, tls.key; a client trusts it by that file). The files are looked at again when
 * their times change, at most once a second, so a renewal needs no restart; a pair that cannot be
 * read is logged and the old one stays. The only file that sees GnuTLS.
 */
#ifndef SERVER_TLS_H
#define SERVER_TLS_H
#include "server/server.h"

/* Loads the pair, making it first where needed. `addresses`: numeric, blanks between, for the
 * self-signed certificate's names. One per process. */
int tls_open(struct server *s, const char *addresses, struct sl_err *err);
void tls_close(void);
/* A gnutls_certificate_retrieve_function2 for the HTTP library. */
void *tls_callback(void);
/* How often a pair was loaded; for tests. */
int64_t tls_loads(void);
#endif
