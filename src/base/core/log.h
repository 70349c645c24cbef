/* SPDX-License-Identifier: Apache-2.0
 *
 * log.h: one line per event on stderr, logfmt, with a "<N>" priority that journald understands.
 * Only programs log (server, agent, cli); base and wire never do. Secrets have type struct secret,
 * which nothing here can print.
 *
 *     log_info("lease.running", "lease=%s gpus=%d", id, n);
 *
 * Values that may hold blanks or foreign text go through log_quote.
 */
#ifndef SL_LOG_H
#define SL_LOG_H
enum log_level { LOG_ERROR = 3, LOG_WARN = 4, LOG_INFO = 6, LOG_DEBUG = 7 };
enum { LOG_QUOTED = 512 };

struct secret {
    char text[256];
};

void log_level_set(enum log_level highest); /* default LOG_INFO */
void log_event(enum log_level level, const char *event, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* "text" in double quotes with escapes, cut to fit. Returns out. */
const char *log_quote(const char *text, char out[LOG_QUOTED]);
#define log_error(event, ...) log_event(LOG_ERROR, event, __VA_ARGS__)
#define log_warn(event, ...) log_event(LOG_WARN, event, __VA_ARGS__)
#define log_info(event, ...) log_event(LOG_INFO, event, __VA_ARGS__)
#define log_debug(event, ...) log_event(LOG_DEBUG, event, __VA_ARGS__)
#endif
