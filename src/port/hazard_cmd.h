/* SPDX-License-Identifier: Apache-2.0
 *
 * hazard_cmd.h: the verbs `examine`, `explain` and `build-files` of starport, and the hook that
 * lets `translate` apply the automatic fixes.
 */
#ifndef PORT_HAZARD_CMD_H
#define PORT_HAZARD_CMD_H
#include "base/core/cmd.h"
#include "port/hazard.h"
#include "port/translate.h"

extern const struct cmd_opt examine_opts[], explain_opts[], build_files_opts[];
extern const size_t examine_opts_size, explain_opts_size, build_files_opts_size;
extern const char examine_details[], explain_details[], build_files_details[];
int examine_main(const void *globals, const void *opts, int argc, char **argv);
int explain_main(const void *globals, const void *opts, int argc, char **argv);
int build_files_main(const void *globals, const void *opts, int argc, char **argv);

/* For struct port_options.fix; arg is a struct hazard_opts, or NULL for the defaults with the port
 * options' ROCm version. */
void hazard_fix_hook(struct source *s, const struct port_options *o, void *arg);
/* Ids separated by commas, or "all" -> o->no_fix; false when one is unknown. */
bool hazard_no_fix(struct hazard_opts *o, const char *ids);
#endif
