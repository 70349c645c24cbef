/* SPDX-License-Identifier: Apache-2.0
 *
 * reconcile.h: compares what the nodes run with what the database says, every conf.reconcile_s.
 * On a node but not wanted (unknown lease, older epoch, lease that is over): stopped there. Wanted
 * running but not on the node: billing ended at the last proven heartbeat, reason "host_lost". An
 * exit whose report was lost: applied. A node that does not answer becomes health unknown; nothing
 * of it is stopped.
 */
#ifndef SL_RECONCILE_H
#define SL_RECONCILE_H
#include "server/server.h"

int reconcile_start(struct server *s, struct sl_err *err);
/* False: it still waits for a node after at_most_s (see operations_stop). */
bool reconcile_stop(int64_t at_most_s);
/* One round over all nodes in the calling thread. */
int reconcile_once(struct server *s, struct sl_err *err);
#endif
