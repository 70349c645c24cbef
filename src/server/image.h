/* SPDX-License-Identifier: Apache-2.0
 *
 * image.h: root file systems, imported once per node and digest-checked there; never pulled on the
 * start path. Import is an operation with progress events ("image.progress").
 */
#ifndef SL_IMAGE_H
#define SL_IMAGE_H
#include "server/lifecycle.h"
#include "server/router.h"

struct image_import {
    const char *name, *path, *digest, *node;
};
extern const struct jr_field image_import_fields[];
/* 0 when the image can be started; SL_INVALID (field image) says what is there instead. */
int image_check(struct db_c *c, const char *name, struct sl_err *err);
struct operation;
int image_run_import(struct server *s, const struct operation *op, struct sl_err *err);
int image_import_gave_up(struct db_c *c, struct server *s, const struct operation *op,
                         const char *why, struct sl_err *err);
int image_run_remove(struct server *s, const struct operation *op, struct sl_err *err);

handler_fn image_list, image_import_post, image_delete;
#endif
