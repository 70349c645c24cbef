/* SPDX-License-Identifier: Apache-2.0
 *
 * The tenant wrote the disk, so its tree is a stranger's: it is read through the same overlay that
 * the instance had, by the kernel, and what is no file, folder or link is taken out first.
 */
#include "agent/image.h"
#include "agent/mount.h"
#include "agent/volume.h"
#include "base/core/failpoint.h"
#include "base/core/mem.h"
#include "base/io/json.h"
#include "base/io/proc.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 256, LOCK_MS = 1000 };

struct save {
    const struct agent *a;
    const struct image_save *in;
    char temp[PATH_MAX]; /* STATE/images/tmp-NAME */
    char file[PATH_MAX];
    struct unpack u; /* counts, limits, holey files */
    int64_t *files;  /* shared with the parent */
};

static int tell(struct save *v, const char *step)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(256);
    struct jw w = {&b};
    if (!v->in->progress)
        return 0;
    jw_object(&w, NULL);
    jw_str(&w, "step", step);
    jw_int(&w, "bytes", v->u.bytes);
    jw_int(&w, "total", v->u.bytes);
    jw_int(&w, "files", v->u.files);
    jw_end(&w);
    return v->in->progress(v->in->progress_arg, sl_buf_str(&b));
}

/* ---- the tree ---- */
static int walk(struct save *v, int dir, char *path, size_t n, int depth, struct sl_err *err);

static int too_much(const char *what, long long max, struct sl_err *err)
{
    return sl_fail_at(err, SL_INVALID, "volume", "the disk has over %lld %s; remove some", max,
                      what);
}

static int entry(struct save *v, int dir, const char *name, char *path, size_t n, int depth,
                 struct sl_err *err)
{
    struct stat st;
    struct unpack *u = &v->u;
    size_t k = strlen(name);
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return sl_fail_errno(err, errno, "look at a file of the disk");
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode))
        return unlinkat(dir, name, 0) < 0 ? sl_fail_errno(err, errno, "leave out a special file")
                                          : 0;
    if (k > IMAGE_NAME_BYTES)
        return sl_fail_at(err, SL_INVALID, "volume",
                          "a file on the disk has a name of over %d bytes; shorten it",
                          IMAGE_NAME_BYTES);
    if (n + k + 2 > PATH_MAX - 512 || depth > DEPTH_MAX)
        return sl_fail_at(err, SL_INVALID, "volume",
                          "a folder of the disk lies over %d deep; move or remove it", DEPTH_MAX);
    if (++u->files > u->limits.files)
        return too_much("files", (long long)u->limits.files, err);
    if (n)
        path[n++] = '/';
    memcpy(path + n, name, k + 1);
    if (S_ISREG(st.st_mode)) {
        u->bytes += st.st_size;
        if (st.st_size > u->limits.bytes || u->bytes > u->limits.bytes)
            return too_much("bytes", (long long)u->limits.bytes, err);
        if (st.st_size - st.st_blocks * 512 >= UNPACK_HOLEY && u->holey_n < UNPACK_HOLEY_MAX)
            u->holey[u->holey_n++] = sl_strdup(path);
    }
    if (!S_ISDIR(st.st_mode))
        return 0;
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return sl_fail_errno(err, errno, "open a folder of the disk");
    return walk(v, fd, path, n + k, depth + 1, err);
}

/* Takes `dir` over. */
static int walk(struct save *v, int dir, char *path, size_t n, int depth, struct sl_err *err)
{
    DIR *d = fdopendir(dir);
    int rc = d ? 0 : sl_fail_errno(err, errno, "read a folder of the disk");
    for (struct dirent *e; rc == 0 && (e = readdir(d));)
        if (!sl_streq(e->d_name, ".") && !sl_streq(e->d_name, ".."))
            rc = entry(v, dirfd(d), e->d_name, path, n, depth, err);
    if (d)
        closedir(d);
    else
        close(dir);
    return rc;
}

/* ---- the mounts, in a namespace of their own ---- */
static int mount_base(struct save *v, const char *target, struct sl_err *err)
{
    char file[PATH_MAX], device[LOOP_TEXT], lock_name[80];
    SL_AUTO_CLOSE int lock = -1, loop = -1;
    snprintf(lock_name, sizeof lock_name, "image-%.63s", v->in->image);
    agent_path(file, "%s/images/%s.erofs", v->a->state_dir, v->in->image);
    if (access(file, F_OK) < 0)
        return sl_fail_at(err, SL_NOT_FOUND, "image", "image %.63s is not on this node; import it",
                          v->in->image);
    if (agent_lock(v->a, lock_name, 30000, &lock, err) < 0 ||
        loop_attach(file, true, true, &loop, device, err) < 0)
        return -1;
    return mount_device(device, "erofs", target, true, err);
}

/* Attached for writing, because a power cut may have left a journal to replay. */
static int mount_disk(struct save *v, const char *target, struct sl_err *err)
{
    char file[PATH_MAX], device[LOOP_TEXT];
    SL_AUTO_CLOSE int loop = -1;
    volume_file(v->a, v->in->volume, file);
    if (access(file, F_OK) < 0)
        return sl_fail_at(err, SL_NOT_FOUND, "volume", "disk %.63s is not on this node",
                          v->in->volume);
    if (loop_attach(file, false, false, &loop, device, err) < 0)
        return -1;
    return mount_device(device, "ext4", target, true, err);
}

