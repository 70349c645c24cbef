/* SPDX-License-Identifier: Apache-2.0
 *
 * hazard_code.h: a light reading of C++ over the lexer's tokens, for the hazard rules: code tokens
 * without comments, matching brackets, device functions, declarations with the types that matter,
 * macros, constants. No preprocessing and no full grammar: what cannot be read is unknown, and a
 * rule that meets an unknown stays silent.
 *
 *     struct hz h;
 *     hz_open(&h, source, opts, findings);
 *     for (uint32_t i = 0; i < h.n; i++) if (hz_is(&h, i, "__popc")) ...
 *     hz_close(&h);
 *
 * A position `i` is an index into the code tokens, 0..h.n; h.n is the end token and may be read.
 * Ends of preprocessor lines stay in as LEX_EOD, so that patterns do not match across them.
 */
#ifndef PORT_HAZARD_CODE_H
#define PORT_HAZARD_CODE_H
#include "base/core/map.h"
#include "port/hazard.h"

enum { HZ_NONE = UINT32_MAX };
/* How far a rule looks for the uses of a name: keeps rules linear in practice on any input. */
enum { HZ_FAR = 50000 };

enum hz_type {
    HT_OTHER,
    HT_I32,
    HT_U32, /* 32 bits or fewer */
    HT_I64,
    HT_U64,
    HT_FLOAT,
    HT_DOUBLE,
    HT_HALF,
    HT_HALF2,
    HT_BF16,
    HT_AUTO,
    HT_PTR_ATTR,
    HT_PROP,
    HT_ERROR,
    HT_MEM_TYPE /* cudaPointerAttributes, cudaDeviceProp ... */
};

struct hz_func {
    uint32_t start;       /* first qualifier */
    uint32_t name;        /* HZ_NONE for a lambda */
    uint32_t params;      /* the ( of its parameters */
    uint32_t open, close; /* its braces */
    bool global, device, host;
    bool warp_op; /* its body uses a warp operation */
    bool held;    /* no warpSize in it */
};

struct hz_decl {
    uint32_t name, type0, type1; /* name; type tokens type0..type1 (exclusive) */
    uint32_t end;                /* last position of its scope */
    uint32_t init0, init1;       /* initializer, empty when there is none */
    uint32_t prev;               /* earlier declaration of the same name, plus one; 0 ends */
    enum hz_type type;
    bool pointer, shared, constant, array, param, alone /* only declarator of its statement */;
    bool mask; /* was given a lane mask (ballot, activemask, match) */
};

struct hz_macro {
    uint32_t name, body0, body1; /* object-like only when !function */
    bool function;
};

struct hz {
    struct hazard_opts own; /* o points here */
    struct source *s;
    const struct lex *l;
    const struct hazard_opts *o;
    struct findings *f;
    uint32_t *t; /* lexer index of each code token; n + 1 entries */
    uint32_t n;
    uint32_t *match; /* the other bracket, or HZ_NONE */
    struct hz_func *fn;
    size_t n_fn, cap_fn;
    struct hz_decl *decl;
    size_t n_decl, cap_decl;
    struct hz_macro *macro;
    size_t n_macro, cap_macro;
    struct sl_map decls, macros; /* name -> index + 1 */
    struct sl_map names;         /* of functions -> any */
    uint8_t *settled;            /* per position: a fix has replaced the vote that stands there */
    struct sl_map *outside;      /* name asked of local headers -> answer; see hz_outside */
    bool warp_ops;               /* any warp operation in the file */
    bool warp_size; /* reads the builtin warpSize, or knows a warp of 64: not code for 32 */
    bool hip;       /* HIP already: its calls have HIP's meaning, nothing is fixed */
};

void hz_open(struct hz *h, struct source *s, const struct hazard_opts *o, struct findings *f);
void hz_close(struct hz *h);
/* The passes of hz_open, each in its own file. */
void hz_read_functions(struct hz *h);
void hz_read_decls(struct hz *h);

