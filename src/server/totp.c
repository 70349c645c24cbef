/* SPDX-License-Identifier: Apache-2.0 */
#include "server/totp.h"
#include "server/auth.h"
#include "server/event.h"

enum { BLOCK = 64, RECOVERY_DIGITS = 10 };
static const struct delay_rule guesses = {"totp:", 5, 300};

const struct jr_field totp_fields[] = {{"code", JR_K_STR, JR_REQUIRED,
                                        offsetof(struct totp_want, code), 1, 32,
                                        .doc = "six digits of the app, or a recovery code"},
                                       {0}};

/* ---- SHA-1 (FIPS 180-4): what authenticator apps speak; the crypto library has none ---- */
static uint32_t rotate(uint32_t x, int n)
{
    return x << n | x >> (32 - n);
}

static void sha1_block(uint32_t h[5], const uint8_t *p)
{
    uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
               (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (int i = 16; i < 80; i++)
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (int i = 0; i < 80; i++) {
        uint32_t f = i < 20   ? (b & c) | (~b & d)
                     : i < 40 ? b ^ c ^ d
                     : i < 60 ? (b & c) | (b & d) | (c & d)
                              : b ^ c ^ d;
        uint32_t k = i < 20 ? 0x5a827999 : i < 40 ? 0x6ed9eba1 : i < 60 ? 0x8f1bbcdc : 0xca62c1d6;
        uint32_t t = rotate(a, 5) + f + e + k + w[i];
        e = d, d = c, c = rotate(b, 30), b = a, a = t;
    }
    h[0] += a, h[1] += b, h[2] += c, h[3] += d, h[4] += e;
}

/* Of two pieces, one after the other. */
static void sha1(const uint8_t *p, size_t p_n, const uint8_t *q, size_t q_n, uint8_t out[20])
{
    uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    uint8_t block[BLOCK];
    size_t fill = 0, total = p_n + q_n;
    for (size_t i = 0; i < total; i++) {
        block[fill++] = i < p_n ? p[i] : q[i - p_n];
        if (fill == BLOCK)
            sha1_block(h, block), fill = 0;
    }
    block[fill++] = 0x80;
    if (fill > BLOCK - 8) {
        memset(block + fill, 0, BLOCK - fill);
        sha1_block(h, block), fill = 0;
    }
    memset(block + fill, 0, BLOCK - fill);
    for (int i = 0; i < 8; i++)
        block[BLOCK - 1 - i] = (uint8_t)((uint64_t)total * 8 >> (8 * i));
    sha1_block(h, block);
    for (int i = 0; i < 20; i++)
        out[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
}

void sha1_hmac(const void *key, size_t key_n, const void *p, size_t n, uint8_t out[20])
{
    uint8_t inner[BLOCK] = {0}, outer[BLOCK], digest[20];
    if (key_n > BLOCK)
        sha1(key, key_n, NULL, 0, inner);
    else
        memcpy(inner, key, key_n);
    for (int i = 0; i < BLOCK; i++)
        outer[i] = inner[i] ^ 0x5c, inner[i] ^= 0x36;
    sha1(inner, BLOCK, p, n, digest);
    sha1(outer, BLOCK, digest, sizeof digest, out);
}

int32_t totp_code(const uint8_t secret[TOTP_SECRET], int64_t step)
{
    uint8_t counter[8], mac[20];
    for (int i = 0; i < 8; i++)
        counter[i] = (uint8_t)((uint64_t)step >> (56 - 8 * i));
    sha1_hmac(secret, TOTP_SECRET, counter, sizeof counter, mac);
    const uint8_t *p = mac + (mac[19] & 15); /* RFC 4226, 5.3 */
    uint32_t v = (uint32_t)(p[0] & 0x7f) << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    return (int32_t)(v % 1000000);
}

/* 20 bytes are 32 digits, without padding (RFC 4648). */
void base32_encode(const uint8_t in[TOTP_SECRET], char out[TOTP_BASE32])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    for (int i = 0; i < TOTP_BASE32 - 1; i++) {
        int bit = i * 5, at = bit / 8;
        unsigned two =
            (unsigned)in[at] << 8 | (at + 1 < TOTP_SECRET ? in[at + 1] : 0u); /* 16 bits */
        out[i] = digits[two >> (11 - bit % 8) & 31];
    }
    out[TOTP_BASE32 - 1] = 0;
}

/* ---- rows ---- */
struct factor {
    bool there, confirmed;
    uint8_t secret[TOTP_SECRET];
    int64_t last_step;
};

static int load(struct db_c *c, const char *account_id, struct factor *f, struct sl_err *err)
{
    struct db_q q;
    *f = (struct factor){0};
    int rc =
        db_row(c, &q, err, "SELECT secret, confirmed_us, last_step FROM totp WHERE account_id = ?1",
               "t", account_id);
    if (rc <= 0)
        return rc;
    f->there = hex_decode(db_text(&q, 0), f->secret, TOTP_SECRET);
    f->confirmed = db_int(&q, 1) > 0;
    f->last_step = db_int(&q, 2);
    db_done(&q);
    SL_ASSERT(f->there);
    return 0;
}

static void recovery_hash(const char *account_id, const char *code, char out[SHA256_HEX])
{
    char text[ID_TEXT + 40];
    int n = snprintf(text, sizeof text, "%s|%.32s", account_id, code);
    sha256_hex(text, (size_t)n, out);
}

static int wrong(struct sl_err *err)
{
    return sl_fail_at(err, SL_UNAUTHENTICATED, "code",
                      "code: is wrong or was used already; wait for the app's next one");
}

/* 0: right, and used up now. */
static int use_code(struct db_c *c, struct server *s, const char *account_id,
                    const struct factor *f, const char *code, struct sl_err *err)
{
    int64_t now = env_now(s->env), step = now / SL_SEC / TOTP_STEP_S, changed = 0;
    char hash[SHA256_HEX], digits[8];
    for (int64_t at = step - 1; strlen(code) == 6 && at <= step + 1; at++) {
        snprintf(digits, sizeof digits, "%06d", (int)totp_code(f->secret, at));
        if (!bytes_equal(digits, code, 6) || at <= f->last_step)
            continue;
        return db_exec(c, err, "UPDATE totp SET last_step = ?2 WHERE account_id = ?1", "ti",
                       account_id, at);
    }
    recovery_hash(account_id, code, hash);
    if (db_exec_n(c, &changed, err,
                  "UPDATE totp_recovery SET used_us = ?3 WHERE account_id = ?1 AND hash = ?2 AND "
                  "used_us = 0",
                  "tti", account_id, hash, now) < 0)
        return -1;
    return changed ? 0 : wrong(err);
}

int totp_check(struct db_c *c, struct server *s, const char *account_id, const char *code,
               struct sl_err *err)
{
    struct factor f;
    if (load(c, account_id, &f, err) < 0)
        return -1;
    if (!f.confirmed)
        return 0;
    if (!code || !*code)
        return sl_fail_at(err, SL_UNAUTHENTICATED, "code",
                          "code: missing; the account has a second factor, send the six digits "
                          "of its app");
    return use_code(c, s, account_id, &f, code, err);
}

/* ---- calls ---- */
int totp_prepare(struct req *r, struct sl_err *err)
{
    return delay_attempt(r->s, &guesses, r->caller.account_id, &r->retry_after_s, err);
}

int totp_show(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct factor f;
    int64_t left;
    if (load(c, r->caller.account_id, &f, err) < 0 ||
        db_value(c, 0, &left, err,
                 "SELECT COUNT(*) FROM totp_recovery WHERE account_id = ?1 AND used_us = 0", "t",
                 r->caller.account_id) < 0)
        return -1;
    jw_object(&out->json, NULL);
    jw_bool(&out->json, "enabled", f.confirmed);
    jw_int(&out->json, "recovery_left", f.confirmed ? left : 0);
    jw_end(&out->json);
    return 0;
}

static int conflict(bool enabled, struct sl_err *err)
{
    return sl_fail(err, SL_CONFLICT,
                   enabled ? "totp: is on; switch it off first with POST /v1/account/totp/disable"
                           : "totp: is off; begin with POST /v1/account/totp");
}

int totp_begin(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct factor f;
    uint8_t secret[TOTP_SECRET];
    char hex[2 * TOTP_SECRET + 1], text[TOTP_BASE32];
    if (load(c, r->caller.account_id, &f, err) < 0)
        return -1;
    if (f.confirmed)
        return conflict(true, err);
    random_bytes(secret, sizeof secret);
    hex_encode(secret, sizeof secret, hex);
    base32_encode(secret, text);
    if (db_exec(c, err,
                "INSERT INTO totp(account_id, secret, created_us) VALUES(?1, ?2, ?3) ON CONFLICT "
                "(account_id) DO UPDATE SET secret = ?2, created_us = ?3, last_step = 0",
                "tti", r->caller.account_id, hex, env_now(r->s->env)) < 0)
        return -1;
    jw_object(&out->json, NULL);
    jw_str(&out->json, "secret", text);
    jw_str(&out->json, "uri",
           sl_arena_printf(r->arena, "otpauth://totp/Starlease:%s?secret=%s&issuer=Starlease",
                           r->caller.account_id, text));
    jw_end(&out->json);
    out->status = 201;
    return 0;
}

static int write_recovery(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    const char *account_id = r->caller.account_id;
    if (db_exec(c, err, "DELETE FROM totp_recovery WHERE account_id = ?1", "t", account_id) < 0)
        return -1;
    jw_array(&out->json, "recovery");
    for (int i = 0; i < TOTP_RECOVERY; i++) {
        uint8_t random[RECOVERY_DIGITS];
        char code[RECOVERY_DIGITS + 1], hash[SHA256_HEX];
        random_bytes(random, sizeof random);
        for (int k = 0; k < RECOVERY_DIGITS; k++) /* 32 letters: no bias */
            code[k] = "abcdefghjkmnpqrstuvwxyz23456789x"[random[k] & 31];
        code[RECOVERY_DIGITS] = 0;
        recovery_hash(account_id, code, hash);
        if (db_exec(c, err, "INSERT INTO totp_recovery(account_id, hash) VALUES(?1, ?2)", "tt",
                    account_id, hash) < 0)
            return -1;
        jw_str(&out->json, NULL, code);
    }
    jw_end(&out->json);
    return 0;
}

int totp_confirm(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    const struct totp_want *w = r->body;
    const char *account_id = r->caller.account_id;
    struct factor f;
    if (load(c, account_id, &f, err) < 0)
        return -1;
    if (f.confirmed || !f.there)
        return conflict(f.confirmed, err);
    if (use_code(c, r->s, account_id, &f, w->code, err) < 0) {
        if (err->code == SL_UNAUTHENTICATED) /* the caller is signed in; it is the value */
            return sl_fail_at(err, SL_INVALID, "code", "code: is not the app's; check its clock");
        return -1;
    }
    if (db_exec(c, err, "UPDATE totp SET confirmed_us = ?2 WHERE account_id = ?1", "ti", account_id,
                env_now(r->s->env)) < 0 ||
        event_add(c, r->s, account_id, "account", account_id, "account.totp_on", account_id, NULL,
                  err) < 0 ||
        delay_forget(c, &guesses, account_id, err) < 0)
        return -1;
    jw_object(&out->json, NULL);
    jw_bool(&out->json, "enabled", true);
    if (write_recovery(c, r, out, err) < 0)
        return -1;
    jw_end(&out->json);
    return 0;
}

int totp_disable(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    const struct totp_want *w = r->body;
    const char *account_id = r->caller.account_id;
    struct factor f;
    if (load(c, account_id, &f, err) < 0)
        return -1;
    if (!f.confirmed)
        return conflict(false, err);
    if (use_code(c, r->s, account_id, &f, w->code, err) < 0) {
        if (err->code == SL_UNAUTHENTICATED)
            return sl_fail_at(err, SL_INVALID, "code", "code: is wrong or was used already");
        return -1;
    }
    if (db_exec(c, err, "DELETE FROM totp_recovery WHERE account_id = ?1", "t", account_id) < 0 ||
        db_exec(c, err, "DELETE FROM totp WHERE account_id = ?1", "t", account_id) < 0 ||
        event_add(c, r->s, account_id, "account", account_id, "account.totp_off", account_id, NULL,
                  err) < 0 ||
        delay_forget(c, &guesses, account_id, err) < 0)
        return -1;
    out->status = 204;
    return 0;
}
