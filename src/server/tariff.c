/* SPDX-License-Identifier: Apache-2.0 */
#include "server/tariff.h"
#include "base/core/clock.h"
#include "server/event.h"
#include <stdio.h>

const char *const tariff_names[] = {"cpu", "disk", NULL};
static const char *const units[] = {"instance_hour", "gb_month"};

#define COLUMNS "id, kind, currency, price_micro, note, source, effective_us, created_us"

static int kind_of(const char *name)
{
    for (int i = 0; i < TARIFF_KIND_MAX; i++)
        if (sl_streq(name, tariff_names[i]))
            return i;
    return -1;
}

static void read_row(struct db_q *q, struct tariff *t)
{
    *t = (struct tariff){.kind = (enum tariff_kind)kind_of(db_text(q, 1)),
                         .price_micro = db_int(q, 3),
                         .effective_us = db_int(q, 6),
                         .created_us = db_int(q, 7)};
    (void)snprintf(t->id, sizeof t->id, "%s", db_text(q, 0));
    (void)snprintf(t->currency, sizeof t->currency, "%s", db_text(q, 2));
    (void)snprintf(t->note, sizeof t->note, "%s", db_text(q, 4));
    (void)snprintf(t->source, sizeof t->source, "%s", db_text(q, 5));
}

int tariff_get(struct db_c *c, enum tariff_kind kind, const char *currency, int64_t t_us,
               struct tariff *t, struct sl_err *err)
{
    struct db_q q;
    *t = (struct tariff){.kind = kind, .note = "free", .source = "default"};
    (void)snprintf(t->currency, sizeof t->currency, "%s", currency);
    int rc = db_row(c, &q, err,
                    "SELECT " COLUMNS " FROM tariff WHERE kind = ?1 AND currency = ?2 AND "
                    "effective_us <= ?3 ORDER BY effective_us DESC LIMIT 1",
                    "tti", tariff_names[kind], currency, t_us);
    if (rc > 0)
        read_row(&q, t);
    db_done(&q);
    return rc < 0 ? -1 : 0;
}

int tariff_by_id(struct db_c *c, const char *id, struct tariff *t, struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err, "SELECT " COLUMNS " FROM tariff WHERE id = ?1", "t", id);
    if (rc > 0)
        read_row(&q, t);
    db_done(&q);
    if (rc < 0)
        return -1;
    return rc ? 0 : sl_fail(err, SL_NOT_FOUND, "no tariff %.40s", id);
}

static int insert(struct db_c *c, struct server *s, struct tariff *t, const char *actor,
                  struct sl_err *err)
{
    char data[160], text[SL_MONEY_TEXT];
    env_id(s->env, "trf", t->id);
    t->created_us = env_now(s->env);
    if (db_exec(c, err,
                "INSERT INTO tariff(id, kind, unit, price_micro, currency, note, source, "
                "effective_us, created_us) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                "tttitttii", t->id, tariff_names[t->kind], units[t->kind], t->price_micro,
                t->currency, t->note, t->source, t->effective_us, t->created_us) < 0)
        return -1;
    (void)snprintf(data, sizeof data, "{\"kind\":\"%s\",\"price\":\"%s\",\"currency\":\"%s\"}",
                   tariff_names[t->kind], money_format(t->price_micro, text), t->currency);
    return event_add(c, s, "", "tariff", t->id, "tariff.added", actor, data, err);
}

int tariff_pin(struct db_c *c, struct server *s, enum tariff_kind kind, const char *currency,
               struct tariff *t, struct sl_err *err)
{
    int64_t now = env_now(s->env);
    if (tariff_get(c, kind, currency, now, t, err) < 0)
        return -1;
    if (*t->id)
        return 0;
    t->effective_us = now;
    return insert(c, s, t, "system", err);
}

int tariff_add(struct db_c *c, struct server *s, struct tariff *t, const char *actor,
               struct sl_err *err)
{
    struct tariff before;
    char a[TS_TEXT], b[TS_TEXT];
    int64_t n, now = env_now(s->env);
    if (tariff_get(c, t->kind, t->currency, t->effective_us ? t->effective_us : now, &before, err) <
        0)
        return -1;
    int64_t earliest =
        now + (t->price_micro > before.price_micro ? s->conf.price_notice_s * SL_SEC : 0);
    if (t->effective_us == 0)
        t->effective_us = earliest;
    if (t->effective_us < earliest)
        return sl_fail_at(err, SL_INVALID, "effective",
                          "effective: %s is too soon, renters are told of a higher price in time; "
                          "take %s or later",
                          ts_format(t->effective_us, a), ts_format(earliest, b));
    if (db_value(c, 0, &n, err,
                 "SELECT COUNT(*) FROM tariff WHERE kind = ?1 AND currency = ?2 AND effective_us = "
                 "?3",
                 "tti", tariff_names[t->kind], t->currency, t->effective_us) < 0)
        return -1;
    if (n)
        return sl_fail_at(err, SL_CONFLICT, "effective",
                          "effective: %s has a price from %s on already; it cannot be replaced",
                          tariff_names[t->kind], ts_format(t->effective_us, a));
    return insert(c, s, t, actor, err);
}

