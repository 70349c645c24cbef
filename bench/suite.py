# SPDX-License-Identifier: Apache-2.0
"""The suites of `starlease bench run` that need Python. One process is one repeat: it prints a line
"bench: {json}" for what it runs on, one per sample, and one for the checksum of its numeric result.

    python3 suite.py SUITE SEED key=value...      keys: batch steps warmup precision mode size image

Everything is seeded and synthetic, so the same seed gives the same numbers on the same platform."""
import hashlib
import json
import os
import sys
import time


def say(**kv):
    print("bench: " + json.dumps(kv), flush=True)


def stop(text):
    say(error=text)
    sys.exit(3)


def need_torch():
    try:
        import torch
    except ImportError:
        stop("PyTorch is not here: use an image that has it, or install python3-torch")
    return torch


def digest(tensors):
    h = hashlib.sha256()
    for t in tensors:
        h.update(bytes(t.detach().cpu().float().contiguous().view(-1).numpy().tobytes()))
    return h.hexdigest()


class Clock:
    """Wall time of work that may run on a device, which is waited for."""

    def __init__(self, torch, device):
        self.torch, self.device = torch, device

    def wait(self):
        if self.device != "cpu":
            self.torch.cuda.synchronize()

    def ms(self, fn):
        self.wait()
        t0 = time.perf_counter()
        out = fn()
        self.wait()
        return (time.perf_counter() - t0) * 1000, out


def place(torch, seed):
    torch.manual_seed(seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1)))
        torch.use_deterministic_algorithms(True)
    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())] if device != "cpu" else []
    say(gpus=names, libraries=["torch " + torch.__version__] +
        (["hip " + torch.version.hip] if getattr(torch.version, "hip", None) else []) +
        (["cuda " + torch.version.cuda] if torch.version.cuda else []))
    return device


