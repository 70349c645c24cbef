/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io/crypto.h"
#include "base/io/rpc.h"
#include "fleet_in.h"
#include <inttypes.h>
#include <stdio.h>

enum { NUMA_HALVES = 2, XGMI_WEIGHT = 15, CPUS_PER_CARD = 16 };
#define MEMORY_PER_CARD (256LL << 30)

int64_t sim_mono_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t sim_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

uint64_t sim_random(struct fleet *f)
{
    uint64_t z = f->rng += 0x9e3779b97f4a7c15ULL; /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

bool sim_chance(struct fleet *f, int64_t permille)
{
    return permille > 0 && (int64_t)(sim_random(f) % 1000) < permille;
}

struct fleet *fleet_new(const struct fleet_options *o)
{
    struct fleet *f = sl_alloc(sizeof *f);
    pthread_condattr_t attr;
    f->o = *o;
    f->nodes = sl_alloc((size_t)o->nodes * sizeof *f->nodes);
    f->rng = (uint64_t)o->faults.seed;
    pthread_mutex_init(&f->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&f->wake, &attr);
    return f;
}

struct sim_node *sim_node(struct fleet *f, const char *name)
{
    long long n;
    if (!sl_starts(name, "sim-") || !sl_parse_i64(name + 4, &n) || n < 1 || n > f->o.nodes)
        return NULL;
    return &f->nodes[n - 1];
}

struct sim_lease *sim_find(struct fleet *f, const char *id)
{
    for (struct sim_lease *l = f->leases; l; l = l->next)
        if (sl_streq(l->id, id))
            return l;
    return NULL;
}

static void lease_free(struct sim_lease *l)
{
    free(l->url);
    free(l->token);
    free(l);
}

void sim_drop(struct fleet *f, struct sim_lease *l)
{
    if (!l->gone) {
        for (struct sim_lease **p = &f->leases; *p; p = &(*p)->next)
            if (*p == l) {
                *p = l->next;
                break;
            }
        sim_node(f, l->node)->used &= ~l->cards;
        f->n_leases--;
        l->gone = true;
    }
    if (!l->busy)
        lease_free(l);
}

/* ---- operations; the lock is held ---- */
static int probe(struct fleet *f, const char *node, struct jw *w, struct sl_err *err)
{
    int64_t bytes = f->o.memory_gb << 30;
    jw_str(w, "node", node);
    jw_str(w, "agent_version", "starsim");
    jw_bool(w, "emulated", true);
    jw_str(w, "kernel", "simulated");
    jw_int(w, "cpus", f->o.cards * CPUS_PER_CARD);
    jw_int(w, "memory_bytes", f->o.cards * MEMORY_PER_CARD);
    jw_str(w, "model", f->o.model);
    jw_str(w, "gfx", "gfx942");
    jw_array(w, "cards");
    for (int64_t i = 0; i < f->o.cards; i++) {
        jw_object(w, NULL);
        jw_int(w, "index", i);
        jw_str(w, "model", f->o.model);
        jw_str(w, "gfx", "gfx942");
        jw_int(w, "memory_bytes", bytes);
        jw_int(w, "numa", i * NUMA_HALVES / f->o.cards);
        jw_str(w, "hive", "1");
        jw_str(w, "partition", "SPX");
        jw_array(w, "devices");
        jw_object(w, NULL);
        jw_int(w, "kfd_node", NUMA_HALVES + i);
        jw_int(w, "gpu_id", 1000 + i);
        jw_int(w, "render_minor", 128 + 8 * i);
        jw_int(w, "memory_bytes", bytes);
        jw_str(w, "pci", "");
        jw_int(w, "cus", 304);
        jw_end(w);
        jw_end(w);
        jw_end(w);
    }
    jw_end(w);
    jw_array(w, "links");
    for (int64_t a = 0; a < f->o.cards; a++)
        for (int64_t b = a + 1; b < f->o.cards; b++) {
            jw_array(w, NULL);
            jw_int(w, NULL, a);
            jw_int(w, NULL, b);
            jw_int(w, NULL, XGMI_WEIGHT);
            jw_end(w);
        }
    jw_end(w);
    jw_str(w, "health", "good");
    jw_array(w, "reasons");
    jw_end(w);
    return 0;
}

static int read_cards(const struct fleet *f, const struct jr_val *request, uint64_t *ret,
                      struct sl_err *err)
{
    const struct jr_val *cards = jr_get(request, "cards");
    *ret = 0;
    for (size_t i = 0; i < jr_len(cards); i++) {
        int64_t card = jr_i64(jr_at(cards, i), -1);
        if (card < 0 || card >= f->o.cards || (*ret & (1ULL << card)))
            return sl_fail_at(err, SL_INVALID, "cards", "cards: %" PRId64 " is not a card here",
                              card);
        *ret |= 1ULL << card;
    }
    if (!*ret)
        return sl_fail_at(err, SL_INVALID, "cards", "cards: none are named");
    return 0;
}

/* Counts what must never happen; returns false when the start must be refused. */
static bool judge_start(struct fleet *f, struct sim_node *n, const struct jr_val *request,
                        uint64_t cards)
{
    const char *node = jr_text(jr_get(request, "node"), "");
    int64_t slot = jr_i64(jr_get(request, "slot"), -1);
    bool taken = cards & n->used;
    for (struct sim_lease *l = f->leases; l; l = l->next)
        taken |= slot >= 0 && sl_streq(l->node, node) && l->slot == slot;
    f->doubled += taken;
    for (uint64_t m = cards & n->dirty; m && !taken; m &= m - 1)
        f->unclean++;
    return !taken;
}

static struct sim_lease *lease_new(struct fleet *f, const struct jr_val *request, uint64_t cards)
{
    struct sim_lease *l = sl_alloc(sizeof *l);
    int64_t wait = f->o.faults.start_ms > 0 ? f->o.faults.start_ms : 1;
    (void)snprintf(l->id, sizeof l->id, "%s", jr_text(jr_get(request, "lease"), ""));
    (void)snprintf(l->node, sizeof l->node, "%s", jr_text(jr_get(request, "node"), ""));
    l->epoch = jr_i64(jr_get(request, "epoch"), 0);
    l->slot = jr_i64(jr_get(request, "slot"), -1);
    l->heartbeat_s = jr_i64(jr_get(request, "heartbeat_s"), 10);
    l->funded_until_us = jr_i64(jr_get(request, "funded_until_us"), 0);
    l->url = sl_strdup(jr_text(jr_get(request, "report_url"), f->o.url));
    l->token = sl_strdup(jr_text(jr_get(request, "token"), ""));
    l->cards = cards;
    l->fails = sim_chance(f, f->o.faults.never_ready);
    l->due_us = sim_mono_us() + (int64_t)(sim_random(f) % (uint64_t)(wait * 1000));
    l->next = f->leases;
    f->leases = l;
    f->n_leases++;
    f->started++;
    return l;
}

static int lease_start(struct fleet *f, struct sim_node *n, const struct jr_val *request,
                       struct jw *w, struct sl_err *err)
{
    const char *id = jr_text(jr_get(request, "lease"), "");
    int64_t epoch = jr_i64(jr_get(request, "epoch"), 0);
    uint64_t cards;
    if (!id_ok(id, "lea") || epoch < 1)
        return sl_fail_at(err, SL_INVALID, "lease", "lease: \"%.40s\" is not an id", id);
    if (jr_len(jr_get(request, "cards")) == 0)
        cards = 0; /* a run without cards */
    else if (read_cards(f, request, &cards, err) < 0)
        return -1;
    void **highest = sl_map_put(&f->epochs, id, strlen(id));
    struct sim_lease *old = sim_find(f, id);
    if (old && old->epoch == epoch) {
        jw_bool(w, "started", true);
        return 0;
    }
    if (epoch <= (int64_t)(intptr_t)*highest) {
        f->stale++;
        return sl_fail_at(err, SL_CONFLICT, "epoch", "epoch: %" PRId64 " of %s is over here", epoch,
                          id);
    }
    bool have = false;
    for (int i = 0; i < n->n_images; i++)
        have |= sl_streq(n->images[i].name, jr_text(jr_get(request, "image"), ""));
    if (!have)
        return sl_fail_at(err, SL_NOT_FOUND, "image", "image: not on this node");
    if (sim_chance(f, f->o.faults.fail_start))
        return sl_fail(err, SL_INTERNAL, "the simulated node cannot start it (a planned fault)");
    if (old)
        sim_drop(f, old);
    if (!judge_start(f, n, request, cards))
        return sl_fail_at(err, SL_CONFLICT, "cards",
                          "cards: one, or the slot, is in use by another lease");
    n->used |= cards;
    n->dirty |= cards;
    *highest = (void *)(intptr_t)epoch;
    lease_new(f, request, cards);
    pthread_cond_signal(&f->wake);
    jw_bool(w, "started", true);
    return 0;
}

static int lease_stop(struct fleet *f, const struct jr_val *request, struct jw *w,
                      struct sl_err *err)
{
    const char *id = jr_text(jr_get(request, "lease"), "");
    int64_t epoch = jr_i64(jr_get(request, "epoch"), 0);
    struct sim_lease *l = sim_find(f, id);
    void **highest = sl_map_put(&f->epochs, id, strlen(id));
    if (l && epoch < l->epoch)
        return sl_fail_at(err, SL_CONFLICT, "epoch",
                          "epoch: %" PRId64 " is over, %" PRId64 " runs here", epoch, l->epoch);
    if ((int64_t)(intptr_t)*highest < epoch)
        *highest = (void *)(intptr_t)epoch; /* a start that arrives late is refused */
    if (l)
        sim_drop(f, l);
    jw_bool(w, "stopped", true);
    return 0;
}

static void lease_list(struct fleet *f, const char *node, struct jw *w)
{
    static const char *const lives[] = {"starting", "running", "exited"};
    jw_array(w, "leases");
    for (struct sim_lease *l = f->leases; l; l = l->next) {
        if (!sl_streq(l->node, node))
            continue;
        jw_object(w, NULL);
        jw_str(w, "lease", l->id);
        jw_int(w, "epoch", l->epoch);
        jw_str(w, "state", lives[l->life]);
        jw_int(w, "ready_us", l->ready_us);
        jw_int(w, "last_alive_us", l->alive_us);
        jw_int(w, "exit_code", l->exit_code);
        jw_str(w, "reason", l->reason);
        jw_end(w);
    }
    jw_end(w);
}

static int sanitize(struct fleet *f, struct sim_node *n, const struct jr_val *request, struct jw *w,
                    struct sl_err *err)
{
    static const char *const steps[] = {"processes", "cleaner_shader", "vram_pattern", "reset"};
    uint64_t cards;
    if (read_cards(f, request, &cards, err) < 0)
        return -1;
    bool busy = cards & n->used;
    f->sanitized_in_use += busy;
    if (!busy)
        n->dirty &= ~cards;
    jw_str(w, "result", busy ? "failed" : "clean");
    jw_bool(w, "emulated", true);
    jw_array(w, "steps");
    for (size_t i = 0; i < SL_COUNT(steps); i++) {
        jw_object(w, NULL);
        jw_str(w, "name", steps[i]);
        jw_str(w, "result", i == 0 ? (busy ? "failed" : "done") : "not_possible");
        jw_str(w, "detail", "simulated node");
        jw_end(w);
    }
    jw_end(w);
    return 0;
}

static int image_import(struct sim_node *n, int fd, const struct jr_val *request, struct jw *w,
                        struct sl_err *err)
{
    char hex[SHA256_HEX], digest[80];
    const char *path = jr_text(jr_get(request, "path"), jr_text(jr_get(request, "reference"), ""));
    const char *name = jr_text(jr_get(request, "name"), "");
    for (int64_t done = 0; done <= 100; done += 50) {
        char line[96];
        (void)snprintf(line, sizeof line,
                       "{\"bytes\":%" PRId64 ",\"total\":100,\"files\":%" PRId64 "}", done,
                       done / 10);
        (void)rpc_progress(fd, line);
    }
    (void)snprintf(digest, sizeof digest, "sha256:%s", sha256_hex(path, strlen(path), hex));
    int at = 0;
    while (at < n->n_images && !sl_streq(n->images[at].name, name))
        at++;
    if (at == SIM_IMAGES_MAX)
        return sl_fail(err, SL_STORAGE_FULL, "a simulated node keeps %d images", SIM_IMAGES_MAX);
    n->n_images += at == n->n_images;
    (void)snprintf(n->images[at].name, sizeof n->images[0].name, "%s", name);
    (void)snprintf(n->images[at].digest, sizeof n->images[0].digest, "%s", digest);
    jw_str(w, "name", name);
    jw_str(w, "digest", digest);
    jw_int(w, "size_bytes", 100);
    jw_int(w, "files", 10);
    return 0;
}

static void image_list(const struct sim_node *n, struct jw *w)
{
    jw_array(w, "images");
    for (int i = 0; i < n->n_images; i++) {
        jw_object(w, NULL);
        jw_str(w, "name", n->images[i].name);
        jw_str(w, "digest", n->images[i].digest);
        jw_int(w, "size_bytes", 100);
        jw_int(w, "files", 10);
        jw_end(w);
    }
    jw_end(w);
}

static void image_remove(struct sim_node *n, const char *name)
{
    for (int i = 0; i < n->n_images; i++)
        if (sl_streq(n->images[i].name, name)) {
            n->images[i] = n->images[--n->n_images];
            return;
        }
}

static void state(struct fleet *f, struct jw *w)
{
    int64_t used = 0;
    for (int64_t i = 0; i < f->o.nodes; i++)
        used += __builtin_popcountll(f->nodes[i].used);
    jw_int(w, "leases", f->n_leases);
    jw_int(w, "cards_used", used);
    jw_int(w, "started", f->started);
    jw_int(w, "reports", f->reports);
    jw_int(w, "doubled", f->doubled);
    jw_int(w, "unclean", f->unclean);
    jw_int(w, "sanitized_in_use", f->sanitized_in_use);
    jw_int(w, "stale_refused", f->stale);
}

static int dispatch(struct fleet *f, int fd, const struct jr_val *request, struct jw *w,
                    struct sl_err *err)
{
    const char *op = jr_text(jr_get(request, "op"), "");
    const char *name = jr_text(jr_get(request, "node"), "sim-00001");
    struct sim_node *n = sim_node(f, name);
    if (!n)
        return sl_fail_at(err, SL_NOT_FOUND, "node", "node: \"%.60s\" is not simulated here", name);
    if (sl_streq(op, "probe"))
        return probe(f, name, w, err);
    if (sl_streq(op, "lease.start"))
        return lease_start(f, n, request, w, err);
    if (sl_streq(op, "lease.stop"))
        return lease_stop(f, request, w, err);
    if (sl_streq(op, "image.import") || sl_streq(op, "image.save"))
        return image_import(n, fd, request, w, err);
    if (sl_streq(op, "sanitize"))
        return sanitize(f, n, request, w, err);
    if (sl_streq(op, "lease.list"))
        lease_list(f, name, w);
    else if (sl_streq(op, "lease.logs"))
        jw_str(w, "text", "a simulated instance prints nothing\n");
    else if (sl_streq(op, "volume.remove") || sl_streq(op, "snapshot.remove"))
        jw_bool(w, "removed", true);
    else if (sl_streq(op, "volume.grow"))
        jw_bool(w, "grown", true);
    else if (sl_streq(op, "volume.snapshot") || sl_streq(op, "volume.restore"))
        jw_str(w, "method", "reflink");
    else if (sl_streq(op, "image.list"))
        image_list(n, w);
    else if (sl_streq(op, "image.remove")) {
        image_remove(n, jr_text(jr_get(request, "name"), ""));
        jw_bool(w, "removed", true);
    } else if (sl_streq(op, "health")) {
        jw_str(w, "health", "good");
        jw_array(w, "reasons");
        jw_end(w);
    } else if (sl_streq(op, "sim.state"))
        state(f, w);
    else
        return sl_fail_at(err, SL_INVALID, "op", "op: \"%.40s\" is unknown", op);
    return 0;
}

int fleet_answer(struct fleet *f, int fd, const struct jr_val *request, struct sl_buf *out,
                 bool *ret_lose_reply, struct sl_err *err)
{
    struct jw w = {out};
    pthread_mutex_lock(&f->lock);
    jw_object(&w, NULL);
    int rc = dispatch(f, fd, request, &w, err);
    jw_end(&w);
    bool own = sl_starts(jr_text(jr_get(request, "op"), ""), "sim.");
    *ret_lose_reply = !own && sim_chance(f, f->o.faults.lose_reply);
    pthread_mutex_unlock(&f->lock);
    return rc;
}
