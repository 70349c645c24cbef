/* SPDX-License-Identifier: Apache-2.0
 *
 * An image out of a stopped instance: what its disk holds over its image, as one account's own.
 * Stopped, because a disk that is written to has no moment at which it is whole.
 */
#include "base/core/failpoint.h"
#include "server/event.h"
#include "server/image.h"
#include "server/lease.h"
#include "server/node.h"
#include "server/operation.h"
#include <inttypes.h>
#include <stdio.h>

enum { SAVE_TIMEOUT_MS = 3600000, PROGRESS_EVERY_US = 1000000 };
#define GB 1000000000LL

const struct jr_field image_save_fields[] = {{"name", JR_K_STR, JR_REQUIRED,
                                              offsetof(struct image_save, name), 1, 63,
                                              .doc = "a-z, 0-9 and '-'; unique among your images"},
                                             {0}};

static const char sql_add[] =
    "INSERT INTO image(id, name, digest, source, state, state_since_us, size_bytes, files, reason, "
    "created_us, account_id, title) VALUES(?1, ?1, '', ?2, 'importing', ?3, 0, 0, '', ?3, ?4, ?5)";
static const char sql_use[] =
    "SELECT COUNT(*), COALESCE(SUM(size_bytes), 0), "
    "COALESCE(SUM(CASE WHEN state = 'importing' THEN 1 ELSE 0 END), 0) FROM image WHERE "
    "account_id = ?1 AND state <> 'deleted'";
static const char sql_active[] = "SELECT COUNT(*) FROM account WHERE id = ?1 AND state = 'active'";
static const char sql_saved[] =
    "UPDATE image SET digest = ?2, size_bytes = ?3, files = ?4, progress = '' WHERE id = ?1";
static const char sql_has[] =
    "INSERT INTO node_image(node_name, image, digest) VALUES(?1, ?2, ?3) ON "
    "CONFLICT (node_name, image) DO UPDATE SET digest = excluded.digest";
static const char sql_saving[] = "SELECT COUNT(*) FROM operation WHERE ref = ?1 AND kind = "
                                 "'image_save' AND state IN ('pending', 'running')";

int image_saving(struct db_c *c, const char *lease_id, struct sl_err *err)
{
    int64_t n = 0;
    if (db_value(c, 0, &n, err, sql_saving, "t", lease_id) < 0)
        return -1;
    if (n)
        return sl_fail_at(err, SL_CONFLICT, "state",
                          "an image is being saved of this instance; wait for it to end");
    return 0;
}

/* Bytes that the account may still save; SL_QUOTA when there are none. */
static int room(struct db_c *c, struct server *s, const char *account, int64_t *ret,
                struct sl_err *err)
{
    int64_t n = 0, bytes = 0, busy = 0, active = 0, max = s->conf.quota_image_gb * GB;
    struct db_q q;
    int rc = db_row(c, &q, err, sql_use, "t", account);
    if (rc > 0) {
        n = db_int(&q, 0);
        bytes = db_int(&q, 1);
        busy = db_int(&q, 2);
    }
    db_done(&q);
    if (rc < 0 || db_value(c, 0, &active, err, sql_active, "t", account) < 0)
        return -1;
    if (!active)
        return sl_fail(err, SL_FORBIDDEN, "the account is not active; it can save no image");
    if (busy) /* its size is not known yet, so neither is the room that is left */
        return sl_fail_at(err, SL_CONFLICT, "name",
                          "another image of the account is being saved; wait for it to end");
    if (n >= s->conf.quota_images)
        return sl_fail_at(err, SL_QUOTA, "name",
                          "images: %" PRId64 " are kept, which is all that the account may keep; "
                          "remove one",
                          n);
    if (bytes >= max)
        return sl_fail_at(err, SL_QUOTA, "name",
                          "images: %" PRId64 " GB are kept, which is all the account's room; "
                          "remove one",
                          (int64_t)(bytes / GB));
    *ret = max - bytes;
    return 0;
}

