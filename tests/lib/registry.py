# SPDX-License-Identifier: Apache-2.0
"""A container registry of a test's own on loopback: what the distribution protocol needs for a pull, and every way to be bad.

    with Registry(layout_folder, users={"ann": "secret"}, bearer=True) as r:
        r.reference("sha256:...")        docker://127.0.0.1:PORT/team/tool@sha256:...
        r.break_off["sha256:..."] = 1000 the next answer with that blob ends after 1000 bytes
"""
import base64
import http.server
import json
import os
import threading
import urllib.parse


class Registry:
    def __init__(self, root, users=None, bearer=False, repo="team/tool", host="127.0.0.1"):
        self.root, self.users, self.bearer, self.repo = root, users or {}, bearer, repo
        self.tags = {}
        self.seen = []         # (path, headers) of every request
        self.break_off = {}    # digest -> bytes, once
        self.instead = {}      # path suffix -> function(handler), answers in place of us
        self.ranges = True
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.answer(self)

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client):
                pass

        self.server = Server((host, 0), Handler)
        self.port = self.server.server_address[1]
        self.token_count = 0
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.server.shutdown()
        self.server.server_close()

    def reference(self, digest=None, tag=None):
        return f"docker://127.0.0.1:{self.port}/{self.repo}" + (f":{tag}" if tag else "") + (f"@{digest}" if digest else "")

    @staticmethod
    def send(h, status, body=b"", **headers):
        h.send_response(status)
        for k, v in headers.items():
            h.send_header(k.replace("_", "-"), v)
        h.send_header("Content-Length", str(len(body)))
        h.end_headers()
        h.wfile.write(body)

    def basic_ok(self, h):
        kind, _, rest = h.headers.get("Authorization", "").partition(" ")
        if kind != "Basic":
            return False
        name, _, password = base64.b64decode(rest).decode().partition(":")
        return self.users.get(name) == password

    def allowed(self, h):
        if not self.users:
            return True
        if self.bearer:
            return h.headers.get("Authorization", "") == f"Bearer token-{self.token_count}"
        return self.basic_ok(h)

    def answer(self, h):
        path, _, query = h.path.partition("?")
        self.seen.append((h.path, dict(h.headers)))
        for suffix, fn in self.instead.items():
            if path.endswith(suffix):
                return fn(h)
        if path == "/token":
            q = urllib.parse.parse_qs(query)
            if not self.basic_ok(h) or q["scope"] != [f"repository:{self.repo}:pull"] or q["service"] != ["a test"]:
                return self.send(h, 401)
            self.token_count += 1
            return self.send(h, 200, json.dumps({"token": f"token-{self.token_count}"}).encode())
        if not self.allowed(h):
            how = f'Bearer realm="http://127.0.0.1:{self.port}/token",service="a test",scope="x"' if self.bearer else 'Basic realm="a test"'
            return self.send(h, 401, b'{"errors":[]}', WWW_Authenticate=how)
        prefix = f"/v2/{self.repo}/"
        if not path.startswith(prefix):
            return self.send(h, 404)
        kind, _, name = path[len(prefix):].partition("/")
        digest = self.tags.get(name, name)
        file = f"{self.root}/blobs/sha256/{digest[7:]}"
        if kind not in ("manifests", "blobs") or not os.path.isfile(file):
            return self.send(h, 404, b'{"errors":[]}')
        with open(file, "rb") as f:
            data = f.read()
        at = 0
        if kind == "blobs" and self.ranges and h.headers.get("Range", "").startswith("bytes="):
            at = int(h.headers["Range"][6:].rstrip("-"))
        h.send_response(206 if at else 200)
        if kind == "manifests":
            h.send_header("Content-Type", json.loads(data).get("mediaType", "application/octet-stream"))
        h.send_header("Content-Length", str(len(data) - at))
        h.end_headers()
        h.wfile.write(data[at:self.break_off.pop(digest, len(data))])
        h.close_connection = True
