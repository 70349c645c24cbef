/* SPDX-License-Identifier: Apache-2.0
 *
 * args.c: calls whose arguments differ between CUDA and HIP (or roc*, MIOpen).
 */
#include "port/pass.h"

/* What may follow a '>' that closes template arguments inside an argument list. */
static bool after_template(const struct lex *l, size_t i)
{
    const struct lex_tok *t = &l->v[i];
    if (t->kind != LEX_PUNCT)
        return false;
    switch (t->sub) {
    case '(':
    case ')':
    case ',':
    case '>':
    case ';':
    case '{':
    case '*':
    case '&':
    case LEX_P_SCOPE:
        return true;
    default:
        return false;
    }
}

/* Token i is '<' after an identifier: the '>' if this is a template's list that ends before
 * `close`. */
static size_t template_end(struct lex *l, size_t i, size_t close)
{
    size_t before = lex_prev_code(l, i);
    if (before == SIZE_MAX || l->v[before].kind != LEX_IDENT)
        return SIZE_MAX;
    size_t e = lex_angle_close(l, i);
    return e != SIZE_MAX && e < close && after_template(l, lex_next_code(l, e)) ? e : SIZE_MAX;
}

static bool add_arg(struct args *a, struct lex *l, size_t first, size_t stop)
{
    size_t last = lex_prev_code(l, stop);
    if (a->n == ARGS_MAX || last == SIZE_MAX || last < first)
        return false;
    a->v[a->n++] = (struct arg){first, last};
    return true;
}

bool args_split(struct lex *l, size_t open, size_t close, struct args *ret)
{
    *ret = (struct args){.open = open, .close = close};
    size_t first = lex_next_code(l, open);
    if (first >= close)
        return first == close;
    for (size_t i = first; i < close; i = lex_next_code(l, i)) {
        const struct lex_tok *t = &l->v[i];
        size_t e = SIZE_MAX;
        if (t->kind == LEX_EOD)
            return false;
        if (t->kind != LEX_PUNCT)
            continue;
        if (t->sub == ',') {
            if (!add_arg(ret, l, first, i))
                return false;
            first = lex_next_code(l, i);
        } else if (t->sub == '(' || t->sub == '[' || t->sub == '{') {
            e = lex_close(l, i);
            if (e == SIZE_MAX || e >= close)
                return false;
        } else if (t->sub == '<') {
            e = template_end(l, i, close);
        }
        if (e != SIZE_MAX)
            i = e;
    }
    return add_arg(ret, l, first, close);
}

bool has_directive(const struct lex *l, size_t from, size_t to)
{
    enum { LOOK_MAX = 4096 }; /* tokens; nested calls must not make this quadratic */
    if (to - from > LOOK_MAX)
        return true;
    for (size_t i = from; i <= to; i++)
        if (l->v[i].kind == LEX_HASH)
            return true;
    return false;
}

static void insert(struct pass *p, size_t at, const char *text)
{
    source_edit(p->s, at, 0, text, strlen(text), EDIT_ARGS);
}

static void wrap(struct pass *p, const struct arg *a, const char *before)
{
    insert(p, p->l->v[a->first].at, before);
    insert(p, tok_end(p->l, a->last), ")");
}

/* Where to insert so that the text becomes argument number k, and the text with its comma. */
static void insert_arg(struct pass *p, const struct args *a, int k, const char *value)
{
    struct sl_arena *m = &p->s->arena;
    if (k < a->n)
        insert(p, p->l->v[a->v[k].first].at, sl_arena_printf(m, "%s, ", value));
    else
        insert(p, p->l->v[a->close].at, sl_arena_printf(m, "%s%s", a->n ? ", " : "", value));
}

/* Deletes arguments [k, k + count) with one comma each. */
static void remove_args(struct pass *p, const struct args *a, int k, int count)
{
    const struct lex *l = p->l;
    size_t from = l->v[a->v[k].first].at, to;
    if (k + count < a->n) {
        to = l->v[a->v[k + count].first].at;
    } else {
        to = tok_end(l, a->v[k + count - 1].last);
        if (k > 0)
            from = tok_end(l, a->v[k - 1].last);
    }
    source_edit(p->s, from, to - from, "", 0, EDIT_ARGS);
}

static void move_args(struct pass *p, const struct args *a, const struct api_rule *r)
{
    if (r->arg + r->count > a->n)
        return;
    insert_arg(p, a, r->to, pass_text(p, a->v[r->arg].first, a->v[r->arg + r->count - 1].last));
    if (r->action == API_ARG_MOVE)
        remove_args(p, a, r->arg, r->count);
}