static inline const struct lex_tok *hz_tok(const struct hz *h, uint32_t i)
{
    return &h->l->v[h->t[i < h->n ? i : h->n]];
}
static inline bool hz_is(const struct hz *h, uint32_t i, const char *s)
{
    return i < h->n && lex_is(h->l, h->t[i], s);
}
static inline bool hz_punct(const struct hz *h, uint32_t i, int sub)
{
    return i < h->n && lex_punct(h->l, h->t[i], sub);
}
static inline bool hz_ident(const struct hz *h, uint32_t i)
{
    return i < h->n && hz_tok(h, i)->kind == LEX_IDENT;
}
static inline bool hz_number(const struct hz *h, uint32_t i)
{
    return i < h->n && hz_tok(h, i)->kind == LEX_NUMBER;
}
static inline const char *hz_text(const struct hz *h, uint32_t i)
{
    return h->l->p + hz_tok(h, i)->at;
}
static inline size_t hz_len(const struct hz *h, uint32_t i)
{
    return hz_tok(h, i)->n;
}
static inline bool hz_pp(const struct hz *h, uint32_t i)
{
    return hz_tok(h, i)->flags & LEX_F_PP;
}
/* A name that is not a member (after . or ->) and not qualified by another namespace than std. */
bool hz_free_name(const struct hz *h, uint32_t i);
bool hz_in_list(const struct hz *h, uint32_t i, const char *const *list); /* NULL-ended */
bool hz_starts(const struct hz *h, uint32_t i, const char *prefix);
/* The name contains `part`, letter case ignored. */
bool hz_contains(const struct hz *h, uint32_t i, const char *part);
/* Tokens i and i+1 are `>>`. */
bool hz_shr(const struct hz *h, uint32_t i);

/* The innermost device function around i, or NULL. */
const struct hz_func *hz_func_at(const struct hz *h, uint32_t i);
/* The declaration that the name at i means, or NULL; and the macro. */
struct hz_decl *hz_decl_of(const struct hz *h, uint32_t i);
const struct hz_macro *hz_macro_of(const struct hz *h, uint32_t i);
/* An integer constant expression in [a, b): numbers, macros, constants, sizeof, + - * / % << >> & |
 * ~. False when anything in it is unknown. */
bool hz_eval(const struct hz *h, uint32_t a, uint32_t b, int64_t *ret);
/* The value of one number token; *ret_bits is 32 or 64 by suffix and size. False: floating point.
 */
bool hz_number_value(const struct hz *h, uint32_t i, uint64_t *ret, int *ret_bits);

/* The number that a local header (found beside the file, included in quotes) gives the name at i.
 */
bool hz_outside(const struct hz *h, uint32_t i, uint64_t *ret, int *ret_bits);
/* The name at i is a macro with arguments or a function of this file. */
bool hz_user_function(const struct hz *h, uint32_t i);

/* Arguments of the call whose ( is at `open`. */
enum { HZ_ARGS = 16 };
struct hz_args {
    int n;
    uint32_t a[HZ_ARGS], b[HZ_ARGS]; /* argument k is [a, b) */
    uint32_t close;
};
/* False when the brackets do not match or there are more than HZ_ARGS. */
bool hz_args(const struct hz *h, uint32_t open, struct hz_args *ret);

/* Byte offsets of tokens [a, b) in the file. */
static inline uint32_t hz_at(const struct hz *h, uint32_t i)
{
    return hz_tok(h, i)->at;
}
static inline uint32_t hz_end(const struct hz *h, uint32_t i)
{
    return hz_tok(h, i)->at + hz_tok(h, i)->n;
}
/* Adds a finding that underlines tokens [a, b); `what` is their text, cut to one short line. */
struct finding *hz_report(struct hz *h, enum hazard_no no, uint32_t a, uint32_t b);
/* Tokens [a, b) as text on one line, at most 80 bytes, in the findings' arena. */
const char *hz_quote(struct hz *h, uint32_t a, uint32_t b);

/* Rules, grouped by file; hazard.h's hazard_scan runs them all. */
/* A constant says that a warp has 64 lanes. */
bool hz_knows_64(const struct hz *h);
/* The parts of the device and limit rules that edit. */
void hz_fix_guards(struct hz *h);
void hz_fix_bounds(struct hz *h);
void hz_fix_late(struct hz *h);
void hz_rules_wave(struct hz *h);
void hz_rules_lanes(struct hz *h);
void hz_rules_device(struct hz *h);
void hz_rules_limits(struct hz *h);
void hz_rules_memory(struct hz *h);
void hz_rules_api(struct hz *h);

/* Warp operations by name. */
enum hz_warp {
    HZW_NONE,
    HZW_SHFL,
    HZW_SHFL_UP,
    HZW_SHFL_DOWN,
    HZW_SHFL_XOR,
    HZW_BALLOT,
    HZW_ANY,
    HZW_ALL,
    HZW_UNI,
    HZW_ACTIVE,
    HZW_MATCH,
    HZW_REDUCE,
    HZW_SYNCWARP
};
/* *ret_sync: takes a mask as its first argument. */
enum hz_warp hz_warp_op(const struct hz *h, uint32_t i, bool *ret_sync);
/* [a, b) is an expression whose value is a lane mask. */
bool hz_is_mask(const struct hz *h, uint32_t a, uint32_t b);
#endif