static int check_name(struct db_c *c, const char *account, const char *name, struct sl_err *err)
{
    struct image i;
    if (!name_ok(name))
        return sl_fail_at(err, SL_INVALID, "name",
                          "name: \"%.60s\" is not an image name; use a-z, 0-9 and '-'", name);
    int rc = image_find(c, account, name, &i, err);
    if (rc < 0 || rc == 0 || (!*i.account_id && i.state == IMAGE_DELETED))
        return rc < 0 ? -1 : 0;
    return sl_fail_at(err, SL_CONFLICT, "name",
                      *i.account_id ? "name: you have an image named %s; remove it or use another"
                                    : "name: %s is an image for everybody; use another",
                      name);
}

int image_save_post(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    const struct image_save *b = r->body;
    struct server *s = r->s;
    struct lease l;
    int64_t max_bytes = 0;
    char id[ID_TEXT], op_id[ID_TEXT], base[IMAGE_NAME], digest[DIGEST_TEXT];
    if (lease_get(c, r->caller.account_id, r->path[0], r->arena, &l, err) < 0)
        return -1;
    const char *account = l.account_id;
    if (l.state != LEASE_STOPPED || lease_on_node(&l))
        return sl_fail_at(err, SL_CONFLICT, "state",
                          "instance %s is %s; stop it first: only a disk at rest can be saved",
                          l.name, lease_sm.states[l.state].name);
    if (check_name(c, account, b->name, err) < 0 || room(c, s, account, &max_bytes, err) < 0 ||
        image_saving(c, l.id, err) < 0 || image_check(c, account, l.image, digest, base, err) < 0)
        return -1;
    env_id(s->env, "img", id);
    if (db_exec(c, err, sql_add, "ttitt", id, l.id, env_now(s->env), account, b->name) < 0)
        return -1;
    SL_AUTO_BUF struct sl_buf payload = SL_BUF(2048);
    struct jw w = {&payload};
    jw_object(&w, NULL);
    jw_str(&w, "image", id);
    jw_str(&w, "base", base);
    jw_str(&w, "volume", l.volume_id);
    jw_int(&w, "max_bytes", max_bytes);
    jw_end(&w);
    /* ref is the lease: its operations run one at a time */
    struct operation_new op = {.kind = "image_save",
                               .ref = l.id,
                               .account_id = account,
                               .node_name = l.node_name,
                               .payload = sl_buf_str(&payload)};
    if (operation_add(c, s, &op, op_id, err) < 0)
        return -1;
    FAILPOINT("image.save_added");
    out->status = 201;
    (void)snprintf(out->location, sizeof out->location, "/v1/operations/%s", op_id);
    return operation_write(c, &out->json, account, op_id, err);
}

/* ---- the work ---- */
struct save {
    struct server *s;
    const struct operation *op;
    const char *image, *why;
    struct engine_node node;
    const struct engine *engine;
    const struct jr_val *ok, *progress;
    int64_t last_progress_us;
};

static int find_node(struct db_c *c, void *arg, struct sl_err *err)
{
    struct save *v = arg;
    return node_engine(c, v->op->node_name, &v->node, &v->engine, err);
}

static int store_progress(struct db_c *c, void *arg, struct sl_err *err)
{
    struct save *v = arg;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(1024);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "node", v->node.name);
    jw_str(&w, "step", jr_text(jr_get(v->progress, "step"), ""));
    jw_int(&w, "bytes", jr_i64(jr_get(v->progress, "bytes"), 0));
    jw_int(&w, "total", jr_i64(jr_get(v->progress, "total"), 0));
    jw_int(&w, "files", jr_i64(jr_get(v->progress, "files"), 0));
    jw_end(&w);
    if (db_exec(c, err, "UPDATE image SET progress = ?2 WHERE id = ?1", "tt", v->image,
                sl_buf_str(&b)) < 0)
        return -1;
    return event_add(c, v->s, v->op->account_id, "image", v->image, "image.progress", "agent",
                     sl_buf_str(&b), err);
}

