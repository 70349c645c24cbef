/* SPDX-License-Identifier: Apache-2.0 */
#include "server/ssh_key.h"
#include "base/core/buf.h"
#include "base/core/mem.h"
#include "base/io/crypto.h"
#include <stdio.h>

enum { BLOB_MAX = 4096, RSA_BITS_MAX = 16384 };

struct blob {
    const uint8_t *p;
    size_t n;
};

/* Cuts a length-prefixed string (RFC 4251 5) off the front. */
static bool cut(struct blob *b, struct blob *ret)
{
    if (b->n < 4)
        return false;
    size_t n = (size_t)b->p[0] << 24 | (size_t)b->p[1] << 16 | (size_t)b->p[2] << 8 | b->p[3];
    if (n > b->n - 4)
        return false;
    *ret = (struct blob){b->p + 4, n};
    *b = (struct blob){b->p + 4 + n, b->n - 4 - n};
    return true;
}

static bool is_text(struct blob b, const char *text)
{
    return b.n == strlen(text) && memcmp(b.p, text, b.n) == 0;
}

/* A positive mpint in its shortest form; 0 when it is not. */
static size_t mpint_bits(struct blob b)
{
    size_t i = b.n && b.p[0] == 0 ? 1 : 0;
    if (i == b.n || (b.p[0] & 0x80) || (i == 1 && !(b.p[1] & 0x80)))
        return 0;
    size_t bits = (b.n - i) * 8;
    for (uint8_t top = b.p[i]; !(top & 0x80); top = (uint8_t)(top << 1))
        bits--;
    return bits;
}

/* What follows the type inside the payload. Each returns NULL when it fits, else what is wrong. */
static const char *check_ed25519(struct blob b)
{
    struct blob point;
    return cut(&b, &point) && point.n == 32 && b.n == 0 ? NULL : "is not an Ed25519 key";
}

static const char *check_sk_ed25519(struct blob b)
{
    struct blob point, app;
    return cut(&b, &point) && point.n == 32 && cut(&b, &app) && app.n && b.n == 0
               ? NULL
               : "is not an Ed25519 security key";
}

static bool curve_point(struct blob *b, const char *curve, size_t bytes)
{
    struct blob name, point;
    return cut(b, &name) && is_text(name, curve) && cut(b, &point) && point.n == 2 * bytes + 1 &&
           point.p[0] == 4; /* uncompressed */
}

static const char *check_p256(struct blob b)
{
    return curve_point(&b, "nistp256", 32) && b.n == 0 ? NULL : "is not a nistp256 key";
}

static const char *check_p384(struct blob b)
{
    return curve_point(&b, "nistp384", 48) && b.n == 0 ? NULL : "is not a nistp384 key";
}

static const char *check_p521(struct blob b)
{
    return curve_point(&b, "nistp521", 66) && b.n == 0 ? NULL : "is not a nistp521 key";
}

static const char *check_sk_p256(struct blob b)
{
    struct blob app;
    return curve_point(&b, "nistp256", 32) && cut(&b, &app) && app.n && b.n == 0
               ? NULL
               : "is not a nistp256 security key";
}

static const char *check_rsa(struct blob b)
{
    struct blob e, n;
    if (!cut(&b, &e) || !cut(&b, &n) || b.n)
        return "is not an RSA key";
    size_t e_bits = mpint_bits(e), n_bits = mpint_bits(n);
    if (e_bits < 2 || e_bits > 64 || !(e.p[e.n - 1] & 1) || !n_bits || !(n.p[n.n - 1] & 1))
        return "is not an RSA key";
    if (n_bits < SSH_RSA_BITS_MIN)
        return "is an RSA key under 2048 bits";
    return n_bits > RSA_BITS_MAX ? "is an RSA key over 16384 bits" : NULL;
}

