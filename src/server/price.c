/* SPDX-License-Identifier: Apache-2.0 */
#include "server/catalog.h"
#include "server/event.h"
#include "server/price.h"

#define PRICE_COLUMNS                                                                              \
    "id, model, currency, price_micro, memory_gb_told, frameworks, note, source, effective_us, "   \
    "created_us"

static void price_read(struct db_q *q, struct sl_arena *a, struct price *ret)
{
    *ret = (struct price){.model = sl_arena_strdup(a, db_text(q, 1)),
                          .price_micro = db_int(q, 3),
                          .memory_gb_told = db_int(q, 4),
                          .frameworks = sl_arena_strdup(a, db_text(q, 5)),
                          .note = sl_arena_strdup(a, db_text(q, 6)),
                          .source = sl_arena_strdup(a, db_text(q, 7)),
                          .effective_us = db_int(q, 8),
                          .created_us = db_int(q, 9)};
    snprintf(ret->id, sizeof ret->id, "%s", db_text(q, 0));
    snprintf(ret->currency, sizeof ret->currency, "%s", db_text(q, 2));
}

int price_in_force(struct db_c *c, const char *model, const char *currency, int64_t t_us,
                   struct sl_arena *arena, struct price *ret, struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err,
                    "SELECT " PRICE_COLUMNS " FROM price_version WHERE model = ?1 AND currency = "
                    "?2 AND effective_us <= ?3 ORDER BY effective_us DESC LIMIT 1",
                    "tti", model, currency, t_us);
    if (rc == 0)
        return sl_fail_at(err, SL_NOT_FOUND, "model",
                          "model: \"%.60s\" has no price in %s here; choose another model", model,
                          currency);
    if (rc < 0)
        return -1;
    price_read(&q, arena, ret);
    db_done(&q);
    return 0;
}

int price_get(struct db_c *c, const char *price_id, struct sl_arena *arena, struct price *ret,
              struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err, "SELECT " PRICE_COLUMNS " FROM price_version WHERE id = ?1", "t",
                    price_id);
    if (rc == 0)
        return sl_fail(err, SL_NOT_FOUND, "no price version %.40s", price_id);
    if (rc < 0)
        return -1;
    price_read(&q, arena, ret);
    db_done(&q);
    return 0;
}

static int price_insert(struct db_c *c, const struct price *p, struct sl_err *err)
{
    return db_exec(c, err,
                   "INSERT INTO price_version(id, model, price_micro, currency, unit, "
                   "memory_gb_told, frameworks, note, source, effective_us, created_us) "
                   "VALUES(?1, ?2, ?3, ?4, 'gpu_hour', ?5, ?6, ?7, ?8, ?9, ?10)",
                   "ttititttii", p->id, p->model, p->price_micro, p->currency, p->memory_gb_told,
                   p->frameworks, p->note, p->source, p->effective_us, p->created_us);
}

static int price_event(struct db_c *c, struct server *s, const struct price *p, const char *actor,
                       struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(2048);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "model", p->model);
    jw_money(&w, "price", p->price_micro);
    jw_str(&w, "currency", p->currency);
    jw_time(&w, "effective", p->effective_us);
    jw_end(&w);
    return event_add(c, s, "", "price", p->id, "price.added", actor, sl_buf_str(&b), err);
}

/* From when on the price may be in force: a renter learns of a higher one in time (rule F5). */
static int price_earliest(struct db_c *c, struct server *s, const struct price *p, int64_t *ret_us,
                          struct sl_err *err)
{
    int64_t now = env_now(s->env), before;
    if (db_value(c, 0, &before, err,
                 "SELECT price_micro FROM price_version WHERE model = ?1 AND currency = ?2 AND "
                 "effective_us <= ?3 ORDER BY effective_us DESC LIMIT 1",
                 "tti", p->model, p->currency, p->effective_us ? p->effective_us : now) < 0)
        return -1;
    bool higher = before > 0 && p->price_micro > before;
    *ret_us = now + (higher ? s->conf.price_notice_s * SL_SEC : 0);
    return 0;
}

