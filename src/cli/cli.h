/* SPDX-License-Identifier: Apache-2.0
 *
 * cli.h: what every verb of `starlease` shares: configuration, one HTTP call, errors, output.
 *
 *     static int wallet_show(struct cli *c, const void *opts, int argc, char **argv, struct sl_err
 * *err)
 *     {
 *         struct answer a = {0};
 *         int rc = cli_get(c, "/v1/wallet", &a, err);
 *         if (rc == 0)
 *             cli_show(c, a.root, wallet_fields);
 *         answer_free(&a);
 *         return rc;
 *     }
 *     CLI_VERB(wallet_show)                      defines wallet_show_main for the verb table
 *
 * A verb returns 0, -1 with *err filled, or CLI_EXPLAINED: with --explain a call is printed instead
 * of made, and every caller passes that value on. Output goes to stdout, everything meant for a
 * person who waits (progress, questions) to stderr. Nothing here is shared between threads.
 */
#ifndef SL_CLI_H
#define SL_CLI_H
#include "base/core/buf.h"
#include "base/core/cmd.h"
#include "base/core/err.h"
#include "base/core/mem.h"
#include "base/core/money.h"
#include "base/io/json.h"

enum { CLI_EXPLAINED = 1, CLI_ANSWER_MAX = 64 << 20, CLI_PATH_MAX = 512 };

struct cli_globals {
    const char *output; /* "json", "table" or NULL */
    const char *config; /* path or NULL */
    const char *url;
    bool explain;
};

struct cli {
    struct cli_globals g;
    const char *config_path; /* owned by arena, as all below */
    const char *url;         /* "" when no server is known */
    const char *token;       /* "" when not signed in */
    const char *ca_file;     /* "" or a PEM file that is trusted for url */
    const char *server_key;  /* "" or the control plane's public key in hex, pinned at login */
    bool json;               /* -o json */
    bool talk;               /* stderr is a terminal: progress lines are welcome */
    struct sl_arena arena;
};

typedef int cli_verb_fn(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err);
/* Loads the configuration, runs fn, reports an error, returns the exit status. */
int cli_run(cli_verb_fn *fn, const void *globals, const void *opts, int argc, char **argv);
#define CLI_VERB(fn)                                                                               \
    int fn##_main(const void *globals, const void *opts, int argc, char **argv)                    \
    {                                                                                              \
        return cli_run(fn, globals, opts, argc, argv);                                             \
    }

/* ---- configuration (config.c): an INI file of mode 0600; STARLEASE_URL and STARLEASE_TOKEN win
 * ---- */
int cli_config_load(struct cli *c, struct sl_err *err);
/* Writes url, token, ca_file and server_key back. */
int cli_config_save(const struct cli *c, struct sl_err *err);

/* ---- calls (client.c) ---- */
struct answer {
    int status;
    char etag[96];
    struct sl_buf text;
    struct jr_doc *doc; /* NULL when there was no body */
    const struct jr_val *root;
};
void answer_free(struct answer *a);
/* One call. Every POST carries an Idempotency-Key; a transient failure is tried again with the same
 * key. A problem+json answer becomes *err with the server's code, field and sentence. */
int cli_call(struct cli *c, const char *method, const char *path, const char *body,
             struct answer *a, struct sl_err *err);
int cli_get(struct cli *c, const char *path, struct answer *a, struct sl_err *err);
/* GET that returns when the entity differs from a->etag or after wait_s; then *a is replaced. */
int cli_get_change(struct cli *c, const char *path, int wait_s, struct answer *a,
                   struct sl_err *err);
/* Follows "next" to the end: *a holds one {"items":[...],"next":null}. */
int cli_list(struct cli *c, const char *path, struct answer *a, struct sl_err *err);
/* Server-sent events: on_event gets the data of each; it returns false to stop. */
int cli_stream(struct cli *c, const char *path, bool (*on_event)(void *arg, const char *data),
               void *arg, struct sl_err *err);
/* Percent-encodes one path segment or query value. Lives in the arena. */
const char *cli_quote(struct cli *c, const char *s);

/* ---- output (output.c) ---- */
enum column_kind { COL_TEXT, COL_RIGHT, COL_TIME, COL_BYTES, COL_DURATION, COL_COUNT };
struct column {
    const char *title;
    const char *path; /* member, or "stock.free" */
    enum column_kind kind;
};
/* JSON as it came with -o json, else a table of v's "items" (or of v itself, an array). */
void cli_table(struct cli *c, const struct jr_val *v, const struct column *columns);
/* JSON as it came with -o json, else one "title: value" line a field; absent members are left out.
 */
void cli_show(struct cli *c, const struct jr_val *v, const struct column *fields);
/* Prints v as one line of JSON. */
void cli_print_json(const struct jr_val *v);
/* A value as a person reads it: "-" for null, yes/no, control characters replaced. Lives in the
 * arena. */
const char *cli_text(struct cli *c, const struct jr_val *v, enum column_kind kind);
/* The server is not trusted with the terminal: control characters (C0 and C1) become '?'. Arena. */
const char *cli_safe(struct cli *c, const char *s);
const struct jr_val *cli_at(const struct jr_val *v, const char *path); /* "a.b"; NULL when absent */
/* "4 h 32 min", "3 d 2 h", "45 s". Lives in the arena. */
const char *cli_duration(struct cli *c, int64_t seconds);
/* A sentence for the person who waits; nothing unless stderr is a terminal. */
void cli_say(struct cli *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- questions (ask.c) ---- */
/* 0 when `yes` or the answer begins with y. Without a terminal: SL_INVALID that names --yes. */
int cli_confirm(struct cli *c, bool yes, const char *question, struct sl_err *err);
/* From STARLEASE_PASSWORD, from `file` (first line; "-" is stdin), or asked for without echo. */
int cli_password(struct cli *c, const char *file, bool twice, const char **ret, struct sl_err *err);

/* ---- names ---- */
/* A lease by id or by name -> its id (arena). With --explain a name is passed on as it is. */
int cli_lease_id(struct cli *c, const char *id_or_name, const char **ret_id, struct sl_err *err);
/* The same for any list whose items have "id" and `name_member`. */
int cli_find_id(struct cli *c, const char *list_path, const char *prefix, const char *name_member,
                const char *what, const char *id_or_name, const char **ret_id, struct sl_err *err);
/* A shipped data file ("prices/seed.csv"): beside the sources of a build tree, else
 * /usr/share/starlease, else the prefix the binary stands in. Lives in the arena. */
int cli_data_file(struct cli *c, const char *name, const char **ret_path, struct sl_err *err);
#endif
