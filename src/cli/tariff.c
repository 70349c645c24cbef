/* SPDX-License-Identifier: Apache-2.0
 *
 * tariff.c: prices of what is no card.
 */
#include "cli/verbs.h"

static const struct column columns[] = {{"KIND", "kind"},
                                        {"PRICE", "price", COL_RIGHT},
                                        {"", "currency"},
                                        {"UNIT", "unit"},
                                        {"SINCE", "effective", COL_TIME},
                                        {"NOTE", "note"},
                                        {"SOURCE", "source"},
                                        {0}};
const struct cmd_opt tariff_opts[] = {
    {"currency", 0, CMD_TEXT, "CODE", "default CNY", NULL, offsetof(struct tariff_args, currency)},
    {"note", 0, CMD_TEXT, "TEXT", "shown with the price", NULL, offsetof(struct tariff_args, note)},
    {0}};

static int tariff_list(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    return cli_page_verb(c, "/v1/tariffs", columns, err);
}
CLI_VERB(tariff_list)

static int tariff_set(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const struct tariff_args *o = opts;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(2048);
    struct jw w = {&b};
    struct answer a = {0};
    jw_object(&w, NULL);
    jw_str(&w, "kind", argv[0]);
    jw_str(&w, "price", argv[1]);
    jw_str(&w, "currency", o->currency ? o->currency : "CNY");
    if (o->note)
        jw_str(&w, "note", o->note);
    jw_end(&w);
    int rc = cli_call(c, "POST", "/v1/tariffs", sl_buf_str(&b), &a, err);
    if (rc == 0)
        cli_show(c, a.root, columns);
    answer_free(&a);
    return rc;
}
CLI_VERB(tariff_set)
