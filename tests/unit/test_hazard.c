/* SPDX-License-Identifier: Apache-2.0
 * test_hazard.c: every source rule finds its example and leaves its near miss alone; fixes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "port/build_files.h"
#include "port/hazard.h"
#include "port/report.h"

static const char *const names[] = {"t.cu", "Makefile", "CMakeLists.txt", "setup.py", "train.py"};

static void scan_as(enum hazard_input input, const char *text, const struct hazard_opts *o,
                    struct findings *f, struct sl_buf *out)
{
    struct source s;
    source_from(&s, names[input], text, strlen(text));
    if (input == HAZARD_IN_SOURCE)
        hazard_scan(&s, o, f);
    else
        build_scan(build_kind_of(names[input]), &s, o, f);
    if (out) {
        source_settle(&s);
        source_render(&s, out);
    }
    source_free(&s);
}

static void scan(const char *text, const struct hazard_opts *o, struct findings *f,
                 struct sl_buf *out)
{
    scan_as(HAZARD_IN_SOURCE, text, o, f, out);
}

static size_t count(const struct findings *f, enum hazard_no no)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++)
        n += f->v[i].rule->no == no;
    return n;
}

static size_t found(const char *text, enum hazard_no no)
{
    struct findings f = {0};
    struct hazard_opts o = HAZARD_OPTS_DEFAULT;
    o.targets = HAZARD_ALL;
    if (no == HZ_V1 || no == HZ_V2)
        o.rocm = 50700;
    scan_as(hazard_rule(no)->input, text, &o, &f, NULL);
    size_t n = count(&f, no);
    findings_free(&f);
    return n;
}

static void examples_are_found_and_near_misses_are_not(void **state)
{
    int wrong = 0;
    for (size_t i = 0; i < HZ_COUNT; i++) {
        const struct hazard_rule *r = hazard_rule((enum hazard_no)i);
        if (!found(r->bad, r->no) && ++wrong)
            print_error("%s (%s): the example is not found\n%s\n", r->id, r->row, r->bad);
        if (found(r->good, r->no) && ++wrong)
            print_error("%s (%s): the near miss is found\n%s\n", r->id, r->row, r->good);
    }
    assert_int_equal(wrong, 0);
}

static void the_table_is_complete_and_its_texts_are_there(void **state)
{
    for (size_t i = 0; i < HZ_COUNT; i++) {
        const struct hazard_rule *r = hazard_rule((enum hazard_no)i);
        assert_int_equal(r->no, i);
        assert_true(strlen(r->id) == 6 && sl_starts(r->id, "SP"));
        assert_ptr_equal(hazard_rule_by_id(r->id), r);
        assert_ptr_equal(hazard_rule_by_id(r->row), r);
        for (int l = 0; l < HAZARD_LANGS; l++)
            assert_true(r->title[l] && r->title[l][0] && r->advice[l] && r->advice[l][0]);
        assert_true(r->source[0] && r->bad[0] && r->good[0] && r->targets);
    }
    assert_null(hazard_rule_by_id("SP9999"));
}

/* The port of `text` with its fixes. */
static void fixed_is(enum hazard_input input, const char *text, const char *want, uint32_t rocm,
                     const char *no_fix)
{
    struct hazard_opts o = HAZARD_OPTS_DEFAULT;
    if (rocm)
        o.rocm = rocm;
    if (no_fix)
        o.no_fix[hazard_rule_by_id(no_fix)->no] = true;
    struct findings f = {0}, again = {0};
    SL_AUTO_BUF struct sl_buf once = SL_BUF(1 << 20), twice = SL_BUF(1 << 20);
    scan_as(input, text, &o, &f, &once);
    assert_string_equal(sl_buf_str(&once), want);
    scan_as(input, sl_buf_str(&once), &o, &again, &twice);
    assert_string_equal(sl_buf_str(&twice), want); /* a second run changes nothing */
    findings_free(&f);
    findings_free(&again);
}

#define K(body) "__global__ void k(int *p, int v, int o) {\n" body "}\n"

