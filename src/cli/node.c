/* SPDX-License-Identifier: Apache-2.0
 *
 * node.c: what operators do: nodes and the audit.
 */
#include "cli/verbs.h"

static const struct column node_columns[] = {{"NODE", "name"},
                                             {"STATE", "state"},
                                             {"HEALTH", "health"},
                                             {"MODEL", "model"},
                                             {"CARDS", "cards", COL_RIGHT},
                                             {"FREE", "free", COL_RIGHT},
                                             {"LEASED", "leased", COL_RIGHT},
                                             {"SANITIZING", "sanitizing", COL_RIGHT},
                                             {"ACCOUNT", "account"},
                                             {"EMULATED", "emulated"},
                                             {"REASON", "reason"},
                                             {0}};
static const struct column node_fields[] = {{"Node", "name"},
                                            {"State", "state"},
                                            {"Reason", "reason"},
                                            {"Health", "health"},
                                            {"Model", "model"},
                                            {"Emulated", "emulated"},
                                            {"Cards", "cards"},
                                            {"Free", "free"},
                                            {"Leased", "leased"},
                                            {"Sanitizing", "sanitizing"},
                                            {"Account", "account"},
                                            {"Address", "addr"},
                                            {"Kernel", "facts.kernel"},
                                            {"CPUs", "facts.cpus"},
                                            {"Memory", "facts.memory_bytes", COL_BYTES},
                                            {"Target", "facts.gfx"},
                                            {"Agent", "facts.agent_version"},
                                            {0}};

static int node_list(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    return cli_list_verb(c, "/v1/nodes", node_columns, err);
}
CLI_VERB(node_list)

static const char *node_path(struct cli *c, const char *name, const char *tail)
{
    return sl_arena_printf(&c->arena, "/v1/nodes/%s%s", cli_quote(c, name), tail);
}

static int node_show(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    static const struct column cards[] = {{"CARD", "index", COL_RIGHT},
                                          {"MODEL", "model"},
                                          {"TARGET", "gfx"},
                                          {"MEMORY", "memory_bytes", COL_BYTES},
                                          {"NUMA", "numa", COL_RIGHT},
                                          {"HIVE", "hive"},
                                          {"PARTITION", "partition"},
                                          {"DEVICES", "devices", COL_COUNT},
                                          {0}};
    struct answer a = {0};
    int rc = cli_get(c, node_path(c, argv[0], ""), &a, err);
    if (rc == 0) {
        cli_show(c, a.root, node_fields);
        const struct jr_val *list = cli_at(a.root, "facts.cards");
        if (!c->json && jr_len(list)) {
            putchar('\n');
            cli_table(c, list, cards);
        }
    }
    answer_free(&a);
    return rc;
}
CLI_VERB(node_show)

const struct cmd_opt enrol_opts[] = {{"name", 0, CMD_TEXT, "NAME",
                                      "default: the name that the agent tells", NULL,
                                      offsetof(struct enrol_args, name)},
                                     {0}};

static int node_enrol(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const struct enrol_args *o = opts;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(4096);
    struct jw w = {&b};
    jw_object(&w, NULL);
    if (o->name)
        jw_str(&w, "name", o->name);
    SL_AUTO_FREE char *addr =
        argv[0][0] == '/' ? sl_asprintf("unix:%s", argv[0]) : sl_strdup(argv[0]);
    jw_str(&w, "addr", addr);
    jw_end(&w);
    struct answer a = {0};
    int rc = cli_call(c, "POST", "/v1/nodes", sl_buf_str(&b), &a, err);
    if (rc == 0)
        cli_show(c, a.root, node_fields);
    answer_free(&a);
    return rc;
}
CLI_VERB(node_enrol)

static int node_act(struct cli *c, const char *name, const char *tail, struct sl_err *err)
{
    struct answer a = {0};
    int rc = cli_call(c, "POST", node_path(c, name, tail), NULL, &a, err);
    if (rc == 0)
        cli_show(c, a.root, node_fields);
    answer_free(&a);
    return rc;
}

static int node_drain(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    return node_act(c, argv[0], "/drain", err);
}
CLI_VERB(node_drain)

static int node_resume(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    return node_act(c, argv[0], "/resume", err);
}
CLI_VERB(node_resume)

static int node_retire(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    return node_act(c, argv[0], "/retire", err);
}
CLI_VERB(node_retire)

static int node_certificates(struct cli *c, const void *opts, int argc, char **argv,
                             struct sl_err *err)
{
    static const struct column columns[] = {{"CERTIFICATE", "id"},
                                            {"NODE", "node"},
                                            {"CARDS", "cards"},
                                            {"RESULT", "result"},
                                            {"EMULATED", "emulated"},
                                            {"AFTER INSTANCE", "lease"},
                                            {"MADE", "created", COL_TIME},
                                            {0}};
    const char *path =
        argc ? sl_arena_printf(&c->arena, "/v1/certificates?node=%s", cli_quote(c, argv[0]))
             : "/v1/certificates";
    return cli_list_verb(c, path, columns, err);
}
CLI_VERB(node_certificates)

static int audit_money(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    static const struct column columns[] = {
        {"CHECK", "id"}, {"WHAT", "name"}, {"OK", "ok"}, {"DETAIL", "detail"}, {0}};
    struct answer a = {0};
    int rc = cli_get(c, "/v1/audit/money", &a, err);
    if (rc == 0 && c->json)
        cli_print_json(a.root);
    else if (rc == 0)
        cli_table(c, jr_get(a.root, "checks"), columns);
    if (rc == 0 && !jr_true(jr_get(a.root, "ok"))) {
        const struct jr_val *checks = jr_get(a.root, "checks");
        const char *first = "a check";
        for (size_t i = jr_len(checks); i-- > 0;)
            if (!jr_true(jr_get(jr_at(checks, i), "ok")))
                first = cli_text(c, jr_get(jr_at(checks, i), "id"), COL_TEXT);
        rc =
            sl_fail(err, SL_INTEGRITY, "the books do not agree: %s is the first that fails", first);
    }
    answer_free(&a);
    return rc;
}
CLI_VERB(audit_money)
