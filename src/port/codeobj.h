/* SPDX-License-Identifier: Apache-2.0
 *
 * codeobj.h: what an AMD GPU code object says of its kernels: the note NT_AMDGPU_METADATA (32,
 * MessagePack; format: LLVM's AMDGPUUsage, code object V3 and later), and the occupancy that
 * follows from it.
 *
 *     struct kernel_info *k; size_t n;
 *     if (codeobj_kernels(bytes, size, "gfx942", &k, &n, &err) < 0) ...
 *     kernel_infos_free(k, n);
 *
 * Any bytes are accepted; what is damaged is an error, never a crash.
 */
#ifndef PORT_CODEOBJ_H
#define PORT_CODEOBJ_H
#include "base/core/err.h"
#include <stdint.h>

struct kernel_info {
    char *name; /* mangled */
    uint64_t lds_bytes, scratch_bytes, max_block;
    uint64_t vgprs, agprs, sgprs, vgpr_spills, sgpr_spills, wave_size;
    /* Waves per SIMD out of CODEOBJ_WAVES_MAX that registers and LDS allow, when blocks are
     * max_block threads; limited_by names the tightest: "VGPR", "SGPR", "LDS" or "". */
    unsigned occupancy;
    const char *limited_by;
};
/* gfx90a and gfx94x: 8 wave slots and 512 registers a SIMD, 64 KiB LDS a compute unit of 4 SIMDs
 * (AMD CDNA2 and CDNA3 instruction set guides; LLVM's AMDGPUBaseInfo). */
enum { CODEOBJ_WAVES_MAX = 8, CODEOBJ_LDS_BYTES = 65536 };

int codeobj_kernels(const void *bytes, size_t n, struct kernel_info **ret, size_t *ret_n,
                    struct sl_err *err);
void kernel_infos_free(struct kernel_info *v, size_t n);
void kernel_occupancy(struct kernel_info *k);
#endif
