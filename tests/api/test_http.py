#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What comes over the wire that no well-meaning client sends: broken JSON, big bodies, two lengths, odd
targets, slow and many connections. Each gets its answer, and the server goes on."""
import os
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from checked import Checked, checked  # noqa: E402
from starlease import Client, Server  # noqa: E402
from tap import Tap, wait_for  # noqa: E402

t = Tap()
MIB = 1 << 20


def raw(port, data, seconds=20, half=False):
    """Sends bytes, reads until the other side closes or one answer is complete; "" when it just closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as c:
        try:
            c.sendall(data)
            if half:
                c.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        got = b""
        try:
            while True:
                part = c.recv(65536)
                if not part:
                    break
                got += part
                head, sep, body = got.partition(b"\r\n\r\n")
                length = [h for h in head.lower().split(b"\r\n") if h.startswith(b"content-length:")]
                if sep and length and len(body) >= int(length[0].split(b":")[1]):
                    break
        except OSError:
            pass
        return got.decode(errors="replace")


def status_of(answer):
    return int(answer.split(" ")[1]) if answer.startswith("HTTP/1.") else None


def post(port, body, token=None, extra=b"", path="/v1/accounts"):
    auth = f"Authorization: Bearer {token}\r\n".encode() if token else b""
    return (f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n".encode() + auth + extra + b"\r\n" + body)


def broken_json(s, c):
    for body, what in [(b"", "nothing"), (b"{", "an open brace"), (b"[]", "a list"), (b"null", "null"), (b'{"email":"a@b.c","email":"d@e.f","password":"correct horse battery"}', "a duplicate key"),
                       (b'{"email":"a@b.c","password":NaN}', "NaN"), (b'{"email":"a@b.c","password":"correct horse"} x', "bytes after the end"), (b'{"email":"\xff\xfe@b.c","password":"correct horse battery"}', "bad UTF-8"),
                       (b'{"email":"\xc0\xaf@b.c","password":"correct horse battery"}', "an overlong form"), (b'{"email":"\\ud800@b.c","password":"correct horse battery"}', "half a surrogate"),
                       (b"{'email':'a@b.c'}", "single quotes"), (b'{"email":"a@b.c",}', "a trailing comma"), (b"[" * 5000, "5000 brackets"), (b'{"a":' * 40 + b"1" + b"}" * 40, "40 levels"), (b"\x00" * 10, "NULs")]:
        answer = raw(s.port, post(s.port, body))
        ok = status_of(answer) == 400 and '"code":"invalid"' in answer
        t.ok(ok, f"a body with {what} is refused with 400", answer)
    answer = raw(s.port, post(s.port, b'{"name":"x"}', c.token, b"Idempotency-Key: abcdefgh\r\n", "/v1/tokens").replace(b"application/json", b"text/plain"))
    t.ok(status_of(answer) == 400 and "Content-Type" in answer, "another content type is refused, naming the header", answer)


def big_bodies(s, c):
    before = len(c.must("GET", "/v1/tokens")["items"])
    for n, what in [(MIB + 1, "one byte over 1 MiB"), (5 * MIB, "5 MiB")]:
        status, b = c.call("POST", "/v1/tokens", raw=b'{"name":"' + b"x" * (n - 11) + b'"}')
        t.ok(status == 413 and b["code"] == "too_large", f"a body of {what} is 413", b)
    body = b'{"name":"' + b"x" * (MIB - 11) + b'"}'
    status, b = c.call("POST", "/v1/tokens", raw=body)
    t.ok(len(body) == MIB and status == 400 and b["field"] == "name", "a body of exactly 1 MiB is read", b)
    answer = raw(s.port, b"POST /v1/tokens HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999999\r\n\r\n")
    t.equal(status_of(answer), 413, "a body that is announced with 1 TB is refused before it is sent")
    answer = raw(s.port, b"POST /v1/tokens HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2000000\r\n\r\n")
    t.equal(status_of(answer), 413, "a client that asks before it sends is refused before it sends")
    chunk = b"%x\r\n" % 65536 + b" " * 65536 + b"\r\n"
    answer = raw(s.port, b"POST /v1/tokens HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk * 20 + b"0\r\n\r\n")
    t.equal(status_of(answer), 413, "a chunked body is counted as well")
    t.equal(len(c.must("GET", "/v1/tokens")["items"]), before, "none of these left anything behind")


def smuggling(s, c):
    body = b'{"name":"smuggled"}'
    cases = [
        (b"Content-Length: 19\r\nTransfer-Encoding: chunked\r\n", b"13\r\n" + body + b"\r\n0\r\n\r\n", "Content-Length and Transfer-Encoding"),
        (b"Content-Length: 19\r\nContent-Length: 5\r\n", body, "two different lengths"),
        (b"Content-Length: 19\r\nContent-Length: 19\r\n", body, "the same length twice"),
        (b"Content-Length: +19\r\n", body, "a signed length"),
        (b"Content-Length: 0x13\r\n", body, "a hex length"),
        (b"Content-Length: 19, 19\r\n", body, "a list of lengths"),
        (b"Content-Length: -1\r\n", body, "a negative length"),
        (b"Content-Length: 99999999999999999999999\r\n", body, "a length over 64 bits"),
        (b"Transfer-Encoding: chunked\r\n", b"zz\r\n" + body + b"\r\n0\r\n\r\n", "a chunk size that is no number"),
        (b"Transfer-Encoding: chunked\r\n", b"ffffffffffffffff1\r\n" + body + b"\r\n0\r\n\r\n", "a chunk size over 64 bits"),
        (b"Content-Length: 19\r\nAuthorization: Bearer x\r\n", body, "two Authorization headers"),
        (b"Content-Length: 19\r\nIdempotency-Key: abcdefgh2\r\n", body, "two Idempotency-Keys"),
    ]
    for headers, payload, what in cases:
        answer = raw(s.port, b"POST /v1/tokens HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nIdempotency-Key: abcdefgh\r\nAuthorization: Bearer " +
                     c.token.encode() + b"\r\n" + headers + b"\r\n" + payload, half=True)
        status = status_of(answer)
        t.ok(status is None or 400 <= status < 500, f"refused: {what}", answer)
        t.ok(answer.count("HTTP/1.1 ") <= 1 or "HTTP/1.1 20" not in answer, f"no second answer: {what}", answer)
    names = [x["name"] for x in c.must("GET", "/v1/tokens")["items"]]
    t.ok("smuggled" not in names, "no smuggled request had an effect", names)


def odd_requests(s, c):
    for target, want, what in [("/v1/%", 400, "a lone percent sign"), ("/v1/%00", 400, "an encoded NUL"), ("/v1/a%2f..%2fb", 400, "encoded slashes"), ("/v1/../etc/passwd", 404, "dots"),
                               ("/v1/health?a=1&a=2", 400, "a parameter twice"), ("/v1/" + "a" * 5000, 400, "5000 characters"), ("*", 400, "a star"), ("http://x/v1/health", 400, "a whole URL"),
                               ("/v1/health?" + "&".join(f"p{i}=1" for i in range(20)), 400, "20 parameters"), ("/v1/%ff", 400, "bytes that are no UTF-8"), ("//v1/health", 404, "two slashes")]:
        answer = raw(s.port, f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        t.ok(status_of(answer) == want, f"a target with {what} is {want}", answer[:300])
    answer = raw(s.port, b"GET /v1/health HTTP/1.1\r\nHost: x\r\nX-Big: " + b"a" * 100000 + b"\r\n\r\n")
    t.ok(status_of(answer) in (None, 400, 413, 431), "100 KB of headers are refused", answer[:200])
    answer = raw(s.port, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200))
    t.ok(status_of(answer) in (None, 400, 501), "a TLS greeting on a plain listener is refused", answer[:200])
    answer = raw(s.port, b"BREW /v1/health HTTP/1.1\r\nHost: x\r\n\r\n")
    t.equal(status_of(answer), 405, "an unknown method is 405")
    answer = raw(s.port, b"GET /v1/health HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n")
    t.ok(status_of(answer) in (None, 200, 400), "a folded header does no harm", answer[:200])
    t.ok(Client(s.port).get("/v1/health")[0] == 200, "the server goes on")


def escapes_in_answers(s, c):
    status, b = c.post("/v1/tokens", {"name": '<script>alert("x")</script>'})
    t.ok(status == 201 and c.headers["x-content-type-options"] == "nosniff" and c.headers["content-type"].startswith("application/json"),
         "markup in a free text stays text: the answer is JSON and may not be sniffed", b)
    status, b = c.get("/v1/<img%20src=x>")
    t.ok(status == 404 and c.headers["content-type"] == "application/problem+json", "markup in a path stays text", b)


def many_connections(s, c):
    """Half-open requests hold no thread: the others are served."""
    idle = [socket.create_connection(("127.0.0.1", s.port)) for _ in range(200)]
    for i, x in enumerate(idle):
        x.sendall(b"POST /v1/tokens HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{" if i % 2 else b"GET /v1/hea")
    t.ok(all(Client(s.port).get("/v1/health", timeout=10)[0] == 200 for _ in range(20)), "200 half-sent requests do not keep others out")
    for x in idle:
        x.close()


def idempotent_race(s, c):
    results, key = [], "race-key-12345678"
    def one():
        results.append(Client(s.port, c.token).post("/v1/tokens", {"name": "race"}, key=key))
    racers = [threading.Thread(target=one) for _ in range(30)]
    [x.start() for x in racers]
    [x.join() for x in racers]
    ids = {b["id"] for st, b in results if st == 201}
    secrets = [b["token"] for st, b in results if st == 201 and b["token"]]
    t.ok(len(ids) == 1 and len(secrets) == 1 and len(results) == 30, "one key raced from 30 connections makes one token, shown once", results[:3])


def prices_are_cached_and_fresh(s, c, op):
    plain = Checked(s.port)
    first = plain.must("GET", "/v1/prices")
    etag = plain.headers["etag"]
    status, _ = plain.call("GET", "/v1/prices", headers={"If-None-Match": etag})
    t.equal(status, 304, "the price table answers 304 when nothing changed")
    old = first["items"][0]
    new = "{:.2f}".format(float(old["price"]) + 1)
    op.must("POST", "/v1/prices", {"model": old["model"], "price": new, "currency": old["currency"], "source": "test"})
    now = {(x["model"], x["currency"]): x["price"] for x in plain.must("GET", "/v1/prices")["items"]}
    t.equal(now[(old["model"], old["currency"])], new, "a new price is seen by the next request")
    t.ok(plain.headers["etag"] != etag, "and has another ETag")


def two_languages(s, c):
    status, b = Checked(s.port).get("/v1/account", headers={"Accept-Language": "zh-CN,zh;q=0.9"})
    t.ok(status == 401 and b["title"] == "未登录" and b["code"] == "unauthenticated", "the title of an error comes in Chinese when asked for; the code stays", b)
    status, _ = Checked(s.port).get("/v1/account", headers={"Authorization": "bearer " + c.token})
    t.equal(status, 200, "the scheme of the token may be written in small letters")
    status, _ = Checked(s.port).get("/v1/prices", headers={"Authorization": "Bearer slk_0"})
    t.equal(status, 401, "a bad token is told even where none is needed")


with Server() as s:
    Checked(s.port)
    ann, op = checked(s.renter("ann@example.com")), checked(s.operator())
    for step, args in [(broken_json, (s, ann)), (big_bodies, (s, ann)), (smuggling, (s, ann)), (odd_requests, (s, ann)), (escapes_in_answers, (s, ann)),
                       (many_connections, (s, ann)), (idempotent_race, (s, ann)), (two_languages, (s, ann)), (prices_are_cached_and_fresh, (s, ann, op))]:
        t.run(step.__name__, step, *args)
    t.ok(s.proc.poll() is None, "the server lived through all of it")
t.done()
