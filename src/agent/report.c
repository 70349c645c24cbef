/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report.h"
#include "base/io/http_client.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static void body_write(struct sl_buf *b, const struct lease_spec *s, const struct report_facts *f)
{
    struct jw w = {b};
    jw_object(&w, NULL);
    jw_str(&w, "lease", s->lease);
    jw_int(&w, "epoch", s->epoch);
    jw_str(&w, "kind", f->kind);
    jw_int(&w, "t_us", agent_now_us());
    jw_int(&w, "alive_s", f->alive_s);
    if (f->reason && *f->reason)
        jw_str(&w, "reason", f->reason);
    if (f->host_key && *f->host_key)
        jw_str(&w, "host_key", f->host_key);
    if (f->exit_code >= 0)
        jw_int(&w, "exit_code", f->exit_code);
    if (f->use_json)
        jw_raw(&w, "use", f->use_json);
    if (f->metric_json)
        jw_raw(&w, "metric", f->metric_json);
    jw_end(&w);
}

static struct report_answer post(const struct agent *ag, const struct lease_spec *s,
                                 const struct sl_buf *body)
{
    struct report_answer a = {0};
    struct sl_err err = {0};
    SL_AUTO_BUF struct sl_buf out = SL_BUF(65536);
    SL_AUTO_FREE char *auth = sl_asprintf("Authorization: Bearer %s", s->token);
    const char *headers[] = {auth, "Content-Type: application/json", NULL};
    struct http_req r = {.method = "POST",
                         .url = s->report_url,
                         .headers = headers,
                         .body = body->p,
                         .body_n = body->n,
                         .timeout_ms = REPORT_TIMEOUT_MS,
                         .out = &out,
                         .ca_file = ag->ca_file};
    if (http_do(&r, &err) < 0)
        return a;
    a.status = r.status;
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    if (r.status == 200 && jr_open(sl_buf_str(&out), out.n, &doc, &err) == 0) {
        const struct jr_val *v = jr_root(doc);
        a.go = jr_true(jr_get(v, "go"));
        a.stop = jr_true(jr_get(v, "stop"));
        a.funded_until_us = jr_i64(jr_get(v, "funded_until_us"), 0);
    }
    return a;
}

int report_send(struct report *r, const struct agent *ag, const struct lease_spec *s,
                const struct report_facts *f, struct sl_err *err)
{
    int fds[2];
    SL_AUTO_BUF struct sl_buf body = SL_BUF(65536);
    body_write(&body, s, f);
    if (pipe2(fds, O_CLOEXEC) < 0)
        return sl_fail_errno(err, errno, "pipe");
    pid_t pid = fork();
    if (pid == 0) {
        sigset_t none;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        struct report_answer a = post(ag, s, &body);
        _exit(write(fds[1], &a, sizeof a) == sizeof a ? 0 : 1);
    }
    close(fds[1]);
    if (pid < 0) {
        close(fds[0]);
        return sl_fail_errno(err, errno, "fork");
    }
    *r = (struct report){pid, fds[0]};
    return 0;
}

struct report_answer report_take(struct report *r)
{
    struct report_answer a = {0};
    if (read(r->fd, &a, sizeof a) != (ssize_t)sizeof a)
        a = (struct report_answer){0};
    report_cancel(r);
    return a;
}

void report_cancel(struct report *r)
{
    if (r->fd < 0)
        return;
    close(r->fd);
    kill(r->pid, SIGKILL);
    waitpid(r->pid, NULL, 0);
    *r = (struct report){.fd = -1};
}
