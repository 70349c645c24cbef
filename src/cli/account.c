/* SPDX-License-Identifier: Apache-2.0
 *
 * account.c: signup, verify, login, trial, token create/list/revoke.
 */
#include "cli/verbs.h"
#include "base/core/id.h"
#include "base/io/crypto.h"
#include "base/io/http_client.h"
#include "base/io/proc.h"
#include <sys/utsname.h>

static const struct column account_fields[] = {{"Account", "id"},
                                               {"E-mail", "email"},
                                               {"Role", "role"},
                                               {"State", "state"},
                                               {"E-mail verified", "email_verified"},
                                               {"Currency", "currency"},
                                               {"Quota: cards", "quota.gpus"},
                                               {"Quota: instances", "quota.leases"},
                                               {"Quota: disk GB", "quota.disk_gb"},
                                               {0}};

const struct cmd_opt signup_opts[] = {{"password-file", 0, CMD_TEXT, "FILE",
                                       "first line is the password; - is stdin", NULL,
                                       offsetof(struct signup_args, password_file)},
                                      {0}};

static int signup(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const struct signup_args *o = opts;
    const char *password;
    if (cli_password(c, o->password_file, true, &password, err) < 0)
        return -1;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(4096);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "email", argv[0]);
    jw_str(&w, "password", c->g.explain ? "..." : password);
    jw_end(&w);
    struct answer a = {0};
    int rc = cli_call(c, "POST", "/v1/accounts", sl_buf_str(&b), &a, err);
    if (rc == 0) {
        cli_show(c, a.root, account_fields);
        cli_say(c, "A code is on its way: starlease verify %s CODE", argv[0]);
    }
    answer_free(&a);
    return rc;
}
CLI_VERB(signup)

static int verify(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(4096);
    struct jw w = {&b};
    bool resend = argc == 1;
    jw_object(&w, NULL);
    jw_str(&w, "email", argv[0]);
    if (!resend)
        jw_str(&w, "code", argv[1]);
    jw_end(&w);
    struct answer a = {0};
    int rc = cli_call(c, "POST", resend ? "/v1/accounts/code" : "/v1/accounts/verify",
                      sl_buf_str(&b), &a, err);
    if (rc == 0 && resend)
        cli_say(c, "If the address has an account, a new code is on its way.");
    else if (rc == 0)
        cli_show(c, a.root, account_fields);
    answer_free(&a);
    return rc;
}
CLI_VERB(verify)

/* ---- login ---- */
const struct cmd_opt login_opts[] = {
    {"password-file", 0, CMD_TEXT, "FILE", "first line is the password; - is stdin", NULL,
     offsetof(struct login_args, password_file)},
    {"code", 0, CMD_TEXT, "DIGITS", "of the second factor, where the account has one", NULL,
     offsetof(struct login_args, code)},
    {"token", 0, CMD_FLAG, NULL, "store a token read from standard input instead of signing in",
     NULL, offsetof(struct login_args, token)},
    {"days", 0, CMD_INT, "N", "how long the token lives; default: the server's", NULL,
     offsetof(struct login_args, days)},
    {"trust", 0, CMD_TEXT, "SHA256", "trust the server's certificate when it has this fingerprint",
     NULL, offsetof(struct login_args, trust)},
    {0}};

/* Trust on first use: shows the certificate's fingerprint, asks, keeps the certificate beside the
 * configuration. From then on the address is only talked to with this certificate (or one it
 * signed). */
static int trust_certificate(struct cli *c, const char *expected, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf pem = SL_BUF(1 << 16);
    char print[SHA256_HEX];
    if (http_peer_certificate(c->url, &pem, print, err) < 0)
        return -1;
    if (expected && strcasecmp(expected, print) != 0)
        return sl_fail_at(err, SL_INTEGRITY, "trust",
                          "the server's certificate is %s, not the expected one: ask its operator",
                          print);
    if (!expected) {
        SL_AUTO_FREE char *q = sl_asprintf(
            "%s is not known yet. Its certificate has the SHA-256 fingerprint\n  %s\n"
            "Compare it with what the operator tells. Trust it (or repeat with --trust SHA256)?",
            c->url, print);
        if (!isatty(STDIN_FILENO))
            return sl_fail_at(
                err, SL_INVALID, "trust",
                "the server's certificate is not known: check that its fingerprint is %s "
                "and repeat with --trust %s",
                print, print);
        if (cli_confirm(c, false, q, err) < 0)
            return -1;
    }
    c->ca_file = sl_arena_printf(&c->arena, "%s.server.pem", c->config_path);
    return file_write(c->ca_file, sl_buf_str(&pem), pem.n, 0600, err);
}

