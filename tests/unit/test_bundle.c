/* SPDX-License-Identifier: Apache-2.0
 *
 * The container's configuration, member by member: what the tenant may and may not have.
 */
#include "agent/bundle.h"
#include "base/core/mem.h"
#include "base/io/json.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct sl_buf text;
static struct jr_doc *doc;
static const struct jr_val *root;

static const char *const hostile[] = {
    "sh", "-c", "\",\"hooks\":{\"prestart\":[{\"path\":\"/bin/sh\"}]},\"x\":\""};

static int setup(void **state)
{
    static struct lease_spec spec;
    static struct dev_set devices;
    struct sl_err err = {0};
    spec = (struct lease_spec){.lease = "lea_06f0000000000000000000000a",
                               .hostname = "first",
                               .slot = 3,
                               .cpus = 2,
                               .memory_bytes = 1 << 30,
                               .shared_quota_bytes = 1 << 30,
                               .command = {(const char **)hostile, 3}};
    devices.n = 2;
    devices.v[0].major = 240, devices.v[0].minor = 0;
    devices.v[1].major = 240, devices.v[1].minor = 129;
    struct bundle b = {&spec, &devices, "/run/x/leases/lea", 1024, 65536};
    text = SL_BUF(1 << 20);
    bundle_json(&b, &text);
    return jr_open(sl_buf_str(&text), text.n, &doc, &err) < 0 ? -1 : ((root = jr_root(doc)), 0);
}

static int teardown(void **state)
{
    jr_close(doc);
    sl_buf_free(&text);
    return 0;
}

static bool listed(const struct jr_val *list, const char *what)
{
    for (size_t i = 0; i < jr_len(list); i++)
        if (sl_streq(jr_text(jr_at(list, i), ""), what))
            return true;
    return false;
}

static void the_command_stays_an_argument_of_the_agents_init(void **state)
{
    const struct jr_val *args = jr_get(jr_get(root, "process"), "args");
    assert_null(jr_get(root, "hooks"));
    assert_null(jr_get(root, "annotations"));
    assert_int_equal(jr_len(args), 4);
    assert_string_equal(jr_text(jr_at(args, 0), ""), "/.starlease/init");
    assert_string_equal(jr_text(jr_at(args, 3), ""), hostile[2]);
}

static void no_privilege_can_be_gained(void **state)
{
    const struct jr_val *p = jr_get(root, "process"), *caps = jr_get(p, "capabilities");
    static const char *const sets[] = {"bounding", "effective", "permitted"};
    static const char *const never[] = {"CAP_SYS_ADMIN", "CAP_MKNOD",      "CAP_NET_ADMIN",
                                        "CAP_NET_RAW",   "CAP_SYS_PTRACE", "CAP_SYS_RAWIO",
                                        "CAP_BPF",       "CAP_SYS_MODULE", "CAP_SYS_BOOT",
                                        "CAP_SYS_TIME",  "CAP_PERFMON",    "CAP_DAC_READ_SEARCH"};
    assert_true(jr_true(jr_get(p, "noNewPrivileges")));
    for (size_t i = 0; i < SL_COUNT(sets); i++) {
        assert_true(jr_len(jr_get(caps, sets[i])) > 0);
        for (size_t k = 0; k < SL_COUNT(never); k++)
            assert_false(listed(jr_get(caps, sets[i]), never[k]));
    }
    assert_null(jr_get(caps, "ambient"));
    assert_null(jr_get(caps, "inheritable"));
}

static void only_standard_nodes_and_the_leased_cards_can_be_opened(void **state)
{
    const struct jr_val *d = jr_get(jr_get(jr_get(root, "linux"), "resources"), "devices"),
                        *r = jr_at(d, 0);
    assert_false(jr_true(jr_get(r, "allow")));
    assert_string_equal(jr_text(jr_get(r, "access"), ""), "rwm");
    assert_null(jr_get(r, "major")); /* everything is denied first */
    int gpus = 0;
    for (size_t i = 1; i < jr_len(d); i++) {
        r = jr_at(d, i);
        int64_t major = jr_i64(jr_get(r, "major"), -1), minor = jr_i64(jr_get(r, "minor"), -1);
        assert_true(jr_true(jr_get(r, "allow")));
        assert_string_equal(jr_text(jr_get(r, "type"), ""), "c");
        assert_string_equal(jr_text(jr_get(r, "access"), ""), "rw"); /* m would allow mknod */
        if (major == 240) {
            assert_true(minor == 0 || minor == 129);
            gpus++;
        } else {
            assert_true(major == 1 || major == 5 || major == 136);
            assert_true(major == 136 || minor >= 0);
        }
    }
    assert_int_equal(gpus, 2);
}

