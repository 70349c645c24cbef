/* SPDX-License-Identifier: Apache-2.0
 *
 * bench.h: a benchmark record that a stranger can recompute, and the comparison of two.
 *
 * A record file is one JSON object:
 *   {"record": {...}, "sha256": HEX of the record's canonical bytes}
 * and, once the control plane has signed it for a lease,
 *   {"record": {...}, "sha256": HEX, "lease": {...}, "received_us": N, "key": HEX, "signature":
 * HEX} where the signature covers the canonical bytes of {"lease","received_us","sha256"}.
 *
 * Samples and losses are decimal texts, so that nothing is lost on the way. What is computed from
 * them is recomputed by bench_verify and must be equal as text:
 *   median     of all samples of all repeats; the mean of the two in the middle when even
 *   low, high  95 % percentile bootstrap of the median: BENCH_RESAMPLES resamples with replacement,
 *              splitmix64 seeded with BENCH_SEED, order statistics 2.5 % and 97.5 %
 *   seed       with a nonce: the first 8 bytes of SHA-256(nonce), big endian, without the top bit
 *
 *     struct bench_record a, b;
 *     if (bench_read(text, n, &arena, &a, err) < 0 || bench_verify(&a, NULL, err) < 0) ...
 *     bench_compare(&a, &b, &(struct bench_options){.limit = 0.03}, &verdict, err)
 */
#ifndef WIRE_BENCH_H
#define WIRE_BENCH_H
#include "base/core/mem.h"
#include "base/io/crypto.h"
#include "base/io/json.h"

enum {
    BENCH_FILE_MAX = 1 << 20,
    BENCH_SAMPLES_MAX = 10000,
    BENCH_REPEATS_MAX = 100,
    BENCH_RESAMPLES = 2000,
    BENCH_DECIDE_MIN = 10, /* samples below which nothing is called within or worse */
    BENCH_NUMBER = 32,
};
#define BENCH_SEED 0x5eed2026ULL
#define BENCH_LIMIT 0.03 /* "the migration costs less than 3 %" */

/* A record that was read. Everything lives in the arena. */
struct bench_record {
    const struct jr_val *record; /* borrowed from doc */
    struct jr_doc *doc;
    const char *suite, *unit, *nonce, *started;
    bool higher_is_better, reproducible;
    int n, repeats;
    double *samples, *losses; /* losses: of the first repeat */
    int n_losses;
    double median, low, high;
    char median_text[BENCH_NUMBER], low_text[BENCH_NUMBER], high_text[BENCH_NUMBER];
    char checksum[SHA256_HEX]; /* of the numeric result; "" when the repeats differ */
    char sha256[SHA256_HEX];   /* of the record's canonical bytes */
    bool is_signed, emulated;
    const char *lease, *key;
};

/* Reads a record file or a bare {"record"} and computes median, interval and checksum from the
 * samples. SL_INVALID names what is missing or malformed. The file may be an attacker's. */
int bench_read(const char *text, size_t n, struct sl_arena *a, struct bench_record *ret,
               struct sl_err *err);
void bench_close(struct bench_record *r);
/* Does everything that the file states follow from its samples, and is the signature good?
 * key_hex: the control plane's public key, or NULL to believe the file's. SL_INTEGRITY says the
 * first thing that does not hold. */
int bench_verify(const struct bench_record *r, const char *key_hex, struct sl_err *err);
/* Writes the object "result" that belongs to the samples (a runner's last step). */
void bench_result_write(struct jw *w, const struct bench_record *r);
/* Sorts samples, computes median and interval (as texts too). */
void bench_stats(struct bench_record *r, struct sl_arena *a);
int64_t bench_seed_of(const char *nonce);

enum bench_verdict { BENCH_WITHIN, BENCH_WORSE, BENCH_UNDECIDED };
struct bench_options {
    double limit;          /* 0.03 = 3 % */
    double peak_a, peak_b; /* stated peaks (both > 0) to normalise different hardware by, or 0 */
    double loss_tolerance; /* relative difference of the last loss across platforms; 0: 0.01 */
};
struct bench_verdict_t {
    enum bench_verdict verdict;
    double loss, low, high; /* positive: b is slower than a */
    bool hardware_same, software_same, program_same;
    bool is_migration_loss; /* hardware the same, or normalised */
    bool results_agree;     /* same platform: checksums; else: loss curves within the tolerance */
    const char *results_how;
};
/* SL_CONFLICT with the field when the two cannot be compared (other suite, unit or parameter). */
int bench_compare(const struct bench_record *a, const struct bench_record *b,
                  const struct bench_options *o, struct bench_verdict_t *ret, struct sl_err *err);
#endif
