/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/registry.h"
#include "agent/agent.h"
#include "base/core/buf.h"
#include "base/core/mem.h"
#include "base/io/crypto.h"
#include "base/io/http_client.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { TELL_BYTES = 8 << 20, TOKEN_ANSWER_MAX = 64 << 10, SLOWEST_BYTES_S = 1024, ASK_MS = 60000 };

static const char agent_name_header[] = "User-Agent: starlease-agentd";
static const char accepts[] =
    "Accept: application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.docker.distribution.manifest.v2+json";

/* ---- who we are ---- */
static bool has_user(const struct registry_pull *p)
{
    return p->username && *p->username;
}

static int make_basic(struct registry_pull *p, struct sl_err *err)
{
    SL_AUTO_FREE char *pair = sl_asprintf("%s:%s", p->username, p->password ? p->password : "");
    size_t n = strlen(pair);
    if (strchr(p->username, ':') || base64_size(n) + 32 > sizeof p->basic)
        return sl_fail_at(err, SL_INVALID, "username",
                          "username: with a colon, or together with the password over 700 bytes");
    int at = snprintf(p->basic, sizeof p->basic, "Authorization: Basic ");
    base64_encode(pair, n, p->basic + at);
    explicit_bzero(pair, n);
    return 0;
}

static void query(struct sl_buf *b, const char *name, const char *value)
{
    sl_buf_printf(b, "%s=", name);
    for (const unsigned char *c = (const unsigned char *)value; *c; c++)
        if ((*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
            strchr("-._~/", *c))
            sl_buf_addc(b, (char)*c);
        else
            sl_buf_printf(b, "%%%02X", *c);
}

static int token_take(struct registry_pull *p, const struct sl_buf *answer, struct sl_err *err)
{
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    if (jr_open(sl_buf_str(answer), answer->n, &doc, err) < 0)
        return sl_fail(err, SL_INVALID, "the token service of %.120s answers with no JSON",
                       p->ref->host);
    const char *token = jr_text(jr_get(jr_root(doc), "token"), "");
    if (!*token)
        token = jr_text(jr_get(jr_root(doc), "access_token"), "");
    size_t n = strlen(token);
    for (size_t i = 0; i < n; i++)
        if (token[i] <= ' ' || token[i] == 127)
            n = 0;
    if (n == 0 || n + 32 > sizeof p->bearer)
        return sl_fail(err, SL_INVALID, "the token service of %.120s gives no usable token",
                       p->ref->host);
    snprintf(p->bearer, sizeof p->bearer, "Authorization: Bearer %s", token);
    return 0;
}

static int refused(const struct registry_pull *p, struct sl_err *err)
{
    return sl_fail_at(err, SL_FORBIDDEN, "username",
                      has_user(p)
                          ? "the registry %.120s does not accept this user name and password "
                            "for %.120s"
                          : "the registry %.120s wants a user name and password for %.120s",
                      p->ref->host, p->ref->repo);
}

static int token_fetch(struct registry_pull *p, const struct challenge *c, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf url = SL_BUF(URL_MAX), scope = SL_BUF(512),
                              out = SL_BUF(TOKEN_ANSWER_MAX);
    struct url realm;
    if (!url_read(c->realm, &realm) || (!realm.tls && !(realm.loopback && p->ref->loopback)) ||
        (realm.loopback && !p->ref->loopback))
        return sl_fail(err, SL_FORBIDDEN,
                       "the registry %.120s names a token service that is not https", p->ref->host);
    sl_buf_adds(&url, c->realm);
    sl_buf_addc(&url, strchr(c->realm, '?') ? '&' : '?');
    query(&url, "service", c->service);
    sl_buf_addc(&url, '&');
    sl_buf_printf(&scope, "repository:%s:pull", p->ref->repo);
    query(&url, "scope", sl_buf_str(&scope));
    if (url.over)
        return sl_fail(err, SL_INVALID, "the token service of %.120s has too long a URL",
                       p->ref->host);
    const char *headers[] = {agent_name_header, has_user(p) ? p->basic : NULL, NULL};
    struct http_req r = {
        .method = "GET", .url = url.p, .headers = headers, .out = &out, .timeout_ms = ASK_MS};
    if (http_do(&r, err) < 0)
        return -1;
    if (r.status == 401 || r.status == 403)
        return refused(p, err);
    if (r.status != 200)
        return sl_fail(err, r.status >= 500 || r.status == 429 ? SL_UNAVAILABLE : SL_INVALID,
                       "the token service of %.120s answers with status %d", p->ref->host,
                       r.status);
    return token_take(p, &out, err);
}

/* ---- one request, with authorization and redirects ---- */
struct get {
    struct registry_pull *p;
    const char *accept; /* header or NULL */
    char range[64];     /* header or "" */
    struct sl_buf *out; /* or: */
    int (*chunk)(void *arg, const char *p, size_t n);
    void *chunk_arg;
    struct http_req r;
    char challenge[URL_MAX], location[URL_MAX];
};

static int get_once(struct get *g, const char *url, bool with_auth, struct sl_err *err)
{
    const struct registry_pull *p = g->p;
    const char *headers[5] = {agent_name_header};
    int n = 1;
    const struct http_want wants[] = {{"www-authenticate", g->challenge, sizeof g->challenge},
                                      {"location", g->location, sizeof g->location},
                                      {NULL}};
    if (g->accept)
        headers[n++] = g->accept;
    if (*g->range)
        headers[n++] = g->range;
    if (with_auth && *p->bearer)
        headers[n++] = p->bearer;
    g->r = (struct http_req){.method = "GET",
                             .url = url,
                             .headers = headers,
                             .out = g->out,
                             .timeout_ms = ASK_MS,
                             .chunk = g->chunk,
                             .chunk_arg = g->chunk_arg,
                             .chunk_bytes_s = SLOWEST_BYTES_S,
                             .wants = wants};
    if (g->out)
        sl_buf_clear(g->out);
    return http_do(&g->r, err);
}

static int authorize(struct get *g, struct sl_err *err)
{
    struct registry_pull *p = g->p;
    struct challenge *c = sl_alloc(sizeof *c);
    challenge_read(g->challenge, c);
    int rc;
    if (c->bearer)
        rc = token_fetch(p, c, err);
    else if (c->basic && has_user(p)) {
        snprintf(p->bearer, sizeof p->bearer, "%s", p->basic);
        rc = 0;
    } else
        rc = refused(p, err);
    free(c);
    return rc;
}

/* `what` names the thing in messages. 0: status 200 or 206. */
static int get(struct get *g, const char *what, const char *kind, const char *name,
               struct sl_err *err)
{
    const struct registry_ref *ref = g->p->ref;
    char url[URL_MAX], next[URL_MAX];
    bool with_auth = true, asked = false;
    snprintf(url, sizeof url, "%s://%s/v2/%s/%s/%s", ref->loopback ? "http" : "https", ref->host,
             ref->repo, kind, name);
    for (int hops = 0;;) {
        if (get_once(g, url, with_auth, err) < 0)
            return -1;
        int status = g->r.status;
        if (status == 200 || status == 206)
            return 0;
        if (status == 401 && with_auth && !asked) {
            asked = true;
            if (authorize(g, err) < 0)
                return -1;
            continue;
        }
        if (status == 301 || status == 302 || status == 303 || status == 307 || status == 308) {
            bool same = false;
            if (++hops > REDIRECTS_MAX)
                return sl_fail(err, SL_INVALID, "the registry %.120s redirects in circles",
                               ref->host);
            if (url_redirect(url, g->location, next, &same, err) < 0)
                return -1;
            with_auth = with_auth && same; /* once away, never again */
            memcpy(url, next, sizeof url);
            continue;
        }
        if (status == 401 || status == 403)
            return refused(g->p, err);
        if (status == 404)
            return sl_fail_at(err, SL_NOT_FOUND, "reference",
                              "the registry %.120s has no %s %.80s of %.120s", ref->host, what,
                              name, ref->repo);
        return sl_fail(err, status >= 500 || status == 429 ? SL_UNAVAILABLE : SL_INVALID,
                       "the registry %.120s answers with status %d to the question for %s",
                       ref->host, status, what);
    }
}

/* ---- manifests ---- */
static int put_file(int layout, const char *name, const void *data, size_t n, struct sl_err *err)
{
    SL_AUTO_CLOSE int fd =
        openat(layout, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd < 0 || write_all(fd, data, n) < 0 ? sl_fail_errno(err, errno, "write %s", name) : 0;
}

/* Fetches by digest, or by tag when `digest` is ""; then it is filled. The bytes become a blob. */
static int fetch_document(struct registry_pull *p, const char *name, char digest[DIGEST_MAX],
                          struct jr_doc **ret, struct sl_err *err)
{
    char hex[SHA256_HEX], path[128];
    SL_AUTO_BUF struct sl_buf b = SL_BUF(MANIFEST_MAX);
    SL_AUTO_FREE struct get *g = sl_alloc(sizeof *g);
    g->p = p;
    g->accept = accepts;
    g->out = &b;
    if (get(g, "manifest", "manifests", name, err) < 0)
        return -1;
    sha256_hex(sl_buf_str(&b), b.n, hex);
    if (*digest && !sl_streq(digest + 7, hex))
        return sl_fail_at(
            err, SL_INVALID, "digest",
            "digest: the registry sends a manifest that is sha256:%.12s..., not %.19s...", hex,
            digest);
    snprintf(digest, DIGEST_MAX, "sha256:%s", hex);
    snprintf(path, sizeof path, "blobs/sha256/%s", hex);
    if (jr_open(sl_buf_str(&b), b.n, ret, err) < 0)
        return -1;
    return put_file(p->layout, path, b.p, b.n, err);
}

/* The manifest for this kind of machine; indexes may nest once. */
static int fetch_manifest(struct registry_pull *p, char digest[DIGEST_MAX], int64_t *ret_size,
                          struct jr_doc **ret, struct sl_err *err)
{
    const struct registry_ref *ref = p->ref;
    const char *name = *ref->digest ? ref->digest : ref->tag;
    memcpy(digest, ref->digest, DIGEST_MAX);
    for (int depth = 0; depth < 3; depth++) {
        JR_AUTO_DOC struct jr_doc *doc = NULL;
        if (fetch_document(p, name, digest, &doc, err) < 0)
            return -1;
        enum document kind = document_kind(jr_root(doc));
        if (kind == DOC_MANIFEST) {
            char path[128];
            struct stat st;
            snprintf(path, sizeof path, "blobs/sha256/%s", digest + 7);
            if (fstatat(p->layout, path, &st, 0) < 0)
                return sl_fail_errno(err, errno, "look at %s", path);
            *ret_size = st.st_size;
            *ret = doc;
            doc = NULL;
            return 0;
        }
        struct blob b;
        if (kind == DOC_NONE)
            return sl_fail_at(err, SL_INVALID, "reference",
                              "image: what the registry has under %.80s is no image manifest",
                              name);
        if (index_choose(jr_root(doc), &b, &kind, err) < 0)
            return -1;
        memcpy(digest, b.digest, DIGEST_MAX);
        name = digest;
    }
    return sl_fail_at(err, SL_INVALID, "reference", "image: indexes are nested too deep");
}

/* ---- blobs ---- */
struct download {
    struct get g;
    struct registry_pull *p;
    const struct blob *blob;
    int fd;
    int64_t have; /* bytes in the file, all in `sum` */
    struct sha256_state sum;
    bool begun, too_long, gone, disk_full;
};

static int on_chunk(void *arg, const char *data, size_t n)
{
    struct download *d = arg;
    if (d->g.r.status != 200 && d->g.r.status != 206)
        return 0; /* the body of a refusal */
    if (!d->begun && d->g.r.status == 200 &&
        d->have) { /* it does not know ranges: from the start */
        if (ftruncate(d->fd, 0) < 0 || lseek(d->fd, 0, SEEK_SET) < 0)
            return 1;
        d->p->bytes -= d->have;
        d->have = 0;
        sha256_start(&d->sum);
    }
    d->begun = true;
    if ((int64_t)n > d->blob->size - d->have) {
        d->too_long = true;
        return 1;
    }
    if (write_all(d->fd, data, n) < 0) {
        d->disk_full = true;
        return 1;
    }
    sha256_add(&d->sum, data, n);
    d->have += (int64_t)n;
    d->p->bytes += (int64_t)n;
    if (d->p->progress && d->p->bytes - d->p->told >= TELL_BYTES) {
        d->p->told = d->p->bytes;
        d->gone = d->p->progress(d->p->progress_arg, d->p);
    }
    return d->gone;
}

/* What an earlier try left. */
static int resume(struct download *d, const char *part, struct sl_err *err)
{
    char *chunk = sl_alloc(1 << 20);
    d->fd = openat(d->p->layout, part, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    sha256_start(&d->sum);
    for (ssize_t n; d->fd >= 0 && (n = read(d->fd, chunk, 1 << 20)) > 0;) {
        sha256_add(&d->sum, chunk, (size_t)n);
        d->have += n;
    }
    free(chunk);
    if (d->fd < 0)
        return sl_fail_errno(err, errno, "write a blob");
    if (d->have >= d->blob->size) { /* it would have been renamed: start again */
        if (ftruncate(d->fd, 0) < 0 || lseek(d->fd, 0, SEEK_SET) < 0)
            return sl_fail_errno(err, errno, "write a blob");
        d->have = 0;
        sha256_start(&d->sum);
    }
    if (d->have)
        snprintf(d->g.range, sizeof d->g.range, "Range: bytes=%lld-", (long long)d->have);
    d->p->bytes += d->have;
    return 0;
}

static int download_checked(struct download *d, struct sl_err *err)
{
    uint8_t sum[SHA256_BYTES];
    char hex[SHA256_HEX];
    const struct blob *b = d->blob;
    if (get(&d->g, "blob", "blobs", b->digest, err) < 0)
        return -1;
    if (d->gone)
        return sl_fail(err, SL_UNAVAILABLE, "the one who asked for the import is gone");
    if (d->disk_full)
        return sl_fail(err, SL_STORAGE_FULL, "the node's disk is full; free some room");
    if (d->too_long)
        return sl_fail_at(err, SL_INVALID, "digest",
                          "image: the registry sends more than the %lld bytes of blob %.19s...",
                          (long long)b->size, b->digest);
    if (d->have < b->size)
        return sl_fail(err, SL_UNAVAILABLE, "the registry %.120s breaks off blob %.19s...",
                       d->p->ref->host, b->digest);
    sha256_end(&d->sum, sum);
    hex_encode(sum, sizeof sum, hex);
    if (sl_streq(hex, b->digest + 7))
        return 0;
    return sl_fail_at(err, SL_INVALID, "digest",
                      "digest: the registry sends sha256:%.12s... in place of blob %.19s...", hex,
                      b->digest);
}

static int fetch_blob(struct registry_pull *p, const struct blob *b, struct sl_err *err)
{
    char name[128], part[128];
    struct stat st;
    snprintf(name, sizeof name, "blobs/sha256/%s", b->digest + 7);
    snprintf(part, sizeof part, "blobs/%s.part", b->digest + 7);
    if (fstatat(p->layout, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
        st.st_size == b->size) { /* checked again when it is unpacked */
        p->bytes += b->size;
        return 0;
    }
    struct download *d = sl_alloc(sizeof *d);
    *d = (struct download){.p = p, .blob = b, .fd = -1};
    d->g.p = p;
    d->g.chunk = on_chunk;
    d->g.chunk_arg = d;
    int rc = resume(d, part, err);
    if (rc == 0 && b->size > 0)
        rc = download_checked(d, err);
    if (rc < 0 && err->code != SL_UNAVAILABLE && err->code != SL_TIMEOUT)
        (void)unlinkat(p->layout, part, 0);
    if (rc == 0 && renameat(p->layout, part, p->layout, name) < 0)
        rc = sl_fail_errno(err, errno, "rename a blob");
    if (d->fd >= 0)
        close(d->fd);
    free(d);
    return rc;
}

/* A manifest that was named by its digest tells no platform; its configuration does. */
static int check_config(struct registry_pull *p, const struct blob *b, struct sl_err *err)
{
    char name[128];
    snprintf(name, sizeof name, "blobs/sha256/%s", b->digest + 7);
    SL_AUTO_BUF struct sl_buf text = SL_BUF(MANIFEST_MAX);
    SL_AUTO_CLOSE int fd = openat(p->layout, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    char chunk[65536];
    for (ssize_t n; fd >= 0 && (n = read(fd, chunk, sizeof chunk)) > 0;)
        sl_buf_add(&text, chunk, (size_t)n);
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    if (jr_open(sl_buf_str(&text), text.n, &doc, err) < 0)
        return sl_fail_at(err, SL_INVALID, "reference", "image: its configuration is no JSON");
    const char *os = jr_text(jr_get(jr_root(doc), "os"), "linux");
    const char *machine = jr_text(jr_get(jr_root(doc), "architecture"), "amd64");
    if (!sl_streq(os, "linux") || !sl_streq(machine, "amd64"))
        return sl_fail_at(err, SL_INVALID, "reference",
                          "image: is for %.30s/%.30s; these nodes are linux/amd64", os, machine);
    return 0;
}

static int write_index(struct registry_pull *p, const char *digest, int64_t size,
                       struct sl_err *err)
{
    static const char layout[] = "{\"imageLayoutVersion\":\"1.0.0\"}";
    SL_AUTO_BUF struct sl_buf b = SL_BUF(1024);
    sl_buf_printf(
        &b,
        "{\"schemaVersion\":2,\"manifests\":[{\"mediaType\":"
        "\"application/vnd.oci.image.manifest.v1+json\",\"digest\":\"%s\",\"size\":%lld}]}",
        digest, (long long)size);
    return put_file(p->layout, "index.json", b.p, b.n, err) < 0
               ? -1
               : put_file(p->layout, "oci-layout", layout, sizeof layout - 1, err);
}

int registry_fetch(struct registry_pull *p, struct sl_err *err)
{
    char digest[DIGEST_MAX];
    int64_t size = 0;
    JR_AUTO_DOC struct jr_doc *manifest = NULL;
    struct blob *blobs;
    int n;
    if (has_user(p) && make_basic(p, err) < 0)
        return -1;
    if ((mkdirat(p->layout, "blobs", 0700) < 0 && errno != EEXIST) ||
        (mkdirat(p->layout, "blobs/sha256", 0700) < 0 && errno != EEXIST))
        return sl_fail_errno(err, errno, "make the folder of blobs");
    if (fetch_manifest(p, digest, &size, &manifest, err) < 0 ||
        manifest_blobs(jr_root(manifest), p->bytes_max, &blobs, &n, err) < 0)
        return -1;
    p->bytes = p->total = 0;
    for (int i = 0; i < n; i++)
        p->total += blobs[i].size;
    int rc = 0;
    for (int i = 0; rc == 0 && i < n; i++) {
        rc = fetch_blob(p, &blobs[i], err);
        if (rc == 0 && i == 0)
            rc = check_config(p, &blobs[0], err);
    }
    free(blobs);
    if (rc == 0 && p->progress)
        (void)p->progress(p->progress_arg, p);
    explicit_bzero(p->basic, sizeof p->basic);
    explicit_bzero(p->bearer, sizeof p->bearer);
    return rc < 0 ? -1 : write_index(p, digest, size, err);
}
