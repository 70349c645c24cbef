/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/guest.h"
#include "agent/net.h"
#include "base/io/crypto.h"
#include "base/io/proc.h"
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { PROGRAM_MAX = 64 << 20 };
#define GUEST_LOADER "/.starlease/ld.so"

/* The program header of type PT_INTERP, checked to lie inside the file; NULL when there is none. */
static const Elf64_Phdr *interpreter_of(const void *file, size_t n)
{
    const Elf64_Ehdr *eh = file;
    if (n < sizeof *eh || memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 ||
        eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_phentsize != sizeof(Elf64_Phdr) ||
        eh->e_phoff > n || (n - eh->e_phoff) / sizeof(Elf64_Phdr) < eh->e_phnum)
        return NULL;
    const Elf64_Phdr *ph = (const void *)((const char *)file + eh->e_phoff);
    for (int i = 0; i < eh->e_phnum; i++)
        if (ph[i].p_type == PT_INTERP && ph[i].p_offset < n && ph[i].p_filesz > 1 &&
            ph[i].p_filesz <= n - ph[i].p_offset &&
            memchr((const char *)file + ph[i].p_offset, 0, ph[i].p_filesz))
            return &ph[i];
    return NULL;
}

int elf_set_interpreter(void *file, size_t n, const char *interpreter, struct sl_err *err)
{
    const Elf64_Phdr *ph = interpreter_of(file, n);
    if (!ph || strlen(interpreter) >= ph->p_filesz)
        return sl_fail(err, SL_INVALID, "the program has no room for the loader's path");
    char *at = (char *)file + ph->p_offset;
    memset(at, 0, ph->p_filesz);
    memcpy(at, interpreter, strlen(interpreter));
    return 0;
}

static int find_program(const char *name, char out[PATH_MAX], struct sl_err *err)
{
    static const char *const dirs[] = {"/usr/sbin", "/usr/bin", "/usr/local/sbin",
                                       "/usr/local/bin"};
    for (size_t i = 0; i < SL_COUNT(dirs); i++)
        if (access(agent_path(out, "%s/%s", dirs[i], name), X_OK) == 0)
            return 0;
    return sl_fail(err, SL_UNAVAILABLE, "%s is not installed; install the package dropbear-bin",
                   name);
}

/* starlease-init lies beside this program, or where the package puts it. */
static int find_init(char out[PATH_MAX], struct sl_err *err)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) {
        self[n] = 0;
        *strrchr(self, '/') = 0;
        if (access(agent_path(out, "%.2000s/starlease-init", self), X_OK) == 0)
            return 0;
        if (access(agent_path(out, "%.2000s/../libexec/starlease/starlease-init", self), X_OK) == 0)
            return 0;
    }
    return sl_fail(err, SL_UNAVAILABLE, "starlease-init is not beside the agent");
}

/* Paths of the shared objects that `program` needs, as its own loader finds them. */
static int libraries(const char *loader, const char *program, struct sl_buf *out,
                     struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf text = SL_BUF(65536);
    const char *argv[] = {loader, "--list", program, NULL};
    if (proc_run(&(struct proc){.argv = argv, .out = &text}, err) < 0)
        return -1;
    struct sl_str rest = {sl_buf_str(&text), text.n}, line;
    while (sl_str_cut(&rest, '\n', &line)) {
        char one[PATH_MAX];
        snprintf(one, sizeof one, "%.*s", (int)(line.n < 4000 ? line.n : 4000), line.p);
        char *path = strstr(one, "=> /");
        char *end = path ? strstr(path, " (0x") : NULL;
        if (!end)
            continue;
        *end = 0;
        sl_buf_printf(out, "%s\n", path + 3);
    }
    return 0;
}

static int put(const char *dir, const char *name, const struct sl_buf *b, struct sl_err *err)
{
    char path[PATH_MAX];
    return file_write(agent_path(path, "%s/%s", dir, name), sl_buf_str(b), b->n, 0755, err);
}

