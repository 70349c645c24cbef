/* SPDX-License-Identifier: Apache-2.0 */
#include "port/lex.h"
#include "base/core/err.h"
#include "base/core/mem.h"
#include <stdlib.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* What a byte can start, and (bit 7) whether it may stand inside an identifier or number. */
enum {
    C_OTHER,
    C_SINGLE, /* a punctuator that never starts a longer one */
    C_SPACE,
    C_NEWLINE,
    C_WORD,
    C_DIGIT,
    C_DOT,
    C_QUOTE,
    C_APOS,
    C_SLASH,
    C_HASH,
    C_BACK
};
enum { C_IN_WORD = 0x80, C_SECOND = 0x40 /* may be the second byte of a punctuator */ };

#define C_W (C_WORD | C_IN_WORD)
#define C_N (C_DIGIT | C_IN_WORD)
static const uint8_t class_of[256] = {
    ['\t'] = C_SPACE,
    ['\v'] = C_SPACE,
    ['\f'] = C_SPACE,
    ['\r'] = C_SPACE,
    [' '] = C_SPACE,
    ['\n'] = C_NEWLINE,
    ['a' ... 'z'] = C_W,
    ['A' ... 'Z'] = C_W,
    ['_'] = C_W,
    ['$'] = C_W,
    [0x80 ... 0xff] = C_W,
    ['0' ... '9'] = C_N,
    ['.'] = C_DOT,
    ['"'] = C_QUOTE,
    ['\''] = C_APOS,
    ['/'] = C_SLASH,
    ['#'] = C_HASH | C_SECOND,
    ['='] = C_OTHER | C_SECOND,
    ['<'] = C_OTHER | C_SECOND,
    ['>'] = C_OTHER | C_SECOND,
    ['&'] = C_OTHER | C_SECOND,
    ['|'] = C_OTHER | C_SECOND,
    ['+'] = C_OTHER | C_SECOND,
    ['-'] = C_OTHER | C_SECOND,
    [':'] = C_OTHER | C_SECOND,
    ['\\'] = C_BACK,
    ['('] = C_SINGLE,
    [')'] = C_SINGLE,
    ['['] = C_SINGLE,
    [']'] = C_SINGLE,
    ['{'] = C_SINGLE,
    ['}'] = C_SINGLE,
    [';'] = C_SINGLE,
    [','] = C_SINGLE,
    ['?'] = C_SINGLE,
    ['~'] = C_SINGLE,
};

struct run {
    struct lex *l;
    const char *p;
    size_t n;
    uint8_t flags; /* for the next token */
};

static inline uint8_t cls(unsigned char c)
{
    return class_of[c] & 0x3f;
}
static inline bool in_word(unsigned char c)
{
    return class_of[c] & C_IN_WORD;
}

static void grow(struct lex *l)
{
    l->cap = l->cap ? l->cap * 2 : 256;
    l->v = sl_realloc(l->v, l->cap * sizeof *l->v);
}

/* Writes a token; its four small fields in one store. */
static inline void fill(struct lex_tok *t, const char *p, size_t at, size_t end, unsigned kind,
                        unsigned sub, unsigned flags)
{
    t->at = (uint32_t)at;
    t->n = (uint32_t)(end - at);
    uint8_t small[4] = {(uint8_t)kind, (uint8_t)sub, (uint8_t)flags, (uint8_t)p[at]};
    memcpy(&t->kind, small, sizeof small);
}

static struct lex_tok *put(struct run *r, size_t at, size_t end, int kind, int sub)
{
    struct lex *l = r->l;
    if (l->n + 1 >= l->cap)
        grow(l);
    struct lex_tok *t = &l->v[l->n++];
    /* A zero-length token (LEX_EOD at the end of the input) has no first byte to look at. */
    fill(t, at < r->n ? r->p : "", at < r->n ? at : 0, at < r->n ? end : 0, (unsigned)kind,
         (unsigned)sub, r->flags);
    t->at = (uint32_t)at;
    r->flags &= LEX_F_PP;
    return t;
}

#ifdef __SSE2__
/* One bit for each of 16 bytes: set where it belongs to a word. Ranges by one signed comparison
 * each. */
