#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The demo, twice: it ends well, runs the control plane as nobody special, and leaves nothing on the host once stopped."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import BUILD, ROOT, Tap, wait_for  # noqa: E402

t = Tap()
if os.getuid() != 0:
    t.skip("the demo runs twice", "it needs root")
    t.done()
data = tempfile.mkdtemp(prefix="starlease-demo-test-", dir="/var/tmp")
os.chmod(data, 0o755)
ENV = dict(os.environ, BUILD=BUILD, DEMO_DATA=data, DEMO_RUN="/run/starlease-demo-test", DEMO_BRIDGE="sldemot", DEMO_NET="10.93.0.0/16",
           DEMO_PORT_BASE="24800")
for name in list(ENV):
    if name.startswith("STARLEASE_"):
        del ENV[name]
have = os.path.join(ROOT, "demo-data", "debian-small.tar")
if os.path.exists(have):
    shutil.copyfile(have, os.path.join(data, "debian-small.tar"))


def demo(*args):
    p = subprocess.run(["scripts/demo.sh", *args], cwd=ROOT, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, timeout=800)
    return p.returncode, p.stdout


def left():
    """What the demo could leave on the host, counted by its own names."""
    def lines(*argv):
        return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.splitlines()
    marks = ("starlease-demo-test", "sldemot")
    found = [x for x in lines("cat", "/proc/mounts") + lines("losetup", "-a") + lines("ip", "-br", "link") + lines("nft", "list", "ruleset")
             + lines("ip", "netns", "list") if any(m in x for m in marks)]
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                cmd = f.read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if any(m in cmd for m in marks) and int(pid) != os.getpid():
            found.append(f"{pid}: {cmd}")
    return found


def main():
    for round_no in ("first", "second"):
        rc, out = demo()
        ok = t.ok(rc == 0 and "agrees to the micro-unit" in out and "First reproducible metric" in out, f"the {round_no} run ends well", out[-3000:])
        if not ok:
            return
        t.ok("the second instance reads the same bytes" in out and "gives the same SHA-256" in out,
             f"{round_no} run: the second instance sees the files, and the metric is reproduced from the nonce")
        print("# " + "; ".join(re.findall(r"^ +([\d.]+  (?:all of it|First instance.*))$", out, re.M)))
        url = re.search(r"The server is running at (http://[\d.:]+)", out).group(1)
        t.equal(urllib.request.urlopen(url + "/v1/health", timeout=10).status, 200, f"{round_no} run: the server is left running at the URL it tells")
        with open(os.path.join(data, "starleased.pid"), encoding="utf-8") as f:
            pid = int(f.read().split()[0])
        with open(f"/proc/{pid}/status", encoding="utf-8") as f:
            uids = re.search(r"^Uid:\s+(.*)$", f.read(), re.M).group(1).split()
        t.ok("0" not in uids, f"{round_no} run: starleased is not root", uids)
    rc, out = demo("stop")
    t.equal(rc, 0, "it is stopped by its own command")
    try:
        wait_for(lambda: not left(), 20, "nothing to be left")
    except TimeoutError:
        pass
    t.ok(not left(), "then no mount, loop device, link, rule or process of it is left", "\n".join(left()))


t.run("the demo's test ends without an exception", main)
demo("clean")
shutil.rmtree(data, ignore_errors=True)
t.done()
