#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many programs of HeCBench (kept outside of this tree) compile for gfx942 after porting?

    tests/port/hecbench_build.py HECBENCH/src [--seed 20261201] [--n 49]

Takes a seeded sample of the benchmarks with a main.cu and a hand-ported twin, runs `starport check` on the
CUDA directory (translated, with automatic fixes) and on the HIP twin (as it is), and prints both.
"""
import argparse
import json
import os
import random
import subprocess

BUILD = os.environ.get("BUILD", "build")


def builds(src, name, kind):
    d = os.path.join(src, f"{name}-{kind}")
    p = subprocess.run([os.path.join(BUILD, "starport"), "check", "-o", "json", "--no-host", "--arch", "gfx942", "-O", "1",
                        "-I", d, "-I", os.path.join(src, f"{name}-cuda"), "-I", os.path.join(src, "include"), d],
                       capture_output=True, text=True)
    try:
        r = json.loads(p.stdout)
    except json.JSONDecodeError:
        return False, p.stderr.strip()
    first = next((f"{e['file']}:{e['line']}: {e['text']}" for e in r["diagnostics"] if e["severity"] == "error"), "")
    return r["units_ok"] == r["units"], first


ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
ap.add_argument("src")
ap.add_argument("--seed", type=int, default=20261201)
ap.add_argument("--n", type=int, default=49)
a = ap.parse_args()
names = sorted(d[:-5] for d in os.listdir(a.src) if d.endswith("-cuda") and os.path.exists(os.path.join(a.src, d, "main.cu"))
               and os.path.isdir(os.path.join(a.src, d[:-5] + "-hip")))
twin_ok = both_ok = 0
for name in random.Random(a.seed).sample(names, min(a.n, len(names))):
    twin, _ = builds(a.src, name, "hip")
    ported, error = builds(a.src, name, "cuda")
    twin_ok += twin
    both_ok += twin and ported
    print(f"{name:24} twin {'builds' if twin else 'fails':7} ported {'builds' if ported else 'fails: ' + error}", flush=True)
print(f"the twin builds: {twin_ok}; of these the ported program builds: {both_ok}")