static void a_full_mask_becomes_the_active_lanes(void **state)
{
    const char *const masks[] = {"0xffffffff", "0xFFFFFFFFu", "-1", "~0", "~0u", "(0xffffffff)"};
    for (size_t i = 0; i < SL_COUNT(masks); i++) {
        char text[200];
        snprintf(text, sizeof(text), K("  p[0] = __shfl_sync(%s, v, 0, 32);\n"), masks[i]);
        fixed_is(HAZARD_IN_SOURCE, text, K("  p[0] = __shfl_sync(__activemask(), v, 0, 32);\n"), 0,
                 NULL);
    }
    fixed_is(HAZARD_IN_SOURCE,
             "#define FULL 0xffffffff\n" K("  p[0] = __shfl_sync(FULL, v, 0, 32);\n"),
             "#define FULL 0xffffffff\n" K("  p[0] = __shfl_sync(__activemask(), v, 0, 32);\n"), 0,
             NULL);
    /* 64 bits already: nothing to do */
    fixed_is(HAZARD_IN_SOURCE, K("  p[0] = __shfl_sync(0xffffffffffffffffull, v, 0, 32);\n"),
             K("  p[0] = __shfl_sync(0xffffffffffffffffull, v, 0, 32);\n"), 0, NULL);
}

static void code_for_32_lanes_keeps_its_half(void **state)
{
    fixed_is(
        HAZARD_IN_SOURCE, K("  unsigned b = __ballot_sync(0xffffffff, v);\n  p[0] = __popc(b);\n"),
        K("  unsigned b = ((unsigned)(__ballot(v) >> (__lane_id() & 32)));\n  p[0] = __popc(b);\n"),
        0, NULL);
    fixed_is(HAZARD_IN_SOURCE, K("  unsigned m = p[1];\n  p[0] = __any_sync(m, v > o);\n"),
             K("  unsigned m = p[1];\n  p[0] = (((unsigned)(__ballot(v > o) >> (__lane_id() & "
               "32))) & (m) != 0);\n"),
             0, NULL);
}

static void generic_code_gets_wide_masks(void **state)
{
    fixed_is(
        HAZARD_IN_SOURCE,
        K("  unsigned b = __ballot_sync(0xffffffff, v);\n  int l = o % warpSize;\n"
          "  p[0] = __popc(b) + __ffs(b);\n  p[1] = __popc(b & ((1u << l) - 1));\n"),
        K("  unsigned long long b = __ballot_sync(__activemask(), v);\n  int l = o % warpSize;\n"
          "  p[0] = __popcll(b) + __ffsll(b);\n  p[1] = __popcll(b & ((1ull << l) - 1));\n"),
        0, NULL);
}

static void launch_bounds_are_converted_once(void **state)
{
    fixed_is(HAZARD_IN_SOURCE, "__global__ void __launch_bounds__(256, 4) k(int *p) {}\n",
             "__global__ void __launch_bounds__(256, 4 /* wavefronts per execution unit */) k(int "
             "*p) {}\n",
             0, NULL);
    fixed_is(HAZARD_IN_SOURCE, "__global__ void __launch_bounds__(128, 3) k(int *p) {}\n",
             "__global__ void __launch_bounds__(128, 2 /* wavefronts per execution unit */) k(int "
             "*p) {}\n",
             0, NULL);
    fixed_is(
        HAZARD_IN_SOURCE,
        "#include <hip/hip_runtime.h>\n__global__ void __launch_bounds__(128, 3) k(int *p) {}\n",
        "#include <hip/hip_runtime.h>\n__global__ void __launch_bounds__(128, 3) k(int *p) {}\n", 0,
        NULL);
}

static void arch_guards_include_amd(void **state)
{
    fixed_is(HAZARD_IN_SOURCE, "#ifdef __CUDA_ARCH__\nint d;\n#endif\n",
             "#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)\nint d;\n#endif\n", 0,
             NULL);
    fixed_is(
        HAZARD_IN_SOURCE, "#ifndef __CUDA_ARCH__ // host\nint d;\n#endif\n",
        "#if !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__) // host\nint d;\n#endif\n",
        0, NULL);
    fixed_is(
        HAZARD_IN_SOURCE, "#if defined(__CUDA_ARCH__) && X\nint d;\n#endif\n",
        "#if (defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)) && X\nint d;\n#endif\n", 0,
        NULL);
    fixed_is(HAZARD_IN_SOURCE, "#if __CUDA_ARCH__ >= 700\nint d;\n#endif\n",
             "#if __CUDA_ARCH__ >= 700\nint d;\n#endif\n", 0, NULL);
}

