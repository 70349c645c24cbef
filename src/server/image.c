/* SPDX-License-Identifier: Apache-2.0 */
#include "server/image.h"
#include "base/core/failpoint.h"
#include "server/event.h"
#include "server/node.h"
#include "server/operation.h"
#include "server/page.h"
#include <stdio.h>

enum {
    IMPORT_TIMEOUT_MS = 3600000,
    IMPORT_TRIES_A_NODE = 3,
    REMOVE_TIMEOUT_MS = 120000,
    NODES_MAX = 4096,
    PROGRESS_EVERY_US = 1000000
};

#define COLUMNS "id, name, digest, source, state, size_bytes, files, reason, created_us"
static const char sql_by_name[] = "SELECT " COLUMNS " FROM image WHERE name = ?1";
static const char sql_by_id[] = "SELECT " COLUMNS " FROM image WHERE id = ?1 OR name = ?1";
static const char sql_list[] =
    "SELECT " COLUMNS " FROM image WHERE state <> 'deleted' AND id > ?1 ORDER BY id LIMIT ?2";
static const char sql_add[] =
    "INSERT INTO image(id, name, digest, source, state, state_since_us, size_bytes, files, reason, "
    "created_us) VALUES(?1, ?2, '', ?3, 'importing', ?4, 0, 0, '', ?4)";
static const char sql_imported[] =
    "UPDATE image SET digest = ?2, size_bytes = ?3, files = ?4, reason = '' WHERE id = ?1";
static const char sql_reason[] = "UPDATE image SET reason = ?2 WHERE id = ?1";
static const char sql_again[] = "UPDATE image SET source = ?2, reason = '' WHERE id = ?1";
static const char sql_nodes[] =
    "SELECT name FROM node WHERE state <> 'retired' AND state <> 'enrolled' ORDER BY name LIMIT ?1";

const struct jr_field image_import_fields[] = {
    {"name", JR_K_STR, JR_REQUIRED, offsetof(struct image_import, name), 1, 63,
     .doc = "a-z, 0-9 and '-'"},
    {"path", JR_K_STR, JR_REQUIRED, offsetof(struct image_import, path), 2, 1023,
     .doc = "on the node: root tarball, OCI layout or OCI tar"},
    {"digest", JR_K_STR, 0, offsetof(struct image_import, digest), 71, 71,
     .doc = "sha256:HEX, checked while reading"},
    {"node", JR_K_STR, 0, offsetof(struct image_import, node), 1, 63, .doc = "default: all nodes"},
    {0}};

struct image {
    char id[ID_TEXT], name[64], digest[DIGEST_TEXT];
    int state;
};

/* 1 found, 0 not. */
static int find(struct db_c *c, const char *sql, const char *key, struct image *ret,
                struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err, sql, "t", key);
    if (rc > 0) {
        (void)snprintf(ret->id, sizeof ret->id, "%s", db_text(&q, 0));
        (void)snprintf(ret->name, sizeof ret->name, "%s", db_text(&q, 1));
        (void)snprintf(ret->digest, sizeof ret->digest, "%s", db_text(&q, 2));
        ret->state = sm_by_name(&image_sm, db_text(&q, 4));
    }
    db_done(&q);
    return rc;
}

