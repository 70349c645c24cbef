/* SPDX-License-Identifier: Apache-2.0 */
#include "server/image.h"
#include "server/node.h"
#include "server/operation.h"
#include "server/page.h"
#include <stdio.h>

#define COLUMNS "id, name, title, digest, account_id, source, state"
static const char sql_own[] = "SELECT " COLUMNS " FROM image WHERE account_id = ?1 AND title = ?2 "
                              "AND account_id <> '' AND state <> 'deleted'";
static const char sql_common[] =
    "SELECT " COLUMNS " FROM image WHERE name = ?1 AND account_id = ''";
static const char sql_by_id[] = "SELECT " COLUMNS " FROM image WHERE id = ?1 OR name = ?1";
#define LIST                                                                                       \
    "SELECT image.id, CASE WHEN image.account_id = '' THEN image.name ELSE image.title END, "      \
    "image.digest, image.source, image.state, image.size_bytes, image.files, image.reason, "       \
    "image.created_us, image.account_id, COALESCE(k.rocm, ''), COALESCE(k.frameworks, ''), "       \
    "image.progress "                                                                              \
    "FROM image LEFT JOIN image_catalogue k ON k.name = image.name "
static const char sql_list[] = LIST "WHERE image.state <> 'deleted' AND image.id > ?1 AND "
                                    "(image.account_id IN ('', ?3) OR ?4 = 1) "
                                    "ORDER BY image.id LIMIT ?2";
static const char sql_one[] = LIST "WHERE image.id = ?1";
static const char sql_add[] =
    "INSERT INTO image(id, name, digest, source, state, state_since_us, size_bytes, files, reason, "
    "created_us) VALUES(?1, ?2, '', ?3, 'importing', ?4, 0, 0, '', ?4)";
static const char sql_again[] = "UPDATE image SET source = ?2, reason = '' WHERE id = ?1";

const struct jr_field image_import_fields[] = {
    {"name", JR_K_STR, JR_REQUIRED, offsetof(struct image_import, name), 1, 63,
     .doc = "a-z, 0-9 and '-'"},
    {"path", JR_K_STR, 0, offsetof(struct image_import, path), 2, 1023,
     .doc = "on the node: root tarball, OCI layout or OCI tar"},
    {"reference", JR_K_STR, 0, offsetof(struct image_import, reference), 10, 511,
     .doc = "in place of path: docker://HOST/REPOSITORY@sha256:HEX; neither: the catalogue's"},
    {"digest", JR_K_STR, 0, offsetof(struct image_import, digest), 71, 71,
     .doc = "sha256:HEX, checked while reading"},
    {"node", JR_K_STR, 0, offsetof(struct image_import, node), 1, 63, .doc = "default: all nodes"},
    {"username", JR_K_STR, 0, offsetof(struct image_import, username), 1, 255,
     .doc = "for the registry; kept sealed, until the import is over"},
    {"password", JR_K_STR, 0, offsetof(struct image_import, password), 1, 511, .doc = "likewise"},
    {0}};

static int find(struct db_q *q, int rc, struct image *ret)
{
    if (rc > 0) {
        (void)snprintf(ret->id, sizeof ret->id, "%s", db_text(q, 0));
        (void)snprintf(ret->file, sizeof ret->file, "%s", db_text(q, 1));
        (void)snprintf(ret->title, sizeof ret->title, "%s",
                       *db_text(q, 4) ? db_text(q, 2) : db_text(q, 1));
        (void)snprintf(ret->digest, sizeof ret->digest, "%s", db_text(q, 3));
        (void)snprintf(ret->account_id, sizeof ret->account_id, "%s", db_text(q, 4));
        (void)snprintf(ret->source, sizeof ret->source, "%s", db_text(q, 5));
        ret->state = sm_by_name(&image_sm, db_text(q, 6));
    }
    db_done(q);
    return rc;
}

int image_find(struct db_c *c, const char *account_id, const char *name, struct image *ret,
               struct sl_err *err)
{
    struct db_q q;
    int rc = *account_id ? find(&q, db_row(c, &q, err, sql_own, "tt", account_id, name), ret) : 0;
    return rc ? rc : find(&q, db_row(c, &q, err, sql_common, "t", name), ret);
}

