/* SPDX-License-Identifier: Apache-2.0
 *
 * bill.c: statements. `bill verify` needs no server: it recomputes a file with wire/bill.h.
 */
#include "cli/verbs.h"
#include "base/io/proc.h"
#include "wire/bill.h"

const struct cmd_opt bill_opts[] = {
    {"from", 0, CMD_TEXT, "TIME", "2026-12-01 or RFC 3339; default: the account's beginning", NULL,
     offsetof(struct bill_args, from)},
    {"to", 0, CMD_TEXT, "TIME", "default: now", NULL, offsetof(struct bill_args, to)},
    {0}};
const struct cmd_opt bill_export_opts[] = {
    {"from", 0, CMD_TEXT, "TIME", "2026-12-01 or RFC 3339; default: the account's beginning", NULL,
     offsetof(struct bill_args, from)},
    {"to", 0, CMD_TEXT, "TIME", "default: now", NULL, offsetof(struct bill_args, to)},
    {"focus", 0, CMD_FLAG, NULL, "as CSV in the columns of FOCUS 1.0, checked first", NULL,
     offsetof(struct bill_args, focus)},
    {"provider", 0, CMD_TEXT, "NAME", "who sells, for --focus; default Starlease", NULL,
     offsetof(struct bill_args, provider)},
    {0}};
const struct cmd_opt bill_verify_opts[] = {
    {"key", 0, CMD_TEXT, "HEX", "the control plane's public key; default: the one pinned at login",
     NULL, offsetof(struct bill_verify_args, key)},
    {"earlier", 0, CMD_TEXT, "FILE",
     "an earlier statement of the account: nothing in it may have changed", NULL,
     offsetof(struct bill_verify_args, earlier)},
    {0}};

static int get_statement(struct cli *c, const struct bill_args *o, struct answer *a,
                         struct sl_err *err)
{
    const char *path = "/v1/statements";
    if (o->from)
        path = sl_arena_printf(&c->arena, "%s?from=%s", path, cli_quote(c, o->from));
    if (o->to)
        path =
            sl_arena_printf(&c->arena, "%s%cto=%s", path, o->from ? '&' : '?', cli_quote(c, o->to));
    return cli_get(c, path, a, err);
}

static const char *micro_text(struct cli *c, const struct jr_val *v)
{
    char text[SL_MONEY_TEXT];
    return sl_arena_strdup(&c->arena, money_format(jr_i64(v, 0), text));
}

static const char *time_text(struct cli *c, const struct jr_val *v)
{
    char text[TS_TEXT];
    int64_t t = jr_i64(v, 0);
    return t ? sl_arena_strdup(&c->arena, ts_format(t - t % SL_SEC, text)) : "-";
}

static void print_statement(struct cli *c, const struct jr_val *s)
{
    const struct jr_val *lines = jr_get(s, "lines");
    printf("Statement of %s, %s\n\n", cli_text(c, jr_get(s, "account"), COL_TEXT),
           cli_text(c, jr_get(s, "currency"), COL_TEXT));
    printf("%-20s  %-20s  %-14s %5s %9s %14s %16s\n", "FROM", "INSTANCE", "MODEL", "CARDS",
           "SECONDS", "RATE PER HOUR", "CHARGE");
    for (size_t i = 0; i < jr_len(lines); i++) {
        const struct jr_val *l = jr_at(lines, i);
        const char *name = jr_text(jr_get(l, "name"), "");
        printf("%-20s  %-20s  %-14s %5lld %9lld %14s %16s%s\n", time_text(c, jr_get(l, "start_us")),
               cli_text(c, jr_get(l, *name ? "name" : "lease"), COL_TEXT),
               cli_text(c, jr_get(l, "model"), COL_TEXT), (long long)jr_i64(jr_get(l, "gpus"), 0),
               (long long)jr_i64(jr_get(l, "seconds"), 0), micro_text(c, jr_get(l, "rate_micro")),
               micro_text(c, jr_get(l, "charge_micro")),
               jr_true(jr_get(l, "open")) ? "  (running)" : "");
    }
    printf("\nopening %s, charges %s, closing %s\n", micro_text(c, jr_get(s, "opening_micro")),
           micro_text(c, jr_get(s, "total_charge_micro")),
           micro_text(c, jr_get(s, "closing_micro")));
}

static int bill_show(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    struct answer a = {0};
    int rc = get_statement(c, opts, &a, err);
    if (rc == 0 && c->json)
        cli_print_json(a.root);
    else if (rc == 0)
        print_statement(c, jr_get(a.root, "statement"));
    answer_free(&a);
    return rc;
}
CLI_VERB(bill_show)

