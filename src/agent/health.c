/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/health.h"
#include "agent/devices.h"
#include "agent/kernel_gate.h"
#include "base/core/mem.h"
#include "base/io/proc.h"
#include <stdarg.h>
#include <sys/stat.h>

static void __attribute__((format(printf, 3, 4)))
reason(struct health *h, const char *state, const char *fmt, ...)
{
    /* bad outranks unknown outranks good */
    if (state && !sl_streq(h->state, "bad"))
        h->state = state;
    if (h->n == HEALTH_REASONS_MAX)
        return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(h->reasons[h->n++], sizeof h->reasons[0], fmt, ap);
    va_end(ap);
}

static bool in_path(const char *program)
{
    static const char *const dirs[] = {"/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/bin"};
    char path[PATH_MAX];
    for (size_t i = 0; i < SL_COUNT(dirs); i++)
        if (access(agent_path(path, "%s/%s", dirs[i], program), X_OK) == 0)
            return true;
    return false;
}

/* Sum of the "ue: N" lines of the driver's RAS counters; 0 where there are none. */
static long long uncorrected_errors(const struct topo_device *d)
{
    static const char *const blocks[] = {"umc", "gfx", "sdma", "mmhub", "xgmi_wafl"};
    long long sum = 0;
    for (size_t i = 0; i < SL_COUNT(blocks); i++) {
        char path[PATH_MAX];
        struct sl_err ignored = {0};
        SL_AUTO_BUF struct sl_buf b = SL_BUF(4096);
        agent_path(path, "/sys/class/drm/renderD%d/device/ras/%s_err_count", d->render_minor,
                   blocks[i]);
        if (file_read(path, 4096, &b, &ignored) < 0)
            continue;
        long long n;
        const char *ue = strstr(sl_buf_str(&b), "ue: ");
        if (ue && sscanf(ue, "ue: %lld", &n) == 1)
            sum += n;
    }
    return sum;
}

static void devices_check(const struct agent *a, const struct topology *t, struct health *h)
{
    if (a->emulate)
        return; /* the nodes are made for each lease */
    for (int i = 0; i < t->devices_n; i++) {
        const struct topo_device *d = &t->devices[i];
        struct sl_err e = {0};
        struct dev_node node;
        if (dev_render(a, d->render_minor, &node, &e) < 0) {
            reason(h, "bad", "%s", e.msg);
            continue;
        }
        long long ue = uncorrected_errors(d);
        if (ue > 0)
            reason(h, "bad", "card %d: %lld uncorrected memory errors", d->card, ue);
    }
    struct sl_err e = {0};
    struct dev_node node;
    if (t->devices_n && dev_kfd(a, &node, &e) < 0)
        reason(h, "bad", "%s", e.msg);
}

/* A recorded topology says nothing about the kernel it runs on: told, but health stays. */
static void kernel_check(const struct agent *a, const struct topology *t, struct health *h)
{
    /* What could not be checked is told, not punished: a DKMS driver or another distribution's
     * kernel is the ordinary case on real nodes, and only the operator can look at it. */
    static const char *const states[] = {
        [GATE_OK] = NULL, [GATE_VULNERABLE] = "bad", [GATE_UNKNOWN] = NULL};
    struct gate g;
    kernel_gate_here(t, &g);
    for (int i = 0; i < g.n; i++)
        if (g.v[i].state != GATE_OK)
            reason(h, a->emulate ? NULL : states[g.v[i].state], "%s: %.130s", g.v[i].id,
                   g.v[i].detail);
}

struct health health_check(const struct agent *a, const struct topology *t)
{
    static const char *const programs[] = {"crun",       "nft",      "ip",         "mkfs.ext4",
                                           "mkfs.erofs", "dropbear", "dropbearkey"};
    struct health h = {.state = "good"};
    for (size_t i = 0; i < SL_COUNT(programs); i++)
        if (!in_path(programs[i]))
            reason(&h, "bad", "program %s is missing", programs[i]);
    for (int i = 0; i < t->reasons_n; i++)
        reason(&h, NULL, "%s", t->reasons[i]);
    for (int i = 0; i < t->cards_n; i++)
        if (t->cards[i].n && t->devices[t->cards[i].devices[0]].render_minor < 0)
            reason(&h, "bad", "card %d has no render node", i);
    devices_check(a, t, &h);
    kernel_check(a, t, &h);
    return h;
}
