/* SPDX-License-Identifier: Apache-2.0
 *
 * check_headers.h: declarations for HIP libraries that are not installed (hipBLAS, hipFFT,
 * hipSOLVER, MIOpen ...), written from the API table for `starport check`.
 *
 * The table knows names, not signatures. A function becomes a template that takes anything and
 * returns an int; an enumeration an int, its constants one enum; handles and descriptors become
 * pointers to incomplete types. That finds names that do not exist; it does not check arguments.
 * The headers are the last in the compiler's search order, so that installed ones win.
 */
#ifndef PORT_CHECK_HEADERS_H
#define PORT_CHECK_HEADERS_H
#include "base/core/err.h"

/* Makes `dir` and writes one header per include name. */
int check_headers_write(const char *dir, struct sl_err *err);
#endif
