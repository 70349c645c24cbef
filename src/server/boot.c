/* SPDX-License-Identifier: Apache-2.0 */
#include "server/boot.h"
#include <string.h>

/* Reads meta.key; when there is none stores `fresh`. Either way *ret has what the database holds.
 */
static int meta_keep(struct db_c *c, const char *key, const char *fresh, char *ret, size_t ret_n,
                     struct sl_err *err)
{
    if (db_exec(c, err, "INSERT INTO meta(key, value) VALUES(?1, ?2) ON CONFLICT (key) DO NOTHING",
                "tt", key, fresh) < 0)
        return -1;
    struct db_q q;
    int rc = db_row(c, &q, err, "SELECT value FROM meta WHERE key = ?1", "t", key);
    if (rc > 0)
        snprintf(ret, ret_n, "%s", db_text(&q, 0));
    db_done(&q);
    return rc < 0 ? -1 : 0;
}

static int keys_load(struct db_c *c, void *arg, struct sl_err *err)
{
    struct server *s = arg;
    char public[SIGN_KEY_HEX], secret[SIGN_HEX], lease_key[SHA256_HEX];
    uint8_t random[sizeof s->lease_key];
    sign_keypair(public, secret);
    random_bytes(random, sizeof random);
    hex_encode(random, sizeof random, lease_key);
    /* Public and secret key are one value, so that a pair never mixes two starts. */
    char pair[SIGN_KEY_HEX + SIGN_HEX + 1], kept[sizeof pair];
    snprintf(pair, sizeof pair, "%s %s", public, secret);
    if (meta_keep(c, "sign_key", pair, kept, sizeof kept, err) < 0 ||
        meta_keep(c, "lease_key", lease_key, lease_key, sizeof lease_key, err) < 0)
        return -1;
    if (strlen(kept) != sizeof pair - 2 || kept[SIGN_KEY_HEX - 1] != ' ' ||
        !hex_decode(lease_key, s->lease_key, sizeof s->lease_key))
        return sl_fail(err, SL_INTEGRITY,
                       "meta.sign_key or meta.lease_key is damaged; restore the database");
    memcpy(s->sign_public, kept, SIGN_KEY_HEX - 1);
    s->sign_public[SIGN_KEY_HEX - 1] = 0;
    memcpy(s->sign_secret, kept + SIGN_KEY_HEX, SIGN_HEX);
    return 0;
}

int server_open(struct server *s, bool inline_writes, struct sl_err *err)
{
    crypto_init();
    struct db_options o = {.path = s->conf.db_path, .inline_writes = inline_writes, .readers = 4};
    if (db_open(&o, server_migrations, &s->db, err) < 0)
        return -1;
    if (db_write(s->db, keys_load, s, err) < 0) {
        db_close(s->db);
        s->db = NULL;
        return -1;
    }
    return 0;
}

void server_close(struct server *s)
{
    db_close(s->db);
    s->db = NULL;
}
