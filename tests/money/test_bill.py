#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A renter checks his bills with tools that are not ours (awk, Python), and with `starlease bill verify`."""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import BUILD, ROOT, Tap  # noqa: E402

t = Tap()
HERE = os.path.dirname(os.path.abspath(__file__))
SAN = os.path.join(ROOT, os.environ.get("SAN", "build-san"))
STORY = next(p for p in (f"{BUILD}/tests/unit/money_story", f"{SAN}/tests/unit/money_story") if os.path.exists(p))
RENTERS = ("cash", "credit", "held_cash", "held_credit")


def run(*cmd, **env):
    return subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
                          env={"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8", **env})


def canonical(v):
    return json.dumps(v, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def charge(rate, seconds):
    return (2 * rate * seconds + 3600) // 7200


def recompute(s):
    """The whole statement from its own figures; returns what is wrong, or None."""
    prices = {p["id"]: p for p in s["prices"]}
    lines = {l["segment"]: l for l in s["lines"]}
    moved = {}
    balance, prev = s["opening_micro"], None
    for x in s["ledger"]:
        content = {k: x[k] for k in ("id", "kind", "memo", "prev_hash", "ref", "seq", "t_us", "entries")}
        content.update(account=s["account"], currency=s["currency"])
        if hashlib.sha256(canonical(content)).hexdigest() != x["hash"]:
            return f"hash of {x['id']}"
        if (prev or "0" * 64) != x["prev_hash"]:
            return f"chain at {x['id']}"
        prev = x["hash"]
        if sum(a for _, a in x["entries"]) != 0:
            return f"sum of {x['id']}"
        balance += sum(a for k, a in x["entries"] if k in RENTERS)
        revenue = sum(a for k, a in x["entries"] if k == "revenue")
        if x["kind"] in ("capture", "refund"):
            a, b = map(int, x["memo"].split()[1].split(".."))
            rate = lines[x["ref"]]["rate_micro"]
            if charge(rate, b) - charge(rate, a) != revenue:
                return f"charge of {x['id']}"
            if moved.setdefault(x["ref"], [a, a, 0])[1] != a:
                return f"seconds of {x['id']}"
            moved[x["ref"]][1] = b
            moved[x["ref"]][2] += revenue
        elif revenue:
            return f"revenue of {x['id']}"
        if balance < 0:
            return f"balance after {x['id']}"
    for l in s["lines"]:
        p = prices[l["price_version"]]
        if p["price_micro"] * l["gpus"] != l["rate_micro"] or p["model"] != l["model"]:
            return f"price of {l['segment']}"
        if moved.get(l["segment"], [0, 0, 0])[2] != l["charge_micro"]:
            return f"charge of {l['segment']}"
    if balance != s["closing_micro"] or prev != s["chain_head"]:
        return "closing balance or chain head"
    if sum(l["charge_micro"] for l in s["lines"]) != s["total_charge_micro"]:
        return "total"
    return None


home = tempfile.mkdtemp(prefix="starlease-bill-")
counted = 0
try:
    for seed in (1, 2, 3, 4):
        p = run(STORY, home, str(seed))
        t.ok(p.returncode == 0, f"story {seed}: the server's own audit holds", p.stdout)
        with open(f"{home}/late.json", encoding="utf-8") as f:
            late = json.load(f)
        s = late["statement"]
        p = run(f"{BUILD}/starlease", "bill", "csv", f"{home}/late.json")
        with open(f"{home}/late.csv", "w", encoding="utf-8") as f:
            f.write(p.stdout)
        p = run("awk", "-f", f"{HERE}/recompute.awk", f"{home}/late.csv")
        counted += len(s["lines"])
        t.equal(p.stdout.strip(), f"{len(s['lines'])} lines, {s['total_charge_micro']}",
                f"story {seed}: awk gets every line and the total of the CSV")
        t.equal(recompute(s), None, f"story {seed}: Python gets every hash, charge and balance of the statement")
    t.ok(counted > 40, f"the stories have {counted} lines")

    # lago_879, killbill_150 and killbill_1851: where the server stands does not change what is billed.
    for zone in ("Asia/Shanghai", "America/St_Johns", "Pacific/Kiritimati", "Pacific/Pago_Pago"):
        where = tempfile.mkdtemp(dir=home)
        run(STORY, where, "4", TZ=zone)
        with open(f"{where}/late.json", encoding="utf-8") as f:
            there = json.load(f)["statement"]
        t.ok(there == s, f"the same days under TZ={zone} give the same statement")

    bad = open(f"{home}/late.csv", encoding="utf-8").read().splitlines()
    cells = bad[3].split(",")
    cells[-2] = str(int(cells[-2]) + 1)
    bad[3] = ",".join(cells)
    with open(f"{home}/bad.csv", "w", encoding="utf-8") as f:
        f.write("\n".join(bad) + "\n")
    t.equal(run("awk", "-f", f"{HERE}/recompute.awk", f"{home}/bad.csv").returncode, 1, "awk notices a charge that is one micro-unit off")

    cli = f"{BUILD}/starlease"
    key = open(f"{home}/key").read()
    p = run(cli, "bill", "verify", f"{home}/late.json", "--key", key, "--earlier", f"{home}/early.json")
    t.ok(p.returncode == 0, "bill verify accepts the statement, with the pinned key and the earlier copy", p.stdout)
    p = run(cli, "bill", "verify", f"{home}/early.json", "--earlier", f"{home}/late.json")
    t.ok(p.returncode != 0, "bill verify refuses a statement that is older than the earlier copy", p.stdout)
    p = run(cli, "bill", "verify", f"{home}/late.json", "--key", key[:-1] + ("0" if key[-1] != "0" else "1"))
    t.ok(p.returncode != 0, "bill verify refuses a statement of another key than the pinned one", p.stdout)
    text = open(f"{home}/late.json", encoding="utf-8").read()
    amount = f"\"total_charge_micro\":{s['total_charge_micro']}"
    with open(f"{home}/changed.json", "w", encoding="utf-8") as f:
        f.write(text.replace(amount, amount[:-1] + str((int(amount[-1]) + 1) % 10)))
    p = run(cli, "bill", "verify", f"{home}/changed.json")
    t.ok(p.returncode != 0 and "signature" in p.stdout, "bill verify notices a changed digit and says so", p.stdout)
finally:
    shutil.rmtree(home, ignore_errors=True)
t.done()
