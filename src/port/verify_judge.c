/* SPDX-License-Identifier: Apache-2.0
 *
 * verify_judge.c: findings from the runs: the runtime's reports with their source lines, and the
 * comparison of what the runs wrote.
 */
#include "port/verify.h"
#include "base/io/proc.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void verify_add(struct verify *v, enum verify_severity s, const char *kind, const char *file,
                unsigned line, int wave, const char *text)
{
    if (v->n == v->cap)
        v->v = sl_realloc(v->v, (v->cap = v->cap ? v->cap * 2 : 16) * sizeof *v->v);
    v->v[v->n++] = (struct verify_finding){
        s, sl_strdup(kind), file ? sl_strdup(file) : NULL, sl_strdup(text), line, wave};
}

/* --- addresses to lines
 * --------------------------------------------------------------------------- */
struct place {
    unsigned long address;
    char *file; /* NULL: unknown */
    unsigned line;
};
struct places {
    struct place *v;
    size_t n, cap;
};

static void place_want(struct places *p, unsigned long address)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].address == address)
            return;
    if (p->n == p->cap)
        p->v = sl_realloc(p->v, (p->cap = p->cap ? p->cap * 2 : 32) * sizeof *p->v);
    p->v[p->n++] = (struct place){address, NULL, 0};
}

static const struct place *place_get(const struct places *p, unsigned long address)
{
    static const struct place none;
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].address == address)
            return &p->v[i];
    return &none;
}

static void places_free(struct places *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->v[i].file);
    free(p->v);
}

/* Debug information has absolute names; a message has the name that the user gave. */
static const char *as_given(const struct verify *v, const char *file)
{
    SL_AUTO_FREE char *here = getcwd(NULL, 0);
    size_t n = here ? strlen(here) : 0;
    if (!n || strncmp(file, here, n) != 0 || file[n] != '/')
        return file;
    for (size_t i = 0; i < v->stage.n; i++)
        if (sl_streq(v->stage.v[i].path, file + n + 1))
            return file + n + 1;
    return file;
}

/* The call itself, then what stands around it: the optimizer may have left a call without a frame
 * of the user's own. */
static const int nearby[] = {-1, 0, 6, -12, 12};

/* addr2line prints for each address: the address, then function and file:line, innermost first. The
 * first frame that is not the shim's own is the user's. */
static void places_read(struct places *p, const struct verify *v, const struct sl_buf *out)
{
    struct sl_str rest = {sl_buf_str(out), out->n}, line;
    struct place *at = NULL;
    size_t next = 0;
    bool is_function = true;
    while (sl_str_cut(&rest, '\n', &line)) {
        if (line.n > 2 && line.p[0] == '0' && line.p[1] == 'x') {
            at = next < p->n * SL_COUNT(nearby) ? &p->v[next / SL_COUNT(nearby)] : NULL;
            next++;
            is_function = true;
            continue;
        }
        is_function = !is_function;
        const char *colon = line.n ? memrchr(line.p, ':', line.n) : NULL;
        if (!is_function || !at || at->file || !colon)
            continue;
        SL_AUTO_FREE char *file = sl_strndup(line.p, (size_t)(colon - line.p));
        if (strtoul(colon + 1, NULL, 10) == 0 || strstr(file, "/shim/") || file[0] == '?' ||
            strncmp(file, "/usr/", 5) == 0 || strstr(file, v->shim))
            continue;
        at->file = sl_strdup(as_given(v, file));
        at->line = (unsigned)strtoul(colon + 1, NULL, 10);
    }
}

static void places_resolve(struct places *p, const struct verify *v, int wave)
{
    if (p->n == 0)
        return;
    struct argv a = {0};
    struct cc_job j = {.argv = &a, .timeout_s = 60};
    argv_add(&a, cc_have("addr2line") ? "addr2line" : "llvm-addr2line-19");
    argv_add(&a, "-afi");
    argv_add(&a, "-e");
    if (v->fixed_wave)
        argv_addf(&a, "%s%d", v->program, wave);
    else
        argv_add(&a, v->program);
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < SL_COUNT(nearby); k++)
            argv_addf(&a, "0x%lx",
                      p->v[i].address ? p->v[i].address + (unsigned long)nearby[k] : 0);
    cc_run(&j, 1, 1);
    if (j.status == 0)
        places_read(p, v, &j.out);
    cc_job_free(&j);
    argv_free(&a);
}

