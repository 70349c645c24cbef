/* SPDX-License-Identifier: Apache-2.0
 *
 * A suite is a program that is run several times. In an instance it is run through `starlease
 * exec`, so there is one way in. What it prints becomes samples.
 */
#include "base/core/version.h"
#include "base/io/proc.h"
#include "cli/bench.h"
#include "wire/bench.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { WORDS_MAX = 200, OUTPUT_MAX = 8 << 20, LIST_MAX = 16 };

static const struct suite {
    const char *name, *unit, *better;
    const char *const *params; /* options it reads, in the order of the record; NULL-ended */
} suites[] = {
    {"resnet50", "ms", "lower",
     (const char *const[]){"batch", "image", "precision", "mode", "steps", "warmup", NULL}},
    {"gemm", "GFLOP/s", "higher",
     (const char *const[]){"size", "precision", "steps", "warmup", NULL}},
    {"memcpy", "GB/s", "higher", (const char *const[]){"size", "steps", "warmup", NULL}},
    {"allreduce", "GB/s", "higher", (const char *const[]){"size", "steps", "warmup", NULL}},
    {"kernel", "", "", (const char *const[]){"warmup", NULL}},
    {0}};

/* Numbers among the options: name, default, least, most. */
static const struct number {
    const char *name, *otherwise;
    int64_t min, max;
} numbers[] = {{"batch", "128", 1, 65536},  {"image", "224", 32, 4096},
               {"steps", "20", 1, 10000},   {"warmup", "2", 0, 1000},
               {"size", "4096", 1, 200000}, {"repeats", "3", 1, BENCH_REPEATS_MAX},
               {"seed", "1", 0, INT64_MAX}, {"timeout", "3600", 1, 604800}};

struct repeat {
    struct sl_buf samples, losses; /* JSON texts, comma separated */
    char checksum[SHA256_HEX];
};
struct run {
    struct cli *c;
    const struct bench_run_args *o;
    const struct suite *suite;
    const char *unit, *better, *nonce, *lease, *commit;
    char **command;
    int n_command;
    bool emulated;
    int64_t seed, started_us, ended_us;
    struct repeat repeats[BENCH_REPEATS_MAX];
    int n_repeats;
    struct sl_buf facts; /* "key value" lines of the machine */
    const char *gpus[LIST_MAX], *libraries[LIST_MAX];
    int n_gpus, n_libraries;
    char program_sha256[SHA256_HEX];
};

static const char *option(const struct bench_run_args *o, const char *name)
{
    const struct {
        const char *name, *value, *otherwise;
    } texts[] = {{"batch", o->batch, NULL},
                 {"image", o->image, NULL},
                 {"steps", o->steps, NULL},
                 {"warmup", o->warmup, NULL},
                 {"size", o->size, NULL},
                 {"repeats", o->repeats, NULL},
                 {"seed", o->seed, NULL},
                 {"timeout", o->timeout, NULL},
                 {"precision", o->precision, "fp32"},
                 {"mode", o->mode, "train"}};
    for (size_t i = 0; i < SL_COUNT(texts); i++) {
        if (!sl_streq(texts[i].name, name))
            continue;
        if (texts[i].value || texts[i].otherwise)
            return texts[i].value ? texts[i].value : texts[i].otherwise;
        for (size_t k = 0; k < SL_COUNT(numbers); k++)
            if (sl_streq(numbers[k].name, name))
                return numbers[k].otherwise;
    }
    SL_ASSERT(!"unknown option");
    return "";
}

static int64_t option_int(const struct bench_run_args *o, const char *name)
{
    long long v = 0;
    SL_ASSERT(sl_parse_i64(option(o, name), &v));
    return v;
}

