/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <starport_bf16.h>
