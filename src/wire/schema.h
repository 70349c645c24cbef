/* SPDX-License-Identifier: Apache-2.0
 *
 * schema.h: objects on the wire as tables (one per noun in wire/objects.c). OpenAPI, docs/api.md,
 * the CLI's tables and the response check in the API tests are all made from them.
 */
#ifndef SL_SCHEMA_H
#define SL_SCHEMA_H
#include <stdbool.h>

enum wire_type {
    WIRE_END,
    WIRE_STR,
    WIRE_INT,
    WIRE_BOOL,
    WIRE_MONEY,
    WIRE_TIME,
    WIRE_OBJECT,
    WIRE_LIST /* of sub */,
    WIRE_STRS /* list of strings */,
    WIRE_INTS,
    WIRE_ANY /* free JSON */
};
enum { WIRE_NULLABLE = 1, WIRE_OPTIONAL = 2 };
struct wire_object;
struct wire_field {
    const char *name;
    enum wire_type type;
    unsigned flags;
    const struct wire_object *sub; /* OBJECT, LIST */
    const char *doc;
};
struct wire_object {
    const char *name; /* "Lease" */
    const struct wire_field *fields;
    const char *doc;
};
#endif
