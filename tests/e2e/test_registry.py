#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Images by digest from a registry: with user name and token, broken off and taken up again; and every way in which a registry can lie."""
import gzip
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from agent import Agent, Refused, small_root  # noqa: E402
from buildah import Buildah  # noqa: E402
from layout import INDEX, Layout  # noqa: E402
from registry import Registry  # noqa: E402
from starlease import free_port  # noqa: E402
from tap import Tap, wait_for  # noqa: E402

t = Tap()
if os.geteuid() != 0:
    t.skip("images come from a registry", "needs root")
    t.done()
SECRET = "s3cret-of-ann"


def tar_of(*files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as f:
        for name, data in files:
            i = tarfile.TarInfo(name)
            i.size = len(data)
            f.addfile(i, io.BytesIO(data))
    return out.getvalue()


def refused(name, reference, words, code, **more):
    try:
        a.call("image.import", name="evil", reference=reference, **more)
        t.ok(False, name, "was accepted")
        a.call("image.remove", name="evil")
    except Refused as e:
        left = [f for f in os.listdir(f"{a.state}/images") if "evil" in f]
        keep = code in ("unavailable", "timeout")
        t.ok(words in e.message and e.code == code and SECRET not in e.message and (keep or not left), name, f"{e.code}: {e.message} {left}")
    a.call("image.remove", name="evil")


def pulls():
    """The good cases, against every kind of authorization."""
    for n, (users, bearer) in enumerate([({}, False), ({"ann": SECRET}, False), ({"ann": SECRET}, True)]):
        with Registry(lay.root, users, bearer) as r:
            who = {"username": "ann", "password": SECRET} if users else {}
            lines = []
            got = a.call("image.import", name=f"p{n}", reference=r.reference(digest), progress=lines, **who)
            what = "with a token" if bearer else "with a password" if users else "from everybody's registry"
            t.ok(got["digest"] == digest and lines[-1]["files"] == got["files"], f"an image is imported by its digest {what}", got)
            steps = [x["step"] for x in lines]
            t.ok(steps == sorted(steps) and {"fetch", "unpack"} == set(steps), f"progress tells what is fetched and what is unpacked {what}", lines)
            if users:
                refused(f"a wrong password {what} is refused", r.reference(digest), "does not accept", "forbidden", username="ann", password="wrong")
                refused(f"no password {what} is refused", r.reference(digest), "wants a user name", "forbidden")
    log = a.text()
    t.ok(SECRET not in log, "the password is in no line of the agent's log")
    a.call("lease.start", **a.spec("lea_1", image="p2"))
    a.wait_state("lea_1", "running", 60)
    t.equal(a.ssh(1, "cat /app/name").strip(), "tool", "an instance starts from an image of a registry")
    a.call("lease.stop", lease="lea_1", epoch=1, grace_s=0)


def tags_and_indexes():
    with Registry(lay.root) as r:
        r.tags["v1"] = digest
        t.equal(a.call("image.import", name="tag", reference=r.reference(tag="v1"))["digest"], digest, "a tag brings the digest that it stands for")
        arm = dict(lay.manifest, digest="sha256:" + "a" * 64, platform={"os": "linux", "architecture": "arm64"})
        amd = dict(lay.manifest, platform={"os": "linux", "architecture": "amd64"})
        index = lay.blob(json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [arm, amd]}).encode(), INDEX)
        got = a.call("image.import", name="idx", reference=r.reference(index["digest"]))
        t.equal(got["digest"], digest, "of a list for several machines the one for this machine is taken")
        n = len(r.seen)
        t.equal(a.call("image.import", name="idx", reference=r.reference(index["digest"]), digest=digest), got, "what is here already is not fetched again")
        t.equal(len(r.seen), n, "and the registry is not even asked")
        a.call("image.import", name="tag", reference=r.reference(digest))
        t.equal(len(r.seen), n, "nor for one whose reference has the digest that is here")
        only_arm = lay.blob(json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [arm]}).encode(), INDEX)
        refused("an image for other machines is refused", r.reference(only_arm["digest"]), "linux/amd64", "invalid")
        refused("another digest than the one asked for is refused", r.reference(tag="v1"), "digest", "invalid", digest="sha256:" + "0" * 64)


