/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/spec.h"
#include "base/core/id.h"
#include "base/io/crypto.h"
#include "base/io/proc.h"

/* What arrives, before the checks that a table cannot make. */
struct raw {
    const char *op, *node;
    struct lease_spec s;
    const char *cards;
};

static const struct jr_field volume_fields[] = {
    JR_STR(struct spec_volume, id, "id", JR_REQUIRED, 1, 63),
    JR_INT(struct spec_volume, size_bytes, "size_bytes", JR_REQUIRED, 16 << 20, 1LL << 46),
    {0}};
#define S(member) offsetof(struct raw, s.member)
static const struct jr_field fields[] = {
    {"op", JR_K_STR, 0, offsetof(struct raw, op), 0, 64},
    {"node", JR_K_STR, 0, offsetof(struct raw, node), 0, 64},
    {"lease", JR_K_STR, JR_REQUIRED, S(lease), 1, 63},
    {"epoch", JR_K_INT, JR_REQUIRED, S(epoch), 1, 1LL << 40},
    {"account", JR_K_STR, JR_REQUIRED, S(account), 1, 63},
    {"hostname", JR_K_STR, JR_REQUIRED, S(hostname), 1, 63},
    {"image", JR_K_STR, JR_REQUIRED, S(image), 1, 63},
    {"volume", JR_K_OBJ, JR_REQUIRED, S(volume), 0, 0, volume_fields, sizeof(struct spec_volume)},
    {"cards", JR_K_RAW, JR_REQUIRED, offsetof(struct raw, cards), 0, 0},
    {"slot", JR_K_INT, JR_REQUIRED, S(slot), 0, AGENT_SLOT_MAX - 1},
    {"host_port", JR_K_INT, JR_REQUIRED, S(host_port), 1024, 65535},
    {"ssh_keys", JR_K_STRS, JR_REQUIRED, S(ssh_keys), 0, SPEC_KEYS_MAX},
    {"command", JR_K_STRS, JR_TEXT, S(command), 0, SPEC_COMMAND_MAX},
    {"report_url", JR_K_STR, JR_REQUIRED, S(report_url), 1, 512},
    {"token", JR_K_STR, JR_REQUIRED, S(token), 1, 250},
    {"nonce", JR_K_STR, JR_REQUIRED, S(nonce), 1, 128},
    {"heartbeat_s", JR_K_INT, JR_REQUIRED, S(heartbeat_s), 1, 3600},
    {"funded_until_us", JR_K_INT, JR_REQUIRED, S(funded_until_us), 0, INT64_MAX},
    {"cpus", JR_K_INT, 0, S(cpus), 0, 4096},
    {"memory_bytes", JR_K_INT, 0, S(memory_bytes), 0, 1LL << 50},
    {"shared_quota_bytes", JR_K_INT, 0, S(shared_quota_bytes), 0, 1LL << 46},
    {0}};
#undef S

int ssh_key_check(const char *line, struct sl_err *err)
{
    static const char *const types[] = {"ssh-ed25519",
                                        "ssh-rsa",
                                        "ecdsa-sha2-nistp256",
                                        "ecdsa-sha2-nistp384",
                                        "ecdsa-sha2-nistp521",
                                        "sk-ssh-ed25519@openssh.com",
                                        NULL};
    size_t n = strlen(line);
    struct sl_str rest = {line, n}, type, blob;
    uint8_t bytes[4096];
    if (n > 4096 || !sl_utf8_ok(line, n, false) || !sl_str_cut(&rest, ' ', &type))
        return sl_fail_at(err, SL_INVALID, "ssh_keys", "ssh_keys: not a public key line");
    bool known = false;
    for (int i = 0; types[i]; i++)
        known = known || sl_str_eq(type, sl_str(types[i]));
    if (!known)
        return sl_fail_at(err, SL_INVALID, "ssh_keys",
                          "ssh_keys: a key must begin with its type; options are not allowed");
    if (!sl_str_cut(&rest, ' ', &blob))
        blob = rest;
    int got = base64_decode(blob.p, blob.n, bytes, sizeof bytes);
    /* the blob repeats the type: a 4-byte length, then the name */
    if (got < (int)type.n + 4 || bytes[2] != 0 || bytes[3] != type.n ||
        memcmp(bytes + 4, type.p, type.n) != 0)
        return sl_fail_at(err, SL_INVALID, "ssh_keys", "ssh_keys: the key is damaged");
    return 0;
}