def bottleneck_net(torch, classes=1000):
    """ResNet-50 (He et al. 2015), with the stride in the 3x3 convolution (v1.5): depths 3 4 6 3, widths 64 to 512."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, inside, width, stride):
            super().__init__()
            out = width * 4
            self.body = nn.Sequential(
                nn.Conv2d(inside, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
                nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
                nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out))
            self.side = nn.Sequential() if stride == 1 and inside == out else nn.Sequential(
                nn.Conv2d(inside, out, 1, stride, bias=False), nn.BatchNorm2d(out))
            self.end = nn.ReLU(inplace=True)

        def forward(self, x):
            return self.end(self.body(x) + self.side(x))

    parts, inside = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
                     nn.MaxPool2d(3, 2, 1)], 64
    for depth, width, stride in ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)):
        for i in range(depth):
            parts.append(Block(inside, width, stride if i == 0 else 1))
            inside = width * 4
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inside, classes))


def save(torch, path, step, net, optimiser):
    if path:
        torch.save({"step": step, "net": net.state_dict(), "optimiser": optimiser.state_dict()}, path + ".new")
        os.replace(path + ".new", path)


def resnet50(seed, o):
    torch = need_torch()
    device = place(torch, seed)
    clock = Clock(torch, device)
    batch, side, train = int(o["batch"]), int(o["image"]), o["mode"] == "train"
    amp = o["precision"] == "amp"
    net = bottleneck_net(torch).to(device)
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(batch, 3, side, side, generator=g).to(device)
    y = torch.randint(0, 1000, (batch,), generator=g).to(device)
    loss_of = torch.nn.CrossEntropyLoss()
    optimiser = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
    net.train(train)
    start, checkpoint = 0, o.get("checkpoint", "")
    if checkpoint and os.path.exists(checkpoint):
        kept = torch.load(checkpoint, map_location=device)
        net.load_state_dict(kept["net"])
        optimiser.load_state_dict(kept["optimiser"])
        start = kept["step"]
        say(resumed=start)

    def once():
        with torch.autocast(device if device == "cpu" else "cuda", dtype=torch.bfloat16, enabled=amp):
            if not train:
                with torch.no_grad():
                    return loss_of(net(x), y)
            optimiser.zero_grad()
            loss = loss_of(net(x), y)
        loss.backward()
        optimiser.step()
        return loss

    for step in range(start, int(o["warmup"]) + int(o["steps"])):
        ms, loss = clock.ms(once)
        if step >= int(o["warmup"]):
            say(sample="%.6f" % ms, loss="%.6f" % loss.item())
        save(torch, checkpoint, step + 1, net, optimiser)
    say(checksum=digest(net.parameters() if train else [net(x)]))


def gemm(seed, o):
    torch = need_torch()
    device = place(torch, seed)
    clock = Clock(torch, device)
    n = int(o["size"])
    kind = torch.bfloat16 if o["precision"] == "amp" else torch.float32
    g = torch.Generator().manual_seed(seed)
    a, b = (torch.randn(n, n, generator=g).to(device, kind) for _ in range(2))
    for step in range(int(o["warmup"]) + int(o["steps"])):
        ms, c = clock.ms(lambda: a @ b)
        if step >= int(o["warmup"]):
            say(sample="%.6f" % (2 * n ** 3 / ms / 1e6))
    say(checksum=digest([c]))


def memcpy(seed, o):
    torch = need_torch()
    device = place(torch, seed)
    clock = Clock(torch, device)
    n = int(o["size"]) * 1000000 // 4
    a = torch.arange(n, dtype=torch.int32).to(device)
    b = torch.empty_like(a)
    for step in range(int(o["warmup"]) + int(o["steps"])):
        ms, _ = clock.ms(lambda: b.copy_(a))
        if step >= int(o["warmup"]):
            say(sample="%.6f" % (2 * n * 4 / ms / 1e6))
    say(checksum=hashlib.sha256(b.cpu().numpy().tobytes()).hexdigest())


def reduce_one(rank, world, seed, o, port, queue):
    import torch
    import torch.distributed as dist
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if gpu else "gloo", rank=rank, world_size=world)
    device = "cuda:%d" % rank if gpu else "cpu"
    g = torch.Generator().manual_seed(seed + rank)
    x = torch.randint(0, 100, (int(o["size"]) * 1000000 // 4,), generator=g).float().to(device)
    clock = Clock(torch, device)
    for step in range(int(o["warmup"]) + int(o["steps"])):
        y = x.clone()
        ms, _ = clock.ms(lambda: dist.all_reduce(y))
        if rank == 0 and step >= int(o["warmup"]):
            queue.put("%.6f" % (2 * (world - 1) / world * y.numel() * 4 / ms / 1e6))
    if rank == 0:
        queue.put(digest([y]))
    dist.destroy_process_group()


def allreduce(seed, o):
    torch = need_torch()
    place(torch, seed)
    import socket
    import torch.multiprocessing as mp
    world = torch.cuda.device_count() if torch.cuda.is_available() else 2
    if world < 2:
        stop("allreduce needs two devices or more, this instance has %d" % world)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    context = mp.get_context("fork")
    queue = context.Queue()
    people = [context.Process(target=reduce_one, args=(r, world, seed, o, port, queue)) for r in range(world)]
    for p in people:
        p.start()
    for _ in range(int(o["steps"])):
        say(sample=queue.get(timeout=600))
    say(checksum=queue.get(timeout=600))
    for p in people:
        p.join()


def main(argv):
    suite, seed = argv[0], int(argv[1]) % (1 << 62)
    options = dict(a.split("=", 1) for a in argv[2:])
    try:
        {"resnet50": resnet50, "gemm": gemm, "memcpy": memcpy, "allreduce": allreduce}[suite](seed, options)
    except ValueError as e:  # batch normalisation needs more than one value a channel
        stop("a larger batch or image is needed" if "more than 1 value" in str(e) else str(e).splitlines()[0][:300])
    except (MemoryError, RuntimeError) as e:
        if isinstance(e, MemoryError) or "out of memory" in str(e).lower() or "allocate" in str(e).lower():
            stop("out of memory: take a smaller batch or size")
        stop(str(e).splitlines()[0][:300])


main(sys.argv[1:])
