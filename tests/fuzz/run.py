#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""make fuzz [SECONDS=60] [TARGET=name]: libFuzzer on each target; findings land in build-fuzz/findings/.
What it finds is minimised by hand into tests/fuzz/corpus/NAME/ together with the fix."""
import glob
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.chdir(ROOT)
seconds = os.environ.get("SECONDS_EACH", os.environ.get("SECONDS", "60"))
only = os.environ.get("TARGET")
build = "build-fuzz"
if not os.path.exists(f"{build}/build.ninja"):
    subprocess.run(["meson", "setup", build, "-Dfuzz=true", "-Db_sanitize=address,undefined", "-Db_lundef=false",
                    "-Dc_args=-fsanitize=fuzzer-no-link"], env=dict(os.environ, CC="clang"), check=True, stdout=subprocess.DEVNULL)
names = [os.path.basename(f)[len("fuzz_"):-2] for f in sorted(glob.glob("tests/fuzz/fuzz_*.c"))]
names = [n for n in names if only in (None, n)]
subprocess.run(["ninja", "-C", build] + [f"tests/fuzz/fuzz_{n}" for n in names], check=True, stdout=subprocess.DEVNULL)
bad = 0
for n in names:
    work = f"{build}/corpus/{n}"
    found = f"{build}/findings/{n}-"
    os.makedirs(work, exist_ok=True)
    os.makedirs(os.path.dirname(found), exist_ok=True)
    p = subprocess.run([f"{build}/tests/fuzz/fuzz_{n}", f"-max_total_time={seconds}", "-rss_limit_mb=2048", "-timeout=10",
                        f"-artifact_prefix={found}", "-print_final_stats=1", work, f"tests/fuzz/corpus/{n}"],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    runs = [x.split(":")[-1].strip() for x in p.stdout.splitlines() if x.startswith("stat::number_of_executed_units")]
    print(f"{n}: {runs[0] if runs else '?'} runs in {seconds} s, {'ok' if p.returncode == 0 else 'FINDING'}", flush=True)
    if p.returncode:
        bad += 1
        print("\n".join(p.stdout.splitlines()[-40:]))
sys.exit(1 if bad else 0)
