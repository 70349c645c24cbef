/* SPDX-License-Identifier: Apache-2.0
 *
 * translate.c: the walk over a file's tokens.
 */
#include "port/pass.h"

void pass_note(struct pass *p, size_t at, int id, enum port_what what)
{
    struct port_result *r = p->r;
    if (r->n_notes == r->cap_notes) {
        r->cap_notes = r->cap_notes ? r->cap_notes * 2 : 32;
        r->notes = sl_realloc(r->notes, r->cap_notes * sizeof *r->notes);
    }
    r->notes[r->n_notes++] = (struct port_note){(uint32_t)at, (int16_t)id, (uint8_t)what};
    r->n_launches += what == PORT_LAUNCH;
    r->open |= what == PORT_OPEN_LAUNCH || what == PORT_OPEN_COMMENT || what == PORT_OPEN_STRING;
}

void pass_converted(struct pass *p, int id)
{
    if (p->r->converted)
        p->r->converted[id]++;
    p->r->n_converted++;
}

void pass_missed(struct pass *p, size_t at, int id, enum port_what why)
{
    if (p->r->missed)
        p->r->missed[id]++;
    p->r->n_missed++;
    pass_note(p, at, id, why);
}

const char *pass_target(const struct pass *p, int id, enum port_what *ret_why)
{
    unsigned f = api_flags(id);
    bool roc = *api_roc(id) && (f & API_MIOPEN ? p->o->miopen : p->o->roc);
    *ret_why = PORT_UNSUPPORTED;
    if (!roc && !(f & API_HIP))
        return NULL;
    if (f & API_EXPERIMENTAL && !p->o->experimental) {
        *ret_why = PORT_EXPERIMENTAL;
        return NULL;
    }
    if (f & API_V2_ONLY && p->blas_v1 && !p->blas_v2) {
        *ret_why = PORT_V2_ONLY;
        return NULL;
    }
    const char *variant = p->o->hipify ? NULL : api_variant(id, roc, p->o->rocm);
    bool blas_only = variant && !roc && f & API_ROC &&
                     (api_kind(id) == API_CONSTANT || api_kind(id) == API_TYPE);
    if (variant && (!blas_only || p->blas_v1 || p->blas_v2))
        return variant;
    return roc ? api_roc(id) : api_hip(id);
}

const char *pass_text(struct pass *p, size_t from, size_t to)
{
    const struct lex *l = p->l;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(LEX_MAX_BYTES);
    size_t at = l->v[from].at;
    for (size_t i = from; i <= to; i++) {
        const struct lex_tok *t = &l->v[i];
        enum port_what why;
        int id = t->kind == LEX_IDENT ? api_match(lex_text(l, i), t->n) : -1;
        const char *name = id < 0 ? NULL : pass_target(p, id, &why);
        if (!name)
            continue;
        sl_buf_add(&b, p->s->p + at, t->at - at);
        sl_buf_adds(&b, name);
        at = tok_end(l, i);
    }
    sl_buf_add(&b, p->s->p + at, tok_end(l, to) - at);
    return sl_arena_strndup(&p->s->arena, sl_buf_str(&b), b.n);
}

static bool whitelisted(const struct pass *p, const char *s, size_t n)
{
    for (const char *const *w = p->o->whitelist; w && *w; w++)
        if (strlen(*w) == n && memcmp(*w, s, n) == 0)
            return true;
    return false;
}

/* `cub` is common as a variable's name: it is the namespace before `::` and after `namespace`.
 * `cuda` is libcu++'s namespace, except inside thrust. */
static bool is_namespace_use(const struct lex *l, size_t i)
{
    size_t before = lex_prev_code(l, i);
    if (lex_is(l, i, "cuda")) {
        size_t outer = before == SIZE_MAX ? before : lex_prev_code(l, before);
        return outer != SIZE_MAX && lex_punct(l, before, LEX_P_SCOPE) && lex_is(l, outer, "thrust");
    }
    return lex_punct(l, lex_next_code(l, i), LEX_P_SCOPE) ||
           (before != SIZE_MAX && lex_is(l, before, "namespace"));
}

static void missed(struct pass *p, size_t i, int id, enum port_what why)
{
    if (whitelisted(p, lex_text(p->l, i), p->l->v[i].n))
        return;
    pass_missed(p, p->l->v[i].at, id, why);
}

/* Translated names that deserve a note all the same. */
static void note_version(struct pass *p, size_t i, int id)
{
    unsigned f = api_flags(id);
    if (f & (API_CUDA_DEPRECATED | API_CUDA_REMOVED))
        pass_note(p, p->l->v[i].at, id,
                  f & API_CUDA_REMOVED ? PORT_CUDA_REMOVED : PORT_CUDA_DEPRECATED);
    if (p->o->rocm) {
        struct api a;
        api_get(id, &a);
        if (a.hip_added > p->o->rocm)
            pass_note(p, p->l->v[i].at, id, PORT_TOO_NEW);
    }
}