static void apply(struct pass *p, const struct args *a, const struct api_rule *r)
{
    bool there = r->arg < a->n;
    if (r->action > API_ARG_ADD && has_directive(p->l, a->open, a->close)) {
        pass_note(p, p->l->v[a->open].at, -1, PORT_BY_HAND);
        return;
    }
    switch (r->action) {
    case API_ARG_SYMBOL:
        if (there)
            wrap(p, &a->v[r->arg], "HIP_SYMBOL(");
        break;
    case API_ARG_CAST_POINTER:
        if (there)
            wrap(p, &a->v[r->arg], "reinterpret_cast<const void*>(");
        break;
    case API_ARG_CAST_SIZE:
        if (there)
            wrap(p, &a->v[r->arg], "reinterpret_cast<size_t*>(");
        break;
    case API_ARG_ADD:
        insert_arg(p, a, r->arg, r->value);
        break;
    case API_ARG_SET:
        if (there) {
            size_t at = p->l->v[a->v[r->arg].first].at;
            source_edit(p->s, at, tok_end(p->l, a->v[r->arg].last) - at, r->value, strlen(r->value),
                        EDIT_ARGS);
        }
        break;
    case API_ARG_REMOVE:
        if (there) {
            pass_note(p, p->l->v[a->v[r->arg].first].at, -1, PORT_DATA_LOSS);
            remove_args(p, a, r->arg, 1);
        }
        break;
    case API_ARG_COPY:
    case API_ARG_MOVE:
        move_args(p, a, r);
        break;
    case API_ARG_NAME:
    case API_ACTIONS:
        break;
    }
}

/* Words that may stand before a call without making it a declaration. */
static bool is_statement_word(const struct lex *l, size_t i)
{
    static const char *const words[] = {"return", "else",      "case",    "do",
                                        "throw",  "co_return", "and",     "or",
                                        "not",    "co_await",  "co_yield"};
    for (size_t k = 0; k < SL_COUNT(words); k++)
        if (lex_is(l, i, words[k]))
            return true;
    return false;
}

/* HIPIFY does it, but the call is right without: an argument that C++ gives a default, a cast of
 * what is already a void pointer. */
static bool is_needless(const struct pass *p, const struct args *a, const struct api_rule *r)
{
    const struct lex *l = p->l;
    const char *path = p->s->path;
    size_t n = strlen(path);
    if (r->action == API_ARG_ADD && strcmp(r->value, "hipHostMallocDefault") == 0)
        return n < 2 || strcmp(path + n - 2, ".c") != 0;
    if (r->action != API_ARG_CAST_POINTER || r->arg >= a->n)
        return false;
    size_t i = a->v[r->arg].first;
    if (lex_is(l, i, "reinterpret_cast"))
        return true;
    i += lex_punct(l, i, '(') + lex_is(l, i + 1, "const");
    return lex_punct(l, a->v[r->arg].first, '(') && lex_is(l, i, "void") &&
           lex_punct(l, i + 1, '*') && lex_punct(l, i + 2, ')');
}

const char *pass_args(struct pass *p, size_t i, int id)
{
    struct lex *l = p->l;
    struct api_rule r;
    if (!api_rule(id, 0, &r))
        return NULL;
    size_t before = lex_prev_code(l, i), open = lex_next_code(l, i);
    if (before != SIZE_MAX && l->v[before].kind == LEX_IDENT && !is_statement_word(l, before))
        return NULL;
    if (lex_punct(l, open, '<')) {
        size_t e = lex_angle_close(l, open);
        open = e == SIZE_MAX ? l->n : lex_next_code(l, e);
    }
    if (!lex_punct(l, open, '('))
        return NULL;
    size_t close = lex_close(l, open);
    struct args a;
    if (close == SIZE_MAX || !args_split(l, open, close, &a) || a.n == 0)
        return NULL;
    enum api_target target = p->o->miopen ? API_TO_MIOPEN : p->o->roc ? API_TO_ROC : API_TO_HIP;
    const char *name = NULL;
    for (int k = 0; api_rule(id, k, &r); k++) {
        bool hip_name = r.target == API_TO_HIP && !(api_flags(id) & API_ROC);
        if ((r.target != target && !hip_name) || (r.argc && r.argc != a.n))
            continue;
        if (r.action == API_ARG_NAME)
            name = r.value;
        else if (p->o->hipify || !is_needless(p, &a, &r))
            apply(p, &a, &r);
    }
    return name;
}
