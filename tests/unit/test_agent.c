/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/use.h"
#include "agent/agent.h"
#include "agent/bundle.h"
#include "agent/guest.h"
#include "agent/metadata.h"
#include "agent/options.h"
#include "agent/probe_amd.h"
#include "agent/spec.h"
#include "agent/state.h"
#include "agent/unpack.h"
#include <archive.h>
#include <archive_entry.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY                                                                                        \
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKJsal1cX3lpl59xFFSBoCrgdxtbgG1Uo28YSyIUukob me@host"
#define SPEC(extra)                                                                                \
    "{\"op\":\"lease.start\",\"lease\":\"lea_1\",\"epoch\":3,\"account\":\"acc_1\","               \
    "\"hostname\":\"inst-1\",\"image\":\"debian\",\"volume\":{\"id\":\"vol_1\","                   \
    "\"size_bytes\":1073741824},\"cards\":[0,3],\"slot\":7,\"host_port\":22007,"                   \
    "\"ssh_keys\":[\"" KEY "\"],\"command\":[\"sh\",\"-c\",\"echo \\\"quoted\\\"\"],"              \
    "\"report_url\":\"http://127.0.0.1:1/r\",\"token\":\"slt_1\",\"nonce\":\"n\","                 \
    "\"heartbeat_s\":10,\"funded_until_us\":0,\"cpus\":4,\"memory_bytes\":1073741824,"             \
    "\"shared_quota_bytes\":1073741824" extra "}"

static void properties_are_read_strictly(void **state)
{
    struct kfd_properties p;
    struct sl_err err = {0};
    static const char good[] = "simd_count 1216\nunique_id 18446744073709551615\nnew_name 5\n"
                               "drm_render_minor 128\n";
    assert_int_equal(kfd_properties_parse(good, sizeof good - 1, &p, &err), 0);
    assert_int_equal(p.simd_count, 1216);
    assert_true(p.unique_id == UINT64_MAX && p.has_minor);
    static const char *const bad[] = {"simd_count -1\n",
                                      "simd_count\n",
                                      "simd_count 1 2\n",
                                      "simd_count 18446744073709551616\n",
                                      " 5\n",
                                      "a 0x10\n"};
    for (size_t i = 0; i < SL_COUNT(bad); i++)
        assert_int_equal(kfd_properties_parse(bad[i], strlen(bad[i]), &p, &err), -1);
    assert_int_equal(err.code, SL_INVALID);
}

static void gfx_targets_have_their_names(void **state)
{
    char out[16];
    assert_string_equal(gfx_name(90402, out), "gfx942");
    assert_string_equal(gfx_name(90010, out), "gfx90a");
    assert_string_equal(gfx_name(110001, out), "gfx1101");
    assert_string_equal(gfx_name(0, out), "");
}

static void a_lease_order_is_kept_as_it_came(void **state)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct lease_spec s, back;
    struct sl_err err = {0};
    char dir[] = "/tmp/starlease-spec-XXXXXX";
    assert_int_equal(spec_parse(SPEC(""), strlen(SPEC("")), &s, &arena, &err), 0);
    assert_int_equal(s.cards_n, 2);
    assert_int_equal(s.cards[1], 3);
    assert_string_equal(s.command.v[2], "echo \"quoted\"");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(spec_write(&s, dir, &err), 0);
    assert_int_equal(spec_read(dir, &back, &arena, &err), 0);
    assert_string_equal(back.command.v[2], s.command.v[2]);
    assert_string_equal(back.ssh_keys.v[0], KEY);
    assert_int_equal(back.memory_bytes, s.memory_bytes);
    char path[PATH_MAX];
    struct stat st;
    assert_int_equal(stat(agent_path(path, "%s/spec.json", dir), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600); /* it holds the lease's token */
    unlink(path);
    rmdir(dir);
}

static void a_lease_order_with_an_unknown_field_is_refused(void **state)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    struct lease_spec s;
    struct sl_err err = {0};
    assert_int_equal(
        spec_parse(SPEC(",\"hooks\":[]"), strlen(SPEC(",\"hooks\":[]")), &s, &arena, &err), -1);
    assert_string_equal(err.field, "hooks");
}

