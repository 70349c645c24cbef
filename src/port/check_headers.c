/* SPDX-License-Identifier: Apache-2.0 */
#include "port/check_headers.h"
#include "base/core/buf.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/io/proc.h"
#include "port/api.h"
#include <errno.h>
#include <stdio.h>

/* prefix: of the library's functions and types, in lower and upper case; only such names are
 * declared (others of the table's targets are HIP's own). */
static const struct library {
    const char *name, *prefix, *upper;
    bool roc;            /* the roc column: MIOpen */
    const char *headers; /* include names, separated by spaces */
    const char *values;  /* types that are values, as C text */
} libraries[] = {
    {"cuBLAS", "hipblas", "HIPBLAS", false, "hipblas/hipblas.h hipblas.h",
     "typedef unsigned short hipblasHalf; typedef signed char hipblasInt8; typedef long "
     "hipblasStride;\n"
     "typedef hipFloatComplex hipblasComplex; typedef hipDoubleComplex hipblasDoubleComplex;\n"},
    {"cuBLASLt", "hipblasLt", "HIPBLASLT", false, "hipblaslt/hipblaslt.h hipblaslt.h",
     "#include <hipblas/hipblas.h>\n"
     "typedef struct { hipDataType type; size_t workspaceSize; int state; float wavesCount; "
     "unsigned char algo[64]; } hipblasLtMatmulHeuristicResult_t;\n"},
    {"cuFFT", "hipfft", "HIPFFT", false, "hipfft/hipfft.h hipfft/hipfftXt.h hipfft.h hipfftXt.h",
     "typedef float hipfftReal; typedef double hipfftDoubleReal;\n"
     "typedef hipFloatComplex hipfftComplex; typedef hipDoubleComplex hipfftDoubleComplex;\n"},
    {"cuRAND", "hiprand", "HIPRAND", false,
     "hiprand/hiprand.h hiprand/hiprand_kernel.h hiprand.h hiprand_kernel.h", ""},
    {"cuSPARSE", "hipsparse", "HIPSPARSE", false, "hipsparse/hipsparse.h hipsparse.h", ""},
    {"cuSOLVER", "hipsolver", "HIPSOLVER", false, "hipsolver/hipsolver.h hipsolver.h", ""},
    {"cuDNN", "miopen", "miopen", true, "miopen/miopen.h", ""},
};

static bool has(const char *s, const char *word)
{
    return strstr(s, word) != NULL;
}

static void type_write(const struct library *l, const char *name, struct sl_buf *b)
{
    static const char *const opaque[] = {"Handle",     "Descr",   "Desc_t", "Info",
                                         "Layout",     "Context", "Plan",   "Generator_t",
                                         "Preference", "Params",  "Vec",    NULL};
    if (has(l->values, name))
        return;
    if (has(name, "State")) {
        sl_buf_printf(b, "typedef struct { unsigned v[12]; } %s;\n", name);
        return;
    }
    for (const char *const *o = opaque; *o; o++)
        if (has(name, *o)) {
            sl_buf_printf(b, "typedef struct %s_declared *%s;\n", name, name);
            return;
        }
    sl_buf_printf(b, "typedef int %s;\n", name);
}

static void function_write(const char *name, struct sl_buf *b)
{
    size_t n = strlen(name);
    bool device = strncmp(name, "hiprand_", 8) == 0 || strcmp(name, "skipahead") == 0;
    const char *type = has(name, "String") || has(name, "GetErrorName") ? "const char *" : "int";
    if (device)
        type = name[n - 1] == '2' ? "float2" : name[n - 1] == '4' ? "float4" : "float";
    if (device && has(name, "double"))
        type = name[n - 1] == '2' || has(name, "2_double") ? "double2" : "double";
    sl_buf_printf(
        b, "template <class... A> __host__ __device__ inline %s %s(A &&...) { return {}; }\n", type,
        name);
}

/* One pass over the table for one kind; a name that several CUDA names map to is declared once. */
static void kind_write(const struct library *l, enum api_kind kind, struct sl_map *seen,
                       struct sl_buf *b)
{
    static int yes;
    const char *prefix = kind == API_CONSTANT || kind == API_MACRO ? l->upper : l->prefix;
    size_t prefix_n = strlen(prefix);
    int value = 1;
    for (int id = 0; id < api_count(); id++) {
        struct api a;
        if (api_kind(id) != kind)
            continue;
        api_get(id, &a);
        const char *name = l->roc ? a.roc : a.hip;
        if (strcmp(a.library, l->name) != 0 || strncmp(name, prefix, prefix_n) != 0 ||
            name[strcspn(name, "< (,:")])
            continue;
        void **known = sl_map_put(seen, name, strlen(name));
        if (*known)
            continue;
        *known = &yes;
        if (kind == API_TYPE)
            type_write(l, name, b);
        else if (kind == API_CONSTANT || kind == API_MACRO)
            sl_buf_printf(b, "enum { %s = %d };\n", name,
                          has(name, "SUCCESS") || has(name, "StatusSuccess") ? 0 : value++);
        else
            function_write(name, b);
    }
}

static int library_write(const struct library *l, const char *dir, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(16 << 20);
    struct sl_map seen = {0};
    static const enum api_kind order[] = {API_TYPE, API_CONSTANT, API_FUNCTION, API_DEVICE_TYPE,
                                          API_DEVICE_FUNCTION};
    sl_buf_printf(&b,
                  "/* %s, declared by starport from its API table: names, not signatures. */\n"
                  "#pragma once\n#include <hip/hip_runtime.h>\n#include <hip/hip_complex.h>\n%s",
                  l->name, l->values);
    for (size_t i = 0; i < SL_COUNT(order); i++)
        kind_write(l, order[i], &seen, &b);
    sl_map_free(&seen);
    struct sl_str rest = sl_str(l->headers), h;
    while (sl_str_cut(&rest, ' ', &h)) {
        SL_AUTO_FREE char *path = sl_asprintf("%s/%.*s", dir, (int)h.n, h.p);
        SL_AUTO_FREE char *parent = sl_strndup(path, (size_t)(strrchr(path, '/') - path));
        if (dir_make(parent, 0700, err) < 0)
            return -1;
        FILE *f = fopen(path, "we");
        if (!f || fwrite(sl_buf_str(&b), 1, b.n, f) != b.n || fclose(f) != 0)
            return sl_fail_errno(err, errno, "cannot write %s", path);
    }
    return 0;
}

int check_headers_write(const char *dir, struct sl_err *err)
{
    for (size_t i = 0; i < SL_COUNT(libraries); i++)
        if (library_write(&libraries[i], dir, err) < 0)
            return -1;
    return 0;
}