/* --- the runtime's reports
 * -------------------------------------------------------------------------- */
static const struct {
    const char *kind, *rule; /* rule: the hazard it is an instance of */
    enum verify_severity severity;
} kinds[] = {{"mask", "W1", VERIFY_FINDING},   {"spin", "W8", VERIFY_FINDING},
             {"bounds", "", VERIFY_FINDING},   {"barrier", "", VERIFY_FINDING},
             {"timeout", "", VERIFY_FINDING},  {"fault", "", VERIFY_FINDING},
             {"lds", "S1", VERIFY_FINDING},    {"device-launch", "P1", VERIFY_FINDING},
             {"copy", "", VERIFY_FINDING},     {"barrier-exit", "", VERIFY_NOTE},
             {"not-emulated", "", VERIFY_NOTE}};

static enum verify_severity kind_severity(const struct verify *v, const char *kind)
{
    for (size_t i = 0; i < SL_COUNT(kinds); i++)
        if (sl_streq(kinds[i].kind, kind))
            return v->opts->strict ? VERIFY_FINDING : kinds[i].severity;
    return VERIFY_FINDING;
}

/* Addresses in "(other=4015d0,401234)" of a report. */
static void others_want(const char *text, struct places *p)
{
    const char *o = strstr(text, "(other=");
    for (o = o ? o + 7 : NULL; o && *o && *o != ')';) {
        char *end;
        place_want(p, strtoul(o, &end, 16));
        o = end > o && *end == ',' ? end + 1 : NULL;
    }
}

/* The first of them that is the user's. */
static const struct place *others_get(const char *text, const struct places *p)
{
    const char *o = strstr(text, "(other=");
    for (o = o ? o + 7 : NULL; o && *o && *o != ')';) {
        char *end;
        const struct place *at = place_get(p, strtoul(o, &end, 16));
        if (at->file)
            return at;
        o = end > o && *end == ',' ? end + 1 : NULL;
    }
    return place_get(p, 0);
}

/* "(other=...)" becomes "(the others: file:line)"; it goes when it is the finding's own place. */
static char *other_place(const char *text, const struct places *p, const struct place *own)
{
    const char *o = strstr(text, "(other="), *end = o ? strchr(o, ')') : NULL;
    if (!end)
        return sl_strdup(text);
    const struct place *at = others_get(text, p);
    if (!at->file || at == own)
        return sl_asprintf("%.*s%s", (int)(o - text - (o > text)), text, end + 1);
    return sl_asprintf("%.*s(the others: %s:%u)%s", (int)(o - text), text, at->file, at->line,
                       end + 1);
}

static void report_line(struct verify *v, const struct verify_run *r, struct sl_str line,
                        struct places *p, bool collect)
{
    SL_AUTO_FREE char *s = sl_strndup(line.p, line.n);
    char *tab = strchr(s, '\t'), *tab2 = tab ? strchr(tab + 1, '\t') : NULL;
    if (!tab2)
        return;
    *tab = *tab2 = 0;
    unsigned long address = strtoul(tab + 1, NULL, 16);
    if (collect) {
        place_want(p, address);
        others_want(tab2 + 1, p);
        return;
    }
    bool stopped = sl_streq(s, "timeout") || sl_streq(s, "fault"); /* others: the callers */
    const struct place *at = place_get(p, address);
    if (!at->file)
        at = others_get(tab2 + 1, p);
    SL_AUTO_FREE char *text = other_place(tab2 + 1, p, stopped ? others_get(tab2 + 1, p) : at);
    for (size_t i = 0; i < v->n; i++) { /* seen in the other run: one finding */
        struct verify_finding *f = &v->v[i];
        if (f->line == at->line && f->file && at->file && sl_streq(f->file, at->file) &&
            sl_streq(f->kind, s)) {
            f->wave = f->wave == r->wave ? f->wave : 0;
            return;
        }
    }
    verify_add(v, kind_severity(v, s), s, at->file, at->line, r->wave, text);
}

