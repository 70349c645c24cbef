/* SPDX-License-Identifier: Apache-2.0
 *
 * launch_scan.c: names of one file that a launch depends on: which kernels are templates, which
 * macros are launches.
 */
#include "port/pass.h"

enum { BODY_MAX_TOKENS = 4096 }; /* a macro for a kernel's name is short */

struct launch_macro {
    size_t launch; /* token of `<<<` in the body */
    bool function;
    struct args params;
    struct launch c;
};

/* Token i in the body is parameter number k of the macro, or -1. */
static int param_of(const struct lex *l, const struct launch_macro *m, size_t i)
{
    for (int k = 0; k < m->params.n; k++) {
        size_t name = m->params.v[k].first;
        if (l->v[i].kind == LEX_IDENT && lex_is_n(l, i, lex_text(l, name), l->v[name].n))
            return k;
        if (lex_punct(l, name, LEX_P_DOTS) && lex_is(l, i, "__VA_ARGS__"))
            return k;
    }
    return -1;
}

static void scan_template(struct pass *p, size_t i)
{
    struct lex *l = p->l;
    size_t before = lex_prev_code(l, i), name = lex_next_code(l, i);
    for (int k = 0; k < 8 && before != SIZE_MAX && l->v[before].kind == LEX_IDENT; k++)
        before = lex_prev_code(l, before);
    if (before == SIZE_MAX || !lex_punct(l, before, '>'))
        return;
    size_t open = lex_angle_open(l, before);
    size_t word = open == SIZE_MAX ? SIZE_MAX : lex_prev_code(l, open);
    if (word == SIZE_MAX || !lex_is(l, word, "template"))
        return;
    for (int k = 0; k < 32 && name < l->n; k++, name = lex_next_code(l, name)) {
        size_t open_args = lex_next_code(l, name);
        if (lex_punct(l, name, '(')) {
            size_t close = lex_close(l, name);
            name = close == SIZE_MAX ? l->n : close;
        } else if (l->v[name].kind == LEX_IDENT && lex_punct(l, open_args, '(') &&
                   !lex_is(l, name, "__launch_bounds__") && !lex_is(l, name, "__attribute__")) {
            *sl_map_put(&p->templates, lex_text(l, name), l->v[name].n) = l;
            return;
        }
    }
}

/* The launch at token i is all that the macro with this name does: then it can stand at the place
 * of use. Function-like: its kernel is a parameter (otherwise rewriting the body is enough).
 * Object-like: the body ends with `>>>`, so that only the place of use has the arguments. */
static void scan_launch_macro(struct pass *p, size_t name, size_t i)
{
    struct lex *l = p->l;
    struct launch_macro *m = sl_arena_alloc(&p->s->arena, sizeof *m);
    m->launch = i;
    m->function = lex_punct(l, name + 1, '(') && !(l->v[name + 1].flags & LEX_F_SPACE);
    size_t close = m->function ? lex_close(l, name + 1) : name;
    if (close == SIZE_MAX || !launch_parse(l, i, &m->c) || m->c.callee != lex_next_code(l, close))
        return;
    if (m->function) {
        size_t end = m->c.args.open == SIZE_MAX ? close : lex_next_code(l, m->c.args.close);
        if (lex_punct(l, end, ';'))
            end = lex_next_code(l, end);
        if (l->v[end].kind != LEX_EOD || !args_split(l, name + 1, close, &m->params) ||
            param_of(l, m, m->c.callee) < 0)
            return;
    } else if (l->v[lex_next_code(l, m->c.end + 2)].kind != LEX_EOD) {
        return;
    }
    *sl_map_put(&p->launch_macros, lex_text(l, name), l->v[name].n) = m;
    *sl_map_put(&p->expanded, (const char *)&i, sizeof i) = m;
}

