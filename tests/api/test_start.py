#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Starting and stopping: never as root, one process a database, TLS and its renewal, configuration,
a database from a newer program, a full disk."""
import hashlib
import http.client
import os
import pwd
import shutil
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from starlease import USER, Client, Server  # noqa: E402
from tap import BUILD, Tap, wait_for  # noqa: E402

t = Tap()
STARLEASED = BUILD + "/starleased"


def run(*args, env=None):
    return subprocess.run([STARLEASED] + list(args), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                          cwd="/", env=dict(os.environ, **(env or {})))


def root(s):
    if os.getuid() != 0:
        t.skip("root is refused", "not root here")
        return
    p = run("--conf", s.conf_path)
    t.ok(p.returncode != 0 and "refusing to run as root" in p.stderr and "user=" in p.stderr, "root is refused, and told what to do", p.stderr)
    t.equal(os.path.exists(s.dir + "/data/starlease.db"), False, "nothing was opened before the refusal")
    with open(s.conf_path, "a") as f:
        f.write(f"[server]\nuser = {USER}\n")
    proc = subprocess.Popen([STARLEASED, "--conf", s.conf_path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(s.log, "ab"), cwd="/")
    try:
        wait_for(lambda: health(s.port), 60, "the server")
        with open(f"/proc/{proc.pid}/status") as f:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        uid = str(pwd.getpwnam(USER).pw_uid)
        t.equal(status["Uid"].split(), [uid] * 4, "with user= a server started by root is that user, for good")
        t.ok("0" not in status["Groups"].split() and status["Gid"].split() == [str(pwd.getpwnam(USER).pw_gid)] * 4, "and in no group of root", status["Groups"])
        t.equal(os.stat(s.dir + "/data/starlease.db").st_uid, int(uid), "the database is that user's")
        t.equal(os.stat(s.dir + "/data/starlease.db").st_mode & 0o077, 0, "and nobody else can read it")
    finally:
        proc.terminate()
        t.equal(proc.wait(30), 0, "SIGTERM ends it with 0")
    with open(s.conf_path, "a") as f:
        f.write("[server]\nuser = root\n")
    p = run("--conf", s.conf_path)
    t.ok(p.returncode != 0 and "server.user" in p.stderr, "user = root is refused", p.stderr)


def health(port):
    try:
        return Client(port).get("/v1/health", timeout=5)[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def configuration(s):
    t.equal(s.run("--check-config").returncode, 0, "--check-config takes a good configuration")
    text = run("--help-config").stdout
    t.ok("[server]" in text and "listen" in text and "hold_horizon" in text, "--help-config prints every key")
    for line, says in [("[server]\nlissten = x\n", "lissten"), ("[http]\nthreads = 0\n", "threads"), ("[nope]\n", "nope")]:
        path = s.dir + "/bad.conf"
        with open(path, "w") as f:
            f.write(line)
        p = run("--conf", path, "--check-config")
        t.ok(p.returncode == 2 and says in p.stderr and "bad.conf" in p.stderr and p.stderr.count("\n") == 1, f"a mistake is one sentence with file and key: {says}", p.stderr)
    p = run("--conf", "/nonexistent.conf", "--check-config")
    t.ok(p.returncode != 0 and "/nonexistent.conf" in p.stderr, "a missing file is named", p.stderr)
    for where in ("/proc/starlease", "/dev/null/x", "/"):
        p = s.run(env={"STARLEASE_SERVER_DATA_DIR": where})
        t.ok(p.returncode not in (0, -6) and where in p.stderr and p.stderr.count("\n") <= 1, f"a data_dir that cannot be written is named: {where}", p.stderr[-300:])
    for listen in ["127.0.0.1", "localhost:80", "127.0.0.1:99999", ""]:
        p = s.run(env={"STARLEASE_SERVER_LISTEN": listen})
        t.ok(p.returncode == 2 and "server.listen" in p.stderr, f"listen = {listen!r} is refused", p.stderr[-300:])


def one_process(s):
    with s:
        p = s.run()
        t.ok(p.returncode == 5 and "another starleased" in p.stderr, "a second server on the same database is refused", p.stderr)
        token = s.run("--create-operator", "boss@example.com", env={"STARLEASE_OPERATOR_PASSWORD": "a long enough one"})
        t.ok(token.returncode == 0 and token.stdout.startswith("slk_"), "an operator is made while the server runs", token.stderr)
        t.equal(Client(s.port, token.stdout.strip()).get("/v1/accounts")[0], 200, "the token is an operator's")
        t.equal(Client(s.port).post("/v1/sessions", {"email": "boss@example.com", "password": "a long enough one"})[0], 201, "the password from the environment signs in")
        bad = s.run("--create-operator", "no address")
        t.ok(bad.returncode == 2 and "email" in bad.stderr, "a bad address is refused", bad.stderr)
        taken = s.run(env={"STARLEASE_SERVER_LISTEN": f"127.0.0.1:{s.port}", "STARLEASE_SERVER_DATA_DIR": s.dir + "/mail/x"})
        t.ok(taken.returncode != 0 and "cannot listen" in taken.stderr, "a taken port is named", taken.stderr[-300:])
        s.kill()
        s.start()
        t.equal(Client(s.port, token.stdout.strip()).get("/v1/account")[0], 200, "after kill -9 it starts again and knows the token")


def certificate(port):
    """The SHA-256 of what the server shows now."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port), timeout=20) as c, context.wrap_socket(c) as x:
        return hashlib.sha256(x.getpeercert(True)).hexdigest()


