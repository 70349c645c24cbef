/* SPDX-License-Identifier: Apache-2.0
 *
 * banned.h: calls that have no place here do not compile. Force-included by meson into our own
 * code. Each has a better sibling: snprintf/sl_buf, sl_str_cut, sl_parse_i64, gmtime_r through
 * ts_format, getrandom through env, proc_run instead of a shell.
 */
#ifndef SL_BANNED_H
#define SL_BANNED_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __GNUC__
/* glibc makes these macros for clang under _FORTIFY_SOURCE */
#undef sprintf
#undef vsprintf
#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#pragma GCC poison strcpy strcat sprintf vsprintf strtok gets atoi atol atof strncpy strncat
#pragma GCC poison gmtime localtime ctime asctime rand srand tmpnam mktemp system popen
#endif
#endif
