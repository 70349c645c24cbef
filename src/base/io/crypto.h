/* SPDX-License-Identifier: Apache-2.0
 *
 * crypto.h: the only file that sees libsodium, and nettle (for SHA-256). Hashes, passwords, signatures, text forms.
 */
#ifndef SL_CRYPTO_H
#define SL_CRYPTO_H
#include "base/core/err.h"
#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_HEX = 65, SIGN_KEY_HEX = 65, SIGN_HEX = 129, PASSWORD_HASH = 128 };

/* Must be called once before the others; safe to repeat. */
void crypto_init(void);
void sha256(const void *p, size_t n, uint8_t out[SHA256_BYTES]);
const char *sha256_hex(const void *p, size_t n, char out[SHA256_HEX]);
struct sha256_state {
    _Alignas(8) unsigned char opaque[128];
};
void sha256_start(struct sha256_state *s);
void sha256_add(struct sha256_state *s, const void *p, size_t n);
void sha256_end(struct sha256_state *s, uint8_t out[SHA256_BYTES]);
void hmac_sha256(const void *key, size_t key_n, const void *p, size_t n, uint8_t out[SHA256_BYTES]);
bool bytes_equal(const void *a, const void *b, size_t n); /* constant time */
void random_bytes(void *out, size_t n);                   /* secrets; ids use env_random */

/* Argon2id (libsodium INTERACTIVE limits: 64 MiB, 2 passes). At most 2 run at once in a process. */
int password_hash(const char *password, char out[PASSWORD_HASH], struct sl_err *err);
bool password_ok(const char *password, const char *hash);

/* Ed25519. Keys and signatures in hex. */
void sign_keypair(char ret_public[SIGN_KEY_HEX], char ret_secret[SIGN_HEX]);
void sign_make(const char *secret_hex, const void *p, size_t n, char out[SIGN_HEX]);
bool sign_ok(const char *public_hex, const void *p, size_t n, const char *sig_hex);

void hex_encode(const void *p, size_t n, char *out);   /* 2n + 1 bytes */
bool hex_decode(const char *hex, void *out, size_t n); /* exactly 2n digits */
/* Standard base64 with padding; out holds base64_size(n) bytes. */
#define base64_size(n) (((n) + 2) / 3 * 4 + 1)
void base64_encode(const void *p, size_t n, char *out);
/* A secret in a row: hex of nonce and XSalsa20-Poly1305 box. out holds SEALED_HEX(n) bytes. */
enum { SEAL_EXTRA = 40 };
#define SEALED_HEX(n) (2 * ((n) + SEAL_EXTRA) + 1)
void secret_seal(const uint8_t key[32], const void *p, size_t n, char *out);
/* Bytes written to out, or -1 when the text was made under another key or changed. */
int secret_open(const uint8_t key[32], const char *sealed, void *out, size_t max);
/* Standard base64 with padding; returns bytes written or -1. */
int base64_decode(const char *text, size_t text_n, void *out, size_t max);
#endif
