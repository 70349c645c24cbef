/* SPDX-License-Identifier: Apache-2.0
 *
 * ticker.h: what time alone brings about: the meter of running leases (one transaction a tick), the
 * end of funds, deadlines of transient states, warnings 24 h, 3 h and 30 min before the funds end,
 * purges.
 */
#ifndef SL_TICKER_H
#define SL_TICKER_H
#include "server/server.h"

int ticker_start(struct server *s, struct sl_err *err);
void ticker_stop(void);
/* Everything that is due now, in the calling thread; `meter` forces a meter tick. */
int ticker_once(struct server *s, bool meter, struct sl_err *err);
#endif
