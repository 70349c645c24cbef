/* SPDX-License-Identifier: Apache-2.0
 *
 * hazard.h: what breaks or gets slow when CUDA code runs on an AMD Instinct card: the rules, and
 * the findings they make. One table (hazard_table_*.c) feeds the analyser, the reports, `starport
 * explain`, the pages under docs/porting/ and the tests: each rule carries an example that must be
 * found and a near miss that must not.
 *
 *     struct findings f = {0};
 *     struct hazard_opts o = HAZARD_OPTS_DEFAULT;
 *     hazard_scan(&source, &o, &f);           C and C++ sources: adds findings
 *     for (size_t i = 0; i < f.n; i++) printf("%s\n", f.v[i].rule->id);
 *     findings_free(&f);
 *
 * Ownership: rules and their texts are static; a finding's strings live in the list's arena.
 * Nothing here is shared between threads; scan several files with one list per thread, then
 * findings_move.
 */
#ifndef PORT_HAZARD_H
#define PORT_HAZARD_H
#include "base/core/buf.h"
#include "base/core/mem.h"
#include "port/source.h"

enum hazard_severity { HAZARD_NOTE, HAZARD_WARNING, HAZARD_ERROR, HAZARD_SEVERITIES };
enum hazard_lang { HAZARD_EN, HAZARD_ZH, HAZARD_LANGS };

/* Targets, as a set. */
enum { HAZARD_GFX90A = 1, HAZARD_GFX942 = 2, HAZARD_GFX950 = 4, HAZARD_ALL = 7 };

/* What kind of file a rule reads. */
enum hazard_input {
    HAZARD_IN_SOURCE,
    HAZARD_IN_MAKE,
    HAZARD_IN_CMAKE,
    HAZARD_IN_SETUP,
    HAZARD_IN_PY
};

/* The rules by number: the index into the table and `struct edit.rule` of a fix (plus one). */
enum hazard_no {
    HZ_W1,
    HZ_W2,
    HZ_W3,
    HZ_W4,
    HZ_W5,
    HZ_W6,
    HZ_W7,
    HZ_W8,
    HZ_W9,
    HZ_A1,
    HZ_A2,
    HZ_C1,
    HZ_C2,
    HZ_C3,
    HZ_S1,
    HZ_S2,
    HZ_S3,
    HZ_S4,
    HZ_T1,
    HZ_F1,
    HZ_F2,
    HZ_F3,
    HZ_F4,
    HZ_M1,
    HZ_M2,
    HZ_M3,
    HZ_M4,
    HZ_M5,
    HZ_P1,
    HZ_P2,
    HZ_P3,
    HZ_L1,
    HZ_L2,
    HZ_V1,
    HZ_V2,
    HZ_V3,
    HZ_B1,
    HZ_B2,
    HZ_B3,
    HZ_D1,
    HZ_PY_NVML,
    HZ_PY_CUPY,
    HZ_PY_FP8,
    HZ_PY_SM,
    HZ_PY_NVRTC,
    HZ_PY_TF32,
    HZ_PY_VERSION,
    HZ_PY_ENV,
    HZ_PY_BACKEND,
    HZ_PY_OK,
    HZ_COUNT
};

struct hazard_rule {
    enum hazard_no no;
    const char *id;  /* "SP0101": stable for ever */
    const char *row; /* group and number, "W1" */
    enum hazard_severity severity;
    unsigned targets;
    enum hazard_input input;
    bool fixable; /* an automatic fix exists for some forms */
    const char *title[HAZARD_LANGS];
    const char *advice[HAZARD_LANGS];
    const char *source; /* where the fact is from */
    const char *bad;    /* a small file that is found */
    const char *good;   /* a near miss that is not */
};

/* Never NULL for no < HZ_COUNT. */
const struct hazard_rule *hazard_rule(enum hazard_no no);
/* By id, any case: "SP0101", "sp0101", "W1"; NULL when there is none. */
const struct hazard_rule *hazard_rule_by_id(const char *id);
const char *hazard_severity_name(enum hazard_severity s, enum hazard_lang lang);
/* "gfx90a,gfx942" -> set; 0 when a name is unknown or the list is empty. */
unsigned hazard_targets_parse(const char *list);
/* The set as text, "gfx90a, gfx942". */
const char *hazard_targets_text(unsigned set, char out[32]);

struct hazard_opts {
    unsigned targets; /* only rules that concern one of these report */
    uint32_t rocm;    /* target version as api.h counts: 50700 */
    bool no_fix[HZ_COUNT];
    bool fix; /* fix.h may edit the source */
};
/* The newest ROCm the API table was read from. */
enum { HAZARD_ROCM_NEWEST = 70000 };
#define HAZARD_OPTS_DEFAULT                                                                        \
    ((struct hazard_opts){                                                                         \
        .targets = HAZARD_GFX90A | HAZARD_GFX942, .rocm = HAZARD_ROCM_NEWEST, .fix = true})

struct finding {
    const struct hazard_rule *rule;
    enum hazard_severity
        severity; /* the rule's, or lower where the place is known to be harmless */
    const char *path;
    unsigned line, col;             /* from 1; columns count bytes */
    uint32_t at, n;                 /* bytes in the file that the caret underlines */
    const char *what;               /* the code in question or the name: not translated */
    const char *note[HAZARD_LANGS]; /* more about this very place, or NULL */
    const char *fix;                /* replacement text that is right or a good start, or NULL */
    bool fixed;                     /* the fix was applied to the output */
    const char *text;               /* the whole source line */
};

struct findings {
    struct finding *v;
    size_t n, cap;
    size_t files, changed; /* files read, files with at least one fix or translation */
    struct sl_arena arena;
};

/* Adds a finding at bytes at..at+n; returns it for notes and fixes until the next call. NULL when
 * the rule concerns none of the chosen targets. `path` is copied once per run of equal paths. */
struct finding *findings_add(struct findings *f, const struct hazard_opts *o, struct source *s,
                             enum hazard_no no, size_t at, size_t n, const char *what);
/* The same where there is no struct source (build files, Python). `line_text` is copied. */
struct finding *findings_add_line(struct findings *f, const struct hazard_opts *o, const char *path,
                                  enum hazard_no no, unsigned line, unsigned col, unsigned n,
                                  struct sl_str line_text, const char *what);
/* By path, line, column, rule; drops exact repeats. */
void findings_sort(struct findings *f);
/* Appends from's findings and takes over its memory; from is empty after. */
void findings_move(struct findings *f, struct findings *from);
void findings_free(struct findings *f);
/* Findings of severity s; with unfixed_only those a fix has not settled. */
size_t findings_count(const struct findings *f, enum hazard_severity s, bool unfixed_only);

/* Runs every source rule over one lexed file. */
void hazard_scan(struct source *s, const struct hazard_opts *o, struct findings *f);

/* The rules that have fixes alone, and only in files where one could apply: what `translate` runs.
 * Its findings are those that were fixed or could not be. */
void hazard_fix(struct source *s, const struct hazard_opts *o, struct findings *f);

/* One page per rule in Markdown, English and Chinese; `hazard_page_index` lists them all. */
void hazard_page(const struct hazard_rule *r, struct sl_buf *b);
void hazard_page_index(struct sl_buf *b);
#endif