static inline unsigned word_bits(const char *p)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i low = _mm_or_si128(v, _mm_set1_epi8(0x20));
    __m128i alpha = _mm_cmplt_epi8(_mm_add_epi8(low, _mm_set1_epi8((char)(128 - 'a'))),
                                   _mm_set1_epi8(-128 + 26));
    __m128i digit =
        _mm_cmplt_epi8(_mm_add_epi8(v, _mm_set1_epi8((char)(128 - '0'))), _mm_set1_epi8(-128 + 10));
    __m128i other =
        _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('_')), _mm_cmpeq_epi8(v, _mm_set1_epi8('$')));
    __m128i all = _mm_or_si128(_mm_or_si128(alpha, digit), _mm_or_si128(other, v));
    return (unsigned)_mm_movemask_epi8(all);
}

static inline unsigned space_bits(const char *p)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8(' ')));
}
#endif

static inline size_t scan_word(const char *p, size_t i, size_t n)
{
#ifdef __SSE2__
    for (; i + 16 <= n; i += 16) {
        unsigned outside = ~word_bits(p + i) & 0xffff;
        if (outside)
            return i + (size_t)__builtin_ctz(outside);
    }
#endif
    while (i < n && in_word((unsigned char)p[i]))
        i++;
    return i;
}

static inline size_t scan_spaces(const char *p, size_t i, size_t n)
{
#ifdef __SSE2__
    for (; i + 16 <= n; i += 16) {
        unsigned outside = ~space_bits(p + i) & 0xffff;
        if (outside)
            return i + (size_t)__builtin_ctz(outside);
    }
#endif
    while (i < n && p[i] == ' ')
        i++;
    return i;
}

/* A pp-number from i: digits, letters, '.', digit separators, and a sign after e or p. */
static size_t scan_number(const char *p, size_t i, size_t n)
{
    for (; i < n; i++) {
        char c = p[i];
        if (in_word((unsigned char)c) || c == '.')
            continue;
        char before = p[i - 1] | 0x20;
        if ((c == '+' || c == '-') && (before == 'e' || before == 'p'))
            continue;
        if (c == '\'' && i + 1 < n && in_word((unsigned char)p[i + 1]))
            continue;
        break;
    }
    return i;
}

/* A backslash at i: the length of the line splice it makes, or 0. */
static size_t splice(const char *p, size_t i, size_t n)
{
    if (i + 1 < n && p[i + 1] == '\n')
        return 2;
    if (i + 2 < n && p[i + 1] == '\r' && p[i + 2] == '\n')
        return 3;
    return 0;
}

/* From the byte after the opening quote to the byte after the closing one; ends before a newline.
 */
static size_t scan_quoted(const char *p, size_t i, size_t n, char quote, bool *ret_open)
{
    for (; i < n; i++) {
        if (p[i] == quote)
            return i + 1;
        if (p[i] == '\n')
            break;
        if (p[i] == '\\') {
            size_t s = splice(p, i, n);
            i += s ? s - 1 : 1;
        }
    }
    *ret_open = true;
    if (i > n)
        i = n;
    return i && i <= n && p[i - 1] == '\r' && i < n ? i - 1 : i;
}

/* From the quote of R"x( to the byte after the )x". A malformed delimiter makes a plain string. */
static size_t scan_raw(const char *p, size_t quote, size_t n, bool *ret_open)
{
    size_t d = quote + 1;
    while (d < n && d - quote <= 17 && p[d] != '(' && p[d] != ')' && p[d] != '\\' && p[d] != '\n' &&
           p[d] != ' ' && p[d] != '"')
        d++;
    if (d >= n || p[d] != '(')
        return scan_quoted(p, quote + 1, n, '"', ret_open);
    size_t delim = d - quote - 1;
    for (size_t i = d + 1; i < n;) {
        const char *c = memchr(p + i, ')', n - i);
        if (!c)
            break;
        i = (size_t)(c - p) + 1;
        if (n - i > delim && memcmp(p + i, p + quote + 1, delim) == 0 && p[i + delim] == '"')
            return i + delim + 1;
    }
    *ret_open = true;
    return n;
}

static size_t line_comment(const char *p, size_t i, size_t n)
{
    while (i < n) {
        const char *nl = memchr(p + i, '\n', n - i);
        if (!nl)
            return n;
        size_t e = (size_t)(nl - p);
        size_t last = e - (e > i && p[e - 1] == '\r');
        if (last == i || p[last - 1] != '\\')
            return last;
        i = e + 1;
    }
    return n;
}