static void rocm_5_7_gets_the_older_spelling(void **state)
{
    fixed_is(HAZARD_IN_SOURCE, K("  p[0] = __shfl_xor_sync(0xffffffff, v, 1);\n"),
             K("  p[0] = __shfl_xor(v, 1);\n"), 50700, NULL);
    fixed_is(HAZARD_IN_SOURCE, K("  p[0] = __shfl_sync(~0ULL, v, 1, 32);\n"),
             K("  p[0] = __shfl(v, 1, 32);\n"), 50700, NULL);
    fixed_is(HAZARD_IN_SOURCE, K("  __syncwarp();\n"),
             K("  (__builtin_amdgcn_fence(__ATOMIC_RELEASE, \"wavefront\"), "
               "__builtin_amdgcn_wave_barrier(), "
               "__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, \"wavefront\"));\n"),
             50700, NULL);
}

static void a_fix_can_be_turned_off(void **state)
{
    const char *text = K("  p[0] = __shfl_sync(0xffffffff, v, 0);\n");
    fixed_is(HAZARD_IN_SOURCE, text, K("  p[0] = __shfl_sync(0xffffffff, v, 0, 32);\n"), 0,
             "SP0101");
    fixed_is(HAZARD_IN_SOURCE, text, K("  p[0] = __shfl_sync(__activemask(), v, 0);\n"), 0,
             "SP0105");
    const char *bounds = "__global__ void __launch_bounds__(256, 4) k(int *p) {}\n";
    fixed_is(HAZARD_IN_SOURCE, bounds, bounds, 0, "SP0402");
    fixed_is(HAZARD_IN_SOURCE, K("  __syncwarp(0xffffffff);\n"), K("  __syncwarp(0xffffffff);\n"),
             0, "SP0101");
}

static void a_function_of_the_programs_own_is_left_alone(void **state)
{
    const char *text = "#define __shfl_up(v, d) mine(v, d)\n" K("  p[0] = __shfl_up(v, 1);\n");
    fixed_is(HAZARD_IN_SOURCE, text, text, 0, NULL);
}

static void build_files_are_ported(void **state)
{
    fixed_is(HAZARD_IN_MAKE,
             "CC = nvcc # nvcc\nCFLAGS = -O3 -arch=sm_80 -Xcompiler -fopenmp,-Wall\n\n\t$(CC) -dc "
             "x.cu -lcublas\n",
             "CC = hipcc # nvcc\nCFLAGS = -O3 --offload-arch=gfx90a --offload-arch=gfx942 -fopenmp "
             "-Wall\n\n"
             "\t$(CC) -fgpu-rdc -c x.cu -lhipblas\n",
             0, NULL);
    fixed_is(HAZARD_IN_CMAKE,
             "cmake_minimum_required(VERSION 3.10)\nproject(x LANGUAGES CXX CUDA)\n"
             "find_package(CUDAToolkit 11 REQUIRED)\nset(CMAKE_CUDA_ARCHITECTURES 70 80)\n"
             "# CUDA stays here\nadd_executable(x main.cpp k.cu)\n"
             "target_link_libraries(x PRIVATE CUDA::cublas)\n",
             "cmake_minimum_required(VERSION 3.21)\nproject(x LANGUAGES CXX HIP)\n"
             "find_package(hip REQUIRED)\nset(CMAKE_HIP_ARCHITECTURES \"gfx90a;gfx942\")\n"
             "# CUDA stays here\nset_source_files_properties(k.cu PROPERTIES LANGUAGE HIP)\n"
             "add_executable(x main.cpp k.cu)\ntarget_link_libraries(x PRIVATE roc::hipblas)\n",
             0, NULL);
    fixed_is(HAZARD_IN_SETUP,
             "ext = CUDAExtension('x', ['x.cu'], libraries=['cublas', 'm'],\n"
             "  extra_compile_args={'nvcc': ['-O3', '--extended-lambda', '--use_fast_math']})\n",
             "ext = CUDAExtension('x', ['x.cu'], libraries=['hipblas', 'm'],\n"
             "  extra_compile_args={'nvcc': ['-O3', '-ffast-math']})\n",
             0, NULL);
}

