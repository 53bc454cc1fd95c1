#!/usr/bin/env python3
"""torch_nets.py - what nets.c measures, in PyTorch: it prints the same lines.

    torch_nets.py train MODEL BATCH TYPE SECONDS    steps_per_s X loss Y as HOW
    torch_nets.py matmul N TYPE SECONDS             tflops X
    torch_nets.py elementwise BYTES SECONDS         gbytes_per_s X
    torch_nets.py copy h2d|d2h BYTES SECONDS [--pinned]    gbytes_per_s X
    torch_nets.py serve                             commands on standard input

MODEL, TYPE and what is counted are as in nets.c; the networks are those of
models.h.  --best tries both layouts and, of the small ones, both modes of
torch.compile, and keeps the fastest, which HOW names.  A train of 0 seconds
only warms up, which leaves compiled code in PyTorch's cache on disk.

serve answers each command with its line, or with "error WHY", and keeps what
the last command needed: the next round of the same command starts at once.
Nothing is fetched while the clock runs; the device has finished when it starts
and when it stops."""
import argparse
import gc
import math
import os
import shlex
import sys
import time
import traceback
import types

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError as error:  # said when the first command comes
    torch, WHY = None, str(error)
    nn = types.SimpleNamespace(Module=object)

WARM_STEPS = 10  # compiled for graphs: run, recorded, replayed
TRIAL_SECONDS = 0.3
CHAIN = 8
TYPES = ("float", "bfloat16")


# ---- Networks ---------------------------------------------------------------

class Block(nn.Module):
    """1 x 1, 3 x 3, 1 x 1 and a shortcut; the stride is in the 3 x 3."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.a = unit(inputs, width, 1, 1)
        self.b = unit(width, width, 3, stride)
        self.c = unit(width, 4 * width, 1, 1)
        self.shortcut = nn.Identity() if inputs == 4 * width else unit(
            inputs, 4 * width, 1, stride)

    def forward(self, x):
        y = self.c(F.relu(self.b(F.relu(self.a(x)))))
        return F.relu(y + self.shortcut(x))


def unit(inputs, outputs, size, stride):
    """A convolution and its norm; momentum is the part of the new."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False),
        nn.BatchNorm2d(outputs, eps=1e-5, momentum=0.1))


def mlp(side):
    return nn.Sequential(nn.Flatten(), nn.Linear(side * side, 128), nn.ReLU(),
                         nn.Linear(128, 10))


def cnn(side):
    left = (side + 3) // 4
    return nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(),
        nn.MaxPool2d(2, ceil_mode=True),
        nn.Conv2d(16, 32, 5, padding=2), nn.ReLU(),
        nn.MaxPool2d(2, ceil_mode=True), nn.Flatten(),
        nn.Linear(left * left * 32, 128), nn.ReLU(), nn.Linear(128, 10))