/* Pins the key that the control plane signs statements with. */
static int pin_key(struct cli *c, struct sl_err *err)
{
    struct answer a = {0};
    if (cli_get(c, "/v1/key", &a, err) < 0) {
        answer_free(&a);
        return -1;
    }
    const char *key = jr_text(jr_get(a.root, "public"), "");
    int rc = 0;
    if (c->server_key[0] && strcmp(c->server_key, key) != 0)
        rc = sl_fail_at(err, SL_INTEGRITY, "key",
                        "the server signs with %s, but %s was pinned at an earlier login: ask its "
                        "operator, then delete the line from %s",
                        key, c->server_key, c->config_path);
    else
        c->server_key = sl_arena_strdup(&c->arena, key);
    answer_free(&a);
    return rc;
}

static int token_from_stdin(struct cli *c, struct sl_err *err)
{
    char line[256] = "";
    if (!fgets(line, sizeof line, stdin))
        return sl_fail_at(err, SL_INVALID, "token", "standard input is empty: pipe the token in");
    line[strcspn(line, "\r\n")] = 0;
    if (!sl_starts(line, "slk_"))
        return sl_fail_at(err, SL_INVALID, "token",
                          "a token begins with slk_: check what was piped in");
    c->token = sl_arena_strdup(&c->arena, line);
    struct answer a = {0};
    int rc = cli_get(c, "/v1/account", &a, err);
    answer_free(&a);
    return rc;
}

static int new_session(struct cli *c, const struct login_args *o, const char *email,
                       struct sl_err *err)
{
    const char *password;
    if (cli_password(c, o->password_file, false, &password, err) < 0)
        return -1;
    struct utsname host = {0};
    uname(&host);
    SL_AUTO_BUF struct sl_buf b = SL_BUF(4096);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "email", email);
    jw_str(&w, "password", c->g.explain ? "..." : password);
    jw_str(&w, "name", host.nodename[0] ? host.nodename : "cli");
    if (o->days)
        jw_int(&w, "days", o->days);
    if (o->code)
        jw_str(&w, "code", o->code);
    jw_end(&w);
    struct answer a = {0};
    c->token = "";
    int rc = cli_call(c, "POST", "/v1/sessions", sl_buf_str(&b), &a, err);
    if (rc == 0) {
        c->token = sl_arena_strdup(&c->arena, jr_text(jr_get(a.root, "token"), ""));
        if (!c->token[0])
            rc = sl_fail(err, SL_UNAVAILABLE, "the server answered without a token");
    }
    if (a.text.p)
        explicit_bzero(a.text.p, a.text.n);
    answer_free(&a);
    return rc;
}

static int login(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const struct login_args *o = opts;
    if (!o->token && argc < 1)
        return sl_fail_at(err, SL_INVALID, "email", "an e-mail address is missing: login EMAIL");
    if (sl_starts(c->url, "https://") && !c->g.explain && (!c->ca_file[0] || o->trust)) {
        /* A certificate that the system already trusts needs no question. */
        struct answer probe = {0};
        bool known = !o->trust && cli_get(c, "/v1/health", &probe, err) == 0;
        answer_free(&probe);
        if (!known && trust_certificate(c, o->trust, err) < 0)
            return -1;
    }
    int rc = o->token ? token_from_stdin(c, err) : new_session(c, o, argv[0], err);
    if (rc)
        return rc;
    if (pin_key(c, err) < 0 || cli_config_save(c, err) < 0)
        return -1;
    if (c->json)
        printf("{\"url\":\"%s\",\"config\":\"%s\"}\n", c->url, c->config_path);
    else
        printf("Signed in at %s; kept in %s\n", c->url, c->config_path);
    return 0;
}
CLI_VERB(login)

/* ---- trial credit ---- */
const struct cmd_opt trial_opts[] = {
    {"kind", 0, CMD_TEXT, "phone|real_name", "what to prove, where the site asks for it", NULL,
     offsetof(struct trial_args, kind)},
    {"value", 0, CMD_TEXT, "TEXT", "the number or name", NULL, offsetof(struct trial_args, value)},
    {"proof", 0, CMD_TEXT, "TEXT", "the code or document number that proves it", NULL,
     offsetof(struct trial_args, proof)},
    {0}};

/* Proves an identity; the site grants the credit with it. */
static int prove_identity(struct cli *c, const struct trial_args *o, struct answer *a,
                          struct sl_err *err)
{
    if (!o->kind || !o->value || !o->proof)
        return sl_fail_at(err, SL_INVALID, "kind", "--kind, --value and --proof belong together");
    SL_AUTO_BUF struct sl_buf b = SL_BUF(16384);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "kind", o->kind);
    jw_str(&w, "value", o->value);
    jw_str(&w, "proof", c->g.explain ? "..." : o->proof);
    jw_end(&w);
    return cli_call(c, "POST", "/v1/account/identity", sl_buf_str(&b), a, err);
}

