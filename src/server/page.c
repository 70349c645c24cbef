/* SPDX-License-Identifier: Apache-2.0 */
#include "server/page.h"
#include <stdio.h>

int page_begin(struct req *r, struct reply *out, struct page *p, struct sl_err *err)
{
    *p = (struct page){0};
    if (req_page(r, &p->limit, &p->cursor, err) < 0)
        return -1;
    reply_list(out);
    return 0;
}

bool page_take(struct page *p, const char *key)
{
    p->more = p->n >= p->limit;
    if (p->more)
        return false;
    p->n++;
    (void)snprintf(p->last, sizeof p->last, "%s", key);
    return true;
}

void page_end(struct reply *out, struct page *p)
{
    reply_list_end(out, p->more ? p->last : NULL);
}