def broken_off():
    big = max(lay_blobs, key=lambda b: b["size"])
    with Registry(lay.root) as r:
        r.break_off[big["digest"]] = 100000
        try:
            a.call("image.import", name="cut", reference=r.reference(digest))
            t.ok(False, "a blob that breaks off is no image")
        except Refused as e:
            t.equal(e.code, "unavailable", "a blob that breaks off is worth another try")
        a.call("image.import", name="cut", reference=r.reference(digest))
        asked = [h.get("Range") for p, h in r.seen if p.endswith(big["digest"])]
        t.equal(asked, [None, "bytes=100000-"], "the next import goes on where it broke off")
        t.ok(not any(f.startswith("pull-") for f in os.listdir(a.state + "/images")), "and leaves no parts behind")
        r.ranges = False
        r.break_off[big["digest"]] = 100000
        try:
            a.call("image.import", name="cut2", reference=r.reference(digest))
        except Refused:
            pass
        t.equal(a.call("image.import", name="cut2", reference=r.reference(digest))["digest"], digest, "a registry without ranges is read from the start")
        r.break_off[big["digest"]] = 100000
        try:
            a.call("image.import", name="cut3", reference=r.reference(digest))
        except Refused:
            pass
        a.call("image.remove", name="cut3")
        t.ok(not any("cut3" in f for f in os.listdir(a.state + "/images")), "an import that is given up can be cleaned away")


def killed():
    with Registry(lay.root) as r:
        a.stop()
        a.start(STARLEASE_FAILPOINT="agent.image_fetched:1")
        try:
            a.call("image.import", name="killed", reference=r.reference(digest))
            t.ok(False, "an import that is killed gives no answer")
        except (RuntimeError, json.JSONDecodeError):
            pass
        a.stop()
        a.start()
        n = len(r.seen)
        t.equal(a.call("image.import", name="killed", reference=r.reference(digest))["digest"], digest, "an import that was killed runs again")
        t.equal([p for p, _ in r.seen[n:] if "/blobs/" in p], [], "and fetches no blob twice")


