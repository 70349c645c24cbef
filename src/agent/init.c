/* SPDX-License-Identifier: Apache-2.0
 *
 * starlease-init: PID 1 of a lease, static, libc only. Starts the agent's sshd, waits until the
 * file
 * /.starlease/lease/go appears (the meter runs, the GPUs are in), then starts the tenant's command.
 * Reaps.
 *
 *     init [COMMAND...]     with a command, its end is the lease's end and its status ours
 *     init session          what the sshd runs for each login: sets the environment, then the
 * user's shell with SSH_ORIGINAL_COMMAND or as a login shell
 *
 * Nothing of the image runs before `go` but the shells that the tenant himself logs in to.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define LEASE_DIR "/.starlease/lease"

enum {
    SSHD_RESTART_MS = 1000,
    ENV_BYTES = 65536,
    COMMAND_GRACE_S = 10, /* for what the command left running when it ended */
    STOP_GRACE_S = 3600,  /* the agent's own patience is shorter */
};

static char env_text[ENV_BYTES];

/* KEY=VALUE lines into the environment. */
static void env_load(void)
{
    int fd = open(LEASE_DIR "/env", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, env_text, sizeof env_text - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return;
    env_text[n] = 0;
    for (char *p = env_text; *p;) {
        char *end = p + strcspn(p, "\n");
        char *next = *end ? end + 1 : end;
        *end = 0;
        if (strchr(p, '='))
            putenv(p);
        p = next;
    }
}

static _Noreturn void session(void)
{
    const char *command = getenv("SSH_ORIGINAL_COMMAND");
    const char *shell = getenv("SHELL");
    if (!shell || !*shell)
        shell = "/bin/sh";
    env_load();
    if (!getenv("HOME"))
        setenv("HOME", "/root", 1);
    const char *name = strrchr(shell, '/');
    name = name ? name + 1 : shell;
    char login[128];
    snprintf(login, sizeof login, "-%s", name);
    if (command && *command)
        execl(shell, name, "-c", command, (char *)NULL);
    else
        execl(shell, login, (char *)NULL);
    fprintf(stderr, "cannot start %s: %s\n", shell, strerror(errno));
    _exit(127);
}

static void child_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
}

static pid_t sshd_start(void)
{
    static char *const argv[] = {"dropbear", "-F",
                                 "-E",       "-s",
                                 "-r",       LEASE_DIR "/hostkey",
                                 "-p",       "22",
                                 "-c",       "/.starlease/init session",
                                 NULL};
    static char *const envp[] = {
        "LD_LIBRARY_PATH=/.starlease/lib",
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", NULL};
    pid_t pid = fork();
    if (pid == 0) {
        child_signals();
        int console = fcntl(2, F_DUPFD_CLOEXEC, 3), null = open("/dev/null", O_RDWR | O_CLOEXEC);
        dup2(null, 1); /* the console log is the command's */
        dup2(null, 2);
        execve("/.starlease/dropbear", argv, envp);
        dprintf(console, "cannot start the sshd: %s\n", strerror(errno));
        _exit(127);
    }
    return pid;
}

static pid_t command_start(char **argv)
{
    pid_t pid = fork();
    if (pid == 0) {
        child_signals();
        env_load();
        if (chdir("/root") < 0 && chdir("/") < 0)
            _exit(126);
        execvp(argv[0], argv);
        fprintf(stderr, "cannot start %s: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    return pid;
}

static int status_of(int st)
{
    return WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
}

static bool is_sshd(const char *pid)
{
    char path[64], name[16] = "";
    snprintf(path, sizeof path, "/proc/%.20s/comm", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, name, sizeof name - 1);
    if (fd >= 0)
        close(fd);
    return n > 0 && strcmp(name, "dropbear\n") == 0;
}

/* Asks everybody to end and waits. The sshd is not asked: it may miss a signal just before it
 * sleeps. */
static _Noreturn void end_all(int status, int wait_s)
{
    DIR *d = opendir("/proc");
    for (struct dirent *e; d && (e = readdir(d));) {
        char *end;
        long pid = strtol(e->d_name, &end, 10);
        if (*end || pid <= 1)
            continue;
        kill((pid_t)pid, is_sshd(e->d_name) ? SIGKILL : SIGTERM);
        kill((pid_t)pid, SIGCONT);
    }
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    const struct timespec step = {.tv_nsec = 100000000};
    for (int turns = wait_s * 10; turns > 0; turns--) {
        pid_t pid;
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (pid < 0 && errno == ECHILD)
            break;
        sigtimedwait(&child, NULL, &step);
    }
    _exit(status); /* the kernel ends whoever is left */
}

static bool gone(void)
{
    struct stat st;
    return stat(LEASE_DIR "/go", &st) == 0;
}

struct pids {
    pid_t sshd, command;
    char **argv;
};

static void reap(struct pids *p)
{
    int st;
    for (pid_t pid; (pid = waitpid(-1, &st, WNOHANG)) > 0;) {
        if (pid == p->command)
            end_all(status_of(st), COMMAND_GRACE_S);
        if (pid == p->sshd)
            p->sshd = 0;
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "session") == 0 && getpid() != 1)
        session();
    prctl(PR_SET_DUMPABLE, 0); /* the tenant's root may not attach to PID 1 */
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    int sigs = signalfd(-1, &all, SFD_CLOEXEC);
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (sigs < 0 || watch < 0 || inotify_add_watch(watch, LEASE_DIR, IN_CREATE | IN_MOVED_TO) < 0) {
        fprintf(stderr, "starlease-init: %s\n", strerror(errno));
        return 125;
    }
    struct pids p = {.sshd = sshd_start(), .argv = argc > 1 ? argv + 1 : NULL};
    for (;;) {
        if (p.argv && gone()) {
            p.command = command_start(p.argv);
            p.argv = NULL;
        }
        struct pollfd f[2] = {{sigs, POLLIN, 0}, {p.argv ? watch : -1, POLLIN, 0}};
        int n = poll(f, 2, p.sshd ? -1 : SSHD_RESTART_MS);
        char buf[4096];
        if (n > 0 && f[1].revents)
            while (read(watch, buf, sizeof buf) > 0)
                ;
        struct signalfd_siginfo si;
        if (n > 0 && f[0].revents && read(sigs, &si, sizeof si) == sizeof si) {
            if (si.ssi_signo == SIGTERM || si.ssi_signo == SIGINT)
                end_all(128 + SIGTERM, STOP_GRACE_S);
            reap(&p);
        }
        if (n == 0 && !p.sshd)
            p.sshd = sshd_start();
    }
}