static size_t block_comment(const char *p, size_t i, size_t n, bool *ret_open)
{
    while (i < n) {
        const char *s = memchr(p + i, '*', n - i);
        if (!s)
            break;
        i = (size_t)(s - p) + 1;
        if (i < n && p[i] == '/')
            return i + 1;
    }
    *ret_open = true;
    return n;
}

static size_t lex_slash(struct run *r, size_t i)
{
    char next = i + 1 < r->n ? r->p[i + 1] : 0;
    bool open = false;
    size_t e;
    if (next == '/') {
        e = line_comment(r->p, i + 2, r->n);
    } else if (next == '*') {
        e = block_comment(r->p, i + 2, r->n, &open);
    } else {
        bool op = next == '=';
        put(r, i, i + 1 + op, LEX_PUNCT, op ? LEX_P_ASSIGN_OP : '/');
        return i + 1 + op;
    }
    struct lex_tok *t = put(r, i, e, LEX_COMMENT, 0);
    if (open)
        t->flags |= LEX_F_OPEN;
    return e;
}

/* A string or character constant whose text starts at `at` (prefix) and whose quote is at `quote`.
 */
static size_t lex_quoted(struct run *r, size_t at, size_t quote)
{
    bool open = false;
    bool raw = quote > at && r->p[quote - 1] == 'R' && r->p[quote] == '"';
    size_t e = raw ? scan_raw(r->p, quote, r->n, &open)
                   : scan_quoted(r->p, quote + 1, r->n, r->p[quote], &open);
    int kind = raw ? LEX_RAW : r->p[quote] == '"' ? LEX_STRING : LEX_CHAR;
    struct lex_tok *t = put(r, at, e, kind, 0);
    if (open)
        t->flags |= LEX_F_OPEN;
    return e;
}

/* L u U u8, each with an optional R, and R alone. */
static bool is_prefix(const char *p, size_t n, bool string)
{
    if (n > 3)
        return false;
    if (string && p[n - 1] == 'R')
        n--;
    return n == 0 || (n == 1 && (p[0] == 'L' || p[0] == 'u' || p[0] == 'U')) ||
           (n == 2 && p[0] == 'u' && p[1] == '8');
}

static int directive_of(const char *p, size_t n)
{
    static const struct {
        const char *name;
        int d;
    } t[] = {{"include", LEX_D_INCLUDE}, {"include_next", LEX_D_INCLUDE}, {"import", LEX_D_INCLUDE},
             {"define", LEX_D_DEFINE},   {"undef", LEX_D_UNDEF},          {"if", LEX_D_IF},
             {"ifdef", LEX_D_IFDEF},     {"ifndef", LEX_D_IFNDEF},        {"elif", LEX_D_ELIF},
             {"else", LEX_D_ELSE},       {"endif", LEX_D_ENDIF},          {"pragma", LEX_D_PRAGMA},
             {"error", LEX_D_ERROR},     {"warning", LEX_D_ERROR}};
    for (size_t k = 0; k < SL_COUNT(t); k++)
        if (strlen(t[k].name) == n && memcmp(t[k].name, p, n) == 0)
            return t[k].d;
    return LEX_D_OTHER;
}

/* The operand of an include, or i when what stands there is something else (a macro). */
static size_t lex_header(struct run *r, size_t i)
{
    size_t at = i;
    while (at < r->n && (r->p[at] == ' ' || r->p[at] == '\t'))
        at++;
    if (at == r->n || (r->p[at] != '<' && r->p[at] != '"'))
        return i;
    char end = r->p[at] == '<' ? '>' : '"';
    size_t e = at + 1;
    while (e < r->n && r->p[e] != end && r->p[e] != '\n')
        e++;
    if (e >= r->n || r->p[e] != end)
        return i;
    r->flags |= at > i ? LEX_F_SPACE : 0;
    put(r, at, e + 1, LEX_HEADER, 0);
    return e + 1;
}