static void on_progress(void *arg, const struct jr_val *p)
{
    struct save *v = arg;
    struct sl_err err = {0};
    int64_t now = env_mono(v->s->env);
    if (v->last_progress_us && now - v->last_progress_us < PROGRESS_EVERY_US)
        return;
    v->last_progress_us = now;
    v->progress = p;
    if (db_write(v->s->db, store_progress, v, &err) == 0)
        bus_poke(v->s);
}

static int saved(struct db_c *c, void *arg, struct sl_err *err)
{
    struct save *v = arg;
    struct image i;
    const char *digest = jr_text(jr_get(v->ok, "digest"), "");
    int rc = image_by_id(c, v->image, &i, err);
    if (rc < 0)
        return -1;
    if (rc > 0 && i.state == IMAGE_IMPORTING &&
        (db_exec(c, err, sql_saved, "ttii", i.id, digest, jr_i64(jr_get(v->ok, "size_bytes"), 0),
                 jr_i64(jr_get(v->ok, "files"), 0)) < 0 ||
         db_exec(c, err, sql_has, "ttt", v->op->node_name, i.file, digest) < 0 ||
         image_move(c, v->s, &i, IMAGE_AVAILABLE, "system", "", err) < 0))
        return -1;
    return operation_finish(c, v->s, v->op, err);
}

static int fail_image(struct db_c *c, struct server *s, const char *image, const char *why,
                      struct sl_err *err)
{
    struct image i;
    int rc = image_by_id(c, image, &i, err);
    if (rc <= 0 || i.state != IMAGE_IMPORTING)
        return rc < 0 ? -1 : 0;
    if (db_exec(c, err, "UPDATE image SET reason = ?2, progress = '' WHERE id = ?1", "tt", i.id,
                why) < 0)
        return -1;
    return image_move(c, s, &i, IMAGE_FAILED, "system", why, err);
}

static int refused(struct db_c *c, void *arg, struct sl_err *err)
{
    struct save *v = arg;
    if (fail_image(c, v->s, v->image, v->why, err) < 0)
        return -1;
    return operation_fail(c, v->s, v->op, v->why, err);
}

int image_run_save(struct server *s, const struct operation *op, struct sl_err *err)
{
    JR_AUTO_DOC struct jr_doc *payload = NULL, *doc = NULL;
    if (jr_open(op->payload, strlen(op->payload), &payload, err) < 0)
        return -1;
    const struct jr_val *p = jr_root(payload);
    struct save v = {.s = s, .op = op, .image = jr_text(jr_get(p, "image"), "")};
    if (db_read(s->db, find_node, &v, err) < 0)
        return -1;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(2048);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "op", "image.save");
    jw_str(&w, "node", v.node.name);
    jw_str(&w, "name", v.image);
    jw_str(&w, "image", jr_text(jr_get(p, "base"), ""));
    jw_str(&w, "volume", jr_text(jr_get(p, "volume"), ""));
    jw_int(&w, "max_bytes", jr_i64(jr_get(p, "max_bytes"), 0));
    jw_end(&w);
    FAILPOINT("image.before_save");
    if (v.engine->operate(&v.node, sl_buf_str(&b), SAVE_TIMEOUT_MS, on_progress, &v, &doc, &v.ok,
                          err) == 0) {
        FAILPOINT("image.after_save");
        return db_write(s->db, saved, &v, err);
    }
    if (err->code == SL_UNAVAILABLE || err->code == SL_TIMEOUT)
        return -1;
    struct sl_err why = *err;
    v.why = why.msg;
    return db_write(s->db, refused, &v, err);
}

int image_save_gave_up(struct db_c *c, struct server *s, const struct operation *op,
                       const char *why, struct sl_err *err)
{
    JR_AUTO_DOC struct jr_doc *payload = NULL;
    if (jr_open(op->payload, strlen(op->payload), &payload, err) < 0)
        return -1;
    return fail_image(c, s, jr_text(jr_get(jr_root(payload), "image"), ""), why, err);
}
