/* SPDX-License-Identifier: Apache-2.0
 *
 * spec.h: what `lease.start` asks for, checked field by field. Nothing of it reaches a config.json,
 * a command line or a path before it has passed here.
 *
 *     struct lease_spec s;
 *     if (spec_parse(json, n, &s, &arena, err) < 0) return -1;     strings live in the arena
 *     spec_write(&s, dir, err);                                    DIR/spec.json, mode 0600: holds
 * the token
 */
#ifndef AGENT_SPEC_H
#define AGENT_SPEC_H
#include "agent/agent.h"
#include "base/io/json.h"

enum { SPEC_KEYS_MAX = 64, SPEC_COMMAND_MAX = 256, SPEC_JSON_MAX = 1 << 20 };

struct spec_volume {
    const char *id;
    int64_t size_bytes;
};
struct lease_spec {
    const char *lease, *account, *hostname, *image, *report_url, *token, *nonce;
    int64_t epoch, slot, host_port, heartbeat_s, funded_until_us, cpus, memory_bytes;
    int64_t shared_quota_bytes; /* 0: no shared drive */
    struct spec_volume volume;
    int cards[AGENT_CARDS_MAX];
    int cards_n;
    struct jr_strs ssh_keys, command;
};

/* `request` is the whole operation: members op and node are ignored, any other unknown one refused.
 */
int spec_parse(const char *json, size_t n, struct lease_spec *ret, struct sl_arena *arena,
               struct sl_err *err);
int spec_write(const struct lease_spec *s, const char *dir, struct sl_err *err);
int spec_read(const char *dir, struct lease_spec *ret, struct sl_arena *arena, struct sl_err *err);
/* One public key line: allowed type, base64, comment without control characters; no options. */
int ssh_key_check(const char *line, struct sl_err *err);
#endif
