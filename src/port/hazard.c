/* SPDX-License-Identifier: Apache-2.0
 * hazard.c: the rule table joined, the list of findings, and the rules' pages. */
#include "port/hazard.h"
#include "port/hazard_table.h"

#include <strings.h>

/* The table in the order of enum hazard_no. Filled once from the parts; the parts are constant, so
 * every thread would write the same pointers. */
static const struct hazard_rule *rule_at(size_t no)
{
    static const struct {
        const struct hazard_rule *v;
        const size_t *n;
    } parts[] = {{hazard_table_wave, &hazard_table_wave_n},
                 {hazard_table_device, &hazard_table_device_n},
                 {hazard_table_memory, &hazard_table_memory_n},
                 {hazard_table_build, &hazard_table_build_n}};
    for (size_t p = 0; p < SL_COUNT(parts); p++)
        for (size_t i = 0; i < *parts[p].n; i++)
            if (parts[p].v[i].no == no)
                return &parts[p].v[i];
    return NULL;
}

const struct hazard_rule *hazard_rule(enum hazard_no no)
{
    const struct hazard_rule *r = rule_at((size_t)no);
    SL_ASSERT(r);
    return r;
}

const struct hazard_rule *hazard_rule_by_id(const char *id)
{
    for (size_t i = 0; i < HZ_COUNT; i++) {
        const struct hazard_rule *r = hazard_rule((enum hazard_no)i);
        if (strcasecmp(id, r->id) == 0 || strcasecmp(id, r->row) == 0)
            return r;
    }
    return NULL;
}

const char *hazard_severity_name(enum hazard_severity s, enum hazard_lang lang)
{
    static const char *const names[HAZARD_SEVERITIES][HAZARD_LANGS] = {
        {"note", "提示"}, {"warning", "警告"}, {"error", "错误"}};
    return names[s][lang];
}

static const char *const target_names[] = {"gfx90a", "gfx942", "gfx950"};

unsigned hazard_targets_parse(const char *list)
{
    unsigned set = 0;
    struct sl_str rest = sl_str(list), piece;
    while (sl_str_cut(&rest, ',', &piece)) {
        unsigned bit = 0;
        for (size_t i = 0; i < SL_COUNT(target_names); i++)
            if (sl_str_eq(piece, sl_str(target_names[i])))
                bit = 1u << i;
        if (!bit)
            return 0;
        set |= bit;
    }
    return set;
}

const char *hazard_targets_text(unsigned set, char out[32])
{
    size_t n = 0;
    out[0] = 0;
    for (size_t i = 0; i < SL_COUNT(target_names); i++)
        if (set & (1u << i))
            n += (size_t)snprintf(out + n, 32 - n, "%s%s", n ? ", " : "", target_names[i]);
    return out;
}

static struct finding *add(struct findings *f, enum hazard_no no, const char *path)
{
    if (f->n == f->cap) {
        f->cap = f->cap ? f->cap * 2 : 64;
        f->v = sl_realloc(f->v, f->cap * sizeof(*f->v));
    }
    struct finding *d = &f->v[f->n];
    memset(d, 0, sizeof(*d));
    d->rule = hazard_rule(no);
    d->severity = d->rule->severity;
    bool same = f->n && sl_streq(f->v[f->n - 1].path, path);
    d->path = same ? f->v[f->n - 1].path : sl_arena_strdup(&f->arena, path);
    f->n++;
    return d;
}

struct finding *findings_add(struct findings *f, const struct hazard_opts *o, struct source *s,
                             enum hazard_no no, size_t at, size_t n, const char *what)
{
    if (!(hazard_rule(no)->targets & o->targets))
        return NULL;
    struct finding *d = add(f, no, s->path);
    source_where(s, at, &d->line, &d->col);
    struct sl_str text = source_line(s, d->line);
    d->at = (uint32_t)at;
    d->n = (uint32_t)n;
    d->what = sl_arena_strdup(&f->arena, what);
    d->text = sl_arena_strndup(&f->arena, text.p, text.n);
    return d;
}

struct finding *findings_add_line(struct findings *f, const struct hazard_opts *o, const char *path,
                                  enum hazard_no no, unsigned line, unsigned col, unsigned n,
                                  struct sl_str line_text, const char *what)
{
    if (!(hazard_rule(no)->targets & o->targets))
        return NULL;
    struct finding *d = add(f, no, path);
    d->line = line;
    d->col = col;
    d->n = n;
    d->what = sl_arena_strdup(&f->arena, what);
    d->text = sl_arena_strndup(&f->arena, line_text.p, line_text.n);
    return d;
}

