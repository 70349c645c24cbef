# SPDX-License-Identifier: Apache-2.0
"""Somebody at a command line: starlease with a home and a configuration of its own.

    with Person.renter("ann@example.com", server) as me:      signed up, with trial credit and an SSH key
        me("run", "--yes", "--gpu", "MI300X:1", "busy")
        me.json("show", "one")["state"]
        me.inside("one", "cat /proc/uptime")
"""
import json
import os
import shutil
import subprocess
import tempfile

from tap import BUILD


class Person:
    def __init__(self, name, server, token=None):
        self.home = tempfile.mkdtemp(prefix=f"starlease-{name}-")
        self.key = os.path.join(self.home, "key")
        self.env = {"PATH": os.environ["PATH"], "HOME": self.home, "LANG": "C.UTF-8", "STARLEASE_CONFIG": f"{self.home}/config",
                    "STARLEASE_URL": f"http://127.0.0.1:{server.port}", "STARLEASE_PASSWORD": "correct horse battery"}
        if token:
            self.env["STARLEASE_TOKEN"] = token

    @classmethod
    def renter(cls, mail, server):
        me = cls(mail.split("@")[0], server)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", mail, "-f", me.key], check=True)
        me("signup", mail)
        me("verify", mail, server.mailed_code(mail))
        me("login", mail)
        me("trial")
        me("key", "add", me.key + ".pub")
        return me

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def __del__(self):
        self.close()

    def close(self):
        shutil.rmtree(self.home, ignore_errors=True)

    def call(self, *args, timeout=180):
        return subprocess.run([f"{BUILD}/starlease", *args], env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=timeout)

    def __call__(self, *args):
        p = self.call(*args)
        if p.returncode:
            raise AssertionError(f"starlease {' '.join(args)}: {p.returncode}\n{p.stdout}{p.stderr}")
        return p.stdout

    def json(self, *args):
        return json.loads(self(*args, "-o", "json"))

    def inside(self, lease, script):
        return self("exec", "-i", self.key, lease, "sh", "-c", script)
