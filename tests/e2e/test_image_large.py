#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Images as people have them: many layers with whiteouts and links between them, 100,000 files, a sparse file of 20 GiB,
a layout that buildah wrote. Each is imported with progress, and an instance starts from it."""
import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from agent import Agent, small_root  # noqa: E402
from buildah import Buildah  # noqa: E402
from layout import Layout  # noqa: E402
from tap import Tap  # noqa: E402

t = Tap()
if os.geteuid() != 0:
    t.skip("large images are imported", "needs root")
    t.done()
GB20 = 20 << 30


def info(name, kind=tarfile.REGTYPE, link="", mode=0o644, size=0, pax=None):
    i = tarfile.TarInfo(name)
    i.type, i.linkname, i.mode, i.size, i.pax_headers = kind, link, mode, size, pax or {}
    return i


def tar_of(entries):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as f:
        for i, data in entries:
            i.size = len(data) if i.isreg() else 0
            f.addfile(i, io.BytesIO(data))
    return out.getvalue()


def sparse(name, size, pieces):
    """An entry in GNU sparse format 1.0, as `tar --sparse` writes it: the map first, then the pieces."""
    head = f"{len(pieces)}\n" + "".join(f"{at}\n{len(data)}\n" for at, data in pieces)
    body = head.encode() + bytes(-len(head) % 512) + b"".join(data for _, data in pieces)
    return info(name, pax={"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": name,
                           "GNU.sparse.realsize": str(size)}), body


def imported(name, path, what):
    lines, begun = [], time.monotonic()
    got = a.call("image.import", progress=lines, name=name, path=path)
    print(f"# {what}: imported in {time.monotonic() - begun:.1f} s, {got['files']} entries, {got['size_bytes']} bytes, "
          f"{len(lines)} lines of progress", flush=True)
    rising = all(x["bytes"] <= y["bytes"] and x["files"] <= y["files"] for x, y in zip(lines, lines[1:]))
    t.ok(lines and rising and lines[-1]["files"] == got["files"] and all(x["bytes"] <= x["total"] for x in lines),
         f"{what}: the import tells bytes and files as they come", lines[-3:])
    return got, lines


def started(name, slot, script, want, what):
    lease, begun = f"lea_{slot}", time.monotonic()
    a.call("lease.start", **a.spec(lease, slot=slot, image=name))
    a.wait_state(lease, "running", 60)
    print(f"# {what}: runs after {time.monotonic() - begun:.2f} s", flush=True)
    t.equal(a.ssh(slot, script).strip(), want, f"{what}: an instance starts and sees what the layers say")
    a.call("lease.stop", lease=lease, epoch=1, grace_s=0)
    a.call("volume.remove", volume=f"vol_{lease}")


def layers_100k():
    """Eight layers over a small root; 100,000 files; whiteouts, opaque folders, hard links over layers."""
    with open(small_root(a.dir), "rb") as f:
        base = f.read()
    D, H, L = tarfile.DIRTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE
    layers = [gzip.compress(base, 1)]
    for n in range(4):
        many = [(info(f"data/{n}", D, mode=0o755), b"")]
        many += [(info(f"data/{n}/{i:05d}"), b"%d of layer %d\n" % (i, n)) for i in range(25000)]
        layers.append(gzip.compress(tar_of(many), 1))
    layers.append(tar_of([(info("o", D, mode=0o755), b""), (info("o/low"), b"low"), (info("o/sub", D, mode=0o755), b""), (info("o/sub/x"), b"x"),
                          (info("keep"), b"kept"), (info("gone"), b"gone"), (info("dir", D, mode=0o755), b""), (info("dir/f"), b"f")]))
    layers.append(tar_of([(info("o/.wh..wh..opq"), b""), (info("o/new"), b"new"), (info(".wh.gone"), b""), (info(".wh.dir"), b""),
                          (info("hard", H, "keep"), b""), (info("data/0/.wh.00000"), b"")]))
    layers.append(tar_of([(info("hard2", H, "hard"), b""), (info("o/.wh.new"), b""), (info("o/newer"), b"newer"), (info("link", L, "o"), b""),
                          (info("link/through"), b"through")]))
    lay = Layout(os.path.join(a.dir, "many"))
    digest = lay.image(layers)
    got, lines = imported("many", lay.root, "8 layers, 100,000 files")
    t.ok(got["digest"] == digest and got["files"] > 100000 and len(lines) >= 10, "the digest is the manifest's, and nothing was left out", got)
    started("many", 1, "ls /data/0 /data/1 /data/2 /data/3 | grep -c '^[0-9][0-9]*$'; cat /data/3/24999; ls /o; cat /hard2; "
            "ls -ld /hard /keep | awk '{print $2}'; ls /gone /dir 2>&1 | wc -l; cat /o/through",
            "99999\n24999 of layer 3\nnewer\nthrough\nkept3\n3\n2\nthrough", "8 layers, 100,000 files")


def sparse_20g():
    """A disk image that is empty but for its ends."""
    with open(small_root(a.dir), "rb") as f:
        base = f.read()
    lay = Layout(os.path.join(a.dir, "sparse"))
    end = GB20 - 4096
    lay.image([base, tar_of([sparse("disk.img", GB20, [(0, b"begin".ljust(512, b"\0")), (end, b"the end\n".ljust(4096, b"\0"))])])])
    room = os.statvfs(a.state)
    free = room.f_bavail * room.f_frsize
    got, _ = imported("sparse", lay.root, "a sparse file of 20 GiB")
    used = free - os.statvfs(a.state).f_bavail * room.f_frsize
    t.ok(got["size_bytes"] < 1 << 30, "the holes take next to no room in the image", f"{got} {used}")
    started("sparse", 2, f"stat -c %s /disk.img; head -c 5 /disk.img; dd if=/disk.img bs=4096 skip={end // 4096} 2>/dev/null | head -c 7",
            f"{GB20}\nbeginthe end", "a sparse file of 20 GiB")


def zeros():
    """Zeros that come as zeros become holes: neither a bomb nor a full disk."""
    with open(small_root(a.dir), "rb") as f:
        base = f.read()
    z = io.BytesIO()
    with gzip.GzipFile(fileobj=z, mode="wb", compresslevel=1) as g:
        i = info("zeros", size=2 << 30)
        g.write(i.tobuf())
        block = bytes(1 << 20)
        for _ in range(2048):
            g.write(block)
        g.write(bytes(1024))
    lay = Layout(os.path.join(a.dir, "zeros"))
    lay.image([base, z.getvalue()])
    got, _ = imported("zeros", lay.root, "2 GiB of zeros in 9 MB")
    t.ok(got["size_bytes"] < 64 << 20, "they take next to no room in the image", got)


def by_buildah():
    with Buildah(a.dir) as buildah:
        built_by(buildah)


def built_by(buildah):
    if not shutil.which("buildah"):
        t.skip("an image that buildah wrote is imported", "buildah is not installed")
        return
    begun = time.monotonic()
    root = os.path.join(a.dir, "tree")
    os.mkdir(root)
    subprocess.run(["tar", "-C", root, "-xf", small_root(a.dir)], check=True)
    name = "scratch"
    for n in range(6):
        c = buildah("from", "--pull-never", name)
        m = buildah("mount", c)
        if n == 0:
            subprocess.run(["cp", "-a", root + "/.", m], check=True)
            os.makedirs(m + "/app/old")
            open(m + "/app/old/a", "w").close()
            with open(m + "/app/keep", "w") as f:
                f.write("kept\n")
        elif n == 1:
            os.link(m + "/app/keep", m + "/app/hard")
        elif n == 2:
            shutil.rmtree(m + "/app/old")
        elif n == 3:
            os.mkdir(m + "/app/old")
            with open(m + "/app/old/b", "w") as f:
                f.write("b\n")
        elif n == 4:
            with open(m + "/app/hole", "wb") as f:
                f.truncate(256 << 20)
        else:
            os.unlink(m + "/app/keep")
        buildah("umount", c)
        name = f"localhost/l{n}"
        buildah("commit", "-q", c, name)
    buildah("push", "-q", name, f"oci:{a.dir}/built:v1")
    with open(f"{a.dir}/built/index.json") as f:
        digest = json.load(f)["manifests"][0]["digest"]
    with open(f"{a.dir}/built/blobs/sha256/{digest[7:]}") as f:
        layers = len(json.load(f)["layers"])
    print(f"# buildah made {layers} layers in {time.monotonic() - begun:.1f} s", flush=True)
    got, _ = imported("built", a.dir + "/built", "an image that buildah wrote")
    t.ok(layers >= 6 and got["digest"] == digest, "it has six layers and keeps its digest", f"{layers} {got} {digest}")
    started("built", 3, "ls /app /app/old; cat /app/hard; stat -c %s /app/hole", f"/app:\nhard\nhole\nold\n\n/app/old:\nb\nkept\n{256 << 20}",
            "an image that buildah wrote")


with Agent() as a:
    for part in (layers_100k, sparse_20g, zeros, by_buildah):
        t.run(part.__name__.replace("_", " "), part)
t.done()
