/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verbs.h"
#include "base/io/proc.h"
#include <time.h>

static const struct column image_columns[] = {{"NAME", "name"},
                                              {"STATE", "state"},
                                              {"SIZE", "size_bytes", COL_BYTES},
                                              {"FILES", "files", COL_RIGHT},
                                              {"ROCM", "rocm"},
                                              {"FRAMEWORKS", "frameworks"},
                                              {"ID", "id"},
                                              {"DIGEST", "digest"},
                                              {"REASON", "reason"},
                                              {0}};
const struct cmd_opt image_import_opts[] = {
    {"digest", 0, CMD_TEXT, "sha256:HEX", "refuse a file with another digest", NULL,
     offsetof(struct image_args, digest)},
    {"node", 0, CMD_TEXT, "NODE", "where the file lies; default: every node", NULL,
     offsetof(struct image_args, node)},
    {"registry-user", 0, CMD_TEXT, "NAME", "user name at the registry", NULL,
     offsetof(struct image_args, user)},
    {"registry-password-file", 0, CMD_TEXT, "FILE",
     "its password, first line; \"-\" is stdin; default STARLEASE_REGISTRY_PASSWORD", NULL,
     offsetof(struct image_args, password_file)},
    {"no-wait", 0, CMD_FLAG, NULL, "return when the import has begun", NULL,
     offsetof(struct image_args, no_wait)},
    {0}};
const struct cmd_opt image_save_opts[] = {{"no-wait", 0, CMD_FLAG, NULL, "return when it has begun",
                                           NULL, offsetof(struct image_args, no_wait)},
                                          {0}};

/* What a table has no room for: how to import, and what does not run here. */
static void print_notes(struct cli *c, const struct jr_val *items)
{
    for (size_t i = 0; i < jr_len(items); i++) {
        const struct jr_val *v = jr_at(items, i), *warnings = jr_get(v, "warnings");
        const char *name = cli_text(c, jr_get(v, "name"), COL_TEXT);
        const char *import = jr_text(jr_get(v, "import_with"), NULL);
        if (import)
            printf("%s is not imported; the operator does it with: %s\n", name,
                   cli_safe(c, import));
        for (size_t k = 0; k < jr_len(warnings); k++)
            printf("%s: warning: %s\n", name, cli_text(c, jr_at(warnings, k), COL_TEXT));
    }
}

static int image_list(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    struct answer a = {0};
    int rc = cli_list(c, "/v1/images", &a, err);
    if (rc == 0) {
        cli_table(c, a.root, image_columns);
        if (!c->json)
            print_notes(c, jr_get(a.root, "items"));
    }
    answer_free(&a);
    return rc;
}
CLI_VERB(image_list)

/* How far the image is, for a person who waits. */
static void say_progress(struct cli *c, const char *name)
{
    struct answer a = {0};
    struct sl_err ignored = {0};
    if (cli_get(c, sl_arena_printf(&c->arena, "/v1/images/%s", cli_quote(c, name)), &a, &ignored) ==
        0) {
        const struct jr_val *p = jr_get(a.root, "progress");
        if (jr_get(p, "step"))
            cli_say(c, "  %s: %s of %s, %s files", cli_text(c, jr_get(p, "step"), COL_TEXT),
                    cli_text(c, jr_get(p, "bytes"), COL_BYTES),
                    cli_text(c, jr_get(p, "total"), COL_BYTES),
                    cli_text(c, jr_get(p, "files"), COL_TEXT));
        else if (sl_streq(jr_text(jr_get(a.root, "state"), ""), "available"))
            cli_say(c, "  %s in %s files", cli_text(c, jr_get(a.root, "size_bytes"), COL_BYTES),
                    cli_text(c, jr_get(a.root, "files"), COL_TEXT));
    }
    answer_free(&a);
}

