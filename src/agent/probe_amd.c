/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/probe_amd.h"
#include "agent/agent.h"
#include "base/core/mem.h"
#include "base/io/proc.h"
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/stat.h>

enum { LINK_PCIE = 2, LINK_XGMI = 11 }; /* CRAT_IOLINK_TYPE_* of the kernel's kfd_crat.h */

/* PCI ids of AMD data-centre cards (pci.ids). dies: KFD devices that one card is, when not
 * partitioned. */
static const struct model {
    uint32_t device_id;
    const char *name;
    int dies;
    int xccs; /* accelerator dies that partition modes split; 0: no partitions */
} models[] = {
    {0x738c, "MI100", 1, 0},  {0x7408, "MI250X", 2, 0}, {0x740c, "MI250", 2, 0},
    {0x740f, "MI210", 1, 0},  {0x74a0, "MI300A", 1, 6}, {0x74a1, "MI300X", 1, 8},
    {0x74a2, "MI308X", 1, 4}, {0x74a5, "MI325X", 1, 8}, {0x74a9, "MI300X-HF", 1, 8},
    {0x75a0, "MI350X", 1, 8}, {0x75a3, "MI355X", 1, 8}, {0x6860, "MI25", 1, 0},
    {0x66a0, "MI60", 1, 0},   {0x66a1, "MI50", 1, 0},
};

static const struct model *model_of(uint32_t device_id)
{
    for (size_t i = 0; i < SL_COUNT(models); i++)
        if (models[i].device_id == device_id)
            return &models[i];
    return NULL;
}

static void __attribute__((format(printf, 2, 3))) odd(struct topology *t, const char *fmt, ...)
{
    if (t->reasons_n == TOPO_REASONS_MAX)
        return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(t->reasons[t->reasons_n++], sizeof t->reasons[0], fmt, ap);
    va_end(ap);
}

static uint64_t *field_of(struct kfd_properties *p, struct sl_str name)
{
    const struct {
        const char *name;
        uint64_t *at;
    } fields[] = {{"simd_count", &p->simd_count},
                  {"simd_per_cu", &p->simd_per_cu},
                  {"cpu_cores_count", &p->cpu_cores_count},
                  {"device_id", &p->device_id},
                  {"vendor_id", &p->vendor_id},
                  {"location_id", &p->location_id},
                  {"domain", &p->domain},
                  {"drm_render_minor", &p->drm_render_minor},
                  {"hive_id", &p->hive_id},
                  {"unique_id", &p->unique_id},
                  {"local_mem_size", &p->local_mem_size},
                  {"gfx_target_version", &p->gfx_target_version},
                  {"num_xcc", &p->num_xcc},
                  {"heap_type", &p->heap_type},
                  {"size_in_bytes", &p->size_in_bytes},
                  {"type", &p->type},
                  {"node_from", &p->node_from},
                  {"node_to", &p->node_to},
                  {"weight", &p->weight},
                  {"max_bandwidth", &p->max_bandwidth}};
    for (size_t i = 0; i < SL_COUNT(fields); i++)
        if (sl_str_eq(name, sl_str(fields[i].name)))
            return fields[i].at;
    return NULL;
}

static bool parse_u64(struct sl_str s, uint64_t *ret)
{
    uint64_t v = 0;
    if (s.n == 0)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9' || __builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v))
            return false;
    }
    *ret = v;
    return true;
}

int kfd_properties_parse(const char *text, size_t n, struct kfd_properties *ret, struct sl_err *err)
{
    *ret = (struct kfd_properties){0};
    struct sl_str rest = {text, n}, line, name;
    for (int no = 1; sl_str_cut(&rest, '\n', &line); no++) {
        if (line.n == 0)
            continue;
        struct sl_str value = line;
        uint64_t v;
        if (!sl_str_cut(&value, ' ', &name) || name.n == 0 || name.n > 48 || !parse_u64(value, &v))
            return sl_fail_at(err, SL_INVALID, "properties",
                              "properties line %d must be a name and a number", no);
        uint64_t *at = field_of(ret, name);
        if (at)
            *at = v;
        if (at == &ret->drm_render_minor)
            ret->has_minor = true;
    }
    return 0;
}