static int options_check(const struct bench_run_args *o, struct sl_err *err)
{
    for (size_t i = 0; i < SL_COUNT(numbers); i++) {
        const struct number *k = &numbers[i];
        const char *s = option(o, k->name);
        long long v;
        if (!sl_parse_i64(s, &v) || v < k->min || v > k->max)
            return sl_fail_at(err, SL_INVALID, k->name,
                              "%s: \"%.40s\" is not between %lld and %lld", k->name, s,
                              (long long)k->min, (long long)k->max);
    }
    return 0;
}

/* ---- running a program, here or there ---- */
static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static const char *pass_on(struct cli *c, const char *name, const char *value)
{
    return sl_arena_printf(&c->arena, "%s=%s", name, value ? value : "");
}

static int run_words(struct run *r, const char *const *words, int n, struct sl_buf *out,
                     struct sl_buf *errs, int *ret_status, struct sl_err *err)
{
    struct cli *c = r->c;
    const char *argv[WORDS_MAX + 12], *agent = getenv("SSH_AUTH_SOCK");
    int k = 0;
    const char *const env[] = {
        pass_on(c, "STARLEASE_SEED", sl_arena_printf(&c->arena, "%lld", (long long)r->seed)),
        pass_on(c, "STARLEASE_CONFIG", c->config_path),
        pass_on(c, "STARLEASE_URL", c->url),
        pass_on(c, "STARLEASE_TOKEN", c->token),
        pass_on(c, "STARLEASE_CA", c->ca_file),
        agent ? pass_on(c, "SSH_AUTH_SOCK", agent) : NULL,
        NULL};
    SL_ASSERT(n <= WORDS_MAX);
    if (r->lease) {
        argv[k++] = "/proc/self/exe";
        argv[k++] = "exec";
        if (r->o->identity) {
            argv[k++] = "-i";
            argv[k++] = r->o->identity;
        }
        argv[k++] = r->lease;
        argv[k++] = "env";
        argv[k++] = env[0];
    }
    for (int i = 0; i < n; i++)
        argv[k++] = words[i];
    argv[k] = NULL;
    struct proc p = {.argv = argv,
                     .env = env,
                     .out = out,
                     .errs = errs,
                     .timeout_s = (int)option_int(r->o, "timeout"),
                     .any_status = true};
    if (proc_run(&p, err) < 0)
        return -1;
    *ret_status = p.status;
    if (out->over)
        return sl_fail_at(err, SL_TOO_LARGE, "output", "output: the program printed over %d bytes",
                          OUTPUT_MAX);
    return 0;
}

/* What the program runs on, and the files among its words. Plain sh, so that it works everywhere.
 */
static const char look[] =
    "echo kernel $(uname -sr)\n"
    "[ -r /etc/os-release ] && . /etc/os-release && echo os $PRETTY_NAME\n"
    "echo cpu $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)\n"
    "echo cpus $(grep -c ^processor /proc/cpuinfo)\n"
    "echo memory_kb $(sed -n 's/^MemTotal: *\\([0-9]*\\).*/\\1/p' /proc/meminfo)\n"
    "for p in /sys/class/kfd/kfd/topology/nodes/*/properties; do\n"
    "  [ -r \"$p\" ] && sed -n 's/^gfx_target_version \\([1-9][0-9]*\\)/gpu gfx_target_version "
    "\\1/p' "
    "\"$p\"; done\n"
    "for p in /proc/driver/nvidia/gpus/*/information; do\n"
    "  [ -r \"$p\" ] && sed -n 's/^Model: */gpu /p' \"$p\"; done\n"
    "for f in \"$@\"; do [ -f \"$f\" ] && sha256sum \"$f\" | sed 's/^/file /'; done\n"
    "commit=$(git rev-parse HEAD 2>/dev/null) && echo commit $commit\n"
    "exit 0\n";

