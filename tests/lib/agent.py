# SPDX-License-Identifier: Apache-2.0
"""A node agent of a test's own: folders, bridge, subnet and socket that nobody else uses, emulated GPUs.

    with Agent("mi300x-8gpu-spx-synthetic") as a:
        a.call("image.import", name="busy", path=small_root(a.dir))
        a.call("lease.start", **a.spec("lea_1", cards=[0]))
"""
import ctypes
import http.server
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
import threading
import time

from tap import BUILD, ROOT, wait_for

BUSYBOX = "/bin/busybox"
APPLETS = ("sh ls cat echo mknod dd id mount ps kill sleep touch ip wget nc awk sha256sum head stat mkdir true false ln rm df env "
           "hostname sed grep cp unshare chmod tail wc sync yes killall ping chroot").split()


class Refused(Exception):
    def __init__(self, error):
        super().__init__(f"{error['code']}: {error['message']}")
        self.code, self.field, self.message = error["code"], error["field"], error["message"]


def small_root(folder, extra=()):
    """A root tar of busybox alone; `extra` are (TarInfo, bytes) that follow. Returns its path."""
    path = os.path.join(folder, f"root-{len(os.listdir(folder))}.tar")
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as t:
        for name, mode in (("bin", 0o755), ("etc", 0o755), ("proc", 0o555), ("sys", 0o555), ("dev", 0o755), ("tmp", 0o1777),
                           ("root", 0o700), ("var", 0o755)):
            i = tarfile.TarInfo(name)
            i.type, i.mode = tarfile.DIRTYPE, mode
            t.addfile(i)
        with open(BUSYBOX, "rb") as f:
            data = f.read()
        i = tarfile.TarInfo("bin/busybox")
        i.size, i.mode = len(data), 0o755
        t.addfile(i, io.BytesIO(data))
        for a in APPLETS:
            i = tarfile.TarInfo(f"bin/{a}")
            i.type, i.linkname = tarfile.SYMTYPE, "busybox"
            t.addfile(i)
        for i, data in extra:
            i.size = len(data) if i.isreg() else 0
            t.addfile(i, io.BytesIO(data))
    return path


def kfd_tree(name, into):
    with tarfile.open(os.path.join(ROOT, "tests/data/kfd", name + ".tar.xz")) as t:
        t.extractall(into)
    return os.path.join(into, name)


