#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Live pages: what 1,000 open event streams cost the server, against none: resident memory, CPU while nothing
happens and CPU per event that reaches all of them. The streams are an operator's, so that every event goes to each."""
import os
import select
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from starlease import Client, Server, cpu_seconds  # noqa: E402

STREAMS, PER_ACCOUNT, IDLE_S, EVENTS = 1000, 64, 5, 20


def memory_kb(pid):
    with open(f"/proc/{pid}/status") as f:
        return int(next(x.split()[1] for x in f if x.startswith("VmRSS")))


def idle(pid):
    """CPU seconds in a second of peace."""
    before, t0 = cpu_seconds([pid]), time.monotonic()
    time.sleep(IDLE_S)
    return (cpu_seconds([pid]) - before) / (time.monotonic() - t0)


def events(pid, c, tag):
    """CPU seconds for each of EVENTS changes."""
    before = cpu_seconds([pid])
    for i in range(EVENTS):
        c.must("POST", "/v1/tokens", {"name": f"{tag}{i}"})
    return before


def drain(socks, until, seconds=60):
    """Reads all streams until each has seen `until`."""
    rest = {s.fileno(): [s, b""] for s in socks}
    p = select.poll()
    for fd in rest:
        p.register(fd, select.POLLIN)
    end = time.monotonic() + seconds
    while rest and time.monotonic() < end:
        for fd, _ in p.poll(1000):
            s, tail = rest[fd]
            tail = (tail + s.recv(65536))[-4096:]
            rest[fd][1] = tail
            if until in tail:
                p.unregister(fd)
                del rest[fd]
    return len(rest)


def main():
    with Server(conf={"http": {"max_per_address": "4096"}}) as s:
        pid = s.proc.pid
        ops = [s.operator(f"op{i}@example.com") for i in range(-(-STREAMS // PER_ACCOUNT))]
        quiet = Client(s.port, ops[0].token)
        base_kb, base_idle = memory_kb(pid), idle(pid)
        before = events(pid, quiet, "a")
        base_event = (cpu_seconds([pid]) - before) / EVENTS
        socks = []
        for i in range(STREAMS):
            k = socket.create_connection(("127.0.0.1", s.port), 30)
            k.sendall(f"GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ops[i // PER_ACCOUNT].token}\r\n\r\n".encode())
            socks.append(k)
        left = drain(socks, b": ping")
        full_kb, full_idle = memory_kb(pid), idle(pid)
        before = events(pid, quiet, "b")
        last = str(quiet.must("GET", "/v1/events?before=9000000000000000&limit=1")["items"][0]["seq"]).encode()
        left += drain(socks, b"id: " + last + b"\n")
        full_event = (cpu_seconds([pid]) - before) / EVENTS
        for k in socks:
            k.close()
        print(f"streams: {STREAMS} of {len(ops)} operators; {left} missed an event")
        print(f"memory: {base_kb / 1024:.1f} MB with none, {full_kb / 1024:.1f} MB with all: {(full_kb - base_kb) / STREAMS:.1f} kB a stream")
        print(f"idle: {base_idle * 1000:.2f} ms CPU a second with none, {full_idle * 1000:.2f} ms with all")
        print(f"an event: {base_event * 1000:.2f} ms CPU with none, {full_event * 1000:.2f} ms with all: {(full_event - base_event) * 1e6 / STREAMS:.1f} us a stream")
        return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