static int bill_export(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    struct answer a = {0};
    const struct bill_args *o = opts;
    SL_AUTO_BUF struct sl_buf csv = SL_BUF(BILL_MAX);
    int rc = get_statement(c, opts, &a, err);
    if (rc == 0 && o->focus) {
        crypto_init();
        rc = bill_focus(a.text.p, a.text.n, o->provider ? o->provider : "Starlease", &csv, err);
        struct sl_buf whole = a.text;
        a.text = csv, csv = whole; /* written and freed as the other is */
    }
    if (rc == 0 && sl_streq(argv[0], "-"))
        fwrite(a.text.p, 1, a.text.n, stdout);
    else if (rc == 0)
        rc = file_write(argv[0], a.text.p, a.text.n, 0644, err);
    if (rc == 0 && o->focus)
        cli_say(c, "%s: %zu bytes", argv[0], a.text.n);
    else if (rc == 0 && strcmp(argv[0], "-") != 0 && !c->json)
        printf("%s: %zu bytes; check it with `starlease bill verify %s`\n", argv[0], a.text.n,
               argv[0]);
    answer_free(&a);
    return rc;
}
CLI_VERB(bill_export)

static void print_result(struct cli *c, const struct bill_result *r, const char *pinned)
{
    char money[SL_MONEY_TEXT];
    if (c->json) {
        SL_AUTO_BUF struct sl_buf b = SL_BUF(8192);
        struct jw w = {&b};
        jw_object(&w, NULL);
        jw_bool(&w, "ok", true);
        jw_str(&w, "account", r->account);
        jw_str(&w, "currency", r->currency);
        jw_str(&w, "key", r->key_hex);
        jw_bool(&w, "key_pinned", pinned != NULL);
        jw_str(&w, "chain_head", r->chain_head);
        jw_int(&w, "lines", r->lines);
        jw_int(&w, "open_lines", r->open_lines);
        jw_int(&w, "transactions", r->txns);
        jw_int(&w, "prices", r->prices);
        jw_int(&w, "earlier_lines", r->earlier_lines);
        jw_int(&w, "earlier_transactions", r->earlier_txns);
        jw_money(&w, "total", r->total_micro);
        jw_money(&w, "opening", r->opening_micro);
        jw_money(&w, "closing", r->closing_micro);
        jw_end(&w);
        puts(sl_buf_str(&b));
        return;
    }
    printf("agrees to the micro-unit: %d lines, %d transactions, %d price versions recomputed\n",
           r->lines, r->txns, r->prices);
    printf("charges %s %s", money_format(r->total_micro, money), r->currency);
    printf(", closing balance %s\n", money_format(r->closing_micro, money));
    printf("signed by %s%s\n", r->key_hex,
           pinned ? "" : " (the key in the file: give --key to be sure whose it is)");
    if (r->earlier_lines || r->earlier_txns)
        printf("the earlier statement's %d lines and %d transactions are unchanged\n",
               r->earlier_lines, r->earlier_txns);
}

static int bill_verify_(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const struct bill_verify_args *o = opts;
    SL_AUTO_BUF struct sl_buf text = SL_BUF(BILL_MAX);
    SL_AUTO_BUF struct sl_buf earlier = SL_BUF(BILL_MAX);
    if (file_read(argv[0], BILL_MAX, &text, err) < 0 ||
        (o->earlier && file_read(o->earlier, BILL_MAX, &earlier, err) < 0))
        return -1;
    const char *key = o->key ? o->key : c->server_key[0] ? c->server_key : NULL;
    struct bill_options b = {.key_hex = key,
                             .earlier = o->earlier ? sl_buf_str(&earlier) : NULL,
                             .earlier_n = earlier.n};
    struct bill_result r = {0};
    crypto_init();
    if (bill_verify(sl_buf_str(&text), text.n, &b, &r, err) < 0)
        return -1;
    print_result(c, &r, key);
    return 0;
}

int bill_verify_main(const void *globals, const void *opts, int argc, char **argv)
{
    return cli_run(bill_verify_, globals, opts, argc, argv);
}

static int bill_csv_(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf text = SL_BUF(BILL_MAX), csv = SL_BUF(BILL_MAX);
    if (file_read(argv[0], BILL_MAX, &text, err) < 0 ||
        bill_csv(sl_buf_str(&text), text.n, &csv, err) < 0)
        return -1;
    fwrite(csv.p, 1, csv.n, stdout);
    return 0;
}

int bill_csv_main(const void *globals, const void *opts, int argc, char **argv)
{
    return cli_run(bill_csv_, globals, opts, argc, argv);
}