static int cards_read(const struct jr_val *list, struct lease_spec *s, struct sl_err *err)
{
    size_t n = jr_len(list);
    if (n > AGENT_CARDS_MAX)
        return sl_fail_at(err, SL_INVALID, "cards", "cards: at most %d", AGENT_CARDS_MAX);
    for (size_t i = 0; i < n; i++) {
        int64_t v = jr_i64(jr_at(list, i), -1);
        if (v < 0 || v >= AGENT_CARDS_MAX)
            return sl_fail_at(err, SL_INVALID, "cards", "cards[%zu] must be a card's number", i);
        for (int k = 0; k < s->cards_n; k++)
            if (s->cards[k] == v)
                return sl_fail_at(err, SL_INVALID, "cards", "cards: %d is named twice", (int)v);
        s->cards[s->cards_n++] = (int)v;
    }
    return 0;
}

static bool text_ok(const char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s <= ' ' || *s == '"' || *s == '\\' || (unsigned char)*s >= 127)
            return false;
    return true;
}

static int check(const struct lease_spec *s, struct sl_err *err)
{
    if (agent_name(s->lease, "lease", err) < 0 || agent_name(s->account, "account", err) < 0 ||
        agent_name(s->image, "image", err) < 0 || agent_name(s->volume.id, "volume.id", err) < 0)
        return -1;
    if (!name_ok(s->hostname))
        return sl_fail_at(err, SL_INVALID, "hostname",
                          "hostname must be 1 to 63 of a-z, 0-9 and '-'");
    if (!sl_starts(s->report_url, "http://") && !sl_starts(s->report_url, "https://"))
        return sl_fail_at(err, SL_INVALID, "report_url", "report_url must be http:// or https://");
    if (!text_ok(s->report_url) || !text_ok(s->token) || !text_ok(s->nonce))
        return sl_fail_at(err, SL_INVALID, "token",
                          "report_url, token and nonce must be printable without blanks");
    for (int i = 0; i < s->ssh_keys.n; i++)
        if (ssh_key_check(s->ssh_keys.v[i], err) < 0)
            return -1;
    return 0;
}

int spec_parse(const char *json, size_t n, struct lease_spec *ret, struct sl_arena *arena,
               struct sl_err *err)
{
    struct raw raw = {0};
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    if (jr_parse(json, n, fields, &raw, arena, err) < 0 || jr_open(json, n, &doc, err) < 0)
        return -1;
    *ret = raw.s;
    if (cards_read(jr_get(jr_root(doc), "cards"), ret, err) < 0)
        return -1;
    return check(ret, err);
}

int spec_write(const struct lease_spec *s, const char *dir, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(SPEC_JSON_MAX);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "lease", s->lease);
    jw_int(&w, "epoch", s->epoch);
    jw_str(&w, "account", s->account);
    jw_str(&w, "hostname", s->hostname);
    jw_str(&w, "image", s->image);
    jw_object(&w, "volume");
    jw_str(&w, "id", s->volume.id);
    jw_int(&w, "size_bytes", s->volume.size_bytes);
    jw_end(&w);
    jw_array(&w, "cards");
    for (int i = 0; i < s->cards_n; i++)
        jw_int(&w, NULL, s->cards[i]);
    jw_end(&w);
    jw_int(&w, "slot", s->slot);
    jw_int(&w, "host_port", s->host_port);
    jw_array(&w, "ssh_keys");
    for (int i = 0; i < s->ssh_keys.n; i++)
        jw_str(&w, NULL, s->ssh_keys.v[i]);
    jw_end(&w);
    jw_array(&w, "command");
    for (int i = 0; i < s->command.n; i++)
        jw_str(&w, NULL, s->command.v[i]);
    jw_end(&w);
    jw_str(&w, "report_url", s->report_url);
    jw_str(&w, "token", s->token);
    jw_str(&w, "nonce", s->nonce);
    jw_int(&w, "heartbeat_s", s->heartbeat_s);
    jw_int(&w, "funded_until_us", s->funded_until_us);
    jw_int(&w, "cpus", s->cpus);
    jw_int(&w, "memory_bytes", s->memory_bytes);
    jw_int(&w, "shared_quota_bytes", s->shared_quota_bytes);
    jw_end(&w);
    char path[PATH_MAX];
    return run_write(agent_path(path, "%s/spec.json", dir), b.p, b.n, 0600, err);
}

int spec_read(const char *dir, struct lease_spec *ret, struct sl_arena *arena, struct sl_err *err)
{
    char path[PATH_MAX];
    SL_AUTO_BUF struct sl_buf b = SL_BUF(SPEC_JSON_MAX);
    if (file_read(agent_path(path, "%s/spec.json", dir), SPEC_JSON_MAX, &b, err) < 0)
        return -1;
    return spec_parse(sl_buf_str(&b), b.n, ret, arena, err);
}