static void pass_name(struct pass *p, size_t i, int id)
{
    const struct lex_tok *t = &p->l->v[i];
    enum api_kind kind = api_kind(id);
    enum port_what why;
    if (kind == API_HEADER || (kind == API_NAMESPACE && !is_namespace_use(p->l, i)))
        return;
    const char *name = pass_target(p, id, &why);
    if (!name) {
        missed(p, i, id, why);
        return;
    }
    pass_converted(p, id);
    p->needs_runtime |= !p->cond.guarded;
    note_version(p, i, id);
    const char *other = kind == API_FUNCTION ? pass_args(p, i, id) : NULL;
    name = other ? other : name;
    source_edit(p->s, t->at, t->n, name, strlen(name), EDIT_NAME);
}

/* Words that only the runtime's header gives meaning to. */
static bool is_device_word(const char *s, size_t n)
{
    static const char *const words[] = {"__global__",   "__device__", "__shared__",
                                        "__constant__", "threadIdx",  "blockIdx",
                                        "blockDim",     "gridDim",    "dim3"};
    for (size_t k = 0; k < SL_COUNT(words); k++)
        if (strlen(words[k]) == n && memcmp(words[k], s, n) == 0)
            return true;
    return false;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* API names inside a string or comment. A word next to '/', '\\', '.' or '-' is part of a path or
 * of another name and stays. */
static void pass_prose(struct pass *p, size_t i)
{
    const struct lex_tok *t = &p->l->v[i];
    const char *s = p->s->p;
    size_t end = t->at + t->n;
    for (size_t at = t->at; at < end;) {
        size_t e = at;
        while (e < end && is_word(s[e]))
            e++;
        if (e == at) {
            at++;
            continue;
        }
        enum port_what why;
        bool path = (e < end && (s[e] == '/' || s[e] == '\\' ||
                                 (s[e] == '.' && e + 1 < end && is_word(s[e + 1])))) ||
                    (at > t->at && (s[at - 1] == '/' || s[at - 1] == '.' || s[at - 1] == '-'));
        int id = path ? -1 : api_match(s + at, e - at);
        const char *name = id < 0 || api_kind(id) == API_HEADER || api_kind(id) == API_NAMESPACE
                               ? NULL
                               : pass_target(p, id, &why);
        if (name) {
            source_edit(p->s, at, e - at, name, strlen(name), EDIT_NAME);
            p->r->n_strings++;
        } else if (p->o->own_names && !path)
            pass_own_name(p, at, e - at);
        at = e;
    }
}

static void pass_ident(struct pass *p, size_t i)
{
    const struct lex_tok *t = &p->l->v[i];
    const char *s = lex_text(p->l, i);
    int id = api_match(s, t->n);
    if (id >= 0) {
        pass_name(p, i, id);
        return;
    }
    if (!p->needs_runtime && !p->cond.guarded && t->n >= 4 &&
        (t->first == '_' || t->first == 't' || t->first == 'b' || t->first == 'g' ||
         t->first == 'd') &&
        is_device_word(s, t->n))
        p->needs_runtime = true;
    if (p->launch_macros.n && pass_launch_macro(p, i))
        return;
    if (p->o->own_names)
        pass_own_name(p, t->at, t->n);
    if (p->half2s.n)
        pass_half2(p, i);
}

static void pass_hash(struct pass *p, size_t i)
{
    struct lex *l = p->l;
    cond_directive(p, i);
    if (l->v[i].sub != LEX_D_PRAGMA || p->cond.skip || p->pragma_once != SIZE_MAX ||
        !lex_is(l, i + 2, "once"))
        return;
    while (l->v[i].kind != LEX_EOD)
        i++;
    p->pragma_once = i;
}

/* An include guard: the first directive that is no pragma is #ifndef, nothing stands before it, and
 * its #endif ends the file. Only a guard's place matters, so that the end is not looked for when
 * the macro is not defined right after. */
static void find_guard(struct pass *p)
{
    struct lex *l = p->l;
    size_t i = 0;
    while (i < l->n && (l->v[i].kind == LEX_COMMENT ||
                        (l->v[i].kind == LEX_HASH && l->v[i].sub == LEX_D_PRAGMA)))
        if (l->v[i++].kind == LEX_HASH)
            while (l->v[i - 1].kind != LEX_EOD)
                i++;
    if (l->v[i].kind != LEX_HASH || l->v[i].sub != LEX_D_IFNDEF ||
        sl_map_get(&p->cond.defines, lex_text(l, i + 2), l->v[i + 2].n))
        return;
    size_t last = lex_prev(l, l->n), hash = last;
    while (hash != SIZE_MAX && hash > i && l->v[hash].kind != LEX_HASH)
        hash--;
    if (last == SIZE_MAX || l->v[last].kind != LEX_EOD || l->v[hash].sub != LEX_D_ENDIF)
        return;
    for (size_t k = i; k < l->n && p->guard == SIZE_MAX; k++)
        if (l->v[k].kind == LEX_EOD)
            p->guard = k;
}

static void pass_token(struct pass *p, size_t i, size_t hash)
{
    const struct lex_tok *t = &p->l->v[i];
    switch (t->kind) {
    case LEX_PUNCT:
        if (t->sub == LEX_P_LAUNCH && !p->cond.skip)
            pass_launch(p, i);
        break;
    case LEX_HEADER:
        if (!p->cond.skip)
            pass_include(p, hash, i);
        break;
    case LEX_STRING:
    case LEX_RAW:
        if (t->flags & LEX_F_OPEN)
            pass_note(p, t->at, -1, PORT_OPEN_STRING);
        else if ((p->o->strings || p->o->own_names) && !p->cond.skip)
            pass_prose(p, i);
        break;
    case LEX_COMMENT:
        if (t->flags & LEX_F_OPEN)
            pass_note(p, t->at, -1, PORT_OPEN_COMMENT);
        else if (p->o->comments && !p->cond.skip)
            pass_prose(p, i);
        break;
    default:
        break;
    }
}

static void walk(struct pass *p)
{
    struct lex *l = p->l;
    size_t hash = 0;
    for (size_t i = 0, n = l->n; i < n; i++) {
        const struct lex_tok *t = &l->v[i];
        if (t->kind == LEX_PUNCT && t->sub != LEX_P_LAUNCH)
            continue;
        if (t->kind == LEX_IDENT) {
            if (!p->cond.skip)
                pass_ident(p, i);
        } else if (t->kind == LEX_HASH) {
            hash = i;
            pass_hash(p, i);
        } else if (t->kind != LEX_NUMBER) {
            pass_token(p, i, hash);
        }
    }
}

void port_translate(struct source *s, const struct port_options *o, struct port_result *r)
{
    struct pass p = {.s = s,
                     .l = &s->lex,
                     .o = o,
                     .r = r,
                     .first_include = SIZE_MAX,
                     .pragma_once = SIZE_MAX,
                     .guard = SIZE_MAX};
    if (r->by_name && !r->converted) {
        r->converted = sl_alloc((size_t)api_count() * sizeof *r->converted);
        r->missed = sl_alloc((size_t)api_count() * sizeof *r->missed);
    }
    cond_open(&p);
    find_guard(&p);
    if (o->ggl || o->half2_members)
        pass_scan(&p);
    walk(&p);
    pass_add_runtime(&p);
    if (o->fix)
        o->fix(s, o, o->fix_arg);
    r->n_dropped += source_settle(s);
    cond_free(&p);
    sl_map_free(&p.templates);
    sl_map_free(&p.macros);
    sl_map_free(&p.launch_macros);
    sl_map_free(&p.expanded);
    sl_map_free(&p.half2s);
}

void port_result_add(struct port_result *a, const struct port_result *b)
{
    size_t n = (size_t)api_count();
    if (b->converted && !a->converted) {
        a->converted = sl_alloc(n * sizeof *a->converted);
        a->missed = sl_alloc(n * sizeof *a->missed);
    }
    for (size_t i = 0; b->converted && i < n; i++) {
        a->converted[i] += b->converted[i];
        a->missed[i] += b->missed[i];
    }
    a->n_converted += b->n_converted;
    a->n_missed += b->n_missed;
    a->n_launches += b->n_launches;
    a->n_strings += b->n_strings;
    a->n_dropped += b->n_dropped;
}

void port_result_free(struct port_result *r)
{
    free(r->notes);
    free(r->converted);
    free(r->missed);
    *r = (struct port_result){0};
}

const char *port_what_text(enum port_what w)
{
    switch (w) {
    case PORT_UNSUPPORTED:
        return "%s has no HIP counterpart";
    case PORT_EXPERIMENTAL:
        return "%s is experimental in HIP; --experimental translates it";
    case PORT_V2_ONLY:
        return "%s exists in hipBLAS in its cublas_v2.h form only; include that header";
    case PORT_CUDA_DEPRECATED:
        return "%s is deprecated in CUDA";
    case PORT_CUDA_REMOVED:
        return "%s is removed from CUDA";
    case PORT_TOO_NEW:
        return "the HIP counterpart of %s is newer than the target ROCm version";
    case PORT_DATA_LOSS:
        return "this argument has no counterpart and is dropped";
    case PORT_BY_HAND:
        return "the arguments of this call must be changed by hand: preprocessor lines are among "
               "them";
    case PORT_OPEN_LAUNCH:
        return "<<< opens a launch that has no complete >>>(...)";
    case PORT_OPEN_COMMENT:
        return "this comment never ends";
    case PORT_OPEN_STRING:
        return "this string never ends";
    case PORT_LAUNCH:
        return "kernel launch";
    }
    return "";
}