static void reports(struct verify *v, const struct verify_run *r)
{
    struct places p = {0};
    for (int pass = 0; pass < 2; pass++) {
        struct sl_str rest = {sl_buf_str(&r->report), r->report.n}, line;
        while (sl_str_cut(&rest, '\n', &line))
            report_line(v, r, line, &p, pass == 0);
        if (pass == 0)
            places_resolve(&p, v, r->wave);
    }
    places_free(&p);
}

/* --- comparisons --- */
enum { DIFFERENCES_MAX = 50 }; /* of one comparison that are listed */

static void output_finding(struct verify *v, const char *kind, const struct sl_buf *a,
                           const struct sl_buf *b, const char *name_a, const char *name_b,
                           unsigned line, int wave)
{
    struct sl_str la = verify_line(a, line), lb = verify_line(b, line);
    SL_AUTO_FREE char *text = sl_asprintf("line %u of the output: \"%.*s\" (%s), \"%.*s\" (%s)",
                                          line, (int)(la.n > 120 ? 120 : la.n), la.p, name_a,
                                          (int)(lb.n > 120 ? 120 : lb.n), lb.p, name_b);
    verify_add(v, VERIFY_FINDING, kind, NULL, 0, wave, text);
}

/* Index of the first copy from `from` on that differs, or -1; a different number of copies counts
 * as the first extra one. Copies that differ from `again` (the same wave size once more) do not
 * count. */
static long copies_differ(const struct verify *v, const struct verify_run *a,
                          const struct verify_run *b, const struct verify_run *again, size_t from,
                          size_t *ret_at)
{
    size_t n = a->n_copies < b->n_copies ? a->n_copies : b->n_copies;
    for (size_t i = from; i < n; i++) {
        const struct verify_copy *x = &a->copies[i], *y = &b->copies[i];
        const struct verify_copy *z = again && i < again->n_copies ? &again->copies[i] : NULL;
        *ret_at = 0;
        if (x->n == y->n &&
            (*ret_at = verify_diff_bytes(x->bytes, y->bytes, x->n, v->tolerance)) == x->n)
            continue;
        if (z && z->n == x->n && verify_diff_bytes(x->bytes, z->bytes, x->n, v->tolerance) != x->n)
            continue;
        return (long)i;
    }
    return a->n_copies == b->n_copies || from > n ? -1 : (long)n;
}

static void copy_finding(struct verify *v, const struct verify_run *a, const struct verify_run *b,
                         long i, size_t at)
{
    if ((size_t)i >= a->n_copies || (size_t)i >= b->n_copies) {
        SL_AUTO_FREE char *text = sl_asprintf(
            "%zu copies to the host with wave 32, %zu with wave 64", a->n_copies, b->n_copies);
        verify_add(v, VERIFY_FINDING, "copies", NULL, 0, 0, text);
        return;
    }
    const struct verify_copy *x = &a->copies[i], *y = &b->copies[i];
    struct places p = {0};
    place_want(&p, x->place);
    places_resolve(&p, v, 32);
    size_t w = at / 4 * 4;
    char value[160] = "";
    if (w + 4 <= x->n && w + 4 <= y->n) {
        int32_t ix, iy;
        float fx, fy;
        memcpy(&ix, x->bytes + w, 4);
        memcpy(&iy, y->bytes + w, 4);
        memcpy(&fx, x->bytes + w, 4);
        memcpy(&fy, y->bytes + w, 4);
        snprintf(value, sizeof value, ": as int %d (wave 32), %d (wave 64); as float %g, %g", ix,
                 iy, (double)fx, (double)fy);
    }
    SL_AUTO_FREE char *text = sl_asprintf("copy %ld to the host (%zu bytes) differs at byte %zu%s",
                                          i + 1, (size_t)x->n, at, value);
    verify_add(v, VERIFY_FINDING, "copy-differs", p.v[0].file, p.v[0].line, 0, text);
    places_free(&p);
}

