/* SPDX-License-Identifier: Apache-2.0
 *
 * SSH public key lines: whatever is accepted is one clean line that is read back as the same key.
 */
#include "base/core/buf.h"
#include "base/core/mem.h"
#include "server/ssh_key.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    SL_AUTO_FREE char *line = sl_strndup(size ? (const char *)data : "", size);
    struct ssh_key k, again;
    struct sl_err err = {0};
    if (ssh_key_parse(line, "key", &k, &err) < 0) {
        SL_ASSERT(err.code == SL_INVALID && *err.msg);
        return 0;
    }
    SL_ASSERT(sl_utf8_ok(k.line, strlen(k.line), false));
    SL_ASSERT(ssh_key_parse(k.line, "key", &again, &err) == 0);
    SL_ASSERT(sl_streq(k.line, again.line) && sl_streq(k.fingerprint, again.fingerprint));
    return 0;
}
