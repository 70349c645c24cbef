#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Nodes that do not answer, that fail starts, and instances that end by themselves."""
import os
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from fleet import Fleet, add_key, launch, nodes, reach  # noqa: E402
from starlease import Server  # noqa: E402
from tap import Tap, wait_for  # noqa: E402

t = Tap()
CONF = {"lease": {"heartbeat": "1s", "meter": "1s", "reconcile": "1s"}, "server": {"drain": "1s"}}


def wallet(renter):
    w = renter.must("GET", "/v1/wallet")
    return w["available"], w["held"]


def silence(s):
    with Fleet(s, nodes=1) as f:
        op = s.operator()
        f.enrol(op)
        ann = s.renter("ann@example.com")
        add_key(ann)
        lease = launch(ann, name="a")
        reach(ann, lease, "running")
        os.rename(f.socket, f.socket + ".away")
        wait_for(lambda: nodes(op)[0]["health"] == "unknown", 20, "health unknown")
        t.equal(ann.must("GET", "/v1/leases/a")["state"], "running", "a node that does not answer is unknown and keeps its tenants")
        quote = ann.must("POST", "/v1/quotes", {"model": "MI300X", "gpus": 1, "image": "debian", "disk_gb": 1})
        status, answer = ann.post("/v1/leases", {"quote": quote["id"]})
        t.equal((status, answer["code"]), (503, "no_capacity"), "but gets no new one")
        ann.must("POST", "/v1/leases/a/stop")
        t.equal(wallet(ann)[1], "0.00", "a stop ends billing and frees the funds although the node is silent")
        t.equal(nodes(op)[0]["leased"], 1, "its card stays taken until the node proves that nothing remains")
        os.rename(f.socket + ".away", f.socket)
        reach(ann, lease, "stopped", 40)
        wait_for(lambda: nodes(op)[0]["free"] == 8 and nodes(op)[0]["health"] == "good", 40, "the node to be back")
        t.ok(True, "when it answers again, all is cleaned up")


def faults(s):
    with Fleet(s, nodes=1, options=["--fail-start", 1000]) as f:
        op = s.operator("op2@example.com")
        f.enrol(op)
        bob = s.renter("bob@example.com")
        add_key(bob)
        before = wallet(bob)
        for i in range(3):
            lease = launch(bob, gpus=2)
            failed = reach(bob, lease, "failed")
            wait_for(lambda: nodes(op)[0]["free"] == 8, 20, "cards")
        t.equal((failed["cost_so_far"], failed["ready"]), ("0.00", None), "a start that fails costs nothing")
        t.ok("start failed" in failed["reason"], "and says why", failed["reason"])
        t.equal(wallet(bob), before, "its hold is given back")
        wait_for(lambda: nodes(op)[0]["state"] == "quarantined", 10, "quarantine")
        t.ok(True, "three failed starts in a row quarantine the node")
        wait_for(lambda: all(v["state"] == "purged" for v in bob.must("GET", "/v1/volumes")["items"]), 20, "disks")
        t.ok(True, "disks of starts that failed are gone")


def exits(s):
    with Fleet(s, nodes=1, options=["--exit", 1000]) as f:
        op = s.operator("op3@example.com")
        f.enrol(op)
        eve = s.renter("eve@example.com")
        add_key(eve)
        done = reach(eve, launch(eve), "stopped")
        t.ok(done["reason"].startswith("exited with status 3"), "an instance that ends by itself is stopped with its status",
             done["reason"])
        t.ok(float(done["cost_so_far"]) < 0.01, "and billed no longer")


def hang(s):
    """An agent that accepts and never answers must not keep the server from ending."""
    path = os.path.join(s.dir, "hung.sock")
    with socket.socket(socket.AF_UNIX) as hung:
        hung.bind(path)
        os.chmod(path, 0o666)
        hung.listen(8)
        s.operator("op4@example.com").must("POST", "/v1/nodes", {"name": "hung", "addr": "unix:" + path})
        hung.settimeout(20)
        held = hung.accept()
        t0 = time.monotonic()
        code = s.stop()
        t.equal(code, 0, "the server ends on SIGTERM although a node hangs")
        print(f"# after {time.monotonic() - t0:.1f} s")
        held[0].close()


for fn in (silence, faults, exits, hang):
    with Server(conf=CONF) as server:
        t.run(fn.__name__, fn, server)
t.done()