static int make_all(void *arg, struct sl_err *err)
{
    static const char *const subs[] = {"disk", "base", "merged", "scratch"};
    struct save *v = arg;
    char at[4][PATH_MAX], upper[PATH_MAX], work[PATH_MAX], path[PATH_MAX];
    for (int i = 0; i < 4; i++)
        if (dir_make(agent_path(at[i], "%s/%s", v->temp, subs[i]), 0700, err) < 0)
            return -1;
    if (mount_disk(v, at[0], err) < 0 || mount_base(v, at[1], err) < 0)
        return -1;
    agent_path(path, "%s/u", at[0]);
    if (access(path, F_OK) < 0)
        return sl_fail_at(err, SL_INVALID, "volume",
                          "the instance never ran; there is nothing to save");
    agent_path(upper, "%s/u", at[3]);
    agent_path(work, "%s/w", at[3]);
    if (mount("starlease", at[3], "tmpfs", MS_NODEV | MS_NOSUID, "size=256m,nr_inodes=65536") < 0 ||
        mkdir(upper, 0755) < 0 || mkdir(work, 0755) < 0)
        return sl_fail_errno(err, errno, "mount a tmpfs on %s", at[3]);
    SL_AUTO_FREE char *options =
        sl_asprintf("lowerdir=%s:%s,upperdir=%s,workdir=%s", path, at[1], upper, work);
    if (mount("overlay", at[2], "overlay", MS_NODEV, options) < 0)
        return sl_fail_errno(err, errno, "mount the overlay of the disk");
    FAILPOINT("agent.save_mounted");
    int dir = open(at[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return sl_fail_errno(err, errno, "open %s", at[2]);
    path[0] = 0;
    if (walk(v, dir, path, 0, 0, err) < 0)
        return -1;
    *v->files = v->u.files;
    if (tell(v, "pack"))
        return sl_fail(err, SL_UNAVAILABLE, "the one who asked for the image is gone");
    return erofs_make(&v->u, at[2], v->file, v->in->max_bytes, err);
}

static int file_digest(const char *file, char ret[80], struct sl_err *err)
{
    SL_AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);
    SL_AUTO_FREE char *chunk = sl_alloc(1 << 20);
    struct sha256_state sum;
    uint8_t bytes[SHA256_BYTES];
    char hex[SHA256_HEX];
    ssize_t n = -1;
    sha256_start(&sum);
    while (fd >= 0 && (n = read(fd, chunk, 1 << 20)) > 0)
        sha256_add(&sum, chunk, (size_t)n);
    if (n < 0)
        return sl_fail_errno(err, errno, "read %s", file);
    sha256_end(&sum, bytes);
    hex_encode(bytes, sizeof bytes, hex);
    snprintf(ret, 80, "sha256:%s", hex);
    return 0;
}

static int run(struct save *v, struct sl_buf *out, struct sl_err *err)
{
    char digest[80];
    struct stat st;
    if (dir_make(v->temp, 0700, err) < 0 || mounts_apart(make_all, v, err) < 0 ||
        file_digest(v->file, digest, err) < 0)
        return -1;
    if (stat(v->file, &st) < 0 || st.st_size > v->in->max_bytes)
        return sl_fail_at(err, SL_QUOTA, "name",
                          "the image is larger than the %lld MB that are left to the account",
                          (long long)v->in->max_bytes / 1000000);
    FAILPOINT("agent.save_made");
    return image_publish(v->a, v->in->name, v->file, digest, *v->files, out, err);
}

int image_save(const struct agent *a, const struct image_save *in, struct sl_buf *out,
               struct sl_err *err)
{
    struct save v = {.a = a, .in = in, .u = {.limits = UNPACK_LIMITS}};
    char lock_name[80];
    SL_AUTO_CLOSE int lock = -1, disk_lock = -1;
    snprintf(lock_name, sizeof lock_name, "import-%.63s", in->name);
    if (agent_lock(a, lock_name, LOCK_MS, &lock, err) < 0)
        return image_busy(err);
    if (image_facts(a, in->name, out) == 0) /* done by an attempt whose answer was lost */
        return 0;
    snprintf(lock_name, sizeof lock_name, "volume-%.63s", in->volume);
    if (agent_lock(a, lock_name, LOCK_MS, &disk_lock, err) < 0)
        return image_busy(err);
    v.files =
        mmap(NULL, sizeof *v.files, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (v.files == MAP_FAILED)
        return sl_fail_errno(err, errno, "map a page");
    agent_path(v.temp, "%s/images/tmp-%s", a->state_dir, in->name);
    agent_path(v.file, "%s/image.erofs", v.temp);
    images_remove(a, "tmp", in->name); /* what a killed attempt left */
    int rc = run(&v, out, err);
    images_remove(a, "tmp", in->name);
    munmap(v.files, sizeof *v.files);
    return rc;
}
