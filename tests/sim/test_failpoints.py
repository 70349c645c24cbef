#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The server dies at every named step of a lease's life, once each, and is started again: the story goes on as
if nothing had happened, costs the same, and nothing is left behind."""
import http.client
import os
import sys
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from fleet import Fleet, add_key, nodes, pages  # noqa: E402
from starlease import Client, Server  # noqa: E402
from tap import Tap, wait_for  # noqa: E402

t = Tap()
CONF = {"lease": {"heartbeat": "1s", "meter": "1s", "reconcile": "1s", "tombstone_keep": "1h"}, "server": {"log_level": "warn"},
        "quota": {"leases": "1000", "disk_gb": "1000000"}}


class Story:
    """One lease from create to purge, by a client that repeats what was not answered."""

    def __init__(self, s, renter, op):
        self.s, self.renter, self.op, self.deaths = s, renter, op, 0

    def call(self, client, method, path, body=None):
        key, answer = str(uuid.uuid4()), None
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                status, answer = client.call(method, path, body, key=key, timeout=20)
                if status < 500:
                    return status, answer
            except (OSError, http.client.HTTPException, ValueError) as e:
                answer = e
            time.sleep(0.02)  # the process may be dying still
            self.revive()
        raise AssertionError(f"{method} {path} never got an answer: {answer!r}")

    def revive(self):
        if self.s.proc.poll() is None:
            return
        self.deaths += 1
        self.s.env.pop("STARLEASE_FAILPOINT", None)
        self.s.start()

    def must(self, method, path, body=None, client=None):
        status, answer = self.call(client or self.renter, method, path, body)
        if status >= 300:
            raise AssertionError(f"{method} {path}: {status} {answer}")
        return answer

    def reach(self, lease, state):
        def look():
            self.revive()
            return self.must("GET", f"/v1/leases/{lease}")["state"] == state
        wait_for(look, 60, f"{lease} to be {state}")

    def tell(self):
        quote = self.must("POST", "/v1/quotes", {"model": "MI300X", "gpus": 2, "image": "debian", "disk_gb": 1})
        lease = self.must("POST", "/v1/leases", {"quote": quote["id"]})["id"]
        self.reach(lease, "running")
        wait_for(lambda: self.must("GET", f"/v1/leases/{lease}")["last_heartbeat"], 20, "a heartbeat")
        for _ in range(2):
            self.must("POST", f"/v1/leases/{lease}/stop", {})
            self.reach(lease, "stopped")
            if _ == 0:
                self.must("POST", f"/v1/leases/{lease}/start", {})
                self.reach(lease, "running")
        self.must("DELETE", f"/v1/leases/{lease}")
        disk = next(v for v in self.volumes() if v["lease"] == lease)
        self.must("DELETE", f"/v1/volumes/{disk['id']}?purge={disk['id']}")
        wait_for(self.settled, 60, "every card to be free and every disk purged")
        return lease

    def volumes(self):
        out, cursor = [], ""
        while cursor is not None:
            page = self.must("GET", "/v1/volumes?limit=100" + (f"&cursor={cursor}" if cursor else ""))
            out += page["items"]
            cursor = page["next"]
        return out

    def settled(self):
        self.revive()
        free = all(n["free"] == n["cards"] and n["state"] == "available"
                   for n in self.must("GET", "/v1/nodes", client=self.op)["items"])
        return free and all(v["state"] == "purged" for v in self.volumes())


with Server(conf=CONF) as s, Fleet(s, nodes=1) as f:
    op = s.operator()
    f.enrol(op)
    ann = s.renter("ann@example.com")
    add_key(ann)
    op.must("POST", f"/v1/accounts/{ann.account}/topups", {"amount": "1000.00", "reason": "test"})
    s.stop()
    names_file = os.path.join(s.dir, "data", "failpoints")
    s.env["STARLEASE_FAILPOINT_LIST"] = names_file
    s.start()
    Story(s, ann, op).tell()
    s.stop()
    del s.env["STARLEASE_FAILPOINT_LIST"]
    with open(names_file) as names:
        names = sorted(set(names.read().split()))
    t.ok(len(names) >= 15, f"a story passes {len(names)} named steps", names)
    leases = 1
    for name in names:
        s.env["STARLEASE_FAILPOINT"] = name
        story = Story(s, ann, op)
        try:
            s.start()
        except AssertionError:  # a step that is passed when the server starts
            story.revive()
        try:
            story.tell()
            leases += 1
            s.env.pop("STARLEASE_FAILPOINT", None)
            seen, audit = f.state(), op.must("GET", "/v1/audit/money")
            good = (story.deaths == 1 and audit["ok"] and seen["leases"] == 0 and
                    (seen["doubled"], seen["unclean"], seen["sanitized_in_use"]) == (0, 0, 0))
            t.ok(good, f"killed at {name}, it goes on", (story.deaths, seen, [c for c in audit["checks"] if not c["ok"]]))
        except (AssertionError, TimeoutError) as e:
            t.ok(False, f"killed at {name}, it goes on", f"{e}\n{s.tail(1500)}")
        s.kill()
    s.start()
    t.equal(len(pages(ann, "/v1/leases")), leases, "every create made exactly one instance")
    t.equal(s.run("--audit").returncode, 0, "the audit holds at the end")
t.done()
