#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every parser survives every input that ever mattered (tests/fuzz/corpus), under the sanitizers."""
import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import BUILD, ROOT, Tap  # noqa: E402

t = Tap()
targets = sorted(f for f in glob.glob(f"{ROOT}/tests/fuzz/fuzz_*.c"))
for src in targets:
    name = os.path.basename(src)[len("fuzz_"):-2]
    program = f"{BUILD}/tests/fuzz/fuzz_{name}"
    corpus = sorted(glob.glob(f"{ROOT}/tests/fuzz/corpus/{name}/*"))
    if not corpus:
        t.ok(False, f"{name}: the corpus has files")
        continue
    p = subprocess.run([program] + corpus, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    t.ok(p.returncode == 0, f"{name}: {len(corpus)} inputs are survived", p.stdout.decode(errors="replace")[-3000:])
t.done()
