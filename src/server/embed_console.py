#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# embed_console.py OUT.c FILE...: the console's files as gzip bytes in C arrays (static.h). A page names the
# other files with their hash, "app.js?v=0123456789abcdef", so that a browser may keep them for ever.
import gzip
import hashlib
import os
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
out, paths = sys.argv[1], sys.argv[2:]
data = {os.path.basename(p): open(p, "rb").read() for p in paths}
for page in [n for n in data if n.endswith(".html")]:
    for name, text in list(data.items()):
        if not name.endswith(".html"):
            version = hashlib.sha256(text).hexdigest()[:16]
            data[page] = data[page].replace(b"/console/%s\"" % name.encode(), b"/console/%s?v=%s\"" % (name.encode(), version.encode()))
lines = ["/* made by embed_console.py */", '#include "server/static.h"', ""]
rows = []
for i, (name, text) in enumerate(sorted(data.items())):
    packed = gzip.compress(text, 9, mtime=0)
    tag = hashlib.sha256(text).hexdigest()[:32]
    lines.append("static const unsigned char file_%d[] = {" % i)
    for at in range(0, len(packed), 24):
        lines.append("    " + ",".join(map(str, packed[at:at + 24])) + ",")
    lines.append("};")
    rows.append('    {"%s", "%s", file_%d, sizeof file_%d, "\\"%s\\""},' % (name, TYPES[os.path.splitext(name)[1]], i, i, tag))
lines += ["", "const struct static_file static_files[] = {"] + rows + ["    {0}};"]
with open(out, "w") as f:
    f.write("\n".join(lines) + "\n")
