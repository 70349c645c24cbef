#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`starlease` against a real starleased, with simulated nodes behind it: what a renter and an operator type."""
import http.client
import json
import os
import pty
import re
import select
import ssl
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from starlease import Server  # noqa: E402
from tap import BUILD, Tap, wait_for  # noqa: E402

t = Tap()
home = tempfile.mkdtemp(prefix="starlease-cli-")
PASSWORD = "correct horse battery"


class Person:
    """Somebody with a configuration of his own."""

    def __init__(self, name, url):
        self.url = url
        self.config = os.path.join(home, name, "config")
        self.env = {"PATH": os.environ["PATH"], "HOME": os.path.join(home, name), "LANG": "C.UTF-8", "STARLEASE_CONFIG": self.config,
                    "STARLEASE_PASSWORD": PASSWORD}
        os.makedirs(self.env["HOME"], exist_ok=True)

    def __call__(self, *args, text=None, **env):
        kw = {"input": text} if text is not None else {"stdin": subprocess.DEVNULL}
        return subprocess.run([f"{BUILD}/starlease", *args], env=dict(self.env, **env), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=120, **kw)

    def json(self, *args, **kw):
        p = self(*args, "-o", "json", **kw)
        if p.returncode:
            raise AssertionError(f"{args}: {p.returncode} {p.stderr}")
        return json.loads(p.stdout) if p.stdout.strip() else None


class Sim:
    """starsim: simulated nodes on one socket."""

    def __init__(self, nodes):
        self.nodes = nodes
        self.dir = tempfile.mkdtemp(prefix="starlease-sim-")
        os.chmod(self.dir, 0o755)
        self.socket = self.dir + "/agentd.sock"

    def __enter__(self):
        self.proc = subprocess.Popen([f"{BUILD}/starsim", "serve", "--socket", self.socket, "--nodes", str(self.nodes)],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        wait_for(lambda: os.path.exists(self.socket), 20, "starsim")
        return self

    def __exit__(self, *a):
        self.proc.terminate()
        self.proc.wait()

    def names(self):
        return [f"sim-{i + 1:05d}" for i in range(self.nodes)]


class TlsServer(Server):
    def answers(self):
        try:
            c = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=5, context=ssl._create_unverified_context())
            c.request("GET", "/v1/health")
            return c.getresponse().status == 200
        except OSError:
            return False


def sign_up(s, who, mail):
    who("signup", mail, "--url", who.url)
    who("verify", mail, s.mailed_code(mail), "--url", who.url)
    return who("login", mail, "--url", who.url)


def accounts(s, url):
    ann = Person("ann", url)
    p = ann("signup", "ann@example.com", "--url", url)
    t.ok(p.returncode == 0, "a renter signs up", p.stderr)
    p = ann("verify", "ann@example.com", "00000001", "--url", url)
    t.ok(p.returncode == 2 and "code" in p.stderr, "a wrong code is refused", p.stderr)
    p = ann("verify", "ann@example.com", s.mailed_code("ann@example.com"), "--url", url)
    t.ok(p.returncode == 0 and "ann@example.com" in p.stdout, "the mailed code opens the account", p.stderr)
    p = ann("login", "ann@example.com", "--url", url, STARLEASE_PASSWORD="wrong wrong wrong")
    t.ok(p.returncode == 3 and not os.path.exists(ann.config), "a wrong password does not sign in", p.stderr)
    p = ann("login", "ann@example.com", "--url", url)
    t.ok(p.returncode == 0 and os.path.exists(ann.config), "the right one does", p.stderr)
    p = ann("trial")
    t.ok(p.returncode == 0 and "10.00" in p.stdout, "the trial credit is CNY 10", p.stdout + p.stderr)
    p = ann("trial")
    t.ok(p.returncode == 5, "and comes once", p.stderr)
    w = ann.json("wallet", "show")
    t.ok(w["available"] == "10.00" and w["currency"] == "CNY", "the wallet shows it", w)
    token = ann.json("token", "create", "ci", "--scopes", "read", "--days", "1")
    p = ann("wallet", "show", STARLEASE_TOKEN=token["token"])
    q = ann("token", "create", "x", STARLEASE_TOKEN=token["token"])
    t.ok(p.returncode == 0 and q.returncode == 3, "a token with the scope read can look and cannot change", p.stderr + q.stderr)
    p = ann("token", "revoke", "ci")
    q = ann("wallet", "show", STARLEASE_TOKEN=token["token"])
    t.ok(p.returncode == 0 and q.returncode == 3, "a revoked token is worth nothing", p.stderr + q.stderr)
    return ann


