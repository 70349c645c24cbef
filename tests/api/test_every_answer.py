#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Walks through the whole interface on simulated nodes until every route has answered with success at
least once; every answer is held against the OpenAPI document. On the way: long polls, and a stranger
who knows every id."""
import base64
import hmac
import os
import re
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from checked import Checked, checked  # noqa: E402
from fleet import KEY, Fleet, bench_record, reach  # noqa: E402
from starlease import Client, Server  # noqa: E402
from tap import Tap, wait_for  # noqa: E402

t = Tap()
CONF = {"lease": {"heartbeat": "1s", "meter": "1s", "reconcile": "1s"}}


def launch(c, name, gpus=1):
    quote = c.must("POST", "/v1/quotes", {"model": "MI300X", "gpus": gpus, "image": "debian", "disk_gb": 10})
    c.must("GET", "/v1/quotes/" + quote["id"])
    return c.must("POST", "/v1/leases", {"quote": quote["id"], "name": name})


def long_polls(s, ann):
    lease = launch(ann, "polled")
    etag = ann.headers.get("etag")
    status, now = ann.get(f"/v1/leases/{lease['id']}")
    states = [now["state"]]
    while states[-1] != "running":  # each wait ends with a change, without asking in between
        etag = ann.headers["etag"]
        status, now = ann.get(f"/v1/leases/{lease['id']}?wait=30", headers={"If-None-Match": etag})
        if status != 200:
            break
        states.append(now["state"])
    t.ok(status == 200 and states[-1] == "running", "a long poll answers when the instance changes", states)

    answers = []
    def poll():
        c = Client(s.port, ann.token)
        status, b = c.get(f"/v1/leases/{lease['id']}?wait=30", headers={"If-None-Match": etag})
        answers.append((time.monotonic(), status, b))
    ann.get(f"/v1/leases/{lease['id']}")
    etag = ann.headers["etag"]
    waiting = [threading.Thread(target=poll) for _ in range(40)]
    [x.start() for x in waiting]
    t.ok(Client(s.port).get("/v1/health", timeout=10)[0] == 200, "40 waiting clients keep nobody out")
    stopped_at = time.monotonic()
    ann.must("POST", f"/v1/leases/{lease['id']}/stop")
    [x.join(60) for x in waiting]
    t.ok(len(answers) == 40 and all(st == 200 and b["state"] in ("stopping", "stopped") for _, st, b in answers), "all of them are answered by one change", [x[1] for x in answers])
    print(f"# the last answer came {max(x[0] for x in answers) - stopped_at:.2f} s after the stop was asked for")
    reach(ann, lease, "stopped")
    ann.get(f"/v1/leases/{lease['id']}")
    etag = ann.headers["etag"]
    status, _ = ann.get(f"/v1/leases/{lease['id']}?wait=1", headers={"If-None-Match": etag})
    t.equal(status, 304, "a wait that ends without a change is 304")
    for wait in ("61", "-1", "x", ""):
        status, b = ann.get(f"/v1/leases/{lease['id']}?wait={wait}")
        t.ok(status == 400 and b["field"] == "wait", f"wait={wait} is refused", b)
    revoked = ann.must("POST", "/v1/tokens", {"name": "waits"})
    results = []
    def wait_on():
        results.append(Client(s.port, revoked["token"]).get(f"/v1/leases/{lease['id']}?wait=30", headers={"If-None-Match": etag})[0])
    x = threading.Thread(target=wait_on)
    x.start()
    wait_for(lambda: waits(s) >= 1, 10, "the poll to be under way")
    ann.must("DELETE", "/v1/tokens/" + revoked["id"])
    x.join(20)
    t.equal(results, [401], "a wait ends when its token is revoked")
    return lease


def waits(s):
    with open("/proc/net/tcp") as f:
        return sum(1 for line in f if line.split()[1].endswith(":%04X" % s.port) and line.split()[3] == "01")


def everything(s, f, ann, op):
    nobody = Checked(s.port)
    for path in ("/v1/health", "/v1/openapi.json", "/v1/key", "/metrics", "/v1/prices", "/v1/models", "/v1/tariffs"):
        nobody.must("GET", path)
    nobody.must("POST", "/v1/accounts", {"email": "carol@example.com", "password": "correct horse battery"})
    nobody.must("POST", "/v1/accounts/code", {"email": "carol@example.com"})
    for path in ("/v1/account", "/v1/tokens", "/v1/keys", "/v1/wallet", "/v1/ledger", "/v1/leases", "/v1/volumes", "/v1/images", "/v1/operations",
                 "/v1/events?after=0", "/v1/statements", "/v1/invoices", "/v1/leases?state=running"):
        ann.must("GET", path)
    for path in ("/v1/accounts", "/v1/accounts/" + ann.account, "/v1/nodes", "/v1/nodes/" + f.names()[0], "/v1/certificates", "/v1/audit/money"):
        op.must("GET", path)
    price = nobody.must("GET", "/v1/prices")["items"][0]
    op.must("POST", "/v1/prices", {"model": price["model"], "price": "123.456789", "currency": price["currency"], "source": "test"})
    op.must("POST", "/v1/tariffs", {"kind": "cpu", "price": "0.1", "currency": "CNY"})
    op.must("POST", f"/v1/accounts/{ann.account}/freeze", {"reason": "a test"})
    op.must("POST", f"/v1/accounts/{ann.account}/unfreeze")
    node = f.names()[-1]
    op.must("POST", f"/v1/nodes/{node}/drain")
    op.must("POST", f"/v1/nodes/{node}/resume")
    wait_for(lambda: op.must("GET", f"/v1/nodes/{node}")["state"] == "available", 30, "the node")
    op.must("POST", f"/v1/nodes/{node}/drain")
    op.must("POST", f"/v1/nodes/{node}/retire")
    token = ann.must("POST", "/v1/tokens", {"name": "x"})
    ann.must("DELETE", "/v1/tokens/" + token["id"])


def lifecycle(ann, op, lease):
    ann.must("GET", f"/v1/leases/{lease['id']}/stop-preview")
    quote = ann.must("POST", f"/v1/leases/{lease['id']}/quotes", {"gpus": 2})
    ann.must("POST", f"/v1/leases/{lease['id']}/start", {"no_gpu": True})
    reach(ann, lease, "running")
    ann.must("POST", f"/v1/leases/{lease['id']}/stop")
    reach(ann, lease, "stopped")
    ann.must("POST", f"/v1/leases/{lease['id']}/start", {"quote": quote["id"]})
    reach(ann, lease, "running")
    ann.must("GET", f"/v1/leases/{lease['id']}/logs")
    record = ann.must("POST", f"/v1/leases/{lease['id']}/records", {"record": bench_record(ann.must("GET", "/v1/leases/" + lease["id"]))})
    ann.must("GET", f"/v1/leases/{lease['id']}/records")
    ann.must("GET", "/v1/records/" + record["id"])
    ann.must("POST", f"/v1/leases/{lease['id']}/autostop", {"ttl_s": 86400, "budget": "100", "idle_s": 3600, "delete_after_s": 604800})
    ann.must("POST", f"/v1/leases/{lease['id']}/stop")
    reach(ann, lease, "stopped")
    operation = ann.must("GET", f"/v1/operations?ref={lease['id']}")["items"][0]
    ann.must("GET", "/v1/operations/" + operation["id"])
    save = ann.must("POST", f"/v1/leases/{lease['id']}/images", {"name": "mine"})
    wait_for(lambda: ann.must("GET", "/v1/operations/" + save["id"])["state"] == "done", 60, "the image to be saved")
    image = [i for i in ann.must("GET", "/v1/images")["items"] if i["name"] == "mine"][0]
    ann.must("GET", "/v1/images/" + image["id"])
    disk = ann.must("GET", "/v1/volumes")["items"][0]
    ann.must("GET", "/v1/volumes/" + disk["id"])
    ann.must("POST", f"/v1/volumes/{disk['id']}/grow", {"size_gb": 20})
    snap = ann.must("POST", f"/v1/volumes/{disk['id']}/snapshots", {"name": "a"})
    wait_for(lambda: ann.must("GET", "/v1/snapshots")["items"][0]["state"] == "available", 30, "the snapshot")
    ann.must("POST", f"/v1/snapshots/{snap['id']}/restore")
    wait_for(lambda: all(o["state"] == "done" for o in ann.must("GET", f"/v1/operations?ref={disk['id']}")["items"]), 30, "the restore")
    ann.must("DELETE", f"/v1/snapshots/{snap['id']}")
    return {"leases": lease["id"], "volumes": disk["id"], "snapshots": snap["id"], "operations": operation["id"], "images": image["id"], "records": record["id"]}


def papers(ann, op):
    batch = op.must("POST", "/v1/vouchers", {"name": "test", "value": "1"})
    op.must("GET", "/v1/vouchers")
    ann.must("POST", "/v1/wallet/redeem", {"code": batch["secrets"][0]})
    op.must("DELETE", "/v1/vouchers/" + batch["id"])
    op.must("GET", "/v1/payments?state=suspense")
    ids = [ann.must("POST", "/v1/refunds", {"amount": "1"})["id"] for _ in range(3)]
    ann.must("GET", "/v1/refunds")
    ann.must("DELETE", "/v1/refunds/" + ids[0])
    op.must("POST", f"/v1/refunds/{ids[1]}/pay", {"note": "17"})
    op.must("POST", f"/v1/refunds/{ids[2]}/reject", {"note": "no"})


def a_stranger(bob, ids):
    """Every route with an id of somebody else is 404, and changes nothing."""
    bad = []
    for method, path, call in Checked.document.routes():
        noun = path.split("/")[2] if path.count("/") > 2 else ""
        if noun not in ids or call["x-role"] != "renter":
            continue
        schema = call.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        status, body = bob.call(method, re.sub(r"\{[^}]*\}", ids[noun], path), {n: 1000 if schema["properties"][n].get("type") == "integer" else "x" for n in schema.get("required", [])} or None)
        bad += [(method, path, status, body)] if status != 404 else []
    t.equal(bad, [], "a stranger who knows the ids gets 404 everywhere")


def the_end(ann, op, lease, ids):
    ann.must("DELETE", f"/v1/leases/{lease['id']}")
    ann.must("DELETE", f"/v1/volumes/{ids['volumes']}?purge={ids['volumes']}")
    key = ann.must("GET", "/v1/keys")["items"][0]
    ann.must("DELETE", "/v1/keys/" + key["id"])
    ann.must("DELETE", "/v1/images/" + ids["images"])
    image = ann.must("GET", "/v1/images")["items"][0]
    op.must("DELETE", "/v1/images/" + image["id"])


def pages(ann):
    made = {ann.must("POST", "/v1/tokens", {"name": f"page-{i}"})["id"] for i in range(7)}
    seen, cursor = [], ""
    while True:
        page = ann.must("GET", f"/v1/tokens?limit=3{cursor}")
        t.ok(len(page["items"]) <= 3, "a page is as long as asked for") if len(page["items"]) > 3 else None
        seen += [x["id"] for x in page["items"]]
        if not page["next"]:
            break
        cursor = "&cursor=" + page["next"]
    t.ok(made <= set(seen) and len(seen) == len(set(seen)), "pages show every row once")


with Server(conf=CONF) as s, Fleet(s, nodes=3) as f:
    Checked(s.port)
    op = checked(s.operator())
    f.enrol(op)
    ann, bob = checked(s.renter("ann@example.com", trial=False)), checked(s.renter("bob@example.com"))
    # the ways that s.renter goes, held against the document as well
    nobody = Checked(s.port)
    nobody.must("POST", "/v1/accounts", {"email": "dan@example.com", "password": "correct horse battery"})
    nobody.must("POST", "/v1/accounts/verify", {"email": "dan@example.com", "code": s.mailed_code("dan@example.com")})
    nobody.must("POST", "/v1/sessions", {"email": "dan@example.com", "password": "correct horse battery"})
    browser = nobody.must("POST", "/v1/console", {"email": "dan@example.com", "password": "correct horse battery"})
    cookie = {"Cookie": nobody.headers["set-cookie"].split(";")[0]}
    t.equal(nobody.must("GET", "/v1/console", headers=cookie)["csrf"], browser["csrf"], "a browser is told its CSRF value again")
    nobody.must("DELETE", "/v1/console", headers=dict(cookie, **{"X-CSRF-Token": browser["csrf"]}))
    gus = checked(s.renter("gus@example.com"))
    secret = base64.b32decode(gus.must("POST", "/v1/account/totp")["secret"])
    gus.must("GET", "/v1/account/totp")
    mac = hmac.new(secret, (int(time.time()) // 30).to_bytes(8, "big"), "sha1").digest()
    code = "%06d" % ((int.from_bytes(mac[mac[19] & 15:(mac[19] & 15) + 4], "big") & 0x7FFFFFFF) % 1000000)
    on = gus.must("POST", "/v1/account/totp/confirm", {"code": code})
    gus.must("POST", "/v1/account/totp/disable", {"code": on["recovery"][0]})
    ann.must("POST", "/v1/account/trial")
    ann.must("POST", "/v1/keys", {"key": KEY, "name": "laptop"})
    op.must("POST", f"/v1/accounts/{ann.account}/topups", {"amount": "100.00", "reason": "test"})
    t.run("pages", pages, ann)
    lease = long_polls(s, ann)
    ids = lifecycle(ann, op, lease)
    t.run("everything", everything, s, f, ann, op)
    t.run("papers", papers, ann, op)
    t.run("a stranger", a_stranger, bob, ids)
    t.run("the end", the_end, ann, op, lease, ids)
    seen = {x.rsplit(" ", 1)[0] for x in Checked.document.checked if x.endswith("2XX")}
    # these need an identity service (test_accounts.py) and an agent's token (tests/sim, tests/e2e)
    elsewhere = {"POST /v1/account/identity", "POST /v1/agent/report"}
    # and these what was paid in cash (tests/money/test_paper_api.py)
    elsewhere |= {"POST /v1/invoices", "POST /v1/payments/webhook/{provider}", "POST /v1/payments/{id}/resolve"} | {"POST /v1/invoices/{id}/" + x for x in ("issue", "reverse", "confirm")} | {"GET /v1/invoices/{id}"}
    missing = {f"{m} {p}" for m, p, _ in Checked.document.routes()} - seen - elsewhere
    t.equal(missing, set(), f"{len(seen)} routes answered with success as the document says")
    t.ok("ok - event chain" in s.run("--audit").stdout, "the audit holds afterwards")
t.done()
