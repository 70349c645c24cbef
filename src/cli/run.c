/* SPDX-License-Identifier: Apache-2.0
 *
 * run.c: quote and run. Nothing is rented before the person has seen what it costs.
 */
#include "cli/verbs.h"
#include <ctype.h>

enum { DISK_GB_DEFAULT = 10, WAIT_S_DEFAULT = 300 };

static const struct column quote_fields[] = {{"Quote", "id"},
                                             {"Model", "model"},
                                             {"Cards", "gpus"},
                                             {"Emulated", "emulated"},
                                             {"Image", "image"},
                                             {"Disk GB", "disk_gb"},
                                             {"Price per card and hour", "price"},
                                             {"Rate per hour", "rate_per_hour"},
                                             {"Rate per day", "rate_per_day"},
                                             {"Disk per hour", "disk_per_hour"},
                                             {"Currency", "currency"},
                                             {"Held at start", "hold"},
                                             {"Hold covers", "horizon_s", COL_DURATION},
                                             {"Balance lasts", "balance_lasts_s", COL_DURATION},
                                             {"Cards free now", "available_now"},
                                             {"Price version", "price_version"},
                                             {"Good until", "expires", COL_TIME},
                                             {0}};

#define GPU_OPT(T)                                                                                 \
    {                                                                                              \
        "gpu", 'g', CMD_TEXT, "MODEL:N", "cards to rent, as MI300X:2", NULL,                       \
            offsetof(struct T, gpu)                                                                \
    }
#define DISK_OPT(T)                                                                                \
    {                                                                                              \
        "disk", 0, CMD_INT, "GB", "system disk; default 10", NULL, offsetof(struct T, disk_gb)     \
    }
const struct cmd_opt quote_opts[] = {GPU_OPT(quote_args), DISK_OPT(quote_args), {0}};
const struct cmd_opt run_opts[] = {
    GPU_OPT(run_args),
    DISK_OPT(run_args),
    {"name", 0, CMD_TEXT, "NAME", "a name to use in place of the id", NULL,
     offsetof(struct run_args, name)},
    {"key", 0, CMD_LIST, "KEY", "SSH key by id or name, may repeat; default: all of the account",
     NULL, offsetof(struct run_args, keys)},
    AUTOSTOP_OPTS(run_args, timers),
    {"yes", 'y', CMD_FLAG, NULL, "accept the cost without being asked", NULL,
     offsetof(struct run_args, yes)},
    {"no-wait", 0, CMD_FLAG, NULL, "return when the lease is placed", NULL,
     offsetof(struct run_args, no_wait)},
    {"wait", 0, CMD_INT, "SECONDS", "give up waiting after this; default 300", NULL,
     offsetof(struct run_args, wait_s)},
    {0}};

/* "H100 SXM:8" -> model and count; a model alone is one card. */
static int parse_gpu(struct cli *c, const char *text, const char **ret_model, long long *ret_n,
                     struct sl_err *err)
{
    if (!text)
        return sl_fail_at(
            err, SL_INVALID, "gpu",
            "--gpu MODEL:N is missing (options stand before IMAGE): `starlease price list` "
            "shows the models");
    const char *colon = strrchr(text, ':');
    *ret_n = 1;
    if (colon && (!sl_parse_i64(colon + 1, ret_n) || *ret_n < 1 || *ret_n > 64))
        return sl_fail_at(err, SL_INVALID, "gpu",
                          "\"%s\": the part after the colon must be a number of cards from 1 to 64",
                          text);
    *ret_model = colon ? sl_arena_strndup(&c->arena, text, (size_t)(colon - text)) : text;
    return **ret_model ? 0 : sl_fail_at(err, SL_INVALID, "gpu", "\"%s\" names no model", text);
}

static int make_quote(struct cli *c, const char *gpu, const char *image, int64_t disk_gb,
                      struct answer *a, struct sl_err *err)
{
    const char *model = NULL;
    long long n = 0;
    if (parse_gpu(c, gpu, &model, &n, err) < 0)
        return -1;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(4096);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "model", model);
    jw_int(&w, "gpus", n);
    jw_str(&w, "image", image);
    jw_int(&w, "disk_gb", disk_gb ? disk_gb : DISK_GB_DEFAULT);
    jw_end(&w);
    return cli_call(c, "POST", "/v1/quotes", sl_buf_str(&b), a, err);
}

static void print_rules(struct cli *c, const struct jr_val *quote, FILE *out)
{
    const struct jr_val *rules = jr_get(quote, "rules");
    for (size_t i = 0; i < jr_len(rules); i++)
        fprintf(out, "  - %s\n", cli_text(c, jr_at(rules, i), COL_TEXT));
}

