/* SPDX-License-Identifier: Apache-2.0
 * report_sarif.c: SARIF 2.1.0 (OASIS). One run; every rule that has a finding is listed in
 * tool.driver.rules and referred to by index; a suggested or applied replacement becomes a fix
 * object only where the finding knows the bytes it replaces. */
#include "port/report.h"
#include "base/core/version.h"

static void field(struct sl_buf *b, const char *name, const char *value)
{
    sl_buf_printf(b, "\"%s\":", name);
    report_json_string(b, value, strlen(value));
}

static void message(struct sl_buf *b, const char *name, const char *text)
{
    sl_buf_printf(b, "\"%s\":{", name);
    field(b, "text", text);
    sl_buf_addc(b, '}');
}

/* A path as a URI reference: RFC 3986 unreserved and '/' stay, the rest is percent-encoded. An
 * absolute path becomes file:///..., a relative one stays relative. */
static void uri(struct sl_buf *b, const char *path)
{
    SL_AUTO_BUF struct sl_buf u = SL_BUF(1 << 16);
    if (path[0] == '/')
        sl_buf_adds(&u, "file://");
    while (path[0] == '.' && path[1] == '/')
        path += 2;
    for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                     (*p >= '0' && *p <= '9') || strchr("-._~/", *p);
        if (plain)
            sl_buf_addc(&u, (char)*p);
        else
            sl_buf_printf(&u, "%%%02X", *p);
    }
    sl_buf_adds(b, "\"uri\":");
    report_json_string(b, sl_buf_str(&u), u.n);
}

static void rule(struct sl_buf *b, const struct hazard_rule *r, enum hazard_lang lang)
{
    sl_buf_addc(b, '{');
    field(b, "id", r->id);
    sl_buf_addc(b, ',');
    message(b, "shortDescription", r->title[lang]);
    sl_buf_addc(b, ',');
    message(b, "fullDescription", r->advice[lang]);
    sl_buf_addc(b, ',');
    message(b, "help", r->advice[lang]);
    sl_buf_adds(b, ",\"defaultConfiguration\":{");
    field(b, "level", hazard_severity_name(r->severity, HAZARD_EN));
    sl_buf_adds(b, "},\"properties\":{");
    field(b, "source", r->source);
    char targets[32];
    sl_buf_addc(b, ',');
    field(b, "targets", hazard_targets_text(r->targets, targets));
    sl_buf_adds(b, "}}");
}

/* SARIF counts columns in code points here (columnKind), a finding in bytes. */
static void region(struct sl_buf *b, const struct finding *d)
{
    size_t n = strlen(d->text), from = d->col ? d->col - 1 : 0, to;
    if (from > n)
        from = n;
    to = from + (d->n ? d->n : 1);
    if (to > n)
        to = n;
    unsigned start = report_code_points(d->text, from) + 1;
    sl_buf_printf(b, "\"region\":{\"startLine\":%u,\"startColumn\":%u,\"endColumn\":%u,",
                  d->line ? d->line : 1, start,
                  start + report_code_points(d->text + from, to - from));
    message(b, "snippet", d->text);
    sl_buf_addc(b, '}');
}

static void result(struct sl_buf *b, const struct finding *d, size_t index, enum hazard_lang lang)
{
    SL_AUTO_BUF struct sl_buf text = SL_BUF(1 << 16);
    sl_buf_adds(&text, d->rule->title[lang]);
    if (d->what[0])
        sl_buf_printf(&text, ": %s", d->what);
    if (d->note[lang])
        sl_buf_printf(&text, ". %s", d->note[lang]);
    if (d->fix)
        sl_buf_printf(&text, ". -> %s", d->fix);
    sl_buf_addc(b, '{');
    field(b, "ruleId", d->rule->id);
    sl_buf_printf(b, ",\"ruleIndex\":%zu,", index);
    field(b, "level", hazard_severity_name(d->severity, HAZARD_EN));
    sl_buf_addc(b, ',');
    message(b, "message", sl_buf_str(&text));
    sl_buf_adds(b, ",\"locations\":[{\"physicalLocation\":{\"artifactLocation\":{");
    uri(b, d->path);
    sl_buf_adds(b, "},");
    region(b, d);
    sl_buf_printf(b, "}}],\"properties\":{\"fixed\":%s}}", d->fixed ? "true" : "false");
}

void report_sarif(const struct findings *f, const struct report_opts *o, struct sl_buf *b)
{
    size_t index[HZ_COUNT] = {0}, rules = 0;
    bool seen[HZ_COUNT] = {0};
    for (size_t i = 0; i < f->n; i++)
        seen[f->v[i].rule->no] = true;
    sl_buf_adds(b, "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\","
                   "\"version\":\"2.1.0\",\"runs\":[{\"tool\":{\"driver\":{\"name\":\"starport\",");
    field(b, "version", SL_VERSION);
    sl_buf_addc(b, ',');
    field(b, "language", o->lang ? "zh-CN" : "en-US");
    sl_buf_adds(b, ",\"rules\":[");
    for (size_t i = 0; i < HZ_COUNT; i++) {
        if (!seen[i])
            continue;
        sl_buf_adds(b, rules ? ",\n" : "\n");
        rule(b, hazard_rule((enum hazard_no)i), o->lang);
        index[i] = rules++;
    }
    sl_buf_adds(b, "]}},\"columnKind\":\"unicodeCodePoints\",\"results\":[");
    for (size_t i = 0; i < f->n; i++) {
        sl_buf_adds(b, i ? ",\n" : "\n");
        result(b, &f->v[i], index[f->v[i].rule->no], o->lang);
    }
    sl_buf_adds(b, "]}]}\n");
}
