/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/ops.h"
#include "agent/disk_ops.h"
#include "agent/image.h"
#include "agent/probe.h"
#include "agent/sanitize.h"
#include "agent/volume.h"
#include "base/io/json.h"
#include "wire/agent_ops.h"

/* Arguments of the small operations; each table below takes the ones it knows. */
struct args {
    const char *op, *node, *name, *path, *digest, *volume, *lease, *account, *cards;
    const char *reference, *username, *password, *image;
    int64_t max_bytes;
    const char *snapshot;
    int64_t size_bytes;
};
#define FIELD(member, flags, max)                                                                  \
    {                                                                                              \
#member, JR_K_STR, flags, offsetof(struct args, member), 1, max                            \
    }
#define COMMON FIELD(op, 0, 64), FIELD(node, 0, 64)

static const struct jr_field no_fields[] = {COMMON, {0}};
static const struct jr_field import_fields[] = {COMMON,
                                                FIELD(name, JR_REQUIRED, 63),
                                                FIELD(path, 0, 4000),
                                                FIELD(digest, 0, 71),
                                                FIELD(reference, 0, 511),
                                                FIELD(username, 0, 255),
                                                FIELD(password, 0, 1023),
                                                {0}};
static const struct jr_field save_fields[] = {
    COMMON,
    FIELD(name, JR_REQUIRED, 63),
    FIELD(volume, JR_REQUIRED, 63),
    FIELD(image, JR_REQUIRED, 63),
    JR_INT(struct args, max_bytes, "max_bytes", JR_REQUIRED, 1, INT64_MAX / 2),
    {0}};
static const struct jr_field name_fields[] = {COMMON, FIELD(name, JR_REQUIRED, 63), {0}};
static const struct jr_field volume_fields[] = {COMMON, FIELD(volume, JR_REQUIRED, 63), {0}};
static const struct jr_field grow_fields[] = {
    COMMON,
    FIELD(volume, JR_REQUIRED, 63),
    JR_INT(struct args, size_bytes, "size_bytes", JR_REQUIRED, 16 << 20, 1LL << 46),
    {0}};
static const struct jr_field snapshot_fields[] = {
    COMMON, FIELD(volume, JR_REQUIRED, 63), FIELD(snapshot, JR_REQUIRED, 63), {0}};
static const struct jr_field restore_fields[] = {
    COMMON,
    FIELD(volume, JR_REQUIRED, 63),
    FIELD(snapshot, JR_REQUIRED, 63),
    JR_INT(struct args, size_bytes, "size_bytes", JR_REQUIRED, 16 << 20, 1LL << 46),
    {0}};
static const struct jr_field snapshot_remove_fields[] = {
    COMMON, FIELD(snapshot, JR_REQUIRED, 63), {0}};
static const struct jr_field sanitize_fields[] = {
    COMMON,
    {"cards", JR_K_RAW, JR_REQUIRED, offsetof(struct args, cards)},
    FIELD(lease, JR_REQUIRED, 63),
    FIELD(account, JR_REQUIRED, 63),
    {0}};

static int op_probe(struct op_call *c, const struct args *g, struct sl_err *err)
{
    return probe_json(c->a, c->out, err);
}

static int op_health(struct op_call *c, const struct args *g, struct sl_err *err)
{
    return health_json(c->a, c->out, err);
}

static int op_image_import(struct op_call *c, const struct args *g, struct sl_err *err)
{
    const struct image_import in = {.name = g->name,
                                    .path = g->path,
                                    .digest = g->digest,
                                    .progress = c->progress,
                                    .progress_arg = c->progress_arg,
                                    .reference = g->reference,
                                    .username = g->username,
                                    .password = g->password};
    if (agent_name(g->name, "name", err) < 0)
        return -1;
    return image_import(c->a, &in, c->out, err);
}

static int op_image_save(struct op_call *c, const struct args *g, struct sl_err *err)
{
    const struct image_save in = {g->name,      g->volume,   g->image,
                                  g->max_bytes, c->progress, c->progress_arg};
    if (agent_name(g->name, "name", err) < 0 || agent_name(g->volume, "volume", err) < 0 ||
        agent_name(g->image, "image", err) < 0)
        return -1;
    return image_save(c->a, &in, c->out, err);
}

static int op_image_list(struct op_call *c, const struct args *g, struct sl_err *err)
{
    return image_list(c->a, c->out, err);
}

static int op_image_remove(struct op_call *c, const struct args *g, struct sl_err *err)
{
    if (agent_name(g->name, "name", err) < 0 || image_remove(c->a, g->name, err) < 0)
        return -1;
    sl_buf_adds(c->out, "{\"removed\":true}");
    return 0;
}

static int op_volume_remove(struct op_call *c, const struct args *g, struct sl_err *err)
{
    if (agent_name(g->volume, "volume", err) < 0 || volume_remove(c->a, g->volume, err) < 0)
        return -1;
    sl_buf_adds(c->out, "{\"removed\":true}");
    return 0;
}

