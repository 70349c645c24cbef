/* SPDX-License-Identifier: Apache-2.0 */
#include "server/quota.h"
#include <inttypes.h>

/* A disk lives exactly as long as its lease: it goes when the lease is released or has failed. */
static const char sql_use[] =
    "SELECT a.quota_gpus, a.quota_leases, a.quota_disk_gb, COUNT(l.id), "
    "COALESCE(SUM(CASE WHEN l.gpu_mask <> 0 THEN l.gpus ELSE 0 END), 0), "
    "COALESCE(SUM(l.disk_gb), 0) + (SELECT COALESCE(SUM((n.size_bytes + 999999999) / 1000000000), "
    "0) FROM snapshot n WHERE n.account_id = ?1 AND n.state NOT IN ('deleted', 'failed')) FROM "
    "account a LEFT JOIN lease l ON l.account_id = a.id "
    "AND l.state <> 'released' AND l.state <> 'failed' WHERE a.id = ?1 GROUP BY a.id";

int quota_get(struct db_c *c, const char *account_id, struct quota_use *u, struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err, sql_use, "t", account_id);
    if (rc > 0)
        *u = (struct quota_use){.max_gpus = db_int(&q, 0),
                                .max_leases = db_int(&q, 1),
                                .max_disk_gb = db_int(&q, 2),
                                .leases = db_int(&q, 3),
                                .gpus = db_int(&q, 4),
                                .disk_gb = db_int(&q, 5)};
    db_done(&q);
    if (rc <= 0)
        return rc < 0 ? -1 : sl_fail(err, SL_NOT_FOUND, "no account %s exists", account_id);
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
