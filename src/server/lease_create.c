/* SPDX-License-Identifier: Apache-2.0
 *
 * How a lease begins: the first time (create) and after a stop (start).
 */
#include "base/core/failpoint.h"
#include "server/autostop.h"
#include "server/event.h"
#include "server/image.h"
#include "server/lease.h"
#include "server/node.h"
#include "server/operation.h"
#include "server/placement.h"
#include "server/quota.h"
#include "server/quote.h"
#include "server/snapshot.h"
#include "server/tariff.h"
#include "server/volume.h"
#include <inttypes.h>
#include <stdio.h>

enum { SLOTS_MAX = 4096, NONCE_BYTES = 32, GB = 1000000000, COMMAND_MAX = 64 << 10 };

static const char sql_slots[] = "SELECT slot FROM lease WHERE node_name = ?1 AND state <> "
                                "'released' AND state <> 'failed' ORDER BY slot";
static const char sql_add[] =
    "INSERT INTO lease(id, account_id, name, state, state_since_us, deadline_us, epoch, model, "
    "gpus, node_name, "
    "gpu_mask, slot, quote_id, price_version_id, rate_micro, currency, horizon_s, image, "
    "volume_id, "
    "disk_gb, command, ssh_keys, nonce, emulated, created_us, updated_us) VALUES(?1, ?2, ?3, "
    "'placed', ?4, ?21, 1, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, "
    "?20, "
    "(SELECT emulated FROM node WHERE name = ?7), ?4, ?4)";
static const char sql_again[] =
    "UPDATE lease SET epoch = epoch + 1, gpu_mask = ?2, ready_us = 0, last_heartbeat_us = 0, "
    "reason = '', updated_us = ?3 WHERE id = ?1";
static const char sql_again_cpu[] =
    "UPDATE lease SET epoch = epoch + 1, cpu_run = 1, cpu_rate_micro = ?2, cpu_tariff_id = ?3, "
    "ready_us = 0, last_heartbeat_us = 0, reason = '', updated_us = ?4 WHERE id = ?1";
static const char sql_name_taken[] =
    "SELECT COUNT(*) FROM lease WHERE account_id = ?1 AND name = ?2 AND state <> 'released' AND "
    "state <> 'failed'";
static const char sql_keys[] = "SELECT line FROM ssh_key WHERE account_id = ?1 ORDER BY id";
static const char sql_key[] = "SELECT line FROM ssh_key WHERE account_id = ?1 AND id = ?2";
static const char sql_account[] = "SELECT state, state_reason FROM account WHERE id = ?1";

struct creation {
    struct db_c *c;
    struct server *s;
    const char *account_id;
    const struct lease_want *want;
    char id[ID_TEXT], volume_id[ID_TEXT], name[64], node[64], digest[DIGEST_TEXT],
        image[IMAGE_NAME];
    struct quote quote;
    uint64_t mask;
    int64_t slot;
    struct sl_buf keys, command;
};

static int account_active(struct db_c *c, const char *account_id, struct sl_err *err)
{
    struct db_q q;
    char state[16] = "", reason[320] = "";
    int rc = db_row(c, &q, err, sql_account, "t", account_id);
    if (rc > 0) {
        (void)snprintf(state, sizeof state, "%s", db_text(&q, 0));
        (void)snprintf(reason, sizeof reason, "%s", db_text(&q, 1));
    }
    db_done(&q);
    if (rc < 0)
        return -1;
    if (sl_streq(state, "active"))
        return 0;
    if (sl_streq(state, "frozen"))
        return sl_fail(err, SL_FORBIDDEN,
                       "the account is frozen (%.200s); what is there can be stopped and released, "
                       "nothing can be started",
                       reason);
    return sl_fail(err, SL_FORBIDDEN,
                   "the e-mail address is not verified; enter the mailed code first");
}

static int pick_name(struct creation *k, struct sl_err *err)
{
    int64_t taken = 0;
    if (!k->want->name) { /* the end of the id is its random part */
        (void)snprintf(k->name, sizeof k->name, "i-%s", k->id + strlen(k->id) - 10);
        return 0;
    }
    if (!name_ok(k->want->name))
        return sl_fail_at(err, SL_INVALID, "name",
                          "name: \"%.63s\" is not a name; use 1 to 63 of a-z, 0-9 and '-', first "
                          "and last a letter or digit",
                          k->want->name);
    (void)snprintf(k->name, sizeof k->name, "%s", k->want->name);
    if (db_value(k->c, 0, &taken, err, sql_name_taken, "tt", k->account_id, k->name) < 0)
        return -1;
    if (taken)
        return sl_fail_at(err, SL_CONFLICT, "name",
                          "name: you have an instance named %s; release it or choose another name",
                          k->name);
    return 0;
}

