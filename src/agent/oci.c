/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/image.h"
#include "base/core/mem.h"
#include "base/io/json.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { JSON_MAX = 4 << 20, LAYERS_MAX = 512 };

static int open_plain(int layout, const char *rel)
{
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    int fd = (int)syscall(SYS_openat2, layout, rel, &how, sizeof how);
    struct stat st;
    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

bool oci_is_layout(int layout)
{
    SL_AUTO_CLOSE int fd = open_plain(layout, "oci-layout");
    return fd >= 0;
}

static bool hex64(const char *s)
{
    return strlen(s) == 64 && strspn(s, "0123456789abcdef") == 64;
}

static int blob_open(int layout, const char *digest, struct sl_err *err)
{
    char rel[96];
    if (!sl_starts(digest, "sha256:") || !hex64(digest + 7))
        return sl_fail_at(err, SL_INVALID, "digest", "digest: \"%.90s\" is not sha256:HEX", digest);
    snprintf(rel, sizeof rel, "blobs/sha256/%s", digest + 7);
    int fd = open_plain(layout, rel);
    if (fd < 0)
        return sl_fail_at(err, SL_INVALID, "path", "image: blob %.20s... is missing", digest);
    return fd;
}

static int read_whole(int fd, struct sl_buf *b, struct sl_err *err)
{
    char chunk[65536];
    for (ssize_t n; (n = read(fd, chunk, sizeof chunk)) != 0;) {
        if (n < 0 && errno != EINTR)
            return sl_fail_errno(err, errno, "read the image");
        if (n > 0)
            sl_buf_add(b, chunk, (size_t)n);
        if (b->over)
            return sl_fail_at(err, SL_INVALID, "path", "image: a JSON file is over %d bytes",
                              JSON_MAX);
    }
    return 0;
}

static int digest_differs(const char *what, const char *wanted, const char *hex, struct sl_err *err)
{
    return sl_fail_at(err, SL_INVALID, "digest", "digest: %s is sha256:%.12s..., not %.19s...",
                      what, hex, wanted);
}

/* A JSON blob whose bytes have the digest that names it. */
static int blob_json(int layout, const char *digest, struct jr_doc **ret, struct sl_err *err)
{
    SL_AUTO_CLOSE int fd = blob_open(layout, digest, err);
    SL_AUTO_BUF struct sl_buf b = SL_BUF(JSON_MAX);
    char hex[SHA256_HEX];
    if (fd < 0 || read_whole(fd, &b, err) < 0)
        return -1;
    if (!sl_streq(sha256_hex(sl_buf_str(&b), b.n, hex), digest + 7))
        return digest_differs("a manifest", digest, hex, err);
    return jr_open(sl_buf_str(&b), b.n, ret, err);
}

static bool media_is(const struct jr_val *v, const char *const *kinds)
{
    const char *type = jr_text(jr_get(v, "mediaType"), "");
    for (; *kinds; kinds++)
        if (sl_streq(type, *kinds))
            return true;
    return false;
}

static bool platform_ok(const struct jr_val *v)
{
    const struct jr_val *p = jr_get(v, "platform");
    return !p || (sl_streq(jr_text(jr_get(p, "os"), ""), "linux") &&
                  sl_streq(jr_text(jr_get(p, "architecture"), ""), "amd64"));
}

static const char *const manifest_kinds[] = {"application/vnd.oci.image.manifest.v1+json",
                                             "application/vnd.docker.distribution.manifest.v2+json",
                                             NULL};
static const char *const index_kinds[] = {
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json", NULL};

/* The digest of the first linux/amd64 manifest of an index; indexes may nest once. */
static int choose(int layout, const struct jr_val *index, int depth, char ret[80],
                  struct sl_err *err)
{
    const struct jr_val *list = jr_get(index, "manifests");
    for (size_t i = 0; i < jr_len(list); i++) {
        const struct jr_val *m = jr_at(list, i);
        const char *digest = jr_text(jr_get(m, "digest"), "");
        if (!platform_ok(m))
            continue;
        if (media_is(m, manifest_kinds)) {
            snprintf(ret, 80, "%.79s", digest);
            return 0;
        }
        if (media_is(m, index_kinds) && depth > 0) {
            JR_AUTO_DOC struct jr_doc *doc = NULL;
            if (blob_json(layout, digest, &doc, err) < 0)
                return -1;
            return choose(layout, jr_root(doc), depth - 1, ret, err);
        }
    }
    return sl_fail_at(err, SL_INVALID, "path", "image: no linux/amd64 manifest in the layout");
}

static int layer(int layout, const struct jr_val *v, struct unpack *u, struct sl_err *err)
{
    const char *digest = jr_text(jr_get(v, "digest"), "");
    const char *type = jr_text(jr_get(v, "mediaType"), "");
    char hex[SHA256_HEX];
    struct stat st;
    if (!strstr(type, ".tar"))
        return sl_fail_at(err, SL_INVALID, "path", "image: layer type \"%.80s\" is not a tar",
                          type);
    SL_AUTO_CLOSE int fd = blob_open(layout, digest, err);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0 || st.st_size != jr_i64(jr_get(v, "size"), -1))
        return sl_fail_at(err, SL_INVALID, "path", "image: layer %.20s... has another size",
                          digest);
    int rc = unpack_tar(u, fd, true, hex, err);
    if (!*hex || sl_streq(hex, digest + 7) || (rc < 0 && err->code != SL_INVALID))
        return rc;
    return digest_differs("a layer", digest, hex, err);
}

int oci_unpack(int layout, struct unpack *u, char ret_digest[80], struct sl_err *err)
{
    SL_AUTO_CLOSE int fd = open_plain(layout, "index.json");
    SL_AUTO_BUF struct sl_buf b = SL_BUF(JSON_MAX);
    JR_AUTO_DOC struct jr_doc *index = NULL, *manifest = NULL;
    if (fd < 0)
        return sl_fail_at(err, SL_INVALID, "path", "image: the layout has no index.json");
    if (read_whole(fd, &b, err) < 0 || jr_open(sl_buf_str(&b), b.n, &index, err) < 0 ||
        choose(layout, jr_root(index), 1, ret_digest, err) < 0 ||
        blob_json(layout, ret_digest, &manifest, err) < 0)
        return -1;
    const struct jr_val *layers = jr_get(jr_root(manifest), "layers");
    if (jr_len(layers) == 0 || jr_len(layers) > LAYERS_MAX)
        return sl_fail_at(err, SL_INVALID, "path", "image: has %zu layers; 1 to %d are allowed",
                          jr_len(layers), LAYERS_MAX);
    for (size_t i = 0; i < jr_len(layers); i++)
        if (layer(layout, jr_at(layers, i), u, err) < 0)
            return -1;
    return 0;
}
