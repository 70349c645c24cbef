#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Images from strangers: what an import refuses, with one sentence and no trace outside its own folder, and what it accepts."""
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from agent import Agent, Refused, small_root  # noqa: E402
from tap import Tap  # noqa: E402

t = Tap()
if os.geteuid() != 0:
    t.skip("images are imported", "needs root")
    t.done()


def entry(name, kind=tarfile.REGTYPE, link="", mode=0o644, uid=0, data=b"", pax=None, major=0, minor=0):
    i = tarfile.TarInfo(name)
    i.type, i.linkname, i.mode, i.uid, i.size, i.devmajor, i.devminor = kind, link, mode, uid, len(data), major, minor
    i.pax_headers = pax or {}
    return i, data


def tar_bytes(entries, fmt=tarfile.PAX_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=fmt) as f:
        for i, data in entries:
            f.addfile(i, io.BytesIO(data))
    return out.getvalue()


def put(name, data):
    path = os.path.join(a.dir, name)
    with open(path, "wb") as f:
        f.write(data)
    return path


def sha(data):
    return hashlib.sha256(data).hexdigest()


def outside():
    """Everything near the import that must not change: canaries beside and above it."""
    with open(canary) as f:
        text = f.read()
    st = os.lstat(canary)
    return text, st.st_nlink, st.st_mode, st.st_uid, sorted(os.listdir(a.dir)), sorted(os.listdir(a.state)), os.path.exists("/evil")


def refused(name, path, words, field=None, code="invalid", **more):
    was = outside()
    try:
        a.call("image.import", name="evil", path=path, **more)
        t.ok(False, name, "was accepted")
        a.call("image.remove", name="evil")
        return
    except Refused as e:
        t.ok(words in e.message and e.code == code and "\n" not in e.message and (field is None or e.field == field), name,
             f"{e.code} {e.field}: {e.message}")
    if outside() != was or any(f.startswith("tmp-") for f in os.listdir(f"{a.state}/images")):
        t.ok(False, name + ": nothing outside changed", f"{was}\n{outside()}\n{os.listdir(a.state + '/images')}")


D, L, H = tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE
HOSTILE = [
    ("a name with ..", [entry("../evil", data=b"x")], '".."'),
    ("a name with .. in the middle", [entry("a/../../evil", data=b"x")], '".."'),
    ("an absolute name", [entry("/evil", data=b"x")], "absolute"),
    ("a file through an absolute link", [entry("l", L, "/"), entry("l/evil", data=b"x")], "leads out"),
    ("a file through a link to ..", [entry("l", L, "../../../.."), entry("l/evil", data=b"x")], "leads out"),
    ("a file through a chain of links", [entry("d", D, mode=0o755), entry("d/a", L, ".."), entry("b", L, "d/a/.."),
                                         entry("b/evil", data=b"x")], "leads out"),
    ("a folder through a link", [entry("l", L, "/tmp"), entry("l/evil", D)], "leads out"),
    ("a link through a link", [entry("l", L, "/"), entry("l/evil", L, "x")], "leads out"),
    ("a hard link out by ..", [entry("h", H, "../../canary")], '".."'),
    ("a hard link out by an absolute name", [entry("h", H, "/etc/passwd")], "absolute"),
    ("a hard link through a link", [entry("l", L, "/etc"), entry("h", H, "l/passwd")], "leads out"),
    ("a hard link to nothing", [entry("h", H, "nothing")], "not a file of the image"),
    ("a hard link to a folder", [entry("d", D), entry("h", H, "d")], "not a file of the image"),
    ("a hard link to itself", [entry("h", data=b"x"), entry("h", H, "h")], "itself"),
    ("a character device", [entry("null", tarfile.CHRTYPE, major=1, minor=3)], "device node"),
    ("a block device", [entry("disk", tarfile.BLKTYPE, major=254)], "device node"),
    ("a pipe", [entry("fifo", tarfile.FIFOTYPE)], "pipe"),
    ("an owner that no tenant has", [entry("f", uid=70000, data=b"x")], "owner over 65535"),
    ("a negative owner", [entry("f", data=b"x", pax={"uid": "-5"})], "image:"),
    ("a name that lies deep", [entry("/".join("d" * 80), data=b"x")], "too deep"),
    ("a part of a name over 255 bytes", [entry("n" * 300, data=b"x")], "too long"),
    ("a part of a name that mkfs.erofs cannot take", [entry("n" * 255, data=b"x")], "too long"),
    ("a pax path with ..", [entry("f", data=b"x", pax={"path": "../../evil"})], '".."'),
    ("a pax link target that is absolute", [entry("h", H, "f", pax={"linkpath": "/etc/shadow"})], "absolute"),
    ("the root as a file", [entry(".", data=b"x")], "not a usable name"),
    ("a name with a line break", [entry("a\n../evil/../..", data=b"x")], '".."'),
    ("a file in a file", [entry("f", data=b"x"), entry("f/evil", data=b"x")], "folder that is not there"),
]


