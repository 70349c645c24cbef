/* SPDX-License-Identifier: Apache-2.0
 *
 * mount.h: the mounts of a lease, all made in its supervisor's private mount namespace, so that the
 * kernel frees every mount and loop device when supervisor and container are gone.
 *
 *     mount_private(err)
 *     loop_attach("img.erofs", true, &loop_fd, loop_path, err)
 *     mount_device(loop_path, "erofs", target, true, err)
 *     close(loop_fd)                                             LO_FLAGS_AUTOCLEAR: the mount
 * holds it mount_shift(target, userns_fd, err) mount_overlay(lower, upper, work, target, uid, err)
 *
 * Images and volumes store ids as the tenant sees them (0..65535); an idmapped mount shifts them to
 * the slot's range, so a volume can move to another slot.
 */
#ifndef AGENT_MOUNT_H
#define AGENT_MOUNT_H
#include "base/core/err.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { LOOP_TEXT = 32 };

/* A private mount namespace for this process: nothing propagates in or out. Hides the cgroup v2
 * mount of a hybrid host, which crun 1.8 refuses. */
int mount_private(struct sl_err *err);

/* Runs fn in a child with a mount namespace of its own: whatever it mounts is gone afterwards. */
int mounts_apart(int (*fn)(void *arg, struct sl_err *err), void *arg, struct sl_err *err);

/* A user namespace that maps 0..range-1 to uid_base.. (users and groups). Caller closes *ret_fd. */
int userns_open(uid_t uid_base, unsigned range, int *ret_fd, struct sl_err *err);

/* Attaches `file` to a free loop device that detaches itself after its last user. If the file is
 * already attached, its device is used again when `share`, else SL_CONFLICT. The caller serializes
 * calls for one file and closes *ret_fd after mounting. */
int loop_attach(const char *file, bool readonly, bool share, int *ret_fd, char ret_path[LOOP_TEXT],
                struct sl_err *err);
/* True while some loop device has `file` behind it. */
bool loop_in_use(const char *file);
/* The number of loop devices whose backing file lies below `dir`. */
int loops_below(const char *dir);

/* Mounts a block device; host root sees the ids as they are stored. */
int mount_device(const char *device, const char *fs, const char *target, bool readonly,
                 struct sl_err *err);
/* Replaces the mount at `target` by itself with its ids shifted. */
int mount_shift(const char *target, int userns_fd, struct sl_err *err);
/* Binds `source` read-only on `target`. */
int mount_bind_ro(const char *source, const char *target, struct sl_err *err);
/* Overlay whose upper and work folders lie on an idmapped mount; `uid` is the slot's mapped root.
 */
int mount_overlay(const char *lower, const char *upper, const char *work, const char *target,
                  uid_t uid, struct sl_err *err);

/* fd of `rel` below the folder `root`, no link of any kind on the way; -1 with errno. */
int open_beneath(const char *root, const char *rel, int flags, mode_t mode);
#endif
