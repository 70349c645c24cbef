/* SPDX-License-Identifier: Apache-2.0
 *
 * verbs.h: the verbs that main.c's table lists, their options, and two verbs that several nouns
 * share. A noun's file defines NAME_main (by CLI_VERB), its option table and reads its option
 * struct.
 */
#ifndef SL_CLI_VERBS_H
#define SL_CLI_VERBS_H
#include "cli/cli.h"

/* Prints a whole list; the empty list is no error. */
int cli_list_verb(struct cli *c, const char *path, const struct column *columns,
                  struct sl_err *err);
/* The same for one page. */
int cli_page_verb(struct cli *c, const char *path, const struct column *columns,
                  struct sl_err *err);
/* DELETE path/id, then "ID WORD" (or the answer with -o json). */
int cli_delete_verb(struct cli *c, const char *path, const char *id, const char *word,
                    struct sl_err *err);

#define VERB_MAIN(name) int name##_main(const void *, const void *, int, char **)

/* account.c */
struct signup_args {
    const char *password_file;
};
struct login_args {
    const char *password_file, *trust, *code;
    int64_t days;
    bool token;
};
struct trial_args {
    const char *kind, *value, *proof;
};
struct token_args {
    const char *scopes;
    int64_t days;
};
extern const struct cmd_opt signup_opts[], login_opts[], trial_opts[], token_opts[], freeze_opts[];
VERB_MAIN(signup);
VERB_MAIN(verify);
VERB_MAIN(login);
VERB_MAIN(trial);
VERB_MAIN(token_create);
VERB_MAIN(account_list);
VERB_MAIN(account_freeze);
VERB_MAIN(account_unfreeze);
VERB_MAIN(token_list);
VERB_MAIN(token_revoke);

/* price.c */
struct price_args {
    const char *file, *model;
};
struct compare_args {
    const char *file;
    struct cmd_list fx;
};
extern const struct cmd_opt price_opts[], compare_opts[];
VERB_MAIN(price_list);
VERB_MAIN(compare);

#include "cli/timers.h"
/* lease.c, run.c */
struct quote_args {
    const char *gpu;
    int64_t disk_gb;
};
struct run_args {
    const char *gpu, *name;
    int64_t disk_gb, wait_s;
    struct cmd_list keys;
    struct timer_args timers;
    bool yes, no_wait;
};
struct ps_args {
    const char *state;
    bool all;
};
struct wait_args {
    bool yes, no_wait;
    int64_t wait_s;
};
struct start_args {
    struct wait_args wait; /* first */
    bool no_gpu;
    int64_t gpus;
    const char *model;
};
#define WAIT_OPTS                                                                                  \
    {"no-wait",                                                                                    \
     0,                                                                                            \
     CMD_FLAG,                                                                                     \
     NULL,                                                                                         \
     "return when the request is accepted",                                                        \
     NULL,                                                                                         \
     offsetof(struct wait_args, no_wait)},                                                         \
    {                                                                                              \
        "wait", 0, CMD_INT, "SECONDS", "give up waiting after this; default 300", NULL,            \
            offsetof(struct wait_args, wait_s)                                                     \
    }
/* /v1/leases/ID and `tail` (arena). */
const char *lease_path(struct cli *c, const char *id, const char *tail);
/* Waits unless told not to, then says what it is and what it has cost. */
int lease_finish(struct cli *c, const struct wait_args *o, const char *id, const char *want,
                 struct answer *a, struct sl_err *err);
struct logs_args {
    int64_t bytes;
};
extern const struct cmd_opt quote_opts[], run_opts[], ps_opts[], start_opts[], stop_opts[],
    rm_opts[], logs_opts[];
VERB_MAIN(quote);
VERB_MAIN(run);
VERB_MAIN(ps);
VERB_MAIN(show);
VERB_MAIN(logs);
VERB_MAIN(stop);
VERB_MAIN(start);
VERB_MAIN(rm);
/* Waits until the lease is in `want`; a failed or released lease is an error that tells the reason.
 */
int lease_wait(struct cli *c, const char *id, const char *want, int64_t wait_s, struct answer *a,
               struct sl_err *err);
extern const struct column lease_fields[];

/* ssh.c */
struct ssh_args {
    const char *identity;
};
extern const struct cmd_opt ssh_opts[];
VERB_MAIN(ssh);
VERB_MAIN(exec);
VERB_MAIN(cp);

/* things.c: images, volumes, keys */
struct image_args {
    const char *digest, *node, *user, *password_file;
    bool no_wait;
};
struct volume_args {
    bool purge, yes;
};
struct key_args {
    const char *name;
};
extern const struct cmd_opt image_import_opts[], image_save_opts[], volume_rm_opts[],
    key_add_opts[];
VERB_MAIN(image_list);
VERB_MAIN(image_import);
VERB_MAIN(image_save);
VERB_MAIN(image_rm);
VERB_MAIN(volume_list);
VERB_MAIN(volume_rm);
VERB_MAIN(key_add);
VERB_MAIN(key_list);
VERB_MAIN(key_rm);

/* wallet.c, bill.c */
struct topup_args {
    const char *reason;
};
struct bill_args {
    const char *from, *to, *provider;
    bool focus;
};
struct bill_verify_args {
    const char *key, *earlier;
};
extern const struct cmd_opt topup_opts[], bill_opts[], bill_export_opts[], bill_verify_opts[];
VERB_MAIN(wallet_show);
VERB_MAIN(wallet_ledger);
VERB_MAIN(wallet_topup);
VERB_MAIN(bill_show);
VERB_MAIN(bill_export);
VERB_MAIN(bill_verify);
VERB_MAIN(bill_csv);

/* node.c: nodes, audit */
struct enrol_args {
    const char *name;
};
extern const struct cmd_opt enrol_opts[];
VERB_MAIN(node_list);
VERB_MAIN(node_show);
VERB_MAIN(node_enrol);
VERB_MAIN(node_drain);
VERB_MAIN(node_resume);
VERB_MAIN(node_retire);
VERB_MAIN(node_certificates);
VERB_MAIN(audit_money);

/* api.c: any call, events */
struct api_args {
    const char *body;
};
struct events_args {
    int64_t after, limit;
    bool follow;
};
extern const struct cmd_opt api_opts[], events_opts[];
VERB_MAIN(api);
VERB_MAIN(events);
#endif
