/* SPDX-License-Identifier: Apache-2.0
 *
 * work.h: what operation.c needs of the worker threads (work.c).
 */
#ifndef SL_WORK_H
#define SL_WORK_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A row was added in a transaction that may commit soon: look again, at once and for a short while.
 * Does nothing where no dispatcher runs. Any thread. */
void work_wake(void);
/* Joins a thread unless it takes longer than at_most_s. */
bool work_join(pthread_t thread, int64_t at_most_s);
#endif
