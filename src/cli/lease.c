/* SPDX-License-Identifier: Apache-2.0
 *
 * lease.c: ps, show, logs, rm; waiting for a state. Creating one is run.c, stop and start stop.c.
 */
#include "cli/verbs.h"
#include <time.h>

enum { POLL_WAIT_S = 20, WAIT_S_DEFAULT = 300 };

const struct column lease_fields[] = {{"Instance", "id"},
                                      {"Name", "name"},
                                      {"State", "state"},
                                      {"Reason", "reason"},
                                      {"Billed now", "billed"},
                                      {"Model", "model"},
                                      {"Cards", "gpus"},
                                      {"Emulated", "emulated"},
                                      {"Node", "node"},
                                      {"Card numbers", "cards"},
                                      {"Image", "image"},
                                      {"Disk GB", "disk_gb"},
                                      {"SSH host", "ssh.host"},
                                      {"SSH port", "ssh.port"},
                                      {"SSH host key", "host_key"},
                                      {"Rate per hour", "rate_per_hour"},
                                      {"Cost so far", "cost_so_far"},
                                      {"Currency", "currency"},
                                      {"Price version", "price_version"},
                                      {"Created", "created", COL_TIME},
                                      {"Ready", "ready", COL_TIME},
                                      {"Last heartbeat", "last_heartbeat", COL_TIME},
                                      {"Funded until", "funded_until", COL_TIME},
                                      {"Stops at", "autostop.stops_at", COL_TIME},
                                      {"Stops when idle until", "autostop.idle_stop_at", COL_TIME},
                                      {"Deleted at", "autostop.deleted_at", COL_TIME},
                                      {"Nonce", "nonce"},
                                      {"Metric", "metric.name"},
                                      {"Metric value", "metric.value"},
                                      {"Metric SHA-256", "metric.sha256"},
                                      {0}};

const char *lease_path(struct cli *c, const char *id, const char *tail)
{
    return sl_arena_printf(&c->arena, "/v1/leases/%s%s", cli_quote(c, id), tail);
}

/* ---- ps, show ---- */
const struct cmd_opt ps_opts[] = {
    {"all", 'a', CMD_FLAG, NULL, "released and failed ones too", NULL,
     offsetof(struct ps_args, all)},
    {"state", 0, CMD_TEXT, "STATE", "only this state", NULL, offsetof(struct ps_args, state)},
    {0}};

static int ps(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    static const struct column columns[] = {{"ID", "id"},
                                            {"NAME", "name"},
                                            {"STATE", "state"},
                                            {"MODEL", "model"},
                                            {"CARDS", "gpus", COL_RIGHT},
                                            {"NODE", "node"},
                                            {"SSH PORT", "ssh.port", COL_RIGHT},
                                            {"PER HOUR", "rate_per_hour", COL_RIGHT},
                                            {"COST", "cost_so_far", COL_RIGHT},
                                            {"", "currency"},
                                            {"CREATED", "created", COL_TIME},
                                            {0}};
    const struct ps_args *o = opts;
    const char *path =
        o->state ? sl_arena_printf(&c->arena, "/v1/leases?state=%s", cli_quote(c, o->state))
                 : "/v1/leases";
    struct answer a = {0};
    int rc = cli_list(c, path, &a, err);
    if (rc == 0 && (o->all || o->state)) {
        cli_table(c, a.root, columns);
    } else if (rc == 0) {
        SL_AUTO_BUF struct sl_buf b = SL_BUF(CLI_ANSWER_MAX);
        const struct jr_val *items = jr_get(a.root, "items");
        const char *comma = "";
        sl_buf_adds(&b, "{\"items\":[");
        for (size_t i = 0; i < jr_len(items); i++) {
            const char *state = jr_text(jr_get(jr_at(items, i), "state"), "");
            if (sl_streq(state, "released") || sl_streq(state, "failed"))
                continue;
            sl_buf_adds(&b, comma);
            jr_write(jr_at(items, i), &b);
            comma = ",";
        }
        sl_buf_adds(&b, "],\"next\":null}");
        JR_AUTO_DOC struct jr_doc *d = NULL;
        rc = jr_open(b.p, b.n, &d, err);
        if (rc == 0)
            cli_table(c, jr_root(d), columns);
    }
    answer_free(&a);
    return rc;
}
CLI_VERB(ps)

static void print_timeline(struct cli *c, const struct jr_val *lease)
{
    static const struct column columns[] = {
        {"STEP", "step"}, {"AT", "time"}, {"SECONDS", "seconds", COL_RIGHT}, {0}};
    const struct jr_val *t = jr_get(lease, "timeline");
    if (c->json || jr_len(t) == 0)
        return;
    putchar('\n');
    cli_table(c, t, columns);
}

static int show(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const char *id;
    if (cli_lease_id(c, argv[0], &id, err) < 0)
        return -1;
    struct answer a = {0};
    int rc = cli_get(c, lease_path(c, id, ""), &a, err);
    if (rc == 0) {
        cli_show(c, a.root, lease_fields);
        print_timeline(c, a.root);
    }
    answer_free(&a);
    return rc;
}
CLI_VERB(show)

