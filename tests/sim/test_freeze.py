#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An operator freezes an account: what runs stops, nothing starts, the renter reads why and keeps his disks."""
import os
import sys

for folder in ("lib", "api"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", folder))
from checked import checked  # noqa: E402
from fleet import Fleet, add_key, launch, reach  # noqa: E402
from starlease import Server  # noqa: E402
from tap import Tap  # noqa: E402

t = Tap()
with Server(conf={"lease": {"heartbeat": "1s", "meter": "1s", "reconcile": "1s"}}) as s, Fleet(s, nodes=2) as f:
    op = checked(s.operator())
    f.enrol(op)
    ann, bob = checked(s.renter("ann@example.com")), checked(s.renter("bob@example.com"))
    add_key(ann), add_key(bob)
    mine, his = launch(ann, name="train"), launch(bob, name="other")
    reach(ann, mine, "running"), reach(bob, his, "running")
    where = f"/v1/accounts/{ann.account}"
    status, body = ann.post(where + "/freeze", {"reason": "me"})
    t.equal(status, 403, "a renter freezes nobody")
    status, body = op.post(where + "/freeze", {})
    t.ok(status == 400 and body["field"] == "reason", "without a reason nothing is frozen", body)
    frozen = op.must("POST", where + "/freeze", {"reason": "stolen card"})
    t.equal((frozen["state"], frozen["state_reason"]), ("frozen", "stolen card"), "the account is frozen, with its reason")
    down = reach(ann, mine, "stopped")
    t.ok(not down["billed"] and "stolen card" in down["reason"], "what ran is stopped, and says why", down["reason"])
    t.equal(bob.must("GET", "/v1/leases/other")["state"], "running", "others notice nothing")
    t.equal(ann.must("GET", "/v1/volumes")["items"][0]["state"], "available", "the disk stays")
    status, body = ann.post("/v1/leases/train/start")
    t.ok(status == 403 and "stolen card" in body["detail"], "a start is refused with the reason", body)
    quote = ann.must("POST", "/v1/quotes", {"model": "MI300X", "gpus": 1, "image": "debian", "disk_gb": 10})
    status, body = ann.post("/v1/leases", {"quote": quote["id"]})
    t.ok(status == 403 and "frozen" in body["detail"], "so is a new instance", body)
    t.equal(ann.must("GET", "/v1/account")["state_reason"], "stolen card", "the renter reads why")
    ann.must("GET", "/v1/statements")
    before = len([e for e in op.must("GET", "/v1/events?after=0&limit=100")["items"] if e["type"] == "account.frozen"])
    op.must("POST", where + "/freeze", {"reason": "stolen card"})
    after = len([e for e in op.must("GET", "/v1/events?after=0&limit=100")["items"] if e["type"] == "account.frozen"])
    t.equal((before, after), (1, 1), "freezing twice is one event")
    t.equal(op.post("/v1/accounts/" + op.must("GET", "/v1/account")["id"] + "/freeze", {"reason": "x"})[0], 409, "an operator is not frozen")
    t.equal(op.post("/v1/accounts/acc_nobody/freeze", {"reason": "x"})[0], 404, "nor is nobody")
    t.equal(op.must("POST", where + "/unfreeze")["state"], "active", "it is unfrozen")
    ann.must("POST", "/v1/leases/train/start")
    reach(ann, mine, "running")
    t.ok(op.must("GET", "/v1/audit/money")["ok"], "the audit holds")
t.done()