static void every_namespace_is_its_own_and_ids_are_mapped(void **state)
{
    const struct jr_val *l = jr_get(root, "linux"), *ns = jr_get(l, "namespaces");
    static const char *const want[] = {"pid", "network", "ipc", "uts", "mount", "user", "cgroup"};
    for (size_t i = 0; i < SL_COUNT(want); i++) {
        bool found = false;
        for (size_t k = 0; k < jr_len(ns); k++)
            if (sl_streq(jr_text(jr_get(jr_at(ns, k), "type"), ""), want[i])) {
                assert_null(jr_get(jr_at(ns, k), "path"));
                found = true;
            }
        assert_true(found);
    }
    static const char *const maps[] = {"uidMappings", "gidMappings"};
    for (size_t i = 0; i < SL_COUNT(maps); i++) {
        const struct jr_val *m = jr_at(jr_get(l, maps[i]), 0);
        assert_int_equal(jr_len(jr_get(l, maps[i])), 1);
        assert_int_equal(jr_i64(jr_get(m, "containerID"), -1), 0);
        assert_int_equal(jr_i64(jr_get(m, "hostID"), -1), 1048576 + 3 * 65536);
        assert_int_equal(jr_i64(jr_get(m, "size"), -1), 65536);
    }
}

static void what_tells_about_the_host_is_masked_and_limits_are_set(void **state)
{
    const struct jr_val *l = jr_get(root, "linux"), *r = jr_get(l, "resources");
    static const char *const masked[] = {"/proc/kcore", "/proc/keys", "/proc/timer_list",
                                         "/sys/firmware"};
    static const char *const readonly[] = {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq",
                                           "/proc/bus"};
    for (size_t i = 0; i < SL_COUNT(masked); i++)
        assert_true(listed(jr_get(l, "maskedPaths"), masked[i]));
    for (size_t i = 0; i < SL_COUNT(readonly); i++)
        assert_true(listed(jr_get(l, "readonlyPaths"), readonly[i]));
    assert_int_equal(jr_i64(jr_get(jr_get(r, "memory"), "limit"), 0), 1 << 30);
    assert_int_equal(jr_i64(jr_get(jr_get(r, "cpu"), "quota"), 0),
                     2 * jr_i64(jr_get(jr_get(r, "cpu"), "period"), 0));
    assert_true(jr_i64(jr_get(jr_get(r, "pids"), "limit"), 0) > 0);
    assert_string_equal(jr_text(jr_get(jr_get(l, "seccomp"), "defaultAction"), ""),
                        "SCMP_ACT_ERRNO");
    assert_string_equal(jr_text(jr_get(l, "cgroupsPath"), ""),
                        "/starlease/lea_06f0000000000000000000000a");
}

static void mounts_carry_no_devices_and_no_setuid(void **state)
{
    const struct jr_val *m = jr_get(root, "mounts");
    assert_true(jr_len(m) > 8);
    for (size_t i = 0; i < jr_len(m); i++) {
        const struct jr_val *o = jr_get(jr_at(m, i), "options");
        const char *to = jr_text(jr_get(jr_at(m, i), "destination"), "");
        assert_true(listed(o, "nosuid"));
        if (!sl_streq(to, "/dev") && !sl_streq(to, "/dev/pts"))
            assert_true(listed(o, "nodev"));
        if (sl_streq(to, "/sys") || sl_starts(to, "/.starlease") || sl_streq(to, "/root/.ssh"))
            assert_true(listed(o, "ro"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_command_stays_an_argument_of_the_agents_init),
        cmocka_unit_test(no_privilege_can_be_gained),
        cmocka_unit_test(only_standard_nodes_and_the_leased_cards_can_be_opened),
        cmocka_unit_test(every_namespace_is_its_own_and_ids_are_mapped),
        cmocka_unit_test(what_tells_about_the_host_is_masked_and_limits_are_set),
        cmocka_unit_test(mounts_carry_no_devices_and_no_setuid),
    };
    return cmocka_run_group_tests_name("bundle", tests, setup, teardown);
}
