/* SPDX-License-Identifier: Apache-2.0
 *
 * starsim: simulated GPU nodes for tests, load and rehearsals.
 */
#include "base/core/cmd.h"
#include "base/core/log.h"
#include "base/io/crypto.h"
#include "base/io/rpc.h"
#include "fleet.h"
#include "base/core/mem.h"
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

enum { SOCKET_THREADS = 16, REPORT_THREADS = 8, READ_TIMEOUT_MS = 10000 };

struct serve_opts {
    const char *socket, *model, *url;
    int64_t nodes, cards, memory_gb;
    struct fleet_faults faults;
};
static const struct cmd_opt serve_opts[] = {
    {"socket", 's', CMD_TEXT, "PATH", "Unix socket to listen on", NULL,
     offsetof(struct serve_opts, socket)},
    {"nodes", 'n', CMD_INT, "N", "simulated nodes, named sim-00001 ... (default 1)", NULL,
     offsetof(struct serve_opts, nodes)},
    {"cards", 'c', CMD_INT, "N", "cards of each node, 1 to 64 (default 8)", NULL,
     offsetof(struct serve_opts, cards)},
    {"model", 'm', CMD_TEXT, "MODEL", "card model (default MI300X)", NULL,
     offsetof(struct serve_opts, model)},
    {"memory-gb", 0, CMD_INT, "GIB", "memory of a card (default 192)", NULL,
     offsetof(struct serve_opts, memory_gb)},
    {"url", 'u', CMD_TEXT, "URL", "server to report to when a lease names none", NULL,
     offsetof(struct serve_opts, url)},
    {"seed", 0, CMD_INT, "N", "seed of the faults (default 1)", NULL,
     offsetof(struct serve_opts, faults.seed)},
    {"start-ms", 0, CMD_INT, "MS", "longest time until an instance is ready (default 20)", NULL,
     offsetof(struct serve_opts, faults.start_ms)},
    {"fail-start", 0, CMD_INT, "PERMILLE", "starts that are refused (default 0)", NULL,
     offsetof(struct serve_opts, faults.fail_start)},
    {"never-ready", 0, CMD_INT, "PERMILLE", "instances that fail before they are ready (default 0)",
     NULL, offsetof(struct serve_opts, faults.never_ready)},
    {"lose-reply", 0, CMD_INT, "PERMILLE", "operations whose answer is lost (default 0)", NULL,
     offsetof(struct serve_opts, faults.lose_reply)},
    {"exit", 0, CMD_INT, "PERMILLE", "instances that end by themselves, per heartbeat (default 0)",
     NULL, offsetof(struct serve_opts, faults.exit)},
    {0}};

struct listener {
    struct fleet *fleet;
    int fd;
};

static void serve_one(struct fleet *f, int fd)
{
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    SL_AUTO_BUF struct sl_buf out = SL_BUF(RPC_LINE_MAX);
    struct sl_err err = {0};
    bool lose = false;
    if (rpc_read(fd, READ_TIMEOUT_MS, &doc, &err) < 0) {
        rpc_reply_err(fd, &err);
        return;
    }
    int rc = fleet_answer(f, fd, jr_root(doc), &out, &lose, &err);
    if (lose)
        return;
    if (rc < 0)
        rpc_reply_err(fd, &err);
    else
        (void)!rpc_reply_ok(fd, sl_buf_str(&out), &err);
}

static void *socket_main(void *arg)
{
    struct listener *l = arg;
    for (;;) {
        SL_AUTO_CLOSE int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            serve_one(l->fleet, fd);
    }
    return NULL;
}

static int serve(const void *globals, const void *opts, int argc, char **argv)
{
    const struct serve_opts *o = opts;
    struct fleet_options f = {.nodes = o->nodes ? o->nodes : 1,
                              .cards = o->cards ? o->cards : 8,
                              .memory_gb = o->memory_gb ? o->memory_gb : 192,
                              .model = o->model ? o->model : "MI300X",
                              .url = o->url ? o->url : "",
                              .faults = o->faults};
    struct sl_err err = {0};
    static struct listener l;
    if (!o->socket || f.cards < 1 || f.cards > SIM_CARDS_MAX || f.nodes < 1 || f.nodes > 99999) {
        fprintf(stderr, "starsim: serve needs --socket, 1 to 64 --cards and 1 to 99999 --nodes\n");
        return 2;
    }
    if (!f.faults.seed)
        f.faults.seed = 1;
    if (!f.faults.start_ms)
        f.faults.start_ms = 20;
    crypto_init();
    signal(SIGPIPE, SIG_IGN);
    if (rpc_listen(o->socket, 0666, -1, &l.fd, &err) < 0) {
        fprintf(stderr, "starsim: %s\n", err.msg);
        return sl_code_info(err.code)->exit;
    }
    l.fleet = fleet_new(&f);
    pthread_t t;
    for (int i = 0; i < SOCKET_THREADS - 1; i++)
        SL_ASSERT(pthread_create(&t, NULL, socket_main, &l) == 0);
    for (int i = 0; i < REPORT_THREADS; i++)
        SL_ASSERT(pthread_create(&t, NULL, fleet_reporter, l.fleet) == 0);
    printf("listening %s nodes %lld cards %lld\n", o->socket, (long long)f.nodes,
           (long long)f.cards);
    fflush(stdout);
    socket_main(&l);
    return 0;
}

static const struct cmd_verb verbs[] = {{.name = "serve",
                                         .args = "",
                                         .help = "be N simulated nodes until killed",
                                         .opts = serve_opts,
                                         .opts_size = sizeof(struct serve_opts),
                                         .main = serve,
                                         .max_args = 0},
                                        {0}};
static const struct cmd_program program = {
    .name = "starsim", .help = "simulated GPU nodes for tests and rehearsals", .verbs = verbs};

int main(int argc, char **argv)
{
    return cmd_main(&program, argc, argv);
}
