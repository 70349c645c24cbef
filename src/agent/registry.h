/* SPDX-License-Identifier: Apache-2.0
 *
 * registry.h: fetches an image of a registry (OCI distribution, /v2/) into an OCI layout folder,
 * blob by blob, each checked against its digest and size as it arrives. Run again, it keeps what is
 * whole and goes on where a blob broke off.
 *
 * Plain http is spoken with this machine alone. A redirect is followed to https only, at most
 * REDIRECTS_MAX times, and another host is never shown user name, password or token; the token
 * service that the registry names gets the user name and password over https, as the protocol has
 * it. Neither appears in a message or a log.
 */
#ifndef AGENT_REGISTRY_H
#define AGENT_REGISTRY_H
#include "agent/registry_text.h"

enum { REDIRECTS_MAX = 5 };
struct registry_pull {
    const struct registry_ref *ref;
    const char *username, *password; /* NULL or "": nobody */
    int layout;                      /* folder, open */
    int64_t bytes_max;               /* sum of the blobs */
    int64_t bytes, total;            /* so far, of what is to be fetched */
    int (*progress)(void *arg, const struct registry_pull *p); /* non-zero stops */
    void *progress_arg;
    /* inner */
    char bearer[8192], basic[1024];
    int64_t told;
};
/* SL_FORBIDDEN: the registry refuses the credentials or wants some. SL_NOT_FOUND. SL_INVALID: what
 * it sends is not what the digests say. SL_UNAVAILABLE, SL_TIMEOUT: worth another try. */
int registry_fetch(struct registry_pull *p, struct sl_err *err);
#endif
