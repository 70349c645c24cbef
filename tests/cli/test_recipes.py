#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The image recipes: what each would have mmdebstrap do, without building; the shipped lists of images; `make images`."""
import csv
import glob
import os
import re
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import ROOT, Tap  # noqa: E402

t = Tap()
os.chdir(ROOT)
recipes = sorted(os.path.basename(f)[:-3] for f in glob.glob("images/*.sh"))
t.ok({"debian-small", "hipcc", "notebook", "torch-cpu"} <= set(recipes), "there are recipes for a small image, hipcc, PyTorch and Jupyter", recipes)
WANT = {"hipcc": {"hipcc", "libamdhip64-dev"}, "torch-cpu": {"python3-torch"}, "notebook": {"jupyter-notebook"}, "debian-small": {"ca-certificates"}}
with tempfile.TemporaryDirectory() as d:
    fake = d + "/mmdebstrap"
    with open(fake, "w") as f:
        f.write('#!/bin/sh\nfor a in "$@"; do printf "%s\\n" "$a"; done\n')
    os.chmod(fake, 0o755)
    for r in recipes:
        p = subprocess.run([f"images/{r}.sh", d + "/out.tar"], env={"PATH": d + ":" + os.environ["PATH"]}, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
        args = p.stdout.split("\n")
        packages = set(",".join(a[len("--include="):] for a in args if a.startswith("--include=")).split(","))
        t.ok(p.returncode == 0 and d + "/out.tar" in args and WANT.get(r, set()) | {"openssh-sftp-server"} <= packages
             and "--skip=output/dev" in args and "bookworm" in args, f"{r} asks for its packages, with SFTP and without device nodes", p.stdout)
        p = subprocess.run([f"images/{r}.sh", d + "/out.zip"], env={"PATH": d + ":" + os.environ["PATH"]}, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
        t.ok(p.returncode == 2 and ".tar" in p.stdout, f"{r} writes a tar or nothing", p.stdout)
        t.ok(os.stat(f"images/{r}.sh").st_mode & stat.S_IXUSR and subprocess.run(["shellcheck", f"images/{r}.sh"]).returncode == 0,
             f"{r} is a clean shell script")
    p = subprocess.run(["make", "images", f"IMAGES={d}/made"], env={"PATH": d + ":" + os.environ["PATH"]}, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True)
    t.ok(p.returncode == 0 and all(f"{d}/made/{r}.tar" in p.stdout for r in recipes), "make images builds every recipe", p.stdout)


def rows(name):
    with open(f"images/{name}.csv") as f:
        return list(csv.DictReader(line for line in f if not line.startswith("#")))


lists = rows("catalogue")
frameworks = " ".join(r["frameworks"] for r in lists)
t.ok(all(w in frameworks for w in ("PyTorch", "TensorFlow", "vLLM")), "the catalogue has PyTorch, TensorFlow and vLLM")
bad = [r for r in lists if not re.fullmatch(r"docker://docker\.io/rocm/(pytorch|tensorflow|vllm):rocm[\w.-]+", r["reference"])
       or not r["reference"].split(":")[-1].startswith("rocm" + r["rocm"]) or not r["source"]]
t.ok(not bad, "each entry names a tag of its ROCm version and its source", bad)
with open("prices/models.csv") as f:
    gfx = {r["gfx"] for r in csv.DictReader(line for line in f if not line.startswith("#")) if r["maker"] == "AMD"}
t.equal(gfx - {r["gfx"] for r in rows("compatibility")}, set(), "every AMD card that is sold has a line of what it needs")
t.ok(all(r["source"] for r in rows("compatibility")), "and each line has a source")
t.done()
