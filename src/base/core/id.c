/* SPDX-License-Identifier: Apache-2.0 */
#include "id.h"
#include "err.h"
#include <stdio.h>
#include <string.h>

static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";

const char *id_make(const char *prefix, int64_t now_us, const uint8_t rnd[10], char out[ID_TEXT])
{
    SL_ASSERT(strlen(prefix) == 3);
    uint64_t ms = (uint64_t)(now_us / 1000);
    uint8_t u[16];
    for (int i = 0; i < 6; i++)
        u[i] = (uint8_t)(ms >> (40 - 8 * i));
    memcpy(u + 6, rnd, 10);
    u[6] = (uint8_t)(0x70 | (u[6] & 0x0f)); /* version 7 */
    u[8] = (uint8_t)(0x80 | (u[8] & 0x3f)); /* variant 10 */
    char *w = out + snprintf(out, ID_TEXT, "%s_", prefix);
    unsigned acc = 0, bits = 2; /* 128 bits are 25.6 digits: start with two zero bits */
    for (int i = 0; i < 16; i++) {
        acc = acc << 8 | u[i];
        bits += 8;
        while (bits >= 5) {
            bits -= 5;
            *w++ = alphabet[acc >> bits & 31];
        }
    }
    SL_ASSERT(bits == 0);
    *w = 0;
    return out;
}

bool id_ok(const char *id, const char *prefix)
{
    size_t n = strlen(id);
    if (n != 30 || id[3] != '_')
        return false;
    if (prefix && memcmp(id, prefix, 3) != 0)
        return false;
    for (size_t i = 0; i < 3; i++)
        if (id[i] < 'a' || id[i] > 'z')
            return false;
    for (size_t i = 4; i < n; i++)
        if (!strchr(alphabet, id[i]))
            return false;
    return true;
}

bool name_ok(const char *name)
{
    size_t n = strlen(name);
    if (n < 1 || n > 63 || name[0] == '-' || name[n - 1] == '-')
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = name[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'))
            return false;
    }
    return true;
}
