/* SPDX-License-Identifier: Apache-2.0
 *
 * stage.h: a ported copy of a tree in a working directory, made for a compiler. Each source and
 * header stands there under its absolute path, translated, with #line markers, so that a compiler's
 * messages and debug information name the user's own file and line. The user's tree is not touched.
 *
 *     struct stage st = {0};
 *     stage_open(&st, &err);                               makes the directory
 *     stage_add(&st, "project", &opts, &err);              files and trees; headers they include
 * follow stage_write(&st, &opts, &err); st.v[i].staged ...                                   what
 * to compile stage_close(&st);                                    removes the directory
 */
#ifndef PORT_STAGE_H
#define PORT_STAGE_H
#include "base/core/map.h"
#include "port/files.h"
#include "port/translate.h"

struct stage_opts {
    const char *const *include_dirs; /* NULL-ended, as the user gave them */
    const char *const *defines;
    const char *const *exclude_dirs;
    bool cpu;     /* for the CPU shim: launches and shared declarations in its form (cpu_form.h) */
    bool fix;     /* with the automatic fixes of the hazard rules */
    bool fix_hip; /* in files that include HIP's headers, too: those are no translation of ours */
};

struct stage_file {
    char *path;     /* as the user would write it */
    char *staged;   /* its copy */
    char *real_dir; /* absolute directory of the original */
    bool is_unit;   /* a translation unit: by its extension, and no other file includes it */
    bool is_gpu;    /* it uses HIP: kernels, launches or a HIP header */
    bool changed;   /* translation changed it */
    char *text;     /* result, until stage_write */
    size_t text_n;
    unsigned *line; /* input line of each line of text, from index 1; NULL: the same */
    size_t lines;
};

struct stage {
    char dir[64];
    struct stage_file *v;
    size_t n;
    struct file_list files;
    struct sl_map templates; /* names of template kernels, for cpu */
    struct sl_map included;  /* file names that an #include "..." names */
};

int stage_open(struct stage *st, struct sl_err *err);
/* A file or a tree. SL_NOT_FOUND, SL_INVALID as file_list_add. */
int stage_add(struct stage *st, const char *path, const struct stage_opts *o, struct sl_err *err);
/* Translates all files and writes the copies. */
int stage_write(struct stage *st, const struct stage_opts *o, struct sl_err *err);
void stage_close(struct stage *st);

/* A directory that is installed with starport ("shim", "stubs"): next to the program in a build
 * tree or under ../share/starport; `given` (--shim-dir) wins. Owned by the caller; SL_NOT_FOUND
 * names the places that were looked at. */
int stage_data_dir(const char *given, const char *name, char **ret_dir, struct sl_err *err);
#endif