static int add_key(struct creation *k, struct jw *w, const char *key_id, struct sl_err *err)
{
    struct db_q q;
    int rc = db_row(k->c, &q, err, sql_key, "tt", k->account_id, key_id);
    if (rc > 0)
        jw_str(w, NULL, db_text(&q, 0));
    db_done(&q);
    if (rc < 0)
        return -1;
    if (rc == 0)
        return sl_fail_at(err, SL_INVALID, "keys",
                          "keys: no SSH key %.60s exists; list your keys to see their ids", key_id);
    return 0;
}

static int pick_keys(struct creation *k, struct sl_err *err)
{
    struct jw w = {&k->keys};
    int n = k->want->keys.n, rc = 0;
    jw_array(&w, NULL);
    for (int i = 0; i < n; i++)
        if (add_key(k, &w, k->want->keys.v[i], err) < 0)
            return -1;
    if (n == 0) {
        struct db_q q;
        rc = db_query(k->c, &q, err, sql_keys, "t", k->account_id);
        while (rc >= 0 && (rc = db_next(&q, err)) > 0 && ++n)
            jw_str(&w, NULL, db_text(&q, 0));
        db_done(&q);
    }
    jw_end(&w);
    if (rc < 0)
        return -1;
    if (n == 0 && k->want->command.n == 0)
        return sl_fail_at(err, SL_INVALID, "keys",
                          "keys: the account has no SSH key and no command is given, so nobody "
                          "could use the instance; add a key first");
    return 0;
}

static int write_command(struct creation *k, struct sl_err *err)
{
    struct jw w = {&k->command};
    jw_array(&w, NULL);
    for (int i = 0; i < k->want->command.n; i++)
        jw_str(&w, NULL, k->want->command.v[i]);
    jw_end(&w);
    if (k->command.over)
        return sl_fail_at(err, SL_TOO_LARGE, "command", "command: over %d bytes", COMMAND_MAX);
    return 0;
}

/* The smallest number that no lease on this node uses: SSH port, address and uid range come from
 * it. */
static int pick_slot(struct creation *k, struct sl_err *err)
{
    struct db_q q;
    int rc = db_query(k->c, &q, err, sql_slots, "t", k->node);
    k->slot = 0;
    while (rc >= 0 && (rc = db_next(&q, err)) > 0 && db_int(&q, 0) == k->slot)
        k->slot++;
    db_done(&q);
    if (rc < 0)
        return -1;
    if (k->slot >= SLOTS_MAX)
        return sl_fail(err, SL_NO_CAPACITY, "node %s keeps %d instances already, its limit",
                       k->node, SLOTS_MAX);
    return 0;
}

static int place_lease(struct creation *k, struct sl_err *err)
{
    struct place_ask ask = {.account_id = k->account_id,
                            .model = k->quote.model,
                            .gpus = k->quote.gpus,
                            .image = k->image,
                            .digest = k->digest};
    if (place_in_db(k->c, k->s, &ask, k->node, &k->mask, err) < 0 ||
        node_take(k->c, k->s, k->node, k->account_id, k->mask, err) < 0)
        return -1;
    return pick_slot(k, err);
}

/* In the state that it has when this transaction ends; create() tells both steps as events. */
static int insert(struct creation *k, struct sl_err *err)
{
    uint8_t random[NONCE_BYTES];
    char nonce[2 * NONCE_BYTES + 1];
    int64_t now = env_now(k->s->env);
    const struct quote *q = &k->quote;
    env_random(k->s->env, random, sizeof random);
    hex_encode(random, sizeof random, nonce);
    return db_exec(k->c, err, sql_add, "tttititiittitittittti", k->id, k->account_id, k->name, now,
                   q->model, q->gpus, k->node, (int64_t)k->mask, k->slot, q->id,
                   q->price_version_id, q->rate_micro, q->currency, q->horizon_s, q->image,
                   k->volume_id, q->disk_gb, sl_buf_str(&k->command), sl_buf_str(&k->keys), nonce,
                   sm_deadline_us(&lease_sm, LEASE_PLACED, now));
}

