#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`starlease bench` on this machine: any program that prints a figure, PyTorch's suites on the CPU, records edited by hand."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import BUILD, Tap  # noqa: E402

t = Tap()
home = tempfile.mkdtemp(prefix="starlease-bench-")
ENV = {"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8"}
JOB = """#!/bin/sh
# prints a result that depends on the seed alone, and a figure that does not repeat itself
echo "result $((STARLEASE_SEED % 1000 * 7))"
n=$(cat "$0.count" 2>/dev/null || echo 100); echo $((n + 1)) >"$0.count"
echo "time $n.5 ms"
"""


def starlease(*args):
    return subprocess.run([f"{BUILD}/starlease", *args], env=ENV, cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=600)


def load(name):
    with open(os.path.join(home, name), encoding="utf-8") as f:
        return json.load(f)


def edit(name, change):
    d = load(name)
    change(d)
    with open(os.path.join(home, "edited.json"), "w", encoding="utf-8") as f:
        json.dump(d, f)
    return starlease("bench", "verify", "edited.json")


def kernel():
    with open(os.path.join(home, "job.sh"), "w", encoding="utf-8") as f:
        f.write(JOB)
    p = starlease("bench", "run", "--repeats", "12", "--figure", "time ", "--out", "a.json", "kernel", "sh", "job.sh")
    t.ok(p.returncode == 0 and "12 samples in 12 repeats" in p.stdout and "the same in every repeat" in p.stdout,
         "a program that prints a figure becomes a record", p.stdout + p.stderr)
    r = load("a.json")["record"]
    t.equal([x["samples"] for x in r["repeats"]][:2], [["102.5"], ["103.5"]], "two warm-up runs do not count, each other one is a sample")
    t.equal(r["result"]["median"], "108", "the median is that of all samples")
    t.ok(any("job.sh" in f for f in r["files"]) and r["hardware"]["cpus"] == str(os.cpu_count()),
         "it names the program's file by its hash, and the machine", json.dumps(r)[:600])
    p = starlease("bench", "verify", "a.json")
    t.ok(p.returncode == 0 and "not signed" in p.stdout, "it can be recomputed, and says that it is not signed", p.stdout + p.stderr)
    os.remove(os.path.join(home, "job.sh.count"))
    starlease("bench", "run", "--repeats", "12", "--figure", "time ", "--out", "b.json", "kernel", "sh", "job.sh")
    p = starlease("-o", "json", "bench", "compare", "a.json", "b.json")
    v = json.loads(p.stdout)
    t.ok(v["loss_percent"] == "0.00" and v["hardware_same"] and v["migration_loss"] and v["results_agree"],
         "the same again: no loss, one platform, equal results", p.stdout + p.stderr)
    p = starlease("bench", "compare", "--require-within", "--limit", "0.001", "a.json", "b.json")
    t.ok(p.returncode == 11 and "more runs are needed" in p.stdout, "undecided is not within: exit status 11 when that was asked for",
         p.stdout + p.stderr)


def edited():
    p = edit("a.json", lambda d: d["record"]["result"].update(median="1"))
    t.ok(p.returncode == 11 and "sha256" in p.stderr, "a median edited by hand is noticed", p.stderr)
    p = edit("a.json", lambda d: (d["record"]["result"].update(median="1"), d.pop("sha256")))
    t.ok(p.returncode == 11 and "median: the record states 1" in p.stderr, "also when the hash was taken out", p.stderr)
    p = edit("a.json", lambda d: (d["record"]["repeats"][0]["samples"].append("1"), d.pop("sha256")))
    t.ok(p.returncode == 11, "a sample slipped in is noticed", p.stderr)
    p = edit("a.json", lambda d: (d["record"].update(nonce="ab", seed=1), d.pop("sha256")))
    t.ok(p.returncode == 11 and "seed" in p.stderr, "a seed that does not follow from the nonce is noticed", p.stderr)
    for bad in ("", "[]", '{"record":{"suite":"\\u001b[2J"}}', "x" * 2000):
        with open(os.path.join(home, "edited.json"), "w", encoding="utf-8") as f:
            f.write(bad)
        p = starlease("bench", "verify", "edited.json")
        t.ok(p.returncode == 2 and p.stderr.count("\n") == 1 and "\x1b" not in p.stderr, f"no record: {bad[:20]!r} gives one sentence", p.stderr)


