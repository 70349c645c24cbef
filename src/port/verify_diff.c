/* SPDX-License-Identifier: Apache-2.0 */
#include "port/verify.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

struct sl_str verify_line(const struct sl_buf *b, unsigned line)
{
    struct sl_str rest = {sl_buf_str(b), b->n}, piece = {0};
    while (line--)
        if (!sl_str_cut(&rest, '\n', &piece))
            return (struct sl_str){"", 0};
    return piece;
}

static bool near(double a, double b, double tolerance)
{
    if (a == b || (isnan(a) && isnan(b)))
        return true;
    double x = fabs(a), y = fabs(b), m = x > y ? x : y;
    return isfinite(m) && fabs(a - b) <= tolerance * m;
}

/* A number at p that does not continue a word; *end is one past it. */
static bool number_at(const char *start, const char *p, double *ret, char **end)
{
    bool digit = isdigit((unsigned char)*p) ||
                 ((*p == '-' || *p == '+' || *p == '.') && isdigit((unsigned char)p[1]));
    if (!digit || (p > start && (isalnum((unsigned char)p[-1]) || p[-1] == '_')))
        return false;
    *ret = strtod(p, end);
    return *end > p;
}

static bool line_same(struct sl_str a, struct sl_str b, double tolerance)
{
    if (sl_str_eq(a, b))
        return true;
    char *pa = strndup(a.p, a.n), *pb = strndup(b.p, b.n), *x = pa, *y = pb;
    bool same = pa && pb;
    while (same && (*x || *y)) {
        double u, w;
        char *ex, *ey;
        if (number_at(pa, x, &u, &ex) && number_at(pb, y, &w, &ey)) {
            same = near(u, w, tolerance);
            x = ex;
            y = ey;
        } else {
            same = *x == *y;
            x += *x != 0;
            y += *y != 0;
        }
    }
    free(pa);
    free(pb);
    return same;
}

unsigned verify_diff_text(const struct sl_buf *a, const struct sl_buf *b,
                          const struct sl_buf *again, unsigned after, double tolerance)
{
    struct sl_str ra = {sl_buf_str(a), a->n}, rb = {sl_buf_str(b), b->n}, rc = {"", 0};
    if (again)
        rc = (struct sl_str){sl_buf_str(again), again->n};
    for (unsigned line = 1;; line++) {
        struct sl_str la = {"", 0}, lb = {"", 0}, lc = {"", 0};
        bool ha = sl_str_cut(&ra, '\n', &la), hb = sl_str_cut(&rb, '\n', &lb);
        bool hc = sl_str_cut(&rc, '\n', &lc);
        if (!ha && !hb)
            return 0;
        if (again && ha && hc && !line_same(la, lc, tolerance))
            continue;
        if (line > after && !line_same(la, lb, tolerance))
            return line;
    }
}

size_t verify_diff_bytes(const char *a, const char *b, size_t n, double tolerance)
{
    if (memcmp(a, b, n) == 0)
        return n;
    /* As float, then as double: a difference that is small in either reading is no difference. */
    for (size_t at = 0; at < n;) {
        if (a[at] == b[at]) {
            at++;
            continue;
        }
        size_t f = at / 4 * 4, d = at / 8 * 8;
        float fa, fb;
        double da, db;
        if (f + 4 <= n) {
            memcpy(&fa, a + f, 4);
            memcpy(&fb, b + f, 4);
            if (fabsf(fa) > 1e-30f && near((double)fa, (double)fb, tolerance)) {
                at = f + 4;
                continue;
            }
        }
        if (d + 8 <= n) {
            memcpy(&da, a + d, 8);
            memcpy(&db, b + d, 8);
            if (fabs(da) > 1e-30 && fabs(da) < 1e30 && near(da, db, tolerance)) {
                at = d + 8;
                continue;
            }
        }
        return at;
    }
    return n;
}
