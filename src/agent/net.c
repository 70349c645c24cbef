/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/net.h"
#include "base/core/mem.h"
#include "base/io/json.h"
#include "base/io/proc.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/wait.h>

static int ip_batch(const char *text, struct sl_err *err)
{
    const char *argv[] = {"ip", "-batch", "-", NULL};
    return proc_run(&(struct proc){.argv = argv, .input = text, .input_n = strlen(text)}, err);
}

static int nft(const char *text, struct sl_err *err)
{
    const char *argv[] = {"nft", "-f", "-", NULL};
    return proc_run(&(struct proc){.argv = argv, .input = text, .input_n = strlen(text)}, err);
}

static int sysctl_write(const char *path, const char *value)
{
    SL_AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd < 0 ? -1 : write_all(fd, value, strlen(value));
}

static int resolvers_in(const char *path, char out[3][IP_TEXT])
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(65536);
    struct sl_err ignored = {0};
    if (file_read(path, 65536, &b, &ignored) < 0)
        return 0;
    int n = 0;
    struct sl_str rest = {sl_buf_str(&b), b.n}, line;
    while (n < 3 && sl_str_cut(&rest, '\n', &line)) {
        char text[64], ip[64];
        struct in_addr addr;
        snprintf(text, sizeof text, "%.*s", (int)(line.n < 60 ? line.n : 60), line.p);
        if (sscanf(text, "nameserver %63s", ip) == 1 && inet_pton(AF_INET, ip, &addr) == 1 &&
            ntohl(addr.s_addr) >> 24 != 127)
            snprintf(out[n++], IP_TEXT, "%.15s", ip);
    }
    return n;
}

/* Resolvers of the host; one on a loopback address is out of a lease's reach, so where
 * systemd-resolved stands in between, its upstreams. */
static int resolvers(char out[3][IP_TEXT])
{
    int n = resolvers_in("/etc/resolv.conf", out);
    return n ? n : resolvers_in("/run/systemd/resolve/resolv.conf", out);
}

void net_resolv_conf(struct sl_buf *out)
{
    char ips[3][IP_TEXT];
    int n = resolvers(ips);
    for (int i = 0; i < n; i++)
        sl_buf_printf(out, "nameserver %s\n", ips[i]);
}

static void table_text(const struct agent *a, struct sl_buf *b)
{
    char subnet[IP_TEXT + 4], ip[IP_TEXT], ips[3][IP_TEXT];
    const char *br = a->bridge;
    struct in_addr net = {htonl(a->net_base)};
    snprintf(subnet, sizeof subnet, "%s/%d", inet_ntop(AF_INET, &net, ip, sizeof ip), a->net_bits);
    /* "add" makes chains and maps when absent and keeps elements; flushing chains replaces rules.
     */
    sl_buf_printf(b, "add table inet %s\n", br);
    sl_buf_printf(b, "add map inet %s ports { type inet_service : ipv4_addr . inet_service; }\n",
                  br);
    static const char *const chains[][2] = {
        {"prerouting", "type nat hook prerouting priority dstnat;"},
        {"output", "type nat hook output priority -100;"},
        {"postrouting", "type nat hook postrouting priority srcnat;"},
        {"forward", "type filter hook forward priority filter;"},
        {"input", "type filter hook input priority filter;"}};
    for (size_t i = 0; i < SL_COUNT(chains); i++) {
        sl_buf_printf(b, "add chain inet %s %s { %s policy accept; }\n", br, chains[i][0],
                      chains[i][1]);
        sl_buf_printf(b, "flush chain inet %s %s\n", br, chains[i][0]);
    }
    for (int i = 0; i < 2; i++)
        sl_buf_printf(b,
                      "add rule inet %s %s fib daddr type local dnat ip to tcp dport map @ports\n",
                      br, chains[i][0]);
    sl_buf_printf(b, "add rule inet %s postrouting oifname %s ip saddr 127.0.0.0/8 masquerade\n",
                  br, br);
    sl_buf_printf(b, "add rule inet %s postrouting oifname != %s ip saddr %s masquerade\n", br, br,
                  subnet);
    sl_buf_printf(b, "add rule inet %s forward iifname != %s oifname != %s accept\n", br, br, br);
    sl_buf_printf(b, "add rule inet %s forward ct state established,related accept\n", br);
    sl_buf_printf(b, "add rule inet %s forward iifname %s oifname %s drop\n", br, br, br);
    sl_buf_printf(b, "add rule inet %s forward oifname %s ct status dnat accept\n", br, br);
    sl_buf_printf(b, "add rule inet %s forward oifname %s drop\n", br, br);
    int n = resolvers(ips);
    for (int i = 0; i < n; i++)
        sl_buf_printf(b,
                      "add rule inet %s forward ip daddr %s meta l4proto { tcp, udp } th dport "
                      "53 accept\n",
                      br, ips[i]);
    sl_buf_printf(b,
                  "add rule inet %s forward ip daddr { 0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, "
                  "127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.168.0.0/16, 198.18.0.0/15, "
                  "224.0.0.0/3 } drop\n",
                  br);
    sl_buf_printf(b, "add rule inet %s forward meta nfproto ipv6 drop\n", br);
    sl_buf_printf(b, "add rule inet %s input iifname != %s accept\n", br, br);
    sl_buf_printf(b, "add rule inet %s input ct state established,related accept\n", br);
    sl_buf_printf(b, "add rule inet %s input drop\n", br);
}