static int trial(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    static const struct column fields[] = {
        {"Verified", "verified"},         {"Trial credit", "amount"},
        {"Trial credit", "trial.amount"}, {"Available", "wallet.available"},
        {"Currency", "wallet.currency"},  {0}};
    const struct trial_args *o = opts;
    bool prove = o->kind || o->value || o->proof;
    struct answer a = {0};
    int rc = prove ? prove_identity(c, o, &a, err)
                   : cli_call(c, "POST", "/v1/account/trial", NULL, &a, err);
    if (rc == 0 && !jr_true(cli_at(a.root, prove ? "trial.granted" : "granted")))
        rc = sl_fail(err, SL_CONFLICT, "the trial credit was given before; it comes once");
    else if (rc == 0)
        cli_show(c, a.root, fields);
    answer_free(&a);
    return rc;
}
CLI_VERB(trial)

/* ---- tokens ---- */
const struct cmd_opt token_opts[] = {
    {"scopes", 0, CMD_TEXT, "LIST", "read, or read,write; default read,write", NULL,
     offsetof(struct token_args, scopes)},
    {"days", 0, CMD_INT, "N", "how long it lives; default: the server's", NULL,
     offsetof(struct token_args, days)},
    {0}};
static const struct column token_columns[] = {{"ID", "id"},
                                              {"NAME", "name"},
                                              {"SCOPES", "scopes"},
                                              {"CREATED", "created", COL_TIME},
                                              {"EXPIRES", "expires", COL_TIME},
                                              {"LAST USED", "last_used", COL_TIME},
                                              {"REVOKED", "revoked", COL_TIME},
                                              {0}};

static int token_create(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const struct token_args *o = opts;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(4096);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "name", argv[0]);
    if (o->scopes)
        jw_str(&w, "scopes", o->scopes);
    if (o->days)
        jw_int(&w, "days", o->days);
    jw_end(&w);
    struct answer a = {0};
    int rc = cli_call(c, "POST", "/v1/tokens", sl_buf_str(&b), &a, err);
    static const struct column fields[] = {{"Token", "token"},
                                           {"ID", "id"},
                                           {"Scopes", "scopes"},
                                           {"Expires", "expires", COL_TIME},
                                           {0}};
    if (rc == 0) {
        cli_show(c, a.root, fields);
        cli_say(c, "The token is shown this once; the server keeps only its hash.");
    }
    answer_free(&a);
    return rc;
}
CLI_VERB(token_create)

static int token_list(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    return cli_list_verb(c, "/v1/tokens", token_columns, err);
}
CLI_VERB(token_list)

static int token_revoke(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const char *id;
    if (cli_find_id(c, "/v1/tokens", "tok", "name", "token", argv[0], &id, err) < 0)
        return -1;
    return cli_delete_verb(c, "/v1/tokens", id, "revoked", err);
}
CLI_VERB(token_revoke)

/* ---- accounts of others (operator) ---- */
const struct cmd_opt freeze_opts[] = {{"reason", 0, CMD_TEXT, "TEXT", "what the renter reads", NULL,
                                       offsetof(struct topup_args, reason)},
                                      {0}};
static const struct column account_columns[] = {
    {"ACCOUNT", "id", COL_TEXT},  {"EMAIL", "email", COL_TEXT},         {"ROLE", "role", COL_TEXT},
    {"STATE", "state", COL_TEXT}, {"REASON", "state_reason", COL_TEXT}, {0}};

static int account_list(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    return cli_list_verb(c, "/v1/accounts", account_columns, err);
}
CLI_VERB(account_list)

static int account_state(struct cli *c, const char *account, const char *what, const char *body,
                         struct sl_err *err)
{
    const char *id;
    struct answer a = {0};
    if (cli_find_id(c, "/v1/accounts", "acc", "email", "account", account, &id, err) < 0)
        return -1;
    int rc = cli_call(c, "POST",
                      sl_arena_printf(&c->arena, "/v1/accounts/%s/%s", cli_quote(c, id), what),
                      body, &a, err);
    if (rc == 0 && c->json)
        cli_print_json(a.root);
    else if (rc == 0)
        printf("%s is %s\n", cli_text(c, jr_get(a.root, "email"), COL_TEXT),
               cli_text(c, jr_get(a.root, "state"), COL_TEXT));
    answer_free(&a);
    return rc;
}

static int account_freeze(struct cli *c, const void *opts, int argc, char **argv,
                          struct sl_err *err)
{
    const struct topup_args *o = opts;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(4096);
    struct jw w = {&b};
    if (!o->reason)
        return sl_fail_at(err, SL_INVALID, "reason",
                          "--reason TEXT is missing: the renter must read why");
    jw_object(&w, NULL);
    jw_str(&w, "reason", o->reason);
    jw_end(&w);
    return account_state(c, argv[0], "freeze", sl_buf_str(&b), err);
}
CLI_VERB(account_freeze)

static int account_unfreeze(struct cli *c, const void *opts, int argc, char **argv,
                            struct sl_err *err)
{
    return account_state(c, argv[0], "unfreeze", NULL, err);
}
CLI_VERB(account_unfreeze)
