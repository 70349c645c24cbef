#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`starlease price list` and `compare` without a server: on the shipped file and on files made here."""
import csv
import decimal
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import BUILD, ROOT, Tap  # noqa: E402

t = Tap()
D = decimal.Decimal
decimal.getcontext().prec = 60
home = tempfile.mkdtemp(prefix="starlease-price-")
ENV = {"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8"}
SEED = os.path.join(ROOT, "prices", "seed.csv")


def starlease(*args, cwd="/"):
    return subprocess.run([f"{BUILD}/starlease", *args], env=ENV, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60)


def half_up(x, places):
    return x.quantize(D(1).scaleb(-places), rounding=decimal.ROUND_HALF_UP)


def rows(path):
    with open(path, encoding="utf-8") as f:
        return list(csv.DictReader(line for line in f if not line.startswith("#")))


def items(*args):
    p = starlease("price", "list", "-o", "json", *args)
    if p.returncode:
        raise RuntimeError(p.stderr)
    return json.loads(p.stdout)["items"]


def check_rows(path, got, what):
    want = rows(path)
    t.equal([r["model"] for r in got], [r["model"] for r in want], f"{what}: every row of the file is listed, in its order")
    bad = []
    for g, w in zip(got, want):
        told, true = int(w["memory_gb_told"]), int(w["memory_gb"])
        if D(g["price"]) != D(w["price"]) or g["currency"] != w["currency"]:
            bad.append(f"{w['model']}: price {g['price']} {g['currency']}")
        if g["price_per_gb"] != str(half_up(D(w["price"]) / told, 3)):
            bad.append(f"{w['model']}: per GB {g['price_per_gb']}, not {half_up(D(w['price']) / told, 3)}")
        if w.get("cost_per_gb_told") and f"{g['price_per_gb']} {g['currency']}" != w["cost_per_gb_told"]:
            bad.append(f"{w['model']}: told {w['cost_per_gb_told']}, listed {g['price_per_gb']} {g['currency']}")
        if (told != true) != bool(g["memory_flag"]) or (told != true and str(true) not in g["memory_flag"]):
            bad.append(f"{w['model']}: memory flag {g['memory_flag']}")
    t.ok(not bad, f"{what}: price, cost per GB (3 decimals, half up) and the memory flag are right", "\n".join(bad))


check_rows(SEED, items(), "the shipped file, found beside the program")
p = starlease("price", "list")
flagged = [r["model"] for r in rows(SEED) if r["memory_gb"] != r["memory_gb_told"]]
t.ok(p.returncode == 0 and all(re.search(rf"^! {re.escape(m)}: ", p.stdout, re.M) for m in flagged),
     "the table warns where the told memory is not the maker's", p.stdout + p.stderr)

# The worked example of the shipped file: 8 cards, 24 hours, two currencies.
fx = "7.217"
a, b = rows(SEED)[0], rows(SEED)[1]
job_a, job_b = f"8x{a['model']}:24h", f"8x{b['model']}:24h"
cost_a, cost_b = D(a["price"]) * 192, D(b["price"]) * 192
in_a = half_up(cost_b * D(fx), 2)
p = starlease("compare", "--file", SEED, job_a, job_b, "--fx", f"{b['currency']}/{a['currency']}={fx}@2026-11-30")
want = [f"{cost_a:.2f} {a['currency']}", f"{cost_b:.2f} {b['currency']} = {in_a} {a['currency']}", f"ratio {half_up(in_a / cost_a, 2)}", "2026-11-30"]
t.ok(p.returncode == 0 and all(w in p.stdout for w in want), "compare prices the same job in two currencies at a dated rate",
     f"want {want}\n{p.stdout}{p.stderr}")
p = starlease("compare", "--file", SEED, job_a, job_b)
t.ok(p.returncode != 0 and "ratio" not in p.stdout and "--fx" in p.stderr,
     "without a dated exchange rate there is no ratio, the exit status is not 0, and the remedy is named", p.stdout + p.stderr)
p = starlease("compare", "--file", SEED, job_a, job_b, "--fx", f"{b['currency']}/{a['currency']}={fx}")
t.ok(p.returncode == 2 and "date" in p.stderr.lower(), "an exchange rate without a date is refused", p.stderr)