int image_check(struct db_c *c, const char *name, char ret_digest[DIGEST_TEXT], struct sl_err *err)
{
    struct image i;
    int rc = find(c, sql_by_name, name, &i, err);
    if (rc < 0)
        return -1;
    if (rc == 0 || i.state == IMAGE_DELETED)
        return sl_fail_at(err, SL_INVALID, "image",
                          "image: no image named \"%.60s\"; list the images to see their names",
                          name);
    if (i.state != IMAGE_AVAILABLE)
        return sl_fail_at(err, SL_INVALID, "image", "image: \"%.60s\" is %s; wait or use another",
                          name, image_sm.states[i.state].name);
    memcpy(ret_digest, i.digest, DIGEST_TEXT);
    return 0;
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

static int move(struct db_c *c, struct server *s, const char *id, int to, const char *actor,
                const char *reason, struct sl_err *err)
{
    return sm_move(c, s, &image_sm, "image", "id", id, to, "", actor, reason, err);
}

/* ---- import ---- */
struct import {
    struct server *s;
    const struct operation *op;
    const struct jr_val *payload; /* name, path, digest, node */
    char (*nodes)[64];
    int n_nodes;
    struct engine_node node;
    const struct engine *engine;
    const char *digest;
    int64_t size_bytes, files, last_progress_us;
    const struct jr_val *progress;
};

static int list_nodes(struct db_c *c, void *arg, struct sl_err *err)
{
    struct import *m = arg;
    const char *one = jr_text(jr_get(m->payload, "node"), "");
    struct db_q q;
    m->n_nodes = 0;
    if (*one) {
        (void)snprintf(m->nodes[m->n_nodes++], 64, "%s", one);
        return 0;
    }
    int rc = db_query(c, &q, err, sql_nodes, "i", (int64_t)NODES_MAX);
    while (rc >= 0 && (rc = db_next(&q, err)) > 0)
        (void)snprintf(m->nodes[m->n_nodes++], 64, "%s", db_text(&q, 0));
    db_done(&q);
    if (rc < 0)
        return -1;
    if (m->n_nodes == 0)
        return sl_fail(err, SL_CONFLICT, "no node is enrolled to import the image on; enrol one");
    return 0;
}

static int find_node(struct db_c *c, void *arg, struct sl_err *err)
{
    struct import *m = arg;
    return node_engine(c, m->node.name, &m->node, &m->engine, err);
}

static int store_progress(struct db_c *c, void *arg, struct sl_err *err)
{
    struct import *m = arg;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(1024);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "node", m->node.name);
    jw_int(&w, "bytes", jr_i64(jr_get(m->progress, "bytes"), 0));
    jw_int(&w, "total", jr_i64(jr_get(m->progress, "total"), 0));
    jw_int(&w, "files", jr_i64(jr_get(m->progress, "files"), 0));
    jw_end(&w);
    return event_add(c, m->s, "", "image", m->op->ref, "image.progress", "agent", sl_buf_str(&b),
                     err);
}

/* At most one event a second. */
static void on_progress(void *arg, const struct jr_val *v)
{
    struct import *m = arg;
    struct sl_err err = {0};
    int64_t now = env_mono(m->s->env);
    if (m->last_progress_us && now - m->last_progress_us < PROGRESS_EVERY_US)
        return;
    m->last_progress_us = now;
    m->progress = v;
    if (db_write(m->s->db, store_progress, m, &err) == 0)
        bus_poke(m->s);
}

static int import_on(struct import *m, const char *node, struct sl_arena *a, struct sl_err *err)
{
    (void)snprintf(m->node.name, sizeof m->node.name, "%s", node);
    if (db_read(m->s->db, find_node, m, err) < 0)
        return -1;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(8192);
    struct jw w = {&b};
    const char *digest = jr_text(jr_get(m->payload, "digest"), "");
    jw_object(&w, NULL);
    jw_str(&w, "op", "image.import");
    jw_str(&w, "node", node);
    jw_str(&w, "name", jr_text(jr_get(m->payload, "name"), ""));
    jw_str(&w, "path", jr_text(jr_get(m->payload, "path"), ""));
    if (*digest)
        jw_str(&w, "digest", digest);
    jw_end(&w);
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    const struct jr_val *ok = NULL;
    if (m->engine->operate(&m->node, sl_buf_str(&b), IMPORT_TIMEOUT_MS, on_progress, m, &doc, &ok,
                           err) < 0)
        return -1;
    const char *got = jr_text(jr_get(ok, "digest"), "");
    if (m->digest && !sl_streq(m->digest, got))
        return sl_fail_at(err, SL_INTEGRITY, "digest",
                          "node %s read %.75s, another node read %.75s; the files differ", node,
                          got, m->digest);
    m->digest = sl_arena_strdup(a, got);
    m->size_bytes = jr_i64(jr_get(ok, "size_bytes"), 0);
    m->files = jr_i64(jr_get(ok, "files"), 0);
    return 0;
}

/* One answer that is lost among many nodes must not cost the work done on the others. */
static int import_on_patiently(struct import *m, const char *node, struct sl_arena *a,
                               struct sl_err *err)
{
    int rc = -1;
    for (int i = 0; rc < 0 && i < IMPORT_TRIES_A_NODE; i++) {
        rc = import_on(m, node, a, err);
        if (rc < 0 && err->code != SL_UNAVAILABLE)
            return -1;
    }
    return rc;
}

static int imported(struct db_c *c, void *arg, struct sl_err *err)
{
    struct import *m = arg;
    struct image i;
    int rc = find(c, sql_by_id, m->op->ref, &i, err);
    if (rc < 0)
        return -1;
    if (rc > 0 && i.state == IMAGE_IMPORTING &&
        (db_exec(c, err, sql_imported, "ttii", i.id, m->digest, m->size_bytes, m->files) < 0 ||
         move(c, m->s, i.id, IMAGE_AVAILABLE, "system", "", err) < 0))
        return -1;
    for (int k = 0; rc > 0 && k < m->n_nodes; k++)
        if (db_exec(c, err, sql_has, "ttt", m->nodes[k], i.name, m->digest) < 0)
            return -1;
    return operation_finish(c, m->s, m->op, err);
}