def hostile_tars():
    for n, (name, entries, words) in enumerate(HOSTILE):
        path = put("evil.tar", tar_bytes(entries))
        refused(f"{name} is refused", path, words, "path")
        os.unlink(path)


def hostile_bytes():
    good = tar_bytes([entry("bin/sh", data=os.urandom(200000))])
    cases = [("a tar cut short", good[:100000], "damaged"),
             ("a gzip cut short", gzip.compress(good)[:50000], "image:"),
             ("a text file", b"hello, I am no archive\n" * 1000, "image:"),
             ("a damaged header", good[:600] + b"\xff" * 3000 + good[3600:], None),
             ("a bzip2 file", __import__("bz2").compress(good), "image:")]
    for name, data, words in cases:
        if words is None:
            continue
        path = put("evil.tar", data)
        refused(f"{name} is refused", path, words)
        os.unlink(path)
    # 512 MiB of ones in 0.5 MB (zeros would be a hole), and a file of 100 TB that is one hole
    bomb = io.BytesIO()
    with gzip.GzipFile(fileobj=bomb, mode="wb", compresslevel=9) as z:
        i = tarfile.TarInfo("ones")
        i.size = 512 << 20
        z.write(i.tobuf())
        for _ in range(512):
            z.write(b"\1" * (1 << 20))
    path = put("evil.tar", bomb.getvalue())
    refused("a bomb is refused", path, "bomb")
    os.unlink(path)
    sparse = entry("hole", pax={"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "hole",
                                "GNU.sparse.realsize": str(100 << 40)}, data=b"0\n" + bytes(510))
    path = put("evil.tar", tar_bytes([sparse]))
    refused("a hole of 100 TB is refused", path, "bytes")
    os.unlink(path)
    huge = tarfile.TarInfo("huge")
    huge.size = 200 << 40
    path = put("evil.tar", huge.tobuf(tarfile.GNU_FORMAT))
    refused("a size in the header over the limit is refused", path, "bytes")
    os.unlink(path)


def digests():
    data = tar_bytes([entry("f", data=b"x")])
    path = put("d.tar", data)
    refused("a tar file with another digest is refused", path, "digest", "digest", digest="sha256:" + "0" * 64)
    refused("a digest that is none is refused", path, "digest", "digest", digest="md5:1")
    got = a.call("image.import", name="d", path=path, digest="sha256:" + sha(data))
    t.equal(got["digest"], "sha256:" + sha(data), "the right digest is accepted")
    os.unlink(path)
    t.equal(a.call("image.import", name="d", path=path, digest="sha256:" + sha(data)), got, "importing it again does nothing")
    refused("a file that is not there is refused", path, "cannot be read", "path", code="not_found")
    refused("a relative path is refused", "d.tar", "absolute", "path")
    refused("a folder that is no layout is refused", a.dir, "neither", "path")
    refused("a device is refused", "/dev/zero", "neither", "path")


