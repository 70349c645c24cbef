/* SPDX-License-Identifier: Apache-2.0
 *
 * What is read of a registry: references, redirects, challenges, manifests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "agent/registry_text.h"
#include "base/core/mem.h"
#include <string.h>

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void references_mean_what_they_mean_everywhere(void **state)
{
    static const struct {
        const char *text, *host, *repo, *tag, *digest;
        bool loopback;
    } good[] = {
        {"docker://debian", "registry-1.docker.io", "library/debian", "latest", "", false},
        {"docker://rocm/pytorch:x", "registry-1.docker.io", "rocm/pytorch", "x", "", false},
        {"docker://docker.io/rocm/vllm@sha256:" HEX64, "registry-1.docker.io", "rocm/vllm", "",
         "sha256:" HEX64, false},
        {"docker://ghcr.io/a/b/c:v1@sha256:" HEX64, "ghcr.io", "a/b/c", "v1", "sha256:" HEX64,
         false},
        {"docker://127.0.0.1:5000/team/tool", "127.0.0.1:5000", "team/tool", "latest", "", true},
        {"docker://localhost/x", "localhost", "x", "latest", "", true},
        {"docker://localhost.example/x", "localhost.example", "x", "latest", "", false},
        {"docker://127.0.0.1.example:5000/x", "127.0.0.1.example:5000", "x", "latest", "", false},
        {"docker://[::1]:5000/x", "[::1]:5000", "x", "latest", "", true},
    };
    static const char *const bad[] = {
        "debian",
        "docker://",
        "docker:///x",
        "docker://h.x/",
        "docker://h.x//y",
        "docker://h.x/../y",
        "docker://h.x/a/./b",
        "docker://u:p@h.x/y",
        "docker://h.x/Y",
        "docker://h.x/y:",
        "docker://h.x/y:-a",
        "docker://h.x/y@sha256:12",
        ("docker://h.x/y@md5:" HEX64),
        "docker://h.x:port/y",
        "docker://h.x:123456/y",
        "docker://h x/y",
        "docker://h.x/y?z",
        "docker://h.x/y\n",
        "docker://[::1/y",
        "docker://-h.x/y",
    };
    struct registry_ref r;
    struct sl_err err = {0};
    for (size_t i = 0; i < SL_COUNT(good); i++) {
        assert_int_equal(registry_parse(good[i].text, &r, &err), 0);
        assert_string_equal(r.host, good[i].host);
        assert_string_equal(r.repo, good[i].repo);
        assert_string_equal(r.tag, good[i].tag);
        assert_string_equal(r.digest, good[i].digest);
        assert_int_equal(r.loopback, good[i].loopback);
    }
    for (size_t i = 0; i < SL_COUNT(bad); i++) {
        if (registry_parse(bad[i], &r, &err) == 0)
            fail_msg("accepted: %s", bad[i]);
        assert_int_equal(err.code, SL_INVALID);
    }
}

static void credentials_follow_no_redirect_to_another_host(void **state)
{
    static const char far[] = "https://registry.example/v2/x",
                      near[] = "http://127.0.0.1:5000/v2/x";
    static const struct {
        const char *base, *to, *out; /* out NULL: refused */
        bool same;
    } rows[] = {
        {far, "https://cdn.example/y?z", "https://cdn.example/y?z", false},
        {far, "/y", "https://registry.example/y", true},
        {far, "https://REGISTRY.example/y", "https://REGISTRY.example/y", true},
        {far, "https://registry.example:444/y", "https://registry.example:444/y", false},
        {far, "https://registry.example.evil/y", "https://registry.example.evil/y", false},
        {far, "http://registry.example/y", NULL, false},
        {far, "http://127.0.0.1/y", NULL, false},
        {far, "https://127.0.0.1/y", NULL, false},
        {far, "https://localhost/y", NULL, false},
        {far, "//evil.example/y", NULL, false},
        {far, "https://u@registry.example/y", NULL, false},
        {far, "file:///etc/passwd", NULL, false},
        {far, "https://registry.example\\@evil/y", NULL, false},
        {far, "https://a/\r\nX: y", NULL, false},
        {far, "", NULL, false},
        {near, "http://127.0.0.1:5001/y", "http://127.0.0.1:5001/y", false},
        {near, "http://127.0.0.1:5000/y", "http://127.0.0.1:5000/y", true},
        {near, "https://127.0.0.1:5000/y", "https://127.0.0.1:5000/y", false},
        {near, "http://169.254.169.254/y", NULL, false},
        {near, "https://cdn.example/y", "https://cdn.example/y", false},
    };
    char out[URL_MAX];
    for (size_t i = 0; i < SL_COUNT(rows); i++) {
        struct sl_err err = {0};
        bool same = false;
        int rc = url_redirect(rows[i].base, rows[i].to, out, &same, &err);
        if (rc != (rows[i].out ? 0 : -1))
            fail_msg("%s: %d", rows[i].to, rc);
        if (rc == 0) {
            assert_string_equal(out, rows[i].out);
            assert_int_equal(same, rows[i].same);
        }
    }
}

