/* SPDX-License-Identifier: Apache-2.0
 *
 * cond.c: the nest of conditional blocks, and with skip_excluded what certainly is not compiled.
 * Values are three-valued: a macro that only the compiler or a CUDA header can know (a version, an
 * architecture) is unknown, and a block whose condition is unknown is translated. Any other macro
 * that nobody defined is undefined, as for the preprocessor.
 */
#include "port/pass.h"

struct value {
    bool known;
    long long v;
};
struct eval {
    struct pass *p;
    size_t i; /* the next token */
    int depth;
};
enum { EVAL_DEPTH_MAX = 64 };
static const struct value UNKNOWN = {false, 0};

static struct value known(long long v)
{
    return (struct value){true, v};
}

/* The compiler or a header that is not read decides what this macro is. */
static bool is_foreign(const char *s, size_t n)
{
    static const char *const parts[] = {
        "VERSION", "CUDA", "CUDNN",  "CUBLAS",  "CUSPARSE",    "CUSOLVER", "CURAND",  "CUFFT",
        "NVCC",    "HIP",  "__GNUC", "__clang", "__cplusplus", "__has_",   "__linux", "__x86_64"};
    for (size_t k = 0; k < SL_COUNT(parts); k++)
        if (memmem(s, n, parts[k], strlen(parts[k])))
            return true;
    return false;
}

static struct value number(const char *s, size_t n)
{
    char buf[32], *end;
    if (n >= sizeof buf)
        return UNKNOWN;
    memcpy(buf, s, n);
    buf[n] = 0;
    unsigned long long v = strtoull(buf, &end, 0);
    while (*end && strchr("uUlL", *end))
        end++;
    return end == buf || *end ? UNKNOWN : known((long long)v);
}

static struct value eval_expr(struct eval *e, int min_level);

static struct value macro_value(struct eval *e, size_t i)
{
    const char *s = lex_text(e->p->l, i);
    size_t n = e->p->l->v[i].n;
    const char *text = sl_map_get(&e->p->cond.defines, s, n);
    if (text)
        return number(text, strlen(text));
    return is_foreign(s, n) ? UNKNOWN : known(0);
}

static size_t eval_next(struct eval *e)
{
    return e->i = lex_next_code(e->p->l, e->i);
}

static struct value eval_defined(struct eval *e)
{
    struct lex *l = e->p->l;
    bool paren = lex_punct(l, eval_next(e), '(');
    if (paren)
        eval_next(e);
    if (l->v[e->i].kind != LEX_IDENT)
        return UNKNOWN;
    const char *s = lex_text(l, e->i);
    size_t n = l->v[e->i].n;
    eval_next(e);
    if (paren && lex_punct(l, e->i, ')'))
        eval_next(e);
    if (sl_map_get(&e->p->cond.defines, s, n))
        return known(1);
    return is_foreign(s, n) ? UNKNOWN : known(0);
}

static struct value eval_name(struct eval *e)
{
    struct lex *l = e->p->l;
    if (lex_is(l, e->i, "defined"))
        return eval_defined(e);
    struct value v = macro_value(e, e->i);
    if (lex_is(l, e->i, "true"))
        v = known(1);
    if (lex_punct(l, eval_next(e), '(')) { /* a function-like macro */
        size_t close = lex_close(l, e->i);
        e->i = close == SIZE_MAX ? e->i : close;
        eval_next(e);
        return UNKNOWN;
    }
    return v;
}

static struct value eval_primary(struct eval *e)
{
    struct lex *l = e->p->l;
    const struct lex_tok *t = &l->v[e->i];
    struct value v = UNKNOWN;
    if (t->kind == LEX_IDENT)
        return eval_name(e);
    if (t->kind == LEX_NUMBER) {
        v = number(lex_text(l, e->i), t->n);
        eval_next(e);
        return v;
    }
    if (t->kind != LEX_PUNCT || e->depth == EVAL_DEPTH_MAX)
        return UNKNOWN;
    int op = t->sub;
    eval_next(e);
    e->depth++;
    if (op == '(') {
        v = eval_expr(e, 0);
        if (lex_punct(l, e->i, ')'))
            eval_next(e);
    } else if (op == '!' || op == '-' || op == '~' || op == '+') {
        v = eval_primary(e);
        v.v = op == '!'   ? !v.v
              : op == '-' ? (long long)(0 - (unsigned long long)v.v)
              : op == '~' ? ~v.v
                          : v.v;
    }
    e->depth--;
    return v;
}

static int level_of(const struct lex_tok *t)
{
    if (t->kind != LEX_PUNCT)
        return 0;
    switch (t->sub) {
    case LEX_P_OR:
        return 1;
    case LEX_P_AND:
        return 2;
    case LEX_P_EQ:
    case LEX_P_NE:
        return 4;
    case '<':
    case '>':
    case LEX_P_LE:
    case LEX_P_GE:
        return 5;
    case '+':
    case '-':
        return 6;
    case '*':
    case '/':
    case '%':
        return 7;
    default:
        return 0;
    }
}

static struct value combine(int op, struct value a, struct value b)
{
    if (op == LEX_P_OR)
        return (a.known && a.v) || (b.known && b.v) ? known(1)
               : a.known && b.known                 ? known(0)
                                                    : UNKNOWN;
    if (op == LEX_P_AND)
        return (a.known && !a.v) || (b.known && !b.v) ? known(0)
               : a.known && b.known                   ? known(1)
                                                      : UNKNOWN;
    if (!a.known || !b.known)
        return UNKNOWN;
    unsigned long long x = (unsigned long long)a.v, y = (unsigned long long)b.v;
    switch (op) {
    case LEX_P_EQ:
        return known(a.v == b.v);
    case LEX_P_NE:
        return known(a.v != b.v);
    case '<':
        return known(a.v < b.v);
    case '>':
        return known(a.v > b.v);
    case LEX_P_LE:
        return known(a.v <= b.v);
    case LEX_P_GE:
        return known(a.v >= b.v);
    case '+':
        return known((long long)(x + y));
    case '-':
        return known((long long)(x - y));
    case '*':
        return known((long long)(x * y));
    default:
        return UNKNOWN; /* division: not worth its edge cases */
    }
}

