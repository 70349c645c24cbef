/* SPDX-License-Identifier: Apache-2.0
 *
 * err.h: the one error type.
 *
 * Every function that can fail takes a `struct sl_err *err` as its last argument and returns 0, or
 * -1 with *err filled. The object lives on the caller's stack; nothing is allocated, nothing to
 * free.
 *
 *     struct sl_err err = {0};
 *     if (volume_create(tx, &req, &err) < 0)
 *         return sl_fail(...)           or just   return -1;   when err was passed through
 *
 * One table (err.c) maps a code to its name on the wire, HTTP status, CLI exit status and zh/en
 * title. A message is one sentence that names the field, the value and the remedy. Programming
 * errors are not errors: they are SL_ASSERT, which stays on in production. Out of memory aborts.
 */
#ifndef SL_ERR_H
#define SL_ERR_H
#include <stdbool.h>
#include <stddef.h>

enum sl_code {
    SL_OK = 0,
    SL_INVALID,         /* a value is wrong: 400 */
    SL_UNAUTHENTICATED, /* who are you: 401 */
    SL_FORBIDDEN,       /* known, not allowed: 403 */
    SL_NOT_FOUND,       /* unknown or foreign id: 404 */
    SL_METHOD,          /* no such method on this path: 405 */
    SL_CONFLICT,        /* state does not allow it, or it exists: 409 */
    SL_TOO_LARGE,       /* body or object over its limit: 413 */
    SL_KEY_REUSED,      /* Idempotency-Key with another body: 422 */
    SL_QUOTA,           /* account quota: 403 */
    SL_RATE,            /* too many attempts: 429 */
    SL_NO_CREDIT,       /* money missing: 402 */
    SL_NO_CAPACITY,     /* no card free: 503 */
    SL_UNAVAILABLE,     /* a part does not answer: 503 */
    SL_TIMEOUT,         /* deadline passed: 504 */
    SL_STORAGE_FULL,    /* disk full or unwritable: 507 */
    SL_INTEGRITY,       /* a check sum, signature or invariant does not hold: 500 */
    SL_INTERNAL,        /* a fault of ours: 500 */
    SL_CODE_MAX
};

struct sl_err {
    enum sl_code code;
    char field[64]; /* name of the offending field, or "" */
    char msg[400];  /* one sentence, UTF-8, no newline */
};

struct sl_code_info {
    const char *name; /* "no_credit": stable, on the wire as problem+json "code" */
    int http;
    int exit; /* CLI exit status */
    const char *title_en, *title_zh;
};

/* Fill *err and return -1. `err` may not be NULL. */
#define sl_fail(err, code, ...) sl_fail_at((err), (code), NULL, __VA_ARGS__)
/* The same, naming the field. */
int sl_fail_at(struct sl_err *err, enum sl_code code, const char *field, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Fill *err from errno: ENOSPC, EDQUOT and EROFS become SL_STORAGE_FULL, the rest SL_INTERNAL. */
int sl_fail_errno(struct sl_err *err, int errnum, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

const struct sl_code_info *sl_code_info(enum sl_code code);
/* SL_INTERNAL when the name is unknown. */
enum sl_code sl_code_by_name(const char *name);

/* Assertions stay on in production: print place and condition, abort. */
#define SL_ASSERT(cond) ((cond) ? (void)0 : sl_assert_fail(#cond, __FILE__, __LINE__))
_Noreturn void sl_assert_fail(const char *cond, const char *file, int line);
#endif
