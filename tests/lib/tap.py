# SPDX-License-Identifier: Apache-2.0
"""TAP printing and the few helpers that every Python test needs.

    from tap import Tap, wait_for
    t = Tap()
    t.ok(balance == "10.00", "the renter sees CNY 10 after verifying")
    t.done()            prints the plan and exits 0, or 1 when something failed
"""
import os
import sys
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))


class Tap:
    def __init__(self):
        self.n = 0
        self.failed = 0

    def ok(self, cond, name, detail=None):
        self.n += 1
        if not cond:
            self.failed += 1
        print(f"{'ok' if cond else 'not ok'} {self.n} - {name}", flush=True)
        if not cond and detail is not None:
            for line in str(detail).splitlines():
                print("#   " + line, flush=True)
        return cond

    def equal(self, got, want, name):
        return self.ok(got == want, name, f"got:  {got!r}\nwant: {want!r}")

    def skip(self, name, why):
        self.n += 1
        print(f"ok {self.n} - {name} # SKIP {why}", flush=True)

    def run(self, name, fn, *args):
        """Runs fn; an exception is a failure with its trace."""
        try:
            fn(*args)
        except Exception:
            self.ok(False, name, traceback.format_exc())

    def done(self):
        print(f"1..{self.n}", flush=True)
        sys.exit(1 if self.failed or self.n == 0 else 0)


def wait_for(cond, seconds=30, what="condition"):
    """Polls until cond() is truthy and returns it; raises after the deadline."""
    end = time.monotonic() + seconds
    while True:
        v = cond()
        if v:
            return v
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds} s for {what}")
        time.sleep(0.02)
