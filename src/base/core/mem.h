/* SPDX-License-Identifier: Apache-2.0
 *
 * mem.h: allocation that cannot fail (it aborts: all truth is in the database), an arena for work
 * that is freed as a whole (a request, a file being ported), and cleanup attributes.
 *
 *     SL_AUTO_FREE char *path = sl_strdup(x);
 *     SL_AUTO_CLOSE int fd = open(...);
 *
 * An arena is not shared between threads.
 */
#ifndef SL_MEM_H
#define SL_MEM_H
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

void *sl_alloc(size_t n) __attribute__((malloc, returns_nonnull)); /* zeroed */
void *sl_realloc(void *p, size_t n) __attribute__((returns_nonnull));
char *sl_strdup(const char *s) __attribute__((returns_nonnull));
char *sl_strndup(const char *s, size_t n) __attribute__((returns_nonnull));
char *sl_asprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2), returns_nonnull));

struct sl_arena {
    struct sl_arena_block *head;
};
/* {0} is an empty arena. Memory is zeroed and aligned to 16. */
void *sl_arena_alloc(struct sl_arena *a, size_t n) __attribute__((returns_nonnull));
char *sl_arena_strdup(struct sl_arena *a, const char *s);
char *sl_arena_strndup(struct sl_arena *a, const char *s, size_t n);
char *sl_arena_printf(struct sl_arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Frees everything; the arena may be used again. */
void sl_arena_free(struct sl_arena *a);

static inline void sl_auto_free(void *p)
{
    free(*(void **)p);
}
static inline void sl_auto_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}
#define SL_AUTO_FREE __attribute__((cleanup(sl_auto_free)))
#define SL_AUTO_CLOSE __attribute__((cleanup(sl_auto_close)))
#define SL_AUTO_ARENA __attribute__((cleanup(sl_arena_free)))
#define SL_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#endif
