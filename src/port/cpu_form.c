/* SPDX-License-Identifier: Apache-2.0 */
#include "port/cpu_form.h"
#include "base/core/mem.h"
#include "port/source.h"

enum { DECL_TOKENS = 512, DECLARATORS = 16 };

/* `template <...> ... __global__ ... name (`: the index of name, or SIZE_MAX. i is `template`. */
static size_t template_kernel(struct lex *l, size_t i)
{
    size_t lt = lex_next_code(l, i);
    size_t gt = lt < l->n && lex_punct(l, lt, '<') ? lex_angle_close(l, lt) : SIZE_MAX;
    bool global = false;
    if (gt == SIZE_MAX)
        return SIZE_MAX;
    for (size_t k = lex_next_code(l, gt); k < l->n && k < gt + 200; k = lex_next_code(l, k)) {
        if (lex_is(l, k, "__global__"))
            global = true;
        if (lex_punct(l, k, ';') || lex_punct(l, k, '{'))
            return SIZE_MAX;
        if (!lex_punct(l, k, '('))
            continue;
        size_t name = lex_prev_code(l, k);
        bool attribute = lex_is(l, name, "__launch_bounds__") || lex_is(l, name, "__attribute__");
        if (!attribute)
            return global && l->v[name].kind == LEX_IDENT ? name : SIZE_MAX;
        if ((k = lex_close(l, k)) == SIZE_MAX)
            return SIZE_MAX;
    }
    return SIZE_MAX;
}

void cpu_form_kernels(const char *p, size_t n, struct sl_map *templates)
{
    static int yes;
    struct lex l = {0};
    lex_run(&l, p, n);
    for (size_t i = 0; i < l.n; i++) {
        if (l.v[i].kind != LEX_IDENT || !lex_is(&l, i, "template"))
            continue;
        size_t k = template_kernel(&l, i);
        if (k != SIZE_MAX)
            *sl_map_put(templates, lex_text(&l, k), l.v[k].n) = &yes;
    }
    lex_free(&l);
}

/* --- launches -----------------------------------------------------------------------------------
 */
/* The kernel's own name in the first argument of a launch: the last identifier before `<`, `,`. */
static size_t kernel_name(struct lex *l, size_t open)
{
    size_t name = SIZE_MAX, i = lex_next_code(l, open);
    for (size_t steps = 0; i < l->n && steps < 64; i = lex_next_code(l, i), steps++) {
        if (l->v[i].kind == LEX_IDENT && !lex_is(l, i, "HIP_KERNEL_NAME"))
            name = i;
        else if (!lex_punct(l, i, '(') && !lex_punct(l, i, LEX_P_SCOPE) &&
                 l->v[i].kind != LEX_COMMENT && l->v[i].kind != LEX_IDENT)
            break;
    }
    return name;
}

static void form_launch(struct source *s, size_t i, const struct sl_map *templates)
{
    struct lex *l = &s->lex;
    size_t open = lex_next_code(l, i);
    if (open >= l->n || !lex_punct(l, open, '('))
        return;
    size_t name = kernel_name(l, open);
    if (name != SIZE_MAX && sl_map_get(templates, lex_text(l, name), l->v[name].n))
        source_edit(s, l->v[i].at, l->v[i].n, "starport_launch_deduced", 23, EDIT_LAUNCH);
}

/* --- shared declarations -------------------------------------------------------------------------
 */
struct decl {
    size_t first, last; /* tokens of the whole statement, `;` included */
    size_t type_end;    /* first token after the type */
    size_t from[DECLARATORS], name[DECLARATORS], to[DECLARATORS]; /* to: one past the last */
    size_t n;
    bool is_extern, multi; /* multi: extern with more than one dimension */
};

static bool is_attribute(struct lex *l, size_t i)
{
    return lex_is(l, i, "__align__") || lex_is(l, i, "alignas") || lex_is(l, i, "__attribute__");
}

