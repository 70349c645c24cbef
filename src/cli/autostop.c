/* SPDX-License-Identifier: Apache-2.0
 *
 * autostop.c: the timers of an instance: options of `run`, and `autostop` for one that is there.
 */
#include "base/core/clock.h"
#include "cli/verbs.h"

const struct cmd_opt autostop_opts[] = {AUTOSTOP_OPTS(autostop_args, timers), {0}};

static const struct column autostop_columns[] = {
    {"TTL", "autostop.ttl_s", COL_DURATION},
    {"Stops at", "autostop.stops_at", COL_TIME},
    {"Because of", "autostop.stops_by"},
    {"Budget", "autostop.budget"},
    {"Cost so far", "cost_so_far"},
    {"Idle timer", "autostop.idle_s", COL_DURATION},
    {"Last used", "autostop.used_at", COL_TIME},
    {"SSH sessions", "autostop.use.ssh"},
    {"Connections", "autostop.use.ports"},
    {"CPU thousandths", "autostop.use.cpu_permille"},
    {"GPU busy %", "autostop.use.gpu_percent"},
    {"Stops when idle until", "autostop.idle_stop_at", COL_TIME},
    {"Deleted after a stop", "autostop.delete_after_s", COL_DURATION},
    {"Deleted at", "autostop.deleted_at", COL_TIME},
    {0}};

static int timer(struct jw *w, const char *name, const char *option, const char *text,
                 struct sl_err *err)
{
    int64_t s = 0;
    if (!text)
        return 0;
    if (!sl_streq(text, "off") && duration_parse(text, option, &s, err) < 0)
        return -1;
    jw_int(w, name, s);
    return 0;
}

bool autostop_given(const struct timer_args *t)
{
    return t->ttl || t->budget || t->idle || t->delete_after;
}

int autostop_body(struct jw *w, const char *key, const struct timer_args *t, struct sl_err *err)
{
    jw_object(w, key);
    if (timer(w, "ttl_s", "ttl", t->ttl, err) < 0 || timer(w, "idle_s", "idle", t->idle, err) < 0 ||
        timer(w, "delete_after_s", "delete-after", t->delete_after, err) < 0)
        return -1;
    if (t->budget)
        jw_str(w, "budget", sl_streq(t->budget, "off") ? "0" : t->budget);
    jw_end(w);
    return 0;
}

static int autostop(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const struct autostop_args *o = opts;
    const char *id;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(1024);
    struct jw w = {&b};
    struct answer a = {0};
    if (cli_lease_id(c, argv[0], &id, err) < 0)
        return -1;
    const char *path = sl_arena_printf(&c->arena, "/v1/leases/%s", cli_quote(c, id));
    int rc;
    if (autostop_given(&o->timers)) {
        if (autostop_body(&w, NULL, &o->timers, err) < 0)
            return -1;
        rc = cli_call(c, "POST", sl_arena_printf(&c->arena, "%s/autostop", path), sl_buf_str(&b),
                      &a, err);
    } else {
        rc = cli_get(c, path, &a, err);
    }
    if (rc == 0 && c->json)
        cli_print_json(a.root);
    else if (rc == 0 && !jr_get(jr_get(a.root, "autostop"), "ttl_s"))
        printf("%s has no timers\n", id);
    else if (rc == 0)
        cli_show(c, a.root, autostop_columns);
    answer_free(&a);
    return rc;
}
CLI_VERB(autostop)
