/* SPDX-License-Identifier: Apache-2.0
 *
 * launch.c: kernel<<<grid, block, shared, stream>>>(arguments). Kept as it is (HIP has it too), or
 * with options.ggl made a call of hipLaunchKernelGGL. What stands inside the configuration and the
 * arguments is not copied but edited around, so that everything else there is translated as usual.
 */
#include "port/pass.h"

enum { LAUNCH_MAX_TOKENS = 4096 }; /* a configuration longer than this is a stray `<<<` */

static bool triple(const struct lex *l, size_t i)
{
    return i + 2 < l->n && lex_shr(l, i) && lex_shr(l, i + 1);
}

/* The `>>>` that ends the configuration opened at i, or SIZE_MAX. */
static size_t config_end(struct lex *l, size_t i)
{
    i = lex_next_code(l, i);
    for (int k = 0; k < LAUNCH_MAX_TOKENS && i < l->n; k++, i = lex_next_code(l, i)) {
        const struct lex_tok *t = &l->v[i];
        if (t->kind == LEX_EOD)
            return SIZE_MAX;
        if (t->kind != LEX_PUNCT)
            continue;
        if (t->sub == '>' && triple(l, i) && !lex_punct(l, i + 3, '>'))
            return i;
        if (t->sub == '(' || t->sub == '[' || t->sub == '{')
            i = lex_close(l, i);
        else if (t->sub == ';' || t->sub == '}' || t->sub == ')' || t->sub == LEX_P_LAUNCH)
            return SIZE_MAX;
        if (i == SIZE_MAX)
            return SIZE_MAX;
    }
    return SIZE_MAX;
}

/* A word that ends an expression's way back: `return (k)<<<...`. */
static bool is_keyword(const struct lex *l, size_t i)
{
    return lex_is(l, i, "return") || lex_is(l, i, "else") || lex_is(l, i, "do");
}

/* What can stand right before a call, index or template list that belongs to it. */
static bool can_be_applied(const struct lex *l, size_t i)
{
    return (l->v[i].kind == LEX_IDENT && !is_keyword(l, i)) || lex_punct(l, i, ')') ||
           lex_punct(l, i, ']') || lex_punct(l, i, '>');
}

/* Steps back over a name with the calls, indices and template lists behind it, which end at token
 * i; SIZE_MAX: it is none. */
static size_t back_unit(struct lex *l, size_t i)
{
    size_t start = SIZE_MAX;
    for (int k = 0; k < LAUNCH_MAX_TOKENS; k++) {
        const struct lex_tok *t = &l->v[i];
        if (t->kind == LEX_IDENT)
            return i;
        bool angle = lex_punct(l, i, '>');
        size_t open = lex_punct(l, i, ')') || lex_punct(l, i, ']') ? lex_open(l, i)
                      : angle                                      ? lex_angle_open(l, i)
                                                                   : SIZE_MAX;
        size_t before = open == SIZE_MAX ? SIZE_MAX : lex_prev_code(l, open);
        if (open == SIZE_MAX || (angle && (before == SIZE_MAX || l->v[before].kind != LEX_IDENT)))
            return start;
        start = open;
        if (before == SIZE_MAX || !can_be_applied(l, before))
            return start;
        i = before;
    }
    return start;
}

/* The first token of the postfix expression whose last token is i. */
static size_t callee_start(struct lex *l, size_t i)
{
    size_t start = back_unit(l, i);
    for (int k = 0; k < LAUNCH_MAX_TOKENS && start != SIZE_MAX; k++) {
        size_t link = lex_prev_code(l, start);
        if (link != SIZE_MAX && lex_is(l, link, "template")) {
            start = link;
            link = lex_prev_code(l, start);
        }
        if (link == SIZE_MAX)
            return start;
        bool scope = lex_punct(l, link, LEX_P_SCOPE);
        if (!scope && !lex_punct(l, link, '.') && !lex_punct(l, link, LEX_P_ARROW))
            return start;
        size_t before = lex_prev_code(l, link);
        size_t unit = before == SIZE_MAX || is_keyword(l, before) ? SIZE_MAX : back_unit(l, before);
        if (unit == SIZE_MAX)
            return scope ? link : start;
        start = unit;
    }
    return SIZE_MAX;
}

bool launch_parse(struct lex *l, size_t i, struct launch *ret)
{
    *ret = (struct launch){.end = config_end(l, i), .args.open = SIZE_MAX};
    ret->callee_last = lex_prev_code(l, i);
    if (ret->end == SIZE_MAX || ret->callee_last == SIZE_MAX)
        return false;
    ret->callee = callee_start(l, ret->callee_last);
    if (ret->callee == SIZE_MAX || !args_split(l, i, ret->end, &ret->config) || ret->config.n < 2 ||
        ret->config.n > 4)
        return false;
    size_t open = lex_next_code(l, ret->end + 2);
    if (!lex_punct(l, open, '('))
        return true;
    size_t close = lex_close(l, open);
    return close != SIZE_MAX && args_split(l, open, close, &ret->args);
}

static bool is_dim3(struct lex *l, const struct arg *a)
{
    size_t open = lex_next_code(l, a->first);
    return lex_is(l, a->first, "dim3") && lex_punct(l, open, '(') && lex_close(l, open) == a->last;
}

static void put(struct pass *p, size_t from, size_t to, const char *text)
{
    source_edit(p->s, from, to - from, text, strlen(text), EDIT_LAUNCH);
}

/* Bytes [from, to) hold a separator and perhaps comments or line breaks, which must stay. */
static bool must_keep(const struct pass *p, size_t from, size_t to)
{
    const char *s = p->s->p + from;
    return memchr(s, '\n', to - from) || memmem(s, to - from, "/*", 2) ||
           memmem(s, to - from, "//", 2);
}

