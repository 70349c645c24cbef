#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Slow and many senders, what /metrics shows and to whom, and a listener that is not loopback (in a
network namespace of its own)."""
import http.client
import os
import re
import socket
import ssl
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from starlease import Client, Server  # noqa: E402
from tap import Tap, wait_for  # noqa: E402

t = Tap()
PUBLIC = "10.213.7.1"  # exists in the namespace alone


def drips(port, head, seconds=30):
    """Sends a byte every 0.2 s; returns how long the other side bore it."""
    t0 = time.monotonic()
    with socket.create_connection(("127.0.0.1", port)) as c:
        c.sendall(head)
        c.settimeout(0.2)
        while time.monotonic() - t0 < seconds:
            try:
                c.sendall(b"a")
                if c.recv(4096) == b"":
                    break
            except socket.timeout:
                continue
            except OSError:
                break
        return time.monotonic() - t0


def slow_senders():
    with Server(conf={"http": {"receive": "2s"}}) as s:
        for head, what in [(b"", "the first line"), (b"GET /v1/health HTTP/1.1\r\nHost: x\r\nX-A: ", "a header"),
                           (b"POST /v1/accounts HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", "a body")]:
            t.ok(drips(s.port, head) < 20, f"who drips {what} byte by byte is cut off")
        c = http.client.HTTPConnection("127.0.0.1", s.port)
        for _ in range(3):
            c.request("GET", "/v1/health")
            t.equal(c.getresponse().read()[:10], b'{"ok":true', "a connection that is used stays open")
    with Server(conf={"http": {"max_per_address": "20", "threads": "1"}}) as s:
        many = []
        refused = 0
        for _ in range(40):
            c = socket.create_connection(("127.0.0.1", s.port))
            c.settimeout(5)
            many.append(c)
            try:
                c.sendall(b"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n")
                refused += c.recv(100) == b""
            except OSError:
                refused += 1
        t.ok(15 <= refused <= 25, f"an address has at most as many connections as configured ({40 - refused} of 40 with a limit of 20)")
        for c in many:
            c.close()
        wait_for(lambda: answers(s.port), 10, "room")
        t.ok(True, "and gets new ones when it closed some")


def answers(port):
    try:
        return Client(port).get("/v1/health", timeout=5)[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def metrics():
    with Server() as s:
        ann, op = s.renter("ann@example.com"), s.operator()
        ann.get("/v1/wallet")
        ann.get("/v1/nope")
        status, text = Client(s.port).get("/metrics")
        t.ok(status == 200, "metrics are served to this machine")
        sample = re.compile(r'^[a-z_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? -?[0-9]+(\.[0-9]+)?$')
        bad = [x for x in text.splitlines() if not x.startswith("#") and not sample.match(x)]
        t.equal(bad, [], "every line is a sample in Prometheus text form")
        names = {x.split("{")[0].split(" ")[0] for x in text.splitlines() if not x.startswith("#")}
        described = {x.split(" ")[2] for x in text.splitlines() if x.startswith("# TYPE")}
        base = {re.sub(r"_(bucket|sum|count)$", "", n) if re.sub(r"_(bucket|sum|count)$", "", n) in described else n for n in names}
        t.equal(base - described, set(), "every metric has a type")
        for want in ("starlease_build_info", "starlease_http_requests_total", "starlease_http_request_duration_seconds_bucket", "starlease_ledger_postings_total",
                     "starlease_ledger_imbalance_microyuan", "starlease_meter_lag_seconds", "starlease_meter_ticks_total", "starlease_wallet_frozen_microyuan",
                     "starlease_db_commit_duration_seconds_sum", "starlease_clock_step_seconds", "process_cpu_seconds_total", "process_open_fds"):
            t.ok(want in names, f"{want} is there")
        t.ok("starlease_ledger_imbalance_microyuan 0\n" in text, "the ledger is in balance")
        t.ok('starlease_http_requests_total{route="/v1/wallet",method="GET",code="200"} 1\n' in text, "a request is counted by its route, not its path")
        t.ok("acc_" not in text and "tok_" not in text and "nope" not in text, "no label holds an account, a token or a stranger's path")


def two_listeners():
    s = Server()
    with open(s.conf_path, "a") as f:
        f.write(f"[server]\nlisten = 127.0.0.1:{s.port}, [::1]:0\n")
    with s:
        with open(s.log) as f:
            urls = re.search(r'server\.ready .*url="([^"]*)"', f.read()).group(1).split()
        t.ok(len(urls) == 2 and urls[1].startswith("http://[::1]:"), "the ready line names every address with the port that was picked", urls)
        c = http.client.HTTPConnection("::1", int(urls[1].rsplit(":", 1)[1]), timeout=20)
        c.request("GET", "/metrics")
        t.equal(c.getresponse().status, 200, "IPv6 is served, and ::1 is this machine")


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as c:
            c.bind(("::1", 0))
        return True
    except OSError:
        return False


def public_listener():
    """Runs in a namespace where PUBLIC is an address of lo."""
    s = Server(conf={"server": {"listen": f"{PUBLIC}:7443 127.0.0.1:7070"}})
    s.port = 7070
    with s:
        op = s.operator()
        context = ssl.create_default_context(cafile=s.dir + "/data/tls.crt")
        def ask(path, token=None):
            c = http.client.HTTPSConnection(PUBLIC, 7443, context=context, timeout=20)
            c.request("GET", path, headers={"Authorization": "Bearer " + token} if token else {})
            r = c.getresponse()
            return r.status, r.read().decode()
        t.equal(ask("/v1/health")[0], 200, "a listener that is not loopback speaks TLS, with a certificate for its address")
        t.equal(ask("/metrics")[0], 403, "metrics are not for strangers")
        t.equal(ask("/metrics", op.token)[0], 200, "but for operators")
        with socket.create_connection((PUBLIC, 7443)) as c:
            c.sendall(b"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n")
            try:
                got = c.recv(4096)
            except OSError:
                got = b""
        t.ok(b"HTTP/1.1 200" not in got, "and nothing else", got)
        t.equal(Client(7070).get("/v1/health")[0], 200, "the loopback listener beside it stays plain")
        old = subprocess.run(["openssl", "s_client", "-connect", f"{PUBLIC}:7443", "-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=30)
        t.ok("Cipher is (NONE)" in old.stdout or "no protocols available" in old.stdout, "TLS 1.1 is refused", old.stdout[-500:])


if sys.argv[1:] == ["--inside"]:
    t.run("public listener", public_listener)
    sys.exit(0)
t.run("slow senders", slow_senders)
t.run("metrics", metrics)
if has_ipv6():
    t.run("two listeners", two_listeners)
else:
    t.skip("IPv6 is served", "no ::1 here")
if os.getuid() == 0 and subprocess.run(["unshare", "-n", "true"], stderr=subprocess.DEVNULL).returncode == 0:
    script = f"ip link set lo up && ip addr add {PUBLIC}/32 dev lo && exec {sys.executable} {os.path.abspath(__file__)} --inside"
    p = subprocess.run(["unshare", "-n", "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    inside = re.findall(r"^(not ok|ok) \d+ - (.*)$", p.stdout, re.M)
    for ok, name in inside:
        t.ok(ok == "ok", name, p.stdout)
    t.ok(len(inside) >= 5, "a listener that is not loopback was tried", p.stdout)
else:
    t.skip("a listener that is not loopback speaks TLS", "needs a network namespace")
t.done()
