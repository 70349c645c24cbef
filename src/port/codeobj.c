/* SPDX-License-Identifier: Apache-2.0 */
#include "port/codeobj.h"
#include "base/core/buf.h"
#include "base/core/mem.h"
#include <elf.h>

enum { NT_AMDGPU_METADATA_TYPE = 32, DEPTH_MAX = 16, MACHINE_AMDGPU = 224 };

/* --- MessagePack: just enough to walk maps and take integers and strings
 * --------------------------- */
struct pack {
    const unsigned char *p;
    size_t n, at;
    bool bad;
};
enum pack_kind { PACK_INT, PACK_STR, PACK_ARRAY, PACK_MAP, PACK_OTHER };
struct pack_value {
    enum pack_kind kind;
    uint64_t number; /* value, or how many elements (pairs) follow */
    struct sl_str text;
};

static uint64_t take(struct pack *m, unsigned bytes)
{
    uint64_t v = 0;
    if (m->n - m->at < bytes) {
        m->bad = true;
        m->at = m->n;
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++)
        v = v << 8 | m->p[m->at++];
    return v;
}

static void take_text(struct pack *m, struct pack_value *v, uint64_t n)
{
    if (n > m->n - m->at) {
        m->bad = true;
        return;
    }
    v->text = (struct sl_str){(const char *)m->p + m->at, (size_t)n};
    m->at += (size_t)n;
}

/* Reads one head (and the bytes of a string); elements of arrays and maps follow it. */
static struct pack_value value(struct pack *m)
{
    struct pack_value v = {PACK_OTHER, 0, {"", 0}};
    unsigned b = (unsigned)take(m, 1);
    if (b < 0x80 || b >= 0xe0) {
        v.kind = PACK_INT;
        v.number = b < 0x80 ? b : (uint64_t)(int64_t)(int8_t)b;
    } else if (b < 0x90) {
        v.kind = PACK_MAP;
        v.number = b & 15;
    } else if (b < 0xa0) {
        v.kind = PACK_ARRAY;
        v.number = b & 15;
    } else if (b < 0xc0) {
        v.kind = PACK_STR;
        take_text(m, &v, b & 31);
    } else if (b >= 0xcc && b <= 0xd3) { /* unsigned and signed of 1, 2, 4, 8 bytes */
        v.kind = PACK_INT;
        v.number = take(m, 1u << ((b - 0xcc) & 3));
    } else if (b >= 0xd9 && b <= 0xdb) {
        v.kind = PACK_STR;
        take_text(m, &v, take(m, 1u << (b - 0xd9)));
    } else if (b == 0xdc || b == 0xdd) {
        v.kind = PACK_ARRAY;
        v.number = take(m, b == 0xdc ? 2 : 4);
    } else if (b == 0xde || b == 0xdf) {
        v.kind = PACK_MAP;
        v.number = take(m, b == 0xde ? 2 : 4);
    } else if (b == 0xca || b == 0xcb) { /* floating point */
        take(m, b == 0xca ? 4 : 8);
    } else if (b >= 0xc4 && b <= 0xc6) { /* binary */
        take_text(m, &v, take(m, 1u << (b - 0xc4)));
    } else if (b != 0xc0 && b != 0xc2 && b != 0xc3) { /* nil, false, true have no more bytes */
        m->bad = true;
    }
    return v;
}

static void skip(struct pack *m, int depth)
{
    struct pack_value v = value(m);
    uint64_t n = v.kind == PACK_ARRAY ? v.number : v.kind == PACK_MAP ? 2 * v.number : 0;
    if (depth > DEPTH_MAX)
        m->bad = true;
    for (; n && !m->bad; n--)
        skip(m, depth + 1);
}

/* --- kernels -------------------------------------------------------------------------------------
 */
static void kernel_field(struct kernel_info *k, struct sl_str key, const struct pack_value *v)
{
    const struct {
        const char *name;
        uint64_t *to;
    } fields[] = {{".group_segment_fixed_size", &k->lds_bytes},
                  {".private_segment_fixed_size", &k->scratch_bytes},
                  {".max_flat_workgroup_size", &k->max_block},
                  {".vgpr_count", &k->vgprs},
                  {".agpr_count", &k->agprs},
                  {".sgpr_count", &k->sgprs},
                  {".vgpr_spill_count", &k->vgpr_spills},
                  {".sgpr_spill_count", &k->sgpr_spills},
                  {".wavefront_size", &k->wave_size}};
    if (v->kind == PACK_STR && sl_str_eq(key, sl_str(".name"))) {
        free(k->name);
        k->name = sl_strndup(v->text.p, v->text.n);
    }
    for (size_t i = 0; v->kind == PACK_INT && i < SL_COUNT(fields); i++)
        if (sl_str_eq(key, sl_str(fields[i].name)))
            *fields[i].to = v->number;
}

static void kernel_read(struct pack *m, struct kernel_info *k)
{
    struct pack_value map = value(m);
    if (map.kind != PACK_MAP) {
        m->bad = true;
        return;
    }
    for (uint64_t i = 0; i < map.number && !m->bad; i++) {
        struct pack_value key = value(m);
        size_t at = m->at;
        struct pack_value v = value(m);
        kernel_field(k, key.text, &v);
        if (v.kind == PACK_ARRAY || v.kind == PACK_MAP) {
            m->at = at;
            skip(m, 0);
        }
    }
}

