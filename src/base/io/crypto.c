/* SPDX-License-Identifier: Apache-2.0 */
#include "crypto.h"
#include "base/core/mem.h"
#include <nettle/sha2.h>
#include <pthread.h>
#include <semaphore.h>
#include <sodium.h>
#include <string.h>

static sem_t hashing; /* Argon2id takes 64 MiB each: bound them */

static void init_once(void)
{
    SL_ASSERT(sodium_init() >= 0);
    SL_ASSERT(sem_init(&hashing, 0, 2) == 0);
}

void crypto_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_once);
}

void sha256(const void *p, size_t n, uint8_t out[SHA256_BYTES])
{
    struct sha256_ctx h; /* nettle's uses the processor's instructions, libsodium's does not */
    sha256_init(&h);
    sha256_update(&h, n, p);
    sha256_digest(&h, SHA256_BYTES, out);
}

const char *sha256_hex(const void *p, size_t n, char out[SHA256_HEX])
{
    uint8_t h[SHA256_BYTES];
    sha256(p, n, h);
    hex_encode(h, sizeof h, out);
    return out;
}

_Static_assert(sizeof(struct sha256_ctx) <= sizeof(struct sha256_state), "state fits");

void sha256_start(struct sha256_state *s)
{
    sha256_init((struct sha256_ctx *)s);
}

void sha256_add(struct sha256_state *s, const void *p, size_t n)
{
    sha256_update((struct sha256_ctx *)s, n, p);
}

void sha256_end(struct sha256_state *s, uint8_t out[SHA256_BYTES])
{
    sha256_digest((struct sha256_ctx *)s, SHA256_BYTES, out);
}

void hmac_sha256(const void *key, size_t key_n, const void *p, size_t n, uint8_t out[SHA256_BYTES])
{
    crypto_auth_hmacsha256_state st;
    crypto_auth_hmacsha256_init(&st, key, key_n);
    crypto_auth_hmacsha256_update(&st, p, n);
    crypto_auth_hmacsha256_final(&st, out);
}

bool bytes_equal(const void *a, const void *b, size_t n)
{
    return sodium_memcmp(a, b, n) == 0;
}

void random_bytes(void *out, size_t n)
{
    crypto_init();
    randombytes_buf(out, n);
}

int password_hash(const char *password, char out[PASSWORD_HASH], struct sl_err *err)
{
    _Static_assert(crypto_pwhash_STRBYTES <= PASSWORD_HASH, "hash text fits");
    crypto_init();
    memset(out, 0, PASSWORD_HASH);
    while (sem_wait(&hashing) != 0)
        ;
    int rc = crypto_pwhash_str(out, password, strlen(password), crypto_pwhash_OPSLIMIT_INTERACTIVE,
                               crypto_pwhash_MEMLIMIT_INTERACTIVE);
    sem_post(&hashing);
    return rc == 0 ? 0 : sl_fail(err, SL_UNAVAILABLE, "no memory to hash a password; try again");
}

bool password_ok(const char *password, const char *hash)
{
    crypto_init();
    while (sem_wait(&hashing) != 0)
        ;
    int rc = crypto_pwhash_str_verify(hash, password, strlen(password));
    sem_post(&hashing);
    return rc == 0;
}

void sign_keypair(char ret_public[SIGN_KEY_HEX], char ret_secret[SIGN_HEX])
{
    uint8_t pk[crypto_sign_PUBLICKEYBYTES], sk[crypto_sign_SECRETKEYBYTES];
    crypto_init();
    crypto_sign_keypair(pk, sk);
    hex_encode(pk, sizeof pk, ret_public);
    hex_encode(sk, sizeof sk, ret_secret);
    sodium_memzero(sk, sizeof sk);
}

void sign_make(const char *secret_hex, const void *p, size_t n, char out[SIGN_HEX])
{
    uint8_t sk[crypto_sign_SECRETKEYBYTES], sig[crypto_sign_BYTES];
    SL_ASSERT(hex_decode(secret_hex, sk, sizeof sk));
    SL_ASSERT(crypto_sign_detached(sig, NULL, p, n, sk) == 0);
    hex_encode(sig, sizeof sig, out);
    sodium_memzero(sk, sizeof sk);
}

bool sign_ok(const char *public_hex, const void *p, size_t n, const char *sig_hex)
{
    uint8_t pk[crypto_sign_PUBLICKEYBYTES], sig[crypto_sign_BYTES];
    return hex_decode(public_hex, pk, sizeof pk) && hex_decode(sig_hex, sig, sizeof sig) &&
           crypto_sign_verify_detached(sig, p, n, pk) == 0;
}

void hex_encode(const void *p, size_t n, char *out)
{
    sodium_bin2hex(out, 2 * n + 1, p, n);
}

bool hex_decode(const char *hex, void *out, size_t n)
{
    size_t got;
    return strlen(hex) == 2 * n && sodium_hex2bin(out, n, hex, 2 * n, NULL, &got, NULL) == 0 &&
           got == n;
}

int base64_decode(const char *text, size_t text_n, void *out, size_t max)
{
    size_t got;
    const char *end;
    if (sodium_base642bin(out, max, text, text_n, NULL, &got, &end,
                          sodium_base64_VARIANT_ORIGINAL) != 0 ||
        end != text + text_n)
        return -1;
    return (int)got;
}

void base64_encode(const void *p, size_t n, char *out)
{
    sodium_bin2base64(out, base64_size(n), p, n, sodium_base64_VARIANT_ORIGINAL);
}

void secret_seal(const uint8_t key[32], const void *p, size_t n, char *out)
{
    uint8_t *box = sl_alloc(n + SEAL_EXTRA);
    SL_ASSERT(SEAL_EXTRA == crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES);
    randombytes_buf(box, crypto_secretbox_NONCEBYTES);
    crypto_secretbox_easy(box + crypto_secretbox_NONCEBYTES, p, n, box, key);
    hex_encode(box, n + SEAL_EXTRA, out);
    free(box);
}

int secret_open(const uint8_t key[32], const char *sealed, void *out, size_t max)
{
    size_t n = strlen(sealed) / 2;
    if (n < SEAL_EXTRA || n - SEAL_EXTRA > max)
        return -1;
    uint8_t *box = sl_alloc(n);
    int rc = hex_decode(sealed, box, n)
                 ? crypto_secretbox_open_easy(out, box + crypto_secretbox_NONCEBYTES,
                                              n - crypto_secretbox_NONCEBYTES, box, key)
                 : -1;
    free(box);
    return rc < 0 ? -1 : (int)(n - SEAL_EXTRA);
}
