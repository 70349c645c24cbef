/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <starport_bf16.h>
typedef __hip_bfloat16 hip_bfloat16;
typedef __hip_bfloat162 hip_bfloat162;
