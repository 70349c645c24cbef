/* SPDX-License-Identifier: Apache-2.0
 *
 * autostop.h: the timers of a lease. Four can be set, at the start or on a living lease: TTL (so
 * long a run lasts), budget (what its cards may cost, all runs together), idle (so long nobody used
 * it) and delete_after (a stopped lease is released so long after its stop). TTL and budget end a
 * run at an exact second: whoever stops the lease later, it is billed up to that second
 * (autostop_cut). A lease without timers has no row.
 *
 * Use is what the agent tells with each heartbeat: SSH sessions, connections to ports on which the
 * instance listens, CPU, and the GPUs' own busy counter where the driver has one. While nothing is
 * told the lease counts as used.
 *
 *     autostop_set(c, s, &l, &(struct autostop_want){.ttl_s = 8 * 3600, .has_ttl = true}, actor,
 * err)
 *
 * Functions with a db_c work inside the caller's transaction.
 */
#ifndef SERVER_AUTOSTOP_H
#define SERVER_AUTOSTOP_H
#include "server/lease.h"

/* Above this share of one CPU, in thousandths, an instance is in use. */
enum { AUTOSTOP_CPU_BUSY = 50, AUTOSTOP_TIMER_MAX_S = 366 * 86400 };

extern const struct jr_field autostop_fields[], autostop_use_fields[];

/* Changes the timers that are given; 0 switches one off. SL_INVALID, SL_CONFLICT for a lease that
 * is over. */
int autostop_set(struct db_c *c, struct server *s, const struct lease *l,
                 const struct autostop_want *w, const char *actor, struct sl_err *err);
/* The lease's life: about to start (SL_CONFLICT when its budget is used up), running since now,
 * stopped, over. */
int autostop_starting(struct db_c *c, struct server *s, const struct lease *l, struct sl_err *err);
int autostop_running(struct db_c *c, struct server *s, const char *lease_id, struct sl_err *err);
int autostop_stopped(struct db_c *c, struct server *s, const char *lease_id, struct sl_err *err);
int autostop_over(struct db_c *c, const char *lease_id, struct sl_err *err);
/* A heartbeat told of use. */
int autostop_seen(struct db_c *c, struct server *s, const struct lease *l,
                  const struct autostop_use *u, struct sl_err *err);
/* A run that ends: pulls *end_us back to the TTL's or budget's second when that has passed, and
 * then replaces the reason. `text` holds the new one. */
enum { AUTOSTOP_REASON = 240 };
int autostop_cut(struct db_c *c, const struct lease *l, int64_t *end_us, const char **reason,
                 char text[AUTOSTOP_REASON], struct sl_err *err);
/* Until when the agent may let it run on its own: the earlier of until_us and the timers' end. */
int autostop_until(struct db_c *c, const char *lease_id, int64_t until_us, int64_t *ret_us,
                   struct sl_err *err);
/* Warns, stops and deletes what is due (ticker). Mails after its commits. */
int autostop_round(struct server *s, struct sl_err *err);
/* "autostop": {...} or null. */
int autostop_write(struct db_c *c, struct jw *w, const struct lease *l, struct sl_err *err);

handler_fn autostop_post;
#endif
