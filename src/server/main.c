/* SPDX-License-Identifier: Apache-2.0
 *
 * main.c: starleased, from the command line to the signal that ends it.
 */
#include "base/core/cmd.h"
#include "base/core/log.h"
#include "base/core/version.h"
#include "base/io/proc.h"
#include "server/account.h"
#include "server/boot.h"
#include "server/catalog.h"
#include "server/control.h"
#include "server/event.h"
#include "server/http.h"
#include "server/image.h"
#include "server/mail.h"
#include "server/node.h"
#include "server/operation.h"
#include "server/reconcile.h"
#include "server/router.h"
#include "server/system.h"
#include "server/ticker.h"
#include "server/token.h"
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

struct options {
    const char *conf, *create_operator, *backup, *restore;
    bool openapi, api_md, help_config, check_config, audit;
};

static int report(const struct sl_err *err)
{
    fprintf(stderr, "starleased: %s\n", err->msg);
    return sl_code_info(err->code)->exit;
}

/* ---- who we are ---- */
static int drop_root(const struct server_conf *f, struct sl_err *err)
{
    if (geteuid() != 0)
        return 0;
    if (!*f->user)
        return sl_fail(
            err, SL_FORBIDDEN,
            "refusing to run as root: set user= in [server] of the configuration, or start "
            "as another user (systemd: User=starlease)");
    struct passwd *p = getpwnam(f->user);
    if (!p || p->pw_uid == 0)
        return sl_fail_at(
            err, SL_INVALID, "server.user",
            "server.user: \"%.60s\" is no user other than root; make one with useradd "
            "--system",
            f->user);
    if (initgroups(p->pw_name, p->pw_gid) != 0 || setresgid(p->pw_gid, p->pw_gid, p->pw_gid) != 0 ||
        setresuid(p->pw_uid, p->pw_uid, p->pw_uid) != 0)
        return sl_fail_errno(err, errno, "cannot become user %s", f->user);
    SL_ASSERT(geteuid() != 0 && getuid() != 0 && setuid(0) != 0); /* there is no way back */
    return 0;
}

static void log_setup(const struct server_conf *f)
{
    log_level_set(sl_streq(f->log_level, "error")   ? LOG_ERROR
                  : sl_streq(f->log_level, "warn")  ? LOG_WARN
                  : sl_streq(f->log_level, "debug") ? LOG_DEBUG
                                                    : LOG_INFO);
}

/* Sockets of the listeners need descriptors: take what the hard limit allows. */
static void raise_limits(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
        r.rlim_cur = r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r);
    }
}

/* ---- serving ---- */
/* Where renters and agents reach us when the configuration does not say: agents by a listener
 * without TLS where there is one, because they do not know our certificate. */
static void default_urls(struct server *s, const char *urls, struct sl_arena *arena)
{
    struct server_conf *f = &s->conf;
    const char *rest = urls, *first = NULL, *plain = NULL, *url;
    while ((url = conf_word(&rest, arena))) {
        first = first ? first : url;
        plain = !plain && sl_starts(url, "http://") ? url : plain;
    }
    if (!*f->report_url && !*f->public_url && !plain)
        log_warn("report_url",
                 "why=\"agents do not know the self-signed certificate: add a loopback "
                 "address to server.listen, or set server.report_url\"");
    if (!*f->report_url)
        f->report_url = sl_arena_printf(arena, "%s/v1/agent/report",
                                        *f->public_url ? f->public_url
                                        : plain        ? plain
                                                       : first);
    if (!*f->public_url)
        f->public_url = first;
}

/* Tells the service manager (sd_notify(3)) when it asked for it: Type=notify. */
static void notify(const char *text)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    size_t n = path ? strlen(path) : 0;
    if (n == 0 || n >= sizeof a.sun_path || (*path != '/' && *path != '@'))
        return;
    memcpy(a.sun_path, path, n);
    if (*path == '@') /* an abstract name */
        a.sun_path[0] = 0;
    SL_AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    if (fd < 0 || sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&a, len) < 0)
        log_warn("notify", "errno=%d", errno);
}

struct parts {
    struct http *http;
    struct control *control;
};