static void keys_with_options_are_refused(void **state)
{
    struct sl_err err = {0};
    assert_int_equal(ssh_key_check(KEY, &err), 0);
    static const char *const bad[] = {
        "command=\"sh\" " KEY,
        "ssh-ed25519",
        "ssh-ed25519 ",
        "ssh-ed25519 !!!!",
        "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIKJsal1cX3lpl59xFFSBoCrgdxtbgG1Uo28YSyIUukob",
        "ssh-dss AAAAB3NzaC1kc3M=",
        KEY "\nssh-ed25519 AAAA",
        ""};
    for (size_t i = 0; i < SL_COUNT(bad); i++)
        assert_int_equal(ssh_key_check(bad[i], &err), -1);
}

static const struct jr_val *at(const struct jr_doc *doc, const char *a, const char *b,
                               const char *c)
{
    const struct jr_val *v = jr_get(jr_root(doc), a);
    v = b ? jr_get(v, b) : v;
    return c ? jr_get(v, c) : v;
}

static bool has(const struct jr_val *list, const char *text)
{
    for (size_t i = 0; i < jr_len(list); i++)
        if (sl_streq(jr_text(jr_at(list, i), ""), text))
            return true;
    return false;
}

static struct jr_doc *bundle_of(const struct dev_set *devices)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    SL_AUTO_BUF struct sl_buf out = SL_BUF(1 << 20);
    struct lease_spec s;
    struct sl_err err = {0};
    struct jr_doc *doc;
    assert_int_equal(spec_parse(SPEC(""), strlen(SPEC("")), &s, &arena, &err), 0);
    struct bundle b = {&s, devices, "/run/starlease/leases/lea_1", 20000, 8 << 20};
    bundle_json(&b, &out);
    assert_false(out.over);
    assert_int_equal(jr_open(sl_buf_str(&out), out.n, &doc, &err), 0);
    return doc;
}

static void a_tenant_gets_no_dangerous_capability(void **state)
{
    static const char *const dangerous[] = {
        "CAP_SYS_ADMIN", "CAP_MKNOD",   "CAP_NET_RAW",    "CAP_NET_ADMIN", "CAP_SYS_PTRACE",
        "CAP_BPF",       "CAP_PERFMON", "CAP_SYS_MODULE", "CAP_SYS_RAWIO", "CAP_DAC_READ_SEARCH"};
    static const char *const sets[] = {"bounding", "effective", "permitted"};
    SL_AUTO_FREE struct dev_set *none = sl_alloc(sizeof *none);
    JR_AUTO_DOC struct jr_doc *doc = bundle_of(none);
    const struct jr_val *caps = at(doc, "process", "capabilities", NULL);
    for (size_t i = 0; i < SL_COUNT(dangerous); i++)
        for (size_t k = 0; k < SL_COUNT(sets); k++)
            assert_false(has(jr_get(caps, sets[k]), dangerous[i]));
    assert_true(has(jr_get(caps, "bounding"), "CAP_CHOWN"));
    assert_int_equal(jr_len(jr_get(caps, "bounding")), 12);
    assert_null(jr_get(caps, "ambient"));
    assert_null(jr_get(caps, "inheritable"));
    assert_true(jr_true(at(doc, "process", "noNewPrivileges", NULL)));
}

static void a_tenant_has_namespaces_of_his_own_and_mapped_ids(void **state)
{
    static const char *const spaces[] = {"pid", "network", "ipc", "uts", "mount", "user", "cgroup"};
    SL_AUTO_FREE struct dev_set *none = sl_alloc(sizeof *none);
    JR_AUTO_DOC struct jr_doc *doc = bundle_of(none);
    const struct jr_val *list = at(doc, "linux", "namespaces", NULL);
    assert_int_equal(jr_len(list), SL_COUNT(spaces));
    for (size_t i = 0; i < SL_COUNT(spaces); i++) {
        assert_string_equal(jr_text(jr_get(jr_at(list, i), "type"), ""), spaces[i]);
        assert_null(jr_get(jr_at(list, i), "path")); /* none is the host's */
    }
    static const char *const maps[] = {"uidMappings", "gidMappings"};
    for (int i = 0; i < 2; i++) {
        const struct jr_val *m = at(doc, "linux", maps[i], NULL);
        assert_int_equal(jr_len(m), 1);
        assert_int_equal(jr_i64(jr_get(jr_at(m, 0), "hostID"), 0), 1048576 + 7 * 65536);
        assert_int_equal(jr_i64(jr_get(jr_at(m, 0), "size"), 0), 65536);
    }
    assert_null(jr_get(jr_root(doc), "hooks"));
    assert_null(jr_get(jr_root(doc), "annotations"));
}

