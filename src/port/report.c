/* SPDX-License-Identifier: Apache-2.0
 * report.c: escaping that every writer shares, and the text and JSON forms. */
#include "port/report.h"
#include "port/api.h"
#include "base/core/version.h"

/* Length of the valid UTF-8 sequence at s, or 0. */
static size_t utf8_len(const char *s, size_t n)
{
    for (size_t k = 2; k <= 4 && k <= n; k++)
        if (((unsigned char)s[0] & 0x80) && sl_utf8_ok(s, k, true))
            return k;
    return 0;
}

void report_json_string(struct sl_buf *b, const char *s, size_t n)
{
    sl_buf_addc(b, '"');
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)s[i];
        size_t k = 1;
        if (c == '"' || c == '\\')
            sl_buf_printf(b, "\\%c", c);
        else if (c == '\n')
            sl_buf_adds(b, "\\n");
        else if (c == '\t')
            sl_buf_adds(b, "\\t");
        else if (c < 0x20 || c == 0x7f)
            sl_buf_printf(b, "\\u%04x", c);
        else if (c < 0x80)
            sl_buf_addc(b, (char)c);
        else if ((k = utf8_len(s + i, n - i)) > 0)
            sl_buf_add(b, s + i, k);
        else {
            sl_buf_adds(b, "\xef\xbf\xbd");
            k = 1;
        }
        i += k;
    }
    sl_buf_addc(b, '"');
}

unsigned report_code_points(const char *s, size_t n)
{
    unsigned count = 0;
    for (size_t i = 0; i < n; count++) {
        size_t k = (unsigned char)s[i] < 0x80 ? 1 : utf8_len(s + i, n - i);
        i += k ? k : 1;
    }
    return count;
}

void report_html_text(struct sl_buf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)s[i];
        size_t k = 1;
        if (c == '&')
            sl_buf_adds(b, "&amp;");
        else if (c == '<')
            sl_buf_adds(b, "&lt;");
        else if (c == '>')
            sl_buf_adds(b, "&gt;");
        else if (c == '"')
            sl_buf_adds(b, "&quot;");
        else if (c == '\'')
            sl_buf_adds(b, "&#39;");
        else if (c >= 0x20 && c < 0x7f)
            sl_buf_addc(b, (char)c);
        else if (c == '\t' || c == '\n')
            sl_buf_addc(b, (char)c);
        else if (c >= 0x80 && (k = utf8_len(s + i, n - i)) > 0)
            sl_buf_add(b, s + i, k);
        else {
            sl_buf_adds(b, "\xef\xbf\xbd");
            k = 1;
        }
        i += k;
    }
}

/* Terminal text: controls would move the cursor. */
static void plain(struct sl_buf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        sl_buf_addc(b, c == '\t' ? ' ' : (c < 0x20 || c == 0x7f) ? '?' : (char)c);
    }
}

static void text_one(const struct finding *d, const struct report_opts *o, struct sl_buf *b)
{
    static const char *const colors[HAZARD_SEVERITIES] = {"\033[36m", "\033[35m", "\033[31m"};
    const char *on = o->color ? colors[d->severity] : "", *off = o->color ? "\033[0m" : "";
    plain(b, d->path, strlen(d->path));
    sl_buf_printf(b, ":%u:%u: %s%s%s: %s", d->line, d->col, on,
                  hazard_severity_name(d->severity, o->lang), off, d->rule->title[o->lang]);
    if (d->what[0]) {
        sl_buf_adds(b, ": ");
        plain(b, d->what, strlen(d->what));
    }
    sl_buf_printf(b, " [%s]\n", d->rule->id);
    size_t n = strlen(d->text);
    if (n && n <= 400) {
        sl_buf_printf(b, "%6u | ", d->line);
        plain(b, d->text, n);
        sl_buf_adds(b, "\n       | ");
        unsigned col = d->col ? d->col - 1 : 0;
        for (unsigned i = 0; i < col && i < n;
             i++) /* a column is a byte; continuation bytes take no room */
            if (((unsigned char)d->text[i] & 0xc0) != 0x80)
                sl_buf_addc(b, ' ');
        sl_buf_printf(b, "%s^", on);
        for (unsigned i = 1; i < d->n && col + i < n; i++)
            if (((unsigned char)d->text[col + i] & 0xc0) != 0x80)
                sl_buf_addc(b, '~');
        sl_buf_printf(b, "%s\n", off);
    }
    if (d->note[o->lang])
        sl_buf_printf(b, "       = %s\n", d->note[o->lang]);
    if (d->fix) {
        sl_buf_printf(b, "       = %s: ",
                      d->fixed ? (o->lang ? "已自动修复" : "fixed")
                               : (o->lang ? "建议" : "suggested"));
        plain(b, d->fix, strlen(d->fix));
        sl_buf_addc(b, '\n');
    }
}

