/* SPDX-License-Identifier: Apache-2.0 */
#include "server/image.h"
#include "server/price.h"
#include "server/quote.h"

#define QUOTE_COLUMNS                                                                              \
    "id, account_id, lease_id, model, image, price_version_id, currency, gpus, disk_gb, "          \
    "rate_micro, "                                                                                 \
    "horizon_s, hold_micro, expires_us, created_us"

static void quote_read(struct db_q *q, struct quote *r)
{
    *r = (struct quote){.gpus = db_int(q, 7),
                        .disk_gb = db_int(q, 8),
                        .rate_micro = db_int(q, 9),
                        .horizon_s = db_int(q, 10),
                        .hold_micro = db_int(q, 11),
                        .expires_us = db_int(q, 12),
                        .created_us = db_int(q, 13)};
    snprintf(r->id, sizeof r->id, "%s", db_text(q, 0));
    snprintf(r->account_id, sizeof r->account_id, "%s", db_text(q, 1));
    snprintf(r->lease_id, sizeof r->lease_id, "%s", db_text(q, 2));
    snprintf(r->model, sizeof r->model, "%s", db_text(q, 3));
    snprintf(r->image, sizeof r->image, "%s", db_text(q, 4));
    snprintf(r->price_version_id, sizeof r->price_version_id, "%s", db_text(q, 5));
    snprintf(r->currency, sizeof r->currency, "%s", db_text(q, 6));
    r->price_micro = r->rate_micro / r->gpus; /* exact: the rate is price x cards */
}

/* As far ahead as the configuration says, unless the trial credit would not reach so far. */
static int64_t horizon(const struct server *s, int64_t rate_micro)
{
    int64_t h = s->conf.hold_horizon_s, reach = money_seconds_for(rate_micro, s->conf.trial_micro);
    if (s->conf.trial_micro > 0 && reach < h)
        h = reach > QUOTE_HORIZON_MIN_S ? reach : QUOTE_HORIZON_MIN_S;
    return h;
}

static int want_check(struct db_c *c, const char *account_id, const struct quote_want *w,
                      struct sl_err *err)
{
    if (w->gpus < 1 || w->gpus > QUOTE_GPUS_MAX)
        return sl_fail_at(err, SL_INVALID, "gpus", "gpus: %lld is not between 1 and %d",
                          (long long)w->gpus, QUOTE_GPUS_MAX);
    if (w->disk_gb < 1 || w->disk_gb > 1000000)
        return sl_fail_at(err, SL_INVALID, "disk_gb", "disk_gb: %lld is not between 1 and 1000000",
                          (long long)w->disk_gb);
    if (strlen(w->model) >= MODEL_TEXT || strlen(w->image) >= IMAGE_TEXT)
        return sl_fail_at(err, SL_INVALID, "model", "model or image: the name is too long");
    return image_quotable(c, account_id, w->image, err);
}

int quote_make(struct db_c *c, struct server *s, const char *account_id,
               const struct quote_want *want, struct quote *r, struct sl_err *err)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct wallet w;
    struct price p;
    int64_t now = env_now(s->env);
    *r = (struct quote){.gpus = want->gpus, .disk_gb = want->disk_gb, .created_us = now};
    if (want_check(c, account_id, want, err) < 0 || wallet_get(c, account_id, &w, err) < 0 ||
        price_in_force(c, want->model, w.currency, now, &arena, &p, err) < 0)
        return -1;
    env_id(s->env, "quo", r->id);
    snprintf(r->account_id, sizeof r->account_id, "%s", account_id);
    snprintf(r->model, sizeof r->model, "%s", want->model);
    snprintf(r->image, sizeof r->image, "%s", want->image);
    snprintf(r->price_version_id, sizeof r->price_version_id, "%s", p.id);
    snprintf(r->currency, sizeof r->currency, "%s", w.currency);
    r->price_micro = p.price_micro;
    r->rate_micro = money_mul(p.price_micro, want->gpus);
    r->horizon_s = horizon(s, r->rate_micro);
    r->hold_micro = money_charge(r->rate_micro, r->horizon_s);
    r->expires_us = now + s->conf.quote_ttl_s * SL_SEC;
    return db_exec(c, err,
                   "INSERT INTO quote(id, account_id, model, gpus, image, disk_gb, "
                   "price_version_id, rate_micro, currency, horizon_s, hold_micro, expires_us, "
                   "created_us) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
                   "tttitititiiii", r->id, r->account_id, r->model, r->gpus, r->image, r->disk_gb,
                   r->price_version_id, r->rate_micro, r->currency, r->horizon_s, r->hold_micro,
                   r->expires_us, r->created_us);
}

int quote_get(struct db_c *c, const char *account_id, const char *quote_id, struct quote *ret,
              struct sl_err *err)
{
    struct db_q q;
    int rc =
        db_row(c, &q, err, "SELECT " QUOTE_COLUMNS " FROM quote WHERE id = ?1 AND account_id = ?2",
               "tt", quote_id, account_id);
    if (rc == 0)
        return sl_fail_at(err, SL_NOT_FOUND, "quote",
                          "quote: no quote %.40s of this account; ask for one first", quote_id);
    if (rc < 0)
        return -1;
    quote_read(&q, ret);
    db_done(&q);
    return 0;
}

static const char sql_use[] = "UPDATE quote SET lease_id = ?2 WHERE id = ?1 AND lease_id IS NULL";

int quote_use(struct db_c *c, struct server *s, const char *account_id, const char *quote_id,
              const char *lease_id, struct quote *ret, struct sl_err *err)
{
    char text[TS_TEXT];
    if (quote_get(c, account_id, quote_id, ret, err) < 0)
        return -1;
    if (sl_streq(ret->lease_id, lease_id))
        return 0;
    if (*ret->lease_id)
        return sl_fail_at(err, SL_CONFLICT, "quote",
                          "quote: %s is used by lease %s already; ask for a new one", quote_id,
                          ret->lease_id);
    if (ret->expires_us <= env_now(s->env))
        return sl_fail_at(err, SL_CONFLICT, "quote", "quote: %s expired at %s; ask for a new one",
                          quote_id, ts_format(ret->expires_us, text));
    int64_t changed;
    if (db_exec_n(c, &changed, err, sql_use, "tt", quote_id, lease_id) < 0)
        return -1;
    SL_ASSERT(changed == 1);
    snprintf(ret->lease_id, sizeof ret->lease_id, "%s", lease_id);
    return 0;
}
