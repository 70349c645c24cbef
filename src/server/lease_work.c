/* SPDX-License-Identifier: Apache-2.0
 *
 * What workers do for a lease: tell the node to start it, tell it to stop it. Both may be killed
 * and repeated at any point: the agent's operations are idempotent per lease and epoch.
 */
#include "base/core/failpoint.h"
#include "server/auth.h"
#include "server/image.h"
#include "server/lease.h"
#include "server/meter.h"
#include "server/node.h"
#include "server/operation.h"
#include "server/volume.h"
#include <stdio.h>

#define CPU_RUN_MEMORY (2LL << 30) /* a run without cards: to look after files */
enum { STOP_GRACE_S = 10, REQUEST_MAX = 2 << 20 };

struct work {
    struct server *s;
    const struct operation *op;
    struct sl_arena arena;
    struct lease lease;
    struct node at;
    struct volume volume;
    char image[IMAGE_NAME]; /* as the node knows it */
    struct engine_node node;
    const struct engine *engine;
    bool go; /* the lease still wants what the operation says */
    const char *why;
};

static int load(struct db_c *c, struct work *k, struct sl_err *err)
{
    sl_arena_free(&k->arena);
    if (lease_get(c, NULL, k->op->ref, &k->arena, &k->lease, err) < 0 ||
        node_get(c, k->op->node_name, &k->arena, &k->at, err) < 0 ||
        volume_get(c, NULL, k->lease.volume_id, &k->volume, err) < 0)
        return -1;
    struct image i;
    int rc = image_find(c, k->lease.account_id, k->lease.image, &i, err);
    if (rc < 0)
        return -1;
    (void)snprintf(k->image, sizeof k->image, "%s", rc ? i.file : k->lease.image);
    return node_engine(c, k->op->node_name, &k->node, &k->engine, err);
}

/* ---- start ---- */
static int begin_start(struct db_c *c, void *arg, struct sl_err *err)
{
    struct work *k = arg;
    if (load(c, k, err) < 0)
        return -1;
    struct lease *l = &k->lease;
    k->go = l->epoch == k->op->epoch && (l->state == LEASE_PLACED || l->state == LEASE_STARTING);
    if (!k->go)
        return operation_finish(c, k->s, k->op, err);
    if (l->state == LEASE_STARTING)
        return 0;
    return sm_move(c, k->s, &lease_sm, "lease", "id", l->id, LEASE_STARTING, l->account_id,
                   "system", "", err);
}

static void write_request(struct work *k, struct sl_buf *b)
{
    struct jw w = {b};
    const struct lease *l = &k->lease;
    char token[LEASE_TOKEN_TEXT];
    int64_t share = k->at.cards > 0 ? k->at.cards : 1;
    jw_object(&w, NULL);
    jw_str(&w, "op", "lease.start");
    jw_str(&w, "node", k->node.name);
    jw_str(&w, "lease", l->id);
    jw_int(&w, "epoch", l->epoch);
    jw_str(&w, "account", l->account_id);
    jw_str(&w, "hostname", l->name);
    jw_str(&w, "image", k->image);
    jw_object(&w, "volume");
    jw_str(&w, "id", k->volume.id);
    jw_int(&w, "size_bytes", k->volume.size_bytes);
    jw_end(&w);
    jw_array(&w, "cards");
    for (uint64_t m = l->gpu_mask; m; m &= m - 1)
        jw_int(&w, NULL, __builtin_ctzll(m));
    jw_end(&w);
    jw_int(&w, "slot", l->slot);
    jw_int(&w, "host_port", k->s->conf.port_base + l->slot);
    jw_raw(&w, "ssh_keys", l->ssh_keys);
    jw_raw(&w, "command", l->command);
    jw_str(&w, "report_url", k->s->conf.report_url);
    jw_str(&w, "token", lease_token(k->s, l->id, l->epoch, token));
    jw_str(&w, "nonce", l->nonce);
    jw_int(&w, "heartbeat_s", k->s->conf.heartbeat_s);
    jw_int(&w, "funded_until_us", env_now(k->s->env) + l->horizon_s * SL_SEC);
    if (l->cpu_run) {
        int64_t memory = k->at.memory_bytes / share;
        jw_int(&w, "cpus", 1);
        jw_int(&w, "memory_bytes", memory < CPU_RUN_MEMORY ? memory : CPU_RUN_MEMORY);
    } else {
        jw_int(&w, "cpus", k->at.cpus * l->gpus / share > 0 ? k->at.cpus * l->gpus / share : 1);
        jw_int(&w, "memory_bytes", k->at.memory_bytes / share * l->gpus);
    }
    jw_int(&w, "shared_quota_bytes", k->s->conf.shared_quota_gb * 1000000000);
    jw_end(&w);
}

