/* SPDX-License-Identifier: Apache-2.0
 *
 * Public images by reference, and the facts that say which cards and kernels they run on.
 */
#include "server/image.h"
#include "wire/price_file.h"
#include <stdio.h>

enum { MODELS_MAX = 32, SENTENCE = 384 };

/* ---- the files ---- */
struct lists {
    struct server *s;
    struct catalogue_file catalogue;
    struct compat_file compat;
};

static int compat_store(struct db_c *c, const struct lists *l, struct sl_err *err)
{
    if (db_exec(c, err, "DELETE FROM image_compat", "") < 0)
        return -1;
    for (int i = 0; i < l->compat.n; i++) {
        const struct compat_row *r = &l->compat.rows[i];
        if (db_exec(c, err,
                    "INSERT INTO image_compat(gfx, rocm_min, kernel_min, source) "
                    "VALUES(?1, ?2, ?3, ?4)",
                    "tttt", r->gfx, r->rocm_min, r->kernel_min, r->source) < 0)
            return -1;
    }
    return 0;
}

static const char sql_add[] =
    "INSERT INTO image(id, name, digest, source, state, state_since_us, size_bytes, files, reason, "
    "created_us) VALUES(?1, ?2, '', ?3, 'listed', ?4, 0, 0, '', ?4)";
static const char sql_reference[] = "UPDATE image SET source = ?2, reason = '' WHERE id = ?1";

int image_list_again(struct db_c *c, struct server *s, const char *name, struct sl_err *err)
{
    struct image i;
    struct db_q q;
    char reference[REFERENCE_TEXT] = "";
    int rc = db_row(c, &q, err, "SELECT reference FROM image_catalogue WHERE name = ?1", "t", name);
    if (rc > 0)
        (void)snprintf(reference, sizeof reference, "%s", db_text(&q, 0));
    db_done(&q);
    if (rc <= 0)
        return rc;
    rc = image_find(c, "", name, &i, err);
    if (rc <= 0 || (i.state != IMAGE_DELETED && i.state != IMAGE_LISTED))
        return rc < 0 ? -1 : 0;
    if (db_exec(c, err, sql_reference, "tt", i.id, reference) < 0)
        return -1;
    return i.state == IMAGE_LISTED
               ? 0
               : image_move(c, s, &i, IMAGE_LISTED, "system", "it is in the catalogue", err);
}

static int entry_store(struct db_c *c, struct server *s, const struct catalogue_row *r,
                       struct sl_err *err)
{
    struct image i;
    char id[ID_TEXT];
    if (db_exec(c, err,
                "INSERT INTO image_catalogue(name, reference, rocm, frameworks, note, source) "
                "VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
                "tttttt", r->name, r->reference, r->rocm, r->frameworks, r->note, r->source) < 0)
        return -1;
    int rc = image_find(c, "", r->name, &i, err);
    if (rc)
        return rc < 0 ? -1 : image_list_again(c, s, r->name, err);
    return db_exec(c, err, sql_add, "ttti", env_id(s->env, "img", id), r->name, r->reference,
                   env_now(s->env));
}

/* Listed images that the file no longer has. */
static int drop_stale(struct db_c *c, struct server *s, struct sl_err *err)
{
    for (;;) {
        struct image i = {0};
        struct db_q q;
        int rc = db_row(c, &q, err,
                        "SELECT id FROM image WHERE state = 'listed' AND name NOT IN "
                        "(SELECT name FROM image_catalogue) LIMIT 1",
                        "");
        if (rc > 0)
            (void)snprintf(i.id, sizeof i.id, "%s", db_text(&q, 0));
        db_done(&q);
        if (rc <= 0)
            return rc;
        if (image_move(c, s, &i, IMAGE_DELETED, "system", "no longer in the catalogue", err) < 0)
            return -1;
    }
}

static int store(struct db_c *c, void *arg, struct sl_err *err)
{
    const struct lists *l = arg;
    if (compat_store(c, l, err) < 0 || db_exec(c, err, "DELETE FROM image_catalogue", "") < 0)
        return -1;
    for (int i = 0; i < l->catalogue.n; i++)
        if (entry_store(c, l->s, &l->catalogue.rows[i], err) < 0)
            return -1;
    return drop_stale(c, l->s, err);
}

int image_bootstrap(struct server *s, struct sl_err *err)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct lists l = {.s = s};
    const struct server_conf *f = &s->conf;
    const char *text;
    size_t n;
    if (f->image_compat && *f->image_compat &&
        (price_file_read(f->image_compat, &arena, &text, &n, err) < 0 ||
         compat_file_parse(f->image_compat, text, n, &arena, &l.compat, err) < 0))
        return -1;
    if (f->image_catalogue && *f->image_catalogue &&
        (price_file_read(f->image_catalogue, &arena, &text, &n, err) < 0 ||
         catalogue_file_parse(f->image_catalogue, text, n, &arena, &l.catalogue, err) < 0))
        return -1;
    for (int i = 0; i < l.catalogue.n; i++)
        if (!name_ok(l.catalogue.rows[i].name))
            return sl_fail_at(err, SL_INVALID, "images.catalogue",
                              "%s line %d: \"%.60s\" is not an image name; use a-z, 0-9 and '-'",
                              f->image_catalogue, l.catalogue.rows[i].line,
                              l.catalogue.rows[i].name);
    return db_write(s->db, store, &l, err);
}

