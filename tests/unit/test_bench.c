/* SPDX-License-Identifier: Apache-2.0
 *
 * Benchmark records: what is computed, what is noticed, and the verdicts on known losses.
 */
#include "wire/bench.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SEEDS = 100, SAMPLES = 200 };
static const char sum[] = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";

/* Sum of twelve uniform numbers less six: near enough to a normal one. */
static double noise(uint64_t *state)
{
    double s = -6;
    for (int i = 0; i < 12; i++) {
        *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
        s += (double)(*state >> 11) / 9007199254740992.0;
    }
    return s;
}

struct shape {
    double base, spread;
    int n;
    uint64_t seed;
    const char *better, *batch, *cpu, *nonce, *loss;
};

static void write_record(const struct shape *s, const struct bench_record *stats, struct jw *w)
{
    uint64_t state = s->seed;
    char text[BENCH_NUMBER];
    jw_object(w, NULL);
    jw_object(w, "record");
    jw_int(w, "version", 1);
    jw_str(w, "suite", "resnet50");
    jw_str(w, "unit", "ms");
    jw_str(w, "better", s->better ? s->better : "lower");
    jw_object(w, "params");
    jw_str(w, "batch", s->batch ? s->batch : "128");
    jw_end(w);
    jw_object(w, "hardware");
    jw_str(w, "cpu", s->cpu ? s->cpu : "one");
    jw_end(w);
    jw_object(w, "software");
    jw_end(w);
    jw_str(w, "nonce", s->nonce ? s->nonce : "");
    jw_int(w, "seed", s->nonce ? bench_seed_of(s->nonce) : 1);
    jw_array(w, "repeats");
    for (int r = 0; r < 2; r++) {
        jw_object(w, NULL);
        jw_str(w, "checksum", sum);
        jw_array(w, "samples");
        for (int i = 0; i < s->n / 2 + (s->n == 1 && r == 0); i++) {
            (void)snprintf(text, sizeof text, "%.6f", s->base * (1 + s->spread * noise(&state)));
            jw_str(w, NULL, text);
        }
        jw_end(w);
        jw_array(w, "losses");
        jw_str(w, NULL, "6.9");
        jw_str(w, NULL, s->loss ? s->loss : "6.5");
        jw_end(w);
        jw_end(w);
    }
    jw_end(w);
    if (stats)
        bench_result_write(w, stats);
    jw_end(w);
    jw_end(w);
}

/* The whole file of a shape. */
static void make(const struct shape *s, struct sl_buf *out)
{
    SL_AUTO_ARENA struct sl_arena a = {0};
    struct sl_buf draft = SL_BUF(BENCH_FILE_MAX);
    struct bench_record r;
    struct sl_err err = {0};
    struct jw w = {&draft}, v = {out};
    write_record(s, NULL, &w);
    assert_int_equal(bench_read(draft.p, draft.n, &a, &r, &err), 0);
    write_record(s, &r, &v);
    bench_close(&r);
    sl_buf_free(&draft);
}

static struct bench_verdict_t compare(const struct shape *a, const struct shape *b,
                                      const struct bench_options *o)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct sl_buf x = SL_BUF(BENCH_FILE_MAX), y = SL_BUF(BENCH_FILE_MAX);
    struct bench_record ra, rb;
    struct bench_verdict_t v;
    struct sl_err err = {0};
    make(a, &x);
    make(b, &y);
    assert_int_equal(bench_read(x.p, x.n, &arena, &ra, &err), 0);
    assert_int_equal(bench_read(y.p, y.n, &arena, &rb, &err), 0);
    assert_int_equal(bench_compare(&ra, &rb, o, &v, &err), 0);
    bench_close(&ra);
    bench_close(&rb);
    sl_buf_free(&x);
    sl_buf_free(&y);
    return v;
}

static int right_verdicts(double loss, enum bench_verdict want)
{
    const struct bench_options o = {.limit = BENCH_LIMIT};
    int right = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct shape a = {.base = 1080, .spread = 0.0005, .n = SAMPLES, .seed = seed * 7919};
        struct shape b = a;
        b.base *= 1 + loss;
        b.seed = seed * 104729 + 1;
        right += compare(&a, &b, &o).verdict == want;
    }
    return right;
}

static void known_losses(void **state)
{
    assert_true(right_verdicts(0, BENCH_WITHIN) >= 95);
    assert_true(right_verdicts(0.029, BENCH_WITHIN) >= 95);
    assert_true(right_verdicts(0.0306, BENCH_WORSE) >= 95);
    assert_true(right_verdicts(0.10, BENCH_WORSE) >= 95);
}

static void single_samples_decide_nothing(void **state)
{
    const struct bench_options o = {.limit = BENCH_LIMIT};
    struct shape a = {.base = 1080, .n = 1}, b = {.base = 1113, .n = 1};
    struct bench_verdict_t v = compare(&a, &b, &o);
    assert_true(v.loss > 0.0305 && v.loss < 0.0306); /* 3.06 % */
    assert_int_equal(v.verdict, BENCH_UNDECIDED);
    a.n = b.n = 10;
    assert_int_equal(compare(&a, &b, &o).verdict, BENCH_WORSE);
}

static void noise_leaves_it_undecided(void **state)
{
    const struct bench_options o = {.limit = BENCH_LIMIT};
    struct shape a = {.base = 1080, .spread = 0.05, .n = 20, .seed = 3}, b = a;
    b.base *= 1.03;
    b.seed = 4;
    assert_int_equal(compare(&a, &b, &o).verdict, BENCH_UNDECIDED);
}

