#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Speed of `starport translate`, one core, reading from the page cache and writing to /dev/null.

    HECBENCH=/path/to/HeCBench/src HIPIFY_PERL=/path/to/hipify-perl make bench

HECBENCH names any tree with .cu and .cuh files (without it the golden cases are repeated to 16 MB). Printed: MB/s of
the whole process, the ratio to memchr over the same bytes, to a Perl single pass (one regex for words and a hash of all
names, which is what hipify-perl does since 2026), and to hipify-perl where its path is given; the growth of time from
16 MB to 256 MB; milliseconds from process start for a file of 4 KB; callgrind instructions a byte where valgrind is
installed. Only ratios are compared with anything: absolutes depend on the machine."""
import glob
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import BUILD, ROOT  # noqa: E402

STARPORT = f"{BUILD}/starport"
ARGS = ["translate", "-q", "--no-fix=all", "-j", "1"]
ROUNDS = 5
PERL = r"""
use strict; my %h; open(my $n, '<', shift) or die; while (<$n>) { chomp; my ($a, $b) = split /\t/; $h{$a} = $b; }
undef $/; for my $f (@ARGV) { open(my $i, '<', $f) or die; my $t = <$i>;
$t =~ s/\b([A-Za-z_]\w*)\b/exists $h{$1} ? $h{$1} : $1/ge; print $t; }
"""


def cpu():
    """Processor time of this process and its finished children: on a shared machine the clock on the wall measures
    the neighbours."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        total += used.ru_utime + used.ru_stime
    return total


def best(fn, rounds=ROUNDS, clock=cpu):
    times = []
    for _ in range(rounds):
        start = clock()
        fn()
        times.append(clock() - start)
    return max(min(times), 1e-9), max(statistics.median(times), 1e-9)


def call(*args):
    subprocess.run(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def inputs(work):
    tree = os.environ.get("HECBENCH")
    if tree:
        return sorted(f for root, _, names in os.walk(tree) for f in (os.path.join(root, n) for n in names)
                      if f.endswith((".cu", ".cuh")) and os.path.isfile(f))
    files = []
    text = b"".join(open(f, "rb").read() for f in sorted(glob.glob(f"{ROOT}/tests/port/golden/*.cu")))
    for i in range(256):
        files.append(f"{work}/case{i}.cu")
        with open(files[-1], "wb") as f:
            f.write(text * max(1, (16 << 20) // 256 // len(text)))
    return files


def names(work):
    path = f"{work}/names"
    with open(path, "w") as out:
        for tab in glob.glob(f"{ROOT}/src/port/tables/*.tab"):
            for line in open(tab):
                m = re.match(r"([A-Za-z_]\w+)( |$)", line)
                if m and not line.startswith(("library", "hip ", "roc ", "flags")):
                    out.write(f"{m[1]}\thip{m[1]}\n")
    return path


def instructions(files):
    if not shutil.which("valgrind"):
        return None
    some, total = [], 0
    for f in files:
        if total < 2 << 20:
            some.append(f)
            total += os.path.getsize(f)
    p = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", STARPORT, *ARGS, *some],
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    m = re.search(r"Collected : (\d+)", p.stderr)
    return int(m[1]) / total if m else None


def growth(work, data):
    rows = []
    for mib in (16, 64, 256):
        path = f"{work}/grow.cu"
        with open(path, "wb") as f:
            f.write((data * ((mib << 20) // len(data) + 1))[:mib << 20].rsplit(b"\n", 1)[0] + b"\n")
        rows.append((mib, best(lambda: subprocess.run([STARPORT, *ARGS, "-o", f"{work}/out.hip", path],
                                                      stderr=subprocess.DEVNULL), 3)[0]))
    return rows


def main():
    work = tempfile.mkdtemp(prefix="starport-bench-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    try:
        files = inputs(work)
        data = b"".join(open(f, "rb").read() for f in files)
        mb = len(data) / 1e6
        fast, median = best(lambda: call(STARPORT, *ARGS, *files))
        print(f"starport translate: {mb:.1f} MB in {len(files)} files: {fast * 1e3:.0f} ms of one core best, {median * 1e3:.0f} ms "
              f"median, {mb / fast:.0f} MB/s, process start and input from the page cache included")
        with_fix, _ = best(lambda: call(STARPORT, *[a for a in ARGS if not a.startswith("--no-fix")], *files))
        print(f"  with the hazard rules' automatic fixes: {mb / with_fix:.0f} MB/s")
        mem, _ = best(lambda: data.find(b"\0"), clock=time.perf_counter)
        print(f"  memchr over the same bytes: {mb / mem:.0f} MB/s, ratio 1:{fast / mem:.1f}")
        table = names(work)
        perl, _ = best(lambda: call("perl", "-e", PERL, table, *files), 2)
        print(f"  Perl single pass with a hash: {mb / perl:.1f} MB/s, starport is {perl / fast:.1f} times as fast")
        old = os.environ.get("HIPIFY_PERL")
        if old:
            few = files[:60]
            size = sum(os.path.getsize(f) for f in few) / 1e6
            slow, _ = best(lambda: call("perl", old, "-quiet-warnings", *few), 1)
            version = subprocess.run(["perl", old, "-version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            print(f"  hipify-perl ({version.stdout.strip()}) -quiet-warnings on {size:.2f} MB: {size / slow:.2f} MB/s, "
                  f"starport is {(mb / fast) / (size / slow):.0f} times as fast")
        for mib, seconds in growth(work, data[:8 << 20]):
            print(f"  one file of {mib} MiB: {seconds * 1e3:.0f} ms, {mib * 1.048576 / seconds:.0f} MB/s")
        small = f"{work}/small.cu"
        with open(small, "wb") as f:
            f.write(data[:4096])
        one, _ = best(lambda: subprocess.run([STARPORT, "translate", "-q", small], stdout=subprocess.DEVNULL,
                                             stderr=subprocess.DEVNULL), 20, time.perf_counter)
        print(f"  a file of 4 KB from process start: {one * 1e3:.2f} ms")
        per_byte = instructions(files)
        if per_byte:
            print(f"  instructions a byte (callgrind): {per_byte:.1f}")
    finally:
        shutil.rmtree(work)


main()