/* Nothing but comments stands before offset i on its line. */
static bool opens_line(const struct run *r)
{
    if (r->flags & LEX_F_PP)
        return false;
    if (r->flags & LEX_F_BOL)
        return true;
    size_t k = r->l->n;
    while (k > 0 && r->l->v[k - 1].kind == LEX_COMMENT)
        if (r->l->v[--k].flags & LEX_F_BOL)
            return true;
    return false;
}

/* '#' as the first thing of a line: the token itself, the directive's name, an include's operand.
 */
static size_t lex_hash(struct run *r, size_t i)
{
    r->flags |= LEX_F_PP;
    put(r, i, i + 1, LEX_HASH, LEX_D_OTHER);
    size_t hash = r->l->n - 1, at = i + 1;
    while (at < r->n && (r->p[at] == ' ' || r->p[at] == '\t'))
        at++;
    if (at >= r->n || cls((unsigned char)r->p[at]) != C_WORD)
        return i + 1;
    if (at > i + 1)
        r->flags |= LEX_F_SPACE;
    size_t e = scan_word(r->p, at + 1, r->n);
    put(r, at, e, LEX_IDENT, 0);
    int d = directive_of(r->p + at, e - at);
    r->l->v[hash].sub = (uint8_t)d;
    return d == LEX_D_INCLUDE ? lex_header(r, e) : e;
}

static int pair_of(char c, char d)
{
    switch (c) {
    case ':':
        return d == ':' ? LEX_P_SCOPE : 0;
    case '-':
        return d == '>' ? LEX_P_ARROW : d == '-' ? LEX_P_DEC : d == '=' ? LEX_P_ASSIGN_OP : 0;
    case '+':
        return d == '+' ? LEX_P_INC : d == '=' ? LEX_P_ASSIGN_OP : 0;
    case '<':
        return d == '<' ? LEX_P_SHL : d == '=' ? LEX_P_LE : 0;
    case '>':
        return d == '=' ? LEX_P_GE : 0;
    case '=':
        return d == '=' ? LEX_P_EQ : 0;
    case '!':
        return d == '=' ? LEX_P_NE : 0;
    case '&':
        return d == '&' ? LEX_P_AND : d == '=' ? LEX_P_ASSIGN_OP : 0;
    case '|':
        return d == '|' ? LEX_P_OR : d == '=' ? LEX_P_ASSIGN_OP : 0;
    case '#':
        return d == '#' ? LEX_P_PASTE : 0;
    case '*':
    case '%':
    case '^':
        return d == '=' ? LEX_P_ASSIGN_OP : 0;
    default:
        return 0;
    }
}

static size_t lex_punctuator(struct run *r, size_t i)
{
    const char *p = r->p;
    unsigned char c = (unsigned char)p[i];
    size_t left = r->n - i;
    int two = left > 1 ? pair_of(p[i], p[i + 1]) : 0;
    if (two == LEX_P_SHL && left > 2 && p[i + 2] == '<') {
        put(r, i, i + 3, LEX_PUNCT, LEX_P_LAUNCH);
        return i + 3;
    }
    if (two == LEX_P_SHL && left > 2 && p[i + 2] == '=') {
        put(r, i, i + 3, LEX_PUNCT, LEX_P_ASSIGN_OP);
        return i + 3;
    }
    if (two) {
        put(r, i, i + 2, LEX_PUNCT, two);
        return i + 2;
    }
    put(r, i, i + 1, LEX_PUNCT, c < 0x80 ? c : '?');
    return i + 1;
}

static size_t lex_dot(struct run *r, size_t i)
{
    const char *p = r->p;
    if (i + 1 < r->n && cls((unsigned char)p[i + 1]) == C_DIGIT) {
        size_t e = scan_number(p, i + 2, r->n);
        put(r, i, e, LEX_NUMBER, 0);
        return e;
    }
    bool dots = i + 2 < r->n && p[i + 1] == '.' && p[i + 2] == '.';
    put(r, i, i + (dots ? 3 : 1), LEX_PUNCT, dots ? LEX_P_DOTS : '.');
    return i + (dots ? 3 : 1);
}

static void end_directive(struct run *r, size_t i)
{
    put(r, i, i, LEX_EOD, 0);
    r->flags = 0;
}

