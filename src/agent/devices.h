/* SPDX-License-Identifier: Apache-2.0
 *
 * devices.h: GPU device nodes for a lease. The numbers (major:minor) go into the device cgroup when
 * the container is made; the nodes themselves are put into it only after the server has answered
 * `go`, which is after the meter has started.
 *
 * The nodes are made afresh on a small file system in the supervisor's namespace, so the host's own
 * /dev keeps its owners and modes. On an emulated node their major number belongs to no driver:
 * opening a granted node gives ENXIO, any other EPERM, which is how isolation is proved without a
 * GPU.
 */
#ifndef AGENT_DEVICES_H
#define AGENT_DEVICES_H
#include "agent/agent.h"
#include "agent/probe_amd.h"

enum { DEV_NODES_MAX = 1 + TOPO_CARDS_MAX * TOPO_CARD_DEVICES_MAX };
struct dev_node {
    char name[24]; /* below /dev: "kfd", "dri/renderD128" */
    unsigned major, minor;
};
struct dev_set {
    struct dev_node v[DEV_NODES_MAX];
    int n;
};

int dev_kfd(const struct agent *a, struct dev_node *ret, struct sl_err *err);
int dev_render(const struct agent *a, int minor, struct dev_node *ret, struct sl_err *err);
/* What a lease of these cards gets: kfd and the render node of each device; nothing for no cards.
 */
int dev_set_for(const struct agent *a, const int *cards, int cards_n, struct dev_set *ret,
                struct sl_err *err);
/* Puts the nodes into the /dev of the container whose first process is `pid`, with a private file
 * system at `scratch` as their source; uid: the slot's root. Repeating it is harmless. */
int dev_inject(const struct dev_set *set, pid_t pid, const char *scratch, uid_t uid,
               struct sl_err *err);
#endif
