/* SPDX-License-Identifier: Apache-2.0 */
#include "server/catalog.h"
#include "server/image.h"
#include "server/money_api.h"
#include "server/stop_api.h"
#include "server/tariff.h"
#include "server/quote.h"
#include <stdarg.h>

const struct jr_field quote_want_fields[] = {
    JR_STR(struct quote_want, model, "model", JR_REQUIRED, 1, MODEL_TEXT - 1),
    JR_INT(struct quote_want, gpus, "gpus", JR_REQUIRED, 1, QUOTE_GPUS_MAX),
    JR_STR(struct quote_want, image, "image", JR_REQUIRED, 1, IMAGE_TEXT - 1),
    JR_INT(struct quote_want, disk_gb, "disk_gb", JR_REQUIRED, 1, 1000000),
    {0}};

static void rule(struct jw *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void rule(struct jw *w, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    jw_str(w, NULL, text);
}

/* What the renter agrees to, with this quote's own figures. */
static void rules_write(struct jw *w, const struct server *s, const struct quote *q,
                        const struct wallet *wallet, const struct tariff *disk)
{
    char a[SL_MONEY_TEXT], b[SL_MONEY_TEXT];
    int64_t free_micro = wallet_available(wallet), most = 0;
    for (int64_t n = 1; n <= QUOTE_GPUS_MAX; n++)
        if (money_charge(money_mul(q->price_micro, n), q->horizon_s) <= free_micro)
            most = n;
    jw_array(w, "rules");
    rule(w, "billed per second, from the moment SSH answers until your stop is accepted");
    rule(w,
         "a start that fails costs 0.00 %s; a node that is lost is billed to its last proof of "
         "life",
         q->currency);
    rule(w, "%s %s is held ahead, for %lld s; what is not used comes back at the stop",
         money_format(q->hold_micro, a), q->currency, (long long)q->horizon_s);
    if (q->hold_micro > free_micro)
        rule(w, "your free balance of %s %s lacks %s for that; it can start %lld of these cards",
             money_format(free_micro, a), q->currency, money_format(q->hold_micro - free_micro, b),
             (long long)most);
    rule(w, "stopped: cards 0.00; disk %s %s per GB and month (30 days), running or stopped",
         money_format(disk->price_micro, a), q->currency);
    rule(w, "when the funds end the instance stops; its disk is kept for %lld days",
         (long long)(s->conf.disk_keep_s / 86400));
    rule(w,
         "this price stays for as long as the instance lives, also when it is stopped and started "
         "again, whatever the price table does");
}

static void warning(void *arg, const char *sentence)
{
    rule(arg, "warning: %s", sentence);
}

static int quote_write(struct db_c *c, struct req *r, struct jw *w, const struct quote *q,
                       struct sl_err *err)
{
    struct wallet wallet;
    struct model_stock stock;
    struct tariff disk;
    int64_t fits;
    if (wallet_get(c, q->account_id, &wallet, err) < 0 ||
        model_stock(c, q->model, &stock, err) < 0 ||
        tariff_get(c, TARIFF_DISK, q->currency, env_now(r->s->env), &disk, err) < 0 ||
        db_value(c, 0, &fits, err,
                 "SELECT COUNT(*) FROM node WHERE model = ?1 AND health = 'good' AND state IN "
                 "('available', 'leased') AND free_cards >= ?2 AND (account_id IS NULL OR "
                 "account_id = '' OR account_id = ?3)",
                 "tit", q->model, q->gpus, q->account_id) < 0)
        return -1;
    int64_t free_micro = wallet_available(&wallet);
    jw_object(w, NULL);
    jw_str(w, "id", q->id);
    jw_str(w, "model", q->model);
    jw_int(w, "gpus", q->gpus);
    jw_str(w, "image", q->image);
    jw_int(w, "disk_gb", q->disk_gb);
    jw_str(w, "price_version", q->price_version_id);
    jw_money(w, "price", q->price_micro);
    jw_str(w, "currency", q->currency);
    jw_money(w, "rate_per_hour", q->rate_micro);
    jw_money(w, "rate_per_day", money_charge(q->rate_micro, 86400));
    jw_money(
        w, "disk_per_hour",
        money_charge_per(money_mul(disk.price_micro, q->disk_gb), MONEY_HOUR_S, MONEY_MONTH_S));
    jw_money(w, "hold", q->hold_micro);
    jw_int(w, "horizon_s", q->horizon_s);
    jw_time(w, "expires", q->expires_us);
    jw_bool(w, "available_now", fits > 0);
    jw_int(w, "balance_lasts_s", money_seconds_for(q->rate_micro, free_micro));
    jw_int(w, "fence_after_s", r->s->conf.fence_after_s);
    rules_write(w, r->s, q, &wallet, &disk);
    int rc = image_warn_of(c, q->image, q->model, warning, w, err);
    jw_end(w);
    jw_bool(w, "emulated", stock.emulated);
    jw_end(w);
    return rc;
}

int quote_create(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct quote q;
    if (quote_make(c, r->s, r->caller.account_id, r->body, &q, err) < 0)
        return -1;
    out->status = 201;
    snprintf(out->location, sizeof out->location, "/v1/quotes/%s", q.id);
    return quote_write(c, r, &out->json, &q, err);
}

int quote_show(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct quote q;
    if (quote_get(c, r->caller.account_id, r->path[0], &q, err) < 0)
        return -1;
    return quote_write(c, r, &out->json, &q, err);
}

const struct jr_field lease_quote_fields[] = {
    {"gpus", JR_K_INT, 0, offsetof(struct lease_quote_want, gpus), 1, QUOTE_GPUS_MAX,
     .doc = "default: as many as it has"},
    {"model", JR_K_STR, 0, offsetof(struct lease_quote_want, model), 1, MODEL_TEXT - 1,
     .doc = "default: its own"},
    {0}};

int lease_quote_post(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    const struct lease_quote_want *w = r->body;
    struct lease l;
    struct quote q;
    int64_t fits = 0;
    if (lease_get(c, r->caller.account_id, r->path[0], r->arena, &l, err) < 0)
        return -1;
    struct quote_want want = {.model = w->model ? w->model : l.model,
                              .image = l.image,
                              .gpus = w->gpus ? w->gpus : l.gpus,
                              .disk_gb = l.disk_gb};
    if (l.state != LEASE_STOPPED)
        return sl_fail_at(err, SL_CONFLICT, "state",
                          "instance %s is %s; a new price is for a stopped one", l.name,
                          lease_sm.states[l.state].name);
    if (quote_make(c, r->s, l.account_id, &want, &q, err) < 0 ||
        db_value(c, 0, &fits, err, "SELECT COUNT(*) FROM node WHERE name = ?1 AND model = ?2", "tt",
                 l.node_name, want.model) < 0)
        return -1;
    if (!fits)
        return sl_fail_at(err, SL_CONFLICT, "model",
                          "model: the disk of %s is on node %s, which has no %.60s; rent a new "
                          "instance and copy with `starlease cp`",
                          l.name, l.node_name, want.model);
    out->status = 201;
    (void)snprintf(out->location, sizeof out->location, "/v1/quotes/%s", q.id);
    return quote_write(c, r, &out->json, &q, err);
}
