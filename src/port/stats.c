/* SPDX-License-Identifier: Apache-2.0 */
#include "port/stats.h"
#include <stdlib.h>

static size_t newlines(const char *p, size_t n)
{
    size_t k = 0;
    for (const char *end = p + n; (p = memchr(p, '\n', (size_t)(end - p))) != NULL; p++)
        k++;
    return k;
}

static bool is_problem(const struct port_note *n, bool all)
{
    if (n->what == PORT_LAUNCH)
        return false;
    return all || (n->what != PORT_CUDA_DEPRECATED && n->what != PORT_CUDA_REMOVED);
}

void stats_of(struct source *s, const struct port_result *r, bool roc, struct port_stats *st)
{
    *st = (struct port_stats){.lines = newlines(s->p, s->n), .bytes = s->n};
    port_result_add(&st->r, r);
    for (size_t i = 0; i < r->n_notes; i++)
        st->warnings += is_problem(&r->notes[i], true);
    unsigned before = 0, line;
    for (size_t i = 0; i < s->n_edits; i++) {
        st->replaced_bytes += s->edits[i].n;
        source_where(s, s->edits[i].at, &line, NULL);
        st->changed_lines += line != before;
        before = line;
    }
}

void stats_add(struct port_stats *total, const struct port_stats *st)
{
    port_result_add(&total->r, &st->r);
    total->warnings += st->warnings;
    total->lines += st->lines;
    total->changed_lines += st->changed_lines;
    total->bytes += st->bytes;
    total->replaced_bytes += st->replaced_bytes;
}

void stats_free(struct port_stats *st)
{
    port_result_free(&st->r);
}

static int by_name(const void *a, const void *b)
{
    struct api x, y;
    api_get(*(const int *)a, &x);
    api_get(*(const int *)b, &y);
    return strcmp(x.cuda, y.cuda);
}

/* Ids with a count, sorted by name; *ret_n of them. Owned by the caller. */
static int *used(const uint32_t *counts, int *ret_n)
{
    int n = 0, *ids = sl_alloc((size_t)(api_count() + 1) * sizeof *ids);
    for (int id = 0; counts && id < api_count(); id++)
        if (counts[id])
            ids[n++] = id;
    qsort(ids, (size_t)n, sizeof *ids, by_name);
    *ret_n = n;
    return ids;
}

static const char *target_of(int id, bool roc)
{
    return roc && *api_roc(id) ? api_roc(id) : api_hip(id);
}

static double percent(size_t part, size_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void print_topics(FILE *f, const uint32_t *counts, const char *format)
{
    for (int t = 0; t < api_topic_count(); t++) {
        size_t n = 0;
        for (int id = 0; counts && id < api_count(); id++)
            n += api_topic(id) == t ? counts[id] : 0;
        if (n)
            fprintf(f, format, api_topic_name(t), n);
    }
}

/* Launches count as converted references under this name, as HIPIFY counts them. */
static size_t refs(const struct port_stats *st)
{
    return st->r.n_converted + st->r.n_launches;
}

void stats_print(FILE *f, const char *name, const struct port_stats *st, bool roc)
{
    fprintf(f, "\n[HIPIFY] info: file '%s' statistics:\n", name);
    fprintf(f, "  CONVERTED refs count: %zu\n  UNCONVERTED refs count: %zu\n", refs(st),
            st->r.n_missed);
    fprintf(f, "  CONVERSION %%: %.1f\n", percent(refs(st), refs(st) + st->r.n_missed));
    fprintf(f, "  REPLACED bytes: %zu\n  TOTAL bytes: %zu\n", st->replaced_bytes, st->bytes);
    fprintf(f, "  CHANGED lines of code: %zu\n  TOTAL lines of code: %zu\n", st->changed_lines,
            st->lines);
    fprintf(f, "  CODE CHANGED (in bytes) %%: %.1f\n  CODE CHANGED (in lines) %%: %.1f\n",
            percent(st->replaced_bytes, st->bytes), percent(st->changed_lines, st->lines));
    fprintf(f, "  WARNINGS: %zu\n", st->warnings);
    fprintf(f, "[HIPIFY] info: CONVERTED refs by type:\n");
    print_topics(f, st->r.converted, "  %s: %zu\n");
    if (st->r.n_launches)
        fprintf(f, "  kernel_launch: %zu\n", st->r.n_launches);
    fprintf(f, "[HIPIFY] info: CONVERTED refs by names:\n");
    int n, *ids = used(st->r.converted, &n);
    for (int i = 0; i < n; i++) {
        struct api a;
        api_get(ids[i], &a);
        fprintf(f, "  %s => %s: %u\n", a.cuda, target_of(ids[i], roc), st->r.converted[ids[i]]);
    }
    free(ids);
    ids = used(st->r.missed, &n);
    if (n)
        fprintf(f, "[HIPIFY] info: UNCONVERTED refs by names:\n");
    for (int i = 0; i < n; i++) {
        struct api a;
        api_get(ids[i], &a);
        fprintf(f, "  %s: %u\n", a.cuda, st->r.missed[ids[i]]);
    }
    free(ids);
}

static void csv_names(FILE *f, const char *title, const uint32_t *counts)
{
    int n, *ids = used(counts, &n);
    if (n)
        fprintf(f, "\n%s;Count\n", title);
    for (int i = 0; i < n; i++) {
        struct api a;
        api_get(ids[i], &a);
        fprintf(f, "%s;%u\n", a.cuda, counts[ids[i]]);
    }
    free(ids);
}

void stats_print_csv(FILE *f, const char *name, const struct port_stats *st, bool roc)
{
    fprintf(f, "file '%s' statistics:\n", name);
    fprintf(f, "CONVERTED refs count;%zu\nUNCONVERTED refs count;%zu\n", refs(st), st->r.n_missed);
    fprintf(f, "CONVERSION %%;%.1f\n", percent(refs(st), refs(st) + st->r.n_missed));
    fprintf(f, "REPLACED bytes;%zu\nTOTAL bytes;%zu\n", st->replaced_bytes, st->bytes);
    fprintf(f, "CHANGED lines of code;%zu\nTOTAL lines of code;%zu\n", st->changed_lines,
            st->lines);
    fprintf(f, "CODE CHANGED (in bytes) %%;%.1f\nCODE CHANGED (in lines) %%;%.1f\n",
            percent(st->replaced_bytes, st->bytes), percent(st->changed_lines, st->lines));
    fprintf(f, "\nCUDA ref type;Count\n");
    print_topics(f, st->r.converted, "%s;%zu\n");
    csv_names(f, "CUDA ref name", st->r.converted);
    csv_names(f, "UNCONVERTED CUDA ref name", st->r.missed);
}

size_t stats_warnings(FILE *f, struct source *s, const struct port_result *r, bool all)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_notes; i++) {
        const struct port_note *note = &r->notes[i];
        if (!is_problem(note, all))
            continue;
        unsigned line, col;
        char text[200] = "";
        struct api a = {.cuda = "", .note = ""};
        if (note->id >= 0)
            api_get(note->id, &a);
        source_where(s, note->at, &line, &col);
        const char *what = port_what_text(note->what), *arg = strstr(what, "%s");
        if (arg)
            snprintf(text, sizeof text, "%.*s%s%s", (int)(arg - what), what, a.cuda, arg + 2);
        else
            snprintf(text, sizeof text, "%s", what);
        fprintf(f, "%s:%u:%u: warning: %s%s%s\n", s->path, line, col, text, *a.note ? "; " : "",
                a.note);
        n++;
    }
    return n;
}
