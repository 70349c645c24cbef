/* SPDX-License-Identifier: Apache-2.0
 *
 * lease.h: what a renter calls an instance. States and deadlines: lifecycle.h. Money: wallet.h,
 * meter.h.
 *
 * Create is one transaction: quote, quota, placement, hold, row, operation, events; either all of
 * it or nothing. A lease bills from the commit of its ready report until a stop is accepted, or
 * until the last proven heartbeat when the node is silent; never more. gpu_mask is not zero as long
 * as cards of the node are taken for it, which may outlast `stopped` when the node cannot be
 * reached.
 *
 *     lease_stop(c, s, &l, caller->account_id, "stopped by the renter", err)
 *
 * Every function works inside the caller's transaction. Strings of struct lease live in the arena.
 */
#ifndef SL_LEASE_H
#define SL_LEASE_H
#include "server/lifecycle.h"
#include "server/router.h"

struct lease {
    char id[ID_TEXT], account_id[ID_TEXT], quote_id[ID_TEXT], volume_id[ID_TEXT],
        price_version_id[ID_TEXT];
    char name[64], model[64], node_name[64], currency[8], nonce[72];
    int state;
    int64_t state_since_us, deadline_us, epoch, gpus, slot, rate_micro, horizon_s, disk_gb,
        ready_us, last_heartbeat_us, funded_until_us, metric_us, created_us;
    uint64_t gpu_mask;
    bool emulated;
    bool cpu_run; /* the run under way uses no card; ends when the node has proved its end */
    int64_t cpu_rate_micro;
    const char *image, *command, *ssh_keys, *host_key, *reason,
        *metric; /* command, ssh_keys: JSON */
};
/* account_id NULL: any account. id is an id, or the name of a lease that is not over. A foreign
 * lease is SL_NOT_FOUND. */
int lease_get(struct db_c *c, const char *account_id, const char *id, struct sl_arena *a,
              struct lease *ret, struct sl_err *err);

/* Timers (autostop.h); each counts when its has_ is set. */
struct autostop_want {
    int64_t ttl_s, budget_micro, idle_s, delete_after_s;
    bool has_ttl, has_budget, has_idle, has_delete;
};
struct lease_want {
    const char *quote, *name;
    struct jr_strs keys, command; /* keys: ids; none: all of the account's */
    struct autostop_want autostop;
    bool has_autostop;
};
int lease_create(struct db_c *c, struct server *s, const char *account_id,
                 const struct lease_want *w, char ret_id[ID_TEXT], struct sl_err *err);
/* Ends billing now (or at the last proven heartbeat) and tells the node. Of a lease that is
 * stopping or over: 0, no effect. */
int lease_stop(struct db_c *c, struct server *s, const struct lease *l, const char *actor,
               const char *reason, struct sl_err *err);
/* The same with the end of billing given by the caller (host lost, funds end). */
int lease_stop_at(struct db_c *c, struct server *s, const struct lease *l, int64_t end_us,
                  const char *actor, const char *reason, struct sl_err *err);
/* stopped -> placed again: next epoch, same node as the disk, same price version. no_gpu: without
 * cards, at the tariff `cpu`; model, cards and price of the lease stay pinned for the next start.
 */
int lease_start(struct db_c *c, struct server *s, const struct lease *l, const char *actor,
                struct sl_err *err);
/* The same with the model, cards and price of a quote that lease_quote gave: they are pinned anew.
 */
int lease_start_quoted(struct db_c *c, struct server *s, const struct lease *l,
                       const char *quote_id, const char *actor, struct sl_err *err);
struct lease_start_want {
    const char *quote;
    bool no_gpu;
};
extern const struct jr_field lease_start_fields[];
int lease_start_cpu(struct db_c *c, struct server *s, const struct lease *l, const char *actor,
                    struct sl_err *err);
/* Something of it may be on its node. */
static inline bool lease_on_node(const struct lease *l)
{
    return l->gpu_mask || l->cpu_run;
}
/* What its run costs per hour, or would cost when it is started again as it was. */
static inline int64_t lease_rate(const struct lease *l)
{
    return l->cpu_run ? l->cpu_rate_micro : l->rate_micro;
}
/* stopped -> released; the disk becomes a tombstone. */
int lease_release(struct db_c *c, struct server *s, const struct lease *l, const char *actor,
                  struct sl_err *err);
/* When the node last proved that the lease ran; billing never goes past it while the node is
 * silent. */
int64_t lease_proven_us(const struct server *s, const struct lease *l, int64_t now);
/* A start that cannot succeed: nothing is charged, funds come back at once, the node's record
 * counts it. The lease becomes failed when it never ran, stopped when its disk holds earlier work.
 */
int lease_start_failed(struct db_c *c, struct server *s, const struct lease *l, const char *why,
                       struct sl_err *err);
/* The agent has proved that nothing of this epoch remains: cards go to sanitizing, the lease to
 * stopped, or to failed. */
int lease_gone(struct db_c *c, struct server *s, const struct lease *l, bool failed,
               struct sl_err *err);
/* Rows of SELECT LEASE_COLUMNS FROM lease. */
#define LEASE_COLUMNS                                                                              \
    "id, account_id, name, state, state_since_us, deadline_us, epoch, model, gpus, node_name, "    \
    "gpu_mask, slot, quote_id, price_version_id, rate_micro, currency, horizon_s, image, "         \
    "volume_id, disk_gb, command, ssh_keys, host_key, nonce, ready_us, last_heartbeat_us, "        \
    "funded_until_us, reason, emulated, metric, metric_us, created_us, cpu_run, cpu_rate_micro"
void lease_read(struct db_q *q, struct sl_arena *a, struct lease *ret);
/* Deadline of a transient state has passed (ticker). */
int lease_deadline(struct db_c *c, struct server *s, const struct lease *l, struct sl_err *err);

/* JSON object of a lease as the renter sees it. */
int lease_write(struct db_c *c, struct server *s, struct jw *w, const char *key,
                const struct lease *l, bool detail, struct sl_err *err);

/* Operations of a lease (operation.h). */
struct operation;
int lease_run_start(struct server *s, const struct operation *op, struct sl_err *err);
int lease_run_stop(struct server *s, const struct operation *op, struct sl_err *err);
int lease_start_gave_up(struct db_c *c, struct server *s, const struct operation *op,
                        const char *why, struct sl_err *err);

/* lease_api.c */
extern const struct jr_field lease_create_fields[];
handler_fn lease_create_post, lease_list, lease_show, lease_stop_post, lease_start_post,
    lease_delete, lease_logs;
int lease_logs_prepare(struct req *r, struct sl_err *err);
/* lease_report.c: POST /v1/agent/report */
struct lease_report_metric {
    const char *name, *value, *sha256;
};
struct autostop_use { /* of a heartbeat */
    int64_t ssh, ports, cpu_permille, gpu_percent;
    bool has_gpu; /* false: the GPUs have no counter */
};
struct lease_report {
    const char *lease, *kind, *reason, *host_key;
    int64_t epoch, t_us, alive_s, exit_code;
    bool has_exit_code, has_metric, has_use;
    struct autostop_use use;
    struct lease_report_metric metric;
};
extern const struct jr_field lease_report_fields[];
handler_fn lease_report_post;
#endif
