/* SPDX-License-Identifier: Apache-2.0 */
#include "mem.h"
#include "err.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct sl_arena_block {
    struct sl_arena_block *next;
    size_t used, cap;
    _Alignas(16) unsigned char data[];
};
enum { ARENA_BLOCK_BYTES = 8192 - 64 };

void *sl_alloc(size_t n)
{
    void *p = calloc(1, n ? n : 1);
    SL_ASSERT(p != NULL);
    return p;
}

void *sl_realloc(void *p, size_t n)
{
    p = realloc(p, n ? n : 1);
    SL_ASSERT(p != NULL);
    return p;
}

char *sl_strndup(const char *s, size_t n)
{
    char *p = sl_alloc(n + 1);
    memcpy(p, s, n);
    return p;
}

char *sl_strdup(const char *s)
{
    return sl_strndup(s, strlen(s));
}

char *sl_asprintf(const char *fmt, ...)
{
    char *p = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&p, fmt, ap);
    va_end(ap);
    SL_ASSERT(n >= 0);
    return p;
}

void *sl_arena_alloc(struct sl_arena *a, size_t n)
{
    SL_ASSERT(n < SIZE_MAX / 2);
    n = (n + 15) & ~(size_t)15;
    struct sl_arena_block *b = a->head;
    if (!b || b->cap - b->used < n) {
        size_t cap = n > ARENA_BLOCK_BYTES ? n : ARENA_BLOCK_BYTES;
        b = sl_realloc(NULL,
                       sizeof *b + cap); /* zeroed piece by piece: most of a block is never used */
        b->used = 0;
        b->cap = cap;
        b->next = a->head;
        a->head = b;
    }
    void *p = memset(b->data + b->used, 0, n);
    b->used += n;
    return p;
}

char *sl_arena_strndup(struct sl_arena *a, const char *s, size_t n)
{
    char *p = sl_arena_alloc(a, n + 1);
    memcpy(p, s, n);
    return p;
}

char *sl_arena_strdup(struct sl_arena *a, const char *s)
{
    return sl_arena_strndup(a, s, strlen(s));
}

char *sl_arena_printf(struct sl_arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    SL_ASSERT(n >= 0);
    char *p = sl_arena_alloc(a, (size_t)n + 1);
    va_start(ap, fmt);
    vsnprintf(p, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return p;
}

void sl_arena_free(struct sl_arena *a)
{
    while (a->head) {
        struct sl_arena_block *next = a->head->next;
        free(a->head);
        a->head = next;
    }
}
