#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a renter pays for instances on simulated nodes: the quote, the running cost, the wallet, the ledger and the
signed statement agree to the micro-unit, also when the price changes, the server dies, or the instance starts again."""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from datetime import datetime
from decimal import Decimal

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from fleet import Fleet, add_key, launch, pages, reach  # noqa: E402
from starlease import Server  # noqa: E402
from tap import BUILD, Tap, wait_for  # noqa: E402

t = Tap()
home = tempfile.mkdtemp(prefix="starlease-bills-")
PRICE = Decimal(random.SystemRandom().randint(100_000_000, 400_000_000)) / 1_000_000  # a few 0.01 a second
with open(f"{home}/prices.csv", "w", encoding="utf-8") as f:
    f.write(f"model,memory_gb,memory_type,price,currency\nMI300X,192,HBM3,{PRICE},CNY\n")
os.chmod(home, 0o755)
CONF = {"lease": {"heartbeat": "1s", "meter": "1s", "reconcile": "1s"}, "prices": {"files": f"{home}/prices.csv"},
        "quota": {"spend_per_hour": "0"}}


def micro(x):
    return int(Decimal(x) * 1_000_000)


def funds(renter):
    w = renter.must("GET", "/v1/wallet")
    return micro(w["cash"]) + micro(w["credit"]) + micro(w["held"])


def cost(renter, lease):
    return micro(renter.must("GET", "/v1/leases/" + lease["id"])["cost_so_far"])


def save(renter, name):
    bill = renter.must("GET", "/v1/statements")
    with open(f"{home}/{name}", "w", encoding="utf-8") as out:
        json.dump(bill, out)
    return bill["statement"]


def verify(*args):
    return subprocess.run([f"{BUILD}/starlease", "bill", "verify", *args], env={"PATH": os.environ["PATH"], "HOME": home}, cwd=home,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)


def charge(rate, seconds):
    return (2 * rate * seconds + 3600) // 7200


def time_us(text):
    whole, _, part = text.rstrip("Z").partition(".")
    return int(datetime.fromisoformat(whole + "+00:00").timestamp()) * 1_000_000 + int((part + "000000")[:6])


def story(s, op, ann):
    add_key(ann)
    op.must("POST", f"/v1/accounts/{ann.account}/topups", {"amount": "500", "reason": "bank"})
    paid = funds(ann)
    quote = ann.must("POST", "/v1/quotes", {"model": "MI300X", "gpus": 2, "image": "debian", "disk_gb": 10})
    t.equal(micro(quote["rate_per_hour"]), 2 * micro(PRICE), "the quote's rate is the file's price for two cards")
    t.equal(micro(quote["hold"]), charge(2 * micro(PRICE), quote["horizon_s"]), "its hold is what its horizon costs")
    a = launch(ann, gpus=2, name="a")
    reach(ann, a, "running")
    wait_for(lambda: cost(ann, a) > 0, 30, "a cost")
    early = save(ann, "early.json")
    t.equal([l["open"] for l in early["lines"]], [True], "a statement has the running instance as open")
    op.must("POST", "/v1/prices", {"model": "MI300X", "price": str(PRICE * 10), "currency": "CNY"})
    s.kill()
    s.start()
    before = cost(ann, a)
    wait_for(lambda: cost(ann, a) > before, 30, "more cost after the restart")
    ann.must("POST", "/v1/leases/a/stop")
    reach(ann, a, "stopped")
    ann.must("POST", "/v1/leases/a/start")
    reach(ann, a, "running")
    b = launch(ann, gpus=1, name="b")  # at the new price
    reach(ann, b, "running")
    wait_for(lambda: cost(ann, b) > 0, 30, "a cost of b")
    for name in ("a", "b"):
        ann.must("POST", f"/v1/leases/{name}/stop")
    for lease in (a, b):
        reach(ann, lease, "stopped")
    late = save(ann, "late.json")
    lines = late["lines"]
    t.equal(sorted((l["name"], l["rate_micro"]) for l in lines), [("a", 2 * micro(PRICE))] * 2 + [("b", 10 * micro(PRICE))],
            "each instance pays its own quote's price, also after the price list changed")
    t.ok(all(l["charge_micro"] == charge(l["rate_micro"], (l["end_us"] - l["start_us"]) // 1_000_000) > 0 for l in lines),
         "every stretch costs its whole seconds at its rate", lines)
    t.equal({n: sum(l["charge_micro"] for l in lines if l["name"] == n) for n in "ab"}, {"a": cost(ann, a), "b": cost(ann, b)},
            "the cost that an instance shows is the sum of its lines")
    t.equal(paid - funds(ann), sum(l["charge_micro"] for l in lines), "the wallet lost exactly that")
    t.equal(micro(ann.must("GET", "/v1/wallet")["held"]), 0, "nothing is held for what does not run")
    shown = ann.must("GET", "/v1/leases/b")
    begun = [l["start_us"] for l in lines if l["name"] == "b"]
    t.ok(begun == [time_us(shown["ready"])] and begun[0] > time_us(shown["created"]),
         "billing began when it was ready, not when it was asked for", f"{begun} {shown}")
    key = ann.must("GET", "/v1/key")["public"]
    p = verify("late.json", "--key", key, "--earlier", "early.json")
    t.ok(p.returncode == 0, "the statement is verified offline against the key and the earlier one", p.stdout)
    ledger = pages(ann, "/v1/ledger")
    t.equal([x["hash"] for x in ledger], [x["hash"] for x in late["ledger"]], "the ledger over HTTP is the statement's")
    t.ok(len({x["id"] for x in ledger}) == len(ledger), "no transaction is there twice")
    report = op.must("GET", "/v1/audit/money")
    t.ok(report["ok"], "the audit holds", [c for c in report["checks"] if not c["ok"]])


try:
    with Server(conf=CONF) as s, Fleet(s, nodes=2) as f:
        op = s.operator()
        f.enrol(op)
        t.run("the story ran to its end", story, s, op, s.renter("ann@example.com"))
finally:
    shutil.rmtree(home, ignore_errors=True)
t.done()
