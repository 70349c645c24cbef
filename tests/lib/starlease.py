# SPDX-License-Identifier: Apache-2.0
"""A real starleased on loopback for tests: own directory, own port, never as root.

    with Server(conf={"lease": {"heartbeat": "1s"}}) as s:
        renter = s.renter("ann@example.com")            signed up, code read from the spool, verified
        status, body = renter.get("/v1/wallet")
        s.kill(); s.start()                              SIGKILL and start again on the same directory
"""
import email
import glob
import http.client
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile

import uuid

from tap import BUILD, ROOT, wait_for

USER = "nobody"

def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]

class Client:
    """One caller: a token and a keep-alive connection. Every call returns (status, parsed body)."""

    def __init__(self, port, token=None, account=None):
        self.port, self.token, self.account = port, token, account
        self.headers = {}

    def call(self, method, path, body=None, key=None, raw=None, headers=None, timeout=70):
        h = {"Accept": "application/json"}
        if self.token:
            h["Authorization"] = "Bearer " + self.token
        data = raw if raw is not None else json.dumps(body).encode() if body is not None else None
        if data is not None:
            h["Content-Type"] = "application/json"
        if method == "POST":
            h["Idempotency-Key"] = key or str(uuid.uuid4())
        h.update(headers or {})
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            c.request(method, path, data, {k: v for k, v in h.items() if v is not None})
            r = c.getresponse()
            text = r.read()
            self.headers = {k.lower(): v for k, v in r.getheaders()}
        finally:
            c.close()
        if "json" in self.headers.get("content-type", ""):
            return r.status, json.loads(text)
        return r.status, text.decode(errors="replace")

    def get(self, path, **kw):
        return self.call("GET", path, **kw)

    def post(self, path, body=None, **kw):
        return self.call("POST", path, {} if body is None else body, **kw)

    def delete(self, path, **kw):
        return self.call("DELETE", path, **kw)

    def must(self, method, path, body=None, **kw):
        status, answer = self.call(method, path, body, **kw)
        if status >= 300:
            raise AssertionError(f"{method} {path}: {status} {answer}")
        return answer

