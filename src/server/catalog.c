/* SPDX-License-Identifier: Apache-2.0 */
#include "server/catalog.h"
#include "server/price.h"
#include "server/tariff.h"
#include "wire/price_file.h"

#define MODEL_COLUMNS                                                                              \
    "name, maker, memory_type, gfx, partition_modes, memory_bytes, devices_per_card"

static void model_read(struct db_q *q, struct sl_arena *a, struct model *ret)
{
    *ret = (struct model){.name = sl_arena_strdup(a, db_text(q, 0)),
                          .maker = sl_arena_strdup(a, db_text(q, 1)),
                          .memory_type = sl_arena_strdup(a, db_text(q, 2)),
                          .gfx = sl_arena_strdup(a, db_text(q, 3)),
                          .partition_modes = sl_arena_strdup(a, db_text(q, 4)),
                          .memory_bytes = db_int(q, 5),
                          .devices_per_card = db_int(q, 6)};
}

int model_get(struct db_c *c, const char *name, struct sl_arena *arena, struct model *ret,
              struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err, "SELECT " MODEL_COLUMNS " FROM model WHERE name = ?1", "t", name);
    if (rc == 0)
        return sl_fail_at(err, SL_NOT_FOUND, "model",
                          "model: \"%.60s\" is not sold here; `starlease price list` shows what is",
                          name);
    if (rc < 0)
        return -1;
    model_read(&q, arena, ret);
    db_done(&q);
    return 0;
}

int model_list(struct db_c *c, struct sl_arena *arena, struct model **ret, int *ret_n,
               struct sl_err *err)
{
    struct db_q q;
    int64_t count;
    int rc, n = 0;
    if (db_value(c, 0, &count, err, "SELECT COUNT(*) FROM model", "") < 0 ||
        db_query(c, &q, err, "SELECT " MODEL_COLUMNS " FROM model ORDER BY name", "") < 0)
        return -1;
    *ret = sl_arena_alloc(arena, ((size_t)count + 1) * sizeof **ret);
    while ((rc = db_next(&q, err)) > 0 && n < count)
        model_read(&q, arena, &(*ret)[n++]);
    db_done(&q);
    *ret_n = n;
    return rc < 0 ? -1 : 0;
}

int model_stock(struct db_c *c, const char *name, struct model_stock *ret, struct sl_err *err)
{
    struct db_q q;
    *ret = (struct model_stock){0};
    int rc = db_row(c, &q, err,
                    "SELECT COALESCE(SUM(cards), 0), COALESCE(SUM(CASE WHEN state IN "
                    "('available', 'leased') AND health = 'good' THEN free_cards ELSE 0 END), 0), "
                    "COALESCE(MIN(card_memory_bytes), 0), COALESCE(MIN(emulated), 0) "
                    "FROM node WHERE model = ?1 AND state <> 'retired'",
                    "t", name);
    if (rc <= 0)
        return rc;
    *ret = (struct model_stock){.cards = db_int(&q, 0),
                                .free_cards = db_int(&q, 1),
                                .reported_bytes = db_int(&q, 2),
                                .emulated = db_int(&q, 3) != 0};
    db_done(&q);
    return 0;
}

/* What the files say; filled before the transaction, as a write function may run twice. */
struct files {
    struct server *s;
    struct model_file models;
    struct price_file *prices;
    int n_prices;
};

/* A model that prices name but no facts file knows: its memory comes from the price file, the rest
 * is unknown and says so. */
static int model_from_price(struct db_c *c, struct server *s, const struct price_row *r,
                            struct sl_err *err)
{
    int64_t gb = r->memory_gb ? r->memory_gb : r->memory_gb_told;
    return db_exec(c, err,
                   "INSERT INTO model(name, maker, memory_type, memory_bytes, devices_per_card, "
                   "gfx, partition_modes, updated_us) VALUES(?1, 'unknown', ?2, ?3, 1, 'unknown', "
                   "'unknown', ?4) ON CONFLICT (name) DO NOTHING",
                   "ttii", r->model, r->memory_type, gb << 30, env_now(s->env));
}

static int files_store(struct db_c *c, void *arg, struct sl_err *err)
{
    const struct files *f = arg;
    for (int i = 0; i < f->models.n; i++) {
        const struct model_row *m = &f->models.rows[i];
        if (db_exec(c, err,
                    "INSERT INTO model(name, maker, memory_type, memory_bytes, devices_per_card, "
                    "gfx, partition_modes, updated_us) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) "
                    "ON CONFLICT (name) DO UPDATE SET maker = excluded.maker, memory_type = "
                    "excluded.memory_type, memory_bytes = excluded.memory_bytes, devices_per_card "
                    "= excluded.devices_per_card, gfx = excluded.gfx, partition_modes = "
                    "excluded.partition_modes, updated_us = excluded.updated_us",
                    "tttiitti", m->name, m->maker, m->memory_type, m->memory_bytes,
                    m->devices_per_card, m->gfx, m->partition_modes, env_now(f->s->env)) < 0)
            return -1;
    }
    for (int i = 0; i < f->n_prices; i++) {
        const struct price_file *p = &f->prices[i];
        int64_t added;
        for (int k = 0; k < p->n; k++)
            if (sl_streq(p->rows[k].unit, "gpu_hour") &&
                model_from_price(c, f->s, &p->rows[k], err) < 0)
                return -1;
        if (price_import(c, f->s, p, p->name, &added, err) < 0 ||
            tariff_import(c, f->s, p, p->name, err) < 0)
            return -1;
    }
    return 0;
}

int catalog_bootstrap(struct server *s, struct sl_err *err)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct price_file prices[16];
    struct files f = {.s = s, .prices = prices};
    const char *text, *rest = s->conf.price_files, *path;
    size_t n;
    if (s->conf.model_file && *s->conf.model_file &&
        (price_file_read(s->conf.model_file, &arena, &text, &n, err) < 0 ||
         model_file_parse(s->conf.model_file, text, n, &arena, &f.models, err) < 0))
        return -1;
    while (rest && (path = conf_word(&rest, &arena)) != NULL) {
        if (f.n_prices == (int)SL_COUNT(prices))
            return sl_fail_at(err, SL_INVALID, "prices.files",
                              "prices.files: more than %d files; join some", (int)SL_COUNT(prices));
        if (price_file_read(path, &arena, &text, &n, err) < 0 ||
            price_file_parse(path, text, n, &arena, &prices[f.n_prices], err) < 0)
            return -1;
        const char *slash = strrchr(path, '/');
        prices[f.n_prices++].name = slash ? slash + 1 : path;
    }
    return db_write(s->db, files_store, &f, err);
}
