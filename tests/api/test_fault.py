#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A fault of ours tells the caller that it is one and what to quote, and nothing about the inside."""
import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from starlease import Server  # noqa: E402
from tap import Tap  # noqa: E402

t = Tap()
with Server() as s:
    me = s.renter("ann@example.com")
    db = glob.glob(s.dir + "/data/*.db")[0]
    subprocess.run(["sqlite3", db, "ALTER TABLE ssh_key RENAME TO lost"], check=True)  # what a damaged database may look like
    status, body = me.get("/v1/keys")
    t.equal((status, body["code"]), (500, "internal"), "a missing table is a fault of ours")
    text = str(body)
    t.ok(not any(w in text for w in ("SELECT", "ssh_key", "table")), "the answer shows nothing of the inside", text)
    t.ok(body["request_id"] and body["request_id"] in body["detail"], "it names the request to quote", text)
    t.ok(body["request_id"] in s.tail() and "ssh_key" in s.tail(), "the log has the request with its cause", s.tail())
    t.equal(me.get("/v1/wallet")[0], 200, "the rest goes on")
t.done()