static int start_parts(struct server *s, struct parts *p, struct sl_arena *arena,
                       struct sl_err *err)
{
    if (catalog_bootstrap(s, err) < 0 || image_bootstrap(s, err) < 0 || mail_start(s, err) < 0)
        return -1;
    p->control = control_start(s, err);
    if (!p->control || http_start(s, &p->http, err) < 0)
        return -1;
    default_urls(s, http_urls(p->http), arena);
    if (operations_start(s, err) < 0 || reconcile_start(s, err) < 0 || ticker_start(s, err) < 0)
        return -1;
    node_enrol_sockets(s);
    return 0;
}

/* False: a node still keeps a thread waiting; the store must stay open under it. */
static bool stop_parts(struct server *s, struct parts *p)
{
    http_stop(p->http);
    control_stop(p->control);
    ticker_stop();
    bool joined = reconcile_stop(s->conf.drain_s);
    joined &= operations_stop(joined ? s->conf.drain_s : 0);
    mail_stop(s, s->conf.drain_s);
    return joined;
}

static int serve(struct server *s, struct sl_arena *arena, struct sl_err *err)
{
    SL_AUTO_CLOSE int lock = -1;
    struct parts parts = {0};
    sigset_t ends;
    int sig = 0;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL); /* before any thread: all inherit it */
    signal(SIGPIPE, SIG_IGN);
    raise_limits();
    if (control_lock(s, &lock, err) < 0)
        return -1;
    if (lock < 0)
        return sl_fail(err, SL_CONFLICT,
                       "another starleased uses %s; stop it first, or set another server.data_dir",
                       s->conf.db_path);
    if (server_open(s, false, err) < 0)
        return -1;
    s->bus = bus_new();
    int rc = start_parts(s, &parts, arena, err);
    if (rc == 0) {
        log_info("server.ready", "version=" SL_VERSION " url=\"%s\" pid=%d uid=%d",
                 http_urls(parts.http), (int)getpid(), (int)getuid());
        notify("READY=1");
        sigwait(&ends, &sig);
        notify("STOPPING=1");
        log_info("server.stopping", "signal=%d", sig);
    }
    if (!stop_parts(s, &parts)) {
        log_warn("server.stopped", "reason=\"a node does not answer; its operation runs again\"");
        _exit(rc < 0 ? 1 : 0); /* what was acknowledged is on disk */
    }
    server_close(s);
    bus_free(s->bus);
    s->bus = NULL;
    if (rc == 0)
        log_info("server.stopped", "signal=%d", sig);
    return rc;
}

/* ---- one-shot options ---- */
static int print_made(void (*make)(struct sl_buf *), bool indent)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(OPENAPI_MAX), pretty = SL_BUF(2 * OPENAPI_MAX);
    make(&b);
    if (indent)
        json_indent(sl_buf_str(&b), &pretty);
    SL_ASSERT(!b.over && !pretty.over);
    fputs(sl_buf_str(indent ? &pretty : &b), stdout);
    return fflush(stdout) == 0 ? 0 : 1;
}

static int create_operator(struct server *s, const char *email, struct sl_err *err)
{
    char token[TOKEN_TEXT];
    if (control_make_operator(s, email, getenv("STARLEASE_OPERATOR_PASSWORD"), token, sizeof token,
                              err) < 0)
        return -1;
    printf("%s\n", token);
    return 0;
}

static int backup(struct server *s, const char *file, struct sl_err *err)
{
    if (db_copy(s->conf.db_path, file, err) < 0)
        return -1;
    printf("%s: a checked copy of %s; keep it like a password file\n", file, s->conf.db_path);
    return 0;
}

/* Only where no server runs and no database is: nothing is overwritten. */
static int restore(struct server *s, const char *file, struct sl_err *err)
{
    SL_AUTO_CLOSE int lock = -1;
    if (control_lock(s, &lock, err) < 0)
        return -1;
    if (lock < 0)
        return sl_fail(err, SL_CONFLICT, "a starleased uses %s; stop it first", s->conf.db_path);
    if (db_copy(file, s->conf.db_path, err) < 0 || server_open(s, true, err) < 0)
        return -1;
    server_close(s);
    printf("%s restored from %s; start the server\n", s->conf.db_path, file);
    return 0;
}

