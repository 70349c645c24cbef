#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sign-up, sign-in, tokens, keys and the trial credit, against a real starleased, a loopback identity
service and a loopback mail server."""
import glob
import http.client
import http.server
import json
import os
import re
import socketserver
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from checked import Checked, checked  # noqa: E402
from starlease import Client, Server  # noqa: E402
from tap import Tap, wait_for  # noqa: E402

t = Tap()
GOOD = "correct horse battery"
ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINVNRB2Nm7UNvBH3FkDSYJxDrgAOqtIKWEHQRXOCUtVa ann@laptop"


class Identity(http.server.BaseHTTPRequestHandler):
    """Verifies everybody whose proof is "right"; the subject is the value without blanks."""
    seen, slow = [], threading.Event()

    def do_POST(self):
        ask = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Identity.seen.append(ask)
        if ask["proof"] == "broken":
            self.send_response(500)
            self.end_headers()
            return
        body = json.dumps({"verified": ask["proof"] == "right", "subject": ask["value"].replace(" ", "")}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *a):
        pass


class Mail(socketserver.StreamRequestHandler):
    """As much SMTP as a client needs to hand in one message."""
    got = []

    def handle(self):
        self.wfile.write(b"220 sink\r\n")
        data = None
        for raw in self.rfile:
            line = raw.decode().rstrip("\r\n")
            if data is not None:
                if line == ".":
                    Mail.got.append("\n".join(data))
                    data = None
                    self.wfile.write(b"250 ok\r\n")
                else:
                    data.append(line)
            elif line.upper().startswith("DATA"):
                data = []
                self.wfile.write(b"354 go on\r\n")
            elif line.upper().startswith("QUIT"):
                self.wfile.write(b"221 bye\r\n")
                return
            else:
                self.wfile.write(b"250 ok\r\n")


class Threaded(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = True
    daemon_threads = True


def serving(handler, cls):
    s = cls(("127.0.0.1", 0), handler)
    threading.Thread(target=s.serve_forever, daemon=True).start()
    return s, s.server_address[1]


def from_address(port, address, body):
    """A sign-in from another loopback address."""
    c = http.client.HTTPConnection("127.0.0.1", port, source_address=(address, 0), timeout=60)
    c.request("POST", "/v1/sessions", json.dumps(body), {"Content-Type": "application/json"})
    r = c.getresponse()
    out = r.status, json.loads(r.read()), r.getheader("Retry-After")
    c.close()
    return out


def signing_up(s):
    c = Checked(s.port)
    status, fresh = c.post("/v1/accounts", {"email": "Ann@Example.com", "password": GOOD})
    t.ok(status == 201 and fresh["state"] == "unverified" and not fresh["email_verified"], "a sign-up is answered with an unverified account", fresh)
    status, b = c.post("/v1/sessions", {"email": "ann@example.com", "password": GOOD})
    t.equal(status, 401, "nobody signs in before the code is entered")
    unverified = b["detail"]
    code = s.mailed_code("Ann@Example.com")
    t.ok(re.fullmatch(r"\d{8}", code), "the code is mailed", code)
    status, b = c.post("/v1/accounts/verify", {"email": "ann@example.com", "code": "00000000" if code != "00000000" else "1"})
    t.ok(status == 400 and b["field"] == "code", "a wrong code is refused, naming the field", b)
    status, a = c.post("/v1/accounts/verify", {"email": "ann@example.com", "code": code})
    t.ok(status == 200 and a["email_verified"] and a["id"] == fresh["id"], "the code opens the account", a)
    status, b = c.post("/v1/accounts/verify", {"email": "ann@example.com", "code": code})
    t.equal(status, 400, "a code works once")
    status, session = c.post("/v1/sessions", {"email": "ANN@example.com", "password": GOOD})
    t.ok(status == 201 and session["token"].startswith("slk_") and len(session["token"]) == 68, "a sign-in gives a token, whatever the case of the address")
    status, b = c.post("/v1/sessions", {"email": "ann@example.com", "password": "wrong password"})
    wrong = b["detail"]
    _, b = c.post("/v1/sessions", {"email": "nobody@example.com", "password": "wrong password"})
    t.ok(wrong == b["detail"] == unverified, "wrong password, unknown address and missing code read the same", [wrong, b["detail"], unverified])
    return Checked(s.port, session["token"], a["id"])


def no_enumeration(s):
    c = Checked(s.port)
    _, again = c.post("/v1/accounts", {"email": "ann@example.com", "password": "another good one"})
    _, new = c.post("/v1/accounts", {"email": "new@example.com", "password": "another good one"})
    strip = lambda a: {k: v for k, v in a.items() if k not in ("id", "email", "created")}
    t.ok(strip(again) == strip(new), "a sign-up for an address that has an account reads like any other", [again, new])
    letters = lambda: [open(f).read() for f in glob.glob(s.spool + "/*.eml")]
    wait_for(lambda: any("already" in x and "ann@example.com" in x for x in letters()), 10, "the letter to the owner")
    t.ok(True, "the owner of the address is told by mail")
    _, session = c.post("/v1/sessions", {"email": "ann@example.com", "password": GOOD})
    t.ok("token" in session, "the account keeps its password")
    _, a = c.post("/v1/accounts/code", {"email": "ann@example.com"})
    _, b = c.post("/v1/accounts/code", {"email": "unknown@example.com"})
    t.equal(a, b, "asking for a new code reads the same whether the address is known")


def codes_belong_to_passwords(s):
    c = Checked(s.port)
    c.post("/v1/accounts", {"email": "bob@example.com", "password": "the victim's own"})
    first = s.mailed_code("bob@example.com")
    c.post("/v1/accounts", {"email": "bob@example.com", "password": "the attacker's one"})
    status, _ = c.post("/v1/accounts/verify", {"email": "bob@example.com", "code": first})
    t.equal(status, 200, "an earlier code still works after somebody else signs up with the address")
    t.ok(c.post("/v1/sessions", {"email": "bob@example.com", "password": "the victim's own"})[0] == 201 and
         c.post("/v1/sessions", {"email": "bob@example.com", "password": "the attacker's one"})[0] == 401,
         "the account has the password of the sign-up whose code was entered")


def bad_sign_ups(s):
    c = Checked(s.port)
    for body, field, what in [
            ({"email": "x", "password": GOOD}, "email", "no address"), ({"email": "a@b..c", "password": GOOD}, "email", "an empty label"),
            ({"email": "a b@c.d", "password": GOOD}, "email", "a blank"), ({"email": "a@b.c\r\nBcc: x@y.z", "password": GOOD}, "email", "a newline"),
            ({"email": "<script>@b.c", "password": GOOD}, "email", "markup"), ({"email": "a@" + "b" * 300, "password": GOOD}, "email", "302 bytes"),
            ({"email": "a@b.c", "password": "short"}, "password", "a short password"), ({"email": "a@b.c", "password": "password"}, "password", "a common password"),
            ({"email": "a@b.c", "password": "aaaaaaaaaaaa"}, "password", "one letter"), ({"email": "aa@bb.cc", "password": "aa@bb.cc"}, "password", "the address"),
            ({"email": "a@b.c"}, "password", "none"), ({"email": "a@b.c", "password": GOOD, "role": "operator"}, "role", "a role"),
            ({"email": ["a@b.c"], "password": GOOD}, "email", "a list"), ({"email": None, "password": GOOD}, "email", "null")]:
        status, b = c.post("/v1/accounts", body)
        t.ok(status == 400 and b.get("field") == field, f"sign-up refused: {field} is {what}", b)


def tokens(s, ann):
    status, b = ann.post("/v1/tokens", {"name": "ci", "scopes": "read", "days": 1}, key="token-key-1")
    t.ok(status == 201 and b["token"].startswith("slk_") and b["scopes"] == "read", "a token shows its secret once", b)
    reader = Checked(s.port, b["token"])
    t.ok(reader.get("/v1/account")[0] == 200 and reader.post("/v1/tokens", {})[0] == 403 and reader.delete("/v1/tokens/" + b["id"])[0] == 403,
         "a token with the scope read reads and changes nothing")
    status, again = ann.post("/v1/tokens", {"name": "ci", "scopes": "read", "days": 1}, key="token-key-1")
    t.ok(status == 201 and again["id"] == b["id"] and again["token"] is None and ann.headers.get("idempotent-replay") == "true",
         "the repeated request makes no second token and shows no secret", again)
    status, other = ann.post("/v1/tokens", {"name": "other"}, key="token-key-1")
    t.ok(status == 422 and other["code"] == "key_reused", "the key with another body is refused with 422", other)
    t.equal(ann.delete("/v1/tokens/" + b["id"])[0], 204, "a token is revoked")
    t.equal(reader.get("/v1/account")[0], 401, "a revoked token is refused at once")
    t.equal(ann.delete("/v1/tokens/" + b["id"])[0], 204, "revoking again is fine")
    status, listed = ann.get("/v1/tokens")
    t.ok(all("token" not in x for x in listed["items"]) and any(x["revoked"] for x in listed["items"]), "the list shows revoked tokens and no secret")
    for body, field in [({"scopes": "admin"}, "scopes"), ({"days": 0}, "days"), ({"days": 1.5}, "days"), ({"days": "7"}, "days"), ({"name": "x" * 64}, "name"), ({"name": "a\nb"}, "name")]:
        status, b = ann.post("/v1/tokens", body)
        t.ok(status == 400 and b.get("field") == field, f"token refused: {body}", b)


def many_tokens(s):
    eve = s.renter("eve@example.com", trial=False)
    status, n = 201, 1
    while status == 201 and n < 300:
        status, b = eve.post("/v1/tokens", {"name": "many"})
        n += status == 201
    t.ok(status == 403 and b["code"] == "quota", f"an account has at most {n} valid tokens", b)
    status, b = Checked(s.port).post("/v1/sessions", {"email": "eve@example.com", "password": GOOD})
    t.ok(status == 201 and Checked(s.port, b["token"]).get("/v1/account")[0] == 200, "and can still sign in", b)


def keys(s, ann):
    status, k = ann.post("/v1/keys", {"key": ED25519, "name": "laptop"})
    t.ok(status == 201 and k["fingerprint"] == "SHA256:s1Zq3nHrLw0lO5G0NrFQ+Yklk8PILZKlgnZ0B+Zu1OM", "a key is added with the fingerprint that ssh-keygen prints", k)
    t.equal(ann.post("/v1/keys", {"key": ED25519, "name": "again"})[0], 409, "the same key twice is a conflict")
    for key, what in [('command="id" ' + ED25519, "command="), (ED25519 + "\n" + ED25519, "two lines"), ("ssh-dss AAAA", "DSA"), ("ssh-ed25519 AAAA", "a cut payload")]:
        status, b = ann.post("/v1/keys", {"key": key})
        t.ok(status == 400 and b["field"] == "key", f"key refused: {what}", b)
    for name in ["<b>", "a b", "-a", "Ä", "x" * 64, "../x"]:
        status, b = ann.post("/v1/keys", {"key": ED25519, "name": name})
        t.ok(status == 400 and b["field"] == "name", f"key name refused: {name}", b)
    t.equal(ann.delete("/v1/keys/" + k["id"])[0], 204, "a key is deleted")
    t.equal(ann.delete("/v1/keys/" + k["id"])[0], 404, "a deleted key is not found")


def guessing(s):
    body = {"email": "ann@example.com", "password": "wrong password"}
    seen = [from_address(s.port, "127.0.0.9", body) for _ in range(9)]
    limited = [x for x in seen if x[0] == 429]
    t.ok(limited and all(x[2] and int(x[2]) >= 1 for x in limited), "guessing one account is slowed down, with Retry-After", [x[0] for x in seen])
    t.ok(all(x[1]["code"] == "rate" for x in limited), "the refusal has a stable code")
    right = from_address(s.port, "127.0.0.10", {"email": "ann@example.com", "password": GOOD})
    t.equal(right[0], 429, "the right password has to wait as well, from any address")
    def after_the_wait():
        got = from_address(s.port, "127.0.0.10", {"email": "ann@example.com", "password": GOOD})
        return got[0] == 201 or None
    t.ok(wait_for(after_the_wait, 120, "the delay to end"), "after the wait the right password works")
    t.equal(from_address(s.port, "127.0.0.10", body)[0], 401, "and the count starts anew")


def secrets_stay_inside(s, ann):
    s_token = ann.token
    with open(s.log, errors="replace") as f:
        log = f.read()
    t.ok("slk_" not in log and GOOD not in log, "the log holds no token and no password")
    data = b"".join(open(f, "rb").read() for f in glob.glob(s.dir + "/data/starlease.db*") if os.path.isfile(f))
    t.ok(s_token.encode() not in data and GOOD.encode() not in data and b"$argon2id$" in data, "the database holds no usable token and no password")


def trial_without_service(s, ann):
    status, b = ann.post("/v1/account/trial")
    t.ok(status == 200 and b["granted"] and b["amount"] == "10.00" and b["wallet"]["credit"] == "10.00", "a verified address brings CNY 10", b)
    status, b = ann.post("/v1/account/trial")
    t.ok(status == 200 and not b["granted"] and b["wallet"]["credit"] == "10.00", "and brings it once", b)
    tagged = checked(s.renter("ann+second@example.com", trial=False))
    status, b = tagged.post("/v1/account/trial")
    t.ok(status == 409, "the same mailbox under another +tag brings nothing", b)
    status, b = ann.post("/v1/account/identity", {"kind": "phone", "value": "1", "proof": "1"})
    t.equal(status, 409, "without an identity service the call says so")
    status, b = ann.post("/v1/account/trial", headers={"Idempotency-Key": None})
    t.ok(status == 400 and b["field"] == "Idempotency-Key", "the trial call needs an Idempotency-Key", b)


def trial_with_service():
    service, port = serving(Identity, http.server.ThreadingHTTPServer)
    sink, mail_port = serving(Mail, Threaded)
    conf = {"identity": {"url": f"http://127.0.0.1:{port}/verify"}, "mail": {"spool": "", "url": f"smtp://127.0.0.1:{mail_port}"}}
    with Server(conf=conf) as s:
        def code(mail, seconds=20):
            return wait_for(lambda: next((re.search(r"\b\d{8}\b", m).group(0) for m in reversed(Mail.got) if f"To: {mail}" in m), None), seconds, "mail")
        s.mailed_code = code
        ann = checked(s.renter("ann@example.com", trial=False))
        t.ok(any("Subject: Your Starlease code" in m and "Date: " in m and "From: " in m for m in Mail.got), "the code arrives by SMTP")
        status, b = ann.post("/v1/account/trial")
        t.ok(status == 403 and "identity" in b["detail"], "with an identity service the trial needs a verified identity", b)
        status, b = ann.post("/v1/account/identity", {"kind": "phone", "value": "138 0000", "proof": "wrong"})
        t.ok(status == 400 and b["field"] == "proof", "a proof that the service refuses is refused", b)
        status, b = ann.post("/v1/account/identity", {"kind": "phone", "value": "138 0000", "proof": "broken"})
        t.ok(status == 503, "a broken identity service is 503", b)
        status, b = ann.post("/v1/account/identity", {"kind": "passport", "value": "1", "proof": "right"})
        t.ok(status == 400 and b["field"] == "kind", "an unknown kind of identity is refused", b)

        results = []
        def race():
            c = Client(s.port, ann.token)
            results.append(c.post("/v1/account/identity", {"kind": "phone", "value": "138 0000", "proof": "right"}, key=os.urandom(8).hex()))
        racers = [threading.Thread(target=race) for _ in range(50)]
        [x.start() for x in racers]
        [x.join() for x in racers]
        granted = [b for st, b in results if st == 200 and b["trial"]["granted"]]
        wallet = ann.get("/v1/wallet")[1]
        t.ok(len(granted) == 1 and wallet["credit"] == "10.00", "raced from 50 connections one identity brings one grant",
             [len(granted), wallet, sorted({st for st, _ in results})])
        bob = checked(s.renter("bob@example.com", trial=False))
        status, b = bob.post("/v1/account/identity", {"kind": "phone", "value": "1380000", "proof": "right"})
        t.ok(status == 409, "the same person under another account gets no second grant", b)
        t.equal(bob.get("/v1/wallet")[1]["credit"], "0.00", "and no credit")
        data = b"".join(open(f, "rb").read() for f in glob.glob(s.dir + "/data/starlease.db*") if os.path.isfile(f))
        t.ok(b"138 0000" not in data and b"1380000" not in data, "the phone number is not stored")
    service.shutdown()
    sink.shutdown()


with Server() as s:
    Checked(s.port)
    ann = signing_up(s)
    for step, args in [(no_enumeration, (s,)), (codes_belong_to_passwords, (s,)), (bad_sign_ups, (s,)), (tokens, (s, ann)), (many_tokens, (s,)), (keys, (s, ann)),
                       (trial_without_service, (s, ann)), (secrets_stay_inside, (s, ann)), (guessing, (s,))]:
        t.run(step.__name__, step, *args)
Checked.document = None
t.run("trial_with_service", trial_with_service)
t.done()
