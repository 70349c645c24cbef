/* SPDX-License-Identifier: Apache-2.0
 *
 * The supervisors' half: reports by HTTP, repeated until they are answered.
 */
#include "base/core/clock.h"
#include "base/io/http_client.h"
#include "fleet_in.h"
#include <inttypes.h>
#include <stdio.h>

enum { RETRY_US = 200000, TIMEOUT_MS = 10000, ANSWER_MAX = 64 << 10, IDLE_US = 500000 };

/* What one report says, copied so that the lock is not held while it travels. */
struct letter {
    const char *kind;
    char id[ID_TEXT], body[1024];
    char *url, *authorization;
};

static const char *kind_of(const struct sim_lease *l)
{
    switch (l->life) {
    case LIFE_STARTING:
        return l->fails ? "failed" : "ready";
    case LIFE_RUNNING:
        return "heartbeat";
    default:
        return "exit";
    }
}

static void write_letter(const struct sim_lease *l, struct letter *t)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(sizeof t->body - 1);
    struct jw w = {&b};
    int64_t now = sim_now_us();
    t->kind = kind_of(l);
    memcpy(t->id, l->id, sizeof t->id);
    jw_object(&w, NULL);
    jw_str(&w, "lease", l->id);
    jw_int(&w, "epoch", l->epoch);
    jw_str(&w, "kind", t->kind);
    jw_int(&w, "t_us", now);
    jw_int(&w, "alive_s", l->ready_us ? (now - l->ready_us) / SL_SEC : 0);
    if (*l->reason)
        jw_str(&w, "reason", l->reason);
    if (sl_streq(t->kind, "ready")) {
        char key[80];
        (void)snprintf(key, sizeof key, "ssh-ed25519 SIMULATED%s", l->id);
        jw_str(&w, "host_key", key);
    }
    if (l->life == LIFE_EXITED)
        jw_int(&w, "exit_code", l->exit_code);
    jw_end(&w);
    (void)snprintf(t->body, sizeof t->body, "%s", sl_buf_str(&b));
    t->url = sl_strdup(l->url);
    t->authorization = sl_asprintf("Authorization: Bearer %s", l->token);
}

/* HTTP status, or 0 when the server cannot be reached. */
static int post(const struct letter *t, bool *ret_go, bool *ret_stop, int64_t *ret_funded)
{
    const char *headers[] = {t->authorization, NULL};
    SL_AUTO_BUF struct sl_buf answer = SL_BUF(ANSWER_MAX);
    struct http_req r = {.method = "POST",
                         .url = t->url,
                         .headers = headers,
                         .body = t->body,
                         .body_n = strlen(t->body),
                         .timeout_ms = TIMEOUT_MS,
                         .out = &answer};
    struct sl_err err = {0};
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    if (http_do(&r, &err) < 0 || jr_open(sl_buf_str(&answer), answer.n, &doc, &err) < 0)
        return 0;
    *ret_go = jr_true(jr_get(jr_root(doc), "go"));
    *ret_stop = jr_true(jr_get(jr_root(doc), "stop"));
    *ret_funded = jr_i64(jr_get(jr_root(doc), "funded_until_us"), 0);
    return r.status;
}

static void end_life(struct sim_lease *l, const char *reason, int64_t exit_code)
{
    l->life = LIFE_EXITED;
    l->exit_code = exit_code;
    (void)snprintf(l->reason, sizeof l->reason, "%s", reason);
}

static void take_answer(struct fleet *f, struct sim_lease *l, bool go, bool stop, int64_t funded)
{
    if (l->life == LIFE_EXITED || l->fails) {
        l->life = LIFE_EXITED;
        l->told = true;
        return;
    }
    if (stop) {
        end_life(l, "the server ended it", 0);
        l->told = true;
        return;
    }
    if (l->life == LIFE_STARTING) {
        if (!go)
            return;
        l->life = LIFE_RUNNING;
        l->ready_us = sim_now_us();
    }
    l->alive_us = sim_now_us();
    l->funded_until_us = funded;
    if (sim_chance(f, f->o.faults.exit))
        end_life(l, "a planned exit", 3);
}

static void settle(struct fleet *f, struct sim_lease *l, int status, bool go, bool stop,
                   int64_t funded)
{
    l->busy = false;
    f->reports++;
    if (l->gone) {
        sim_drop(f, l);
        return;
    }
    l->due_us = sim_mono_us() + RETRY_US + (int64_t)(sim_random(f) % RETRY_US);
    if (status == 200)
        take_answer(f, l, go, stop, funded);
    else if (status == 409 || status == 404 || status == 401) { /* another epoch is in force */
        end_life(l, "stale epoch", 0);
        l->told = true;
    }
    if (status == 200 && l->life == LIFE_RUNNING)
        l->due_us = sim_mono_us() + l->heartbeat_s * SL_SEC;
    if (l->life == LIFE_RUNNING && l->funded_until_us && l->funded_until_us <= sim_now_us())
        end_life(l, "funds ended", 0);
}

/* The lease whose report is due first; NULL: none is due, *ret_wait_us says how long. */
static struct sim_lease *next_due(struct fleet *f, int64_t *ret_wait_us)
{
    int64_t now = sim_mono_us(), first = now + IDLE_US;
    struct sim_lease *due = NULL;
    for (struct sim_lease *l = f->leases; l; l = l->next)
        if (!l->busy && !l->told && l->due_us < first) {
            first = l->due_us;
            due = l;
        }
    *ret_wait_us = first - now;
    return *ret_wait_us <= 0 ? due : NULL;
}

void *fleet_reporter(void *arg)
{
    struct fleet *f = arg;
    pthread_mutex_lock(&f->lock);
    for (;;) {
        int64_t wait_us;
        struct sim_lease *l = next_due(f, &wait_us);
        if (!l) {
            struct timespec t;
            clock_gettime(CLOCK_MONOTONIC, &t);
            t.tv_nsec += wait_us * 1000;
            t.tv_sec += t.tv_nsec / 1000000000;
            t.tv_nsec %= 1000000000;
            pthread_cond_timedwait(&f->wake, &f->lock, &t);
            continue;
        }
        struct letter letter;
        bool go = false, stop = false;
        int64_t funded = 0;
        l->busy = true;
        write_letter(l, &letter);
        pthread_mutex_unlock(&f->lock);
        int status = post(&letter, &go, &stop, &funded);
        free(letter.url);
        free(letter.authorization);
        pthread_mutex_lock(&f->lock);
        settle(f, l, status, go, stop, funded);
    }
    return NULL;
}
