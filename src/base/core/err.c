/* SPDX-License-Identifier: Apache-2.0 */
#include "err.h"
#include "buf.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct sl_code_info codes[SL_CODE_MAX] = {
    [SL_OK] = {"ok", 200, 0, "OK", "成功"},
    [SL_INVALID] = {"invalid", 400, 2, "Invalid value", "参数无效"},
    [SL_UNAUTHENTICATED] = {"unauthenticated", 401, 3, "Not signed in", "未登录"},
    [SL_FORBIDDEN] = {"forbidden", 403, 3, "Not allowed", "没有权限"},
    [SL_NOT_FOUND] = {"not_found", 404, 4, "Not found", "不存在"},
    [SL_METHOD] = {"method", 405, 2, "Method not allowed", "不支持的方法"},
    [SL_CONFLICT] = {"conflict", 409, 5, "Conflict", "状态冲突"},
    [SL_TOO_LARGE] = {"too_large", 413, 2, "Too large", "超过大小限制"},
    [SL_KEY_REUSED] = {"key_reused", 422, 5, "Idempotency key reused", "幂等键已用于其他请求"},
    [SL_QUOTA] = {"quota", 403, 6, "Quota reached", "超过配额"},
    [SL_RATE] = {"rate", 429, 9, "Too many attempts", "请求过于频繁"},
    [SL_NO_CREDIT] = {"no_credit", 402, 8, "Not enough credit", "余额不足"},
    [SL_NO_CAPACITY] = {"no_capacity", 503, 7, "No card free", "没有空闲的卡"},
    [SL_UNAVAILABLE] = {"unavailable", 503, 9, "Unavailable", "暂时不可用"},
    [SL_TIMEOUT] = {"timeout", 504, 9, "Timed out", "超时"},
    [SL_STORAGE_FULL] = {"storage_full", 507, 10, "Storage full", "存储空间已满"},
    [SL_INTEGRITY] = {"integrity", 500, 11, "Integrity check failed", "完整性校验失败"},
    [SL_INTERNAL] = {"internal", 500, 1, "Internal error", "内部错误"},
};

/* A message is one line of UTF-8 whatever the tenant typed and wherever a precision cut it. */
static void clean(char *s)
{
    for (size_t n; *s; s += n) {
        unsigned char c = (unsigned char)*s;
        n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        if (strnlen(s, n) < n || !sl_utf8_ok(s, n, false)) {
            *s = '?';
            n = 1;
        }
    }
}

static void fill(struct sl_err *err, enum sl_code code, const char *field, const char *fmt,
                 va_list ap)
{
    char msg[sizeof err->msg]; /* the arguments may point into *err */
    vsnprintf(msg, sizeof msg, fmt, ap);
    clean(msg);
    char f[sizeof err->field];
    snprintf(f, sizeof f, "%s", field ? field : "");
    clean(f);
    err->code = code;
    memcpy(err->msg, msg, sizeof msg);
    memcpy(err->field, f, sizeof f);
}

int sl_fail_at(struct sl_err *err, enum sl_code code, const char *field, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fill(err, code, field, fmt, ap);
    va_end(ap);
    return -1;
}

int sl_fail_errno(struct sl_err *err, int errnum, const char *fmt, ...)
{
    bool full = errnum == ENOSPC || errnum == EDQUOT || errnum == EROFS;
    va_list ap;
    va_start(ap, fmt);
    fill(err, full ? SL_STORAGE_FULL : SL_INTERNAL, NULL, fmt, ap);
    va_end(ap);
    size_t n = strlen(err->msg);
    char reason[128];
    snprintf(err->msg + n, sizeof err->msg - n, ": %s", strerror_r(errnum, reason, sizeof reason));
    return -1;
}

const struct sl_code_info *sl_code_info(enum sl_code code)
{
    SL_ASSERT(code >= 0 && code < SL_CODE_MAX);
    return &codes[code];
}

enum sl_code sl_code_by_name(const char *name)
{
    for (int i = 0; i < SL_CODE_MAX; i++)
        if (name && strcmp(codes[i].name, name) == 0)
            return (enum sl_code)i;
    return SL_INTERNAL;
}

_Noreturn void sl_assert_fail(const char *cond, const char *file, int line)
{
    fprintf(stderr, "<0>assertion failed at=%s:%d cond=\"%s\"\n", file, line, cond);
    abort();
}
