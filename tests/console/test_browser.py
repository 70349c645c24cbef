#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A browser (Debian's Chromium) goes through the console: sign up, create, stop, statement, verify; every page in
both languages, light and dark, wide and narrow, looked at by axe. Pictures of every page: build/screens/."""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from fleet import KEY, Fleet, add_key, launch, reach  # noqa: E402
from starlease import Server  # noqa: E402
from tap import BUILD, ROOT, Tap  # noqa: E402
from web import web_tools  # noqa: E402

t = Tap()
WEB = web_tools()
CHROMIUM = shutil.which("chromium")
CONF = {"lease": {"heartbeat": "1s", "meter": "1s", "reconcile": "1s"}, "console": {"fx": "USD/CNY=7.10@2026-11-30"}}
with Server(conf=CONF) as s, Fleet(s, nodes=3) as f:
    op = s.operator()
    f.enrol(op)
    other = s.renter("other@example.com")
    add_key(other)
    op.must("POST", f"/v1/accounts/{other.account}/topups", {"amount": "500.00", "reason": "<b>bank transfer</b>"})
    reach(other, launch(other, gpus=4, name="render"), "running")
    statement = os.path.join(s.dir, "statement.json")
    what = {"web": WEB, "url": f"http://127.0.0.1:{s.port}", "screens": os.path.join(ROOT, "build", "screens"), "spool": s.spool, "operator": op.token,
            "key": KEY, "chromium": CHROMIUM, "statement": statement,
            "record": os.path.join(s.dir, "record.json"), "lib": os.path.join(ROOT, "tests", "lib")}
    p = subprocess.run(["node", os.path.join(ROOT, "tests/console/drive.mjs"), json.dumps(what)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True, timeout=800)
    for line in p.stdout.splitlines():
        found = json.loads(line)
        t.ok(found["ok"], found["name"], found.get("detail"))
    t.ok(p.returncode == 0 and p.stdout, "the browser ended by itself", p.stderr[-2000:])
    v = subprocess.run([os.path.join(BUILD, "starlease"), "bill", "verify", statement], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    t.ok(v.returncode == 0, "the downloaded statement is verified offline", v.stdout)
    v = subprocess.run([os.path.join(BUILD, "starlease"), "bench", "verify", what["record"]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    t.ok(v.returncode == 0, "so is the downloaded benchmark record", v.stdout)
t.done()