static void challenges_are_read(void **state)
{
    struct challenge c;
    challenge_read("Bearer realm=\"https://auth.docker.io/token\",service=\"registry.docker.io\"",
                   &c);
    assert_true(c.bearer && !c.basic);
    assert_string_equal(c.realm, "https://auth.docker.io/token");
    assert_string_equal(c.service, "registry.docker.io");
    challenge_read("bearer scope=x, service=a\\b, realm=\"a\\\"b\"", &c);
    assert_string_equal(c.realm, "a\"b");
    challenge_read("Basic realm=\"x\"", &c);
    assert_true(c.basic && !c.bearer);
    challenge_read("Negotiate", &c);
    assert_true(!c.basic && !c.bearer);
}

#define LAYER(digit, size)                                                                         \
    "{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar\",\"digest\":\"sha256:" digit         \
    "123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\",\"size\":" size "}"

static int blobs_of(const char *text, struct blob **ret, int *ret_n, struct sl_err *err)
{
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    assert_int_equal(jr_open(text, strlen(text), &doc, err), 0);
    if (document_kind(jr_root(doc)) != DOC_MANIFEST)
        return -2;
    return manifest_blobs(jr_root(doc), 1000, ret, ret_n, err);
}

static void manifests_are_bounded(void **state)
{
    struct sl_err err = {0};
    struct blob *b = NULL;
    int n = 0;
    assert_int_equal(blobs_of("{\"config\":" LAYER("a", "2") ",\"layers\":[" LAYER(
                                  "b", "500") "," LAYER("b", "500") "," LAYER("c", "400") "]}",
                              &b, &n, &err),
                     0);
    assert_int_equal(n, 3); /* the config and each layer once */
    free(b);
    assert_int_equal(blobs_of("{\"config\":" LAYER("a", "2") ",\"layers\":[" LAYER(
                                  "b", "600") "," LAYER("c", "600") "]}",
                              &b, &n, &err),
                     -1);
    assert_non_null(strstr(err.msg, "to fetch"));
    assert_int_equal(blobs_of("{\"config\":" LAYER("a", "2") ",\"layers\":[" LAYER(
                                  "b", "5") "," LAYER("b", "6") "]}",
                              &b, &n, &err),
                     -1);
    assert_non_null(strstr(err.msg, "two sizes"));
    assert_int_equal(blobs_of("{\"config\":" LAYER("a", "2") ",\"layers\":[" LAYER("b", "-1") "]}",
                              &b, &n, &err),
                     -1);
    assert_int_equal(blobs_of("{\"layers\":[" LAYER("b", "1") "]}", &b, &n, &err), -1);
    assert_int_equal(blobs_of("{\"config\":" LAYER("a", "2") ",\"layers\":[]}", &b, &n, &err), -1);
    /* the same bytes must not be two images */
    assert_int_equal(blobs_of("{\"layers\":[],\"manifests\":[]}", &b, &n, &err), -2);
    assert_int_equal(blobs_of("{\"mediaType\":\"text/html\",\"layers\":[]}", &b, &n, &err), -2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references_mean_what_they_mean_everywhere),
        cmocka_unit_test(credentials_follow_no_redirect_to_another_host),
        cmocka_unit_test(challenges_are_read),
        cmocka_unit_test(manifests_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