def layout(name, layers, spoil=None):
    """An OCI layout folder; layers are (bytes, media type)."""
    root = os.path.join(a.dir, name)
    os.makedirs(root + "/blobs/sha256")

    def blob(data):
        with open(f"{root}/blobs/sha256/{sha(data)}", "wb") as f:
            f.write(data)
        return {"digest": "sha256:" + sha(data), "size": len(data)}

    config = blob(b"{}")
    manifest = blob(json.dumps({"schemaVersion": 2, "config": dict(config, mediaType="application/vnd.oci.image.config.v1+json"),
                                "layers": [dict(blob(d), mediaType=m) for d, m in layers]}).encode())
    index = {"schemaVersion": 2, "manifests": [dict(manifest, mediaType="application/vnd.oci.image.manifest.v1+json",
                                                    platform={"os": "linux", "architecture": "amd64"})]}
    if spoil:
        spoil(root, index, manifest)
    with open(root + "/index.json", "w") as f:
        json.dump(index, f)
    with open(root + "/oci-layout", "w") as f:
        f.write('{"imageLayoutVersion":"1.0.0"}')
    return root, manifest["digest"]


TAR, GZ, ZST = ("application/vnd.oci.image.layer.v1.tar" + s for s in ("", "+gzip", "+zstd"))


def oci():
    one = tar_bytes([entry("d", D, mode=0o755), entry("d/old", data=b"old"), entry("d/keep", data=b"keep"), entry("o", D, mode=0o755),
                     entry("o/gone", data=b"x"), entry("lib", L, "d")])
    two = tar_bytes([entry("d/.wh.old"), entry("o/.wh..wh..opq"), entry("o/new", data=b"new"), entry("lib/added", data=b"added")])
    zst = subprocess.run(["zstd", "-q", "-c"], input=two, stdout=subprocess.PIPE, check=True).stdout
    root, digest = layout("good", [(gzip.compress(one), GZ), (zst, ZST)])
    got = a.call("image.import", name="oci", path=root, digest=digest)
    t.equal(got["digest"], digest, "an OCI layout is imported under its manifest's digest")
    mount = os.path.join(a.dir, "look")
    os.mkdir(mount)
    subprocess.run(["mount", "-o", "loop,ro", f"{a.state}/images/oci.erofs", mount], check=True)
    try:
        tree = sorted(os.path.relpath(os.path.join(d, f), mount) for d, _, fs in os.walk(mount) for f in fs)
        t.equal(tree, ["d/added", "d/keep", "o/new"], "whiteouts delete, opaque folders hide, links to folders are followed inside")
    finally:
        subprocess.run(["umount", mount], check=True)
        os.rmdir(mount)
    tar = os.path.join(a.dir, "good.tar")
    subprocess.run(["tar", "-C", root, "-cf", tar, "oci-layout", "index.json", "blobs"], check=True)
    t.equal(a.call("image.import", name="oci2", path=tar)["digest"], digest, "and so is a tar file of one")
    os.unlink(tar)

    def flip(r, index, manifest):
        for f in os.listdir(r + "/blobs/sha256"):
            with open(f"{r}/blobs/sha256/{f}", "r+b") as h:
                data = h.read()
                if len(data) > 2000:
                    h.seek(1000)
                    h.write(b"\x01")

    bad = [("a layer with a changed byte", [(one, TAR)], flip, "a layer is"),
           ("a manifest with a changed byte", [(one, TAR)],
            lambda r, i, m: open(f"{r}/blobs/sha256/{m['digest'][7:]}", "a").write(" "), "a manifest is"),
           ("a layer that is missing", [(one, TAR)], lambda r, i, m: os.unlink(f"{r}/blobs/sha256/{sha(one)}"), "missing"),
           ("a digest that is a path", [(one, TAR)],
            lambda r, i, m: i["manifests"][0].update(digest="sha256:../../../canary"), "not sha256"),
           ("a blob that is a link", [(one, TAR)], lambda r, i, m: (os.unlink(f"{r}/blobs/sha256/{sha(one)}"),
                                                                   os.symlink(canary, f"{r}/blobs/sha256/{sha(one)}")), "missing"),
           ("a layer of another size", [(one, TAR)], lambda r, i, m: open(f"{r}/blobs/sha256/{sha(one)}", "a").write(" "), "size"),
           ("another machine's image", [(one, TAR)], lambda r, i, m: i["manifests"][0]["platform"].update(architecture="arm64"), "amd64"),
           ("a layer of an unknown type", [(one, "application/x-squashfs")], None, "not a tar"),
           ("a layer that climbs out", [(one, TAR), (tar_bytes([entry("../evil", data=b"x")]), TAR)], None, '".."'),
           ("a whiteout of ..", [(tar_bytes([entry("d", D), entry("d/.wh...")]), TAR)], None, "whiteout"),
           ("a whiteout through a link", [(tar_bytes([entry("l", L, "/"), entry("l/.wh.evil")]), TAR)], None, "leads out"),
           ("a nest of JSON", [(one, TAR)], lambda r, i, m: i.update(x=json.loads("[" * 100 + "]" * 100)), "nested")]
    for n, (name, layers, spoil, words) in enumerate(bad):
        root, _ = layout(f"bad{n}", layers, spoil)
        refused(f"{name} is refused", root, words)


