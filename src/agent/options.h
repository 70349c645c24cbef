/* SPDX-License-Identifier: Apache-2.0
 *
 * options.h: the settings that both programs take, as one table of options.
 */
#ifndef AGENT_OPTIONS_H
#define AGENT_OPTIONS_H
#include "agent/agent.h"
#include "base/core/cmd.h"

struct agent_options {
    const char *state, *run, *socket, *node, *kfd_root, *dev_root, *bridge, *subnet, *supervise;
    const char *ca_file;
    struct cmd_list allow_uid;
    bool emulate;
};
extern const struct cmd_opt agent_option_table[];
/* Defaults, checks; `ret` borrows the strings. */
int agent_from_options(const struct agent_options *o, struct agent *ret, struct sl_err *err);
#endif
