#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The tree keeps its own rules: layers, sizes, banned calls, licence lines, one place per library."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import ROOT, Tap  # noqa: E402

os.chdir(ROOT)
t = Tap()
if os.path.exists(".git"):
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files"], stdout=subprocess.PIPE, text=True).stdout.split("\n")
else:
    listed = [os.path.relpath(os.path.join(d, f), ".") for d, _, fs in os.walk(".") for f in fs]
files = [f for f in listed if f and os.path.isfile(f) and not f.startswith("build")]
source = [f for f in files if re.search(r"\.(c|h)$", f) and f.startswith("src/")]


def text(f):
    with open(f, encoding="utf-8", errors="replace") as h:
        return h.read()


# ---- layers: who may include whom (by folder under src/) ----
ALLOWED = {"base/core": ["base/core"], "base/io": ["base/core", "base/io"], "wire": ["base/core", "base/io", "wire"],
           "server": ["base/core", "base/io", "wire", "server"], "agent": ["base/core", "base/io", "wire", "agent"],
           "cli": ["base/core", "base/io", "wire", "cli"], "port": ["base/core", "port"],
           "sim": ["base/core", "base/io", "wire", "server", "sim"]}
PORT_EXTRA = {"base/io/json.h", "base/io/proc.h"}  # read by starport, which links them statically


def layer(path):
    for name in ALLOWED:
        if path.startswith(name + "/"):
            return name
    return None


bad = []
for f in source:
    if "/shim/" in f or "/stubs/" in f:
        continue
    mine = layer(f[len("src/"):])
    for inc in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text(f), re.M):
        theirs = layer(inc)
        if theirs and theirs not in ALLOWED[mine] and not (mine == "port" and inc in PORT_EXTRA):
            bad.append(f"{f} includes {inc}")
t.ok(not bad, "nothing includes upward", "\n".join(bad))

# ---- one file per library ----
ONLY = {"microhttpd.h": ["src/server/http.c"], "sqlite3.h": ["src/base/io/db_copy.c", "src/base/io/db_pcache.c", "src/base/io/db_sqlite.c", "src/base/io/db_wal.c"], "curl/curl.h": ["src/base/io/http_client.c"],
        "jansson.h": ["src/base/io/json.c"], "sodium.h": ["src/base/io/crypto.c"], "archive.h": ["src/agent/image_tar.c", "src/agent/image.c", "src/agent/unpack.c"],
        "gnutls/": ["src/server/tls.c"]}
bad = []
for f in source:
    for lib, where in ONLY.items():
        if re.search(r"#\s*include\s*<" + re.escape(lib), text(f)) and f not in where:
            bad.append(f"{f} includes <{lib}>; only {', '.join(where)} may")
t.ok(not bad, "each library is seen by one file", "\n".join(bad))

# ---- sizes ----
bad = [f"{f}: {n} lines" for f in source for n in [text(f).count("\n")] if n > (250 if f.endswith(".h") else 1000) and "/shim/" not in f and "/stubs/" not in f]
t.ok(not bad, "no file is longer than 1000 lines, no header than 250", "\n".join(bad))


def functions(f):
    """(name, lines) of each function body: from a '{' in column 0 to its '}' in column 0."""
    start, name, prev = None, "", ""
    for i, line in enumerate(text(f).split("\n")):
        if line == "{" and start is None:
            start, name = i, prev
        elif line.startswith("}") and start is not None:
            yield name, i - start - 1
            start = None
        elif line.strip():
            prev = line.strip()


bad = [f"{f}: {n} lines: {name[:60]}" for f in source if f.endswith(".c") for name, n in functions(f) if n > 100]
t.ok(not bad, "no function is longer than 100 lines", "\n".join(bad))

# ---- licence lines ----
bad = [f for f in files if re.search(r"\.(c|h|cc|cu|hip|py|sh|sql|ts|tsx|css|tab)$", f) and not f.startswith("tests/port/golden")
       and not f.startswith("tests/fuzz/corpus") and not f.startswith("tests/data") and "/cases/" not in f and "SPDX-License-Identifier: Apache-2.0" not in text(f)[:400]]
t.ok(not bad, "every source file carries its SPDX line", "\n".join(bad))

# ---- words that may not be there ----
bad = []
for f in source:
    for i, line in enumerate(text(f).split("\n"), 1):
        if re.search(r"\b(TODO|FIXME|XXX)\b|not implemented|unimplemented", line):
            bad.append(f"{f}:{i}: {line.strip()[:80]}")
        if re.search(r"\bsystem\(|\bpopen\(", line):
            bad.append(f"{f}:{i}: a shell")
t.ok(not bad, "nothing is left unfinished in what is called done", "\n".join(bad))

# ---- money knows no floating point ----
money = [f for f in source if re.search(r"(money|ledger|wallet|meter|price|quote|statement|bill|compare)[a-z_]*\.[ch]$", f)]
bad = [f"{f}: {m.group(0)}" for f in money for m in [re.search(r"\b(double|float)\b(?![^\n]*\*/)", re.sub(r"/\*.*?\*/", "", text(f), flags=re.S))] if m]
t.ok(not bad and money, "no money file uses floating point", "\n".join(bad))

# ---- states move only through lifecycle.c ----
bad = []
for f in source:
    if f.startswith("src/server/") and not f.endswith("lifecycle.c"):
        for m in re.finditer(r"UPDATE\s+(lease|node|volume|image|operation)\s+SET[^;]{0,200}?[\s,]state\s*=", text(f)):
            bad.append(f"{f}: {m.group(0)[:80]}")
t.ok(not bad, "a state column is written by sm_move alone", "\n".join(bad))

# ---- no figure of the shipped price file in the source ----
bad = []
prices = set()
for line in text("prices/seed.csv").split("\n"):
    if line and line[0] not in "#m":
        prices.add(line.split(",")[0])
for f in source:
    if f.startswith("src/server/") or f.startswith("src/cli/") or f.startswith("src/wire/"):
        for m in re.finditer(r"\b(2\.2|2200000|3500000|422\.40|672\.00|7\.217|11\.48)\b", text(f)):
            bad.append(f"{f}: {m.group(0)}")
t.ok(not bad, "no figure of the price file stands in the source", "\n".join(bad))

# ---- one version ----
v = re.search(r'SL_VERSION "([^"]+)"', text("src/base/core/version.h")).group(1)
m = re.search(r"version: '([^']+)'", text("meson.build")).group(1)
t.equal(m, v, "meson.build and version.h agree on the version")

# ---- shell scripts parse ----
bad = [f for f in files if (f.endswith(".sh") or f == ".ci/run") and subprocess.run(["bash", "-n", f]).returncode]
t.ok(not bad, "every shell script parses", "\n".join(bad))
t.done()