int net_up(const struct agent *a, struct sl_err *err)
{
    char gw[IP_TEXT], path[PATH_MAX];
    gateway_ip(a, gw);
    if (if_nametoindex(a->bridge) == 0) {
        SL_AUTO_FREE char *text =
            sl_asprintf("link add %s type bridge\naddr add %s/%d dev %s\nlink set %s up\n",
                        a->bridge, gw, a->net_bits, a->bridge, a->bridge);
        if (ip_batch(text, err) < 0)
            return -1;
    }
    /* Packets of the host's own 127.0.0.1:PORT leave by the bridge after DNAT. */
    if (sysctl_write(agent_path(path, "/proc/sys/net/ipv4/conf/%s/route_localnet", a->bridge),
                     "1") < 0 ||
        sysctl_write("/proc/sys/net/ipv4/ip_forward", "1") < 0)
        return sl_fail_errno(err, errno, "switch on IPv4 forwarding");
    sysctl_write(agent_path(path, "/proc/sys/net/ipv6/conf/%s/disable_ipv6", a->bridge), "1");
    SL_AUTO_BUF struct sl_buf b = SL_BUF(16384);
    table_text(a, &b);
    return nft(sl_buf_str(&b), err);
}

void net_down(const struct agent *a)
{
    struct sl_err ignored = {0};
    SL_AUTO_FREE char *table = sl_asprintf("delete table inet %s\n", a->bridge);
    SL_AUTO_FREE char *link = sl_asprintf("link del %s\n", a->bridge);
    nft(table, &ignored);
    ip_batch(link, &ignored);
}

/* Runs in a child that has moved into the container's network namespace. */
static int inside(const struct agent *a, int slot, struct sl_err *err)
{
    char ip[IP_TEXT], gw[IP_TEXT];
    sysctl_write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
    sysctl_write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    SL_AUTO_FREE char *text = sl_asprintf(
        "link set lo up\naddr replace 169.254.169.254/32 dev lo\naddr replace %s/%d dev eth0\n"
        "link set eth0 up\nroute replace default via %s\n",
        slot_ip(a, slot, ip), a->net_bits, gateway_ip(a, gw));
    return ip_batch(text, err);
}

