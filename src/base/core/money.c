/* SPDX-License-Identifier: Apache-2.0 */
#include "money.h"
#include <stdio.h>
#include <string.h>

int money_parse(const char *text, const char *field, int64_t *ret_micro, struct sl_err *err)
{
    const char *p = text;
    bool neg = *p == '-', digits = false;
    int64_t v = 0;
    if (neg)
        p++;
    for (; *p >= '0' && *p <= '9'; p++, digits = true)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *p - '0', &v))
            goto range;
    int64_t frac = 0;
    int n = 0;
    if (*p == '.') {
        for (p++; *p >= '0' && *p <= '9'; p++, n++)
            if (n < 6)
                frac = frac * 10 + (*p - '0');
        digits = digits && n > 0;
    }
    if (!digits || *p)
        return sl_fail_at(err, SL_INVALID, field,
                          "%s: \"%.40s\" is not an amount; write digits with at most 6 decimals, "
                          "like 12.50",
                          field, text);
    if (n > 6)
        return sl_fail_at(err, SL_INVALID, field,
                          "%s: \"%.40s\" has more than 6 decimals; round it to 0.000001", field,
                          text);
    for (; n < 6; n++)
        frac *= 10;
    if (__builtin_mul_overflow(v, SL_MICRO, &v) || __builtin_add_overflow(v, frac, &v))
        goto range;
    *ret_micro = neg ? -v : v;
    return 0;
range:
    return sl_fail_at(err, SL_INVALID, field,
                      "%s: \"%.40s\" is out of range; at most 9000000000000", field, text);
}

const char *money_format_rounded(int64_t micro, int decimals, char out[SL_MONEY_TEXT])
{
    static const int64_t pow10[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
    SL_ASSERT(decimals >= 0 && decimals <= 6);
    int64_t v = money_muldiv(micro, 1, pow10[6 - decimals]), unit = pow10[decimals];
    uint64_t a = v < 0 ? (uint64_t)-v : (uint64_t)v;
    if (decimals == 0)
        snprintf(out, SL_MONEY_TEXT, "%s%llu", v < 0 ? "-" : "", (unsigned long long)a);
    else
        snprintf(out, SL_MONEY_TEXT, "%s%llu.%0*llu", v < 0 ? "-" : "",
                 (unsigned long long)(a / (uint64_t)unit), decimals,
                 (unsigned long long)(a % (uint64_t)unit));
    return out;
}

const char *money_format(int64_t micro, char out[SL_MONEY_TEXT])
{
    money_format_rounded(micro, 6, out);
    size_t n = strlen(out);
    while (out[n - 1] == '0' && out[n - 3] != '.')
        out[--n] = 0;
    return out;
}

int64_t money_add(int64_t a, int64_t b)
{
    int64_t r;
    SL_ASSERT(!__builtin_add_overflow(a, b, &r));
    return r;
}

int64_t money_mul(int64_t a, int64_t n)
{
    int64_t r;
    SL_ASSERT(!__builtin_mul_overflow(a, n, &r));
    return r;
}

int64_t money_muldiv(int64_t a, int64_t num, int64_t den)
{
    SL_ASSERT(den > 0);
    __int128 x = (__int128)a * num;
    __int128 half = den / 2; /* odd den: no exact half exists, so floor is enough */
    __int128 q = x >= 0 ? (x + half) / den : -((-x + half) / den);
    SL_ASSERT(q <= INT64_MAX && q >= -INT64_MAX);
    return (int64_t)q;
}

int64_t money_charge_per(int64_t rate_micro, int64_t seconds, int64_t per_s)
{
    SL_ASSERT(seconds >= 0);
    return money_muldiv(rate_micro, seconds, per_s);
}

int64_t money_charge(int64_t rate_micro_per_hour, int64_t seconds)
{
    return money_charge_per(rate_micro_per_hour, seconds, MONEY_HOUR_S);
}

int64_t money_seconds_for_per(int64_t rate, int64_t funds, int64_t per_s)
{
    if (rate <= 0)
        return INT64_MAX / 4;
    if (funds < 0)
        return 0;
    /* charge(t) <= funds  <=>  rate*t/per < funds + 1/2  <=>  2*rate*t < per*(2*funds + 1) */
    __int128 bound = (__int128)per_s * (2 * (__int128)funds + 1);
    __int128 t = (bound - 1) / (2 * (__int128)rate);
    return t > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)t;
}

int64_t money_seconds_for(int64_t rate, int64_t funds)
{
    return money_seconds_for_per(rate, funds, MONEY_HOUR_S);
}

bool currency_ok(const char *code)
{
    for (int i = 0; i < 3; i++)
        if (code[i] < 'A' || code[i] > 'Z')
            return false;
    return code[3] == 0;
}