static int by_place(const void *a, const void *b)
{
    const struct finding *x = a, *y = b;
    int c = x->path == y->path ? 0 : strcmp(x->path, y->path);
    if (c)
        return c;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    if (x->col != y->col)
        return x->col < y->col ? -1 : 1;
    if (x->rule->no != y->rule->no)
        return x->rule->no < y->rule->no ? -1 : 1;
    return strcmp(x->what, y->what);
}

void findings_sort(struct findings *f)
{
    if (!f->n)
        return;
    qsort(f->v, f->n, sizeof(*f->v), by_place);
    size_t n = 1;
    for (size_t i = 1; i < f->n; i++) {
        if (by_place(&f->v[i], &f->v[n - 1]) == 0)
            f->v[n - 1].fixed |= f->v[i].fixed;
        else
            f->v[n++] = f->v[i];
    }
    f->n = n;
}

/* Copies the texts: the two arenas stay apart. */
void findings_move(struct findings *f, struct findings *from)
{
    for (size_t i = 0; i < from->n; i++) {
        struct finding *d = add(f, from->v[i].rule->no, from->v[i].path);
        const char *path = d->path;
        *d = from->v[i];
        d->path = path;
        d->what = sl_arena_strdup(&f->arena, d->what);
        d->text = sl_arena_strdup(&f->arena, d->text);
        for (int l = 0; l < HAZARD_LANGS; l++)
            d->note[l] = d->note[l] ? sl_arena_strdup(&f->arena, d->note[l]) : NULL;
        d->fix = d->fix ? sl_arena_strdup(&f->arena, d->fix) : NULL;
    }
    f->files += from->files;
    f->changed += from->changed;
    findings_free(from);
}

void findings_free(struct findings *f)
{
    free(f->v);
    sl_arena_free(&f->arena);
    *f = (struct findings){0};
}

size_t findings_count(const struct findings *f, enum hazard_severity s, bool unfixed_only)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++)
        n += f->v[i].severity == s && !(unfixed_only && f->v[i].fixed);
    return n;
}

static const char *fence_of(const struct hazard_rule *r)
{
    switch (r->input) {
    case HAZARD_IN_MAKE:
        return "make";
    case HAZARD_IN_CMAKE:
        return "cmake";
    case HAZARD_IN_SETUP:
    case HAZARD_IN_PY:
        return "python";
    default:
        return "cuda";
    }
}

void hazard_page(const struct hazard_rule *r, struct sl_buf *b)
{
    char targets[32];
    sl_buf_printf(
        b, "<!-- Made by `starport explain --docs docs/porting`. Edit the rule table. -->\n");
    sl_buf_printf(b, "# %s: %s\n\n**%s**\n\n", r->id, r->title[HAZARD_EN], r->title[HAZARD_ZH]);
    sl_buf_printf(b, "| | |\n|---|---|\n| Severity | %s |\n| Row | %s |\n| Targets | %s |\n",
                  hazard_severity_name(r->severity, HAZARD_EN), r->row,
                  hazard_targets_text(r->targets, targets));
    sl_buf_printf(b, "| Automatic fix | %s |\n| Source | %s |\n\n",
                  r->fixable ? "where provably right; `--no-fix` turns it off" : "no", r->source);
    sl_buf_printf(b, "## What to do\n\n%s\n\n%s\n\n", r->advice[HAZARD_EN], r->advice[HAZARD_ZH]);
    sl_buf_printf(b, "## Found\n\n```%s\n%s```\n\n", fence_of(r), r->bad);
    sl_buf_printf(b, "## Not found\n\n```%s\n%s```\n", fence_of(r), r->good);
}

void hazard_page_index(struct sl_buf *b)
{
    sl_buf_adds(b, "<!-- Made by `starport explain --docs docs/porting`. Edit the rule table. -->\n"
                   "# Hazards\n\nEach finding of `starport examine` carries one of these ids; "
                   "`starport explain ID` prints its page.\n\n"
                   "| Id | Severity | Fix | What | 说明 |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < HZ_COUNT; i++) {
        const struct hazard_rule *r = hazard_rule((enum hazard_no)i);
        sl_buf_printf(b, "| [%s](%s.md) | %s | %s | %s | %s |\n", r->id, r->id,
                      hazard_severity_name(r->severity, HAZARD_EN), r->fixable ? "yes" : "",
                      r->title[HAZARD_EN], r->title[HAZARD_ZH]);
    }
}
