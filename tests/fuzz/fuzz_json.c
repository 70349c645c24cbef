/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/mem.h"
#include "base/io/json.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

struct disk {
    int64_t gb;
};
struct body {
    const char *name;
    int64_t n, price, t;
    bool fast;
    struct jr_strs tags;
    struct jr_list disks;
    const char *raw;
};
static const struct jr_field disk_fields[] = {JR_INT(struct disk, gb, "gb", JR_REQUIRED, 1, 1024),
                                              {0}};
static const struct jr_field fields[] = {
    JR_STR(struct body, name, "name", 0, 0, 63),
    JR_INT(struct body, n, "n", 0, -5, 64),
    JR_MONEY(struct body, price, "price", 0, 0, INT64_MAX),
    JR_TIME(struct body, t, "t", JR_NULLABLE),
    JR_BOOL(struct body, fast, "fast", 0),
    JR_STRS(struct body, tags, "tags", JR_TEXT, 0, 8),
    {"disks", JR_K_LIST, 0, offsetof(struct body, disks), 0, 4, disk_fields, sizeof(struct disk)},
    {"raw", JR_K_RAW, 0, offsetof(struct body, raw)},
    {0}};

/* What the reader accepts, the canonical form of it must be a fixed point. */
static void check_canonical(const char *text, size_t n)
{
    struct sl_err err = {0};
    struct jr_doc *d = NULL, *d2 = NULL;
    struct sl_buf one = SL_BUF(16 << 20), two = SL_BUF(16 << 20);
    if (jr_open(text, n, &d, &err) < 0)
        return;
    if (jr_canonical(jr_root(d), &one, &err) == 0 && jr_open(one.p, one.n, &d2, &err) == 0) {
        SL_ASSERT(jr_canonical(jr_root(d2), &two, &err) == 0);
        SL_ASSERT(sl_streq(sl_buf_str(&one), sl_buf_str(&two)));
    }
    jr_close(d);
    jr_close(d2);
    sl_buf_free(&one);
    sl_buf_free(&two);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct body b = {0};
    struct sl_err err = {0};
    if (jr_parse((const char *)data, size, fields, &b, &arena, &err) == 0)
        SL_ASSERT(b.n >= -5 && b.n <= 64);
    else
        SL_ASSERT(err.msg[0] && sl_utf8_ok(err.field, strlen(err.field), false));
    check_canonical((const char *)data, size);
    return 0;
}
