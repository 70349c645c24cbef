/* SPDX-License-Identifier: Apache-2.0
 *
 * net.h: the node's tenant network. One bridge (10.88.0.1/16), one veth per lease whose other end
 * is eth0 of the container, one nft table named after the bridge:
 *
 *     ports      map host port -> lease address . 22, for what comes in and for 127.0.0.1 on the
 * host forward    a lease reaches the internet; not other leases, not private ranges (the node's
 *                resolvers excepted); from outside only the mapped port
 *     input      nothing from a lease reaches the host itself
 *
 * Tenants have no CAP_NET_ADMIN or CAP_NET_RAW in their namespace, so an address cannot be changed.
 */
#ifndef AGENT_NET_H
#define AGENT_NET_H
#include "agent/agent.h"

/* Bridge, table, sysctls; repeating it changes nothing that is in use. */
int net_up(const struct agent *a, struct sl_err *err);
/* Removes bridge and table; for the last one out. */
void net_down(const struct agent *a);
/* eth0 for the container whose first process is pid, and its port. To repeat it, detach first. */
int net_attach(const struct agent *a, int slot, int host_port, pid_t pid, struct sl_err *err);
/* Removes veth and port; harmless when absent. */
int net_detach(const struct agent *a, int slot, int host_port, struct sl_err *err);
/* Keeps only the elements of `ports` that are listed. */
int net_reconcile(const struct agent *a, const int *host_ports, int n, struct sl_err *err);
bool net_attached(const struct agent *a, int slot);
/* Nameservers of the host that a lease may use, one per line as in resolv.conf. */
struct sl_buf;
void net_resolv_conf(struct sl_buf *out);
#endif