def tls_listener():
    s = Server(conf={"tls": {"loopback": "yes"}})
    s.answers = lambda: can_connect(s)
    with s:
        pem = s.dir + "/data/tls.crt"
        t.ok(os.stat(s.dir + "/data/tls.key").st_mode & 0o077 == 0, "the key of the self-signed certificate is private")
        context = ssl.create_default_context(cafile=pem)
        c = http.client.HTTPSConnection("127.0.0.1", s.port, context=context, timeout=20)
        c.request("GET", "/v1/health")
        r = c.getresponse()
        t.equal((r.status, r.read()[:11]), (200, b'{"ok":true,'), "a client that trusts the certificate file is served, with the address checked")
        t.ok(c.sock.version() in ("TLSv1.2", "TLSv1.3"), "by TLS 1.2 or 1.3", c.sock.version())
        plain = b""
        with socket.create_connection(("127.0.0.1", s.port), timeout=20) as x:
            x.sendall(b"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n")
            try:
                plain = x.recv(4096)
            except OSError:
                pass
        t.ok(b"HTTP/1.1 200" not in plain, "plain HTTP is not answered there", plain)
        old = certificate(s.port)
        with open(s.dir + "/data/tls.key", "rb") as f:
            good_key = f.read()
        replace(s.dir + "/data/tls.key", b"no key at all\n")
        time_passed = time.monotonic() + 1.2
        wait_for(lambda: time.monotonic() > time_passed, 5, "the second between two looks")
        t.equal(certificate(s.port), old, "a broken renewal leaves the old certificate in use")
        replace(s.dir + "/data/tls.key", good_key)
        renew(s)
        wait_for(lambda: certificate(s.port) != old, 15, "the new certificate")
        t.ok(True, "a renewed certificate is shown without a restart")
        c.request("GET", "/v1/health")
        t.equal(c.getresponse().status, 200, "a connection that was open stays")


def replace(path, data):
    with open(path + ".new", "wb") as f:
        f.write(data)
    os.chown(path + ".new", os.stat(path).st_uid, os.stat(path).st_gid)
    os.chmod(path + ".new", os.stat(path).st_mode & 0o777)
    os.rename(path + ".new", path)


