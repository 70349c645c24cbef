/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/version.h"
#include "server/system.h"
#include "wire/objects.h"

/* ---- answers: wire objects ---- */
static const char *json_type(enum wire_type t)
{
    switch (t) {
    case WIRE_INT:
        return "integer";
    case WIRE_BOOL:
        return "boolean";
    case WIRE_LIST:
    case WIRE_STRS:
    case WIRE_INTS:
        return "array";
    case WIRE_STR:
    case WIRE_MONEY:
    case WIRE_TIME:
        return "string";
    case WIRE_OBJECT:
    case WIRE_ANY:
    case WIRE_END:
        break;
    }
    return NULL;
}

static void ref(struct jw *w, const char *key, const struct wire_object *o)
{
    char path[128];
    snprintf(path, sizeof path, "#/components/schemas/%s", o->name);
    jw_object(w, key);
    jw_str(w, "$ref", path);
    jw_end(w);
}

static void type_write(struct jw *w, const char *type, bool nullable)
{
    if (!nullable) {
        jw_str(w, "type", type);
        return;
    }
    jw_array(w, "type");
    jw_str(w, NULL, type);
    jw_str(w, NULL, "null");
    jw_end(w);
}

static void field_schema(struct jw *w, const struct wire_field *f)
{
    bool nullable = f->flags & WIRE_NULLABLE;
    jw_object(w, f->name);
    if (f->type == WIRE_OBJECT) {
        jw_array(w, "oneOf");
        ref(w, NULL, f->sub);
        if (nullable) {
            jw_object(w, NULL);
            jw_str(w, "type", "null");
            jw_end(w);
        }
        jw_end(w);
    } else if (json_type(f->type)) {
        type_write(w, json_type(f->type), nullable);
    }
    if (f->type == WIRE_MONEY) {
        jw_str(w, "pattern", "^-?[0-9]+\\.[0-9]{2,6}$");
        jw_str(w, "format", "money");
    }
    if (f->type == WIRE_TIME)
        jw_str(w, "format", "date-time");
    if (f->type == WIRE_LIST)
        ref(w, "items", f->sub);
    if (f->type == WIRE_STRS || f->type == WIRE_INTS) {
        jw_object(w, "items");
        jw_str(w, "type", f->type == WIRE_STRS ? "string" : "integer");
        jw_end(w);
    }
    if (f->doc && *f->doc)
        jw_str(w, "description", f->doc);
    jw_end(w);
}

static void object_schema(struct jw *w, const struct wire_object *o)
{
    jw_object(w, o->name);
    jw_str(w, "type", "object");
    if (o->doc)
        jw_str(w, "description", o->doc);
    jw_bool(w, "additionalProperties", false);
    jw_array(w, "required");
    for (const struct wire_field *f = o->fields; f->name; f++)
        if (!(f->flags & WIRE_OPTIONAL))
            jw_str(w, NULL, f->name);
    jw_end(w);
    jw_object(w, "properties");
    for (const struct wire_field *f = o->fields; f->name; f++)
        field_schema(w, f);
    jw_end(w);
    jw_end(w);
}

/* ---- requests: field tables ---- */
static void body_schema(struct jw *w, const char *key, const struct jr_field *fields);

static void request_field(struct jw *w, const struct jr_field *f)
{
    static const char *const types[] = {
        [JR_K_STR] = "string",   [JR_K_INT] = "integer", [JR_K_BOOL] = "boolean",
        [JR_K_MONEY] = "string", [JR_K_TIME] = "string", [JR_K_STRS] = "array",
        [JR_K_LIST] = "array",
    };
    if (f->kind == JR_K_OBJ) {
        body_schema(w, f->name, f->sub);
        return;
    }
    jw_object(w, f->name);
    if (f->kind != JR_K_RAW)
        type_write(w, types[f->kind], f->flags & JR_NULLABLE);
    if (f->kind == JR_K_STR) {
        jw_int(w, "minLength", f->min > 0 ? 1 : 0);
        jw_int(w, "maxLength", f->max);
    } else if (f->kind == JR_K_INT) {
        jw_int(w, "minimum", f->min);
        jw_int(w, "maximum", f->max);
    } else if (f->kind == JR_K_MONEY) {
        jw_str(w, "pattern", "^-?[0-9]+(\\.[0-9]{1,6})?$");
        jw_str(w, "format", "money");
    } else if (f->kind == JR_K_TIME) {
        jw_str(w, "format", "date-time");
    } else if (f->kind == JR_K_STRS || f->kind == JR_K_LIST) {
        jw_int(w, "minItems", f->min);
        jw_int(w, "maxItems", f->max);
        if (f->kind == JR_K_LIST) {
            body_schema(w, "items", f->sub);
        } else {
            jw_object(w, "items");
            jw_str(w, "type", "string");
            jw_end(w);
        }
    }
    if (f->choices) {
        jw_array(w, "enum");
        for (const char *const *c = f->choices; *c; c++)
            jw_str(w, NULL, *c);
        jw_end(w);
    }
    if (f->doc)
        jw_str(w, "description", f->doc);
    jw_end(w);
}

