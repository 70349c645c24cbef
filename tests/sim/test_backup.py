#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Backup while 20 instances run, loss of the database, restore: none dies, none is billed twice."""
import glob
import os
import sys

for folder in ("lib", "api"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", folder))
from fleet import Fleet, add_key, launch, pages, reach  # noqa: E402
from starlease import Server  # noqa: E402
from tap import Tap, wait_for  # noqa: E402

t = Tap()
COUNT = 20


def charges(ann):
    return sum(int(l["charge_micro"]) for l in ann.must("GET", "/v1/statements")["statement"]["lines"])


with Server(conf={"lease": {"heartbeat": "1s", "meter": "1s", "reconcile": "1s"}, "trial": {"amount": "1000"},
                  "quota": {"gpus": "100", "leases": "100", "disk_gb": "10000"}}) as s, Fleet(s, nodes=4) as f:
    op = s.operator()
    f.enrol(op)
    ann = s.renter("ann@example.com")
    add_key(ann)
    leases = [launch(ann, gpus=1, name=f"i{i}") for i in range(COUNT)]
    before = {l["id"]: reach(ann, l, "running", 60) for l in leases}
    copy = os.path.join(s.dir, "copy.db")
    p = s.run("--backup", copy)
    t.ok(p.returncode == 0 and os.path.getsize(copy) > 0, "a backup is made while the server runs", p.stdout + p.stderr)
    t.equal(os.stat(copy).st_mode & 0o077, 0, "nobody else may read it")
    p = s.run("--backup", copy)
    t.ok(p.returncode != 0 and "exists" in p.stderr, "a second backup does not overwrite the first", p.stderr)
    p = s.run("--restore", copy)
    t.ok(p.returncode != 0 and "stop it first" in p.stderr, "no restore while the server runs", p.stderr)
    s.kill()
    p = s.run("--restore", copy)
    t.ok(p.returncode != 0 and "exists" in p.stderr, "no restore over a database that is there", p.stderr)
    for name in glob.glob(os.path.join(s.dir, "**", "starlease.db*"), recursive=True):
        os.remove(name)
    bad = os.path.join(s.dir, "bad.db")
    with open(copy, "rb") as i, open(bad, "wb") as o:
        data = bytearray(i.read())
        data[4096 * 3:4096 * 12] = b"\xff" * (4096 * 9)
        o.write(data)
    os.chmod(bad, 0o644)
    p = s.run("--restore", bad)
    t.ok(p.returncode != 0 and not glob.glob(os.path.join(s.dir, "**", "starlease.db"), recursive=True), "a damaged copy is not restored", p.stderr)
    p = s.run("--restore", copy)
    t.ok(p.returncode == 0, "the copy is restored", p.stdout + p.stderr)
    s.start()
    wait_for(lambda: all(ann.must("GET", "/v1/leases/" + i)["state"] == "running" for i in before), 60, "the instances to be found again")
    after = {l["id"]: l for l in pages(ann, "/v1/leases")}
    t.ok(all(after[i]["state"] == "running" and after[i]["ready"] == before[i]["ready"] and after[i]["epoch"] == 1 for i in before),
         f"all {COUNT} instances run on, in the same start")
    for l in leases:
        ann.must("POST", f"/v1/leases/{l['id']}/stop")
    for l in leases:
        reach(ann, l, "stopped", 60)
    lines = ann.must("GET", "/v1/statements")["statement"]["lines"]
    t.equal(len(lines), COUNT, "the statement has one line an instance")
    t.ok(all(x["charge_micro"] == (x["rate_micro"] * x["seconds"] + 1800) // 3600 and 0 <= x["end_us"] - x["start_us"] - x["seconds"] * 1000000 < 1000000
             for x in lines), "every second is billed once", lines[:2])
    t.ok(op.must("GET", "/v1/audit/money")["ok"], "the audit holds")
t.done()
