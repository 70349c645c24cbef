/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/image.h"
#include "base/core/mem.h"
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { COPY_BYTES = 256 * 1024 };

static bool hex64(const char *s)
{
    return strlen(s) == 64 && strspn(s, "0123456789abcdef") == 64;
}

static bool layout_name(const char *raw, char out[96])
{
    while (sl_starts(raw, "./"))
        raw += 2;
    if (sl_streq(raw, "oci-layout") || sl_streq(raw, "index.json") ||
        (sl_starts(raw, "blobs/sha256/") && hex64(raw + 13))) {
        snprintf(out, 96, "%.95s", raw);
        return true;
    }
    return false;
}

static int copy_out(struct archive *ar, int into, const char *name, int64_t *budget,
                    struct sl_err *err)
{
    SL_AUTO_FREE char *chunk = sl_alloc(COPY_BYTES);
    SL_AUTO_CLOSE int fd = openat(into, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return sl_fail_errno(err, errno, "copy %s", name);
    for (la_ssize_t n; (n = archive_read_data(ar, chunk, COPY_BYTES)) != 0;) {
        if (n < 0)
            return sl_fail_at(err, SL_INVALID, "path", "image: the archive is damaged");
        if ((*budget -= n) < 0)
            return sl_fail_at(err, SL_INVALID, "path", "image: too large");
        if (write_all(fd, chunk, (size_t)n) < 0)
            return sl_fail_errno(err, errno, "copy %s", name);
    }
    return 0;
}

struct tar_source {
    int fd;
    char buf[COPY_BYTES];
};

static la_ssize_t tar_read(struct archive *ar, void *arg, const void **ret)
{
    struct tar_source *s = arg;
    *ret = s->buf;
    ssize_t n = read(s->fd, s->buf, sizeof s->buf);
    return n < 0 ? -1 : n;
}

int oci_from_tar(int fd, int into, const struct unpack_limits *limits, struct sl_err *err)
{
    SL_AUTO_FREE struct tar_source *s = sl_alloc(sizeof *s);
    struct archive *ar = archive_read_new();
    struct archive_entry *e;
    int64_t budget = limits->bytes;
    int found = 0, rc = 0;
    bool is_layout = false;
    s->fd = fd;
    archive_read_support_filter_gzip(ar);
    archive_read_support_filter_zstd(ar);
    archive_read_support_format_tar(ar);
    mkdirat(into, "blobs", 0700);
    mkdirat(into, "blobs/sha256", 0700);
    if (archive_read_open(ar, s, NULL, tar_read, NULL) == ARCHIVE_OK)
        while (rc == 0 && archive_read_next_header(ar, &e) == ARCHIVE_OK) {
            const char *raw = archive_entry_pathname(e);
            char name[96];
            if (!raw || archive_entry_filetype(e) == AE_IFDIR)
                continue;
            if (archive_entry_filetype(e) != AE_IFREG || archive_entry_hardlink(e) ||
                !layout_name(raw, name)) {
                if (sl_streq(raw, "manifest.json") || sl_streq(raw, "./manifest.json") ||
                    sl_streq(raw, "repositories"))
                    continue; /* docker save adds these beside a layout */
                break;        /* an ordinary root file system */
            }
            is_layout = is_layout || sl_streq(name, "oci-layout");
            found++;
            rc = copy_out(ar, into, name, &budget, err);
        }
    archive_read_free(ar);
    return rc < 0 ? -1 : is_layout && found > 1;
}