static int op_volume_grow(struct op_call *c, const struct args *g, struct sl_err *err)
{
    bool now = false;
    if (agent_name(g->volume, "volume", err) < 0 ||
        disk_grow(c->a, g->volume, g->size_bytes, &now, err) < 0)
        return -1;
    sl_buf_printf(c->out, "{\"grown\":true,\"now\":%s}", now ? "true" : "false");
    return 0;
}

static void copied(struct op_call *c, bool cloned)
{
    sl_buf_printf(c->out, "{\"method\":\"%s\"}", cloned ? "reflink" : "copy");
}

static int op_volume_snapshot(struct op_call *c, const struct args *g, struct sl_err *err)
{
    bool cloned = false;
    if (agent_name(g->volume, "volume", err) < 0 || agent_name(g->snapshot, "snapshot", err) < 0 ||
        disk_snapshot(c->a, g->volume, g->snapshot, &cloned, err) < 0)
        return -1;
    copied(c, cloned);
    return 0;
}

static int op_volume_restore(struct op_call *c, const struct args *g, struct sl_err *err)
{
    bool cloned = false;
    if (agent_name(g->volume, "volume", err) < 0 || agent_name(g->snapshot, "snapshot", err) < 0 ||
        disk_restore(c->a, g->volume, g->snapshot, g->size_bytes, &cloned, err) < 0)
        return -1;
    copied(c, cloned);
    return 0;
}

static int op_snapshot_remove(struct op_call *c, const struct args *g, struct sl_err *err)
{
    if (agent_name(g->snapshot, "snapshot", err) < 0 ||
        disk_snapshot_remove(c->a, g->snapshot, err) < 0)
        return -1;
    sl_buf_adds(c->out, "{\"removed\":true}");
    return 0;
}

static int op_sanitize(struct op_call *c, const struct args *g, struct sl_err *err)
{
    struct sanitize s = {.lease = g->lease, .account = g->account};
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    if (agent_name(g->lease, "lease", err) < 0 || agent_name(g->account, "account", err) < 0 ||
        jr_open(g->cards, strlen(g->cards), &doc, err) < 0)
        return -1;
    const struct jr_val *list = jr_root(doc);
    for (size_t i = 0; i < jr_len(list) && i < AGENT_CARDS_MAX; i++) {
        int64_t card = jr_i64(jr_at(list, i), -1);
        if (card < 0 || card >= AGENT_CARDS_MAX)
            return sl_fail_at(err, SL_INVALID, "cards", "cards[%zu] must be a card's number", i);
        s.cards[s.cards_n++] = (int)card;
    }
    return sanitize_run(c->a, &s, c->out, err);
}

static const struct op {
    const char *name;
    const struct jr_field *fields; /* NULL: `whole` reads the request itself */
    int (*run)(struct op_call *c, const struct args *g, struct sl_err *err);
    int (*whole)(struct op_call *c, struct sl_err *err);
} ops[] = {
    {AGENT_OP_PROBE, no_fields, op_probe},
    {AGENT_OP_HEALTH, no_fields, op_health},
    {AGENT_OP_IMAGE_IMPORT, import_fields, op_image_import},
    {AGENT_OP_IMAGE_SAVE, save_fields, op_image_save},
    {AGENT_OP_IMAGE_LIST, no_fields, op_image_list},
    {AGENT_OP_IMAGE_REMOVE, name_fields, op_image_remove},
    {AGENT_OP_LEASE_START, .whole = op_lease_start},
    {AGENT_OP_LEASE_STOP, .whole = op_lease_stop},
    {AGENT_OP_LEASE_LIST, .whole = op_lease_list},
    {AGENT_OP_LEASE_LOGS, .whole = op_lease_logs},
    {AGENT_OP_VOLUME_REMOVE, volume_fields, op_volume_remove},
    {AGENT_OP_VOLUME_GROW, grow_fields, op_volume_grow},
    {AGENT_OP_VOLUME_SNAPSHOT, snapshot_fields, op_volume_snapshot},
    {AGENT_OP_VOLUME_RESTORE, restore_fields, op_volume_restore},
    {AGENT_OP_SNAPSHOT_REMOVE, snapshot_remove_fields, op_snapshot_remove},
    {AGENT_OP_SANITIZE, sanitize_fields, op_sanitize},
};

int op_run(struct op_call *c, struct sl_err *err)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    if (jr_open(c->json, c->n, &doc, err) < 0)
        return -1;
    const char *name = jr_text(jr_get(jr_root(doc), "op"), "");
    const char *node = jr_text(jr_get(jr_root(doc), "node"), c->a->node);
    if (!sl_streq(node, c->a->node))
        return sl_fail_at(err, SL_INVALID, "node", "node: this is %.64s, not %.64s", c->a->node,
                          node);
    for (size_t i = 0; i < SL_COUNT(ops); i++) {
        if (!sl_streq(ops[i].name, name))
            continue;
        struct args g = {0};
        if (ops[i].whole)
            return ops[i].whole(c, err);
        if (jr_parse(c->json, c->n, ops[i].fields, &g, &arena, err) < 0)
            return -1;
        return ops[i].run(c, &g, err);
    }
    return sl_fail_at(err, SL_INVALID, "op", "op: %.64s is not an operation of this agent", name);
}
