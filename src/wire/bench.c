/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/bench.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of n values drawn from sorted[0..n) with replacement: how often each was drawn is
 * enough, nothing has to be sorted again. */
static double resampled_median(const double *sorted, int n, int *drawn, uint64_t *state)
{
    memset(drawn, 0, sizeof *drawn * (size_t)n);
    for (int i = 0; i < n; i++) /* multiply and shift: no bias worth a division */
        drawn[(int)(((next_random(state) >> 32) * (uint64_t)n) >> 32)]++;
    int low_at = (n - 1) / 2, high_at = n / 2, seen = 0, i = -1;
    double low = 0;
    while (seen <= low_at)
        seen += drawn[++i];
    low = sorted[i];
    while (seen <= high_at)
        seen += drawn[++i];
    return (low + sorted[i]) / 2;
}

static double median_of(const double *sorted, int n)
{
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

/* The order statistics of a 95 % interval among BENCH_RESAMPLES sorted values. */
static void interval(double *v, double *low, double *high)
{
    qsort(v, BENCH_RESAMPLES, sizeof *v, by_value);
    *low = v[BENCH_RESAMPLES * 25 / 1000];
    *high = v[BENCH_RESAMPLES - 1 - BENCH_RESAMPLES * 25 / 1000];
}

void bench_stats(struct bench_record *r, struct sl_arena *a)
{
    uint64_t state = BENCH_SEED;
    double *medians = sl_arena_alloc(a, sizeof *medians * BENCH_RESAMPLES);
    int *drawn = sl_arena_alloc(a, sizeof *drawn * (size_t)r->n);
    SL_ASSERT(r->n > 0);
    qsort(r->samples, (size_t)r->n, sizeof *r->samples, by_value);
    r->median = median_of(r->samples, r->n);
    for (int i = 0; i < BENCH_RESAMPLES; i++)
        medians[i] = resampled_median(r->samples, r->n, drawn, &state);
    interval(medians, &r->low, &r->high);
    (void)snprintf(r->median_text, BENCH_NUMBER, "%.9g", r->median);
    (void)snprintf(r->low_text, BENCH_NUMBER, "%.9g", r->low);
    (void)snprintf(r->high_text, BENCH_NUMBER, "%.9g", r->high);
}

int64_t bench_seed_of(const char *nonce)
{
    uint8_t h[SHA256_BYTES];
    uint64_t v = 0;
    sha256(nonce, strlen(nonce), h);
    for (int i = 0; i < 8; i++)
        v = v << 8 | h[i];
    return (int64_t)(v & INT64_MAX);
}

/* ---- reading ---- */
/* A decimal number and nothing else: no hexadecimal, infinity, NaN or blanks. */
static bool number(const char *s, double *ret)
{
    char *end;
    if (!*s || strlen(s) >= BENCH_NUMBER || strspn(s, "0123456789+-.eE") != strlen(s))
        return false;
    *ret = strtod(s, &end);
    return *end == 0 && isfinite(*ret);
}

static int need(const struct jr_val *v, const char *field, struct sl_err *err)
{
    return v ? 0
             : sl_fail_at(err, SL_INVALID, field, "%s: is missing; this is no benchmark record",
                          field);
}

static int need_text(const struct jr_val *o, const char *field, const char **ret,
                     struct sl_err *err)
{
    *ret = jr_text(jr_get(o, field), NULL);
    return *ret ? 0
                : sl_fail_at(err, SL_INVALID, field,
                             "%s: is missing or no text; this is no benchmark record", field);
}

static int read_numbers(const struct jr_val *list, const char *field, double *to, int *n, int max,
                        bool positive, struct sl_err *err)
{
    for (size_t i = 0; i < jr_len(list); i++) {
        const char *s = jr_text(jr_at(list, i), "");
        if (*n >= max)
            return sl_fail_at(err, SL_TOO_LARGE, field, "%s: more than %d values", field, max);
        if (!number(s, &to[*n]) || (positive && to[*n] <= 0))
            return sl_fail_at(err, SL_INVALID, field, "%s: \"%.40s\" is not a %snumber", field, s,
                              positive ? "positive " : "");
        ++*n;
    }
    return 0;
}

static int read_repeats(struct bench_record *r, struct sl_err *err)
{
    const struct jr_val *repeats = jr_get(r->record, "repeats");
    r->repeats = (int)jr_len(repeats);
    if (r->repeats < 1 || r->repeats > BENCH_REPEATS_MAX)
        return sl_fail_at(err, SL_INVALID, "repeats", "repeats: must hold 1 to %d",
                          BENCH_REPEATS_MAX);
    r->reproducible = r->repeats > 1;
    for (int i = 0; i < r->repeats; i++) {
        const struct jr_val *one = jr_at(repeats, (size_t)i);
        const char *sum = jr_text(jr_get(one, "checksum"), "");
        if (read_numbers(jr_get(one, "samples"), "samples", r->samples, &r->n, BENCH_SAMPLES_MAX,
                         true, err) < 0 ||
            (i == 0 && read_numbers(jr_get(one, "losses"), "losses", r->losses, &r->n_losses,
                                    BENCH_SAMPLES_MAX, false, err) < 0))
            return -1;
        if (strlen(sum) != SHA256_HEX - 1)
            return sl_fail_at(err, SL_INVALID, "checksum",
                              "checksum: repeat %d has no SHA-256 of its result", i);
        if (i == 0)
            memcpy(r->checksum, sum, SHA256_HEX);
        else if (strcmp(sum, r->checksum) != 0)
            r->reproducible = false;
    }
    if (!r->reproducible)
        r->checksum[0] = 0;
    return r->n ? 0 : sl_fail_at(err, SL_INVALID, "samples", "samples: the record has none");
}

static int read_head(struct bench_record *r, struct sl_err *err)
{
    const char *better;
    const struct jr_val *v = r->record;
    if (need(v, "record", err) < 0 || need(jr_get(v, "params"), "params", err) < 0 ||
        need(jr_get(v, "hardware"), "hardware", err) < 0 ||
        need(jr_get(v, "software"), "software", err) < 0 ||
        need_text(v, "suite", &r->suite, err) < 0 || need_text(v, "unit", &r->unit, err) < 0 ||
        need_text(v, "nonce", &r->nonce, err) < 0 || need_text(v, "better", &better, err) < 0)
        return -1;
    if (jr_i64(jr_get(v, "version"), 0) != 1)
        return sl_fail_at(err, SL_INVALID, "version",
                          "version: this program reads records of version 1");
    if (!sl_streq(better, "lower") && !sl_streq(better, "higher"))
        return sl_fail_at(err, SL_INVALID, "better", "better: must be lower or higher");
    r->higher_is_better = sl_streq(better, "higher");
    r->emulated = jr_true(jr_get(jr_get(v, "hardware"), "emulated"));
    return 0;
}

static int hash_record(struct bench_record *r, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(BENCH_FILE_MAX);
    if (jr_canonical(r->record, &b, err) < 0)
        return -1;
    if (b.over)
        return sl_fail_at(err, SL_TOO_LARGE, "record", "record: is over %d bytes", BENCH_FILE_MAX);
    sha256_hex(b.p, b.n, r->sha256);
    return 0;
}

int bench_read(const char *text, size_t n, struct sl_arena *a, struct bench_record *ret,
               struct sl_err *err)
{
    *ret = (struct bench_record){.samples = sl_arena_alloc(a, sizeof(double) * BENCH_SAMPLES_MAX),
                                 .losses = sl_arena_alloc(a, sizeof(double) * BENCH_SAMPLES_MAX)};
    if (n > BENCH_FILE_MAX)
        return sl_fail_at(err, SL_TOO_LARGE, "record", "record: the file is over %d bytes",
                          BENCH_FILE_MAX);
    if (jr_open(text, n, &ret->doc, err) < 0)
        return -1;
    const struct jr_val *root = jr_root(ret->doc);
    ret->record = jr_get(root, "record");
    ret->key = jr_text(jr_get(root, "key"), "");
    ret->lease = jr_text(jr_get(jr_get(root, "lease"), "id"), "");
    ret->is_signed = jr_get(root, "signature") != NULL;
    if (read_head(ret, err) < 0 || read_repeats(ret, err) < 0 || hash_record(ret, err) < 0)
        return -1;
    bench_stats(ret, a);
    return 0;
}

void bench_close(struct bench_record *r)
{
    jr_close(r->doc);
    r->doc = NULL;
}

/* ---- checking ---- */
void bench_result_write(struct jw *w, const struct bench_record *r)
{
    jw_object(w, "result");
    jw_int(w, "samples", r->n);
    jw_str(w, "median", r->median_text);
    jw_str(w, "low", r->low_text);
    jw_str(w, "high", r->high_text);
    jw_int(w, "confidence_percent", 95);
    jw_int(w, "resamples", BENCH_RESAMPLES);
    jw_bool(w, "reproducible", r->reproducible);
    jw_str(w, "checksum", r->checksum);
    jw_end(w);
}

static int same(const char *field, const char *stated, const char *is, struct sl_err *err)
{
    return sl_streq(stated, is) ? 0
                                : sl_fail_at(err, SL_INTEGRITY, field,
                                             "%s: the record states %.70s, its samples give %.70s",
                                             field, stated, is);
}

static int check_signature(const struct bench_record *r, const char *key_hex, struct sl_err *err)
{
    const struct jr_val *root = jr_root(r->doc);
    const char *signature = jr_text(jr_get(root, "signature"), "");
    SL_AUTO_BUF struct sl_buf b = SL_BUF(64 << 10);
    SL_AUTO_BUF struct sl_buf lease = SL_BUF(32 << 10);
    if (jr_canonical(jr_get(root, "lease"), &lease, err) < 0)
        return -1;
    sl_buf_printf(&b, "{\"lease\":%s,\"received_us\":%lld,\"sha256\":\"%s\"}", sl_buf_str(&lease),
                  (long long)jr_i64(jr_get(root, "received_us"), 0), r->sha256);
    if (key_hex && !sl_streq(key_hex, r->key))
        return sl_fail_at(err, SL_INTEGRITY, "key",
                          "key: the record is signed by %.64s, not by the expected %.64s", r->key,
                          key_hex);
    if (b.over || strlen(r->key) != SIGN_KEY_HEX - 1 || strlen(signature) != SIGN_HEX - 1 ||
        !sign_ok(r->key, sl_buf_str(&b), b.n, signature))
        return sl_fail_at(err, SL_INTEGRITY, "signature",
                          "signature: does not fit the record; something in it was changed");
    const char *nonce = jr_text(jr_get(jr_get(root, "lease"), "nonce"), "");
    return sl_streq(nonce, r->nonce)
               ? 0
               : sl_fail_at(err, SL_INTEGRITY, "nonce",
                            "nonce: the record's is not that of the lease it was signed for");
}

int bench_verify(const struct bench_record *r, const char *key_hex, struct sl_err *err)
{
    const struct jr_val *result = jr_get(r->record, "result"), *root = jr_root(r->doc);
    if (need(result, "result", err) < 0)
        return -1;
    if (same("sha256", jr_text(jr_get(root, "sha256"), r->sha256), r->sha256, err) < 0 ||
        same("median", jr_text(jr_get(result, "median"), ""), r->median_text, err) < 0 ||
        same("low", jr_text(jr_get(result, "low"), ""), r->low_text, err) < 0 ||
        same("high", jr_text(jr_get(result, "high"), ""), r->high_text, err) < 0 ||
        same("checksum", jr_text(jr_get(result, "checksum"), ""), r->checksum, err) < 0)
        return -1;
    if (jr_i64(jr_get(result, "samples"), -1) != r->n ||
        jr_true(jr_get(result, "reproducible")) != r->reproducible)
        return sl_fail_at(err, SL_INTEGRITY, "result",
                          "result: the number of samples or 'reproducible' is not what the repeats "
                          "give");
    if (*r->nonce && jr_i64(jr_get(r->record, "seed"), -1) != bench_seed_of(r->nonce))
        return sl_fail_at(err, SL_INTEGRITY, "seed",
                          "seed: does not follow from the nonce; another run's figures were taken");
    return r->is_signed ? check_signature(r, key_hex, err) : 0;
}

/* ---- comparing ---- */
static bool same_bytes(const struct jr_val *a, const struct jr_val *b)
{
    SL_AUTO_BUF struct sl_buf x = SL_BUF(BENCH_FILE_MAX), y = SL_BUF(BENCH_FILE_MAX);
    struct sl_err err = {0};
    return jr_canonical(a, &x, &err) == 0 && jr_canonical(b, &y, &err) == 0 && x.n == y.n &&
           memcmp(x.p, y.p, x.n) == 0;
}

static int comparable(const struct bench_record *a, const struct bench_record *b,
                      struct sl_err *err)
{
    const struct jr_val *pa = jr_get(a->record, "params"), *pb = jr_get(b->record, "params"), *v;
    const struct jr_val *sides[] = {pa, pb};
    const char *name;
    if (!sl_streq(a->suite, b->suite))
        return sl_fail_at(err, SL_CONFLICT, "suite",
                          "suite: %.40s and %.40s cannot be compared; run the same one", a->suite,
                          b->suite);
    if (!sl_streq(a->unit, b->unit) || a->higher_is_better != b->higher_is_better)
        return sl_fail_at(err, SL_CONFLICT, "unit", "unit: %.40s and %.40s cannot be compared",
                          a->unit, b->unit);
    for (size_t side = 0; side < 2; side++) {
        void *it = NULL;
        while ((name = jr_member(sides[side], &it, &v))) {
            const char *x = jr_text(jr_get(pa, name), "nothing");
            const char *y = jr_text(jr_get(pb, name), "nothing");
            if (!sl_streq(x, y))
                return sl_fail_at(err, SL_CONFLICT, name,
                                  "%.40s: the first has %.40s, the second %.40s; run both with the "
                                  "same",
                                  name, x, y);
        }
    }
    return 0;
}

/* Slower by what share: times grow, rates shrink. */
static double loss_of(const struct bench_record *a, double ma, double mb,
                      const struct bench_options *o)
{
    double ratio = a->higher_is_better ? ma / mb : mb / ma;
    if (o->peak_a > 0 && o->peak_b > 0) /* b may be slower by as much as its peak is lower */
        ratio *= o->peak_b / o->peak_a;
    return ratio - 1;
}

static void judge_results(const struct bench_record *a, const struct bench_record *b,
                          const struct bench_options *o, struct bench_verdict_t *v)
{
    double tolerance = o->loss_tolerance > 0 ? o->loss_tolerance : 0.01;
    v->results_agree = false;
    if (v->hardware_same && v->software_same) {
        v->results_how = "one platform: equal checksums are asked for";
        /* another nonce is another seed, hence another result */
        if (!sl_streq(a->nonce, b->nonce) ||
            jr_i64(jr_get(a->record, "seed"), 0) != jr_i64(jr_get(b->record, "seed"), 0)) {
            v->results_agree = a->reproducible && b->reproducible;
            v->results_how = "one platform, two seeds: each repeats itself";
            return;
        }
        v->results_agree = *a->checksum && sl_streq(a->checksum, b->checksum);
        return;
    }
    v->results_how = "two platforms: the loss curves are compared";
    int n = a->n_losses < b->n_losses ? a->n_losses : b->n_losses;
    if (n == 0) {
        v->results_how = "two platforms and no loss curve: results are not compared";
        return;
    }
    double scale = fabs(a->losses[0]) > 0 ? fabs(a->losses[0]) : 1;
    v->results_agree = true;
    for (int i = 0; i < n; i++)
        if (fabs(a->losses[i] - b->losses[i]) > tolerance * scale)
            v->results_agree = false;
}

int bench_compare(const struct bench_record *a, const struct bench_record *b,
                  const struct bench_options *o, struct bench_verdict_t *ret, struct sl_err *err)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct bench_options opts = *o;
    uint64_t state = BENCH_SEED;
    double *losses = sl_arena_alloc(&arena, sizeof *losses * BENCH_RESAMPLES);
    int most = a->n > b->n ? a->n : b->n;
    int *drawn = sl_arena_alloc(&arena, sizeof *drawn * (size_t)most);
    *ret = (struct bench_verdict_t){0};
    if (comparable(a, b, err) < 0)
        return -1;
    ret->hardware_same = same_bytes(jr_get(a->record, "hardware"), jr_get(b->record, "hardware"));
    ret->software_same = same_bytes(jr_get(a->record, "software"), jr_get(b->record, "software"));
    ret->program_same = sl_streq(jr_text(jr_get(a->record, "program_sha256"), "a"),
                                 jr_text(jr_get(b->record, "program_sha256"), "b"));
    if (ret->hardware_same)
        opts.peak_a = opts.peak_b = 0;
    ret->is_migration_loss = ret->hardware_same || (opts.peak_a > 0 && opts.peak_b > 0);
    ret->loss = loss_of(a, a->median, b->median, &opts);
    for (int i = 0; i < BENCH_RESAMPLES; i++) {
        double ma = resampled_median(a->samples, a->n, drawn, &state);
        double mb = resampled_median(b->samples, b->n, drawn, &state);
        losses[i] = loss_of(a, ma, mb, &opts);
    }
    interval(losses, &ret->low, &ret->high);
    bool few = a->n < BENCH_DECIDE_MIN || b->n < BENCH_DECIDE_MIN;
    ret->verdict = few                      ? BENCH_UNDECIDED
                   : ret->high < opts.limit ? BENCH_WITHIN
                   : ret->low >= opts.limit ? BENCH_WORSE
                                            : BENCH_UNDECIDED;
    judge_results(a, b, &opts, ret);
    return 0;
}
