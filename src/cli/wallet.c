/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verbs.h"
#include "base/core/id.h"

static int wallet_show(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    static const struct column fields[] = {{"Available", "available"},
                                           {"Cash", "cash"},
                                           {"Credit", "credit"},
                                           {"Held", "held"},
                                           {"Currency", "currency"},
                                           {"Lasts", "balance_lasts_s", COL_DURATION},
                                           {0}};
    struct answer a = {0};
    int rc = cli_get(c, "/v1/wallet", &a, err);
    if (rc == 0)
        cli_show(c, a.root, fields);
    answer_free(&a);
    return rc;
}
CLI_VERB(wallet_show)

/* One line an entry: a transaction with its legs, so that the sum can be checked by eye. */
static void print_txn(struct cli *c, const struct jr_val *t)
{
    printf("%s  %s  %s  %s", cli_text(c, jr_get(t, "seq"), COL_TEXT),
           cli_text(c, jr_get(t, "time"), COL_TIME), cli_text(c, jr_get(t, "kind"), COL_TEXT),
           cli_text(c, jr_get(t, "ref"), COL_TEXT));
    const char *memo = jr_text(jr_get(t, "memo"), "");
    printf("%s%s\n", *memo ? "  " : "", *memo ? cli_text(c, jr_get(t, "memo"), COL_TEXT) : "");
    const struct jr_val *e = jr_get(t, "entries");
    for (size_t i = 0; i < jr_len(e); i++)
        printf("    %-12s %16s\n", cli_text(c, jr_get(jr_at(e, i), "kind"), COL_TEXT),
               cli_text(c, jr_get(jr_at(e, i), "amount"), COL_TEXT));
}

static int wallet_ledger(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    struct answer a = {0};
    int rc = cli_list(c, "/v1/ledger", &a, err);
    if (rc == 0 && c->json) {
        cli_print_json(a.root);
    } else if (rc == 0) {
        const struct jr_val *items = jr_get(a.root, "items");
        for (size_t i = 0; i < jr_len(items); i++)
            print_txn(c, jr_at(items, i));
    }
    answer_free(&a);
    return rc;
}
CLI_VERB(wallet_ledger)

const struct cmd_opt topup_opts[] = {{"reason", 0, CMD_TEXT, "TEXT",
                                      "why; goes into the ledger for ever", NULL,
                                      offsetof(struct topup_args, reason)},
                                     {0}};

static int wallet_topup(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const struct topup_args *o = opts;
    const char *id;
    if (!o->reason)
        return sl_fail_at(err, SL_INVALID, "reason",
                          "--reason TEXT is missing: say why it is paid in");
    if (cli_find_id(c, "/v1/accounts", "acc", "email", "account", argv[0], &id, err) < 0)
        return -1;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(8192);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "amount", argv[1]);
    jw_str(&w, "reason", o->reason);
    jw_end(&w);
    struct answer a = {0};
    int rc =
        cli_call(c, "POST", sl_arena_printf(&c->arena, "/v1/accounts/%s/topups", cli_quote(c, id)),
                 sl_buf_str(&b), &a, err);
    if (rc == 0 && c->json)
        cli_print_json(a.root);
    else if (rc == 0)
        print_txn(c, a.root);
    answer_free(&a);
    return rc;
}
CLI_VERB(wallet_topup)