/* Between two parts of a launch: token `sep` (`<<<` or a comma) becomes `comma`, and `after` comes
 * right before the next part at `to`. */
static void join(struct pass *p, size_t from, size_t to, size_t sep, const char *comma,
                 const char *after)
{
    if (must_keep(p, from, to)) {
        put(p, p->l->v[sep].at, tok_end(p->l, sep), comma);
        if (*after)
            put(p, to, to, after);
    } else {
        put(p, from, to, sl_arena_printf(&p->s->arena, "%s %s", comma, after));
    }
}

static bool wrapped(struct lex *l, const struct launch *c, int k)
{
    return k < 2 && !is_dim3(l, &c->config.v[k]);
}

/* From the last configuration argument to the first call argument or the closing parenthesis. */
static void rewrite_tail(struct pass *p, const struct launch *c, const char *before_args)
{
    struct lex *l = p->l;
    int last = c->config.n - 1;
    size_t from = tok_end(l, c->config.v[last].last);
    size_t to = l->v[c->args.n ? c->args.v[0].first : c->args.close].at;
    const char *text = sl_arena_printf(&p->s->arena, "%s%s%s", wrapped(l, c, last) ? ")" : "",
                                       c->config.n == 2   ? ", 0, 0"
                                       : c->config.n == 3 ? ", 0"
                                                          : "",
                                       c->args.n ? "," : "");
    if (must_keep(p, from, to)) {
        put(p, l->v[c->end].at, tok_end(l, c->end + 2), text);
        put(p, l->v[c->args.open].at, tok_end(l, c->args.open), "");
        if (*before_args)
            put(p, to, to, before_args);
    } else {
        put(p, from, to,
            sl_arena_printf(&p->s->arena, "%s%s%s", text, c->args.n ? " " : "", before_args));
    }
}

static bool is_va_args(const struct lex *l, const struct args *a)
{
    return a->n == 1 && a->v[0].first == a->v[0].last && lex_is(l, a->v[0].first, "__VA_ARGS__");
}

static void rewrite(struct pass *p, size_t i, const struct launch *c)
{
    struct lex *l = p->l;
    bool tmpl = launch_is_template(p, c->callee_last);
    size_t at = l->v[c->callee].at, from = tok_end(l, c->callee_last), sep = i;
    put(p, at, at, tmpl ? "hipLaunchKernelGGL(HIP_KERNEL_NAME(" : "hipLaunchKernelGGL(");
    const char *comma = tmpl ? ")," : ",";
    for (int k = 0; k < c->config.n; k++) {
        const struct arg *a = &c->config.v[k];
        join(p, from, l->v[a->first].at, sep, comma, wrapped(l, c, k) ? "dim3(" : "");
        from = tok_end(l, a->last);
        sep = lex_next_code(l, a->last);
        comma = wrapped(l, c, k) ? ")," : ",";
    }
    rewrite_tail(p, c, is_va_args(l, &c->args) ? "##" : "");
}

/* Without rewriting, all that matters is that `>>>` and `(` follow. Counts brackets itself, so that
 * a file whose launches stay needs no pairing. */
static bool looks_whole(const struct lex *l, size_t i)
{
    int depth = 0;
    for (int k = 0; k < LAUNCH_MAX_TOKENS && ++i < l->n; k++) {
        const struct lex_tok *t = &l->v[i];
        if (t->kind == LEX_EOD)
            return true; /* in a macro's body: what follows where it is used is not known here */
        if (t->kind != LEX_PUNCT)
            continue;
        if (t->sub == '(' || t->sub == '[' || t->sub == '{')
            depth++;
        else if (t->sub == ')' || t->sub == ']' || t->sub == '}')
            depth--;
        else if (depth == 0 && t->sub == '>' && triple(l, i) && !lex_punct(l, i + 3, '>'))
            return lex_punct(l, lex_next(l, i + 2), '(') || l->v[i].flags & LEX_F_PP;
        if (depth < 0 || t->sub == ';' || t->sub == LEX_P_LAUNCH)
            return false;
    }
    return false;
}

void pass_launch(struct pass *p, size_t i)
{
    struct lex *l = p->l;
    struct launch c;
    if (lex_punct(l, i + 1, LEX_P_LAUNCH) || lex_punct(l, i + 1, '<') ||
        lex_punct(l, i + 1, LEX_P_SHL))
        return; /* <<<<<<<: a merge conflict's marker */
    bool in_macro = l->v[i].flags & LEX_F_PP;
    if (i < p->unlaunched)
        return;
    if (!p->o->ggl) {
        p->needs_runtime |= !p->cond.guarded;
        pass_note(p, l->v[i].at, -1, looks_whole(l, i) ? PORT_LAUNCH : PORT_OPEN_LAUNCH);
        return;
    }
    bool whole = launch_parse(l, i, &c);
    if (!whole || (c.args.open == SIZE_MAX && !in_macro)) {
        if (!in_macro)
            pass_note(p, l->v[i].at, -1, PORT_OPEN_LAUNCH);
        /* What follows in this macro may lie inside of the part that is not understood. */
        for (p->unlaunched = i; in_macro && l->v[p->unlaunched].kind != LEX_EOD;)
            p->unlaunched++;
        return;
    }
    pass_note(p, l->v[i].at, -1, PORT_LAUNCH);
    p->needs_runtime |= !p->cond.guarded;
    if (c.args.open == SIZE_MAX)
        return;
    if (!in_macro || !launch_is_expanded(p, i))
        rewrite(p, i, &c);
}
