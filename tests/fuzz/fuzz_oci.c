/* SPDX-License-Identifier: Apache-2.0
 *
 * What a registry or an OCI layout says. The first byte chooses: m(anifest or index), r(eference),
 * c(hallenge), u (redirect), l(ayout: index.json, with the same bytes as its only blob). Whatever
 * is accepted keeps the promises of registry_text.h.
 */
#include "agent/image.h"
#include "agent/registry_text.h"
#include "base/core/mem.h"
#include "base/io/crypto.h"
#include <fcntl.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define BYTES_MAX (1LL << 40)

static void document(const char *text, size_t n)
{
    struct sl_err err = {0};
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    if (jr_open(text, n, &doc, &err) < 0)
        return;
    enum document kind = document_kind(jr_root(doc));
    if (kind == DOC_INDEX) {
        struct blob b;
        if (index_choose(jr_root(doc), &b, &kind, &err) == 0)
            SL_ASSERT(digest_ok(b.digest) && b.size >= 0 && kind != DOC_NONE);
    } else if (kind == DOC_MANIFEST) {
        struct blob *all;
        int count;
        int64_t sum = 0;
        if (manifest_blobs(jr_root(doc), BYTES_MAX, &all, &count, &err) < 0) {
            SL_ASSERT(!all && *err.msg);
            return;
        }
        SL_ASSERT(count >= 1 && count <= LAYERS_MAX + 1);
        for (int i = 0; i < count; i++) {
            SL_ASSERT(digest_ok(all[i].digest) && all[i].size >= 0);
            sum += all[i].size;
        }
        SL_ASSERT(sum <= BYTES_MAX + MANIFEST_MAX);
        free(all);
    }
}

static void reference(const char *text)
{
    struct registry_ref r;
    struct sl_err err = {0};
    if (registry_parse(text, &r, &err) < 0) {
        SL_ASSERT(err.code == SL_INVALID && *err.msg);
        return;
    }
    SL_ASSERT(*r.host && !strpbrk(r.host, "/@?#% \r\n") && *r.repo && !strstr(r.repo, ".."));
    SL_ASSERT(!strpbrk(r.repo, ":@?#% \r\n") && (*r.tag || *r.digest));
    SL_ASSERT(!*r.digest || digest_ok(r.digest));
}

static void challenge(const char *text)
{
    struct challenge *c = sl_alloc(sizeof *c);
    challenge_read(text, c);
    SL_ASSERT(!(c->bearer && c->basic) && strlen(c->realm) < sizeof c->realm);
    free(c);
}

static void redirect(const char *text)
{
    static const char *const bases[] = {"https://registry.example/v2/x",
                                        "http://127.0.0.1:5000/v2/x"};
    char *out = sl_alloc(URL_MAX);
    for (int i = 0; i < 2; i++) {
        bool same = false;
        struct sl_err err = {0};
        struct url u;
        if (url_redirect(bases[i], text, out, &same, &err) < 0)
            continue;
        SL_ASSERT(url_read(out, &u) && !strpbrk(out, " \r\n"));
        SL_ASSERT(u.tls || (i == 1 && u.loopback));
        SL_ASSERT(i == 1 || !u.loopback);
        SL_ASSERT(!same || sl_starts(bases[i], u.tls ? "https" : "http"));
    }
    free(out);
}

static void put(int dir, const char *name, const char *text, size_t n)
{
    SL_AUTO_CLOSE int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    SL_ASSERT(fd >= 0 && write_all(fd, text, n) == 0);
}

static void layout(const char *text, size_t n)
{
    char dir[] = "/tmp/starlease-fuzz-oci-XXXXXX", hex[SHA256_HEX], name[128], digest[80];
    struct sl_err err = {0};
    SL_ASSERT(mkdtemp(dir) != NULL);
    SL_AUTO_CLOSE int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    SL_ASSERT(mkdirat(at, "root", 0755) == 0 && mkdirat(at, "blobs", 0755) == 0 &&
              mkdirat(at, "blobs/sha256", 0755) == 0);
    snprintf(name, sizeof name, "blobs/sha256/%s", sha256_hex(text, n, hex));
    put(at, "oci-layout", "{}", 2);
    put(at, "index.json", text, n);
    put(at, name, text, n);
    struct unpack u = {.root = openat(at, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                       .limits = {1 << 20, 100, 16, 100, 1 << 16}};
    if (oci_unpack(at, &u, digest, &err) < 0)
        SL_ASSERT(*err.msg);
    close(u.root);
    unpack_free(&u);
    SL_AUTO_CLOSE int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    SL_ASSERT(tree_remove(tmp, dir + 5) == 0);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    if (size == 0)
        return 0;
    SL_AUTO_FREE char *text = sl_strndup((const char *)data + 1, size - 1);
    switch (data[0]) {
    case 'm':
        document((const char *)data + 1, size - 1);
        break;
    case 'r':
        reference(text);
        break;
    case 'c':
        challenge(text);
        break;
    case 'u':
        redirect(text);
        break;
    case 'l':
        layout((const char *)data + 1, size - 1);
        break;
    default:
        break;
    }
    return 0;
}
