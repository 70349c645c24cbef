/* SPDX-License-Identifier: Apache-2.0 */
#include "port/files.h"
#include "base/core/buf.h"
#include "base/core/mem.h"
#include "base/io/json.h"
#include "port/source.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 200 }; /* directories inside directories */

const char *const file_extensions[] = {"cu", "cuh", "c",   "cc",  "cpp", "cxx", "h",
                                       "hh", "hpp", "hxx", "inl", "inc", "ipp", NULL};

static bool in_list(const char *const *list, const char *name, const char *path)
{
    for (; list && *list; list++)
        if (strcmp(*list, name) == 0 || strcmp(*list, path) == 0)
            return true;
    return false;
}

static bool has_extension(const char *name, const struct file_rules *r)
{
    const char *dot = strrchr(name, '.');
    const char *what = dot ? dot + 1 : name; /* a list may name whole files: "Makefile" */
    return in_list(r->extensions ? r->extensions : file_extensions, what, name);
}

/* The directory that results go to; what it holds is no input of the next run. */
static bool is_output(const struct file_rules *r, const struct stat *st)
{
    struct stat out;
    return r->out_dir && stat(r->out_dir, &out) == 0 && out.st_dev == st->st_dev &&
           out.st_ino == st->st_ino;
}

static void add(struct file_list *l, const char *path, const char *rel, const struct stat *st)
{
    char key[64];
    int n = snprintf(key, sizeof key, "%llx:%llx", (unsigned long long)st->st_dev,
                     (unsigned long long)st->st_ino);
    void **seen = sl_map_put(&l->seen, key, (size_t)n);
    if (*seen)
        return;
    *seen = l;
    if (l->n == l->cap)
        l->v = sl_realloc(l->v, (l->cap = l->cap ? l->cap * 2 : 64) * sizeof *l->v);
    l->v[l->n++] = (struct file_item){sl_strdup(path), sl_strdup(rel)};
}

