/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/bundle.h"
#include "base/core/mem.h"
#include "base/io/json.h"
#include "base/io/proc.h"
#include <sys/resource.h>

enum { PIDS_MAX = 32768, CPU_PERIOD_US = 100000 };

static void strings(struct jw *w, const char *key, const char *const *v)
{
    jw_array(w, key);
    for (; *v; v++)
        jw_str(w, NULL, *v);
    jw_end(w);
}

static void capabilities(struct jw *w)
{
    static const char *const caps[] = {
        "CAP_CHOWN",  "CAP_DAC_OVERRIDE", "CAP_FOWNER",  "CAP_FSETID",     "CAP_KILL", "CAP_SETGID",
        "CAP_SETUID", "CAP_SETPCAP",      "CAP_SETFCAP", "CAP_SYS_CHROOT", NULL,       NULL};
    static const char *const sets[] = {"bounding", "effective", "permitted"};
    const char *all[SL_COUNT(caps) + 2];
    int n = 0;
    for (; caps[n]; n++)
        all[n] = caps[n];
    all[n++] = "CAP_NET_BIND_SERVICE";
    all[n++] = "CAP_AUDIT_WRITE";
    all[n] = NULL;
    jw_object(w, "capabilities");
    for (size_t i = 0; i < SL_COUNT(sets); i++)
        strings(w, sets[i], all);
    jw_end(w);
}

static void rlimit(struct jw *w, const char *name, int64_t value)
{
    jw_object(w, NULL);
    jw_str(w, "type", name);
    jw_int(w, "hard", value);
    jw_int(w, "soft", value);
    jw_end(w);
}

