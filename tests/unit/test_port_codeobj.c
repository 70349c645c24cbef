/* SPDX-License-Identifier: Apache-2.0
 *
 * What `starport check` reads from a code object, and how it takes damaged ones; the forms of
 * source for the CPU shim; the comparison of two runs.
 */
#include "port/codeobj.h"
#include "port/cpu_form.h"
#include "port/verify.h"
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* One kernel: name "k", LDS 4096, 24 VGPRs of 4 AGPRs, 30 SGPRs, blocks of 256; and a list to skip.
 */
static const unsigned char pack[] =
    "\x82\xae"
    "amdhsa.version\x92\x01\x02\xae"
    "amdhsa.kernels\x91\x88\xa5.name\xa1k\xa5.args\x91\x81\xa5.size\x08"
    "\xb9.group_segment_fixed_size\xcd\x10\x00\xb8.max_flat_workgroup_size\xcd\x01\x00"
    "\xab.vgpr_count\x18\xab.agpr_count\x04\xab.sgpr_count\x1e\xaf.wavefront_size\x40";

static size_t object(unsigned char *o, const unsigned char *meta, size_t n)
{
    Elf64_Ehdr e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                    .e_machine = 224,
                    .e_shoff = sizeof e,
                    .e_shentsize = sizeof(Elf64_Shdr),
                    .e_shnum = 1};
    Elf64_Nhdr h = {7, (Elf64_Word)n, 32};
    Elf64_Shdr s = {
        .sh_type = SHT_NOTE, .sh_offset = sizeof e + sizeof s, .sh_size = sizeof h + 8 + n};
    memcpy(o, &e, sizeof e);
    memcpy(o + sizeof e, &s, sizeof s);
    memcpy(o + s.sh_offset, &h, sizeof h);
    memcpy(o + s.sh_offset + sizeof h, "AMDGPU\0", 8);
    memcpy(o + s.sh_offset + sizeof h + 8, meta, n);
    return s.sh_offset + s.sh_size;
}

static void a_kernels_resources_are_read(void **state)
{
    unsigned char o[1024];
    size_t n = object(o, pack, sizeof pack - 1), kernels;
    struct kernel_info *k;
    struct sl_err err = {0};
    assert_int_equal(codeobj_kernels(o, n, &k, &kernels, &err), 0);
    assert_int_equal(kernels, 1);
    assert_string_equal(k->name, "k");
    assert_int_equal(k->lds_bytes, 4096);
    assert_int_equal(k->vgprs, 24);
    assert_int_equal(k->agprs, 4);
    assert_int_equal(k->sgprs, 30);
    assert_int_equal(k->wave_size, 64);
    assert_int_equal(k->max_block, 256);
    assert_int_equal(k->occupancy,
                     8); /* 16 blocks of 4 waves fill 4 SIMDs with 16: 8 is the limit */
    kernel_infos_free(k, kernels);
}

static void occupancy_names_what_limits_it(void **state)
{
    struct kernel_info k = {.vgprs = 128, .sgprs = 30, .max_block = 256};
    kernel_occupancy(&k);
    assert_int_equal(k.occupancy, 4);
    assert_string_equal(k.limited_by, "VGPR");
    k = (struct kernel_info){.vgprs = 16, .sgprs = 104, .max_block = 256};
    kernel_occupancy(&k);
    assert_int_equal(k.occupancy, 7);
    assert_string_equal(k.limited_by, "SGPR");
    k = (struct kernel_info){.vgprs = 16, .sgprs = 20, .lds_bytes = 32768, .max_block = 256};
    kernel_occupancy(&k); /* two blocks of four waves on four SIMDs */
    assert_int_equal(k.occupancy, 2);
    assert_string_equal(k.limited_by, "LDS");
}

static void damaged_code_objects_are_errors(void **state)
{
    unsigned char o[1024], x[1024];
    size_t n = object(o, pack, sizeof pack - 1), kernels;
    struct kernel_info *k;
    struct sl_err err = {0};
    for (size_t cut = 0; cut < n; cut++) { /* every truncation */
        memcpy(x, o, cut);
        if (codeobj_kernels(x, cut, &k, &kernels, &err) == 0)
            assert_int_equal(kernels, 0);
        kernel_infos_free(k, kernels);
    }
    for (size_t at = 0; at < n; at++)
        for (int b = 0; b < 256; b += 5) { /* every byte changed: no crash, whatever it says */
            memcpy(x, o, n);
            x[at] = (unsigned char)b;
            (void)codeobj_kernels(x, n, &k, &kernels, &err);
            kernel_infos_free(k, kernels);
        }
}

