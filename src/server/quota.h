/* SPDX-License-Identifier: Apache-2.0
 *
 * quota.h: how much one account may hold at once. Counted from the rows themselves, so nothing can
 * drift.
 */
#ifndef SL_QUOTA_H
#define SL_QUOTA_H
#include "server/server.h"

struct quota_use {
    int64_t gpus, leases, disk_gb; /* in use */
    int64_t max_gpus, max_leases, max_disk_gb;
};
int quota_get(struct db_c *c, const char *account_id, struct quota_use *ret, struct sl_err *err);
/* May the account take this much more? SL_QUOTA names the field, what is used and what is allowed.
 * gpus counts leases that hold cards; leases those that are not over; disk_gb disks not yet
 * deleted. */
int quota_check(struct db_c *c, const char *account_id, int64_t gpus, int64_t leases,
                int64_t disk_gb, struct sl_err *err);
#endif
