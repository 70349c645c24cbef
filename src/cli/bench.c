/* SPDX-License-Identifier: Apache-2.0
 *
 * bench.c: benchmark records: run, verify, compare, list. verify and compare need no server.
 */
#include "cli/bench.h"
#include "base/io/proc.h"
#include "wire/bench.h"
#include <stdlib.h>

#define TEXT(name, arg, help, choices)                                                             \
    {                                                                                              \
#name, 0, CMD_TEXT, arg, help, choices, offsetof(struct bench_run_args, name)              \
    }
static const char *const betters[] = {"lower", "higher", NULL};
static const char *const precisions[] = {"fp32", "amp", NULL};
static const char *const modes[] = {"train", "infer", NULL};
const struct cmd_opt bench_run_opts[] = {
    {"in", 0, CMD_TEXT, "LEASE", "run it in this instance, and have the record signed", NULL,
     offsetof(struct bench_run_args, in)},
    {"out", 0, CMD_TEXT, "FILE", "the record; default bench-SUITE.json, - is standard output", NULL,
     offsetof(struct bench_run_args, out)},
    {"identity", 'i', CMD_TEXT, "FILE", "SSH private key for --in", NULL,
     offsetof(struct bench_run_args, identity)},
    TEXT(repeats, "N", "how often it is run; default 3", NULL),
    TEXT(warmup, "N", "steps, or runs of a kernel, that do not count; default 2", NULL),
    TEXT(steps, "N", "samples a repeat; default 20", NULL),
    TEXT(batch, "N", "resnet50: images a step; default 128", NULL),
    TEXT(image, "N", "resnet50: pixels a side; default 224", NULL),
    TEXT(precision, "fp32|amp", "default fp32", precisions),
    TEXT(mode, "train|infer", "resnet50: default train", modes),
    TEXT(size, "N", "gemm: rows; memcpy, allreduce: MB; default 4096", NULL),
    TEXT(checkpoint, "FILE", "resnet50: go on from it, and keep it up to date", NULL),
    TEXT(seed, "N", "outside of an instance, where the nonce gives it; default 1", NULL),
    TEXT(figure, "TEXT", "kernel: the figure follows this text; default: the last number", NULL),
    TEXT(unit, "UNIT", "kernel: of its figure; default ms", NULL),
    TEXT(better, "lower|higher", "kernel: default lower", betters),
    TEXT(timeout, "SECONDS", "for one run; default 3600", NULL),
    {"no-sign", 0, CMD_FLAG, NULL, "do not hand the record in", NULL,
     offsetof(struct bench_run_args, no_sign)},
    {0}};
const struct cmd_opt bench_verify_opts[] = {
    {"key", 0, CMD_TEXT, "HEX", "the control plane's public key; default: the one pinned at login",
     NULL, offsetof(struct bench_verify_args, key)},
    {0}};
const struct cmd_opt bench_compare_opts[] = {
    {"limit", 0, CMD_TEXT, "PERCENT", "what counts as within; default 3", NULL,
     offsetof(struct bench_compare_args, limit)},
    {"peak", 0, CMD_LIST, "NUMBER", "stated peak of the first, then of the second machine", NULL,
     offsetof(struct bench_compare_args, peak)},
    {"loss-tolerance", 0, CMD_TEXT, "PERCENT", "for loss curves across platforms; default 1", NULL,
     offsetof(struct bench_compare_args, loss_tolerance)},
    {"require-within", 0, CMD_FLAG, NULL, "exit status 11 unless the verdict is 'within'", NULL,
     offsetof(struct bench_compare_args, require_within)},
    {0}};

/* ---- run ---- */
static int sign(struct cli *c, const char *lease, struct sl_buf *file, struct sl_err *err)
{
    struct answer a = {0};
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    SL_AUTO_BUF struct sl_buf body = SL_BUF(BENCH_FILE_MAX);
    if (jr_open(sl_buf_str(file), file->n, &doc, err) < 0)
        return -1;
    sl_buf_adds(&body, "{\"record\":");
    jr_write(jr_get(jr_root(doc), "record"), &body);
    sl_buf_adds(&body, "}");
    int rc = cli_call(c, "POST",
                      sl_arena_printf(&c->arena, "/v1/leases/%s/records", cli_quote(c, lease)),
                      sl_buf_str(&body), &a, err);
    if (rc == 0) {
        sl_buf_clear(file);
        jr_write(jr_get(a.root, "file"), file);
    }
    answer_free(&a);
    return rc;
}

