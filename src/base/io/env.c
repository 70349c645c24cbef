/* SPDX-License-Identifier: Apache-2.0 */
#include "env.h"
#include "base/core/err.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

static int64_t clock_us(clockid_t id)
{
    struct timespec ts;
    SL_ASSERT(clock_gettime(id, &ts) == 0);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* A wall clock that is stepped back must not produce negative durations: hold the highest value
 * seen. */
static int64_t real_now(struct env *e)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int64_t highest;
    int64_t t = clock_us(CLOCK_REALTIME);
    pthread_mutex_lock(&lock);
    if (t <= highest)
        t = highest;
    else
        highest = t;
    pthread_mutex_unlock(&lock);
    return t;
}

static int64_t real_mono(struct env *e)
{
    return clock_us(CLOCK_BOOTTIME);
}

static void from_kernel(void *out, size_t n)
{
    unsigned char *p = out;
    while (n) {
        ssize_t r = getrandom(p, n, 0);
        SL_ASSERT(r > 0 || errno == EINTR);
        if (r > 0)
            p += r, n -= (size_t)r;
    }
}

/* Ids take ten bytes at a time; a thread fetches many at once. What was given out is wiped, and a
 * child process starts with an empty pool. */
static _Thread_local struct {
    unsigned char bytes[640];
    size_t left;
} pool;

static void pool_empty(void)
{
    pool.left = 0;
}

static void pool_once(void)
{
    SL_ASSERT(pthread_atfork(NULL, NULL, pool_empty) == 0);
}

static void real_random(struct env *e, void *out, size_t n)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (n > sizeof pool.bytes / 4) {
        from_kernel(out, n);
        return;
    }
    if (pool.left < n) {
        pthread_once(&once, pool_once);
        from_kernel(pool.bytes, sizeof pool.bytes);
        pool.left = sizeof pool.bytes;
    }
    unsigned char *p = pool.bytes + pool.left - n;
    memcpy(out, p, n);
    memset(p, 0, n);
    pool.left -= n;
}

struct env *env_real(void)
{
    static struct env real = {real_now, real_mono, real_random, NULL};
    return &real;
}

const char *env_id(struct env *e, const char *prefix, char out[ID_TEXT])
{
    uint8_t rnd[10];
    env_random(e, rnd, sizeof rnd);
    return id_make(prefix, env_now(e), rnd, out);
}
