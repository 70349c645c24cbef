/* SPDX-License-Identifier: Apache-2.0 */
#include "server/tls.h"
#include "base/core/log.h"
#include "base/io/proc.h"
#include <arpa/inet.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHAIN_MAX = 16, PEM_MAX = 256 * 1024, SELF_SIGNED_DAYS = 3650 };

/* A loaded pair. Handshakes may still use an old one after a reload, so all live until tls_close.
 */
struct pair {
    struct pair *older;
    gnutls_pcert_st chain[CHAIN_MAX];
    unsigned n;
    gnutls_privkey_t key;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* under lock */
static struct pair *current;
static struct timespec cert_time, key_time;
static int64_t looked_us, loads;
/* set once by tls_open */
static struct env *env;
static char *cert_path, *key_path;

static void pair_free(struct pair *p)
{
    for (unsigned i = 0; i < p->n; i++)
        gnutls_pcert_deinit(&p->chain[i]);
    if (p->key)
        gnutls_privkey_deinit(p->key);
    free(p);
}

static int pair_load(struct pair **ret, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf cert = SL_BUF(PEM_MAX), key = SL_BUF(PEM_MAX);
    if (file_read(cert_path, PEM_MAX, &cert, err) < 0 ||
        file_read(key_path, PEM_MAX, &key, err) < 0)
        return -1;
    struct pair *p = sl_alloc(sizeof *p);
    gnutls_datum_t c = {(unsigned char *)cert.p, (unsigned)cert.n},
                   k = {(unsigned char *)key.p, (unsigned)key.n};
    p->n = CHAIN_MAX;
    int rc = gnutls_pcert_list_import_x509_raw(p->chain, &p->n, &c, GNUTLS_X509_FMT_PEM, 0);
    if (rc < 0)
        p->n = 0;
    if (rc >= 0)
        rc = gnutls_privkey_init(&p->key);
    if (rc >= 0)
        rc = gnutls_privkey_import_x509_raw(p->key, &k, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (rc < 0) {
        pair_free(p);
        return sl_fail(err, SL_INVALID, "%s and %s are no certificate with its key: %s", cert_path,
                       key_path, gnutls_strerror(rc));
    }
    *ret = p;
    return 0;
}

static struct timespec mtime(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_mtim : (struct timespec){0};
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* With the lock held. */
static int load(struct sl_err *err)
{
    struct timespec ct = mtime(cert_path), kt = mtime(key_path);
    struct pair *p = NULL;
    if (pair_load(&p, err) < 0)
        return -1;
    p->older = current;
    current = p;
    cert_time = ct, key_time = kt;
    loads++;
    return 0;
}

static void look_again(void)
{
    int64_t now = env_mono(env);
    if (now - looked_us < SL_SEC)
        return;
    looked_us = now;
    if (same_time(cert_time, mtime(cert_path)) && same_time(key_time, mtime(key_path)))
        return;
    struct sl_err err = {0};
    char quoted[LOG_QUOTED];
    if (load(&err) < 0)
        log_warn("tls.reload_failed", "error=%s", log_quote(err.msg, quoted));
    else
        log_info("tls.reloaded", "cert=%s", log_quote(cert_path, quoted));
}

static int retrieve(gnutls_session_t session, const gnutls_datum_t *names, int n_names,
                    const gnutls_pk_algorithm_t *algorithms, int n_algorithms,
                    gnutls_pcert_st **ret_chain, unsigned *ret_n, gnutls_privkey_t *ret_key)
{
    (void)session, (void)names, (void)n_names, (void)algorithms, (void)n_algorithms;
    pthread_mutex_lock(&lock);
    look_again();
    *ret_chain = current->chain;
    *ret_n = current->n;
    *ret_key = current->key;
    pthread_mutex_unlock(&lock);
    return 0;
}

void *tls_callback(void)
{
    gnutls_certificate_retrieve_function2 *fn = retrieve;
    return (void *)fn;
}

int64_t tls_loads(void)
{
    pthread_mutex_lock(&lock);
    int64_t n = loads;
    pthread_mutex_unlock(&lock);
    return n;
}

/* ---- self-signed ---- */
static int add_names(gnutls_x509_crt_t crt, const char *addresses)
{
    char host[256] = "localhost";
    SL_AUTO_ARENA struct sl_arena arena = {0};
    const char *word;
    int rc = gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, "localhost", 9,
                                                  GNUTLS_FSAN_SET);
    if (gethostname(host, sizeof host - 1) == 0 && !sl_streq(host, "localhost") && rc >= 0)
        rc = gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, host,
                                                  (unsigned)strlen(host), GNUTLS_FSAN_APPEND);
    while (rc >= 0 && (word = conf_word(&addresses, &arena))) {
        unsigned char ip[16];
        int family = strchr(word, ':') ? AF_INET6 : AF_INET;
        if (inet_pton(family, word, ip) == 1)
            rc = gnutls_x509_crt_set_subject_alt_name(
                crt, GNUTLS_SAN_IPADDRESS, ip, family == AF_INET ? 4 : 16, GNUTLS_FSAN_APPEND);
    }
    return rc < 0 ? rc : gnutls_x509_crt_set_dn(crt, "CN=starlease", NULL);
}

static int fill(gnutls_x509_crt_t crt, gnutls_x509_privkey_t key, const char *addresses)
{
    unsigned char serial[16];
    time_t now = (time_t)(env_now(env) / SL_SEC);
    random_bytes(serial, sizeof serial);
    serial[0] &= 0x7f; /* a positive number */
    int rc = gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                          GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    if (rc >= 0)
        rc = gnutls_x509_crt_set_version(crt, 3);
    if (rc >= 0)
        rc = gnutls_x509_crt_set_serial(crt, serial, sizeof serial);
    if (rc >= 0)
        rc = gnutls_x509_crt_set_activation_time(crt, now - 3600);
    if (rc >= 0)
        rc = gnutls_x509_crt_set_expiration_time(crt, now + SELF_SIGNED_DAYS * 86400L);
    if (rc >= 0)
        rc = add_names(crt, addresses);
    if (rc >= 0)
        rc = gnutls_x509_crt_set_key(crt, key);
    if (rc >= 0) /* a client that trusts this file treats it as its own authority */
        rc = gnutls_x509_crt_set_basic_constraints(crt, 1, 0);
    if (rc >= 0)
        rc = gnutls_x509_crt_set_key_usage(crt,
                                           GNUTLS_KEY_DIGITAL_SIGNATURE | GNUTLS_KEY_KEY_CERT_SIGN);
    if (rc >= 0)
        rc = gnutls_x509_crt_set_key_purpose_oid(crt, GNUTLS_KP_TLS_WWW_SERVER, 0);
    return rc < 0 ? rc : gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0);
}