static const struct key_type {
    const char *name;
    const char *(*check)(struct blob rest);
} key_types[] = {
    {"ssh-ed25519", check_ed25519},
    {"ecdsa-sha2-nistp256", check_p256},
    {"ecdsa-sha2-nistp384", check_p384},
    {"ecdsa-sha2-nistp521", check_p521},
    {"ssh-rsa", check_rsa},
    {"sk-ssh-ed25519@openssh.com", check_sk_ed25519},
    {"sk-ecdsa-sha2-nistp256@openssh.com", check_sk_p256},
};

static const struct key_type *type_find(struct sl_str word)
{
    for (size_t i = 0; i < SL_COUNT(key_types); i++)
        if (sl_str_eq(word, sl_str(key_types[i].name)))
            return &key_types[i];
    return NULL;
}

static void fingerprint(struct blob b, char out[SSH_FINGERPRINT])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t h[SHA256_BYTES + 1] = {0};
    sha256(b.p, b.n, h);
    size_t n = (size_t)snprintf(out, SSH_FINGERPRINT, "SHA256:");
    for (size_t bit = 0; bit < SHA256_BYTES * 8; bit += 6) {
        unsigned two = (unsigned)h[bit / 8] << 8 | h[bit / 8 + 1];
        out[n++] = digits[two >> (10 - bit % 8) & 63];
    }
    out[n] = 0;
}

static struct sl_str word(struct sl_str *rest)
{
    size_t n = 0;
    while (n < rest->n && rest->p[n] != ' ')
        n++;
    struct sl_str w = {rest->p, n};
    while (n < rest->n && rest->p[n] == ' ')
        n++;
    *rest = (struct sl_str){rest->p + n, rest->n - n};
    return w;
}

int ssh_key_parse(const char *line, const char *field, struct ssh_key *ret, struct sl_err *err)
{
    struct sl_str rest = sl_str(line);
    if (!sl_utf8_ok(line, rest.n, false))
        return sl_fail_at(err, SL_INVALID, field,
                          "%s: contains a newline or control character; send one line", field);
    struct sl_str name = word(&rest), text = word(&rest);
    const struct key_type *type = type_find(name);
    if (!type)
        return sl_fail_at(
            err, SL_INVALID, field,
            "%s: begins with \"%.*s\", which is no key type; send TYPE BASE64 [COMMENT] "
            "with ssh-ed25519, ecdsa-sha2-nistp256/384/521, ssh-rsa or sk-*, without "
            "options",
            field, (int)(name.n > 40 ? 40 : name.n), name.p);
    uint8_t raw[BLOB_MAX];
    int n = text.n ? base64_decode(text.p, text.n, raw, sizeof raw) : -1;
    if (n < 0)
        return sl_fail_at(
            err, SL_INVALID, field,
            "%s: the second word is not base64 of at most %d bytes; copy the whole .pub "
            "line",
            field, BLOB_MAX);
    struct blob all = {raw, (size_t)n}, body = all, inner;
    if (!cut(&body, &inner) || !is_text(inner, type->name))
        return sl_fail_at(err, SL_INVALID, field,
                          "%s: says %s but holds another type; copy the whole .pub line", field,
                          type->name);
    const char *wrong = type->check(body);
    if (wrong)
        return sl_fail_at(err, SL_INVALID, field, "%s: %s; make one with ssh-keygen -t ed25519",
                          field, wrong);
    if (rest.n >= sizeof ret->comment)
        return sl_fail_at(err, SL_INVALID, field, "%s: the comment is over %zu bytes; shorten it",
                          field, sizeof ret->comment - 1);
    snprintf(ret->type, sizeof ret->type, "%s", type->name);
    snprintf(ret->comment, sizeof ret->comment, "%.*s", (int)rest.n, rest.p);
    snprintf(ret->line, sizeof ret->line, "%s %.*s%s%s", type->name, (int)text.n, text.p,
             rest.n ? " " : "", ret->comment);
    fingerprint(all, ret->fingerprint);
    return 0;
}
