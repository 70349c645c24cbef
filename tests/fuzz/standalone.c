/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a fuzz target over files without libFuzzer, so that the corpus is also an ordinary test.
 */
#include "base/core/mem.h"
#include "base/io/proc.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        SL_AUTO_BUF struct sl_buf b = SL_BUF(16 << 20);
        struct sl_err err = {0};
        if (file_read(argv[i], b.max, &b, &err) < 0) {
            fprintf(stderr, "%s\n", err.msg);
            return 1;
        }
        /* an exact heap copy, so that a read past the end is seen */
        SL_AUTO_FREE unsigned char *copy = b.n ? malloc(b.n) : NULL;
        if (b.n)
            memcpy(copy, b.p, b.n);
        LLVMFuzzerTestOneInput(copy, b.n);
    }
    return 0;
}
