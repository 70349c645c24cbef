/* SPDX-License-Identifier: Apache-2.0 */
#include "server/key.h"
#include "server/event.h"
#include "server/ssh_key.h"

enum { KEYS_MAX = 50 };

const struct jr_field key_fields[] = {{"name", JR_K_STR, 0, offsetof(struct key_want, name), 1, 63,
                                       .doc = "a-z 0-9 and -; default: from the fingerprint"},
                                      {"key", JR_K_STR, JR_REQUIRED, offsetof(struct key_want, key),
                                       1, 8000,
                                       .doc = "one line of a .pub file: TYPE BASE64 [COMMENT]"},
                                      {0}};

#define KEY_COLUMNS "id, name, type, fingerprint, created_us"

static void key_write(struct jw *w, struct db_q *q)
{
    jw_object(w, NULL);
    jw_str(w, "id", db_text(q, 0));
    jw_str(w, "name", db_text(q, 1));
    jw_str(w, "type", db_text(q, 2));
    jw_str(w, "fingerprint", db_text(q, 3));
    jw_time(w, "created", db_int(q, 4));
    jw_end(w);
}

int key_list(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct db_q q;
    int64_t limit, n = 0;
    const char *cursor;
    char last[ID_TEXT] = "";
    int rc;
    if (req_page(r, &limit, &cursor, err) < 0 ||
        db_query(c, &q, err,
                 "SELECT " KEY_COLUMNS
                 " FROM ssh_key WHERE account_id = ?1 AND id > ?2 ORDER BY id "
                 "LIMIT ?3",
                 "tti", r->caller.account_id, cursor, limit) < 0)
        return -1;
    reply_list(out);
    while ((rc = db_next(&q, err)) > 0) {
        key_write(&out->json, &q);
        snprintf(last, sizeof last, "%s", db_text(&q, 0));
        n++;
    }
    db_done(&q);
    reply_list_end(out, n == limit ? last : NULL);
    return rc < 0 ? -1 : 0;
}

static int key_free(struct db_c *c, const char *account_id, const char *name,
                    const struct ssh_key *k, struct sl_err *err)
{
    int64_t same_key, same_name, count;
    if (db_value(c, 0, &same_key, err,
                 "SELECT 1 FROM ssh_key WHERE account_id = ?1 AND fingerprint = ?2", "tt",
                 account_id, k->fingerprint) < 0 ||
        db_value(c, 0, &same_name, err, "SELECT 1 FROM ssh_key WHERE account_id = ?1 AND name = ?2",
                 "tt", account_id, name) < 0 ||
        db_value(c, 0, &count, err, "SELECT COUNT(*) FROM ssh_key WHERE account_id = ?1", "t",
                 account_id) < 0)
        return -1;
    if (same_key)
        return sl_fail_at(err, SL_CONFLICT, "key", "key: %s is already in the account",
                          k->fingerprint);
    if (same_name)
        return sl_fail_at(err, SL_CONFLICT, "name", "name: \"%s\" is taken by another key", name);
    if (count >= KEYS_MAX)
        return sl_fail(err, SL_QUOTA, "keys: the account has %d, the most; delete some", KEYS_MAX);
    return 0;
}

int key_create(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    const struct key_want *want = r->body;
    const char *account = r->caller.account_id;
    struct ssh_key k;
    char id[ID_TEXT], auto_name[32], hash[SHA256_HEX];
    if (ssh_key_parse(want->key, "key", &k, err) < 0)
        return -1;
    snprintf(auto_name, sizeof auto_name, "key-%.8s",
             sha256_hex(k.fingerprint, strlen(k.fingerprint), hash));
    const char *name = want->name ? want->name : auto_name;
    if (!name_ok(name))
        return sl_fail_at(err, SL_INVALID, "name",
                          "name: \"%.63s\" is not a name; use a-z, 0-9 and -, beginning and ending "
                          "with a letter or digit",
                          name);
    if (key_free(c, account, name, &k, err) < 0 ||
        db_exec(c, err,
                "INSERT INTO ssh_key(id, account_id, name, type, line, fingerprint, created_us) "
                "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                "tttttti", env_id(r->s->env, "key", id), account, name, k.type, k.line,
                k.fingerprint, env_now(r->s->env)) < 0 ||
        event_add(c, r->s, account, "key", id, "key.added", account, NULL, err) < 0)
        return -1;
    struct db_q q;
    int rc = db_row(c, &q, err, "SELECT " KEY_COLUMNS " FROM ssh_key WHERE id = ?1", "t", id);
    if (rc < 0)
        return -1;
    SL_ASSERT(rc == 1);
    key_write(&out->json, &q);
    db_done(&q);
    out->status = 201;
    snprintf(out->location, sizeof out->location, "/v1/keys/%s", id);
    return 0;
}

int key_delete(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    int64_t changed;
    if (db_exec_n(c, &changed, err, "DELETE FROM ssh_key WHERE id = ?1 AND account_id = ?2", "tt",
                  r->path[0], r->caller.account_id) < 0)
        return -1;
    if (!changed)
        return sl_fail(err, SL_NOT_FOUND, "key: there is no %.40s; see GET /v1/keys", r->path[0]);
    out->status = 204;
    return event_add(c, r->s, r->caller.account_id, "key", r->path[0], "key.deleted",
                     r->caller.account_id, NULL, err);
}

int key_lines(struct db_c *c, const char *account_id, const char *const *ids, int n,
              struct sl_arena *a, const char **ret_json, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(KEYS_MAX * SSH_KEY_LINE * 2);
    struct jw w = {.b = &b};
    struct db_q q;
    int rc = 0;
    jw_array(&w, NULL);
    for (int i = 0; i < n; i++) {
        rc = db_row(c, &q, err, "SELECT line FROM ssh_key WHERE account_id = ?1 AND id = ?2", "tt",
                    account_id, ids[i]);
        if (rc < 0)
            return -1;
        if (rc == 0)
            return sl_fail_at(err, SL_NOT_FOUND, "keys",
                              "keys: there is no key %.40s; see GET /v1/keys", ids[i]);
        jw_str(&w, NULL, db_text(&q, 0));
        db_done(&q);
    }
    if (n == 0) {
        if (db_query(c, &q, err, "SELECT line FROM ssh_key WHERE account_id = ?1 ORDER BY id", "t",
                     account_id) < 0)
            return -1;
        while ((rc = db_next(&q, err)) > 0)
            jw_str(&w, NULL, db_text(&q, 0));
        db_done(&q);
        if (rc < 0)
            return -1;
    }
    jw_end(&w);
    *ret_json = sl_arena_strdup(a, sl_buf_str(&b));
    return 0;
}