static void body_schema(struct jw *w, const char *key, const struct jr_field *fields)
{
    jw_object(w, key);
    jw_str(w, "type", "object");
    jw_bool(w, "additionalProperties", false);
    jw_array(w, "required");
    for (const struct jr_field *f = fields; f->name; f++)
        if (f->flags & JR_REQUIRED)
            jw_str(w, NULL, f->name);
    jw_end(w);
    jw_object(w, "properties");
    for (const struct jr_field *f = fields; f->name; f++)
        request_field(w, f);
    jw_end(w);
    jw_end(w);
}

/* ---- calls ---- */
static void parameter(struct jw *w, const char *name, size_t name_n, const char *in,
                      const char *doc, bool required)
{
    jw_object(w, NULL);
    jw_strn(w, "name", name, name_n);
    jw_str(w, "in", in);
    jw_bool(w, "required", required);
    jw_object(w, "schema");
    jw_str(w, "type", "string");
    jw_end(w);
    if (doc)
        jw_str(w, "description", doc);
    jw_end(w);
}

static void parameters(struct jw *w, const struct route *t)
{
    jw_array(w, "parameters");
    for (const char *p = t->path; (p = strchr(p, '{')); p++)
        parameter(w, p + 1, strcspn(p + 1, "}"), "path", NULL, true);
    if (t->flags & ROUTE_PAGED) {
        parameter(w, "cursor", 6, "query", "`next` of the page before", false);
        parameter(w, "limit", 5, "query", "1 to 100, default 50", false);
    }
    if (t->flags & ROUTE_WAIT)
        parameter(
            w, "wait", 4, "query",
            "0 to 60 seconds: answer when the object differs from If-None-Match, or from what it "
            "is now",
            false);
    if (t->flags & (ROUTE_WAIT | ROUTE_CACHED))
        parameter(w, "If-None-Match", 13, "header", "ETag of an earlier answer", false);
    for (const char *p = t->query_doc; p && *p; p += strcspn(p, ","), p += *p == ',') {
        size_t all = strcspn(p, ","), name = strcspn(p, "=,");
        char example[96];
        snprintf(example, sizeof example, "for example %.*s", (int)all, p);
        parameter(w, p, name, "query", all > name + 1 ? example : NULL, false);
    }
    if (t->flags & ROUTE_IDEMPOTENT)
        parameter(w, "Idempotency-Key", 15, "header",
                  "8 to 128 characters; the same key with the same request has one effect", true);
    jw_end(w);
}

static void page_schema(struct jw *w, const struct wire_object *item)
{
    jw_object(w, "schema");
    jw_str(w, "type", "object");
    jw_bool(w, "additionalProperties", false);
    jw_array(w, "required");
    jw_str(w, NULL, "items");
    jw_str(w, NULL, "next");
    jw_end(w);
    jw_object(w, "properties");
    jw_object(w, "items");
    jw_str(w, "type", "array");
    ref(w, "items", item);
    jw_end(w);
    jw_object(w, "next");
    type_write(w, "string", true);
    jw_end(w);
    jw_end(w);
    jw_end(w);
}

static void text_content(struct jw *w, const char *type)
{
    jw_object(w, type);
    jw_object(w, "schema");
    jw_str(w, "type", "string");
    jw_end(w);
    jw_end(w);
}

static void responses(struct jw *w, const struct route *t)
{
    jw_object(w, "responses");
    bool text = !t->response && sl_streq(t->method, "GET");
    jw_object(w, t->response || text ? "2XX" : "204");
    jw_str(w, "description", t->response ? t->response->doc : text ? "text" : "done");
    if (t->response || text) {
        jw_object(w, "content");
        if (text)
            text_content(w, "text/plain");
        if (t->flags & ROUTE_STREAM)
            text_content(w, "text/event-stream");
        if (t->response) {
            jw_object(w, "application/json");
            if (t->flags & (ROUTE_LIST | ROUTE_PAGED))
                page_schema(w, t->response);
            else
                ref(w, "schema", t->response);
            jw_end(w);
        }
        jw_end(w);
    }
    jw_end(w);
    if (t->flags & (ROUTE_WAIT | ROUTE_CACHED)) {
        jw_object(w, "304");
        jw_str(w, "description", "what If-None-Match names is still so");
        jw_end(w);
    }
    jw_object(w, "default");
    jw_str(w, "description", "what went wrong");
    jw_object(w, "content");
    jw_object(w, "application/problem+json");
    ref(w, "schema", &wire_problem);
    jw_end(w);
    jw_end(w);
    jw_end(w);
    jw_end(w);
}