static int with_server(const struct options *o, struct server *s, struct sl_arena *arena)
{
    struct sl_err err = {0};
    int rc, status = 0;
    umask(0077);
    if (drop_root(&s->conf, &err) < 0 || dir_make(s->conf.data_dir, 0700, &err) < 0)
        return report(&err);
    if (o->audit)
        rc = control_audit(s, stdout, &status, &err);
    else if (o->backup)
        rc = backup(s, o->backup, &err);
    else if (o->restore)
        rc = restore(s, o->restore, &err);
    else if (o->create_operator)
        rc = create_operator(s, o->create_operator, &err);
    else
        rc = serve(s, arena, &err);
    return rc < 0 ? report(&err) : status;
}

static int run(const void *globals, const void *opts, int argc, char **argv)
{
    const struct options *o = opts;
    SL_AUTO_ARENA struct sl_arena arena = {0};
    static struct server s;
    struct sl_err err = {0};
    (void)globals, (void)argc, (void)argv;
    router_check();
    if (o->openapi)
        return print_made(openapi_write, true);
    if (o->api_md)
        return print_made(api_md_write, false);
    if (o->help_config) {
        conf_help(server_conf_keys, stdout);
        return 0;
    }
    s.env = env_real();
    if (server_conf_load(o->conf, &arena, &s.conf, &err) < 0)
        return report(&err);
    if (o->check_config) {
        printf("the configuration is good\n");
        return 0;
    }
    log_setup(&s.conf);
    return with_server(o, &s, &arena);
}

#define OPTION(name, kind, arg, help, member)                                                      \
    {                                                                                              \
        name, 0, kind, arg, help, NULL, offsetof(struct options, member)                           \
    }

static const struct cmd_opt options[] = {
    {"conf", 'c', CMD_TEXT, "FILE", "configuration; without it defaults and STARLEASE_* variables",
     NULL, offsetof(struct options, conf)},
    OPTION("check-config", CMD_FLAG, NULL, "read the configuration and exit", check_config),
    OPTION("help-config", CMD_FLAG, NULL, "print every key with its default", help_config),
    OPTION("create-operator", CMD_TEXT, "EMAIL",
           "make an operator and print a token; STARLEASE_OPERATOR_PASSWORD sets the password",
           create_operator),
    OPTION("audit", CMD_FLAG, NULL, "recompute money and event chains; exit 1 on a difference",
           audit),
    OPTION("backup", CMD_TEXT, "FILE", "copy the database to FILE, also while the server runs",
           backup),
    OPTION("restore", CMD_TEXT, "FILE", "make the database from a copy; there must be none yet",
           restore),
    OPTION("openapi", CMD_FLAG, NULL, "print the OpenAPI document", openapi),
    OPTION("api-md", CMD_FLAG, NULL, "print docs/api.md", api_md),
    {0}};

static const struct cmd_verb verbs[] = {{.name = "",
                                         .args = "",
                                         .help = "serve until SIGTERM",
                                         .opts = options,
                                         .opts_size = sizeof(struct options),
                                         .main = run},
                                        {0}};

/* The man page's list of keys, from the table that reads them. */
static void man_keys(struct sl_buf *b)
{
    const char *section = "";
    sl_buf_adds(b, ".SH CONFIGURATION\nAn INI file. A variable STARLEASE_SECTION_KEY in the "
                   "environment overrides a key.\n");
    for (const struct conf_key *k = server_conf_keys; k->section; k++) {
        if (!sl_streq(section, k->section))
            sl_buf_printf(b, ".SS [%s]\n", k->section);
        section = k->section;
        sl_buf_printf(b, ".TP\n\\fB%s\\fR%s%s\n%s\n", k->key, *k->fallback ? " = " : "",
                      k->fallback, k->doc);
    }
    sl_buf_adds(b, ".SH SIGNALS\nSIGTERM and SIGINT stop accepting, let requests in work end for "
                   "server.drain, and exit with 0. Instances go on running.\n");
}

int main(int argc, char **argv)
{
    SL_AUTO_BUF struct sl_buf keys = SL_BUF(64 * 1024);
    man_keys(&keys);
    const struct cmd_program program = {.name = "starleased",
                                        .help = "control plane of Starlease",
                                        .verbs = verbs,
                                        .man_tail = sl_buf_str(&keys)};
    return cmd_main(&program, argc, argv);
}