def resnet50(_):
    layers = [unit(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1)]
    inputs = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for i in range(blocks):
            layers.append(Block(inputs, width, 2 if stage and not i else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(inputs, 1000))


# All parameters in as few kernels as there are: Adagrad has no fused one on a
# GPU, and says so at its first step only.
def adagrad(parameters):
    return torch.optim.Adagrad(parameters, lr=0.1, foreach=True,
                               initial_accumulator_value=0.1)


def momentum(rate):
    return lambda parameters: torch.optim.SGD(parameters, lr=rate,
                                              momentum=0.9, fused=True)


# What makes one, side and channels of images, classes, optimizer.
MODELS = {"mlp": (mlp, 28, 1, 10, adagrad),
          "cnn": (cnn, 28, 1, 10, momentum(0.02)),
          "resnet50": (resnet50, 224, 3, 1000, momentum(0.1))}


def made(build, side):
    """The network with the initial values of models.h."""
    model = build(side)
    for layer in model.modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return model


# ---- Time -------------------------------------------------------------------

def finished(device):
    if device == "cuda":
        torch.cuda.synchronize()


def time_of(step, count, device):
    finished(device)
    start = time.perf_counter()
    for _ in range(count):
        step()
    finished(device)
    return time.perf_counter() - start


def rate_of(step, seconds, device):
    """Calls a second, over about that long."""
    count, enough = 1, min(0.1, seconds / 4)
    while (took := time_of(step, count, device)) < enough:
        count *= 2
    count = max(1, round(count / took * seconds))
    return count / time_of(step, count, device)


# ---- Training ---------------------------------------------------------------

class Training:
    """One way to train a model: a layout, and a mode of torch.compile."""

    def __init__(self, o, channels_last, mode):
        build, side, channels, classes, optimizer = MODELS[o.model]
        side = o.side or side
        layout = (torch.channels_last if channels_last else
                  torch.contiguous_format)
        torch.manual_seed(8)
        self.x = torch.rand(o.batch, channels, side, side).to(
            o.device, memory_format=layout)
        self.y = torch.randint(classes, (o.batch,)).to(o.device)
        self.model = made(build, side).to(o.device, memory_format=layout)
        self.optimizer = optimizer(self.model.parameters())
        self.device, self.narrow = o.device, o.type == "bfloat16"
        self.mode, self.forward = mode, self.loss_of
        if mode:
            self.forward = torch.compile(self.loss_of, mode=mode,
                                         dynamic=False)
        self.name = "channels_last" if channels_last else "contiguous"
        if mode:
            self.name += "," + mode
        for _ in range(WARM_STEPS):
            self.step()

    def loss_of(self, x, y):
        with torch.autocast(self.device, torch.bfloat16, self.narrow):
            logits = self.model(x)
        return F.cross_entropy(logits.float(), y)

    def step(self):
        if self.mode:
            torch.compiler.cudagraph_mark_step_begin()
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.forward(self.x, self.y)
        loss.backward()
        self.optimizer.step()
        return loss


def ways(o):
    """(channels_last, mode) of those that are tried."""
    layouts, modes = [o.channels_last], ["default" if o.compiled else None]
    if o.best and o.model == "cnn":
        layouts = [False, True]
    if o.best and o.model == "resnet50":  # compiled it becomes that anyway
        layouts = [True] if o.compiled else [False, True]
    if o.best and o.compiled and o.model != "resnet50":
        modes.append("reduce-overhead")
    return [(layout, mode) for layout in layouts for mode in modes]


def best_training(o):
    tried = ways(o)
    best, best_rate = None, 0.0
    for way in tried:
        training = Training(o, *way)
        rate = len(tried) == 1 or rate_of(training.step, TRIAL_SECONDS,
                                          o.device)
        if rate > best_rate:
            best, best_rate = training, rate
        del training
        forget(o.device)
    return best


def train(o):
    training = best_training(o)

    def line(rate):
        return "steps_per_s %.4g loss %.6g as %s" % (
            rate, training.step().item(), training.name)
    return training.step, line


# ---- Products, passes over memory, copies -----------------------------------

def matmul(o):
    kind = getattr(torch, o.type)
    a, b = (torch.randn(o.n, o.n, device=o.device) for _ in range(2))
    a, b = a.to(kind), (b / math.sqrt(o.n)).to(kind)

    def step():
        x = a
        for _ in range(CHAIN):
            x = x @ b
    return step, lambda rate: "tflops %.4g" % (
        rate * CHAIN * 2 * o.n ** 3 / 1e12)


def elementwise(o):
    a = torch.randn(o.bytes // 4, device=o.device)

    def step():
        x = a
        for i in range(CHAIN):
            x = torch.clamp_min(x, -i - 1)
    return step, lambda rate: "gbytes_per_s %.4g" % (
        rate * CHAIN * 2 * o.bytes / 1e9)


def copy(o):
    if o.pinned and o.device != "cuda":
        raise RuntimeError("memory is pinned for a GPU only")
    host = torch.randn(o.bytes // 4, pin_memory=o.pinned)
    device = torch.randn(o.bytes // 4, device=o.device)
    to, source = (device, host) if o.way == "h2d" else (host, device)

    def step():
        to.copy_(source, non_blocking=o.pinned)
    return step, lambda rate: "gbytes_per_s %.4g" % (rate * o.bytes / 1e9)


# ---- Commands ---------------------------------------------------------------

def parser():
    p = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = p.add_subparsers(dest="command", required=True)

    def add(name, prepare, *arguments):
        c = commands.add_parser(name)
        for argument, options in arguments:
            c.add_argument(argument, **options)
        c.add_argument("seconds", type=float)
        c.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
        c.set_defaults(prepare=prepare)
        return c
    kind = ("type", {"choices": TYPES})
    size = ("bytes", {"type": int})
    c = add("train", train, ("model", {"choices": MODELS}),
            ("batch", {"type": int}), kind)
    for flag in ("--compiled", "--channels_last", "--best"):
        c.add_argument(flag, action="store_true")
    c.add_argument("--side", type=int, help="of the images")
    add("matmul", matmul, ("n", {"type": int}), kind)
    add("elementwise", elementwise, size)
    c = add("copy", copy, ("way", {"choices": ("h2d", "d2h")}), size)
    c.add_argument("--pinned", action="store_true")
    commands.add_parser("serve")
    return p


def forget(device):
    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()


def begin(device):
    """What a careful user sets; float products as TensorFlow has them."""
    if torch is None:
        raise RuntimeError("no PyTorch: " + WHY)
    if device == "cuda" and not torch.cuda.is_available():
        raise RuntimeError("PyTorch sees no GPU")
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True


class Measurements:
    """What the last command needed is there for the next."""

    def __init__(self):
        self.key = self.step = self.line = None

    def prepare(self, o):
        key = {k: v for k, v in vars(o).items() if k != "seconds"}
        if key == self.key:
            return
        self.key = self.step = self.line = None
        begin(o.device)
        torch.compiler.reset()
        forget(o.device)
        self.step, self.line = o.prepare(o)
        self.key = key

    def measure(self, o):
        self.prepare(o)
        return self.line(rate_of(self.step, o.seconds, o.device)
                         if o.seconds > 0 else 0)


def reason(error):
    lines = str(error).strip().splitlines()
    return "%s: %s" % (type(error).__name__, lines[0] if lines else "")


def serve():
    """Answers go where standard output was; it becomes standard error, since
    libraries write to it."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    measurements = Measurements()
    for command in sys.stdin:
        try:
            answers.write(measurements.measure(
                parser().parse_args(shlex.split(command))) + "\n")
        except Exception as error:
            traceback.print_exc()
            answers.write("error %s\n" % reason(error))
            measurements = Measurements()


def main():
    o = parser().parse_args()
    if o.command == "serve":
        return serve()
    try:
        print(Measurements().measure(o))
    except Exception as error:
        sys.exit("torch_nets: " + reason(error))


if __name__ == "__main__":
    main()
