/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/image.h"
#include "agent/mount.h"
#include "agent/registry.h"
#include "base/core/failpoint.h"
#include "base/core/mem.h"
#include "base/io/json.h"
#include "base/io/proc.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { FACTS_MAX = 4096 };

struct import {
    const struct agent *a;
    const struct image_import *in;
    char temp[PATH_MAX]; /* STATE/images/tmp-NAME */
    int64_t total;
    struct unpack u;
    char digest[80];
};

static int tell(void *arg, const struct unpack *u)
{
    struct import *m = arg;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(256);
    struct jw w = {&b};
    if (!m->in->progress)
        return 0;
    jw_object(&w, NULL);
    jw_str(&w, "step", "unpack");
    jw_int(&w, "bytes", u->packed > m->total ? m->total : u->packed);
    jw_int(&w, "total", m->total);
    jw_int(&w, "files", u->files);
    jw_end(&w);
    return m->in->progress(m->in->progress_arg, sl_buf_str(&b));
}

void images_remove(const struct agent *a, const char *prefix, const char *name)
{
    char parent[PATH_MAX], entry[80];
    agent_path(parent, "%s/images", a->state_dir);
    snprintf(entry, sizeof entry, "%s-%.63s", prefix, name);
    SL_AUTO_CLOSE int dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0)
        (void)tree_remove(dir, entry);
}

static void temp_remove(const struct import *m)
{
    images_remove(m->a, "tmp", m->in->name);
}

static int digest_check(const struct import *m, struct sl_err *err)
{
    if (!m->in->digest || sl_streq(m->in->digest, m->digest))
        return 0;
    return sl_fail_at(err, SL_INVALID, "digest", "digest: the image is %.19s..., not %.19s...",
                      m->digest, m->in->digest);
}

static int64_t folder_bytes(int dir)
{
    struct stat st;
    int64_t sum = 0;
    int fd = openat(dir, "blobs/sha256", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *e; d && (e = readdir(d));)
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            sum += st.st_size;
    if (d)
        closedir(d);
    return sum;
}

