#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of starleased at random instants under 50 concurrent renters on simulated nodes. The oracle is the
renters' own journal, written by another process.

    N=2000 SEED=7 tests/sim/test_kill_storm.py       `make torture` runs more of it
"""
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from decimal import Decimal

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from fleet import Fleet, add_key, nodes, pages  # noqa: E402
from starlease import Client, Server  # noqa: E402
from tap import Tap, wait_for  # noqa: E402

N = int(os.environ.get("N", "200"))
SEED = int(os.environ.get("SEED", "0")) or random.SystemRandom().randrange(1, 1 << 30)
ACCOUNTS, WORKERS, NODES, CARDS = 10, 50, 20, 8
UP_MIN_S, UP_MAX_S = 0.005, 0.4
FAULTS = ["--seed", SEED, "--start-ms", 60, "--fail-start", 8, "--never-ready", 8, "--lose-reply", 20, "--exit", 5]
CONF = {"lease": {"heartbeat": "1s", "meter": "1s", "reconcile": "1s", "workers": "8"}, "server": {"log_level": "warn"},
        "quota": {"gpus": "24", "leases": "64", "disk_gb": "100000"}}
t = Tap()
print(f"# N={N} SEED={SEED}", flush=True)


def read_journal(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


def storm(s, f, op, accounts):
    """Starts the clients, kills the server N times, returns the journal."""
    rng = random.Random(SEED)
    plan = {"port": s.port, "workers": WORKERS, "operator": op.token, "seed": SEED, "journal": os.path.join(s.dir, "journal"),
            "stop": os.path.join(s.dir, "stop-storm"), "accounts": [{"id": a.account, "token": a.token} for a in accounts]}
    with open(os.path.join(s.dir, "plan.json"), "w") as out:
        json.dump(plan, out)
    clients = subprocess.Popen(["/usr/bin/python3", os.path.join(os.path.dirname(os.path.abspath(__file__)), "storm_clients.py"),
                                out.name], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    t0 = time.monotonic()
    for i in range(N):
        time.sleep(rng.uniform(UP_MIN_S, UP_MAX_S))
        s.kill()
        s.start()
        if clients.poll() is not None:
            raise AssertionError("the clients ended early")
        if i % 20 == 19:
            resume(op)
    print(f"# {N} kills in {time.monotonic() - t0:.0f} s", flush=True)
    open(plan["stop"], "w").close()
    out, _ = clients.communicate(timeout=120)
    print("# " + out.strip(), flush=True)
    t.equal(clients.returncode, 0, "every call of every renter got a definite answer")
    return read_journal(plan["journal"])


def resume(op):
    """Planned faults quarantine nodes now and then; an operator brings them back."""
    for n in nodes(op):
        if n["state"] == "quarantined":
            op.post(f"/v1/nodes/{n['name']}/resume")


def settle(op, accounts):
    """Stops everything and waits until every card is free again."""
    def quiet():
        resume(op)
        busy = 0
        for a in accounts:
            for l in pages(a, "/v1/leases"):
                if l["state"] in ("requested", "queued", "placed", "starting", "running"):
                    a.post(f"/v1/leases/{l['id']}/stop")
                busy += l["state"] not in ("stopped", "released", "failed")
        return busy == 0
    wait_for(quiet, 90, "every instance to be stopped")
    def free():
        resume(op)
        return all(n["state"] == "available" and n["free"] == CARDS and n["account"] is None for n in nodes(op))
    try:
        wait_for(free, 90, "every card to be free")
        return None
    except TimeoutError:
        return [n for n in nodes(op) if n["free"] != CARDS or n["state"] != "available"]


def check(s, f, op, accounts, journal):
    kinds = Counter(row["op"] for row in journal)
    t.ok(kinds["create"] >= N // 2 and kinds["topup"] >= N // 2 and kinds["stop"] >= N // 4,
         "the storm did real work between the kills", kinds)
    t.equal([r for r in journal if r["op"] in ("server_error", "client_died")][:3], [], "no call ended in a server error")
    created = {r["lease"]: r for r in journal if r["op"] == "create"}
    there = {l["id"]: l for a in accounts for l in pages(a, "/v1/leases")}
    t.equal(sorted(set(created) - set(there)), [], "no acknowledged instance is lost")
    t.equal(sorted(set(there) - set(created)), [], "no instance exists that nobody asked for")
    quotes = Counter(r["quote"] for r in created.values())
    t.equal([q for q, n in quotes.items() if n > 1], [], "a repeated create made one instance")
    released = {r["lease"] for r in journal if r["op"] == "release"}
    t.equal([l for l in released if there[l]["state"] != "released"], [], "every acknowledged release holds")
    last = {}
    for r in journal:
        if r["op"] in ("stop", "start"):
            last[r["lease"]] = r["op"]
    t.equal([l for l, o in last.items() if o == "stop" and there[l]["billed"]], [], "every acknowledged stop holds")
    for a in accounts[:3]:
        for r in [r for r in created.values() if r["account"] == a.account][:5]:
            status, again = a.post("/v1/leases", {"quote": r["quote"]}, key=r["key"])
            if (status, again.get("id")) != (201, r["lease"]):
                t.ok(False, "a replayed create answers the same", (status, again))
    for a in accounts:
        want = {r["txn"]: Decimal(r["amount"]) for r in journal if r["op"] == "topup" and r["account"] == a.account}
        got = {x["id"]: sum(Decimal(e["amount"]) for e in x["entries"] if e["kind"] == "cash")
               for x in pages(a, "/v1/ledger") if x["kind"] == "topup" and x["memo"].find("storm") >= 0}
        if want != got:
            t.ok(False, f"top-ups of {a.account} are exactly the acknowledged ones",
                 f"missing {set(want) - set(got)} extra {set(got) - set(want)}")
            return
    t.ok(True, "top-ups in the ledger are exactly the acknowledged ones")


with Server(conf=CONF) as s, Fleet(s, nodes=NODES, cards=CARDS, options=FAULTS) as f:
    op = s.operator()
    f.enrol(op)
    accounts = [s.renter(f"r{i}@example.com") for i in range(ACCOUNTS)]
    for a in accounts:
        add_key(a)
        op.must("POST", f"/v1/accounts/{a.account}/topups", {"amount": "1000.00", "reason": "start"})
    with open(f"/proc/{s.proc.pid}/status") as status:
        uid = next(line for line in status if line.startswith("Uid:")).split()[1]
    t.ok(uid != "0", "starleased runs as an ordinary user")
    journal = storm(s, f, op, accounts)
    leaked = settle(op, accounts)
    t.equal(leaked, None, "no card is leaked: all are free when everything is stopped")
    check(s, f, op, accounts, journal)
    wait_for(lambda: f.state()["leases"] == 0, 30, "the nodes to be empty")
    seen = f.state()
    t.equal((seen["leases"], seen["cards_used"]), (0, 0), "nothing runs on the nodes any more")
    t.equal((seen["doubled"], seen["unclean"], seen["sanitized_in_use"]), (0, 0, 0),
            "no card was ever given twice, nor given on before it was sanitized")
    print(f"# starts on the nodes: {seen['started']}, reports: {seen['reports']}, refused as stale: {seen['stale_refused']}")
    audit = op.must("GET", "/v1/audit/money")
    t.equal([c for c in audit["checks"] if not c["ok"]], [], "the audit of the money holds")
    t.equal(s.run("--audit").returncode, 0, "and as a program of its own")
t.done()