def liars():
    layer = lay_blobs[-1]

    def chunked(h, piece, times):
        h.send_response(200)
        h.send_header("Transfer-Encoding", "chunked")
        h.end_headers()
        try:
            for _ in range(times):
                h.wfile.write(b"%x\r\n" % len(piece) + piece + b"\r\n")
            h.wfile.write(b"0\r\n\r\n")
        except OSError:
            pass

    def redirect(to):
        return lambda h: Registry.send(h, 307, Location=to)

    def doc(**change):
        with open(f"{lay.root}/blobs/sha256/{digest[7:]}") as f:
            return lay.blob(json.dumps({**json.load(f), **change}).encode(), "x")["digest"]

    cases = [
        ("a manifest with other bytes", f"manifests/{digest}", lambda h: Registry.send(h, 200, b"{}"), "not sha256:", "invalid"),
        ("a manifest that is no JSON", "manifests/v1", lambda h: Registry.send(h, 200, b"<html>"), "", "invalid"),
        ("a huge manifest", f"manifests/{digest}", lambda h: chunked(h, b" " * 65536, 200), "more than", "too_large"),
        ("a blob with other bytes", layer["digest"], lambda h: Registry.send(h, 200, b"x" * layer["size"]), "in place of blob", "invalid"),
        ("an endless blob", layer["digest"], lambda h: chunked(h, b"x" * 65536, 100000), "sends more than", "invalid"),
        ("a blob that is missing", layer["digest"], lambda h: Registry.send(h, 404), "has no blob", "not_found"),
        ("a registry that fails", layer["digest"], lambda h: Registry.send(h, 503), "status 503", "unavailable"),
        ("a registry that talks nonsense", layer["digest"], lambda h: Registry.send(h, 204), "status 204", "invalid"),
        ("a redirect to a file", layer["digest"], redirect("file:///etc/passwd"), "no http", "forbidden"),
        ("a redirect without TLS", layer["digest"], redirect("http://registry.example/x"), "without TLS", "forbidden"),
        ("a redirect with a user in it", layer["digest"], redirect("https://a@registry.example/x"), "no http", "forbidden"),
        ("a redirect to nowhere", layer["digest"], lambda h: Registry.send(h, 307), "no http", "forbidden"),
        ("a redirect in circles", layer["digest"], lambda h: redirect(h.path)(h), "circles", "invalid"),
        ("a token service without TLS", f"manifests/{digest}", lambda h: Registry.send(
            h, 401, WWW_Authenticate='Bearer realm="http://tokens.example/x",service="y"'), "token service", "forbidden"),
        ("a token with a line break", "/token", lambda h: Registry.send(h, 200, b'{"token":"a\\nX: b"}'), "", "invalid"),
        ("no token", "/token", lambda h: Registry.send(h, 200, b"{}"), "no usable token", "invalid"),
    ]
    for name, suffix, fn, words, code in cases:
        with Registry(lay.root, {"ann": SECRET} if suffix == "/token" else {}, suffix == "/token") as r:
            r.tags["v1"] = digest
            r.instead[suffix] = fn
            refused(f"{name} is refused", r.reference(tag="v1") if suffix.endswith("v1") else r.reference(digest), words, code,
                    username="ann", password=SECRET)
    with Registry(lay.root) as r:
        bad = [("a manifest without layers", doc(layers=[]), "layers"), ("a manifest with too many layers", doc(layers=lay_blobs * 300), "layers"),
               ("a layer that is a path", doc(layers=[dict(layer, digest="sha256:../../../../etc/passwd")]), "not sha256"),
               ("a layer of minus one byte", doc(layers=[dict(layer, size=-1)]), "no size"),
               ("a layer of an exabyte", doc(layers=[dict(layer, size=1 << 60)]), "to fetch"),
               ("a blob with two sizes", doc(layers=[layer, dict(layer, size=5)]), "two sizes"),
               ("a manifest that is an index as well", doc(manifests=[]), "no image manifest"),
               ("a manifest of an unknown kind", doc(mediaType="application/vnd.evil+json"), "no image manifest"),
               ("a configuration for other machines", doc(config=lay.blob(b'{"architecture":"arm64","os":"linux"}', "x")), "arm64"),
               ("a configuration that is no JSON", doc(config=lay.blob(b"hello", "x")), "configuration")]
        for name, d, words in bad:
            refused(f"{name} is refused", r.reference(d), words, "invalid")
        for name, text in [("no docker://", "127.0.0.1/x"), ("a user in it", "docker://a:b@127.0.0.1:5000/x"), ("a path out", "docker://127.0.0.1:5/../x"),
                           ("a short digest", "docker://127.0.0.1:5/x@sha256:12"), ("a query in it", "docker://127.0.0.1:5/x?y"),
                           ("a line break", "docker://127.0.0.1:5/x%0a:v"), ("no repository", "docker://127.0.0.1:5/"), ("capitals", "docker://127.0.0.1:5/X")]:
            refused(f"a reference with {name} is refused", text, "reference", "invalid")
        try:
            a.call("image.import", name="evil", reference=r.reference(digest), path="/etc/passwd")
            t.ok(False, "path and reference together are refused")
        except Refused as e:
            t.equal(e.field, "path", "path and reference together are refused")