struct refusal {
    struct server *s;
    const struct operation *op;
    const char *why;
};

static int refused(struct db_c *c, void *arg, struct sl_err *err)
{
    struct refusal *r = arg;
    if (image_import_gave_up(c, r->s, r->op, r->why, err) < 0)
        return -1;
    return operation_fail(c, r->s, r->op, r->why, err);
}

int image_run_import(struct server *s, const struct operation *op, struct sl_err *err)
{
    SL_AUTO_ARENA struct sl_arena a = {0};
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    if (jr_open(op->payload, strlen(op->payload), &doc, err) < 0)
        return -1;
    struct import m = {.s = s,
                       .op = op,
                       .payload = jr_root(doc),
                       .nodes = sl_arena_alloc(&a, NODES_MAX * sizeof *m.nodes)};
    int rc = db_read(s->db, list_nodes, &m, err);
    for (int i = 0; rc == 0 && i < m.n_nodes; i++)
        rc = import_on_patiently(&m, m.nodes[i], &a, err);
    if (rc == 0)
        return db_write(s->db, imported, &m, err);
    if (err->code == SL_UNAVAILABLE || err->code == SL_TIMEOUT)
        return -1;
    /* The image itself is at fault: trying again would fail the same way. */
    struct sl_err why = *err;
    struct refusal r = {s, op, why.msg};
    return db_write(s->db, refused, &r, err);
}

int image_import_gave_up(struct db_c *c, struct server *s, const struct operation *op,
                         const char *why, struct sl_err *err)
{
    struct image i;
    int rc = find(c, sql_by_id, op->ref, &i, err);
    if (rc <= 0 || i.state != IMAGE_IMPORTING)
        return rc < 0 ? -1 : 0;
    if (db_exec(c, err, sql_reason, "tt", i.id, why) < 0)
        return -1;
    return move(c, s, i.id, IMAGE_FAILED, "system", why, err);
}

/* ---- remove ---- */
static int remove_done(struct db_c *c, void *arg, struct sl_err *err)
{
    struct import *m = arg;
    if (db_exec(c, err, "DELETE FROM node_image WHERE image = ?1", "t",
                jr_text(jr_get(m->payload, "name"), "")) < 0)
        return -1;
    return operation_finish(c, m->s, m->op, err);
}

int image_run_remove(struct server *s, const struct operation *op, struct sl_err *err)
{
    SL_AUTO_ARENA struct sl_arena a = {0};
    JR_AUTO_DOC struct jr_doc *payload = NULL;
    if (jr_open(op->payload, strlen(op->payload), &payload, err) < 0)
        return -1;
    struct import m = {.s = s,
                       .op = op,
                       .payload = jr_root(payload),
                       .nodes = sl_arena_alloc(&a, NODES_MAX * sizeof *m.nodes)};
    if (db_read(s->db, list_nodes, &m, err) < 0)
        return -1;
    for (int i = 0; i < m.n_nodes; i++) {
        SL_AUTO_BUF struct sl_buf b = SL_BUF(1024);
        struct jw w = {&b};
        jw_object(&w, NULL);
        jw_str(&w, "op", "image.remove");
        jw_str(&w, "node", m.nodes[i]);
        jw_str(&w, "name", jr_text(jr_get(m.payload, "name"), ""));
        jw_end(&w);
        (void)snprintf(m.node.name, sizeof m.node.name, "%s", m.nodes[i]);
        JR_AUTO_DOC struct jr_doc *doc = NULL;
        const struct jr_val *ok = NULL;
        if (db_read(s->db, find_node, &m, err) < 0 ||
            m.engine->operate(&m.node, sl_buf_str(&b), REMOVE_TIMEOUT_MS, NULL, NULL, &doc, &ok,
                              err) < 0)
            return -1;
    }
    return db_write(s->db, remove_done, &m, err);
}

/* ---- HTTP ---- */
static void write_row(struct jw *w, struct db_q *q)
{
    jw_object(w, NULL);
    jw_str(w, "id", db_text(q, 0));
    jw_str(w, "name", db_text(q, 1));
    jw_str(w, "digest", db_text(q, 2));
    jw_str(w, "source", db_text(q, 3));
    jw_str(w, "state", db_text(q, 4));
    jw_int(w, "size_bytes", db_int(q, 5));
    jw_int(w, "files", db_int(q, 6));
    jw_str(w, "reason", db_text(q, 7));
    jw_time(w, "created", db_int(q, 8));
    jw_end(w);
}