/* Remembers a macro by the token of its name. */
static void scan_macro(struct pass *p, size_t hash)
{
    struct lex *l = p->l;
    size_t name = lex_next_code(l, hash + 1);
    if (l->v[name].kind != LEX_IDENT)
        return;
    *sl_map_put(&p->macros, lex_text(l, name), l->v[name].n) = l->v + name;
    for (size_t i = name; p->o->expand_macros && l->v[i].kind != LEX_EOD; i++)
        if (lex_punct(l, i, LEX_P_LAUNCH))
            scan_launch_macro(p, name, i);
}

static void scan_half2(struct pass *p, size_t i)
{
    size_t name = lex_next_code(p->l, i);
    if (p->l->v[name].kind == LEX_IDENT)
        *sl_map_put(&p->half2s, lex_text(p->l, name), p->l->v[name].n) = p->l;
}

void pass_scan(struct pass *p)
{
    struct lex *l = p->l;
    if (p->scanned)
        return;
    p->scanned = true;
    for (size_t i = 0; i < l->n; i++) {
        const struct lex_tok *t = &l->v[i];
        if (t->kind == LEX_HASH && t->sub == LEX_D_DEFINE)
            scan_macro(p, i);
        else if (t->kind == LEX_IDENT && t->n == 10 && lex_is(l, i, "__global__"))
            scan_template(p, i);
        else if (t->kind == LEX_IDENT && p->o->half2_members && t->n == 5 && lex_is(l, i, "half2"))
            scan_half2(p, i);
    }
}

/* The callee's last name is a template here, or a macro of the file for one. */
bool launch_is_template(struct pass *p, size_t last)
{
    struct lex *l = p->l;
    for (int depth = 0; depth < 8; depth++) {
        if (lex_punct(l, last, '>'))
            return true;
        if (l->v[last].kind != LEX_IDENT)
            return false;
        const char *s = lex_text(l, last);
        if (sl_map_get(&p->templates, s, l->v[last].n))
            return true;
        const struct lex_tok *name = sl_map_get(&p->macros, s, l->v[last].n);
        if (!name)
            return false;
        size_t end = (size_t)(name - l->v);
        if (l->v[end + 1].kind == LEX_EOD || !(l->v[end + 1].flags & LEX_F_SPACE))
            return false;
        for (size_t stop = end + BODY_MAX_TOKENS; l->v[end].kind != LEX_EOD; end++)
            if (end == stop)
                return false;
        last = lex_prev(l, end);
    }
    return false;
}

bool launch_is_expanded(struct pass *p, size_t i)
{
    return sl_map_get(&p->expanded, (const char *)&i, sizeof i) != NULL;
}

/* Body tokens [from, to] with the parameters replaced by the call's arguments. */
static void expand(struct pass *p, const struct launch_macro *m, const struct args *call,
                   size_t from, size_t to, struct sl_buf *out)
{
    struct lex *l = p->l;
    for (size_t i = from; i <= to; i++) {
        int k = m->function ? param_of(l, m, i) : -1;
        if (i > from && l->v[i].flags & LEX_F_SPACE)
            sl_buf_addc(out, ' ');
        if (k < 0) {
            sl_buf_adds(out, pass_text(p, i, i));
        } else if (k < call->n) {
            bool rest = lex_punct(l, m->params.v[k].first, LEX_P_DOTS);
            size_t last = call->v[rest ? call->n - 1 : k].last;
            sl_buf_adds(out, pass_text(p, call->v[k].first, last));
        }
    }
}