/* "get_v1_leases_id" for GET /v1/leases/{id} */
static void operation_id(struct jw *w, const struct route *t)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(256);
    for (const char *p = t->method; *p; p++)
        sl_buf_addc(&b, (char)(*p | 0x20));
    for (const char *p = t->path; *p; p++) {
        bool word = (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9');
        if (word)
            sl_buf_addc(&b, *p);
        else if (b.p[b.n - 1] != '_' && *p != '}')
            sl_buf_addc(&b, '_');
    }
    jw_str(w, "operationId", sl_buf_str(&b));
}

static const char *role_name(enum role role)
{
    return role == ROLE_ANYONE     ? "anyone"
           : role == ROLE_RENTER   ? "renter"
           : role == ROLE_OPERATOR ? "operator"
                                   : "lease";
}

static void call(struct jw *w, const struct route *t)
{
    char method[8] = "";
    for (size_t i = 0; t->method[i] && i < sizeof method - 1; i++)
        method[i] = (char)(t->method[i] | 0x20);
    jw_object(w, method);
    operation_id(w, t);
    jw_str(w, "summary", t->summary);
    jw_str(w, "x-role", role_name(t->role));
    jw_array(w, "security");
    if (t->role != ROLE_ANYONE) {
        jw_object(w, NULL);
        jw_array(w, "bearer");
        jw_end(w);
        jw_end(w);
    }
    jw_end(w);
    parameters(w, t);
    if (t->request || (t->flags & ROUTE_FREE_BODY)) {
        jw_object(w, "requestBody");
        jw_object(w, "content");
        jw_object(w, "application/json");
        if (t->request) {
            body_schema(w, "schema", t->request);
        } else {
            jw_object(w, "schema");
            jw_str(w, "type", "object");
            jw_end(w);
        }
        jw_end(w);
        jw_end(w);
        jw_end(w);
    }
    responses(w, t);
    jw_end(w);
}

static void paths(struct jw *w)
{
    jw_object(w, "paths");
    for (const struct route *t = routes; t->method; t++) {
        bool seen = false; /* all methods of a path stand together */
        for (const struct route *u = routes; u < t; u++)
            seen |= sl_streq(u->path, t->path);
        if (seen)
            continue;
        jw_object(w, t->path);
        for (const struct route *u = t; u->method; u++)
            if (sl_streq(u->path, t->path))
                call(w, u);
        jw_end(w);
    }
    jw_end(w);
}

void openapi_write(struct sl_buf *out)
{
    struct jw w = {.b = out};
    jw_object(&w, NULL);
    jw_str(&w, "openapi", "3.1.0");
    jw_object(&w, "info");
    jw_str(&w, "title", "Starlease");
    jw_str(&w, "version", SL_VERSION);
    jw_str(
        &w, "description",
        "Rent GPU servers by the second. Times are RFC 3339 in UTC, amounts of money are decimal "
        "strings, unknown fields and query parameters are errors.");
    jw_object(&w, "license");
    jw_str(&w, "name", "Apache-2.0");
    jw_str(&w, "identifier", "Apache-2.0");
    jw_end(&w);
    jw_end(&w);
    paths(&w);
    jw_object(&w, "components");
    jw_object(&w, "securitySchemes");
    jw_object(&w, "bearer");
    jw_str(&w, "type", "http");
    jw_str(&w, "scheme", "bearer");
    jw_end(&w);
    jw_end(&w);
    jw_object(&w, "schemas");
    for (const struct wire_object *const *o = wire_objects; *o; o++)
        object_schema(&w, *o);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
}

void json_indent(const char *json, struct sl_buf *out)
{
    int depth = 0;
    bool text = false;
    for (const char *p = json; *p; p++) {
        if (text || *p == '"') {
            text = text ? *p != '"' : true;
            sl_buf_addc(out, *p);
            if (*p == '\\' && p[1])
                sl_buf_addc(out, *++p);
            continue;
        }
        bool open = *p == '{' || *p == '[', shut = *p == '}' || *p == ']';
        depth -= shut;
        if (shut && p > json && p[-1] != '{' && p[-1] != '[')
            sl_buf_printf(out, "\n%*s", 2 * depth, "");
        sl_buf_addc(out, *p);
        depth += open;
        if (*p == ',' || (open && p[1] != '}' && p[1] != ']'))
            sl_buf_printf(out, "\n%*s", 2 * depth, "");
        if (*p == ':')
            sl_buf_addc(out, ' ');
    }
    sl_buf_addc(out, '\n');
}
