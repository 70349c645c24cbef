#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Fifty renters at once, against a server that is killed under them. Every call is repeated with the same
Idempotency-Key until it has a definite answer; the answer goes into the journal, which is the oracle.

    storm_clients.py PLAN.json     {"port", "workers", "accounts": [{"id","token"}], "operator", "journal", "stop", "seed"}
"""
import http.client
import json
import os
import random
import sys
import threading
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from starlease import Client  # noqa: E402

PLAN = json.load(open(sys.argv[1]))
OPERATOR = Client(PLAN["port"], PLAN["operator"])
LIVE_MAX = 3
lock = threading.Lock()
journal = open(PLAN["journal"], "a", buffering=1)
counts = {}


def note(**row):
    with lock:
        journal.write(json.dumps(row) + "\n")
        counts[row["op"]] = counts.get(row["op"], 0) + 1


def over():
    return os.path.exists(PLAN["stop"])


def definite(client, method, path, body=None, key=None):
    """Until the server has really answered. A problem that says "try again" is not an answer."""
    tries = 0
    while True:
        tries += 1
        try:
            status, answer = client.call(method, path, body, key=key, timeout=20)
            if status < 500 or (isinstance(answer, dict) and answer.get("code") == "no_capacity"):
                return status, answer, tries
            note(op="server_error", path=path, status=status, answer=answer)
        except (OSError, http.client.HTTPException, ValueError):
            pass
        time.sleep(0.02)


class Worker(threading.Thread):
    def __init__(self, n):
        super().__init__()
        self.n, self.random = n, random.Random(PLAN["seed"] * 1000 + n)
        account = PLAN["accounts"][n % len(PLAN["accounts"])]
        self.client, self.account, self.leases = Client(PLAN["port"], account["token"]), account["id"], []

    def key(self):
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def create(self):
        status, quote, _ = definite(self.client, "POST", "/v1/quotes", {"model": "MI300X", "image": "debian", "disk_gb": 10,
                                    "gpus": self.random.choice((1, 1, 1, 2, 4))}, self.key())
        if status != 201:
            return note(op="refused", what="quote", status=status, answer=quote)
        key = self.key()
        status, lease, tries = definite(self.client, "POST", "/v1/leases", {"quote": quote["id"]}, key)
        if status == 201:
            note(op="create", key=key, quote=quote["id"], lease=lease["id"], account=self.account, tries=tries)
            self.leases.append(lease["id"])
        else:
            note(op="refused", what="create", status=status, code=lease.get("code"), tries=tries)

    def stop(self, lease):
        status, answer, _ = definite(self.client, "POST", f"/v1/leases/{lease}/stop", {}, self.key())
        note(op="stop" if status == 200 else "refused", what="stop", lease=lease, status=status, code=answer.get("code"))

    def go_on(self, lease):
        """What is up is stopped now and then; what is stopped starts again or is released."""
        _, now, _ = definite(self.client, "GET", f"/v1/leases/{lease}")
        if now["state"] in ("failed", "released"):
            note(op="over", lease=lease, state=now["state"])
            self.leases.remove(lease)
        elif now["state"] in ("placed", "starting", "running"):
            if self.random.random() < (0.4 if now["state"] == "running" else 0.1):
                self.stop(lease)
        elif now["state"] == "stopping":
            pass
        elif self.random.random() < 0.5:
            status, answer, _ = definite(self.client, "POST", f"/v1/leases/{lease}/start", {}, self.key())
            note(op="start" if status == 200 else "refused", what="start", lease=lease, status=status, code=answer.get("code"))
        else:
            status, answer, _ = definite(self.client, "DELETE", f"/v1/leases/{lease}")
            note(op="release" if status == 200 else "refused", what="release", lease=lease, status=status, code=answer.get("code"))
            if status == 200:
                self.leases.remove(lease)

    def topup(self):
        amount, key = f"{self.random.randint(1, 500)}.{self.random.randint(0, 99):02d}", self.key()
        status, txn, tries = definite(OPERATOR, "POST", f"/v1/accounts/{self.account}/topups",
                                      {"amount": amount, "reason": "storm"}, key)
        if status == 201:
            note(op="topup", key=key, txn=txn["id"], amount=amount, account=self.account, tries=tries)
        else:
            note(op="refused", what="topup", status=status, code=txn.get("code"))

    def run(self):
        try:
            while not over():
                dice = self.random.random()
                if dice < 0.15:
                    self.topup()
                elif len(self.leases) < LIVE_MAX and dice < 0.55:
                    self.create()
                elif self.leases:
                    self.go_on(self.random.choice(self.leases))
                time.sleep(self.random.random() * 0.1)
        except Exception as e:  # a client that dies is a failure of the test
            note(op="client_died", worker=self.n, error=repr(e))
            raise


workers = [Worker(n) for n in range(PLAN["workers"])]
for w in workers:
    w.start()
for w in workers:
    w.join()
print(json.dumps(counts))
