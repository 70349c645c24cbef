/* SPDX-License-Identifier: Apache-2.0
 *
 * fleet_in.h: what the fleet's own files share.
 */
#ifndef SIM_FLEET_IN_H
#define SIM_FLEET_IN_H
#include "base/core/map.h"
#include "base/core/mem.h"
#include "fleet.h"
#include <pthread.h>

enum { SIM_IMAGES_MAX = 8 };
enum life { LIFE_STARTING, LIFE_RUNNING, LIFE_EXITED };
struct sim_lease {
    char id[ID_TEXT], node[SIM_NODE_NAME];
    int64_t epoch, slot, heartbeat_s, funded_until_us, ready_us, alive_us, exit_code;
    uint64_t cards;
    enum life life;
    bool told;      /* the last word (exit, failed) was answered */
    bool busy;      /* a reporter is talking to the server about it */
    bool gone;      /* stopped; whoever clears busy frees it */
    bool fails;     /* will fail instead of becoming ready */
    int64_t due_us; /* monotonic: next report */
    char reason[64];
    char *url, *token;
    struct sim_lease *next;
};
struct sim_node {
    uint64_t used, dirty;
    int n_images;
    struct {
        char name[64], digest[80];
    } images[SIM_IMAGES_MAX];
};
struct fleet {
    struct fleet_options o;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct sim_node *nodes;
    struct sim_lease *leases;
    struct sl_map epochs; /* lease id -> highest epoch + 1 that was stopped or started */
    uint64_t rng;
    int64_t n_leases, started, reports;
    int64_t doubled, unclean, stale, sanitized_in_use; /* violations */
};

int64_t sim_mono_us(void);
int64_t sim_now_us(void);
/* Seeded; call with the lock held. True n times out of 1000. */
bool sim_chance(struct fleet *f, int64_t permille);
uint64_t sim_random(struct fleet *f);
/* Ends a lease: cards are no longer used, the object goes when nobody is busy with it. Lock held.
 */
void sim_drop(struct fleet *f, struct sim_lease *l);
struct sim_lease *sim_find(struct fleet *f, const char *id);
struct sim_node *sim_node(struct fleet *f, const char *name);
#endif