static int tell_node(struct db_c *c, struct server *s, const char *lease, const char *account,
                     const char *node, int64_t epoch, struct sl_err *err)
{
    struct operation_new op = {.kind = "lease_start",
                               .ref = lease,
                               .account_id = account,
                               .node_name = node,
                               .epoch = epoch};
    return operation_add(c, s, &op, NULL, err);
}

static int timers(struct creation *k, struct sl_err *err)
{
    struct lease l = {.state = LEASE_PLACED};
    memcpy(l.id, k->id, ID_TEXT);
    (void)snprintf(l.account_id, sizeof l.account_id, "%s", k->account_id);
    (void)snprintf(l.name, sizeof l.name, "%s", k->name);
    return autostop_set(k->c, k->s, &l, &k->want->autostop, k->account_id, err);
}

static int create(struct creation *k, struct sl_err *err)
{
    struct db_c *c = k->c;
    struct server *s = k->s;
    const struct quote *q = &k->quote;
    env_id(s->env, "lea", k->id);
    if (account_active(c, k->account_id, err) < 0 ||
        quote_use(c, s, k->account_id, k->want->quote, k->id, &k->quote, err) < 0 ||
        pick_name(k, err) < 0 || pick_keys(k, err) < 0 || write_command(k, err) < 0 ||
        image_check(c, k->account_id, q->image, k->digest, k->image, err) < 0 ||
        quota_check(c, k->account_id, q->gpus, 1, q->disk_gb, err) < 0 ||
        wallet_spend_check(c, s, k->account_id, q->rate_micro, err) < 0)
        return -1;
    if (place_lease(k, err) < 0)
        return -1;
    FAILPOINT("lease.cards_taken");
    if (volume_create(c, s, k->account_id, k->id, k->name, k->node, q->disk_gb * GB, k->volume_id,
                      err) < 0 ||
        insert(k, err) < 0)
        return -1;
    if (event_add(c, s, k->account_id, "lease", k->id, "lease.requested", k->account_id, NULL,
                  err) < 0 ||
        wallet_hold_new(c, s, k->account_id, k->id, q->hold_micro, err) < 0)
        return -1;
    FAILPOINT("lease.after_hold");
    if (k->want->has_autostop && timers(k, err) < 0)
        return -1;
    if (sm_moved(c, s, &lease_sm, k->id, LEASE_REQUESTED, LEASE_PLACED, k->account_id,
                 k->account_id, "", err) < 0)
        return -1;
    return tell_node(c, s, k->id, k->account_id, k->node, 1, err);
}

int lease_create(struct db_c *c, struct server *s, const char *account_id,
                 const struct lease_want *w, char ret_id[ID_TEXT], struct sl_err *err)
{
    struct creation k = {.c = c,
                         .s = s,
                         .account_id = account_id,
                         .want = w,
                         .keys = SL_BUF(1 << 20),
                         .command = SL_BUF(COMMAND_MAX)};
    int rc = create(&k, err);
    sl_buf_free(&k.keys);
    sl_buf_free(&k.command);
    if (rc == 0)
        memcpy(ret_id, k.id, ID_TEXT);
    return rc;
}

/* 1: it runs or is about to; 0: it can be started; -1: it cannot. */
static int startable(const struct lease *l, struct sl_err *err)
{
    if (l->state == LEASE_PLACED || l->state == LEASE_STARTING || l->state == LEASE_RUNNING)
        return 1;
    if (l->state == LEASE_STOPPED && !lease_on_node(l))
        return 0;
    return sl_fail_at(err, SL_CONFLICT, "state",
                      "instance %s is %s%s; only a stopped instance can be started", l->name,
                      lease_sm.states[l->state].name,
                      l->state == LEASE_STOPPED ? " but its node has not confirmed that yet" : "");
}

/* Holds the funds of the next run and tells the node. */
static int begin_again(struct db_c *c, struct server *s, const struct lease *l, int64_t rate_micro,
                       const char *node, const char *actor, struct sl_err *err)
{
    if (wallet_hold(c, s, l->account_id, l->id, money_charge(rate_micro, l->horizon_s), err) < 0 ||
        sm_move(c, s, &lease_sm, "lease", "id", l->id, LEASE_PLACED, l->account_id, actor, "",
                err) < 0)
        return -1;
    return tell_node(c, s, l->id, l->account_id, node, l->epoch + 1, err);
}

