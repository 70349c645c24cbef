/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels and drivers on both sides of every boundary of the table, Debian's names, and nonsense.
 */
#include "agent/kernel_gate.h"
#include "base/core/mem.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const char plain[] = "#1 SMP PREEMPT_DYNAMIC Mon Jun  1 12:00:00 UTC 2026";
static const char vram[] = "CVE-2026-46229", dkms_cve[] = "CVE-2026-43603",
                  drives[] = "gfx942-driver";

static const struct gate_finding *find(const struct gate *g, const char *id)
{
    for (int i = 0; i < g->n; i++)
        if (sl_streq(g->v[i].id, id))
            return &g->v[i];
    return NULL;
}

static void expect(enum gate_state state, const char *id, const char *release, const char *version,
                   const char *dkms)
{
    struct gate g;
    kernel_gate(release, version, dkms, "gfx942", &g);
    const struct gate_finding *f = find(&g, id);
    assert_non_null(f);
    if (f->state != state)
        fail_msg("%s of %s, %s, dkms \"%s\": %s", id, release, version, dkms, f->detail);
    assert_true(f->detail[0] &&
                (state != GATE_UNKNOWN || strstr(f->detail, "could not be checked")));
}

static void stable_series(void **state)
{
    (void)state;
    static const char *const bad[] = {"6.6.139",   "6.6.9",   "6.12.89", "6.18.31",  "7.0.8",
                                      "7.0.0-rc7", "6.17.99", "6.1.192", "5.15.210", "4.19.0"};
    static const char *const good[] = {"6.6.140", "6.6.1000", "6.12.90", "6.18.32",  "7.0.9",
                                       "7.0.10",  "7.1.0",    "8.0.0",   "7.1.0-rc2"};
    for (size_t i = 0; i < SL_COUNT(bad); i++)
        expect(GATE_VULNERABLE, vram, bad[i], plain, "");
    for (size_t i = 0; i < SL_COUNT(good); i++)
        expect(GATE_OK, vram, good[i], plain, "");
}

static void debian(void **state)
{
    (void)state;
    static const struct {
        enum gate_state state;
        const char *release, *version;
    } rows[] = {
        {GATE_OK, "6.1.0-52-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3 (2026-09-01)"},
        {GATE_OK, "6.1.0-52-cloud-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.193-1 (2026-10-01)"},
        {GATE_OK, "6.1.0-52-amd64", "#1 SMP Debian 6.1.192-10 (2026-10-01)"},
        {GATE_VULNERABLE, "6.1.0-51-amd64", "#1 SMP Debian 6.1.192-2 (2026-08-01)"},
        {GATE_VULNERABLE, "6.1.0-40-amd64", "#1 SMP Debian 6.1.153-1 (2025-09-20)"},
        {GATE_OK, "6.12.95+deb12-amd64", "#1 SMP Debian 6.12.95-1~bpo12+1 (2026-07-05)"},
        {GATE_OK, "6.12.90+deb13-amd64", "#1 SMP Debian 6.12.90-1 (2026-06-05)"},
        {GATE_VULNERABLE, "6.12.89+deb13-amd64", "#1 SMP Debian 6.12.89-4+deb13u1 (2026-05-05)"},
        {GATE_VULNERABLE, "5.10.0-30-amd64", "#1 SMP Debian 5.10.250-1 (2026-05-05)"},
        {GATE_UNKNOWN, "6.1.0-52-amd64", "#1 SMP Debian 6.1.192 (2026-09-01)"},
        {GATE_UNKNOWN, "6.1.0-52-amd64", "#1 SMP Debian 6.12.95-1 (2026-09-01)"},
        {GATE_UNKNOWN, "6.1.0-52-amd64", "#1 SMP Debian "},
        {GATE_UNKNOWN, "6.1.0-52-amd64", "#1 SMP"},
    };
    for (size_t i = 0; i < SL_COUNT(rows); i++)
        expect(rows[i].state, vram, rows[i].release, rows[i].version, "");
}

