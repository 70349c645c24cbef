/* SPDX-License-Identifier: Apache-2.0 */
#include "server/control.h"
#include "base/core/log.h"
#include "base/io/rpc.h"
#include "server/account.h"
#include "server/audit_money.h"
#include "server/boot.h"
#include "server/event.h"
#include "server/node.h"
#include "server/token.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/socket.h>

enum { CALL_MS = 600000, READ_MS = 10000, TEXT_MAX = 1 << 20 };

struct control {
    struct server *s;
    int fd;
    pthread_t thread;
    char *path;
    _Atomic bool stop;
};

static char *socket_path(struct server *s)
{
    return sl_asprintf("%s/control.sock", s->conf.data_dir);
}

int control_lock(struct server *s, int *ret_fd, struct sl_err *err)
{
    SL_AUTO_FREE char *path = sl_asprintf("%s.lock", s->conf.db_path);
    *ret_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (*ret_fd < 0)
        return sl_fail_errno(err, errno, "cannot open %s", path);
    if (flock(*ret_fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    close(*ret_fd);
    *ret_fd = -1;
    return 0;
}

/* ---- the audit ---- */
static int check_events(struct db_c *c, void *arg, struct sl_err *err)
{
    int64_t *bad_and_rows = arg;
    return event_chain_check(c, &bad_and_rows[0], &bad_and_rows[1], err);
}

struct node_check {
    struct sl_buf report;
    int64_t bad;
};

static int check_nodes(struct db_c *c, void *arg, struct sl_err *err)
{
    struct node_check *n = arg;
    return node_audit(c, &n->report, &n->bad, err);
}

static int audit(struct server *s, FILE *out)
{
    int64_t events[2];
    struct node_check nodes = {.report = SL_BUF(TEXT_MAX / 2)};
    struct sl_err err = {0};
    int rc = audit_money_print(s, out);
    if (db_read(s->db, check_events, events, &err) < 0) {
        fprintf(out, "not ok - event chain: %s\n", err.msg);
        return 2;
    }
    if (events[0])
        fprintf(out, "not ok - event chain: row %lld does not fit\n", (long long)events[0]);
    else
        fprintf(out, "ok - event chain: %lld rows\n", (long long)events[1]);
    bool ran = db_read(s->db, check_nodes, &nodes, &err) == 0;
    fprintf(out, "%s - cards of nodes against leases%s%s\n", ran && !nodes.bad ? "ok" : "not ok",
            nodes.report.n ? ": " : "", sl_buf_str(&nodes.report));
    sl_buf_free(&nodes.report);
    if (!ran)
        return 2;
    return rc == 0 && (events[0] || nodes.bad) ? 1 : rc;
}

/* ---- the owner's side ---- */
static int answer_audit(struct server *s, struct jw *w, struct sl_err *err)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    if (!f)
        return sl_fail_errno(err, errno, "no memory for the audit");
    int status = audit(s, f);
    fclose(f);
    jw_object(w, NULL);
    jw_int(w, "status", status);
    jw_str(w, "text", text);
    jw_end(w);
    free(text);
    return 0;
}

static int answer_operator(struct server *s, const struct jr_val *v, struct jw *w,
                           struct sl_err *err)
{
    char token[TOKEN_TEXT];
    if (account_make_operator(s, jr_text(jr_get(v, "email"), ""),
                              jr_text(jr_get(v, "password"), NULL), token, sizeof token, err) < 0)
        return -1;
    bus_poke(s);
    jw_object(w, NULL);
    jw_str(w, "token", token);
    jw_end(w);
    return 0;
}

static void serve_one(struct server *s, int fd)
{
    struct sl_err err = {0};
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(TEXT_MAX);
    struct jw w = {.b = &b};
    int rc = rpc_read(fd, READ_MS, &doc, &err);
    if (rc == 0) {
        const struct jr_val *v = jr_root(doc);
        const char *op = jr_text(jr_get(v, "op"), "");
        if (sl_streq(op, "create_operator"))
            rc = answer_operator(s, v, &w, &err);
        else if (sl_streq(op, "audit"))
            rc = answer_audit(s, &w, &err);
        else
            rc = sl_fail_at(&err, SL_INVALID, "op", "op: \"%.40s\" is not known here", op);
        log_info("control", "op=%.20s ok=%d", op, rc == 0);
    }
    if (rc < 0)
        rpc_reply_err(fd, &err);
    else if (rpc_reply_ok(fd, sl_buf_str(&b), &err) < 0)
        log_warn("control", "code=%s", sl_code_info(err.code)->name);
}

static void *control_main(void *arg)
{
    struct control *k = arg;
    while (!k->stop) {
        int fd = accept4(k->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && !k->stop && errno != EINTR && errno != ECONNABORTED) {
            log_error("control", "accept=%d", errno);
            break;
        }
        if (fd < 0)
            continue;
        serve_one(k->s, fd);
        close(fd);
    }
    return NULL;
}

struct control *control_start(struct server *s, struct sl_err *err)
{
    struct control *k = sl_alloc(sizeof *k);
    k->s = s;
    k->path = socket_path(s);
    k->fd = -1;
    if (rpc_listen(k->path, 0600, -1, &k->fd, err) == 0) {
        if (pthread_create(&k->thread, NULL, control_main, k) == 0)
            return k;
        sl_fail(err, SL_INTERNAL, "cannot start the control thread");
        close(k->fd);
    }
    free(k->path);
    free(k);
    return NULL;
}

void control_stop(struct control *k)
{
    if (!k)
        return;
    k->stop = true;
    shutdown(k->fd, SHUT_RDWR); /* wakes accept */
    pthread_join(k->thread, NULL);
    close(k->fd);
    unlink(k->path);
    free(k->path);
    free(k);
}

/* ---- the shell's side ---- */
/* Asks the running server. */
static int ask(struct server *s, const char *request, struct jr_doc **doc,
               const struct jr_val **ret_ok, struct sl_err *err)
{
    SL_AUTO_FREE char *path = socket_path(s);
    return rpc_call(path, request, CALL_MS, NULL, NULL, doc, ret_ok, err);
}

int control_make_operator(struct server *s, const char *email, const char *password,
                          char *ret_token, size_t token_max, struct sl_err *err)
{
    SL_AUTO_CLOSE int lock = -1;
    if (control_lock(s, &lock, err) < 0)
        return -1;
    if (lock >= 0) {
        int rc = server_open(s, false, err);
        if (rc == 0)
            rc = account_make_operator(s, email, password, ret_token, token_max, err);
        server_close(s);
        return rc;
    }
    SL_AUTO_BUF struct sl_buf b = SL_BUF(8192);
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    const struct jr_val *ok;
    struct jw w = {.b = &b};
    jw_object(&w, NULL);
    jw_str(&w, "op", "create_operator");
    jw_str(&w, "email", email);
    if (password)
        jw_str(&w, "password", password);
    jw_end(&w);
    if (ask(s, sl_buf_str(&b), &doc, &ok, err) < 0)
        return -1;
    snprintf(ret_token, token_max, "%s", jr_text(jr_get(ok, "token"), ""));
    return 0;
}

int control_audit(struct server *s, FILE *out, int *ret_status, struct sl_err *err)
{
    SL_AUTO_CLOSE int lock = -1;
    *ret_status = 2;
    if (control_lock(s, &lock, err) < 0)
        return -1;
    if (lock >= 0) {
        if (server_open(s, false, err) < 0)
            return -1;
        *ret_status = audit(s, out);
        server_close(s);
        return 0;
    }
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    const struct jr_val *ok;
    if (ask(s, "{\"op\":\"audit\"}", &doc, &ok, err) < 0)
        return -1;
    fputs(jr_text(jr_get(ok, "text"), ""), out);
    *ret_status = (int)jr_i64(jr_get(ok, "status"), 2);
    return 0;
}
