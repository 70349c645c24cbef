/* SPDX-License-Identifier: Apache-2.0
 *
 * pass.h: what the parts of the translation share: one walk over the tokens (translate.c), and for
 * each kind of place a file of its own: include.c, launch.c, args.c, cond.c. Internal to src/port.
 */
#ifndef PORT_PASS_H
#define PORT_PASS_H
#include "base/core/map.h"
#include "port/translate.h"

/* cond.c: where in the nest of #if ... #endif the walk is. */
struct cond_level {
    uint32_t group, branch; /* which #if of the file, which of its branches */
    bool active;            /* may be compiled (always true without skip_excluded) */
    bool parent_active;
    bool
        guarded; /* compiled by nvcc or hipcc only: #ifdef __CUDACC__ and its like, or inside one */
    bool taken;  /* an earlier branch of the group is certainly compiled */
};
struct cond {
    struct cond_level *v;
    size_t n, cap;
    uint32_t groups;
    bool guarded;          /* see struct cond_level */
    bool skip;             /* the place is certainly not compiled */
    struct sl_map defines; /* name -> value as text (arena), "" when it has none */
};

/* An include already in the result: its target and the conditional path it stands on. */
struct included {
    const char *target;
    size_t depth;
    uint64_t path[8]; /* group << 32 | branch, outermost first */
    struct included *next;
};

struct pass {
    struct source *s;
    struct lex *l;
    const struct port_options *o;
    struct port_result *r;
    struct cond cond;
    struct included *includes;
    bool blas_v1, blas_v2;   /* cublas.h, cublas_v2.h are included */
    bool has_runtime;        /* hip_runtime.h is included */
    bool needs_runtime;      /* something that only hip_runtime.h declares is used */
    size_t first_include;    /* its LEX_HASH, or SIZE_MAX */
    size_t pragma_once;      /* its LEX_EOD, or SIZE_MAX */
    size_t guard;            /* LEX_EOD of the include guard's #ifndef, or SIZE_MAX */
    bool scanned;            /* templates and macros are known */
    struct sl_map templates; /* names of __global__ templates */
    struct sl_map macros;    /* name -> struct lex_tok of the name in its #define */
    struct sl_map
        launch_macros;      /* name -> struct launch_macro: macros that are expanded where used */
    struct sl_map expanded; /* token of the `<<<` in those macros -> struct launch_macro */
    size_t unlaunched;      /* launches before this token stay as they are */
    size_t unexpanded;      /* launch macros before this token stay as they are */
    struct sl_map half2s;   /* variables of type half2 */
};

/* translate.c */
void pass_note(struct pass *p, size_t at, int id, enum port_what what);
/* One use of an API was translated, or could not be. */
void pass_converted(struct pass *p, int id);
void pass_missed(struct pass *p, size_t at, int id, enum port_what why);
/* The target of an API under the options, or NULL with *ret_why; counts nothing. */
const char *pass_target(const struct pass *p, int id, enum port_what *ret_why);
/* Text of tokens [from, to] with names translated, in the source's arena. */
const char *pass_text(struct pass *p, size_t from, size_t to);

/* cond.c: the walk meets token i, a LEX_HASH. */
void cond_open(struct pass *p);
void cond_directive(struct pass *p, size_t i);
void cond_free(struct pass *p);

/* own_names.c: bytes [at, at + n) are a word of code or of a string that no table knows. */
void pass_own_name(struct pass *p, size_t at, size_t n);

/* include.c: token i is a LEX_HEADER and `hash` its LEX_HASH. */
void pass_include(struct pass *p, size_t hash, size_t i);
/* Adds the runtime's header where it is needed and missing. */
void pass_add_runtime(struct pass *p);

/* args.c: the arguments of a call: token ranges. */
enum { ARGS_MAX = 64 };
struct arg {
    size_t first, last; /* tokens, inclusive */
};
struct args {
    struct arg v[ARGS_MAX];
    int n;
    size_t open, close; /* the brackets */
};
/* Splits what stands between token `open` and token `close` at its commas, template argument lists
 * kept whole. False: more than ARGS_MAX, or malformed. */
bool args_split(struct lex *l, size_t open, size_t close, struct args *ret);
/* Token i is the name of function `id`, called here: applies its argument rules. Returns another
 * name for the function, or NULL. */
const char *pass_args(struct pass *p, size_t i, int id);

/* launch.c: kernel<<<grid, block, shared, stream>>>(arguments). */
struct launch {
    size_t callee, callee_last; /* tokens of the kernel's name or expression */
    size_t end;                 /* the first '>' of `>>>` */
    struct args config;         /* 2 to 4 */
    struct args args;           /* open SIZE_MAX: no list follows (in a macro's body) */
};
/* Token i is `<<<`. False: no launch with its configuration. */
bool launch_parse(struct lex *l, size_t i, struct launch *ret);
/* Counts the launch and, with options.ggl, rewrites it. */
void pass_launch(struct pass *p, size_t i);

/* launch_scan.c: what the whole file says about kernels and macros. */
/* Finds templates, macros and half2 variables, once. */
void pass_scan(struct pass *p);
/* The callee that ends at token `last` is a template's name or instance, or a macro for one. */
bool launch_is_template(struct pass *p, size_t last);
/* Token i is the `<<<` of a macro's body that is expanded where the macro is used. */
bool launch_is_expanded(struct pass *p, size_t i);
/* Token i names such a macro, used here: expands it. False: it is not one. */
bool pass_launch_macro(struct pass *p, size_t i);
/* Token i is a half2 variable whose x or y is read: casts it to half. */
void pass_half2(struct pass *p, size_t i);

/* Preprocessor lines stand among tokens [from, to] (or these are too many to look through): what is
 * there must not be moved or dropped. */
bool has_directive(const struct lex *l, size_t from, size_t to);

static inline size_t tok_end(const struct lex *l, size_t i)
{
    return l->v[i].at + l->v[i].n;
}
#endif
