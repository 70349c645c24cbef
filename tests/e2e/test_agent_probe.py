#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`starlease-agent probe` on recorded GPU topologies of real machines: what an operator sees of his cards."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from agent import kfd_tree  # noqa: E402
from tap import BUILD, Tap  # noqa: E402

t = Tap()
folder = tempfile.TemporaryDirectory(prefix="starlease-probe-")
GIB = 1 << 30


def probe(tree, *options, before=()):
    root = tree if os.path.isabs(tree) else kfd_tree(tree, folder.name)
    p = subprocess.run([*before, f"{BUILD}/starlease-agent", "probe", "--kfd-root", root, *options], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True)
    return json.loads(p.stdout) if p.returncode == 0 else p.stderr


def minors(d):
    return [x["render_minor"] for c in d["cards"] for x in c["devices"]]


d = probe("mi210-8gpu-2hives", "--emulate")
t.equal([c["model"] for c in d["cards"]], ["MI210"] * 8, "eight MI210 are eight cards")
t.equal([c["hive"] for c in d["cards"]], [0] * 4 + [1] * 4, "in two hives of four")
t.equal([c["numa"] for c in d["cards"]], [0] * 4 + [1] * 4, "each hive near one CPU")
links = {(a, b): w for a, b, w in d["links"]}
t.ok(all(links[a, b] == (15 if a // 4 == b // 4 else 72) for a in range(8) for b in range(a + 1, 8)),
     "XGMI inside a hive, PCIe between them", links)
t.equal(minors(d), list(range(128, 136)), "render nodes 128 to 135")
t.ok(any("memory size is not known" in r for r in d["reasons"]), "a recording without memory banks says so", d["reasons"])

d = probe("mi300x-8gpu-cpx-63", "--emulate")
t.equal(len(minors(d)), 63, "MI300X in CPX: 63 devices, as that kernel lists them")
t.equal([len(c["devices"]) for c in d["cards"]], [8] * 7 + [7], "grouped into 8 cards, one of them short of a device")
t.ok(any("card 7 shows 7 devices where others show 8" in r for r in d["reasons"]), "and the short card is named", d["reasons"])
t.equal({c["partition"] for c in d["cards"]}, {"CPX"}, "all in CPX mode")

d = probe("mi308x-8gpu-cpx-32", "--emulate")
t.equal(minors(d), [128 + 8 * card + i for card in range(8) for i in range(4)], "MI308X: render minors with stride 8 a card")
t.equal(len({x["pci"][:4] for c in d["cards"] for x in c["devices"]}), 2, "in two PCI domains")
t.ok(all(190 * GIB < c["memory_bytes"] <= 192 * GIB for c in d["cards"]), "192 GB a card, from the memory banks",
     [c["memory_bytes"] for c in d["cards"]])
t.equal({x["cus"] for c in d["cards"] for x in c["devices"]}, {20}, "20 compute units a device")

d = probe("vega10-1gpu", "--emulate")
t.equal((len(d["cards"]), d["cards"][0]["hive"], d["cards"][0]["memory_bytes"]), (2, -1, 17163091968), "the format of old kernels is read")
t.ok(any("same PCI function" in r for r in d["reasons"]), "two nodes with one PCI address are told", d["reasons"])

d = probe("mi300x-8gpu-spx-synthetic", "--emulate")
t.equal((d["model"], d["gfx"], len(d["cards"]), d["health"], d["emulated"]), ("MI300X", "gfx942", 8, "good", True),
        "eight MI300X, emulated, healthy")
old = probe("mi300x-8gpu-spx-synthetic", "--emulate", before=("setarch", "x86_64", "--uname-2.6"))
t.ok(old["health"] == "good" and any("CVE-2026-46229" in r for r in old["reasons"]),
     "an old kernel below an emulated node is told and changes nothing", old["reasons"])
t.equal([c["numa"] for c in d["cards"]], [0] * 4 + [1] * 4, "four near each CPU")
t.equal({(c["memory_bytes"], c["partition"]) for c in d["cards"]}, {(192 * GIB, "SPX")}, "192 GiB each, unpartitioned")
t.equal(len(d["links"]), 28, "every pair is linked")
d = probe("mi300x-8gpu-spx-synthetic")
t.ok(d["health"] == "bad" and any("/dev/dri/renderD128" in r for r in d["reasons"]),
     "cards without device nodes make a real node unfit", d["reasons"])

# MI250: two dies of a card, joined by four links; made from the MI210 recording, paired 0-2, 1-3, ...
root = kfd_tree("mi210-8gpu-2hives", os.path.join(folder.name, "mi250"))
for node in range(2, 10):
    f = f"{root}/nodes/{node}/properties"
    with open(f) as h:
        text = h.read().replace("device_id 29711", "device_id 29708")
    with open(f, "w") as h:
        h.write(text)
    for link in os.listdir(f"{root}/nodes/{node}/io_links"):
        f = f"{root}/nodes/{node}/io_links/{link}/properties"
        with open(f) as h:
            text = h.read()
        to = int(text.split("node_to ")[1].split()[0])
        if to in (node - 2, node + 2) and (node - 2) // 4 == (to - 2) // 4:
            text = text.replace("max_bandwidth 50000", "max_bandwidth 200000")
        with open(f, "w") as h:
            h.write(text)
d = probe(root, "--emulate")
t.equal([[x["kfd_node"] for x in c["devices"]] for c in d["cards"]], [[2, 4], [3, 5], [6, 8], [7, 9]],
        "the two dies of an MI250 are one card, joined by the widest link")

t.equal(probe("/nonexistent", "--emulate")["cards"], [], "a machine without GPUs has none, and that is no error")
with open(f"{root}/nodes/3/properties", "a") as h:
    h.write("simd_count -1\n")
t.ok("must be a name and a number" in probe(root, "--emulate"), "a damaged file is named in one sentence")
t.done()
