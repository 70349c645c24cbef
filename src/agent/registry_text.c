/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/registry_text.h"
#include "base/core/buf.h"
#include "base/core/mem.h"
#include <arpa/inet.h>
#include <strings.h>

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

bool digest_ok(const char *d)
{
    return sl_starts(d, "sha256:") && strlen(d) == 71 && strspn(d + 7, "0123456789abcdef") == 64;
}

/* "127.0.0.1:5000", "[::1]", "localhost": names that cannot be anything but this machine. */
static bool host_loopback(const char *host)
{
    char name[260];
    struct in_addr a;
    size_t n = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    snprintf(name, sizeof name, "%.*s", (int)n, host);
    return sl_streq(name, "localhost") || sl_streq(name, "[::1]") ||
           (inet_pton(AF_INET, name, &a) == 1 && ntohl(a.s_addr) >> 24 == 127);
}

/* NAME, NAME:PORT, ADDRESS:PORT or [ADDRESS]:PORT */
static bool host_ok(const char *host)
{
    const char *rest = host;
    if (*rest == '[') {
        rest += 1 + strspn(rest + 1, "0123456789abcdefABCDEF:.");
        if (*rest++ != ']')
            return false;
    } else {
        size_t n = strspn(rest, LOWER UPPER DIGITS ".-");
        if (n == 0 || n > 253 || *rest == '-' || *rest == '.')
            return false;
        rest += n;
    }
    if (!*rest)
        return true;
    return *rest == ':' && rest[1] && strlen(rest) <= 6 &&
           strspn(rest + 1, DIGITS) == strlen(rest) - 1;
}

static bool repo_ok(const char *repo)
{
    struct sl_str rest = sl_str(repo), part;
    if (!*repo || strspn(repo, LOWER DIGITS "._-/") != strlen(repo) || strstr(repo, ".."))
        return false;
    while (sl_str_cut(&rest, '/', &part))
        if (part.n == 0 || strchr("._-", part.p[0]) || strchr("._-", part.p[part.n - 1]))
            return false;
    return repo[strlen(repo) - 1] != '/';
}

static int ref_bad(const char *text, const char *why, struct sl_err *err)
{
    return sl_fail_at(err, SL_INVALID, "reference",
                      "reference: \"%.120s\" %s; write docker://HOST/REPOSITORY:TAG or "
                      "docker://HOST/REPOSITORY@sha256:HEX",
                      text, why);
}

int registry_parse(const char *text, struct registry_ref *ret, struct sl_err *err)
{
    char body[REF_MAX];
    *ret = (struct registry_ref){0};
    if (!sl_starts(text, "docker://") || strlen(text) >= sizeof body)
        return ref_bad(text, "does not begin with docker:// or is too long", err);
    snprintf(body, sizeof body, "%s", text + strlen("docker://"));
    char *at = strchr(body, '@');
    if (at) {
        *at++ = 0;
        if (!digest_ok(at))
            return ref_bad(text, "has a digest that is not sha256: and 64 hex digits", err);
        memcpy(ret->digest, at, sizeof ret->digest);
    }
    char *slash = strchr(body, '/');
    char *colon = strrchr(body, ':');
    if (colon && (!slash || colon > slash)) {
        *colon++ = 0;
        size_t n = strlen(colon);
        if (n == 0 || n > 128 || strspn(colon, LOWER UPPER DIGITS "_.-") != n ||
            strchr(".-", *colon))
            return ref_bad(text, "has a tag with other characters than letters, digits, . _ -",
                           err);
        memcpy(ret->tag, colon, n + 1);
    }
    const char *host = "docker.io", *repo = body;
    if (slash) { /* as everywhere: what has no dot, no port and is not localhost is no host */
        *slash = 0;
        if (strpbrk(body, ".:") || sl_streq(body, "localhost")) {
            host = body;
            repo = slash + 1;
        } else {
            *slash = '/';
        }
    }
    if (!host_ok(host) || strlen(repo) + 9 > sizeof ret->repo || !repo_ok(repo))
        return ref_bad(text, "names no registry and repository", err);
    bool hub = sl_streq(host, "docker.io") || sl_streq(host, "index.docker.io");
    snprintf(ret->host, sizeof ret->host, "%.259s", hub ? "registry-1.docker.io" : host);
    snprintf(ret->repo, sizeof ret->repo, "%s%.246s", hub && !strchr(repo, '/') ? "library/" : "",
             repo);
    if (!*ret->tag && !*ret->digest)
        memcpy(ret->tag, "latest", sizeof "latest");
    ret->loopback = host_loopback(ret->host);
    return 0;
}

