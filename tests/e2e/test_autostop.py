#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Timers of an instance, as a renter meets them: the command line, a real starleased, a real agent with real
containers. A TTL bills to the second; an instance that nobody uses stops, one with an SSH session or a connection to a
port does not; stop and delete have timers of their own; each is told ahead."""
import json
import os
import pwd
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from agent import Agent, footprint, small_root  # noqa: E402
from person import Person  # noqa: E402
from starlease import USER, Server  # noqa: E402
from tap import Tap, wait_for  # noqa: E402

t = Tap()
if os.getuid() != 0:
    t.skip("timers of an instance", "it needs root")
    t.done()


def seconds_of(me, lease):
    """Billed seconds of the lease, from the statement."""
    lines = me.json("api", "GET", "/v1/statements")["statement"]["lines"]
    return [x["seconds"] for x in lines if x["lease"] == lease]


def mails(server, text):
    out = []
    for f in os.listdir(server.spool):
        with open(os.path.join(server.spool, f)) as h:
            out += [f] if text in h.read() else []
    return out


def ttl(me, server):
    out = me.call("run", "--yes", "--gpu", "MI300X:1", "--disk", "1", "--name", "short", "--ttl", "4s", "--delete-after", "7d", "busy")
    t.equal(out.returncode, 0, "run takes timers")
    lease = me.json("show", "short")["id"]
    down = wait_for(lambda: (lambda l: l if l["state"] == "stopped" else None)(me.json("show", "short")), 60, "the TTL to stop it")
    t.ok(down["reason"].startswith("ttl: the 4 s"), "the reason of the stop says TTL", down["reason"])
    t.equal(seconds_of(me, lease), [4], "a TTL of 4 s bills 4 seconds")
    t.ok(down["autostop"]["deleted_at"], "the delete timer is another one, and counts from the stop")
    wait_for(lambda: mails(server, "Instance short stops soon"), 30, "the mail")
    t.ok(True, "the stop was told ahead by mail")
    t.ok("lease.stops_soon" in me("events", "--limit", "100"), "and by an event")
    me("autostop", "short", "--delete-after", "2s")
    wait_for(lambda: not any(x["id"] == lease and x["state"] == "stopped" for x in me.json("ps", "--all")["items"]), 60, "the deletion")
    disk = [v for v in me.json("volume", "list")["items"] if v["lease"] == lease][0]
    t.equal((me.json("show", lease)["state"], disk["state"]), ("released", "deleted"), "a delete timer releases it; the disk is a tombstone")


def refused(me):
    bad = []
    for args in (["--ttl", "soon"], ["--idle", "-1s"], ["--budget", "x"], ["--delete-after", "99999d"], ["--ttl", "1e3"]):
        p = me.call("autostop", "used", *args)
        bad += [(args, p.returncode, p.stderr)] if p.returncode != 2 else []
    t.equal(bad, [], "bad timers are refused with exit status 2")
    t.ok("has no timers" in me("autostop", "used"), "an instance without timers says so")


def state(me, lease):
    return me.json("show", lease)["state"]


def idle(me, agent):
    """Idle for 3 s in a row: no SSH, no connection from outside, no CPU."""
    me("run", "--yes", "--gpu", "MI300X:1", "--disk", "1", "--name", "used", "busy", "sh", "-c",
       "while true; do tail -f /dev/null | nc -l -p 9000 >/dev/null; done")
    refused(me)
    show = me.json("show", "used")
    session = subprocess.Popen(["ssh", "-i", me.key, "-p", str(show["ssh"]["port"]), "-o", "StrictHostKeyChecking=no", "-o",
                                "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-o", "BatchMode=yes", "root@127.0.0.1", "cat"],
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    wait_for(lambda: (me.json("autostop", "used", "--idle", "1h")["autostop"]["use"] or {}).get("ssh"), 60, "the session to be seen")
    me("autostop", "used", "--idle", "3s")
    quiet = time.monotonic() + 6
    wait_for(lambda: time.monotonic() > quiet, 30)
    t.equal(state(me, "used"), "running", "an instance with an SSH session is not idle")
    address = f"10.{agent.subnet.split('.')[1]}.0.{2 + int(show['ssh']['port']) - agent.port_base}"
    port = socket.create_connection((address, 9000), 20)  # as a browser does that looks at a notebook
    wait_for(lambda: me.json("show", "used")["autostop"]["use"]["ports"], 60, "the connection to be seen")
    session.stdin.close()
    session.wait(20)
    wait_for(lambda: me.json("show", "used")["autostop"]["use"]["ssh"] == 0, 60, "the session to be over")
    quiet = time.monotonic() + 6
    wait_for(lambda: time.monotonic() > quiet, 30)
    seen = me.json("show", "used")
    t.equal(seen["state"], "running", "nor is one with a connection to a port on which it listens")
    t.ok(seen["autostop"]["use"]["gpu_percent"] is None, "the use of emulated GPUs is unknown, and says so")
    port.close()
    down = wait_for(lambda: (lambda l: l if l["state"] == "stopped" else None)(me.json("show", "used")), 60, "idleness to stop it")
    t.ok(down["reason"].startswith("idle: no use was seen for 3 s") and "GPU use is not known" in down["reason"],
         "without both it stops, and the reason says what was looked at", down["reason"])

    me("run", "--yes", "--gpu", "MI300X:1", "--disk", "1", "--name", "works", "--idle", "3s", "busy", "sh", "-c", "while true; do :; done")
    quiet = time.monotonic() + 7
    wait_for(lambda: time.monotonic() > quiet, 30)
    busy = me.json("show", "works")
    t.ok(busy["state"] == "running" and busy["autostop"]["use"]["cpu_permille"] >= 50, "a job that computes is not idle, though nobody is logged in", busy["autostop"])
    me("stop", "works")


def story(agent, server):
    op = server.operator()
    operator = Person("operator", server, token=op.token)
    operator("node", "enrol", f"unix:{agent.socket}")
    wait_for(lambda: operator.json("node", "list")["items"][0]["state"] == "available", 60, "the node to be available")
    operator("image", "import", "busy", small_root(agent.dir))
    with Person.renter("ann@example.com", server) as me:
        ttl(me, server)
        idle(me, agent)
        for lease in ("used", "works"):
            me("rm", "--yes", lease)
    audit = operator.call("audit", "money")
    t.equal(audit.returncode, 0, "the books are right")
    metrics = op.get("/metrics")[1]
    t.ok("\nstarlease_autostops_total 2" in metrics, "the metric counts two stops by timers", [x for x in metrics.splitlines() if "autostop" in x])
    wait_for(lambda: json.loads(operator("node", "list", "-o", "json"))["items"][0]["free"] == 8, 60, "all cards to be free again")


agent = Agent(options=["--allow-uid", str(pwd.getpwnam(USER).pw_uid)])
agent.prefix = "lea_01"  # real ids here: the server chooses them, and they begin with the time
try:
    agent.start()
    before = footprint(agent)
    with Server(conf={"lease": {"heartbeat": "1s", "meter": "1s"}, "node": {"port_base": agent.port_base, "ssh_host": "127.0.0.1"}}) as server:
        t.run("the story ends without an exception", story, agent, server)
    t.equal(footprint(agent), before, "nothing is left on the host")
finally:
    agent.close()
t.done()
