# SPDX-License-Identifier: Apache-2.0
"""buildah with its storage in a test's folder, and without the cache that it keeps for all of the machine.

    with Buildah(folder) as b:
        container = b("from", "scratch")
"""
import os
import shutil
import subprocess

CACHE = "/var/lib/containers"


class Buildah:
    def __init__(self, folder):
        self.args = ["buildah", "--root", folder + "/bs", "--runroot", folder + "/br", "--storage-driver", "vfs"]

    def __enter__(self):
        self.had_cache = os.path.exists(CACHE)
        return self

    def __exit__(self, *exc):
        if not self.had_cache:
            shutil.rmtree(CACHE, ignore_errors=True)

    def __call__(self, *args):
        p = subprocess.run(self.args + list(args), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
        if p.returncode:
            raise RuntimeError(f"buildah {args}: {p.stderr}")
        return p.stdout.strip()