static void print_record(const struct bench_record *r, const char *where)
{
    printf("%s: median %s %s (95 %% interval %s to %s), %d samples in %d repeats\n", r->suite,
           r->median_text, r->unit, r->low_text, r->high_text, r->n, r->repeats);
    if (r->reproducible)
        printf("result: SHA-256 %s, the same in every repeat\n", r->checksum);
    else
        printf("result: %s\n", r->repeats > 1 ? "differs from repeat to repeat"
                                              : "one repeat alone shows no reproducibility");
    if (r->emulated)
        printf("emulated: the GPUs of this instance are not real\n");
    if (where)
        printf("record: %s%s\n", where,
               r->is_signed ? ", signed by the control plane" : ", not signed");
}

static int run(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const struct bench_run_args *o = opts;
    SL_AUTO_BUF struct sl_buf file = SL_BUF(BENCH_FILE_MAX);
    const char *lease = NULL;
    struct bench_record r = {0};
    if (bench_run_suite(c, o, argv[0], argv + 1, argc - 1, &file, &lease, err) < 0)
        return -1;
    if (lease && !o->no_sign) {
        int rc = sign(c, lease, &file, err);
        if (rc)
            return rc;
    }
    const char *path = o->out ? o->out : sl_arena_printf(&c->arena, "bench-%s.json", argv[0]);
    sl_buf_addc(&file, '\n');
    if (sl_streq(path, "-"))
        fwrite(file.p, 1, file.n, stdout);
    else if (file_write(path, file.p, file.n, 0644, err) < 0)
        return -1;
    int rc = bench_read(sl_buf_str(&file), file.n, &c->arena, &r, err);
    if (rc == 0 && !sl_streq(path, "-")) {
        if (c->json)
            fwrite(file.p, 1, file.n, stdout);
        else
            print_record(&r, path);
    }
    bench_close(&r);
    return rc;
}

/* ---- verify ---- */
static int load(struct cli *c, const char *path, struct bench_record *r, struct sl_err *err)
{
    struct sl_buf text = SL_BUF(BENCH_FILE_MAX);
    int rc = file_read(path, BENCH_FILE_MAX, &text, err);
    if (rc == 0)
        rc = bench_read(sl_buf_str(&text), text.n, &c->arena, r, err);
    sl_buf_free(&text);
    return rc;
}

static int verify(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const struct bench_verify_args *o = opts;
    struct bench_record r = {0};
    const char *key = o->key ? o->key : c->server_key[0] ? c->server_key : NULL;
    int rc = load(c, argv[0], &r, err);
    if (rc == 0)
        rc = bench_verify(&r, key, err);
    if (rc == 0 && c->json) {
        SL_AUTO_BUF struct sl_buf b = SL_BUF(8192);
        struct jw w = {&b};
        jw_object(&w, NULL);
        jw_bool(&w, "ok", true);
        jw_str(&w, "sha256", r.sha256);
        jw_bool(&w, "signed", r.is_signed);
        jw_str(&w, "lease", r.lease);
        jw_bool(&w, "emulated", r.emulated);
        bench_result_write(&w, &r);
        jw_end(&w);
        puts(sl_buf_str(&b));
    } else if (rc == 0) {
        printf("agrees: median, interval and checksum follow from the samples\n");
        print_record(&r, NULL);
        if (r.is_signed)
            printf("signed for lease %s by %s%s\n", cli_safe(c, r.lease), cli_safe(c, r.key),
                   key ? "" : " (the key in the file: give --key to be sure whose it is)");
        else
            printf("not signed: the samples are the word of whoever wrote the file\n");
    }
    bench_close(&r);
    return rc;
}

/* ---- compare ---- */
static int percent(const char *text, const char *name, double otherwise, double *ret,
                   struct sl_err *err)
{
    char *end;
    *ret = otherwise;
    if (!text)
        return 0;
    *ret = strtod(text, &end);
    if (end == text || *end || !(*ret > 0 && *ret < 1e12))
        return sl_fail_at(err, SL_INVALID, name, "%s: \"%.40s\" is not a positive number", name,
                          text);
    return 0;
}

static const char *const verdicts[] = {
    [BENCH_WITHIN] = "within", [BENCH_WORSE] = "worse", [BENCH_UNDECIDED] = "undecided"};

