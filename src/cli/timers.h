/* SPDX-License-Identifier: Apache-2.0
 *
 * timers.h: a part of verbs.h: timers, snapshots, tariffs. AUTOSTOP_OPTS are rows of an option
 * table whose struct has a struct timer_args as member m.
 */
#ifndef SL_CLI_TIMERS_H
#define SL_CLI_TIMERS_H
#include "cli/cli.h"

/* autostop.c */
struct timer_args {
    const char *ttl, *budget, *idle, *delete_after; /* a duration, an amount, or "off" */
};
struct autostop_args {
    struct timer_args timers;
};
#define AUTOSTOP_OPTS(T, m)                                                                        \
    {"ttl",                                                                                        \
     0,                                                                                            \
     CMD_TEXT,                                                                                     \
     "TIME|off",                                                                                   \
     "stop a run after this long, as 8h or 90m",                                                   \
     NULL,                                                                                         \
     offsetof(struct T, m.ttl)},                                                                   \
        {"budget",                                                                                 \
         0,                                                                                        \
         CMD_TEXT,                                                                                 \
         "AMOUNT|off",                                                                             \
         "stop before its cards have cost more than this",                                         \
         NULL,                                                                                     \
         offsetof(struct T, m.budget)},                                                            \
        {"idle",                                                                                   \
         0,                                                                                        \
         CMD_TEXT,                                                                                 \
         "TIME|off",                                                                               \
         "stop after this long without SSH, connections to its ports, CPU or GPU use",             \
         NULL,                                                                                     \
         offsetof(struct T, m.idle)},                                                              \
    {                                                                                              \
        "delete-after", 0, CMD_TEXT, "TIME|off",                                                   \
            "release it this long after a stop, with its disk", NULL,                              \
            offsetof(struct T, m.delete_after)                                                     \
    }
extern const struct cmd_opt autostop_opts[];
bool autostop_given(const struct timer_args *t);
/* The object that POST .../autostop and "autostop" of a new lease take. */
int autostop_body(struct jw *w, const char *key, const struct timer_args *t, struct sl_err *err);
VERB_MAIN(autostop);

/* snapshot.c */
struct snapshot_args {
    const char *name;
    bool yes;
};
extern const struct cmd_opt snapshot_opts[], snapshot_yes_opts[];
VERB_MAIN(volume_grow);
VERB_MAIN(snapshot_create);
VERB_MAIN(snapshot_list);
VERB_MAIN(snapshot_restore);
VERB_MAIN(snapshot_rm);

/* tariff.c */
struct tariff_args {
    const char *currency, *note;
};
extern const struct cmd_opt tariff_opts[];
VERB_MAIN(tariff_list);
VERB_MAIN(tariff_set);
#endif