/* Writes the call of hipLaunchKernelGGL that the macro stands for. */
static void expand_launch(struct pass *p, const struct launch_macro *m, const struct args *call,
                          struct sl_buf *out)
{
    struct lex *l = p->l;
    const struct launch *c = &m->c;
    int k = m->function ? param_of(l, m, c->callee_last) : -1;
    bool tmpl = launch_is_template(p, k >= 0 && k < call->n ? call->v[k].last : c->callee_last);
    sl_buf_adds(out, tmpl ? "hipLaunchKernelGGL(HIP_KERNEL_NAME(" : "hipLaunchKernelGGL(");
    expand(p, m, call, c->callee, c->callee_last, out);
    sl_buf_adds(out, tmpl ? ")" : "");
    for (k = 0; k < c->config.n; k++) {
        sl_buf_adds(out, k < 2 ? ", dim3(" : ", ");
        expand(p, m, call, c->config.v[k].first, c->config.v[k].last, out);
        sl_buf_adds(out, k < 2 ? ")" : "");
    }
    for (; k < 4; k++)
        sl_buf_adds(out, ", 0");
    if (!m->function && call->n) {
        sl_buf_adds(out, ", ");
        sl_buf_adds(out, pass_text(p, call->v[0].first, call->v[call->n - 1].last));
    }
    size_t before = out->n;
    for (k = 0; m->function && k < c->args.n; k++) {
        size_t at = out->n;
        sl_buf_adds(out, ", ");
        expand(p, m, call, c->args.v[k].first, c->args.v[k].last, out);
        if (out->n == at + 2) /* an empty __VA_ARGS__ */
            out->n = k ? at : before;
    }
    sl_buf_addc(out, ')');
}

/* Tokens [from, to] name a macro that would be expanded, too. */
static bool mentions_macro(struct pass *p, size_t from, size_t to)
{
    for (size_t i = from; i <= to; i++)
        if (p->l->v[i].kind == LEX_IDENT &&
            sl_map_get(&p->launch_macros, lex_text(p->l, i), p->l->v[i].n))
            return true;
    return false;
}

bool pass_launch_macro(struct pass *p, size_t i)
{
    struct lex *l = p->l;
    const struct launch_macro *m = sl_map_get(&p->launch_macros, lex_text(l, i), l->v[i].n);
    size_t open = lex_next_code(l, i);
    if (!m || l->v[i].flags & LEX_F_PP || !lex_punct(l, open, '('))
        return false;
    size_t close = lex_close(l, open);
    struct args call;
    if (i < p->unexpanded)
        return false;
    size_t body_end = m->function ? m->c.args.close : m->c.end;
    if (close != SIZE_MAX &&
        (mentions_macro(p, open, close) || body_end - m->c.callee > BODY_MAX_TOKENS ||
         mentions_macro(p, m->c.callee, body_end))) {
        p->unexpanded = close; /* macros inside of macros: neither, so that a second run agrees */
        return false;
    }
    if (close == SIZE_MAX || has_directive(l, open, close) || !args_split(l, open, close, &call))
        return false;
    SL_AUTO_BUF struct sl_buf out = SL_BUF(1 << 20);
    expand_launch(p, m, &call, &out);
    if (out.over)
        return false;
    source_edit_copy(p->s, l->v[i].at, tok_end(l, close) - l->v[i].at, sl_buf_str(&out), out.n,
                     EDIT_LAUNCH, 0);
    pass_note(p, l->v[i].at, -1, PORT_LAUNCH);
    p->needs_runtime |= !p->cond.guarded;
    return true;
}

void pass_half2(struct pass *p, size_t i)
{
    struct lex *l = p->l;
    size_t dot = lex_next_code(l, i), member = lex_next_code(l, dot);
    bool x_or_y = l->v[member].n == 1 && (l->v[member].first == 'x' || l->v[member].first == 'y');
    if (!lex_punct(l, dot, '.') || l->v[member].kind != LEX_IDENT || !x_or_y ||
        !sl_map_get(&p->half2s, lex_text(l, i), l->v[i].n))
        return;
    size_t open = lex_prev_code(l, i), angle = open == SIZE_MAX ? open : lex_prev_code(l, open);
    /* by the byte: in a broken #include the bracket is the end of a header's name */
    if (angle != SIZE_MAX && lex_punct(l, open, '(') && p->s->p[tok_end(l, angle) - 1] == '>')
        return; /* already inside a cast */
    static const char cast[] = "reinterpret_cast<half&>(";
    source_edit(p->s, l->v[i].at, 0, cast, strlen(cast), EDIT_NAME);
    source_edit(p->s, tok_end(l, member), 0, ")", 1, EDIT_NAME);
}