int image_by_id(struct db_c *c, const char *id, struct image *ret, struct sl_err *err)
{
    struct db_q q;
    return find(&q, db_row(c, &q, err, sql_by_id, "t", id), ret);
}

/* "it is in the catalogue ..." */
static int only_listed(const struct image *i, enum sl_code code, struct sl_err *err)
{
    return sl_fail_at(err, code, "image",
                      "image: \"%.60s\" is in the catalogue but not imported; an operator imports "
                      "it with: starlease image import %.60s %.200s",
                      i->title, i->title, i->source);
}

int image_check(struct db_c *c, const char *account_id, const char *name,
                char ret_digest[DIGEST_TEXT], char ret_file[IMAGE_NAME], struct sl_err *err)
{
    struct image i;
    int rc = image_find(c, account_id, name, &i, err);
    if (rc < 0)
        return -1;
    if (rc == 0 || i.state == IMAGE_DELETED)
        return sl_fail_at(err, SL_INVALID, "image",
                          "image: no image named \"%.60s\"; list the images to see their names",
                          name);
    if (i.state == IMAGE_LISTED)
        return only_listed(&i, SL_INVALID, err);
    if (i.state != IMAGE_AVAILABLE)
        return sl_fail_at(err, SL_INVALID, "image", "image: \"%.60s\" is %s; wait or use another",
                          name, image_sm.states[i.state].name);
    memcpy(ret_digest, i.digest, DIGEST_TEXT);
    memcpy(ret_file, i.file, IMAGE_NAME);
    return 0;
}

int image_quotable(struct db_c *c, const char *account_id, const char *name, struct sl_err *err)
{
    struct image i;
    int rc = image_find(c, account_id, name, &i, err);
    if (rc < 0)
        return -1;
    if (rc == 0)
        return sl_fail_at(err, SL_NOT_FOUND, "image",
                          "image: \"%.60s\" is not here; `starlease image list` shows what is",
                          name);
    return i.state == IMAGE_LISTED ? only_listed(&i, SL_CONFLICT, err) : 0;
}

static const char sql_has[] =
    "INSERT INTO node_image(node_name, image, digest) VALUES(?1, ?2, ?3) ON "
    "CONFLICT (node_name, image) DO UPDATE SET digest = excluded.digest";
static const char sql_forget[] = "DELETE FROM node_image WHERE node_name = ?1";

int image_on_node(struct db_c *c, const char *node, const struct jr_val *images, struct sl_err *err)
{
    const struct jr_val *v;
    if (db_exec(c, err, sql_forget, "t", node) < 0)
        return -1;
    for (size_t i = 0; (v = jr_at(images, i)); i++)
        if (db_exec(c, err, sql_has, "ttt", node, jr_text(jr_get(v, "name"), ""),
                    jr_text(jr_get(v, "digest"), "")) < 0)
            return -1;
    return 0;
}

int image_move(struct db_c *c, struct server *s, const struct image *i, int to, const char *actor,
               const char *reason, struct sl_err *err)
{
    return sm_move(c, s, &image_sm, "image", "id", i->id, to, i->account_id, actor, reason, err);
}

/* ---- HTTP ---- */
static void warning(void *arg, const char *sentence)
{
    jw_str(arg, NULL, sentence);
}

static int write_row(struct db_c *c, struct jw *w, struct db_q *q, struct sl_err *err)
{
    bool listed = sl_streq(db_text(q, 4), "listed");
    jw_object(w, NULL);
    jw_str(w, "id", db_text(q, 0));
    jw_str(w, "name", db_text(q, 1));
    jw_str(w, "digest", db_text(q, 2));
    jw_str(w, "source", db_text(q, 3));
    jw_str(w, "state", db_text(q, 4));
    jw_int(w, "size_bytes", db_int(q, 5));
    jw_int(w, "files", db_int(q, 6));
    jw_str(w, "reason", db_text(q, 7));
    jw_str(w, "account", *db_text(q, 9) ? db_text(q, 9) : NULL);
    jw_str(w, "rocm", db_text(q, 10));
    jw_str(w, "frameworks", db_text(q, 11));
    if (*db_text(q, 12))
        jw_raw(w, "progress", db_text(q, 12));
    else
        jw_null(w, "progress");
    SL_AUTO_FREE char *command =
        listed ? sl_asprintf("starlease image import %s %s", db_text(q, 1), db_text(q, 3)) : NULL;
    jw_str(w, "import_with", command);
    jw_array(w, "warnings");
    int rc = image_warn(c, db_text(q, 10), NULL, warning, w, err);
    jw_end(w);
    jw_time(w, "created", db_int(q, 8));
    jw_end(w);
    return rc;
}

