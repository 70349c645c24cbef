/* SPDX-License-Identifier: Apache-2.0
 *
 * image.h: images on this node. Imported once into a read-only EROFS file, never pulled when a
 * lease starts. A source is a root tar file (plain, gzip, zstd), an OCI layout folder, a tar of
 * one, or a registry; what was fetched of one waits in STATE/images/pull-NAME while a fetch that
 * broke off may go on.
 */
#ifndef AGENT_IMAGE_H
#define AGENT_IMAGE_H
#include "agent/agent.h"
#include "agent/unpack.h"
#include "base/core/buf.h"

struct image_import {
    const char *name, *path;
    const char *digest; /* "sha256:..." of the tar file, or of the OCI manifest; NULL: any */
    int (*progress)(void *arg, const char *json); /* {"step","bytes","total","files"} */
    void *progress_arg;
    const char *reference; /* in place of path: docker://HOST/REPOSITORY@sha256:HEX (registry.h) */
    const char *username, *password; /* for the registry, or NULL */
};

/* Replaces an image of that name; leases that run keep the old file. With `digest` given and
 * already here under that name: nothing is done. */
int image_import(const struct agent *a, const struct image_import *in, struct sl_buf *out,
                 struct sl_err *err);
int image_list(const struct agent *a, struct sl_buf *out, struct sl_err *err);
/* SL_CONFLICT while a lease uses it; an absent one is fine. */
int image_remove(const struct agent *a, const char *name, struct sl_err *err);

/* image_erofs.c: an EROFS file of the folder `root`, the same bytes for the same content; no
 * extended attributes. `u` tells which of its files are mostly holes. max_bytes (0: any) bounds the
 * file: SL_QUOTA. */
int erofs_make(const struct unpack *u, const char *root, const char *file, int64_t max_bytes,
               struct sl_err *err);

/* image_save.c: an image `name` of a disk that nobody uses, over the image that it was used with.
 * Kept: files, folders, links, owners, modes (setuid too). Not kept: extended attributes, pipes,
 * sockets, devices. Nothing is done when `name` is here already. */
struct image_save {
    const char *name, *volume, *image;
    int64_t max_bytes; /* of the file; SL_QUOTA when it is larger */
    int (*progress)(void *arg, const char *json);
    void *progress_arg;
};
int image_save(const struct agent *a, const struct image_save *in, struct sl_buf *out,
               struct sl_err *err);
/* image.c, shared with it */
int image_busy(struct sl_err *err); /* -1; a lock that is held is worth another try */
int image_facts(const struct agent *a, const char *name, struct sl_buf *out);
int image_publish(const struct agent *a, const char *name, const char *file, const char *digest,
                  int64_t files, struct sl_buf *out, struct sl_err *err);
void images_remove(const struct agent *a, const char *prefix, const char *name);

/* OCI layout (oci.c). `layout`: its folder, open. ret_digest: of the manifest, "sha256:...". */
bool oci_is_layout(int layout);
int oci_unpack(int layout, struct unpack *u, char ret_digest[80], struct sl_err *err);
/* image_tar.c: copies a tar of an OCI layout into a folder: only oci-layout, index.json and
 * blobs/sha256/HEX. Returns 1 when it was one, 0 when the tar is something else (then the folder is
 * as it was). */
int oci_from_tar(int fd, int into, const struct unpack_limits *limits, struct sl_err *err);
#endif
