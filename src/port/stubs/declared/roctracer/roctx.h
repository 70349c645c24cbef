/* SPDX-License-Identifier: Apache-2.0
 *
 * roctx as `starport check` declares it where roctracer is not installed (ROCTracer API reference).
 */
#pragma once
#include <stdint.h>
typedef uint64_t roctx_range_id_t;
extern "C" {
void roctxMarkA(const char *message);
int roctxRangePushA(const char *message);
int roctxRangePop(void);
roctx_range_id_t roctxRangeStartA(const char *message);
void roctxRangeStop(roctx_range_id_t id);
}
#define roctxMark(message) roctxMarkA(message)
#define roctxRangePush(message) roctxRangePushA(message)
#define roctxRangeStart(message) roctxRangeStartA(message)
