/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mail.h"
#include "base/core/log.h"
#include "base/io/http_client.h"
#include "base/io/proc.h"
#include <ctype.h>
#include <pthread.h>
#include <time.h>

enum { QUEUE_MAX = 1000, TRIES_MAX = 3, RETRY_S = 5, MAIL_MAX = 64 * 1024 };

struct mail {
    struct mail *next;
    char *to, *subject, *text;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
/* under lock */
static struct mail *first, **last = &first;
static int queued;
static bool running, stopping;
static struct timespec stop_by;
static pthread_t thread;

bool email_ok(const char *email)
{
    const char *at = strchr(email, '@');
    size_t n = strlen(email);
    if (!at || at == email || at - email > 64 || n > 254 || strchr(at + 1, '@'))
        return false;
    for (const char *p = email; p < at; p++)
        if (!isalnum((unsigned char)*p) && !strchr(".!#$%&'*+/=?^_`{|}~-", *p))
            return false;
    if (*email == '.' || at[-1] == '.' || strstr(email, ".."))
        return false;
    for (const char *p = at + 1; *p;) { /* labels of the domain */
        size_t len = strcspn(p, ".");
        if (len == 0 || len > 63 || p[0] == '-' || p[len - 1] == '-')
            return false;
        for (size_t i = 0; i < len; i++)
            if (!isalnum((unsigned char)p[i]) && p[i] != '-')
                return false;
        p += len;
        if (*p == '.' && !*++p)
            return false;
    }
    return at[1] != 0;
}

static void date_add(struct sl_buf *b, int64_t t_us)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char t[TS_TEXT];
    ts_format(t_us, t); /* 2026-12-01T02:30:39Z */
    int month = (t[5] - '0') * 10 + (t[6] - '0');
    sl_buf_printf(b, "Date: %.2s %.3s %.4s %.8s +0000\r\n", t + 8, months + 3 * (month - 1), t,
                  t + 11);
}

void mail_compose(struct sl_buf *out, const char *from, const char *to, const char *subject,
                  const char *text, int64_t t_us, const char *id)
{
    sl_buf_printf(out, "From: %s\r\nTo: %s\r\nSubject: %s\r\n", from, to, subject);
    date_add(out, t_us);
    sl_buf_printf(out, "Message-ID: <%s@starlease>\r\nMIME-Version: 1.0\r\n", id);
    sl_buf_adds(out, "Content-Type: text/plain; charset=utf-8\r\n"
                     "Content-Transfer-Encoding: 8bit\r\nAuto-Submitted: auto-generated\r\n\r\n");
    for (const char *p = text; *p; p++)
        if (*p == '\n')
            sl_buf_adds(out, "\r\n");
        else
            sl_buf_addc(out, *p);
}

static int deliver_as(struct server *s, const char *id, const struct mail *m, struct sl_err *err);
static int deliver(struct server *s, const struct mail *m, struct sl_err *err)
{
    char id[ID_TEXT];
    return deliver_as(s, env_id(s->env, "eml", id), m, err);
}

static int deliver_as(struct server *s, const char *id, const struct mail *m, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(MAIL_MAX);
    mail_compose(&b, s->conf.mail_from, m->to, m->subject, m->text, env_now(s->env), id);
    if (*s->conf.mail_spool) {
        SL_AUTO_FREE char *path = sl_asprintf("%s/%s.eml", s->conf.mail_spool, id);
        return file_write(path, b.p, b.n, 0600, err);
    }
    return mail_send(s->conf.mail_url, s->conf.mail_from, m->to, sl_buf_str(&b), err);
}

/* Waits under the lock for s seconds, or less when the queue is being stopped. */
static void pause_s(int s)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += s;
    while (!stopping && pthread_cond_timedwait(&cond, &lock, &until) == 0)
        ;
}

static bool time_is_up(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return stopping && (now.tv_sec > stop_by.tv_sec ||
                        (now.tv_sec == stop_by.tv_sec && now.tv_nsec >= stop_by.tv_nsec));
}

static void mail_free(struct mail *m)
{
    free(m->to);
    free(m->subject);
    free(m->text);
    free(m);
}

/* With the lock held; gives it up while the network is used. */
static void send_one(struct server *s, struct mail *m)
{
    char quoted[LOG_QUOTED];
    for (int i = 1;; i++) {
        struct sl_err err = {0};
        pthread_mutex_unlock(&lock);
        int rc = deliver(s, m, &err);
        if (rc == 0)
            log_info("mail.sent", "attempt=%d", i);
        else
            log_warn("mail.failed", "attempt=%d error=%s", i, log_quote(err.msg, quoted));
        pthread_mutex_lock(&lock);
        if (rc == 0 || i == TRIES_MAX || stopping)
            break;
        pause_s(RETRY_S);
    }
    mail_free(m);
}

/* ---- mails that are rows ---- */
enum { RETRY_MAX_S = 3600, LOOK_S = 1 };
struct row {
    struct server *s;
    char id[ID_TEXT];
    struct mail mail; /* strings owned */
    int64_t tries;
    bool found, sent;
};

