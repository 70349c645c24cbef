#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How `starlease` talks to a server that answers badly: retries, errors, secrets. The server here is a script,
because a real one does not drop connections on demand; tests/e2e/test_cli.py has the real one."""
import http.server
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import BUILD, Tap  # noqa: E402

t = Tap()
TOKEN = "slk_" + "ab" * 32
seen = []      # (method, path, headers, body)
script = []    # answers to give: (status, body dict) or "drop"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        seen.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        what = script.pop(0) if script else (200, {"items": [], "next": None})
        if what == "drop":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        status, obj = what
        text = json.dumps(obj).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if status < 400 else "application/problem+json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_DELETE = answer

    def log_message(self, *a):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
URL = f"http://127.0.0.1:{server.server_port}"
home = tempfile.mkdtemp(prefix="starlease-calls-")
ENV = {"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8", "STARLEASE_URL": URL, "STARLEASE_TOKEN": TOKEN}
for k in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if k in os.environ:
        ENV[k] = os.environ[k]


def starlease(*args, answers=(), env=None, stdin=subprocess.DEVNULL, text=None):
    del seen[:]
    script[:] = list(answers)
    kw = {"input": text} if text is not None else {"stdin": stdin}
    return subprocess.run([f"{BUILD}/starlease", *args], env=dict(ENV, **(env or {})), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60, **kw)


def problem(status, code, detail, field=None):
    p = {"type": "https://starlease.invalid/problems/" + code, "title": "x", "status": status, "code": code, "detail": detail, "request_id": "r"}
    return (status, dict(p, field=field) if field else p)


QUOTE = {"id": "quo_" + "0" * 26, "model": "M", "gpus": 1, "image": "i", "disk_gb": 10, "rate_per_hour": "4.40", "rate_per_day": "105.60",
         "currency": "CNY", "hold": "0.74", "horizon_s": 600, "balance_lasts_s": 8181, "emulated": False, "rules": []}

# ---- retries ----
p = starlease("token", "create", "x", answers=["drop", problem(503, "unavailable", "later"), (201, {"id": "tok_1", "token": "slk_x", "scopes": "read"})])
keys = {h.get("idempotency-key") for _, _, h, _ in seen}
t.ok(p.returncode == 0 and len(seen) == 3 and len(keys) == 1 and None not in keys,
     "a POST that got no answer is tried again with the same Idempotency-Key", f"{p.returncode} {len(seen)} {keys} {p.stderr}")
first = keys
p = starlease("token", "create", "x", answers=[(201, {"id": "tok_1", "token": "slk_x", "scopes": "read"})])
t.ok(len(seen) == 1 and seen[0][2].get("idempotency-key") not in first, "another command has another Idempotency-Key")
p = starlease("wallet", "show", answers=[problem(503, "no_capacity", "no card")])
t.ok(p.returncode == 7 and len(seen) == 1, "a refusal is not tried again", f"{p.returncode} {len(seen)}")
p = starlease("wallet", "show", answers=["drop"] * 9)
t.ok(p.returncode == 9 and len(seen) == 5, "after five tries it gives up with the status for unavailable", f"{p.returncode} {len(seen)} {p.stderr}")

# ---- exit statuses and messages ----
for status, code, want in ((400, "invalid", 2), (401, "unauthenticated", 3), (403, "forbidden", 3), (404, "not_found", 4), (409, "conflict", 5),
                           (422, "key_reused", 5), (403, "quota", 6), (402, "no_credit", 8), (429, "rate", 9), (507, "storage_full", 10),
                           (500, "integrity", 11), (500, "internal", 1)):
    p = starlease("wallet", "show", answers=[problem(status, code, "the sentence")])
    t.ok(p.returncode == want and p.stderr == "starlease: the sentence\n" and not p.stdout, f"{code} ends with status {want} and the server's sentence",
         f"{p.returncode} {p.stderr!r}")
p = starlease("wallet", "show", "-o", "json", answers=[problem(402, "no_credit", "0.50 is missing", "balance")])
t.equal(json.loads(p.stderr), {"code": "no_credit", "detail": "0.50 is missing", "field": "balance"}, "with -o json the error is an object on stderr")
p = starlease("wallet", "show", env={"LANG": "zh_CN.UTF-8"}, answers=[problem(402, "no_credit", "0.50")])
t.ok("余额不足" in p.stderr, "in a Chinese locale the kind of error is told in Chinese", p.stderr)
p = starlease("node", "show", "x", answers=[problem(404, "not_found", "a \x1b]0;title\x07 b\x1b[31m \u009b1m")])
t.ok("\x1b" not in p.stderr and "\x07" not in p.stderr and "\x9b" not in p.stderr, "a message cannot send control characters to the terminal", repr(p.stderr))
p = starlease("ps", answers=[(200, {"items": [{"id": "lea_1", "name": "a\x1b[2J\u009b31mb", "state": "running"}], "next": None})])
t.ok(p.returncode == 0 and "\x1b" not in p.stdout and "\x9b" not in p.stdout, "a table cannot either", repr(p.stdout))
p = starlease("wallet", "show", answers=[(200, "not an object")])
t.ok(p.returncode in (0, 1, 2, 9), "an answer of another shape does not crash it", f"{p.returncode} {p.stderr}")

# ---- paging ----
p = starlease("ps", "-o", "json", answers=[(200, {"items": [{"id": "lea_1", "state": "running"}], "next": "c/1"}), (200, {"items": [{"id": "lea_2", "state": "running"}], "next": None})])
t.ok([x["id"] for x in json.loads(p.stdout)["items"]] == ["lea_1", "lea_2"] and "cursor=c%2F1" in seen[-1][1], "a list is followed to its end", p.stdout)

# ---- money is asked for first ----
p = starlease("run", "--gpu", "M:1", "i", answers=[(201, QUOTE)])
t.ok(p.returncode == 2 and [s[1] for s in seen] == ["/v1/quotes"] and all(x in p.stderr for x in ("4.40", "105.60", "0.74", "2 h 16 min", "--yes")),
     "without a terminal and --yes, run shows rate, hold and how long the balance lasts, and rents nothing", p.stderr)
for bad in ("M:0", "M:x", "M:65", ":1", "M:-1"):
    p = starlease("run", "--gpu", bad, "--yes", "i")
    t.ok(p.returncode == 2 and not seen, f"--gpu {bad} is refused before anything is sent", p.stderr)

# ---- secrets ----
p = starlease("run", "--explain", "--gpu", "M:2", "--name", "n", "i")
t.ok(p.returncode == 0 and not seen and TOKEN not in p.stdout + p.stderr and f"POST {URL}/v1/quotes" in p.stdout and f"POST {URL}/v1/leases" in p.stdout
     and '"gpus":2' in p.stdout, "--explain prints the calls with the token masked, and makes none", p.stdout)
p = starlease("signup", "a@example.com", "--explain", env={"STARLEASE_PASSWORD": "hunter2hunter2"})
t.ok("hunter2" not in p.stdout + p.stderr and not seen, "--explain does not print a password", p.stdout)

cfg = os.path.join(home, "sub", "config")
login = [(200, {"id": "acc_1"}), (200, {"public": "cd" * 32})]
env = {"STARLEASE_CONFIG": cfg, "STARLEASE_TOKEN": "", "STARLEASE_URL": ""}
p = starlease("login", "--token", "--url", URL + "/", answers=login, env=env, text=TOKEN + "\n")
t.ok(p.returncode == 0 and os.stat(cfg).st_mode & 0o777 == 0o600 and os.stat(os.path.dirname(cfg)).st_mode & 0o777 == 0o700,
     "login keeps the token in a file of mode 0600", p.stderr)
p = starlease("wallet", "show", answers=[(200, {"cash": "1.00"})], env=env)
t.ok(p.returncode == 0 and seen[0][2].get("authorization") == "Bearer " + TOKEN, "the kept server and token are used", p.stderr)
p = starlease("wallet", "show", "--url", f"http://localhost:{server.server_port}", answers=[(200, {"cash": "1.00"})], env=env)
t.ok(seen and "authorization" not in seen[0][2], "the kept token is not sent to another address")
p = starlease("login", "--token", "--url", URL, answers=[(200, {"id": "acc_1"}), (200, {"public": "ef" * 32})], env=env, text=TOKEN + "\n")
t.ok(p.returncode == 11 and "pinned" in p.stderr, "a server whose signing key changed is refused at login", f"{p.returncode} {p.stderr}")
os.chmod(cfg, 0o644)
p = starlease("wallet", "show", env=env)
t.ok(p.returncode == 2 and "chmod 600" in p.stderr and not seen, "a configuration that others can read is refused with the remedy", p.stderr)
os.chmod(cfg, 0o600)
with open(cfg, "a", encoding="utf-8") as f:
    f.write("frob = 1\n")
p = starlease("wallet", "show", env=env)
t.ok(p.returncode == 2 and "frob" in p.stderr and not seen, "an unknown key in the configuration is named", p.stderr)
p = starlease("wallet", "show", env={"STARLEASE_URL": "", "STARLEASE_TOKEN": ""})
t.ok(p.returncode == 2 and "starlease login" in p.stderr, "without a server the remedy is named", p.stderr)
key = os.path.join(home, "id")
with open(key, "w", encoding="utf-8") as f:
    f.write("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n")
p = starlease("key", "add", key)
t.ok(p.returncode == 2 and not seen and "PRIVATE" in p.stderr, "a private key is never sent", p.stderr)

for url in ("http://192.0.2.1:7070", "http://127.0.0.1.example.com", "http://localhost.example.com", "http://127.0.0.1@192.0.2.1/"):
    p = starlease("wallet", "show", "--url", url)
    t.ok(p.returncode == 2 and "https://" in p.stderr, f"nothing is sent in the clear to {url}", f"{p.returncode} {p.stderr}")

# ---- ssh ----
fake = os.path.join(home, "bin")
os.makedirs(fake)
with open(os.path.join(fake, "ssh"), "w", encoding="utf-8") as f:
    f.write('#!/bin/sh\nfor a in "$@"; do printf "%s\\n" "$a"; done\n')
os.chmod(os.path.join(fake, "ssh"), 0o755)
LEASE = {"id": "lea_" + "0" * 26, "name": "w", "state": "running", "ssh": {"host": "127.0.0.1", "port": 22001, "user": "root"}, "host_key": "ssh-ed25519 AAAAkey"}
path = {"PATH": fake + ":" + os.environ["PATH"]}
p = starlease("exec", LEASE["id"], "echo", "it's", "$HOME; rm -rf /", "", answers=[(200, LEASE)], env=path)
args = p.stdout.splitlines()
t.ok(p.returncode == 0 and args[-1] == "'echo' 'it'\\''s' '$HOME; rm -rf /' ''", "exec quotes each word, so that it arrives as it was given", p.stdout + p.stderr)
known = [a for a in args if a.startswith("UserKnownHostsFile=")]
with open(known[0].split("=", 1)[1], encoding="utf-8") as f:
    t.equal(f.read(), f"{LEASE['id']} ssh-ed25519 AAAAkey\n", "ssh knows exactly the host key that the control plane told")
t.ok("StrictHostKeyChecking=yes" in args and f"HostKeyAlias={LEASE['id']}" in args, "any other host key is refused")
p = starlease("ssh", LEASE["id"], answers=[(200, dict(LEASE, ssh={"host": "-oProxyCommand=evil", "port": 1, "user": "root"}))], env=path)
t.ok(p.returncode == 9 and "ProxyCommand" not in p.stdout, "a host that looks like an option is refused", p.stdout + p.stderr)
p = starlease("ssh", LEASE["id"], answers=[(200, dict(LEASE, state="stopped"))], env=path)
t.ok(p.returncode == 5 and "stopped" in p.stderr, "ssh to a stopped instance says so", p.stderr)
server.shutdown()
t.done()
