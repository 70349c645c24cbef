#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Benchmark records of instances: checked, signed by the control plane, bound to the nonce of the lease."""
import copy
import json
import os
import subprocess
import sys
import tempfile

for folder in ("lib", "api"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", folder))
from checked import checked  # noqa: E402
from fleet import Fleet, add_key, launch, reach  # noqa: E402
from starlease import Server  # noqa: E402
from tap import BUILD, Tap  # noqa: E402

t = Tap()
home = tempfile.mkdtemp(prefix="starlease-record-")
ENV = {"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8"}


def starlease(*args):
    return subprocess.run([f"{BUILD}/starlease", *args], env=ENV, cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60)


def local_record():
    starlease("bench", "run", "--repeats", "3", "--warmup", "0", "--out", "r.json", "kernel", "echo", "same 12.5")
    with open(os.path.join(home, "r.json"), encoding="utf-8") as f:
        return json.load(f)["record"]


def seed_of(nonce):
    import hashlib
    return int.from_bytes(hashlib.sha256(nonce.encode()).digest()[:8], "big") & (2 ** 63 - 1)


def written(name, value):
    with open(os.path.join(home, name), "w", encoding="utf-8") as f:
        json.dump(value, f)
    return name


with Server(conf={"lease": {"heartbeat": "1s", "meter": "1s", "reconcile": "1s"}}) as s, Fleet(s, nodes=2) as f:
    op = checked(s.operator())
    f.enrol(op)
    ann, bob = checked(s.renter("ann@example.com")), s.renter("bob@example.com")
    add_key(ann)
    lease = launch(ann, gpus=1, name="train")
    up = reach(ann, lease, "running")
    record = local_record()
    path = f"/v1/leases/{lease['id']}/records"
    status, body = ann.post(path, {"record": record})
    t.ok(status == 409 and body["field"] == "nonce", "a record of another machine is refused: it lacks the nonce", body)
    record.update(nonce=up["nonce"], seed=seed_of(up["nonce"]))
    made = ann.must("POST", path, {"record": record})
    file = made["file"]
    t.ok(file["signature"] and file["lease"]["id"] == lease["id"] and file["lease"]["emulated"],
         "with the lease's nonce it comes back signed, and says that the instance is emulated")
    key = ann.must("GET", "/v1/key")["public"]
    p = starlease("bench", "verify", "--key", key, written("signed.json", file))
    t.ok(p.returncode == 0 and "signed for lease" in p.stdout, "anybody can verify it, offline", p.stdout + p.stderr)
    p = starlease("bench", "verify", "--key", "0" * 64, "signed.json")
    t.ok(p.returncode == 11 and "key" in p.stderr, "another key is not believed", p.stderr)
    for name, change in (("a sample", lambda d: d["record"]["repeats"][0]["samples"].append("1")),
                         ("the model", lambda d: d["lease"].update(model="H100")),
                         ("the time", lambda d: d.update(received_us=1))):
        forged = copy.deepcopy(file)
        change(forged)
        forged.pop("sha256")
        p = starlease("bench", "verify", "--key", key, written("forged.json", forged))
        t.ok(p.returncode == 11, f"{name} changed after signing is noticed", p.stdout + p.stderr)
    t.equal(ann.must("POST", path, {"record": record})["id"], made["id"], "handing the same record in again makes no second one")
    t.equal([r["id"] for r in ann.must("GET", path)["items"]], [made["id"]], "the instance's records are listed")
    t.equal(ann.must("GET", f"/v1/records/{made['id']}")["file"], file, "a record can be fetched again")
    metric = ann.must("GET", "/v1/leases/train")["metric"]
    t.equal((metric["name"], metric["sha256"]), ("kernel", record["result"]["checksum"]), "it is the instance's first reproducible metric")
    for method, where in (("POST", path), ("GET", path), ("GET", f"/v1/records/{made['id']}")):
        status, _ = bob.call(method, where, {"record": record} if method == "POST" else None)
        t.equal(status, 404, f"another account sees none of it: {method} {where.rsplit('/', 1)[0]}/...")
    lied = copy.deepcopy(record)
    lied["result"]["median"] = "1"
    status, body = ann.post(path, {"record": lied})
    t.ok(status == 400 and body["field"] == "median", "a record whose figures do not follow from its samples is refused", body)
    for bad in (5, {}, [], {"version": 1}):
        status, body = ann.post(path, {"record": bad})
        t.ok(status == 400 and body["detail"], f"no record at all: {json.dumps(bad)} gives one sentence", body)
t.done()