static int unpack_file(struct import *m, int fd, int64_t size, struct sl_err *err)
{
    char layout_path[PATH_MAX], hex[SHA256_HEX];
    m->total = size;
    if (dir_make(agent_path(layout_path, "%s/layout", m->temp), 0700, err) < 0)
        return -1;
    SL_AUTO_CLOSE int layout = open(layout_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int oci = layout < 0 ? sl_fail_errno(err, errno, "open %s", layout_path)
                         : oci_from_tar(fd, layout, &m->u.limits, err);
    if (oci < 0)
        return -1;
    if (oci)
        return oci_unpack(layout, &m->u, m->digest, err);
    if (lseek(fd, 0, SEEK_SET) < 0)
        return sl_fail_errno(err, errno, "read %s again", m->in->path);
    int rc = unpack_tar(&m->u, fd, false, hex, err);
    snprintf(m->digest, sizeof m->digest, "sha256:%s", hex);
    return *hex && rc < 0 && err->code == SL_INVALID && digest_check(m, err) < 0 ? -1 : rc;
}

static int tell_fetch(void *arg, const struct registry_pull *p)
{
    const struct import *m = arg;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(256);
    struct jw w = {&b};
    if (!m->in->progress)
        return 0;
    jw_object(&w, NULL);
    jw_str(&w, "step", "fetch");
    jw_int(&w, "bytes", p->bytes);
    jw_int(&w, "total", p->total);
    jw_int(&w, "files", 0);
    jw_end(&w);
    return m->in->progress(m->in->progress_arg, sl_buf_str(&b));
}

/* What arrived stays for the next try only when the fault was the network's. */
static int unpack_registry(struct import *m, struct sl_err *err)
{
    char path[PATH_MAX];
    struct registry_ref ref;
    struct registry_pull *p = sl_alloc(sizeof *p);
    *p = (struct registry_pull){.ref = &ref,
                                .username = m->in->username,
                                .password = m->in->password,
                                .bytes_max = m->u.limits.bytes,
                                .progress = tell_fetch,
                                .progress_arg = m};
    agent_path(path, "%s/images/pull-%s", m->a->state_dir, m->in->name);
    int rc = registry_parse(m->in->reference, &ref, err);
    if (rc == 0)
        rc = dir_make(path, 0700, err);
    p->layout = rc < 0 ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (rc == 0 && p->layout < 0)
        rc = sl_fail_errno(err, errno, "open %s", path);
    if (rc == 0)
        rc = registry_fetch(p, err);
    FAILPOINT("agent.image_fetched");
    bool again = rc < 0 && (err->code == SL_UNAVAILABLE || err->code == SL_TIMEOUT);
    if (rc == 0) {
        m->total = p->total;
        rc = oci_unpack(p->layout, &m->u, m->digest, err);
    }
    if (p->layout >= 0)
        close(p->layout);
    if (!again)
        images_remove(m->a, "pull", m->in->name);
    free(p);
    return rc;
}

static int unpack_source(struct import *m, struct sl_err *err)
{
    struct stat st;
    if (m->in->reference)
        return unpack_registry(m, err);
    SL_AUTO_CLOSE int fd = open(m->in->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0)
        return sl_fail_at(err, SL_NOT_FOUND, "path", "path: %.200s cannot be read (%s)",
                          m->in->path, strerror(errno));
    if (S_ISREG(st.st_mode))
        return unpack_file(m, fd, st.st_size, err);
    if (!S_ISDIR(st.st_mode) || !oci_is_layout(fd))
        return sl_fail_at(err, SL_INVALID, "path",
                          "path: %.200s is neither a tar file nor an OCI layout", m->in->path);
    m->total = folder_bytes(fd);
    return oci_unpack(fd, &m->u, m->digest, err);
}

static void facts_write(struct jw *w, const char *name, const char *digest, int64_t size_bytes,
                        int64_t files)
{
    jw_object(w, NULL);
    jw_str(w, "name", name);
    jw_str(w, "digest", digest);
    jw_int(w, "size_bytes", size_bytes);
    jw_int(w, "files", files);
    jw_end(w);
}

int image_publish(const struct agent *a, const char *name, const char *file, const char *digest,
                  int64_t files, struct sl_buf *out, struct sl_err *err)
{
    char final[PATH_MAX], facts[PATH_MAX];
    struct stat st;
    SL_AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) < 0 || fstat(fd, &st) < 0)
        return sl_fail_errno(err, errno, "write %s", file);
    struct jw w = {out};
    facts_write(&w, name, digest, st.st_size, files);
    agent_path(final, "%s/images/%s.erofs", a->state_dir, name);
    agent_path(facts, "%s/images/%s.json", a->state_dir, name);
    FAILPOINT("agent.image_made");
    if (rename(file, final) < 0)
        return sl_fail_errno(err, errno, "rename %s", file);
    FAILPOINT("agent.image_renamed");
    return file_write(facts, out->p, out->n, 0600, err);
}

static int import_run(struct import *m, struct sl_buf *out, struct sl_err *err)
{
    char root[PATH_MAX], file[PATH_MAX];
    temp_remove(m); /* what a killed import left */
    if (dir_make(agent_path(root, "%s/root", m->temp), 0700, err) < 0)
        return -1;
    m->u.root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (m->u.root < 0 || fchmod(m->u.root, 0755) < 0)
        return sl_fail_errno(err, errno, "open %s", root);
    int rc = unpack_source(m, err);
    close(m->u.root);
    if (rc < 0 || digest_check(m, err) < 0)
        return -1;
    FAILPOINT("agent.image_unpacked");
    (void)tell(m, &m->u);
    agent_path(file, "%s/image.erofs", m->temp);
    if (erofs_make(&m->u, root, file, 0, err) < 0)
        return -1;
    return image_publish(m->a, m->in->name, file, m->digest, m->u.files, out, err);
}

int image_facts(const struct agent *a, const char *name, struct sl_buf *b)
{
    char path[PATH_MAX];
    struct sl_err ignored = {0};
    if (access(agent_path(path, "%s/images/%s.erofs", a->state_dir, name), F_OK) < 0)
        return -1;
    return file_read(agent_path(path, "%s/images/%s.json", a->state_dir, name), FACTS_MAX, b,
                     &ignored);
}