def renew(s):
    """A new pair from openssl, put in place as a renewal would."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=renewed",
                    "-keyout", s.dir + "/new.key", "-out", s.dir + "/new.crt"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for name in ("key", "crt"):
        with open(f"{s.dir}/new.{name}", "rb") as f:
            replace(f"{s.dir}/data/tls.{name}", f.read())


def can_connect(s):
    if s.proc.poll() is not None:
        raise AssertionError("starleased ended:\n" + s.tail())
    try:
        return certificate(s.port)
    except OSError:
        return None


def newer_database(s):
    s.start()
    s.stop()
    db = sqlite3.connect(s.dir + "/data/starlease.db")
    version = db.execute("PRAGMA user_version").fetchone()[0]
    db.execute(f"PRAGMA user_version = {version + 1}")
    db.commit()
    db.close()
    p = s.run()
    t.ok(p.returncode == 5 and "newer" in p.stderr, "a database of a newer program is refused", p.stderr[-300:])


def drain():
    """SIGTERM lets a request that is in work end."""
    with Server() as s:
        a = s.renter("ann@example.com", trial=False)
        answers = []
        def slow():
            answers.append(Client(s.port).post("/v1/sessions", {"email": "ann@example.com", "password": "correct horse battery"})[0])
        threads = [threading.Thread(target=slow) for _ in range(3)]
        [x.start() for x in threads]
        wait_for(lambda: busy(s), 10, "requests in work")
        s.proc.terminate()
        [x.join(30) for x in threads]
        t.equal(s.proc.wait(30), 0, "SIGTERM during requests ends the server with 0")
        # one that had not been taken up yet is told to come back
        t.ok(len(answers) == 3 and 201 in answers and set(answers) <= {201, 503}, "and every request got its answer", answers)
        with open(s.log, errors="replace") as f:
            t.ok("server.stopped" in f.read(), "the log says that it stopped")


def busy(s):
    """Three connections are open to the server."""
    with open("/proc/net/tcp") as f:
        return sum(1 for line in f if line.split()[1].endswith(":%04X" % s.port) and line.split()[3] == "01") >= 3


def service_manager():
    """What systemd's Type=notify waits for."""
    with tempfile.TemporaryDirectory() as d, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        os.chmod(d, 0o755)
        listener.bind(d + "/notify")
        os.chmod(d + "/notify", 0o777)
        listener.settimeout(30)
        with Server(env={"NOTIFY_SOCKET": d + "/notify"}) as s:
            t.equal(listener.recv(100), b"READY=1", "the service manager is told when the server serves")
            s.stop()
            t.equal(listener.recv(100), b"STOPPING=1", "and when it stops")


def lost_answers():
    """The process dies between the commit and the answer, or just before the commit: the repeated request
    has one effect either way."""
    with Server() as s:
        ann, op = s.renter("ann@example.com", trial=False), s.operator()
        for point, replayed in (("request.committed", True), ("request.stored", False)):
            before = float(ann.must("GET", "/v1/wallet")["cash"])
            s.stop()
            s.env["STARLEASE_FAILPOINT"] = point
            s.start()
            key = "lost-answer-" + point
            ask = lambda: op.post(f"/v1/accounts/{ann.account}/topups", {"amount": "7.00", "reason": "test"}, key=key)
            try:
                got = ask()
            except (OSError, http.client.HTTPException):
                got = None
            t.ok(got is None and s.proc.wait(20) == -9, f"killed at {point} the server gives no answer", got)
            del s.env["STARLEASE_FAILPOINT"]
            s.start()
            status, _ = ask()
            t.ok(status < 300 and (op.headers.get("idempotent-replay") == "true") == replayed,
                 f"the repeated request is answered ({'from what was stored' if replayed else 'by doing it now'})", status)
            t.equal(float(ann.must("GET", "/v1/wallet")["cash"]), before + 7, "and has its effect once")
        t.ok("not ok" not in s.run("--audit").stdout, "the audit holds")


def full_disk():
    if os.getuid() != 0:
        t.skip("a full disk is 507", "needs a small mounted file system")
        return
    small = tempfile.mkdtemp(prefix="starlease-small-")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m,mode=0755", "tmpfs", small], stderr=subprocess.DEVNULL).returncode:
        os.rmdir(small)
        t.skip("a full disk is 507", "cannot mount here")
        return
    try:
        s = Server(directory=small)
        s.start()
        try:
            ann = s.renter("ann@example.com")
            n = 0
            with open(small + "/ballast", "wb") as f:
                try:
                    while True:
                        f.write(b"\0" * 65536)
                        f.flush()
                except OSError:
                    pass
            status, body = 201, None
            while status == 201 and n < 3000:
                status, body = ann.post("/v1/tokens", {"name": f"t{n}"})
                n += 1
                if status == 403:
                    break
            t.ok(status == 507 and body["code"] == "storage_full", f"a full disk is 507 after {n} writes", [status, body, s.tail(500)])
            t.equal(ann.get("/v1/account")[0], 200, "reading goes on")
            os.unlink(small + "/ballast")
            t.equal(ann.post("/v1/tokens", {"name": "after"})[0], 201, "and writing, as soon as there is room")
        finally:
            s.kill()
    finally:
        subprocess.run(["umount", small], check=True)
        os.rmdir(small)


for step in (root, configuration, one_process, newer_database):
    server = Server()
    t.run(step.__name__, step, server)
    server.kill()
    shutil.rmtree(server.dir, ignore_errors=True)
t.run("tls_listener", tls_listener)
t.run("drain", drain)
t.run("lost_answers", lost_answers)
t.run("service_manager", service_manager)
t.run("full_disk", full_disk)
t.done()