static int copy_libraries(const char *list, const char *dir, struct sl_err *err)
{
    struct sl_str rest = sl_str(list), line;
    while (sl_str_cut(&rest, '\n', &line)) {
        char from[PATH_MAX], name[NAME_MAX + 8];
        if (line.n == 0)
            continue;
        snprintf(from, sizeof from, "%.*s", (int)line.n, line.p);
        snprintf(name, sizeof name, "lib/%s", strrchr(from, '/') + 1);
        SL_AUTO_BUF struct sl_buf b = SL_BUF(PROGRAM_MAX);
        if (file_read(from, PROGRAM_MAX, &b, err) < 0 || put(dir, name, &b, err) < 0)
            return -1;
    }
    return 0;
}

struct guest_parts {
    struct sl_buf sshd, init;
    char loader[256], hash[SHA256_HEX], sshd_path[PATH_MAX];
};

static int parts_read(struct guest_parts *p, struct sl_err *err)
{
    char path[PATH_MAX];
    if (find_program("dropbear", p->sshd_path, err) < 0 ||
        file_read(p->sshd_path, PROGRAM_MAX, &p->sshd, err) < 0 || find_init(path, err) < 0 ||
        file_read(path, PROGRAM_MAX, &p->init, err) < 0)
        return -1;
    const Elf64_Phdr *ph = interpreter_of(p->sshd.p, p->sshd.n);
    if (!ph)
        return sl_fail(err, SL_UNAVAILABLE, "%s is not a dynamic 64-bit program", p->sshd_path);
    snprintf(p->loader, sizeof p->loader, "%.255s", p->sshd.p + ph->p_offset);
    struct sha256_state s;
    uint8_t sum[SHA256_BYTES];
    sha256_start(&s);
    sha256_add(&s, p->sshd.p, p->sshd.n);
    sha256_add(&s, p->init.p, p->init.n);
    sha256_end(&s, sum);
    hex_encode(sum, sizeof sum, p->hash);
    return elf_set_interpreter(p->sshd.p, p->sshd.n, GUEST_LOADER, err);
}

static int parts_write(struct guest_parts *p, const char *dir, struct sl_err *err)
{
    char path[PATH_MAX];
    SL_AUTO_BUF struct sl_buf loader = SL_BUF(PROGRAM_MAX), list = SL_BUF(65536);
    if (dir_make(agent_path(path, "%s/lib", dir), 0755, err) < 0 ||
        dir_make(agent_path(path, "%s/lease", dir), 0755, err) < 0 || chmod(dir, 0755) < 0 ||
        put(dir, "dropbear", &p->sshd, err) < 0 || put(dir, "init", &p->init, err) < 0 ||
        file_read(p->loader, PROGRAM_MAX, &loader, err) < 0 ||
        put(dir, "ld.so", &loader, err) < 0 || libraries(p->loader, p->sshd_path, &list, err) < 0)
        return -1;
    return copy_libraries(sl_buf_str(&list), dir, err);
}

int guest_prepare(const struct agent *a, char ret_path[PATH_MAX], struct sl_err *err)
{
    struct guest_parts p = {.sshd = SL_BUF(PROGRAM_MAX), .init = SL_BUF(PROGRAM_MAX)};
    char temp[PATH_MAX];
    SL_AUTO_CLOSE int lock = -1;
    int rc = agent_lock(a, "guest", 30000, &lock, err);
    if (rc == 0)
        rc = parts_read(&p, err);
    if (rc == 0) {
        agent_path(ret_path, "%s/guest-%.16s", a->state_dir, p.hash);
        agent_path(temp, "%s/guest.tmp", a->state_dir);
        if (access(ret_path, F_OK) < 0) {
            rc = dir_make(temp, 0755, err) < 0 ? -1 : parts_write(&p, temp, err);
            if (rc == 0 && rename(temp, ret_path) < 0)
                rc = sl_fail_errno(err, errno, "rename %s", temp);
        }
    }
    sl_buf_free(&p.sshd);
    sl_buf_free(&p.init);
    return rc;
}

static int put_text(const char *dir, const char *name, const struct sl_buf *b, mode_t mode,
                    uid_t uid, struct sl_err *err)
{
    char path[PATH_MAX];
    if (run_write(agent_path(path, "%s/guest/%s", dir, name), sl_buf_str(b), b->n, (int)mode, err) <
        0)
        return -1;
    if (chown(path, uid, uid) < 0)
        return sl_fail_errno(err, errno, "chown %s", path);
    return 0;
}

