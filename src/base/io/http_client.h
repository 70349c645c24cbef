/* SPDX-License-Identifier: Apache-2.0
 *
 * http_client.h: the only file that sees libcurl. One request, bounded answer. Also mail by SMTP.
 * Redirects are never followed. Threads may call it at the same time.
 */
#ifndef SL_HTTP_CLIENT_H
#define SL_HTTP_CLIENT_H
#include "base/core/buf.h"
#include "base/core/err.h"

/* A header of the answer that the caller wants to see. */
struct http_want {
    const char *name; /* "location"; NULL ends the list */
    char *out;        /* "" when absent; cut when longer */
    size_t size;
};
struct http_req {
    const char *method;         /* "GET" */
    const char *url;            /* http://, https://, or http+unix:/path/to.sock:/v1/x */
    const char *const *headers; /* "Name: value", NULL-ended, or NULL */
    const char *body;           /* or NULL; JSON unless headers has a Content-Type */
    size_t body_n;
    const char *ca_file; /* trust this CA or self-signed certificate, or NULL */
    int timeout_ms;      /* whole request; 0: 30 s */
    struct sl_buf *out;  /* answer body; its max bounds it */
    int status;          /* result */
    char content_type[96], etag[96], idempotent_replay[8]; /* result headers, "" when absent */
    /* Streaming (SSE): called per chunk instead of filling out; return non-zero to stop. */
    int (*chunk)(void *arg, const char *p, size_t n); /* `status` and wanted headers are there */
    void *chunk_arg;
    int chunk_bytes_s;             /* SL_TIMEOUT when it is slower than this for a minute; 0: 1 */
    const struct http_want *wants; /* or NULL */
};
/* 0 when an HTTP answer arrived, whatever its status; SL_UNAVAILABLE or SL_TIMEOUT otherwise. */
int http_do(struct http_req *r, struct sl_err *err);
/* The certificate that an https server shows, unverified, for trust on first use: PEM into *pem
 * (max 64 KiB is plenty) and the lower-case hex SHA-256 of its DER bytes. Sends no request. */
int http_peer_certificate(const char *url, struct sl_buf *pem, char ret_sha256[65],
                          struct sl_err *err);
/* url: smtp://host:port or smtps://...; text is the whole RFC 5322 message. */
int mail_send(const char *url, const char *from, const char *to, const char *text,
              struct sl_err *err);
#endif
