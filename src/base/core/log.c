/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum log_level highest = LOG_INFO;

void log_level_set(enum log_level level)
{
    highest = level;
}

void log_event(enum log_level level, const char *event, const char *fmt, ...)
{
    if (level > highest)
        return;
    char line[2048];
    int n = snprintf(line, sizeof line, "<%d>%s ", level, event);
    va_list ap;
    va_start(ap, fmt);
    int m = vsnprintf(line + n, sizeof line - (size_t)n - 1, fmt, ap);
    va_end(ap);
    size_t len = (size_t)n + (m < 0 ? 0 : (size_t)m);
    if (len > sizeof line - 2)
        len = sizeof line - 2;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)line[i] < 0x20)
            line[i] = ' ';
    line[len] = '\n';
    (void)!write(STDERR_FILENO, line, len + 1); /* one write: lines of threads do not mix */
}

const char *log_quote(const char *text, char out[LOG_QUOTED])
{
    size_t n = 0;
    out[n++] = '"';
    for (; *text && n < LOG_QUOTED - 4; text++) {
        if (*text == '"' || *text == '\\')
            out[n++] = '\\';
        out[n++] = (unsigned char)*text < 0x20 ? ' ' : *text;
    }
    out[n++] = '"';
    out[n] = 0;
    return out;
}
