/* SPDX-License-Identifier: Apache-2.0
 *
 * files.h: which files a command works on: named ones, directory trees, compile_commands.json, and
 * the local headers that they include.
 *
 *     struct file_list l = {0};
 *     file_list_add(&l, argv[i], &rules, &err)
 *     file_list_close(&l, include_dirs)          optional: headers too
 *     file_list_free(&l);
 *
 * A tree is walked in name order. Symbolic links inside a tree are not followed (their targets are
 * the tree's own files, or not the user's to change), so that a loop of links ends. Hidden
 * directories and
 * `*.prehip` are left out. Each file is listed once, however it was reached.
 */
#ifndef PORT_FILES_H
#define PORT_FILES_H
#include "base/core/err.h"
#include "base/core/map.h"
#include <stdbool.h>

struct file_item {
    char *path; /* as the user would write it */
    char *rel;  /* its place below an output directory: path relative to the named tree */
};
struct file_list {
    struct file_item *v;
    size_t n, cap;
    struct sl_map seen; /* device and inode */
    size_t skipped_links;
};
struct file_rules {
    const char *const *exclude_dirs, *const *exclude_files; /* names or paths, ended by NULL */
    const char *const *extensions; /* without dot, or whole names ("CMakeLists.txt"); NULL:
                                      file_extensions */
    const char *out_dir; /* left out where it lies inside a tree; NULL or missing: none */
};
extern const char *const file_extensions[];

/* A file (of any name), or a directory with files of the extensions. SL_NOT_FOUND; SL_INVALID for a
 * tree without any such file. */
int file_list_add(struct file_list *l, const char *path, const struct file_rules *r,
                  struct sl_err *err);
/* Adds the local headers that listed files include, and those that they include. */
void file_list_close(struct file_list *l, const char *const *include_dirs);
/* Adds the "file" entries of DIR/compile_commands.json that exist. */
int file_list_database(struct file_list *l, const char *dir, const struct file_rules *r,
                       struct sl_err *err);
void file_list_free(struct file_list *l);
#endif
