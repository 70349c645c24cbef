/* SPDX-License-Identifier: Apache-2.0
 *
 * lex_walk.c: moving over tokens: neighbours, brackets, template brackets.
 */
#include "port/lex.h"
#include "base/core/mem.h"

enum { ANGLE_MAX_TOKENS = 4096 }; /* farther apart than this, '<' and '>' are comparisons */

bool lex_shr(const struct lex *l, size_t i)
{
    return lex_punct(l, i, '>') && lex_punct(l, i + 1, '>') && l->v[i + 1].at == l->v[i].at + 1;
}

size_t lex_next(const struct lex *l, size_t i)
{
    while (i < l->n && l->v[++i].kind == LEX_COMMENT)
        ;
    return i < l->n ? i : l->n;
}

size_t lex_prev(const struct lex *l, size_t i)
{
    while (i-- > 0)
        if (l->v[i].kind != LEX_COMMENT)
            return i;
    return SIZE_MAX;
}

size_t lex_next_code(const struct lex *l, size_t i)
{
    if (i >= l->n)
        return l->n;
    if (l->v[i].flags & LEX_F_PP)
        return l->v[i].kind == LEX_EOD ? i : lex_next(l, i);
    for (i = lex_next(l, i); i < l->n && l->v[i].kind == LEX_HASH; i = lex_next(l, i))
        while (l->v[i].kind != LEX_EOD)
            i++;
    return i;
}

size_t lex_prev_code(const struct lex *l, size_t i)
{
    if (i < l->n && l->v[i].flags & LEX_F_PP)
        return l->v[i].kind == LEX_HASH ? SIZE_MAX : lex_prev(l, i);
    for (i = lex_prev(l, i); i != SIZE_MAX && l->v[i].kind == LEX_EOD; i = lex_prev(l, i))
        while (l->v[i].kind != LEX_HASH)
            i--;
    return i;
}

static int depth_of(const struct lex_tok *t)
{
    if (t->kind != LEX_PUNCT)
        return 0;
    switch (t->sub) {
    case '(':
    case '[':
    case '{':
        return 1;
    case ')':
    case ']':
    case '}':
        return -1;
    default:
        return 0;
    }
}

/* Pairs the brackets of tokens [from, to) outside of (pp false) or inside of a directive. A closing
 * bracket drops unclosed inner ones of weaker kinds: `{ ( }` leaves the '(' alone. */
static void pair_range(struct lex *l, size_t from, size_t to, uint32_t *stack)
{
    bool pp = l->v[from].flags & LEX_F_PP;
    size_t depth = 0;
    for (size_t i = from; i < to; i++) {
        const struct lex_tok *t = &l->v[i];
        int d = pp == !!(t->flags & LEX_F_PP) ? depth_of(t) : 0;
        if (d > 0)
            stack[depth++] = (uint32_t)i;
        if (d >= 0)
            continue;
        uint8_t want = t->sub == ')' ? '(' : t->sub == ']' ? '[' : '{';
        size_t k = depth;
        while (k > 0 && l->v[stack[k - 1]].sub != want && l->v[stack[k - 1]].sub != '{')
            k--;
        if (k == 0 || l->v[stack[k - 1]].sub != want)
            continue;
        depth = k - 1;
        l->mate[i] = stack[depth];
        l->mate[stack[depth]] = (uint32_t)i;
    }
}

static void pair_all(struct lex *l)
{
    l->mate = sl_realloc(NULL, (l->n + 1) * sizeof *l->mate);
    memset(l->mate, 0xff, (l->n + 1) * sizeof *l->mate);
    uint32_t *stack = sl_realloc(NULL, (l->n + 1) * sizeof *stack);
    for (size_t i = 0; i < l->n; i++) {
        if (l->v[i].kind != LEX_HASH)
            continue;
        size_t e = i;
        while (l->v[e].kind != LEX_EOD)
            e++;
        pair_range(l, i, e, stack);
        i = e;
    }
    size_t code = 0; /* pair_range takes its side from its first token */
    while (code < l->n && l->v[code].flags & LEX_F_PP)
        code++;
    pair_range(l, code, l->n, stack);
    free(stack);
}

static size_t mate_of(struct lex *l, size_t i)
{
    if (!l->mate)
        pair_all(l);
    return l->mate[i] == UINT32_MAX ? SIZE_MAX : l->mate[i];
}

size_t lex_close(struct lex *l, size_t i)
{
    size_t m = mate_of(l, i);
    return m != SIZE_MAX && m > i ? m : SIZE_MAX;
}

size_t lex_open(struct lex *l, size_t i)
{
    size_t m = mate_of(l, i);
    return m != SIZE_MAX && m < i ? m : SIZE_MAX;
}

/* A token that cannot stand between template brackets outside of parentheses. */
static bool ends_angle(const struct lex_tok *t)
{
    if (t->kind == LEX_EOD || t->kind == LEX_END)
        return true;
    return t->kind == LEX_PUNCT &&
           (t->sub == ';' || t->sub == '{' || t->sub == '}' || t->sub == LEX_P_AND ||
            t->sub == LEX_P_OR || t->sub == LEX_P_LAUNCH || t->sub == LEX_P_ASSIGN_OP);
}

size_t lex_angle_close(struct lex *l, size_t i)
{
    int depth = 0;
    for (int k = 0; k < ANGLE_MAX_TOKENS && i < l->n; k++, i = lex_next_code(l, i)) {
        const struct lex_tok *t = &l->v[i];
        int d = depth_of(t);
        if (d > 0 && t->sub != '{') {
            i = lex_close(l, i);
            if (i == SIZE_MAX)
                return SIZE_MAX;
        } else if (d < 0 || ends_angle(t)) {
            return SIZE_MAX;
        } else if (t->kind == LEX_PUNCT) {
            depth += (t->sub == '<') - (t->sub == '>');
            if (depth == 0)
                return i;
        }
    }
    return SIZE_MAX;
}

size_t lex_angle_open(struct lex *l, size_t i)
{
    int depth = 0;
    for (int k = 0; k < ANGLE_MAX_TOKENS && i != SIZE_MAX; k++, i = lex_prev_code(l, i)) {
        const struct lex_tok *t = &l->v[i];
        int d = depth_of(t);
        if (d < 0 && t->sub != '}') {
            i = lex_open(l, i);
            if (i == SIZE_MAX)
                return SIZE_MAX;
        } else if (d > 0 || ends_angle(t)) {
            return SIZE_MAX;
        } else if (t->kind == LEX_PUNCT) {
            depth += (t->sub == '>') - (t->sub == '<');
            if (depth == 0)
                return i;
        }
    }
    return SIZE_MAX;
}
