#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Stop and start as a renter meets them, with real containers: what a stop shows before it acts, a start when the cards
are gone (runpod-python#371: data rescue without a GPU), a run without cards billed at its own price, a new number of
cards at a price that is pinned anew, and a bill that agrees."""
import json
import os
import pwd
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from agent import Agent, footprint, small_root  # noqa: E402
from person import Person  # noqa: E402
from starlease import USER, Server  # noqa: E402
from tap import Tap, wait_for  # noqa: E402

t = Tap()
if os.getuid() != 0:
    t.skip("stop and start", "it needs root")
    t.done()


def preview(me):
    p = me.json("api", "GET", "/v1/leases/big/stop-preview")
    t.equal((p["model"], p["gpus"], p["stock"]["total"], p["stock"]["free"], p["could_start_again"]), ("MI300X", 8, 8, 0, True),
            "before a stop the API tells the stock of the model")
    t.equal((p["disk_per_hour"], p["disk_per_day"], p["disk_per_month"], p["restart_rate_per_hour"]), ("0.10", "2.40", "72.00", "17.60"),
            "and what the disk and the next start cost")
    out = me.call("stop", "big")
    t.ok(out.returncode == 0 and "stock now" in out.stderr and "per month" in out.stderr and "kept until" in out.stderr,
         "stop shows stock, cost of the disk and how long it is kept; without a terminal it stops", out.stderr)


def no_stock(me):
    me("run", "--yes", "--gpu", "MI300X:4", "--disk", "1", "--name", "other", "busy")
    p = me.call("start", "--yes", "big")
    t.ok(p.returncode == 7 and "--no-gpu" in p.stderr and "--gpus 4" in p.stderr, "a start without stock lists what can be had", p.stderr)
    p = me.call("start", "--yes", "big", "-o", "json")
    offers = {o["kind"]: o for o in json.loads(p.stdout)["offers"]}
    t.equal((offers["no_gpu"]["rate_per_hour"], offers["fewer_cards"]["gpus"], offers["fewer_cards"]["rate_per_hour"]), ("0.36", 4, "8.80"),
            "the problem carries the offers with their prices")
    t.equal(me.json("show", "big")["state"], "stopped", "nothing was held or changed by it")


def no_gpu(me):
    bad = me.call("start", "--yes", "--no-gpu", "--gpus", "2", "big").returncode
    t.equal((me.call("start", "--no-gpu", "big").returncode, bad), (2, 2), "a start asks first; --no-gpu and --gpus exclude each other")
    me("start", "--yes", "--no-gpu", "big")
    run = me.json("show", "big")
    t.equal((run["cards"], run["no_gpu"], run["gpus"], run["rate_per_hour"]), ([], True, 8, "0.36"), "without cards it runs, at the price of an instance")
    t.equal(me.inside("big", "cat /root/work; ls /dev/kfd /dev/dri 2>&1 | grep -c 'No such'"), "work\n2\n", "its disk is there, no GPU node is")
    p = me.call("api", "POST", "/v1/leases/big/start", "--body", json.dumps({"no_gpu": True}))
    t.equal(p.returncode, 0, "the same start again changes nothing")
    me("stop", "big")
    line = [x for x in me.json("api", "GET", "/v1/statements")["statement"]["lines"] if x["lease"] == run["id"]][-1]
    t.equal((line["model"], line["rate_micro"], line["charge_micro"]), ("cpu", 360000, 100 * line["seconds"]), "each second is billed at that price, exactly")


def anew(me, operator):
    """Other cards: quoted at the price of today. The lease's own price stays where nothing is asked."""
    operator("api", "POST", "/v1/prices", "--body", json.dumps({"model": "MI300X", "price": "2.00", "currency": "CNY"}))
    me("start", "--yes", "--gpus", "4", "big")
    run = me.json("show", "big")
    t.equal((len(run["cards"]), run["rate_per_hour"]), (4, "8.00"), "with --gpus 4 it has four cards at today's price")
    t.equal(me.inside("big", "cat /root/work"), "work\n", "and its disk")
    me("stop", "big")
    me("stop", "other")
    wait_for(lambda: operator.json("node", "list")["items"][0]["free"] == 8, 60, "clean cards")
    me("start", "--yes", "other")
    t.equal(me.json("show", "other")["rate_per_hour"], "8.80", "a start that asks for nothing keeps the price of the first one")
    p = me.call("start", "--yes", "--model", "H100 SXM", "big")
    t.ok(p.returncode != 0 and ("no price" in p.stderr or "no H100" in p.stderr), "a model that is not where the disk is is refused with the reason", p.stderr)


def disk(me):
    """A GB at 72.00 for 30 days, by the second, running or stopped."""
    show = [v for v in me.json("volume", "list")["items"] if v["name"] == "big"][0]
    t.equal((show["price_per_month"], show["kept_until"]), ("216.00", None), "the disk shows its price, of all its GB")
    line = wait_for(lambda: [x for x in me.json("api", "GET", "/v1/statements")["statement"]["lines"]
                             if x["lease"] == show["id"] and x["seconds"] > 0], 60, "a charge")[0]
    t.equal((line["model"], line["gpus"], line["charge_micro"]), ("disk", 1, (72000000 * line["seconds"] * 2 + 2592000) // (2 * 2592000)),
            "a disk is a line of its own: GB times the tariff, by the second")


def grow_and_snapshots(me):
    """Disks grow, also while they are used (vast: volumes cannot grow); a snapshot brings back what was."""
    me("start", "--yes", "--no-gpu", "big")
    kb = lambda: int(me.inside("big", "df -k / | tail -n 1 | awk '{print $2}'"))  # noqa: E731
    before = kb()
    out = me("volume", "grow", "big", "2")
    t.ok("144.00" in out, "a disk of 2 GB costs what 2 GB cost", out)
    with open("/proc/self/status") as f:
        effective = int([x.split()[1] for x in f if x.startswith("CapEff")][0], 16)
    if effective >> 24 & 1:  # CAP_SYS_RESOURCE
        wait_for(lambda: kb() > before * 3 // 2, 60, "the file system to grow")
        t.equal(me.inside("big", "cat /root/work"), "work\n", "a disk grows while its instance runs, and keeps what is on it")
    else:
        t.skip("a disk grows while its instance runs", "it needs CAP_SYS_RESOURCE; it grows at the next start")
    bad = {s: me.call("volume", "grow", "big", s).returncode for s in ("1", "2", "0", "-5", "x")}
    t.equal(set(bad.values()), {2}, "it never shrinks")
    t.equal(me.call("volume", "grow", "big", "99999").returncode, 6, "the quota of disk holds for it")
    t.equal(me.call("snapshot", "create", "big").returncode, 5, "a snapshot needs a stopped instance")
    me("stop", "big")
    me("snapshot", "create", "big", "--name", "before")
    snap = me.json("snapshot", "list")["items"][0]
    t.ok(snap["state"] == "available" and snap["method"] in ("reflink", "copy"), "a snapshot says whether it shares its blocks or is a copy", snap)
    me("start", "--yes", "--no-gpu", "big")
    t.ok(kb() > before * 3 // 2, "after the next start at the latest the file system is as large as the disk")
    me.inside("big", "rm /root/work; echo other > /root/other; sync")
    t.equal(me.call("snapshot", "restore", "--yes", "before").returncode, 5, "it is not put back under a running instance")
    me("stop", "big")
    t.equal(me.call("snapshot", "restore", "before").returncode, 2, "putting it back is asked for first")
    me("snapshot", "restore", "--yes", "before")
    me("volume", "grow", "big", "3")
    me("start", "--yes", "--no-gpu", "big")
    t.equal(me.inside("big", "cat /root/work; ls /root"), "work\nwork\n", "a snapshot brings back what was on the disk")
    t.ok(kb() > before * 5 // 2, "a disk grows while its instance is stopped, too")
    me("stop", "big")
    sizes = [x["gpus"] for x in me.json("api", "GET", "/v1/statements")["statement"]["lines"] if x["lease"] == snap["volume"]]
    t.equal(sizes, [1, 2, 3], "one line of the bill for each size (cloudstack#6717)")
    t.equal(me("snapshot", "rm", "before").split()[1], "deleted", "a snapshot is deleted")
    t.equal(me.json("snapshot", "list")["items"], [], "and is gone from the list")
    me("snapshot", "create", "big", "--name", "last")


def held_by_another(server, me, bob):
    bob("run", "--yes", "--gpu", "MI300X:1", "--disk", "1", "--name", "bobs", "busy")
    p = me.call("start", "--yes", "--no-gpu", "big")
    t.ok(p.returncode == 7 and "another account holds" in p.stderr, "a node of another account is not shared, not even without cards", p.stderr)
    bob("stop", "bobs")
    t.equal(bob.call("api", "GET", f"/v1/leases/{me.json('show', 'big')['id']}/stop-preview").returncode, 4, "another account's preview is 404")


def story(agent, server):
    op = server.operator()
    operator = Person("operator", server, token=op.token)
    operator("node", "enrol", f"unix:{agent.socket}")
    wait_for(lambda: operator.json("node", "list")["items"][0]["state"] == "available", 60, "the node to be available")
    operator("image", "import", "busy", small_root(agent.dir))
    operator("tariff", "set", "cpu", "0.36")
    operator("tariff", "set", "disk", "72")
    t.ok("72.00" in operator("tariff", "list"), "prices of disk and of a run without cards are listed")
    with Person.renter("ann@example.com", server) as me, Person.renter("bob@example.com", server) as bob:
        me("run", "--yes", "--gpu", "MI300X:8", "--disk", "1", "--name", "big", "busy")
        me.inside("big", "echo work > /root/work")
        preview(me)
        wait_for(lambda: operator.json("node", "list")["items"][0]["free"] == 8, 60, "clean cards")
        no_stock(me)
        no_gpu(me)
        anew(me, operator)
        me("stop", "other")
        wait_for(lambda: operator.json("node", "list")["items"][0]["account"] is None, 60, "a free node")
        held_by_another(server, me, bob)
        snapshots = os.path.join(agent.state, "snapshots")
        grow_and_snapshots(me)
        wait_for(lambda: len(os.listdir(snapshots)) == 1, 60, "the deleted snapshot's file to go")
        disk(me)
        bill = os.path.join(me.home, "bill.json")
        me("bill", "export", bill)
        out = me("bill", "verify", bill)
        t.ok("agrees to the micro-unit" in out, "the bill with its run without cards agrees to the micro-unit", out)
        for lease in ("big", "other"):
            me("rm", "--yes", lease)
        me("volume", "rm", "--purge", "--yes", me.json("snapshot", "list")["items"][0]["volume"])
        wait_for(lambda: os.listdir(snapshots) == [] and me.json("snapshot", "list")["items"] == [], 60, "the purged disk's snapshot to go")
        t.ok(True, "a purged disk takes its snapshots along")
        bob("rm", "--yes", "bobs")
    p = operator.call("audit", "money")
    t.equal(p.returncode, 0, "the books are right" + ("" if p.returncode == 0 else p.stdout))
    node = lambda: operator.json("node", "list")["items"][0]  # noqa: E731
    wait_for(lambda: node()["free"] == 8 and node()["account"] is None, 60, "the node to be nobody's")
    t.ok(True, "the node is nobody's again")


agent = Agent(options=["--allow-uid", str(pwd.getpwnam(USER).pw_uid)])
agent.prefix = "lea_01"  # real ids here: the server chooses them, and they begin with the time
try:
    agent.start()
    before = footprint(agent)
    with Server(conf={"quota": {"gpus": "64"}, "lease": {"heartbeat": "1s", "meter": "1s", "disk_meter": "1s"}, "node": {"port_base": agent.port_base, "ssh_host": "127.0.0.1"}}) as server:
        t.run("the story ends without an exception", story, agent, server)
    t.equal(footprint(agent), before, "nothing is left on the host")
finally:
    agent.close()
t.done()
