/* SPDX-License-Identifier: Apache-2.0
 * Report writers over findings with any bytes: path, code, line. JSON and SARIF must stay well
 * formed, HTML must hold no markup of the input. */
#include "port/report.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* Strings closed, brackets balanced, no control bytes, valid UTF-8: enough to catch a missing
 * escape. */
static void check_json(const struct sl_buf *b)
{
    SL_ASSERT(sl_utf8_ok(sl_buf_str(b), b->n, true));
    int depth = 0;
    bool string = false;
    for (size_t i = 0; i < b->n; i++) {
        char c = b->p[i];
        if (string) {
            SL_ASSERT((unsigned char)c >= 0x20);
            if (c == '\\')
                SL_ASSERT(strchr("\"\\/bfnrtu", b->p[++i]));
            else if (c == '"')
                string = false;
        } else if (c == '"') {
            string = true;
        } else {
            depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
            SL_ASSERT(depth >= 0);
        }
    }
    SL_ASSERT(depth == 0 && !string);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    if (size < 4)
        return 0;
    struct hazard_opts o = HAZARD_OPTS_DEFAULT;
    o.targets = HAZARD_ALL;
    struct findings f = {0};
    size_t a = 4 + (size - 4) / 3, c = 4 + (size - 4) * 2 / 3;
    SL_AUTO_FREE char *path = sl_strndup((const char *)data + 4, a - 4);
    SL_AUTO_FREE char *what = sl_strndup((const char *)data + a, c - a);
    struct sl_str line = {(const char *)data + c, size - c};
    struct finding *d = findings_add_line(&f, &o, path, (enum hazard_no)(data[0] % HZ_COUNT),
                                          data[1] + 1u, data[2] + 1u, data[3], line, what);
    d->note[data[3] % HAZARD_LANGS] = what;
    d->fix = data[2] & 1 ? what : NULL;
    findings_sort(&f);
    for (int lang = 0; lang < HAZARD_LANGS; lang++) {
        for (int format = REPORT_TEXT; format <= REPORT_HTML; format++) {
            struct report_opts ro = {.format = (enum report_format)format,
                                     .lang = (enum hazard_lang)lang,
                                     .targets = o.targets,
                                     .rocm = o.rocm,
                                     .tree = path};
            SL_AUTO_BUF struct sl_buf b = SL_BUF(64 << 20);
            report_write(&f, &ro, &b);
            SL_ASSERT(!b.over);
            if (format == REPORT_JSON || format == REPORT_SARIF)
                check_json(&b);
            if (format == REPORT_HTML)
                SL_ASSERT(sl_utf8_ok(sl_buf_str(&b), b.n, true) &&
                          !strstr(sl_buf_str(&b), "<script"));
        }
    }
    findings_free(&f);
    return 0;
}
