/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sanitize.h"
#include "agent/cgroup.h"
#include "agent/devices.h"
#include "agent/kernel_gate.h"
#include "agent/mount.h"
#include "agent/ops.h"
#include "agent/probe_amd.h"
#include "base/core/mem.h"
#include "base/io/json.h"
#include "base/io/proc.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum outcome { DONE, FAILED, NOT_POSSIBLE };

struct run {
    const struct agent *a;
    const struct sanitize *s;
    struct topology t;
    struct jw *w;
    bool failed;
};

static void __attribute__((format(printf, 4, 5)))
step(struct run *r, const char *name, enum outcome o, const char *fmt, ...)
{
    static const char *const names[] = {"done", "failed", "not_possible"};
    char detail[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(detail, sizeof detail, fmt, ap);
    va_end(ap);
    r->failed = r->failed || o == FAILED;
    jw_object(r->w, NULL);
    jw_str(r->w, "name", name);
    jw_str(r->w, "result", names[o]);
    jw_str(r->w, "detail", detail);
    jw_end(r->w);
}

static void processes(struct run *r)
{
    int n = cgroup_processes(r->s->lease);
    step(r, "processes", n ? FAILED : DONE, "%d processes of the lease", n);
    step(r, "cgroup", cgroup_exists(r->s->lease) ? FAILED : DONE, "control group of the lease");
}

/* Mounts and loop devices of the lease in any process' mount namespace would keep its disk alive.
 */
static void disks(struct run *r)
{
    char dir[PATH_MAX], file[PATH_MAX];
    lease_dir(r->a, r->s->lease, dir);
    bool left = access(dir, F_OK) == 0;
    step(r, "mounts", left ? FAILED : DONE, "folder and mounts of the lease");
    agent_path(file, "%s/volumes", r->a->state_dir);
    int attached = loops_below(file), running = leases_running(r->a);
    step(r, "loop_devices", attached > running ? FAILED : DONE,
         "%d system volumes attached, %d leases running", attached, running);
}

/* Processes that have one of the cards' device nodes open, by /proc/PID/fd. */
static int holders(const struct dev_set *set)
{
    DIR *proc = opendir("/proc");
    int n = 0;
    for (struct dirent *e; proc && (e = readdir(proc));) {
        long long pid;
        char path[64];
        if (!sl_parse_i64(e->d_name, &pid))
            continue;
        snprintf(path, sizeof path, "/proc/%lld/fd", pid);
        DIR *fds = opendir(path);
        bool holds = false;
        for (struct dirent *f; fds && !holds && (f = readdir(fds));) {
            struct stat st;
            if (fstatat(dirfd(fds), f->d_name, &st, 0) < 0 || !S_ISCHR(st.st_mode))
                continue;
            for (int i = 1; i < set->n; i++) /* 0 is kfd, which all GPUs share */
                holds = holds || st.st_rdev == makedev(set->v[i].major, set->v[i].minor);
        }
        if (fds)
            closedir(fds);
        n += holds;
    }
    if (proc)
        closedir(proc);
    return n;
}

static void device_holders(struct run *r)
{
    SL_AUTO_FREE struct dev_set *set = sl_alloc(sizeof *set);
    struct sl_err err = {0};
    if (dev_set_for(r->a, r->s->cards, r->s->cards_n, set, &err) < 0) {
        step(r, "device_holders", FAILED, "%s", err.msg);
        return;
    }
    int n = holders(set);
    step(r, "device_holders", n ? FAILED : DONE, "%d processes have a device node open", n);
}

/* KFD lists each process that uses it under proc/PID, with vram_GPUID per GPU it has memory on. */
static void kfd_processes(struct run *r)
{
    char path[PATH_MAX];
    agent_path(path, "%s/proc", r->a->kfd_root);
    DIR *d = opendir(path);
    int users = 0;
    if (!d) {
        step(r, "kfd_processes", r->a->emulate ? NOT_POSSIBLE : FAILED, "no KFD process list at %s",
             path);
        return;
    }
    for (struct dirent *e; (e = readdir(d));) {
        bool uses = false;
        for (int c = 0; e->d_name[0] != '.' && c < r->s->cards_n; c++) {
            const struct topo_card *card = &r->t.cards[r->s->cards[c]];
            for (int i = 0; i < card->n; i++) {
                agent_path(path, "%s/proc/%.200s/vram_%llu", r->a->kfd_root, e->d_name,
                           (unsigned long long)r->t.devices[card->devices[i]].gpu_id);
                SL_AUTO_BUF struct sl_buf b = SL_BUF(64);
                struct sl_err ignored = {0};
                if (file_read(path, 64, &b, &ignored) == 0 && b.n && b.p[0] != '0')
                    uses = true;
            }
        }
        users += uses;
    }
    closedir(d);
    step(r, "kfd_processes", users ? FAILED : DONE, "%d processes with memory on the cards", users);
}

/* Writes `value` to a file of the device's sysfs folder, for every device of the cards. */
static void each_sysfs(struct run *r, const char *name, const char *file, const char *value)
{
    int done = 0, absent = 0;
    if (r->a->emulate) {
        step(r, name, NOT_POSSIBLE, "emulated node");
        return;
    }
    for (int c = 0; c < r->s->cards_n; c++) {
        const struct topo_card *card = &r->t.cards[r->s->cards[c]];
        for (int i = 0; i < card->n; i++) {
            char path[PATH_MAX];
            agent_path(path, "/sys/class/drm/renderD%d/device/%s",
                       r->t.devices[card->devices[i]].render_minor, file);
            SL_AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
            if (fd < 0 && errno == ENOENT) {
                absent++;
            } else if (fd < 0 || write_all(fd, value, strlen(value)) < 0) {
                step(r, name, FAILED, "%s: %s", path, strerror(errno));
                return;
            } else {
                done++;
            }
        }
    }
    step(r, name, done ? DONE : NOT_POSSIBLE, "%d devices, %d without %s", done, absent, file);
}

/* A driver that is known to hand one tenant's memory to the next voids every other step. */
static void kernel(struct run *r)
{
    struct gate g;
    kernel_gate_here(&r->t, &g);
    const struct gate_finding *f = gate_worst(&g);
    if (!f)
        step(r, "kernel", NOT_POSSIBLE, "no GPU in the topology");
    else if (f->state == GATE_OK)
        step(r, "kernel", DONE, "%d checks: %s", g.n, f->detail);
    else
        step(r, "kernel", f->state == GATE_VULNERABLE && !r->a->emulate ? FAILED : NOT_POSSIBLE,
             "%s%s: %s", r->a->emulate ? "emulated node; " : "", f->id, f->detail);
}

static bool card_refused(const struct run *r, int card, struct sl_err *err)
{
    if (card >= r->t.cards_n)
        sl_fail_at(err, SL_INVALID, "cards", "cards: card %d does not exist; this node has %d",
                   card, r->t.cards_n);
    else if (card_in_use(r->a, card, r->s->lease))
        sl_fail_at(err, SL_CONFLICT, "cards", "cards: card %d is in use by another lease", card);
    return err->code != SL_OK;
}

int sanitize_run(const struct agent *a, const struct sanitize *s, struct sl_buf *out,
                 struct sl_err *err)
{
    struct jw w = {out};
    struct run r = {a, s, {0}, &w, false};
    if (s->cards_n && topology_read(a->kfd_root, &r.t, err) < 0)
        return -1;
    for (int i = 0; i < s->cards_n; i++)
        if (card_refused(&r, s->cards[i], err)) {
            topology_free(&r.t);
            return -1;
        }
    jw_object(&w, NULL);
    jw_bool(&w, "emulated", a->emulate);
    jw_array(&w, "steps");
    processes(&r);
    disks(&r);
    if (s->cards_n) {
        device_holders(&r);
        kfd_processes(&r);
        kernel(&r);
        /* LeftoverLocals (CVE-2023-4969): local memory and registers are cleared by the driver's
         * shader; a reset then drops all other state. amdgpu documentation, process-isolation. */
        each_sysfs(&r, "cleaner_shader", "run_cleaner_shader", "0");
        each_sysfs(&r, "reset", "reset", "1");
        step(&r, "vram_pattern", NOT_POSSIBLE,
             a->emulate ? "emulated node" : "needs a compute program on the node");
        step(&r, "firmware", NOT_POSSIBLE,
             a->emulate ? "emulated node" : "no inventory to compare with");
    }
    jw_end(&w);
    jw_str(&w, "result", r.failed ? "failed" : "clean");
    jw_end(&w);
    topology_free(&r.t);
    return 0;
}
