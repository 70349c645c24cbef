/* SPDX-License-Identifier: Apache-2.0
 *
 * price_file.h: price and model files (CSV with a header line, # comments, RFC 4180 quotes). Used
 * by the server's import and by `starlease price|compare --file`, which need no server.
 *
 *     struct price_file f;
 *     if (price_file_parse("seed.csv", text, n, &arena, &f, err) < 0) ...    names line and column
 *
 * Columns of a price file: model, price, currency (required); memory_gb_told, memory_gb,
 * memory_type, unit (gpu_hour; for model cpu instance_hour, for model disk gb_month),
 * cost_per_gb_told, frameworks, note, offer, seen (a date), source. Of a model file: name, maker,
 * memory_type, memory_bytes, devices_per_card, gfx, partition_modes (required), source. An unknown
 * or repeated column, a missing field and a file over PRICE_FILE_MAX are errors.
 */
#ifndef WIRE_PRICE_FILE_H
#define WIRE_PRICE_FILE_H
#include "base/core/mem.h"
#include "base/core/money.h"
#include "base/io/json.h"

enum { PRICE_FILE_MAX = 1 << 20, PRICE_ROWS_MAX = 10000, PRICE_FLAG = 160 };

struct price_row { /* strings live in the arena; "" when absent */
    const char *model, *memory_type, *currency, *unit, *cost_per_gb_told, *frameworks, *note,
        *offer, *source;
    int64_t memory_gb_told, memory_gb; /* 0 when absent */
    int64_t price_micro;               /* per GPU-hour, > 0 */
    int64_t seen_us;                   /* 0 when absent */
    int line;
};
struct price_file {
    const char *name;
    struct price_row *rows;
    int n;
};
struct model_row {
    const char *name, *maker, *memory_type, *gfx, *partition_modes, *source;
    int64_t memory_bytes, devices_per_card;
    int line;
};
struct model_file {
    struct model_row *rows;
    int n;
};

/* Public images by reference, and what cards need of ROCm and kernel (docs/images.md). */
struct catalogue_row {
    const char *name, *reference, *rocm, *frameworks, *note, *source;
    int line;
};
struct compat_row {
    const char *gfx, *rocm_min, *kernel_min, *source;
    int line;
};
struct catalogue_file {
    struct catalogue_row *rows;
    int n;
};
struct compat_file {
    struct compat_row *rows;
    int n;
};

int catalogue_file_parse(const char *name, const char *text, size_t n, struct sl_arena *arena,
                         struct catalogue_file *ret, struct sl_err *err);
int compat_file_parse(const char *name, const char *text, size_t n, struct sl_arena *arena,
                      struct compat_file *ret, struct sl_err *err);
/* "6.4" -> 6004, "5.10.3" -> 5010; 0 when it is not NUMBER.NUMBER. */
int version_number(const char *text);

int price_file_parse(const char *name, const char *text, size_t n, struct sl_arena *arena,
                     struct price_file *ret, struct sl_err *err);
int model_file_parse(const char *name, const char *text, size_t n, struct sl_arena *arena,
                     struct model_file *ret, struct sl_err *err);
/* Reads a whole file of at most PRICE_FILE_MAX bytes into the arena. */
int price_file_read(const char *path, struct sl_arena *arena, const char **ret_text, size_t *ret_n,
                    struct sl_err *err);
/* Price per GB of memory and hour with 3 decimals, rounded half up once, or "" when gb is 0. */
const char *price_per_gb(int64_t price_micro, int64_t gb, char out[SL_MONEY_TEXT]);
/* What differs between the memory that is told, the maker's and what nodes report (0 = unknown):
 * "told 96 GB, the maker says 192 GB", or "" when nothing does. Returns out. */
const char *price_memory_flag(int64_t told_gb, int64_t maker_gb, int64_t reported_gb,
                              char out[PRICE_FLAG]);
/* Bytes -> whole GB as cards are sold (2^30, rounded to the nearest). */
int64_t memory_gb_of(int64_t bytes);
/* One row as the API's Price object has it, for `price list --file -o json`. */
void price_row_write(struct jw *w, const char *key, const struct price_row *row);
#endif
