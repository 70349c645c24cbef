/* SPDX-License-Identifier: Apache-2.0
 *
 * check.h: `starport check TREE`: compiles a ported copy of a tree for AMD targets with Debian's
 * clang-19 (or a ROCm installation's), with no GPU and no ROCm needed, and reports errors at the
 * user's own lines and the resources of every kernel.
 *
 * Each translation unit is compiled once per target (to a code object, from which the resources are
 * read) and once for the host. CUDA sources are translated first; HIP sources are left as they are.
 * Headers of libraries that are not installed come from declarations of our own (see
 * check_headers.h), which is enough to compile, not to link.
 */
#ifndef PORT_CHECK_H
#define PORT_CHECK_H
#include "base/core/cmd.h"
#include "port/cc.h"
#include "port/codeobj.h"
#include "port/stage.h"

enum { CHECK_ARCH_MAX = 8 };

struct check_opts {
    const char *arch; /* "gfx90a,gfx942" */
    const char *rocm_path, *shim_dir, *output, *objects, *standard, *opt;
    struct cmd_list includes, defines, exclude_dirs;
    bool no_fix, warnings, keep, no_host, gpu_rdc;
    int64_t jobs, timeout_s;
};

struct check_diag {
    char *file, *text; /* file NULL: the compiler named none */
    unsigned line, col;
    bool is_error;
    unsigned targets; /* bit per target; bit CHECK_ARCH_MAX: host */
};
struct check_kernel {
    struct kernel_info info;
    char *pretty; /* demangled */
    int arch;
    const char *unit;
};

struct check {
    const struct check_opts *opts;
    struct stage stage;
    char *compiler, *shim, *stubs, *headers, *device_libs;
    char *arch_list; /* owns arch[] */
    const char *arch[CHECK_ARCH_MAX];
    int n_arch;
    struct check_diag *diags;
    size_t n_diags, cap_diags;
    struct check_kernel *kernels;
    size_t n_kernels, cap_kernels;
    size_t units, units_ok, units_skipped;
};

/* clang, lld, device libraries: found, or SL_UNAVAILABLE names the Debian packages. */
int check_tools(struct check *c, struct sl_err *err);
/* Compiles everything; diagnostics and kernels are in c. */
int check_compile(struct check *c, struct sl_err *err);
/* The compiler's stderr of one job -> diags; returns how many errors and warnings it held. */
size_t check_diags_read(struct check *c, const char *p, size_t n, unsigned target_bit);
void check_free(struct check *c);

extern const struct cmd_opt check_cmd_opts[];
extern const char check_details[];
int check_main(const void *globals, const void *opts, int argc, char **argv);
#endif
