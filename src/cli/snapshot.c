/* SPDX-License-Identifier: Apache-2.0
 *
 * snapshot.c: growing a disk, and its snapshots.
 */
#include "cli/verbs.h"
#include <time.h>

static const struct column columns[] = {{"ID", "id"},
                                        {"NAME", "name"},
                                        {"STATE", "state"},
                                        {"DISK", "volume"},
                                        {"SIZE", "size_bytes", COL_BYTES},
                                        {"METHOD", "method"},
                                        {"CREATED", "created", COL_TIME},
                                        {0}};
static const struct column volume_fields[] = {{"Disk", "id"},
                                              {"Name", "name"},
                                              {"State", "state"},
                                              {"Size", "size_bytes", COL_BYTES},
                                              {"Price per month", "price_per_month"},
                                              {"Cost so far", "cost_so_far"},
                                              {0}};
const struct cmd_opt snapshot_opts[] = {{"name", 0, CMD_TEXT, "NAME", "default: made from its id",
                                         NULL, offsetof(struct snapshot_args, name)},
                                        {0}};
const struct cmd_opt snapshot_yes_opts[] = {
    {"yes", 'y', CMD_FLAG, NULL, "do not ask", NULL, offsetof(struct snapshot_args, yes)}, {0}};

static int volume_id(struct cli *c, const char *text, const char **ret, struct sl_err *err)
{
    return cli_find_id(c, "/v1/volumes", "vol", "name", "volume", text, ret, err);
}

static int volume_grow(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const char *id;
    long long gb;
    struct answer a = {0};
    if (!sl_parse_i64(argv[1], &gb))
        return sl_fail_at(err, SL_INVALID, "size_gb", "\"%s\" is not a number of GB", argv[1]);
    if (volume_id(c, argv[0], &id, err) < 0)
        return -1;
    int rc =
        cli_call(c, "POST", sl_arena_printf(&c->arena, "/v1/volumes/%s/grow", cli_quote(c, id)),
                 sl_arena_printf(&c->arena, "{\"size_gb\":%lld}", gb), &a, err);
    if (rc == 0)
        cli_show(c, a.root, volume_fields);
    answer_free(&a);
    return rc;
}
CLI_VERB(volume_grow)

/* Waits for the operations on the disk to end. */
static int settle(struct cli *c, const char *volume, struct sl_err *err)
{
    for (bool busy = true; busy;) {
        struct answer a = {0};
        busy = false;
        int rc = cli_list(
            c, sl_arena_printf(&c->arena, "/v1/operations?ref=%s", cli_quote(c, volume)), &a, err);
        const struct jr_val *items = jr_get(a.root, "items");
        for (size_t i = 0; rc == 0 && i < jr_len(items); i++) {
            const char *state = jr_text(jr_get(jr_at(items, i), "state"), "");
            busy = busy || sl_streq(state, "pending") || sl_streq(state, "running");
        }
        answer_free(&a);
        if (rc)
            return rc;
        if (busy)
            nanosleep(&(struct timespec){0, 200000000}, NULL);
    }
    return 0;
}

static int snapshot_create(struct cli *c, const void *opts, int argc, char **argv,
                           struct sl_err *err)
{
    const struct snapshot_args *o = opts;
    const char *id;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(512);
    struct jw w = {&b};
    struct answer a = {0};
    if (volume_id(c, argv[0], &id, err) < 0)
        return -1;
    jw_object(&w, NULL);
    if (o->name)
        jw_str(&w, "name", o->name);
    jw_end(&w);
    int rc = cli_call(c, "POST",
                      sl_arena_printf(&c->arena, "/v1/volumes/%s/snapshots", cli_quote(c, id)),
                      sl_buf_str(&b), &a, err);
    const char *made = rc == 0 ? sl_arena_strdup(&c->arena, jr_text(jr_get(a.root, "id"), "")) : "";
    if (rc == 0 && c->json)
        cli_print_json(a.root);
    answer_free(&a);
    if (rc == 0)
        rc = settle(c, id, err);
    if (rc == 0 && !c->json)
        printf("%s\n", made);
    return rc;
}
CLI_VERB(snapshot_create)

static int snapshot_list(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    return cli_list_verb(c, "/v1/snapshots", columns, err);
}
CLI_VERB(snapshot_list)

static int snapshot_id(struct cli *c, const char *text, const char **ret, struct sl_err *err)
{
    return cli_find_id(c, "/v1/snapshots", "snp", "name", "snapshot", text, ret, err);
}

static int snapshot_restore(struct cli *c, const void *opts, int argc, char **argv,
                            struct sl_err *err)
{
    const struct snapshot_args *o = opts;
    const char *id;
    struct answer a = {0};
    if (snapshot_id(c, argv[0], &id, err) < 0)
        return -1;
    SL_AUTO_FREE char *q =
        sl_asprintf("Put %s back on its disk? What the disk holds now is lost.", id);
    if (cli_confirm(c, o->yes, q, err) < 0)
        return -1;
    int rc = cli_call(c, "POST",
                      sl_arena_printf(&c->arena, "/v1/snapshots/%s/restore", cli_quote(c, id)),
                      NULL, &a, err);
    const char *volume =
        rc == 0 ? sl_arena_strdup(&c->arena, jr_text(jr_get(a.root, "volume"), "")) : "";
    if (rc == 0 && c->json)
        cli_print_json(a.root);
    answer_free(&a);
    if (rc == 0)
        rc = settle(c, volume, err);
    if (rc == 0 && !c->json)
        printf("%s is what it was\n", volume);
    return rc;
}
CLI_VERB(snapshot_restore)

static int snapshot_rm(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const char *id;
    if (snapshot_id(c, argv[0], &id, err) < 0)
        return -1;
    return cli_delete_verb(c, "/v1/snapshots", id, "deleted", err);
}
CLI_VERB(snapshot_rm)
