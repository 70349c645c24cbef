/* SPDX-License-Identifier: Apache-2.0
 *
 * state.h: what is known of a lease on this node, in RUN/leases/LEASE:
 *
 *     spec.json    what was asked for (0600, holds the report token)
 *     state.json   this struct, replaced atomically
 *     sup.lock     locked by the supervising process for as long as it lives
 *     stop         exists once a stop was asked for; holds the grace in seconds
 *     bundle/ root/ image/ vol/ shared/ agent/ guest/ dev/     see supervise.h
 *
 * Only the supervisor writes state.json while it lives; an operation that finds it dead may.
 */
#ifndef AGENT_STATE_H
#define AGENT_STATE_H
#include "agent/agent.h"

enum { STATE_JSON_MAX = 8192 };
struct lease_state {
    int64_t epoch;
    char state[12]; /* "starting" "running" "exited" */
    pid_t pid;      /* first process of the container, 0 before there is one */
    int64_t pid_start;
    bool
        started; /* the container was made, connected and started: a new supervisor can take over */
    bool go;     /* the server said go: the meter runs, devices and command are in */
    int64_t ready_us, go_us, last_alive_us, funded_until_us;
    int exit_code; /* -1: not known */
    bool reported; /* the end was reported, or need not be */
    char reason[200];
    char host_key[256];
};

/* SL_NOT_FOUND when there is none. */
int state_read(const char *dir, struct lease_state *ret, struct sl_err *err);
int state_write(const char *dir, const struct lease_state *s, struct sl_err *err);

/* Takes sup.lock for the life of the returned descriptor; SL_CONFLICT when another has it. */
int state_supervise(const char *dir, int *ret_fd, struct sl_err *err);
/* True while a supervisor holds sup.lock. */
bool state_supervised(const char *dir);

/* A process is its number and its start time (field 22 of /proc/PID/stat): numbers are reused. */
int64_t process_start(pid_t pid); /* 0: no such process */
bool process_is(pid_t pid, int64_t start);
/* pidfd of exactly that process, or -1. */
int process_open(pid_t pid, int64_t start);

/* Names of all leases that have a folder; *ret is freed by the caller, entries too. */
int leases_all(const struct agent *a, char ***ret);
#endif
