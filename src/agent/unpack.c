/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unpack.h"
#include "agent/agent.h"
#include "base/core/buf.h"
#include "base/core/mem.h"
#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum {
    READ_BYTES = 256 * 1024,
    TELL_BYTES = 8 << 20,
    TELL_FILES = 5000,
    ID_MAX = 65535,
    REMOVE_DEPTH = 512,
    PAGE = 4096, /* what is all zeros becomes a hole */
};

struct source {
    struct unpack *u;
    int fd;
    struct sha256_state sum;
    char buf[READ_BYTES];
};

static la_ssize_t source_read(struct archive *ar, void *arg, const void **ret)
{
    struct source *s = arg;
    ssize_t n;
    do
        n = read(s->fd, s->buf, sizeof s->buf);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        if (ar)
            archive_set_error(ar, errno, "read failed");
        return -1;
    }
    sha256_add(&s->sum, s->buf, (size_t)n);
    s->u->packed += n;
    *ret = s->buf;
    return n;
}

static int bad(struct sl_err *err, const char *name, const char *why)
{
    char shown[200];
    snprintf(shown, sizeof shown, "%.180s", name);
    for (char *p = shown; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 127)
            *p = '?';
    return sl_fail_at(err, SL_INVALID, "path", "image: \"%s\" %s", shown, why);
}

/* "./a//b/" -> "a/b" in out; "" for the root itself. */
static int clean_name(const struct unpack *u, const char *raw, char out[PATH_MAX],
                      struct sl_err *err)
{
    struct sl_str rest = sl_str(raw), part;
    size_t n = 0;
    int depth = 0;
    if (raw[0] == '/')
        return bad(err, raw, "is an absolute name; image names must be relative");
    while (sl_str_cut(&rest, '/', &part)) {
        if (part.n == 0 || (part.n == 1 && part.p[0] == '.'))
            continue;
        if (part.n == 2 && part.p[0] == '.' && part.p[1] == '.')
            return bad(err, raw, "contains \"..\"; image names must stay inside");
        if (part.n > IMAGE_NAME_BYTES || n + part.n + 2 > PATH_MAX)
            return bad(err, raw, "is too long a name");
        if (++depth > u->limits.depth)
            return bad(err, raw, "lies too deep");
        if (n)
            out[n++] = '/';
        memcpy(out + n, part.p, part.n);
        n += part.n;
    }
    out[n] = 0;
    return 0;
}

int unpack_open(int root, const char *rel, int flags)
{
    struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC),
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    return (int)syscall(SYS_openat2, root, *rel ? rel : ".", &how, sizeof how);
}

/* The folder that holds `name`, made when `make`; *ret_last points at the last component. */
static int parent_of(struct unpack *u, const char *name, bool make, const char **ret_last,
                     struct sl_err *err)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(name, '/');
    *ret_last = slash ? slash + 1 : name;
    snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - name) : 0, name);
    int fd = unpack_open(u->root, dir, O_PATH | O_DIRECTORY);
    if (fd < 0 && errno == ENOENT && make) {
        const char *last;
        SL_AUTO_CLOSE int up = parent_of(u, dir, true, &last, err);
        if (up < 0)
            return -1;
        if (mkdirat(up, last, 0755) < 0 && errno != EEXIST)
            return sl_fail_errno(err, errno, "make %s", dir);
        fd = unpack_open(u->root, dir, O_PATH | O_DIRECTORY);
    }
    if (fd < 0)
        return bad(err, name,
                   errno == EXDEV || errno == ELOOP
                       ? "goes through a link that leads out of the image"
                       : "lies in a folder that is not there");
    return fd;
}

static int remove_deep(int dir, const char *name, int depth)
{
    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
        return 0;
    if ((errno != EISDIR && errno != EPERM) || depth == 0)
        return -1;
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    int rc = d ? 0 : -1;
    for (struct dirent *e; d && rc == 0 && (e = readdir(d));)
        if (!sl_streq(e->d_name, ".") && !sl_streq(e->d_name, ".."))
            rc = remove_deep(dirfd(d), e->d_name, depth - 1);
    if (d)
        closedir(d);
    else if (fd >= 0)
        close(fd);
    return rc < 0 ? -1 : unlinkat(dir, name, AT_REMOVEDIR);
}