static void devices_are_denied_but_for_the_leased(void **state)
{
    SL_AUTO_FREE struct dev_set *set = sl_alloc(sizeof *set);
    set->v[set->n++] = (struct dev_node){"kfd", 240, 0};
    set->v[set->n++] = (struct dev_node){"dri/renderD136", 240, 136};
    JR_AUTO_DOC struct jr_doc *doc = bundle_of(set);
    const struct jr_val *rules = at(doc, "linux", "resources", "devices");
    const struct jr_val *first = jr_at(rules, 0);
    assert_false(jr_true(jr_get(first, "allow")));
    assert_string_equal(jr_text(jr_get(first, "access"), ""), "rwm");
    assert_null(jr_get(first, "type")); /* all kinds, all numbers */
    int gpus = 0;
    for (size_t i = 1; i < jr_len(rules); i++) {
        const struct jr_val *r = jr_at(rules, i);
        int64_t major = jr_i64(jr_get(r, "major"), -1), minor = jr_i64(jr_get(r, "minor"), -1);
        assert_true(jr_true(jr_get(r, "allow")));
        assert_string_equal(jr_text(jr_get(r, "type"), ""), "c");
        assert_string_equal(jr_text(jr_get(r, "access"), ""), "rw"); /* never mknod */
        assert_true(major == 1 || major == 5 || major == 136 || major == 240);
        assert_true(major == 136 || minor >= 0);
        gpus += major == 240;
        assert_false(major == 240 && minor != 0 && minor != 136);
    }
    assert_int_equal(gpus, 2);
    assert_null(at(doc, "linux", "devices", NULL)); /* the nodes come after go */
}

static void dangerous_system_calls_are_not_on_the_list(void **state)
{
    static const char *const dangerous[] = {
        "mount",        "umount2",         "pivot_root",     "setns",       "unshare",
        "bpf",          "keyctl",          "add_key",        "request_key", "init_module",
        "finit_module", "kexec_load",      "reboot",         "swapon",      "open_by_handle_at",
        "userfaultfd",  "perf_event_open", "io_uring_setup", "open_tree",   "move_mount",
        "fsopen",       "mount_setattr",   "acct",           "quotactl",    "clone",
        "clone3",       "socket",          "personality",    "iopl",        "ioperm"};
    SL_AUTO_FREE struct dev_set *none = sl_alloc(sizeof *none);
    JR_AUTO_DOC struct jr_doc *doc = bundle_of(none);
    const struct jr_val *seccomp = at(doc, "linux", "seccomp", NULL);
    assert_string_equal(jr_text(jr_get(seccomp, "defaultAction"), ""), "SCMP_ACT_ERRNO");
    const struct jr_val *rules = jr_get(seccomp, "syscalls");
    for (size_t i = 0; i < SL_COUNT(dangerous); i++)
        assert_false(has(jr_get(jr_at(rules, 0), "names"), dangerous[i]));
    for (size_t i = 1; i < jr_len(rules); i++) {
        const struct jr_val *r = jr_at(rules, i);
        if (sl_streq(jr_text(jr_get(r, "action"), ""), "SCMP_ACT_ALLOW"))
            assert_true(jr_len(jr_get(r, "args")) ==
                        1); /* allowed only with its argument checked */
    }
}

