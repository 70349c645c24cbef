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
#include "port/api_hash.h"
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
    API_DROP = 1024,      /* a header that HIP does without: its include line goes */
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
    /* Another spelling of the targets for ROCm versions in [variant_from, variant_before) (outside
     * of [variant_before, variant_from) when that is the order), or "": headers that moved,
     * enumerators that changed their owner. */
    const char *variant, *roc_variant;
    uint32_t variant_from, variant_before;
    const char *note; /* advice of one sentence, or "" */
};

/* Argument rules of a function: what a call's arguments need besides the new name. */
enum api_target { API_TO_HIP, API_TO_ROC, API_TO_MIOPEN };
enum api_action {
    API_ARG_SYMBOL,       /* wrap in HIP_SYMBOL() */
    API_ARG_CAST_POINTER, /* wrap in reinterpret_cast<const void*>() */
    API_ARG_CAST_SIZE,    /* wrap in reinterpret_cast<size_t*>() */
    API_ARG_ADD,          /* put value before argument arg */
    API_ARG_SET,          /* replace it by value */
    API_ARG_REMOVE,
    API_ARG_COPY, /* repeat it before argument to */
    API_ARG_MOVE, /* put count arguments from arg before argument to instead */
    API_ARG_NAME, /* the function's name becomes value */
    API_ACTIONS
};
struct api_rule {
    enum api_target target;
    enum api_action action;
    int argc; /* only calls with this many arguments; 0: any */
    int arg, to, count;
    const char *value;
};

/* The id of a name, 0..api_count()-1, or -1. One hash and one comparison. */
int api_find(const char *name, size_t n);
/* The same for names that mean work (another name, or no target); others may give -1. A look at
 * three bytes rejects nearly every identifier of ordinary code. */
static inline int api_match(const char *name, size_t n)
{
    extern const uint64_t api_marks[1024];
    if (n < 2)
        return -1;
    uint32_t bit = api_mark(name, n);
    return api_marks[bit >> 6] >> (bit & 63) & 1 ? api_find(name, n) : -1;
}
int api_count(void);
void api_get(int id, struct api *ret);
/* Single fields, for the hot path. */
unsigned api_flags(int id);
enum api_kind api_kind(int id);
const char *api_hip(int id); /* "" when there is none */
const char *api_roc(int id);
/* The variant for a ROCm version (0: the newest), or NULL. */
const char *api_variant(int id, bool roc, uint32_t rocm);
/* Rule number k (from 0) of a function; false past the last. */
bool api_rule(int id, int k, struct api_rule *ret);

const char *api_kind_name(enum api_kind k);
/* Statistics group by topic ("memory", "stream", "include" ...); topics are numbered
 * 0..api_topics()-1. */
int api_topic(int id);
int api_topic_count(void);
const char *api_topic_name(int topic);
/* 50200 -> "5.2.0", 0 -> "". Returns out. */
const char *api_version(uint32_t v, char out[16]);
/* "5.7", "6.3.1", "12.6" -> 50700 ...; 0 when it is none. */
uint32_t api_version_parse(const char *text);
#endif