static int price_when(struct db_c *c, struct server *s, struct price *p, struct sl_err *err)
{
    char a[TS_TEXT], b[TS_TEXT];
    int64_t earliest, now = env_now(s->env);
    if (price_earliest(c, s, p, &earliest, err) < 0)
        return -1;
    if (p->effective_us == 0)
        p->effective_us = earliest;
    if (p->effective_us < now)
        return sl_fail_at(err, SL_INVALID, "effective",
                          "effective: %s is in the past; a price can only change from now on",
                          ts_format(p->effective_us, a));
    if (p->effective_us < earliest)
        return sl_fail_at(err, SL_INVALID, "effective",
                          "effective: %s is too soon for a higher price, renters are told in time; "
                          "take %s or later",
                          ts_format(p->effective_us, a), ts_format(earliest, b));
    return 0;
}

int price_add(struct db_c *c, struct server *s, struct price *p, const char *actor,
              struct sl_err *err)
{
    int64_t n;
    char text[TS_TEXT];
    SL_ASSERT(p->price_micro > 0 && currency_ok(p->currency));
    if (price_when(c, s, p, err) < 0)
        return -1;
    if (db_value(c, 0, &n, err, "SELECT COUNT(*) FROM model WHERE name = ?1", "t", p->model) < 0)
        return -1;
    if (n == 0)
        return sl_fail_at(err, SL_NOT_FOUND, "model",
                          "model: \"%.60s\" is not in the catalogue; add it to the model file",
                          p->model);
    if (db_value(c, 0, &n, err,
                 "SELECT COUNT(*) FROM price_version WHERE model = ?1 AND currency = ?2 AND "
                 "effective_us = ?3",
                 "tti", p->model, p->currency, p->effective_us) < 0)
        return -1;
    if (n)
        return sl_fail_at(err, SL_CONFLICT, "effective",
                          "effective: %s has a price from %s on already; it cannot be replaced",
                          p->model, ts_format(p->effective_us, text));
    env_id(s->env, "prv", p->id);
    p->created_us = env_now(s->env);
    return price_insert(c, p, err) < 0 ? -1 : price_event(c, s, p, actor, err);
}

int price_import(struct db_c *c, struct server *s, const struct price_file *file,
                 const char *source, int64_t *ret_added, struct sl_err *err)
{
    int64_t now = env_now(s->env), have;
    *ret_added = 0;
    for (int i = 0; i < file->n; i++) {
        const struct price_row *r = &file->rows[i];
        if (!sl_streq(r->unit, "gpu_hour"))
            continue; /* tariff.h */
        if (db_value(c, 0, &have, err,
                     "SELECT COUNT(*) FROM price_version WHERE model = ?1 AND currency = ?2", "tt",
                     r->model, r->currency) < 0)
            return -1;
        if (have)
            continue;
        struct price p = {.model = r->model,
                          .frameworks = r->frameworks,
                          .note = r->note,
                          .source = *r->source ? r->source : source,
                          .price_micro = r->price_micro,
                          .memory_gb_told = r->memory_gb_told ? r->memory_gb_told : r->memory_gb,
                          .effective_us = r->seen_us && r->seen_us < now ? r->seen_us : now,
                          .created_us = now};
        snprintf(p.currency, sizeof p.currency, "%s", r->currency);
        env_id(s->env, "prv", p.id);
        if (price_insert(c, &p, err) < 0 || price_event(c, s, &p, "system", err) < 0)
            return -1;
        ++*ret_added;
    }
    return 0;
}

int price_list(struct db_c *c, int64_t t_us, struct sl_arena *arena, struct price **ret, int *ret_n,
               struct sl_err *err)
{
    struct db_q q;
    int64_t count;
    int rc, n = 0;
    if (db_value(c, 0, &count, err, "SELECT COUNT(*) FROM price_version", "") < 0 ||
        db_query(c, &q, err,
                 "SELECT " PRICE_COLUMNS " FROM price_version p WHERE effective_us = (SELECT "
                 "MAX(o.effective_us) FROM price_version o WHERE o.model = p.model AND o.currency "
                 "= p.currency AND o.effective_us <= ?1) ORDER BY created_us, id",
                 "i", t_us) < 0)
        return -1;
    *ret = sl_arena_alloc(arena, ((size_t)count + 1) * sizeof **ret);
    while ((rc = db_next(&q, err)) > 0 && n < count)
        price_read(&q, arena, &(*ret)[n++]);
    db_done(&q);
    *ret_n = n;
    return rc < 0 ? -1 : 0;
}
