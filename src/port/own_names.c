/* SPDX-License-Identifier: Apache-2.0
 *
 * own_names.c: the project's own names that speak of CUDA (CHECK_CUDA, cudaCheck, "CUDA error")
 * follow the port, when asked; names of modules (cuda_utils, CudaNode) do not. A name is the
 * project's own when no table knows it; compiler macros and names that only a CUDA header can mean
 * (__CUDA_ARCH__, CUDA_VERSION) stay. The rule is the same in every file, so that a tree stays
 * consistent; -D options and file names are not changed.
 */
#include "port/pass.h"

static const struct {
    const char *from, *to;
} words[] = {{"CUSPARSE", "HIPSPARSE"},
             {"cusparse", "hipsparse"},
             {"CUBLAS", "HIPBLAS"},
             {"cublas", "hipblas"},
             {"CUSOLVER", "HIPSOLVER"},
             {"cusolver", "hipsolver"},
             {"CURAND", "HIPRAND"},
             {"curand", "hiprand"},
             {"CUFFT", "HIPFFT"},
             {"cufft", "hipfft"},
             {"cuSPARSE", "hipSPARSE"},
             {"cuBLAS", "hipBLAS"},
             {"cuFFT", "hipFFT"},
             {"cuRAND", "hipRAND"},
             {"cuSOLVER", "hipSOLVER"},
             {"Cublas", "Hipblas"},
             {"Cusparse", "Hipsparse"},
             {"Cufft", "Hipfft"},
             {"Curand", "Hiprand"},
             {"Cusolver", "Hipsolver"},
             {"CUDA", "HIP"},
             {"Cuda", "Hip"},
             {"cuda", "hip"}};

static bool is_foreign(const char *s, size_t n)
{
    static const char *const starts[] = {"__CUDA",  "__NV",  "__cuda", "CUDA_VERSION",
                                         "CUDART_", "CUDNN", "CUB_"};
    for (size_t k = 0; k < SL_COUNT(starts); k++)
        if (n >= strlen(starts[k]) && memcmp(s, starts[k], strlen(starts[k])) == 0)
            return true;
    return false;
}

/* Bytes [at, end) with every word of the list replaced; false when there is none. */
static bool replaced(const char *s, size_t n, struct sl_buf *out)
{
    bool any = false;
    for (size_t i = 0; i < n;) {
        size_t k = 0;
        while (k < SL_COUNT(words) && (n - i < strlen(words[k].from) ||
                                       memcmp(s + i, words[k].from, strlen(words[k].from)) != 0))
            k++;
        if (k == SL_COUNT(words)) {
            sl_buf_addc(out, s[i++]);
            continue;
        }
        sl_buf_adds(out, words[k].to);
        i += strlen(words[k].from);
        any = true;
    }
    return any;
}

/* Every word of the list starts with "cu" in some case; most names have no such place. */
static bool speaks(const char *s, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if ((s[i - 1] | 0x20) == 'c' && (s[i] | 0x20) == 'u')
            return true;
    return false;
}

/* Names of modules: snake case in small letters (cuda_utils, mat_cuda, the word cuda) and classes
 * (CudaNode). Files and directories are called so, too, and those keep their names; what checks a
 * call's result (cuda_error_check) is no module. */
static bool is_module(const char *s, size_t n)
{
    static const char *const results[] = {"check", "err", "status"};
    const char *at = memmem(s, n, "cuda", 4);
    bool class = n > 4 && memcmp(s, "Cuda", 4) == 0;
    bool snake = at && (at == s || at[-1] == '_') && (at + 4 == s + n || at[4] == '_');
    for (size_t k = 0; k < SL_COUNT(results); k++)
        if (memmem(s, n, results[k], strlen(results[k])))
            return false;
    return class || snake;
}

void pass_own_name(struct pass *p, size_t at, size_t n)
{
    const char *s = p->s->p + at;
    if (n < 4 || n > 1000 || !speaks(s, n))
        return;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(4096);
    if (!is_foreign(s, n) && !is_module(s, n) && replaced(s, n, &b) && !b.over)
        source_edit_copy(p->s, at, n, sl_buf_str(&b), b.n, EDIT_NAME, 0);
}