class Sink:
    """The control plane as a lease's supervisor sees it: takes reports, answers what the test wants."""

    def __init__(self, prefix):
        self.reports, self.lock = [], threading.Lock()
        self.answer = {}  # lease -> (status, body)
        self.go = True
        sink = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                body["lease"] = body["lease"].replace(prefix, "lea_")
                with sink.lock:
                    sink.reports.append(dict(body, token=self.headers["Authorization"], at=time.monotonic()))
                status, extra = sink.answer.get(body["lease"], (200, {}))
                out = json.dumps({"state": "running", "go": sink.go, "stop": False,
                                  "funded_until_us": int((time.time() + 3600) * 1e6), **extra}).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(out)))
                self.end_headers()
                self.wfile.write(out)

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client):
                pass  # a supervisor that was killed while it reported

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/v1/agent/report"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def of(self, lease, kind=None):
        with self.lock:
            return [r for r in self.reports if r["lease"] == lease and kind in (None, r["kind"])]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Agent:
    """Tests say lea_1; on the node it is lea_NUMBER-1, because the names of control groups are the machine's."""

    def __init__(self, tree="mi300x-8gpu-spx-synthetic", number=None, options=()):
        number = os.getpid() % 200 if number is None else number
        self.dir = tempfile.mkdtemp(prefix="starlease-agent-")
        os.chmod(self.dir, 0o711)  # mapped users cross it on the way to their root
        self.run, self.state, self.socket = (os.path.join(self.dir, n) for n in ("run", "state", "agent.sock"))
        self.bridge, self.subnet = f"slt{number}", f"10.{number + 20}.0.0/16"
        self.port_base = 23000 + number * 16
        self.kfd = kfd_tree(tree, self.dir)
        self.options = ["--state", self.state, "--run", self.run, "--socket", self.socket, "--node", "test", "--kfd-root", self.kfd,
                        "--emulate", "--bridge", self.bridge, "--subnet", self.subnet, *options]
        self.log = open(os.path.join(self.dir, "agentd.log"), "ab")
        self.prefix = f"lea_{number}-"
        self.daemon, self.sink = None, Sink(self.prefix)
        self.key = os.path.join(self.dir, "key")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", self.key], check=True)
        with open(self.key + ".pub") as f:
            self.public = f.read().strip()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.close()

    def start(self, **env):
        self.daemon = subprocess.Popen([f"{BUILD}/starlease-agentd", *self.options], stdin=subprocess.DEVNULL, stdout=self.log,
                                       stderr=self.log, env=dict(os.environ, **env))

        def up():
            if self.daemon.poll() is not None:
                raise RuntimeError(self.text())
            with socket.socket(socket.AF_UNIX) as s:
                return s.connect_ex(self.socket) == 0

        wait_for(up, 20, "the agent")

    def stop(self, how=signal.SIGTERM):
        if self.daemon and self.daemon.poll() is None:
            self.daemon.send_signal(how)
            self.daemon.wait(30)

    def text(self):
        with open(os.path.join(self.dir, "agentd.log")) as f:
            return f.read()

    def close(self):
        try:
            if self.daemon.poll() is not None:
                self.start()
            for l in self.call("lease.list")["leases"]:
                self.call("lease.stop", lease=l["lease"], epoch=l["epoch"], grace_s=0)
        finally:
            self.stop()
            self.sink.close()
            self.log.close()
            shutil.rmtree(self.dir, ignore_errors=True)

    def full(self, lease):
        return lease.replace("lea_", self.prefix) if lease.startswith("lea_") else lease

    def raw(self, data, progress=None):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(120)
            s.connect(self.socket)
            s.sendall(data + b"\n")
            for line in s.makefile("rb"):
                answer = json.loads(line.replace(self.prefix.encode(), b"lea_"))
                if "progress" not in answer:
                    break
                if progress is not None:
                    progress.append(answer["progress"])
            else:
                raise RuntimeError("no answer; " + self.text())
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["ok"]

    def call(self, op, progress=None, **fields):
        if isinstance(fields.get("lease"), str):
            fields["lease"] = self.full(fields["lease"])
        return self.raw(json.dumps({"op": op, **fields}).encode(), progress)

    def spec(self, lease, slot=1, epoch=1, cards=(), image="busy", **more):
        return {"lease": lease, "epoch": epoch, "account": "acc_1", "hostname": "inst-1", "image": image,
                "volume": {"id": "vol_" + lease, "size_bytes": 64 << 20}, "cards": list(cards), "slot": slot,
                "host_port": self.port_base + slot, "ssh_keys": [self.public], "command": [], "report_url": self.sink.url,
                "token": "slt_" + lease, "nonce": "nonce-" + lease, "heartbeat_s": 1, "funded_until_us": 0, "cpus": 1,
                "memory_bytes": 256 << 20, "shared_quota_bytes": 64 << 20, **more}

    def state_of(self, lease):
        for l in self.call("lease.list")["leases"]:
            if l["lease"] == lease:
                return l
        return None

    def wait_state(self, lease, state, seconds=20):
        try:
            return wait_for(lambda: (lambda l: l if l and l["state"] == state else None)(self.state_of(lease)), seconds, f"{lease} {state}")
        except TimeoutError as e:
            raise TimeoutError(f"{e}: {self.state_of(lease)}\n{self.supervisor_log(lease)}\n{self.text()[-2000:]}") from None

    def supervisor_log(self, lease):
        try:
            with open(f"{self.run}/leases/{self.full(lease)}/supervisor.log") as f:
                return f.read()
        except OSError as e:
            return str(e)

    def facts(self, lease):
        with open(f"{self.run}/leases/{self.full(lease)}/state.json") as f:
            return json.load(f)

    def ssh(self, slot, command, timeout=60, **kw):
        args = ["ssh", "-i", self.key, "-p", str(self.port_base + slot), "-o", "StrictHostKeyChecking=no", "-o",
                "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-o", "BatchMode=yes", "root@127.0.0.1", command]
        p = subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout,
                           **kw)
        return p.stdout

    def supervisors(self, lease):
        out = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    args = f.read().split(b"\0")
            except OSError:
                continue
            if args[1:3] == [b"--supervise", f"{self.run}/leases/{self.full(lease)}".encode()]:
                out.append(int(pid))
        return out


def footprint(a):
    """What the leases of agent `a` could leave on the host, as sorted lists. Only things that bear its marks: other agents may run."""
    def listing(*cmd):
        return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.splitlines()

    groups, processes = [], []
    for top, dirs, _ in os.walk("/sys/fs/cgroup"):
        groups += [os.path.join(top, d) for d in dirs if os.path.basename(top) == "starlease" and d.startswith(a.prefix)]
    with open("/proc/self/mounts") as f:
        mounts = [line for line in f.read().splitlines() if a.dir in line]
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                line = f.read()
            with open(f"/proc/{pid}/cgroup") as f:
                ours = f"/starlease/{a.prefix}" in f.read()
        except OSError:
            continue
        if line and (b"--supervise" in line and a.dir.encode() in line or ours):
            processes.append(line.replace(b"\0", b" ").decode(errors="replace"))
    return {"mounts": mounts, "loops": [line for line in listing("losetup", "-a") if a.dir in line],
            "netns": listing("ip", "netns", "list"), "links": sorted(w.split()[0] for w in listing("ip", "-br", "link") if a.bridge in w),
            "nft": listing("nft", "list", "table", "inet", a.bridge), "cgroups": sorted(groups), "processes": sorted(processes)}


def put_node(pid, uid, path, major, minor, name):
    """Puts a device node into a running container the way a leak would: made on the host, moved into its /dev."""
    libc = ctypes.CDLL(None, use_errno=True)
    os.mknod(path, 0o020666, os.makedev(major, minor))
    os.chmod(path, 0o666)
    child = os.fork()
    if child == 0:
        tree = libc.syscall(428, -100, path.encode(), 1)  # open_tree, OPEN_TREE_CLONE
        ns = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY)
        rc = libc.setns(ns, 0x20000)
        libc.setfsgid(uid)
        libc.setfsuid(uid)
        os.close(os.open(f"/dev/{name}", os.O_WRONLY | os.O_CREAT, 0o666))
        rc |= libc.syscall(429, tree, b"", -100, f"/dev/{name}".encode(), 4)  # move_mount
        os._exit(1 if rc or tree < 0 else 0)
    return os.waitpid(child, 0)[1] == 0
