/* SPDX-License-Identifier: Apache-2.0
 *
 * The translation over any bytes, under several sets of options (the first byte picks one). Besides
 * not crashing, these must hold:
 * - output minus edits is the input;
 * - comments and strings of the output are comments and strings of the input, in order (unless the
 *   options ask for them to be changed);
 * - a second run changes nothing.
 */
#include "port/diff.h"
#include "port/translate.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static const char *const defines[] = {"YES=1", "VALUE=3", NULL};
static const struct port_options sets[] = {
    {0},
    {.ggl = true},
    {.ggl = true, .expand_macros = true, .hipify = true, .half2_members = true},
    {.skip_excluded = true, .defines = defines},
    {.roc = true, .experimental = true, .rocm = 50700},
    {.miopen = true, .ggl = true},
    {.strings = true, .comments = true},
    {.own_names = true},
};

/* Puts the replaced bytes back where the edits say they were: must give the input. */
static void undo(struct source *s, const struct sl_buf *out)
{
    size_t in = 0, at = 0;
    for (size_t i = 0; i <= s->n_edits; i++) {
        size_t next = i < s->n_edits ? s->edits[i].at : s->n, same = next - in;
        SL_ASSERT(next >= in && out->n - at >= same);
        SL_ASSERT(same == 0 || memcmp(s->p + in, out->p + at, same) == 0);
        at += same;
        in = next;
        if (i == s->n_edits)
            break;
        at += s->edits[i].text_n;
        in += s->edits[i].n;
    }
    SL_ASSERT(in == s->n && at == out->n);
}

static bool is_prose(const struct lex *l, size_t i)
{
    uint8_t k = l->v[i].kind;
    return k == LEX_COMMENT || k == LEX_STRING || k == LEX_RAW || k == LEX_CHAR;
}

/* Every comment and string of the output is found in the input, in the same order. */
static void prose_is_kept(const struct lex *in, const struct lex *out)
{
    size_t k = 0;
    for (size_t i = 0; i < out->n; i++) {
        if (!is_prose(out, i))
            continue;
        while (k < in->n &&
               !(in->v[k].kind == out->v[i].kind && lex_is_n(in, k, lex_text(out, i), out->v[i].n)))
            k++;
        SL_ASSERT(k < in->n);
        k++;
    }
}

static void run(const char *p, size_t n, const struct port_options *o)
{
    struct source s, t;
    struct port_result r = {.by_name = true}, r2 = {0};
    struct sl_buf out = SL_BUF(LEX_MAX_BYTES), again = SL_BUF(LEX_MAX_BYTES),
                  diff = SL_BUF(1 << 20);
    source_from(&s, "fuzz.cu", p, n);
    port_translate(&s, o, &r);
    source_render(&s, &out);
    undo(&s, &out);
    diff_unified(&s, "fuzz.cu", &diff);
    if (!r.open) { /* otherwise nothing is written */
        source_from(&t, "fuzz.cu", sl_buf_str(&out), out.n);
        if (!o->strings && !o->own_names && !o->ggl && !o->roc && !o->miopen)
            prose_is_kept(&s.lex, &t.lex);
        port_translate(&t, o, &r2);
        source_render(&t, &again);
        SL_ASSERT(again.n == out.n && (out.n == 0 || memcmp(again.p, out.p, out.n) == 0));
        for (size_t at = 0; at <= out.n; at += 7)
            SL_ASSERT(source_back(&s, at) <= n);
        source_free(&t);
    }
    port_result_free(&r);
    port_result_free(&r2);
    source_free(&s);
    sl_buf_free(&out);
    sl_buf_free(&again);
    sl_buf_free(&diff);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    if (size < 1)
        return 0;
    run((const char *)data + 1, size - 1, &sets[data[0] % SL_COUNT(sets)]);
    return 0;
}
