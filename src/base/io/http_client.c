/* SPDX-License-Identifier: Apache-2.0 */
#include "http_client.h"
#include "base/core/mem.h"
#include "base/io/crypto.h"
#include <curl/curl.h>
#include <pthread.h>
#include <strings.h>

static void init_once(void)
{
    SL_ASSERT(curl_global_init(CURL_GLOBAL_DEFAULT) == 0);
}

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
    struct http_req *r = arg;
    if (r->chunk)
        return r->chunk(r->chunk_arg, p, size * n) == 0 ? size * n : 0;
    if (r->out) {
        sl_buf_add(r->out, p, size * n);
        if (r->out->over)
            return 0;
    }
    return size * n;
}

static void take_header(const char *line, size_t n, const char *name, char *out, size_t out_n)
{
    size_t k = strlen(name);
    if (n <= k || strncasecmp(line, name, k) != 0 || line[k] != ':')
        return;
    line += k + 1, n -= k + 1;
    while (n && (*line == ' ' || *line == '\t'))
        line++, n--;
    while (n && (line[n - 1] == '\r' || line[n - 1] == '\n' || line[n - 1] == ' '))
        n--;
    snprintf(out, out_n, "%.*s", (int)(n < out_n ? n : out_n - 1), line);
}

static size_t on_header(char *p, size_t size, size_t n, void *arg)
{
    struct http_req *r = arg;
    if (size * n > 9 && strncmp(p, "HTTP/", 5) == 0) {
        const char *at = memchr(p, ' ', size * n);
        r->status = at ? (int)strtol(at, NULL, 10) : 0;
    }
    for (const struct http_want *w = r->wants; w && w->name; w++)
        take_header(p, size * n, w->name, w->out, w->size);
    take_header(p, size * n, "content-type", r->content_type, sizeof r->content_type);
    take_header(p, size * n, "etag", r->etag, sizeof r->etag);
    take_header(p, size * n, "idempotent-replay", r->idempotent_replay,
                sizeof r->idempotent_replay);
    return size * n;
}

static int curl_failed(CURLcode rc, const char *detail, const char *url, struct sl_err *err)
{
    enum sl_code code = rc == CURLE_OPERATION_TIMEDOUT ? SL_TIMEOUT : SL_UNAVAILABLE;
    return sl_fail(err, code, "%.120s does not answer: %.180s", url,
                   *detail ? detail : curl_easy_strerror(rc));
}

/* "http+unix:/path/to.sock:/v1/x" -> socket path and "http://localhost/v1/x". */
static const char *unix_url(const char *url, char **ret_socket)
{
    const char *p = url + strlen("http+unix:"), *colon = strchr(p, ':');
    if (!colon)
        return NULL;
    *ret_socket = sl_strndup(p, (size_t)(colon - p));
    return sl_asprintf("http://localhost%s", colon + 1);
}

static void set_options(CURL *c, struct http_req *r, const char *url, struct curl_slist *headers,
                        char *detail)
{
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_PROXY, "");
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, detail);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, r->method);
    if (sl_streq(r->method, "HEAD"))
        curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
    if (r->body) {
        curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_n);
        curl_easy_setopt(c, CURLOPT_POSTFIELDS, r->body);
    }
    long ms = r->timeout_ms ? r->timeout_ms : 30000;
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, ms < 10000 ? ms : 10000L);
    if (r->chunk) {
        curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT,
                         r->chunk_bytes_s ? (long)r->chunk_bytes_s : 1L);
        curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, 60L);
    } else {
        curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, ms);
    }
    if (r->ca_file) {
        curl_easy_setopt(c, CURLOPT_CAINFO, r->ca_file);
        curl_easy_setopt(c, CURLOPT_CAPATH, NULL);
    }
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, r);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, r);
}