def keys(ann):
    path = os.path.join(home, "id")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "Ann's Laptop", "-f", path], check=True)
    p = ann("key", "add", path + ".pub")
    t.ok(p.returncode == 0 and "SHA256:" in p.stdout, "an SSH key is added", p.stderr)
    t.equal([k["name"] for k in ann.json("key", "list")["items"]], ["ann-s-laptop"], "its name comes from its comment")
    with open(path + ".evil.pub", "w", encoding="utf-8") as f, open(path + ".pub", encoding="utf-8") as g:
        f.write('command="rm -rf /" ' + g.read())
    p = ann("key", "add", path + ".evil.pub")
    t.ok(p.returncode == 2, "a key with command= is refused", p.stderr)


def money(s, op, ann):
    account = ann.json("api", "GET", "/v1/account")["id"]
    p = op("wallet", "topup", "ann@example.com", "100.50", "--reason", "bank transfer")
    t.ok(p.returncode == 0 and "100.50" in p.stdout, "the operator pays in, by e-mail address", p.stdout + p.stderr)
    for bad in ("-1", "1.0000001", "NaN", "1e3", "0"):
        p = op("wallet", "topup", account, bad, "--reason", "x")
        t.ok(p.returncode == 2 and p.stderr.count("\n") == 1, f"a top-up of {bad} is refused in one sentence", p.stderr)
    p = ann("wallet", "topup", account, "5", "--reason", "x")
    t.ok(p.returncode in (3, 4), "a renter cannot pay himself in", p.stderr)
    t.equal(ann.json("wallet", "show")["available"], "110.50", "the wallet has both")
    p = ann("wallet", "ledger")
    t.ok(p.returncode == 0 and "topup" in p.stdout and "grant" in p.stdout and "bank transfer" in p.stdout, "the ledger tells both, with the reason", p.stdout)
    p = op("audit", "money")
    t.ok(p.returncode == 0 and "I1" in p.stdout, "the operator's audit agrees", p.stdout + p.stderr)


def nodes(op, sim):
    for name in sim.names():
        p = op("node", "enrol", sim.socket, "--name", name)
        t.ok(p.returncode == 0 and name in p.stdout, "the operator enrols a node by its agent's socket", p.stderr)
    for name in sim.names():
        wait_for(lambda: op.json("node", "show", name)["state"] == "available", 30, name + " to be tested")
    p = op("node", "list")
    t.ok(p.stdout.count("available") == len(sim.names()) and p.stdout.count("yes") >= len(sim.names()), "they are tested, and marked emulated", p.stdout)
    p = op("node", "drain", sim.names()[1])
    t.equal(op.json("node", "show", sim.names()[1])["state"], "draining", "a node is drained")
    p = op("node", "resume", sim.names()[1])
    wait_for(lambda: op.json("node", "show", sim.names()[1])["state"] == "available", 30, "the node to be resumed")
    t.equal(p.returncode, 0, "and resumed")
    with open(os.path.join(home, "image.tar"), "wb") as f:
        f.write(b"\0" * 10240)
    p = op("image", "import", "debian", os.path.join(home, "image.tar"))
    t.ok(p.returncode == 0 and "imported" in p.stdout, "an image is imported and waited for", p.stdout + p.stderr)
    wait_for(lambda: [i for i in op.json("image", "list")["items"] if i["name"] == "debian" and i["state"] == "available"], 30, "the image")


