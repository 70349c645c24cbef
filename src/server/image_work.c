/* SPDX-License-Identifier: Apache-2.0
 *
 * What workers do for an image: bring it to the nodes, take it from them. Both may be killed and
 * repeated at any point.
 */
#include "base/core/failpoint.h"
#include "server/event.h"
#include "server/image.h"
#include "server/node.h"
#include "server/operation.h"
#include <stdio.h>

enum {
    IMPORT_TIMEOUT_MS = 3600000,
    IMPORT_TRIES_A_NODE = 3,
    REMOVE_TIMEOUT_MS = 120000,
    NODES_MAX = 4096,
    PROGRESS_EVERY_US = 1000000
};

static const char sql_imported[] = "UPDATE image SET digest = ?2, size_bytes = ?3, files = ?4, "
                                   "reason = '', progress = '' WHERE id = ?1";
static const char sql_reason[] = "UPDATE image SET reason = ?2, progress = '' WHERE id = ?1";
static const char sql_nodes[] =
    "SELECT name FROM node WHERE state <> 'retired' AND state <> 'enrolled' ORDER BY name LIMIT ?1";
static const char sql_has[] =
    "INSERT INTO node_image(node_name, image, digest) VALUES(?1, ?2, ?3) ON "
    "CONFLICT (node_name, image) DO UPDATE SET digest = excluded.digest";

/* ---- credentials ---- */
static void sealing_key(const struct server *s, uint8_t key[SHA256_BYTES])
{
    static const char purpose[] = "registry credentials";
    hmac_sha256(s->lease_key, sizeof s->lease_key, purpose, sizeof purpose - 1, key);
}

void credentials_seal(const struct server *s, const struct image_import *b, struct jw *w)
{
    uint8_t key[SHA256_BYTES];
    if (!b->username)
        return;
    SL_AUTO_FREE char *pair = sl_asprintf("%s\n%s", b->username, b->password);
    size_t n = strlen(pair);
    SL_AUTO_FREE char *sealed = sl_alloc(SEALED_HEX(n));
    sealing_key(s, key);
    secret_seal(key, pair, n, sealed);
    explicit_bzero(pair, n);
    jw_str(w, "sealed", sealed);
}

int credentials_open(const struct server *s, const struct jr_val *payload, char *ret_username,
                     char *ret_password, size_t size, struct sl_err *err)
{
    uint8_t key[SHA256_BYTES];
    char pair[1024];
    const char *sealed = jr_text(jr_get(payload, "sealed"), "");
    if (!*sealed)
        return 0;
    sealing_key(s, key);
    int n = secret_open(key, sealed, pair, sizeof pair - 1);
    char *line = n < 0 ? NULL : memchr(pair, '\n', (size_t)n);
    if (!line)
        return sl_fail(err, SL_INTEGRITY,
                       "the registry's user name and password cannot be read; import again");
    pair[n] = 0;
    *line = 0;
    (void)snprintf(ret_username, size, "%s", pair);
    (void)snprintf(ret_password, size, "%s", line + 1);
    explicit_bzero(pair, sizeof pair);
    return 0;
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

/* The last word on an import: the credentials go with it. */
static int forget_credentials(struct db_c *c, const struct operation *op, struct sl_err *err)
{
    if (!strstr(op->payload, "\"sealed\""))
        return 0;
    return db_exec(c, err, "UPDATE operation SET payload = '{}' WHERE id = ?1", "t", op->id);
}

static int store_progress(struct db_c *c, void *arg, struct sl_err *err)
{
    struct import *m = arg;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(1024);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "node", m->node.name);
    jw_str(&w, "step", jr_text(jr_get(m->progress, "step"), ""));
    jw_int(&w, "bytes", jr_i64(jr_get(m->progress, "bytes"), 0));
    jw_int(&w, "total", jr_i64(jr_get(m->progress, "total"), 0));
    jw_int(&w, "files", jr_i64(jr_get(m->progress, "files"), 0));
    jw_end(&w);
    if (db_exec(c, err, "UPDATE image SET progress = ?2 WHERE id = ?1", "tt", m->op->ref,
                sl_buf_str(&b)) < 0)
        return -1;
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
    SL_AUTO_BUF struct sl_buf b = SL_BUF(16384);
    struct jw w = {&b};
    const char *digest = jr_text(jr_get(m->payload, "digest"), "");
    jw_object(&w, NULL);
    jw_str(&w, "op", "image.import");
    jw_str(&w, "node", node);
    jw_str(&w, "name", jr_text(jr_get(m->payload, "name"), ""));
    const char *path = jr_text(jr_get(m->payload, "path"), "");
    const char *reference = jr_text(jr_get(m->payload, "reference"), "");
    jw_str(&w, *path ? "path" : "reference", *path ? path : reference);
    if (*digest)
        jw_str(&w, "digest", digest);
    char username[512] = "", password[sizeof username] = "";
    if (credentials_open(m->s, m->payload, username, password, sizeof username, err) < 0)
        return -1;
    if (*username) {
        jw_str(&w, "username", username);
        jw_str(&w, "password", password);
        explicit_bzero(password, sizeof password);
    }
    jw_end(&w);
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    const struct jr_val *ok = NULL;
    int rc = m->engine->operate(&m->node, sl_buf_str(&b), IMPORT_TIMEOUT_MS, on_progress, m, &doc,
                                &ok, err);
    if (*username && b.p)
        explicit_bzero(b.p, b.n);
    if (rc < 0)
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
    int rc = image_by_id(c, m->op->ref, &i, err);
    if (rc < 0)
        return -1;
    if (rc > 0 && i.state == IMAGE_IMPORTING &&
        (db_exec(c, err, sql_imported, "ttii", i.id, m->digest, m->size_bytes, m->files) < 0 ||
         image_move(c, m->s, &i, IMAGE_AVAILABLE, "system", "", err) < 0))
        return -1;
    for (int k = 0; rc > 0 && k < m->n_nodes; k++)
        if (db_exec(c, err, sql_has, "ttt", m->nodes[k], i.file, m->digest) < 0)
            return -1;
    if (forget_credentials(c, m->op, err) < 0)
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
    if (forget_credentials(c, op, err) < 0)
        return -1;
    int rc = image_by_id(c, op->ref, &i, err);
    if (rc <= 0 || i.state != IMAGE_IMPORTING)
        return rc < 0 ? -1 : 0;
    if (db_exec(c, err, sql_reason, "tt", i.id, why) < 0)
        return -1;
    return image_move(c, s, &i, IMAGE_FAILED, "system", why, err);
}

/* ---- remove ---- */
static int remove_done(struct db_c *c, void *arg, struct sl_err *err)
{
    struct import *m = arg;
    if (db_exec(c, err, "DELETE FROM node_image WHERE image = ?1", "t",
                jr_text(jr_get(m->payload, "name"), "")) < 0 ||
        image_list_again(c, m->s, jr_text(jr_get(m->payload, "name"), ""), err) < 0)
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
