#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What stands on top of the ledger, over HTTP: invoices for what was paid in cash."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))
from decimal import Decimal  # noqa: E402

from checked import checked  # noqa: E402
from fleet import KEY, Fleet, reach  # noqa: E402
from starlease import Server  # noqa: E402
from tap import BUILD, Tap, wait_for  # noqa: E402

t = Tap()
CONF = {"lease": {"heartbeat": "1s", "meter": "1s", "reconcile": "1s"}, "quota": {"spend_per_hour": "0"},
        "invoice": {"seller": "House", "tax_rate_bp": "600"}}
TAX_ID = "91350100M000100Y43"


def cli(s, token, *args):
    env = dict(os.environ, STARLEASE_URL=f"http://127.0.0.1:{s.port}", STARLEASE_TOKEN=token, STARLEASE_CONFIG=s.dir + "/cli.conf")
    return subprocess.run([os.path.join(BUILD, "starlease"), *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env=env, timeout=120)


def spend(op, ann, name="burn"):
    """A lease that costs cash by the second."""
    op.must("POST", "/v1/prices", {"model": "MI300X", "price": "3600.123456", "currency": "CNY", "source": "test"})
    quote = ann.must("POST", "/v1/quotes", {"model": "MI300X", "gpus": 1, "image": "debian", "disk_gb": 10})
    lease = ann.must("POST", "/v1/leases", {"quote": quote["id"], "name": name})
    reach(ann, lease, "running")
    wait_for(lambda: Decimal(ann.must("GET", f"/v1/leases/{lease['id']}")["cost_so_far"]) >= 2, 60, "two seconds of use")
    ann.must("POST", f"/v1/leases/{lease['id']}/stop")
    reach(ann, lease, "stopped")


def cash_spent(c):
    """From the ledger alone."""
    spent = Decimal(0)
    for x in c.must("GET", "/v1/ledger?limit=100")["items"]:
        if x["kind"] in ("capture", "refund", "disk"):
            spent -= sum(Decimal(e["amount"]) for e in x["entries"] if e["account"] and e["kind"] in ("cash", "held_cash"))
    return spent


def invoices(s, op, ann, bob):
    for body, field in (({}, "buyer_name"), ({"buyer_name": ""}, "buyer_name"), ({"buyer_name": "B", "tax_id": "91350100M000100Y44"}, "tax_id"),
                        ({"buyer_name": "B", "tax_id": "123"}, "tax_id"), ({"buyer_name": "B", "from": "2020-01-02", "to": "2020-01-01"}, "to"),
                        ({"buyer_name": "B", "to": "2999-01-01"}, "to"), ({"buyer_name": "B", "phone": 5}, "phone")):
        st, a = ann.post("/v1/invoices", body)
        t.ok(st == 400 and a["field"] == field, f"an invoice for {body} is refused: {field}", f"{st} {a}")
    st, a = bob.post("/v1/invoices", {"buyer_name": "Bob"})
    t.ok(st == 409 and "cash" in a["detail"], "who paid nothing in cash gets no invoice", f"{st} {a}")
    inv = ann.must("POST", "/v1/invoices", {"buyer_name": "甲公司", "tax_id": TAX_ID, "address": "Road 1", "phone": "1", "bank": "B", "bank_account": "2"})
    paid = cash_spent(ann)
    t.equal(Decimal(inv["paid"]), paid, "the invoice says what the ledger took in cash")
    t.equal(Decimal(inv["total"]), paid.quantize(Decimal("0.01"), "ROUND_DOWN"), "the total is that, rounded down to the cent")
    for m in ("amount", "tax", "total"):
        t.equal(sum(Decimal(x[m]) for x in inv["lines"]), Decimal(inv[m]), f"lines sum to the {m}")
    t.equal(Decimal(inv["amount"]) + Decimal(inv["tax"]), Decimal(inv["total"]), "amount and tax are the total")
    t.ok(inv["state"] == "draft" and inv["number"] is None and inv["total_in_words"].endswith(("整", "分")), "it is a draft without a number", inv)
    st, a = ann.post("/v1/invoices", {"buyer_name": "again", "from": "2020-01-01"})
    t.ok(st == 409 and inv["id"] in a["detail"], "the same spend is not invoiced twice; the answer names the first", f"{st} {a}")
    path = "/v1/invoices/" + inv["id"]
    t.equal(ann.post(path + "/issue")[0], 403, "a renter issues nothing")
    t.equal(bob.get(path)[0], 404, "nobody reads another's invoice")
    t.equal(bob.post(path + "/reverse", {"reason": "x"})[0], 404, "nor reverses it")
    issued = op.must("POST", path + "/issue")
    t.ok(issued["number"].endswith("-00000001") and issued["state"] == "issued", "issued, it has the year's first number", issued)
    t.equal(op.post(path + "/issue")[0], 409, "once")
    p = cli(s, ann.token, "invoice", "show", inv["id"])
    t.ok(p.returncode == 0 and issued["number"] in p.stdout and inv["total_in_words"] in p.stdout and TAX_ID in p.stdout and "甲公司" in p.stdout,
         "the printed form has number, buyer, taxpayer number and the total in capitals", p.stdout + p.stderr)
    p = cli(s, ann.token, "invoice", "list")
    t.ok(p.returncode == 0 and issued["number"] in p.stdout, "invoice list shows it", p.stdout + p.stderr)
    p = cli(s, ann.token, "invoice", "reverse", inv["id"])
    t.ok(p.returncode == 2 and "--reason" in p.stderr, "a reversal asks for its reason", p.stderr)
    p = cli(s, ann.token, "invoice", "reverse", inv["id"], "--reason", "wrong title")
    t.ok(p.returncode == 0 and "reversing" in p.stdout, "the renter asks for the reversal", p.stdout + p.stderr)
    red = op.must("POST", path + "/confirm")
    t.ok(red["kind"] == "red" and red["original"] == inv["id"] and Decimal(red["total"]) == -Decimal(inv["total"]) and red["number"].endswith("-00000002"),
         "the red letter has the amounts of the original, negative, and the next number", red)
    p = cli(s, ann.token, "-o", "json", "invoice", "request", "乙公司", "--tax-id", TAX_ID)
    t.ok(p.returncode == 0 and '"draft"' in p.stdout, "what was reversed can be invoiced again", p.stdout + p.stderr)


with Server(conf=CONF) as s, Fleet(s, nodes=1) as f:
    op, ann, bob = checked(s.operator()), checked(s.renter("ann@example.com", trial=False)), checked(s.renter("bob@example.com"))
    f.enrol(op)
    ann.must("POST", "/v1/keys", {"key": KEY, "name": "laptop"})
    op.must("POST", f"/v1/accounts/{ann.account}/topups", {"amount": "10000", "reason": "test"})
    spend(op, ann)
    t.run("invoices", invoices, s, op, ann, bob)
    audit = op.must("GET", "/v1/audit/money")
    t.ok(audit["ok"], "the audit holds afterwards", [c for c in audit["checks"] if not c["ok"]])
t.done()