static int started(struct db_c *c, void *arg, struct sl_err *err)
{
    struct work *k = arg;
    return operation_finish(c, k->s, k->op, err);
}

static int start_failed(struct db_c *c, void *arg, struct sl_err *err)
{
    struct work *k = arg;
    if (load(c, k, err) < 0)
        return -1;
    if (k->lease.epoch == k->op->epoch && lease_start_failed(c, k->s, &k->lease, k->why, err) < 0)
        return -1;
    return operation_fail(c, k->s, k->op, k->why, err);
}

static int run_start(struct work *k, struct sl_err *err)
{
    struct server *s = k->s;
    if (db_write(s->db, begin_start, k, err) < 0)
        return -1;
    if (!k->go)
        return 0;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(REQUEST_MAX);
    write_request(k, &b);
    FAILPOINT("lease.before_start");
    if (k->engine->lease_start(&k->node, sl_buf_str(&b), err) == 0) {
        FAILPOINT("lease.after_start");
        return db_write(s->db, started, k, err);
    }
    if (err->code == SL_UNAVAILABLE || err->code == SL_TIMEOUT)
        return -1; /* the node may come back before the lease's deadline */
    struct sl_err why = *err;
    k->why = why.msg;
    return db_write(s->db, start_failed, k, err);
}

int lease_run_start(struct server *s, const struct operation *op, struct sl_err *err)
{
    struct work k = {.s = s, .op = op};
    int rc = run_start(&k, err);
    sl_arena_free(&k.arena);
    return rc;
}

int lease_start_gave_up(struct db_c *c, struct server *s, const struct operation *op,
                        const char *why, struct sl_err *err)
{
    SL_AUTO_ARENA struct sl_arena a = {0};
    struct lease l;
    if (lease_get(c, NULL, op->ref, &a, &l, err) < 0)
        return -1;
    return l.epoch == op->epoch ? lease_start_failed(c, s, &l, why, err) : 0;
}

/* ---- stop ---- */
static int begin_stop(struct db_c *c, void *arg, struct sl_err *err)
{
    struct work *k = arg;
    if (load(c, k, err) < 0)
        return -1;
    /* A lease whose stop deadline passed is stopped but keeps its cards until this succeeds. */
    k->go = k->lease.epoch == k->op->epoch && lease_on_node(&k->lease);
    return 0;
}

static int stopped(struct db_c *c, void *arg, struct sl_err *err)
{
    struct work *k = arg;
    if (load(c, k, err) < 0)
        return -1;
    bool failed = strstr(k->op->payload, "\"failed\":true") != NULL;
    if (k->lease.epoch == k->op->epoch && lease_on_node(&k->lease) &&
        lease_gone(c, k->s, &k->lease, failed, err) < 0)
        return -1;
    return operation_finish(c, k->s, k->op, err);
}

static int run_stop(struct work *k, struct sl_err *err)
{
    if (db_read(k->s->db, begin_stop, k, err) < 0)
        return -1;
    if (k->go) {
        FAILPOINT("lease.before_stop");
        if (k->engine->lease_stop(&k->node, k->lease.id, k->op->epoch, STOP_GRACE_S, err) < 0)
            return -1;
        FAILPOINT("lease.after_stop");
    }
    return db_write(k->s->db, stopped, k, err);
}

int lease_run_stop(struct server *s, const struct operation *op, struct sl_err *err)
{
    struct work k = {.s = s, .op = op};
    int rc = run_stop(&k, err);
    sl_arena_free(&k.arena);
    return rc;
}