/* Follows an operation to its end. */
static int operation_wait(struct cli *c, const char *id, const char *name, struct answer *a,
                          struct sl_err *err)
{
    const char *path = sl_arena_printf(&c->arena, "/v1/operations/%s", cli_quote(c, id));
    for (;;) {
        if (cli_get_change(c, path, c->talk ? 2 : 20, a, err) < 0)
            return -1;
        const char *state = jr_text(jr_get(a->root, "state"), "");
        if (c->talk)
            say_progress(c, name);
        if (sl_streq(state, "done"))
            return 0;
        if (sl_streq(state, "failed"))
            return sl_fail(err, SL_INVALID, "%s", jr_text(jr_get(a->root, "error"), "it failed"));
        nanosleep(&(struct timespec){0, 200000000}, NULL);
    }
}

static int registry_password(struct cli *c, const struct image_args *o, const char **ret,
                             struct sl_err *err)
{
    const char *env = getenv("STARLEASE_REGISTRY_PASSWORD");
    if (!o->password_file && env && *env) {
        *ret = env;
        return 0;
    }
    if (o->password_file)
        return cli_password(c, o->password_file, false, ret, err);
    if (c->g.explain) {
        *ret = "...";
        return 0;
    }
    return sl_fail_at(err, SL_INVALID, "registry-password-file",
                      "--registry-user needs a password: give --registry-password-file FILE (\"-\" "
                      "is stdin) or set STARLEASE_REGISTRY_PASSWORD");
}

static int begin_and_wait(struct cli *c, const char *path, const char *body, bool no_wait,
                          const char *name, const char *done, struct sl_err *err)
{
    struct answer a = {0};
    int rc = cli_call(c, "POST", path, body, &a, err);
    if (rc == 0 && !no_wait) {
        const char *op = sl_arena_strdup(&c->arena, jr_text(jr_get(a.root, "id"), ""));
        a.etag[0] = 0;
        rc = operation_wait(c, op, name, &a, err);
    }
    if (rc == 0 && c->json)
        cli_print_json(a.root);
    else if (rc == 0)
        printf("image %s: %s\n", name, no_wait ? "begun" : done);
    answer_free(&a);
    return rc;
}

static int image_import(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const struct image_args *o = opts;
    const char *from = argc > 1 ? argv[1] : NULL, *password = NULL;
    bool registry = from && sl_starts(from, "docker://");
    /* on this machine, it usually is the node */
    SL_AUTO_FREE char *path = from && !registry ? realpath(from, NULL) : NULL;
    if (o->user && registry_password(c, o, &password, err) < 0)
        return -1;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(16384);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "name", argv[0]);
    if (from)
        jw_str(&w, registry ? "reference" : "path", path ? path : from);
    if (o->digest)
        jw_str(&w, "digest", o->digest);
    if (o->node)
        jw_str(&w, "node", o->node);
    if (o->user) {
        jw_str(&w, "username", o->user);
        jw_str(&w, "password", password);
    }
    jw_end(&w);
    return begin_and_wait(c, "/v1/images", sl_buf_str(&b), o->no_wait, argv[0], "imported", err);
}
CLI_VERB(image_import)

static int image_save(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const struct image_args *o = opts;
    const char *id;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(1024);
    struct jw w = {&b};
    if (cli_lease_id(c, argv[0], &id, err) < 0)
        return -1;
    jw_object(&w, NULL);
    jw_str(&w, "name", argv[1]);
    jw_end(&w);
    int rc = begin_and_wait(c, sl_arena_printf(&c->arena, "/v1/leases/%s/images", cli_quote(c, id)),
                            sl_buf_str(&b), o->no_wait, argv[1], "saved", err);
    if (rc || o->no_wait || c->json)
        return rc;
    struct answer a = {0};
    if (cli_get(c, sl_arena_printf(&c->arena, "/v1/images/%s", cli_quote(c, argv[1])), &a, err) ==
        0)
        printf("%s in %s files; it costs 0.00 while it is kept\n",
               cli_text(c, jr_get(a.root, "size_bytes"), COL_BYTES),
               cli_text(c, jr_get(a.root, "files"), COL_TEXT));
    answer_free(&a);
    return 0;
}
CLI_VERB(image_save)

static int image_rm(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const char *id;
    if (cli_find_id(c, "/v1/images", "img", "name", "image", argv[0], &id, err) < 0)
        return -1;
    return cli_delete_verb(c, "/v1/images", id, "removed", err);
}
CLI_VERB(image_rm)
