/* SPDX-License-Identifier: Apache-2.0
 * build_files.c: which reader a file gets. */
#include "port/build_files.h"
#include "port/pyscan.h"

static bool ends(const char *s, const char *tail)
{
    size_t n = strlen(s), k = strlen(tail);
    return n >= k && sl_streq(s + n - k, tail);
}

enum build_kind build_kind_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (sl_streq(name, "CMakeLists.txt") || ends(name, ".cmake"))
        return BUILD_CMAKE;
    if (sl_starts(name, "Makefile") || sl_streq(name, "makefile") ||
        sl_streq(name, "GNUmakefile") || ends(name, ".mk"))
        return BUILD_MAKE;
    if (sl_streq(name, "setup.py"))
        return BUILD_SETUP;
    if (ends(name, ".sh") || ends(name, ".bash"))
        return BUILD_SHELL;
    return ends(name, ".py") ? BUILD_PYTHON : BUILD_NONE;
}

void build_scan(enum build_kind kind, struct source *s, const struct hazard_opts *o,
                struct findings *f)
{
    switch (kind) {
    case BUILD_CMAKE:
        build_scan_cmake(s, o, f);
        break;
    case BUILD_MAKE:
        build_scan_make(s, o, f);
        break;
    case BUILD_SHELL:
        build_scan_shell(s, o, f);
        break;
    case BUILD_SETUP:
        build_scan_setup(s, o, f);
        break;
    case BUILD_PYTHON:
        pyscan(s, o, f);
        break;
    case BUILD_NONE:
        break;
    }
}