static void print_verdict(struct cli *c, const struct bench_verdict_t *v, double limit)
{
    const char *what = v->is_migration_loss ? "migration loss" : "difference";
    if (c->json) {
        SL_AUTO_BUF struct sl_buf b = SL_BUF(4096);
        struct jw w = {&b};
        jw_object(&w, NULL);
        jw_str(&w, "verdict", verdicts[v->verdict]);
        jw_str(&w, "loss_percent", sl_arena_printf(&c->arena, "%.2f", v->loss * 100));
        jw_str(&w, "low_percent", sl_arena_printf(&c->arena, "%.2f", v->low * 100));
        jw_str(&w, "high_percent", sl_arena_printf(&c->arena, "%.2f", v->high * 100));
        jw_bool(&w, "migration_loss", v->is_migration_loss);
        jw_bool(&w, "hardware_same", v->hardware_same);
        jw_bool(&w, "software_same", v->software_same);
        jw_bool(&w, "program_same", v->program_same);
        jw_bool(&w, "results_agree", v->results_agree);
        jw_str(&w, "results_how", v->results_how);
        jw_end(&w);
        puts(sl_buf_str(&b));
        return;
    }
    printf("%s: %.2f %% (95 %% interval %.2f to %.2f %%)\n", what, v->loss * 100, v->low * 100,
           v->high * 100);
    printf("hardware %s, software %s, program %s\n", v->hardware_same ? "the same" : "differs",
           v->software_same ? "the same" : "differs", v->program_same ? "the same" : "differs");
    if (!v->is_migration_loss)
        printf("not called a migration loss: the hardware differs and no peak was stated\n");
    printf("results: %s: %s\n", v->results_how,
           v->results_agree ? "they agree" : "no agreement shown");
    if (v->verdict == BENCH_UNDECIDED)
        printf("verdict: undecided at %.3g %%: more runs are needed\n", limit * 100);
    else
        printf("verdict: %s %.3g %%\n", v->verdict == BENCH_WITHIN ? "within" : "worse than",
               limit * 100);
}

static int compare_files(struct cli *c, const struct bench_compare_args *o, char **argv,
                         struct bench_record *r, struct sl_err *err)
{
    double limit, tolerance, peaks[2] = {0, 0};
    struct bench_verdict_t v;
    if (percent(o->limit, "limit", BENCH_LIMIT * 100, &limit, err) < 0 ||
        percent(o->loss_tolerance, "loss-tolerance", 1, &tolerance, err) < 0)
        return -1;
    if (o->peak.n != 0 && o->peak.n != 2)
        return sl_fail_at(err, SL_INVALID, "peak",
                          "peak: give it twice, for the first and for the second record");
    for (int i = 0; i < o->peak.n; i++)
        if (percent(o->peak.v[i], "peak", 0, &peaks[i], err) < 0)
            return -1;
    for (int i = 0; i < 2; i++)
        if (load(c, argv[i], &r[i], err) < 0 || bench_verify(&r[i], NULL, err) < 0)
            return -1;
    struct bench_options opts = {.limit = limit / 100,
                                 .peak_a = peaks[0],
                                 .peak_b = peaks[1],
                                 .loss_tolerance = tolerance / 100};
    if (bench_compare(&r[0], &r[1], &opts, &v, err) < 0)
        return -1;
    print_verdict(c, &v, opts.limit);
    if (o->require_within && v.verdict != BENCH_WITHIN)
        return sl_fail(err, SL_INTEGRITY, "the verdict is '%s', not 'within'", verdicts[v.verdict]);
    return 0;
}

static int compare_(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    struct bench_record r[2] = {0};
    int rc = compare_files(c, opts, argv, r, err);
    bench_close(&r[0]);
    bench_close(&r[1]);
    return rc;
}

/* ---- list ---- */
static const struct column columns[] = {
    {"RECORD", "id", COL_TEXT},        {"SUITE", "suite", COL_TEXT},
    {"MEDIAN", "median", COL_RIGHT},   {"UNIT", "unit", COL_TEXT},
    {"SAMPLES", "samples", COL_RIGHT}, {"CHECKSUM", "checksum", COL_TEXT},
    {"TIME", "created", COL_TIME},     {0}};

static int list(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const char *id;
    if (cli_lease_id(c, argv[0], &id, err) < 0)
        return -1;
    return cli_list_verb(c, sl_arena_printf(&c->arena, "/v1/leases/%s/records", cli_quote(c, id)),
                         columns, err);
}

/* FILE gets the signed record again. */
static int get(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    struct answer a = {0};
    SL_AUTO_BUF struct sl_buf b = SL_BUF(BENCH_FILE_MAX);
    int rc =
        cli_get(c, sl_arena_printf(&c->arena, "/v1/records/%s", cli_quote(c, argv[0])), &a, err);
    if (rc == 0) {
        jr_write(jr_get(a.root, "file"), &b);
        sl_buf_addc(&b, '\n');
        rc = file_write(argv[1], b.p, b.n, 0644, err);
    }
    answer_free(&a);
    return rc;
}

#define VERB(name, fn)                                                                             \
    int name##_main(const void *globals, const void *opts, int argc, char **argv)                  \
    {                                                                                              \
        return cli_run(fn, globals, opts, argc, argv);                                             \
    }
VERB(bench_run, run)
VERB(bench_verify, verify)
VERB(bench_compare, compare_)
VERB(bench_list, list)
VERB(bench_get, get)
