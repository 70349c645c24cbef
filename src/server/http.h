/* SPDX-License-Identifier: Apache-2.0
 *
 * http.h: sockets, HTTP and TLS in front of router.h. The only file that sees libmicrohttpd.
 *
 *     struct http *h;
 *     http_start(s, &h, err)         binds conf.listen and serves
 *     http_stop(h)                   stops accepting, lets requests end for conf.drain_s, joins
 *
 * Threads: a small epoll pool per listener parses and runs reads. Whatever writes or waits (every
 * method but GET and HEAD) is suspended and runs in a pool of its own, so that concurrent writes
 * share a commit and a slow identity service holds no reader up. Streams and long polls are
 * suspended connections that one waker thread resumes when events of their account appear.
 *
 * Limits: body 1 MiB, request head 64 KiB, 30 s without a byte, conf http.receive for a whole
 * request, connections in all and per address (conf [http]), 64 streams per account.
 */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H
#include "server/server.h"

enum {
    HTTP_BODY_MAX = 1 << 20,
    HTTP_HEAD_MAX = 64 * 1024,
    HTTP_IDLE_S = 30,
    HTTP_STREAMS_MAX = 64
};

struct http;
int http_start(struct server *s, struct http **ret, struct sl_err *err);
/* "http://127.0.0.1:7070 https://..."; the ports that were bound. */
const char *http_urls(const struct http *h);
void http_stop(struct http *h);
#endif
