/* SPDX-License-Identifier: Apache-2.0 */
#include "port/cc.h"
#include "base/core/mem.h"
#include "base/io/proc.h"
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { OUT_MAX = 16 << 20, THREADS_MAX = 64 };

static void add_own(struct argv *a, char *s)
{
    if (a->n + 2 > a->cap)
        a->v = sl_realloc(a->v, (a->cap = a->cap ? a->cap * 2 : 32) * sizeof *a->v);
    a->v[a->n++] = s;
    a->v[a->n] = NULL;
}

void argv_add(struct argv *a, const char *s)
{
    add_own(a, sl_strdup(s));
}

void argv_addf(struct argv *a, const char *fmt, ...)
{
    va_list ap;
    char *s = NULL;
    va_start(ap, fmt);
    SL_ASSERT(vasprintf(&s, fmt, ap) >= 0);
    va_end(ap);
    add_own(a, s);
}

void argv_free(struct argv *a)
{
    for (size_t i = 0; i < a->n; i++)
        free(a->v[i]);
    free(a->v);
    *a = (struct argv){0};
}

static void run_one(struct cc_job *j)
{
    j->out = SL_BUF(OUT_MAX);
    j->errs = SL_BUF(OUT_MAX);
    struct proc p = {.argv = (const char *const *)j->argv->v,
                     .out = &j->out,
                     .errs = &j->errs,
                     .timeout_s = j->timeout_s,
                     .any_status = true};
    j->status = proc_run(&p, &j->err) < 0 ? -1 : p.status;
}

struct queue {
    struct cc_job *jobs;
    size_t n, next;
};

static void *take(void *arg)
{
    struct queue *q = arg;
    for (;;) {
        size_t i = __atomic_fetch_add(&q->next, 1, __ATOMIC_RELAXED);
        if (i >= q->n)
            return NULL;
        run_one(&q->jobs[i]);
    }
}

void cc_run(struct cc_job *jobs, size_t n, int parallel)
{
    struct queue q = {jobs, n, 0};
    pthread_t t[THREADS_MAX];
    int started = 0;
    for (; started < parallel - 1 && started < THREADS_MAX && (size_t)started + 1 < n; started++)
        if (pthread_create(&t[started], NULL, take, &q) != 0)
            break;
    take(&q);
    for (int i = 0; i < started; i++)
        pthread_join(t[i], NULL);
}

void cc_job_free(struct cc_job *j)
{
    sl_buf_free(&j->out);
    sl_buf_free(&j->errs);
}

int cc_cores(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return n < 1 ? 1 : n > THREADS_MAX ? THREADS_MAX : n;
}

bool cc_have(const char *name)
{
    const char *path = getenv("PATH");
    struct sl_str rest = sl_str(path && *path ? path : "/usr/bin:/bin"), dir;
    while (sl_str_cut(&rest, ':', &dir)) {
        SL_AUTO_FREE char *file = sl_asprintf("%.*s/%s", (int)dir.n, dir.p, name);
        if (dir.n && access(file, X_OK) == 0)
            return true;
    }
    return false;
}
