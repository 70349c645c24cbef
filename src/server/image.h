/* SPDX-License-Identifier: Apache-2.0
 *
 * image.h: root file systems, imported once per node and digest-checked there; never pulled on the
 * start path. Import is an operation with progress events ("image.progress"). An image is
 * everybody's, or one account's (saved from an instance of it); of the catalogue's images those
 * that nobody imported are `listed`.
 *
 *     char digest[DIGEST_TEXT], file[IMAGE_NAME];
 *     if (image_check(c, account_id, "debian-small", digest, file, err) < 0) ...
 *
 * People say a name; nodes know an image by `file`: the name of a common image, the id of an
 * account's own. An account's own image comes before a common one of the same name.
 */
#ifndef SL_IMAGE_H
#define SL_IMAGE_H
#include "server/lifecycle.h"
#include "server/router.h"

enum { DIGEST_TEXT = 80, IMAGE_NAME = 64, REFERENCE_TEXT = 1024 };
struct image {
    char id[ID_TEXT], file[IMAGE_NAME], title[IMAGE_NAME], digest[DIGEST_TEXT];
    char account_id[ID_TEXT]; /* "": everybody's */
    char source[REFERENCE_TEXT];
    int state;
};
struct image_import {
    const char *name, *path, *reference, *digest, *node, *username, *password;
};
extern const struct jr_field image_import_fields[];
struct image_save {
    const char *name;
};
extern const struct jr_field image_save_fields[];

/* 1 found, 0 not, -1. By the name that the account would say ("" is the operator). */
int image_find(struct db_c *c, const char *account_id, const char *name, struct image *ret,
               struct sl_err *err);
int image_by_id(struct db_c *c, const char *id, struct image *ret, struct sl_err *err);
/* 0 when the image can be started; SL_INVALID (field image) says what is there instead. */
int image_check(struct db_c *c, const char *account_id, const char *name,
                char ret_digest[DIGEST_TEXT], char ret_file[IMAGE_NAME], struct sl_err *err);
/* The same before a quote: SL_NOT_FOUND, and SL_CONFLICT with the import command when it is only
 * listed. */
int image_quotable(struct db_c *c, const char *account_id, const char *name, struct sl_err *err);
/* Moves and tells the owner, or the operator. */
int image_move(struct db_c *c, struct server *s, const struct image *i, int to, const char *actor,
               const char *reason, struct sl_err *err);
/* What a node says it has (the answer to image.list) replaces what was known of it. */
int image_on_node(struct db_c *c, const char *node, const struct jr_val *images,
                  struct sl_err *err);

/* image_catalogue.c: the files of [images], read at start. */
int image_bootstrap(struct server *s, struct sl_err *err);
/* Calls `say` with a sentence for each thing about `model` (NULL: every model of the site's nodes)
 * that an image with this ROCm version ("" is unknown: nothing) does not run on. */
int image_warn(struct db_c *c, const char *rocm, const char *model,
               void (*say)(void *arg, const char *sentence), void *arg, struct sl_err *err);
/* The same for an image by name; nothing for one that is not of the catalogue. */
int image_warn_of(struct db_c *c, const char *name, const char *model,
                  void (*say)(void *arg, const char *sentence), void *arg, struct sl_err *err);
/* A common image whose row was deleted goes back to the list when the catalogue has it. */
int image_list_again(struct db_c *c, struct server *s, const char *name, struct sl_err *err);

/* image_work.c, image_save.c: the operations. */
struct operation;
int image_run_import(struct server *s, const struct operation *op, struct sl_err *err);
int image_import_gave_up(struct db_c *c, struct server *s, const struct operation *op,
                         const char *why, struct sl_err *err);
int image_run_remove(struct server *s, const struct operation *op, struct sl_err *err);
int image_run_save(struct server *s, const struct operation *op, struct sl_err *err);
int image_save_gave_up(struct db_c *c, struct server *s, const struct operation *op,
                       const char *why, struct sl_err *err);
/* SL_CONFLICT while an image is being saved of the lease: its disk must not change. */
int image_saving(struct db_c *c, const char *lease_id, struct sl_err *err);
/* Registry credentials as an operation keeps them: sealed with a key of the server, and taken out
 * of the row when it is over. */
void credentials_seal(const struct server *s, const struct image_import *b, struct jw *w);
int credentials_open(const struct server *s, const struct jr_val *payload, char *ret_username,
                     char *ret_password, size_t size, struct sl_err *err);

handler_fn image_list, image_show, image_import_post, image_delete, image_save_post;
#endif