def bad_input():
    for args, word in ((("kernel",), "command"), (("nope",), "suite"), (("--batch", "0", "resnet50"), "batch"),
                       (("--batch", "x", "resnet50"), "batch"), (("gemm", "sh"), "command"), (("--repeats", "101", "gemm"), "repeats"),
                       (("--figure", "nothing", "kernel", "echo", "5"), "figure"), (("kernel", "false"), "status 1"),
                       (("kernel", "/no/such/program"), "/no/such/program")):
        p = starlease("bench", "run", "--warmup", "0", *args)
        t.ok(p.returncode != 0 and word in p.stderr and p.stderr.count("\n") == 1, f"bench run {' '.join(args)}: one sentence that names it", p.stderr)
    p = starlease("bench", "compare", "--peak", "1", "a.json", "b.json")
    t.ok(p.returncode == 2 and "peak" in p.stderr, "one peak alone is refused", p.stderr)


def torch():
    probe = subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True)
    if probe.returncode:
        p = starlease("bench", "run", "--repeats", "1", "gemm")
        t.ok(p.returncode == 9 and "python3-torch" in p.stderr, "without PyTorch the package is named", p.stderr)
        return
    small = ("--batch", "2", "--image", "32", "--steps", "2", "--warmup", "0", "--repeats", "2")
    p = starlease("bench", "run", "--batch", "1", *small[2:], "resnet50")
    t.ok(p.returncode == 9 and "larger batch" in p.stderr, "a batch that the network cannot train on is named", p.stderr)
    p = starlease("bench", "run", *small, "--out", "resnet.json", "resnet50")
    t.ok(p.returncode == 0 and "the same in every repeat" in p.stdout, "ResNet-50 trains on the CPU, and repeats itself to the bit", p.stdout + p.stderr)
    r = load("resnet.json")["record"] if p.returncode == 0 else {"repeats": [{"losses": []}], "software": {"libraries": [""]}}
    t.ok(len(r["repeats"][0]["losses"]) == 2 and r["software"]["libraries"][0].startswith("torch "), "its record has the loss curve and PyTorch's version")
    p = starlease("bench", "run", *small[:4], "--warmup", "0", "--steps", "1", "--repeats", "1", "--checkpoint", "run.pt", "--out", "c1.json", "resnet50")
    t.ok(p.returncode == 0 and os.path.exists(os.path.join(home, "run.pt")), "a checkpoint is written", p.stderr)
    p = starlease("bench", "run", *small[:4], "--steps", "2", "--warmup", "0", "--repeats", "1", "--checkpoint", "run.pt", "--out", "c3.json", "resnet50")
    t.equal(load("c3.json")["record"]["repeats"][0]["losses"], r["repeats"][0]["losses"][1:], "a second run goes on from it, with the same loss as one that was not cut")
    for suite, extra in (("gemm", ("--size", "64")), ("memcpy", ("--size", "1")), ("allreduce", ("--size", "1"))):
        p = starlease("bench", "run", *extra, "--steps", "2", "--warmup", "0", "--repeats", "2", "--out", f"{suite}.json", suite)
        t.ok(p.returncode == 0 and "the same in every repeat" in p.stdout, f"{suite} runs and repeats itself", p.stdout + p.stderr)
    p = starlease("bench", "compare", "gemm.json", "memcpy.json")
    t.ok(p.returncode == 5 and "suite" in p.stderr, "two suites are not compared", p.stderr)


kernel()
edited()
bad_input()
torch()
shutil.rmtree(home)
t.done()
