/* SPDX-License-Identifier: Apache-2.0
 *
 * work.h: what operation.c needs of the worker threads (work.c).
 */
#ifndef SL_WORK_H
#define SL_WORK_H

/* A row was added in a transaction that may commit soon: look again, at once and for a short while.
 * Does nothing where no dispatcher runs. Any thread. */
void work_wake(void);
#endif
