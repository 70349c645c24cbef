/* SPDX-License-Identifier: Apache-2.0
 *
 * guest.h: the agent's own programs inside a lease, read-only at /.starlease: init (PID 1), an sshd
 * (Debian's dropbear) with its own dynamic loader and libraries, so that nothing of the image is
 * needed to reach a lease. The sshd's loader path is rewritten to /.starlease/ld.so.
 *
 *     STATE/guest-HASH/{init, dropbear, ld.so, lib/, lease/}     one set for all leases of a
 * version RUN/leases/LEASE/guest/                                    mounted at /.starlease/lease
 *         go         appears when the server said go
 *         env        KEY=VALUE lines for sessions and the command
 *         hostkey    the sshd's key (kept on the system volume, outside the tenant's root)
 *         ssh/authorized_keys                                    mounted at /root/.ssh
 *         resolv.conf hosts hostname                             mounted in /etc
 */
#ifndef AGENT_GUEST_H
#define AGENT_GUEST_H
#include "agent/spec.h"

/* The current set, made when absent. */
int guest_prepare(const struct agent *a, char ret_path[PATH_MAX], struct sl_err *err);
/* The lease's own files, but for the host key. */
int guest_lease_files(const struct agent *a, const struct lease_spec *s, const char *dir,
                      struct sl_err *err);
/* Makes the key in `key_dir` (on the system volume) when absent, copies it to DIR/guest and returns
 * the public line "ssh-ed25519 AAAA...". */
int guest_host_key(const char *key_dir, const char *dir, uid_t uid, char ret_public[256],
                   struct sl_err *err);
/* Rewrites PT_INTERP of an ELF64 file in memory; SL_INVALID when it has none or it is too short. */
int elf_set_interpreter(void *file, size_t n, const char *interpreter, struct sl_err *err);
#endif