def credentials_stay():
    """A blob that lies elsewhere is fetched there, without the token."""
    with Registry(lay.root) as other, Registry(lay.root, {"ann": SECRET}, True) as r:
        for b in lay_blobs:
            r.instead["blobs/" + b["digest"]] = lambda h, b=b: Registry.send(
                h, 307, Location=f"http://127.0.0.1:{other.port}/v2/team/tool/blobs/{b['digest']}")
        a.call("image.import", name="moved", reference=r.reference(digest), username="ann", password=SECRET)
        t.ok(len(other.seen) == len(lay_blobs), "a redirect to another host is followed", other.seen)
        t.ok(not any("Authorization" in h for _, h in other.seen), "and that host sees no credentials", other.seen)
        own = [h for p, h in r.seen if "/blobs/" in p]
        t.ok(own and all(h.get("Authorization", "").startswith("Bearer ") for h in own), "the registry itself sees the token, never the password")


def no_plain_http():
    """A registry that is not this machine's loopback is never spoken to without TLS, whoever names it."""
    host = a.subnet.replace(".0.0/16", ".0.1")  # the bridge's address: ours, but no loopback
    with Registry(lay.root, host=host) as far, Registry(lay.root) as r:
        refused("a registry elsewhere without TLS is refused", f"docker://{host}:{far.port}/team/tool@{digest}", "", "unavailable",
                username="ann", password=SECRET)
        r.instead["blobs/" + lay_blobs[-1]["digest"]] = lambda h: Registry.send(h, 307, Location=f"http://{host}:{far.port}/x")
        refused("a redirect to it is refused", r.reference(digest), "without TLS", "forbidden")
        r.instead = {f"manifests/{digest}": lambda h: Registry.send(h, 401, WWW_Authenticate=f'Bearer realm="http://{host}:{far.port}/token"')}
        refused("a token service on it is refused", r.reference(digest), "token service", "forbidden", username="ann", password=SECRET)
        t.equal(far.seen, [], "and it has heard nothing")


def real_registry():
    """Debian's docker-registry with a password file; buildah pushes, the agent pulls."""
    if not shutil.which("docker-registry") or not shutil.which("buildah"):
        t.skip("an image comes from a real registry", "docker-registry or buildah is not installed")
        return
    port = free_port()
    with open(a.dir + "/registry.yml", "w") as f:
        f.write(f"version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {a.dir}/registry}}}}\n"
                f"http: {{addr: '127.0.0.1:{port}'}}\n")
    log = open(a.dir + "/registry.log", "wb")
    p = subprocess.Popen(["docker-registry", "serve", a.dir + "/registry.yml"], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                         env={"PATH": os.environ["PATH"], "OTEL_TRACES_EXPORTER": "none"})
    try:
        wait_for(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, 60, "docker-registry")
        with Buildah(a.dir) as buildah:
            c = buildah("from", "scratch")
            buildah("add", "-q", c, small_root(a.dir), "/")
            buildah("commit", "-q", c, "localhost/tool")
            buildah("push", "-q", "--tls-verify=false", "--digestfile", a.dir + "/pushed", "localhost/tool", f"docker://127.0.0.1:{port}/team/tool:v1")
        with open(a.dir + "/pushed") as f:
            pushed = f.read().strip()
        got = a.call("image.import", name="real", reference=f"docker://127.0.0.1:{port}/team/tool@{pushed}")
        t.equal(got["digest"], pushed, "an image that buildah pushed to docker-registry is imported by its digest")
    finally:
        p.terminate()
        p.wait(30)
        log.close()


with Agent() as a:
    lay = Layout(os.path.join(a.dir, "layout"))
    with open(small_root(a.dir), "rb") as f:
        base = f.read()
    digest = lay.image([base, gzip.compress(tar_of(("app/name", b"tool\n")))])
    with open(f"{lay.root}/blobs/sha256/{digest[7:]}") as f:
        m = json.load(f)
    lay_blobs = [m["config"], *m["layers"]]
    for part in (pulls, tags_and_indexes, broken_off, killed, liars, credentials_stay, no_plain_http, real_registry):
        t.run(part.__name__.replace("_", " "), part)
t.done()
