# SPDX-License-Identifier: Apache-2.0
"""Simulated nodes for tests: starsim on a socket of its own, enrolled at a server.

    with Server(...) as s, Fleet(s, nodes=2) as f:
        f.enrol(s.operator())
        ...
        f.state()["doubled"] == 0          what starsim saw, whatever the server believes
"""
import hashlib
import json
import os
import socket
import subprocess

from tap import BUILD, wait_for

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ7VbJ2pNVYQ5wC6nq3kTtG5J7c5p0l3fYv0fZ4n2b6k test"


class Fleet:
    def __init__(self, server, nodes=1, cards=8, model="MI300X", options=()):
        self.nodes = nodes
        self.socket = os.path.join(server.dir, "sim.sock")
        argv = [os.path.join(BUILD, "starsim"), "serve", "--socket", self.socket, "--nodes", str(nodes),
                "--cards", str(cards), "--model", model, "--url", f"http://127.0.0.1:{server.port}/v1/agent/report"]
        self.proc = subprocess.Popen(argv + [str(o) for o in options], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def __enter__(self):
        wait_for(lambda: os.path.exists(self.socket), 10, "starsim's socket")
        return self

    def __exit__(self, *a):
        self.proc.kill()
        self.proc.wait()

    def rpc(self, **request):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(10)
            s.connect(self.socket)
            s.sendall(json.dumps(request).encode() + b"\n")
            data = b""
            while True:
                chunk = s.recv(65536)
                if not chunk:
                    break
                data += chunk
        return json.loads(data.splitlines()[-1])

    def state(self):
        return self.rpc(op="sim.state")["ok"]

    def names(self):
        return [f"sim-{i:05d}" for i in range(1, self.nodes + 1)]

    def enrol(self, operator, image="debian"):
        for name in self.names():
            operator.must("POST", "/v1/nodes", {"name": name, "addr": "unix:" + self.socket})
        wait_for(lambda: all(n["state"] == "available" for n in nodes(operator)), 60, "the nodes to be available")
        op = operator.must("POST", "/v1/images", {"name": image, "path": "/images/" + image})
        wait_for(lambda: operator.must("GET", "/v1/operations/" + op["id"])["state"] == "done", 60, "the image")


def pages(client, path):
    """All items of a list."""
    out, cursor = [], None
    while True:
        sep = "&" if "?" in path else "?"
        page = client.must("GET", path + sep + "limit=100" + (f"&cursor={cursor}" if cursor else ""))
        out += page["items"]
        cursor = page["next"]
        if not cursor:
            return out


def nodes(operator):
    return pages(operator, "/v1/nodes")


def add_key(renter, name="laptop"):
    return renter.must("POST", "/v1/keys", {"name": name, "key": KEY})


def launch(renter, gpus=1, model="MI300X", image="debian", disk_gb=10, **more):
    quote = renter.must("POST", "/v1/quotes", {"model": model, "gpus": gpus, "image": image, "disk_gb": disk_gb})
    return renter.must("POST", "/v1/leases", dict(quote=quote["id"], **more))


def bench_record(lease):
    """A benchmark record that the control plane accepts for this lease: one figure, twice the same."""
    checksum = hashlib.sha256(b"result").hexdigest()
    seed = int.from_bytes(hashlib.sha256(lease["nonce"].encode()).digest()[:8], "big") & (2 ** 63 - 1)
    return {"version": 1, "suite": "kernel", "unit": "ms", "better": "lower", "params": {}, "hardware": {}, "software": {},
            "nonce": lease["nonce"], "seed": seed, "repeats": [{"samples": ["12.5"], "losses": [], "checksum": checksum}] * 2,
            "result": {"samples": 2, "median": "12.5", "low": "12.5", "high": "12.5", "reproducible": True, "checksum": checksum}}


def reach(renter, lease, state, seconds=30):
    """Waits for a state; returns the lease."""
    def look():
        l = renter.must("GET", "/v1/leases/" + lease["id"])
        return l if l["state"] == state else None
    return wait_for(look, seconds, f"lease {lease['id']} to be {state}")
