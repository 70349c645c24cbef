/* SPDX-License-Identifier: Apache-2.0
 *
 * build_files.h: nvcc's flags, CMake files, Makefiles, shell scripts and setup.py on their way to
 * HIP. Each reader adds findings (rules SP11xx, SP0404, SP0604) and, where the change is certain,
 * edits to the source; rendering it gives the ported file.
 *
 *     enum build_kind k = build_kind_of("CMakeLists.txt");
 *     if (k != BUILD_NONE && source_read(&s, path, &err) == 0)
 *         build_scan(k, &s, &opts, &findings);
 *
 * The readers take any bytes, are linear, and never touch comments. A value (a path, a macro) is
 * never searched for "CUDA": only whole flags, words and command names change.
 */
#ifndef PORT_BUILD_FILES_H
#define PORT_BUILD_FILES_H
#include "port/hazard.h"

enum build_kind { BUILD_NONE, BUILD_CMAKE, BUILD_MAKE, BUILD_SETUP, BUILD_SHELL, BUILD_PYTHON };

/* By the file's name: CMakeLists.txt, *.cmake; Makefile, GNUmakefile, *.mk; setup.py; *.sh; *.py.
 */
enum build_kind build_kind_of(const char *path);
void build_scan(enum build_kind kind, struct source *s, const struct hazard_opts *o,
                struct findings *f);

/* ---- the flag table ---- */
enum flag_match {
    FLAG_EXACT,  /* the word is the flag */
    FLAG_PREFIX, /* the flag and its value are one word: -Xptxas=-v, -lcublas */
    FLAG_VALUE,  /* the next word is its value; "flag=value" in one word too */
};
struct flag_rule {
    const char *flag;
    enum flag_match match;
    bool shy; /* means something to other tools: only where nvcc is certain */
    enum hazard_no no;
    const char
        *to; /* replacement; "" drops it; "%" stands for the value; "@" for --offload-arch=... */
    const char *reason[HAZARD_LANGS];
};
/* The rule for a word, or NULL for flags that clang takes as they are. *ret_value: offset of a
 * value inside the word, or 0. */
const struct flag_rule *build_flag(const char *word, size_t n, size_t *ret_value);
const struct flag_rule *build_flag_at(size_t i); /* NULL past the last */
/* " --offload-arch=gfx90a --offload-arch=gfx942" for the targets, with sep between. */
void build_offload(unsigned targets, const char *sep, const char *prefix, struct sl_buf *b);

/* The table as a page in Markdown. */
void build_flags_page(struct sl_buf *b);

/* One word of a command line at bytes at..at+n. next_at/next_n: the following word (n 0: none).
 * `sure`: nvcc runs here. `arch_done` collapses several architectures into one list.
 * Returns true when the next word was its value and is used up. */
struct flag_place {
    struct source *s;
    const struct hazard_opts *o;
    struct findings *f;
    bool sure, arch_done;
    bool python; /* SP1103 instead of SP1101 */
};
bool build_flag_word(struct flag_place *p, size_t at, size_t n, size_t next_at, size_t next_n);

/* The readers; build_scan chooses. */
void build_scan_cmake(struct source *s, const struct hazard_opts *o, struct findings *f);
void build_scan_make(struct source *s, const struct hazard_opts *o, struct findings *f);
void build_scan_shell(struct source *s, const struct hazard_opts *o, struct findings *f);
void build_scan_setup(struct source *s, const struct hazard_opts *o, struct findings *f);
#endif
