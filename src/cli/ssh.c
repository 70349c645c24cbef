/* SPDX-License-Identifier: Apache-2.0
 *
 * ssh.c: ssh, exec and cp run the system's OpenSSH client. The host key is the one that the control
 * plane knows for the lease, so there is no "are you sure": a wrong key ends the connection.
 */
#include "cli/verbs.h"
#include "base/io/proc.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

enum { ARGS_MAX = 300 };
extern char **environ;

const struct cmd_opt ssh_opts[] = {{"identity", 'i', CMD_TEXT, "FILE",
                                    "private key; default: what ssh finds", NULL,
                                    offsetof(struct ssh_args, identity)},
                                   {0}};

struct ssh_cmd {
    const char *argv[ARGS_MAX + 1];
    int n;
};

static void add(struct ssh_cmd *s, const char *arg)
{
    SL_ASSERT(s->n < ARGS_MAX);
    s->argv[s->n++] = arg;
}

/* known_hosts with exactly this lease's key, beside the configuration. */
static int write_known_hosts(struct cli *c, const char *id, const char *host_key,
                             const char **ret_path, struct sl_err *err)
{
    const char *slash = strrchr(c->config_path, '/');
    const char *dir = slash ? sl_arena_printf(&c->arena, "%.*s/known_hosts",
                                              (int)(slash - c->config_path), c->config_path)
                            : "known_hosts";
    if (dir_make(dir, 0700, err) < 0)
        return -1;
    *ret_path = sl_arena_printf(&c->arena, "%s/%s", dir, id);
    SL_AUTO_FREE char *line = sl_asprintf("%s %s\n", id, host_key);
    return file_write(*ret_path, line, strlen(line), 0600, err);
}

/* ssh with everything up to and including the host. */
static int ssh_begin(struct cli *c, const char *lease, const struct ssh_args *o, struct ssh_cmd *s,
                     struct sl_err *err)
{
    const char *id, *known;
    if (cli_lease_id(c, lease, &id, err) < 0)
        return -1;
    struct answer a = {0};
    int rc = cli_get(c, sl_arena_printf(&c->arena, "/v1/leases/%s", cli_quote(c, id)), &a, err);
    if (rc) {
        answer_free(&a);
        return rc;
    }
    const char *host = cli_text(c, cli_at(a.root, "ssh.host"), COL_TEXT);
    const char *user = cli_text(c, cli_at(a.root, "ssh.user"), COL_TEXT);
    int64_t port = jr_i64(cli_at(a.root, "ssh.port"), 0);
    const char *key = cli_text(c, jr_get(a.root, "host_key"), COL_TEXT);
    const char *state = cli_text(c, jr_get(a.root, "state"), COL_TEXT);
    bool up = sl_streq(state, "running") && port > 0 && strcmp(key, "-") != 0;
    answer_free(&a);
    if (!up)
        return sl_fail(err, SL_CONFLICT, "%s is %s: SSH needs a running instance", id, state);
    if (*host == '-' || *user == '-')
        return sl_fail(err, SL_UNAVAILABLE, "the server names no usable SSH address for %s", id);
    if (write_known_hosts(c, id, key, &known, err) < 0)
        return -1;
    add(s, "ssh");
    add(s, "-p");
    add(s, sl_arena_printf(&c->arena, "%lld", (long long)port));
    add(s, "-o");
    add(s, sl_arena_printf(&c->arena, "UserKnownHostsFile=%s", known));
    add(s, "-o");
    add(s, sl_arena_printf(&c->arena, "HostKeyAlias=%s", id));
    static const char *const fixed[] = {"GlobalKnownHostsFile=/dev/null",
                                        "StrictHostKeyChecking=yes", "UpdateHostKeys=no",
                                        "LogLevel=ERROR"};
    for (size_t i = 0; i < SL_COUNT(fixed); i++) {
        add(s, "-o");
        add(s, fixed[i]);
    }
    if (o->identity) {
        add(s, "-i");
        add(s, o->identity);
        add(s, "-o");
        add(s, "IdentitiesOnly=yes");
    }
    add(s, sl_arena_printf(&c->arena, "%s@%s", user, host));
    return 0;
}

/* ssh gives the remote shell one string: quote each word so that it arrives as it was given. */
static const char *shell_words(struct cli *c, int argc, char **argv)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(256 << 10);
    for (int i = 0; i < argc; i++) {
        sl_buf_adds(&b, i ? " '" : "'");
        for (const char *p = argv[i]; *p; p++) {
            if (*p == '\'')
                sl_buf_adds(&b, "'\\''");
            else
                sl_buf_addc(&b, *p);
        }
        sl_buf_addc(&b, '\'');
    }
    return b.over ? NULL : sl_arena_strdup(&c->arena, sl_buf_str(&b));
}

static int become(struct ssh_cmd *s, struct sl_err *err)
{
    s->argv[s->n] = NULL;
    fflush(NULL);
    execvp(s->argv[0], (char *const *)s->argv);
    return sl_fail_errno(err, errno, "cannot run %s: is openssh-client installed?", s->argv[0]);
}

