#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every route of the OpenAPI document, asked by everybody: nobody, a renter, another renter, an operator,
an expired token, a revoked one, a read-only one, a lease's agent. Ids are the first renter's."""
import http.client
import os
import re
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from checked import Checked, checked  # noqa: E402
from starlease import Server  # noqa: E402
from tap import Tap  # noqa: E402

t = Tap()
UNKNOWN = {"accounts": "acc_", "tokens": "tok_", "keys": "key_", "leases": "lea_", "volumes": "vol_", "images": "img_", "operations": "opn_", "quotes": "quo_", "invoices": "inv_", "vouchers": "vou_", "payments": "pay_", "refunds": "ref_"}
ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINVNRB2Nm7UNvBH3FkDSYJxDrgAOqtIKWEHQRXOCUtVa ann@laptop"


def value(name, schema, hints):
    """A value that the request schema takes."""
    if name in hints:
        return hints[name]
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "integer":
        return max(schema.get("minimum", 0), 1)
    if kind == "boolean":
        return True
    if kind == "array":
        return []
    if kind == "object":
        return {n: value(n, x, hints) for n, x in schema.get("properties", {}).items() if n in schema.get("required", [])}
    if schema.get("format") == "money":
        return "1.00"
    if schema.get("format") == "date-time":
        return "2027-01-01T00:00:00Z"
    return "x" * max(schema.get("minLength", 1), 1)


def bodies(call, hints):
    schema = call.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    return value("", schema, hints) if schema else None


def path_of(path, ids):
    """Fills {x} with the id that belongs to the noun in front of it."""
    def fill(m):
        noun = path[:m.start()].rstrip("/").rsplit("/", 1)[1]
        return ids.get(noun, "x")
    return re.sub(r"\{[^}]*\}", fill, path)


with Server() as s:
    op = checked(s.operator())
    ann, bob = checked(s.renter("ann@example.com")), checked(s.renter("bob@example.com"))
    key = ann.must("POST", "/v1/keys", {"key": ED25519})
    expired, revoked, reader = (ann.must("POST", "/v1/tokens", {"name": n, "scopes": sc}) for n, sc in
                                [("expired", "read,write"), ("revoked", "read,write"), ("reader", "read")])
    ann.must("DELETE", "/v1/tokens/" + revoked["id"])
    model = ann.must("GET", "/v1/prices")["items"][0]["model"]
    s.stop()
    db = sqlite3.connect(s.dir + "/data/starlease.db")
    db.execute("UPDATE token SET expires_us = 1 WHERE id = ?", (expired["id"],))
    db.commit()
    db.close()
    s.start()
    callers = {"nobody": Checked(s.port), "renter": ann, "other renter": bob, "operator": op, "expired token": Checked(s.port, expired["token"]),
               "revoked token": Checked(s.port, revoked["token"]), "read-only token": Checked(s.port, reader["token"]),
               "lease token": Checked(s.port, "slt_lea_00000000000000000000000000.1." + "0" * 64)}
    tokens = {"renter": ann, "other renter": bob, "operator": op}
    mine = {"accounts": ann.account, "tokens": reader["id"], "keys": key["id"]}
    hints = {"email": "x@example.com", "password": "correct horse battery", "model": model, "key": ED25519, "currency": "CNY", "price": "2.20",
             "addr": "unix:/nonexistent.sock", "path": "/nonexistent.tar"}
    document = Checked.document
    n = 0
    for method, path, call in document.routes():
        role = call["x-role"]
        stream = path == "/v1/events"
        for who, c in callers.items():
            ids = {noun: mine.get(noun, prefix + "0" * 26) for noun, prefix in UNKNOWN.items()}
            ids["nodes"] = "nowhere"
            if who in ("renter", "operator") and method == "DELETE":
                ids = {noun: prefix + "0" * 26 for noun, prefix in UNKNOWN.items()}  # the owner would really delete
            status, body = c.call(method, path_of(path, ids), bodies(call, hints))
            n += 1
            if who in ("expired token", "revoked token", "lease token"):
                want = {401}
            elif role == "anyone":
                want = set(range(200, 500)) - {401, 403, 405} | ({401} if path in ("/v1/sessions", "/v1/console") else set())
            elif who == "nobody":
                want = {401}
            elif role == "lease" or (role == "operator" and who != "operator"):
                want = {403}
            elif who == "read-only token" and method != "GET":
                want = {403}
            elif who == "other renter" and "{" in path:
                want = {404}
            else:
                want = set(range(200, 500)) - {401, 403, 405} | {503}
            if status not in want:
                t.ok(False, f"{method} {path} asked by {who}", f"{status} {body}")
    t.ok(n > 300, f"{n} calls: every route answers every kind of caller as its role says")

    # 404 for a foreign id is word for word the 404 for an unknown one
    for path, own in [("/v1/tokens/", reader["id"]), ("/v1/keys/", key["id"])]:
        unknown = own[:4] + "0" * 26
        _, a = bob.delete(path + own)
        _, b = bob.delete(path + unknown)
        a["detail"], a["request_id"] = a["detail"].replace(own, "ID"), ""
        b["detail"], b["request_id"] = b["detail"].replace(unknown, "ID"), ""
        t.equal(a, b, f"a foreign id under {path} reads like an unknown one")
    t.ok(ann.get("/v1/keys")[1]["items"] and Checked(s.port, reader["token"]).get("/v1/account")[0] == 200, "nothing of the first renter was touched")

    # methods and queries
    wrong = []
    for path in sorted({p for _, p, _ in document.routes()}):
        here = path_of(path, {})
        have = {m for m, p, _ in document.routes() if p == path or (p.count("{") and re.match("^" + re.sub(r"{[^}]*}", "[^/]+", p) + "$", here))}
        for method in {"GET", "POST", "PUT", "DELETE", "PATCH"} - have:
            status, body = op.call(method, here)
            if status != 405 or set(op.headers.get("allow", "").split(", ")) != have:
                wrong.append((method, path, status, op.headers.get("allow")))
    t.equal(wrong, [], "a method that a path does not have is 405 with Allow")
    bad = [(m, p) for m, p, call in document.routes() if call["x-role"] != "lease" for c in [op]
           if c.call(m, path_of(p, {}) + "?surprise=1", bodies(call, hints))[0] != 400]
    t.equal(bad, [], "an unknown query parameter is an error on every route")
    bad = []
    for method, path, call in document.routes():
        if method == "GET" or call["x-role"] == "lease":
            continue
        if "requestBody" not in call:
            bad += [(method, path)] if op.call(method, path_of(path, {}), {"surprise": 1})[0] != 400 else []
            continue
        body = dict(bodies(call, hints), surprise=1)
        status, b = op.call(method, path_of(path, {}), body)
        bad += [(method, path, status, b)] if status != 400 or b.get("field") != "surprise" else []
    t.equal(bad, [], "an unknown field is an error on every route, and is named")
    bad = []
    for method, path, call in document.routes():
        needs = any(p["name"] == "Idempotency-Key" for p in call["parameters"])
        if needs:
            status, b = op.call(method, path_of(path, {}), bodies(call, hints), headers={"Idempotency-Key": None})
            bad += [(method, path, status)] if status != 400 or b.get("field") != "Idempotency-Key" else []
    t.equal(bad, [], "every creating call asks for an Idempotency-Key")

    # wrong types, limits and control characters in every field of every request
    bad, tried = [], 0
    for method, path, call in document.routes():
        schema = call.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        if call["x-role"] == "lease":
            continue
        for name, field in schema.get("properties", {}).items():
            kind = field["type"] if isinstance(field.get("type"), str) else (field.get("type") or ["any"])[0]
            worst = {"string": [1, [], {}, True, 1.5], "integer": ["1", 1.5, [], True, 10 ** 19], "boolean": ["true", 1], "array": ["x", {}, 1],
                     "object": ["x", [], 1]}.get(kind, [])
            if kind == "string" and "enum" not in field and field.get("format") != "money":
                worst += ["a\u0000b", "a\u001bb", "a\u0085b", "x" * (field.get("maxLength", 10 ** 5) + 1)]
            if kind == "integer":
                worst += [field["minimum"] - 1, field["maximum"] + 1]
            if field.get("format") == "money":
                worst += ["1.1234567", "abc", "1e3", "NaN", "", "9999999999999999999", "0x1", " 1", "1,5"]
            for w in worst:
                if isinstance(w, int) and abs(w) > 2 ** 63:
                    continue
                body = dict(bodies(call, hints))
                body[name] = w
                status, b = op.call(method, path_of(path, {}), body)
                tried += 1
                named = b.get("field", "").startswith(name) or (w == "a\u0000b" and "u0000" in b.get("detail", ""))
                if status != 400 or not named:
                    bad.append((method, path, name, w if len(str(w)) < 40 else "long", status, b))
    t.ok(not bad, f"{tried} wrong values are refused with the name of the field", "\n".join(map(str, bad[:20])))

    # HEAD is GET without a body
    c = http.client.HTTPConnection("127.0.0.1", s.port)
    c.request("HEAD", "/v1/prices")
    r = c.getresponse()
    length = int(r.getheader("Content-Length"))
    t.ok(r.status == 200 and r.read() == b"" and length > 100, "HEAD answers the headers of GET and no body")
    seen = {x.split(" ")[0] + " " + x.split(" ")[1] for x in document.checked if x.endswith("2XX")}
    print(f"# {len(seen)} of {sum(1 for _ in document.routes())} routes answered with success here and were held against the document")
t.done()
