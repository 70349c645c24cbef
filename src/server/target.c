/* SPDX-License-Identifier: Apache-2.0
 *
 * target.c: the request target ("/v1/leases?state=running", percent encoded) into path and query.
 */
#include "server/router.h"

enum { TARGET_MAX = 4096 };

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes %XX, and + in a query, into the arena. The result is clean UTF-8 without control
 * characters. */
static int pct_decode(struct sl_arena *a, struct sl_str in, bool query, const char **ret,
                      struct sl_err *err)
{
    char *out = sl_arena_alloc(a, in.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < in.n; i++) {
        char c = in.p[i];
        if (c == '+' && query)
            c = ' ';
        if (c == '%') {
            int hi = in.n - i > 2 ? hex_value(in.p[i + 1]) : -1;
            int lo = hi >= 0 ? hex_value(in.p[i + 2]) : -1;
            if (lo < 0)
                return sl_fail_at(
                    err, SL_INVALID, "path",
                    "path: \"%%\" is not followed by two hex digits; write %%25 for a "
                    "percent sign");
            c = (char)(hi << 4 | lo);
            i += 2;
            if (!query && c == '/')
                return sl_fail_at(err, SL_INVALID, "path",
                                  "path: contains an encoded slash; ids and names have none");
        }
        out[n++] = c;
    }
    if (!sl_utf8_ok(out, n, false))
        return sl_fail_at(err, SL_INVALID, "path",
                          "path: contains bytes that are not printable UTF-8; percent-encode text "
                          "in UTF-8");
    *ret = out;
    return 0;
}

static int add_parameter(struct req *r, struct sl_str pair, struct sl_err *err)
{
    const char *n, *v, *eq = memchr(pair.p, '=', pair.n);
    size_t name_n = eq ? (size_t)(eq - pair.p) : pair.n;
    struct sl_str value = eq ? (struct sl_str){eq + 1, pair.n - name_n - 1} : SL_STR("");
    if (pct_decode(r->arena, (struct sl_str){pair.p, name_n}, true, &n, err) < 0 ||
        pct_decode(r->arena, value, true, &v, err) < 0)
        return -1;
    if (req_query(r, n))
        return sl_fail_at(err, SL_INVALID, n, "%.60s: given twice; send it once", n);
    if (r->n_query == QUERY_MAX)
        return sl_fail_at(err, SL_INVALID, "query", "query: more than %d parameters; send fewer",
                          QUERY_MAX);
    r->query[r->n_query].name = n;
    r->query[r->n_query++].value = v;
    return 0;
}

int router_target(struct req *r, const char *target, const char **ret_path, struct sl_err *err)
{
    struct sl_str rest = sl_str(target), path, pair;
    r->n_query = 0;
    if (rest.n > TARGET_MAX || *target != '/')
        return sl_fail_at(err, SL_INVALID, "path",
                          "path: send an absolute path of at most %d bytes, like /v1/health",
                          TARGET_MAX);
    size_t path_n = strcspn(target, "?");
    path = (struct sl_str){target, path_n};
    if (pct_decode(r->arena, path, false, ret_path, err) < 0)
        return -1;
    if (path_n == rest.n)
        return 0;
    rest = (struct sl_str){target + path_n + 1, rest.n - path_n - 1};
    while (rest.n) {
        size_t n = 0;
        while (n < rest.n && rest.p[n] != '&')
            n++;
        pair = (struct sl_str){rest.p, n};
        rest = n < rest.n ? (struct sl_str){rest.p + n + 1, rest.n - n - 1} : SL_STR("");
        if (pair.n && add_parameter(r, pair, err) < 0)
            return -1;
    }
    return 0;
}
