#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A hostile tenant, root in his instance, tries what is known to have worked somewhere (attacker.c). Nothing may work here."""
import os
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from agent import Agent, put_node, small_root  # noqa: E402
from tap import ROOT, Tap, wait_for  # noqa: E402

t = Tap()
if os.geteuid() != 0:
    t.skip("leases run in containers", "needs root")
    t.done()

with Agent() as a:
    canary = os.path.join(a.dir, "canary")
    with open(canary, "w") as f:
        f.write("the host's\n")
    os.chmod(canary, 0o666)
    program = os.path.join(a.dir, "attacker")
    subprocess.run(["gcc", "-std=gnu17", "-O1", "-static", "-o", program, f"{ROOT}/tests/e2e/attacker.c"], check=True)
    with open(program, "rb") as f:
        data = f.read()
    info = tarfile.TarInfo("bin/attacker")
    info.mode = 0o4755  # even set-uid root
    a.call("image.import", name="evil", path=small_root(a.dir, [(info, data)]))
    a.call("lease.start", **a.spec("lea_e", slot=1, cards=[0], image="evil", command=["sh", "-c", f"attacker {canary}; sleep 600"]))
    a.wait_state("lea_e", "running")
    out = wait_for(lambda: (lambda s: s if "tries" in s else None)(a.call("lease.logs", lease="lea_e")["text"]), 30, "the attacker")
    t.ok("worked" not in out, f"the instance's command: {out.strip().splitlines()[-1]}, none works", out)
    pid = a.facts("lea_e")["pid"]
    major = int(a.ssh(1, "stat -c %t /dev/kfd"), 16)
    t.ok(put_node(pid, 1048576 + 65536, f"{a.dir}/leak", major, 136, "leak"), "another card's node is put in, as a bug might")
    out = a.ssh(1, f"attacker {canary}")
    t.ok("tries" in out and "worked" not in out, "a login session: none works, other cards stay closed", out)
    out = a.ssh(1, "echo 'u:x:1000:1000::/tmp:/bin/sh' >> /etc/passwd; chroot / /bin/sh -c 'attacker x' 2>&1 | tail -n 1")
    t.ok("tries" in out, "and the instance still works afterwards", out)
    t.equal(open(canary).read(), "the host's\n", "the host's file is untouched")
    a.call("lease.stop", lease="lea_e", epoch=1, grace_s=1)
t.done()
