#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""From the request to the SSH banner: POST /v1/leases until the banner is read through the instance's own port, against a
bare `crun run` of the same bundle (same config.json, its command replaced by true). What lies between is ours: placement and
money in the store, the agent's disk, overlay and network, the sshd, and the report that starts the meter."""
import json
import os
import pwd
import shutil
import socket
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from agent import APPLETS, BUSYBOX, Agent, small_root  # noqa: E402
from fleet import add_key, launch, reach  # noqa: E402
from starlease import USER, Server  # noqa: E402
from tap import wait_for  # noqa: E402

ROUNDS = 9


def banner(port, seconds=60):
    def read():
        try:
            with socket.create_connection(("127.0.0.1", port), 1) as s:
                s.settimeout(2)
                return s.recv(4) == b"SSH-"
        except OSError:
            return False
    wait_for(read, seconds, "an SSH banner")


def bare(agent, lease):
    """Seconds of a bare crun run of the running lease's bundle."""
    root = f"{agent.dir}/bare"
    with open(f"{agent.run}/leases/{lease}/bundle/config.json") as f:
        config = json.load(f)
    uid = config["linux"]["uidMappings"][0]["hostID"]
    if not os.path.exists(root):
        for d in ("bin", "etc", "proc", "sys", "dev", "tmp", "root/.ssh", "shared", ".starlease/lease"):
            os.makedirs(f"{root}/root/{d}", exist_ok=True)
        shutil.copy(BUSYBOX, f"{root}/root/bin/busybox")
        for a in APPLETS:
            os.symlink("busybox", f"{root}/root/bin/{a}")
        for f in ("hosts", "hostname", "resolv.conf"):
            open(f"{root}/root/etc/{f}", "w").close()
        subprocess.run(["chown", "-hR", f"{uid}:{uid}", f"{root}/root"], check=True)
        os.chmod(root, 0o711)
    config["root"]["path"] = f"{root}/root"
    config["process"]["args"] = ["/bin/true"]
    config["linux"]["cgroupsPath"] = "/starlease/bench-bare"
    # what the agent mounts into the container lives in the supervisor's namespace; the bare run has the image's own files
    config["mounts"] = [m for m in config["mounts"] if m["type"] != "bind"]
    with open(f"{root}/config.json", "w") as f:
        json.dump(config, f)
    script = "umount /sys/fs/cgroup/unified 2>/dev/null; exec crun --cgroup-manager=cgroupfs run -b \"$1\" bench-bare"
    t0 = time.monotonic()
    subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", root], check=True, stdin=subprocess.DEVNULL)
    return time.monotonic() - t0


def main():
    agent = Agent(options=["--allow-uid", str(pwd.getpwnam(USER).pw_uid)])
    agent.prefix = "lea_01"
    ours, theirs = [], []
    try:
        agent.start()
        with Server(conf={"lease": {"heartbeat": "5s"}, "node": {"port_base": agent.port_base, "ssh_host": "127.0.0.1"}}) as s:
            op = s.operator()
            op.must("POST", "/v1/nodes", {"addr": f"unix:{agent.socket}"})
            wait_for(lambda: op.get("/v1/nodes")[1]["items"][0]["state"] == "available", 60, "the node")
            op.must("POST", "/v1/images", {"name": "busy", "path": small_root(agent.dir)})
            wait_for(lambda: op.get("/v1/images")[1]["items"][0]["state"] == "available", 60, "the image")
            r = s.renter("bench@example.com")
            add_key(r)
            for _ in range(ROUNDS):
                t0 = time.monotonic()
                lease = launch(r, image="busy", disk_gb=1)
                banner(lease["ssh"]["port"])
                ours.append(time.monotonic() - t0)
                reach(r, lease, "running")
                theirs.append(bare(agent, lease["id"]))
                r.must("POST", f"/v1/leases/{lease['id']}/stop")
                reach(r, lease, "stopped")
                r.must("DELETE", f"/v1/leases/{lease['id']}")
    finally:
        agent.close()
    version = subprocess.run(["crun", "--version"], stdout=subprocess.PIPE, text=True).stdout.split("\n")[0]
    a, b = statistics.median(ours) * 1000, statistics.median(theirs) * 1000
    print(f"request to SSH banner {a:.0f} ms (median of {ROUNDS}, most {max(ours) * 1000:.0f}), bare run of the same bundle by {version} {b:.0f} ms: "
          f"{a - b:.0f} ms are ours, ratio {a / b:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
