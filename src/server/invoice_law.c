/* SPDX-License-Identifier: Apache-2.0 */
#include "server/invoice.h"

#define CENT (SL_MICRO / 100)

bool taxpayer_id_ok(const char *id)
{
    static const char signs[] = "0123456789ABCDEFGHJKLMNPQRTUWXY"; /* without I O S V Z */
    int sum = 0, weight = 1;
    if (strlen(id) != 18)
        return false;
    for (int i = 0; i < 17; i++) {
        const char *p = strchr(signs, id[i]);
        if (!p)
            return false;
        sum += (int)(p - signs) * weight;
        weight = weight * 3 % 31;
    }
    return id[17] == signs[(31 - sum % 31) % 31];
}

/* Four digits; *zero: a zero is due before the next digit that is not one. */
static void words_group(struct sl_buf *b, int n, bool *zero)
{
    static const char *const digits[] = {"零", "壹", "贰", "叁", "肆",
                                         "伍", "陆", "柒", "捌", "玖"};
    static const char *const places[] = {"仟", "佰", "拾", ""};
    int div = 1000;
    for (int i = 0; i < 4; i++, div /= 10) {
        int d = n / div % 10;
        if (d == 0) {
            *zero = b->n > 0;
            continue;
        }
        sl_buf_printf(b, "%s%s%s", *zero ? "零" : "", digits[d], places[i]);
        *zero = false;
    }
}

const char *money_words_zh(int64_t micro, char out[INVOICE_WORDS])
{
    static const char *const digits[] = {"", "壹", "贰", "叁", "肆", "伍", "陆", "柒", "捌", "玖"};
    SL_AUTO_BUF struct sl_buf b = SL_BUF(INVOICE_WORDS);
    int64_t cents = (micro < 0 ? -micro : micro) / CENT, units = cents / 100;
    int jiao = (int)(cents / 10 % 10), fen = (int)(cents % 10);
    bool zero = false;
    SL_ASSERT(units < 1000000000000LL);
    if (units >= 100000000) {
        words_group(&b, (int)(units / 100000000), &zero);
        sl_buf_adds(&b, "亿");
        zero = false;
    }
    if (units / 10000 % 10000) {
        words_group(&b, (int)(units / 10000 % 10000), &zero);
        sl_buf_adds(&b, "万");
        zero = false;
    } else if (b.n) {
        zero = true;
    }
    words_group(&b, (int)(units % 10000), &zero);
    if (units)
        sl_buf_adds(&b, "元");
    if (!units && !cents)
        sl_buf_adds(&b, "零元");
    if (jiao)
        sl_buf_printf(&b, "%s%s角", units && units % 10 == 0 ? "零" : "", digits[jiao]);
    else if (fen && units)
        sl_buf_adds(&b, "零");
    if (fen)
        sl_buf_printf(&b, "%s分", digits[fen]);
    else
        sl_buf_adds(&b, "整");
    SL_ASSERT(!b.over);
    snprintf(out, INVOICE_WORDS, "%s%s", micro < 0 ? "负" : "", sl_buf_str(&b));
    return out;
}

static int64_t floor_div(__int128 a, __int128 b)
{
    __int128 q = a / b;
    return (int64_t)(a % b < 0 ? q - 1 : q);
}

/* Shares `total` cents out in proportion num[i]/den: floors, then the cents that are left over go
 * to the largest remainders, the first of equal ones. */
static void share(const __int128 *num, __int128 den, int n, int64_t total, int64_t *ret)
{
    SL_AUTO_FREE bool *given = sl_alloc((size_t)n * sizeof *given + 1);
    for (int i = 0; i < n; i++) {
        ret[i] = floor_div(num[i], den);
        total -= ret[i];
    }
    SL_ASSERT(total >= 0 && total <= n);
    for (; total > 0; total--) {
        int best = -1;
        for (int i = 0; i < n; i++)
            if (!given[i] && (best < 0 || num[i] - ret[i] * den > num[best] - ret[best] * den))
                best = i;
        given[best] = true;
    }
    for (int i = 0; i < n; i++)
        ret[i] += given[i];
}

void invoice_split(struct invoice_part *lines, int n, int64_t tax_bp, struct invoice_part *ret)
{
    SL_AUTO_FREE __int128 *num = sl_alloc(((size_t)n + 1) * sizeof *num);
    SL_AUTO_FREE int64_t *cents = sl_alloc(((size_t)n + 1) * sizeof *cents);
    SL_AUTO_FREE int64_t *net = sl_alloc(((size_t)n + 1) * sizeof *net);
    *ret = (struct invoice_part){0};
    for (int i = 0; i < n; i++) {
        ret->exact_micro = money_add(ret->exact_micro, lines[i].exact_micro);
        num[i] = lines[i].exact_micro;
    }
    SL_ASSERT(ret->exact_micro >= 0);
    int64_t total = ret->exact_micro / CENT;
    int64_t total_net = money_muldiv(total, 10000, 10000 + tax_bp);
    share(num, CENT, n, total, cents);
    for (int i = 0; i < n; i++)
        num[i] = (__int128)cents[i] * 10000;
    share(num, 10000 + tax_bp, n, total_net, net);
    for (int i = 0; i < n; i++) {
        lines[i].total_micro = cents[i] * CENT;
        lines[i].net_micro = net[i] * CENT;
        lines[i].tax_micro = lines[i].total_micro - lines[i].net_micro;
    }
    ret->total_micro = total * CENT;
    ret->net_micro = total_net * CENT;
    ret->tax_micro = ret->total_micro - ret->net_micro;
}
