/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/use.h"
#include "agent/cgroup.h"
#include "agent/probe_amd.h"
#include "base/io/proc.h"
#include <arpa/inet.h>

enum {
    TABLE_MAX =
        4 << 20, /* of /proc/PID/net/tcp: a tenant may open many; what is past it is not seen */
    SSH_PORT = 22,
    TCP_ESTABLISHED = 1,
    TCP_LISTEN = 10,
    EPHEMERAL = 32768, /* net.ipv4.ip_local_port_range of a new namespace begins here */
    LOOPBACK = 127,
    LINK_LOCAL = 0xa9fe,
};

struct sock {
    uint32_t local, remote; /* host order; of tcp6 the IPv4 address inside */
    unsigned local_port, state;
};

/* "  0: 0300580A:0016 0100580A:D2F0 01 ...": bytes of an address as the machine stores them. */
static bool sock_read(const char *line, struct sock *s)
{
    char local[33], remote[33];
    unsigned remote_port, a, b;
    if (sscanf(line, " %*u: %32[0-9A-Fa-f]:%x %32[0-9A-Fa-f]:%x %x", local, &s->local_port, remote,
               &remote_port, &s->state) != 5)
        return false;
    size_t n = strlen(local), m = strlen(remote);
    if (n < 8 || m < 8 || sscanf(local + n - 8, "%8x", &a) != 1 ||
        sscanf(remote + m - 8, "%8x", &b) != 1)
        return false;
    s->local = ntohl(a);
    s->remote = ntohl(b);
    return s->local_port < 65536;
}

static const char *next_line(const char *p)
{
    const char *end = strchr(p, '\n');
    return end ? end + 1 : p + strlen(p);
}

void use_listens(struct use_count *c, const char *table)
{
    struct sock s;
    for (const char *p = table; *p; p = next_line(p))
        if (sock_read(p, &s) && s.state == TCP_LISTEN)
            c->listens[s.local_port / 8] |= (uint8_t)(1u << s.local_port % 8);
}

void use_connections(struct use_count *c, const char *table, uint32_t own)
{
    struct sock s;
    for (const char *p = table; *p; p = next_line(p)) {
        if (!sock_read(p, &s) || s.state != TCP_ESTABLISHED)
            continue;
        bool inside = s.remote >> 24 == LOOPBACK || s.remote == own || s.remote == s.local ||
                      s.remote >> 16 == LINK_LOCAL || s.remote < 256 /* ::1 */;
        /* a server may close its listening socket while it serves; what the instance opened itself
         * has a port of the ephemeral range */
        bool served =
            s.local_port < EPHEMERAL || (c->listens[s.local_port / 8] & 1u << s.local_port % 8);
        if (inside || !served)
            continue;
        if (s.local_port == SSH_PORT)
            c->ssh++;
        else
            c->ports++;
    }
}

static void count(struct use_count *c, pid_t pid, uint32_t own)
{
    SL_AUTO_BUF struct sl_buf v4 = SL_BUF(TABLE_MAX);
    SL_AUTO_BUF struct sl_buf v6 = SL_BUF(TABLE_MAX);
    char path[PATH_MAX];
    struct sl_err ignored = {0};
    (void)file_read(agent_path(path, "/proc/%d/net/tcp", (int)pid), TABLE_MAX, &v4, &ignored);
    (void)file_read(agent_path(path, "/proc/%d/net/tcp6", (int)pid), TABLE_MAX, &v6, &ignored);
    use_listens(c, sl_buf_str(&v4));
    use_listens(c, sl_buf_str(&v6));
    use_connections(c, sl_buf_str(&v4), own);
    use_connections(c, sl_buf_str(&v6), own);
}

/* The busiest of the lease's devices; -1: no counter. */
static int gpu_percent(const struct agent *a, const struct lease_spec *s)
{
    struct topology t;
    struct sl_err ignored = {0};
    int most = -1;
    if (a->emulate || s->cards_n == 0 || topology_read(a->kfd_root, &t, &ignored) < 0)
        return -1;
    for (int i = 0; i < s->cards_n; i++) {
        const struct topo_card *c = s->cards[i] < t.cards_n ? &t.cards[s->cards[i]] : NULL;
        for (int d = 0; c && d < c->n; d++) {
            char path[PATH_MAX];
            int v;
            agent_path(path, "/sys/class/drm/renderD%d/device/gpu_busy_percent",
                       (int)t.devices[c->devices[d]].render_minor);
            FILE *f = fopen(path, "re");
            if (f && fscanf(f, "%d", &v) == 1 && v >= 0 && v <= 100 && v > most)
                most = v;
            if (f)
                fclose(f);
        }
    }
    topology_free(&t);
    return most;
}

static int64_t cpu_permille(struct use *u, const char *lease)
{
    int64_t cpu = cgroup_cpu_us(lease), now = agent_mono_ms(), share = 0;
    if (u->at_ms && cpu >= u->cpu_us && now > u->at_ms)
        share = (cpu - u->cpu_us) / (now - u->at_ms);
    u->cpu_us = cpu;
    u->at_ms = now;
    return share; /* microseconds in a millisecond: thousandths of one CPU */
}

const char *use_look(struct use *u, const struct agent *a, const struct lease_spec *s, pid_t pid,
                     char json[USE_JSON])
{
    struct use_count *c = sl_alloc(sizeof *c);
    int gpu = gpu_percent(a, s);
    char text[16] = "null";
    count(c, pid, a->net_base + 2 + (uint32_t)s->slot);
    if (gpu >= 0)
        snprintf(text, sizeof text, "%d", gpu);
    snprintf(json, USE_JSON, "{\"ssh\":%d,\"ports\":%d,\"cpu_permille\":%lld,\"gpu_percent\":%s}",
             c->ssh, c->ports, (long long)cpu_permille(u, s->lease), text);
    free(c);
    return json;
}
