#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What stands on top of the ledger, over HTTP: invoices for what was paid in cash, vouchers, payments told by a
provider (a client on loopback signs as one), refunds of cash."""
import csv
import glob
import hashlib
import hmac
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))
from decimal import Decimal  # noqa: E402

from checked import Checked, checked  # noqa: E402
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


def write_keys(text):
    with open(CONF["payment"]["keys"], "w") as f:
        f.write(text)


def with_keys(directory):
    os.chmod(directory, 0o755)
    CONF["payment"] = {"keys": directory + "/keys"}
    write_keys("bank key-new\nbank key-old\n")
    return CONF


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


def vouchers(s, op, ann, bob):
    for body, field in (({"value": "5"}, "name"), ({"name": "x"}, "value"), ({"name": "x", "value": "0"}, "value"), ({"name": "x", "value": 5}, "value"),
                        ({"name": "x", "value": "5", "codes": 0}, "codes"), ({"name": "x", "value": "5", "codes": 1001}, "codes"),
                        ({"name": "x", "value": "5", "uses": -1}, "uses"), ({"name": "x", "value": "5", "currency": "yen"}, "currency")):
        st, a = op.post("/v1/vouchers", body)
        t.ok(st == 400 and a["field"] == field, f"a batch of {body} is refused: {field}", f"{st} {a}")
    key = str(uuid.uuid4())
    made = op.must("POST", "/v1/vouchers", {"name": "spring", "value": "12.50", "codes": 2}, key=key)
    again = op.must("POST", "/v1/vouchers", {"name": "spring", "value": "12.50", "codes": 2}, key=key)
    t.ok(len(set(made["secrets"])) == 2 and again["id"] == made["id"] and again["secrets"] == [], "codes are shown once, not in a replay", again)
    t.ok("secrets" not in op.must("GET", "/v1/vouchers")["items"][0], "nor in a list")
    code, answers, start = made["secrets"][0], [], threading.Barrier(50)

    def ask():
        start.wait()
        answers.append(checked(ann).post("/v1/wallet/redeem", {"code": code}))
    threads = [threading.Thread(target=ask) for _ in range(50)]
    [x.start() for x in threads]
    [x.join() for x in threads]
    won = [a for st, a in answers if st == 201]
    w = ann.must("GET", "/v1/wallet")
    t.ok(len(won) == 1 and w["credit"] == "12.50" and {st for st, _ in answers} <= {201, 409, 429}, "a code raced from 50 connections is granted once",
         f"{len(won)} {w} {[st for st, _ in answers]}")
    codes = []
    for i in range(40):  # each further guess doubles the wait: however slow the machine, one of them is refused
        codes.append(bob.post("/v1/wallet/redeem", {"code": f"AAAA-BBBB-CCCC-{i:04d}"})[0])
        if codes[-1] == 429:
            break
    t.ok(codes[:5] == [404] * 5 and codes[-1] == 429 and bob.headers.get("retry-after"), "who guesses codes has to wait longer and longer", codes)
    p = cli(s, op.token, "voucher", "create", "one", "3", "--uses", "5")
    t.ok(p.returncode == 0 and len(p.stdout.strip()) == 19, "voucher create prints the code", p.stdout + p.stderr)
    carol = s.renter("carol@example.com", trial=False)
    p = cli(s, carol.token, "wallet", "redeem", p.stdout.strip().lower())
    t.ok(p.returncode == 0 and "3.00" in p.stdout, "wallet redeem takes it, in small letters too", p.stdout + p.stderr)
    op.must("DELETE", "/v1/vouchers/" + made["id"])
    st, a = carol.post("/v1/wallet/redeem", {"code": made["secrets"][1]})
    t.ok(st == 409 and a["field"] == "code" and "withdrawn" in a["detail"], "a withdrawn batch gives nothing more", f"{st} {a}")
    t.equal(carol.must("GET", "/v1/wallet")["cash"], "0.00", "what a code gives is no cash")


def tell(s, event, key=b"key-new", t_s=None, provider="bank", header=None, **change):
    """A provider on loopback."""
    body = json.dumps({"id": event, "type": "payment.succeeded", "currency": "CNY", **change}).encode()
    now = int(time.time()) if t_s is None else t_s
    mac = hmac.new(key, b"%d." % now + body, hashlib.sha256).hexdigest()
    h = {"Starlease-Signature": f"t={now},v1={mac}" if header is None else header or None, "Idempotency-Key": None}
    return Checked(s.port).call("POST", f"/v1/payments/webhook/{provider}", raw=body, headers=h)


def payments(s, op, ann):
    def cash():
        return Decimal(ann.must("GET", "/v1/wallet")["cash"])
    before, now = cash(), int(time.time())
    good = {"reference": "P1", "account": ann.account, "amount": "50.000001"}
    for what, kw in (("with another key", {"key": b"key-bad"}), ("with no signature", {"header": ""}), ("made an hour ago", {"t_s": now - 3600}),
                     ("of the future", {"t_s": now + 3600}), ("in pieces", {"header": "t=1,v1="})):
        st, a = tell(s, "e0", **good, **kw)
        t.ok(st == 401 and a["field"] == "Starlease-Signature", f"a payment signed {what} is refused", f"{st} {a}")
    t.equal(tell(s, "e0", provider="nobody", **good)[0], 404, "an unknown provider is 404")
    t.ok(cash() == before and op.must("GET", "/v1/payments")["items"] == [], "nothing of these left a trace")
    st, a = tell(s, "e1", **good)
    t.ok(st == 200 and a["state"] == "booked" and cash() == before + Decimal("50.000001"), "a payment is booked to the micro-unit", a)
    t.equal([tell(s, "e1", **good)[1]["id"] for _ in range(5)], [a["id"]] * 5, "lago_2243: told again, the event is the same one")
    t.equal(tell(s, "e2", key=b"key-old", **good)[1]["state"], "noted", "another event of the same payment books nothing; the old key is good in a rotation")
    t.equal(tell(s, "e3", **{**good, "type": "payment.pending"})[1]["state"], "noted", "an event that comes late books nothing")
    t.equal(cash(), before + Decimal("50.000001"), "it was booked once")
    t.equal(tell(s, "e1", **{**good, "amount": "51"})[0], 409, "the same event with another amount is refused")
    write_keys("bank key-new\n")
    t.equal(tell(s, "e4", key=b"key-old", **{**good, "reference": "P4"})[0], 401, "a key that was taken out is good no more, without a restart")
    lost = tell(s, "e5", reference="P5", account="nobody@example.org", amount="7")[1]
    t.equal(lost["state"], "suspense", "money for an unknown account waits")
    t.equal([x["id"] for x in op.must("GET", "/v1/payments?state=suspense")["items"]], [lost["id"]], "an operator sees it")
    p = cli(s, op.token, "payment", "resolve", lost["id"], "--account", "ann@example.com", "--note", "called")
    t.ok(p.returncode == 0 and "booked" in p.stdout and cash() == before + Decimal("57.000001"), "and books it to whom it belongs", p.stdout + p.stderr)
    t.equal(op.post(f"/v1/payments/{lost['id']}/resolve", {"account": "ann@example.com", "note": "x"})[0], 409, "once")
    s.kill()
    s.start()
    t.ok(tell(s, "e1", **good)[1]["id"] == a["id"] and cash() == before + Decimal("57.000001"), "a replay after a crash books nothing")


def refunds(s, op, ann, bob):
    cash = Decimal(ann.must("GET", "/v1/wallet")["cash"])
    for amount, want in (("0", 400), ("-1", 400), (5, 400), ("1e3", 400), (str(cash + 1), 402)):
        t.equal(ann.post("/v1/refunds", {"amount": amount})[0], want, f"a refund of {amount!r} is refused")
    key = str(uuid.uuid4())
    one, again = (ann.must("POST", "/v1/refunds", {"amount": "10", "reason": "less work"}, key=key) for _ in range(2))
    t.ok(one["id"] == again["id"] and one["state"] == "requested", "a refund asked for twice with one key is one", again)
    t.equal(Decimal(ann.must("GET", "/v1/wallet")["cash"]), cash - 10, "it leaves the wallet at once")
    t.equal(bob.delete("/v1/refunds/" + one["id"])[0], 404, "nobody else cancels it")
    t.equal(ann.post(f"/v1/refunds/{one['id']}/pay", {"note": "me"})[0], 403, "nor does the renter pay himself")
    paid = op.must("POST", f"/v1/refunds/{one['id']}/pay", {"note": "transfer 17"})
    t.ok(paid["state"] == "paid" and paid["note"] == "transfer 17", "the operator pays it", paid)
    t.equal(op.post(f"/v1/refunds/{one['id']}/reject", {"note": "x"})[0], 409, "once")
    p = cli(s, ann.token, "-o", "json", "wallet", "refund", "5", "--reason", "trip")
    two = json.loads(p.stdout)["id"]
    p = cli(s, ann.token, "refund", "cancel", two)
    t.ok(p.returncode == 0 and "cancelled" in p.stdout, "a renter takes it back", p.stdout + p.stderr)
    three = ann.must("POST", "/v1/refunds", {"amount": "1"})
    p = cli(s, op.token, "refund", "reject", three["id"], "--note", "no such bank")
    t.ok(p.returncode == 0 and "rejected" in p.stdout, "an operator rejects one", p.stdout + p.stderr)
    t.equal(Decimal(ann.must("GET", "/v1/wallet")["cash"]), cash - 10, "only the paid one is gone")
    t.ok(one["id"] in cli(s, ann.token, "refund", "list").stdout, "refund list shows it")


def receipts(s, op, ann):
    def got():
        out = []
        for name in glob.glob(s.spool + "/*.eml"):
            with open(name, encoding="utf-8") as f:
                out.append((os.path.basename(name)[:-4], f.read()))
        return [(i, m) for i, m in out if "To: ann@example.com" in m]
    wait_for(lambda: all(any(x in m for _, m in got()) for x in ("50.000001 CNY was paid in", "was paid: transfer 17", "invoice was issued")), 60, "the receipts")
    t.ok(all(f"Message-ID: <{i}@starlease>" in m for i, m in got()), "receipts of top-ups, refunds and invoices are mailed, each under its id")
    t.equal(sum("50.000001 CNY was paid in" in m for _, m in got()), 1, "one receipt a payment")
    shutil.move(s.spool, s.spool + ".away")
    op.must("POST", f"/v1/accounts/{ann.account}/topups", {"amount": "3.000003", "reason": "test"})
    s.kill()
    shutil.move(s.spool + ".away", s.spool)
    s.start()
    wait_for(lambda: any("3.000003 CNY was paid in" in m for _, m in got()), 90, "the receipt")
    t.equal(sum("3.000003 CNY was paid in" in m for _, m in got()), 1, "a receipt that could not be sent before the daemon was killed comes after its start")


def statement(s, ann):
    path = s.dir + "/bill.json"
    p = cli(s, ann.token, "bill", "export", path)
    q = cli(s, ann.token, "bill", "verify", path)
    t.ok(p.returncode == 0 and q.returncode == 0 and "agrees" in q.stdout, "bill verify agrees with all of it", p.stderr + q.stdout + q.stderr)
    p = cli(s, ann.token, "bill", "export", "-", "--focus", "--provider", "=House, \"north\"")
    rows = list(csv.DictReader(p.stdout.splitlines()))
    spent = -sum(Decimal(e["amount"]) for x in ann.must("GET", "/v1/ledger?limit=100")["items"] if x["kind"] in ("capture", "refund", "disk")
                 for e in x["entries"] if e["account"])
    t.ok(rows and sum(Decimal(r["BilledCost"]) for r in rows) == sum(Decimal(r["EffectiveCost"]) for r in rows) == spent,
         "the costs of the FOCUS rows sum to what the ledger charged", f"{spent} {p.stdout} {p.stderr}")
    t.ok(set(FOCUS) <= set(rows[0]) and all(None not in r and None not in r.values() for r in rows), "each FOCUS column is there, in every row", rows[0])
    t.ok(all(r["ChargePeriodStart"] <= r["ChargePeriodEnd"] and r["ChargeCategory"] == "Usage" and r["BillingCurrency"] == "CNY" for r in rows),
         "charge periods run forward", rows)
    t.ok(rows[0]["ProviderName"] == "'=House, \"north\"", "a name is quoted and is no formula", rows[0]["ProviderName"])
    hours = [r for r in rows if r["PricingUnit"] == "GPU-Hours"]
    t.ok(hours and all(abs(Decimal(r["PricingQuantity"]) * Decimal(r["ListUnitPrice"]) - Decimal(r["ListCost"])) < Decimal("0.01") for r in hours),
         "quantity times price is the cost", hours)


FOCUS = ("BilledCost BillingAccountId BillingCurrency BillingPeriodEnd BillingPeriodStart ChargeCategory ChargeClass ChargeDescription ChargeFrequency "
         "ChargePeriodEnd ChargePeriodStart ContractedCost EffectiveCost InvoiceIssuerName ListCost PricingQuantity PricingUnit ProviderName PublisherName "
         "RegionId ResourceId ResourceName ServiceCategory ServiceName SkuId SubAccountId").split()


with tempfile.TemporaryDirectory(prefix="starlease-test-") as keys_dir, Server(conf=with_keys(keys_dir)) as s, Fleet(s, nodes=1) as f:
    op, ann, bob = checked(s.operator()), checked(s.renter("ann@example.com", trial=False)), checked(s.renter("bob@example.com"))
    f.enrol(op)
    ann.must("POST", "/v1/keys", {"key": KEY, "name": "laptop"})
    op.must("POST", f"/v1/accounts/{ann.account}/topups", {"amount": "10000", "reason": "test"})
    spend(op, ann)
    t.run("invoices", invoices, s, op, ann, bob)
    t.run("vouchers", vouchers, s, op, ann, bob)
    t.run("refunds", refunds, s, op, ann, bob)
    t.run("payments", payments, s, op, ann)
    t.run("receipts", receipts, s, op, ann)
    t.run("statement", statement, s, ann)
    audit = op.must("GET", "/v1/audit/money")
    t.ok(audit["ok"], "the audit holds afterwards", [c for c in audit["checks"] if not c["ok"]])
t.done()