static int look_around(struct run *r, struct sl_err *err)
{
    const char *words[WORDS_MAX + 4] = {"sh", "-c", look, "sh"};
    int n = 4, status;
    SL_AUTO_BUF struct sl_buf errs = SL_BUF(4096);
    for (int i = 0; i < r->n_command; i++)
        words[n++] = r->command[i];
    if (run_words(r, words, n, &r->facts, &errs, &status, err) < 0)
        return -1;
    return status == 0 ? 0
                       : sl_fail(err, SL_UNAVAILABLE, "the machine cannot be looked at: %.200s",
                                 cli_safe(r->c, sl_buf_str(&errs)));
}

/* ---- what a program prints ---- */
static void add_item(struct sl_buf *list, const char *text)
{
    struct jw w = {list};
    if (list->n)
        sl_buf_addc(list, ',');
    jw_str(&w, NULL, text);
}

static const char *number_at(const char *p, size_t *n)
{
    while (*p && !isdigit((unsigned char)*p))
        p++;
    *n = strspn(p, "0123456789.eE");
    while (*n && !isdigit((unsigned char)p[*n - 1]))
        --*n;
    return *n ? p : NULL;
}

/* The figure: the first number after the text that --figure names, else the last of all. */
static const char *find_figure(const char *out, const char *after, size_t *n)
{
    const char *found = NULL, *p = out;
    size_t k, len = 0;
    if (after) {
        p = strstr(out, after);
        return p ? number_at(p + strlen(after), n) : NULL;
    }
    while ((p = number_at(p, &k))) {
        found = p;
        len = k;
        p += k;
    }
    *n = len;
    return found;
}

static int take_figure(struct run *r, const char *out, struct repeat *to, struct sl_err *err)
{
    size_t n;
    const char *at = find_figure(out, r->o->figure, &n);
    if (!at || n >= BENCH_NUMBER)
        return sl_fail_at(err, SL_INVALID, "figure",
                          "figure: the program printed no number%s%.60s; name the text before it "
                          "with --figure",
                          r->o->figure ? " after " : "", r->o->figure ? r->o->figure : "");
    /* the result is everything but the figure */
    struct sha256_state h;
    uint8_t sum[SHA256_BYTES];
    sha256_start(&h);
    sha256_add(&h, out, (size_t)(at - out));
    sha256_add(&h, "#", 1);
    sha256_add(&h, at + n, strlen(at + n));
    sha256_end(&h, sum);
    hex_encode(sum, sizeof sum, to->checksum);
    add_item(&to->samples, sl_arena_strndup(&r->c->arena, at, n));
    return 0;
}

static void take_names(struct run *r, const struct jr_val *list, const char **to, int *n)
{
    *n = 0;
    for (size_t i = 0; i < jr_len(list) && *n < LIST_MAX; i++)
        to[(*n)++] = sl_arena_strdup(&r->c->arena, jr_text(jr_at(list, i), ""));
}

static int take_line(struct run *r, const char *json, size_t n, struct repeat *to,
                     struct sl_err *err)
{
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    if (jr_open(json, n, &doc, err) < 0)
        return -1;
    const struct jr_val *v = jr_root(doc);
    const char *why = jr_text(jr_get(v, "error"), NULL),
               *sample = jr_text(jr_get(v, "sample"), NULL);
    if (why)
        return sl_fail_at(err, SL_UNAVAILABLE, r->suite->name, "%s: %.300s", r->suite->name,
                          cli_safe(r->c, why));
    if (sample)
        add_item(&to->samples, sample);
    if (jr_get(v, "loss"))
        add_item(&to->losses, jr_text(jr_get(v, "loss"), ""));
    if (jr_get(v, "checksum"))
        (void)snprintf(to->checksum, SHA256_HEX, "%s", jr_text(jr_get(v, "checksum"), ""));
    if (jr_get(v, "libraries")) {
        take_names(r, jr_get(v, "gpus"), r->gpus, &r->n_gpus);
        take_names(r, jr_get(v, "libraries"), r->libraries, &r->n_libraries);
    }
    return 0;
}

