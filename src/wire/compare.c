/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/clock.h"
#include "wire/compare.h"

enum { GPUS_MAX = 100000 };
/* Ten years; keeps every total far from overflow. */
#define SECONDS_MAX (10LL * 366 * 86400)

int fx_parse(const char *text, struct fx *ret, struct sl_err *err)
{
    char rate[32];
    *ret = (struct fx){0};
    const char *slash = strchr(text, '/'), *equals = strchr(text, '='), *at = strchr(text, '@');
    if (!slash || slash - text != 3 || !equals || equals - slash != 4 || !at || at < equals ||
        (size_t)(at - equals) > sizeof rate || strlen(at + 1) >= sizeof ret->day)
        return sl_fail_at(err, SL_INVALID, "fx",
                          "fx: \"%.60s\" is not a dated rate; write USD/CNY=7.10@2026-11-30", text);
    snprintf(ret->base, sizeof ret->base, "%.3s", text);
    snprintf(ret->quote, sizeof ret->quote, "%.3s", slash + 1);
    snprintf(rate, sizeof rate, "%.*s", (int)(at - equals - 1), equals + 1);
    snprintf(ret->day, sizeof ret->day, "%s", at + 1);
    if (!currency_ok(ret->base) || !currency_ok(ret->quote) || sl_streq(ret->base, ret->quote))
        return sl_fail_at(err, SL_INVALID, "fx",
                          "fx: \"%.60s\" needs two different currencies of three capitals", text);
    if (money_parse(rate, "fx", &ret->rate_micro, err) < 0 ||
        ts_parse(ret->day, "fx", &ret->day_us, err) < 0)
        return -1;
    if (ret->rate_micro <= 0 || ret->rate_micro > 1000000 * SL_MICRO)
        return sl_fail_at(err, SL_INVALID, "fx",
                          "fx: %s is not a rate between 0.000001 and 1000000", rate);
    return 0;
}

int job_parse(const char *text, struct sl_arena *arena, struct job *ret, struct sl_err *err)
{
    const char *x = strchr(text, 'x'), *colon = strrchr(text, ':');
    long long gpus = 0;
    *ret = (struct job){.offer = "", .text = sl_arena_strdup(arena, text)};
    if (!x || !colon || colon <= x + 1 || strlen(text) > 200 ||
        !sl_parse_i64(sl_arena_strndup(arena, text, (size_t)(x - text)), &gpus))
        return sl_fail_at(err, SL_INVALID, "job",
                          "job: \"%.80s\" is not a job; write 8xMI300X:24h, or 8xMI300X@OFFER:24h",
                          text);
    if (gpus < 1 || gpus > GPUS_MAX)
        return sl_fail_at(err, SL_INVALID, "job", "job: %lld cards are not between 1 and %d", gpus,
                          GPUS_MAX);
    ret->gpus = gpus;
    char *model = sl_arena_strndup(arena, x + 1, (size_t)(colon - x - 1));
    char *at = strchr(model, '@');
    if (at) {
        *at = 0;
        ret->offer = at + 1;
    }
    ret->model = model;
    if (duration_parse(colon + 1, "job", &ret->seconds, err) < 0)
        return -1;
    if (ret->seconds < 1 || ret->seconds > SECONDS_MAX)
        return sl_fail_at(err, SL_INVALID, "job", "job: \"%.40s\" is not between 1s and 10 years",
                          colon + 1);
    return 0;
}

/* "A, B, C" of what could have been meant; at most what fits. */
static void add_choice(struct sl_buf *b, const char *name)
{
    if (b->n + strlen(name) + 8 < b->max)
        sl_buf_printf(b, "%s\"%s\"", b->n ? ", " : "", name);
}

static const struct price_row *row_for(const struct price_row *rows, int n, const struct job *j,
                                       struct sl_err *err)
{
    const struct price_row *found = NULL;
    SL_AUTO_BUF struct sl_buf models = SL_BUF(200), offers = SL_BUF(200);
    int hits = 0;
    for (int i = 0; i < n; i++) {
        bool seen = false;
        for (int k = 0; k < i && !seen; k++)
            seen = sl_streq(rows[k].model, rows[i].model);
        if (!seen)
            add_choice(&models, rows[i].model);
        if (!sl_streq(rows[i].model, j->model))
            continue;
        add_choice(&offers, rows[i].offer);
        if (*j->offer && !sl_streq(rows[i].offer, j->offer))
            continue;
        found = &rows[i];
        hits++;
    }
    if (hits == 1)
        return found;
    if (!offers.n)
        sl_fail_at(err, SL_NOT_FOUND, "model", "model: \"%.60s\" has no price here; there is %s",
                   j->model, sl_buf_str(&models));
    else if (hits)
        sl_fail_at(err, SL_INVALID, "offer",
                   "offer: %d prices of %.40s fit; choose one as MODEL@OFFER of %s", hits, j->model,
                   sl_buf_str(&offers));
    else
        sl_fail_at(err, SL_NOT_FOUND, "offer",
                   "offer: \"%.60s\" is no offer of %.40s here; there is %s", j->offer, j->model,
                   sl_buf_str(&offers));
    return NULL;
}

