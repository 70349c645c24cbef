#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Leases on simulated nodes through the real server and its HTTP interface."""
import os
import sys

for folder in ("lib", "api"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", folder))
from checked import checked  # noqa: E402
from fleet import Fleet, add_key, launch, nodes, pages, reach  # noqa: E402
from starlease import Server  # noqa: E402
from tap import Tap, wait_for  # noqa: E402

t = Tap()
CONF = {"lease": {"heartbeat": "1s", "meter": "1s", "reconcile": "1s"}, "trial": {"amount": "10"}}


def idle(op):
    return all(n["free"] == n["cards"] and n["account"] is None for n in nodes(op))


with Server(conf=CONF) as s, Fleet(s, nodes=2) as f:
    op = checked(s.operator())  # every answer is held against the OpenAPI document
    f.enrol(op)
    ann = checked(s.renter("ann@example.com"))
    add_key(ann)

    lease = launch(ann, gpus=2, name="train")
    t.equal(lease["state"], "placed", "a create answers at once with the place it got")
    up = reach(ann, lease, "running")
    t.ok(up["billed"] and up["ready"] and up["emulated"], "it runs, is billed from ready, and says that it is emulated")
    t.equal([x["step"] for x in up["timeline"]], ["requested", "placed", "starting", "running"],
            "the timeline shows every step with its seconds")
    t.equal(ann.must("GET", "/v1/leases/train")["id"], lease["id"], "an instance is found by its name")
    wait_for(lambda: float(ann.must("GET", "/v1/leases/train")["cost_so_far"]) > 0, 20, "a cost")
    t.ok(True, "its cost grows while it runs")
    t.equal(len([n for n in nodes(op) if n["account"]]), 1, "one node is held for the account")

    s.kill()
    s.start()
    t.equal(ann.must("GET", "/v1/leases/train")["state"], "running", "it runs on when the server was killed and started")

    stopped = ann.must("POST", "/v1/leases/train/stop")
    t.ok(not stopped["billed"], "billing ends when the stop is accepted")
    down = reach(ann, lease, "stopped")
    wait_for(lambda: idle(op), 20, "cards to be sanitized")
    t.ok(True, "cards come back only after they were sanitized")
    certificates = pages(op, "/v1/certificates")
    t.ok(len(certificates) == 1 and certificates[0]["result"] == "clean" and certificates[0]["emulated"],
         "a certificate says what was wiped, and that the node is emulated")
    again = ann.must("POST", "/v1/leases/train/start")
    t.equal(again["epoch"], 2, "a stopped instance starts again in the next epoch")
    up2 = reach(ann, lease, "running")
    t.equal((up2["ssh"], up2["host_key"]), (up["ssh"], up["host_key"]), "with the same port and host key")
    ann.must("POST", "/v1/leases/train/stop")
    reach(ann, lease, "stopped")
    gone = ann.must("DELETE", "/v1/leases/train")
    t.equal(gone["state"], "released", "a released instance is over")
    disk = ann.must("GET", "/v1/volumes")["items"][0]
    t.ok(disk["state"] == "deleted" and disk["purge_after"], "its disk is a tombstone with a date")
    status, body = ann.delete(f"/v1/volumes/{disk['id']}?purge=wrong")
    t.equal(status, 400, "purging needs the disk's own id as second key")
    ann.must("DELETE", f"/v1/volumes/{disk['id']}?purge={disk['id']}")
    wait_for(lambda: ann.must("GET", "/v1/volumes/" + disk["id"])["state"] == "purged", 20, "purge")
    t.ok(True, "with it the data is removed on the node")

    bob = s.renter("bob@example.com")
    add_key(bob)
    for path, method in (("", "GET"), ("/stop", "POST"), ("/start", "POST"), ("", "DELETE"), ("/logs", "GET")):
        status, _ = bob.call(method, f"/v1/leases/{lease['id']}{path}", {} if method == "POST" else None)
        t.equal(status, 404, f"another account's instance does not exist: {method} {path or '/'}")

    t.ok(ann.must("GET", "/v1/operations?ref=" + lease["id"])["items"], "what was done for it can be looked up")
    t.ok("prints nothing" in ann.must("GET", f"/v1/leases/{lease['id']}/logs")["text"], "its output can be read")
    t.ok(ann.must("GET", "/v1/images")["items"][0]["digest"].startswith("sha256:"), "images have digests")
    t.equal(len(ann.must("GET", "/v1/leases?state=released")["items"]), 1, "instances can be listed by state")

    lost = launch(ann, gpus=1, name="lost")
    reach(ann, lost, "running")
    running_on = reach(ann, lost, "running")["node"]
    wait_for(lambda: ann.must("GET", "/v1/leases/lost")["last_heartbeat"], 10, "heartbeats")
    wait_for(lambda: reach(ann, lost, "running")["state"] == "running", 1, "running")
    for _ in range(3):
        f.rpc(op="lease.stop", node=running_on, lease=lost["id"], epoch=1, grace_s=0)
    l = reach(ann, lost, "stopped", 40)
    t.ok(l["reason"].startswith("host_lost"), "an instance that its node lost is stopped with the reason", l["reason"])

    orphan = "lea_" + "0" * 26
    f.rpc(op="lease.start", node="sim-00002", lease=orphan, epoch=1, cards=[7], image="debian", report_url="http://127.0.0.1:9/", token="x",
          heartbeat_s=60)
    wait_for(lambda: not any(x["lease"] == orphan for x in f.rpc(op="lease.list", node="sim-00002")["ok"]["leases"]), 20, "orphan")
    t.ok(True, "what a node runs without being told to is stopped there")

    name = nodes(op)[0]["name"]
    t.equal(op.must("POST", f"/v1/nodes/{name}/drain")["state"], "draining", "a node can be drained")
    t.equal(op.must("POST", f"/v1/nodes/{name}/resume")["state"], "testing", "and is tested before it is rented again")
    wait_for(lambda: op.must("GET", f"/v1/nodes/{name}")["state"] == "available", 20, "available")
    t.equal(ann.get("/v1/nodes")[0], 403, "renters do not see the nodes")

    wait_for(lambda: idle(op), 30, "everything to be free")
    seen = f.state()
    t.equal((seen["doubled"], seen["unclean"], seen["sanitized_in_use"]), (0, 0, 0),
            "no node was ever asked for the impossible")
    audit = op.must("GET", "/v1/audit/money")
    t.ok(audit["ok"], "the audit of the money holds", [c for c in audit["checks"] if not c["ok"]])
    t.equal(s.run("--audit").returncode, 0, "also as a program of its own")
t.done()
