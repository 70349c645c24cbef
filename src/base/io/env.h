/* SPDX-License-Identifier: Apache-2.0
 *
 * env.h: the outside world as one object, so that the simulator and the tests run the real code
 * under a virtual clock and a seeded generator. Everything that needs time or randomness takes
 * `struct env *`.
 *
 *     int64_t now = env_now(env);
 *     char id[ID_TEXT];
 *     env_id(env, "lea", id);
 */
#ifndef SL_ENV_H
#define SL_ENV_H
#include "base/core/id.h"
#include <stddef.h>
#include <stdint.h>

struct env {
    int64_t (*now)(struct env *);  /* UTC microseconds; never goes back within a process */
    int64_t (*mono)(struct env *); /* monotonic microseconds: deadlines and durations */
    void (*random)(struct env *, void *out, size_t n);
    void *data;
};

/* The real one: CLOCK_REALTIME held monotone, CLOCK_BOOTTIME, getrandom. Threads may share it. */
struct env *env_real(void);

static inline int64_t env_now(struct env *e)
{
    return e->now(e);
}
static inline int64_t env_mono(struct env *e)
{
    return e->mono(e);
}
static inline void env_random(struct env *e, void *out, size_t n)
{
    e->random(e, out, n);
}
const char *env_id(struct env *e, const char *prefix, char out[ID_TEXT]);
#endif
