/* SPDX-License-Identifier: Apache-2.0
 *
 * price.c: the price table and what a job costs on several models. Both read a price file when one
 * is named or no server is known, so that a price can be looked at before anything is installed.
 */
#include "cli/verbs.h"
#include "wire/compare.h"

static const char seed_file[] = "prices/seed.csv";

const struct cmd_opt price_opts[] = {
    {"file", 0, CMD_TEXT, "FILE",
     "a price file (CSV); default: the server, or without one the shipped file", NULL,
     offsetof(struct price_args, file)},
    {"model", 0, CMD_TEXT, "MODEL", "only this model", NULL, offsetof(struct price_args, model)},
    {0}};
const struct cmd_opt compare_opts[] = {
    {"file", 0, CMD_TEXT, "FILE",
     "a price file (CSV); default: the server, or without one the shipped file", NULL,
     offsetof(struct compare_args, file)},
    {"fx", 0, CMD_LIST, "USD/CNY=RATE@DATE",
     "1 USD = RATE CNY on that day; needed for a ratio between two currencies", NULL,
     offsetof(struct compare_args, fx)},
    {0}};

static int load_file(struct cli *c, const char *path, struct price_file *ret, struct sl_err *err)
{
    const char *text;
    size_t n;
    if (!path && cli_data_file(c, seed_file, &path, err) < 0)
        return -1;
    if (price_file_read(path, &c->arena, &text, &n, err) < 0)
        return -1;
    return price_file_parse(path, text, n, &c->arena, ret, err);
}

/* The rows as one list document, from the file or from the server. */
static int load_list(struct cli *c, const char *file, struct answer *a, struct sl_err *err)
{
    if (!file && c->url[0])
        return cli_list(c, "/v1/prices", a, err);
    struct price_file f;
    if (load_file(c, file, &f, err) < 0)
        return -1;
    a->text = SL_BUF(CLI_ANSWER_MAX);
    struct jw w = {&a->text};
    jw_object(&w, NULL);
    jw_array(&w, "items");
    for (int i = 0; i < f.n; i++)
        price_row_write(&w, NULL, &f.rows[i]);
    jw_end(&w);
    jw_null(&w, "next");
    jw_end(&w);
    if (jr_open(a->text.p, a->text.n, &a->doc, err) < 0)
        return -1;
    a->root = jr_root(a->doc);
    return 0;
}

/* Keeps the rows of one model. */
static int only_model(struct answer *a, const char *model, struct sl_err *err)
{
    struct sl_buf b = SL_BUF(CLI_ANSWER_MAX);
    const struct jr_val *items = jr_get(a->root, "items");
    int n = 0;
    sl_buf_adds(&b, "{\"items\":[");
    for (size_t i = 0; i < jr_len(items); i++) {
        if (!sl_streq(jr_text(jr_get(jr_at(items, i), "model"), ""), model))
            continue;
        sl_buf_adds(&b, n++ ? "," : "");
        jr_write(jr_at(items, i), &b);
    }
    sl_buf_adds(&b, "],\"next\":null}");
    answer_free(a);
    a->text = b;
    if (!n)
        return sl_fail_at(err, SL_NOT_FOUND, "model",
                          "no price for \"%s\": `price list` shows them all", model);
    if (jr_open(b.p, b.n, &a->doc, err) < 0)
        return -1;
    a->root = jr_root(a->doc);
    return 0;
}

static void print_flags(struct cli *c, const struct jr_val *root)
{
    const struct jr_val *items = jr_get(root, "items");
    for (size_t i = 0; i < jr_len(items); i++) {
        const char *flag = jr_text(jr_get(jr_at(items, i), "memory_flag"), "");
        if (*flag)
            printf("! %s: %s\n", cli_text(c, jr_get(jr_at(items, i), "model"), COL_TEXT),
                   cli_text(c, jr_get(jr_at(items, i), "memory_flag"), COL_TEXT));
    }
}