/* Back from `__shared__` to the first token of the statement. */
static size_t decl_start(struct lex *l, size_t i)
{
    for (size_t k = i, steps = 0; steps < 32; steps++) {
        size_t p = lex_prev_code(l, k);
        if (p == SIZE_MAX)
            return k;
        if (lex_punct(l, p, ')')) {
            size_t open = lex_open(l, p),
                   word = open == SIZE_MAX ? SIZE_MAX : lex_prev_code(l, open);
            if (word == SIZE_MAX || !is_attribute(l, word))
                return k;
            k = word;
            continue;
        }
        if (l->v[p].kind != LEX_IDENT && !lex_punct(l, p, LEX_P_SCOPE) && !lex_punct(l, p, '>') &&
            !lex_punct(l, p, '*'))
            return k;
        if (lex_punct(l, p, '>') && (p = lex_angle_open(l, p)) == SIZE_MAX)
            return k;
        k = p;
    }
    return i;
}

/* Walks over the type; returns the first token that is no part of it, or SIZE_MAX. The name of the
 * first declarator is the identifier right before one of [ ; , = at depth 0. */
static size_t decl_type_end(struct lex *l, size_t i)
{
    size_t last_ident = SIZE_MAX;
    for (size_t steps = 0; i < l->n && steps < DECL_TOKENS; i = lex_next_code(l, i), steps++) {
        if (lex_punct(l, i, '*') || lex_punct(l, i, '&'))
            return i;
        if (lex_punct(l, i, '[') || lex_punct(l, i, ';') || lex_punct(l, i, ','))
            return last_ident;
        if (lex_punct(l, i, '<') || lex_punct(l, i, '{') || lex_punct(l, i, '(')) {
            bool paren = lex_punct(l, i, '('), angle = lex_punct(l, i, '<');
            size_t before = lex_prev_code(l, i);
            if (paren && (before == SIZE_MAX ||
                          (!is_attribute(l, before) && !lex_is(l, before, "decltype"))))
                return SIZE_MAX;
            i = angle ? lex_angle_close(l, i) : lex_close(l, i);
            if (i == SIZE_MAX)
                return SIZE_MAX;
        } else if (l->v[i].kind == LEX_IDENT) {
            last_ident = i;
        } else if (!lex_punct(l, i, LEX_P_SCOPE)) {
            return SIZE_MAX;
        }
    }
    return SIZE_MAX;
}

/* One declarator from token i: its name and the token after it; false when it is none of ours. */
static bool declarator(struct lex *l, struct decl *d, size_t *i)
{
    size_t k = *i, dims = 0;
    if (d->n == DECLARATORS)
        return false;
    d->from[d->n] = k;
    while (k < l->n && (lex_punct(l, k, '*') || lex_is(l, k, "const") || lex_is(l, k, "volatile") ||
                        lex_is(l, k, "__restrict__")))
        k = lex_next_code(l, k);
    if (k >= l->n || l->v[k].kind != LEX_IDENT)
        return false;
    d->name[d->n] = k;
    for (k = lex_next_code(l, k); k < l->n && lex_punct(l, k, '['); k = lex_next_code(l, k)) {
        if ((k = lex_close(l, k)) == SIZE_MAX)
            return false;
        dims++;
    }
    d->to[d->n++] = k;
    d->multi |= d->is_extern && dims != 1;
    *i = k;
    return k < l->n && (lex_punct(l, k, ';') || lex_punct(l, k, ','));
}

static bool decl_parse(struct lex *l, size_t i, struct decl *d)
{
    *d = (struct decl){.first = decl_start(l, i)};
    for (size_t k = d->first; k < i; k++)
        d->is_extern |= lex_is(l, k, "extern");
    size_t k = i;
    for (size_t a = lex_next_code(l, i); a < l->n && lex_is(l, a, "extern");
         a = lex_next_code(l, a))
        d->is_extern = true;
    d->type_end = k = decl_type_end(l, d->first);
    if (k == SIZE_MAX)
        return false;
    while (declarator(l, d, &k)) {
        d->last = k;
        if (lex_punct(l, k, ';'))
            return !d->multi;
        k = lex_next_code(l, k);
    }
    return false;
}