int image_list(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct page p;
    struct db_q q;
    if (page_begin(r, out, &p, err) < 0)
        return -1;
    int rc = db_query(c, &q, err, sql_list, "titi", p.cursor, p.limit + 1, r->caller.account_id,
                      (int64_t)(r->caller.role == ROLE_OPERATOR));
    while (rc >= 0 && (rc = db_next(&q, err)) > 0 && page_take(&p, db_text(&q, 0)))
        if (write_row(c, &out->json, &q, err) < 0) {
            rc = -1;
            break;
        }
    db_done(&q);
    page_end(out, &p);
    return rc < 0 ? -1 : 0;
}

/* 1 when the caller may know of it: common ones, his own, and all when he is an operator. */
static int find_seen(struct db_c *c, const struct req *r, struct image *i, struct sl_err *err)
{
    int rc = image_find(c, r->caller.account_id, r->path[0], i, err);
    if (rc)
        return rc;
    rc = image_by_id(c, r->path[0], i, err);
    if (rc > 0 && *i->account_id && !sl_streq(i->account_id, r->caller.account_id) &&
        r->caller.role != ROLE_OPERATOR)
        return 0;
    return rc;
}

static int show(struct db_c *c, struct reply *out, const char *id, struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err, sql_one, "t", id);
    if (rc > 0)
        rc = write_row(c, &out->json, &q, err);
    db_done(&q);
    return rc < 0 ? -1 : 0;
}

static int not_found(const struct req *r, struct sl_err *err)
{
    return sl_fail_at(err, SL_NOT_FOUND, "id", "no image %.60s exists; check the id", r->path[0]);
}

int image_show(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct image i;
    int rc = find_seen(c, r, &i, err);
    if (rc <= 0)
        return rc < 0 ? -1 : not_found(r, err);
    return show(c, out, i.id, err);
}

static int check(struct db_c *c, const struct image_import *b, struct sl_err *err)
{
    if (!name_ok(b->name))
        return sl_fail_at(err, SL_INVALID, "name",
                          "name: \"%.60s\" is not an image name; use a-z, 0-9 and '-'", b->name);
    if (b->path && b->reference)
        return sl_fail_at(err, SL_INVALID, "reference",
                          "reference: give a path or a reference, not both");
    if (b->path && b->path[0] != '/')
        return sl_fail_at(err, SL_INVALID, "path",
                          "path: \"%.100s\" is not absolute; write the path on the node", b->path);
    if (b->reference && !sl_starts(b->reference, "docker://"))
        return sl_fail_at(err, SL_INVALID, "reference",
                          "reference: \"%.100s\" does not begin with docker://", b->reference);
    if ((b->username || b->password) && (b->path || !b->username || !b->password))
        return sl_fail_at(err, SL_INVALID, b->username ? "password" : "username",
                          "username and password belong together, and to a registry");
    if (b->digest &&
        (!sl_starts(b->digest, "sha256:") || strspn(b->digest + 7, "0123456789abcdef") != 64))
        return sl_fail_at(err, SL_INVALID, "digest",
                          "digest: \"%.80s\" is not sha256: and 64 hex digits", b->digest);
    struct engine_node node;
    const struct engine *engine;
    return b->node ? node_engine(c, b->node, &node, &engine, err) : 0;
}

/* What is imported: the request's, else the catalogue's. */
static int source_of(struct db_c *c, struct image_import *b, char reference[REFERENCE_TEXT],
                     struct sl_err *err)
{
    struct db_q q;
    if (b->path || b->reference)
        return 0;
    int rc =
        db_row(c, &q, err, "SELECT reference FROM image_catalogue WHERE name = ?1", "t", b->name);
    if (rc > 0)
        (void)snprintf(reference, REFERENCE_TEXT, "%s", db_text(&q, 0));
    db_done(&q);
    if (rc == 0)
        return sl_fail_at(err, SL_INVALID, "path",
                          "path: neither path nor reference is given, and the catalogue has no "
                          "\"%.60s\"",
                          b->name);
    b->reference = reference;
    return rc < 0 ? -1 : 0;
}