def leases(op, ann):
    p = ann("price", "list")
    t.ok(p.returncode == 0 and re.search(r"^MI300X .* 16 ", p.stdout, re.M), "the server's price table counts the free cards", p.stdout + p.stderr)
    q = ann.json("quote", "--gpu", "MI300X:2", "debian")
    price = next(x["price"] for x in ann.json("price", "list")["items"] if x["model"] == "MI300X")
    t.ok(q["price"] == price and float(q["rate_per_hour"]) == 2 * float(price), "a quote names the price and the rate of two cards", q)
    p = ann("run", "--gpu", "MI300X:2", "--name", "train", "debian")
    t.ok(p.returncode == 2 and q["rate_per_hour"] in p.stderr and not ann.json("ps")["items"], "nothing is rented before the cost is accepted", p.stderr)
    p = ann("run", "--gpu", "MI300X:2", "--name", "train", "--yes", "debian")
    t.ok(p.returncode == 0 and "starlease ssh train" in p.stdout, "run waits until it runs and names the SSH command", p.stdout + p.stderr)
    lease = ann.json("show", "train")
    t.ok(lease["state"] == "running" and lease["billed"] and len(lease["cards"]) == 2, "it has its two cards and is billed", lease)
    p = ann("show", "train")
    t.ok(lease["id"] in p.stdout and "STEP" in p.stdout, "show tells it with a timeline", p.stdout)
    p = ann("run", "--gpu", "MI300X:64", "--yes", "debian")
    t.ok(p.returncode in (6, 7, 8), "more than there is, or than the quota, has a status of its own", f"{p.returncode} {p.stderr}")
    time_a_second()
    p = ann("stop", "train")
    t.ok(p.returncode == 0 and "stopped" in p.stdout and "cost so far" in p.stdout, "stop tells the cost", p.stdout + p.stderr)
    p = ann("ssh", "train")
    t.ok(p.returncode == 5, "a stopped instance has no SSH", p.stderr)
    p = ann("start", "train")
    t.ok(p.returncode == 2 and "--yes" in p.stderr and ann.json("show", "train")["state"] == "stopped", "start asks too", p.stderr)
    p = ann("start", "--yes", "train")
    t.ok(p.returncode == 0 and ann.json("show", "train")["id"] == lease["id"], "it starts again under the same id", p.stderr)
    p = ann("rm", "--yes", "train")
    t.ok(p.returncode == 0 and "released" in p.stdout and not ann.json("ps")["items"], "rm stops it and gives it up", p.stdout + p.stderr)
    t.ok([v for v in ann.json("volume", "list")["items"] if v["purge_after"]], "its disk is a tombstone with a date")
    events = ann.json("events", "--limit", "100")["items"]
    kinds = [e["type"] for e in events]
    t.ok("lease.running" in kinds and "lease.released" in kinds, "the events tell the story", kinds)
    made = wait_for(lambda: op.json("node", "certificates", "sim-00001")["items"], 30, "a wipe certificate")
    t.ok(made[0]["emulated"] and made[0]["lease"] == lease["id"] and op("node", "certificates").returncode == 0,
         "the wipe between tenants left a certificate that says emulated", made)
    wait_for(lambda: op.json("node", "show", "sim-00001")["state"] == "available", 30, "the node to be wiped")
    p = op("node", "retire", "sim-00001")
    t.ok(p.returncode == 5 and "disks of renters" in p.stderr, "a node with a renter's disk, even a deleted one, is not retired", p.stderr)
    p = op("node", "retire", "sim-00002")
    t.equal((p.returncode, op.json("node", "show", "sim-00002")["state"]), (0, "retired"), "an empty node is")
    p = op("audit", "money")
    t.ok(p.returncode == 0, "the audit agrees", p.stdout + p.stderr)


def time_a_second():
    """Something to bill: a second of real use. Waits for the clock, not for the program."""
    end = time.monotonic() + 1.1
    wait_for(lambda: time.monotonic() > end, 5, "a second")