def hostile_roots():
    """Images that are well-formed, whose root is a trap for the one who starts a container in it."""
    import time
    cases = [("/dev is a link to the host's", entry("dev", L, "/proc/1/root/dev")), ("/proc is a link", entry("proc", L, "../../../..")),
             ("/sys is a file", entry("sys", data=b"x")), ("/etc is a link out", entry("etc", L, "/")),
             ("/.starlease is a link", entry(".starlease", L, "/tmp")), ("/root is a link", entry("root", L, "/etc"))]
    for n, (name, trap) in enumerate(cases):
        path = os.path.join(a.dir, "trap.tar")
        with tarfile.open(path, "w") as f:
            f.addfile(trap[0], io.BytesIO(trap[1]))
        a.call("image.import", name=f"trap{n}", path=path)
        os.unlink(path)
        a.call("lease.start", **a.spec(f"lea_{n}", slot=n, image=f"trap{n}", cards=[n]))
        got = a.wait_state(f"lea_{n}", "exited")
        t.ok("must be a folder" in got["reason"] and not got["ready_us"], f"an image whose {name} never gets ready", got)
        a.call("lease.stop", lease=f"lea_{n}", epoch=1)
        a.call("volume.remove", volume=f"vol_lea_{n}")
    path = small_root(a.dir, [entry("etc/resolv.conf", L, "/proc/1/root/etc/passwd"), entry("etc/hosts", L, "../../../canary"),
                              entry("etc/passwd", L, "/proc/self/environ")])
    a.call("image.import", name="links", path=path)
    a.call("lease.start", **a.spec("lea_l", slot=9, image="links"))
    a.wait_state("lea_l", "running")
    t.ok("inst-1" in a.ssh(9, "cat /etc/hosts; ls -l /etc/resolv.conf"), "links where the agent mounts files are replaced, not followed")
    try:
        a.call("image.remove", name="links")
        t.ok(False, "an image in use is not removed")
    except Refused as e:
        t.ok(e.code == "conflict", "an image in use is not removed", str(e))
    a.call("lease.stop", lease="lea_l", epoch=1)
    a.call("image.remove", name="links")
    t.ok("links" not in [i["name"] for i in a.call("image.list")["images"]], "an unused one is")


def killed_import():
    path = small_root(a.dir)
    a.stop()
    a.start(STARLEASE_FAILPOINT="agent.image_unpacked:1")
    try:
        a.call("image.import", name="cut", path=path)
        t.ok(False, "an import that is killed gives no answer")
    except (RuntimeError, json.JSONDecodeError):
        t.ok("cut" not in [i["name"] for i in a.call("image.list")["images"]], "an import that is killed leaves no image")
    a.stop()
    a.start()
    a.call("image.import", name="cut", path=path)
    t.ok(not any(f.startswith("tmp-") for f in os.listdir(f"{a.state}/images")), "the next import of that name cleans up")


with Agent() as a:
    canary = os.path.join(a.dir, "canary")
    with open(canary, "w") as h:
        h.write("untouched\n")
    for part in (hostile_tars, hostile_bytes, digests, oci, hostile_roots, killed_import):
        t.run(part.__name__.replace("_", " "), part)
t.done()
