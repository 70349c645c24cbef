/* SPDX-License-Identifier: Apache-2.0
 *
 * volume.h: disks. Every lease has a system volume, made on its node at the first start, kept while
 * the lease is stopped. Delete is a tombstone: the data stays until purge_after_us, or until the
 * owner purges it with the volume's own id as second key. Only then does the node remove it.
 */
#ifndef SL_VOLUME_H
#define SL_VOLUME_H
#include "server/lifecycle.h"
#include "server/router.h"

struct volume {
    char id[ID_TEXT], account_id[ID_TEXT], name[64], node_name[64], lease_id[ID_TEXT];
    int state;
    int64_t size_bytes, purge_after_us, created_us, kept_until_us; /* kept_until: 0, or unpaid */
};
int volume_get(struct db_c *c, const char *account_id, const char *id, struct volume *ret,
               struct sl_err *err);
/* The system volume of a new lease, in state creating. */
int volume_create(struct db_c *c, struct server *s, const char *account_id, const char *lease_id,
                  const char *name, const char *node, int64_t size_bytes, char ret_id[ID_TEXT],
                  struct sl_err *err);
/* Follows the lease: attached while it runs, available while it is stopped. Idempotent. */
int volume_attach(struct db_c *c, struct server *s, const char *id, struct sl_err *err);
int volume_detach(struct db_c *c, struct server *s, const char *id, struct sl_err *err);
/* Tombstone. SL_CONFLICT while a lease that is not over uses it, unless `with_lease`. */
int volume_delete(struct db_c *c, struct server *s, const char *id, bool with_lease,
                  const char *actor, struct sl_err *err);
/* Adds the operation that removes the data of a tombstone. */
int volume_purge(struct db_c *c, struct server *s, const struct volume *v, struct sl_err *err);
/* Purges tombstones whose time has come (ticker). */
int volume_expire(struct db_c *c, struct server *s, struct sl_err *err);
struct operation;
int volume_run_remove(struct server *s, const struct operation *op, struct sl_err *err);

handler_fn volume_list, volume_show, volume_delete_handler;
#endif
