/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_form.h: HIP source into the form that the CPU shim (shim/cpu) compiles. Two changes, both
 * within their lines:
 * - `__shared__ T name[N];` becomes a reference to storage that the runtime hands out and checks;
 *   `extern __shared__ T name[];` a pointer to the launch's dynamic shared memory. A declaration
 * made by a macro stays (the shim's `__shared__` works, unchecked).
 * - launches of template kernels use starport_launch_deduced, which lets the compiler deduce.
 */
#ifndef PORT_CPU_FORM_H
#define PORT_CPU_FORM_H
#include "base/core/buf.h"
#include "base/core/map.h"

/* Adds the names of template kernels declared in this text. */
void cpu_form_kernels(const char *p, size_t n, struct sl_map *templates);
void cpu_form(const char *p, size_t n, const struct sl_map *templates, struct sl_buf *out);
#endif
