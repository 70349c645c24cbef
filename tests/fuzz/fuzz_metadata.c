/* SPDX-License-Identifier: Apache-2.0
 *
 * A request to the metadata service: never complete before its end, and the same when it comes in
 * pieces.
 */
#include "agent/metadata.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct metadata_request r, again;
    const char *text = size ? (const char *)data : "";
    int whole = metadata_parse(text, size, &r);
    if (whole != 1)
        return 0;
    size_t end = (size_t)(r.body - text) + r.body_n;
    SL_ASSERT(end <= size && r.body_n <= METADATA_METRIC_MAX);
    SL_ASSERT(metadata_parse(text, end, &again) == 1);
    SL_ASSERT(sl_streq(r.path, again.path) && r.forwarded == again.forwarded);
    for (size_t n = 0; n < end; n++)
        SL_ASSERT(metadata_parse(text, n, &again) != 1);
    return 0;
}