int lease_start(struct db_c *c, struct server *s, const struct lease *l, const char *actor,
                struct sl_err *err)
{
    char node[64], digest[DIGEST_TEXT], image[IMAGE_NAME];
    uint64_t mask;
    struct place_ask ask = {.account_id = l->account_id,
                            .model = l->model,
                            .gpus = l->gpus,
                            .image = image,
                            .digest = digest,
                            .node_name = l->node_name};
    int rc = startable(l, err);
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    if (account_active(c, l->account_id, err) < 0 || image_saving(c, l->id, err) < 0 ||
        volume_busy(c, l->volume_id, err) < 0 ||
        image_check(c, l->account_id, l->image, digest, image, err) < 0 ||
        autostop_starting(c, s, l, err) < 0 ||
        quota_check(c, l->account_id, l->gpus, 0, 0, err) < 0 ||
        wallet_spend_check(c, s, l->account_id, l->rate_micro, err) < 0 ||
        place_in_db(c, s, &ask, node, &mask, err) < 0 ||
        node_take(c, s, node, l->account_id, mask, err) < 0)
        return -1;
    FAILPOINT("lease.cards_taken_again");
    if (db_exec(c, err, sql_again, "tii", l->id, (int64_t)mask, env_now(s->env)) < 0)
        return -1;
    return begin_again(c, s, l, l->rate_micro, node, actor, err);
}

int lease_start_cpu(struct db_c *c, struct server *s, const struct lease *l, const char *actor,
                    struct sl_err *err)
{
    char digest[DIGEST_TEXT], image[IMAGE_NAME];
    struct tariff t;
    int rc = startable(l, err);
    if (rc > 0 && !l->cpu_run)
        return sl_fail_at(err, SL_CONFLICT, "no_gpu",
                          "instance %s is %s with its cards; stop it first", l->name,
                          lease_sm.states[l->state].name);
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    struct lease run = *l;
    if (tariff_pin(c, s, TARIFF_CPU, l->currency, &t, err) < 0)
        return -1;
    run.cpu_run = true;
    run.cpu_rate_micro = t.price_micro;
    if (account_active(c, l->account_id, err) < 0 || image_saving(c, l->id, err) < 0 ||
        volume_busy(c, l->volume_id, err) < 0 ||
        image_check(c, l->account_id, l->image, digest, image, err) < 0 ||
        autostop_starting(c, s, &run, err) < 0 ||
        wallet_spend_check(c, s, l->account_id, t.price_micro, err) < 0 ||
        node_take_cpu(c, l->node_name, l->account_id, err) < 0)
        return -1;
    FAILPOINT("lease.cpu_taken");
    if (db_exec(c, err, sql_again_cpu, "titi", l->id, t.price_micro, t.id, env_now(s->env)) < 0)
        return -1;
    return begin_again(c, s, l, t.price_micro, l->node_name, actor, err);
}

static const char sql_pin[] =
    "UPDATE lease SET model = ?2, gpus = ?3, quote_id = ?4, price_version_id = ?5, rate_micro = "
    "?6, horizon_s = ?7 WHERE id = ?1";

int lease_start_quoted(struct db_c *c, struct server *s, const struct lease *l,
                       const char *quote_id, const char *actor, struct sl_err *err)
{
    struct quote q;
    struct lease pinned = *l;
    int rc = startable(l, err);
    if (rc < 0)
        return -1;
    if (rc > 0)
        return sl_fail_at(err, SL_CONFLICT, "quote",
                          "instance %s is %s; a new price is for a stopped one", l->name,
                          lease_sm.states[l->state].name);
    if (quote_use(c, s, l->account_id, quote_id, l->id, &q, err) < 0)
        return -1;
    if (!sl_streq(q.image, l->image) || q.disk_gb != l->disk_gb)
        return sl_fail_at(err, SL_INVALID, "quote",
                          "quote: %s is for another image or disk than instance %s has; ask for "
                          "one with POST /v1/leases/{id}/quotes",
                          quote_id, l->name);
    if (db_exec(c, err, sql_pin, "ttittii", l->id, q.model, q.gpus, q.id, q.price_version_id,
                q.rate_micro, q.horizon_s) < 0)
        return -1;
    (void)snprintf(pinned.model, sizeof pinned.model, "%s", q.model);
    pinned.gpus = q.gpus;
    pinned.rate_micro = q.rate_micro;
    pinned.horizon_s = q.horizon_s;
    return lease_start(c, s, &pinned, actor, err);
}