static int quote(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const struct quote_args *o = opts;
    struct answer a = {0};
    int rc = make_quote(c, o->gpu, argv[0], o->disk_gb, &a, err);
    if (rc == 0) {
        cli_show(c, a.root, quote_fields);
        if (!c->json)
            print_rules(c, a.root, stdout);
    }
    answer_free(&a);
    return rc;
}
CLI_VERB(quote)

static const char *text_of(struct cli *c, const struct jr_val *v, const char *name,
                           enum column_kind kind)
{
    return cli_text(c, jr_get(v, name), kind);
}

static void print_cost(struct cli *c, const struct jr_val *q)
{
    const char *cur = text_of(c, q, "currency", COL_TEXT);
    fprintf(stderr, "%s x %s%s, image %s, disk %s GB\n", text_of(c, q, "gpus", COL_TEXT),
            text_of(c, q, "model", COL_TEXT), jr_true(jr_get(q, "emulated")) ? " (emulated)" : "",
            text_of(c, q, "image", COL_TEXT), text_of(c, q, "disk_gb", COL_TEXT));
    fprintf(stderr, "  %s %s per hour, %s %s per day, billed by the second from SSH until stop\n",
            text_of(c, q, "rate_per_hour", COL_TEXT), cur, text_of(c, q, "rate_per_day", COL_TEXT),
            cur);
    fprintf(stderr, "  %s %s is held (covers %s); your balance lasts %s\n",
            text_of(c, q, "hold", COL_TEXT), cur, text_of(c, q, "horizon_s", COL_DURATION),
            text_of(c, q, "balance_lasts_s", COL_DURATION));
    print_rules(c, q, stderr);
}

static int lease_body(struct cli *c, const struct run_args *o, const char *quote_id, int argc,
                      char **argv, struct sl_buf *b, struct sl_err *err)
{
    struct jw w = {b};
    jw_object(&w, NULL);
    jw_str(&w, "quote", quote_id);
    if (o->name)
        jw_str(&w, "name", o->name);
    if (o->keys.n)
        jw_array(&w, "keys");
    for (int i = 0; i < o->keys.n; i++) {
        const char *id;
        if (cli_find_id(c, "/v1/keys", "key", "name", "key", o->keys.v[i], &id, err) < 0)
            return -1;
        jw_str(&w, NULL, id);
    }
    if (o->keys.n)
        jw_end(&w);
    if (autostop_given(&o->timers) && autostop_body(&w, "autostop", &o->timers, err) < 0)
        return -1;
    if (argc > 1)
        jw_array(&w, "command");
    for (int i = 1; i < argc; i++)
        jw_str(&w, NULL, argv[i]);
    if (argc > 1)
        jw_end(&w);
    jw_end(&w);
    return b->over ? sl_fail_at(err, SL_TOO_LARGE, "command", "the command is over 256 KiB") : 0;
}

static int create_and_wait(struct cli *c, const struct run_args *o, const char *body,
                           struct sl_err *err)
{
    struct answer a = {0};
    int rc = cli_call(c, "POST", "/v1/leases", body, &a, err);
    if (rc == 0) {
        const char *id = sl_arena_strdup(&c->arena, jr_text(jr_get(a.root, "id"), ""));
        cli_say(c, "%s", id);
        a.etag[0] = 0;
        if (!o->no_wait)
            rc = lease_wait(c, id, "running", o->wait_s ? o->wait_s : WAIT_S_DEFAULT, &a, err);
        if (rc == 0 && c->json) {
            cli_print_json(a.root);
        } else if (rc == 0) {
            printf("%s is %s\n", id, text_of(c, a.root, "state", COL_TEXT));
            if (!o->no_wait)
                printf("starlease ssh %s\n", o->name ? o->name : id);
        }
    }
    answer_free(&a);
    return rc;
}

static int run(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const struct run_args *o = opts;
    struct answer q = {0};
    int rc = make_quote(c, o->gpu, argv[0], o->disk_gb, &q, err);
    if (rc < 0) {
        answer_free(&q);
        return rc;
    }
    const char *quote_id = rc == CLI_EXPLAINED
                               ? "(id of the quote)"
                               : sl_arena_strdup(&c->arena, jr_text(jr_get(q.root, "id"), ""));
    if (rc == 0 && (!o->yes || c->talk))
        print_cost(c, q.root);
    answer_free(&q);
    SL_AUTO_BUF struct sl_buf body = SL_BUF(256 << 10);
    if (cli_confirm(c, o->yes, "Rent this?", err) < 0 ||
        lease_body(c, o, quote_id, argc, argv, &body, err) < 0)
        return -1;
    return create_and_wait(c, o, sl_buf_str(&body), err);
}
CLI_VERB(run)
