/* SPDX-License-Identifier: Apache-2.0 */
#include "server/auth.h"
#include "base/core/map.h"
#include <pthread.h>
#include <strings.h>

enum { USED_MAX = 10000 };

static int refuse(struct sl_err *err)
{
    return sl_fail(err, SL_UNAUTHENTICATED,
                   "token: not valid (unknown, expired or revoked); sign in again with POST "
                   "/v1/sessions");
}

/* ---- lease tokens: slt_LEASE.EPOCH.MAC ---- */
static void lease_mac(struct server *s, const char *lease_id, int64_t epoch, char out[SHA256_HEX])
{
    char text[ID_TEXT + 32];
    uint8_t mac[SHA256_BYTES];
    int n = snprintf(text, sizeof text, "%s|%lld", lease_id, (long long)epoch);
    hmac_sha256(s->lease_key, sizeof s->lease_key, text, (size_t)n, mac);
    hex_encode(mac, sizeof mac, out);
}

const char *lease_token(struct server *s, const char *lease_id, int64_t epoch,
                        char out[LEASE_TOKEN_TEXT])
{
    char mac[SHA256_HEX];
    lease_mac(s, lease_id, epoch, mac);
    snprintf(out, LEASE_TOKEN_TEXT, "slt_%s.%lld.%s", lease_id, (long long)epoch, mac);
    return out;
}

bool lease_token_check(struct server *s, const char *token, char ret_lease_id[ID_TEXT],
                       int64_t *ret_epoch)
{
    char epoch_text[24], want[SHA256_HEX];
    long long epoch;
    if (!sl_starts(token, "slt_"))
        return false;
    const char *id = token + 4, *dot = strchr(id, '.'), *dot2 = dot ? strchr(dot + 1, '.') : NULL;
    if (!dot2 || dot - id >= ID_TEXT || dot2 - dot - 1 >= (int)sizeof epoch_text ||
        strlen(dot2 + 1) != SHA256_HEX - 1)
        return false;
    snprintf(ret_lease_id, ID_TEXT, "%.*s", (int)(dot - id), id);
    snprintf(epoch_text, sizeof epoch_text, "%.*s", (int)(dot2 - dot - 1), dot + 1);
    if (!id_ok(ret_lease_id, "lea") || !sl_parse_i64(epoch_text, &epoch) || epoch < 0)
        return false;
    lease_mac(s, ret_lease_id, epoch, want);
    *ret_epoch = epoch;
    return bytes_equal(want, dot2 + 1, SHA256_HEX - 1);
}

/* ---- last use, written in bulk ---- */
static pthread_mutex_t used_lock = PTHREAD_MUTEX_INITIALIZER;
static struct used {
    char id[ID_TEXT];
    int64_t t_us;
} used[USED_MAX];
static int n_used;            /* under used_lock, as is used[] */
static struct sl_map used_at; /* token id -> &used[i]; under used_lock */

static void note_use(const char *token_id, int64_t now)
{
    pthread_mutex_lock(&used_lock);
    void **at = sl_map_put(&used_at, token_id, strlen(token_id));
    if (!*at && n_used < USED_MAX) {
        *at = &used[n_used++];
        snprintf(((struct used *)*at)->id, ID_TEXT, "%s", token_id);
    }
    if (*at)
        ((struct used *)*at)->t_us = now;
    pthread_mutex_unlock(&used_lock);
}

struct flush {
    struct used *v;
    int n;
};

static int write_used(struct db_c *c, void *arg, struct sl_err *err)
{
    struct flush *f = arg;
    for (int i = 0; i < f->n; i++)
        if (db_exec(c, err,
                    "UPDATE token SET last_used_us = ?2 WHERE id = ?1 AND last_used_us < ?2", "ti",
                    f->v[i].id, f->v[i].t_us) < 0)
            return -1;
    return 0;
}

int auth_flush_used(struct server *s, struct sl_err *err)
{
    pthread_mutex_lock(&used_lock);
    SL_AUTO_FREE struct used *copy = sl_alloc(sizeof *copy * (size_t)(n_used + 1));
    struct flush f = {copy, n_used};
    memcpy(copy, used, sizeof *copy * (size_t)n_used);
    n_used = 0;
    sl_map_free(&used_at);
    used_at = (struct sl_map){0};
    pthread_mutex_unlock(&used_lock);
    return f.n ? db_write(s->db, write_used, &f, err) : 0;
}