/* ---- what runs on what ---- */
struct need {
    char model[64], gfx[32], rocm_min[16], kernel_min[16];
};

static const char sql_need[] =
    "SELECT m.name, m.gfx, k.rocm_min, k.kernel_min FROM model m JOIN image_compat k ON "
    "k.gfx = m.gfx WHERE (?1 <> '' AND m.name = ?1) OR (?1 = '' AND EXISTS (SELECT 1 FROM node n "
    "WHERE n.model = m.name AND n.state <> 'retired')) ORDER BY m.name LIMIT ?2";
static const char sql_kernel[] =
    "SELECT name, facts FROM node WHERE model = ?1 AND state <> 'retired' ORDER BY name LIMIT 1";

/* "6.1.0-40-amd64" -> "6.1" */
static void series(const char *release, char out[16])
{
    size_t n = strspn(release, "0123456789");
    n += release[n] == '.' ? 1 + strspn(release + n + 1, "0123456789") : 0;
    (void)snprintf(out, 16, "%.*s", (int)n, release);
}

static int kernel_of(struct db_c *c, const char *model, char ret_node[64], char ret_series[16],
                     struct sl_err *err)
{
    struct db_q q;
    struct sl_err unread = {0};
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    *ret_series = 0;
    int rc = db_row(c, &q, err, sql_kernel, "t", model);
    if (rc > 0) {
        (void)snprintf(ret_node, 64, "%s", db_text(&q, 0));
        if (jr_open(db_text(&q, 1), strlen(db_text(&q, 1)), &doc, &unread) == 0)
            series(jr_text(jr_get(jr_root(doc), "kernel"), ""), ret_series);
    }
    db_done(&q);
    return rc < 0 ? -1 : 0;
}

static int warn_one(struct db_c *c, const char *rocm, const struct need *n,
                    void (*say)(void *arg, const char *sentence), void *arg, struct sl_err *err)
{
    char text[SENTENCE], node[64] = "", kernel[16];
    if (*n->rocm_min && version_number(rocm) < version_number(n->rocm_min)) {
        (void)snprintf(text, sizeof text,
                       "ROCm %.15s has no code for %.60s (%.30s), which needs %.15s or later", rocm,
                       n->model, n->gfx, n->rocm_min);
        say(arg, text);
    }
    if (!*n->kernel_min)
        return 0;
    if (kernel_of(c, n->model, node, kernel, err) < 0)
        return -1;
    if (version_number(kernel) && version_number(kernel) < version_number(n->kernel_min)) {
        (void)snprintf(
            text, sizeof text,
            "kernel %.15s of node %.60s does not drive %.60s (%.30s) by itself; it needs "
            "%.15s or later, or amdgpu-dkms",
            kernel, node, n->model, n->gfx, n->kernel_min);
        say(arg, text);
    }
    return 0;
}

int image_warn(struct db_c *c, const char *rocm, const char *model,
               void (*say)(void *arg, const char *sentence), void *arg, struct sl_err *err)
{
    struct need all[MODELS_MAX];
    struct db_q q;
    int n = 0;
    if (!version_number(rocm))
        return 0;
    int rc = db_query(c, &q, err, sql_need, "ti", model ? model : "", (int64_t)MODELS_MAX);
    while (rc >= 0 && n < MODELS_MAX && (rc = db_next(&q, err)) > 0) {
        struct need *d = &all[n++];
        (void)snprintf(d->model, sizeof d->model, "%s", db_text(&q, 0));
        (void)snprintf(d->gfx, sizeof d->gfx, "%s", db_text(&q, 1));
        (void)snprintf(d->rocm_min, sizeof d->rocm_min, "%s", db_text(&q, 2));
        (void)snprintf(d->kernel_min, sizeof d->kernel_min, "%s", db_text(&q, 3));
    }
    db_done(&q);
    for (int i = 0; rc >= 0 && i < n; i++)
        rc = warn_one(c, rocm, &all[i], say, arg, err);
    return rc < 0 ? -1 : 0;
}

int image_warn_of(struct db_c *c, const char *name, const char *model,
                  void (*say)(void *arg, const char *sentence), void *arg, struct sl_err *err)
{
    char rocm[32] = "";
    struct db_q q;
    int rc = db_row(c, &q, err, "SELECT rocm FROM image_catalogue WHERE name = ?1", "t", name);
    if (rc > 0)
        (void)snprintf(rocm, sizeof rocm, "%s", db_text(&q, 0));
    db_done(&q);
    return rc < 0 ? -1 : image_warn(c, rocm, model, say, arg, err);
}
