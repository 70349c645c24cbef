/* SPDX-License-Identifier: Apache-2.0
 *
 * static.h: the console's files (web/), compressed and inside of the program. Every path under
 * /console/ that is no file is the page itself, which reads the path; "/" leads there.
 *
 *     const struct static_file *f = static_find("/console/app.js");
 */
#ifndef SERVER_STATIC_H
#define SERVER_STATIC_H
#include <stdbool.h>
#include <stddef.h>

#define STATIC_HOME "/console/"

struct static_file {
    const char *name, *type;
    const unsigned char *bytes; /* gzip */
    size_t n;
    const char *etag; /* of the plain bytes, quoted */
};
extern const struct static_file static_files[]; /* ended by a zero row; embed_console.py */

/* "/" and what is under /console. */
bool static_is_ours(const char *path);
/* NULL: there is none. */
const struct static_file *static_find(const char *path);
/* The Content-Security-Policy that goes with every one. */
extern const char static_csp[];
#endif
