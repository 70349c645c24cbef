#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Money over HTTP: the price table, top-ups, the trial credit, the ledger, statements, and an audit that
notices a database that was changed by hand."""
import csv
import json
import os
import sqlite3
import subprocess
import sys
import threading
import uuid
from decimal import ROUND_HALF_UP, Decimal

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from starlease import Server  # noqa: E402
from tap import BUILD, ROOT, Tap  # noqa: E402

t = Tap()


def rows(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return list(csv.DictReader(line for line in f if not line.startswith("#")))


def prices(s, op, renter):
    got = {p["model"]: p for p in s_get(renter, "/v1/prices")["items"]}
    bad = []
    for r in rows("prices/seed.csv"):
        p = got.get(r["model"])
        per_gb = (Decimal(r["price"]) / int(r["memory_gb_told"])).quantize(Decimal("0.001"), ROUND_HALF_UP)
        differs = r["memory_gb"] != r["memory_gb_told"]
        if not p or Decimal(p["price"]) != Decimal(r["price"]) or p["currency"] != r["currency"] or p["price_per_gb"] != str(per_gb) \
                or (p["memory_flag"] is not None) != differs or (differs and r["memory_gb"] + " GB" not in p["memory_flag"]):
            bad.append(f"{r}: {p}")
    t.ok(not bad, "the price table has the file's rows, cost per GB and a flag where the told memory is not the maker's", "\n".join(bad))
    models = {m["name"]: m for m in s_get(renter, "/v1/models")["items"]}
    t.equal(models["MI250"]["devices_per_card"], 2, "an MI250 is one card with two devices")
    t.equal(models["MI300X"]["memory_bytes"], 192 << 30, "an MI300X has 192 GB, whatever the price list tells")
    model, old = next((m, p) for m, p in got.items() if p["currency"] == "CNY")
    for body, field, what in (
            ({"price": "3"}, "effective", "a price for the past"),
            ({"price": "-1"}, "price", "a negative price"), ({"price": "0"}, "price", "a price of 0"), ({"price": 3}, "price", "a price as a JSON number"),
            ({"price": "1.0000001"}, "price", "a seventh decimal"), ({"price": "NaN"}, "price", "NaN"),
            ({"price": "3", "currency": "yen"}, "currency", "a currency that is none"), ({"price": "3", "model": "No Card"}, "model", "an unknown model"),
            ({"price": "3", "colour": "red"}, "colour", "an unknown field")):
        b = {"model": model, "currency": "CNY", **body}
        if what.endswith("past"):
            b["effective"] = "2020-01-01"
        status, a = op.post("/v1/prices", b)
        t.ok(status in (400, 404) and a.get("field") == field and field in a["detail"], f"{what} is refused with the field named", f"{status} {a}")
    t.equal(renter.post("/v1/prices", {"model": model, "price": "1", "currency": "CNY"})[0], 403, "a renter sets no price")
    new = op.must("POST", "/v1/prices", {"model": model, "price": "123.456789", "currency": "CNY", "note": "new"})
    now = {p["model"]: p for p in s_get(renter, "/v1/prices")["items"] if p["currency"] == "CNY"}[model]
    t.ok(now["price"] == "123.456789" and now["id"] == new["id"] != old["id"], "a new price is a new version and in force at once", now)
    s.stop()
    s.start()
    now = {p["model"]: p for p in s_get(renter, "/v1/prices")["items"] if p["currency"] == "CNY"}[model]
    t.equal(now["id"], new["id"], "a restart reads the price file again and changes nothing")


def s_get(client, path):
    return client.must("GET", path)


def trial(s, renter):
    answers = []
    start = threading.Barrier(50)

    def ask():
        start.wait()
        answers.append(renter_copy(s, renter).post("/v1/account/trial", {}))
    threads = [threading.Thread(target=ask) for _ in range(50)]
    for th in threads:
        th.start()
    for th in threads:
        th.join()
    granted = [a for st, a in answers if st < 300 and a["granted"]]
    others = {st for st, a in answers if not (st < 300 and a.get("granted"))}
    w = s_get(renter, "/v1/wallet")
    t.ok(len(granted) == 1 and w["credit"] == "10.00" and others <= {200, 201, 409}, "the trial credit raced from 50 connections is granted once",
         f"{len(granted)} {others} {w}")


def renter_copy(s, r):
    from starlease import Client
    return Client(s.port, r.token, r.account)


def topups(op, renter, other):
    path = f"/v1/accounts/{renter.account}/topups"
    before = s_get(renter, "/v1/wallet")["cash"]
    for body, field in (({"amount": "0", "reason": "x"}, "amount"), ({"amount": "-5", "reason": "x"}, "amount"), ({"amount": 5, "reason": "x"}, "amount"),
                        ({"amount": "1e3", "reason": "x"}, "amount"), ({"amount": "0.0000001", "reason": "x"}, "amount"),
                        ({"amount": "99999999999999999999", "reason": "x"}, "amount"), ({"amount": "5"}, "reason"), ({"amount": "5", "reason": ""}, "reason")):
        st, a = op.post(path, body)
        t.ok(st == 400 and a["field"] == field, f"a top-up of {json.dumps(body)} is refused: {field}", f"{st} {a}")
    t.equal(renter.post(path, {"amount": "5", "reason": "me"})[0], 403, "a renter cannot top himself up")
    t.equal(op.post("/v1/accounts/acc_00000000000000000000000000/topups", {"amount": "5", "reason": "x"})[0], 404, "an unknown account is 404")
    st, a = op.call("POST", path, {"amount": "5", "reason": "x"}, headers={"Idempotency-Key": None})
    t.ok(st == 400 and "Idempotency-Key" in a["detail"], "lago_5870: a top-up without an Idempotency-Key is refused", f"{st} {a}")
    t.equal(s_get(renter, "/v1/wallet")["cash"], before, "none of these changed the balance")
    key = str(uuid.uuid4())
    first = op.must("POST", path, {"amount": "20.50", "reason": "bank"}, key=key)
    again = op.must("POST", path, {"amount": "20.50", "reason": "bank"}, key=key)
    t.equal(again["id"], first["id"], "the same top-up with the same key is answered with the first answer")
    st, a = op.post(path, {"amount": "20.51", "reason": "bank"}, key=key)
    t.ok(st == 422 and a["code"] == "key_reused", "another amount under the same key is refused with 422", f"{st} {a}")
    one = op.must("POST", path, {"amount": "1", "reason": "bank", "reference": "B-7"})
    two = op.must("POST", path, {"amount": "1", "reason": "bank", "reference": "B-7"})
    t.equal(two["id"], one["id"], "the same payment reference counts once, also under another key")
    st, a = op.post(f"/v1/accounts/{other.account}/topups", {"amount": "1", "reason": "bank", "reference": "B-7"})
    t.ok(st == 409 and a["field"] == "reference", "the same payment for another account is refused", f"{st} {a}")
    t.equal(s_get(renter, "/v1/wallet")["cash"], "21.50", "the balance has each payment once")


def ledger(op, renter, other):
    for i in range(7):
        op.must("POST", f"/v1/accounts/{renter.account}/topups", {"amount": f"0.0000{i + 1}", "reason": f"small {i}"})
    everything = s_get(renter, "/v1/ledger?limit=100")["items"]
    paged, cursor = [], ""
    while cursor is not None:
        page = s_get(renter, "/v1/ledger?limit=3" + (f"&cursor={cursor}" if cursor else ""))
        paged += page["items"]
        cursor = page["next"]
    t.ok(paged == everything and [x["seq"] for x in paged] == list(range(1, len(paged) + 1)), "the ledger pages through every line once, numbered from 1")
    t.ok(all(sum(Decimal(e["amount"]) for e in x["entries"]) == 0 for x in paged), "every transaction sums to zero")
    accounts = {e["account"] for x in paged for e in x["entries"]} - {""}
    t.equal(accounts, {renter.account}, "cloudkitty_dataframes: a renter's ledger names no other renter")
    st, a = renter.get("/v1/ledger?cursor=x")
    t.ok(st == 400 and a["field"] == "cursor", "a wrong cursor is refused", f"{st} {a}")


def statements(s, renter, other):
    text = renter.call("GET", "/v1/statements")[1]
    home = os.path.join(s.dir, "renter")
    os.makedirs(home, exist_ok=True)
    file = os.path.join(home, "bill.json")
    with open(file, "w", encoding="utf-8") as f:
        json.dump(text, f)
    key = s_get(renter, "/v1/key")["public"]
    p = subprocess.run([f"{BUILD}/starlease", "bill", "verify", file, "--key", key], env={"PATH": os.environ["PATH"], "HOME": home},
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    t.ok(p.returncode == 0, "the statement that the server gives is verified offline", p.stdout)
    wallet = s_get(renter, "/v1/wallet")
    held = sum(Decimal(wallet[k]) for k in ("cash", "credit", "held"))
    t.equal(Decimal(text["statement"]["closing_micro"]) / 1000000, held, "its closing balance is the wallet's")
    t.ok(other.account not in json.dumps(text), "nobody else is in it")
    for q, field in (("from=yesterday", "from"), ("to=2026-13-01", "to"), ("from=2026-12-02&to=2026-12-01", "from")):
        st, a = renter.get("/v1/statements?" + q)
        t.ok(st == 400 and a["field"] == field, f"a statement of {q} is refused", f"{st} {a}")
    t.equal(s_get(renter, "/v1/statements?from=2020-01-01&to=2020-02-01")["statement"]["lines"], [], "a statement of an empty month has no lines")


def audit(s, op, renter):
    t.equal(renter.get("/v1/audit/money")[0], 403, "a renter does not audit the house")
    a = op.must("GET", "/v1/audit/money")
    t.ok(a["ok"] and len(a["checks"]) > 20, "the audit holds", [c for c in a["checks"] if not c["ok"]])
    s.stop()
    p = s.run("--audit")
    t.equal(p.returncode, 0, "starleased --audit exits 0 while the books are whole")
    path = os.path.join(s.dir, "data", "starlease.db")
    con = sqlite3.connect(path)
    try:
        con.execute("UPDATE txn SET memo = 'other' WHERE kind = 'topup'")
        refused = False
    except sqlite3.Error as e:
        refused = "append-only" in str(e)
    con.rollback()
    t.ok(refused, "even by hand a line of the ledger cannot be changed")
    con.execute("DROP TRIGGER txn_no_update")
    con.execute("UPDATE txn SET memo = 'other' WHERE kind = 'topup'")
    con.commit()
    con.close()
    p = s.run("--audit")
    t.ok(p.returncode != 0 and "FAILED I14" in " ".join(p.stdout.split()), "after the guard was removed and a line rewritten, the audit names it",
         p.stdout + p.stderr)


with Server() as s:
    op = s.operator()
    ann, bob = s.renter("ann@example.com", trial=False), s.renter("bob@example.com", trial=False)
    for name, fn, args in (("trial", trial, (s, ann)), ("topups", topups, (op, ann, bob)), ("ledger", ledger, (op, ann, bob)),
                           ("statements", statements, (s, ann, bob)), ("prices", prices, (s, op, ann)), ("audit", audit, (s, op, ann))):
        t.run(name + " ran to its end", fn, *args)
t.done()