int tariff_import(struct db_c *c, struct server *s, const struct price_file *file,
                  const char *source, struct sl_err *err)
{
    int64_t have, now = env_now(s->env);
    for (int i = 0; i < file->n; i++) {
        const struct price_row *r = &file->rows[i];
        int kind = kind_of(r->model);
        if (kind < 0 || sl_streq(r->unit, "gpu_hour"))
            continue;
        if (db_value(c, 0, &have, err,
                     "SELECT COUNT(*) FROM tariff WHERE kind = ?1 AND currency = ?2", "tt",
                     r->model, r->currency) < 0)
            return -1;
        if (have)
            continue;
        struct tariff t = {.kind = (enum tariff_kind)kind,
                           .price_micro = r->price_micro,
                           .effective_us = r->seen_us && r->seen_us < now ? r->seen_us : now};
        (void)snprintf(t.currency, sizeof t.currency, "%s", r->currency);
        (void)snprintf(t.note, sizeof t.note, "%s", r->note);
        (void)snprintf(t.source, sizeof t.source, "%s", *r->source ? r->source : source);
        if (insert(c, s, &t, "system", err) < 0)
            return -1;
    }
    return 0;
}

/* ---- HTTP ---- */
const struct jr_field tariff_fields[] = {
    {"kind", JR_K_STR, JR_REQUIRED, offsetof(struct tariff_want, kind), 1, 15,
     .choices = tariff_names, .doc = "cpu: an hour of a run without cards; disk: a GB for 30 days"},
    JR_MONEY(struct tariff_want, price_micro, "price", JR_REQUIRED, 0, 1000000 * SL_MICRO),
    JR_STR(struct tariff_want, currency, "currency", JR_REQUIRED, 3, 3),
    JR_TIME(struct tariff_want, effective_us, "effective", 0),
    JR_STR(struct tariff_want, note, "note", 0, 0, 199),
    JR_STR(struct tariff_want, source, "source", 0, 0, 199),
    {0}};

static void tariff_write(struct jw *w, const struct tariff *t)
{
    jw_object(w, NULL);
    jw_str(w, "id", *t->id ? t->id : NULL);
    jw_str(w, "kind", tariff_names[t->kind]);
    jw_str(w, "unit", units[t->kind]);
    jw_money(w, "price", t->price_micro);
    jw_str(w, "currency", t->currency);
    jw_str(w, "note", t->note);
    jw_str(w, "source", t->source);
    jw_time(w, "effective", t->effective_us);
    jw_end(w);
}

int tariff_list_get(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    reply_list(out);
    for (int k = 0; k < TARIFF_KIND_MAX; k++) {
        struct tariff t;
        if (tariff_get(c, (enum tariff_kind)k, r->s->conf.currency, env_now(r->s->env), &t, err) <
            0)
            return -1;
        tariff_write(&out->json, &t);
    }
    reply_list_end(out, NULL);
    return 0;
}

int tariff_create(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    const struct tariff_want *w = r->body;
    struct tariff t = {.kind = (enum tariff_kind)kind_of(w->kind),
                       .price_micro = w->price_micro,
                       .effective_us = w->effective_us};
    if (!currency_ok(w->currency))
        return sl_fail_at(err, SL_INVALID, "currency",
                          "currency: \"%s\" is not a currency; write three capitals, like CNY",
                          w->currency);
    (void)snprintf(t.currency, sizeof t.currency, "%s", w->currency);
    (void)snprintf(t.note, sizeof t.note, "%s", w->note ? w->note : "");
    (void)snprintf(t.source, sizeof t.source, "%s", w->source ? w->source : "operator");
    if (tariff_add(c, r->s, &t, r->caller.account_id, err) < 0)
        return -1;
    out->status = 201;
    tariff_write(&out->json, &t);
    return 0;
}
