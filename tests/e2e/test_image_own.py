#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Images as renter and operator meet them on the command line: the catalogue and what does not run here, an import from a registry
with a password that nobody keeps, and an image saved from an instance, which is its owner's alone."""
import glob
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from agent import Agent, footprint, small_root  # noqa: E402
from layout import Layout  # noqa: E402
from registry import Registry  # noqa: E402
from starlease import USER, Server  # noqa: E402
from tap import BUILD, Tap, wait_for  # noqa: E402

t = Tap()
if os.getuid() != 0:
    t.skip("images of the catalogue, of a registry and of an instance", "it needs root")
    t.done()
NOBODY = pwd.getpwnam(USER).pw_uid
SECRET = "registry-s3cret-of-ann"
home = tempfile.mkdtemp(prefix="starlease-own-")
os.chmod(home, 0o711)
key = os.path.join(home, "key")
subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "own", "-f", key], check=True)


class Person:
    def __init__(self, name, server, token):
        self.env = {"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8", "STARLEASE_CONFIG": f"{home}/{name}.config",
                    "STARLEASE_URL": f"http://127.0.0.1:{server.port}", "STARLEASE_TOKEN": token}

    def call(self, *args, **env):
        return subprocess.run([f"{BUILD}/starlease", *args], env=dict(self.env, **env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=180)

    def __call__(self, *args, **env):
        p = self.call(*args, **env)
        if p.returncode:
            raise AssertionError(f"starlease {' '.join(args)}: {p.returncode}\n{p.stdout}{p.stderr}")
        return p.stdout

    def json(self, *args):
        return json.loads(self(*args, "-o", "json"))

    def inside(self, lease, script):
        return self("exec", "-i", key, lease, "sh", "-c", script)

    def image(self, name):
        return ([i for i in self.json("image", "list")["items"] if i["name"] == name] or [None])[0]


def catalogue(op, me):
    names = {i["name"]: i for i in me.json("image", "list")["items"]}
    old, new = names["rocm-pytorch-57"], names["rocm-pytorch-64"]
    t.ok(all(i["state"] == "listed" and i["source"].startswith("docker://docker.io/rocm/") and i["rocm"] and i["frameworks"]
             for n, i in names.items() if n.startswith("rocm-")) and len([n for n in names if n.startswith("rocm-")]) >= 6,
         "the catalogue lists public ROCm images of PyTorch, TensorFlow and vLLM with their ROCm version")
    t.ok(any("ROCm 5.7 has no code for MI300X (gfx942), which needs 6.0 or later" == w for w in old["warnings"]), "ROCm 5.7 is flagged on MI300X", old)
    t.ok(not any("ROCm" in w for w in new["warnings"]), "ROCm 6.4 is not", new)
    text = me("image", "list")
    t.ok("rocm-pytorch-64 is not imported" in text and "starlease image import rocm-pytorch-64 docker://" in text and "ROCm 5.7 has no code" in text,
         "the table says what is not imported and what does not run", text)
    p = me.call("run", "--yes", "--gpu", "MI300X:1", "rocm-pytorch-57")
    t.ok(p.returncode == 5 and f"starlease image import rocm-pytorch-57 {old['source']}" in p.stderr, "run of one tells the exact import command", p.stderr)
    p = me.call("run", "--yes", "--gpu", "MI300X:1", "no-such")
    t.ok(p.returncode == 4 and "image list" in p.stderr, "an image that nobody knows is not found", p.stderr)
    t.equal(me.call("image", "import", "rocm-pytorch-57").returncode, 3, "a renter imports nothing")
    p = op.call("image", "import", "unknown-name")
    t.ok(p.returncode == 2 and "catalogue" in p.stderr, "a name alone must be in the catalogue", p.stderr)
    p = op.call("image", "rm", "rocm-vllm-64")
    t.ok(op.image("rocm-vllm-64")["state"] == "listed", "what is only listed stays listed", p.stdout)


def registry(op, me, server, agent):
    lay = Layout(os.path.join(agent.dir, "layout"))
    with open(small_root(agent.dir), "rb") as f:
        digest = lay.image([f.read()])
    with Registry(lay.root, {"ann": SECRET}, True) as r:
        refused = op.call("image", "import", "tool", r.reference(digest), "--registry-user", "ann", STARLEASE_REGISTRY_PASSWORD="wrong-" + SECRET[:4])
        t.ok(refused.returncode and "does not accept this user name and password" in refused.stderr, "a wrong registry password is said", refused.stderr)
        t.equal(op.image("tool")["state"], "failed", "and the image has failed")
        p = op.call("image", "import", "tool", r.reference(digest), "--registry-user", "ann")
        t.ok(p.returncode == 2 and "STARLEASE_REGISTRY_PASSWORD" in p.stderr, "a user name without a password is refused", p.stderr)
        out = op("image", "import", "tool", r.reference(digest), "--registry-user", "ann", STARLEASE_REGISTRY_PASSWORD=SECRET)
        t.ok("imported" in out and "\n  " not in out, "an image comes from a registry; a pipe gets no progress lines", out)
        i = op.image("tool")
        t.ok(i["digest"] == digest and i["source"] == r.reference(digest) and i["state"] == "available", "with its digest, and where it came from", i)
        kept = []
        for f in glob.glob(server.dir + "/**/*", recursive=True) + [agent.dir + "/agentd.log"]:
            if os.path.isfile(f):
                with open(f, "rb") as h:
                    kept += [f] if SECRET.encode() in h.read() else []
        t.equal(kept, [], "the password is in no file of the server: not in the database, not in a log")
        t.ok(SECRET not in op("events", "-o", "json") and SECRET not in op("api", "GET", "/v1/operations"), "and in no event or operation")
        sealed = [o for o in op.json("api", "GET", "/v1/operations")["items"] if o["kind"] == "image_import"]
        t.ok(sealed and all("payload" not in o for o in sealed), "operations show no payload")


def save(op, me, bob, agent, server):
    me("run", "--yes", "--gpu", "MI300X:1", "--disk", "1", "--name", "work", "tool")
    me.inside("work", "mkdir -p /opt/app /gone && echo mine > /opt/app/f && ln /opt/app/f /opt/app/hard && ln -s f /opt/app/soft && chown 12:34 /opt/app/f"
              " && chmod 4755 /opt/app/f && rm /bin/yes && rm -rf /var && mkdir /var && echo new > /var/new && mkfifo /opt/app/pipe"
              " && dd if=/dev/zero of=/opt/sparse bs=1 count=0 seek=600M 2>/dev/null; head -c 100000 /dev/urandom > /opt/random; mknod /opt/null c 1 3 2>/dev/null; true")
    p = me.call("image", "save", "work", "mine")
    t.ok(p.returncode == 5 and "stop it first" in p.stderr, "a running instance is not saved: its disk is not at rest", p.stderr)
    me("stop", "work")
    wait_for(lambda: me.json("show", "work")["state"] == "stopped" and agent.state_of(me.json("show", "work")["id"]) is None, 60, "the stop")
    for bad in ("UPPER", "tool", "rocm-vllm-64"):
        p = me.call("image", "save", "work", bad)
        t.ok(p.returncode in (2, 5), f"an image of one's own is not called {bad}", p.stderr)
    t.equal(bob.call("image", "save", me.json("show", "work")["id"], "x").returncode, 4, "nobody saves another's instance")
    out = me("image", "save", "work", "mine")
    t.ok("mine: saved" in out and "files; it costs 0.00" in out, "a stopped instance is saved as an image", out)
    i = me.image("mine")
    t.ok(i["state"] == "available" and 100000 < i["size_bytes"] < 60 << 20 and i["account"] and i["digest"].startswith("sha256:"), "its size is shown", i)
    t.equal(me.call("image", "save", "work", "mine").returncode, 5, "a name is used once in an account")
    t.ok(bob.image("mine") is None, "another tenant does not see it")
    p = bob.call("run", "--yes", "--gpu", "MI300X:1", "mine")
    t.equal(p.returncode, 4, "nor runs it")
    t.equal(bob.call("api", "DELETE", "/v1/images/" + i["id"]).returncode, 4, "nor removes it: it is not found")
    p = bob.call("run", "--yes", "--gpu", "MI300X:1", i["id"])
    t.equal(p.returncode, 4, "not even by its id")
    me("start", "--yes", "work")
    me("run", "--yes", "--gpu", "MI300X:1", "--disk", "1", "--name", "copy", "mine")
    t.equal(me.json("show", "copy")["image"], "mine", "an instance starts from it, under the name that its owner gave")
    got = me.inside("copy", "cat /opt/app/f /opt/app/soft; stat -c '%a %u %g %h' /opt/app/f; stat -c %s /opt/sparse; ls /var; ls /bin/yes /gone /opt/app/pipe /opt/null 2>&1 | grep -c 'No such'; ls -A /gone | wc -l")
    t.equal(got, "mine\nmine\n4755 12 34 2\n629145600\nnew\n3\n0\n",
            "with files, links, owners, modes and holes, without what was deleted, without pipes")
    me("stop", "copy")
    p = me.call("image", "rm", "mine")
    t.ok(p.returncode == 5 and "used by" in p.stderr, "while an instance of it is there it is not removed", p.stderr)
    me("start", "--yes", "copy")
    t.equal(me.inside("copy", "cat /opt/app/f"), "mine\n", "it starts again")
    me("stop", "copy")
    me("rm", "--yes", "copy")
    me("stop", "work")
    wait_for(lambda: agent.state_of(me.json("show", "work")["id"]) is None, 60, "the stop")


def killed(me, server):
    """The daemon dies while an image is saved: it is saved once, when the daemon is back."""
    server.kill()
    server.env["STARLEASE_FAILPOINT"] = "image.after_save:1"
    server.start()
    p = me.call("image", "save", "--no-wait", "work", "twice")
    wait_for(lambda: server.proc.poll() is not None, 60, "the failpoint")
    del server.env["STARLEASE_FAILPOINT"]
    server.start()
    wait_for(lambda: me.image("twice")["state"] == "available", 60, "the image")
    t.ok(True, "an image that was being saved when the daemon died is saved when it is back", p.stderr)


def meanwhile(me, agent):
    """What must wait while an image is being saved: the node's agent is away, so that it takes a while."""
    agent.stop()
    me("image", "save", "--no-wait", "work", "later")
    p = me.call("start", "--yes", "work")
    t.ok(p.returncode == 5 and "being saved" in p.stderr, "an instance is not started while an image is being saved of it", p.stderr)
    p = me.call("image", "save", "work", "too")
    t.ok(p.returncode == 5 and "being saved" in p.stderr, "and one image is saved at a time", p.stderr)
    agent.start()
    wait_for(lambda: me.image("later")["state"] == "available", 120, "the image")
    t.ok(True, "when the agent is back it is saved")
    me("image", "rm", "later")


def quota(me, server, agent):
    me("image", "rm", "twice")
    server.stop()
    with open(server.conf_path, "a") as f:
        f.write("[images]\nper_account = 1\n")
    server.start()
    p = me.call("image", "save", "work", "more")
    t.ok(p.returncode == 6 and "remove one" in p.stderr, "more images than the quota are refused", p.stderr)
    me("image", "rm", "mine")
    wait_for(lambda: not glob.glob(f"{agent.state}/images/img_*"), 60, "the files to go")
    t.ok(me.image("mine") is None, "an image of one's own is removed, and its file with it")
    out = me("image", "save", "work", "mine")
    t.ok("saved" in out, "then its name is free again", out)


def hostile(agent):
    """Straight to the agent: names and sizes that a control plane would not send."""
    from agent import Refused

    def refuse(title, words, code, **more):
        try:
            agent.call("image.save", **{"name": "x", "volume": "nothing", "image": "tool", "max_bytes": 1 << 30, **more})
            t.ok(False, title)
        except Refused as e:
            t.ok(words in e.message and e.code == code, title, f"{e.code} {e.message}")

    volume = os.path.basename(glob.glob(agent.state + "/volumes/*.img")[0])[:-4]
    refuse("a disk that is not there is refused", "not on this node", "not_found")
    refuse("a base that is not there is refused", "not on this node", "not_found", volume=volume, image="nothing")
    refuse("a name that is a path is refused", "name", "invalid", name="../x")
    refuse("an image over its room is refused", "larger than", "quota", volume=volume, max_bytes=4096)
    t.ok(not glob.glob(agent.state + "/images/*-x") + glob.glob(agent.state + "/images/x.*"), "and nothing of it stays", glob.glob(agent.state + "/images/*"))


def deep(me, agent):
    """A tree that is made to break tools: 300 folders deep, names of 254 and 255 bytes, a line break, a loop of links."""
    me("start", "--yes", "work")
    me.inside("work", "cd /opt; n=0; while [ $n -lt 300 ]; do mkdir d && cd d || break; n=$((n+1)); done")
    me("stop", "work")
    wait_for(lambda: agent.state_of(me.json("show", "work")["id"]) is None, 60, "the stop")
    p = me.call("image", "save", "work", "deep")
    t.ok(p.returncode == 2 and "deep; move or remove it" in p.stderr, "a tree too deep for an image is said", p.stderr)
    t.ok(me.image("deep")["state"] == "failed" and "deep" in me.image("deep")["reason"], "and the image says why it failed")
    me("image", "rm", "deep")
    me("start", "--yes", "work")
    me.inside("work", "rm -rf /opt/d; touch /opt/" + "n" * 255)
    me("stop", "work")
    wait_for(lambda: agent.state_of(me.json("show", "work")["id"]) is None, 60, "the stop")
    p = me.call("image", "save", "work", "long")
    t.ok(p.returncode == 2 and "shorten it" in p.stderr, "and so is a name that is too long", p.stderr)
    me("image", "rm", "long")
    me("start", "--yes", "work")
    me.inside("work", "rm /opt/n*; mkdir /odd; touch /odd/" + "n" * 254 + " \"/odd/two\nlines\" /odd/--help; ln -s loop /odd/loop; mkdir /odd/.wh.x; touch /odd/.wh..wh..opq")
    me("stop", "work")
    wait_for(lambda: agent.state_of(me.json("show", "work")["id"]) is None, 60, "the stop")
    me("image", "save", "work", "odd")
    me("run", "--yes", "--gpu", "MI300X:1", "--disk", "1", "--name", "odd", "odd")
    got = me.inside("odd", "ls -A /odd | wc -l; ls -d /odd/.wh.x /odd/--help")
    t.equal(got, "6\n/odd/--help\n/odd/.wh.x\n", "odd names are kept as they are")
    me("stop", "odd")
    me("rm", "--yes", "odd")
    me("image", "rm", "odd")


def agent_killed(agent):
    """kill -9 of the one who saves, at each named step: asked again it is saved, and nothing is left over."""
    volume = os.path.basename(glob.glob(agent.state + "/volumes/*.img")[0])[:-4]
    for n, step in enumerate(["agent.save_mounted", "agent.save_made", "agent.image_made", "agent.image_renamed"]):
        ask = {"name": f"cut{n}", "volume": volume, "image": "tool", "max_bytes": 1 << 30}
        agent.stop()
        agent.start(STARLEASE_FAILPOINT=step + ":1")
        try:
            agent.call("image.save", **ask)
            died = False
        except Exception:  # no answer, or one that says that it was interrupted
            died = True
        agent.stop()
        agent.start()
        got = agent.call("image.save", **ask)
        left = [f for f in os.listdir(agent.state + "/images") if f.startswith("tmp-")]
        t.ok(died and got["digest"].startswith("sha256:") and not left, f"killed at {step}: asked again, the image is saved", f"{died} {got} {left}")
        t.equal(agent.call("image.save", **ask), got, f"killed at {step}: asked a third time, nothing is done")
        agent.call("image.remove", name=f"cut{n}")


def terminal(op, agent):
    """On a terminal an import tells what it does."""
    import pty
    import threading
    lay = Layout(os.path.join(agent.dir, "slow"))
    with open(small_root(agent.dir), "rb") as f:
        digest = lay.image([f.read()])
    config = "sha256:" + json.load(open(f"{lay.root}/blobs/sha256/{digest[7:]}"))["config"]["digest"][7:]
    with open(f"{lay.root}/blobs/sha256/{config[7:]}", "rb") as f:
        text = f.read()
    go = threading.Event()

    def wait_then_answer(h):
        go.wait(60)
        Registry.send(h, 200, text)

    with Registry(lay.root) as r:
        r.instead["blobs/" + config] = wait_then_answer
        master, slave = pty.openpty()
        p = subprocess.Popen([f"{BUILD}/starlease", "image", "import", "slow", r.reference(digest)], env=op.env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=slave)
        os.close(slave)
        wait_for(lambda: r.seen and r.seen[-1][0].endswith(config), 60, "the blob to be asked for")
        seen = wait_for(lambda: (op.image("slow") or {}).get("state"), 60, "the image")
        t.equal(seen, "importing", "meanwhile the list says that it is importing")
        go.set()
        out = p.communicate(timeout=120)[0].decode()
        said = b""
        try:
            while chunk := os.read(master, 4096):
                said += chunk
        except OSError:
            pass  # the other end is closed
        os.close(master)
    t.ok(p.returncode == 0 and "imported" in out and b"files" in said, "on a terminal an import tells bytes and files on the way", said)
    op("image", "rm", "slow")


agent = Agent(options=["--allow-uid", str(NOBODY)])
agent.prefix = "lea_01"
where = tempfile.mkdtemp(prefix="starlease-test-")
try:
    agent.start()
    before = footprint(agent)
    conf = {"lease": {"heartbeat": "1s"}, "node": {"port_base": agent.port_base, "ssh_host": "127.0.0.1"},
            "images": {"catalogue": where + "/images/catalogue.csv", "compatibility": where + "/images/compatibility.csv"}}
    with Server(conf=conf, directory=where) as server:
        op = Person("operator", server, server.operator().token)
        op("node", "enrol", f"unix:{agent.socket}")
        wait_for(lambda: op.json("node", "list")["items"][0]["state"] == "available", 60, "the node to be available")
        me = Person("ann", server, server.renter("ann@example.com").token)
        bob = Person("bob", server, server.renter("bob@example.com").token)
        for who in (me, bob):
            who("key", "add", key + ".pub")
        t.run("catalogue", catalogue, op, me)
        t.run("registry", registry, op, me, server, agent)
        t.run("save", save, op, me, bob, agent, server)
        t.run("killed", killed, me, server)
        t.run("meanwhile", meanwhile, me, agent)
        t.run("deep", deep, me, agent)
        t.run("quota", quota, me, server, agent)
        t.run("hostile", hostile, agent)
        t.run("agent killed", agent_killed, agent)
        t.run("terminal", terminal, op, agent)
        me("rm", "--yes", "work")
        t.equal(op.call("audit", "money").returncode, 0, "the books are right")
        after = footprint(agent)
        t.equal({k: after[k] for k in ("mounts", "loops", "links")}, {k: before[k] for k in ("mounts", "loops", "links")},
                "no mount, loop device or link is left on the host")
finally:
    agent.close()
    shutil.rmtree(home, ignore_errors=True)
    shutil.rmtree(where, ignore_errors=True)
t.done()