static int self_sign(const char *addresses, struct sl_err *err)
{
    gnutls_x509_crt_t crt = NULL;
    gnutls_x509_privkey_t key = NULL;
    gnutls_datum_t crt_pem = {0}, key_pem = {0};
    int rc = gnutls_x509_crt_init(&crt), out = -1;
    if (rc >= 0)
        rc = gnutls_x509_privkey_init(&key);
    if (rc >= 0)
        rc = fill(crt, key, addresses);
    if (rc >= 0)
        rc = gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &crt_pem);
    if (rc >= 0)
        rc = gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN,
                                               &key_pem);
    if (rc < 0)
        sl_fail(err, SL_INTERNAL, "cannot make a certificate: %s", gnutls_strerror(rc));
    else if (file_write(key_path, key_pem.data, key_pem.size, 0600, err) == 0 &&
             file_write(cert_path, crt_pem.data, crt_pem.size, 0644, err) == 0)
        out = 0;
    gnutls_free(crt_pem.data);
    gnutls_free(key_pem.data);
    gnutls_x509_privkey_deinit(key);
    gnutls_x509_crt_deinit(crt);
    return out;
}

int tls_open(struct server *s, const char *addresses, struct sl_err *err)
{
    const struct server_conf *f = &s->conf;
    bool own = !*f->tls_cert;
    env = s->env;
    cert_path = own ? sl_asprintf("%s/tls.crt", f->data_dir) : sl_strdup(f->tls_cert);
    key_path = own ? sl_asprintf("%s/tls.key", f->data_dir) : sl_strdup(f->tls_key);
    if (own && (access(cert_path, R_OK) != 0 || access(key_path, R_OK) != 0)) {
        if (self_sign(addresses, err) < 0)
            return -1;
        char quoted[LOG_QUOTED];
        log_info("tls.self_signed", "cert=%s", log_quote(cert_path, quoted));
    }
    pthread_mutex_lock(&lock);
    int rc = load(err);
    pthread_mutex_unlock(&lock);
    return rc;
}

void tls_close(void)
{
    while (current) {
        struct pair *p = current;
        current = p->older;
        pair_free(p);
    }
    free(cert_path);
    free(key_path);
    cert_path = key_path = NULL;
}
