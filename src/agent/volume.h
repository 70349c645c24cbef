/* SPDX-License-Identifier: Apache-2.0
 *
 * volume.h: disks of the driver `file`: sparse raw files with ext4. The size of the file system is
 * the quota. Ids are stored as the tenant sees them.
 *
 * System volume (one writer, one lease):  u/ w/ overlay's upper and work, agent/ what the agent
 * keeps there and the tenant does not see (host key, console log) Shared drive (per account, many
 * leases of the node at once, one superblock): data/
 */
#ifndef AGENT_VOLUME_H
#define AGENT_VOLUME_H
#include "agent/spec.h"

const char *volume_file(const struct agent *a, const char *id, char out[PATH_MAX]);
const char *shared_file(const struct agent *a, const char *account, char out[PATH_MAX]);

/* Makes file and file system when absent; grows when size_bytes is larger than it is (offline
 * only). */
int volume_make(const char *file, int64_t size_bytes, struct sl_err *err);
/* Makes the file system of an unattached disk as large as its file. */
int volume_fs_grow(const char *file, struct sl_err *err);
/* Mounts the system volume at `target` with ids as stored and makes its folders; mount_shift
 * follows. */
int volume_mount(const struct agent *a, const struct lease_spec *s, const char *target,
                 struct sl_err *err);
/* Mounts the account's shared drive at `target`, ids shifted, showing data/ only. */
int shared_mount(const struct agent *a, const struct lease_spec *s, const char *target,
                 int userns_fd, struct sl_err *err);
/* Deletes the file (its blocks go back to the host). SL_CONFLICT while attached; absent is fine. */
int volume_remove(const struct agent *a, const char *id, struct sl_err *err);
#endif
