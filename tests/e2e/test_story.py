#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Two instances of one account with 1 and 2 cards, as a renter meets them: the command line, a real starleased that is
nobody special, a real agent with real containers. Isolation of the GPUs, the shared drive, stop and start, the bill,
and nothing left on the host."""
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from agent import Agent, footprint, put_node, small_root  # noqa: E402
from starlease import USER, Server  # noqa: E402
from tap import BUILD, Tap, wait_for  # noqa: E402

t = Tap()
if os.getuid() != 0:
    t.skip("two instances of one account", "it needs root")
    t.done()
NOBODY = pwd.getpwnam(USER).pw_uid
home = tempfile.mkdtemp(prefix="starlease-story-")
os.chmod(home, 0o711)
key = os.path.join(home, "key")
subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "story", "-f", key], check=True)


class Person:
    def __init__(self, name, server):
        self.env = {"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8", "STARLEASE_CONFIG": f"{home}/{name}.config",
                    "STARLEASE_URL": f"http://127.0.0.1:{server.port}", "STARLEASE_PASSWORD": "correct horse battery"}

    def call(self, *args):
        return subprocess.run([f"{BUILD}/starlease", *args], env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=180)

    def __call__(self, *args):
        p = self.call(*args)
        if p.returncode:
            raise AssertionError(f"starlease {' '.join(args)}: {p.returncode}\n{p.stdout}{p.stderr}")
        return p.stdout

    def json(self, *args):
        return json.loads(self(*args, "-o", "json"))

    def inside(self, lease, script):
        return self("exec", "-i", key, lease, "sh", "-c", script)


def uids_of(server):
    """Every uid that any thread of the daemon has."""
    seen = set()
    for task in os.listdir(f"/proc/{server.proc.pid}/task"):
        with open(f"/proc/{server.proc.pid}/task/{task}/status") as f:
            seen |= set(re.search(r"^Uid:\s+(.*)$", f.read(), re.M).group(1).split())
    return seen


def cards(me, lease, agent):
    """Granted nodes open as far as the driver, every other number is refused, whatever the tenant tries."""
    show = me.json("show", lease)
    minors = sorted(128 + 8 * c for c in show["cards"])
    names = me.inside(lease, "ls /dev/dri").split()
    t.equal(names, [f"renderD{m}" for m in minors], f"{lease}: exactly the leased render nodes are there")
    out = me.inside(lease, "for d in /dev/kfd /dev/dri/*; do cat $d 2>&1 || true; done")
    t.equal(out.count("No such device or address"), 1 + len(minors), f"{lease}: granted nodes open (ENXIO, there is no driver)")
    number = int(me.inside(lease, "stat -c %t /dev/kfd"), 16)
    others = [128 + 8 * c for c in range(8) if c not in show["cards"]]
    out = me.inside(lease, "".join(f"mknod /tmp/m{m} c {number} {m} 2>&1; mknod /dev/m{m} c {number} {m} 2>&1; " for m in others) + "true")
    t.equal(out.count("Operation not permitted"), 2 * len(others), f"{lease}: mknod of every other card fails")
    run = f"{agent.run}/leases/{show['id']}/state.json"
    with open(run) as f:
        pid = json.load(f)["pid"]
    with open(f"/proc/{pid}/uid_map") as f:
        uid = int(f.read().split()[1])
    put_node(pid, uid, f"{agent.dir}/n-{show['id']}-{show['epoch']}", number, others[0], "leak")
    out = me.inside(lease, "cat /dev/leak 2>&1 || true")
    t.ok("Operation not permitted" in out, f"{lease}: even a node that leaked in is refused (EPERM)", out)


def story(agent, server):
    op = server.operator()
    operator = Person("operator", server)
    operator.env["STARLEASE_TOKEN"] = op.token
    operator("node", "enrol", f"unix:{agent.socket}")
    wait_for(lambda: operator.json("node", "list")["items"][0]["state"] == "available", 60, "the node to be available")
    operator("image", "import", "busy", small_root(agent.dir))

    me = Person("ann", server)
    me("signup", "ann@example.com")
    me("verify", "ann@example.com", server.mailed_code("ann@example.com"))
    me("login", "ann@example.com")
    me("trial")
    me("key", "add", key + ".pub")
    t.equal(me.json("wallet", "show")["available"], "10.00", "the trial credit is CNY 10")
    me("run", "--yes", "--gpu", "MI300X:1", "--disk", "1", "--name", "one", "busy")
    me("run", "--yes", "--gpu", "MI300X:2", "--disk", "1", "--name", "two", "busy")
    one, two = me.json("show", "one"), me.json("show", "two")
    t.ok(one["emulated"] and two["emulated"], "emulated hardware says so")
    t.ok(not set(one["cards"]) & set(two["cards"]) and len(two["cards"]) == 2, "the cards are different ones", [one["cards"], two["cards"]])
    t.ok("0" not in uids_of(server), "starleased is not root", uids_of(server))

    cards(me, "one", agent)
    cards(me, "two", agent)
    me.inside("one", "echo from one > /shared/note")
    t.equal(me.inside("two", "cat /shared/note; echo from two >> /shared/note"), "from one\n", "the second sees what the first wrote to /shared")
    t.equal(me.inside("one", "cat /shared/note"), "from one\nfrom two\n", "and the first what the second added")
    me.inside("one", "echo work > /root/work")

    me("stop", "one")
    me("start", "--yes", "one")
    again = me.json("show", "one")
    t.equal((again["host_key"], again["ssh"]["port"], again["id"]), (one["host_key"], one["ssh"]["port"], one["id"]),
            "host key, port and id are the same after stop and start")
    t.equal(me.inside("one", "cat /root/work; cat /shared/note"), "work\nfrom one\nfrom two\n", "and so are the disk and the shared drive")
    t.equal(again["epoch"], 2, "it is its second epoch")
    cards(me, "one", agent)

    server.kill()
    server.start()
    t.equal(me.inside("two", "cat /shared/note"), "from one\nfrom two\n", "instances run on while starleased is killed and started again")
    t.equal(me.json("show", "two")["state"], "running", "and are known as running")
    t.ok("0" not in uids_of(server), "starleased is still not root")

    bill = f"{home}/bill.json"
    for lease in ("one", "two"):
        me("stop", lease)
    me("bill", "export", bill)
    out = me("bill", "verify", bill)
    t.ok("agrees to the micro-unit: 3 lines" in out, "the bill has three lines and agrees to the micro-unit", out)
    for lease in ("one", "two"):
        me("rm", "--yes", lease)
    audit = operator.call("audit", "money")
    t.equal(audit.returncode, 0, "the books are right")
    node = lambda: operator.json("node", "list")["items"][0]  # noqa: E731
    wait_for(lambda: node()["free"] == 8, 60, "all cards to be free again")
    t.equal(node()["account"], None, "the node belongs to nobody again")
    certificates = operator.json("api", "GET", "/v1/certificates?node=test")["items"]
    t.ok(len(certificates) == 3 and all(c["emulated"] and c["result"] == "clean" for c in certificates),
         "each hand-back left a certificate that says clean and emulated", certificates)


agent = Agent(options=["--allow-uid", str(NOBODY)])
agent.prefix = "lea_01"  # real ids here: the server chooses them, and they begin with the time
try:
    agent.start()
    before = footprint(agent)
    with Server(conf={"lease": {"heartbeat": "1s"}, "node": {"port_base": agent.port_base, "ssh_host": "127.0.0.1"}}) as server:
        t.run("the story ends without an exception", story, agent, server)
        after = footprint(agent)
        t.equal(after, before, "no mount, loop device, namespace, link, rule, group or process is left on the host")
finally:
    agent.close()
    shutil.rmtree(home, ignore_errors=True)
t.done()
