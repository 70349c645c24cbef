/* SPDX-License-Identifier: Apache-2.0 */
#include "server/static.h"
#include "base/core/buf.h"
#include <string.h>

/* Nothing inline, nothing from elsewhere, no frame around it. */
const char static_csp[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' "
    "data:; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

bool static_is_ours(const char *path)
{
    return sl_streq(path, "/") || sl_streq(path, "/console") || sl_starts(path, STATIC_HOME);
}

const struct static_file *static_find(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    bool file = strchr(name, '.') && name == path + strlen(STATIC_HOME);
    for (const struct static_file *f = static_files; f->name; f++)
        if (sl_streq(f->name, file ? name : "index.html"))
            return f;
    return NULL;
}