static int run_inside(const struct agent *a, int slot, pid_t pid, struct sl_err *err)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/net", (int)pid);
    SL_AUTO_CLOSE int ns = open(path, O_RDONLY | O_CLOEXEC);
    int fds[2];
    if (ns < 0 || pipe2(fds, O_CLOEXEC) < 0)
        return sl_fail_errno(err, errno, "open %s", path);
    pid_t child = fork();
    if (child == 0) {
        struct sl_err e = {0};
        if (setns(ns, CLONE_NEWNET) < 0)
            sl_fail_errno(&e, errno, "enter the network namespace");
        else
            inside(a, slot, &e);
        (void)!write(fds[1], &e, sizeof e);
        _exit(0);
    }
    close(fds[1]);
    struct sl_err e = {0};
    ssize_t n = child < 0 ? -1 : read(fds[0], &e, sizeof e);
    close(fds[0]);
    int status = 1;
    if (child > 0)
        waitpid(child, &status, 0);
    if (n != (ssize_t)sizeof e || status)
        return sl_fail(err, SL_INTERNAL, "configuring eth0 failed");
    *err = e.code ? e : *err;
    return e.code ? -1 : 0;
}

int net_attach(const struct agent *a, int slot, int host_port, pid_t pid, struct sl_err *err)
{
    char iface[IFACE_TEXT], ip[IP_TEXT];
    slot_iface(a, slot, iface);
    /* The address decides the MAC: the host may remember it from the slot's last lease for 30 s. */
    uint32_t n = a->net_base + 2 + (uint32_t)slot;
    SL_AUTO_FREE char *link = sl_asprintf(
        "link add %s type veth peer name eth0 address 02:51:%02x:%02x:%02x:%02x "
        "netns %d\n"
        "link set %s master %s up\nlink set %s type bridge_slave isolated on\n",
        iface, n >> 24, n >> 16 & 255, n >> 8 & 255, n & 255, (int)pid, iface, a->bridge, iface);
    if (ip_batch(link, err) < 0 || run_inside(a, slot, pid, err) < 0)
        return -1;
    SL_AUTO_FREE char *port = sl_asprintf("add element inet %s ports { %d : %s . 22 }\n", a->bridge,
                                          host_port, slot_ip(a, slot, ip));
    return nft(port, err);
}

int net_detach(const struct agent *a, int slot, int host_port, struct sl_err *err)
{
    char iface[IFACE_TEXT];
    slot_iface(a, slot, iface);
    struct sl_err ignored = {0}, none = {0};
    SL_AUTO_FREE char *get =
        sl_asprintf("get element inet %s ports { %d }\n", a->bridge, host_port);
    SL_AUTO_FREE char *del =
        sl_asprintf("delete element inet %s ports { %d }\n", a->bridge, host_port);
    /* another process may undo the same lease: only an element that stays is an error */
    if (nft(get, &ignored) == 0 && nft(del, &ignored) < 0 && nft(get, &none) == 0) {
        *err = ignored;
        return -1;
    }
    if (net_attached(a, slot)) {
        SL_AUTO_FREE char *link = sl_asprintf("link del %s\n", iface);
        if (ip_batch(link, &ignored) < 0 && net_attached(a, slot)) {
            *err = ignored;
            return -1;
        }
    }
    return 0;
}

bool net_attached(const struct agent *a, int slot)
{
    char iface[IFACE_TEXT];
    return if_nametoindex(slot_iface(a, slot, iface)) != 0;
}

int net_reconcile(const struct agent *a, const int *host_ports, int n, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf out = SL_BUF(1 << 20);
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    const char *argv[] = {"nft", "-j", "list", "map", "inet", a->bridge, "ports", NULL};
    if (proc_run(&(struct proc){.argv = argv, .out = &out}, err) < 0 ||
        jr_open(sl_buf_str(&out), out.n, &doc, err) < 0)
        return -1;
    const struct jr_val *items = jr_get(jr_root(doc), "nftables");
    for (size_t i = 0; i < jr_len(items); i++) {
        const struct jr_val *elems = jr_get(jr_get(jr_at(items, i), "map"), "elem");
        for (size_t e = 0; e < jr_len(elems); e++) {
            int64_t port = jr_i64(jr_at(jr_at(elems, e), 0), -1);
            bool keep = port < 0;
            for (int k = 0; k < n; k++)
                keep = keep || host_ports[k] == port;
            SL_AUTO_FREE char *del =
                sl_asprintf("delete element inet %s ports { %d }\n", a->bridge, (int)port);
            if (!keep && nft(del, err) < 0)
                return -1;
        }
    }
    return 0;
}