/* What lex_all leaves: a newline that ends a directive, and tokens of the less common kinds. */
static size_t lex_other(struct run *r, size_t i, uint8_t c)
{
    size_t n;
    switch (c) {
    case C_SLASH:
        return lex_slash(r, i);
    case C_DIGIT:
        n = scan_number(r->p, i + 1, r->n);
        put(r, i, n, LEX_NUMBER, 0);
        return n;
    case C_QUOTE:
    case C_APOS:
        return lex_quoted(r, i, i);
    case C_DOT:
        return lex_dot(r, i);
    case C_BACK:
        n = splice(r->p, i, r->n);
        if (!n)
            return lex_punctuator(r, i);
        r->flags |= LEX_F_SPACE;
        return i + n;
    case C_NEWLINE:
        end_directive(r, i);
        r->flags = LEX_F_BOL | LEX_F_SPACE;
        return i + 1;
    case C_HASH:
        return opens_line(r) ? lex_hash(r, i) : lex_punctuator(r, i);
    default:
        return lex_punctuator(r, i);
    }
}

/* A number of one digit goes on with byte c. */
static inline bool number_goes_on(unsigned char c)
{
    return in_word(c) || c == '.' || c == '\'';
}

/* Words, single punctuators and white space, which are nearly everything, are done here with the
 * state in local variables; the rest by lex_other with the state in *r. */
static void lex_all(struct run *r)
{
    struct lex *l = r->l;
    const char *p = r->p;
    unsigned flags = r->flags;
    size_t k = l->n, n = r->n, e;
    size_t start = n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* byte order mark */
    for (size_t i = start; i < n; i = e) {
        uint8_t c = cls((unsigned char)p[i]);
        e = i + 1;
        if (c == C_SPACE) {
            flags |= LEX_F_SPACE;
            continue;
        }
        if (c == C_NEWLINE && !(flags & LEX_F_PP)) {
            flags = LEX_F_BOL | LEX_F_SPACE;
            e = scan_spaces(p, e, n);
            continue;
        }
        if (__builtin_expect(k + 1 >= l->cap, 0))
            grow(l);
        if (c == C_WORD) {
            e = scan_word(p, e, n);
            bool quote = e < n && (p[e] == '"' || p[e] == '\'');
            if (__builtin_expect(!quote || !is_prefix(p + i, e - i, p[e] == '"'), 1)) {
                fill(&l->v[k++], p, i, e, LEX_IDENT, 0, flags);
                flags &= LEX_F_PP;
                continue;
            }
        } else if (c == C_SINGLE ||
                   (c == C_OTHER && e < n && !(class_of[(unsigned char)p[e]] & C_SECOND))) {
            fill(&l->v[k++], p, i, e, LEX_PUNCT, (unsigned char)p[i], flags);
            flags &= LEX_F_PP;
            continue;
        }
        if (c == C_DIGIT && e < n && !number_goes_on((unsigned char)p[e])) {
            fill(&l->v[k++], p, i, e, LEX_NUMBER, 0, flags);
            flags &= LEX_F_PP;
            continue;
        }
        l->n = k;
        r->flags = (uint8_t)flags;
        e = c == C_WORD ? lex_quoted(r, i, e) : lex_other(r, i, c);
        k = l->n;
        flags = r->flags;
    }
    l->n = k;
    r->flags = (uint8_t)flags;
}

void lex_run(struct lex *l, const char *p, size_t n)
{
    SL_ASSERT(n <= LEX_MAX_BYTES);
    l->p = p;
    l->bytes = n;
    l->n = 0;
    free(l->mate);
    l->mate = NULL;
    size_t guess = n / 4 + 64; /* CUDA sources have a token each 4.5 bytes */
    if (l->cap < guess) {
        free(l->v);
        l->cap = guess;
        l->v = sl_realloc(NULL, guess * sizeof *l->v);
    }
    struct run r = {.l = l, .p = p, .n = n, .flags = LEX_F_BOL | LEX_F_SPACE};
    lex_all(&r);
    if (r.flags & LEX_F_PP)
        end_directive(&r, n);
    if (l->n + 1 >= l->cap)
        grow(l);
    l->v[l->n] = (struct lex_tok){.at = (uint32_t)n, .kind = LEX_END};
}

void lex_free(struct lex *l)
{
    free(l->v);
    free(l->mate);
    *l = (struct lex){0};
}
