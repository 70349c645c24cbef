#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The .deb: what is in it, that its libraries are named, that its units are valid and hardened."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import BUILD, ROOT, Tap  # noqa: E402

t = Tap()
work = tempfile.mkdtemp(prefix="starlease-deb-")


def run(*argv):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)


p = run(f"{ROOT}/packaging/deb.sh", BUILD, work)
debs = glob.glob(work + "/*.deb")
if t.ok(p.returncode == 0 and len(debs) == 1, "a package is made", p.stdout):
    root = work + "/root"
    run("dpkg-deb", "-R", debs[0], root)
    names = {os.path.relpath(os.path.join(d, f), root) for d, _, fs in os.walk(root) for f in fs}
    need = {"usr/bin/starlease", "usr/bin/starleased", "usr/bin/starlease-agentd", "usr/bin/starlease-agent", "usr/bin/starport",
            "usr/lib/systemd/system/starleased.service", "usr/lib/systemd/system/starlease-agentd.service", "usr/lib/sysusers.d/starlease.conf",
            "usr/lib/tmpfiles.d/starlease.conf", "usr/share/man/man1/starlease.1", "usr/share/bash-completion/completions/starlease",
            "usr/share/starlease/prices/seed.csv", "usr/share/doc/starlease/copyright", "DEBIAN/postinst"}
    t.equal(need - names, set(), "programs, units, user, folders, man pages, completions and prices are in it")
    t.ok(not any(n.startswith("usr/local") for n in names), "nothing of it lies in /usr/local")
    bad = [n for n in names if os.stat(os.path.join(root, n)).st_mode & 0o6022]
    t.equal(bad, [], "no file is setuid or writable by others")
    control = run("dpkg-deb", "-f", debs[0], "Depends").stdout
    named = set(re.split(r",\s*", control.strip()))
    linked = set()
    for name in ("starlease", "starleased", "starlease-agentd", "starlease-agent", "starport"):
        for line in run("readelf", "-d", f"{root}/usr/bin/{name}").stdout.splitlines():
            m = re.search(r"NEEDED.*\[(.*)\]", line)
            if m:
                linked.add(m.group(1))
    missing = []
    for lib in linked:
        path = run("sh", "-c", f"ldconfig -p | sed -n 's|.*{re.escape(lib)} .*=> ||p' | head -n 1").stdout.strip()
        owner = run("sh", "-c", f"dpkg -S {path} 2>/dev/null || dpkg -S /usr{path} 2>/dev/null").stdout.split(":")[0]
        if owner not in named:
            missing.append(f"{lib} of {owner or 'nobody'}")
    t.equal(missing, [], "every library that the programs link is a dependency")
    p = run(f"{root}/usr/bin/starlease", "price", "list", "-o", "json")
    t.ok(p.returncode == 0 and "MI300X" in p.stdout, "the programs find their files from where they stand", p.stdout)
    units = sorted(glob.glob(root + "/usr/lib/systemd/system/*.service"))
    if shutil.which("systemd-analyze"):
        for unit in units:  # a unit is verified with its programs in place
            with open(unit, encoding="utf-8") as f:
                text = f.read().replace("/usr/bin/", root + "/usr/bin/")
            copy = os.path.join(work, os.path.basename(unit))
            with open(copy, "w", encoding="utf-8") as f:
                f.write(re.sub(r"^Documentation=.*\n", "", text, flags=re.M))
            p = run("systemd-analyze", "verify", "--man=no", copy)
            wrong = [x for x in p.stdout.splitlines() if os.path.basename(unit) in x]
            t.equal(wrong, [], f"{os.path.basename(unit)} is a valid unit")
        p = run("systemd-analyze", "security", "--offline=true", "--threshold=25", work + "/starleased.service")
        m = re.search(r"exposure level for \S+: ([\d.]+)", p.stdout)
        t.ok(p.returncode == 0 and m, f"starleased's unit is hardened: exposure {m.group(1) if m else '?'} of 10, at most 2.5", p.stdout[-1500:])
    else:
        t.skip("units are valid and hardened", "no systemd-analyze")
    p = run("sh", "-n", root + "/DEBIAN/postinst")
    t.equal(p.returncode, 0, "the postinst parses")
shutil.rmtree(work)
t.done()
