/* SPDX-License-Identifier: Apache-2.0
 *
 * rpc.h: one JSON request and its answer over a Unix stream socket; how engines talk to an agent.
 * Request: one line {"op":"lease.start", ...}. Answer: zero or more lines {"progress":{...}}, then
 * one line {"ok":{...}} or {"error":{"code":"conflict","field":"","message":"..."}}; then close. A
 * line is at most RPC_LINE_MAX bytes.
 */
#ifndef SL_RPC_H
#define SL_RPC_H
#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/io/json.h"

enum { RPC_LINE_MAX = 4 << 20 };
/* Client. The answer's "ok" value lives in *ret_doc (jr_close it). `progress` may be NULL. */
int rpc_call(const char *socket_path, const char *request, int timeout_ms,
             void (*progress)(void *arg, const struct jr_val *v), void *arg,
             struct jr_doc **ret_doc, const struct jr_val **ret_ok, struct sl_err *err);
/* Server side of one accepted connection. */
int rpc_read(int fd, int timeout_ms, struct jr_doc **ret_doc, struct sl_err *err);
int rpc_reply_ok(int fd, const char *json, struct sl_err *err);
void rpc_reply_err(int fd, const struct sl_err *e);
int rpc_progress(int fd, const char *json);
/* Listening Unix socket with the given mode (0660) and owning group (or -1). Replaces a dead one.
 */
int rpc_listen(const char *socket_path, int mode, int gid, int *ret_fd, struct sl_err *err);
#endif
