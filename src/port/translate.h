/* SPDX-License-Identifier: Apache-2.0
 *
 * translate.h: CUDA names, includes, launches and call arguments of one file become edits. Nothing
 * is read or written here but the source; the caller settles, renders and stores it.
 *
 *     struct port_options o = {0};
 *     struct port_result r = {0};
 *     source_read(&s, path, &err);
 *     port_translate(&s, &o, &r);         edits are in s and settled
 *     source_render(&s, &out);
 *     port_result_free(&r);
 *
 * Linear in the file's size. Running it over its own output makes no edit. Options are read only;
 * many threads may share them.
 */
#ifndef PORT_TRANSLATE_H
#define PORT_TRANSLATE_H
#include "port/api.h"
#include "port/source.h"

struct port_options {
    bool roc, miopen;   /* take roc* (MIOpen) targets where there are any */
    bool experimental;  /* translate APIs whose HIP support is experimental */
    bool ggl;           /* launches become hipLaunchKernelGGL calls; else <<< >>> stays */
    bool expand_macros; /* with ggl: a macro that is a launch is expanded where it is used */
    bool half2_members; /* x and y of a half2 variable are cast to half */
    bool skip_excluded; /* leave blocks alone that the preprocessor would certainly drop */
    bool strings;       /* API names inside string literals too (paths never) */
    bool own_names;     /* the project's own names and texts that say CUDA say HIP */
    bool comments;      /* API names inside comments too */
    /* As HIPIFY's programs do: the runtime's header goes into every file, not only where it is
     * needed; an include in quotes is mapped even where a local file of that name exists; no
     * table variants; C++ calls get arguments that have a default. */
    bool hipify;
    const char *const *defines;      /* "NAME" or "NAME=VALUE", ended by NULL; for skip_excluded */
    const char *const *include_dirs; /* searched for local files, ended by NULL */
    const char *const *whitelist;    /* names never reported, ended by NULL */
    uint32_t rocm;                   /* target version as in api.h; 0: newest */
    /* Called after the translation's edits and before they are settled: more edits (automatic fixes
     * of hazard rules). Edits that overlap the translation's are dropped. May be NULL. */
    void (*fix)(struct source *s, const struct port_options *o, void *arg);
    void *fix_arg;
};

enum port_what {
    PORT_UNSUPPORTED,     /* no target */
    PORT_EXPERIMENTAL,    /* needs the experimental option */
    PORT_V2_ONLY,         /* cuBLAS: supported through cublas_v2.h only */
    PORT_CUDA_DEPRECATED, /* translated; CUDA deprecates or removed it */
    PORT_CUDA_REMOVED,
    PORT_TOO_NEW,     /* translated, but the target is newer than options.rocm */
    PORT_DATA_LOSS,   /* an argument was dropped */
    PORT_BY_HAND,     /* an argument rule cannot be applied: preprocessor lines in the call */
    PORT_OPEN_LAUNCH, /* <<< without >>>(...) */
    PORT_OPEN_COMMENT,
    PORT_OPEN_STRING,
    PORT_LAUNCH /* a launch that was rewritten or kept: no problem, for statistics */
};

struct port_note {
    uint32_t at; /* input offset */
    int16_t id;  /* API, or -1 */
    uint8_t what;
};

struct port_result {
    struct port_note *notes;
    size_t n_notes, cap_notes;
    bool by_name;                 /* set by the caller: count uses by API id, too */
    uint32_t *converted, *missed; /* those counts; api_count() of each, or NULL */
    size_t n_converted, n_missed, n_launches, n_strings, n_dropped;
    bool open; /* a comment, raw string or launch never ends: do not trust the result */
};

void port_translate(struct source *s, const struct port_options *o, struct port_result *r);
/* Adds b's counts to a (not the notes). */
void port_result_add(struct port_result *a, const struct port_result *b);
void port_result_free(struct port_result *r);
/* "warning" and a text for a note of this kind; the text holds at most one %s for the API's name.
 */
const char *port_what_text(enum port_what w);
#endif
