/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/options.h"
#include "base/core/buf.h"
#include "wire/agent_ops.h"
#include <arpa/inet.h>
#include <errno.h>

#define O(member) offsetof(struct agent_options, member)
const struct cmd_opt agent_option_table[] = {
    {"state", 0, CMD_TEXT, "DIR", "images and disks (/var/lib/starlease-agent)", NULL, O(state)},
    {"run", 0, CMD_TEXT, "DIR", "running leases (/run/starlease)", NULL, O(run)},
    {"socket", 0, CMD_TEXT, "PATH", "Unix socket of the daemon (" AGENT_SOCKET ")", NULL,
     O(socket)},
    {"node", 0, CMD_TEXT, "NAME", "name of this node (the host's name)", NULL, O(node)},
    {"kfd-root", 0, CMD_TEXT, "DIR", "GPU topology (/sys/class/kfd/kfd)", NULL, O(kfd_root)},
    {"dev-root", 0, CMD_TEXT, "DIR", "device nodes (/dev)", NULL, O(dev_root)},
    {"emulate", 0, CMD_FLAG, NULL, "the topology is a recorded one: device nodes without a driver",
     NULL, O(emulate)},
    {"bridge", 0, CMD_TEXT, "NAME", "network bridge and nft table of the leases (slbr0)", NULL,
     O(bridge)},
    {"subnet", 0, CMD_TEXT, "NET/BITS", "addresses of the leases (10.88.0.0/16)", NULL, O(subnet)},
    {"allow-uid", 0, CMD_LIST, "UID", "user that may connect, besides root; may be repeated", NULL,
     O(allow_uid)},
    {"ca-file", 0, CMD_TEXT, "FILE", "certificate that reports to an https:// server trust", NULL,
     O(ca_file)},
    {"supervise", 0, CMD_TEXT, "DIR",
     "stand for the lease of that folder (for the daemon's own use)", NULL, O(supervise)},
    {0}};
#undef O

static int subnet_parse(const char *text, struct agent *a, struct sl_err *err)
{
    char ip[32];
    struct in_addr addr;
    long long bits;
    const char *slash = strchr(text, '/');
    if (!slash || slash - text >= (int)sizeof ip || !sl_parse_i64(slash + 1, &bits) || bits < 8 ||
        bits > 24)
        return sl_fail_at(err, SL_INVALID, "subnet",
                          "subnet: \"%.40s\" must be ADDRESS/BITS with 8 to 24 bits", text);
    snprintf(ip, sizeof ip, "%.*s", (int)(slash - text), text);
    if (inet_pton(AF_INET, ip, &addr) != 1)
        return sl_fail_at(err, SL_INVALID, "subnet", "subnet: \"%.40s\" has no IPv4 address", text);
    a->net_bits = (int)bits;
    a->net_base = ntohl(addr.s_addr) & ~((1u << (32 - bits)) - 1);
    return 0;
}

static int bridge_check(const char *name, struct sl_err *err)
{
    size_t n = strlen(name);
    if (n < 1 || n > AGENT_BRIDGE_MAX ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != n || name[0] < 'a')
        return sl_fail_at(
            err, SL_INVALID, "bridge",
            "bridge: \"%.40s\" must be 1 to %d of a-z, 0-9, _ and begin with a letter", name,
            AGENT_BRIDGE_MAX);
    return 0;
}

int agent_from_options(const struct agent_options *o, struct agent *ret, struct sl_err *err)
{
    static char host[65];
    gethostname(host, sizeof host - 1);
    *ret = (struct agent){
        .state_dir = o->state ? o->state : "/var/lib/starlease-agent",
        .run_dir = o->run ? o->run : "/run/starlease",
        .socket = o->socket ? o->socket : AGENT_SOCKET,
        .node = o->node ? o->node : host,
        .kfd_root = o->kfd_root ? o->kfd_root : "/sys/class/kfd/kfd",
        .dev_root = o->dev_root ? o->dev_root : "/dev",
        .bridge = o->bridge ? o->bridge : "slbr0",
        .ca_file = o->ca_file,
        .emulate = o->emulate,
    };
    const char *const dirs[][2] = {{"state", ret->state_dir}, {"run", ret->run_dir}};
    for (int i = 0; i < 2; i++)
        /* overlay options and crun's command line take these as they are */
        if (dirs[i][1][0] != '/' || strlen(dirs[i][1]) > 200 || strpbrk(dirs[i][1], ",:\\\" \n"))
            return sl_fail_at(err, SL_INVALID, dirs[i][0],
                              "%s: must be an absolute path without blanks, commas, colons",
                              dirs[i][0]);
    for (int i = 0; i < o->allow_uid.n; i++) {
        long long uid;
        if (ret->allow_n == AGENT_ALLOW_MAX || !sl_parse_i64(o->allow_uid.v[i], &uid) || uid < 0 ||
            uid > UINT32_MAX - 1)
            return sl_fail_at(err, SL_INVALID, "allow-uid", "allow-uid: \"%.20s\" is not a user id",
                              o->allow_uid.v[i]);
        ret->allow[ret->allow_n++] = (uid_t)uid;
    }
    if (o->emulate && !o->kfd_root)
        return sl_fail_at(err, SL_INVALID, "emulate",
                          "emulate needs kfd-root, a recorded topology");
    if (agent_name(ret->node, "node", err) < 0 || bridge_check(ret->bridge, err) < 0)
        return -1;
    return subnet_parse(o->subnet ? o->subnet : "10.88.0.0/16", ret, err);
}
