#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""GET of the catalogue: server CPU per request against nginx that serves the same bytes as a static file.
Interleaved rounds of wrk over loopback, keep-alive, 32 connections; the ratio is of the medians."""
import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from starlease import Client, Server, children, cpu_seconds, free_port  # noqa: E402
from tap import wait_for  # noqa: E402

ROUNDS, SECONDS, CONNECTIONS = 5, 2, 32


def start_nginx(directory, body):
    port = free_port()
    os.makedirs(directory + "/html/v1", exist_ok=True)
    with open(directory + "/html/v1/prices", "w") as f:
        f.write(body)
    os.chmod(directory, 0o755)
    conf = f"""daemon off; worker_processes 2; pid {directory}/pid; error_log {directory}/err;
events {{ worker_connections 1024; }}
http {{ access_log off; keepalive_requests 100000000; default_type application/json; sendfile on; tcp_nopush on;
 client_body_temp_path {directory}/t1; proxy_temp_path {directory}/t2; fastcgi_temp_path {directory}/t3; uwsgi_temp_path {directory}/t4; scgi_temp_path {directory}/t5;
 server {{ listen 127.0.0.1:{port}; root {directory}/html; }} }}"""
    with open(directory + "/nginx.conf", "w") as f:
        f.write(conf)
    p = subprocess.Popen(["nginx", "-c", directory + "/nginx.conf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: os.path.exists(directory + "/pid") and len(children(p.pid)) == 2, 10, "nginx")
    return p, port


def round_of(port, pids):
    before = cpu_seconds(pids)
    out = subprocess.run(["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", f"http://127.0.0.1:{port}/v1/prices"],
                         stdout=subprocess.PIPE, text=True, check=True).stdout
    requests = int(next(x.split()[0] for x in out.splitlines() if "requests in" in x))
    bad = [x for x in out.splitlines() if "Non-2xx" in x or "Socket errors" in x]
    assert not bad, bad
    return (cpu_seconds(pids) - before) / requests * 1e6, requests / SECONDS


def main():
    version = subprocess.run(["nginx", "-v"], stderr=subprocess.PIPE, text=True).stderr.strip()
    with Server() as s, tempfile.TemporaryDirectory() as d:
        c = Client(s.port)
        c.get("/v1/prices")
        import http.client
        h = http.client.HTTPConnection("127.0.0.1", s.port)
        h.request("GET", "/v1/prices")
        body = h.getresponse().read().decode()
        nginx, port = start_nginx(d, body)
        ours, theirs = [], []
        try:
            for _ in range(ROUNDS):
                theirs.append(round_of(port, [nginx.pid] + children(nginx.pid)))
                ours.append(round_of(s.port, [s.proc.pid]))
        finally:
            nginx.terminate()
            nginx.wait()
        a = statistics.median(x[0] for x in ours)
        b = statistics.median(x[0] for x in theirs)
        print(f"GET /v1/prices, {len(body)} bytes: starleased {a:.1f} us CPU per request ({statistics.median(x[1] for x in ours):.0f}/s), "
              f"{version} static file {b:.1f} us ({statistics.median(x[1] for x in theirs):.0f}/s): ratio {a / b:.2f} (wanted <= 1.6)")
        return 0 if a / b <= 1.6 else 1


if __name__ == "__main__":
    sys.exit(main())