static void rates_and_peaks(void **state)
{
    struct bench_options o = {.limit = BENCH_LIMIT};
    struct shape a = {.base = 1000, .n = 20, .better = "higher"}, b = a;
    b.base = 900;
    struct bench_verdict_t v = compare(&a, &b, &o);
    assert_true(v.loss > 0.111 && v.loss < 0.1112); /* 1000 / 900: a rate that shrinks is a loss */
    assert_true(v.is_migration_loss);
    b.cpu = "two";
    v = compare(&a, &b, &o);
    assert_false(v.is_migration_loss);
    o.peak_a = 100, o.peak_b = 90; /* the second machine can do nine tenths, and does */
    v = compare(&a, &b, &o);
    assert_true(v.is_migration_loss && v.loss < 1e-9 && v.loss > -1e-9);
}

static void results_across_platforms(void **state)
{
    const struct bench_options o = {.limit = BENCH_LIMIT};
    struct shape a = {.base = 1000, .n = 20}, b = a;
    assert_true(compare(&a, &b, &o).results_agree);
    b.cpu = "two";
    b.loss = "6.54"; /* within 1 % of the first loss */
    assert_true(compare(&a, &b, &o).results_agree);
    b.loss = "6.6";
    assert_false(compare(&a, &b, &o).results_agree);
}

static void other_parameters_are_refused(void **state)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct shape a = {.base = 1000, .n = 20}, b = a;
    struct sl_buf x = SL_BUF(BENCH_FILE_MAX), y = SL_BUF(BENCH_FILE_MAX);
    const struct bench_options o = {.limit = BENCH_LIMIT};
    struct bench_record ra, rb;
    struct bench_verdict_t v;
    struct sl_err err = {0};
    b.batch = "64";
    make(&a, &x);
    make(&b, &y);
    assert_int_equal(bench_read(x.p, x.n, &arena, &ra, &err), 0);
    assert_int_equal(bench_read(y.p, y.n, &arena, &rb, &err), 0);
    assert_int_equal(bench_compare(&ra, &rb, &o, &v, &err), -1);
    assert_int_equal(err.code, SL_CONFLICT);
    assert_string_equal(err.field, "batch");
    bench_close(&ra);
    bench_close(&rb);
    sl_buf_free(&x);
    sl_buf_free(&y);
}

/* The file with its hash: a changed digit anywhere in the record is noticed. */
static void edited_records(void **state)
{
    SL_AUTO_ARENA struct sl_arena all = {0};
    struct shape s = {.base = 1000, .spread = 0.01, .n = 20, .seed = 9, .nonce = "abc"};
    struct sl_buf x = SL_BUF(BENCH_FILE_MAX);
    struct sl_err err = {0};
    struct bench_record r;
    int digits = 0;
    make(&s, &x);
    size_t end = x.n - 1; /* the last brace */
    assert_int_equal(bench_read(x.p, x.n, &all, &r, &err), 0);
    x.n = end;
    sl_buf_printf(&x, ",\"sha256\":\"%s\"}", r.sha256);
    bench_close(&r);
    for (size_t i = 0; i < end; i += 3) {
        SL_AUTO_ARENA struct sl_arena arena = {0};
        char was = x.p[i];
        if (was < '0' || was > '8')
            continue;
        x.p[i]++;
        digits++;
        bool good = bench_read(x.p, x.n, &arena, &r, &err) == 0 && bench_verify(&r, NULL, &err) == 0;
        assert_false(good);
        bench_close(&r);
        x.p[i] = was;
    }
    assert_true(digits > 20);
    sl_buf_free(&x);
}

static void a_nonce_gives_its_seed(void **state)
{
    assert_true(bench_seed_of("a") != bench_seed_of("b"));
    assert_true(bench_seed_of("a") >= 0);
    assert_int_equal(bench_seed_of("abc"),
                     0x3a7816bf8f01cfeaLL); /* SHA-256 of abc, first 8 bytes */
}

static void nonsense_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "{}",
        "[]",
        "{\"record\":{}}",
        "{\"record\":null}",
        "{\"record\":{\"version\":2,\"suite\":\"a\",\"unit\":\"b\",\"nonce\":\"\",\"better\":"
        "\"lower\",\"params\":{},\"hardware\":{},\"software\":{},\"repeats\":[]}}",
        "{\"record\":{\"version\":1,\"suite\":\"a\",\"unit\":\"b\",\"nonce\":\"\",\"better\":"
        "\"lower\",\"params\":{},\"hardware\":{},\"software\":{},\"repeats\":[{\"samples\":["
        "\"nan\"],"
        "\"checksum\":\"\"}]}}",
        "{\"record\":{\"version\":1,\"suite\":\"a\",\"unit\":\"b\",\"nonce\":\"\",\"better\":"
        "\"lower\",\"params\":{},\"hardware\":{},\"software\":{},\"repeats\":[{\"samples\":[\"-1\"]"
        ","
        "\"checksum\":\"\"}]}}"};
    for (size_t i = 0; i < SL_COUNT(texts); i++) {
        SL_AUTO_ARENA struct sl_arena arena = {0};
        struct bench_record r;
        struct sl_err err = {0};
        assert_int_equal(bench_read(texts[i], strlen(texts[i]), &arena, &r, &err), -1);
        assert_true(err.msg[0]);
        bench_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_losses),
        cmocka_unit_test(single_samples_decide_nothing),
        cmocka_unit_test(noise_leaves_it_undecided),
        cmocka_unit_test(rates_and_peaks),
        cmocka_unit_test(results_across_platforms),
        cmocka_unit_test(other_parameters_are_refused),
        cmocka_unit_test(edited_records),
        cmocka_unit_test(a_nonce_gives_its_seed),
        cmocka_unit_test(nonsense_is_refused),
    };
    crypto_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
