#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""make mutants: plants one-line faults in the code that handles money, leases, placement and the container's
configuration, and checks that the tests notice each one. Works on a copy of the tree in build-mutants/.

A mutant that no longer applies is an error, too: this list follows the code."""
import os
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from mutants import MUTANTS  # noqa: E402

WORK = f"{ROOT}/build-mutants"
TREE = f"{WORK}/tree"


def sh(*cmd, **kw):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **kw)


def prepare():
    os.makedirs(TREE, exist_ok=True)
    names = sh("git", "-C", ROOT, "ls-files", "-z").stdout.split("\0")
    for n in filter(None, names):
        src, dst = f"{ROOT}/{n}", f"{TREE}/{n}"
        if not os.path.isfile(src):
            continue
        if os.path.exists(dst) and open(dst, "rb").read() == open(src, "rb").read():
            continue  # keeps its time stamp: nothing to build again
        os.makedirs(os.path.dirname(dst), exist_ok=True)
        shutil.copy2(src, dst)
        os.utime(dst)
    if not os.path.exists(f"{TREE}/build/build.ninja"):
        p = sh("meson", "setup", "build", "-Dbuildtype=debug", cwd=TREE)
        if p.returncode:
            sys.exit(p.stdout)


def build():
    return sh("ninja", "-C", "build", cwd=TREE)


def run_tests(tests):
    """True when every test passes."""
    env = dict(os.environ, BUILD="build", SAN="build", PYTHONDONTWRITEBYTECODE="1")
    return sh(sys.executable, "tests/run", *tests, cwd=TREE, env=env, timeout=900)


def main():
    only = sys.argv[1:]
    prepare()
    p = build()
    if p.returncode:
        sys.exit(p.stdout[-4000:])
    every = sorted({t for m in MUTANTS for t in m[4]})
    print("without a mutant:", ", ".join(every), flush=True)
    p = run_tests(every)
    if p.returncode:
        sys.exit(p.stdout[-4000:] + "\nthe tests must pass before mutants mean anything")
    survived = []
    for name, path, old, new, tests in MUTANTS:
        if only and name not in only:
            continue
        file = f"{TREE}/{path}"
        original = open(file).read()
        if original.count(old) != 1:
            survived.append(name)
            print(f"STALE    {name}: the line is there {original.count(old)} times in {path}")
            continue
        t0 = time.monotonic()
        try:
            open(file, "w").write(original.replace(old, new))
            p = build()
            if p.returncode:
                survived.append(name)
                print(f"BROKEN   {name}: does not compile\n{p.stdout[-1500:]}")
                continue
            try:
                caught = run_tests(tests).returncode != 0
            except subprocess.TimeoutExpired:
                caught = True
        finally:
            open(file, "w").write(original)
        if not caught:
            survived.append(name)
        print(f"{'caught  ' if caught else 'SURVIVED'} {name} ({time.monotonic() - t0:.0f} s)", flush=True)
    total = len(only) or len(MUTANTS)
    print(f"{total - len(survived)} of {total} mutants caught" + (f"; not: {', '.join(survived)}" if survived else ""))
    build()
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
