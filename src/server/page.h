/* SPDX-License-Identifier: Apache-2.0
 *
 * page.h: the frame of every list: {"items":[...],"next":CURSOR or null}. Ask the database for
 * page.limit + 1 rows after page.cursor; page_take says whether the row still belongs to this page.
 *
 *     struct page p;
 *     if (page_begin(r, out, &p, err) < 0) return -1;
 *     ... query with ORDER BY key LIMIT p.limit + 1 ...
 *     while ((rc = db_next(&q, err)) > 0 && page_take(&p, db_text(&q, 0)))
 *         thing_write(&out->json, NULL, ...);
 *     db_done(&q);
 *     page_end(out, &p);
 */
#ifndef SL_PAGE_H
#define SL_PAGE_H
#include "server/router.h"

struct page {
    int64_t limit, n;
    const char *cursor; /* "" at first */
    char last[64];
    bool more;
};
int page_begin(struct req *r, struct reply *out, struct page *p, struct sl_err *err);
bool page_take(struct page *p, const char *key);
void page_end(struct reply *out, struct page *p);
#endif