int image_list(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct page p;
    struct db_q q;
    if (page_begin(r, out, &p, err) < 0)
        return -1;
    int rc = db_query(c, &q, err, sql_list, "ti", p.cursor, p.limit + 1);
    while (rc >= 0 && (rc = db_next(&q, err)) > 0 && page_take(&p, db_text(&q, 0)))
        write_row(&out->json, &q);
    db_done(&q);
    page_end(out, &p);
    return rc < 0 ? -1 : 0;
}

static int check(struct db_c *c, const struct image_import *b, struct sl_err *err)
{
    if (!name_ok(b->name))
        return sl_fail_at(err, SL_INVALID, "name",
                          "name: \"%.60s\" is not an image name; use a-z, 0-9 and '-'", b->name);
    if (b->path[0] != '/')
        return sl_fail_at(err, SL_INVALID, "path",
                          "path: \"%.100s\" is not absolute; write the path on the node", b->path);
    if (b->digest &&
        (!sl_starts(b->digest, "sha256:") || strspn(b->digest + 7, "0123456789abcdef") != 64))
        return sl_fail_at(err, SL_INVALID, "digest",
                          "digest: \"%.80s\" is not sha256: and 64 hex digits", b->digest);
    struct engine_node node;
    const struct engine *engine;
    return b->node ? node_engine(c, b->node, &node, &engine, err) : 0;
}

static int begin(struct db_c *c, struct req *r, const struct image_import *b, char id[ID_TEXT],
                 struct sl_err *err)
{
    struct image i;
    int rc = find(c, sql_by_name, b->name, &i, err);
    if (rc < 0)
        return -1;
    if (rc > 0 && i.state == IMAGE_IMPORTING)
        return sl_fail_at(err, SL_CONFLICT, "name",
                          "image %s is being imported; wait for that operation to end", b->name);
    if (rc > 0) {
        memcpy(id, i.id, ID_TEXT);
        if (db_exec(c, err, sql_again, "tt", i.id, b->path) < 0)
            return -1;
        return move(c, r->s, i.id, IMAGE_IMPORTING, r->caller.account_id, "", err);
    }
    env_id(r->s->env, "img", id);
    return db_exec(c, err, sql_add, "ttti", id, b->name, b->path, env_now(r->s->env));
}

int image_import_post(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    const struct image_import *b = r->body;
    char id[ID_TEXT], op_id[ID_TEXT];
    if (check(c, b, err) < 0 || begin(c, r, b, id, err) < 0)
        return -1;
    SL_AUTO_BUF struct sl_buf payload = SL_BUF(8192);
    struct jw w = {&payload};
    jw_object(&w, NULL);
    jw_str(&w, "name", b->name);
    jw_str(&w, "path", b->path);
    jw_str(&w, "digest", b->digest ? b->digest : "");
    jw_str(&w, "node", b->node ? b->node : "");
    jw_end(&w);
    struct operation_new op = {.kind = "image_import",
                               .ref = id,
                               .account_id = "",
                               .node_name = b->node,
                               .payload = sl_buf_str(&payload)};
    if (operation_add(c, r->s, &op, op_id, err) < 0)
        return -1;
    out->status = 201;
    (void)snprintf(out->location, sizeof out->location, "/v1/operations/%s", op_id);
    return operation_write(c, &out->json, "", op_id, err);
}

int image_delete(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct image i;
    int64_t users = 0;
    int rc = find(c, sql_by_id, r->path[0], &i, err);
    if (rc < 0)
        return -1;
    if (rc == 0)
        return sl_fail_at(err, SL_NOT_FOUND, "id", "no image %.60s exists; check the id",
                          r->path[0]);
    if (db_value(c, 0, &users, err,
                 "SELECT COUNT(*) FROM lease WHERE image = ?1 AND state <> 'released' AND "
                 "state <> 'failed'",
                 "t", i.name) < 0)
        return -1;
    if (users)
        return sl_fail_at(err, SL_CONFLICT, "id",
                          "image %s is used by %d instances; they must be released first", i.name,
                          (int)users);
    SL_AUTO_BUF struct sl_buf payload = SL_BUF(1024);
    struct jw w = {&payload};
    jw_object(&w, NULL);
    jw_str(&w, "name", i.name);
    jw_end(&w);
    struct operation_new op = {
        .kind = "image_remove", .ref = i.id, .account_id = "", .payload = sl_buf_str(&payload)};
    if (i.state != IMAGE_DELETED &&
        (move(c, r->s, i.id, IMAGE_DELETED, r->caller.account_id, "", err) < 0 ||
         operation_add(c, r->s, &op, NULL, err) < 0))
        return -1;
    struct db_q q;
    rc = db_row(c, &q, err, sql_by_id, "t", i.id);
    if (rc > 0)
        write_row(&out->json, &q);
    db_done(&q);
    return rc < 0 ? -1 : 0;
}
