/* SPDX-License-Identifier: Apache-2.0
 *
 * Request targets: an accepted one has a clean path and clean, distinct parameters, and matching it
 * against the route table ends in a row or in one of two errors.
 */
#include "server/router.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    char *target = sl_arena_strndup(&arena, size ? (const char *)data : "", size);
    struct req r = {.arena = &arena};
    struct sl_err err = {0};
    const char *path;
    if (router_target(&r, target, &path, &err) < 0) {
        SL_ASSERT(err.code == SL_INVALID && *err.msg);
        return 0;
    }
    SL_ASSERT(path[0] == '/' && sl_utf8_ok(path, strlen(path), false));
    for (int i = 0; i < r.n_query; i++) {
        SL_ASSERT(sl_utf8_ok(r.query[i].name, strlen(r.query[i].name), false));
        SL_ASSERT(sl_utf8_ok(r.query[i].value, strlen(r.query[i].value), false));
        for (int k = 0; k < i; k++)
            SL_ASSERT(!sl_streq(r.query[i].name, r.query[k].name));
    }
    const struct route *t = router_match(&r, "GET", path, &err);
    SL_ASSERT(t || err.code == SL_NOT_FOUND || err.code == SL_METHOD);
    return 0;
}
