/* SPDX-License-Identifier: Apache-2.0
 *
 * snapshot.h: what a disk was at one time, and growing a disk. A snapshot is taken of a stopped
 * instance's disk, stays on its node, counts in the account's disk quota and is put back on the
 * disk that it was taken of. Work on the node is operations of the volume: one at a time, and no
 * start of the instance meanwhile (volume_busy).
 */
#ifndef SERVER_SNAPSHOT_H
#define SERVER_SNAPSHOT_H
#include "server/volume.h"

/* SL_CONFLICT while a snapshot of it is being taken or put back. */
int volume_busy(struct db_c *c, const char *volume_id, struct sl_err *err);

/* The disk is gone for good: so are its snapshots, which nothing could be put back on. */
int snapshot_purge_of(struct db_c *c, struct server *s, const struct volume *v, struct sl_err *err);

struct volume_grow_want {
    int64_t size_gb;
};
struct snapshot_want {
    const char *name;
};
extern const struct jr_field volume_grow_fields[], snapshot_fields[];
handler_fn volume_grow_post, snapshot_create, snapshot_list, snapshot_delete, snapshot_restore;

struct operation;
int volume_run_grow(struct server *s, const struct operation *op, struct sl_err *err);
int snapshot_run_make(struct server *s, const struct operation *op, struct sl_err *err);
int snapshot_run_restore(struct server *s, const struct operation *op, struct sl_err *err);
int snapshot_run_remove(struct server *s, const struct operation *op, struct sl_err *err);
int snapshot_make_gave_up(struct db_c *c, struct server *s, const struct operation *op,
                          const char *why, struct sl_err *err);
#endif