static int ssh(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    struct ssh_cmd s = {0};
    int rc = ssh_begin(c, argv[0], opts, &s, err);
    if (rc)
        return rc;
    for (int i = 1; i < argc && s.n < ARGS_MAX; i++)
        add(&s, argv[i]);
    return become(&s, err);
}
CLI_VERB(ssh)

static int exec(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    struct ssh_cmd s = {0};
    int rc = ssh_begin(c, argv[0], opts, &s, err);
    if (rc)
        return rc;
    const char *words = shell_words(c, argc - 1, argv + 1);
    if (!words)
        return sl_fail_at(err, SL_TOO_LARGE, "command", "the command is over 256 KiB: cp a script");
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) {
        memmove(s.argv + 2, s.argv + 1, sizeof *s.argv * (size_t)(s.n - 1));
        s.argv[1] = "-t";
        s.n++;
    }
    add(&s, "--");
    add(&s, words);
    return become(&s, err);
}
CLI_VERB(exec)

/* ---- cp ---- */
static int spawn(const char *const *argv, int in, int out, int close_too, pid_t *ret,
                 struct sl_err *err)
{
    posix_spawn_file_actions_t fa;
    posix_spawn_file_actions_init(&fa);
    if (in >= 0)
        posix_spawn_file_actions_adddup2(&fa, in, STDIN_FILENO);
    if (out >= 0)
        posix_spawn_file_actions_adddup2(&fa, out, STDOUT_FILENO);
    if (close_too >= 0)
        posix_spawn_file_actions_addclose(&fa, close_too);
    int rc = posix_spawnp(ret, argv[0], &fa, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&fa);
    return rc ? sl_fail_errno(err, rc, "cannot run %s", argv[0]) : 0;
}

static int wait_ok(pid_t pid, const char *what, struct sl_err *err)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return sl_fail_errno(err, errno, "cannot wait for %s", what);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return sl_fail(err, SL_UNAVAILABLE, "%s failed with status %d: nothing or a part was copied",
                   what, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* producer | consumer */
static int pipeline(const char *const *from, const char *const *to, struct sl_err *err)
{
    int p[2];
    if (pipe2(p, O_CLOEXEC) < 0)
        return sl_fail_errno(err, errno, "cannot make a pipe");
    pid_t a = -1, b = -1;
    int rc = spawn(from, -1, p[1], p[0], &a, err);
    if (rc == 0)
        rc = spawn(to, p[0], -1, p[1], &b, err);
    close(p[0]);
    close(p[1]);
    struct sl_err second = {0};
    if (a > 0 && wait_ok(a, from[0], rc == 0 ? err : &second) < 0)
        rc = -1;
    if (b > 0 && wait_ok(b, to[0], rc == 0 ? err : &second) < 0)
        rc = -1;
    return rc;
}

/* "/a/b" -> directory "/a" and name "b"; trailing slashes do not count. */
static void split_path(struct cli *c, const char *path, const char **ret_dir, const char **ret_name)
{
    char *p = sl_arena_strdup(&c->arena, path);
    size_t n = strlen(p);
    while (n > 1 && p[n - 1] == '/')
        p[--n] = 0;
    char *slash = strrchr(p, '/');
    *ret_dir = !slash ? "." : slash == p ? "/" : p;
    *ret_name = slash ? slash + 1 : p;
    if (slash && slash != p)
        *slash = 0;
    if (!**ret_name) { /* the root itself */
        *ret_dir = "/";
        *ret_name = ".";
    }
}

/* The part before the colon when `s` is LEASE:PATH; a path with a slash before its colon is local.
 */
static const char *remote_lease(struct cli *c, const char *s, const char **ret_path)
{
    size_t n = strcspn(s, ":/");
    if (s[n] != ':' || n == 0)
        return NULL;
    *ret_path = s[n + 1] ? s + n + 1 : ".";
    return sl_arena_strndup(&c->arena, s, n);
}

static int cp(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const char *path, *dir, *name, *to_path;
    const char *from = remote_lease(c, argv[0], &path), *to = remote_lease(c, argv[1], &to_path);
    if (!from == !to)
        return sl_fail_at(
            err, SL_INVALID, "source",
            "exactly one of the two must be LEASE:PATH, as in `cp data.tar my-lease:/shared`");
    struct ssh_cmd s = {0};
    int rc = ssh_begin(c, from ? from : to, opts, &s, err);
    if (rc)
        return rc;
    split_path(c, from ? path : argv[0], &dir, &name);
    add(&s, "--");
    if (to) {
        char *words[] = {(char *)to_path};
        const char *q = shell_words(c, 1, words);
        add(&s, sl_arena_printf(&c->arena, "mkdir -p -- %s && exec tar -xf - -C %s", q, q));
        const char *const tar[] = {"tar", "-cf", "-", "-C", dir, "--", name, NULL};
        return pipeline(tar, s.argv, err);
    }
    char *words[] = {(char *)"tar", (char *)"-cf", (char *)"-", (char *)"-C",
                     (char *)dir,   (char *)"--",  (char *)name};
    add(&s, shell_words(c, SL_COUNT(words), words));
    const char *const tar[] = {"tar", "-xf",   "-", "--no-same-owner", "--no-same-permissions",
                               "-C",  argv[1], NULL};
    return pipeline(s.argv, tar, err);
}
CLI_VERB(cp)
