/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/compare.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct price_file f;
    struct model_file m;
    struct sl_err err = {0};
    if (price_file_parse("fuzz", (const char *)data, size, &arena, &f, &err) == 0) {
        for (int i = 0; i < f.n; i++) {
            SL_ASSERT(*f.rows[i].model && currency_ok(f.rows[i].currency) && f.rows[i].price_micro > 0);
            SL_AUTO_BUF struct sl_buf b = SL_BUF(1 << 16);
            struct jw w = {&b};
            price_row_write(&w, NULL, &f.rows[i]);
            struct job jobs[2] = {{.model = f.rows[i].model, .offer = f.rows[i].offer, .gpus = 8, .seconds = 86400, .text = "a"},
                                  {.model = f.rows[0].model, .offer = f.rows[0].offer, .gpus = 1, .seconds = 1, .text = "b"}};
            struct compare_result r;
            if (compare_run(f.rows, f.n, jobs, 2, NULL, 0, &r, &err) == 0)
                compare_write_text(&r, &b);
        }
    }
    (void)model_file_parse("fuzz", (const char *)data, size, &arena, &m, &err);
    SL_AUTO_FREE char *text = sl_strndup((const char *)data, size);
    struct fx fx;
    struct job job;
    if (fx_parse(text, &fx, &err) == 0)
        SL_ASSERT(fx.rate_micro > 0 && currency_ok(fx.base) && currency_ok(fx.quote));
    if (job_parse(text, &arena, &job, &err) == 0)
        SL_ASSERT(job.gpus >= 1 && job.seconds >= 1 && job.model);
    return 0;
}