static void mounts_of_the_tenant_are_confined(void **state)
{
    SL_AUTO_FREE struct dev_set *none = sl_alloc(sizeof *none);
    JR_AUTO_DOC struct jr_doc *doc = bundle_of(none);
    const struct jr_val *mounts = at(doc, "mounts", NULL, NULL);
    assert_true(jr_len(mounts) > 10);
    for (size_t i = 0; i < jr_len(mounts); i++) {
        const struct jr_val *m = jr_at(mounts, i), *o = jr_get(m, "options");
        const char *to = jr_text(jr_get(m, "destination"), "");
        const char *type = jr_text(jr_get(m, "type"), "");
        assert_true(has(o, "nosuid"));
        if (sl_streq(type, "bind")) {
            assert_true(has(o, "nodev"));
            assert_true(
                sl_starts(jr_text(jr_get(m, "source"), ""), "/run/starlease/leases/lea_1/"));
            assert_true(has(o, sl_streq(to, "/shared") ? "rw" : "ro"));
        }
        if (sl_streq(type, "sysfs"))
            assert_true(has(o, "ro"));
    }
    assert_true(has(at(doc, "linux", "maskedPaths", NULL), "/proc/kcore"));
    assert_true(has(at(doc, "linux", "readonlyPaths", NULL), "/proc/sys"));
}

static void metadata_requests_are_read_with_limits(void **state)
{
    struct metadata_request r;
#define REQ "PUT /v1/token HTTP/1.1\r\nHost: x\r\n"
    assert_int_equal(metadata_parse(REQ "\r\n", strlen(REQ "\r\n"), &r), 1);
    assert_string_equal(r.method, "PUT");
    assert_string_equal(r.path, "/v1/token");
    assert_false(r.forwarded);
    assert_int_equal(metadata_parse(REQ, strlen(REQ), &r), 0);
    static const char forwarded[] = REQ "x-forwarded-for: 1.2.3.4\r\n\r\n";
    assert_int_equal(metadata_parse(forwarded, sizeof forwarded - 1, &r), 1);
    assert_true(r.forwarded);
    static const char body[] = "POST /m HTTP/1.0\r\nContent-Length: 4\r\n\r\nabcd";
    assert_int_equal(metadata_parse(body, sizeof body - 2, &r), 0);
    assert_int_equal(metadata_parse(body, sizeof body - 1, &r), 1);
    assert_memory_equal(r.body, "abcd", 4);
    static const char *const bad[] = {"\r\n\r\n",
                                      "GET\r\n\r\n",
                                      "GET /\r\n\r\n",
                                      "GET / FTP/1.1\r\n\r\n",
                                      "TOOLONGMETHOD / HTTP/1.1\r\n\r\n",
                                      "GET / HTTP/1.1\r\nno colon\r\n\r\n",
                                      "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                                      "GET / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n",
                                      "GET / HTTP/1.1\r\nContent-Length: 9999\r\n\r\n",
                                      "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
                                      "GET / HTTP/1.1\r\nA b: c\r\n\r\n"};
    for (size_t i = 0; i < SL_COUNT(bad); i++)
        assert_int_equal(metadata_parse(bad[i], strlen(bad[i]), &r), -1);
    char *endless = sl_alloc(METADATA_REQUEST_MAX);
    memset(endless, 'a', METADATA_REQUEST_MAX);
    assert_int_equal(metadata_parse(endless, METADATA_REQUEST_MAX, &r), -1);
    free(endless);
}

static void an_sshd_gets_its_own_loader(void **state)
{
    struct {
        Elf64_Ehdr eh;
        Elf64_Phdr ph;
        char path[28];
    } elf = {.path = "/lib64/ld-linux-x86-64.so.2"};
    struct sl_err err = {0};
    memcpy(elf.eh.e_ident, ELFMAG, SELFMAG);
    elf.eh.e_ident[EI_CLASS] = ELFCLASS64;
    elf.eh.e_phoff = sizeof elf.eh;
    elf.eh.e_phnum = 1;
    elf.eh.e_phentsize = sizeof elf.ph;
    elf.ph.p_type = PT_INTERP;
    elf.ph.p_offset = sizeof elf.eh + sizeof elf.ph;
    elf.ph.p_filesz = sizeof elf.path;
    assert_int_equal(elf_set_interpreter(&elf, sizeof elf, "/.starlease/ld.so", &err), 0);
    assert_string_equal(elf.path, "/.starlease/ld.so");
    assert_int_equal(elf.path[27], 0);
    assert_int_equal(elf_set_interpreter(&elf, sizeof elf, "/a/path/that/is/far/too/long.so", &err),
                     -1);
    elf.ph.p_filesz = 1 << 20;
    assert_int_equal(elf_set_interpreter(&elf, sizeof elf, "/x", &err), -1);
    elf.eh.e_phnum = 60000;
    assert_int_equal(elf_set_interpreter(&elf, sizeof elf, "/x", &err), -1);
    assert_int_equal(elf_set_interpreter("no elf", 6, "/x", &err), -1);
}

