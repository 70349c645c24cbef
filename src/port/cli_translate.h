/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_translate.h: the verbs `translate` and `api` of starport.
 */
#ifndef PORT_CLI_TRANSLATE_H
#define PORT_CLI_TRANSLATE_H
#include "base/core/cmd.h"

extern const struct cmd_opt translate_opts[];
extern const char translate_details[];
/* sizeof the options struct of `translate`. */
extern const size_t translate_opts_size;
int translate_main(const void *globals, const void *opts, int argc, char **argv);
/* `starport api NAME`: what is known of one API. */
int api_main(const void *globals, const void *opts, int argc, char **argv);
#endif
