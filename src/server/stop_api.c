/* SPDX-License-Identifier: Apache-2.0
 *
 * What a renter is told before a stop, and when a stopped instance cannot have its cards back.
 */
#include "server/stop_api.h"
#include "server/autostop.h"
#include "server/catalog.h"
#include "server/tariff.h"
#include "server/volume_meter.h"
#include "server/wallet.h"
#include <stdio.h>

#define KEPT_MAX_S (100LL * 365 * 86400)

/* Free cards of the model on the node where the disk is: a start needs them there. */
static int free_there(struct db_c *c, const struct lease *l, int64_t *ret, struct sl_err *err)
{
    return db_value(c, 0, ret, err,
                    "SELECT free_cards FROM node WHERE name = ?1 AND health = 'good' AND state IN "
                    "('available', 'leased', 'sanitizing') AND (account_id IS NULL OR account_id = "
                    "?2)",
                    "tt", l->node_name, l->account_id);
}

/* Its delete timer, or the end of what pays for its disk and the time it is kept then; 0: neither.
 */
static int kept_until(struct db_c *c, const struct server *s, const struct lease *l,
                      int64_t month_micro, int64_t *ret_us, struct sl_err *err)
{
    struct wallet w;
    int64_t after_s = 0, now = env_now(s->env);
    if (db_value(c, 0, &after_s, err, "SELECT delete_after_s FROM autostop WHERE lease_id = ?1",
                 "t", l->id) < 0 ||
        wallet_get(c, l->account_id, &w, err) < 0)
        return -1;
    int64_t funds = wallet_available(&w) + wallet_held(&w);
    int64_t lasts_s = money_seconds_for_per(month_micro, funds, MONEY_MONTH_S);
    int64_t paid_s = lasts_s > KEPT_MAX_S ? 0 : lasts_s + s->conf.disk_keep_s;
    *ret_us = after_s && (!paid_s || after_s < paid_s) ? now + after_s * SL_SEC
              : paid_s                                 ? now + paid_s * SL_SEC
                                                       : 0;
    return 0;
}

/* Pinned to its disk, else today's. */
static int disk_month(struct db_c *c, struct server *s, const struct lease *l, int64_t *ret,
                      struct sl_err *err)
{
    struct tariff t;
    int64_t cost;
    if (volume_cost(c, s, l->volume_id, ret, &cost, err) < 0)
        return -1;
    if (*ret || l->state == LEASE_RUNNING || l->state == LEASE_STOPPED)
        return 0;
    if (tariff_get(c, TARIFF_DISK, l->currency, env_now(s->env), &t, err) < 0)
        return -1;
    *ret = money_mul(t.price_micro, l->disk_gb);
    return 0;
}

int lease_stop_preview(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct lease l;
    struct model_stock stock;
    struct jw *w = &out->json;
    int64_t there = 0, kept = 0, month = 0;
    const char *account = r->caller.role == ROLE_OPERATOR ? NULL : r->caller.account_id;
    if (lease_get(c, account, r->path[0], r->arena, &l, err) < 0 ||
        model_stock(c, l.model, &stock, err) < 0 || free_there(c, &l, &there, err) < 0 ||
        disk_month(c, r->s, &l, &month, err) < 0 || kept_until(c, r->s, &l, month, &kept, err) < 0)
        return -1;
    bool all = l.state == LEASE_RUNNING && !l.cpu_run;
    int64_t back = there + (all ? l.gpus : 0);
    jw_object(w, NULL);
    jw_str(w, "lease", l.id);
    jw_str(w, "state", lease_sm.states[l.state].name);
    jw_str(w, "model", l.model);
    jw_int(w, "gpus", l.gpus);
    jw_object(w, "stock");
    jw_int(w, "free", stock.free_cards);
    jw_int(w, "total", stock.cards);
    jw_end(w);
    jw_int(w, "free_at_disk", there);
    jw_bool(w, "could_start_again", back >= l.gpus);
    jw_money(w, "rate_per_hour_now", l.state == LEASE_RUNNING ? lease_rate(&l) : 0);
    jw_money(w, "cards_per_hour_stopped", 0);
    jw_money(w, "disk_per_hour", money_charge_per(month, MONEY_HOUR_S, MONEY_MONTH_S));
    jw_money(w, "disk_per_day", money_charge_per(month, 86400, MONEY_MONTH_S));
    jw_money(w, "disk_per_month", month);
    jw_money(w, "restart_rate_per_hour", l.rate_micro);
    jw_str(w, "currency", l.currency);
    jw_time(w, "kept_until", kept);
    jw_array(w, "rules");
    jw_str(w, NULL,
           "billing of the cards ends when the stop is accepted; the cards go back to all");
    jw_str(w, NULL,
           "disk, id, port, host key and the price of its cards are kept for the next start");
    jw_str(w, NULL,
           kept ? "its delete timer releases it at the time shown"
                : "it stays until you release it; no timer deletes it");
    jw_end(w);
    jw_end(w);
    return 0;
}

/* ---- a start without stock ---- */
static void offer_command(struct jw *w, const struct lease *l, const char *options)
{
    char text[160];
    (void)snprintf(text, sizeof text, "starlease start %s%s", l->name, options);
    jw_str(w, "command", text);
    jw_end(w);
}

/* A run without cards is possible where nobody else holds the node. */
static int offer_cpu(struct db_c *c, struct server *s, struct jw *w, const struct lease *l,
                     struct sl_err *err)
{
    int64_t may = 0;
    struct tariff t;
    if (db_value(c, 0, &may, err,
                 "SELECT COUNT(*) FROM node WHERE name = ?1 AND health = 'good' AND state IN "
                 "('available', 'leased', 'sanitizing') AND (account_id IS NULL OR account_id = "
                 "?2)",
                 "tt", l->node_name, l->account_id) < 0 ||
        tariff_get(c, TARIFF_CPU, l->currency, env_now(s->env), &t, err) < 0)
        return -1;
    if (!may)
        return 0;
    jw_object(w, NULL);
    jw_str(w, "kind", "no_gpu");
    jw_str(w, "detail", "the same disks without cards, to look after files");
    jw_money(w, "rate_per_hour", t.price_micro);
    jw_str(w, "currency", l->currency);
    jw_null(w, "gpus");
    offer_command(w, l, " --no-gpu");
    return 0;
}

/* Fewer cards of the same node, at the pinned price of a card: the disks are there. */
static int offer_fewer(struct db_c *c, struct jw *w, const struct lease *l, struct sl_err *err)
{
    char options[40];
    int64_t there = 0;
    if (free_there(c, l, &there, err) < 0)
        return -1;
    if (there < 1 || there >= l->gpus)
        return 0;
    jw_object(w, NULL);
    jw_str(w, "kind", "fewer_cards");
    jw_str(w, "detail", "the same disks with the cards that are free there");
    jw_money(w, "rate_per_hour", money_mul(l->rate_micro / l->gpus, there));
    jw_str(w, "currency", l->currency);
    jw_int(w, "gpus", there);
    (void)snprintf(options, sizeof options, " --gpus %lld", (long long)there);
    offer_command(w, l, options);
    return 0;
}

int lease_offers(struct db_c *c, struct req *r, const struct lease *l, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(8192);
    struct jw w = {&b};
    jw_array(&w, NULL);
    if (offer_fewer(c, &w, l, err) < 0 || offer_cpu(c, r->s, &w, l, err) < 0)
        return -1;
    jw_end(&w);
    r->offers = sl_arena_strdup(r->arena, sl_buf_str(&b));
    return 0;
}
