/* SPDX-License-Identifier: Apache-2.0
 *
 * volume_meter.h: what disks cost. A disk is metered from the first time that its instance ran
 * until it is deleted, running or stopped at the same price: rate = price per GB and month x GB,
 * and t seconds cost R(rate x t / 30 days), counted from the segment's start (docs/money.md M3).
 * The tariff is pinned when metering begins. Where the price is 0 nothing is written.
 *
 * Charges are taken from free funds, credit first, in transactions of kind `disk`. Seconds that the
 * funds do not cover are not billed: the segment ends there, the renter is told until when the disk
 * is kept (conf lease.disk_keep), and metering begins anew once there are funds. Only when that
 * time has passed is the disk deleted, which leaves a tombstone.
 */
#ifndef SERVER_VOLUME_METER_H
#define SERVER_VOLUME_METER_H
#include "server/tariff.h"
#include "server/volume.h"

/* Opens the segment of a disk that exists now; open already: nothing happens. */
int volume_meter_start(struct db_c *c, struct server *s, const struct volume *v,
                       struct sl_err *err);
/* Charges up to now and closes it; none open: nothing happens. */
int volume_meter_stop(struct db_c *c, struct server *s, const char *volume_id, const char *reason,
                      struct sl_err *err);
/* What the disk costs a month (0: not metered), and has cost up to now. */
int volume_cost(struct db_c *c, struct server *s, const char *volume_id, int64_t *ret_month_micro,
                int64_t *ret_cost_micro, struct sl_err *err);
/* Charges what is due, ends what is unpaid, begins what is paid again, deletes what was kept to its
 * date (ticker). */
int volume_meter_round(struct server *s, struct sl_err *err);
/* Whole GB that are billed. */
int64_t volume_gb(int64_t size_bytes);
#endif