static int begin(struct db_c *c, struct req *r, const struct image_import *b, char id[ID_TEXT],
                 struct sl_err *err)
{
    struct image i;
    const char *source = b->path ? b->path : b->reference;
    int rc = image_find(c, "", b->name, &i, err);
    if (rc < 0)
        return -1;
    if (rc > 0 && i.state == IMAGE_IMPORTING)
        return sl_fail_at(err, SL_CONFLICT, "name",
                          "image %s is being imported; wait for that operation to end", b->name);
    if (rc > 0) {
        memcpy(id, i.id, ID_TEXT);
        if (db_exec(c, err, sql_again, "tt", i.id, source) < 0)
            return -1;
        return image_move(c, r->s, &i, IMAGE_IMPORTING, r->caller.account_id, "", err);
    }
    env_id(r->s->env, "img", id);
    return db_exec(c, err, sql_add, "ttti", id, b->name, source, env_now(r->s->env));
}

int image_import_post(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct image_import b = *(const struct image_import *)r->body;
    char id[ID_TEXT], op_id[ID_TEXT], reference[REFERENCE_TEXT];
    if (check(c, &b, err) < 0 || source_of(c, &b, reference, err) < 0 ||
        begin(c, r, &b, id, err) < 0)
        return -1;
    SL_AUTO_BUF struct sl_buf payload = SL_BUF(16384);
    struct jw w = {&payload};
    jw_object(&w, NULL);
    jw_str(&w, "name", b.name);
    jw_str(&w, "path", b.path ? b.path : "");
    jw_str(&w, "reference", b.reference ? b.reference : "");
    jw_str(&w, "digest", b.digest ? b.digest : "");
    jw_str(&w, "node", b.node ? b.node : "");
    credentials_seal(r->s, &b, &w);
    jw_end(&w);
    struct operation_new op = {.kind = "image_import",
                               .ref = id,
                               .account_id = "",
                               .node_name = b.node,
                               .payload = sl_buf_str(&payload)};
    if (operation_add(c, r->s, &op, op_id, err) < 0)
        return -1;
    out->status = 201;
    (void)snprintf(out->location, sizeof out->location, "/v1/operations/%s", op_id);
    return operation_write(c, &out->json, "", op_id, err);
}

static const char sql_users[] =
    "SELECT COUNT(*) FROM lease WHERE image = ?1 AND (?2 = '' OR account_id = ?2) AND "
    "state <> 'released' AND state <> 'failed'";

int image_delete(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct image i;
    int64_t users = 0;
    bool operator= r->caller.role == ROLE_OPERATOR;
    int rc = find_seen(c, r, &i, err);
    if (rc <= 0)
        return rc < 0 ? -1 : not_found(r, err);
    bool own = *i.account_id && sl_streq(i.account_id, r->caller.account_id);
    if (!own && !operator)
        return sl_fail(err, SL_FORBIDDEN, "image %s is everybody's; only an operator may remove it",
                       i.title);
    if (db_value(c, 0, &users, err, sql_users, "tt", i.title, i.account_id) < 0)
        return -1;
    if (users)
        return sl_fail_at(err, SL_CONFLICT, "id",
                          "image %s is used by %d instances; they must be released first", i.title,
                          (int)users);
    SL_AUTO_BUF struct sl_buf payload = SL_BUF(1024);
    struct jw w = {&payload};
    jw_object(&w, NULL);
    jw_str(&w, "name", i.file);
    jw_end(&w);
    struct operation_new op = {.kind = "image_remove",
                               .ref = i.id,
                               .account_id = i.account_id,
                               .payload = sl_buf_str(&payload)};
    bool here = i.state != IMAGE_DELETED && i.state != IMAGE_LISTED;
    if (here && (image_move(c, r->s, &i, IMAGE_DELETED, r->caller.account_id, "", err) < 0 ||
                 operation_add(c, r->s, &op, NULL, err) < 0))
        return -1;
    return show(c, out, i.id, err);
}