static void every_flag_has_a_reason_in_both_languages(void **state)
{
    size_t n = 0, value;
    for (const struct flag_rule *r; (r = build_flag_at(n)); n++) {
        assert_true(r->reason[HAZARD_EN][0] && r->reason[HAZARD_ZH][0]);
        assert_ptr_equal(build_flag(r->flag, strlen(r->flag), &value), r);
    }
    assert_true(n > 60);
    assert_null(build_flag("-O3", 3, &value));
    assert_null(build_flag("-I/opt/CUDA/-gencode", 20, &value));
}

static void any_bytes_become_valid_json_and_escaped_html(void **state)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(1000);
    report_json_string(&b, "a\"\\\n\x01\xff\xe4\xb8\xad\xe4", 10);
    assert_string_equal(sl_buf_str(&b),
                        "\"a\\\"\\\\\\n\\u0001\xef\xbf\xbd\xe4\xb8\xad\xef\xbf\xbd\"");
    sl_buf_clear(&b);
    report_html_text(&b, "<b a='x'>&\"\x01", 12);
    assert_string_equal(sl_buf_str(&b), "&lt;b a=&#39;x&#39;&gt;&amp;&quot;\xef\xbf\xbd");
}

static void targets_select_rules(void **state)
{
    const char *text = "__global__ void k(float *p) { __shared__ float t[160][128]; t[0][0] = 1; "
                       "p[0] = t[0][1]; }\n";
    struct hazard_opts o = HAZARD_OPTS_DEFAULT;
    struct findings f = {0};
    o.targets = hazard_targets_parse("gfx950");
    scan(text, &o, &f, NULL);
    assert_int_equal(count(&f, HZ_S1), 0);
    o.targets = hazard_targets_parse("gfx950,gfx942");
    scan(text, &o, &f, NULL);
    assert_int_equal(count(&f, HZ_S1), 1);
    findings_free(&f);
    assert_int_equal(hazard_targets_parse("gfx1100"), 0);
    assert_int_equal(hazard_targets_parse(""), 0);
}

static void code_that_knows_64_lanes_is_not_cut_to_32(void **state)
{
    const char *hip = "#include <hip/hip_runtime.h>\n" K(
        "  p[0] = __shfl(v, 0) + __popc((unsigned)__ballot(v));\n");
    fixed_is(HAZARD_IN_SOURCE, hip, hip, 0, NULL);
    const char *wide = "#define WARP_SIZE 64\n" K("  p[0] = __shfl(v, 0) + __any(v);\n");
    fixed_is(HAZARD_IN_SOURCE, wide, wide, 0, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_complete_and_its_texts_are_there),
        cmocka_unit_test(examples_are_found_and_near_misses_are_not),
        cmocka_unit_test(a_full_mask_becomes_the_active_lanes),
        cmocka_unit_test(code_for_32_lanes_keeps_its_half),
        cmocka_unit_test(generic_code_gets_wide_masks),
        cmocka_unit_test(launch_bounds_are_converted_once),
        cmocka_unit_test(arch_guards_include_amd),
        cmocka_unit_test(rocm_5_7_gets_the_older_spelling),
        cmocka_unit_test(a_fix_can_be_turned_off),
        cmocka_unit_test(a_function_of_the_programs_own_is_left_alone),
        cmocka_unit_test(code_that_knows_64_lanes_is_not_cut_to_32),
        cmocka_unit_test(build_files_are_ported),
        cmocka_unit_test(every_flag_has_a_reason_in_both_languages),
        cmocka_unit_test(any_bytes_become_valid_json_and_escaped_html),
        cmocka_unit_test(targets_select_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