/* ---- unpacking with limits that a test can reach ---- */
static int tar_of(int files, int64_t size, int64_t *ret_bytes)
{
    char path[] = "/tmp/starlease-tar-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    struct archive *a = archive_write_new();
    archive_write_set_format_pax_restricted(a);
    archive_write_add_filter_gzip(a);
    archive_write_open_fd(a, fd);
    char *data = sl_alloc((size_t)size + 1);
    memset(data, 'x', (size_t)size); /* zeros would be holes, which cost nothing */
    for (int i = 0; i < files; i++) {
        struct archive_entry *e = archive_entry_new();
        char name[32];
        snprintf(name, sizeof name, "f%d", i);
        archive_entry_set_pathname(e, name);
        archive_entry_set_filetype(e, AE_IFREG);
        archive_entry_set_perm(e, 0644);
        archive_entry_set_size(e, size);
        archive_write_header(a, e);
        archive_write_data(a, data, (size_t)size);
        archive_entry_free(e);
    }
    free(data);
    archive_write_free(a);
    *ret_bytes = lseek(fd, 0, SEEK_CUR);
    lseek(fd, 0, SEEK_SET);
    return fd;
}

static int unpack_with(struct unpack_limits limits, int files, int64_t size, struct sl_err *err)
{
    char dir[] = "/tmp/starlease-unpack-XXXXXX", hex[SHA256_HEX];
    int64_t packed;
    assert_non_null(mkdtemp(dir));
    SL_AUTO_CLOSE int tar = tar_of(files, size, &packed);
    struct unpack u = {.root = open(dir, O_RDONLY | O_DIRECTORY), .limits = limits};
    int rc = unpack_tar(&u, tar, false, hex, err);
    assert_int_equal(u.packed, packed); /* every byte went into the digest, whatever happened */
    close(u.root);
    SL_AUTO_CLOSE int tmp = open("/tmp", O_RDONLY | O_DIRECTORY);
    assert_int_equal(tree_remove(tmp, dir + 5), 0);
    return rc;
}

static void unpacking_stops_at_its_limits(void **state)
{
    struct unpack_limits l = UNPACK_LIMITS;
    struct sl_err err = {0};
    if (geteuid() != 0)
        skip();
    assert_int_equal(unpack_with(l, 10, 1000, &err), 0);
    l.files = 10;
    assert_int_equal(unpack_with(l, 10, 10, &err), 0);
    assert_int_equal(unpack_with(l, 11, 10, &err), -1);
    assert_non_null(strstr(err.msg, "over 10 entries"));
    l.bytes = 1000;
    assert_int_equal(unpack_with(l, 2, 500, &err), 0);
    assert_int_equal(unpack_with(l, 3, 500, &err), -1);
    assert_non_null(strstr(err.msg, "over 1000 bytes"));
    l = UNPACK_LIMITS;
    l.ratio_after = 100000;
    assert_int_equal(unpack_with(l, 1, 8 << 20, &err), -1);
    assert_non_null(strstr(err.msg, "bomb"));
}

static void a_process_is_known_by_number_and_start(void **state)
{
    int64_t start = process_start(getpid());
    assert_true(start > 0);
    assert_true(process_is(getpid(), start));
    assert_false(process_is(getpid(), start + 1));
    assert_int_equal(process_start(0), 0);
    int fd = process_open(getpid(), start);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(process_open(getpid(), start + 1), -1);
}

