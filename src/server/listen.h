/* SPDX-License-Identifier: Apache-2.0
 *
 * listen.h: conf server.listen, "127.0.0.1:7070 [::1]:7070", into bound sockets. Numeric addresses
 * alone.
 */
#ifndef SERVER_LISTEN_H
#define SERVER_LISTEN_H
#include "base/core/buf.h"
#include "base/core/err.h"
#include <sys/socket.h>

/* A listening socket, close-on-exec and non-blocking; port 0 picks one. *ret_addr: what was bound.
 */
int listen_bind(const char *word, int *ret_fd, struct sockaddr_storage *ret_addr,
                struct sl_err *err);
bool address_is_loopback(const struct sockaddr *sa);
/* Appends " http://127.0.0.1:7070" (without the blank when out is empty). */
void listen_url(const struct sockaddr_storage *addr, bool tls, struct sl_buf *out);
/* Appends the numeric addresses of all listeners that are not loopback, for a certificate;
 * *ret_any: there is one. */
int listen_public(const char *listen, struct sl_buf *out, bool *ret_any, struct sl_err *err);
#endif
