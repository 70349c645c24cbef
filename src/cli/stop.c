/* SPDX-License-Identifier: Apache-2.0
 *
 * stop.c: stop, start. Both show what they mean before they act: what a stop costs and risks, what
 * a start costs, and what can be had when the cards are gone.
 */
#include "cli/verbs.h"

#define YES_OPT(T, m)                                                                              \
    {                                                                                              \
        "yes", 'y', CMD_FLAG, NULL, "do not ask", NULL, offsetof(struct T, m)                      \
    }
const struct cmd_opt stop_opts[] = {YES_OPT(wait_args, yes), WAIT_OPTS, {0}};
const struct cmd_opt start_opts[] = {
    {"no-gpu", 0, CMD_FLAG, NULL, "without cards, at the price of an instance, to look after files",
     NULL, offsetof(struct start_args, no_gpu)},
    {"gpus", 0, CMD_INT, "N", "with another number of cards; today's price is pinned anew", NULL,
     offsetof(struct start_args, gpus)},
    {"model", 0, CMD_TEXT, "MODEL", "with another model, where its disk is; pinned anew", NULL,
     offsetof(struct start_args, model)},
    YES_OPT(start_args, wait.yes),
    WAIT_OPTS,
    {0}};

static const char *at(struct cli *c, const struct jr_val *v, const char *path)
{
    return cli_text(c, cli_at(v, path), COL_TEXT);
}

static void print_preview(struct cli *c, const struct jr_val *p)
{
    const char *cur = at(c, p, "currency");
    fprintf(stderr, "Stopping %s: %s x %s, %s %s per hour now\n", at(c, p, "lease"),
            at(c, p, "gpus"), at(c, p, "model"), at(c, p, "rate_per_hour_now"), cur);
    fprintf(stderr, "  stock now: %s of %s free, %s of them where its disk is%s\n",
            at(c, p, "stock.free"), at(c, p, "stock.total"), at(c, p, "free_at_disk"),
            jr_true(jr_get(p, "could_start_again")) ? ""
                                                    : "; it could not be started again right now");
    fprintf(stderr, "  while stopped: cards 0.00, disk %s per hour, %s per day, %s per month\n",
            at(c, p, "disk_per_hour"), at(c, p, "disk_per_day"), at(c, p, "disk_per_month"));
    const char *kept = cli_text(c, jr_get(p, "kept_until"), COL_TIME);
    fprintf(stderr, "  disk kept until: %s; a start costs %s per hour\n",
            sl_streq(kept, "-") ? "you release it" : kept, at(c, p, "restart_rate_per_hour"));
}

/* A stop is never held up by what only informs: a script must be able to end what it pays for. */
static int show_preview(struct cli *c, const char *id, bool yes, struct sl_err *err)
{
    struct answer a = {0};
    struct sl_err none = {0};
    if (c->json || cli_get(c, lease_path(c, id, "/stop-preview"), &a, &none) != 0) {
        answer_free(&a);
        return 0;
    }
    print_preview(c, a.root);
    answer_free(&a);
    return yes || !isatty(STDIN_FILENO) ? 0 : cli_confirm(c, false, "Stop it?", err);
}

static int stop(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const struct wait_args *o = opts;
    const char *id;
    if (cli_lease_id(c, argv[0], &id, err) < 0 || show_preview(c, id, o->yes, err) < 0)
        return -1;
    struct answer a = {0};
    int rc = cli_call(c, "POST", lease_path(c, id, "/stop"), NULL, &a, err);
    if (rc == 0) {
        a.etag[0] = 0;
        rc = lease_finish(c, opts, id, "stopped", &a, err);
        if (rc == 0)
            cli_say(c, "The cards are no longer billed; disk, id, port and host key are kept.");
    }
    answer_free(&a);
    return rc;
}
CLI_VERB(stop)