const struct cmd_opt logs_opts[] = {{"bytes", 0, CMD_INT, "N",
                                     "how much of the end; default: the server's", NULL,
                                     offsetof(struct logs_args, bytes)},
                                    {0}};

static int logs(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const struct logs_args *o = opts;
    const char *id;
    if (cli_lease_id(c, argv[0], &id, err) < 0)
        return -1;
    const char *path = lease_path(c, id, "/logs");
    if (o->bytes)
        path = sl_arena_printf(&c->arena, "%s?tail_bytes=%lld", path, (long long)o->bytes);
    struct answer a = {0};
    int rc = cli_get(c, path, &a, err);
    if (rc == 0 && c->json)
        cli_print_json(a.root);
    else if (rc == 0)
        fputs(jr_text(jr_get(a.root, "text"), ""), stdout);
    answer_free(&a);
    return rc;
}
CLI_VERB(logs)

/* ---- waiting ---- */
static int64_t mono_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

int lease_wait(struct cli *c, const char *id, const char *want, int64_t wait_s, struct answer *a,
               struct sl_err *err)
{
    const char *path = lease_path(c, id, "");
    char last[32] = "";
    int64_t give_up = mono_s() + wait_s;
    for (;;) {
        char before[sizeof a->etag];
        snprintf(before, sizeof before, "%s", a->etag);
        int64_t left = give_up - mono_s();
        if (cli_get_change(c, path,
                           left > POLL_WAIT_S ? POLL_WAIT_S
                           : left > 1         ? (int)left
                                              : 1,
                           a, err) < 0)
            return -1;
        const char *state = jr_text(jr_get(a->root, "state"), "");
        const char *reason = jr_text(jr_get(a->root, "reason"), "");
        if (strcmp(state, last) != 0)
            cli_say(c, "  %s%s%s", state, *reason ? ": " : "", reason);
        snprintf(last, sizeof last, "%s", state);
        if (sl_streq(state, want))
            return 0;
        bool ended = sl_streq(state, "failed") || sl_streq(state, "released") ||
                     (sl_streq(want, "running") && sl_streq(state, "stopped"));
        if (ended)
            return sl_fail(err, SL_CONFLICT, "%s is %s, not %s%s%s", id, state, want,
                           *reason ? ": " : "", reason);
        if (mono_s() >= give_up)
            return sl_fail(err, SL_TIMEOUT,
                           "%s is still %s after %lld s: `starlease show %s` tells how it goes on",
                           id, state, (long long)wait_s, id);
        if (!a->etag[0] || sl_streq(before, a->etag)) /* a server that does not long-poll */
            nanosleep(&(struct timespec){0, 200000000}, NULL);
    }
}

/* ---- rm ---- */
const struct cmd_opt rm_opts[] = {
    {"yes", 'y', CMD_FLAG, NULL, "do not ask", NULL, offsetof(struct wait_args, yes)},
    WAIT_OPTS,
    {0}};

int lease_finish(struct cli *c, const struct wait_args *o, const char *id, const char *want,
                 struct answer *a, struct sl_err *err)
{
    if (!o->no_wait && lease_wait(c, id, want, o->wait_s ? o->wait_s : WAIT_S_DEFAULT, a, err) < 0)
        return -1;
    if (c->json)
        cli_print_json(a->root);
    else
        printf("%s %s, cost so far %s %s\n", id, jr_text(jr_get(a->root, "state"), want),
               jr_text(jr_get(a->root, "cost_so_far"), "?"),
               jr_text(jr_get(a->root, "currency"), ""));
    return 0;
}

/* Stops it when it runs: a release needs a stopped instance. */
static int stop_first(struct cli *c, const char *id, struct answer *a, struct sl_err *err)
{
    int rc = cli_get(c, lease_path(c, id, ""), a, err);
    const char *state = jr_text(jr_get(a->root, "state"), "");
    if (rc || sl_streq(state, "stopped") || sl_streq(state, "failed") ||
        sl_streq(state, "released"))
        return rc;
    if (!sl_streq(state, "stopping") &&
        cli_call(c, "POST", lease_path(c, id, "/stop"), NULL, a, err) < 0)
        return -1;
    a->etag[0] = 0;
    return lease_wait(c, id, "stopped", WAIT_S_DEFAULT, a, err);
}

static int rm(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const struct wait_args *o = opts;
    const char *id;
    if (cli_lease_id(c, argv[0], &id, err) < 0)
        return -1;
    SL_AUTO_FREE char *q =
        sl_asprintf("Release %s? It is stopped if it runs. Its disk is kept as a tombstone for "
                    "some days (`starlease volume list` shows until when), then deleted.",
                    id);
    if (cli_confirm(c, o->yes, q, err) < 0)
        return -1;
    struct answer a = {0};
    int rc = stop_first(c, id, &a, err);
    if (rc >= 0)
        rc = cli_call(c, "DELETE", lease_path(c, id, ""), NULL, &a, err);
    if (rc == 0) {
        a.etag[0] = 0;
        rc = lease_finish(c, o, id, "released", &a, err);
    }
    answer_free(&a);
    return rc;
}
CLI_VERB(rm)
