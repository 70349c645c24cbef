#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the documents show is there: commands, options, make targets, files, links; man pages are fresh."""
import glob
import os
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import BUILD, ROOT, Tap  # noqa: E402

os.chdir(ROOT)
t = Tap()
PROGRAMS = [p for p in ("starlease", "starleased", "starlease-agentd", "starlease-agent", "starport", "starsim")
            if os.access(f"{BUILD}/{p}", os.X_OK)]
DOCS = sorted(f for f in ["README.md", "README.zh-CN.md", "CONTRIBUTING.md", "CHANGELOG.md"] + glob.glob("docs/**/*.md", recursive=True)
              if os.path.isfile(f))
home = tempfile.mkdtemp(prefix="starlease-docs-")
ENV = {"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8"}


def run(argv):
    return subprocess.run(argv, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=60)


def text(f):
    with open(f, encoding="utf-8") as h:
        return h.read()


# ---- generated files are fresh ----
fresh = tempfile.mkdtemp(prefix="starlease-man-")
subprocess.run(["scripts/generate.sh", BUILD, fresh], check=True)
stale = []
for made in sorted(glob.glob(f"{fresh}/**/*", recursive=True)):
    rel = os.path.relpath(made, fresh)
    if os.path.isfile(made) and (not os.path.isfile(rel) or text(made) != text(rel)):
        stale.append(rel)
t.ok(not stale, "man pages and completions are what the programs print", "run `make man`:\n" + "\n".join(stale))
bad = [f for f in glob.glob("packaging/completions/*") if subprocess.run(["bash", "-n", f]).returncode]
t.ok(not bad and glob.glob("packaging/completions/*"), "every completion is valid bash", "\n".join(bad))
if subprocess.run(["which", "man"], stdout=subprocess.DEVNULL).returncode == 0:
    bad = []
    for f in glob.glob("man/*.1"):
        p = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", f], env=dict(ENV, MANWIDTH="100"),
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if p.returncode or p.stderr.strip():
            bad.append(f"{f}: {p.stderr.strip()[:300]}")
    t.ok(not bad, "man shows every page without a warning", "\n".join(bad))
else:
    t.skip("man shows every page without a warning", "man is not installed")

# ---- commands in fenced blocks and in `...` ----
targets = set(re.findall(r"^([a-z][a-z-]*(?: [a-z-]+)*):", text("Makefile"), re.M))
targets = {w for line in targets for w in line.split()}
shown, runnable = [], []
for f in DOCS:
    body = text(f)
    lines = [x for block in re.findall(r"```[a-z]*\n(.*?)```", body, re.S) for x in block.split("\n")]
    lines += re.findall(r"`((?:build/)?(?:starlease|starleased|starlease-agentd|starport|starsim|make) [^`\n]*)`", body)
    for line in lines:
        m = re.match(r"(?:\$ )?((?:build/)?(starleased|starlease-agentd|starlease-agent|starlease|starport|starsim)|make)((?: .*)?)$", line.strip())
        if m and "--->" not in line:  # a picture
            shown.append((f, line.strip(), m.group(2) or "make", m.group(3)))


def verbs_of(program):
    out = run([f"{BUILD}/{program}", "--help"]).stdout
    m = re.search(r"^commands:\n(.*?)\n\n", out, re.S | re.M)
    return re.findall(r"^  ([a-z][a-z-]*(?: [a-z-]+)?)  ", m.group(1), re.M) if m else []


VERBS = {p: verbs_of(p) for p in PROGRAMS}
bad, n = [], 0
for f, line, program, args in shown:
    try:
        words = shlex.split(args)
    except ValueError:
        bad.append(f"{f}: {line}: quotes do not match")
        continue
    n += 1
    if program == "make":
        bad += [f"{f}: {line}: no target {w}" for w in words if re.match(r"^[a-z-]+$", w) and w not in targets]
        continue
    if program not in PROGRAMS:
        bad.append(f"{f}: {line}: {program} is not built")
        continue
    verb = next((v for v in (" ".join(words[:2]), " ".join(words[:1])) if v in VERBS[program]), None)
    if VERBS[program] and not verb and words and not words[0].startswith("-"):
        if not any(v.startswith(words[0] + " ") for v in VERBS[program]):
            bad.append(f"{f}: {line}: no such command")
        continue
    help_text = run([f"{BUILD}/{program}", "help"] + verb.split()).stdout if verb else run([f"{BUILD}/{program}", "--help"]).stdout
    for w in words:
        if w == "--":
            break
        if w.startswith("--") and w.split("=")[0] not in help_text:
            bad.append(f"{f}: {line}: no option {w}")
    if program == "starlease" and verb in ("price list", "compare"):
        runnable.append((f, line, words))
t.ok(not bad and n > 20, "every command that a document shows exists, with its options", "\n".join(bad) or f"only {n} found")

bad = []
for f, line, words in runnable:
    p = run([f"{BUILD}/starlease"] + words)
    if p.returncode:
        bad.append(f"{f}: {line}: exit {p.returncode}: {p.stdout}")
t.ok(not bad and runnable, "every command shown that needs no server runs as shown", "\n".join(bad))

# ---- files and links ----
bad = []
for f in DOCS:
    for target in re.findall(r"\]\(([^)#\s]+)\)", text(f)):
        if not re.match(r"[a-z]+://", target) and not os.path.exists(os.path.join(os.path.dirname(f), target)):
            bad.append(f"{f}: link to {target}")
    for target in re.findall(r"`((?:src|docs|tests|scripts|prices|images|man|packaging)/[A-Za-z0-9_./-]+)`", text(f)):
        if not os.path.exists(target):
            bad.append(f"{f}: names {target}")
t.ok(not bad, "every file and link that a document names is there", "\n".join(bad))

# ---- what stands in two places agrees ----
codes = dict((int(e), c) for c, e in re.findall(r'\{"(\w+)", \d+, (\d+),', text("src/base/core/err.c")))
page = text("man/starlease.1") if os.path.exists("man/starlease.1") else ""
section = page.split(".SH EXIT STATUS")[-1].split(".SH ENVIRONMENT")[0]
listed = {int(x) for x in re.findall(r"^\.TP\n(\d+)$", section, re.M)}
t.equal(sorted(listed), sorted(codes), "the man page lists exactly the exit statuses of the error table")
audited = set(re.findall(r'"(I\d+)", "', "".join(text(f) for f in glob.glob("src/server/audit_*.c"))))
law = set(re.findall(r"^\| (I\d+) \|", text("docs/money.md"), re.M))
t.ok(audited and audited <= law, "every invariant that the audit checks is in docs/money.md", sorted(audited - law))
version = re.search(r'SL_VERSION "([^"]+)"', text("src/base/core/version.h")).group(1)
t.ok(re.search(rf"^## {re.escape(version)}\b", text("CHANGELOG.md"), re.M), "the changelog has an entry for this version")
t.done()