static struct value eval_expr(struct eval *e, int min_level)
{
    struct lex *l = e->p->l;
    struct value v = eval_primary(e);
    for (;;) {
        int op = l->v[e->i].sub, level = level_of(&l->v[e->i]);
        if (level == 0 || level <= min_level)
            return v;
        eval_next(e);
        v = combine(op, v, eval_expr(e, level));
    }
}

/* The condition that follows the directive's name at token `name`. */
static struct value condition(struct pass *p, int directive, size_t name)
{
    struct eval e = {.p = p, .i = lex_next_code(p->l, name)};
    if (directive == LEX_D_IFDEF || directive == LEX_D_IFNDEF) {
        if (p->l->v[e.i].kind != LEX_IDENT)
            return UNKNOWN;
        const char *s = lex_text(p->l, e.i);
        size_t n = p->l->v[e.i].n;
        bool defined = sl_map_get(&p->cond.defines, s, n) != NULL;
        if (!defined && is_foreign(s, n))
            return UNKNOWN;
        return known(defined == (directive == LEX_D_IFDEF));
    }
    struct value v = eval_expr(&e, 0);
    return p->l->v[e.i].kind == LEX_EOD ? v : UNKNOWN;
}

static void define(struct pass *p, const char *name, size_t n, const char *value, size_t value_n)
{
    *sl_map_put(&p->cond.defines, name, n) = sl_arena_strndup(&p->s->arena, value, value_n);
}

static void define_directive(struct pass *p, size_t name)
{
    struct lex *l = p->l;
    size_t macro = lex_next_code(l, name), value = lex_next_code(l, macro);
    if (l->v[macro].kind != LEX_IDENT)
        return;
    bool simple = l->v[value].kind == LEX_NUMBER && l->v[lex_next_code(l, value)].kind == LEX_EOD;
    define(p, lex_text(l, macro), l->v[macro].n, lex_text(l, value), simple ? l->v[value].n : 0);
}

static void push(struct cond *c, struct cond_level level)
{
    if (c->n == c->cap) {
        c->cap = c->cap ? c->cap * 2 : 16;
        c->v = sl_realloc(c->v, c->cap * sizeof *c->v);
    }
    c->v[c->n++] = level;
}

void cond_open(struct pass *p)
{
    if (!p->o->skip_excluded)
        return;
    for (const char *const *d = p->o->defines; d && *d; d++) {
        const char *eq = strchr(*d, '=');
        size_t n = eq ? (size_t)(eq - *d) : strlen(*d);
        define(p, *d, n, eq ? eq + 1 : "1", eq ? strlen(eq + 1) : 1);
    }
}

/* The directive asks for the CUDA or HIP compiler. */
static bool asks_compiler(const struct lex *l, size_t i)
{
    static const char *const parts[] = {"CUDACC", "CUDA_ARCH", "NVCC", "HIPCC", "__HIP"};
    for (; l->v[i].kind != LEX_EOD; i++)
        for (size_t k = 0; l->v[i].kind == LEX_IDENT && k < SL_COUNT(parts); k++)
            if (memmem(lex_text(l, i), l->v[i].n, parts[k], strlen(parts[k])))
                return true;
    return false;
}

static void enter(struct pass *p, int directive, size_t name)
{
    struct cond *c = &p->cond;
    struct value v = p->o->skip_excluded ? condition(p, directive, name) : UNKNOWN;
    bool parent = !c->skip;
    push(c, (struct cond_level){.group = ++c->groups,
                                .parent_active = parent,
                                .guarded = c->guarded || asks_compiler(p->l, name),
                                .active = parent && !(v.known && !v.v),
                                .taken = v.known && v.v});
}

static void next_branch(struct pass *p, int directive, size_t name)
{
    struct cond *c = &p->cond;
    if (c->n == 0)
        return;
    struct cond_level *top = &c->v[c->n - 1];
    struct value v = directive == LEX_D_ELSE ? known(1)
                     : p->o->skip_excluded   ? condition(p, directive, name)
                                             : UNKNOWN;
    top->branch++;
    top->active =
        top->parent_active && (!p->o->skip_excluded || (!top->taken && !(v.known && !v.v)));
    top->taken |= v.known && v.v;
}

void cond_directive(struct pass *p, size_t i)
{
    struct cond *c = &p->cond;
    int d = p->l->v[i].sub;
    switch (d) {
    case LEX_D_IF:
    case LEX_D_IFDEF:
    case LEX_D_IFNDEF:
        enter(p, d, i + 1);
        break;
    case LEX_D_ELIF:
    case LEX_D_ELSE:
        next_branch(p, d, i + 1);
        break;
    case LEX_D_ENDIF:
        c->n -= c->n > 0;
        break;
    case LEX_D_DEFINE:
        if (p->o->skip_excluded && !c->skip)
            define_directive(p, i + 1);
        break;
    default:
        return;
    }
    c->skip = c->n > 0 && !c->v[c->n - 1].active;
    c->guarded = c->n > 0 && c->v[c->n - 1].guarded;
}

void cond_free(struct pass *p)
{
    free(p->cond.v);
    sl_map_free(&p->cond.defines);
}