static int take_lines(struct run *r, const char *out, struct repeat *to, struct sl_err *err)
{
    static const char mark[] = "bench: ";
    struct sl_str rest = sl_str(out), line;
    while (sl_str_cut(&rest, '\n', &line))
        if (line.n > sizeof mark - 1 && memcmp(line.p, mark, sizeof mark - 1) == 0 &&
            take_line(r, line.p + sizeof mark - 1, line.n - sizeof mark + 1, to, err) < 0)
            return -1;
    return 0;
}

/* ---- repeats ---- */
static int words_of(struct run *r, const char **words)
{
    struct cli *c = r->c;
    int n = 0;
    if (r->n_command) {
        for (int i = 0; i < r->n_command; i++)
            words[n++] = r->command[i];
        return n;
    }
    words[n++] = r->lease                                ? "python3"
                 : access("/usr/bin/python3", X_OK) == 0 ? "/usr/bin/python3"
                                                         : "python3";
    words[n++] = "-c";
    words[n++] = bench_suite_py;
    words[n++] = r->suite->name;
    words[n++] = sl_arena_printf(&c->arena, "%lld", (long long)r->seed);
    for (const char *const *p = r->suite->params; *p; p++)
        words[n++] = sl_arena_printf(&c->arena, "%s=%s", *p, option(r->o, *p));
    if (r->o->checkpoint)
        words[n++] = sl_arena_printf(&c->arena, "checkpoint=%s", r->o->checkpoint);
    return n;
}

static int run_once(struct run *r, struct repeat *to, struct sl_err *err)
{
    const char *words[WORDS_MAX];
    int status, n = words_of(r, words);
    SL_AUTO_BUF struct sl_buf out = SL_BUF(OUTPUT_MAX), errs = SL_BUF(64 << 10);
    if (run_words(r, words, n, &out, &errs, &status, err) < 0)
        return -1;
    if (!r->n_command && take_lines(r, sl_buf_str(&out), to, err) < 0)
        return -1; /* the suite's own sentence is better than its status */
    if (status != 0) {
        const char *text = sl_buf_str(&errs);
        size_t from = errs.n > 200 ? errs.n - 200 : 0;
        return sl_fail_at(err, SL_UNAVAILABLE, r->suite->name, "%s: %s ended with status %d: %s",
                          r->suite->name, words[0], status, cli_safe(r->c, text + from));
    }
    return r->n_command ? take_figure(r, sl_buf_str(&out), to, err) : 0;
}

static int run_all(struct run *r, struct sl_err *err)
{
    int n = (int)option_int(r->o, "repeats");
    if (r->n_command) /* a program of its own warms up by being run */
        for (int64_t i = 0; i < option_int(r->o, "warmup"); i++) {
            struct repeat lost = {.samples = SL_BUF(1 << 20), .losses = SL_BUF(1 << 20)};
            int rc = run_once(r, &lost, err);
            sl_buf_free(&lost.samples);
            sl_buf_free(&lost.losses);
            if (rc < 0)
                return -1;
        }
    r->started_us = now_us();
    for (int i = 0; i < n; i++) {
        struct repeat *to = &r->repeats[i];
        *to = (struct repeat){.samples = SL_BUF(1 << 20), .losses = SL_BUF(1 << 20)};
        r->n_repeats++;
        cli_say(r->c, "%s: repeat %d of %d", r->suite->name, i + 1, n);
        if (run_once(r, to, err) < 0)
            return -1;
    }
    r->ended_us = now_us();
    return 0;
}

/* ---- the record ---- */
/* The values of one key of the facts, as strings of an array (or only the first). */
static void facts_write(const struct run *r, struct jw *w, const char *key, const char *as,
                        bool all)
{
    struct sl_str rest = {sl_buf_str(&r->facts), r->facts.n}, line;
    size_t k = strlen(key);
    if (all)
        jw_array(w, as);
    while (sl_str_cut(&rest, '\n', &line))
        if (line.n > k + 1 && memcmp(line.p, key, k) == 0 && line.p[k] == ' ') {
            jw_strn(w, all ? NULL : as, line.p + k + 1, line.n - k - 1);
            if (!all)
                return;
        }
    if (all)
        jw_end(w);
}