static void convert(struct compare_line *l, const char *to, const struct fx *fx, int n_fx)
{
    if (sl_streq(l->price->currency, to)) {
        l->converted = true;
        l->converted_micro = l->total_micro;
        return;
    }
    for (int i = 0; i < n_fx && !l->converted; i++) {
        if (sl_streq(fx[i].base, l->price->currency) && sl_streq(fx[i].quote, to))
            l->converted_micro = money_muldiv(l->total_micro, fx[i].rate_micro, SL_MICRO);
        else if (sl_streq(fx[i].quote, l->price->currency) && sl_streq(fx[i].base, to))
            l->converted_micro = money_muldiv(l->total_micro, SL_MICRO, fx[i].rate_micro);
        else
            continue;
        l->converted = true;
        l->fx = &fx[i];
    }
}

int compare_run(const struct price_row *rows, int n_rows, const struct job *jobs, int n_jobs,
                const struct fx *fx, int n_fx, struct compare_result *ret, struct sl_err *err)
{
    *ret = (struct compare_result){0};
    if (n_jobs < 1 || n_jobs > COMPARE_JOBS_MAX)
        return sl_fail_at(err, SL_INVALID, "job", "job: %d jobs given; compare takes 1 to %d",
                          n_jobs, COMPARE_JOBS_MAX);
    for (int i = 0; i < n_jobs; i++) {
        struct compare_line *l = &ret->lines[ret->n++];
        l->job = jobs[i];
        l->price = row_for(rows, n_rows, &jobs[i], err);
        if (!l->price)
            return -1;
        l->total_micro =
            money_charge(money_mul(l->price->price_micro, jobs[i].gpus), jobs[i].seconds);
        convert(l, ret->lines[0].price->currency, fx, n_fx);
        int64_t first = ret->lines[0].total_micro;
        if (l->converted && first > 0) {
            l->has_ratio = true;
            l->ratio_centi = money_muldiv(l->converted_micro, 100, first);
        } else if (!ret->refused) {
            ret->refused = true;
            snprintf(ret->refusal, sizeof ret->refusal,
                     "no ratio between %s and %s without a dated exchange rate; add --fx "
                     "%s/%s=RATE@DATE",
                     ret->lines[0].price->currency, l->price->currency, l->price->currency,
                     ret->lines[0].price->currency);
        }
    }
    return 0;
}

void compare_write_text(const struct compare_result *r, struct sl_buf *out)
{
    char a[SL_MONEY_TEXT];
    const char *first = r->lines[0].price->currency;
    int width = 0;
    for (int i = 0; i < r->n; i++)
        if ((int)strlen(r->lines[i].job.text) > width)
            width = (int)strlen(r->lines[i].job.text);
    for (int i = 0; i < r->n; i++) {
        const struct compare_line *l = &r->lines[i];
        sl_buf_printf(out, "%-*s %12s %s", width, l->job.text,
                      money_format_rounded(l->total_micro, 2, a), l->price->currency);
        if (l->converted && l->fx)
            sl_buf_printf(out, " = %s %s", money_format_rounded(l->converted_micro, 2, a), first);
        if (i > 0 && l->has_ratio)
            sl_buf_printf(out, "  ratio %s", money_format_rounded(l->ratio_centi * 10000, 2, a));
        sl_buf_addc(out, '\n');
    }
    for (int i = 0; i < r->n; i++) {
        const struct fx *fx = r->lines[i].fx;
        bool told = !fx;
        for (int k = 0; k < i && !told; k++)
            told = r->lines[k].fx == fx;
        if (!told)
            sl_buf_printf(out, "1 %s = %s %s on %s\n", fx->base, money_format(fx->rate_micro, a),
                          fx->quote, fx->day);
    }
}

void compare_write_json(const struct compare_result *r, struct jw *w, const char *key)
{
    char a[SL_MONEY_TEXT];
    jw_object(w, key);
    jw_str(w, "currency", r->lines[0].price->currency);
    jw_array(w, "jobs");
    for (int i = 0; i < r->n; i++) {
        const struct compare_line *l = &r->lines[i];
        jw_object(w, NULL);
        jw_str(w, "job", l->job.text);
        jw_str(w, "model", l->price->model);
        jw_str(w, "offer", l->price->offer);
        jw_int(w, "gpus", l->job.gpus);
        jw_int(w, "seconds", l->job.seconds);
        jw_money(w, "price", l->price->price_micro);
        jw_money(w, "total", l->total_micro);
        jw_str(w, "currency", l->price->currency);
        jw_str(w, "converted",
               l->converted ? money_format_rounded(l->converted_micro, 2, a) : NULL);
        if (l->fx) {
            char b[SL_MONEY_TEXT];
            jw_object(w, "fx");
            jw_str(w, "base", l->fx->base);
            jw_str(w, "quote", l->fx->quote);
            jw_str(w, "rate", money_format(l->fx->rate_micro, b));
            jw_str(w, "date", l->fx->day);
            jw_end(w);
        } else {
            jw_null(w, "fx");
        }
        jw_str(w, "ratio",
               l->has_ratio ? money_format_rounded(l->ratio_centi * 10000, 2, a) : NULL);
        jw_end(w);
    }
    jw_end(w);
    jw_str(w, "refused", r->refused ? r->refusal : NULL);
    jw_end(w);
}
