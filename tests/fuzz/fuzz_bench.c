/* SPDX-License-Identifier: Apache-2.0
 *
 * A benchmark record is written by somebody else: reading, checking and comparing it with itself.
 */
#include "wire/bench.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct bench_record r;
    struct sl_err err = {0};
    crypto_init();
    if (bench_read((const char *)data, size, &arena, &r, &err) == 0) {
        struct bench_verdict_t v;
        const struct bench_options o = {.limit = BENCH_LIMIT};
        SL_ASSERT(r.low <= r.median && r.median <= r.high);
        (void)bench_verify(&r, NULL, &err);
        SL_ASSERT(bench_compare(&r, &r, &o, &v, &err) == 0);
        SL_ASSERT(v.hardware_same && v.software_same && v.loss == 0);
    }
    bench_close(&r);
    return 0;
}
