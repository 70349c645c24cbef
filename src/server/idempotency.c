/* SPDX-License-Identifier: Apache-2.0 */
#include "server/idempotency.h"

enum { IDEM_KEY_MIN = 8 };

int idempotency_key_check(const struct req *r, struct sl_err *err)
{
    static const char field[] = "Idempotency-Key";
    if (!(r->route->flags & ROUTE_IDEMPOTENT))
        return 0;
    if (!r->idem_key)
        return sl_fail_at(
            err, SL_INVALID, field,
            "Idempotency-Key: missing; send a random text of %d to %d characters, and "
            "the same one when you repeat this request",
            IDEM_KEY_MIN, IDEM_KEY_MAX);
    size_t n = strlen(r->idem_key);
    for (const char *p = r->idem_key; *p; p++)
        if (*p <= ' ' || *p > '~')
            return sl_fail_at(err, SL_INVALID, field,
                              "Idempotency-Key: contains a blank or a character beyond ASCII; send "
                              "letters and digits");
    if (n < IDEM_KEY_MIN || n > IDEM_KEY_MAX)
        return sl_fail_at(err, SL_INVALID, field,
                          "Idempotency-Key: is %zu characters long; send %d to %d", n, IDEM_KEY_MIN,
                          IDEM_KEY_MAX);
    return 0;
}

static void hash_part(struct sha256_state *h, const char *p, size_t n)
{
    char len[32];
    int k = snprintf(len, sizeof len, "%zu:", n);
    sha256_add(h, len, (size_t)k);
    sha256_add(h, p, n);
}

static void request_hash(const struct req *r, const char *path, char out[SHA256_HEX])
{
    struct sha256_state h;
    uint8_t sum[SHA256_BYTES];
    sha256_start(&h);
    hash_part(&h, r->route->method, strlen(r->route->method));
    hash_part(&h, path, strlen(path));
    for (int i = 0; i < r->n_query; i++) {
        hash_part(&h, r->query[i].name, strlen(r->query[i].name));
        hash_part(&h, r->query[i].value, strlen(r->query[i].value));
    }
    hash_part(&h, r->raw ? r->raw : "", r->raw_n);
    sha256_end(&h, sum);
    hex_encode(sum, sizeof sum, out);
}

int idempotency_find(struct db_c *c, struct req *r, const char *path, struct reply *out,
                     struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(c, &q, err,
                    "SELECT request_hash, status, body FROM idempotency WHERE account_id = ?1 AND "
                    "key = ?2",
                    "tt", r->caller.account_id, r->idem_key);
    if (rc <= 0)
        return rc;
    char hash[SHA256_HEX];
    request_hash(r, path, hash);
    if (!sl_streq(hash, db_text(&q, 0))) {
        db_done(&q);
        return sl_fail_at(err, SL_KEY_REUSED, "Idempotency-Key",
                          "Idempotency-Key: \"%.60s\" was used for another request; send a new key",
                          r->idem_key);
    }
    out->status = (int)db_int(&q, 1);
    sl_buf_clear(&out->body);
    sl_buf_adds(&out->body, db_text(&q, 2));
    out->replayed = true;
    db_done(&q);
    return 1;
}

int idempotency_store(struct db_c *c, struct req *r, const char *path, const struct reply *out,
                      struct sl_err *err)
{
    char hash[SHA256_HEX];
    request_hash(r, path, hash);
    const char *body = sl_buf_str(out->stored.n ? &out->stored : &out->body);
    return db_exec(
        c, err,
        "INSERT INTO idempotency(account_id, key, request_hash, status, body, created_us) "
        "VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
        "tttiti", r->caller.account_id, r->idem_key, hash, (int64_t)out->status, body,
        env_now(r->s->env));
}
