/* SPDX-License-Identifier: Apache-2.0
 * Hazard rules and automatic fixes over any bytes as CUDA C++. */
#include "port/hazard.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void scan(const char *p, size_t n, const struct hazard_opts *o, struct sl_buf *out)
{
    struct findings f = {0};
    struct source s;
    source_from(&s, "-", p, n);
    hazard_scan(&s, o, &f);
    findings_sort(&f);
    for (size_t i = 0; i < f.n; i++)
        SL_ASSERT((size_t)f.v[i].at + f.v[i].n <= n && f.v[i].line >= 1);
    source_settle(&s);
    source_render(&s, out);
    source_free(&s);
    findings_free(&f);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct hazard_opts o = HAZARD_OPTS_DEFAULT;
    o.targets = HAZARD_ALL;
    if (size && (data[0] & 1))
        o.rocm = 50700;
    SL_AUTO_BUF struct sl_buf once = SL_BUF(64 << 20);
    scan((const char *)data, size, &o, &once);
    return 0;
}