bool url_read(const char *text, struct url *ret)
{
    *ret = (struct url){.tls = sl_starts(text, "https://")};
    if ((!ret->tls && !sl_starts(text, "http://")) || strlen(text) >= URL_MAX)
        return false;
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 127 || *p == '\\')
            return false;
    const char *host = text + (ret->tls ? 8 : 7);
    size_t n = strcspn(host, "/?#");
    if (n == 0 || n >= sizeof ret->host)
        return false;
    memcpy(ret->host, host, n);
    ret->host[n] = 0;
    ret->path = host + n;
    ret->loopback = host_loopback(ret->host);
    return host_ok(ret->host);
}

int url_redirect(const char *base, const char *location, char out[URL_MAX], bool *ret_same,
                 struct sl_err *err)
{
    struct url from, to;
    int n = 0;
    if (!url_read(base, &from))
        return sl_fail(err, SL_INTERNAL, "redirected from no URL");
    if (location[0] == '/' && location[1] != '/')
        n = snprintf(out, URL_MAX, "%s://%s%s", from.tls ? "https" : "http", from.host, location);
    else
        n = snprintf(out, URL_MAX, "%s", location);
    if (n <= 0 || n >= URL_MAX || !url_read(out, &to))
        return sl_fail(err, SL_FORBIDDEN,
                       "the registry redirects to \"%.120s\", which is no http or https URL",
                       location);
    if (!to.tls && !(to.loopback && from.loopback))
        return sl_fail(err, SL_FORBIDDEN,
                       "the registry redirects to %.120s without TLS; only https is followed",
                       to.host);
    if (to.loopback && !from.loopback)
        return sl_fail(err, SL_FORBIDDEN, "the registry redirects to this machine itself (%.120s)",
                       to.host);
    *ret_same = to.tls == from.tls && strcasecmp(to.host, from.host) == 0;
    return 0;
}

/* One name="value" of a challenge; false at the end. */
static bool parameter(const char **rest, char name[32], char *value, size_t size)
{
    const char *p = *rest + strspn(*rest, " ,\t");
    size_t n = strcspn(p, "= ,"), k = 0;
    if (!*p || p[n] != '=' || n >= 32)
        return false;
    snprintf(name, 32, "%.*s", (int)n, p);
    p += n + 1;
    bool quoted = *p == '"';
    p += quoted;
    for (; *p && (quoted ? *p != '"' : !strchr(" ,\t", *p)); p++) {
        if (quoted && *p == '\\' && p[1])
            p++;
        if (k + 1 < size)
            value[k++] = *p;
    }
    value[k] = 0;
    *rest = p + (quoted && *p);
    return true;
}

void challenge_read(const char *header, struct challenge *ret)
{
    char name[32], value[URL_MAX];
    *ret = (struct challenge){0};
    const char *p = header + strspn(header, " ");
    ret->bearer = strncasecmp(p, "Bearer ", 7) == 0;
    ret->basic = strncasecmp(p, "Basic", 5) == 0;
    if (!ret->bearer)
        return;
    for (p += 7; parameter(&p, name, value, sizeof value);) {
        if (strcasecmp(name, "realm") == 0)
            snprintf(ret->realm, sizeof ret->realm, "%s", value);
        else if (strcasecmp(name, "service") == 0)
            snprintf(ret->service, sizeof ret->service, "%.255s", value);
    }
}

static bool is_one_of(const char *type, const char *a, const char *b)
{
    return sl_streq(type, a) || sl_streq(type, b);
}

