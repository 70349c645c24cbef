/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/probe.h"
#include "agent/health.h"
#include "agent/probe_amd.h"
#include "base/core/mem.h"
#include "base/core/version.h"
#include "base/io/json.h"
#include <sys/sysinfo.h>
#include <sys/utsname.h>

static void device_write(struct jw *w, const struct topo_device *d)
{
    char pci[32];
    snprintf(pci, sizeof pci, "%04x:%02x:%02x.%x", d->domain, d->location >> 8 & 0xff,
             d->location >> 3 & 0x1f, d->location & 7);
    jw_object(w, NULL);
    jw_int(w, "kfd_node", d->kfd_node);
    jw_int(w, "gpu_id", (int64_t)(d->gpu_id & INT64_MAX));
    jw_int(w, "render_minor", d->render_minor);
    jw_int(w, "memory_bytes", (int64_t)(d->memory_bytes & INT64_MAX));
    jw_str(w, "pci", pci);
    jw_int(w, "cus", d->cus);
    jw_end(w);
}

static void card_write(struct jw *w, const struct topology *t, int index)
{
    const struct topo_card *c = &t->cards[index];
    char gfx[16];
    jw_object(w, NULL);
    jw_int(w, "index", index);
    jw_str(w, "model", c->model);
    jw_str(w, "gfx", gfx_name(t->devices[c->devices[0]].gfx, gfx));
    jw_int(w, "memory_bytes", (int64_t)(c->memory_bytes & INT64_MAX));
    jw_int(w, "numa", c->numa);
    jw_int(w, "hive", c->hive);
    jw_str(w, "partition", c->partition);
    jw_array(w, "devices");
    for (int i = 0; i < c->n; i++)
        device_write(w, &t->devices[c->devices[i]]);
    jw_end(w);
    jw_end(w);
}

/* Between cards: the nearest way between any two of their devices. */
static void links_write(struct jw *w, const struct topology *t)
{
    int *nearest = sl_alloc(sizeof(int) * (size_t)(t->cards_n * t->cards_n + 1));
    for (int i = 0; i < t->links_n; i++) {
        const struct topo_link *l = &t->links[i];
        int a = t->devices[l->from].card, b = t->devices[l->to].card;
        if (a < 0 || b < 0 || a == b)
            continue;
        int *at = a < b ? &nearest[a * t->cards_n + b] : &nearest[b * t->cards_n + a];
        if (*at == 0 || l->weight < *at)
            *at = l->weight;
    }
    jw_array(w, "links");
    for (int a = 0; a < t->cards_n; a++)
        for (int b = a + 1; b < t->cards_n; b++) {
            int weight = nearest[a * t->cards_n + b];
            if (!weight)
                continue;
            jw_array(w, NULL);
            jw_int(w, NULL, a);
            jw_int(w, NULL, b);
            jw_int(w, NULL, weight);
            jw_end(w);
        }
    jw_end(w);
    free(nearest);
}

static void health_write(struct jw *w, const struct agent *a, const struct topology *t)
{
    struct health h = health_check(a, t);
    jw_str(w, "health", h.state);
    jw_array(w, "reasons");
    for (int i = 0; i < h.n; i++)
        jw_str(w, NULL, h.reasons[i]);
    jw_end(w);
}

/* No KFD is a fact about the machine, not a failure. */
static int topology_or_none(const struct agent *a, struct topology *t, struct sl_err *err)
{
    if (topology_read(a->kfd_root, t, err) < 0) {
        if (err->code != SL_NOT_FOUND)
            return -1;
        *err = (struct sl_err){0};
    }
    return 0;
}

int probe_json(const struct agent *a, struct sl_buf *out, struct sl_err *err)
{
    struct topology t;
    if (topology_or_none(a, &t, err) < 0)
        return -1;
    struct utsname un;
    struct sysinfo si;
    char gfx[16];
    uname(&un);
    sysinfo(&si);
    struct jw w = {out};
    jw_object(&w, NULL);
    jw_str(&w, "node", a->node);
    jw_str(&w, "agent_version", SL_VERSION);
    jw_bool(&w, "emulated", a->emulate);
    jw_str(&w, "kernel", un.release);
    jw_int(&w, "cpus", sysconf(_SC_NPROCESSORS_ONLN));
    jw_int(&w, "memory_bytes", (int64_t)(si.totalram * (uint64_t)si.mem_unit));
    jw_str(&w, "model", t.cards_n ? t.cards[0].model : "");
    jw_str(&w, "gfx", t.cards_n ? gfx_name(t.devices[t.cards[0].devices[0]].gfx, gfx) : "");
    jw_array(&w, "cards");
    for (int i = 0; i < t.cards_n; i++)
        card_write(&w, &t, i);
    jw_end(&w);
    links_write(&w, &t);
    health_write(&w, a, &t);
    jw_end(&w);
    topology_free(&t);
    return out->over ? sl_fail(err, SL_TOO_LARGE, "the probe's answer is too large") : 0;
}

int health_json(const struct agent *a, struct sl_buf *out, struct sl_err *err)
{
    struct topology t;
    if (topology_or_none(a, &t, err) < 0)
        return -1;
    struct jw w = {out};
    jw_object(&w, NULL);
    health_write(&w, a, &t);
    jw_end(&w);
    topology_free(&t);
    return 0;
}
