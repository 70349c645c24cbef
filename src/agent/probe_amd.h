/* SPDX-License-Identifier: Apache-2.0
 *
 * probe_amd.h: AMD GPUs as the KFD driver lists them in sysfs (ROOT/topology/nodes/N/..., the
 * layout of Linux' drivers/gpu/drm/amd/amdkfd/kfd_topology.c), read from the machine or from a
 * recorded tree.
 *
 *     struct topology t;
 *     if (topology_read("/sys/class/kfd/kfd", &t, err) < 0) return -1;
 *     for (int i = 0; i < t.cards_n; i++) use(t.cards[i].model);
 *     topology_free(&t);
 *
 * A device is what KFD calls a node with SIMDs. A card is what is sold: both dies of an MI250, all
 * partitions of an MI300X (same PCI domain, bus and device; the partition is in the low 3 bits of
 * location_id). Render nodes come from drm_render_minor only: minors of MI3xx step by 8.
 */
#ifndef AGENT_PROBE_AMD_H
#define AGENT_PROBE_AMD_H
#include "base/core/buf.h"
#include "base/core/err.h"
#include <stdbool.h>
#include <stdint.h>

enum {
    TOPO_DEVICES_MAX = 512,
    TOPO_CARDS_MAX = 64,
    TOPO_CARD_DEVICES_MAX = 16,
    TOPO_REASONS_MAX = 16,
    TOPO_PROPERTIES_MAX = 16384, /* bytes of one properties file; real ones are below 1 KiB */
};

struct topo_device {
    int kfd_node; /* number of the folder under nodes/ */
    uint64_t gpu_id;
    int render_minor; /* -1: none */
    uint64_t memory_bytes;
    uint32_t device_id, domain, location; /* PCI */
    int cus, partition;
    uint64_t hive_id, unique_id;
    uint32_t gfx; /* gfx_target_version: 90402 */
    int numa;     /* ordinal of the nearest CPU node, -1 unknown */
    int card;
};
struct topo_card {
    const char *model;
    int devices[TOPO_CARD_DEVICES_MAX]; /* indexes into topology.devices */
    int n, numa, hive;                  /* hive: ordinal, -1 none */
    uint64_t memory_bytes;
    const char *partition; /* "SPX", "CPX", ... or "" when the model has none */
};
struct topo_link {
    int from, to; /* from < to */
    int weight;   /* KFD's: smaller is nearer */
    uint64_t bandwidth;
};
struct topology {
    struct topo_device *devices;
    int devices_n;
    struct topo_card cards[TOPO_CARDS_MAX];
    int cards_n;
    struct topo_link *links; /* between devices */
    int links_n;
    int cpu_nodes;
    char reasons[TOPO_REASONS_MAX][128]; /* what is odd about this machine */
    int reasons_n;
};

/* SL_NOT_FOUND when there is no KFD there. */
int topology_read(const char *kfd_root, struct topology *ret, struct sl_err *err);
void topology_free(struct topology *t);
/* "gfx942" for 90402. */
const char *gfx_name(uint32_t target, char out[16]);

/* One properties file: "name value" lines. Unknown names are skipped; a line that is not of that
 * form or a value over 64 bits is SL_INVALID. Fills the fields it knows. For the fuzzer as well. */
struct kfd_properties {
    uint64_t simd_count, simd_per_cu, cpu_cores_count, device_id, vendor_id, location_id, domain;
    uint64_t drm_render_minor, hive_id, unique_id, local_mem_size, gfx_target_version, num_xcc;
    uint64_t heap_type, size_in_bytes;                        /* mem_banks */
    uint64_t type, node_from, node_to, weight, max_bandwidth; /* io_links, p2p_links */
    bool has_minor;
};
int kfd_properties_parse(const char *text, size_t n, struct kfd_properties *ret,
                         struct sl_err *err);
#endif