static void a_slot_decides_address_ids_and_interface(void **state)
{
    struct agent_options o = {.node = "n1", .subnet = "10.99.7.7/16", .bridge = "slbr0"};
    struct agent a;
    struct sl_err err = {0};
    char text[IP_TEXT], iface[IFACE_TEXT];
    assert_int_equal(agent_from_options(&o, &a, &err), 0);
    assert_string_equal(gateway_ip(&a, text), "10.99.0.1");
    assert_string_equal(slot_ip(&a, 0, text), "10.99.0.2");
    assert_string_equal(slot_ip(&a, 300, text), "10.99.1.46");
    assert_string_equal(slot_iface(&a, 4095, iface), "slbr0.4095");
    assert_int_equal(slot_uid(2), 1048576 + 131072);
    static const struct agent_options bad[] = {{.node = "n1", .subnet = "10.0.0.0"},
                                               {.node = "n1", .subnet = "10.0.0.0/30"},
                                               {.node = "n1", .bridge = "Br0"},
                                               {.node = "n1", .bridge = "abcdefghij"},
                                               {.node = "../x"},
                                               {.node = "n1", .run = "/run/a:b"},
                                               {.node = "n1", .state = "relative"},
                                               {.node = "n1", .emulate = true},
                                               {.node = "n1", .allow_uid = {{"x"}, 1}}};
    for (size_t i = 0; i < SL_COUNT(bad); i++)
        assert_int_equal(agent_from_options(&bad[i], &a, &err), -1);
}

/* Lines as /proc/PID/net/tcp has them; the instance is 10.88.0.3. */
static void use_is_what_comes_from_outside(void **state)
{
    static const char table[] =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
        "   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n"
        "   1: 00000000:9C40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n"
        "   2: 0300580A:0016 0100580A:D2F0 01 00000000:00000000 00:00000000 00000000     0\n"
        "   3: 0300580A:9C40 0100580A:D2F1 01 00000000:00000000 00:00000000 00000000     0\n"
        "   4: 0100007F:9C40 0100007F:D2F2 01 00000000:00000000 00:00000000 00000000     0\n"
        "   5: 0300580A:C000 08080808:01BB 01 00000000:00000000 00:00000000 00000000     0\n"
        "   6: 0300580A:0016 0100580A:D2F3 06 00000000:00000000 00:00000000 00000000     0\n"
        "   7: FEA9FEA9:0050 0300580A:D2F4 01 00000000:00000000 00:00000000 00000000     0\n"
        "garbage\n";
    static const char table6[] =
        "   0: 0000000000000000FFFF00000300580A:1F90 0000000000000000FFFF00000100580A:D2F5 01 0 0\n"
        "   1: 00000000000000000000000001000000:1F90 00000000000000000000000001000000:D2F6 01 0 "
        "0\n";
    struct use_count *c = sl_alloc(sizeof *c);
    use_listens(c, table);
    use_connections(c, table, 0x0a580003);
    use_connections(c, table6, 0x0a580003);
    assert_int_equal(c->ssh, 1);
    assert_int_equal(c->ports, 2); /* port 40000, which listens, and 8080 of a dual-stack socket */
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(use_is_what_comes_from_outside),
        cmocka_unit_test(properties_are_read_strictly),
        cmocka_unit_test(gfx_targets_have_their_names),
        cmocka_unit_test(a_lease_order_is_kept_as_it_came),
        cmocka_unit_test(a_lease_order_with_an_unknown_field_is_refused),
        cmocka_unit_test(keys_with_options_are_refused),
        cmocka_unit_test(a_tenant_gets_no_dangerous_capability),
        cmocka_unit_test(a_tenant_has_namespaces_of_his_own_and_mapped_ids),
        cmocka_unit_test(devices_are_denied_but_for_the_leased),
        cmocka_unit_test(dangerous_system_calls_are_not_on_the_list),
        cmocka_unit_test(mounts_of_the_tenant_are_confined),
        cmocka_unit_test(metadata_requests_are_read_with_limits),
        cmocka_unit_test(an_sshd_gets_its_own_loader),
        cmocka_unit_test(unpacking_stops_at_its_limits),
        cmocka_unit_test(a_process_is_known_by_number_and_start),
        cmocka_unit_test(a_slot_decides_address_ids_and_interface),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
