/* SPDX-License-Identifier: Apache-2.0
 *
 * pyscan.h: Python files of a PyTorch project: which lines run unchanged on ROCm and which do not
 * (rules SP13xx). Reads tokens, not text: names in comments count for nothing, strings count only
 * where a rule is about strings. Nothing is edited.
 *
 *     pyscan(&source, &opts, &findings);
 */
#ifndef PORT_PYSCAN_H
#define PORT_PYSCAN_H
#include "port/hazard.h"

enum py_kind { PY_END, PY_NAME, PY_STRING, PY_NUMBER, PY_OP, PY_NEWLINE };

/* One token. A string's text (without prefix and quotes) is at..at+n; whole token: from..to. */
struct py_tok {
    enum py_kind kind;
    size_t at, n, from, to;
};

/* The token that starts at or after *i (comments and blanks are skipped); moves *i behind it. Any
 * bytes. A newline inside brackets is a PY_NEWLINE too: the caller does not need to know. */
struct py_tok py_next(const char *p, size_t n, size_t *i);

void pyscan(struct source *s, const struct hazard_opts *o, struct findings *f);
#endif
