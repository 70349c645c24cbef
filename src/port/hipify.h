/* SPDX-License-Identifier: Apache-2.0
 *
 * hipify.h: the entry that build scripts written for hipify-perl or hipify-clang call:
 * `starport-hipify`, or starport itself under the name hipify-perl or hipify-clang. It takes the
 * options of both, with one or two dashes, and does what those programs do; docs/porting.md lists
 * the differences.
 */
#ifndef PORT_HIPIFY_H
#define PORT_HIPIFY_H
#include <stdbool.h>

bool hipify_is_name(const char *argv0);
int hipify_main(int argc, char **argv);
#endif
