/* SPDX-License-Identifier: Apache-2.0
 *
 * metadata.h: http://169.254.169.254 inside the lease's network namespace and nowhere else. A child
 * of the supervisor makes the listening socket there, drops all privileges and serves one request
 * at a time.
 *
 *     PUT  /v1/token      -> a token (text); goes into X-Starlease-Token of all others
 *     GET  /v1/instance   -> {"id","name","nonce","cards":[..],"emulated"}
 *     GET  /v1/nonce      -> text
 *     POST /v1/metric     {"name","value","sha256"} -> 202; becomes a report of kind metric
 *
 * A request with X-Forwarded-For is refused: it came through somebody's proxy (SSRF). The first
 * byte of every line is read with limits; the parser never allocates.
 */
#ifndef AGENT_METADATA_H
#define AGENT_METADATA_H
#include "agent/spec.h"

enum { METADATA_METRIC_MAX = 1024, METADATA_REQUEST_MAX = 8192 };
struct metadata {
    pid_t pid;
    int fd; /* one metric object per message (SOCK_SEQPACKET); -1: not running */
};
int metadata_start(struct metadata *m, const struct lease_spec *s, bool emulated, pid_t pid,
                   struct sl_err *err);
void metadata_stop(struct metadata *m);

/* What the parser makes of a whole request; for tests and the fuzzer. */
struct metadata_request {
    char method[8], path[64], token[80];
    bool forwarded;
    const char *body;
    size_t body_n;
};
/* 1 complete, 0 more bytes needed, -1 malformed or over a limit. */
int metadata_parse(const char *text, size_t n, struct metadata_request *ret);
#endif
