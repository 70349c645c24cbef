#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The node agent with real containers: what a renter sees inside, what a neighbour cannot reach, what survives kills, and that nothing
stays on the host. GPUs are emulated (device numbers without a driver): a granted node answers ENXIO, any other EPERM."""
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from agent import Agent, Refused, footprint, put_node, small_root  # noqa: E402
from tap import BUILD, Tap, wait_for  # noqa: E402

t = Tap()
if os.geteuid() != 0:
    t.skip("leases run in containers", "needs root")
    t.done()

a = Agent()
before = footprint(a)
a.start()
idle = footprint(a)


def refused(code, field, name, op, **fields):
    try:
        a.call(op, **fields)
        t.ok(False, name, "was accepted")
    except Refused as e:
        t.ok(e.code == code and (field is None or e.field == field), name, f"{e.code} {e.field}: {e.message}")


def image():
    progress = []
    got = a.call("image.import", progress=progress, name="busy", path=small_root(a.dir))
    t.ok(got["digest"].startswith("sha256:") and got["files"] > 40, "a root tar file becomes an image with a digest", got)
    t.ok(progress and progress[-1]["bytes"] == progress[-1]["total"], "an import shows its progress", progress)
    t.equal([i["name"] for i in a.call("image.list")["images"]], ["busy"], "the image is listed")


def one_account_two_leases():
    for n, cards in ((1, [0]), (2, [1, 2])):
        a.call("lease.start", **a.spec(f"lea_{n}", slot=n, cards=cards, hostname=f"inst-{n}"))
    for n in (1, 2):
        a.wait_state(f"lea_{n}", "running")
    ready = a.sink.of("lea_1", "ready")
    t.ok(ready and ready[0]["host_key"].startswith("ssh-ed25519 AAAA") and ready[0]["token"] == "Bearer slt_lea_1",
         "readiness is reported with the host key and the lease's own token", ready)
    t.equal(a.ssh(1, "id -u; hostname; echo $STARLEASE_SHARED $STARLEASE_NONCE"), "0\ninst-1\n/shared nonce-lea_1\n",
            "SSH gives root in the instance, with its name and its surroundings")
    a.ssh(1, "echo from-one > /shared/note; mkdir /shared/d; chmod 700 /shared/d; echo deep > /shared/d/f")
    t.equal(a.ssh(2, "cat /shared/note /shared/d/f; echo from-two >> /shared/note; stat -c %u /shared/d"), "from-one\ndeep\n0\n",
            "two instances of an account see the same /shared, with the same owners")
    t.equal(a.ssh(1, "cat /shared/note"), "from-one\nfrom-two\n", "and each sees what the other adds")
    out = a.ssh(1, "dd if=/dev/zero of=/shared/big bs=1M count=100 2>&1; rm -f /shared/big")
    t.ok("No space left" in out, "the shared drive has its quota", out)
    out = a.ssh(1, "dd if=/dev/zero of=/root/big bs=1M count=100 2>&1; rm -f /root/big")
    t.ok("No space left" in out, "the system disk has its quota", out)


def gpus():
    major = a.facts("lea_1")  # only to be sure that it runs
    t.ok(major["go"], "the server said go")
    # cards of the synthetic MI300X: render minors 128, 136, 144 ...
    opened = a.ssh(1, "for d in kfd dri/renderD128; do cat /dev/$d 2>&1; done; ls /dev/dri")
    t.equal(opened.count("No such device or address"), 2, "granted GPU nodes open down to the driver (ENXIO without one)")
    t.ok(opened.endswith("renderD128\n"), "only the leased render node is there", opened)
    number = int(a.ssh(1, "stat -c %t /dev/kfd"), 16)
    pid, uid = a.facts("lea_1")["pid"], 1048576 + 65536
    t.ok(put_node(pid, uid, f"{a.dir}/leak", number, 136, "leak"), "a foreign node is put in, as a bug of ours might")
    out = a.ssh(1, "ls /dev/leak; cat /dev/leak 2>&1")
    t.ok("Operation not permitted" in out, "the device group still refuses it (EPERM)", out)
    out = a.ssh(1, f"mknod /tmp/a c {number} 136 2>&1; mknod /root/b c {number} 128 2>&1; mknod /dev/c c 1 1 2>&1; "
                   f"mknod /shared/n b 7 0 2>&1")
    t.equal(out.count("Operation not permitted"), 4, "mknod fails everywhere in an instance")
    t.ok(a.ssh(2, "ls /dev/dri").split() == ["renderD136", "renderD144"], "two cards give two render nodes")


def confinement():
    out = a.ssh(1, "mount -t tmpfs x /tmp 2>&1; unshare -m true 2>&1; unshare -U true 2>&1; mount -o remount,rw /sys 2>&1; "
                   "echo 1 > /proc/sys/kernel/core_pattern; echo b > /proc/sysrq-trigger; hostname evil 2>&1; "
                   "ip link set eth0 down 2>&1; ip addr add 10.9.9.9/8 dev eth0 2>&1; ping -c 1 -W 1 127.0.0.1 2>&1; kill -9 1; "
                   "grep -E 'Seccomp:|NoNewPrivs' /proc/self/status; cat /proc/keys 2>&1 | wc -l")
    t.equal(a.ssh(1, "hostname; stat -c %a /sys"), "inst-1\n555\n", "the instance is as it was")
    t.ok("Seccomp:\t2" in out and "NoNewPrivs:\t1" in out, "system calls are filtered and privileges cannot grow", out)
    peer = "10.%d.0.4" % int(a.subnet.split(".")[1])
    host = "10.%d.0.1" % int(a.subnet.split(".")[1])
    out = a.ssh(1, f"nc -w 1 {peer} 22 </dev/null; echo {host}: ; nc -w 1 {host} {a.sink.port} </dev/null && echo open; "
                   f"nc -w 1 {host} {a.port_base + 2} </dev/null && echo open")
    t.ok("SSH-" not in out and "open" not in out, "an instance reaches neither its neighbour nor the host", out)


def metadata():
    get = "wget -q -O - --header \"X-Starlease-Token: $T\" http://169.254.169.254"
    out = a.ssh(1, "wget -q -O - http://169.254.169.254/v1/nonce 2>&1")
    t.ok("401" in out, "metadata without a token is refused", out)
    put = "printf 'PUT /v1/token HTTP/1.1\\r\\nHost: x\\r\\n%s\\r\\n' | nc 169.254.169.254 80"
    out = a.ssh(1, put % "X-Forwarded-For: 1.2.3.4\\r\\n")
    t.ok(out.startswith("HTTP/1.1 403"), "a token is not given through a proxy", out)
    token = "T=$(" + (put % "") + " | tail -n 1); "
    t.equal(a.ssh(1, token + get + "/v1/nonce"), "nonce-lea_1", "the nonce that the control plane chose is in the metadata")
    about = json.loads(a.ssh(1, token + get + "/v1/instance"))
    t.equal(about, {"id": a.full("lea_1"), "name": "inst-1", "nonce": "nonce-lea_1", "cards": [0], "emulated": True},
            "an instance can ask who it is, and that its GPUs are emulated")
    metric = json.dumps({"name": "demo", "value": "1.5", "sha256": "ab" * 32})
    post = f"printf 'POST /v1/metric HTTP/1.1\\r\\nX-Starlease-Token: %s\\r\\nContent-Length: {len(metric)}\\r\\n\\r\\n%s' $T '{metric}'" \
           " | nc 169.254.169.254 80"
    out = a.ssh(1, token + post)
    t.ok(out.startswith("HTTP/1.1 202"), "a metric is accepted", out)
    got = wait_for(lambda: a.sink.of("lea_1", "metric"), 10, "the metric")
    t.equal(got[0]["metric"], json.loads(metric), "and arrives at the control plane as a report")
    host = subprocess.run(["ip", "-4", "addr"], stdout=subprocess.PIPE, text=True).stdout
    listening = subprocess.run(["ss", "-ltn"], stdout=subprocess.PIPE, text=True).stdout
    t.ok("169.254.169.254" not in host + listening, "the metadata address does not exist on the host", host + listening)


def same_after_start():
    key = a.sink.of("lea_1", "ready")[-1]["host_key"]
    a.ssh(1, "echo keep > /root/work; chmod 600 /root/work")
    a.call("lease.stop", lease="lea_1", epoch=1, grace_s=5)
    t.equal(a.state_of("lea_1"), None, "a stopped lease is not on the node any more")
    a.call("lease.start", **a.spec("lea_1", slot=5, epoch=2, cards=[3], hostname="inst-1",  # other slot, other ids, other card
                                   volume={"id": "vol_lea_1", "size_bytes": 128 << 20}))
    a.wait_state("lea_1", "running")
    t.equal(a.sink.of("lea_1", "ready")[-1]["host_key"], key, "the SSH host key is the same after stop and start")
    t.equal(a.ssh(5, "cat /root/work; stat -c '%u %a' /root/work"), "keep\n0 600\n", "the disk is the same, with its owners")
    size = int(a.ssh(5, "df -m / | tail -n 1 | awk '{print $2}'"))
    t.ok(size > 100, "and larger when more was ordered", size)
    out = a.ssh(5, "cat /dev/dri/* /dev/kfd 2>&1; ls /dev/dri")
    t.ok(out.count("No such device or address") == 2 and out.endswith("renderD152\n"),
         "the device nodes are those of the new lease", out)
    number = int(a.ssh(5, "stat -c %t /dev/kfd"), 16)
    facts = a.facts("lea_1")
    put_node(facts["pid"], 1048576 + 5 * 65536, f"{a.dir}/leak2", number, 128, "leak")
    t.ok("Operation not permitted" in a.ssh(5, "cat /dev/leak 2>&1"), "the card of before is refused now (EPERM)")


def epochs():
    refused("conflict", "epoch", "an older start is refused", "lease.start", **a.spec("lea_1", slot=5, epoch=1, cards=[3]))
    refused("conflict", "epoch", "an older stop is refused", "lease.stop", lease="lea_1", epoch=1)
    pid = a.facts("lea_1")["pid"]
    a.call("lease.start", **a.spec("lea_1", slot=5, epoch=2, cards=[3]))
    t.equal(a.facts("lea_1")["pid"], pid, "the same start again starts nothing")
    refused("conflict", "cards", "a card that is leased is not given twice", "lease.start", **a.spec("lea_9", slot=9, cards=[3]))
    refused("conflict", "slot", "nor a slot", "lease.start", **a.spec("lea_9", slot=5, cards=[7]))
    refused("invalid", "node", "a request for another node is refused", "lease.list", node="other")
    t.equal(a.call("lease.stop", lease="lea_unknown", epoch=1), {"stopped": True}, "stopping what is not there is fine")
    refused("conflict", "volume", "a disk in use is not removed", "volume.remove", volume="vol_lea_1")


def supervisor_killed():
    pid = a.facts("lea_1")["pid"]
    old = a.supervisors("lea_1")
    seen = len(a.sink.of("lea_1", "heartbeat"))
    os.kill(old[0], signal.SIGKILL)
    wait_for(lambda: not a.supervisors("lea_1"), 10, "the supervisor's end")
    t.equal(a.ssh(5, "echo alive"), "alive\n", "an instance outlives its supervisor")
    a.call("lease.list")
    new = wait_for(lambda: a.supervisors("lea_1"), 10, "a new supervisor")
    t.ok(new != old and a.facts("lea_1")["pid"] == pid, "another supervisor takes the running instance over")
    wait_for(lambda: len(a.sink.of("lea_1", "heartbeat")) > seen + 1, 10, "heartbeats")
    t.ok(True, "heartbeats go on")
    os.kill(a.supervisors("lea_1")[0], signal.SIGKILL)
    a.stop(signal.SIGKILL)
    t.equal(a.ssh(5, "echo alive"), "alive\n", "and the agent itself")
    a.start()
    wait_for(lambda: a.supervisors("lea_1"), 10, "a supervisor after the agent's start")
    t.equal(a.facts("lea_1")["pid"], pid, "an agent that starts takes over what runs")
    a.stop()
    t.equal(a.ssh(5, "echo alive"), "alive\n", "an agent that is shut down leaves instances running")
    a.start()


def commands():
    a.call("lease.start", **a.spec("lea_3", slot=3, hostname="job", command=["sh", "-c", "echo out; echo err >&2; id -u; exit 7"]))
    a.wait_state("lea_3", "exited")
    end = wait_for(lambda: a.sink.of("lea_3", "exit"), 10, "the end's report")
    t.equal(end[0]["exit_code"], 7, "the end of a command is reported with its status")
    t.equal(a.call("lease.logs", lease="lea_3")["text"], "out\nerr\n0\n", "the log holds what it wrote")
    a.call("lease.stop", lease="lea_3", epoch=1)
    a.call("lease.start", **a.spec("lea_3", slot=3, epoch=2, command=["/no/such/program"]))
    a.wait_state("lea_3", "exited")
    t.ok("cannot start" in a.call("lease.logs", lease="lea_3")["text"], "a command that is not there is told in the log")
    a.call("lease.stop", lease="lea_3", epoch=2)


def hostile_image():
    """No GPU-second before the meter: the server does not say go, and the image does all it can."""
    a.sink.go = False
    a.call("lease.start", **a.spec("lea_4", slot=4, cards=[5], command=["sh", "-c", "killall dropbear; while :; do :; done"]))
    wait_for(lambda: len(a.sink.of("lea_4", "ready")) > 2, 20, "readiness, told again and again")
    out = a.ssh(4, "ls /dev/dri /dev/kfd 2>&1; ps | grep -v /init | grep -c '[d]o :'")
    t.ok("No such file" in out and out.endswith("\n0\n"), "before go there is neither a GPU node nor the tenant's command", out)
    t.equal(a.state_of("lea_4")["state"], "starting", "the lease is not running yet")
    a.sink.go = True
    a.wait_state("lea_4", "running")
    nodes = wait_for(lambda: (lambda v: v if len(v) == 2 else None)(a.ssh(4, "stat -c %t /dev/kfd /dev/dri/renderD168").split()), 20,
                     "the sshd back")
    t.equal(len(nodes), 2, "after go both are there, and an sshd that was killed comes back")
    a.sink.answer["lea_4"] = (409, {})
    a.wait_state("lea_4", "exited")
    t.ok(True, "a stale epoch ends the lease")
    a.call("lease.stop", lease="lea_4", epoch=1)


def funds():
    a.sink.answer["lea_6"] = (200, {"funded_until_us": int((time.time() + 3) * 1e6)})
    a.call("lease.start", **a.spec("lea_6", slot=6, cards=[6], command=["sh", "-c", "trap '' TERM; while :; do sleep 1; done"]))
    a.wait_state("lea_6", "running")
    a.sink.server.shutdown()  # the control plane falls silent
    got = a.wait_state("lea_6", "exited", 40)
    t.equal(got["reason"], "insufficient_funds", "a lease ends when its funds do, with nobody to tell it to")
    a.call("lease.stop", lease="lea_6", epoch=1)
    import threading
    threading.Thread(target=a.sink.server.serve_forever, daemon=True).start()


def failed_start():
    a.call("lease.start", **a.spec("lea_7", slot=7, image="nothing"))
    a.wait_state("lea_7", "exited")
    got = wait_for(lambda: a.sink.of("lea_7", "failed"), 10, "the failure's report")
    t.ok("import it" in got[0]["reason"], "a start without its image fails with a reason", got)
    a.call("lease.stop", lease="lea_7", epoch=1)


def peers():
    probe = ("import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(b'{\"op\":\"health\"}\\n'); "
             "print(s.makefile().readline())")
    os.chmod(a.dir, 0o755)
    out = subprocess.run(["setpriv", "--reuid", "4711", "--clear-groups", sys.executable, "-c", probe, a.socket], stdout=subprocess.PIPE,
                         text=True).stdout
    t.ok('"code":"forbidden"' in out, "a user who is not on the list is refused", out)
    for bad, name in ((b"{", "half a request"), (b'{"op":"lease.list","op":"probe"}', "a field twice"), (b"[]", "a list"),
                      (b'{"op":"reboot"}', "an unknown operation"), (b'{"op":"health","x":1}', "an unknown field")):
        try:
            a.raw(bad)
            t.ok(False, f"{name} is refused")
        except Refused as e:
            t.ok(e.code == "invalid" and "\n" not in e.message, f"{name} is refused with a sentence", str(e))
    for field, value in (("ssh_keys", ['command="sh" ' + a.public]), ("ssh_keys", ["ssh-ed25519 AAAA"]), ("hostname", "a b"),
                         ("lease", "../x"), ("image", "/etc/passwd"), ("cards", [99]), ("cards", ["0"]), ("slot", -1),
                         ("host_port", 22), ("report_url", "file:///etc/passwd"), ("volume", {"id": "..", "size_bytes": 1 << 30}),
                         ("token", "a\r\nX: y"), ("memory_bytes", 1.5)):
        spec = dict(a.spec("lea_8", slot=8), **{field: value})
        refused("invalid", None, f"lease.start with {field} {value!r:.40} is refused", "lease.start", **spec)


def sanitize():
    refused("conflict", "cards", "cards in use are not sanitized", "sanitize", cards=[3], lease="lea_0", account="acc_1")
    got = a.call("sanitize", cards=[7], lease="lea_0", account="acc_1")
    steps = {s["name"]: s["result"] for s in got["steps"]}
    t.ok(got["emulated"] and got["result"] == "clean" and steps["processes"] == "done" and steps["mounts"] == "done" and
         steps["kernel"] in ("done", "not_possible") and steps["cleaner_shader"] == "not_possible",
         "a certificate says what was done and what this node cannot do", got)


try:
    for part in (image, one_account_two_leases, gpus, confinement, metadata, same_after_start, epochs, supervisor_killed, commands,
                 hostile_image, funds, failed_start, peers, sanitize):
        t.run(part.__name__.replace("_", " "), part)
    for l in a.call("lease.list")["leases"]:
        a.call("lease.stop", lease=l["lease"], epoch=l["epoch"], grace_s=1)
    after = footprint(a)
    for what in sorted(after):
        t.equal(after[what], idle[what], f"no {what} stay on the host after the last lease")
    a.call("volume.remove", volume="vol_lea_1")
    t.ok(not os.path.exists(f"{a.state}/volumes/vol_lea_1.img"), "a removed disk is gone")
finally:
    a.close()
end = footprint(a)
for what in sorted(end):
    t.equal(end[what], before[what], f"no {what} stay on the host after the agent")
t.done()
