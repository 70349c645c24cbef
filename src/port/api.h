/* SPDX-License-Identifier: Apache-2.0
 *
 * api.h: what the product knows of one name of the CUDA APIs: its HIP and roc* names, kind,
 * library, the versions it lives in. The facts are src/port/tables/ *.tab (rules + exceptions),
 * compiled by gen_table.c in the build into a perfect hash; nothing is read at run time.
 *
 *     int id = api_find("cudaMalloc", 10);
 *     if (id >= 0) { struct api a; api_get(id, &a);  a.hip = "hipMalloc" ... }
 *
 * All strings are static. Thread-safe.
 */
#ifndef PORT_API_H
#define PORT_API_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum api_kind {
    API_FUNCTION,
    API_TYPE,
    API_CONSTANT, /* enumerator */
    API_MACRO,
    API_HEADER, /* the name is an include path: "cublas_v2.h" */
    API_DEVICE_FUNCTION,
    API_DEVICE_TYPE,
    API_NAMESPACE,
    API_KINDS
};

enum {
    API_HIP = 1,             /* HIP supports it (hip is its target) */
    API_ROC = 2,             /* a roc* library or MIOpen supports it (roc is its target) */
    API_EXPERIMENTAL = 4,    /* HIP support is experimental: translated with --experimental only */
    API_CUDA_DEPRECATED = 8, /* some CUDA version deprecates it: cuda_deprecated says which */
    API_CUDA_REMOVED = 16,
    API_HIP_DEPRECATED = 32,
    API_MAIN_HEADER = 64, /* kind HEADER: the library's main header */
    API_V2_ONLY = 128,    /* cuBLAS: the name has a HIP target through its _v2 form only */
    API_MIOPEN = 256,     /* its roc target is MIOpen's (--miopen), not a roc* library's (--roc) */
    API_EXTRA = 512       /* not in HIPIFY's tables: NCCL, NVTX, NVML, Thrust, newer headers */
};

struct api {
    const char *cuda;
    const char *hip, *roc; /* "" when there is no such name; a name may be known and unsupported */
    enum api_kind kind;
    const char *library; /* "runtime", "driver", "cuBLAS", ... */
    unsigned flags;      /* API_* above */
    /* Versions as 10000*major + 100*minor + patch (5.2.0 -> 50200); 0: unknown or not at all. */
    uint32_t cuda_added, cuda_deprecated, cuda_removed;
    uint32_t hip_added, hip_deprecated, hip_removed, hip_experimental;
    uint32_t roc_added, roc_removed;
    const char *note; /* advice of one sentence, or "" */
};

/* The id of a name, 0..api_count()-1, or -1. One hash and one comparison. */
int api_find(const char *name, size_t n);
int api_count(void);
void api_get(int id, struct api *ret);
const char *api_kind_name(enum api_kind k);
/* 50200 -> "5.2.0", 0 -> "". */
const char *api_version(uint32_t v, char out[16]);
/* "5.7", "6.3.1", "12.6" -> 50700 ...; 0 when it is none. */
uint32_t api_version_parse(const char *text);
#endif
