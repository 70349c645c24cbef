/* SPDX-License-Identifier: Apache-2.0
 *
 * disk_ops.h: what is done to a disk beside attaching it: grow, also while it is mounted; snapshots
 * and their way back. A snapshot is a file of its own in STATE/snapshots that shares its blocks
 * with the disk where the file system can (FICLONE: btrfs, xfs), and is a sparse copy elsewhere;
 * the answer says which. Every operation can be repeated.
 *
 *     disk_snapshot(a, "vol_1", "snp_1", &cloned, err)
 */
#ifndef AGENT_DISK_OPS_H
#define AGENT_DISK_OPS_H
#include "agent/agent.h"

/* *ret_now false: mounted, and this agent may not resize what is (no CAP_SYS_RESOURCE); the file
 * system follows at the next start. A smaller size is SL_INVALID. A disk that was never used is
 * made at that size later: nothing to do. */
int disk_grow(const struct agent *a, const char *volume, int64_t size_bytes, bool *ret_now,
              struct sl_err *err);
/* Of a disk that no lease has: else SL_CONFLICT. */
int disk_snapshot(const struct agent *a, const char *volume, const char *snapshot, bool *ret_cloned,
                  struct sl_err *err);
/* The disk becomes what the snapshot holds, at size_bytes or more. */
int disk_restore(const struct agent *a, const char *volume, const char *snapshot,
                 int64_t size_bytes, bool *ret_cloned, struct sl_err *err);
int disk_snapshot_remove(const struct agent *a, const char *snapshot, struct sl_err *err);
#endif
