/* SPDX-License-Identifier: Apache-2.0
 *
 * agent.h: what every duty of the node agent shares: the agent's settings, where its files lie, and
 * the checks of names that become paths.
 *
 *     STATE/images/NAME.erofs + NAME.json     imported images
 *     STATE/volumes/VOLUME.img                system volumes: sparse, ext4
 *     STATE/shared/ACCOUNT.img                shared drives: sparse, ext4
 *     RUN/guest/                              the agent's own sshd and init, bound read-only into
 * leases RUN/locks/NAME                          flock: one operation at a time per lease, volume,
 * image RUN/leases/LEASE/                       one running lease (state.h) RUN/crun/ crun's own
 * state
 *
 * Everything in RUN belongs to the current boot and may vanish with it; STATE is kept.
 */
#ifndef AGENT_H
#define AGENT_H
#include "base/core/err.h"
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    AGENT_UID_BASE = 1048576, /* slot 0; each slot has AGENT_UID_RANGE ids */
    AGENT_UID_RANGE = 65536,
    AGENT_SLOT_MAX = 4096,
    AGENT_CARDS_MAX = 64,
    AGENT_BRIDGE_MAX = 9, /* BRIDGE.SLOT must fit an interface name */
    AGENT_ALLOW_MAX = 16,
};

struct agent {
    const char *state_dir, *run_dir, *socket, *node;
    const char *kfd_root; /* /sys/class/kfd/kfd, or a recorded tree */
    const char *dev_root; /* /dev */
    const char *bridge;
    const char *ca_file; /* trusted for reports to an https:// server, or NULL: the system's */
    uint32_t net_base;   /* host order: 10.88.0.0 */
    int net_bits;        /* 16 */
    bool emulate;        /* device nodes without a driver behind them; said in every answer */
    uid_t allow[AGENT_ALLOW_MAX];
    int allow_n;
};

/* RUN/leases/LEASE and the like. All return `out`. */
const char *agent_path(char out[PATH_MAX], const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
const char *lease_dir(const struct agent *a, const char *lease, char out[PATH_MAX]);
/* Makes STATE and RUN with their subfolders. */
int agent_dirs(const struct agent *a, struct sl_err *err);

/* Names that become file names: 1..63 of a-z A-Z 0-9 . _ -, not beginning with a dot or dash. */
int agent_name(const char *name, const char *field, struct sl_err *err);

/* Address and host interface of a slot. */
enum { IP_TEXT = 16, IFACE_TEXT = 16 };
const char *slot_ip(const struct agent *a, int slot, char out[IP_TEXT]);
const char *gateway_ip(const struct agent *a, char out[IP_TEXT]);
const char *slot_iface(const struct agent *a, int slot, char out[IFACE_TEXT]);
static inline uid_t slot_uid(int slot)
{
    return (uid_t)AGENT_UID_BASE + (uid_t)slot * AGENT_UID_RANGE;
}

/* An exclusive flock on RUN/locks/NAME, held until *ret_fd is closed; waits at most wait_ms. */
int agent_lock(const struct agent *a, const char *name, int wait_ms, int *ret_fd,
               struct sl_err *err);
/* Waits until fn(arg) is true, looking every 5 ms; false when wait_ms passed first. */
bool agent_wait(bool (*fn)(void *arg), void *arg, int wait_ms);
int64_t agent_now_us(void);  /* UTC */
int64_t agent_mono_ms(void); /* for deadlines */

/* Atomic replacement of a file in RUN. Not synced to disk: what RUN says is void after a power cut.
 */
int run_write(const char *path, const void *data, size_t n, int mode, struct sl_err *err);
/* Sockets, files: whole writes with EINTR handled. 0 or -1 with errno. */
int write_all(int fd, const void *p, size_t n);
#endif
