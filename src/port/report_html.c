/* SPDX-License-Identifier: Apache-2.0
 * report_html.c: the findings as one HTML page: no script, no other file, nothing from the network.
 */
#include "port/report.h"
#include "port/api.h"
#include "base/core/version.h"

static const char style[] =
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;"
    "color:#1c2430;background:#fff}h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem;"
    "border-bottom:1px solid #d5dae2}table{border-collapse:collapse}td,th{padding:.2rem .8rem "
    ".2rem 0;"
    "text-align:left;vertical-align:top}pre{background:#f4f6f9;padding:.5rem .8rem;overflow-x:auto;"
    "margin:.3rem 0;font:13px/1.45 ui-monospace,monospace}mark{background:#ffe08a}"
    ".error{color:#a4161a}.warning{color:#8a4b00}.note{color:#1f5f8b}.fixed{color:#1b6e3a}"
    "details{margin:.4rem 0}summary{cursor:pointer}small{color:#5a6675}"
    "@media(prefers-color-scheme:dark){body{color:#dfe5ee;background:#14181f}pre{background:#"
    "1d232c}"
    "mark{background:#6b5500;color:#fff}.error{color:#ff8a8a}.warning{color:#ffc27a}"
    ".note{color:#8cc8f0}.fixed{color:#7fd99f}small{color:#9aa7b8}h2{border-color:#333c48}}";

static const struct {
    const char *t[HAZARD_LANGS];
} words[] = {{{"Porting report", "移植报告"}},
             {{"Tree", "源码树"}},
             {{"Targets", "目标"}},
             {{"ROCm", "ROCm"}},
             {{"Files read", "读取的文件"}},
             {{"Changed by automatic fixes", "自动修复改动的内容"}},
             {{"What is left: errors", "待处理：错误"}},
             {{"What is left: warnings", "待处理：警告"}},
             {{"What is left: notes", "待处理：提示"}},
             {{"Nothing.", "无。"}},
             {{"Source", "来源"}}};
enum {
    W_TITLE,
    W_TREE,
    W_TARGETS,
    W_ROCM,
    W_FILES,
    W_FIXED,
    W_ERROR,
    W_WARNING,
    W_NOTE,
    W_NONE,
    W_SOURCE
};

static void text(struct sl_buf *b, const char *s)
{
    report_html_text(b, s, strlen(s));
}

static void row(struct sl_buf *b, const char *name, const char *value)
{
    sl_buf_adds(b, "<tr><th>");
    text(b, name);
    sl_buf_adds(b, "</th><td>");
    text(b, value);
    sl_buf_adds(b, "</td></tr>\n");
}

static void one(const struct finding *d, const struct report_opts *o, struct sl_buf *b)
{
    size_t n = strlen(d->text), col = d->col ? d->col - 1 : 0, len = d->n ? d->n : 1;
    if (col > n)
        col = n;
    if (len > n - col)
        len = n - col;
    sl_buf_adds(b, "<p><code>");
    text(b, d->path);
    sl_buf_printf(b, ":%u:%u</code>", d->line, d->col);
    if (d->what[0]) {
        sl_buf_adds(b, " &mdash; <code>");
        text(b, d->what);
        sl_buf_adds(b, "</code>");
    }
    sl_buf_adds(b, "</p><pre>");
    report_html_text(b, d->text, col);
    sl_buf_adds(b, "<mark>");
    report_html_text(b, d->text + col, len);
    sl_buf_adds(b, "</mark>");
    report_html_text(b, d->text + col + len, n - col - len);
    sl_buf_adds(b, "</pre>");
    if (d->note[o->lang]) {
        sl_buf_adds(b, "<p>");
        text(b, d->note[o->lang]);
        sl_buf_adds(b, "</p>");
    }
    if (d->fix) {
        sl_buf_printf(b, "<p class=\"%s\">&rarr; <code>", d->fixed ? "fixed" : "note");
        text(b, d->fix);
        sl_buf_adds(b, "</code></p>");
    }
    sl_buf_addc(b, '\n');
}

/* All findings of one severity and state, grouped by rule. */
static void section(const struct findings *f, const struct report_opts *o, enum hazard_severity s,
                    bool fixed, int word, struct sl_buf *b)
{
    size_t total = 0;
    sl_buf_adds(b, "<h2>");
    text(b, words[word].t[o->lang]);
    sl_buf_adds(b, "</h2>\n");
    for (size_t r = 0; r < HZ_COUNT; r++) {
        size_t n = 0;
        for (size_t i = 0; i < f->n; i++)
            n +=
                f->v[i].rule->no == r && f->v[i].fixed == fixed && (fixed || f->v[i].severity == s);
        if (!n)
            continue;
        const struct hazard_rule *rule = hazard_rule((enum hazard_no)r);
        total += n;
        sl_buf_printf(b, "<details%s><summary><b class=\"%s\">%s</b> ", n <= 5 ? " open" : "",
                      fixed ? "fixed" : hazard_severity_name(s, HAZARD_EN), rule->id);
        text(b, rule->title[o->lang]);
        sl_buf_printf(b, " (%zu)</summary>\n<p>", n);
        text(b, rule->advice[o->lang]);
        sl_buf_adds(b, "<br><small>");
        text(b, words[W_SOURCE].t[o->lang]);
        sl_buf_adds(b, ": ");
        text(b, rule->source);
        sl_buf_adds(b, "</small></p>\n");
        for (size_t i = 0; i < f->n; i++)
            if (f->v[i].rule->no == r && f->v[i].fixed == fixed && (fixed || f->v[i].severity == s))
                one(&f->v[i], o, b);
        sl_buf_adds(b, "</details>\n");
    }
    if (!total) {
        sl_buf_adds(b, "<p>");
        text(b, words[W_NONE].t[o->lang]);
        sl_buf_adds(b, "</p>\n");
    }
}

void report_html(const struct findings *f, const struct report_opts *o, struct sl_buf *b)
{
    char targets[32], version[16], count[32];
    const char *title = words[W_TITLE].t[o->lang];
    sl_buf_printf(b, "<!DOCTYPE html>\n<html lang=\"%s\"><head><meta charset=\"utf-8\"><title>",
                  o->lang ? "zh-CN" : "en");
    text(b, title);
    sl_buf_printf(b,
                  "</title><meta name=\"viewport\" content=\"width=device-width\">"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "style-src 'unsafe-inline'\"><style>%s</style></head><body>\n<h1>",
                  style);
    text(b, title);
    sl_buf_adds(b, "</h1>\n<table>\n");
    row(b, words[W_TREE].t[o->lang], o->tree ? o->tree : "");
    row(b, words[W_TARGETS].t[o->lang], hazard_targets_text(o->targets, targets));
    row(b, words[W_ROCM].t[o->lang], api_version(o->rocm, version));
    snprintf(count, sizeof(count), "%zu", f->files);
    row(b, words[W_FILES].t[o->lang], count);
    sl_buf_adds(b, "</table>\n");
    section(f, o, HAZARD_ERROR, false, W_ERROR, b);
    section(f, o, HAZARD_WARNING, false, W_WARNING, b);
    section(f, o, HAZARD_NOTE, false, W_NOTE, b);
    section(f, o, HAZARD_NOTE, true, W_FIXED, b);
    sl_buf_adds(b, "<p><small>starport " SL_VERSION "</small></p>\n</body></html>\n");
}
