#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures starport's hazard rules on HeCBench (pairs X-cuda, X-hip), which stays outside this tree.

    tests/port/hazard_measure.py --src HeCBench/src [--tool build/starport] [--sample N] [--seed S]

recall: of the files whose hand-ported twin removed and added lines about warps (shuffles, votes, masks, lane
numbers, warp size; launches and includes set aside), the share that has a finding SP01xx.
precision: reads the verdict list of docs/porting.md and says how many of its findings are still reported.
--sample prints N findings for a person to judge: one of each rule and file, N of those, chosen with the seed (so that
a file with a thousand shuffles counts once).
"""
import argparse
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WARP = re.compile(r"warp_?size|wavefrontsize|__ballot|__shfl|__activemask|__any_sync|__all_sync|__popc|__ffs\(|\blane|0xffffffff|full_?mask", re.I)
SOURCES = (".cu", ".cuh", ".h", ".hpp")


def read(path):
    with open(path, encoding="latin-1") as f:
        return f.read()


def lines(text):
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"\bcuda", "hip", text)
    return [re.sub(r"\s+", "", x) for x in text.split("\n") if x.strip()]


def about_warps(x):
    return WARP.search(x) and "<<<" not in x and "hipLaunchKernelGGL" not in x and not x.startswith("#include")


def twin_changed(cuda, hip):
    a, b = lines(read(cuda)), lines(read(hip))
    sa, sb = set(a), set(b)
    return any(about_warps(x) for x in a if x not in sb) and any(about_warps(x) for x in b if x not in sa)


def pairs(src):
    for name in sorted(os.listdir(src)):
        cuda, hip = os.path.join(src, name), os.path.join(src, name[:-5] + "-hip")
        if not name.endswith("-cuda") or not os.path.isdir(hip):
            continue
        for root, _, files in os.walk(cuda):
            for f in files:
                p = os.path.join(root, f)
                q = os.path.join(hip, os.path.relpath(p, cuda))
                if f.endswith(SOURCES) and os.path.exists(q):
                    yield p, q


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--src", required=True)
    ap.add_argument("--tool", default=f"{ROOT}/build/starport")
    ap.add_argument("--sample", type=int, default=0)
    ap.add_argument("--seed", type=int, default=2026)
    a = ap.parse_args()
    src = a.src.rstrip("/")
    out = tempfile.NamedTemporaryFile(suffix=".json")
    subprocess.run([a.tool, "examine", src, "--format", "json", "--output", out.name, "--fail-on", "never"], check=True)
    with open(out.name, encoding="utf-8") as f:
        found = [x for x in json.load(f)["findings"] if "-cuda/" in x["path"]]
    for x in found:
        x["rel"] = os.path.relpath(x["path"], src)
    counts = collections.Counter(x["id"] for x in found)
    print("findings in X-cuda:", sum(counts.values()), dict(sorted(counts.items())))
    with_w = {x["rel"] for x in found if x["id"].startswith("SP01")}
    changed = [os.path.relpath(p, src) for p, q in pairs(src) if twin_changed(p, q)]
    missed = [p for p in changed if p not in with_w]
    print(f"recall: {len(changed) - len(missed)} of {len(changed)} files whose twin changed warp lines have a W finding")
    for p in missed:
        print("  missed", p)
    have = {(x["rel"], x["line"], x["id"]) for x in found}
    verdicts = re.findall(r"^- `([^`:]+):(\d+)` (SP\d{4}) (true|false)", read(f"{ROOT}/docs/porting.md"), re.M)
    gone = [v for v in verdicts if (v[0], int(v[1]), v[2]) not in have]
    true = sum(v[3] == "true" for v in verdicts)
    if verdicts:
        print(f"precision: {true} of {len(verdicts)} judged findings hold ({100.0 * true / len(verdicts):.1f} %); "
              f"{len(gone)} of them are no longer reported")
    for v in gone:
        print("  gone", *v)
    if a.sample:
        texts, groups, rng = {}, collections.defaultdict(list), random.Random(a.seed)
        for x in sorted(found, key=lambda x: (x["rel"], x["line"], x["column"], x["id"])):
            groups[x["rel"], x["id"]].append(x)
        for x in rng.sample([rng.choice(v) for _, v in sorted(groups.items())], a.sample):
            text = texts.setdefault(x["path"], read(x["path"]).split("\n"))
            print(f"- `{x['rel']}:{x['line']}` {x['id']} {x['severity']} | {x['what'][:60]} | {text[x['line'] - 1].strip()[:110]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
