/* SPDX-License-Identifier: Apache-2.0
 *
 * registry_text.h: everything that is read of a registry, as pure functions over text that a
 * stranger wrote: references, URLs and redirects, challenges, manifests and indexes. No network, no
 * files.
 *
 *     struct registry_ref r;
 *     registry_parse("docker://docker.io/rocm/pytorch:latest", &r, err)   r.host
 * registry-1.docker.io
 */
#ifndef AGENT_REGISTRY_TEXT_H
#define AGENT_REGISTRY_TEXT_H
#include "base/core/err.h"
#include "base/io/json.h"

enum {
    REF_MAX = 512,
    URL_MAX = 4096,
    DIGEST_MAX = 72, /* "sha256:" and 64 digits */
    MANIFEST_MAX = 4 << 20,
    LAYERS_MAX = 512,
};
struct registry_ref {
    char host[260]; /* with port */
    char repo[256];
    char tag[129];           /* "" when there is none */
    char digest[DIGEST_MAX]; /* "" when there is none */
    bool loopback;           /* plain http is spoken, as nothing leaves the machine */
};
/* SL_INVALID (field reference) says how one is written. No tag and no digest: tag "latest". */
int registry_parse(const char *text, struct registry_ref *ret, struct sl_err *err);

bool digest_ok(const char *digest);

struct url {
    bool tls, loopback;
    char host[260]; /* with port */
    const char *path;
};
/* Only http and https, no user part, no blanks. */
bool url_read(const char *text, struct url *ret);
/* Where a redirect from `base` leads. Refused (SL_FORBIDDEN): anything but https, unless both ends
 * are this machine. *ret_same: the credentials may go along. */
int url_redirect(const char *base, const char *location, char out[URL_MAX], bool *ret_same,
                 struct sl_err *err);

struct challenge {
    bool bearer, basic;
    char realm[URL_MAX], service[256];
};
/* The WWW-Authenticate header of a 401. */
void challenge_read(const char *header, struct challenge *ret);

struct blob {
    char digest[DIGEST_MAX];
    int64_t size;
};
enum document { DOC_NONE, DOC_INDEX, DOC_MANIFEST };
enum document document_kind(const struct jr_val *v);
/* The linux/amd64 manifest (or nested index) of an index. */
int index_choose(const struct jr_val *index, struct blob *ret, enum document *ret_kind,
                 struct sl_err *err);
/* Config and layers of a manifest, each digest once; *ret is freed by the caller. */
int manifest_blobs(const struct jr_val *manifest, int64_t bytes_max, struct blob **ret, int *ret_n,
                   struct sl_err *err);
#endif