/* Tokens from..to as text on one line, without comments and storage words; newlines counted. */
static void words(struct source *s, size_t from, size_t to, struct sl_buf *b)
{
    struct lex *l = &s->lex;
    for (size_t i = from; i < to; i++) {
        if (l->v[i].kind == LEX_COMMENT || lex_is(l, i, "__shared__") || lex_is(l, i, "extern") ||
            lex_is(l, i, "static"))
            continue;
        if (l->v[i].flags & LEX_F_SPACE || l->v[i].kind == LEX_IDENT)
            sl_buf_addc(b, ' ');
        if (lex_is(l, i, "alignas"))
            sl_buf_adds(b, "__align__");
        else
            sl_buf_add(b, lex_text(l, i), l->v[i].n);
    }
}

static void form_one(struct source *s, const struct decl *d, size_t k, bool in_function,
                     struct sl_buf *b)
{
    struct lex *l = &s->lex;
    SL_AUTO_FREE char *name = sl_strndup(lex_text(l, d->name[k]), l->v[d->name[k]].n);
    sl_buf_adds(b, "typedef");
    words(s, d->first, d->type_end, b);
    words(s, d->from[k], d->name[k], b);
    sl_buf_printf(b, " %s_starport_type", name);
    if (d->is_extern) {
        if (in_function)
            sl_buf_printf(b,
                          "; %s_starport_type *const %s = (%s_starport_type "
                          "*)starport_shared_dynamic();",
                          name, name, name);
        else
            sl_buf_printf(b,
                          "; static const starport::dynamic_shared<%s_starport_type> %s = "
                          "starport::dynamic_shared<%s_starport_type>();",
                          name, name, name);
        return;
    }
    size_t dims = lex_next_code(l, d->name[k]);
    if (dims < d->to[k])
        words(s, dims, d->to[k], b);
    sl_buf_printf(
        b,
        "; struct %s_starport_tag {}; %s_starport_type &%s = "
        "starport::shared<%s_starport_tag, %s_starport_type>(\"%s\", __FILE__, __LINE__);",
        name, name, name, name, name, name);
}

static void form_shared(struct source *s, size_t i, bool in_function)
{
    struct lex *l = &s->lex;
    struct decl d;
    if (!decl_parse(l, i, &d) || (!d.is_extern && !in_function))
        return;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(1 << 20);
    for (size_t k = 0; k < d.n; k++)
        form_one(s, &d, k, in_function, &b);
    size_t at = l->v[d.first].at, end = l->v[d.last].at + l->v[d.last].n;
    for (size_t k = at; k < end; k++)
        if (s->p[k] == '\n')
            sl_buf_addc(&b, '\n'); /* later lines keep their numbers */
    source_edit_copy(s, at, end - at, sl_buf_str(&b), b.n, EDIT_NAME, 0);
}

/* Is this `{` the start of a function's body or of a statement in one? */
static bool opens_code(struct lex *l, size_t i)
{
    size_t p = lex_prev_code(l, i);
    return p != SIZE_MAX && (lex_punct(l, p, ')') || lex_is(l, p, "else") || lex_is(l, p, "do") ||
                             lex_is(l, p, "const") || lex_is(l, p, "noexcept"));
}

void cpu_form(const char *p, size_t n, const struct sl_map *templates, struct sl_buf *out)
{
    struct source s;
    size_t depth = 0, code_depth = 0; /* code_depth: depth of the outermost brace of code, or 0 */
    source_from(&s, "-", p, n);
    for (size_t i = 0; i < s.lex.n; i++) {
        const struct lex_tok *t = &s.lex.v[i];
        if (t->flags & LEX_F_PP && !lex_is(&s.lex, i, "hipLaunchKernelGGL"))
            continue;
        if (t->kind == LEX_PUNCT && t->sub == '{') {
            depth++;
            if (!code_depth && opens_code(&s.lex, i))
                code_depth = depth;
        } else if (t->kind == LEX_PUNCT && t->sub == '}') {
            if (depth == code_depth)
                code_depth = 0;
            depth -= depth > 0;
        } else if (t->kind == LEX_IDENT && lex_is(&s.lex, i, "hipLaunchKernelGGL")) {
            form_launch(&s, i, templates);
        } else if (t->kind == LEX_IDENT && lex_is(&s.lex, i, "__shared__")) {
            form_shared(&s, i, code_depth > 0);
        }
    }
    source_settle(&s);
    source_render(&s, out);
    source_free(&s);
}
