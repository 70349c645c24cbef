/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cgroup.h"
#include "agent/agent.h"
#include "base/core/mem.h"
#include <dirent.h>
#include <errno.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define CGROUP_ROOT "/sys/fs/cgroup"

/* Calls fn with the lease's folder in each hierarchy in which it exists; the sum of the answers. */
static int each(const char *lease, int (*fn)(const char *path))
{
    char path[PATH_MAX];
    struct stat st;
    struct statfs fs;
    if (access(CGROUP_ROOT "/cgroup.controllers", F_OK) == 0) {
        agent_path(path, CGROUP_ROOT "/starlease/%s", lease);
        return stat(path, &st) == 0 ? fn(path) : 0;
    }
    int sum = 0;
    DIR *d = opendir(CGROUP_ROOT);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        agent_path(path, CGROUP_ROOT "/%.200s/starlease/%s", e->d_name, lease);
        /* what a supervisor mounted over the v2 hierarchy holds plain files, not groups */
        if (statfs(path, &fs) == 0 &&
            (fs.f_type == CGROUP_SUPER_MAGIC || fs.f_type == CGROUP2_SUPER_MAGIC))
            sum += fn(path);
    }
    if (d)
        closedir(d);
    return sum;
}

static int procs_each(const char *path, int (*fn)(int pid))
{
    char file[PATH_MAX + 16];
    int pid, n = 0;
    snprintf(file, sizeof file, "%s/cgroup.procs", path);
    FILE *f = fopen(file, "re");
    while (f && fscanf(f, "%d", &pid) == 1)
        n += fn(pid);
    if (f)
        fclose(f);
    return n;
}

static int count_one(int pid)
{
    return 1;
}
static int count_in(const char *path)
{
    return procs_each(path, count_one);
}
int cgroup_processes(const char *lease)
{
    return each(lease, count_in);
}

static int kill_one(int pid)
{
    return pid > 1 && kill(pid, SIGKILL) == 0;
}
static int kill_in(const char *path)
{
    return procs_each(path, kill_one);
}

static bool killed(void *arg)
{
    return each(arg, kill_in) == 0 && each(arg, count_in) == 0;
}

int cgroup_kill(const char *lease, int wait_ms, struct sl_err *err)
{
    char name[64];
    snprintf(name, sizeof name, "%s", lease);
    if (!agent_wait(killed, name, wait_ms))
        return sl_fail(err, SL_TIMEOUT, "%d processes of %s do not end", cgroup_processes(lease),
                       lease);
    return 0;
}

/* ---- CPU time: cpuacct.usage (version 1, nanoseconds) or cpu.stat (version 2) ---- */
static _Thread_local int64_t cpu_us;

static int cpu_in(const char *path)
{
    char file[PATH_MAX + 16];
    long long n;
    snprintf(file, sizeof file, "%s/cpuacct.usage", path);
    FILE *f = fopen(file, "re");
    if (f) {
        if (fscanf(f, "%lld", &n) == 1)
            cpu_us = n / 1000;
    } else {
        snprintf(file, sizeof file, "%s/cpu.stat", path);
        f = fopen(file, "re");
        if (f && fscanf(f, "usage_usec %lld", &n) == 1)
            cpu_us = n;
    }
    if (f)
        fclose(f);
    return 0;
}

int64_t cgroup_cpu_us(const char *lease)
{
    cpu_us = -1;
    each(lease, cpu_in);
    return cpu_us;
}

static int here(const char *path)
{
    return 1;
}
bool cgroup_exists(const char *lease)
{
    return each(lease, here) > 0;
}

static int remove_in(const char *path)
{
    return rmdir(path) < 0 && errno != ENOENT;
}

/* "GROUP/." cannot be removed, its parent's name can. */
static int remove_parent(const char *path)
{
    char parent[PATH_MAX];
    snprintf(parent, sizeof parent, "%.*s", (int)strlen(path) - 2, path);
    return rmdir(parent) < 0;
}

static bool removed(void *arg)
{
    return each(arg, remove_in) == 0;
}

int cgroup_remove(const char *lease, struct sl_err *err)
{
    char name[64];
    snprintf(name, sizeof name, "%s", lease);
    if (!agent_wait(removed, name, 2000))
        return sl_fail(err, SL_TIMEOUT, "the control group of %s cannot be removed", lease);
    return 0;
}

void cgroup_parent_remove(void)
{
    each(".", remove_parent);
}
