/* SPDX-License-Identifier: Apache-2.0
 *
 * money_story DIR SEED: some random days of one account on the server's own code, and what a renter
 * would have of them: early.json and late.json (statements), key (the control plane's).
 * For tests/money, which recomputes all of it with other tools.
 */
#include "money_world.h"

enum { LEASES = 40 };

static void save(const char *dir, const char *name, const struct sl_buf *b)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "we");
    SL_ASSERT(f != NULL);
    SL_ASSERT(fwrite(b->p, 1, b->n, f) == b->n);
    SL_ASSERT(fclose(f) == 0);
}

static void save_statement(struct world *w, const char *account, const char *dir, const char *name)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(BILL_MAX);
    DO(w, .kind = OP_STATEMENT, .account = account, .buf = &b);
    save(dir, name, &b);
}

struct live {
    char id[ID_TEXT];
    bool on;
};

static void live_step(struct world *w, const char *account, struct live *l, int *n)
{
    static const char *const models[] = {"A", "B 2", "C"};
    struct sl_err err;
    if (world_range(w, 0, 3) == 0 && *n < LEASES) {
        struct op o = {.kind = OP_LEASE,
                       .account = account,
                       .model = models[world_range(w, 0, 2)],
                       .gpus = world_range(w, 1, 8)};
        if (op_try(w, &o, &err) == 0) {
            snprintf(l[*n].id, ID_TEXT, "%s", o.id);
            l[(*n)++].on = true;
            DO(w, .kind = OP_RUN, .lease = o.id);
        }
    }
    for (int i = 0; i < *n; i++) {
        if (!l[i].on)
            continue;
        struct op o = {.kind = OP_TICK, .lease = l[i].id};
        op_must(w, &o);
        bool broke = o.ret <= w->now_us;
        if (!broke && world_range(w, 0, 9))
            continue;
        l[i].on = false;
        o = (struct op){.kind = OP_STOP,
                        .lease = l[i].id,
                        .text = broke ? "insufficient_funds" : "stopped",
                        .t_us = w->now_us - (world_range(w, 0, 3) ? 0 : 400 * SL_SEC)};
        op_must(w, &o);
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: money_story DIR SEED\n");
        return 2;
    }
    struct world *w = world_open(strtoull(argv[2], NULL, 10), true);
    char account[ID_TEXT], detail[AUDIT_DETAIL];
    struct live leases[LEASES];
    int n = 0;
    DO(w, .kind = OP_PRICE, .model = "A", .micro = world_range(w, 1, 30 * SL_MICRO));
    DO(w, .kind = OP_PRICE, .model = "B 2", .micro = world_range(w, 1, 30 * SL_MICRO));
    DO(w, .kind = OP_PRICE, .model = "C", .micro = world_range(w, 1, 999));
    world_account(w, account);
    DO(w, .kind = OP_TRIAL, .account = account, .text = "person");
    for (int i = 0; i < 300; i++) {
        w->now_us += world_range(w, 1, 900) * SL_SEC + world_range(w, 0, 999999);
        if (world_range(w, 0, 5) == 0)
            DO(w, .kind = OP_TOPUP, .account = account, .micro = world_range(w, 1, 60 * SL_MICRO));
        live_step(w, account, leases, &n);
        if (i == 150)
            save_statement(w, account, argv[1], "early.json");
    }
    save_statement(w, account, argv[1], "late.json");
    SL_AUTO_BUF struct sl_buf key = SL_BUF(128);
    sl_buf_adds(&key, w->s.sign_public);
    save(argv[1], "key", &key);
    bool ok = world_audit(w, detail);
    fprintf(stderr, "%d leases, audit %s %s\n", n, ok ? "whole" : "broken", detail);
    world_close(w);
    return ok ? 0 : 1;
}
