/* SPDX-License-Identifier: Apache-2.0
 *
 * id.h: ids are a typed prefix and a UUIDv7 (RFC 9562) in 26 characters of Crockford base32, lower
 * case: "lea_06f1k2..." They sort by creation time.
 *
 * Prefixes in use: acc account, tok token, key SSH key, idn identity, mod model, prv price version,
 * quo quote, lea lease, vol volume, img image, nod node, opn operation, evt event, txn transaction,
 * hld hold, seg segment, stm statement, cer certificate.
 */
#ifndef SL_ID_H
#define SL_ID_H
#include <stdbool.h>
#include <stdint.h>

enum { ID_TEXT = 32 }; /* bytes that hold an id: 3 + 1 + 26 + NUL */

/* `rnd` are 10 random bytes. Returns out. */
const char *id_make(const char *prefix, int64_t now_us, const uint8_t rnd[10], char out[ID_TEXT]);
/* The right prefix (any when NULL), then 26 characters of the alphabet. */
bool id_ok(const char *id, const char *prefix);
/* A name that a person gives: 1..63 of a-z 0-9 '-', begins and ends with a letter or digit. */
bool name_ok(const char *name);
#endif
