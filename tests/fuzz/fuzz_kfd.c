/* SPDX-License-Identifier: Apache-2.0
 *
 * A properties file of the KFD topology: whatever is accepted has only whole lines of name and
 * number.
 */
#include "agent/probe_amd.h"
#include "base/core/mem.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct kfd_properties p;
    struct sl_err err = {0};
    SL_AUTO_FREE char *text = sl_strndup(size ? (const char *)data : "", size);
    size_t n = strlen(text);
    char name[16];
    if (kfd_properties_parse(text, n, &p, &err) < 0) {
        SL_ASSERT(err.code == SL_INVALID && *err.msg);
        return 0;
    }
    SL_ASSERT(strspn(text + strcspn(text, " \n"), " \n0123456789") > 0 || n == 0 ||
              !strchr(text, ' '));
    SL_ASSERT(strlen(gfx_name((uint32_t)p.gfx_target_version, name)) < sizeof name);
    return 0;
}