static bool runs_differ(struct verify *v, int a, int b, const struct verify_run *again)
{
    size_t at;
    const struct verify_run *x = &v->runs[a], *y = &v->runs[b];
    return x->status != y->status ||
           verify_diff_text(&x->out, &y->out, again ? &again->out : NULL, 0, v->tolerance) ||
           copies_differ(v, x, y, again, 0, &at) >= 0;
}

static void output_findings(struct verify *v, const char *kind, const struct sl_buf *a,
                            const struct sl_buf *b, const struct sl_buf *again, const char *name_a,
                            const char *name_b, int wave)
{
    unsigned line = 0;
    for (int n = 0; n < DIFFERENCES_MAX; n++) {
        line = verify_diff_text(a, b, again, line, v->tolerance);
        if (!line)
            return;
        output_finding(v, kind, a, b, name_a, name_b, line, wave);
    }
}

static void pair_findings(struct verify *v, int a, int b, const struct verify_run *again)
{
    const struct verify_run *x = &v->runs[a], *y = &v->runs[b];
    size_t at = 0;
    if (x->status != y->status) {
        SL_AUTO_FREE char *text =
            sl_asprintf("exit status %d with wave 32, %d with wave 64", x->status, y->status);
        verify_add(v, VERIFY_FINDING, "exit-differs", NULL, 0, 0, text);
    }
    output_findings(v, "output-differs", &x->out, &y->out, again ? &again->out : NULL, "wave 32",
                    "wave 64", 0);
    long copy = copies_differ(v, x, y, again, 0, &at);
    for (int n = 0; n < DIFFERENCES_MAX && copy >= 0; n++) {
        copy_finding(v, x, y, copy, at);
        copy = copies_differ(v, x, y, again, (size_t)copy + 1, &at);
    }
}

/* Two runs that differ are made again, block after block: what then is the same was the order of
 * blocks, and what differs between two runs of one wave size is time or chance. */
static int compare_waves(struct verify *v, struct sl_err *err)
{
    if (!runs_differ(v, RUN_32, RUN_64, NULL))
        return 0;
    if (v->runs[RUN_32].status == 124 || v->runs[RUN_64].status == 124) {
        pair_findings(v, RUN_32, RUN_64, NULL); /* one did not end: no need to wait for it again */
        return 0;
    }
    if (verify_run_one(v, RUN_32_ONE, 32, true, err) < 0 ||
        verify_run_one(v, RUN_64_ONE, 64, true, err) < 0 ||
        verify_run_one(v, RUN_32_AGAIN, 32, true, err) < 0)
        return -1;
    const struct verify_run *again = &v->runs[RUN_32_AGAIN];
    if (runs_differ(v, RUN_32_ONE, RUN_64_ONE, again))
        pair_findings(v, RUN_32_ONE, RUN_64_ONE, again);
    else
        verify_add(v, VERIFY_NOTE, "order", NULL, 0, 0,
                   "the output depends on time or on the order of blocks, not on the wave size");
    return 0;
}

static int compare_reference(struct verify *v, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf ref = SL_BUF(64 << 20);
    if (!v->opts->reference)
        return 0;
    if (file_read(v->opts->reference, 64 << 20, &ref, err) < 0)
        return -1;
    for (int i = 0; i < 2; i++) {
        const struct verify_run *r = &v->runs[i ? RUN_64 : RUN_32];
        if (v->waves[i])
            output_findings(v, "reference-differs", &ref, &r->out, NULL, "reference",
                            i ? "wave 64" : "wave 32", r->wave);
    }
    return 0;
}

int verify_judge(struct verify *v, struct sl_err *err)
{
    for (int i = 0; i < 2; i++)
        if (v->waves[i])
            reports(v, &v->runs[i ? RUN_64 : RUN_32]);
    if (v->waves[0] && v->waves[1] && compare_waves(v, err) < 0)
        return -1;
    return compare_reference(v, err);
}
