/* SPDX-License-Identifier: Apache-2.0
 *
 * A statement in the columns of the FinOps Open Cost and Usage Specification (FOCUS 1.0).
 */
#include "base/core/clock.h"
#include "wire/bill_file.h"

static const char header[] =
    "BilledCost,BillingAccountId,BillingAccountName,BillingCurrency,BillingPeriodEnd,"
    "BillingPeriodStart,ChargeCategory,ChargeClass,ChargeDescription,ChargeFrequency,"
    "ChargePeriodEnd,ChargePeriodStart,ConsumedQuantity,ConsumedUnit,ContractedCost,"
    "ContractedUnitPrice,EffectiveCost,InvoiceIssuerName,ListCost,ListUnitPrice,PricingCategory,"
    "PricingQuantity,PricingUnit,ProviderName,PublisherName,RegionId,RegionName,ResourceId,"
    "ResourceName,ResourceType,ServiceCategory,ServiceName,SkuId,SkuPriceId,SubAccountId,"
    "x_SegmentId\n";

/* A quoted field; what a spreadsheet would take for a formula gets an apostrophe. */
static void text(struct sl_buf *b, const char *s)
{
    sl_buf_addc(b, '"');
    if (*s && strchr("=+-@", *s))
        sl_buf_addc(b, '\'');
    for (; *s; s++) {
        if (*s == '"')
            sl_buf_addc(b, '"');
        sl_buf_addc(b, *s);
    }
    sl_buf_adds(b, "\",");
}

static void money(struct sl_buf *b, int64_t micro)
{
    char t[SL_MONEY_TEXT];
    sl_buf_printf(b, "%s,", money_format(micro, t));
}

static void when(struct sl_buf *b, int64_t t_us)
{
    char t[TS_TEXT];
    sl_buf_printf(b, "%s,", ts_format(t_us - t_us % SL_SEC, t));
}

static void row(struct sl_buf *b, const struct bill *s, const struct bill_line *l,
                const struct bill_price *p, const char *provider, int64_t from_us)
{
    bool disk = sl_streq(p->unit, "gb_month"), cpu = sl_streq(p->unit, "instance_hour");
    bool back = l->to_s < l->from_s; /* seconds that were charged before and given back */
    int64_t first = back ? l->to_s : l->from_s, last = back ? l->from_s : l->to_s;
    const char *unit = disk ? "GB-Months" : cpu ? "Hours" : "GPU-Hours";
    int64_t quantity = money_muldiv((l->to_s - l->from_s) * l->gpus, SL_MICRO, l->per_s);
    money(b, l->charge_micro);
    text(b, s->account);
    text(b, s->account);
    sl_buf_printf(b, "%s,", s->currency);
    when(b, s->to_us);
    when(b, from_us);
    sl_buf_printf(b, "Usage,%s,", back ? "Correction" : "");
    text(b, l->model);
    sl_buf_adds(b, "Usage-Based,");
    when(b, l->start_us + last * SL_SEC);
    when(b, l->start_us + first * SL_SEC);
    money(b, quantity);
    sl_buf_printf(b, "%s,", unit);
    money(b, l->charge_micro);
    money(b, p->price_micro);
    money(b, l->charge_micro);
    text(b, provider);
    money(b, l->charge_micro);
    money(b, p->price_micro);
    sl_buf_adds(b, "Standard,");
    money(b, quantity);
    sl_buf_printf(b, "%s,", unit);
    text(b, provider);
    text(b, provider);
    sl_buf_adds(b, ",,");
    text(b, l->lease);
    text(b, *l->name ? l->name : l->lease);
    sl_buf_printf(b, "%s,%s,%s,", disk ? "Volume" : "Instance", disk ? "Storage" : "Compute",
                  disk ? "Disk" : "GPU instance");
    text(b, p->model);
    text(b, p->id);
    text(b, s->account);
    text(b, l->segment);
    b->p[b->n - 1] = '\n';
}

/* A file may be signed by anybody: what a price of 0 leaves unchecked. */
static bool sane(const struct bill_line *l)
{
    const int64_t seconds = 10000000000; /* 300 years */
    return l->from_s >= 0 && l->to_s >= 0 && l->from_s < seconds && l->to_s < seconds &&
           l->gpus <= 1000000 && l->start_us >= 0 && l->start_us < seconds * SL_SEC;
}

int bill_focus(const char *statement, size_t n, const char *provider, struct sl_buf *out,
               struct sl_err *err)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct bill_result checked = {0};
    struct bill b;
    if (bill_verify(statement, n, &(struct bill_options){0}, &checked, err) < 0 ||
        bill_read(statement, n, false, &arena, &b, err) < 0)
        return -1;
    int64_t from = b.from_us ? b.from_us : b.to_us;
    for (int i = 0; !b.from_us && i < b.lines.n; i++)
        if (BILL_LINES(&b)[i].start_us < from)
            from = BILL_LINES(&b)[i].start_us;
    sl_buf_adds(out, header);
    for (int i = 0; i < b.lines.n && !out->over; i++) {
        struct bill_line *l = &BILL_LINES(&b)[i];
        const struct bill_price *p = NULL;
        for (int k = 0; k < b.prices.n && !p; k++)
            if (sl_streq(BILL_PRICES(&b)[k].id, l->price_version))
                p = &BILL_PRICES(&b)[k];
        SL_ASSERT(p); /* bill_verify saw it */
        if (!sane(l))
            return sl_fail_at(err, SL_INVALID, "lines", "line %s: its figures are out of range",
                              l->segment);
        l->per_s = bill_unit_seconds(p->unit);
        row(out, &b, l, p, provider, from);
    }
    if (out->over)
        return sl_fail(err, SL_TOO_LARGE, "the CSV is over %zu bytes", out->max);
    return 0;
}
