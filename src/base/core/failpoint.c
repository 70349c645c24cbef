/* SPDX-License-Identifier: Apache-2.0 */
#include "failpoint.h"
#include "buf.h"
#include "mem.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

_Atomic int failpoint_armed = -1;
enum { POINTS_MAX = 16 };
static struct {
    char name[64];
    atomic_int left;
} points[POINTS_MAX];
static int n_points;
static const char *list_file;

static void load(void)
{
    const char *spec = getenv("STARLEASE_FAILPOINT");
    list_file = getenv("STARLEASE_FAILPOINT_LIST");
    struct sl_str rest = spec ? sl_str(spec) : (struct sl_str){0}, piece;
    while (n_points < POINTS_MAX && sl_str_cut(&rest, ',', &piece)) {
        struct sl_str name;
        sl_str_cut(&piece, ':', &name);
        if (!name.n || name.n >= sizeof points[0].name)
            continue;
        memcpy(points[n_points].name, name.p, name.n);
        long n = piece.p ? strtol(piece.p, NULL, 10) : 1;
        atomic_init(&points[n_points++].left, n > 0 ? (int)n : 1);
    }
    failpoint_armed = n_points > 0 || list_file;
}

bool failpoint_hit(const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (list_file) {
        SL_AUTO_CLOSE int fd = open(list_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        SL_AUTO_FREE char *line = sl_asprintf("%s\n", name);
        if (fd >= 0)
            (void)!write(fd, line, strlen(line));
    }
    for (int i = 0; i < n_points; i++)
        if (sl_streq(points[i].name, name) && atomic_fetch_sub(&points[i].left, 1) == 1)
            return true;
    return false;
}

void failpoint_die(void)
{
    kill(getpid(), SIGKILL);
}
