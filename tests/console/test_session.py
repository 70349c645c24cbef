#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The console's files and sessions as a browser's socket sees them, without a browser."""
import base64
import gzip
import hmac
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from starlease import Client, Server  # noqa: E402
from tap import BUILD, Tap  # noqa: E402
from web import WEB, web_tools  # noqa: E402

t = Tap()
FIRST_LOAD_MAX = 60 * 1000
PASSWORD = "correct horse battery"


def ask(port, method, path, body=None, **headers):
    """One request; (status, headers with lower-case names, bytes)."""
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        data = None if body is None else json.dumps(body)
        if data is not None:
            headers.setdefault("Content_Type", "application/json")
        c.request(method, path, data, {k.replace("_", "-"): v for k, v in headers.items() if v})
        r = c.getresponse()
        return r.status, {k.lower(): v for k, v in r.getheaders()}, r.read()
    finally:
        c.close()


def files(s):
    status, head, page = ask(s.port, "GET", "/")
    t.equal((status, head.get("location")), (302, "/console/"), "the site's root leads to the console")
    status, head, packed = ask(s.port, "GET", "/console/")
    page = gzip.decompress(packed).decode()
    t.ok(status == 200 and head["content-type"].startswith("text/html") and head["content-encoding"] == "gzip", "the page comes compressed", head)
    csp = head["content-security-policy"]
    t.ok(all(w in csp for w in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"))
         and "unsafe" not in csp and "*" not in csp, "the page may load nothing but its own files, and nobody may frame it", csp)
    t.ok(not re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=", page), "the page has no inline script, style or handler")
    first = len(packed)
    for name in ("app.js", "app.css"):
        url = re.search(r'"(/console/%s\?v=[0-9a-f]{16})"' % re.escape(name), page).group(1)
        status, head, data = ask(s.port, "GET", url)
        plain = open(os.path.join(WEB, "dist", name), "rb").read()
        first += len(data)
        t.ok(status == 200 and gzip.decompress(data) == plain and "immutable" in head["cache-control"], f"{name} is what web/dist holds, and may be kept for ever")
        again = ask(s.port, "GET", url, If_None_Match=head["etag"])
        t.ok(again[0] == 304 and not again[2], f"{name} is not sent twice")
    t.ok(first <= FIRST_LOAD_MAX, f"the first load is {first / 1000:.1f} kB, at most {FIRST_LOAD_MAX // 1000} kB", first)
    t.equal(gzip.decompress(ask(s.port, "GET", "/console/instances/lea_x")[2]).decode(), page, "a link into the console is the page, which reads the path")
    t.equal([ask(s.port, "GET", p)[0] for p in ("/console/none.js", "/consolex", "/console/app.js.map")], [404, 404, 404], "what is not there is 404")
    t.equal(ask(s.port, "POST", "/console/", {})[0], 405, "files are only read")


def sessions(s):
    ann = s.renter("ann@example.com")
    port = s.port
    status, head, body = ask(port, "POST", "/v1/console", {"email": "ann@example.com", "password": PASSWORD})
    body = json.loads(body)
    raw = head.get("set-cookie", "")
    cookie = raw.split(";")[0]
    t.ok(status == 201 and re.match(r"__Host-starlease=sls_[0-9a-f]{64}; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=\d+$", raw), "signing in sets a cookie that scripts cannot read", raw)
    t.ok(cookie.split("=")[1] not in json.dumps(body) and body["account"]["email"] == "ann@example.com", "the session's secret is in the cookie alone")
    csrf = body["csrf"]
    t.equal(ask(port, "GET", "/v1/wallet", Cookie=cookie)[0], 200, "a page reads with the cookie")
    t.equal(json.loads(ask(port, "GET", "/v1/console", Cookie=cookie)[2])["csrf"], csrf, "the CSRF value is the same after a reload")
    wrong = [ask(port, "POST", "/v1/tokens", {"name": "x"}, Cookie=cookie, X_CSRF_Token=x, Idempotency_Key=f"console-wrong-{i}")[0] for i, x in enumerate(("", "0" * 64, csrf[:-1], csrf.upper()))]
    t.equal(wrong, [403] * 4, "a change without the right CSRF value is refused")
    t.equal(ask(port, "POST", "/v1/tokens", {"name": "x"}, Cookie=cookie, X_CSRF_Token=csrf, Idempotency_Key="console-key-1")[0], 201, "with it the change is made")
    secret = cookie.split("=")[1]
    t.equal(Client(port, secret).get("/v1/wallet")[0], 401, "the cookie's secret is no bearer token")
    t.equal(ask(port, "GET", "/v1/wallet", Cookie="__Host-starlease=" + ann.token)[0], 401, "a bearer token is no cookie")
    t.equal(ask(port, "GET", "/v1/wallet", Cookie="a=b; starlease=" + secret)[0], 401, "a cookie of another name is nothing")
    t.equal(ask(port, "GET", "/v1/wallet", Cookie="a=b; " + cookie + "; c=d")[0], 200, "the cookie is found among others")
    odd = ["__Host-starlease", "__Host-starlease=", "__Host-starlease=;", "; " * 20, "__Host-starlease=" + "s" * 30000, "__Host-starlease=sls_", "__Host-starlease= " + secret,
           "=; =;__Host-starlease", "x__Host-starlease=" + secret, "__Host-starlease=" + secret + "x", "__host-starlease=" + secret, '__Host-starlease="' + secret + '"', "__Host-starlease=sls_%00" + secret]
    t.equal({ask(port, "GET", "/v1/wallet", Cookie=x)[0] for x in odd}, {401}, f"{len(odd)} odd cookies are nobody's")
    t.equal(ask(port, "POST", "/v1/console", {"email": "ann@example.com", "password": PASSWORD}, Content_Type="text/plain")[0], 400, "a foreign page's form cannot sign a browser in")
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.request("POST", "/v1/console", json.dumps({"email": "ann@example.com", "password": PASSWORD}))
    t.equal(c.getresponse().status, 400, "nor can a request without a content type")
    c.close()
    for body in ({}, {"email": "ann@example.com"}, {"password": PASSWORD}, {"token": ann.token, "email": "ann@example.com"}):
        if ask(port, "POST", "/v1/console", body)[0] != 400:
            t.ok(False, f"sign-in with {list(body)} is refused")
    t.equal([ask(port, "POST", "/v1/console", {"token": x})[0] for x in ("slk_" + "0" * 64, "slt_x.1.y", secret, "slk_")], [401] * 4, "a token that is none signs nobody in")

    bad = []
    for path, calls in ann.must("GET", "/v1/openapi.json")["paths"].items():
        for method, route in calls.items():
            if method != "get" and route["x-role"] in ("renter", "operator"):
                status, _, _ = ask(port, method.upper(), re.sub(r"\{\w+\}", "x", path), {}, Cookie=cookie, Idempotency_Key="console-" + "x" * 8)
                if status != 403:
                    bad.append(f"{method} {path}: {status}")
    t.ok(not bad, "no call that changes something works by the cookie alone", "\n".join(bad))
    reader = ann.must("POST", "/v1/tokens", {"name": "reader", "scopes": "read"})
    status, head, body = ask(port, "POST", "/v1/console", {"token": reader["token"]})
    weak, weak_csrf = head["set-cookie"].split(";")[0], json.loads(body)["csrf"]
    t.ok(status == 201 and ask(port, "GET", "/v1/wallet", Cookie=weak)[0] == 200 and
         ask(port, "POST", "/v1/tokens", {}, Cookie=weak, X_CSRF_Token=weak_csrf, Idempotency_Key="console-key-2")[0] == 403, "a session made from a read-only token only reads")
    t.equal(ask(port, "POST", "/v1/tokens", {}, Cookie=weak, X_CSRF_Token=csrf, Idempotency_Key="console-key-3")[0], 403, "another session's CSRF value does not count")

    rows = [x for x in ann.must("GET", "/v1/tokens")["items"] if x["session"] and not x["revoked"]]
    t.equal(len(rows), 2, "sessions stand among the tokens")
    ann.must("DELETE", "/v1/tokens/" + json.loads(body)["session"])
    t.equal((ask(port, "GET", "/v1/wallet", Cookie=weak)[0], ask(port, "GET", "/v1/prices", Cookie=weak)[0], json.loads(ask(port, "GET", "/v1/console", Cookie=weak)[2])["account"]),
            (401, 200, None), "a revoked session is over at once, and public pages still open")
    t.equal(ask(port, "DELETE", "/v1/console", Cookie=cookie)[0], 403, "signing out needs the CSRF value, too")
    status, head, _ = ask(port, "DELETE", "/v1/console", Cookie=cookie, X_CSRF_Token=csrf)
    t.ok(status == 204 and "Max-Age=0" in head["set-cookie"] and ask(port, "GET", "/v1/wallet", Cookie=cookie)[0] == 401, "signing out ends the session and clears the cookie", head)
    t.equal(ann.delete("/v1/console")[0], 409, "a bearer token is not signed out this way")
    t.equal(ask(port, "GET", "/v1/console")[0], 200, "nobody is told what a browser begins with")


def events(s):
    ann = s.renter("eve@example.com")
    _, page = ann.get("/v1/events?before=9000000000000000&limit=3")
    seqs = [e["seq"] for e in page["items"]]
    t.ok(len(seqs) == 3 and seqs == sorted(seqs, reverse=True) and page["next"] == str(seqs[-1]), "events are read newest first, too", page)
    t.equal(ann.get("/v1/events?before=5&after=1")[0], 400, "before and after do not go together")
    t.equal(ann.get("/v1/events?lease=lea_00000000000000000000000000")[1]["items"], [], "events of an instance that is not yours are none")


def totp_now(secret, shift=0):
    """RFC 6238 by Python's own hmac: an authenticator app."""
    key, step = base64.b32decode(secret), int(time.time()) // 30 + shift
    mac = hmac.new(key, step.to_bytes(8, "big"), "sha1").digest()
    at = mac[19] & 15
    return "%06d" % ((int.from_bytes(mac[at:at + 4], "big") & 0x7FFFFFFF) % 1000000)


def second_factor(s):
    ann = s.renter("tot@example.com")
    who = {"email": "tot@example.com", "password": PASSWORD}
    c = Client(s.port)
    t.equal(ann.post("/v1/account/totp/confirm", {"code": "000000"})[0], 409, "nothing can be confirmed that was not begun")
    begun = ann.must("POST", "/v1/account/totp")
    t.ok(re.fullmatch(r"[A-Z2-7]{32}", begun["secret"]) and begun["secret"] in begun["uri"], "a secret is given in the form that apps read")
    t.equal(c.post("/v1/sessions", who)[0], 201, "until it is confirmed nothing changes")
    right = {totp_now(begun["secret"], i) for i in (-1, 0, 1, 2)}
    bad = next(x for x in ("000000", "111111", "222222", "333333", "444444") if x not in right)
    t.equal(ann.post("/v1/account/totp/confirm", {"code": bad})[0], 400, "a wrong code does not switch it on")
    first = totp_now(begun["secret"])
    on = ann.must("POST", "/v1/account/totp/confirm", {"code": first})
    t.ok(on["enabled"] and len(set(on["recovery"])) == 10, "a right one does, and gives ten recovery codes", on)
    t.equal(ann.post("/v1/account/totp")[0], 409, "a second secret cannot be laid over the first")
    missing = [c.post(p, who) for p in ("/v1/sessions", "/v1/console")]
    t.equal([(x[0], x[1].get("field")) for x in missing], [(401, "code")] * 2, "signing in without a code is refused, and the field is named")
    t.ok("token" in c.post("/v1/sessions", dict(who, code=on["recovery"][0]))[1], "a recovery code signs in")  # and forgets the failures: five are free
    t.equal([c.post("/v1/sessions", dict(who, code=x))[0] for x in (on["recovery"][0], first, bad)], [401] * 3, "a recovery code that was used, a code that was used, and a wrong one are refused")
    status, _ = c.post("/v1/console", dict(who, code=totp_now(begun["secret"], 1)))
    t.equal(status, 201, "the next code signs a browser in")
    t.equal(c.post("/v1/sessions", dict(who, password="not the password", code=on["recovery"][1]))[0], 401, "a code does not replace the password")
    t.equal(ann.must("GET", "/v1/account/totp"), {"enabled": True, "recovery_left": 9}, "what is left is told")
    t.equal([ann.post("/v1/account/totp/disable", {"code": bad})[0] for _ in range(8)][-1], 429, "guessing is slowed down")
    for email in ("eve2@example.com",):
        eve = s.renter(email)
        t.equal((eve.must("GET", "/v1/account/totp")["enabled"], eve.post("/v1/account/totp/disable", {"code": on["recovery"][1]})[0]), (False, 409), "another account is not touched")
    fred = s.renter("fred@example.com")
    secret = fred.must("POST", "/v1/account/totp")["secret"]
    codes = fred.must("POST", "/v1/account/totp/confirm", {"code": totp_now(secret)})["recovery"]
    fred.must("POST", "/v1/account/totp/disable", {"code": codes[3]})
    t.equal(c.post("/v1/sessions", {"email": "fred@example.com", "password": PASSWORD})[0], 201, "switched off, the password is enough again")
    s.stop()
    t.ok(not any(x.encode() in open(os.path.join(d, n), "rb").read() for x in codes + on["recovery"] for d, _, fs in os.walk(s.dir + "/data") for n in fs),
         "recovery codes are not in the store")
    s.start()


def words():
    en, zh = (json.load(open(f"{WEB}/src/i18n/{n}.json", encoding="utf-8")) for n in ("en", "zh-CN"))
    t.equal(sorted(set(en) ^ set(zh)), [], "both languages have the same texts")
    t.equal([k for k in en if set(re.findall(r"\{\w+\}", en[k])) != set(re.findall(r"\{\w+\}", zh[k]))], [], "both languages put in the same values")
    source = "".join(open(os.path.join(d, f), encoding="utf-8").read() for d, _, fs in os.walk(WEB + "/src") for f in fs if f.endswith((".ts", ".tsx")))
    used = set(re.findall(r"""['"]([a-z_]+(?:\.[a-zA-Z_]+)*)['"]""", source))
    called = set(re.findall(r"""\bt\(\s*'([^']+)'""", source))
    t.equal(sorted(called - set(en)), [], "no text is missing")
    made = ("state.", "step.", "op.", "txn.", "noun.", "role.", "cell.", "node.", "actor.", "tariff.", "unit.", "invoice.", "invoicekind.")  # keys put together from words of the server
    t.equal(sorted(k for k in en if k not in used and not k.startswith(made)), [], "no text is unused")
    t.equal([k for k, v in zh.items() if v == en[k] and re.search(r"[a-z]{3}", v)], [], "every text is translated")


def commands():
    """Every command that a page shows is one of the command line's, with its options."""
    source = "".join(open(os.path.join(d, n), encoding="utf-8").read() for d, _, fs in os.walk(WEB + "/src/pages") for n in fs)
    shown = set(re.findall(r"""[`"']starlease ([a-z]+(?: [a-z]+)?)([^`"']*)""", source))
    wrong = []
    shown |= {("node " + v, "") for v in ("drain", "resume", "retire")} | {("invoice issue", ""), ("invoice confirm", "")}  # put together from a word
    for verb, rest in shown - {x for x in shown if x[0] in ("node", "invoice")}:
        p = None
        for v in (verb, verb.split()[0]):
            p = subprocess.run([os.path.join(BUILD, "starlease"), "help"] + v.split(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            if p.returncode == 0:
                break
        wrong += [verb] if p.returncode else [f"{verb}: {o}" for o in re.findall(r"--[a-z-]+", rest) if o not in p.stdout]
    run = subprocess.run([os.path.join(BUILD, "starlease"), "help", "run"], stdout=subprocess.PIPE, text=True).stdout
    wrong += [o for o in ("--gpu", "--disk", "--name", "--ttl", "--idle") if o not in run]
    t.ok(not wrong and len(shown) > 15, f"{len(shown)} commands that pages show exist, with their options", wrong)


def build():
    lock = json.load(open(WEB + "/package-lock.json"))
    hosts = {p["resolved"].split("/")[2] for p in lock["packages"].values() if p.get("resolved", "").startswith("http")}
    t.ok(hosts <= {"registry.npmjs.org"}, "the lock file names the public registry alone", hosts)
    t.ok(all(p.get("integrity") for n, p in lock["packages"].items() if n), "every package is pinned by its hash")
    web_tools()
    with tempfile.TemporaryDirectory(prefix="starlease-web-") as d:
        p = subprocess.run(["node", "build.mjs", d], cwd=WEB, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        stale = [n for n in sorted(os.listdir(WEB + "/dist")) if p.returncode or not os.path.exists(f"{d}/{n}") or open(f"{d}/{n}", "rb").read() != open(f"{WEB}/dist/{n}", "rb").read()]
        t.ok(not p.returncode and not stale, "web/dist is what web/src gives", p.stdout + "stale (run make console): " + " ".join(stale))
    p = subprocess.run("node gen-types.mjs && node node_modules/typescript/bin/tsc --noEmit", shell=True, cwd=WEB, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    t.ok(p.returncode == 0, "the pages fit the types of docs/openapi.json", p.stdout[-3000:])


words()
commands()
build()
with Server() as server:
    files(server)
    sessions(server)
    events(server)
    second_factor(server)
t.done()