static void forms(const char *in, const char *want)
{
    struct sl_map m = {0};
    SL_AUTO_BUF struct sl_buf b = SL_BUF(1 << 20);
    cpu_form_kernels(in, strlen(in), &m);
    cpu_form(in, strlen(in), &m, &b);
    if (!strstr(sl_buf_str(&b), want))
        fail_msg("\"%s\" is not in:\n%s", want, sl_buf_str(&b));
    size_t lines = 0, lines_out = 0;
    for (const char *c = in; *c; c++)
        lines += *c == '\n';
    for (size_t i = 0; i < b.n; i++)
        lines_out += b.p[i] == '\n';
    assert_int_equal(lines, lines_out);
    sl_map_free(&m);
}

static void shared_declarations_become_references(void **state)
{
    forms("void k() { __shared__ float a[3][4]; }", "typedef float a_starport_type[3][4];");
    forms("void k() { __shared__ int\n  x,\n  *y; }", "typedef int * y_starport_type;");
    forms("void k() { extern __shared__ __align__(16) char s[]; }",
          "char s_starport_type; s_starport_type *const s");
    forms("extern __shared__ int s[];\nvoid k();", "static const starport::dynamic_shared<");
    forms("void k() { static __shared__ typename R<T, 3>::TempStorage t; }",
          "typedef typename R< T, 3>:: TempStorage t_starport_type;");
    forms("#define S __shared__ int q[4]\nvoid k() { S; }", "#define S __shared__ int q[4]");
    forms("void k() { __shared__ int unfinished[", "__shared__ int unfinished[");
}

static void template_launches_are_deduced(void **state)
{
    forms("template <int N> __global__ void __launch_bounds__(64) k(int *p) {}\n"
          "void f() { hipLaunchKernelGGL(HIP_KERNEL_NAME(k<4>), 1, 1, 0, 0, p); }",
          "starport_launch_deduced(HIP_KERNEL_NAME(k<4>)");
    forms("__global__ void k(int *p) {}\nvoid f() { hipLaunchKernelGGL(k, 1, 1, 0, 0, p); }",
          " hipLaunchKernelGGL(k, 1");
}

static unsigned differ(const char *a, const char *b, const char *again)
{
    SL_AUTO_BUF struct sl_buf x = SL_BUF(4096), y = SL_BUF(4096), z = SL_BUF(4096);
    sl_buf_adds(&x, a);
    sl_buf_adds(&y, b);
    sl_buf_adds(&z, again ? again : "");
    return verify_diff_text(&x, &y, again ? &z : NULL, 0, 1e-5);
}

static void numbers_are_compared_with_a_tolerance(void **state)
{
    assert_int_equal(differ("sum 1.000001\n", "sum 1.000002\n", NULL), 0);
    assert_int_equal(differ("ok\nsum 1.0\n", "ok\nsum 1.1\n", NULL), 2);
    assert_int_equal(differ("v1 2\n", "v2 2\n", NULL), 1);
    assert_int_equal(differ("a 1 b\n", "a 1 c\n", NULL), 1);
    assert_int_equal(differ("x\n", "x\ny\n", NULL), 2);
    assert_int_equal(differ("nan -0.5e3\n", "nan -500\n", NULL), 0);
    /* a time that differs from run to run is no difference; what stands beside it is */
    assert_int_equal(differ("took 5 ms\nsum 3\n", "took 7 ms\nsum 3\n", "took 6 ms\nsum 3\n"), 0);
    assert_int_equal(differ("took 5 ms\nsum 3\n", "took 7 ms\nsum 4\n", "took 6 ms\nsum 3\n"), 2);
}

static void copies_are_compared_as_numbers(void **state)
{
    float a[4] = {1, 2, 3, 4}, b[4] = {1, 2.000001f, 3, 5};
    assert_int_equal(verify_diff_bytes((char *)a, (char *)b, 12, 1e-5), 12);
    assert_true(verify_diff_bytes((char *)a, (char *)b, 16, 1e-5) >= 12);
    assert_true(verify_diff_bytes((char *)a, (char *)b, 16, 1e-5) < 16);
    int i[2] = {1000, 7}, j[2] = {1001, 7};
    assert_int_equal(verify_diff_bytes((char *)i, (char *)j, 8, 1e-5), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernels_resources_are_read),
        cmocka_unit_test(occupancy_names_what_limits_it),
        cmocka_unit_test(damaged_code_objects_are_errors),
        cmocka_unit_test(shared_declarations_become_references),
        cmocka_unit_test(template_launches_are_deduced),
        cmocka_unit_test(numbers_are_compared_with_a_tolerance),
        cmocka_unit_test(copies_are_compared_as_numbers),
    };
    return cmocka_run_group_tests_name("port_codeobj", tests, NULL, NULL);
}
