/* SPDX-License-Identifier: Apache-2.0
 *
 * lex.h: CUDA C++ as a flat array of tokens that point into the file's bytes. Nothing is copied,
 * nothing is preprocessed, every byte between two tokens is white space (or a line continuation).
 *
 *     struct lex l = {0};
 *     lex_run(&l, bytes, n);
 *     for (size_t i = 0; i < l.n; i++)
 *         if (l.v[i].kind == LEX_IDENT && lex_is(&l, i, "cudaMalloc")) ...
 *     lex_free(&l);
 *
 * - The array always ends with one LEX_END token (zero bytes at offset n); l.n does not count it,
 * so l.v[l.n] may be read. One token before the first does not exist: check i > 0.
 * - A UTF-8 byte order mark at the very start is white space.
 * - Any bytes are accepted: bytes >= 0x80 belong to identifiers, NUL and other controls are
 *   punctuators of one byte. Lexing is linear in n and cannot fail; damage is flagged on the token
 *   (LEX_F_OPEN: a comment, string or character constant that never ends).
 * - A preprocessor line is: LEX_HASH (its `sub` says which directive), then the directive's name
 *   (LEX_IDENT), then its tokens, then LEX_EOD, a zero-length token at the newline. All tokens from
 *   LEX_HASH to LEX_EOD carry LEX_F_PP. Line continuations do not end it.
 *   #include, #include_next, #import: the operand is one LEX_HEADER token, brackets or quotes in
 * it.
 * - '>' is always a token of one byte, because only a parser can tell `>>` from two closing
 * template brackets; lex_shr() tests for a shift. `<<<` is one token (LEX_P_LAUNCH).
 * - Strings with a prefix (L"", u8R"()") are one token, the prefix in it.
 * - Line and column are looked up, not stored: see struct source in source.h.
 *
 * The bytes must outlive the tokens. A struct lex may be run again (memory is reused).
 */
#ifndef PORT_LEX_H
#define PORT_LEX_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum lex_kind {
    LEX_END,
    LEX_IDENT,   /* identifiers and keywords */
    LEX_NUMBER,  /* pp-number, with digit separators and suffix */
    LEX_STRING,  /* "..." with prefix */
    LEX_RAW,     /* R"x(...)x" with prefix */
    LEX_CHAR,    /* '...' with prefix */
    LEX_PUNCT,   /* sub: the character, or one of enum lex_punct */
    LEX_COMMENT, /* whole comment, without the newline that ends a // one */
    LEX_HASH,    /* '#' that opens a directive; sub: enum lex_directive */
    LEX_HEADER,  /* <file> or "file" of an include */
    LEX_EOD      /* end of a directive */
};

/* Punctuators of more than one byte; one-byte ones have their own character as `sub` (>= 0x80:
 * '?'). */
enum lex_punct {
    LEX_P_LAUNCH = 128, /* <<< */
    LEX_P_SCOPE,        /* :: */
    LEX_P_ARROW,        /* -> */
    LEX_P_PASTE,        /* ## */
    LEX_P_DOTS,         /* ... */
    LEX_P_SHL,          /* << */
    LEX_P_LE,           /* <= */
    LEX_P_GE,           /* >= */
    LEX_P_EQ,           /* == */
    LEX_P_NE,           /* != */
    LEX_P_AND,          /* && */
    LEX_P_OR,           /* || */
    LEX_P_INC,          /* ++ */
    LEX_P_DEC,          /* -- */
    LEX_P_ASSIGN_OP     /* += -= *= /= %= &= |= ^= <<= (not >>=: '>' and LEX_P_GE) */
};

enum lex_directive {
    LEX_D_OTHER,
    LEX_D_INCLUDE, /* #include, #include_next, #import */
    LEX_D_DEFINE,
    LEX_D_UNDEF,
    LEX_D_IF,
    LEX_D_IFDEF,
    LEX_D_IFNDEF,
    LEX_D_ELIF,
    LEX_D_ELSE,
    LEX_D_ENDIF,
    LEX_D_PRAGMA,
    LEX_D_ERROR /* #error, #warning */
};

enum {
    LEX_F_BOL = 1,  /* first token of its line */
    LEX_F_PP = 2,   /* part of a preprocessor line */
    LEX_F_OPEN = 4, /* never closed: runs to the end of the line (string, char) or file */
    LEX_F_SPACE = 8 /* white space (or a continuation) stands right before it */
};

struct lex_tok {
    uint32_t at, n; /* offset and length in bytes */
    uint8_t kind;   /* enum lex_kind */
    uint8_t sub;    /* see enum lex_kind */
    uint8_t flags;  /* LEX_F_* */
    uint8_t first;  /* first byte of the text */
};

struct lex {
    const char *p; /* the bytes, borrowed */
    size_t bytes;
    struct lex_tok *v;
    size_t n, cap;
    uint32_t *mate; /* bracket pairs, made by the first lex_close or lex_open; else NULL */
};

/* Largest input: offsets are 32 bit and the tool's file limit is 1 GiB. Asserted by lex_run. */
#define LEX_MAX_BYTES ((size_t)1 << 30)

void lex_run(struct lex *l, const char *p, size_t n);
void lex_free(struct lex *l);

static inline const char *lex_text(const struct lex *l, size_t i)
{
    return l->p + l->v[i].at;
}
static inline bool lex_is_n(const struct lex *l, size_t i, const char *s, size_t n)
{
    return l->v[i].n == n && memcmp(l->p + l->v[i].at, s, n) == 0;
}
/* Token i has exactly this text (any kind). */
static inline bool lex_is(const struct lex *l, size_t i, const char *s)
{
    return lex_is_n(l, i, s, strlen(s));
}
/* Token i is this punctuator: a character or one of enum lex_punct. */
static inline bool lex_punct(const struct lex *l, size_t i, int sub)
{
    return l->v[i].kind == LEX_PUNCT && l->v[i].sub == sub;
}
/* Tokens i and i+1 are a `>>` without space between. */
bool lex_shr(const struct lex *l, size_t i);

/* The next (previous) token that is no comment. lex_next stops at l->n; lex_prev returns SIZE_MAX
 * when there is none. Both cross preprocessor lines; see lex_next_code for the ones that do not. */
size_t lex_next(const struct lex *l, size_t i);
size_t lex_prev(const struct lex *l, size_t i);
/* The same, jumping over whole preprocessor lines when token i is outside of one, and staying
 * inside the directive (ending at its LEX_EOD; SIZE_MAX at its LEX_HASH) when token i is in one. */
size_t lex_next_code(const struct lex *l, size_t i);
size_t lex_prev_code(const struct lex *l, size_t i);
/* Token i is ( [ or {: the token that closes it, or SIZE_MAX. A bracket pairs with one of its own
 * kind inside the same directive, or outside of all directives. The first call pairs the whole file
 * in one pass; after that each question is one look-up, so that any use stays linear. */
size_t lex_close(struct lex *l, size_t i);
/* Token i is ) ] or }: the token that opens it, or SIZE_MAX. */
size_t lex_open(struct lex *l, size_t i);
/* Token i is '<': the '>' that closes it if what stands between can be template arguments (balanced
 * brackets, no ';', '{' or '&&'/'||' outside of parentheses, at most 4096 tokens), else SIZE_MAX.
 */
size_t lex_angle_close(struct lex *l, size_t i);
/* The opposite way: token i is '>'. */
size_t lex_angle_open(struct lex *l, size_t i);
#endif