/* ---- the caller ---- */
static int person(struct db_c *c, struct server *s, const char *token, struct caller *ret,
                  struct sl_err *err)
{
    char hash[SHA256_HEX];
    struct db_q q;
    int64_t now = env_now(s->env);
    sha256_hex(token, strlen(token), hash);
    int rc =
        db_row(c, &q, err,
               "SELECT t.id, t.account_id, t.scopes, a.role FROM token t JOIN account a ON a.id "
               "= t.account_id WHERE t.hash = ?1 AND t.revoked_us = 0 AND t.expires_us > ?2",
               "ti", hash, now);
    if (rc <= 0)
        return rc < 0 ? -1 : refuse(err);
    snprintf(ret->token_id, ID_TEXT, "%s", db_text(&q, 0));
    snprintf(ret->account_id, ID_TEXT, "%s", db_text(&q, 1));
    ret->read_only = !strstr(db_text(&q, 2), "write");
    ret->role = sl_streq(db_text(&q, 3), "operator") ? ROLE_OPERATOR : ROLE_RENTER;
    db_done(&q);
    note_use(ret->token_id, now);
    return 0;
}

int auth_caller(struct db_c *c, struct server *s, const char *authorization, const char *address,
                struct caller *ret, struct sl_err *err)
{
    *ret = (struct caller){.role = ROLE_ANYONE, .address = address};
    if (!authorization)
        return 0;
    if (sl_starts(authorization, "Cookie ")) {
        /* a browser sends an old cookie along everywhere: on public pages it is nobody's */
        if (sl_starts(authorization + 7, "sls_") && person(c, s, authorization + 7, ret, err) == 0)
            return 0;
        *ret = (struct caller){.role = ROLE_ANYONE, .address = address};
        return err->code == SL_INTERNAL ? -1 : 0;
    }
    if (strncasecmp(authorization, "Bearer ", 7) != 0)
        return refuse(err);
    const char *token = authorization + 7;
    if (sl_starts(token, "slt_")) {
        if (!lease_token_check(s, token, ret->lease_id, &ret->epoch))
            return refuse(err);
        ret->role = ROLE_LEASE;
        return 0;
    }
    return sl_starts(token, "slk_") ? person(c, s, token, ret, err) : refuse(err);
}

/* ---- guessing ---- */
struct attempt {
    struct server *s;
    const struct delay_rule *rule;
    const char *key;
    int64_t wait_us; /* > 0: refused */
};

static int count_attempt(struct db_c *c, void *arg, struct sl_err *err)
{
    struct attempt *a = arg;
    int64_t now = env_now(a->s->env), fails = 0, until = 0, last = 0;
    struct db_q q;
    int rc = db_row(c, &q, err, "SELECT fails, until_us, last_us FROM login_delay WHERE key = ?1",
                    "t", a->key);
    if (rc < 0)
        return -1;
    if (rc > 0) {
        fails = db_int(&q, 0), until = db_int(&q, 1), last = db_int(&q, 2);
        db_done(&q);
    }
    a->wait_us = until > now ? until - now : 0;
    if (a->wait_us)
        return 0;
    if (now - last > 24 * 3600 * SL_SEC)
        fails = 0; /* a day of peace */
    fails++;
    int64_t wait_s = 0;
    if (fails >= a->rule->free) {
        int64_t step = fails - a->rule->free;
        wait_s = step < 30 ? (int64_t)1 << step : a->rule->max_s;
        if (wait_s > a->rule->max_s)
            wait_s = a->rule->max_s;
    }
    return db_exec(
        c, err,
        "INSERT INTO login_delay(key, fails, until_us, last_us) VALUES(?1, ?2, ?3, ?4) ON "
        "CONFLICT (key) DO UPDATE SET fails = ?2, until_us = ?3, last_us = ?4",
        "tiii", a->key, fails, now + wait_s * SL_SEC, now);
}

int delay_attempt(struct server *s, const struct delay_rule *rule, const char *who,
                  int64_t *ret_wait_s, struct sl_err *err)
{
    char key[400];
    snprintf(key, sizeof key, "%s%.300s", rule->what, who);
    struct attempt a = {.s = s, .rule = rule, .key = key};
    *ret_wait_s = 0;
    if (db_write(s->db, count_attempt, &a, err) < 0)
        return -1;
    if (!a.wait_us)
        return 0;
    *ret_wait_s = (a.wait_us + SL_SEC - 1) / SL_SEC;
    return sl_fail(err, SL_RATE, "too many attempts; wait %lld s and try again",
                   (long long)*ret_wait_s);
}

int delay_forgive(struct db_c *c, const struct delay_rule *rule, const char *who,
                  struct sl_err *err)
{
    char key[400];
    snprintf(key, sizeof key, "%s%.300s", rule->what, who);
    return db_exec(
        c, err,
        "UPDATE login_delay SET fails = fails - 1, until_us = 0 WHERE key = ?1 AND fails > 0", "t",
        key);
}

int delay_forget(struct db_c *c, const struct delay_rule *rule, const char *who, struct sl_err *err)
{
    char key[400];
    snprintf(key, sizeof key, "%s%.300s", rule->what, who);
    return db_exec(c, err, "DELETE FROM login_delay WHERE key = ?1", "t", key);
}
