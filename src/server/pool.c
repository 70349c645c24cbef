/* SPDX-License-Identifier: Apache-2.0 */
#include "server/pool.h"
#include "base/core/mem.h"
#include <pthread.h>

struct job {
    void (*fn)(void *arg);
    void *arg;
};
struct pool {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    /* under lock: a ring of `max` jobs */
    struct job *ring;
    int first, n, max;
    bool stop;
    pthread_t *threads;
    int n_threads;
};

static void *pool_main(void *arg)
{
    struct pool *p = arg;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (!p->n && !p->stop)
            pthread_cond_wait(&p->cond, &p->lock);
        if (!p->n)
            break;
        struct job j = p->ring[p->first];
        p->first = (p->first + 1) % p->max;
        p->n--;
        pthread_mutex_unlock(&p->lock);
        j.fn(j.arg);
        pthread_mutex_lock(&p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

struct pool *pool_new(int threads, int queue_max, struct sl_err *err)
{
    struct pool *p = sl_alloc(sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->cond, NULL);
    p->max = queue_max;
    p->ring = sl_alloc(sizeof *p->ring * (size_t)queue_max);
    p->threads = sl_alloc(sizeof *p->threads * (size_t)threads);
    for (; p->n_threads < threads; p->n_threads++)
        if (pthread_create(&p->threads[p->n_threads], NULL, pool_main, p) != 0) {
            pool_free(p);
            sl_fail(err, SL_INTERNAL, "cannot start %d threads", threads);
            return NULL;
        }
    return p;
}

bool pool_add(struct pool *p, void (*fn)(void *arg), void *arg)
{
    pthread_mutex_lock(&p->lock);
    bool fits = p->n < p->max && !p->stop;
    if (fits) {
        p->ring[(p->first + p->n++) % p->max] = (struct job){fn, arg};
        pthread_cond_signal(&p->cond);
    }
    pthread_mutex_unlock(&p->lock);
    return fits;
}

void pool_free(struct pool *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->cond);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->n_threads; i++)
        pthread_join(p->threads[i], NULL);
    pthread_cond_destroy(&p->cond);
    pthread_mutex_destroy(&p->lock);
    free(p->threads);
    free(p->ring);
    free(p);
}
