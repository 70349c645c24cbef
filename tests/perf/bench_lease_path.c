/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole path of a create, as the daemon runs it: quote used, quota, placement among the nodes,
 * funds held in the ledger, lease row, events, outbox row; one transaction each, synchronous=FULL,
 * group commit. Afterwards the store is opened again, every acknowledged lease must be there and
 * the audits must hold.
 *
 *     bench_lease_path [SECONDS [CLIENTS [GPUS]]]     default 10 8 100000; database under TMPDIR
 */
#include "../lib/world.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

enum { CARDS = 8, ACCOUNTS = 1000, CLIENTS_MAX = 64 };

static struct world w;
static int64_t end_us;
static int clients;
struct client {
    pthread_t thread;
    int number;
    int64_t done;
    char (*quotes)[ID_TEXT];
    int n_quotes;
};

static const char *account_of(const struct client *k, int64_t i)
{
    return w.account[(i * clients + k->number) % ACCOUNTS];
}

static void *prepare(void *arg)
{
    struct client *k = arg;
    struct sl_err err = {0};
    for (int i = 0; i < k->n_quotes; i++)
        if (world_quote(&w, account_of(k, i), "MI300X", 1, k->quotes[i], &err) < 0) {
            fprintf(stderr, "quote: %s\n", err.msg);
            abort();
        }
    return NULL;
}

static void *client(void *arg)
{
    struct client *k = arg;
    struct sl_err err = {0};
    char id[ID_TEXT];
    for (; k->done < k->n_quotes && env_mono(&w.env) < end_us; k->done++)
        if (world_lease_from(&w, account_of(k, k->done), k->quotes[k->done], id, &err) < 0) {
            fprintf(stderr, "create: %s\n", err.msg);
            abort();
        }
    return NULL;
}

static void all(struct client *k, void *(*fn)(void *))
{
    for (int i = 0; i < clients; i++)
        SL_ASSERT(pthread_create(&k[i].thread, NULL, fn, &k[i]) == 0);
    for (int i = 0; i < clients; i++)
        pthread_join(k[i].thread, NULL);
}

static long long arg_or(int argc, char **argv, int i, long long otherwise)
{
    long long v;
    return argc > i && sl_parse_i64(argv[i], &v) && v > 0 ? v : otherwise;
}

int main(int argc, char **argv)
{
    static struct client k[CLIENTS_MAX];
    int64_t seconds = arg_or(argc, argv, 1, 10), gpus = arg_or(argc, argv, 3, 100000), done = 0;
    clients = (int)arg_or(argc, argv, 2, 8);
    SL_ASSERT(clients <= CLIENTS_MAX);
    world_open(&w, &(struct world_options){.nodes = (int)(gpus / CARDS),
                                           .cards = CARDS,
                                           .accounts = ACCOUNTS,
                                           .writer_thread = true,
                                           .real_clock = true});
    for (int i = 0; i < clients; i++) {
        k[i].number = i;
        k[i].n_quotes = (int)(seconds * 10000 / clients);
        k[i].quotes = sl_alloc((size_t)k[i].n_quotes * ID_TEXT);
    }
    all(k, prepare);
    struct db_stats before;
    db_stats_get(w.s.db, &before);
    int64_t t0 = env_mono(&w.env);
    end_us = t0 + seconds * SL_SEC;
    all(k, client);
    int64_t took = env_mono(&w.env) - t0;
    for (int i = 0; i < clients; i++)
        done += k[i].done;
    struct db_stats after;
    db_stats_get(w.s.db, &after);
    int64_t commits = after.commits - before.commits;
    int64_t commit_us = (after.commit_us_total - before.commit_us_total) / (commits ? commits : 1);
    world_reopen(&w, false);
    int64_t kept = world_number(&w, "SELECT COUNT(*) FROM lease WHERE state = 'placed'");
    int64_t held = world_number(&w, "SELECT COUNT(*) FROM hold");
    int64_t told = world_number(&w, "SELECT COUNT(*) FROM operation WHERE kind = 'lease_start'");
    SL_ASSERT(kept == done && held == done && told == done);
    world_audit(&w);
    printf("lease_path_per_s %" PRId64 " leases %" PRId64 " seconds %" PRId64 ".%03" PRId64
           " clients %d gpus %" PRId64 " commits %" PRId64 " commit_us %" PRId64
           " reopened audited ok\n",
           done * 1000000 / took, done, took / 1000000, took % 1000000 / 1000, clients,
           gpus / CARDS * CARDS, commits, commit_us);
    world_close(&w);
    return 0;
}
