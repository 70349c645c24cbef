/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/buf.h"
#include "base/core/mem.h"
#include "base/io/conf.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

struct conf {
    const char *a, *p;
    int64_t n, d, m;
    bool b;
};
static const struct conf_key keys[] = {
    {"one", "a", CONF_TEXT, offsetof(struct conf, a), "x", 0, 0, ""},
    {"one", "p", CONF_PATH, offsetof(struct conf, p), "/", 0, 0, ""},
    {"one", "n", CONF_INT, offsetof(struct conf, n), "1", 0, 9, ""},
    {"two", "d", CONF_DURATION, offsetof(struct conf, d), "1h", 0, 86400, ""},
    {"two", "m", CONF_MONEY, offsetof(struct conf, m), "1", 0, 1000000000, ""},
    {"two", "b", CONF_BOOL, offsetof(struct conf, b), "no", 0, 0, ""},
    {0}};

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct conf c = {0};
    struct sl_err err = {0};
    if (conf_parse("fuzz", (const char *)data, size, keys, &c, &arena, &err) == 0) {
        SL_ASSERT(c.n >= 0 && c.n <= 9 && c.d <= 86400);
        SL_ASSERT(sl_utf8_ok(c.a, strlen(c.a), false));
    }
    return 0;
}