static bool configured(const struct server *s)
{
    return (s->conf.mail_spool && *s->conf.mail_spool) || (s->conf.mail_url && *s->conf.mail_url);
}

int mail_queue(struct db_c *c, struct server *s, const char *account_id, const char *subject,
               const char *text, struct sl_err *err)
{
    char id[ID_TEXT];
    if (!configured(s))
        return 0;
    return db_exec(c, err,
                   "INSERT INTO outmail(id, rcpt, subject, body, next_us, created_us) SELECT ?1, "
                   "email, ?3, ?4, ?5, ?5 FROM account WHERE id = ?2",
                   "tttti", env_id(s->env, "eml", id), account_id, subject, text, env_now(s->env));
}

static int row_find(struct db_c *c, void *arg, struct sl_err *err)
{
    struct row *k = arg;
    struct db_q q;
    int rc = db_row(c, &q, err,
                    "SELECT id, rcpt, subject, body, tries FROM outmail WHERE next_us <= ?1 ORDER "
                    "BY next_us LIMIT 1",
                    "i", env_now(k->s->env));
    if (rc > 0) {
        snprintf(k->id, sizeof k->id, "%s", db_text(&q, 0));
        k->mail.to = sl_strdup(db_text(&q, 1)), k->mail.subject = sl_strdup(db_text(&q, 2));
        k->mail.text = sl_strdup(db_text(&q, 3)), k->tries = db_int(&q, 4);
        k->found = true;
    }
    db_done(&q);
    return rc < 0 ? -1 : 0;
}

static int row_done(struct db_c *c, void *arg, struct sl_err *err)
{
    struct row *k = arg;
    int64_t wait = k->tries < 9 ? (int64_t)RETRY_S << k->tries : RETRY_MAX_S;
    if (k->sent)
        return db_exec(c, err, "DELETE FROM outmail WHERE id = ?1", "t", k->id);
    return db_exec(c, err, "UPDATE outmail SET tries = tries + 1, next_us = ?2 WHERE id = ?1", "ti",
                   k->id, env_now(k->s->env) + wait * SL_SEC);
}

/* Without the lock. false: nothing is due, or the database does not answer. */
static bool send_row(struct server *s)
{
    struct row k = {.s = s};
    struct sl_err err = {0};
    char quoted[LOG_QUOTED];
    if (db_read(s->db, row_find, &k, &err) < 0 || !k.found)
        return false;
    k.sent = deliver_as(s, k.id, &k.mail, &err) == 0;
    if (!k.sent)
        log_warn("mail.failed", "attempt=%lld error=%s", (long long)k.tries + 1,
                 log_quote(err.msg, quoted));
    free(k.mail.to);
    free(k.mail.subject);
    free(k.mail.text);
    return db_write(s->db, row_done, &k, &err) == 0;
}

/* Waits under the lock for a posted mail; looks for rows now and then. */
static void wait_mail(struct server *s)
{
    struct timespec until;
    pthread_mutex_unlock(&lock);
    while (configured(s) && send_row(s) && !__atomic_load_n(&stopping, __ATOMIC_RELAXED))
        ;
    pthread_mutex_lock(&lock);
    if (first || stopping)
        return;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LOOK_S;
    (void)pthread_cond_timedwait(&cond, &lock, &until);
}

static void *mail_main(void *arg)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!first && !stopping)
            wait_mail(arg);
        if (!first || time_is_up())
            break;
        struct mail *m = first;
        first = m->next;
        if (!first)
            last = &first;
        queued--;
        send_one(arg, m);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

int mail_start(struct server *s, struct sl_err *err)
{
    if (*s->conf.mail_spool && dir_make(s->conf.mail_spool, 0700, err) < 0)
        return -1;
    stopping = false;
    running = pthread_create(&thread, NULL, mail_main, s) == 0;
    return running ? 0 : sl_fail(err, SL_INTERNAL, "cannot start the mail thread");
}

void mail_stop(struct server *s, int64_t at_most_s)
{
    if (!running)
        return;
    pthread_mutex_lock(&lock);
    clock_gettime(CLOCK_MONOTONIC, &stop_by);
    stop_by.tv_sec += at_most_s;
    stopping = true;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    running = false;
    while (first) {
        struct mail *m = first;
        first = m->next;
        log_warn("mail.dropped", "reason=stopping");
        mail_free(m);
    }
    last = &first;
    queued = 0;
    (void)s;
}

void mail_post(struct server *s, const char *to, const char *subject, const char *text)
{
    pthread_mutex_lock(&lock);
    bool can =
        running && !stopping && queued < QUEUE_MAX && (*s->conf.mail_spool || *s->conf.mail_url);
    if (can) {
        struct mail *m = sl_alloc(sizeof *m);
        m->to = sl_strdup(to), m->subject = sl_strdup(subject), m->text = sl_strdup(text);
        *last = m;
        last = &m->next;
        queued++;
        pthread_cond_broadcast(&cond);
    }
    pthread_mutex_unlock(&lock);
    if (!can)
        log_warn("mail.dropped", "reason=\"no mail.url or mail.spool, or the queue is full\"");
}