static void other_distributions(void **state)
{
    (void)state;
    static const char ubuntu[] = "#48-Ubuntu SMP PREEMPT_DYNAMIC Fri Sep 27 14:04:52 UTC 2024";
    expect(GATE_UNKNOWN, vram, "6.8.0-48-generic", ubuntu, "");
    expect(GATE_UNKNOWN, vram, "5.14.0-503.11.1.el9_5.x86_64", plain, "");
    expect(GATE_UNKNOWN, vram, "6.6.100-custom", plain, "");
    expect(GATE_OK, vram, "6.18.44-custom", plain, "");
    expect(GATE_OK, vram, "7.1.0-12-generic", ubuntu, "");
}

static void nonsense(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "linux",
                                        "6",
                                        "6.",
                                        ".6.140",
                                        "6..140",
                                        "-6.6.140",
                                        "six.6.140",
                                        "99999999999.1.1",
                                        "6.99999999999",
                                        "6.6.99999999999",
                                        " 6.6.140"};
    for (size_t i = 0; i < SL_COUNT(texts); i++) {
        expect(GATE_UNKNOWN, vram, texts[i], plain, "");
        expect(GATE_UNKNOWN, drives, texts[i], plain, "");
        if (*texts[i])
            expect(GATE_UNKNOWN, dkms_cve, "7.1.0", plain, texts[i]);
    }
    char longest[4096];
    memset(longest, '7', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    expect(GATE_UNKNOWN, vram, longest, longest, "");
    expect(GATE_UNKNOWN, dkms_cve, "7.1.0", plain, longest);
}

static void dkms(void **state)
{
    (void)state;
    expect(GATE_OK, dkms_cve, "6.8.0-48-generic", plain, "");
    expect(GATE_VULNERABLE, dkms_cve, "6.8.0-48-generic", plain, "31.39");
    expect(GATE_VULNERABLE, dkms_cve, "6.8.0-48-generic", plain, "31.9.9");
    expect(GATE_VULNERABLE, dkms_cve, "6.8.0-48-generic", plain, "30.50");
    expect(GATE_OK, dkms_cve, "6.8.0-48-generic", plain, "31.40");
    expect(GATE_OK, dkms_cve, "6.8.0-48-generic", plain, "31.40.1");
    expect(GATE_OK, dkms_cve, "6.8.0-48-generic", plain, "32.0");
    expect(GATE_UNKNOWN, dkms_cve, "6.8.0-48-generic", plain, "6.14.14");
    /* the kernel's number says nothing about a driver from elsewhere */
    expect(GATE_UNKNOWN, vram, "7.0.9", plain, "31.40");
    expect(GATE_UNKNOWN, vram, "6.6.1", plain, "31.40");
}

static void mi300x_needs_a_driver(void **state)
{
    (void)state;
    static const char bookworm[] = "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3 (2026-09-01)";
    expect(GATE_VULNERABLE, drives, "6.1.0-52-amd64", bookworm, "");
    expect(GATE_OK, drives, "6.1.0-52-amd64", bookworm, "31.40");
    expect(GATE_OK, drives, "6.12.95+deb12-amd64", "#1 SMP Debian 6.12.95-1~bpo12+1 (2026)", "");
    expect(GATE_OK, drives, "6.8.0-48-generic", plain, "");
    expect(GATE_UNKNOWN, drives, "5.14.0-503.11.1.el9_5.x86_64", plain, "");
    struct gate g;
    kernel_gate("6.1.0-52-amd64", bookworm, "", "gfx90a", &g);
    assert_null(find(&g, drives)); /* MI200 is driven */
    assert_int_equal(gate_worst(&g)->state, GATE_OK);
}

static void worst(void **state)
{
    (void)state;
    struct gate g = {0};
    assert_null(gate_worst(&g));
    struct topology none = {0};
    kernel_gate_here(&none, &g);
    assert_int_equal(g.n, 0);
    kernel_gate("6.8.0-48-generic", plain, "30.10", "", &g);
    assert_string_equal(gate_worst(&g)->id, dkms_cve);
    kernel_gate("6.8.0-48-generic", plain, "", "", &g);
    assert_string_equal(gate_worst(&g)->id, vram);
    assert_int_equal(gate_worst(&g)->state, GATE_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stable_series),
                                       cmocka_unit_test(debian),
                                       cmocka_unit_test(other_distributions),
                                       cmocka_unit_test(nonsense),
                                       cmocka_unit_test(dkms),
                                       cmocka_unit_test(mi300x_needs_a_driver),
                                       cmocka_unit_test(worst)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
