/* SPDX-License-Identifier: Apache-2.0
 *
 * hipcub.hpp of starport: the common part of hipCUB's interface, for `starport verify` (runs) and
 * for `starport check` where hipCUB is not installed (compiles). Simple algorithms with the
 * documented results; LDS and registers are not those of the real library. Device-wide functions
 * run on the host.
 */
#ifndef STARPORT_HIPCUB_HPP
#define STARPORT_HIPCUB_HPP
#include <hip/hip_runtime.h>
#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <vector>
#include "block.hpp"
#include "device.hpp"
#endif
