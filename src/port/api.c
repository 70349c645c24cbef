/* SPDX-License-Identifier: Apache-2.0 */
#include "port/api.h"
#include "base/core/err.h"
#include "port/api_table.h"
#include <stdio.h>

int api_find(const char *name, size_t n)
{
    if (n == 0 || n > api_longest)
        return -1;
    uint64_t h = api_hash(name, n);
    unsigned slot = api_slots[api_slot(h, api_displacement[api_bucket(h)])];
    if (!slot)
        return -1;
    const struct api_row *r = &api_rows[slot - 1];
    return r->length == n && memcmp(api_pool + r->cuda, name, n) == 0 ? (int)slot - 1 : -1;
}

int api_count(void)
{
    return api_rows_n;
}

static const struct api_row *row(int id)
{
    SL_ASSERT(id >= 0 && id < api_rows_n);
    return &api_rows[id];
}

unsigned api_flags(int id)
{
    return row(id)->flags;
}
enum api_kind api_kind(int id)
{
    return row(id)->kind;
}
const char *api_hip(int id)
{
    return api_pool + row(id)->hip;
}
const char *api_roc(int id)
{
    return api_pool + row(id)->roc;
}
const char *api_variant(int id, bool roc, uint32_t rocm)
{
    const struct api_row *r = row(id);
    uint32_t name = roc ? r->roc_variant : r->variant;
    if (!name)
        return NULL;
    const uint32_t *v = api_versions[r->version];
    uint32_t version = rocm ? rocm : UINT32_MAX - 1;
    uint32_t before = v[10] ? v[10] : UINT32_MAX;
    bool in =
        v[9] > before ? version >= v[9] || version < before : version >= v[9] && version < before;
    return in ? api_pool + name : NULL;
}

int api_topic(int id)
{
    return row(id)->topic;
}
int api_topic_count(void)
{
    return api_topics_n;
}

const char *api_topic_name(int topic)
{
    SL_ASSERT(topic >= 0 && topic < api_topics_n);
    return api_pool + api_topics[topic];
}

void api_get(int id, struct api *ret)
{
    const struct api_row *r = row(id);
    const uint32_t *v = api_versions[r->version];
    *ret = (struct api){.cuda = api_pool + r->cuda,
                        .hip = api_pool + r->hip,
                        .roc = api_pool + r->roc,
                        .kind = r->kind,
                        .library = api_pool + api_libraries[r->library],
                        .flags = r->flags,
                        .cuda_added = v[0],
                        .cuda_deprecated = v[1],
                        .cuda_removed = v[2],
                        .hip_added = v[3],
                        .hip_deprecated = v[4],
                        .hip_removed = v[5],
                        .hip_experimental = v[6],
                        .roc_added = v[7],
                        .roc_removed = v[8],
                        .variant = api_pool + r->variant,
                        .roc_variant = api_pool + r->roc_variant,
                        .variant_from = v[9],
                        .variant_before = v[10],
                        .note = api_pool + r->note};
}

bool api_rule(int id, int k, struct api_rule *ret)
{
    const struct api_row *r = row(id);
    if (k < 0 || k >= r->n_rules)
        return false;
    const struct api_rule_row *u = &api_rules[r->rule + k];
    *ret = (struct api_rule){.target = u->target,
                             .action = u->action,
                             .argc = u->argc,
                             .arg = u->arg,
                             .to = u->to,
                             .count = u->count,
                             .value = api_pool + u->value};
    return true;
}

const char *api_kind_name(enum api_kind k)
{
    static const char *const names[API_KINDS] = {"function",    "type",     "constant",
                                                 "macro",       "header",   "device-function",
                                                 "device-type", "namespace"};
    SL_ASSERT((unsigned)k < API_KINDS);
    return names[k];
}

const char *api_version(uint32_t v, char out[16])
{
    out[0] = 0;
    if (v)
        snprintf(out, 16, "%u.%u.%u", v / 10000, v / 100 % 100, v % 100);
    return out;
}

uint32_t api_version_parse(const char *text)
{
    unsigned part[3] = {0};
    int parts = 0;
    for (const char *s = text;; s++) {
        if (*s < '0' || *s > '9' || parts == 3)
            return 0;
        for (; *s >= '0' && *s <= '9'; s++)
            if ((part[parts] = part[parts] * 10 + (unsigned)(*s - '0')) > 99)
                return 0;
        parts++;
        if (*s == 0)
            return part[0] * 10000 + part[1] * 100 + part[2];
        if (*s != '.')
            return 0;
    }
}