int tree_remove(int dir, const char *name)
{
    return remove_deep(dir, name, REMOVE_DEPTH);
}

static int children_remove(int parent, const char *name)
{
    int fd = openat(parent, *name ? name : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        return -1;
    int rc = 0;
    for (struct dirent *e; rc == 0 && (e = readdir(d));)
        if (!sl_streq(e->d_name, ".") && !sl_streq(e->d_name, ".."))
            rc = tree_remove(dirfd(d), e->d_name);
    closedir(d);
    return rc;
}

/* 1 when it was a whiteout and is done, 0 when not, -1 on error. */
static int whiteout(int parent, const char *name, const char *last, struct sl_err *err)
{
    if (!sl_starts(last, ".wh."))
        return 0;
    const char *gone = last + 4;
    int rc;
    if (sl_streq(last, ".wh..wh..opq"))
        rc = children_remove(parent, "");
    else if (*gone == 0 || sl_streq(gone, ".") || sl_streq(gone, ".."))
        return bad(err, name, "is a whiteout of nothing");
    else if (sl_starts(gone, ".wh."))
        return 1; /* bookkeeping of other tools */
    else
        rc = tree_remove(parent, gone);
    return rc < 0 ? sl_fail_errno(err, errno, "apply whiteout %s", name) : 1;
}

static int tell(struct unpack *u, struct sl_err *err)
{
    if (!u->progress || (u->bytes - u->told < TELL_BYTES && u->files - u->told_files < TELL_FILES))
        return 0;
    u->told = u->bytes;
    u->told_files = u->files;
    return u->progress(u->progress_arg, u)
               ? sl_fail(err, SL_UNAVAILABLE, "the one who asked for the import is gone")
               : 0;
}

static int count_bytes(struct unpack *u, int64_t n, struct sl_err *err)
{
    u->bytes += n;
    if (u->bytes > u->limits.bytes)
        return sl_fail_at(err, SL_INVALID, "path", "image: unpacks to over %lld bytes",
                          (long long)u->limits.bytes);
    return 0;
}

/* Holes cost nothing, so only what takes room on the disk counts. */
static int check_ratio(const struct unpack *u, struct sl_err *err)
{
    if (u->stored > u->limits.ratio_after && u->stored / u->limits.ratio > u->packed)
        return sl_fail_at(err, SL_INVALID, "path",
                          "image: unpacks to over %lld times its size; refused as a bomb",
                          (long long)u->limits.ratio);
    return 0;
}

static bool zeros(const char *p, size_t n)
{
    return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

/* Writes [p, p + n) at `at`, leaving holes for pages of zeros: a 20 GiB disk image that is empty
 * arrives in a layer as 20 GiB of zeros. */
static int write_sparse(struct unpack *u, int fd, const char *p, size_t n, int64_t at)
{
    while (n) {
        size_t run = 0;
        bool hole = false;
        while (run < n) {
            size_t page = PAGE - (size_t)((at + (int64_t)run) % PAGE);
            page = page < n - run ? page : n - run;
            bool z = zeros(p + run, page);
            if (run && z != hole)
                break;
            hole = z;
            run += page;
        }
        if (!hole) {
            if (lseek(fd, at, SEEK_SET) < 0 || write_all(fd, p, run) < 0)
                return -1;
            u->stored += (int64_t)run;
        }
        p += run, n -= run, at += (int64_t)run;
    }
    return 0;
}

static int write_data(struct unpack *u, struct archive *ar, int fd, int64_t size, const char *name,
                      struct sl_err *err)
{
    const void *p;
    size_t n;
    la_int64_t at;
    int64_t before = u->bytes, stored = u->stored, end = 0;
    if (size < 0 || size > u->limits.bytes - before)
        return sl_fail_at(err, SL_INVALID, "path", "image: unpacks to over %lld bytes",
                          (long long)u->limits.bytes);
    for (;;) {
        int rc = archive_read_data_block(ar, &p, &n, &at);
        if (rc == ARCHIVE_EOF)
            break;
        if (rc < ARCHIVE_WARN)
            return bad(err, name, "is damaged in the archive");
        if (at < end || at + (int64_t)n > size)
            return bad(err, name, "is longer than its header says");
        if (write_sparse(u, fd, p, n, at) < 0)
            return sl_fail_errno(err, errno, "write an image file");
        end = at + (int64_t)n;
        u->bytes = before + end;
        if (check_ratio(u, err) < 0 || tell(u, err) < 0)
            return -1;
    }
    u->bytes = before;
    if (ftruncate(fd, size) < 0)
        return sl_fail_errno(err, errno, "size an image file");
    if (size - (u->stored - stored) >= UNPACK_HOLEY && u->holey_n < UNPACK_HOLEY_MAX)
        u->holey[u->holey_n++] = sl_strdup(name);
    return count_bytes(u, size, err);
}

static int make_file(struct unpack *u, struct archive *ar, struct archive_entry *e, int parent,
                     const char *last, const char *name, struct sl_err *err)
{
    if (tree_remove(parent, last) < 0)
        return sl_fail_errno(err, errno, "replace %s", name);
    SL_AUTO_CLOSE int fd =
        openat(parent, last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return sl_fail_errno(err, errno, "make an image file");
    if (write_data(u, ar, fd, archive_entry_size(e), name, err) < 0)
        return -1;
    const struct timespec t[2] = {{.tv_sec = archive_entry_mtime(e)},
                                  {.tv_sec = archive_entry_mtime(e)}};
    if (fchown(fd, (uid_t)archive_entry_uid(e), (gid_t)archive_entry_gid(e)) < 0 ||
        fchmod(fd, archive_entry_perm(e) & 07777) < 0 || futimens(fd, t) < 0)
        return sl_fail_errno(err, errno, "set the owner of %s", name);
    return 0;
}

static int make_link(struct unpack *u, const char *target, int parent, const char *last,
                     const char *name, struct sl_err *err)
{
    char clean[PATH_MAX];
    const char *target_last;
    struct stat st;
    if (clean_name(u, target, clean, err) < 0)
        return -1;
    if (!*clean || sl_streq(clean, name))
        return bad(err, name, "is a hard link to itself");
    SL_AUTO_CLOSE int from = parent_of(u, clean, false, &target_last, err);
    if (from < 0)
        return -1;
    if (fstatat(from, target_last, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)))
        return bad(err, name, "is a hard link to something that is not a file of the image");
    if (tree_remove(parent, last) < 0 || linkat(from, target_last, parent, last, 0) < 0)
        return sl_fail_errno(err, errno, "link an image file");
    return 0;
}

static int make_symlink(const char *target, struct archive_entry *e, int parent, const char *last,
                        const char *name, struct sl_err *err)
{
    if (!target || !*target || strlen(target) >= PATH_MAX)
        return bad(err, name, "is a link without a usable target");
    if (tree_remove(parent, last) < 0 || symlinkat(target, parent, last) < 0 ||
        fchownat(parent, last, (uid_t)archive_entry_uid(e), (gid_t)archive_entry_gid(e),
                 AT_SYMLINK_NOFOLLOW) < 0)
        return sl_fail_errno(err, errno, "make link %s", name);
    return 0;
}

static int make_dir(struct archive_entry *e, int parent, const char *last, const char *name,
                    struct sl_err *err)
{
    struct stat st;
    const char *at = *last ? last : ".";
    if (*last) {
        bool there = fstatat(parent, last, &st, AT_SYMLINK_NOFOLLOW) == 0;
        /* A folder entry over a link to a folder keeps the link, as layers of merged-/usr systems
         * need; what is in it is resolved beneath the root anyway. */
        if (there && S_ISLNK(st.st_mode) && fstatat(parent, last, &st, 0) == 0 &&
            S_ISDIR(st.st_mode))
            return 0;
        if (there && !S_ISDIR(st.st_mode) && tree_remove(parent, last) < 0)
            return sl_fail_errno(err, errno, "replace %s", name);
        if (mkdirat(parent, last, 0755) < 0 && errno != EEXIST)
            return sl_fail_errno(err, errno, "make folder %s", name);
    }
    SL_AUTO_CLOSE int fd = openat(parent, at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fchown(fd, (uid_t)archive_entry_uid(e), (gid_t)archive_entry_gid(e)) < 0 ||
        fchmod(fd, archive_entry_perm(e) & 07777) < 0)
        return sl_fail_errno(err, errno, "set the owner of %s", name);
    return 0;
}

static int make_entry(struct unpack *u, struct archive *ar, struct archive_entry *e, int parent,
                      const char *last, const char *name, struct sl_err *err)
{
    const char *hard = archive_entry_hardlink(e);
    if (hard)
        return make_link(u, hard, parent, last, name, err);
    switch (archive_entry_filetype(e)) {
    case AE_IFREG:
        return make_file(u, ar, e, parent, last, name, err);
    case AE_IFDIR:
        return make_dir(e, parent, last, name, err);
    case AE_IFLNK:
        return make_symlink(archive_entry_symlink(e), e, parent, last, name, err);
    case AE_IFCHR:
    case AE_IFBLK:
        return bad(err, name, "is a device node; images hold files, folders and links only");
    default:
        return bad(err, name, "is a pipe or socket; images hold files, folders and links only");
    }
}

static int entry(struct unpack *u, struct archive *ar, struct archive_entry *e, bool layer,
                 struct sl_err *err)
{
    char name[PATH_MAX];
    const char *raw = archive_entry_pathname(e), *last;
    if (!raw)
        return sl_fail_at(err, SL_INVALID, "path", "image: a name is not valid UTF-8");
    if (++u->files > u->limits.files)
        return sl_fail_at(err, SL_INVALID, "path", "image: has over %lld entries",
                          (long long)u->limits.files);
    if (tell(u, err) < 0)
        return -1;
    if (clean_name(u, raw, name, err) < 0)
        return -1;
    if (archive_entry_uid(e) < 0 || archive_entry_uid(e) > ID_MAX || archive_entry_gid(e) < 0 ||
        archive_entry_gid(e) > ID_MAX)
        return bad(err, raw, "has an owner over 65535");
    if (!*name && archive_entry_filetype(e) != AE_IFDIR)
        return bad(err, raw, "is not a usable name");
    SL_AUTO_CLOSE int parent = parent_of(u, name, true, &last, err);
    if (parent < 0)
        return -1;
    if (layer) {
        int done = whiteout(parent, name, last, err);
        if (done)
            return done < 0 ? -1 : 0;
    }
    return make_entry(u, ar, e, parent, last, name, err);
}

static struct archive *reader(struct source *s, struct sl_err *err)
{
    struct archive *ar = archive_read_new();
    SL_ASSERT(ar != NULL);
    /* Built-in decoders only: libarchive can also start programs for others. */
    archive_read_support_filter_gzip(ar);
    archive_read_support_filter_zstd(ar);
    archive_read_support_format_tar(ar);
    archive_read_support_format_empty(ar);
    if (archive_read_open(ar, s, NULL, source_read, NULL) != ARCHIVE_OK) {
        sl_fail_at(err, SL_INVALID, "path", "image: not a tar file, plain or with gzip or zstd");
        archive_read_free(ar);
        return NULL;
    }
    return ar;
}

int unpack_tar(struct unpack *u, int fd, bool layer, char ret_digest[SHA256_HEX],
               struct sl_err *err)
{
    SL_AUTO_FREE struct source *s = sl_alloc(sizeof *s);
    struct archive_entry *e;
    *ret_digest = 0;
    s->u = u;
    s->fd = fd;
    sha256_start(&s->sum);
    struct archive *ar = reader(s, err);
    if (!ar)
        return -1;
    int rc, result = 0;
    while (result == 0 && (rc = archive_read_next_header(ar, &e)) != ARCHIVE_EOF) {
        if (rc < ARCHIVE_WARN)
            result = sl_fail_at(err, SL_INVALID, "path", "image: the archive is damaged (%.100s)",
                                archive_error_string(ar) ? archive_error_string(ar) : "unknown");
        else
            result = entry(u, ar, e, layer, err);
    }
    archive_read_free(ar);
    const void *rest;
    /* What follows counts as well; also after an error, because a wrong digest explains it better.
     */
    while (source_read(NULL, s, &rest) > 0)
        ;
    uint8_t sum[SHA256_BYTES];
    sha256_end(&s->sum, sum);
    hex_encode(sum, sizeof sum, ret_digest);
    return result;
}

void unpack_free(struct unpack *u)
{
    while (u->holey_n)
        free(u->holey[--u->holey_n]);
}
