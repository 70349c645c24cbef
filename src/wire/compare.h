/* SPDX-License-Identifier: Apache-2.0
 *
 * compare.h: what the same job costs on several models, in several currencies. A ratio between two
 * currencies needs a dated exchange rate, else it is refused.
 *
 *     starlease compare --file prices/seed.csv '8xMI300X:24h' '8xH100 SXM:24h' --fx
 * USD/CNY=7.10@2026-11-30
 *
 * A job is NxMODEL[@OFFER]:DURATION; the offer is needed only where the file has several for the
 * model.
 */
#ifndef WIRE_COMPARE_H
#define WIRE_COMPARE_H
#include "wire/price_file.h"

enum { COMPARE_JOBS_MAX = 16, COMPARE_FX_MAX = 8 };

struct fx { /* 1 base = rate quote */
    char base[4], quote[4];
    int64_t rate_micro;
    int64_t day_us;
    char day[16]; /* as written */
};
struct job {
    const char *model, *offer; /* arena; offer "" when not given */
    int64_t gpus, seconds;
    const char *text; /* as written */
};
struct compare_line {
    struct job job;
    const struct price_row *price;
    int64_t total_micro;     /* in price->currency */
    bool converted;          /* false: no rate to the first job's currency was given */
    int64_t converted_micro; /* in the first job's currency */
    const struct fx *fx;     /* used for it, or NULL when the currency is the same */
    bool has_ratio;
    int64_t ratio_centi; /* converted / first, hundredths, rounded half up */
};
struct compare_result {
    int n;
    struct compare_line lines[COMPARE_JOBS_MAX];
    bool refused; /* at least one ratio could not be given: exit non-zero */
    char refusal[400];
};

/* "USD/CNY=7.10@2026-11-30"; the date is required. */
int fx_parse(const char *text, struct fx *ret, struct sl_err *err);
int job_parse(const char *text, struct sl_arena *arena, struct job *ret, struct sl_err *err);
/* rows may come from a file or from the API. SL_NOT_FOUND names models that exist; several offers
 * without a choice are SL_INVALID and named. A missing exchange rate is not an error but `refused`.
 */
int compare_run(const struct price_row *rows, int n_rows, const struct job *jobs, int n_jobs,
                const struct fx *fx, int n_fx, struct compare_result *ret, struct sl_err *err);
void compare_write_text(const struct compare_result *r, struct sl_buf *out);
void compare_write_json(const struct compare_result *r, struct jw *w, const char *key);
#endif
