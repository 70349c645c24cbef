/* SPDX-License-Identifier: Apache-2.0
 *
 * paper.c: vouchers, refunds of cash, what payment providers told.
 */
#include "cli/verbs_money.h"

const struct cmd_opt voucher_opts[] = {
    {"codes", 0, CMD_INT, "N", "how many codes; default 1", NULL,
     offsetof(struct voucher_args, codes)},
    {"uses", 0, CMD_INT, "N", "by how many accounts each can be used; default 1", NULL,
     offsetof(struct voucher_args, uses)},
    {"per-account", 0, CMD_INT, "N", "codes of this batch that one account may use; default 1",
     NULL, offsetof(struct voucher_args, per_account)},
    {"days", 0, CMD_INT, "N", "until it expires; default 365", NULL,
     offsetof(struct voucher_args, days)},
    {0}};
const struct cmd_opt refund_opts[] = {
    {"reason", 0, CMD_TEXT, "TEXT", "why", NULL, offsetof(struct refund_args, reason)}, {0}};
const struct cmd_opt note_opts[] = {{"note", 0, CMD_TEXT, "TEXT",
                                     "the bank's number, or why; is kept", NULL,
                                     offsetof(struct note_args, note)},
                                    {0}};
const struct cmd_opt resolve_opts[] = {{"account", 0, CMD_TEXT, "ACCOUNT",
                                        "whose it is, by id or e-mail; without: it was sent back",
                                        NULL, offsetof(struct note_args, account)},
                                       {"note", 0, CMD_TEXT, "TEXT", "how that is known; is kept",
                                        NULL, offsetof(struct note_args, note)},
                                       {0}};
static const struct column refund_fields[] = {{"ID", "id"},
                                              {"AMOUNT", "amount", COL_RIGHT},
                                              {"CURRENCY", "currency"},
                                              {"STATE", "state"},
                                              {"SINCE", "since", COL_TIME},
                                              {"ACCOUNT", "account"},
                                              {"REASON", "reason"},
                                              {"NOTE", "note"},
                                              {0}};
static const struct column payment_fields[] = {{"ID", "id"},
                                               {"PROVIDER", "provider"},
                                               {"REFERENCE", "reference"},
                                               {"ACCOUNT", "account"},
                                               {"AMOUNT", "amount", COL_RIGHT},
                                               {"CURRENCY", "currency"},
                                               {"STATE", "state"},
                                               {"DETAIL", "detail"},
                                               {0}};

static int show(struct cli *c, const char *method, const char *path, const char *body,
                const struct column *fields, struct sl_err *err)
{
    struct answer a = {0};
    int rc = cli_call(c, method, path, body, &a, err);
    if (rc == 0)
        cli_show(c, a.root, fields);
    answer_free(&a);
    return rc;
}

static void number(struct jw *w, const char *name, int64_t v)
{
    if (v)
        jw_int(w, name, v);
}

static int voucher_create(struct cli *c, const void *opts, int argc, char **argv,
                          struct sl_err *err)
{
    const struct voucher_args *o = opts;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(4096);
    struct jw w = {&b};
    struct answer a = {0};
    jw_object(&w, NULL);
    jw_str(&w, "name", argv[0]);
    jw_str(&w, "value", argv[1]);
    number(&w, "codes", o->codes);
    number(&w, "uses", o->uses);
    number(&w, "per_account", o->per_account);
    number(&w, "days", o->days);
    jw_end(&w);
    int rc = cli_call(c, "POST", "/v1/vouchers", sl_buf_str(&b), &a, err);
    const struct jr_val *codes = rc == 0 ? jr_get(a.root, "secrets") : NULL;
    if (rc == 0 && c->json)
        cli_print_json(a.root);
    for (size_t i = 0; !c->json && i < jr_len(codes); i++)
        puts(cli_text(c, jr_at(codes, i), COL_TEXT));
    if (rc == 0)
        cli_say(c, "These codes are shown once.");
    answer_free(&a);
    return rc;
}
CLI_VERB(voucher_create)

static int voucher_list(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    static const struct column columns[] = {{"ID", "id"},
                                            {"NAME", "name"},
                                            {"VALUE", "value", COL_RIGHT},
                                            {"CODES", "codes", COL_COUNT},
                                            {"USES", "uses", COL_COUNT},
                                            {"USED", "used", COL_COUNT},
                                            {"EXPIRES", "expires", COL_TIME},
                                            {"REVOKED", "revoked", COL_TIME},
                                            {0}};
    return cli_list_verb(c, "/v1/vouchers", columns, err);
}
CLI_VERB(voucher_list)

static int voucher_revoke(struct cli *c, const void *opts, int argc, char **argv,
                          struct sl_err *err)
{
    return cli_delete_verb(c, "/v1/vouchers", argv[0], "revoked", err);
}
CLI_VERB(voucher_revoke)

static int wallet_redeem(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    static const struct column fields[] = {
        {"Credit", "amount"}, {"Available", "wallet.available"}, {0}};
    SL_AUTO_BUF struct sl_buf b = SL_BUF(1024);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "code", argv[0]);
    jw_end(&w);
    return show(c, "POST", "/v1/wallet/redeem", sl_buf_str(&b), fields, err);
}
CLI_VERB(wallet_redeem)

static int wallet_refund(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const struct refund_args *o = opts;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(2048);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "amount", argv[0]);
    if (o->reason)
        jw_str(&w, "reason", o->reason);
    jw_end(&w);
    return show(c, "POST", "/v1/refunds", sl_buf_str(&b), refund_fields, err);
}
CLI_VERB(wallet_refund)

static int refund_list(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    return cli_list_verb(c, "/v1/refunds", refund_fields, err);
}
CLI_VERB(refund_list)

static int refund_cancel(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    return show(c, "DELETE", sl_arena_printf(&c->arena, "/v1/refunds/%s", cli_quote(c, argv[0])),
                NULL, refund_fields, err);
}
CLI_VERB(refund_cancel)

/* POST PATH/ID/VERB with the note and, where given, the account. */
static int note(struct cli *c, const struct note_args *o, const char *path, const char *id,
                const char *verb, const struct column *fields, struct sl_err *err)
{
    if (!o->note)
        return sl_fail_at(err, SL_INVALID, "note", "--note TEXT is missing: it is kept as proof");
    SL_AUTO_BUF struct sl_buf b = SL_BUF(2048);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "note", o->note);
    if (o->account)
        jw_str(&w, "account", o->account);
    jw_end(&w);
    return show(c, "POST", sl_arena_printf(&c->arena, "%s/%s/%s", path, cli_quote(c, id), verb),
                sl_buf_str(&b), fields, err);
}

static int refund_pay(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    return note(c, opts, "/v1/refunds", argv[0], "pay", refund_fields, err);
}
CLI_VERB(refund_pay)

static int refund_reject(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    return note(c, opts, "/v1/refunds", argv[0], "reject", refund_fields, err);
}
CLI_VERB(refund_reject)

static int payment_list(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const char *path =
        argc ? sl_arena_printf(&c->arena, "/v1/payments?state=%s", cli_quote(c, argv[0]))
             : "/v1/payments";
    return cli_list_verb(c, path, payment_fields, err);
}
CLI_VERB(payment_list)

static int payment_resolve(struct cli *c, const void *opts, int argc, char **argv,
                           struct sl_err *err)
{
    return note(c, opts, "/v1/payments", argv[0], "resolve", payment_fields, err);
}
CLI_VERB(payment_resolve)
