/* SPDX-License-Identifier: Apache-2.0
 *
 * supervise.h: the process that stands for a lease: `starlease-agentd --supervise DIR`. It outlives
 * the agent that started it; when it dies, the agent starts another, which takes over a container
 * that runs, or begins again when it does not. Mounts, all in its own namespace, below DIR
 * (RUN/leases/LEASE):
 *
 *     image/   erofs image, read-only, ids shifted       agent/   the agent's programs (guest.h)
 *     vol/     system volume, ids shifted                guest/   this lease's small files
 *     root/    overlay of both: the tenant's root        dev/     device nodes while they are
 * handed over shared/  the account's shared drive
 *
 * Order: mounts, config.json, crun create, veth, crun start (init and sshd only), metadata service,
 * SSH banner through 127.0.0.1:HOST_PORT, report `ready` until the server says go; only then GPU
 * nodes and the tenant's command. Heartbeats until the end. The lease ends on: `stop` file +
 * SIGTERM, the server's stop or 409, funded_until, the end of the command. Then everything is
 * undone and the end reported.
 */
#ifndef AGENT_SUPERVISE_H
#define AGENT_SUPERVISE_H
#include "agent/spec.h"
#include "agent/state.h"

/* The program itself; returns the exit status. */
int supervise_main(const struct agent *a, const char *dir);
/* Starts a supervising process that is nobody's child; returns when it holds its lock. */
int supervise_spawn(const struct agent *a, const char *dir, struct sl_err *err);

/* Makes mounts and container and connects it; fills pid and host_key of *st (start.c). */
int lease_build(const struct agent *a, const struct lease_spec *s, const char *dir,
                struct lease_state *st, struct sl_err *err);
/* Undoes all of it from whatever point it had reached; harmless to repeat. Mounts of another
 * process' namespace are gone when that process is. */
int lease_undo(const struct agent *a, const struct lease_spec *s, const char *dir,
               struct sl_err *err);
#endif
