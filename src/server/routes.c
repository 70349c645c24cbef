/* SPDX-License-Identifier: Apache-2.0
 *
 * routes.c: every call of the HTTP interface, one row each. Whoever owns a noun adds its rows in
 * the noun's block; handlers and request tables are declared in NOUN.h or NOUN_api.h. From this
 * table come dispatch, role checks, OpenAPI, docs/api.md and the API tests (router.h explains the
 * columns).
 */
#include "server/router.h"
#include "wire/objects.h"

#define BODY(table, type) .request = (table), .request_size = sizeof(type)

const struct route routes[] = {
    /* account, token, key */

    /* catalogue and prices */

    /* money */

    /* leases, volumes, images, nodes, operations */

    {0}};
