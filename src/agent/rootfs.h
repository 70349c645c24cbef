/* SPDX-License-Identifier: Apache-2.0
 *
 * rootfs.h: the tenant's root before anything of it runs: every folder that something is mounted on
 * must be a real folder (an image's /dev may be a link out of it, CVE-2026-47766), files that the
 * sshd needs are added when the image lacks them.
 */
#ifndef AGENT_ROOTFS_H
#define AGENT_ROOTFS_H
#include "base/core/err.h"
#include <stdbool.h>
#include <sys/types.h>

/* `root` is the mounted overlay, `uid` the slot's root. SL_INVALID names what the image has wrong.
 */
int rootfs_prepare(const char *root, uid_t uid, bool shared, struct sl_err *err);
#endif
