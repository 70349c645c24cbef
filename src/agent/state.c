/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state.h"
#include "base/core/mem.h"
#include "base/io/json.h"
#include "base/io/proc.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static void text_copy(char *out, size_t n, const char *s)
{
    snprintf(out, n, "%s", s);
}

int state_read(const char *dir, struct lease_state *ret, struct sl_err *err)
{
    char path[PATH_MAX];
    SL_AUTO_BUF struct sl_buf b = SL_BUF(STATE_JSON_MAX);
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    *ret = (struct lease_state){0};
    agent_path(path, "%s/state.json", dir);
    if (access(path, F_OK) < 0)
        return sl_fail(err, SL_NOT_FOUND, "no such lease on this node");
    if (file_read(path, STATE_JSON_MAX, &b, err) < 0 || jr_open(sl_buf_str(&b), b.n, &doc, err) < 0)
        return -1;
    const struct jr_val *v = jr_root(doc);
    ret->epoch = jr_i64(jr_get(v, "epoch"), 0);
    text_copy(ret->state, sizeof ret->state, jr_text(jr_get(v, "state"), "starting"));
    ret->pid = (pid_t)jr_i64(jr_get(v, "pid"), 0);
    ret->pid_start = jr_i64(jr_get(v, "pid_start"), 0);
    ret->started = jr_true(jr_get(v, "started"));
    ret->go = jr_true(jr_get(v, "go"));
    ret->ready_us = jr_i64(jr_get(v, "ready_us"), 0);
    ret->go_us = jr_i64(jr_get(v, "go_us"), 0);
    ret->last_alive_us = jr_i64(jr_get(v, "last_alive_us"), 0);
    ret->funded_until_us = jr_i64(jr_get(v, "funded_until_us"), 0);
    ret->exit_code = (int)jr_i64(jr_get(v, "exit_code"), -1);
    ret->reported = jr_true(jr_get(v, "reported"));
    text_copy(ret->reason, sizeof ret->reason, jr_text(jr_get(v, "reason"), ""));
    text_copy(ret->host_key, sizeof ret->host_key, jr_text(jr_get(v, "host_key"), ""));
    return 0;
}

int state_write(const char *dir, const struct lease_state *s, struct sl_err *err)
{
    char path[PATH_MAX];
    SL_AUTO_BUF struct sl_buf b = SL_BUF(STATE_JSON_MAX);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_int(&w, "epoch", s->epoch);
    jw_str(&w, "state", s->state);
    jw_int(&w, "pid", s->pid);
    jw_int(&w, "pid_start", s->pid_start);
    jw_bool(&w, "started", s->started);
    jw_bool(&w, "go", s->go);
    jw_int(&w, "ready_us", s->ready_us);
    jw_int(&w, "go_us", s->go_us);
    jw_int(&w, "last_alive_us", s->last_alive_us);
    jw_int(&w, "funded_until_us", s->funded_until_us);
    jw_int(&w, "exit_code", s->exit_code);
    jw_bool(&w, "reported", s->reported);
    jw_str(&w, "reason", s->reason);
    jw_str(&w, "host_key", s->host_key);
    jw_end(&w);
    return run_write(agent_path(path, "%s/state.json", dir), b.p, b.n, 0600, err);
}

static int lock_open(const char *dir)
{
    char path[PATH_MAX];
    return open(agent_path(path, "%s/sup.lock", dir), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

int state_supervise(const char *dir, int *ret_fd, struct sl_err *err)
{
    int fd = lock_open(dir);
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fd < 0)
        return sl_fail_errno(err, errno, "open %s/sup.lock", dir);
    if (fcntl(fd, F_OFD_SETLK, &l) < 0) {
        close(fd);
        return sl_fail(err, SL_CONFLICT, "the lease has a supervisor already");
    }
    *ret_fd = fd;
    return 0;
}

bool state_supervised(const char *dir)
{
    SL_AUTO_CLOSE int fd = lock_open(dir);
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fd >= 0 && fcntl(fd, F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK;
}

int64_t process_start(pid_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    SL_AUTO_CLOSE int fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0)
        return 0;
    text[n] = 0;
    const char *p = strrchr(text, ')'); /* the name may hold blanks and brackets */
    long long start = 0;
    char status = 0;
    if (!p || sscanf(p,
                     ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
                     "%*d %lld",
                     &status, &start) != 2)
        return 0;
    return status == 'Z' || status == 'X' ? 0 : start;
}

bool process_is(pid_t pid, int64_t start)
{
    return start && process_start(pid) == start;
}

int process_open(pid_t pid, int64_t start)
{
    int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    if (fd >= 0 && !process_is(pid, start)) { /* opened first, then compared: no reuse between */
        close(fd);
        return -1;
    }
    return fd;
}

int leases_all(const struct agent *a, char ***ret)
{
    char path[PATH_MAX];
    int n = 0;
    *ret = NULL;
    DIR *d = opendir(agent_path(path, "%s/leases", a->run_dir));
    for (struct dirent *e; d && (e = readdir(d));) {
        struct sl_err ignored = {0};
        if (agent_name(e->d_name, "lease", &ignored) < 0)
            continue;
        *ret = sl_realloc(*ret, sizeof **ret * ((size_t)n + 1));
        (*ret)[n++] = sl_strdup(e->d_name);
    }
    if (d)
        closedir(d);
    return n;
}