enum document document_kind(const struct jr_val *v)
{
    const char *type = jr_text(jr_get(v, "mediaType"), "");
    bool layers = jr_get(v, "layers"), manifests = jr_get(v, "manifests");
    if (layers == manifests) /* both: the same bytes would be two images (CVE-2021-41190) */
        return DOC_NONE;
    if (layers && (!*type || is_one_of(type, "application/vnd.oci.image.manifest.v1+json",
                                       "application/vnd.docker.distribution.manifest.v2+json")))
        return DOC_MANIFEST;
    if (manifests &&
        (!*type || is_one_of(type, "application/vnd.oci.image.index.v1+json",
                             "application/vnd.docker.distribution.manifest.list.v2+json")))
        return DOC_INDEX;
    return DOC_NONE;
}

static int blob_read(const struct jr_val *v, struct blob *ret, struct sl_err *err)
{
    const char *digest = jr_text(jr_get(v, "digest"), "");
    ret->size = jr_i64(jr_get(v, "size"), -1);
    if (!digest_ok(digest))
        return sl_fail_at(err, SL_INVALID, "digest", "digest: \"%.90s\" is not sha256:HEX", digest);
    if (ret->size < 0)
        return sl_fail_at(err, SL_INVALID, "reference", "image: blob %.20s... has no size", digest);
    memcpy(ret->digest, digest, sizeof ret->digest);
    return 0;
}

int index_choose(const struct jr_val *index, struct blob *ret, enum document *ret_kind,
                 struct sl_err *err)
{
    const struct jr_val *list = jr_get(index, "manifests");
    for (size_t i = 0; i < jr_len(list); i++) {
        const struct jr_val *m = jr_at(list, i), *p = jr_get(m, "platform");
        const char *type = jr_text(jr_get(m, "mediaType"), "");
        bool ours = !p || (sl_streq(jr_text(jr_get(p, "os"), ""), "linux") &&
                           sl_streq(jr_text(jr_get(p, "architecture"), ""), "amd64"));
        bool manifest = is_one_of(type, "application/vnd.oci.image.manifest.v1+json",
                                  "application/vnd.docker.distribution.manifest.v2+json");
        bool nested = is_one_of(type, "application/vnd.oci.image.index.v1+json",
                                "application/vnd.docker.distribution.manifest.list.v2+json");
        if (!ours || (!manifest && !nested))
            continue;
        *ret_kind = manifest ? DOC_MANIFEST : DOC_INDEX;
        return blob_read(m, ret, err);
    }
    return sl_fail_at(err, SL_INVALID, "reference",
                      "image: the registry has it for other machines, not for linux/amd64");
}

int manifest_blobs(const struct jr_val *manifest, int64_t bytes_max, struct blob **ret, int *ret_n,
                   struct sl_err *err)
{
    const struct jr_val *layers = jr_get(manifest, "layers");
    size_t n = jr_len(layers);
    int64_t sum = 0;
    *ret = NULL;
    *ret_n = 0;
    if (n == 0 || n > LAYERS_MAX)
        return sl_fail_at(err, SL_INVALID, "reference",
                          "image: has %zu layers; 1 to %d are allowed", n, LAYERS_MAX);
    struct blob *all = sl_alloc((n + 1) * sizeof *all);
    int k = 0, rc = 0;
    for (size_t i = 0; rc == 0 && i <= n; i++) {
        struct blob b;
        rc = blob_read(i == 0 ? jr_get(manifest, "config") : jr_at(layers, i - 1), &b, err);
        if (rc < 0)
            break;
        int same = 0;
        while (same < k && !sl_streq(all[same].digest, b.digest))
            same++;
        if (same < k && all[same].size != b.size)
            rc = sl_fail_at(err, SL_INVALID, "reference",
                            "image: blob %.20s... is told with two sizes", b.digest);
        if (rc == 0 && same == k && (i == 0 ? b.size > MANIFEST_MAX : b.size > bytes_max - sum))
            rc = sl_fail_at(err, SL_INVALID, "reference", "image: over %lld bytes to fetch",
                            (long long)(i == 0 ? MANIFEST_MAX : bytes_max));
        if (rc == 0 && same == k) {
            sum += b.size;
            all[k++] = b;
        }
    }
    if (rc < 0) {
        free(all);
        return -1;
    }
    *ret = all;
    *ret_n = k;
    return 0;
}