void report_text(const struct findings *f, const struct report_opts *o, struct sl_buf *b)
{
    for (size_t i = 0; i < f->n; i++)
        text_one(&f->v[i], o, b);
    size_t fixed = 0;
    for (size_t i = 0; i < f->n; i++)
        fixed += f->v[i].fixed;
    const char *form = o->lang
                           ? "%zu 个文件：%zu 个错误，%zu 个警告，%zu 个提示；%zu 处已自动修复\n"
                           : "%zu files: %zu errors, %zu warnings, %zu notes; %zu fixed\n";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    sl_buf_printf(b, form, f->files, findings_count(f, HAZARD_ERROR, true),
                  findings_count(f, HAZARD_WARNING, true), findings_count(f, HAZARD_NOTE, true),
                  fixed);
#pragma GCC diagnostic pop
}

static void key(struct sl_buf *b, const char *name, const char *value)
{
    sl_buf_printf(b, "\"%s\":", name);
    report_json_string(b, value, strlen(value));
}

void report_json(const struct findings *f, const struct report_opts *o, struct sl_buf *b)
{
    char targets[32], version[16];
    sl_buf_adds(b, "{");
    key(b, "tool", "starport");
    sl_buf_addc(b, ',');
    key(b, "version", SL_VERSION);
    sl_buf_addc(b, ',');
    key(b, "tree", o->tree ? o->tree : "");
    sl_buf_addc(b, ',');
    key(b, "targets", hazard_targets_text(o->targets, targets));
    sl_buf_addc(b, ',');
    key(b, "rocm", api_version(o->rocm, version));
    sl_buf_printf(b, ",\"files\":%zu,\"changed\":%zu,\"errors\":%zu,\"warnings\":%zu,\"notes\":%zu",
                  f->files, f->changed, findings_count(f, HAZARD_ERROR, true),
                  findings_count(f, HAZARD_WARNING, true), findings_count(f, HAZARD_NOTE, true));
    sl_buf_adds(b, ",\"findings\":[");
    for (size_t i = 0; i < f->n; i++) {
        const struct finding *d = &f->v[i];
        sl_buf_adds(b, i ? ",\n{" : "\n{");
        key(b, "id", d->rule->id);
        sl_buf_addc(b, ',');
        key(b, "severity", hazard_severity_name(d->severity, HAZARD_EN));
        sl_buf_addc(b, ',');
        key(b, "path", d->path);
        sl_buf_printf(b, ",\"line\":%u,\"column\":%u,\"length\":%u,", d->line, d->col, d->n);
        key(b, "title", d->rule->title[o->lang]);
        sl_buf_addc(b, ',');
        key(b, "what", d->what);
        if (d->note[o->lang]) {
            sl_buf_addc(b, ',');
            key(b, "note", d->note[o->lang]);
        }
        if (d->fix) {
            sl_buf_addc(b, ',');
            key(b, "fix", d->fix);
        }
        sl_buf_printf(b, ",\"fixed\":%s,", d->fixed ? "true" : "false");
        key(b, "advice", d->rule->advice[o->lang]);
        sl_buf_addc(b, '}');
    }
    sl_buf_adds(b, "\n]}\n");
}

void report_write(const struct findings *f, const struct report_opts *o, struct sl_buf *b)
{
    static void (*const writers[])(const struct findings *, const struct report_opts *,
                                   struct sl_buf *) = {report_text, report_json, report_sarif,
                                                       report_html};
    writers[o->format](f, o, b);
}
