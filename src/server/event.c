/* SPDX-License-Identifier: Apache-2.0 */
#include "server/event.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { EVENTS_MAX = 100 };

/* ---- the chain ---- */
struct event_row {
    int64_t seq, t_us;
    const char *id, *account_id, *noun, *ref, *type, *actor, *data, *prev_hash;
};

static char *add_text(char *p, const char *s)
{
    size_t n = strlen(s);
    p += snprintf(p, 32, "%zu:", n); /* the length in front keeps neighbours apart */
    memcpy(p, s, n);
    return p + n;
}

static void event_hash(const struct event_row *e, char out[SHA256_HEX])
{
    char numbers[64], small[2048], *text = small;
    snprintf(numbers, sizeof numbers, "%lld %lld", (long long)e->seq, (long long)e->t_us);
    const char *parts[] = {numbers, e->id,    e->account_id, e->noun,     e->ref,
                           e->type, e->actor, e->data,       e->prev_hash};
    size_t most = 0;
    for (size_t i = 0; i < SL_COUNT(parts); i++)
        most += strlen(parts[i]) + 32;
    if (most > sizeof small)
        text = sl_alloc(most);
    char *p = text;
    for (size_t i = 0; i < SL_COUNT(parts); i++)
        p = add_text(p, parts[i]);
    sha256_hex(text, (size_t)(p - text), out);
    if (text != small)
        free(text);
}

int event_add(struct db_c *c, struct server *s, const char *account_id, const char *noun,
              const char *ref, const char *type, const char *actor, const char *data_json,
              struct sl_err *err)
{
    char id[ID_TEXT], prev[SHA256_HEX] = "", hash[SHA256_HEX];
    struct db_q q;
    int64_t seq = 1;
    int rc = db_row(c, &q, err, "SELECT seq, hash FROM event ORDER BY seq DESC LIMIT 1", "");
    if (rc < 0)
        return -1;
    if (rc > 0) {
        seq = db_int(&q, 0) + 1;
        snprintf(prev, sizeof prev, "%s", db_text(&q, 1));
        db_done(&q);
    }
    struct event_row e = {
        seq,  env_now(s->env), env_id(s->env, "evt", id),    account_id, noun, ref,
        type, actor,           data_json ? data_json : "{}", prev};
    event_hash(&e, hash);
    return db_exec(c, err,
                   "INSERT INTO event(seq, id, account_id, noun, ref, type, actor, data, t_us, "
                   "prev_hash, hash) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                   "itttttttitt", e.seq, e.id, e.account_id, e.noun, e.ref, e.type, e.actor, e.data,
                   e.t_us, e.prev_hash, hash);
}

int event_chain_check(struct db_c *c, int64_t *ret_bad_seq, int64_t *ret_rows, struct sl_err *err)
{
    struct db_q q;
    char prev[SHA256_HEX] = "", hash[SHA256_HEX];
    int rc;
    *ret_bad_seq = *ret_rows = 0;
    if (db_query(c, &q, err,
                 "SELECT seq, t_us, id, account_id, noun, ref, type, actor, data, prev_hash, hash "
                 "FROM event ORDER BY seq",
                 "") < 0)
        return -1;
    while ((rc = db_next(&q, err)) > 0 && !*ret_bad_seq) {
        struct event_row e = {
            db_int(&q, 0),  db_int(&q, 1),  db_text(&q, 2), db_text(&q, 3), db_text(&q, 4),
            db_text(&q, 5), db_text(&q, 6), db_text(&q, 7), db_text(&q, 8), prev};
        event_hash(&e, hash);
        ++*ret_rows;
        if (e.seq != *ret_rows || !sl_streq(db_text(&q, 9), prev) ||
            !sl_streq(db_text(&q, 10), hash))
            *ret_bad_seq = *ret_rows;
        memcpy(prev, hash, sizeof prev);
    }
    db_done(&q);
    return rc < 0 ? -1 : 0;
}

/* ---- reading ---- */
void event_write(struct jw *w, const char *key, struct db_q *q)
{
    jw_object(w, key);
    jw_int(w, "seq", db_int(q, 0));
    jw_str(w, "id", db_text(q, 1));
    jw_str(w, "account", db_text(q, 2));
    jw_str(w, "noun", db_text(q, 3));
    jw_str(w, "ref", db_text(q, 4));
    jw_str(w, "type", db_text(q, 5));
    jw_str(w, "actor", db_text(q, 6));
    jw_raw(w, "data", db_text(q, 7));
    jw_time(w, "time", db_int(q, 8));
    jw_str(w, "hash", db_text(q, 9));
    jw_end(w);
}

