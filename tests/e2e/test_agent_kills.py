#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 at every named step of a lease on a node: the same order given again brings the lease up, a stop leaves nothing behind."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from agent import Agent, Refused, footprint, small_root  # noqa: E402
from tap import Tap, wait_for  # noqa: E402

t = Tap()
if os.geteuid() != 0:
    t.skip("leases run in containers", "needs root")
    t.done()


def ask(op, **fields):
    """The answer, or None when the one who should give it was killed."""
    try:
        return a.call(op, **fields)
    except Refused as e:
        return e
    except (RuntimeError, OSError):
        return None


def life(spec):
    """A lease from start to nothing, with whatever kills are armed."""
    ask("lease.start", **spec)
    lease = spec["lease"]
    try:
        wait_for(lambda: not os.path.exists(f"{a.run}/leases/{a.full(lease)}/state.json") or not a.supervisors(lease) or
                 (lambda f: f["go"] and os.path.exists(f"{a.run}/leases/{a.full(lease)}/guest/go"))(a.facts(lease)), 20, "running or killed")
    except OSError:
        pass
    if a.supervisors(lease):
        ask("lease.stop", lease=lease, epoch=spec["epoch"], grace_s=2)


def again(spec):
    """After the kill: the control plane repeats itself to an agent that was restarted."""
    lease = spec["lease"]
    if os.path.exists(f"{a.run}/leases/{a.full(lease)}/stop"):  # cut in the middle of a stop: that is repeated, then the next start
        a.call("lease.stop", lease=lease, epoch=1, grace_s=2)
        spec["epoch"] = 2
    a.call("lease.start", **spec)
    a.wait_state(lease, "running", 30)
    return a.ssh(spec["slot"], "cat /dev/kfd 2>&1")


with Agent() as a:
    a.call("image.import", name="busy", path=small_root(a.dir))
    names = os.path.join(a.dir, "steps")
    a.stop()
    a.start(STARLEASE_FAILPOINT_LIST=names)
    life(a.spec("lea_0", slot=0, cards=[0]))
    with open(names) as f:
        steps = list(dict.fromkeys(line.strip() for line in f if line.startswith("agent.")))
    t.ok(len(steps) >= 20, f"a lease's life has {len(steps)} named steps", steps)
    a.stop()
    a.start()
    idle = footprint(a)
    for n, step in enumerate(steps):
        spec = a.spec(f"lea_{chr(ord('a') + n)}", slot=1 + n % 8, cards=[n % 8])
        a.stop()
        a.start(STARLEASE_FAILPOINT=step + ":1")
        life(spec)
        a.stop()
        a.start()
        try:
            out = again(spec)
            fine = "No such device or address" in out
            a.call("lease.stop", lease=spec["lease"], epoch=spec["epoch"], grace_s=2)
            left = footprint(a)
            a.call("volume.remove", volume=spec["volume"]["id"])
            t.ok(fine and left == idle, f"killed at {step}: the lease comes up when asked again, and goes without a trace",
                 f"{out}\n{[(k, left[k]) for k in left if left[k] != idle[k]]}")
        except Exception as e:
            t.ok(False, f"killed at {step}: the lease comes up when asked again, and goes without a trace", repr(e))
            ask("lease.stop", lease=spec["lease"], epoch=2, grace_s=0)
t.done()
