/* SPDX-License-Identifier: Apache-2.0
 *
 * clock.h: stored times are int64 microseconds since the epoch, UTC. Civil time exists only in
 * text. "Now" comes from struct env (base/io/env.h), never from here.
 */
#ifndef SL_CLOCK_H
#define SL_CLOCK_H
#include "err.h"
#include <stdint.h>

#define SL_SEC 1000000LL /* microseconds in a second */
enum { TS_TEXT = 40 };   /* bytes that hold any formatted time */

/* RFC 3339 in UTC: "2026-12-01T02:30:39Z", with ".123456" when t is not a whole second. Returns
 * out. */
const char *ts_format(int64_t t_us, char out[TS_TEXT]);
/* "2026-12-01" (midnight UTC), or RFC 3339 with Z or an offset; SL_INVALID with the field named. */
int ts_parse(const char *text, const char *field, int64_t *ret_us, struct sl_err *err);
/* "90", "90s", "15m", "24h", "7d" -> seconds. */
int duration_parse(const char *text, const char *field, int64_t *ret_s, struct sl_err *err);
#endif