static int properties_read(struct kfd_properties *ret, struct sl_err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static int properties_read(struct kfd_properties *ret, struct sl_err *err, const char *fmt, ...)
{
    char path[PATH_MAX];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(path, sizeof path, fmt, ap);
    va_end(ap);
    if (n < 0 || n >= (int)sizeof path)
        return sl_fail(err, SL_INVALID, "path of the KFD tree is too long");
    SL_AUTO_BUF struct sl_buf b = SL_BUF(TOPO_PROPERTIES_MAX);
    struct sl_err inner = {0};
    if (file_read(path, TOPO_PROPERTIES_MAX, &b, &inner) < 0)
        return sl_fail(err, SL_UNAVAILABLE, "%s cannot be read: %s", path, inner.msg);
    if (kfd_properties_parse(sl_buf_str(&b), b.n, ret, &inner) < 0)
        return sl_fail_at(err, SL_INVALID, "properties", "%s: %s", path, inner.msg);
    return 0;
}

static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Numbers of the folders in `path`, ascending; at most max. -1 when the folder is absent. */
static int numbered(const char *path, int *out, int max)
{
    DIR *d = opendir(path);
    if (!d)
        return -1;
    int n = 0;
    for (struct dirent *e; n < max && (e = readdir(d));) {
        long long v;
        if (sl_parse_i64(e->d_name, &v) && v >= 0 && v < 1 << 20)
            out[n++] = (int)v;
    }
    closedir(d);
    qsort(out, (size_t)n, sizeof *out, compare_ints);
    return n;
}

/* Frame-buffer memory: heap types 1 (public) and 2 (private). New kernels say 0 in local_mem_size.
 */
static uint64_t memory_of(const char *node, const struct kfd_properties *p)
{
    char path[PATH_MAX];
    int banks[32];
    uint64_t sum = 0;
    int n = numbered(agent_path(path, "%s/mem_banks", node), banks, 32);
    for (int i = 0; i < n; i++) {
        struct kfd_properties bank;
        struct sl_err ignored = {0};
        if (properties_read(&bank, &ignored, "%s/mem_banks/%d/properties", node, banks[i]) == 0 &&
            (bank.heap_type == 1 || bank.heap_type == 2) &&
            __builtin_add_overflow(sum, bank.size_in_bytes, &sum))
            return 0;
    }
    return sum ? sum : p->local_mem_size;
}

static uint64_t gpu_id_of(const char *node)
{
    char path[PATH_MAX];
    SL_AUTO_BUF struct sl_buf b = SL_BUF(64);
    struct sl_err ignored = {0};
    uint64_t v = 0;
    if (file_read(agent_path(path, "%s/gpu_id", node), 64, &b, &ignored) == 0) {
        struct sl_str rest = {sl_buf_str(&b), b.n}, line;
        if (!sl_str_cut(&rest, '\n', &line) || !parse_u64(line, &v))
            v = 0;
    }
    return v;
}

static void device_fill(struct topo_device *d, int node, const char *path,
                        const struct kfd_properties *p)
{
    *d = (struct topo_device){.kfd_node = node,
                              .gpu_id = gpu_id_of(path),
                              .render_minor = p->has_minor && p->drm_render_minor >= 128 &&
                                                      p->drm_render_minor < 1 << 20
                                                  ? (int)p->drm_render_minor
                                                  : -1,
                              .memory_bytes = memory_of(path, p),
                              .device_id = (uint32_t)p->device_id,
                              .domain = (uint32_t)p->domain,
                              .location = (uint32_t)p->location_id,
                              .hive_id = p->hive_id,
                              .unique_id = p->unique_id,
                              .gfx = (uint32_t)p->gfx_target_version,
                              .numa = -1,
                              .card = -1};
    uint64_t per_cu = p->simd_per_cu ? p->simd_per_cu : 4;
    d->cus = (int)(p->simd_count / per_cu & 0xffff);
    const struct model *m = model_of(d->device_id);
    d->partition = m && m->xccs ? (int)(p->location_id & 7) : 0;
}

static int nodes_read(const char *kfd_root, struct topology *t, int cpu_nodes[], struct sl_err *err)
{
    char path[PATH_MAX];
    int nodes[TOPO_DEVICES_MAX + 64];
    int n = numbered(agent_path(path, "%s/topology/nodes", kfd_root), nodes, SL_COUNT(nodes));
    if (n < 0) /* recorded trees begin at the topology folder */
        n = numbered(agent_path(path, "%s/nodes", kfd_root), nodes, SL_COUNT(nodes));
    if (n < 0)
        return sl_fail(err, SL_NOT_FOUND, "%s holds no KFD topology: no amdgpu driver here", path);
    for (int i = 0; i < n; i++) {
        struct kfd_properties p;
        char node[PATH_MAX + 16];
        snprintf(node, sizeof node, "%s/%d", path, nodes[i]);
        if (properties_read(&p, err, "%s/properties", node) < 0)
            return -1;
        if (p.simd_count == 0) {
            if (p.cpu_cores_count && t->cpu_nodes < 64)
                cpu_nodes[t->cpu_nodes++] = nodes[i];
        } else if (t->devices_n < TOPO_DEVICES_MAX) {
            device_fill(&t->devices[t->devices_n++], nodes[i], node, &p);
        }
    }
    return 0;
}

static int device_by_node(const struct topology *t, uint64_t kfd_node)
{
    for (int i = 0; i < t->devices_n; i++)
        if ((uint64_t)t->devices[i].kfd_node == kfd_node)
            return i;
    return -1;
}

static void link_add(struct topology *t, int from, int to, const struct kfd_properties *p)
{
    if (from > to) {
        int swap = from;
        from = to;
        to = swap;
    }
    int weight = p->weight > 1 << 20 ? 1 << 20 : (int)p->weight;
    for (int i = t->links_n; i-- > 0;) { /* both ends list it; keep the nearer way */
        struct topo_link *l = &t->links[i];
        if (l->from == from && l->to == to) {
            if (weight < l->weight)
                l->weight = weight;
            return;
        }
    }
    t->links = sl_realloc(t->links, sizeof *t->links * ((size_t)t->links_n + 1));
    t->links[t->links_n++] = (struct topo_link){from, to, weight, p->max_bandwidth};
}

static void links_read(const char *kfd_root, struct topology *t, const int *cpu_nodes)
{
    static const char *const kinds[] = {"io_links", "p2p_links"};
    for (int d = 0; d < t->devices_n; d++) {
        int best = INT_MAX;
        for (size_t k = 0; k < SL_COUNT(kinds); k++) {
            char path[PATH_MAX];
            int links[256];
            agent_path(path, "%s/topology/nodes/%d/%s", kfd_root, t->devices[d].kfd_node, kinds[k]);
            int n = numbered(path, links, SL_COUNT(links));
            if (n < 0)
                n = numbered(
                    agent_path(path, "%s/nodes/%d/%s", kfd_root, t->devices[d].kfd_node, kinds[k]),
                    links, SL_COUNT(links));
            for (int i = 0; i < n; i++) {
                struct kfd_properties p;
                struct sl_err ignored = {0};
                if (properties_read(&p, &ignored, "%s/%d/properties", path, links[i]) < 0)
                    continue;
                int to = device_by_node(t, p.node_to);
                if (to >= 0 && to != d)
                    link_add(t, d, to, &p);
                for (int c = 0; to < 0 && c < t->cpu_nodes; c++)
                    if ((uint64_t)cpu_nodes[c] == p.node_to && p.weight < (uint64_t)best) {
                        best = (int)p.weight;
                        t->devices[d].numa = c;
                    }
            }
        }
    }
}

static const struct topo_link *link_between(const struct topology *t, int a, int b)
{
    for (int i = 0; i < t->links_n; i++)
        if ((t->links[i].from == a && t->links[i].to == b) ||
            (t->links[i].from == b && t->links[i].to == a))
            return &t->links[i];
    return NULL;
}

/* The other die of a two-die card: the free device of the same kind with the fattest link (four
 * links join the dies of an MI250 module, at most two join others); without links, the next in
 * KFD's order. */
static int other_die(const struct topology *t, int d)
{
    int best = -1;
    uint64_t width = 0;
    for (int i = d + 1; i < t->devices_n; i++) {
        if (t->devices[i].card >= 0 || t->devices[i].device_id != t->devices[d].device_id)
            continue;
        const struct topo_link *l = link_between(t, d, i);
        uint64_t w = l ? l->bandwidth + 1 : 0;
        if (best < 0 || w > width) {
            best = i;
            width = w;
        }
    }
    return best;
}

static void card_take(struct topology *t, int card, int device)
{
    struct topo_card *c = &t->cards[card];
    struct topo_device *d = &t->devices[device];
    if (c->n == TOPO_CARD_DEVICES_MAX) {
        odd(t, "card %d has more than %d devices", card, TOPO_CARD_DEVICES_MAX);
        return;
    }
    c->devices[c->n++] = device;
    c->memory_bytes += d->memory_bytes;
    d->card = card;
}

static const char *partition_name(const struct model *m, int n)
{
    if (!m || !m->xccs)
        return "";
    /* A device short of its number (the kernel's limit of render minors) does not change the mode.
     */
    return n == 1                   ? "SPX"
           : n == 2                 ? "DPX"
           : n == 3 && m->xccs == 6 ? "TPX"
           : n <= 4 && m->xccs == 8 ? "QPX"
                                    : "CPX";
}

static void cards_group(struct topology *t)
{
    for (int d = 0; d < t->devices_n && t->cards_n < TOPO_CARDS_MAX; d++) {
        if (t->devices[d].card >= 0)
            continue;
        const struct topo_device *first = &t->devices[d];
        const struct model *m = model_of(first->device_id);
        int card = t->cards_n++;
        t->cards[card] =
            (struct topo_card){.model = m ? m->name : "unknown", .numa = first->numa, .hive = -1};
        card_take(t, card, d);
        if (m && m->dies == 2) {
            int other = other_die(t, d);
            if (other >= 0)
                card_take(t, card, other);
            else
                odd(t, "card %d lacks its second die", card);
        }
        for (int i = d + 1; m && m->xccs && i < t->devices_n; i++)
            if (t->devices[i].card < 0 && t->devices[i].domain == first->domain &&
                (t->devices[i].location & ~7u) == (first->location & ~7u) &&
                t->devices[i].device_id == first->device_id)
                card_take(t, card, i);
        t->cards[card].partition = partition_name(m, t->cards[card].n);
    }
}

static void hives_number(struct topology *t)
{
    uint64_t hives[TOPO_CARDS_MAX];
    int n = 0;
    for (int c = 0; c < t->cards_n; c++) {
        uint64_t hive = t->devices[t->cards[c].devices[0]].hive_id;
        int h = 0;
        while (h < n && hives[h] != hive)
            h++;
        if (hive && h == n)
            hives[n++] = hive;
        t->cards[c].hive = hive ? h : -1;
    }
}

static void oddities(struct topology *t)
{
    int most = 0;
    for (int c = 0; c < t->cards_n; c++)
        most = t->cards[c].n > most ? t->cards[c].n : most;
    for (int c = 0; c < t->cards_n; c++) {
        if (t->cards[c].n < most && sl_streq(t->cards[c].model, t->cards[0].model))
            odd(t, "card %d shows %d devices where others show %d", c, t->cards[c].n, most);
        if (!t->cards[c].memory_bytes)
            odd(t, "card %d: memory size is not known", c);
        if (sl_streq(t->cards[c].model, "unknown"))
            odd(t, "card %d: PCI device id %#x is not known", c,
                t->devices[t->cards[c].devices[0]].device_id);
    }
    for (int d = 0; d < t->devices_n; d++) {
        if (t->devices[d].render_minor < 0)
            odd(t, "KFD node %d has no render node", t->devices[d].kfd_node);
        for (int e = 0; e < d; e++)
            if (t->devices[d].domain == t->devices[e].domain && t->devices[d].location &&
                t->devices[d].location == t->devices[e].location)
                odd(t, "KFD nodes %d and %d are the same PCI function", t->devices[e].kfd_node,
                    t->devices[d].kfd_node);
    }
}

int topology_read(const char *kfd_root, struct topology *ret, struct sl_err *err)
{
    int cpu_nodes[64];
    *ret = (struct topology){0};
    ret->devices = sl_alloc(sizeof *ret->devices * TOPO_DEVICES_MAX);
    if (strlen(kfd_root) > PATH_MAX / 2) {
        topology_free(ret);
        return sl_fail_at(err, SL_INVALID, "kfd_root", "kfd_root is too long");
    }
    if (nodes_read(kfd_root, ret, cpu_nodes, err) < 0) {
        topology_free(ret);
        return -1;
    }
    links_read(kfd_root, ret, cpu_nodes);
    cards_group(ret);
    hives_number(ret);
    oddities(ret);
    return 0;
}

void topology_free(struct topology *t)
{
    free(t->devices);
    free(t->links);
    *t = (struct topology){0};
}

const char *gfx_name(uint32_t target, char out[16])
{
    if (!target)
        return "";
    snprintf(out, 16, "gfx%u%x%x", target / 10000, target / 100 % 100, target % 100);
    return out;
}