int events_after(struct db_c *c, const struct caller *who, int64_t after, int64_t limit,
                 struct db_q *q, struct sl_err *err)
{
    if (who->role == ROLE_OPERATOR)
        return db_query(c, q, err,
                        "SELECT " EVENT_COLUMNS " FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2",
                        "ii", after, limit);
    return db_query(c, q, err,
                    "SELECT " EVENT_COLUMNS
                    " FROM event WHERE account_id = ?1 AND seq > ?2 ORDER BY "
                    "seq LIMIT ?3",
                    "tii", who->account_id, after, limit);
}

/* Newest first, before a seq, of one thing or of all. */
static int events_before(struct db_c *c, const struct caller *who, const char *ref, int64_t before,
                         int64_t limit, struct db_q *q, struct sl_err *err)
{
    const char *account = who->role == ROLE_OPERATOR ? "" : who->account_id;
    if (*ref)
        return db_query(c, q, err,
                        "SELECT " EVENT_COLUMNS " FROM event WHERE ref = ?1 AND noun = 'lease' AND "
                        "seq < ?2 AND (?3 = '' OR account_id = ?3) ORDER BY seq DESC LIMIT ?4",
                        "titi", ref, before, account, limit);
    if (!*account)
        return db_query(c, q, err,
                        "SELECT " EVENT_COLUMNS
                        " FROM event WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2",
                        "ii", before, limit);
    return db_query(c, q, err,
                    "SELECT " EVENT_COLUMNS " FROM event WHERE account_id = ?1 AND seq < ?2 ORDER "
                    "BY seq DESC LIMIT ?3",
                    "tii", account, before, limit);
}

static int number(const struct req *r, const char *name, int64_t min, int64_t max, int64_t *ret,
                  struct sl_err *err)
{
    const char *text = req_query(r, name);
    long long v;
    if (!text)
        return 0;
    if (!sl_parse_i64(text, &v) || v < min || v > max)
        return sl_fail_at(err, SL_INVALID, name, "%s: \"%.40s\" is not a number from %lld to %lld",
                          name, text, (long long)min, (long long)max);
    *ret = v;
    return 0;
}

int event_list(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    int64_t after = 0, limit = 50, last = 0, n = 0;
    if (number(r, "after", 0, INT64_MAX, &after, err) < 0 ||
        number(r, "limit", 1, EVENTS_MAX, &limit, err) < 0)
        return -1;
    struct db_q q;
    int rc;
    int64_t before = 0;
    const char *lease = req_query(r, "lease");
    if (number(r, "before", 1, INT64_MAX, &before, err) < 0)
        return -1;
    if (lease && !before)
        before = INT64_MAX;
    if (before && after)
        return sl_fail_at(err, SL_INVALID, "before", "before: does not go with after; send one");
    if (before ? events_before(c, &r->caller, lease ? lease : "", before, limit, &q, err) < 0
               : events_after(c, &r->caller, after, limit, &q, err) < 0)
        return -1;
    reply_list(out);
    while ((rc = db_next(&q, err)) > 0) {
        event_write(&out->json, NULL, &q);
        last = db_int(&q, 0);
        n++;
    }
    db_done(&q);
    char next[32];
    snprintf(next, sizeof next, "%lld", (long long)last);
    reply_list_end(out, n == limit ? next : NULL);
    return rc < 0 ? -1 : 0;
}

/* ---- the bus ---- */
struct bus {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    uint64_t pokes; /* under lock */
};

struct bus *bus_new(void)
{
    struct bus *b = sl_alloc(sizeof *b);
    pthread_condattr_t attr;
    pthread_mutex_init(&b->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&b->cond, &attr);
    pthread_condattr_destroy(&attr);
    return b;
}

void bus_free(struct bus *b)
{
    if (!b)
        return;
    pthread_cond_destroy(&b->cond);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

void bus_poke(struct server *s)
{
    if (!s->bus)
        return;
    pthread_mutex_lock(&s->bus->lock);
    s->bus->pokes++;
    pthread_cond_broadcast(&s->bus->cond);
    pthread_mutex_unlock(&s->bus->lock);
}

uint64_t bus_wait(struct bus *b, uint64_t seen, int ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000L;
    if (until.tv_nsec >= 1000000000L)
        until.tv_sec++, until.tv_nsec -= 1000000000L;
    pthread_mutex_lock(&b->lock);
    while (b->pokes == seen)
        if (pthread_cond_timedwait(&b->cond, &b->lock, &until) == ETIMEDOUT)
            break;
    uint64_t now = b->pokes;
    pthread_mutex_unlock(&b->lock);
    return now;
}
