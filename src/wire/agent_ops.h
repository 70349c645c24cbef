/* SPDX-License-Identifier: Apache-2.0
 *
 * agent_ops.h: names of the operations that a node agent answers, over base/io/rpc.h. The closed
 * list is the whole power that an engine has over a node.
 *
 * Every request may carry "node"; an agent refuses another node's name. docs/operate.md has the
 * fields.
 */
#ifndef WIRE_AGENT_OPS_H
#define WIRE_AGENT_OPS_H

#define AGENT_OP_PROBE "probe"   /* -> cards, links, health */
#define AGENT_OP_HEALTH "health" /* -> health, reasons */
#define AGENT_OP_IMAGE_IMPORT                                                                      \
    "image.import" /* name, path or reference, digest?, username?, password? -> name, digest,      \
                      size_bytes, files */
#define AGENT_OP_IMAGE_SAVE "image.save"     /* name, volume, image, max_bytes -> as image.import */
#define AGENT_OP_IMAGE_LIST "image.list"     /* -> images */
#define AGENT_OP_IMAGE_REMOVE "image.remove" /* name */
#define AGENT_OP_LEASE_START "lease.start"   /* agent/spec.h -> started */
#define AGENT_OP_LEASE_STOP "lease.stop"     /* lease, epoch, grace_s -> stopped */
#define AGENT_OP_LEASE_LIST "lease.list" /* -> leases; takes over leases whose supervisor died */
#define AGENT_OP_LEASE_LOGS "lease.logs" /* lease, tail_bytes -> text */
#define AGENT_OP_VOLUME_REMOVE "volume.remove" /* volume -> removed */
#define AGENT_OP_VOLUME_GROW                                                                       \
    "volume.grow" /* volume, size_bytes -> grown, now; also while mounted */
#define AGENT_OP_VOLUME_SNAPSHOT "volume.snapshot" /* volume, snapshot -> method: reflink, copy */
#define AGENT_OP_VOLUME_RESTORE "volume.restore"   /* volume, snapshot, size_bytes -> method */
#define AGENT_OP_SNAPSHOT_REMOVE "snapshot.remove" /* snapshot -> removed */
#define AGENT_OP_SANITIZE "sanitize"               /* cards, lease, account -> result, steps */

#define AGENT_SOCKET "/run/starlease/agent.sock" /* where agentd listens unless told otherwise */

/* Kinds of report that a lease's supervisor sends. */
#define AGENT_REPORT_READY "ready"
#define AGENT_REPORT_HEARTBEAT "heartbeat"
#define AGENT_REPORT_EXIT "exit"
#define AGENT_REPORT_FAILED "failed"
#define AGENT_REPORT_METRIC "metric"
#endif