/* A digest that the caller names, or the reference. */
static bool already(const struct agent *a, const struct image_import *in, struct sl_buf *out)
{
    const char *at = in->reference ? strchr(in->reference, '@') : NULL;
    const char *digest = in->digest ? in->digest : at ? at + 1 : NULL;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(FACTS_MAX);
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    struct sl_err ignored = {0};
    if (!digest || image_facts(a, in->name, &b) < 0 ||
        jr_open(sl_buf_str(&b), b.n, &doc, &ignored) < 0 ||
        !sl_streq(jr_text(jr_get(jr_root(doc), "digest"), ""), digest))
        return false;
    sl_buf_add(out, b.p, b.n);
    return true;
}

/* The one who holds the lock may be an attempt whose answer nobody waits for: it ends soon. */
int image_busy(struct sl_err *err)
{
    if (err->code == SL_CONFLICT)
        err->code = SL_UNAVAILABLE;
    return -1;
}

int image_import(const struct agent *a, const struct image_import *in, struct sl_buf *out,
                 struct sl_err *err)
{
    struct import m = {.a = a, .in = in, .u = {.limits = UNPACK_LIMITS, .progress = tell}};
    char lock_name[80];
    SL_AUTO_CLOSE int lock = -1;
    m.u.progress_arg = &m;
    if (in->digest && (!sl_starts(in->digest, "sha256:") || strlen(in->digest) != 71 ||
                       strspn(in->digest + 7, "0123456789abcdef") != 64))
        return sl_fail_at(err, SL_INVALID, "digest", "digest must be sha256: and 64 hex digits");
    if (!in->path == !in->reference)
        return sl_fail_at(err, SL_INVALID, "path", "give either path or reference");
    if (in->path && in->path[0] != '/')
        return sl_fail_at(err, SL_INVALID, "path", "path must be absolute: it is read on the node");
    snprintf(lock_name, sizeof lock_name, "import-%s", in->name);
    if (agent_lock(a, lock_name, 1000, &lock, err) < 0)
        return image_busy(err);
    if (already(a, in, out))
        return 0;
    agent_path(m.temp, "%s/images/tmp-%s", a->state_dir, in->name);
    int rc = import_run(&m, out, err);
    temp_remove(&m);
    unpack_free(&m.u);
    return rc;
}

int image_list(const struct agent *a, struct sl_buf *out, struct sl_err *err)
{
    char path[PATH_MAX];
    struct jw w = {out};
    DIR *d = opendir(agent_path(path, "%s/images", a->state_dir));
    jw_object(&w, NULL);
    jw_array(&w, "images");
    for (struct dirent *e; d && (e = readdir(d));) {
        char name[64];
        size_t n = strlen(e->d_name);
        SL_AUTO_BUF struct sl_buf b = SL_BUF(FACTS_MAX);
        if (n < 6 || n > 68 || !sl_streq(e->d_name + n - 5, ".json"))
            continue;
        snprintf(name, sizeof name, "%.*s", (int)n - 5, e->d_name);
        if (image_facts(a, name, &b) == 0)
            jw_raw(&w, NULL, sl_buf_str(&b));
    }
    if (d)
        closedir(d);
    jw_end(&w);
    jw_end(&w);
    return 0;
}

int image_remove(const struct agent *a, const char *name, struct sl_err *err)
{
    char file[PATH_MAX], facts[PATH_MAX], lock_name[80];
    SL_AUTO_CLOSE int lock = -1;
    snprintf(lock_name, sizeof lock_name, "image-%s", name);
    agent_path(file, "%s/images/%s.erofs", a->state_dir, name);
    agent_path(facts, "%s/images/%s.json", a->state_dir, name);
    if (agent_lock(a, lock_name, 30000, &lock, err) < 0)
        return -1;
    images_remove(a, "pull", name);
    if (loop_in_use(file))
        return sl_fail_at(err, SL_CONFLICT, "name", "image %s is in use by a lease", name);
    if ((unlink(facts) < 0 && errno != ENOENT) || (unlink(file) < 0 && errno != ENOENT))
        return sl_fail_errno(err, errno, "remove image %s", name);
    return 0;
}
