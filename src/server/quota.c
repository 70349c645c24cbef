/* SPDX-License-Identifier: Apache-2.0 */
#include "server/quota.h"
#include <inttypes.h>

static const char sql_limits[] =
    "SELECT quota_gpus, quota_leases, quota_disk_gb FROM account WHERE id = ?1";
static const char sql_leases[] =
    "SELECT COUNT(*), COALESCE(SUM(CASE WHEN gpu_mask <> 0 THEN gpus ELSE 0 END), 0) FROM lease "
    "WHERE account_id = ?1 AND state <> 'released' AND state <> 'failed'";
static const char sql_disks[] =
    "SELECT COALESCE(SUM(size_bytes), 0) FROM volume "
    "WHERE account_id = ?1 AND state <> 'deleted' AND state <> 'purged'";

int quota_get(struct db_c *c, const char *account_id, struct quota_use *u, struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err, sql_limits, "t", account_id);
    if (rc > 0)
        *u = (struct quota_use){
            .max_gpus = db_int(&q, 0), .max_leases = db_int(&q, 1), .max_disk_gb = db_int(&q, 2)};
    db_done(&q);
    if (rc <= 0)
        return rc < 0 ? -1 : sl_fail(err, SL_NOT_FOUND, "no account %s exists", account_id);
    rc = db_row(c, &q, err, sql_leases, "t", account_id);
    if (rc > 0) {
        u->leases = db_int(&q, 0);
        u->gpus = db_int(&q, 1);
    }
    db_done(&q);
    int64_t bytes = 0;
    if (rc < 0 || db_value(c, 0, &bytes, err, sql_disks, "t", account_id) < 0)
        return -1;
    u->disk_gb = bytes / 1000000000;
    return 0;
}

static int check(const char *field, const char *what, int64_t used, int64_t more, int64_t max,
                 struct sl_err *err)
{
    if (more <= 0 || used + more <= max)
        return 0;
    return sl_fail_at(err, SL_QUOTA, field,
                      "%s: %" PRId64 " in use and %" PRId64
                      " asked for, but the account's quota is %" PRId64
                      "; release something or ask the operator for more",
                      what, used, more, max);
}

int quota_check(struct db_c *c, const char *account_id, int64_t gpus, int64_t leases,
                int64_t disk_gb, struct sl_err *err)
{
    struct quota_use u;
    if (quota_get(c, account_id, &u, err) < 0)
        return -1;
    if (check("gpus", "cards", u.gpus, gpus, u.max_gpus, err) < 0 ||
        check("leases", "instances", u.leases, leases, u.max_leases, err) < 0 ||
        check("disk_gb", "GB of disk", u.disk_gb, disk_gb, u.max_disk_gb, err) < 0)
        return -1;
    return 0;
}