def bills(ann):
    a, b = os.path.join(home, "a.json"), os.path.join(home, "b.json")
    p = ann("bill", "export", a)
    t.ok(p.returncode == 0 and ann("bill", "show").returncode == 0, "a statement is exported", p.stderr)
    p = ann("bill", "verify", a)
    t.ok(p.returncode == 0 and "agrees to the micro-unit" in p.stdout, "and verified with the pinned key", p.stdout + p.stderr)
    p = subprocess.run([f"{BUILD}/starlease", "bill", "verify", a], env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    t.ok(p.returncode == 0 and "--key" in p.stdout, "also by somebody without any configuration, who is told whose key was believed", p.stdout + p.stderr)
    with open(a, encoding="utf-8") as f:
        text = f.read()
    n = text.index('"charge_micro":') + len('"charge_micro":')
    with open(b, "w", encoding="utf-8") as f:
        f.write(text[:n] + ("2" if text[n] == "1" else "1") + text[n + 1:])
    p = ann("bill", "verify", b)
    t.ok(p.returncode == 11 and p.stderr.count("\n") == 1, "one changed digit is found: status 11", p.stderr)
    p = ann("bill", "verify", a, "--key", "00" * 32)
    t.ok(p.returncode == 11, "a statement signed by somebody else is refused", p.stderr)
    ann("bill", "export", b)
    p = ann("bill", "verify", b, "--earlier", a)
    t.ok(p.returncode == 0 and "unchanged" in p.stdout, "a later statement contains the earlier one unchanged", p.stdout + p.stderr)


def strangers(s, url, ann):
    bob = Person("bob", url)
    sign_up(s, bob, "bob@example.com")
    lease = ann.json("ps", "--all")["items"][0]["id"]
    for args in (["show", lease], ["stop", lease], ["logs", lease], ["ssh", lease], ["rm", "--yes", lease]):
        t.equal(bob(*args).returncode, 4, f"somebody else's instance is not found by {args[0]}")
    for args in (["node", "list"], ["audit", "money"], ["image", "import", "x", "/etc/passwd"], ["node", "drain", "n"]):
        t.equal(bob(*args).returncode, 3, f"a renter may not {' '.join(args[:2])}")


def on_a_terminal(ann):
    """With a terminal, run shows the cost and rents only after a y."""
    def session(answer):
        pid, fd = pty.fork()
        if pid == 0:
            os.execve(f"{BUILD}/starlease", ["starlease", "run", "--gpu", "MI300X:1", "debian"], ann.env)
        out, end, sent = b"", time.monotonic() + 60, False
        while time.monotonic() < end:
            if select.select([fd], [], [], 0.1)[0]:
                try:
                    chunk = os.read(fd, 4096)
                except OSError:
                    break
                if not chunk:
                    break
                out += chunk
            if b"[y/N]" in out and not sent:
                os.write(fd, answer)
                sent = True
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), out.decode()
    rc, out = session(b"n\n")
    t.ok(rc == 5 and "per hour" in out and not ann.json("ps")["items"], "on a terminal a `n` rents nothing", f"{rc} {out}")
    rc, out = session(b"y\n")
    t.ok(rc == 0 and "running" in out and len(ann.json("ps")["items"]) == 1, "a `y` rents, with progress", f"{rc} {out}")
    for lease in ann.json("ps")["items"]:
        ann("rm", "--yes", lease["id"])


def trust():
    """TLS: the certificate is shown once, then pinned."""
    with TlsServer(conf={"tls": {"loopback": "yes"}}) as s:
        url = f"https://127.0.0.1:{s.port}"
        eve = Person("tls", url)
        p = eve("login", "x@example.com", "--url", url)
        m = re.search(r"--trust ([0-9a-f]{64})", p.stderr)
        t.ok(p.returncode == 2 and m, "an unknown certificate is not trusted; its fingerprint is told", p.stderr)
        if not m:
            return
        p = eve("login", "x@example.com", "--url", url, "--trust", "0" * 64)
        t.ok(p.returncode == 11, "another fingerprint than expected is refused", p.stderr)
        p = eve("login", "x@example.com", "--url", url, "--trust", m.group(1))
        t.ok(p.returncode == 3, "with the right one the server is spoken to", p.stderr)


def main():
    with Server(conf={"lease": {"heartbeat": "1s"}}) as s, Sim(nodes=2) as sim:
        url = f"http://127.0.0.1:{s.port}"
        op = Person("op", url)
        token = s.operator().token
        t.equal(op("login", "--token", "--url", url, text=token + "\n").returncode, 0, "the operator signs in with a token from standard input")
        ann = accounts(s, url)
        keys(ann)
        money(s, op, ann)
        nodes(op, sim)
        leases(op, ann)
        bills(ann)
        on_a_terminal(ann)
        strangers(s, url, ann)
    trust()


t.run("the whole of it ends without an exception", main)
t.done()