/* What the server offers when the cards are gone. */
static void print_offers(struct cli *c, const struct jr_val *problem)
{
    const struct jr_val *offers = jr_get(problem, "offers"), *o;
    if (c->json) {
        if (offers)
            cli_print_json(problem);
        return;
    }
    for (size_t i = 0; (o = jr_at(offers, i)); i++)
        fprintf(stderr, "%s  %s: %s %s per hour\n      %s\n", i ? "" : "What can be had now:\n",
                at(c, o, "detail"), at(c, o, "rate_per_hour"), at(c, o, "currency"),
                at(c, o, "command"));
}

/* The question with this start's own price; *ret_body is what to send. */
static int price_of(struct cli *c, const struct start_args *o, const char *id, const char **ret_q,
                    const char **ret_body, struct sl_err *err)
{
    struct answer a = {0};
    SL_AUTO_BUF struct sl_buf b = SL_BUF(1024);
    struct jw w = {&b};
    int rc;
    *ret_body = NULL;
    if (o->no_gpu) {
        rc = cli_get(c, "/v1/tariffs", &a, err);
        const char *price = "?", *cur = "";
        for (size_t i = 0; i < jr_len(jr_get(a.root, "items")); i++)
            if (sl_streq(jr_text(cli_at(jr_at(jr_get(a.root, "items"), i), "kind"), ""), "cpu")) {
                price = at(c, jr_at(jr_get(a.root, "items"), i), "price");
                cur = at(c, jr_at(jr_get(a.root, "items"), i), "currency");
            }
        *ret_q = sl_arena_printf(
            &c->arena, "Starting %s without cards costs %s %s per hour. Start it?", id, price, cur);
        *ret_body = "{\"no_gpu\":true}";
    } else if (o->gpus || o->model) {
        jw_object(&w, NULL);
        if (o->gpus)
            jw_int(&w, "gpus", o->gpus);
        if (o->model)
            jw_str(&w, "model", o->model);
        jw_end(&w);
        rc = cli_call(c, "POST", lease_path(c, id, "/quotes"), sl_buf_str(&b), &a, err);
        *ret_q = sl_arena_printf(&c->arena,
                                 "%s with %s x %s costs %s %s per hour, pinned anew. Start it?", id,
                                 at(c, a.root, "gpus"), at(c, a.root, "model"),
                                 at(c, a.root, "rate_per_hour"), at(c, a.root, "currency"));
        *ret_body = sl_arena_printf(&c->arena, "{\"quote\":\"%s\"}",
                                    jr_text(jr_get(a.root, "id"), "(id of the quote)"));
    } else {
        rc = cli_get(c, lease_path(c, id, ""), &a, err);
        *ret_q = sl_arena_printf(
            &c->arena,
            "Starting %s costs %s %s per hour, its pinned price, from the moment SSH answers. "
            "Start it?",
            id, at(c, a.root, "rate_per_hour"), at(c, a.root, "currency"));
    }
    answer_free(&a);
    return rc < 0 ? -1 : 0;
}

static int start(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const struct start_args *o = opts;
    const char *id, *question, *body;
    if (o->no_gpu && (o->gpus || o->model))
        return sl_fail_at(err, SL_INVALID, "no-gpu",
                          "--no-gpu and --gpus or --model exclude each other");
    if (cli_lease_id(c, argv[0], &id, err) < 0 || price_of(c, o, id, &question, &body, err) < 0 ||
        cli_confirm(c, o->wait.yes, question, err) < 0)
        return -1;
    struct answer a = {0};
    int rc = cli_call(c, "POST", lease_path(c, id, "/start"), body, &a, err);
    if (rc < 0 && err->code == SL_NO_CAPACITY)
        print_offers(c, a.root);
    if (rc == 0) {
        a.etag[0] = 0;
        rc = lease_finish(c, &o->wait, id, "running", &a, err);
    }
    answer_free(&a);
    return rc;
}
CLI_VERB(start)
