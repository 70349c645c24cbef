/* SPDX-License-Identifier: Apache-2.0
 * Readers of CMake files, Makefiles, scripts, setup.py and Python. The first byte chooses the
 * reader. */
#include "port/build_files.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* Findings lie inside the file, and the output without the edits is the input: the bytes between
 * them. */
static void check(struct source *s, const struct findings *f)
{
    for (size_t i = 0; i < f->n; i++) {
        SL_ASSERT((size_t)f->v[i].at + f->v[i].n <= s->n);
        SL_ASSERT(f->v[i].line >= 1 && f->v[i].col >= 1);
    }
    size_t at = 0;
    source_settle(s);
    for (size_t i = 0; i < s->n_edits; i++) {
        SL_ASSERT(s->edits[i].at >= at);
        at = s->edits[i].at + s->edits[i].n;
        SL_ASSERT(at <= s->n);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static const enum build_kind kinds[] = {BUILD_CMAKE, BUILD_MAKE, BUILD_SETUP, BUILD_SHELL,
                                            BUILD_PYTHON};
    if (size < 1)
        return 0;
    struct hazard_opts o = HAZARD_OPTS_DEFAULT;
    struct findings f = {0};
    struct source s;
    enum build_kind kind = kinds[data[0] % SL_COUNT(kinds)];
    source_from(&s, "fuzz", (const char *)data + 1, size - 1);
    build_scan(kind, &s, &o, &f);
    check(&s, &f);
    SL_AUTO_BUF struct sl_buf b = SL_BUF(64 << 20);
    source_render(&s, &b);
    SL_ASSERT(!b.over);
    source_free(&s);
    findings_free(&f);
    return 0;
}
