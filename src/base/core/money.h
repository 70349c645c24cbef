/* SPDX-License-Identifier: Apache-2.0
 *
 * money.h: amounts are int64 micro-units (1 CNY = 1,000,000) and a currency code. No floating
 * point.
 *
 * The charge for t whole seconds at a rate of r micro-units per hour is R(r * t / 3600), where R
 * rounds half away from zero. What a running lease owes for (t1, t2] is R(r*t2) - R(r*t1), counted
 * from the start of its segment, so any split of an interval charges the same total (docs/money.md,
 * rule M3).
 */
#ifndef SL_MONEY_H
#define SL_MONEY_H
#include "err.h"
#include <stdint.h>

#define SL_MICRO 1000000LL
enum { SL_MONEY_TEXT = 48 }; /* bytes that hold any formatted amount */

/* "12", "12.5", "-0.000001": at most 6 decimals, else SL_INVALID with the field named. */
int money_parse(const char *text, const char *field, int64_t *ret_micro, struct sl_err *err);
/* At least 2 decimals, no trailing zeros after them: "2.20", "0.000001". Returns out. */
const char *money_format(int64_t micro, char out[SL_MONEY_TEXT]);
/* Rounded half away from zero to `decimals` (0..6): 22917 micro, 3 -> "0.023". Returns out. */
const char *money_format_rounded(int64_t micro, int decimals, char out[SL_MONEY_TEXT]);

/* Overflow is a programming error here: limits keep every amount below 9.2e12 units. */
int64_t money_add(int64_t a, int64_t b);
int64_t money_mul(int64_t a, int64_t n);
/* a * num / den rounded half away from zero, through 128 bits; den > 0. */
int64_t money_muldiv(int64_t a, int64_t num, int64_t den);
/* R(rate_micro * seconds / per_s): a rate for per_s seconds. A month of disk is 30 days. */
enum { MONEY_HOUR_S = 3600, MONEY_MONTH_S = 30 * 86400 };
int64_t money_charge_per(int64_t rate_micro, int64_t seconds, int64_t per_s);
/* R(rate_micro_per_hour * seconds / 3600); seconds >= 0. */
int64_t money_charge(int64_t rate_micro_per_hour, int64_t seconds);
/* The largest t >= 0 with money_charge(rate, t) <= funds; INT64_MAX/4 for rate 0. */
int64_t money_seconds_for(int64_t rate_micro_per_hour, int64_t funds_micro);
int64_t money_seconds_for_per(int64_t rate_micro, int64_t funds_micro, int64_t per_s);
/* Three upper-case letters. */
bool currency_ok(const char *code);
#endif
