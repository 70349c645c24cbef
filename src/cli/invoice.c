/* SPDX-License-Identifier: Apache-2.0
 *
 * invoice.c: invoices, and one as it is printed.
 */
#include "cli/verbs_money.h"

#define TEXT_OPT(name, member, doc)                                                                \
    {                                                                                              \
        name, 0, CMD_TEXT, "TEXT", doc, NULL, offsetof(struct invoice_args, member)                \
    }
const struct cmd_opt invoice_opts[] = {
    TEXT_OPT("tax-id", tax_id, "the buyer's taxpayer number, 18 characters; none for a person"),
    TEXT_OPT("address", address, "the buyer's address"),
    TEXT_OPT("phone", phone, "the buyer's phone"),
    TEXT_OPT("bank", bank, "the buyer's bank"),
    TEXT_OPT("bank-account", bank_account, "the buyer's account there"),
    {"from", 0, CMD_TEXT, "TIME", "2026-12-01 or RFC 3339; default: where the last invoice ends",
     NULL, offsetof(struct invoice_args, from)},
    {"to", 0, CMD_TEXT, "TIME", "default: now", NULL, offsetof(struct invoice_args, to)},
    {0}};
const struct cmd_opt invoice_reverse_opts[] = {{"reason", 0, CMD_TEXT, "TEXT",
                                                "why; stands on the red letter", NULL,
                                                offsetof(struct invoice_reason_args, reason)},
                                               {0}};

static const char *at(struct cli *c, const struct jr_val *v, const char *path)
{
    return cli_text(c, cli_at(v, path), COL_TEXT);
}

static void print_party(struct cli *c, const char *title, const struct jr_val *p)
{
    static const char *const more[] = {"address", "phone", "bank", "bank_account"};
    printf("%s  %s  %s\n", title, at(c, p, "name"), at(c, p, "tax_id"));
    for (size_t i = 0; i < SL_COUNT(more); i++)
        if (*jr_text(jr_get(p, more[i]), ""))
            printf("    %s: %s\n", more[i], at(c, p, more[i]));
}

static void print_invoice(struct cli *c, const struct jr_val *v)
{
    bool red = sl_streq(jr_text(jr_get(v, "kind"), ""), "red");
    const struct jr_val *lines = jr_get(v, "lines");
    printf("%s  No. %s  (%s)\n", red ? "红字发票 RED LETTER" : "发票 INVOICE", at(c, v, "number"),
           at(c, v, "state"));
    printf("%s  issued %s\n", at(c, v, "id"), cli_text(c, jr_get(v, "issued"), COL_TIME));
    printf("period %s .. %s\n", cli_text(c, jr_get(v, "from"), COL_TIME),
           cli_text(c, jr_get(v, "to"), COL_TIME));
    if (red)
        printf("reverses %s: %s\n", at(c, v, "original"), at(c, v, "reason"));
    print_party(c, "购买方 buyer ", jr_get(v, "buyer"));
    print_party(c, "销售方 seller", jr_get(v, "seller"));
    for (size_t i = 0; i < jr_len(lines); i++) {
        const struct jr_val *l = jr_at(lines, i);
        printf("\n%s  %s\n", at(c, l, "item"), at(c, l, "specification"));
        printf("    %s %s x %s = %s, tax %s %s\n", at(c, l, "quantity"), at(c, l, "unit"),
               at(c, l, "unit_price"), at(c, l, "amount"), at(c, v, "tax_rate"), at(c, l, "tax"));
    }
    printf("\n金额 amount %s  税额 tax %s\n", at(c, v, "amount"), at(c, v, "tax"));
    printf("价税合计 total %s %s  %s\n", at(c, v, "total"), at(c, v, "currency"),
           at(c, v, "total_in_words"));
}

static int call(struct cli *c, const char *method, const char *path, const char *body,
                struct sl_err *err)
{
    struct answer a = {0};
    int rc = cli_call(c, method, path, body, &a, err);
    if (rc == 0 && c->json)
        cli_print_json(a.root);
    else if (rc == 0)
        print_invoice(c, a.root);
    answer_free(&a);
    return rc;
}

static const char *path_of(struct cli *c, const char *id, const char *verb)
{
    return sl_arena_printf(&c->arena, "/v1/invoices/%s%s", cli_quote(c, id), verb);
}

static void member(struct jw *w, const char *name, const char *value)
{
    if (value)
        jw_str(w, name, value);
}

static int invoice_request(struct cli *c, const void *opts, int argc, char **argv,
                           struct sl_err *err)
{
    const struct invoice_args *o = opts;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(8192);
    struct jw w = {&b};
    (void)argc;
    jw_object(&w, NULL);
    jw_str(&w, "buyer_name", argv[0]);
    member(&w, "tax_id", o->tax_id);
    member(&w, "address", o->address);
    member(&w, "phone", o->phone);
    member(&w, "bank", o->bank);
    member(&w, "bank_account", o->bank_account);
    member(&w, "from", o->from);
    member(&w, "to", o->to);
    jw_end(&w);
    return call(c, "POST", "/v1/invoices", sl_buf_str(&b), err);
}
CLI_VERB(invoice_request)

static int invoice_list(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    static const struct column columns[] = {{"ID", "id"},
                                            {"NUMBER", "number"},
                                            {"KIND", "kind"},
                                            {"STATE", "state"},
                                            {"BUYER", "buyer.name"},
                                            {"TOTAL", "total", COL_RIGHT},
                                            {"CURRENCY", "currency"},
                                            {"TO", "to", COL_TIME},
                                            {0}};
    return cli_list_verb(c, "/v1/invoices", columns, err);
}
CLI_VERB(invoice_list)

static int invoice_show(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    return call(c, "GET", path_of(c, argv[0], ""), NULL, err);
}
CLI_VERB(invoice_show)

static int invoice_reverse(struct cli *c, const void *opts, int argc, char **argv,
                           struct sl_err *err)
{
    const struct invoice_reason_args *o = opts;
    if (!o->reason)
        return sl_fail_at(err, SL_INVALID, "reason", "--reason TEXT is missing: say why");
    SL_AUTO_BUF struct sl_buf b = SL_BUF(2048);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "reason", o->reason);
    jw_end(&w);
    return call(c, "POST", path_of(c, argv[0], "/reverse"), sl_buf_str(&b), err);
}
CLI_VERB(invoice_reverse)

static int invoice_issue(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    return call(c, "POST", path_of(c, argv[0], "/issue"), NULL, err);
}
CLI_VERB(invoice_issue)

static int invoice_confirm(struct cli *c, const void *opts, int argc, char **argv,
                           struct sl_err *err)
{
    return call(c, "POST", path_of(c, argv[0], "/confirm"), NULL, err);
}
CLI_VERB(invoice_confirm)