class Server:
    def __init__(self, conf=None, directory=None, build=None, env=None):
        self.own = directory is None
        self.dir = directory or tempfile.mkdtemp(prefix="starlease-test-")
        self.bin = os.path.join(build or BUILD, "starleased")
        self.port = free_port()
        self.proc = None
        self.env = env or {}
        self.spool = os.path.join(self.dir, "mail")
        self.conf_path = os.path.join(self.dir, "starleased.conf")
        self.log = os.path.join(self.dir, "log")
        for d in (self.dir, self.spool, os.path.join(self.dir, "data")):
            os.makedirs(d, exist_ok=True)
            os.chmod(d, 0o755)
        # The tree may lie where only root can go (a clone in /root): what the daemon reads is copied out of it.
        for folder in ("prices", "images"):
            shutil.copytree(os.path.join(ROOT, folder), os.path.join(self.dir, folder), dirs_exist_ok=True)
        if os.getuid() == 0 and not os.path.exists(os.path.join(self.dir, "starleased")):
            shutil.copy2(self.bin, os.path.join(self.dir, "starleased"))
        if os.getuid() == 0:
            self.bin = os.path.join(self.dir, "starleased")
        prices = os.path.join(self.dir, "prices/")
        sections = {"server": {"listen": f"127.0.0.1:{self.port}", "data_dir": os.path.join(self.dir, "data")},
                    "mail": {"spool": self.spool},
                    "prices": {"files": prices + "seed.csv", "models": prices + "models.csv", "notice": "0"}}
        for name, keys in (conf or {}).items():
            sections.setdefault(name, {}).update(keys)
        with open(self.conf_path, "w") as f:
            for name, keys in sections.items():
                f.write(f"[{name}]\n" + "".join(f"{k} = {v}\n" for k, v in keys.items()))
        if os.getuid() == 0:
            subprocess.run(["chown", "-R", USER, self.dir], check=True)

    def as_user(self, argv):
        """argv for a non-root start: the daemon never runs as root."""
        if os.getuid() != 0:
            return argv
        p = pwd.getpwnam(USER)
        return ["setpriv", f"--reuid={p.pw_uid}", f"--regid={p.pw_gid}", "--clear-groups", "--no-new-privs"] + argv

    def start(self, seconds=60):
        with open(self.log, "ab") as log:
            self.proc = subprocess.Popen(self.as_user([self.bin, "--conf", self.conf_path]), stdin=subprocess.DEVNULL, stdout=log,
                                         stderr=log, env=dict(os.environ, **self.env), cwd="/")
        wait_for(self.answers, seconds, f"starleased to answer; log:\n{self.tail()}")
        return self

    def answers(self):
        if self.proc.poll() is not None:
            raise AssertionError(f"starleased ended with {self.proc.returncode}:\n{self.tail()}")
        try:
            return Client(self.port).get("/v1/health", timeout=5)[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def tail(self, n=4000):
        try:
            with open(self.log, "rb") as f:
                return f.read()[-n:].decode(errors="replace")
        except OSError:
            return ""

    def kill(self):
        if self.proc and self.proc.poll() is None:
            self.proc.send_signal(signal.SIGKILL)
        if self.proc:
            self.proc.wait()

    def stop(self, seconds=30):
        if self.proc and self.proc.poll() is None:
            self.proc.terminate()
            try:
                self.proc.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError("starleased did not end after SIGTERM:\n" + self.tail())
        return self.proc.returncode if self.proc else None

    def run(self, *args, env=None):
        """starleased with other arguments, as the same user."""
        return subprocess.run(self.as_user([self.bin, "--conf", self.conf_path] + list(args)), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300, cwd="/",
                              env=dict(os.environ, **self.env, **(env or {})))

    def __enter__(self):
        return self.start()

    def __exit__(self, *a):
        try:
            self.kill() if a[0] else self.stop()
        finally:
            if self.own and not os.environ.get("KEEP"):
                shutil.rmtree(self.dir, ignore_errors=True)

    # ---- people ----
    def operator(self, mail="op@example.com"):
        p = self.run("--create-operator", mail)
        if p.returncode:
            raise AssertionError("create-operator: " + p.stderr)
        token = re.search(r"slk_[0-9a-z]+", p.stdout).group(0)
        return Client(self.port, token)

    def mailed_code(self, mail, seconds=10):
        """The newest code that was mailed to this address."""
        def look():
            for f in sorted(glob.glob(self.spool + "/*.eml"), key=os.path.getmtime, reverse=True):
                with open(f) as h:
                    m = email.message_from_file(h)
                if m["To"] and mail in m["To"]:
                    found = re.search(r"\b(\d{6,10})\b", m.get_payload())
                    if found:
                        return found.group(1)
            return None
        return wait_for(look, seconds, f"a code mailed to {mail}")

    def renter(self, mail, password="correct horse battery", trial=True):
        c = Client(self.port)
        account = c.must("POST", "/v1/accounts", {"email": mail, "password": password})
        c.must("POST", "/v1/accounts/verify", {"email": mail, "code": self.mailed_code(mail)})
        s = c.must("POST", "/v1/sessions", {"email": mail, "password": password})
        r = Client(self.port, s["token"], account["id"])
        if trial:
            r.must("POST", "/v1/account/trial", {})
        return r

def cpu_seconds(pids):
    """User and system time of these processes so far."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat") as f:
            rest = f.read().rsplit(")", 1)[1].split()
        total += int(rest[11]) + int(rest[12])
    return total / os.sysconf("SC_CLK_TCK")

def children(pid):
    out = subprocess.run(["pgrep", "-P", str(pid)], stdout=subprocess.PIPE, text=True).stdout.split()
    return [int(x) for x in out]

