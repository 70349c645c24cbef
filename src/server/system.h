/* SPDX-License-Identifier: Apache-2.0
 *
 * system.h: what the server tells about itself, and the OpenAPI document that is made from the
 * route table (routes.c) and the wire objects (wire/objects.h).
 */
#ifndef SERVER_SYSTEM_H
#define SERVER_SYSTEM_H
#include "server/router.h"
#include <stdio.h>

enum { OPENAPI_MAX = 4 << 20 };

handler_fn health_show, openapi_show, public_key_show;

/* The document, one line. */
void openapi_write(struct sl_buf *out);
/* Puts compact JSON on lines of its own, two blanks a level: what `starleased --openapi` prints. */
void json_indent(const char *json, struct sl_buf *out);
/* docs/api.md. */
void api_md_write(struct sl_buf *out);
#endif
