/* SPDX-License-Identifier: Apache-2.0
 *
 * bundle.h: crun's config.json, written only from typed fields that have been checked. No hooks, no
 * annotations, nothing of the image's own configuration.
 *
 * What a tenant gets: a user namespace of 65536 ids, the capabilities of a container's root without
 * MKNOD, NET_RAW, SYS_ADMIN or PTRACE, no_new_privs, a seccomp allow-list, masked /proc, read-only
 * /sys, a device cgroup that denies all but the standard nodes and his own GPUs, limits of memory,
 * processes, CPUs.
 */
#ifndef AGENT_BUNDLE_H
#define AGENT_BUNDLE_H
#include "agent/devices.h"
#include "agent/spec.h"
#include "base/core/buf.h"

struct bundle {
    const struct lease_spec *spec;
    const struct dev_set *devices;
    const char *dir;         /* RUN/leases/LEASE */
    int64_t nofile, memlock; /* what this process may give: crun 1.8 fails above it */
};

/* The whole config.json. */
void bundle_json(const struct bundle *b, struct sl_buf *out);
/* DIR/bundle/config.json */
int bundle_write(const struct lease_spec *spec, const struct dev_set *devices, const char *dir,
                 struct sl_err *err);
/* The "seccomp" member (seccomp.c). */
struct jw;
void seccomp_json(struct jw *w);
#endif
