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
enum { DIGEST_TEXT = 80 };
int image_check(struct db_c *c, const char *name, char ret_digest[DIGEST_TEXT], struct sl_err *err);
/* What a node says it has (the answer to image.list) replaces what was known of it. */
int image_on_node(struct db_c *c, const char *node, const struct jr_val *images,
                  struct sl_err *err);
struct operation;
int image_run_import(struct server *s, const struct operation *op, struct sl_err *err);
int image_import_gave_up(struct db_c *c, struct server *s, const struct operation *op,
                         const char *why, struct sl_err *err);
int image_run_remove(struct server *s, const struct operation *op, struct sl_err *err);

handler_fn image_list, image_import_post, image_delete;
#endif
