/* SPDX-License-Identifier: Apache-2.0
 *
 * api_md.c: docs/api.md from the same tables as the OpenAPI document.
 */
#include "server/system.h"
#include "wire/objects.h"

static const char *const type_names[] = {
    [WIRE_STR] = "text",     [WIRE_INT] = "whole number",   [WIRE_BOOL] = "true or false",
    [WIRE_MONEY] = "money",  [WIRE_TIME] = "time",          [WIRE_OBJECT] = "object",
    [WIRE_LIST] = "list",    [WIRE_STRS] = "list of texts", [WIRE_INTS] = "list of numbers",
    [WIRE_ANY] = "any JSON",
};

static const char *who(enum role role)
{
    return role == ROLE_ANYONE     ? "anyone"
           : role == ROLE_RENTER   ? "a signed-in account"
           : role == ROLE_OPERATOR ? "operators"
                                   : "the agent of a lease (its lease token)";
}

static void cell(struct sl_buf *b, const char *text)
{
    for (; text && *text; text++) {
        if (*text == '|')
            sl_buf_addc(b, '\\');
        sl_buf_addc(b, *text);
    }
}

static void link_name(struct sl_buf *b, const struct wire_object *o)
{
    sl_buf_printf(b, "[%s](#", o->name);
    for (const char *p = o->name; *p; p++)
        sl_buf_addc(b, (char)(*p | 0x20));
    sl_buf_adds(b, ")");
}

static void request_fields(struct sl_buf *b, const struct jr_field *f, const char *prefix)
{
    static const char *const kinds[] = {
        [JR_K_STR] = "text",    [JR_K_INT] = "whole number", [JR_K_BOOL] = "true or false",
        [JR_K_MONEY] = "money", [JR_K_TIME] = "time",        [JR_K_STRS] = "list of texts",
        [JR_K_OBJ] = "object",  [JR_K_LIST] = "list",        [JR_K_RAW] = "any JSON"};
    for (; f->name; f++) {
        sl_buf_printf(b, "| `%s%s`%s | %s", prefix, f->name, f->flags & JR_REQUIRED ? " *" : "",
                      kinds[f->kind]);
        if (f->kind == JR_K_STR || f->kind == JR_K_STRS || f->kind == JR_K_LIST)
            sl_buf_printf(b, ", %lld to %lld", (long long)f->min, (long long)f->max);
        if (f->kind == JR_K_INT)
            sl_buf_printf(b, ", %lld to %lld", (long long)f->min, (long long)f->max);
        sl_buf_adds(b, " | ");
        for (const char *const *c = f->choices; c && *c; c++)
            sl_buf_printf(b, "%s`%s`", c == f->choices ? "one of " : ", ", *c);
        sl_buf_adds(b, f->choices && f->doc ? "; " : "");
        cell(b, f->doc);
        sl_buf_adds(b, " |\n");
        if (f->sub) {
            char deeper[96];
            snprintf(deeper, sizeof deeper, "%s%s%s.", prefix, f->name,
                     f->kind == JR_K_LIST ? "[]" : "");
            request_fields(b, f->sub, deeper);
        }
    }
}

static void call(struct sl_buf *b, const struct route *t)
{
    sl_buf_printf(b, "### %s %s\n\n%s. For %s.\n", t->method, t->path, t->summary, who(t->role));
    if (t->flags & ROUTE_IDEMPOTENT)
        sl_buf_adds(b, "Needs the header `Idempotency-Key`.\n");
    if (t->flags & ROUTE_PAGED)
        sl_buf_adds(b, "Paged: `?cursor=` (`next` of the page before) and `?limit=` (1 to 100).\n");
    if (t->flags & ROUTE_WAIT)
        sl_buf_adds(b, "`?wait=SECONDS` (0 to 60) answers when the object has changed.\n");
    if (t->query_doc)
        sl_buf_printf(b, "Query: `%s`.\n", t->query_doc);
    if (t->request) {
        sl_buf_adds(b, "\n| field (* required) | type | |\n|---|---|---|\n");
        request_fields(b, t->request, "");
    }
    sl_buf_adds(b, "\nAnswer: ");
    if (!t->response)
        sl_buf_adds(b, sl_streq(t->method, "GET") ? "text" : "204, no body");
    else
        link_name(b, t->response);
    if (t->flags & (ROUTE_LIST | ROUTE_PAGED))
        sl_buf_adds(b, " list: `{\"items\":[...],\"next\":CURSOR or null}`");
    sl_buf_adds(b, ".\n\n");
}

static void object(struct sl_buf *b, const struct wire_object *o)
{
    sl_buf_printf(b, "### %s\n\n%s.\n\n| field | type | |\n|---|---|---|\n", o->name,
                  o->doc ? o->doc : "");
    for (const struct wire_field *f = o->fields; f->name; f++) {
        sl_buf_printf(b, "| `%s` | %s", f->name, type_names[f->type]);
        if (f->sub) {
            sl_buf_adds(b, f->type == WIRE_LIST ? " of " : " ");
            link_name(b, f->sub);
        }
        sl_buf_adds(b, f->flags & WIRE_NULLABLE ? " or null" : "");
        sl_buf_adds(b, f->flags & WIRE_OPTIONAL ? ", may be absent" : "");
        sl_buf_adds(b, " | ");
        cell(b, f->doc);
        sl_buf_adds(b, " |\n");
    }
    sl_buf_adds(b, "\n");
}

void api_md_write(struct sl_buf *b)
{
    sl_buf_adds(b,
                "# The HTTP interface\n\n"
                "Made by `starleased --api-md` from the route table; do not edit. The same as "
                "machine-readable text: [openapi.json](openapi.json).\n\n"
                "JSON in UTF-8. Times are RFC 3339 in UTC, amounts of money are decimal strings. "
                "Unknown fields and unknown query parameters are errors. Errors are "
                "`application/problem+json` with a stable `code`, one sentence in `detail`, and "
                "the `field` that is wrong. Send `Authorization: Bearer TOKEN`. An id of "
                "somebody else is answered like an unknown one: 404.\n\n"
                "`Idempotency-Key` (8 to 128 characters): the same key with the same request has "
                "one effect and gets the stored answer, with the header `Idempotent-Replay: "
                "true`; with another request it is 422. Keys are kept for ever.\n\n"
                "## Errors\n\n| code | HTTP | meaning | |\n|---|---|---|---|\n");
    for (int i = SL_INVALID; i < SL_CODE_MAX; i++) {
        const struct sl_code_info *k = sl_code_info((enum sl_code)i);
        sl_buf_printf(b, "| `%s` | %d | %s | %s |\n", k->name, k->http, k->title_en, k->title_zh);
    }
    sl_buf_adds(b, "\n## Calls\n\n");
    for (const struct route *t = routes; t->method; t++)
        call(b, t);
    sl_buf_adds(b, "## Objects\n\n");
    for (const struct wire_object *const *o = wire_objects; *o; o++)
        object(b, *o);
}
