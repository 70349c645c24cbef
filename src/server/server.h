/* SPDX-License-Identifier: Apache-2.0
 *
 * server.h: what every noun of starleased shares: the store, the world, the configuration, the keys.
 * Nouns call each other only through their headers, inside one transaction (`struct db_c *c`).
 */
#ifndef SL_SERVER_H
#define SL_SERVER_H
#include "base/core/buf.h"
#include "base/core/clock.h"
#include "base/core/err.h"
#include "base/core/id.h"
#include "base/core/mem.h"
#include "base/core/money.h"
#include "base/io/crypto.h"
#include "base/io/db.h"
#include "base/io/env.h"
#include "base/io/json.h"
#include "server/conf.h"

struct server {
    struct db *db;
    struct env *env;
    struct server_conf conf;
    char sign_public[SIGN_KEY_HEX]; /* statements, certificates; made at first start, kept in meta */
    char sign_secret[SIGN_HEX];
    uint8_t lease_key[32]; /* lease tokens are HMACs of (lease, epoch) under it */
    struct bus *bus;       /* wakes SSE streams and long polls (event.h) */
};

/* Who asks. Fixed by auth.c from the token; never from the body. */
enum role { ROLE_ANYONE, ROLE_RENTER, ROLE_OPERATOR, ROLE_LEASE /* an agent's lease token */ };
struct caller {
    enum role role;
    char account_id[ID_TEXT]; /* "" for ROLE_ANYONE */
    char token_id[ID_TEXT];
    char lease_id[ID_TEXT];   /* ROLE_LEASE */
    int64_t epoch;            /* ROLE_LEASE */
    bool read_only;           /* token without the write scope */
    const char *address;      /* peer, for delays and audit */
};
#endif