static void machine_write(const struct run *r, struct jw *w)
{
    jw_object(w, "hardware");
    facts_write(r, w, "cpu", "cpu", false);
    facts_write(r, w, "cpus", "cpus", false);
    facts_write(r, w, "memory_kb", "memory_kb", false);
    if (r->n_gpus) {
        jw_array(w, "gpus");
        for (int i = 0; i < r->n_gpus; i++)
            jw_str(w, NULL, r->gpus[i]);
        jw_end(w);
    } else {
        facts_write(r, w, "gpu", "gpus", true);
    }
    jw_bool(w, "emulated", r->emulated);
    jw_end(w);
    jw_object(w, "software");
    facts_write(r, w, "os", "os", false);
    facts_write(r, w, "kernel", "kernel", false);
    jw_array(w, "libraries");
    for (int i = 0; i < r->n_libraries; i++)
        jw_str(w, NULL, r->libraries[i]);
    jw_end(w);
    jw_str(w, "starlease", SL_VERSION);
    jw_end(w);
}

static void record_write(const struct run *r, struct jw *w, const struct bench_record *stats)
{
    jw_object(w, "record");
    jw_int(w, "version", 1);
    jw_str(w, "suite", r->suite->name);
    jw_str(w, "unit", r->unit);
    jw_str(w, "better", r->better);
    jw_object(w, "params");
    for (const char *const *p = r->suite->params; *p; p++)
        jw_str(w, *p, option(r->o, *p));
    jw_end(w);
    jw_array(w, "command");
    for (int i = 0; i < r->n_command; i++)
        jw_str(w, NULL, r->command[i]);
    jw_end(w);
    jw_str(w, "program_sha256", r->program_sha256);
    facts_write(r, w, "file", "files", true);
    facts_write(r, w, "commit", "commit", false);
    jw_str(w, "nonce", r->nonce);
    jw_int(w, "seed", r->seed);
    machine_write(r, w);
    jw_int(w, "started_us", r->started_us);
    jw_int(w, "ended_us", r->ended_us);
    jw_array(w, "repeats");
    for (int i = 0; i < r->n_repeats; i++) {
        jw_object(w, NULL);
        jw_str(w, "checksum", r->repeats[i].checksum);
        char *samples = sl_asprintf("[%s]", sl_buf_str(&r->repeats[i].samples));
        char *losses = sl_asprintf("[%s]", sl_buf_str(&r->repeats[i].losses));
        jw_raw(w, "samples", samples);
        jw_raw(w, "losses", losses);
        free(samples);
        free(losses);
        jw_end(w);
    }
    jw_end(w);
    if (stats)
        bench_result_write(w, stats);
    jw_end(w);
}

/* Written twice: what is computed from the samples is read off the first form. */
static int finish(const struct run *r, struct sl_buf *out, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf draft = SL_BUF(BENCH_FILE_MAX);
    struct bench_record b, whole;
    struct jw w = {&draft};
    jw_object(&w, NULL);
    record_write(r, &w, NULL);
    jw_end(&w);
    int rc = bench_read(sl_buf_str(&draft), draft.n, &r->c->arena, &b, err);
    if (rc == 0) {
        struct jw v = {&draft};
        sl_buf_clear(&draft);
        jw_object(&v, NULL);
        record_write(r, &v, &b);
        jw_end(&v);
        bench_close(&b);
        rc = bench_read(sl_buf_str(&draft), draft.n, &r->c->arena, &whole, err);
        SL_AUTO_BUF struct sl_buf record = SL_BUF(BENCH_FILE_MAX);
        if (rc == 0 && (rc = jr_canonical(whole.record, &record, err)) == 0) {
            struct jw f = {out};
            jw_object(&f, NULL);
            jw_raw(&f, "record", sl_buf_str(&record));
            jw_str(&f, "sha256", whole.sha256);
            jw_end(&f);
        }
        bench_close(&whole);
    } else {
        bench_close(&b);
    }
    return rc;
}