int http_do(struct http_req *r, struct sl_err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_once);
    SL_AUTO_FREE char *socket_path = NULL;
    SL_AUTO_FREE char *own_url = NULL;
    const char *url = r->url;
    if (sl_starts(url, "http+unix:")) {
        own_url = (char *)unix_url(url, &socket_path);
        if (!own_url)
            return sl_fail_at(err, SL_INVALID, "url", "url: \"%.100s\" has no :/path part", url);
        url = own_url;
    }
    CURL *c = curl_easy_init();
    SL_ASSERT(c != NULL);
    struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
    bool typed = false;
    for (const char *const *h = r->headers; h && *h; h++)
        typed |= strncasecmp(*h, "content-type:", 13) == 0;
    if (r->body && !typed)
        headers = curl_slist_append(headers, "Content-Type: application/json");
    for (const char *const *h = r->headers; h && *h; h++)
        headers = curl_slist_append(headers, *h);
    char detail[CURL_ERROR_SIZE] = "";
    r->content_type[0] = r->etag[0] = r->idempotent_replay[0] = 0;
    for (const struct http_want *w = r->wants; w && w->name; w++)
        *w->out = 0;
    set_options(c, r, url, headers, detail);
    if (socket_path)
        curl_easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, socket_path);
    CURLcode rc = curl_easy_perform(c);
    long status = 0;
    curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
    r->status = (int)status;
    curl_slist_free_all(headers);
    curl_easy_cleanup(c);
    if (rc == CURLE_WRITE_ERROR && r->chunk)
        return 0; /* the caller asked to stop */
    if (rc == CURLE_WRITE_ERROR)
        return sl_fail(err, SL_TOO_LARGE, "%.120s answers with more than %zu bytes", url,
                       r->out ? r->out->max : 0);
    return rc == CURLE_OK ? 0 : curl_failed(rc, detail, url, err);
}

/* Copies the PEM block in `text` to *pem and hashes what is inside. */
static bool take_certificate(const char *text, struct sl_buf *pem, char ret_sha256[65])
{
    static const char begin[] = "-----BEGIN CERTIFICATE-----", end[] = "-----END CERTIFICATE-----";
    const char *b = strstr(text, begin), *e = b ? strstr(b, end) : NULL;
    if (!e)
        return false;
    SL_AUTO_BUF struct sl_buf base64 = SL_BUF(1 << 16);
    for (const char *p = b + sizeof begin - 1; p < e; p++)
        if (!strchr("\r\n \t", *p))
            sl_buf_addc(&base64, *p);
    SL_AUTO_FREE uint8_t *der = sl_alloc(base64.n + 1);
    int n = base64_decode(sl_buf_str(&base64), base64.n, der, base64.n);
    if (n <= 0)
        return false;
    sha256_hex(der, (size_t)n, ret_sha256);
    sl_buf_add(pem, b, (size_t)(e - b) + sizeof end - 1);
    sl_buf_addc(pem, '\n');
    return !pem->over;
}

int http_peer_certificate(const char *url, struct sl_buf *pem, char ret_sha256[65],
                          struct sl_err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_once);
    CURL *c = curl_easy_init();
    SL_ASSERT(c != NULL);
    char detail[CURL_ERROR_SIZE] = "";
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "https");
    curl_easy_setopt(c, CURLOPT_PROXY, "");
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, detail);
    curl_easy_setopt(c, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(c, CURLOPT_CERTINFO, 1L);
    curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 0L); /* nothing is sent; the caller decides */
    curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 0L);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, 15000L);
    CURLcode rc = curl_easy_perform(c);
    struct curl_certinfo *info = NULL;
    bool found = false;
    if (rc == CURLE_OK && curl_easy_getinfo(c, CURLINFO_CERTINFO, &info) == CURLE_OK && info &&
        info->num_of_certs > 0)
        for (struct curl_slist *l = info->certinfo[0]; l && !found; l = l->next)
            if (sl_starts(l->data, "Cert:"))
                found = take_certificate(l->data, pem, ret_sha256);
    curl_easy_cleanup(c);
    if (rc != CURLE_OK)
        return curl_failed(rc, detail, url, err);
    return found ? 0 : sl_fail(err, SL_UNAVAILABLE, "%.120s shows no certificate", url);
}

struct upload {
    const char *p;
    size_t n;
};

static size_t on_upload(char *to, size_t size, size_t n, void *arg)
{
    struct upload *u = arg;
    size_t take = size * n < u->n ? size * n : u->n;
    memcpy(to, u->p, take);
    u->p += take, u->n -= take;
    return take;
}

int mail_send(const char *url, const char *from, const char *to, const char *text,
              struct sl_err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_once);
    CURL *c = curl_easy_init();
    SL_ASSERT(c != NULL);
    char detail[CURL_ERROR_SIZE] = "";
    struct upload u = {text, strlen(text)};
    struct curl_slist *rcpt = curl_slist_append(NULL, to);
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, detail);
    curl_easy_setopt(c, CURLOPT_MAIL_FROM, from);
    curl_easy_setopt(c, CURLOPT_MAIL_RCPT, rcpt);
    curl_easy_setopt(c, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(c, CURLOPT_READFUNCTION, on_upload);
    curl_easy_setopt(c, CURLOPT_READDATA, &u);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, 30000L);
    CURLcode rc = curl_easy_perform(c);
    curl_slist_free_all(rcpt);
    curl_easy_cleanup(c);
    return rc == CURLE_OK ? 0 : curl_failed(rc, detail, url, err);
}