static int metadata(const unsigned char *p, size_t n, struct kernel_info **ret, size_t *ret_n,
                    struct sl_err *err)
{
    struct pack m = {p, n, 0, false};
    struct pack_value top = value(&m);
    if (top.kind != PACK_MAP)
        m.bad = true;
    for (uint64_t i = 0; i < top.number && !m.bad; i++) {
        struct pack_value key = value(&m);
        if (!sl_str_eq(key.text, sl_str("amdhsa.kernels"))) {
            skip(&m, 0);
            continue;
        }
        struct pack_value list = value(&m);
        if (list.kind != PACK_ARRAY || list.number > n) {
            m.bad = true;
            break;
        }
        kernel_infos_free(*ret, *ret_n);
        *ret = sl_alloc((size_t)(list.number + 1) * sizeof **ret);
        *ret_n = 0;
        for (; *ret_n < list.number && !m.bad; (*ret_n)++)
            kernel_read(&m, &(*ret)[*ret_n]);
    }
    for (size_t i = 0; i < *ret_n; i++) {
        if (!(*ret)[i].name)
            (*ret)[i].name = sl_strdup("?");
        kernel_occupancy(&(*ret)[i]);
    }
    return m.bad ? sl_fail(err, SL_INVALID, "the code object's metadata is damaged") : 0;
}

static int notes(const unsigned char *p, size_t n, struct kernel_info **ret, size_t *ret_n,
                 struct sl_err *err)
{
    for (size_t at = 0; n - at >= sizeof(Elf64_Nhdr);) {
        Elf64_Nhdr h;
        memcpy(&h, p + at, sizeof h);
        at += sizeof h;
        size_t name_n = ((size_t)h.n_namesz + 3) & ~(size_t)3;
        size_t desc_n = ((size_t)h.n_descsz + 3) & ~(size_t)3;
        if (name_n > n - at || h.n_descsz > n - at - name_n)
            return sl_fail(err, SL_INVALID, "the code object's notes are damaged");
        if (h.n_type == NT_AMDGPU_METADATA_TYPE && h.n_namesz == 7 &&
            memcmp(p + at, "AMDGPU", 7) == 0)
            return metadata(p + at + name_n, h.n_descsz, ret, ret_n, err);
        at += name_n;
        at += desc_n > n - at ? n - at : desc_n;
    }
    return 0;
}

int codeobj_kernels(const void *bytes, size_t n, struct kernel_info **ret, size_t *ret_n,
                    struct sl_err *err)
{
    const unsigned char *p = bytes;
    Elf64_Ehdr e;
    *ret = NULL;
    *ret_n = 0;
    if (n < sizeof e || memcmp(p, ELFMAG, SELFMAG) != 0 || p[EI_CLASS] != ELFCLASS64)
        return sl_fail(err, SL_INVALID, "not a 64-bit ELF file");
    memcpy(&e, p, sizeof e);
    if (e.e_machine != MACHINE_AMDGPU)
        return sl_fail(err, SL_INVALID, "an ELF file, but not for an AMD GPU");
    for (unsigned i = 0; i < e.e_shnum; i++) {
        Elf64_Shdr s;
        uint64_t at = e.e_shoff + (uint64_t)i * sizeof s;
        if (e.e_shentsize != sizeof s || at > n || n - at < sizeof s)
            return sl_fail(err, SL_INVALID, "the code object's section table is damaged");
        memcpy(&s, p + at, sizeof s);
        if (s.sh_type != SHT_NOTE)
            continue;
        if (s.sh_offset > n || s.sh_size > n - s.sh_offset)
            return sl_fail(err, SL_INVALID, "the code object's notes are damaged");
        if (notes(p + s.sh_offset, (size_t)s.sh_size, ret, ret_n, err) < 0)
            return -1;
    }
    return 0;
}

void kernel_infos_free(struct kernel_info *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(v[i].name);
    free(v);
}

void kernel_occupancy(struct kernel_info *k)
{
    /* VGPRs are given out in eights; accumulation registers come from the same 512. .vgpr_count is
     * the sum of both on these targets. */
    uint64_t regs = (k->vgprs + 7) / 8 * 8, by_vgpr = regs ? 512 / regs : CODEOBJ_WAVES_MAX;
    uint64_t by_sgpr = k->sgprs > 100 ? 7 : CODEOBJ_WAVES_MAX;
    uint64_t by_lds = CODEOBJ_WAVES_MAX;
    if (k->lds_bytes) {
        uint64_t block = k->max_block ? k->max_block : 1024, waves = (block + 63) / 64;
        uint64_t blocks = CODEOBJ_LDS_BYTES / k->lds_bytes;
        by_lds = (blocks * waves + 3) / 4;
    }
    k->occupancy = CODEOBJ_WAVES_MAX;
    k->limited_by = "";
    const struct {
        uint64_t waves;
        const char *name;
    } limits[] = {{by_vgpr, "VGPR"}, {by_sgpr, "SGPR"}, {by_lds, "LDS"}};
    for (size_t i = 0; i < SL_COUNT(limits); i++)
        if (limits[i].waves < k->occupancy) {
            k->occupancy = (unsigned)limits[i].waves;
            k->limited_by = limits[i].name;
        }
}