static void process(struct jw *w, const struct bundle *b)
{
    jw_object(w, "process");
    jw_bool(w, "terminal", false);
    jw_object(w, "user");
    jw_int(w, "uid", 0);
    jw_int(w, "gid", 0);
    jw_end(w);
    jw_array(w, "args");
    jw_str(w, NULL, "/.starlease/init");
    for (int i = 0; i < b->spec->command.n; i++)
        jw_str(w, NULL, b->spec->command.v[i]);
    jw_end(w);
    jw_array(w, "env");
    jw_str(w, NULL, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    jw_str(w, NULL, "HOME=/root");
    jw_end(w);
    jw_str(w, "cwd", "/");
    capabilities(w);
    jw_array(w, "rlimits");
    rlimit(w, "RLIMIT_NOFILE", b->nofile);
    rlimit(w, "RLIMIT_MEMLOCK", b->memlock);
    rlimit(w, "RLIMIT_CORE", 0);
    jw_end(w);
    jw_bool(w, "noNewPrivileges", true);
    jw_end(w);
}

static void mount_entry(struct jw *w, const char *to, const char *type, const char *from,
                        const char *const *options)
{
    jw_object(w, NULL);
    jw_str(w, "destination", to);
    jw_str(w, "type", type);
    jw_str(w, "source", from);
    strings(w, "options", options);
    jw_end(w);
}

static void bind(struct jw *w, const struct bundle *b, const char *from, const char *to,
                 const char *const *options)
{
    char path[PATH_MAX];
    mount_entry(w, to, "bind", agent_path(path, "%s/%s", b->dir, from), options);
}

static void mounts(struct jw *w, const struct bundle *b)
{
    static const char *const none[] = {"nosuid", "noexec", "nodev", NULL};
    static const char *const dev[] = {"nosuid",   "noexec",     "strictatime",
                                      "mode=755", "size=1024k", NULL};
    static const char *const pts[] = {"nosuid",    "noexec", "newinstance", "ptmxmode=0666",
                                      "mode=0620", "gid=5",  NULL};
    static const char *const shm[] = {"nosuid", "noexec", "nodev", "mode=1777", "size=50%", NULL};
    static const char *const sys[] = {"nosuid", "noexec", "nodev", "ro", NULL};
    static const char *const ro[] = {"bind", "ro", "nosuid", "nodev", NULL};
    static const char *const rw[] = {"bind", "rw", "nosuid", "nodev", NULL};
    jw_array(w, "mounts");
    mount_entry(w, "/proc", "proc", "proc", none);
    mount_entry(w, "/dev", "tmpfs", "tmpfs", dev);
    mount_entry(w, "/dev/pts", "devpts", "devpts", pts);
    mount_entry(w, "/dev/shm", "tmpfs", "shm", shm);
    mount_entry(w, "/dev/mqueue", "mqueue", "mqueue", none);
    mount_entry(w, "/sys", "sysfs", "sysfs", sys);
    bind(w, b, "agent", "/.starlease", ro);
    bind(w, b, "guest", "/.starlease/lease", ro);
    bind(w, b, "guest/ssh", "/root/.ssh", ro);
    bind(w, b, "guest/hosts", "/etc/hosts", ro);
    bind(w, b, "guest/hostname", "/etc/hostname", ro);
    bind(w, b, "guest/resolv.conf", "/etc/resolv.conf", ro);
    if (b->spec->shared_quota_bytes)
        bind(w, b, "shared", "/shared", rw);
    jw_end(w);
}

static void device_rule(struct jw *w, bool allow, int64_t major, int64_t minor, const char *access)
{
    jw_object(w, NULL);
    jw_bool(w, "allow", allow);
    if (major >= 0) {
        jw_str(w, "type", "c");
        jw_int(w, "major", major);
        if (minor >= 0)
            jw_int(w, "minor", minor);
    }
    jw_str(w, "access", access);
    jw_end(w);
}

static void resources(struct jw *w, const struct bundle *b)
{
    /* null zero full random urandom tty ptmx, pseudo-terminals */
    static const int standard[][2] = {{1, 3}, {1, 5}, {1, 7}, {1, 8},
                                      {1, 9}, {5, 0}, {5, 2}, {136, -1}};
    jw_object(w, "resources");
    jw_array(w, "devices");
    device_rule(w, false, -1, -1, "rwm");
    for (size_t i = 0; i < SL_COUNT(standard); i++)
        device_rule(w, true, standard[i][0], standard[i][1], "rw");
    for (int i = 0; i < b->devices->n; i++)
        device_rule(w, true, b->devices->v[i].major, b->devices->v[i].minor, "rw");
    jw_end(w);
    jw_object(w, "pids");
    jw_int(w, "limit", PIDS_MAX);
    jw_end(w);
    if (b->spec->memory_bytes) {
        jw_object(w, "memory");
        jw_int(w, "limit", b->spec->memory_bytes);
        jw_end(w);
    }
    if (b->spec->cpus) {
        jw_object(w, "cpu");
        jw_int(w, "quota", b->spec->cpus * CPU_PERIOD_US);
        jw_int(w, "period", CPU_PERIOD_US);
        jw_end(w);
    }
    jw_end(w);
}

static void id_mapping(struct jw *w, const char *key, const struct bundle *b)
{
    jw_array(w, key);
    jw_object(w, NULL);
    jw_int(w, "containerID", 0);
    jw_int(w, "hostID", slot_uid((int)b->spec->slot));
    jw_int(w, "size", AGENT_UID_RANGE);
    jw_end(w);
    jw_end(w);
}

static void isolation(struct jw *w, const struct bundle *b)
{
    static const char *const spaces[] = {"pid", "network", "ipc", "uts", "mount", "user", "cgroup"};
    static const char *const masked[] = {"/proc/acpi",
                                         "/proc/asound",
                                         "/proc/kcore",
                                         "/proc/keys",
                                         "/proc/key-users",
                                         "/proc/latency_stats",
                                         "/proc/timer_list",
                                         "/proc/timer_stats",
                                         "/proc/sched_debug",
                                         "/proc/scsi",
                                         "/sys/firmware",
                                         "/sys/kernel/security",
                                         NULL};
    static const char *const readonly[] = {
        "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger", NULL};
    jw_object(w, "linux");
    SL_AUTO_FREE char *cgroup = sl_asprintf("/starlease/%s", b->spec->lease);
    jw_str(w, "cgroupsPath", cgroup);
    resources(w, b);
    jw_array(w, "namespaces");
    for (size_t i = 0; i < SL_COUNT(spaces); i++) {
        jw_object(w, NULL);
        jw_str(w, "type", spaces[i]);
        jw_end(w);
    }
    jw_end(w);
    id_mapping(w, "uidMappings", b);
    id_mapping(w, "gidMappings", b);
    strings(w, "maskedPaths", masked);
    strings(w, "readonlyPaths", readonly);
    seccomp_json(w);
    jw_end(w);
}

void bundle_json(const struct bundle *b, struct sl_buf *out)
{
    char root[PATH_MAX];
    struct jw w = {out};
    jw_object(&w, NULL);
    jw_str(&w, "ociVersion", "1.0.2");
    jw_str(&w, "hostname", b->spec->hostname);
    process(&w, b);
    jw_object(&w, "root");
    jw_str(&w, "path", agent_path(root, "%s/root", b->dir));
    jw_bool(&w, "readonly", false);
    jw_end(&w);
    mounts(&w, b);
    isolation(&w, b);
    jw_end(&w);
}

static int64_t limit_of(int which, int64_t wanted)
{
    struct rlimit r = {0};
    getrlimit(which, &r);
    if (r.rlim_max == RLIM_INFINITY)
        return wanted;
    return (int64_t)r.rlim_max < wanted ? (int64_t)r.rlim_max : wanted;
}

int bundle_write(const struct lease_spec *spec, const struct dev_set *devices, const char *dir,
                 struct sl_err *err)
{
    /* GPU drivers pin host memory: as much as the host may give */
    struct bundle b = {spec, devices, dir, limit_of(RLIMIT_NOFILE, 1048576),
                       limit_of(RLIMIT_MEMLOCK, 1LL << 50)};
    char path[PATH_MAX];
    SL_AUTO_BUF struct sl_buf out = SL_BUF(1 << 20);
    if (dir_make(agent_path(path, "%s/bundle", dir), 0711, err) < 0)
        return -1;
    bundle_json(&b, &out);
    return run_write(agent_path(path, "%s/bundle/config.json", dir), out.p, out.n, 0600, err);
}
