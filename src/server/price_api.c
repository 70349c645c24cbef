/* SPDX-License-Identifier: Apache-2.0 */
#include "server/catalog.h"
#include "server/money_api.h"
#include "server/price.h"

const struct jr_field price_fields[] = {
    JR_STR(struct price_want, model, "model", JR_REQUIRED, 1, 63),
    JR_MONEY(struct price_want, price_micro, "price", JR_REQUIRED, 1, 1000000 * SL_MICRO),
    JR_STR(struct price_want, currency, "currency", JR_REQUIRED, 3, 3),
    JR_INT(struct price_want, memory_gb_told, "memory_gb_told", 0, 1, 1 << 20),
    JR_TIME(struct price_want, effective_us, "effective", 0),
    JR_STR(struct price_want, frameworks, "frameworks", 0, 0, 200),
    JR_STR(struct price_want, note, "note", 0, 0, 200),
    JR_STR(struct price_want, source, "source", 0, 0, 200),
    {0}};

static int price_write(struct db_c *c, struct jw *w, const char *key, const struct price *p,
                       struct sl_arena *arena, struct sl_err *err)
{
    struct model m;
    struct model_stock stock;
    char text[SL_MONEY_TEXT], flag[PRICE_FLAG];
    if (model_get(c, p->model, arena, &m, err) < 0 || model_stock(c, p->model, &stock, err) < 0)
        return -1;
    int64_t maker_gb = memory_gb_of(m.memory_bytes), told_gb = p->memory_gb_told,
            reported_gb = memory_gb_of(stock.reported_bytes);
    told_gb = told_gb ? told_gb : maker_gb;
    jw_object(w, key);
    jw_str(w, "id", p->id);
    jw_str(w, "model", p->model);
    jw_str(w, "maker", m.maker);
    jw_str(w, "memory_type", m.memory_type);
    jw_int(w, "memory_gb", maker_gb);
    jw_int(w, "memory_gb_told", told_gb);
    if (reported_gb)
        jw_int(w, "memory_gb_reported", reported_gb);
    else
        jw_null(w, "memory_gb_reported");
    price_memory_flag(told_gb, maker_gb, reported_gb, flag);
    jw_str(w, "memory_flag", *flag ? flag : NULL);
    jw_money(w, "price", p->price_micro);
    jw_str(w, "currency", p->currency);
    jw_str(w, "unit", "gpu_hour");
    jw_str(w, "price_per_gb", price_per_gb(p->price_micro, told_gb, text));
    jw_str(w, "price_per_gb_true", price_per_gb(p->price_micro, maker_gb, text));
    jw_str(w, "frameworks", p->frameworks);
    jw_str(w, "note", p->note);
    jw_str(w, "source", p->source);
    jw_time(w, "effective", p->effective_us);
    jw_object(w, "stock");
    jw_int(w, "free", stock.free_cards);
    jw_int(w, "total", stock.cards);
    jw_end(w);
    jw_bool(w, "emulated", stock.emulated);
    jw_end(w);
    return 0;
}

int price_list_get(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct price *prices;
    int n;
    if (price_list(c, env_now(r->s->env), r->arena, &prices, &n, err) < 0)
        return -1;
    reply_list(out);
    for (int i = 0; i < n; i++)
        if (price_write(c, &out->json, NULL, &prices[i], r->arena, err) < 0)
            return -1;
    reply_list_end(out, NULL);
    return 0;
}

int price_create(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    const struct price_want *want = r->body;
    struct price p = {.model = want->model,
                      .frameworks = want->frameworks ? want->frameworks : "",
                      .note = want->note ? want->note : "",
                      .source = want->source ? want->source : "operator",
                      .price_micro = want->price_micro,
                      .memory_gb_told = want->memory_gb_told,
                      .effective_us = want->effective_us};
    if (!currency_ok(want->currency))
        return sl_fail_at(err, SL_INVALID, "currency",
                          "currency: \"%s\" is not a currency; write three capitals, like CNY",
                          want->currency);
    snprintf(p.currency, sizeof p.currency, "%s", want->currency);
    if (price_add(c, r->s, &p, r->caller.account_id, err) < 0)
        return -1;
    out->status = 201;
    return price_write(c, &out->json, NULL, &p, r->arena, err);
}

int model_list_get(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct model *models;
    int n;
    if (model_list(c, r->arena, &models, &n, err) < 0)
        return -1;
    reply_list(out);
    for (int i = 0; i < n; i++) {
        struct jw *w = &out->json;
        jw_object(w, NULL);
        jw_str(w, "name", models[i].name);
        jw_str(w, "maker", models[i].maker);
        jw_str(w, "memory_type", models[i].memory_type);
        jw_int(w, "memory_bytes", models[i].memory_bytes);
        jw_int(w, "devices_per_card", models[i].devices_per_card);
        jw_str(w, "gfx", models[i].gfx);
        jw_str(w, "partition_modes", models[i].partition_modes);
        jw_end(w);
    }
    reply_list_end(out, NULL);
    return 0;
}