static int not_dots(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

static int walk(struct file_list *l, const char *dir, const char *rel, const struct file_rules *r,
                int depth, struct sl_err *err)
{
    struct dirent **names;
    if (depth > DEPTH_MAX)
        return sl_fail(err, SL_INVALID, "%s: more than %d directories deep", dir, DEPTH_MAX);
    int n = scandir(dir, &names, not_dots, alphasort);
    if (n < 0)
        return errno == EACCES ? sl_fail(err, SL_FORBIDDEN, "%s: no permission to read it", dir)
                               : sl_fail_errno(err, errno, "%s: cannot be read", dir);
    int rc = 0;
    for (int i = 0; i < n; i++) {
        SL_AUTO_FREE char *path = sl_asprintf("%s/%s", dir, names[i]->d_name);
        SL_AUTO_FREE char *below = sl_asprintf("%s%s%s", rel, *rel ? "/" : "", names[i]->d_name);
        struct stat st;
        if (rc == 0 && lstat(path, &st) == 0) {
            if (S_ISLNK(st.st_mode))
                l->skipped_links++;
            else if (S_ISDIR(st.st_mode) && !in_list(r->exclude_dirs, names[i]->d_name, path) &&
                     !is_output(r, &st))
                rc = walk(l, path, below, r, depth + 1, err);
            else if (S_ISREG(st.st_mode) && has_extension(names[i]->d_name, r) &&
                     !in_list(r->exclude_files, names[i]->d_name, path))
                add(l, path, below, &st);
        }
        free(names[i]);
    }
    free(names);
    return rc;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int file_list_add(struct file_list *l, const char *path, const struct file_rules *r,
                  struct sl_err *err)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return errno == ELOOP ? sl_fail(err, SL_INVALID, "%s: a loop of symbolic links", path)
               : errno == ENOENT || errno == ENOTDIR
                   ? sl_fail(err, SL_NOT_FOUND, "%s: no such file or directory", path)
               : errno == EACCES ? sl_fail(err, SL_FORBIDDEN, "%s: no permission to read it", path)
                                 : sl_fail_errno(err, errno, "%s: cannot be examined", path);
    if (!S_ISDIR(st.st_mode)) {
        if (!in_list(r->exclude_files, base_name(path), path))
            add(l, path, base_name(path), &st);
        return 0;
    }
    SL_AUTO_FREE char *dir = sl_strdup(path);
    for (size_t n = strlen(dir); n > 1 && dir[n - 1] == '/'; n--)
        dir[n - 1] = 0;
    size_t before = l->n;
    if (walk(l, dir, "", r, 0, err) < 0)
        return -1;
    if (l->n == before && l->seen.n == 0)
        return sl_fail(err, SL_INVALID, "%s: no CUDA or C++ file (.cu .cuh .cpp .h ...) in it",
                       path);
    return 0;
}

static bool try_header(struct file_list *l, const char *dir, size_t dir_n, struct sl_str name)
{
    SL_AUTO_FREE char *path =
        sl_asprintf("%.*s%s%.*s", (int)dir_n, dir, dir_n ? "/" : "", (int)name.n, name.p);
    struct stat st;
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    SL_AUTO_FREE char *rel = sl_strndup(name.p, name.n);
    add(l, path, base_name(rel), &st);
    return true;
}

void file_list_close(struct file_list *l, const char *const *include_dirs)
{
    for (size_t i = 0; i < l->n; i++) { /* grows while it is walked */
        struct source s;
        struct sl_err err = {0};
        if (source_read(&s, l->v[i].path, &err) < 0)
            continue;
        const char *slash = strrchr(s.path, '/');
        size_t dir_n = slash ? (size_t)(slash - s.path) : 0;
        for (size_t k = 0; k < s.lex.n; k++) {
            const struct lex_tok *t = &s.lex.v[k];
            if (t->kind != LEX_HEADER)
                continue;
            struct sl_str name = {s.p + t->at + 1, t->n - 2};
            bool found = t->first == '"' && try_header(l, s.path, dir_n, name);
            for (const char *const *d = include_dirs; !found && d && *d; d++)
                found = try_header(l, *d, strlen(*d), name);
        }
        source_free(&s);
    }
}

static int add_entry(struct file_list *l, const struct jr_val *entry, const struct file_rules *r)
{
    const char *file = jr_text(jr_get(entry, "file"), NULL);
    const char *dir = jr_text(jr_get(entry, "directory"), NULL);
    if (!file)
        return -1;
    SL_AUTO_FREE char *path =
        *file == '/' || !dir ? sl_strdup(file) : sl_asprintf("%s/%s", dir, file);
    struct stat st;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && has_extension(path, r) &&
        !in_list(r->exclude_files, base_name(path), path))
        add(l, path, base_name(path), &st);
    return 0;
}

int file_list_database(struct file_list *l, const char *dir, const struct file_rules *r,
                       struct sl_err *err)
{
    SL_AUTO_FREE char *path = sl_asprintf("%s/compile_commands.json", dir);
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    struct source text; /* read like a source: size limit, no NUL */
    struct sl_err why = {0};
    if (source_read(&text, path, &why) < 0)
        return why.code == SL_NOT_FOUND ? sl_fail(err, SL_NOT_FOUND,
                                                  "%s: no such file; cmake writes it with "
                                                  "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
                                                  path)
                                        : sl_fail(err, why.code, "%s", why.msg);
    int rc = jr_open(text.p, text.n, &doc, &why);
    for (size_t i = 0; rc == 0 && i < jr_len(jr_root(doc)); i++)
        rc = add_entry(l, jr_at(jr_root(doc), i), r);
    source_free(&text);
    return rc == 0 ? 0
                   : sl_fail(err, SL_INVALID, "%s: not a list of objects with \"file\" (%s)", path,
                             why.msg);
}

void file_list_free(struct file_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->v[i].path);
        free(l->v[i].rel);
    }
    free(l->v);
    sl_map_free(&l->seen);
    *l = (struct file_list){0};
}
