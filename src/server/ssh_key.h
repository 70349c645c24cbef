/* SPDX-License-Identifier: Apache-2.0
 *
 * ssh_key.h: reads one SSH public key line, strictly: "TYPE BASE64 [COMMENT]" and nothing else.
 * Options in front ("command=..."), newlines, unknown types, payloads whose inside does not fit the
 * type, and RSA under 2048 bits are refused. The formats are RFC 4253 6.6, RFC 5656 3.1, RFC 8709 4
 * and OpenSSH's PROTOCOL.u2f.
 */
#ifndef SERVER_SSH_KEY_H
#define SERVER_SSH_KEY_H
#include "base/core/err.h"

enum { SSH_KEY_LINE = 8192, SSH_FINGERPRINT = 64, SSH_RSA_BITS_MIN = 2048 };

struct ssh_key {
    char type[48];
    char line[SSH_KEY_LINE]; /* type, payload, comment: fit for authorized_keys */
    char comment[128];
    char fingerprint[SSH_FINGERPRINT]; /* as `ssh-keygen -l` prints it: SHA256:... */
};
int ssh_key_parse(const char *line, const char *field, struct ssh_key *ret, struct sl_err *err);
#endif
