/* SPDX-License-Identifier: Apache-2.0
 *
 * conf.h: configuration as a table. An INI file (sections, `key = value`, # and ; comments), then
 * STARLEASE_SECTION_KEY environment variables, override the defaults. An unknown section or key is
 * an error that names file and line. The same table prints --help-config and the man page.
 *
 *     static const struct conf_key keys[] = {
 *         {"server", "listen", CONF_TEXT, offsetof(struct conf, listen), "127.0.0.1:7070", 0, 0,
 * "address"},
 *         {"server", "threads", CONF_INT, offsetof(struct conf, threads), "2", 1, 64, "HTTP
 * threads"}, {0}}; conf_load("starleased.conf", keys, &conf, &arena, err)        path NULL:
 * defaults only
 *
 * Members: TEXT, PATH const char *; INT, DURATION (seconds) int64_t; BOOL bool; MONEY int64_t
 * micro.
 */
#ifndef SL_CONF_H
#define SL_CONF_H
#include "base/core/err.h"
#include "base/core/mem.h"
#include <stdint.h>
#include <stdio.h>

enum conf_kind { CONF_END, CONF_TEXT, CONF_PATH, CONF_INT, CONF_DURATION, CONF_BOOL, CONF_MONEY };
struct conf_key {
    const char *section, *key;
    enum conf_kind kind;
    size_t offset;
    const char *fallback; /* as written in a file */
    int64_t min, max;     /* INT, DURATION, MONEY */
    const char *doc;      /* one line */
};
int conf_load(const char *path, const struct conf_key *keys, void *out, struct sl_arena *arena,
              struct sl_err *err);
/* From memory, for tests and fuzzing. `name` is used in messages. */
int conf_parse(const char *name, const char *text, size_t n, const struct conf_key *keys, void *out,
               struct sl_arena *arena, struct sl_err *err);
void conf_help(const struct conf_key *keys, FILE *out);
#endif