int guest_lease_files(const struct agent *a, const struct lease_spec *s, const char *dir,
                      struct sl_err *err)
{
    char path[PATH_MAX], ip[IP_TEXT];
    uid_t uid = slot_uid((int)s->slot);
    SL_AUTO_BUF struct sl_buf keys = SL_BUF(1 << 20), env = SL_BUF(65536), hosts = SL_BUF(4096);
    SL_AUTO_BUF struct sl_buf resolv = SL_BUF(4096), name = SL_BUF(128);
    for (int i = 0; i < s->ssh_keys.n; i++)
        sl_buf_printf(&keys, "%s\n", s->ssh_keys.v[i]);
    sl_buf_printf(&env, "STARLEASE_LEASE=%s\nSTARLEASE_NONCE=%s\n", s->lease, s->nonce);
    if (s->shared_quota_bytes)
        sl_buf_adds(&env, "STARLEASE_SHARED=/shared\n");
    sl_buf_printf(&hosts, "127.0.0.1 localhost\n%s %s\n", slot_ip(a, (int)s->slot, ip),
                  s->hostname);
    sl_buf_printf(&name, "%s\n", s->hostname);
    net_resolv_conf(&resolv);
    if (dir_make(agent_path(path, "%s/guest/ssh", dir), 0700, err) < 0)
        return -1;
    /* the sshd wants its keys' folder to belong to the user and to nobody else */
    if (chown(path, uid, uid) < 0 || chmod(agent_path(path, "%s/guest", dir), 0755) < 0)
        return sl_fail_errno(err, errno, "chown %s", path);
    if (put_text(dir, "ssh/authorized_keys", &keys, 0600, uid, err) < 0 ||
        put_text(dir, "env", &env, 0644, uid, err) < 0 ||
        put_text(dir, "hosts", &hosts, 0644, uid, err) < 0 ||
        put_text(dir, "hostname", &name, 0644, uid, err) < 0)
        return -1;
    return put_text(dir, "resolv.conf", &resolv, 0644, uid, err);
}

/* The public line is kept beside the key: showing it takes a program. */
static int public_line(const char *key, char ret_public[256], struct sl_err *err)
{
    char path[PATH_MAX];
    SL_AUTO_BUF struct sl_buf out = SL_BUF(8192), kept = SL_BUF(255);
    struct sl_err ignored = {0};
    agent_path(path, "%s.pub", key);
    if (file_read(path, 255, &kept, &ignored) == 0 &&
        sl_starts(sl_buf_str(&kept), "ssh-ed25519 ")) {
        snprintf(ret_public, 256, "%s", sl_buf_str(&kept));
        return 0;
    }
    const char *show[] = {"dropbearkey", "-y", "-f", key, NULL};
    if (proc_run(&(struct proc){.argv = show, .out = &out}, err) < 0)
        return -1;
    const char *p = strstr(sl_buf_str(&out), "ssh-ed25519 ");
    if (!p)
        return sl_fail(err, SL_INTEGRITY, "the host key on the system volume is damaged");
    size_t n = strcspn(p, "\n"), type = strcspn(p + 12, " \n") + 12;
    snprintf(ret_public, 256, "%.*s", (int)(type < n ? type : n), p);
    return file_write(path, ret_public, strlen(ret_public), 0644, err);
}

int guest_host_key(const char *key_dir, const char *dir, uid_t uid, char ret_public[256],
                   struct sl_err *err)
{
    char key[PATH_MAX];
    agent_path(key, "%s/hostkey", key_dir);
    if (access(key, F_OK) < 0) {
        char temp[PATH_MAX];
        agent_path(temp, "%s/hostkey.tmp", key_dir);
        unlink(temp);
        const char *make[] = {"dropbearkey", "-t", "ed25519", "-f", temp, NULL};
        if (proc_run(&(struct proc){.argv = make}, err) < 0)
            return -1;
        if (rename(temp, key) < 0)
            return sl_fail_errno(err, errno, "rename %s", temp);
    }
    SL_AUTO_BUF struct sl_buf secret = SL_BUF(8192);
    if (public_line(key, ret_public, err) < 0 || file_read(key, 8192, &secret, err) < 0)
        return -1;
    return put_text(dir, "hostkey", &secret, 0600, uid, err);
}
