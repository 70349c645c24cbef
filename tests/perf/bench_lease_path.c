/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole path of a create, as the daemon runs it: quote used, quota, placement among the nodes,
 * funds held in the ledger, lease row, events, outbox row; one transaction each, synchronous=FULL,
 * group commit. Afterwards the store is opened again, every acknowledged lease must be there and
 * the audits must hold.
 *
 *     bench_lease_path [--dir DIR] [--seconds 5] [--clients 8] [--cards 100000] [--rate 20000]
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

struct args {
    const char *dir;
    long long seconds, clients, cards, rate; /* rate: quotes are prepared for so many a second */
};

static void parse(int argc, char **argv, struct args *a)
{
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        long long *to = sl_streq(argv[i], "--seconds")   ? &a->seconds
                        : sl_streq(argv[i], "--clients") ? &a->clients
                        : sl_streq(argv[i], "--cards")   ? &a->cards
                        : sl_streq(argv[i], "--rate")    ? &a->rate
                                                         : NULL;
        if (sl_streq(argv[i], "--dir"))
            a->dir = value;
        else if (!to || !sl_parse_i64(value, to) || *to < 1) {
            fprintf(stderr, "bench_lease_path: bad argument %s %s\n", argv[i], value);
            exit(2);
        }
    }
}

/* Opens the store again and looks for everything that was acknowledged. */
static void verify(int64_t done)
{
    world_reopen(&w, false);
    SL_ASSERT(world_number(&w, "SELECT COUNT(*) FROM lease WHERE state = 'placed'") == done);
    SL_ASSERT(world_number(&w, "SELECT COUNT(*) FROM hold") == done);
    SL_ASSERT(world_number(&w, "SELECT COUNT(*) FROM operation WHERE kind = 'lease_start'") ==
              done);
    world_audit(&w);
}

int main(int argc, char **argv)
{
    static struct client k[CLIENTS_MAX];
    struct args a = {NULL, 5, 8, 100000, 20000};
    int64_t done = 0;
    parse(argc, argv, &a);
    clients = (int)a.clients;
    SL_ASSERT(clients <= CLIENTS_MAX);
    world_open(&w, &(struct world_options){.dir = a.dir,
                                           .nodes = (int)(a.cards / CARDS),
                                           .cards = CARDS,
                                           .accounts = ACCOUNTS,
                                           .writer_thread = true,
                                           .real_clock = true});
    for (int i = 0; i < clients; i++) {
        k[i].number = i;
        k[i].n_quotes = (int)(a.seconds * a.rate / clients);
        k[i].quotes = sl_alloc((size_t)k[i].n_quotes * ID_TEXT);
    }
    all(k, prepare);
    struct db_stats before;
    db_stats_get(w.s.db, &before);
    int64_t t0 = env_mono(&w.env);
    end_us = t0 + a.seconds * SL_SEC;
    all(k, client);
    int64_t took = env_mono(&w.env) - t0;
    for (int i = 0; i < clients; i++)
        done += k[i].done;
    struct db_stats after;
    db_stats_get(w.s.db, &after);
    int64_t commits = after.commits - before.commits, each = done ? done : 1;
    int64_t commit_us = (after.commit_us_total - before.commit_us_total) / (commits ? commits : 1);
    verify(done);
    printf("lease_path per_second=%" PRId64 " leases=%" PRId64 " took_ms=%" PRId64
           " clients=%d cards=%lld commits=%" PRId64 " commit_us=%" PRId64 " syncs=%" PRId64
           " wal_bytes_per_lease=%" PRId64 " writer_cpu_us_per_lease=%" PRId64
           " reopened audited\n",
           done * 1000000 / took, done, took / 1000, clients, a.cards / CARDS * CARDS, commits,
           commit_us, after.syncs - before.syncs, (after.wal_bytes - before.wal_bytes) / each,
           (after.writer_cpu_us - before.writer_cpu_us) / each);
    world_close(&w);
    return 0;
}