static int price_list(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    static const struct column of_server[] = {{"MODEL", "model"},
                                              {"MEMORY", "memory_type"},
                                              {"GB TOLD", "memory_gb_told", COL_RIGHT},
                                              {"GB", "memory_gb", COL_RIGHT},
                                              {"PER CARD-HOUR", "price", COL_RIGHT},
                                              {"", "currency"},
                                              {"PER GB", "price_per_gb", COL_RIGHT},
                                              {"FREE", "stock.free", COL_RIGHT},
                                              {"FRAMEWORKS", "frameworks"},
                                              {"NOTE", "note"},
                                              {0}};
    static const struct column of_file[] = {{"MODEL", "model"},
                                            {"MEMORY", "memory_type"},
                                            {"GB TOLD", "memory_gb_told", COL_RIGHT},
                                            {"GB", "memory_gb", COL_RIGHT},
                                            {"PER CARD-HOUR", "price", COL_RIGHT},
                                            {"", "currency"},
                                            {"PER GB", "price_per_gb", COL_RIGHT},
                                            {"OFFER", "offer"},
                                            {"FRAMEWORKS", "frameworks"},
                                            {"NOTE", "note"},
                                            {0}};
    const struct price_args *o = opts;
    struct answer a = {0};
    int rc = load_list(c, o->file, &a, err);
    if (rc == 0 && o->model)
        rc = only_model(&a, o->model, err);
    if (rc == 0) {
        cli_table(c, a.root, !o->file && c->url[0] ? of_server : of_file);
        if (!c->json)
            print_flags(c, a.root);
    }
    answer_free(&a);
    return rc;
}
CLI_VERB(price_list)

/* The server's answer as rows, for the same comparison that a file gets. */
static int rows_from_server(struct cli *c, struct price_file *ret, struct sl_err *err)
{
    struct answer a = {0};
    int rc = cli_list(c, "/v1/prices", &a, err);
    if (rc) {
        answer_free(&a);
        return rc;
    }
    const struct jr_val *items = jr_get(a.root, "items");
    size_t n = jr_len(items);
    ret->name = c->url;
    ret->rows = sl_arena_alloc(&c->arena, sizeof *ret->rows * (n + 1));
    for (size_t i = 0; i < n && rc == 0; i++) {
        const struct jr_val *v = jr_at(items, i);
        struct price_row *r = &ret->rows[i];
        r->model = sl_arena_strdup(&c->arena, jr_text(jr_get(v, "model"), ""));
        r->currency = sl_arena_strdup(&c->arena, jr_text(jr_get(v, "currency"), ""));
        r->unit = "gpu_hour";
        r->source = c->url;
        r->memory_type = r->cost_per_gb_told = r->frameworks = r->note = r->offer = "";
        rc = money_parse(jr_text(jr_get(v, "price"), ""), "price", &r->price_micro, err);
    }
    ret->n = (int)n;
    answer_free(&a);
    return rc;
}

static int compare(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const struct compare_args *o = opts;
    struct price_file f = {0};
    struct job jobs[COMPARE_JOBS_MAX];
    struct fx fx[COMPARE_FX_MAX];
    if (argc > COMPARE_JOBS_MAX || o->fx.n > COMPARE_FX_MAX)
        return sl_fail_at(err, SL_INVALID, "jobs",
                          "at most %d jobs and %d exchange rates at a time", COMPARE_JOBS_MAX,
                          COMPARE_FX_MAX);
    for (int i = 0; i < argc; i++)
        if (job_parse(argv[i], &c->arena, &jobs[i], err) < 0)
            return -1;
    for (int i = 0; i < o->fx.n; i++)
        if (fx_parse(o->fx.v[i], &fx[i], err) < 0)
            return -1;
    bool server = !o->file && c->url[0];
    int rc = server ? rows_from_server(c, &f, err) : load_file(c, o->file, &f, err);
    if (rc)
        return rc;
    struct compare_result r;
    if (compare_run(f.rows, f.n, jobs, argc, fx, o->fx.n, &r, err) < 0)
        return -1;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(1 << 20);
    struct jw w = {&b};
    if (c->json)
        compare_write_json(&r, &w, NULL);
    else
        compare_write_text(&r, &b);
    fputs(sl_buf_str(&b), stdout);
    if (b.n && b.p[b.n - 1] != '\n')
        putchar('\n');
    return r.refused ? sl_fail_at(err, SL_INVALID, "fx", "%s", r.refusal) : 0;
}
CLI_VERB(compare)
