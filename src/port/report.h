/* SPDX-License-Identifier: Apache-2.0
 *
 * report.h: findings as text, JSON, SARIF 2.1.0 or one HTML file, in English or Chinese.
 *
 *     struct report_opts ro = {.format = REPORT_TEXT, .lang = HAZARD_EN};
 *     report_write(&findings, &ro, &buf);
 *
 * Every writer takes any bytes: what is not UTF-8 in a path or a source line becomes U+FFFD,
 * control characters are escaped, so that JSON parses and HTML holds no markup but ours. The HTML
 * page needs no other file and no network. Findings must have been sorted (findings_sort).
 */
#ifndef PORT_REPORT_H
#define PORT_REPORT_H
#include "base/core/buf.h"
#include "port/hazard.h"

enum report_format { REPORT_TEXT, REPORT_JSON, REPORT_SARIF, REPORT_HTML };
enum { REPORT_MAX_BYTES = 1 << 30 };

struct report_opts {
    enum report_format format;
    enum hazard_lang lang;
    bool color;       /* text: ANSI colours */
    unsigned targets; /* shown in the head */
    uint32_t rocm;
    const char *tree; /* what was examined */
};

void report_write(const struct findings *f, const struct report_opts *o, struct sl_buf *b);

/* Appends s as a JSON string with quotes. Any bytes. */
void report_json_string(struct sl_buf *b, const char *s, size_t n);
/* Appends s with & < > " ' escaped and bad bytes replaced. Any bytes. */
void report_html_text(struct sl_buf *b, const char *s, size_t n);

/* Code points that the first n bytes of s become in a report: a bad byte counts as one. */
unsigned report_code_points(const char *s, size_t n);

/* The writers behind report_write; each in its own file. */
void report_text(const struct findings *f, const struct report_opts *o, struct sl_buf *b);
void report_json(const struct findings *f, const struct report_opts *o, struct sl_buf *b);
void report_sarif(const struct findings *f, const struct report_opts *o, struct sl_buf *b);
void report_html(const struct findings *f, const struct report_opts *o, struct sl_buf *b);
#endif
