# SPDX-License-Identifier: Apache-2.0
"""The console's tools (web/node_modules): what `npm ci` installs from web/package-lock.json, once a checkout.

    web_tools()         returns the folder web/; two suites may ask at the same time
"""
import fcntl
import json
import os
import shutil
import subprocess

from tap import ROOT

WEB = os.path.join(ROOT, "web")


def installed():
    """npm leaves its own copy of the lock file, which names what is there."""
    try:
        with open(WEB + "/node_modules/.package-lock.json") as have, open(WEB + "/package-lock.json") as want:
            there, asked = json.load(have)["packages"], json.load(want)["packages"]
    except (OSError, ValueError):
        return False
    return all(name in there and there[name].get("version") == p.get("version") for name, p in asked.items() if name and not p.get("optional"))


def web_tools():
    with open(os.path.join(WEB, "package.json")) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not installed():
            if not shutil.which("npm"):
                raise AssertionError("npm is missing; make deps installs it")
            p = subprocess.run(["npm", "ci", "--ignore-scripts"], cwd=WEB, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, timeout=600)
            if p.returncode:
                raise AssertionError("npm ci failed:\n" + p.stdout[-3000:])
    return WEB
