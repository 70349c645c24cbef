/* SPDX-License-Identifier: Apache-2.0
 *
 * world.h: a small rental world in a directory of its own, for C tests and benches: the real store
 * and the server's own code, a clock that the test can move, nodes, an image, a price and rich
 * accounts. No network; the test plays the agent.
 *
 *     struct world w;
 *     world_open(&w, &(struct world_options){.nodes = 2, .cards = 8});
 *     world_lease(&w, w.account[0], "MI300X", 2, id, &err);
 *     world_close(&w);
 *
 * Set-up failures abort with their message.
 */
#ifndef TEST_WORLD_H
#define TEST_WORLD_H
#include "server/lease.h"
#include "server/server.h"

enum { WORLD_ACCOUNTS_MAX = 1000 };
struct world_options {
    int nodes, cards, accounts; /* default 1 account */
    int64_t price_micro;        /* per card and hour; default 2.20 */
    int64_t topup_micro;        /* default 1,000,000.00 */
    int64_t quota;              /* cards and leases of an account; default 1,000,000 */
    bool writer_thread; /* group commit, as the daemon does; else writes run in the caller */
    bool real_clock;
    const char *dir; /* reuse; NULL: a new one under TMPDIR */
};
struct world {
    struct server s;
    struct env env;
    int64_t now_us; /* what the clock says unless real_clock */
    char dir[256], db_path[300];
    char account[WORLD_ACCOUNTS_MAX][ID_TEXT];
    int n_accounts, cards;
    bool keep;
};
void world_open(struct world *w, const struct world_options *o);
void world_close(struct world *w);
/* Moves the clock. */
void world_pass(struct world *w, int64_t seconds);
/* A quote, to be used later. */
int world_quote(struct world *w, const char *account, const char *model, int64_t gpus,
                char ret_id[ID_TEXT], struct sl_err *err);
/* Create from a quote: the transaction of POST /v1/leases. */
int world_lease_from(struct world *w, const char *account, const char *quote, char ret_id[ID_TEXT],
                     struct sl_err *err);
int world_lease_named(struct world *w, const char *account, const char *quote, const char *name,
                      char ret_id[ID_TEXT], struct sl_err *err);
/* Closes and opens the same store again, without setting anything up. */
void world_reopen(struct world *w, bool writer_thread);
/* Quote and create in one transaction. */
int world_lease(struct world *w, const char *account, const char *model, int64_t gpus,
                char ret_id[ID_TEXT], struct sl_err *err);
/* Re-reads a lease; strings live in the world until it closes. */
struct lease world_get(struct world *w, const char *id);
/* What an agent would report; the answer's JSON in *out (max set by the caller), 0 or -1. */
int world_report(struct world *w, const char *id, int64_t epoch, const char *kind,
                 struct sl_buf *out, struct sl_err *err);
int64_t world_number(struct world *w, const char *sql);
void world_exec(struct world *w, const char *sql);
/* The audits that are expected to hold at any time; aborts with what does not. */
void world_audit(struct world *w);
#endif