static int find_instance(struct run *r, struct sl_err *err)
{
    struct answer a = {0};
    struct cli *c = r->c;
    if (!r->o->in)
        return 0;
    if (cli_lease_id(c, r->o->in, &r->lease, err) < 0)
        return -1;
    int rc =
        cli_get(c, sl_arena_printf(&c->arena, "/v1/leases/%s", cli_quote(c, r->lease)), &a, err);
    if (rc == 0) {
        r->nonce = sl_arena_strdup(&c->arena, jr_text(jr_get(a.root, "nonce"), ""));
        r->emulated = jr_true(jr_get(a.root, "emulated"));
        r->seed = bench_seed_of(r->nonce);
    }
    answer_free(&a);
    return rc;
}

static int prepare(struct run *r, const char *suite, struct sl_err *err)
{
    const struct bench_run_args *o = r->o;
    for (r->suite = suites; r->suite->name && !sl_streq(r->suite->name, suite);)
        r->suite++;
    if (!r->suite->name)
        return sl_fail_at(err, SL_INVALID, "suite",
                          "suite: \"%.40s\" is none of resnet50, gemm, memcpy, allreduce, kernel",
                          suite);
    bool own = sl_streq(suite, "kernel");
    if (own != (r->n_command > 0))
        return sl_fail_at(err, SL_INVALID, "command",
                          own ? "command: kernel needs the program that prints the figure"
                              : "command: %s is a program of its own, it takes none",
                          suite);
    if (r->n_command > WORDS_MAX - 8)
        return sl_fail_at(err, SL_TOO_LARGE, "command", "command: over %d words", WORDS_MAX - 8);
    r->unit = own ? (o->unit ? o->unit : "ms") : r->suite->unit;
    r->better = own ? (o->better ? o->better : "lower") : r->suite->better;
    r->nonce = "";
    if (options_check(o, err) < 0)
        return -1;
    r->seed = option_int(o, "seed");
    if (!own)
        sha256_hex(bench_suite_py, strlen(bench_suite_py), r->program_sha256);
    return find_instance(r, err);
}

/* A program's identity: the hashes of the files it was given as, else its words. */
static void program_hash(struct run *r)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(1 << 20);
    struct jw w = {&b};
    jw_object(&w, NULL);
    facts_write(r, &w, "file", "files", true);
    jw_array(&w, "command");
    for (int i = 0; i < r->n_command; i++)
        jw_str(&w, NULL, r->command[i]);
    jw_end(&w);
    jw_end(&w);
    sha256_hex(sl_buf_str(&b), b.n, r->program_sha256);
}

int bench_run_suite(struct cli *c, const struct bench_run_args *o, const char *suite,
                    char **command, int n_command, struct sl_buf *out, const char **ret_lease,
                    struct sl_err *err)
{
    struct run *r = sl_arena_alloc(&c->arena, sizeof *r);
    *r = (struct run){
        .c = c, .o = o, .command = command, .n_command = n_command, .facts = SL_BUF(1 << 20)};
    int rc = prepare(r, suite, err);
    if (rc == 0)
        rc = look_around(r, err);
    if (rc == 0 && r->n_command)
        program_hash(r);
    if (rc == 0)
        rc = run_all(r, err);
    if (rc == 0)
        rc = finish(r, out, err);
    for (int i = 0; i < r->n_repeats; i++) {
        sl_buf_free(&r->repeats[i].samples);
        sl_buf_free(&r->repeats[i].losses);
    }
    sl_buf_free(&r->facts);
    *ret_lease = r->lease;
    return rc;
}
