#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The whole path of a lease in the store (quote, hold, placement, lease, event, outbox row) at 100,000 cards with
8 clients and synchronous=FULL, reopened and audited afterwards, against `pgbench -M prepared -s 20 -c 8` on a
PostgreSQL of its own with fsync on, on the same disk, interleaved. Wanted: at least 2 leases per pgbench transaction."""
import glob
import os
import pwd
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import BUILD, ROOT  # noqa: E402

ROUNDS, SECONDS, CLIENTS, SCALE = 3, 5, 8, 20


class Postgres:
    """A cluster in a directory of its own, on a Unix socket only."""

    def __init__(self, directory):
        self.dir, self.bin = directory, sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        os.chown(directory, pwd.getpwnam("postgres").pw_uid, -1)
        self.run("initdb", "-D", f"{directory}/pg", "-A", "trust", "-E", "UTF8", "--no-locale")
        self.run("pg_ctl", "-D", f"{directory}/pg", "-w", "-l", f"{directory}/log", "-o",
                 f"-k {directory} -c listen_addresses='' -c fsync=on -c synchronous_commit=on -c shared_buffers=512MB", "start")

    def run(self, program, *args):
        p = subprocess.run(["runuser", "-u", "postgres", "--", f"{self.bin}/{program}", *args], cwd=self.dir,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL)
        if p.returncode:
            raise RuntimeError(f"{program}: {p.stdout[-2000:]}")
        return p.stdout

    def stop(self):
        self.run("pg_ctl", "-D", f"{self.dir}/pg", "-m", "fast", "-w", "stop")


def main():
    program = f"{BUILD}/tests/perf/bench_lease_path"
    # /tmp may be a memory file system: both must pay for the same disk
    with tempfile.TemporaryDirectory(dir=os.path.join(ROOT, BUILD)) as d:
        os.chmod(d, 0o755)
        for parent in (ROOT, BUILD):
            os.chmod(parent, os.stat(parent).st_mode | 0o011)
        pg = Postgres(d)
        try:
            version = pg.run("postgres", "--version").strip()
            pg.run("createdb", "-h", d, "bench")
            pg.run("pgbench", "-h", d, "-i", "-q", "-s", str(SCALE), "bench")
            tps, ours = [], []
            for i in range(ROUNDS):
                out = pg.run("pgbench", "-h", d, "-M", "prepared", "-c", str(CLIENTS), "-j", "2", "-T", str(SECONDS), "bench")
                tps.append(float(re.search(r"tps = ([\d.]+)", out).group(1)))
                p = subprocess.run([program, "--dir", f"{d}/lease{i}", "--cards", "100000", "--clients", str(CLIENTS), "--seconds", str(SECONDS)],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                if p.returncode:
                    print(p.stdout)
                    return 1
                print("   " + p.stdout.strip().replace("\n", "\n   "))
                ours.append(float(re.search(r"per_second=([\d.]+)", p.stdout).group(1)))
        finally:
            pg.stop()
    a, b = statistics.median(ours), statistics.median(tps)
    print(f"lease path {a:.0f}/s, {version} pgbench -M prepared -s {SCALE} -c {CLIENTS} {b:.0f} tps: ratio {a / b:.2f} (wanted >= 2)")
    return 0 if a / b >= 2 else 1


if __name__ == "__main__":
    sys.exit(main())
