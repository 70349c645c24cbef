/* SPDX-License-Identifier: Apache-2.0
 *
 * things.c: volumes and SSH keys: lists with add and remove; and the two verbs they share.
 */
#include "cli/verbs.h"
#include "base/core/id.h"
#include "base/io/proc.h"

int cli_list_verb(struct cli *c, const char *path, const struct column *columns, struct sl_err *err)
{
    struct answer a = {0};
    int rc = cli_list(c, path, &a, err);
    if (rc == 0)
        cli_table(c, a.root, columns);
    answer_free(&a);
    return rc;
}

int cli_page_verb(struct cli *c, const char *path, const struct column *columns, struct sl_err *err)
{
    struct answer a = {0};
    int rc = cli_get(c, path, &a, err);
    if (rc == 0)
        cli_table(c, a.root, columns);
    answer_free(&a);
    return rc;
}

int cli_delete_verb(struct cli *c, const char *path, const char *id, const char *word,
                    struct sl_err *err)
{
    struct answer a = {0};
    int rc = cli_call(c, "DELETE", sl_arena_printf(&c->arena, "%s/%s", path, cli_quote(c, id)),
                      NULL, &a, err);
    if (rc == 0 && c->json && a.root)
        cli_print_json(a.root);
    else if (rc == 0 && !c->json)
        printf("%s %s\n", id, word);
    answer_free(&a);
    return rc;
}

/* ---- volumes ---- */
static const struct column volume_columns[] = {{"ID", "id"},
                                               {"NAME", "name"},
                                               {"STATE", "state"},
                                               {"SIZE", "size_bytes", COL_BYTES},
                                               {"INSTANCE", "lease"},
                                               {"NODE", "node"},
                                               {"KEPT UNTIL", "purge_after", COL_TIME},
                                               {0}};
const struct cmd_opt volume_rm_opts[] = {
    {"purge", 0, CMD_FLAG, NULL, "destroy the data now instead of keeping a tombstone", NULL,
     offsetof(struct volume_args, purge)},
    {"yes", 'y', CMD_FLAG, NULL, "do not ask", NULL, offsetof(struct volume_args, yes)},
    {0}};

static int volume_list(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    return cli_list_verb(c, "/v1/volumes", volume_columns, err);
}
CLI_VERB(volume_list)

static int volume_rm(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const struct volume_args *o = opts;
    const char *id;
    if (cli_find_id(c, "/v1/volumes", "vol", "name", "volume", argv[0], &id, err) < 0)
        return -1;
    SL_AUTO_FREE char *q =
        sl_asprintf(o->purge ? "Destroy the data of %s now? It cannot be undone."
                             : "Delete %s? It is kept for some days, then purged.",
                    id);
    if (cli_confirm(c, o->yes, q, err) < 0)
        return -1;
    const char *path = sl_arena_printf(&c->arena, "/v1/volumes/%s%s%s", cli_quote(c, id),
                                       o->purge ? "?purge=" : "", o->purge ? cli_quote(c, id) : "");
    struct answer a = {0};
    int rc = cli_call(c, "DELETE", path, NULL, &a, err);
    if (rc == 0 && c->json && a.root)
        cli_print_json(a.root);
    else if (rc == 0 && !c->json)
        printf("%s %s\n", id,
               o->purge ? "purged" : "deleted; `starlease volume list` shows until when");
    answer_free(&a);
    return rc;
}
CLI_VERB(volume_rm)

/* ---- SSH keys ---- */
static const struct column key_columns[] = {{"ID", "id"},
                                            {"NAME", "name"},
                                            {"TYPE", "type"},
                                            {"FINGERPRINT", "fingerprint"},
                                            {"CREATED", "created", COL_TIME},
                                            {0}};
const struct cmd_opt key_add_opts[] = {{"name", 0, CMD_TEXT, "NAME",
                                        "default: the key's comment, or the file's name", NULL,
                                        offsetof(struct key_args, name)},
                                       {0}};

static int key_list(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    return cli_list_verb(c, "/v1/keys", key_columns, err);
}
CLI_VERB(key_list)

/* A name of the allowed alphabet out of a comment such as "ann@laptop.example". */
static const char *key_name(struct cli *c, const char *line)
{
    const char *comment = strchr(line, ' ');
    comment = comment ? strchr(comment + 1, ' ') : NULL;
    char out[64];
    size_t n = 0;
    for (const char *p = comment ? comment + 1 : ""; *p && n < sizeof out - 1; p++) {
        char l = *p >= 'A' && *p <= 'Z' ? (char)(*p + 32) : *p;
        bool ok = (l >= 'a' && l <= 'z') || (l >= '0' && l <= '9');
        if (ok)
            out[n++] = l;
        else if (n && out[n - 1] != '-')
            out[n++] = '-';
    }
    while (n && out[n - 1] == '-')
        n--;
    return n ? sl_arena_strndup(&c->arena, out, n) : "key";
}

static int key_add(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const struct key_args *o = opts;
    SL_AUTO_BUF struct sl_buf f = SL_BUF(32 << 10);
    if (file_read(argv[0], 16 << 10, &f, err) < 0)
        return -1;
    if (strstr(sl_buf_str(&f), "PRIVATE KEY"))
        return sl_fail_at(err, SL_INVALID, "key",
                          "%s is a PRIVATE key: give the .pub file beside it", argv[0]);
    const char *line = sl_arena_strndup(&c->arena, sl_buf_str(&f), strcspn(sl_buf_str(&f), "\r\n"));
    SL_AUTO_BUF struct sl_buf b = SL_BUF(64 << 10);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "name", o->name ? o->name : key_name(c, line));
    jw_str(&w, "key", line);
    jw_end(&w);
    struct answer a = {0};
    int rc = cli_call(c, "POST", "/v1/keys", sl_buf_str(&b), &a, err);
    static const struct column fields[] = {
        {"Key", "id"}, {"Name", "name"}, {"Type", "type"}, {"Fingerprint", "fingerprint"}, {0}};
    if (rc == 0)
        cli_show(c, a.root, fields);
    answer_free(&a);
    return rc;
}
CLI_VERB(key_add)

static int key_rm(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const char *id;
    if (cli_find_id(c, "/v1/keys", "key", "name", "key", argv[0], &id, err) < 0)
        return -1;
    return cli_delete_verb(c, "/v1/keys", id, "removed", err);
}
CLI_VERB(key_rm)
