/* SPDX-License-Identifier: Apache-2.0 */
#include "clock.h"
#include <stdio.h>
#include <string.h>

/* Days since 1970-01-01 of a civil date and back: Howard Hinnant, "chrono-compatible low-level date
 * algorithms"; exact for all years used here. */
static int64_t days_from_civil(int64_t y, int m, int d)
{
    y -= m <= 2;
    int64_t era = (y >= 0 ? y : y - 399) / 400, yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static void civil_from_days(int64_t z, int *ret_y, int *ret_m, int *ret_d)
{
    z += 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097, doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    *ret_d = (int)(doy - (153 * mp + 2) / 5 + 1);
    *ret_m = (int)(mp < 10 ? mp + 3 : mp - 9);
    *ret_y = (int)(yoe + era * 400 + (*ret_m <= 2));
}

const char *ts_format(int64_t t_us, char out[TS_TEXT])
{
    int64_t s = t_us / SL_SEC, us = t_us % SL_SEC;
    if (us < 0)
        us += SL_SEC, s--;
    int64_t day = s / 86400, sod = s % 86400;
    if (sod < 0)
        sod += 86400, day--;
    int y, m, d;
    civil_from_days(day, &y, &m, &d);
    int n = snprintf(out, TS_TEXT, "%04d-%02d-%02dT%02d:%02d:%02d", y, m, d, (int)(sod / 3600),
                     (int)(sod / 60 % 60), (int)(sod % 60));
    if (us)
        n += snprintf(out + n, TS_TEXT - (size_t)n, ".%06d", (int)us);
    snprintf(out + n, TS_TEXT - (size_t)n, "Z");
    return out;
}

/* Exactly n digits at *p. */
static bool digits(const char **p, int n, int *ret)
{
    *ret = 0;
    for (int i = 0; i < n; i++, (*p)++) {
        if (**p < '0' || **p > '9')
            return false;
        *ret = *ret * 10 + (**p - '0');
    }
    return true;
}

static bool lit(const char **p, char c)
{
    if (**p != c)
        return false;
    (*p)++;
    return true;
}

static bool date_parse(const char **p, int64_t *ret_day)
{
    static const int month_days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int y, m, d;
    if (!digits(p, 4, &y) || !lit(p, '-') || !digits(p, 2, &m) || !lit(p, '-') || !digits(p, 2, &d))
        return false;
    if (m < 1 || m > 12 || d < 1 || d > month_days[m - 1])
        return false;
    if (m == 2 && d == 29 && (y % 4 || (y % 100 == 0 && y % 400)))
        return false;
    *ret_day = days_from_civil(y, m, d);
    return true;
}

static bool time_parse(const char **p, int64_t *ret_us)
{
    int h, mi, s, frac = 0, n = 0, oh = 0, om = 0;
    if (!digits(p, 2, &h) || !lit(p, ':') || !digits(p, 2, &mi) || !lit(p, ':') ||
        !digits(p, 2, &s) || h > 23 || mi > 59 || s > 59)
        return false;
    if (lit(p, '.')) {
        for (; **p >= '0' && **p <= '9' && n < 6; n++, (*p)++)
            frac = frac * 10 + (**p - '0');
        if (n == 0)
            return false;
        for (; n < 6; n++)
            frac *= 10;
    }
    int64_t t = (h * 3600LL + mi * 60 + s) * SL_SEC + frac;
    if (!lit(p, 'Z')) {
        int sign = **p == '+' ? 1 : **p == '-' ? -1 : 0;
        (*p) += sign != 0;
        if (!sign || !digits(p, 2, &oh) || !lit(p, ':') || !digits(p, 2, &om) || oh > 23 || om > 59)
            return false;
        t -= sign * (oh * 3600LL + om * 60) * SL_SEC;
    }
    *ret_us = t;
    return true;
}

int ts_parse(const char *text, const char *field, int64_t *ret_us, struct sl_err *err)
{
    const char *p = text;
    int64_t day, tod = 0;
    bool ok = date_parse(&p, &day);
    if (ok && *p == 'T') {
        p++;
        ok = time_parse(&p, &tod);
    }
    if (!ok || *p)
        return sl_fail_at(err, SL_INVALID, field,
                          "%s: \"%.40s\" is not a time; write 2026-12-01 or 2026-12-01T08:00:00Z",
                          field, text);
    *ret_us = day * 86400 * SL_SEC + tod;
    return 0;
}

int duration_parse(const char *text, const char *field, int64_t *ret_s, struct sl_err *err)
{
    int64_t v = 0, unit = 1;
    const char *p = text;
    bool any = false;
    for (; *p >= '0' && *p <= '9' && v < 100000000000LL; p++, any = true)
        v = v * 10 + (*p - '0');
    if (*p == 's' || *p == 'm' || *p == 'h' || *p == 'd') {
        unit = *p == 's' ? 1 : *p == 'm' ? 60 : *p == 'h' ? 3600 : 86400;
        p++;
    }
    if (!any || *p || v > 100000000000LL / unit)
        return sl_fail_at(err, SL_INVALID, field,
                          "%s: \"%.40s\" is not a duration; write 90s, 15m, 24h or 7d", field,
                          text);
    *ret_s = v * unit;
    return 0;
}
