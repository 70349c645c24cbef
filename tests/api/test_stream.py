#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Events as a stream, long polls, and what happens to both when the token goes or the server stops."""
import http.client
import os
import socket
import sqlite3
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from checked import Checked, checked  # noqa: E402
from starlease import Server  # noqa: E402
from tap import Tap, wait_for  # noqa: E402

t = Tap()


class Stream:
    """Reads GET /v1/events in a thread; `events` grows, `ended` is set when the server closes."""

    def __init__(self, port, token, query="", headers=None):
        self.c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.c.request("GET", "/v1/events" + query, headers=dict({"Authorization": "Bearer " + token, "Accept": "text/event-stream"}, **(headers or {})))
        self.sock = self.c.sock
        self.r = self.c.getresponse()
        self.events, self.pings, self.ended = [], 0, threading.Event()
        if self.r.status == 200:
            threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        event = {}
        try:
            while True:
                line = self.r.readline().decode()
                if not line:
                    break
                line = line.rstrip("\n")
                if line.startswith(":"):
                    self.pings += 1
                elif line:
                    k, _, v = line.partition(": ")
                    event[k] = v
                elif event:
                    self.events.append(event)
                    event = {}
        except (OSError, AttributeError, http.client.HTTPException):  # AttributeError: closed while it read
            pass
        self.ended.set()

    def close(self):
        """Shuts the socket first: the reader thread holds the buffer's lock while it waits."""
        if self.sock:
            self.sock.shutdown(socket.SHUT_RDWR)
        self.ended.wait(10)
        self.c.close()

    def types(self):
        return [e["event"] for e in self.events]


def streams(s, ann, bob, op):
    a, b, o = Stream(s.port, ann.token), Stream(s.port, bob.token), Stream(s.port, op.token)
    t.ok(a.r.status == 200 and a.r.getheader("Content-Type") == "text/event-stream", "events come as a stream")
    wait_for(lambda: a.pings and b.pings and o.pings, 10, "the first bytes")
    made = ann.must("POST", "/v1/tokens", {"name": "x"})
    wait_for(lambda: "token.made" in a.types() and "token.made" in o.types(), 10, "the event")
    t.ok(True, "an event reaches its account and the operators")
    bob.must("POST", "/v1/tokens", {"name": "y"})
    wait_for(lambda: "token.made" in b.types(), 10, "bob's event")
    t.equal([len(a.events), len(b.events)], [1, 1], "and nobody else")
    wait_for(lambda: len(o.events) == 2, 10, "the operator's second event")
    ids = [int(e["id"]) for e in o.events]
    t.ok(ids == sorted(ids) and len(set(ids)) == len(ids) == 2, "ids rise", ids)
    late = Stream(s.port, ann.token, headers={"Last-Event-ID": str(int(a.events[0]["id"]) - 1)})
    wait_for(lambda: late.events, 10, "the missed event")
    t.equal(late.events[0]["id"], a.events[0]["id"], "Last-Event-ID continues where a client stopped")
    t.equal(Stream(s.port, ann.token, headers={"Last-Event-ID": "x"}).r.status, 400, "a Last-Event-ID that is no number is refused")
    t.equal(Stream(s.port, "slk_" + "0" * 64).r.status, 401, "a stream needs a good token")
    own = Stream(s.port, made["token"])
    wait_for(lambda: own.pings, 10, "the stream of the second token")
    ann.must("DELETE", "/v1/tokens/" + made["id"])
    t.ok(own.ended.wait(10), "a stream ends when its token is revoked")
    status, page = ann.get("/v1/events?after=0&limit=2")
    t.ok(status == 200 and len(page["items"]) == 2 and page["next"] == str(page["items"][1]["seq"]), "events come as JSON pages too", page)
    for x in (a, b, o, late):
        x.close()


def too_many(s, bob):
    more = [Stream(s.port, bob.token) for _ in range(66)]
    t.ok([x.r.status for x in more].count(429) >= 2, "an account has at most 64 streams", [x.r.status for x in more])
    for x in more:
        if x.r.status == 200:
            x.close()


def chain(s):
    """The audit trail is a chain: a changed row is found."""
    t.ok("ok - event chain" in s.run("--audit").stdout, "the audit of a running server holds")
    s.stop()
    t.equal(s.run("--audit").returncode, 0, "the audit of a stopped server holds")
    db = sqlite3.connect(s.dir + "/data/starlease.db")
    for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'event'").fetchall():
        db.execute(f"DROP TRIGGER {name}")
    db.execute("UPDATE event SET actor = 'somebody' WHERE seq = 3")
    db.commit()
    db.close()
    p = s.run("--audit")
    t.ok(p.returncode == 1 and "row 3 does not fit" in p.stdout, "the audit names the row that somebody changed", p.stdout)


def stopping(s, ann):
    a = Stream(s.port, ann.token)
    wait_for(lambda: a.pings, 10, "the stream")
    t0 = time.monotonic()
    code = s.stop()
    t.ok(code == 0 and a.ended.is_set() or a.ended.wait(5), "SIGTERM ends streams and the server exits 0", code)
    print(f"# stopped in {time.monotonic() - t0:.2f} s")
    s.start()
    used = [x["last_used"] for x in ann.must("GET", "/v1/tokens")["items"]]
    t.ok(any(used), "when a token was last used is kept", used)


with Server() as s:
    Checked(s.port)
    ann, bob, op = checked(s.renter("ann@example.com")), checked(s.renter("bob@example.com")), checked(s.operator())
    for step, args in [(streams, (s, ann, bob, op)), (too_many, (s, bob)), (stopping, (s, ann)), (chain, (s,))]:
        t.run(step.__name__, step, *args)
t.done()