# Random files: the figures come from the file, wherever it lies.
seed = int(os.environ.get("SEED") or random.SystemRandom().randrange(1 << 32))
rnd = random.Random(seed)
print(f"# seed {seed}")
for round_no in range(3):
    path = os.path.join(home, f"r{round_no}.csv")
    with open(path, "w", encoding="utf-8", newline="") as f:
        w = csv.writer(f)
        w.writerow(["model", "memory_gb_told", "memory_gb", "memory_type", "price", "currency", "unit", "frameworks", "note"])
        for i in range(rnd.randint(2, 12)):
            gb = rnd.randint(1, 400)
            price = D(rnd.randint(1, 99_999_999)) / D(rnd.choice([100, 1000, 1_000_000]))
            w.writerow([f"Card {rnd.choice('ABCDEF')}{i}", gb if rnd.random() < 0.5 else rnd.randint(1, 400), gb, "HBM", f"{price:f}",
                        "CNY" if i == 0 else rnd.choice(["CNY", "USD", "EUR"]), "gpu_hour", "none", 'a "note", with a comma'])
    check_rows(path, items("--file", path), f"random file {round_no}")
    r = rows(path)
    x, y = r[0], rnd.choice(r[1:])
    n, hours, rate = rnd.randint(1, 64), rnd.randint(1, 2000), D(rnd.randint(1, 99999)) / 1000
    args = ["compare", "-o", "json", "--file", path, f"{n}x{x['model']}:{hours}h", f"{n}x{y['model']}:{hours}h"]
    if y["currency"] != x["currency"]:
        args += ["--fx", f"{y['currency']}/{x['currency']}={rate:f}@2026-10-01"]
    p = starlease(*args)
    got = json.loads(p.stdout)["jobs"] if p.returncode == 0 else [{}, {}]
    cx, cy = D(x["price"]) * n * hours, D(y["price"]) * n * hours
    cy_in_x = cy if y["currency"] == x["currency"] else (cy * rate).quantize(D("0.000001"), rounding=decimal.ROUND_HALF_UP)
    t.ok(p.returncode == 0 and D(got[0].get("total", -1)) == cx and D(got[1].get("total", -1)) == cy
         and abs(D(got[1].get("converted", -1)) - cy_in_x) <= D("0.005") and D(got[1].get("ratio", -1)) == half_up(cy_in_x / cx, 2),
         f"random file {round_no}: totals, conversion and ratio are those of an exact recomputation",
         f"{args}\n{p.stdout}{p.stderr}\nwant {cx} {cy} {cy_in_x} {half_up(cy_in_x / cx, 2)}")

# Bad input.
for args, word, what in (
        (["compare", "--file", SEED, "8xNo Such Card:1h"], "No Such Card", "an unknown model is named"),
        (["compare", "--file", SEED, f"0x{a['model']}:1h"], "0", "a job of no cards is refused"),
        (["compare", "--file", SEED, f"8x{a['model']}:-1h"], "-1h", "a negative duration is refused"),
        (["price", "list", "--file", "/nonexistent.csv"], "/nonexistent.csv", "a file that is not there is named"),
        (["price", "list", "--model", "No Such Card"], "No Such Card", "price list of an unknown model says so"),
        (["wallet"], "show, ledger, topup", "a command that needs a second word lists them"),
        (["bill", "frob"], "show, export, verify", "a wrong second word too"),
        (["help", "node"], "list, show", "and help"),
        (["price", "list", "--frob"], "--frob", "an unknown option is named")):
    p = starlease(*args)
    t.ok(p.returncode in (1, 2, 4) and word in p.stderr and p.stderr.count("\n") == 1, what + ", in one line", f"{p.returncode}: {p.stderr}")
bad_csv = os.path.join(home, "bad.csv")
for line, what in (("X,1,1,HBM,-3,CNY", "a negative price"), ("X,1,1,HBM,NaN,CNY", "NaN"), ("X,1,1,HBM,1e3,CNY", "an exponent"),
                   ("X,1,1,HBM,0,CNY", "a price of 0"), ("X,1,1,HBM,1,yuan", "a currency that is none"), ("X,1,1,HBM,0.0000001,CNY", "a seventh decimal")):
    with open(bad_csv, "w", encoding="utf-8") as f:
        f.write("model,memory_gb_told,memory_gb,memory_type,price,currency\n" + line + "\n")
    p = starlease("price", "list", "--file", bad_csv)
    t.ok(p.returncode == 2 and "2" in p.stderr and not p.stdout, f"a price file with {what} is refused with its line", p.stdout + p.stderr)
t.done()
